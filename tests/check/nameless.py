"""Mistakes that are in no catalogue: the right answer to them is a step, and no name.

Each is a function of (problem, rng) that returns the problem it is computed on and its plan,
or None where it cannot be made. `NAMELESS` pairs it with a note.
"""

import numpy as np

from attention import kv_map, rope_turn


def hooked(step, change):
    """A mistake that changes one step: change(value, steps so far, problem, rng)."""
    def make(p, rng):
        return p, {"hooks": {step: lambda a, steps: change(a, steps, p, rng)}}
    return make


def tensors_changed(name, change):
    def make(p, rng):
        if name not in p["tensors"]:
            return None
        changed = change(p["tensors"][name].copy(), p, rng)
        return {**p, "tensors": {**p["tensors"], name: changed}}, {}
    return make


def where(test, make):
    return lambda p, rng: make(p, rng) if test(p) else None


def noise(step, size):
    return hooked(step, lambda a, s, p, rng: a + size * rng.standard_normal(a.shape))


def scaled(step, *factors):
    return hooked(step, lambda a, s, p, rng: a * factors[rng.integers(len(factors))])


def shown(steps):
    """The scores the weights are made from."""
    return steps.get("masked_scores", steps["scores"])


def normalised(a):
    total = a.sum(axis=-1, keepdims=True)
    return a / np.where(total == 0, 1, total)


def exponentials(s):
    top = s.max(axis=-1, keepdims=True)
    return np.exp(s - np.where(np.isfinite(top), top, 0))


def instead_of_softmax(function):
    return hooked("weights", lambda a, s, p, rng: function(shown(s), a))


def one_head(step, change, index):
    """`change` made to a single head."""
    def apply(a, s, p, rng):
        a = a.copy()
        a[:, index(p, rng)] = change(a[:, index(p, rng)])
        return a
    return hooked(step, apply)


def first(p, rng):
    return 0


def second(p, rng):
    return 1


def swapped(a, axis, i=0, j=1):
    order = np.arange(a.shape[axis])
    order[[i, j]] = order[[j, i]]
    return np.take(a, order, axis=axis)


def layer_norm(a):
    return (a - a.mean(axis=-1, keepdims=True)) / (a.std(axis=-1, keepdims=True) + 1e-5)


def unit(a):
    return a / (np.linalg.norm(a, axis=-1, keepdims=True) + 1e-12)


def turned(name, positions=lambda t: t, base=lambda b: b, part=1.0):
    """RoPE with other positions or another base, or on part of the width only."""
    def apply(a, s, p, rng):
        rope, heads = p["rope"], s[f"{name}_heads"]
        width = int(heads.shape[-1] * part) // 2 * 2
        start = rope[f"{name}_start"]
        where_ = positions(start + np.arange(heads.shape[-2]))
        out = heads.copy()
        out[..., :width] = rope_turn(heads[..., :width], where_, rope["layout"],
                                     base(rope["base"]))
        return out
    return apply


def turned_both(**how):
    def make(p, rng):
        if not p["rope"]:
            return None
        return p, {"hooks": {f"{n}_rot": (lambda a, s, n=n: turned(n, **how)(a, s, p, rng))
                             for n in "qk"}}
    return make


def distances_of(p):
    offset = p["n_k"] - p["n_q"] if p["causal_align"] == "bottom-right" else 0
    return np.arange(p["n_k"]) - np.arange(p["n_q"])[:, None] - offset


def hide_more(a, s, p, rng):
    return np.where(np.abs(distances_of(p)) <= 1, a, -np.inf)


def drop_last_key(a, s, p, rng):
    a = a.copy()
    a[..., -1] = 0
    return normalised(a)


def values_of_wrong_heads(a, s, p, rng):
    v = np.roll(s["v_heads"], 1, axis=1)[:, kv_map(p["heads"], p["kv_heads"], "repeat")]
    return s["weights"] @ v


def one_number(a, s, p, rng):
    a = a.copy()
    a.reshape(-1)[rng.integers(a.size)] += 1.0
    return a


def reseeded(a, p, rng):
    return (rng.standard_normal(a.shape) * (a.std() + 0.1)).astype(np.float32)


def duplicated(a, p, rng):
    a[..., 1, :] = a[..., 0, :]
    return a


def heads(n):
    return lambda p: p["heads"] >= n


def self_attention(p):
    return p["kind"] == "self"


def equal_heads(p):
    return p["kv_heads"] == p["heads"] >= 2


def soft(s):
    return normalised(exponentials(s))


