"""The catalogue: every kind of mistake and its variants, as knobs of `attention.RIGHT`.

`(id, variant, first wrong step, knobs, shows)`: `shows` tells for which problems the mistake
can be made and is worth planting. The comparison with other kinds does not ask it: there,
every mistake that can be computed counts.
"""


def self_only(p):
    return p["kind"] == "self"


def same_context(p):
    return p["d_context"] == p["d_model"]


def full(p):
    """As many key/value heads as query heads."""
    return p["heads"] == p["kv_heads"]


def several(p):
    return p["heads"] >= 2


def squares(p):
    """q, k and v are equally wide and come from inputs of equal width."""
    return full(p) and same_context(p) and p["d_k"] == p["d_v"]


def square_input(p):
    return same_context(p) and p["heads"] * p["d_k"] == p["d_model"]


def masked(p):
    return p["causal"] or "key_keep" in p["tensors"] or "mask_keep" in p["tensors"]


def unmasked(p):
    return not masked(p)


def padded(p):
    return "key_keep" in p["tensors"]


def default_scale(p):
    return p["scale"] is None


def square_causal(p):
    return p["causal"] and p["n_q"] == p["n_k"]


def rope(p):
    return bool(p["rope"])


def grouped(p):
    return 1 < p["kv_heads"] < p["heads"]


def blind(p):
    return p["has_blind_rows"]


def biased(*names):
    return lambda p: all(f"b_{n}" in p["tensors"] for n in names)


def all_of(*tests):
    return lambda p: all(test(p) for test in tests)


def wide_causal(align):
    return lambda p: p["causal"] and p["n_q"] < p["n_k"] and p["causal_align"] == align


across_heads = all_of(several, full, unmasked, lambda p: p["n_q"] == p["n_k"],
                      lambda p: not p["rope"])
whole = all_of(several, full, default_scale, lambda p: not p["rope"])
by_rows = all_of(padded, lambda p: p["n_q"] == p["n_k"], lambda p: not p["has_blind_rows"])
strict = all_of(lambda p: p["causal"], lambda p: not p["has_blind_rows"])
strict_square = all_of(strict, square_causal)
context_lost = all_of(lambda p: p["kind"] == "cross", same_context, unmasked,
                      lambda p: not p["rope"])

