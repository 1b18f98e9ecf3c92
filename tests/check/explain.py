"""Everything in the catalogue that gives the tensors at hand: alone, or two together."""

import itertools

import numpy as np

import kinds
from attention import attend
from compare import same


class Explainer:
    """The mistakes that can be made on one problem.

    `most_pairs`: where problems are large, only so many pairs are tried: those with a kind of
    `near` first, then others drawn at random.
    """

    def __init__(self, problem, most_pairs=None):
        self.problem = problem
        self.most_pairs = most_pairs
        self.reference = attend(problem, {})
        # Only the outputs are kept: large problems have large steps.
        self.singles, self.visible = [], []
        for row in kinds.KINDS:
            # Dropout is another one in every run.
            steps = None if row[0] == "dropout-left-on" else self.compute(row[3])
            if steps is not None:
                self.singles.append((row, {"output": steps["output"]}))
                if not same(self.reference, steps, self.reference, "f64"):
                    self.visible.append(row)

    def compute(self, plan):
        """All steps, or None where the mistake cannot be made on this problem."""
        try:
            return attend(self.problem, plan)
        except (ValueError, IndexError):
            return None

    def fits(self, given, steps, precision):
        return same(given, steps, self.reference, precision)

    def alone(self, given, precision):
        """The ids of the kinds that give these tensors, in the order of the catalogue."""
        output = {"output": given["output"]}
        found = [row[0] for row, steps in self.singles if self.fits(output, steps, precision)
                 and self.fits(given, self.compute(row[3]), precision)]
        return list(dict.fromkeys(found))

    def candidates(self, near):
        """The pairs of rows to try."""
        pairs = list(itertools.combinations(self.visible, 2))
        if self.most_pairs is None or len(pairs) <= self.most_pairs:
            return pairs
        order = np.random.default_rng(len(pairs)).permutation(len(pairs))
        drawn = [pairs[i] for i in order]
        drawn.sort(key=lambda pair: {pair[0][0], pair[1][0]}.isdisjoint(near))
        return drawn[:self.most_pairs]

    def pairs(self, given, precision, near=(), stop_at_first=False):
        """The pairs of ids that do; all variants of two kinds are tried."""
        found = []
        for a, b in self.candidates(near):
            plan = kinds.together(a[3], b[3])
            if a[0] == b[0] or plan is None or [a[0], b[0]] in found:
                continue
            steps = self.compute(plan)
            if steps is not None and self.fits(given, steps, precision):
                found.append([a[0], b[0]])
                if stop_at_first:
                    break
        return found
