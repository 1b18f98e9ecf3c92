"""Multi-head attention in NumPy, with a knob for everything people get wrong.

One function, `attend`, computes every step. What it computes is told by a plan: a dict of
knobs. `RIGHT` is the plan without mistakes; a mistake is a handful of knobs turned
(`kinds.py`), two mistakes are the knobs of both. A plan may also hold hooks (`"hooks":
{step: function(value, steps so far)}`), which change a step after it was computed: mistakes
without a name.

Inside, every array has a batch axis; it is dropped at the end for a problem with one sample.
"""

import numpy as np

STEPS = ("q", "k", "v", "q_heads", "k_heads", "v_heads", "q_rot", "k_rot", "scores",
         "masked_scores", "weights", "heads", "concat", "output")

RIGHT = {
    "order": "qkv",         # which weights (and biases) make q, k and v
    "packed": None,         # "heads" or "columns": [Q|K|V] read as if it were interleaved
    "transposed": "",       # the projections applied as x @ W.T
    "no_bias": "",          # the projections whose bias is left out
    "query_from": "x",      # "x", or "c": the context
    "kv_from": "c",
    "block_diagonal": False,  # the input cut into heads before it is projected
    "split": "blocks",      # or "reshape", "interleaved", "whole", "tokens"
    "reuse": None,          # the head (0 or -1) that all heads are copies of
    "samples_as_tokens": False,  # the batch axis taken for the sequence
    "rotate": "qk",         # what RoPE is applied to
    "rope_layout": None,    # "other": not the layout of the problem
    "rope_base": None,      # another base
    "rope_no_offset": False,  # queries counted from 0
    "rope_whole_row": False,  # rotated before the split
    "rope_sign": 1,
    "kv_map": "repeat",     # or "tile", "first"
    "scale": "right",       # see `scale_of`
    "half_products": False,  # q @ k.T rounded to half precision before it is scaled
    "causal": "right",      # see `causal_keep`
    "padding": "keys",      # or "none", "queries", "tiled"
    "mask": "hide",         # see `apply_mask`
    "empty_row": "zero",    # or "nan", "uniform"
    "softmax": "keys",      # or "queries", "heads", "none", "row-sum", "base-2"
    "report": "heads",      # or "mean": the weights as reported
    "dropout": None,        # (p, seed)
    "values": "weighted",   # or "transposed": A^T V
    "merge": "proper",      # or "reshape", "mean", "tokens", "tokens-transposed"
    "output": "right",      # or "none", "transposed", "mean"
    "output_bias": True,
    "hooks": {},
}


def attend(problem, plan, rounded=lambda a: a):
    """All steps of `problem` under `plan` (knobs that differ from RIGHT), as float64 arrays.

    `rounded` is applied to every step before the next one uses it. Raises ValueError or
    IndexError where the mistake cannot be made (shapes that do not fit).
    """
    plan = {**RIGHT, **plan}
    steps = {}

    def done(name, value):
        hook = plan["hooks"].get(name)
        if hook:
            value = hook(value, steps)
        steps[name] = rounded(value)
        return steps[name]

    q, k, v = (done(n, a) for n, a in zip("qkv", project(problem, plan)))
    rows = [as_rows(a, plan) for a in (q, k, v)]
    widths = widths_of(problem)
    qh, kh, vh = (done(f"{n}_heads", split(a, heads, width, plan))
                  for n, a, (heads, width) in zip("qkv", rows, widths))
    if problem["rope"]:
        q_rot, k_rot = (done(f"{n}_rot", rotated(problem, plan, n, whole, head))
                        for n, whole, head in zip("qk", rows, (qh, kh)))
        if "v" in plan["rotate"]:
            vh = rotated(problem, plan, "v", rows[2], vh)
    else:
        q_rot, k_rot = qh, kh
    h, g = problem["heads"], problem["kv_heads"]
    if plan["split"] in ("blocks", "reshape", "interleaved"):
        heads = kv_map(h, g, plan["kv_map"])
        k_rot, vh = k_rot[:, heads], vh[:, heads]
    elif h != g:
        raise ValueError("not with grouped queries")
    products = q_rot @ np.swapaxes(k_rot, -1, -2)
    if plan["half_products"]:
        products = products.astype(np.float16).astype(np.float64)
    scores = done("scores", products * scale_of(problem, plan))
    keep = keep_mask(problem, plan)
    if keep is not None:
        keep = np.broadcast_to(keep, scores.shape)
        masked = done("masked_scores", apply_mask(scores, keep, plan["mask"]))
        hard = plan["mask"] in ("hide", "inverted")
        weights = soften(masked, plan, plan["empty_row"] if hard else "zero")
        if plan["mask"] == "after":
            weights = weights * keep
    else:
        weights = soften(scores, plan, plan["empty_row"])
    if plan["dropout"]:
        p, seed = plan["dropout"]
        kept = np.random.default_rng(seed).random(weights.shape) >= p
        weights = weights * kept / (1 - p)
    weights = done("weights", weights)
    if plan["report"] == "mean":
        steps["weights"] = rounded(weights.mean(axis=1))
    if plan["values"] == "transposed":
        weights = np.swapaxes(weights, -1, -2)
    heads = done("heads", weights @ vh)
    concat = merge(heads, plan)
    if plan["samples_as_tokens"]:
        concat = np.swapaxes(concat, 0, 1)
    concat = done("concat", concat)
    done("output", project_out(problem, plan, concat))
    return {n: a[0] if problem["batch"] == 1 else a for n, a in steps.items()}


