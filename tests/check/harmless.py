"""What looks like a mistake, and leaves no trace in the tensors: a checker calls it right.

A row: (looks like, note, the twist a problem needs, test of the problem, how to compute it,
steps that are then not given). To compute is a function of (problem, right steps).
"""

import numpy as np

from attention import attend, batched, kv_map, weight


def as_it_is(p, steps):
    return steps


def planned(**knobs):
    return lambda p, steps: attend(p, knobs)


def renormalised(p, steps):
    """Masked after the softmax, then divided by the row sums again."""
    after = attend(p, {"mask": "after", "hooks": {
        "weights": lambda a, s: a / a.sum(axis=-1, keepdims=True)}})
    return after


def filled(p, steps):
    masked = steps["masked_scores"]
    return {**steps, "masked_scores": np.where(np.isneginf(masked), -1e9, masked)}


def masked_early(p, steps):
    return {**steps, "scores": steps["masked_scores"]}


def leading_axis(p, steps):
    return {name: a[None] for name, a in steps.items()}


def fortran(p, steps):
    return {name: np.asfortranarray(a) for name, a in steps.items()}


def later(p, steps):
    """All positions counted from another start."""
    rope = {**p["rope"], "q_start": p["rope"]["q_start"] + 1, "k_start": p["rope"]["k_start"] + 1}
    return attend({**p, "rope": rope}, {})


def permuted(p, steps):
    """The columns of q and k permuted alike inside each head."""
    t = dict(p["tensors"])
    order = np.arange(p["d_k"])[::-1]
    for name, heads in (("q", p["heads"]), ("k", p["kv_heads"])):
        columns = np.concatenate([i * p["d_k"] + order for i in range(heads)])
        for key in (f"w_{name}", f"b_{name}"):
            if key in t:
                t[key] = t[key][..., columns]
    return attend({**p, "tensors": t}, {})


def query_scaled(p, steps):
    """The scale put on q and not on the scores."""
    scale = p["scale"] if p["scale"] is not None else p["d_k"] ** -0.5
    return attend({**p, "scale": 1.0}, {"hooks": {"q": lambda a, s: a * scale}})


def head_sums(p, steps):
    """Per-head projections added up in place of one wide product."""
    d_v, w = p["d_v"], weight(p, "w_o")
    heads = steps["heads"] if p["batch"] > 1 else steps["heads"][None]
    out = sum(heads[:, i] @ w[i * d_v:(i + 1) * d_v] for i in range(p["heads"]))
    b = weight(p, "b_o")
    out = out if b is None else out + b
    return {**steps, "output": out if p["batch"] > 1 else out[0]}


def small_projections(p, steps):
    """Every head projected on its own."""
    c = batched(p, "x" if p["kind"] == "self" else "x_kv")
    d, w, b = p["d_v"], weight(p, "w_v"), weight(p, "b_v")
    heads = [c @ w[:, i * d:(i + 1) * d] + (0 if b is None else b[i * d:(i + 1) * d])
             for i in range(p["kv_heads"])]
    heads = np.stack(heads, axis=1)
    made = np.swapaxes(heads, 1, 2).reshape(*c.shape[:2], -1)
    weights = steps["weights"] if p["batch"] > 1 else steps["weights"][None]
    mixed = weights @ heads[:, kv_map(p["heads"], p["kv_heads"], "repeat")]
    parts = {"v": made, "v_heads": heads, "heads": mixed}
    return {**steps, **{k: a if p["batch"] > 1 else a[0] for k, a in parts.items()}}


def masked(p):
    return p["causal"] or not {"key_keep", "mask_keep"}.isdisjoint(p["tensors"])


def seen(p):
    return masked(p) and not p["has_blind_rows"]


def always(p):
    return True


def rope_free(p):
    return not p["rope"]


HARMLESS = [
    ("mask-after-softmax", "masked after the softmax and divided by the row sums again", None,
     seen, renormalised, {"masked_scores"}),
    ("mask fill -1e9", "-1e9 in place of -inf; no row is fully masked", None, seen, filled,
     set()),
    ("scores masked", "scores are given already masked", None, masked, masked_early, set()),
    ("", "every tensor has a leading axis of length one", None, lambda p: p["batch"] == 1,
     leading_axis, set()),
    ("", "stored in Fortran order", None, always, fortran, set()),
    ("q-k-swapped", "W_Q equals W_K", "q equals k",
     lambda p: np.array_equal(p["tensors"]["w_q"], p["tensors"]["w_k"]),
     planned(order="kqv"), set()),
    ("scale-sqrt-d-model", "one head: d_model equals d_k", "one head",
     lambda p: p["heads"] == 1 and p["d_k"] == p["d_model"] and p["scale"] is None,
     planned(scale="d_model"), set()),
    ("merge-no-transpose", "one head: there is nothing to transpose", "one head",
     lambda p: p["heads"] == 1, planned(merge="reshape"), set()),
    ("rope-layout-swapped", "d_k is 2: there is a single pair", "pairs",
     lambda p: p["rope"] and p["d_k"] == 2, planned(rope_layout="other"), set()),
    ("rope-position-offset-missing", "all positions counted from one later", "rope",
     lambda p: p["rope"], later, {"q_rot", "k_rot"}),
    ("qkv-bias-missing", "b_K adds the same number to a whole row of scores", "biased",
     lambda p: "b_k" in p["tensors"] and not p["rope"] and not p["overflows"],
     planned(no_bias="k"), {"k", "k_heads", "scores", "masked_scores"}),
    ("gqa-tiled", "tile and repeat agree with one key/value head, or as many as heads",
     "one kv head", lambda p: p["kv_heads"] in (1, p["heads"]), planned(kv_map="tile"), set()),
    ("proj-weight-transposed", "the weights are symmetric", "symmetric",
     lambda p: all(np.array_equal(p["tensors"][f"w_{n}"], p["tensors"][f"w_{n}"].T)
                   for n in "qkv"), planned(transposed="qkv"), set()),
    ("q and k columns permuted alike", "both permuted alike inside each head", None, rope_free,
     permuted, {"q", "k", "q_heads", "k_heads"}),
    ("causal-bottom-right", "top-left and bottom-right agree when n_q = n_k", "square",
     lambda p: p["causal"] and p["n_q"] == p["n_k"], planned(causal="bottom-right"), set()),
    ("scale-dk-no-sqrt", "q scaled, and not the scores", None, always, query_scaled,
     {"q", "q_heads", "q_rot"}),
    ("heads-averaged", "per-head projections added up", None, always, head_sums, set()),
    ("input-split-before-projection", "every head projected on its own, with all of the input",
     None, always, small_projections, set()),
    ("masked-row-nan", "rows with nothing to see: zero weights, output = b_O", "blind",
     lambda p: p["has_blind_rows"], as_it_is, set()),
]