KINDS = [
    ("q-k-swapped", "", "q", {"order": "kqv"}, all_of(full, same_context)),
    ("k-v-swapped", "", "k", {"order": "qvk"}, lambda p: p["d_k"] == p["d_v"]),
    ("packed-qkv-wrong-order", "read as v,q,k", "q", {"order": "vqk"}, squares),
    ("packed-qkv-wrong-order", "read as k,v,q", "q", {"order": "kvq"}, squares),
    ("packed-qkv-wrong-order", "read as v,k,q", "q", {"order": "vkq"}, squares),
    ("packed-qkv-interleaved", "[q k v] per head", "q", {"packed": "heads"},
     all_of(self_only, squares, several)),
    ("packed-qkv-interleaved", "(q k v) per column", "q", {"packed": "columns"},
     all_of(self_only, squares)),
    ("proj-weight-transposed", "q, k and v", "q", {"transposed": "qkv"},
     all_of(full, square_input, lambda p: p["d_k"] == p["d_v"])),
    ("proj-weight-transposed", "v only", "v", {"transposed": "v"},
     all_of(full, lambda p: p["heads"] * p["d_v"] == p["d_context"])),
    ("proj-weight-transposed", "q and k", "q", {"transposed": "qk"}, all_of(full, square_input)),
    ("qkv-bias-missing", "q, k and v", "q", {"no_bias": "qkv"}, biased("q", "k", "v")),
    ("qkv-bias-missing", "q", "q", {"no_bias": "q"}, biased("q")),
    ("qkv-bias-missing", "v", "v", {"no_bias": "v"}, biased("v")),
    ("qkv-bias-missing", "k", "k", {"no_bias": "k"}, biased("k")),
    ("kv-from-query-input", "", "k", {"kv_from": "x"}, context_lost),
    ("query-from-memory", "", "q", {"query_from": "c", "kv_from": "x"}, context_lost),
    ("input-split-before-projection", "", "q", {"block_diagonal": True},
     all_of(several, full, square_input)),
    ("split-reshape-no-transpose", "split and merge", "q_heads",
     {"split": "reshape", "merge": "reshape"}, several),
    ("split-reshape-no-transpose", "split only", "q_heads", {"split": "reshape"}, several),
    ("split-interleaved-columns", "", "q_heads", {"split": "interleaved"}, several),
    ("heads-not-split", "scaled by sqrt(h*d_k)", "q_heads",
     {"split": "whole", "scale": "wide"}, whole),
    ("heads-not-split", "scaled by sqrt(d_k)", "q_heads", {"split": "whole"}, whole),
    ("attention-across-heads", "merged in place", "q_heads",
     {"split": "tokens", "merge": "tokens"}, across_heads),
    ("attention-across-heads", "merged after a transpose", "q_heads",
     {"split": "tokens", "merge": "tokens-transposed"}, across_heads),
    ("one-head-reused", "head 0", "q_heads", {"reuse": 0}, several),
    ("one-head-reused", "last head", "q_heads", {"reuse": -1}, several),
    ("rope-missing", "", "q_rot", {"rotate": ""}, rope),
    ("rope-layout-swapped", "", "q_rot", {"rope_layout": "other"}, rope),
    ("rope-one-side-only", "q only", "k_rot", {"rotate": "q"}, rope),
    ("rope-one-side-only", "k only", "q_rot", {"rotate": "k"}, rope),
    ("rope-applied-to-values", "", "heads", {"rotate": "qkv"}, rope),
    ("rope-base-wrong", "10000", "q_rot", {"rope_base": 10000.0}, rope),
    ("rope-position-offset-missing", "", "q_rot", {"rope_no_offset": True},
     lambda p: p["rope"] and p["rope"]["q_start"] > 0),
    ("rope-before-split", "", "q_rot", {"rope_whole_row": True}, all_of(rope, several)),
    ("rope-direction-reversed", "", "q_rot", {"rope_sign": -1}, rope),
    ("gqa-tiled", "", "scores", {"kv_map": "tile"}, grouped),
    ("gqa-first-kv-head", "", "scores", {"kv_map": "first"}, grouped),
    ("scale-missing", "", "scores", {"scale": "missing"}, default_scale),
    ("scale-sqrt-d-model", "", "scores", {"scale": "d_model"}, default_scale),
    ("scale-dk-no-sqrt", "", "scores", {"scale": "no-root"}, default_scale),
    ("scale-inverted", "", "scores", {"scale": "inverted"}, default_scale),
    ("scale-config-ignored", "", "scores", {"scale": "default"},
     lambda p: p["scale"] is not None),
    ("fp16-overflow", "", "scores", {"half_products": True}, lambda p: p["overflows"]),
    ("causal-mask-missing", "", "masked_scores", {"causal": "none"}, lambda p: p["causal"]),
    ("padding-mask-missing", "", "masked_scores", {"padding": "none"}, padded),
    ("mask-inverted", "", "masked_scores", {"mask": "inverted"}, masked),
    ("mask-after-softmax", "", "masked_scores", {"mask": "after"}, masked),
    ("mask-multiplied-scores", "", "masked_scores", {"mask": "multiply"}, masked),
    ("mask-added-as-0-1", "1 where kept", "masked_scores", {"mask": "add-keep"}, masked),
    ("mask-added-as-0-1", "1 where hidden", "masked_scores", {"mask": "add-hidden"}, masked),
    ("causal-transposed", "", "masked_scores", {"causal": "transposed"}, square_causal),
    ("causal-strict", "first row 0", "masked_scores", {"causal": "strict"}, strict),
    ("causal-strict", "first row NaN", "masked_scores",
     {"causal": "strict", "empty_row": "nan"}, strict_square),
    ("causal-strict", "first row uniform", "masked_scores",
     {"causal": "strict", "empty_row": "uniform"}, strict_square),
    ("causal-peeks-one", "", "masked_scores", {"causal": "peeks"}, lambda p: p["causal"]),
    ("causal-top-left", "", "masked_scores", {"causal": "top-left"}, wide_causal("bottom-right")),
    ("causal-bottom-right", "", "masked_scores", {"causal": "bottom-right"},
     wide_causal("top-left")),
    ("padding-on-queries", "-1e9, rows uniform", "masked_scores",
     {"padding": "queries", "empty_row": "uniform"}, by_rows),
    ("padding-on-queries", "-inf, rows NaN", "masked_scores",
     {"padding": "queries", "empty_row": "nan"}, by_rows),
    ("padding-on-queries", "rows 0", "masked_scores", {"padding": "queries"}, by_rows),
    ("masked-row-nan", "", "weights", {"empty_row": "nan"}, blind),
    ("masked-row-uniform", "", "weights", {"empty_row": "uniform"}, blind),
    ("mask-tiled-across-batch", "", "masked_scores", {"padding": "tiled"},
     all_of(padded, lambda p: p["batch"] > 1)),
    ("softmax-over-queries", "", "weights", {"softmax": "queries"},
     lambda p: not p["has_blind_columns"]),
    ("softmax-over-heads", "", "weights", {"softmax": "heads"}, all_of(several, unmasked)),
    ("softmax-missing", "raw scores", "weights", {"softmax": "none"}, unmasked),
    ("softmax-missing", "scores over their sum", "weights", {"softmax": "row-sum"}, unmasked),
    ("softmax-base-2", "", "weights", {"softmax": "base-2"}, lambda p: True),
    ("weights-averaged-over-heads", "", "weights", {"report": "mean"}, several),
    ("dropout-left-on", "p = 0.1", "weights", {"dropout": (0.1, 1)}, lambda p: True),
    ("dropout-left-on", "p = 0.5", "weights", {"dropout": (0.5, 1)}, lambda p: True),
    ("values-weighted-transposed", "", "heads", {"values": "transposed"},
     lambda p: p["n_q"] == p["n_k"]),
    ("merge-no-transpose", "", "concat", {"merge": "reshape"}, several),
    ("heads-averaged", "mean head in every slot", "concat", {"merge": "mean"}, several),
    ("heads-averaged", "per-head outputs averaged", "output", {"output": "mean"}, several),
    ("wo-missing", "", "output", {"output": "none"}, lambda p: True),
    ("wo-transposed", "", "output", {"output": "transposed"},
     lambda p: p["heads"] * p["d_v"] == p["d_model"]),
    ("output-bias-missing", "", "output", {"output_bias": False}, biased("o")),
    ("batch-first-confused", "", "q_heads", {"samples_as_tokens": True},
     all_of(unmasked, self_only, lambda p: p["batch"] > 1 and not p["rope"])),
]
IDS = list(dict.fromkeys(kind[0] for kind in KINDS))


def of(kind, variant=None):
    """The rows of one kind; of one variant of it, if that is named."""
    return [row for row in KINDS if row[0] == kind and (variant is None or row[1] == variant)]


def together(a, b):
    """The knobs of two mistakes, or None where they turn the same knob."""
    if set(a) & set(b):
        return None
    return {**a, **b}