def widths_of(problem):
    """(number of heads, width of one) for q, k and v."""
    h, g = problem["heads"], problem["kv_heads"]
    return (h, problem["d_k"]), (g, problem["d_k"]), (g, problem["d_v"])


def batched(problem, name):
    a = problem["tensors"][name].astype(np.float64)
    return a if problem["batch"] > 1 else a[None]


def weight(problem, name):
    """A weight or bias as float64, or None."""
    a = problem["tensors"].get(name)
    return None if a is None else a.astype(np.float64)


def project(problem, plan):
    """q, k, v: each (batch, n, width)."""
    x = batched(problem, "x")
    c = x if problem["kind"] == "self" else batched(problem, "x_kv")
    source = {"x": x, "c": c}
    made = []
    for role, name in zip("qkv", plan["order"]):
        rows = source[plan["query_from" if role == "q" else "kv_from"]]
        w = weight(problem, f"w_{name}")
        if name in plan["transposed"]:
            w = w.T
        if plan["block_diagonal"]:
            w = diagonal_blocks(w, problem)
        b = weight(problem, f"b_{name}")
        product = rows @ w
        made.append(product if b is None or name in plan["no_bias"] else product + b)
    if plan["packed"]:
        made = unpack_interleaved(made, problem, plan["packed"])
    return made