NAMELESS = [
    ("v scaled", scaled("v", 1.1, 0.9, 2.0)),
    ("q scaled", scaled("q", 1.25, 0.8)),
    ("a temperature: the scores scaled", scaled("scores", 0.85, 1.3, 0.7, -1.0)),
    ("scores with the wrong sign in head 1", one_head("scores", lambda a: -a, first)),
    ("the output scaled", scaled("output", 1.05, -1.0, 0.9)),
    ("the rows of v shifted by one", hooked("v", lambda a, *_: np.roll(a, 1, axis=1))),
    ("the rows of k shifted by one", hooked("k", lambda a, *_: np.roll(a, 1, axis=1))),
    ("the rows of q shifted by one", hooked("q", lambda a, *_: np.roll(a, -1, axis=1))),
    ("noise on q", noise("q", 0.3)),
    ("noise on v", noise("v", 0.5)),
    ("noise on the scores", noise("scores", 0.6)),
    ("noise on the heads", noise("heads", 0.3)),
    ("noise on the output", noise("output", 0.3)),
    ("one head of the output with the wrong sign", one_head("heads", lambda a: -a, first)),
    ("one head zeroed", where(heads(2), one_head("heads", lambda a: 0 * a, second))),
    ("relu instead of the softmax",
     instead_of_softmax(lambda s, a: normalised(np.maximum(s, 0)))),
    ("sigmoid instead of the softmax", instead_of_softmax(lambda s, a: 1 / (1 + np.exp(-s)))),
    ("exp without the division", instead_of_softmax(lambda s, a: np.exp(s))),
    ("one more in the softmax's denominator",
     instead_of_softmax(lambda s, a: np.exp(s) / (1 + np.exp(s).sum(-1, keepdims=True)))),
    ("softmax applied twice", instead_of_softmax(lambda s, a: soft(a))),
    ("weights squared and normalised", instead_of_softmax(lambda s, a: normalised(a * a))),
    ("the largest weight taken for 1",
     instead_of_softmax(lambda s, a: (a == a.max(-1, keepdims=True)) * 1.0)),
    ("uniform weights mixed in",
     instead_of_softmax(lambda s, a: 0.7 * a + 0.3 / a.shape[-1])),
    ("weights of the keys in reverse order", instead_of_softmax(lambda s, a: a[..., ::-1])),
    ("the last key missing", hooked("weights", drop_last_key)),
    ("the order of the heads reversed",
     where(heads(2), hooked("heads", lambda a, *_: a[:, ::-1]))),
    ("heads 1 and 2 exchanged", where(heads(2), hooked("heads", lambda a, *_: swapped(a, 1)))),
    ("q heads 1 and 2 exchanged",
     where(heads(2), hooked("q_heads", lambda a, *_: swapped(a, 1)))),
    ("values of the neighbouring head",
     where(equal_heads, hooked("heads", values_of_wrong_heads))),
    ("the columns of concat shifted by one",
     hooked("concat", lambda a, *_: np.roll(a, 1, axis=-1))),
    ("the columns of q shifted by one", hooked("q", lambda a, *_: np.roll(a, 1, axis=-1))),
    ("the rows of W_O reversed", tensors_changed("w_o", lambda w, p, rng: w[::-1].copy())),
    ("the rows of W_O in another order",
     tensors_changed("w_o", lambda w, p, rng: w[rng.permutation(len(w))])),
    ("the columns of W_Q in another order",
     tensors_changed("w_q", lambda w, p, rng: w[:, rng.permutation(w.shape[1])])),
    ("q made with other weights", tensors_changed("w_q", reseeded)),
    ("k made with other weights", tensors_changed("w_k", reseeded)),
    ("v made with other weights", tensors_changed("w_v", reseeded)),
    ("output made with other weights", tensors_changed("w_o", reseeded)),
    ("b_O added twice", tensors_changed("b_o", lambda b, p, rng: 2 * b)),
    ("b_O added once per head",
     where(heads(3), tensors_changed("b_o", lambda b, p, rng: p["heads"] * b))),
    ("b_Q subtracted", tensors_changed("b_q", lambda b, p, rng: -b)),
    ("b_V added twice", tensors_changed("b_v", lambda b, p, rng: 2 * b)),
    ("layer norm on the input",
     where(self_attention, tensors_changed("x", lambda x, p, rng: layer_norm(x)))),
    ("the embedding of token 1 used for token 2",
     where(self_attention, tensors_changed("x", duplicated))),
    ("layer norm on q", hooked("q", lambda a, *_: layer_norm(a))),
    ("relu on q", hooked("q", lambda a, *_: np.maximum(a, 0))),
    ("relu on v", hooked("v", lambda a, *_: np.maximum(a, 0))),
    ("q heads of length one", hooked("q_heads", lambda a, *_: unit(a))),
    ("tanh on the scores", hooked("scores", lambda a, *_: np.tanh(a))),
    ("the average of k and v used as v",
     where(lambda p: p["d_k"] == p["d_v"], hooked("v", lambda a, s, *_: (a + s["k"]) / 2))),
    ("x added to the output",
     hooked("output", lambda a, s, p, rng: a + p["tensors"]["x"].reshape(a.shape))),
    ("the output of row 1 in every row",
     hooked("output", lambda a, *_: np.repeat(a[:, :1], a.shape[1], axis=1))),
    ("the rows of the output reversed", hooked("output", lambda a, *_: a[:, ::-1])),
    ("one number in the output differs", hooked("output", one_number)),
    ("one number in v differs", hooked("v", one_number)),
    ("the output rounded to whole numbers", hooked("output", lambda a, *_: np.round(a))),
    ("only the neighbours are seen",
     where(lambda p: p["causal"], hooked("masked_scores", hide_more))),
    ("a bias by distance added to the scores",
     hooked("scores", lambda a, s, p, rng: a - 0.3 * np.abs(distances_of(p)))),
    ("one key more of the future than one",
     where(lambda p: p["causal"], hooked("masked_scores", lambda a, s, p, rng: np.where(
         distances_of(p) <= 2, s["scores"], a)))),
    ("heads divided by the root of their number",
     where(heads(2), hooked("heads", lambda a, *_: a / np.sqrt(a.shape[1])))),
    ("the mean of v taken off", hooked("v", lambda a, *_: a - a.mean(axis=1, keepdims=True))),
    ("RoPE on half of the width", turned_both(part=0.5)),
    ("RoPE with positions halved", turned_both(positions=lambda t: t / 2)),
    ("RoPE with positions from the end", turned_both(positions=lambda t: t[::-1])),
    ("RoPE with base 1000", turned_both(base=lambda b: 1000.0)),
    ("RoPE: queries one position late", where(lambda p: p["rope"], hooked(
        "q_rot", turned("q", positions=lambda t: t + 1)))),
]
