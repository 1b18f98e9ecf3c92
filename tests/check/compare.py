"""When two sets of tensors are the same at a precision, and how far apart they are."""

import numpy as np

# Times the largest number of the tensor (at least 1), but for typed decimals.
RELATIVE = {"f64": 1e-9, "f32": 2e-5, "f16": 1.5e-3, "f16-chain": 1.2e-2, "bf16": 1.2e-2}
ABSOLUTE = {"4dp": 1e-4, "3dp": 1e-3, "4dp-chain": 1e-3}
HIDDEN = -1e4


def largest(a):
    return np.abs(a[np.isfinite(a)]).max(initial=1.0)


def tolerance(precision, *tensors):
    """What a number may be off, when the tensors compared hold such numbers."""
    if precision in ABSOLUTE:
        return ABSOLUTE[precision]
    return RELATIVE[precision] * max(largest(a) for a in tensors)


def distance(step, given, wanted):
    """The largest difference; infinite if the shapes or the NaN and infinite places differ."""
    if given.shape != wanted.shape:
        # A leading axis of length one is no difference.
        if given.ndim == wanted.ndim + 1 and given.shape[0] == 1:
            return distance(step, given[0], wanted)
        return np.inf
    with np.errstate(invalid="ignore"):
        gap = np.abs(given - wanted)
    same = (given == wanted) | (np.isnan(given) & np.isnan(wanted))
    if step == "masked_scores":
        # Fills such as -1e9 are as good as -inf.
        same |= (given < HIDDEN) & (wanted < HIDDEN)
    elif step == "scores":
        # Scores may be given already masked.
        same |= (given < HIDDEN) & np.isfinite(wanted)
    gap[same] = 0.0
    gap[np.isnan(gap)] = np.inf
    return float(gap.max(initial=0.0))


def distances(given, reference, precision):
    """Step by step how far the tensors given are from the right ones, in tolerances."""
    return {step: distance(step, a, reference[step]) / tolerance(precision, reference[step])
            if step in reference else np.inf for step, a in given.items()}


def fit(given, wanted, reference, precision):
    """How badly `wanted` explains what is given: the worst distance, in tolerances, and where."""
    worst = (0.0, "output")
    for step, a in given.items():
        if step not in wanted:
            return np.inf, step
        scale = [wanted[step]] + ([reference[step]] if step in reference else [])
        gap = distance(step, a, wanted[step]) / tolerance(precision, *scale)
        worst = max(worst, (gap, step))
    return worst


def same(given, wanted, reference, precision):
    """Whether `wanted` is within a tolerance of all that is given."""
    # The output alone tells nearly always: it comes first.
    return (fit({"output": given["output"]}, wanted, reference, precision)[0] <= 1
            and fit(given, wanted, reference, precision)[0] <= 1)