def diagonal_blocks(w, problem):
    h = problem["heads"]
    if problem["kv_heads"] != h or w.shape[0] % h:
        raise ValueError("the blocks do not fit")
    keep = np.kron(np.eye(h), np.ones((w.shape[0] // h, w.shape[1] // h)))
    return w * keep


def unpack_interleaved(made, problem, how):
    """[Q|K|V], made in blocks, read as [q k v] per head or as (q k v) per column."""
    h, d = problem["heads"], problem["d_k"]
    packed = np.concatenate(made, axis=-1)
    if len({a.shape[-1] for a in made}) > 1 or len({a.shape[1] for a in made}) > 1:
        raise ValueError("q, k and v differ in shape")
    shape = packed.shape[:2]
    if how == "heads":
        parts = np.moveaxis(packed.reshape(*shape, h, 3, d), 3, 0)
    else:
        parts = np.moveaxis(packed.reshape(*shape, h, d, 3), 4, 0)
    return [part.reshape(*shape, h * d) for part in parts]


def as_rows(a, plan):
    """The projected rows as the heads are cut from them."""
    return np.swapaxes(a, 0, 1) if plan["samples_as_tokens"] else a


def split(a, heads, width, plan):
    """(batch, n, heads * width) to (batch, heads, n, width)."""
    batch, n, _ = a.shape
    how = plan["split"]
    if how == "whole":
        return a[:, None]
    if how == "reshape":
        cut = a.reshape(batch, heads, n, width)
    elif how == "interleaved":
        cut = np.moveaxis(a.reshape(batch, n, width, heads), 3, 1)
    else:
        cut = a.reshape(batch, n, heads, width)
        if how == "tokens":
            return cut
        cut = np.swapaxes(cut, 1, 2)
    if plan["reuse"] is not None:
        cut = np.repeat(cut[:, [plan["reuse"]]], heads, axis=1)
    return cut


def rotated(problem, plan, name, whole, heads):
    """RoPE on the heads of q, k or v. `whole`: the same before the split."""
    if name not in plan["rotate"]:
        return heads
    rope = problem["rope"]
    start = rope["q_start"] if name == "q" else rope["k_start"]
    if name == "q" and plan["rope_no_offset"]:
        start = 0
    layout = rope["layout"]
    if plan["rope_layout"] == "other":
        layout = "interleaved" if layout == "half" else "half"
    base = plan["rope_base"] or rope["base"]
    a = whole if plan["rope_whole_row"] else heads
    # With the heads left beside the tokens, the tokens are the second axis.
    axis = 1 if plan["split"] == "tokens" else a.ndim - 2
    positions = start + np.arange(a.shape[axis])
    if axis == 1 and a.ndim == 4:
        positions = positions[:, None]
    turned = rope_turn(a, positions, layout, base, plan["rope_sign"])
    if plan["rope_whole_row"]:
        return split(turned, *widths_of(problem)["qkv".index(name)], plan)
    return turned


def rope_turn(a, positions, layout, base, sign=1):
    """Pair i of the last axis turned by sign * position * base^(-2i/width)."""
    width = a.shape[-1]
    if width % 2:
        raise ValueError("RoPE turns pairs")
    angle = positions[..., None] * base ** (-2.0 * np.arange(width // 2) / width)
    cos, sin = np.cos(angle), sign * np.sin(angle)
    first, second = ((slice(0, width // 2), slice(width // 2, None)) if layout == "half"
                     else (slice(0, None, 2), slice(1, None, 2)))
    out = np.empty_like(a)
    out[..., first] = a[..., first] * cos - a[..., second] * sin
    out[..., second] = a[..., second] * cos + a[..., first] * sin
    return out


def kv_map(h, g, how):
    """The key/value head of every query head."""
    i = np.arange(h)
    return {"repeat": i // (h // g), "tile": i % g, "first": 0 * i}[how]


def scale_of(problem, plan):
    """The factor of the scores. The mistakes are about the default, not a given scale."""
    # (One wide head is scaled by its own width, where no scale is given.)
    d_k = problem["d_k"]
    given = problem["scale"]
    how = plan["scale"]
    if given is not None and how in ("right", "wide"):
        return given
    if how == "right":
        return d_k ** -0.5
    return {"missing": 1.0, "d_model": problem["d_model"] ** -0.5, "no-root": 1.0 / d_k,
            "inverted": d_k ** 0.5, "default": d_k ** -0.5,
            "wide": (problem["heads"] * d_k) ** -0.5}[how]


def causal_keep(problem, how):
    """(n_q, n_k), true where a query may look, or None without a causal mask."""
    n_q, n_k = problem["n_q"], problem["n_k"]
    offset = n_k - n_q if problem["causal_align"] == "bottom-right" else 0
    i, j = np.arange(n_q)[:, None], np.arange(n_k)
    return {"right": j <= i + offset, "none": None, "transposed": j >= i + offset,
            "strict": j < i + offset, "peeks": j <= i + offset + 1, "top-left": j <= i,
            "bottom-right": j <= i + n_k - n_q}[how]


def keep_mask(problem, plan):
    """All masks together, broadcastable to (batch, h, n_q, n_k); None where there are none."""
    tensors = problem["tensors"]
    parts = []
    if problem["causal"]:
        causal = causal_keep(problem, plan["causal"])
        if causal is not None:
            parts.append(causal[None, None])
    if "mask_keep" in tensors:
        parts.append(tensors["mask_keep"][None, None])
    if "key_keep" in tensors and plan["padding"] != "none":
        keys = np.atleast_2d(tensors["key_keep"])
        if plan["padding"] == "queries":
            parts.append(keys[:, None, :, None])
        elif plan["padding"] == "tiled":
            b, h = problem["batch"], problem["heads"]
            sample = np.arange(b * h).reshape(b, h) % b
            parts.append(keys[sample][:, :, None, :])
        else:
            parts.append(keys[:, None, None, :])
    if not parts:
        return None
    keep = np.ones((1, 1, problem["n_q"], problem["n_k"]), dtype=bool)
    for part in parts:
        keep = keep & part
    return ~keep if plan["mask"] == "inverted" else keep


def apply_mask(scores, keep, how):
    if how in ("hide", "inverted"):
        return np.where(keep, scores, -np.inf)
    if how == "after":
        return scores
    if how == "multiply":
        return scores * keep
    return scores + (keep if how == "add-keep" else ~keep)


def soften(scores, plan, empty_row):
    """The weights. `empty_row`: what a row with nothing to see becomes."""
    how = plan["softmax"]
    if how == "none":
        return np.where(np.isneginf(scores), 0.0, scores)
    if how == "row-sum":
        seen = np.where(np.isneginf(scores), 0.0, scores)
        return seen / seen.sum(axis=-1, keepdims=True)
    axis = {"keys": -1, "queries": -2, "heads": 1, "base-2": -1}[how]
    power = np.exp2 if how == "base-2" else np.exp
    with np.errstate(invalid="ignore"):  # a row of -inf, or with +inf, is NaN here
        shifted = power(scores - scores.max(axis=axis, keepdims=True))
        weights = shifted / shifted.sum(axis=axis, keepdims=True)
    if how in ("keys", "base-2"):
        empty = np.isneginf(scores).all(axis=-1, keepdims=True)
        fill = {"zero": 0.0, "nan": np.nan, "uniform": 1.0 / scores.shape[-1]}[empty_row]
        weights = np.where(empty, fill, weights)
    return weights


def merge(heads, plan):
    """(batch, h, n, d_v) to (batch, n, h * d_v)."""
    how = plan["merge"]
    if plan["split"] == "tokens":
        # The heads are (batch, n, h, d_v): merged in place, or after a transpose.
        batch, n, h, width = heads.shape
        if how == "tokens-transposed":
            heads = np.swapaxes(heads, 1, 2)
        return heads.reshape(batch, n, h * width)
    batch, h, n, width = heads.shape
    if how == "reshape":
        return heads.reshape(batch, n, h * width)
    if how == "mean":
        heads = np.repeat(heads.mean(axis=1, keepdims=True), h, axis=1)
    return np.swapaxes(heads, 1, 2).reshape(batch, n, h * width)


def project_out(problem, plan, concat):
    how = plan["output"]
    if how == "none":
        return concat
    w = weight(problem, "w_o")
    out = concat @ (w.T if how == "transposed" else w)
    if how == "mean":
        out = out / problem["heads"]
    b = weight(problem, "b_o")
    return out + b if b is not None and plan["output_bias"] else out
