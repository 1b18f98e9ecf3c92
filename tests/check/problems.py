"""Random problems."""

import numpy as np

from files import completed

STYLES = ("normal", "normal", "normal", "wide", "whole", "tenths")


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def chance(rng, p):
    return bool(rng.random() < p)


def random_problem(rng, name, size=None, twist=None):
    """A problem of random shape and content. `size`: (n, d_model, h), or None for small ones.

    `twist` asks for something rare: see TWISTS.
    """
    while True:
        config = random_shape(rng, size, twist)
        tensors = random_tensors(rng, config, twist)
        random_masks(rng, config, tensors, twist)
        problem = completed({**config, "id": name}, tensors)
        # Rows with nothing to see only on purpose: everything else about them is unclear.
        if problem["has_blind_rows"] == (twist == "blind") and (
                problem["overflows"] == (twist == "overflow")):
            return problem


TWISTS = (None, "blind", "overflow", "q equals k", "symmetric", "one head", "one kv head",
          "pairs", "batch", "cached", "grouped", "square", "rope", "biased", "scale")


def random_shape(rng, size, twist):
    kind = pick(rng, "self", "self", "self", "self", "cross", "cross", "cached")
    if twist in ("symmetric", "q equals k", "square", "one head"):
        kind = "self"
    if twist == "cached":
        kind = "cached"
    batch = pick(rng, 1, 1, 1, 1, 1, 2, 3)
    if twist == "batch":
        kind, batch = "self", pick(rng, 2, 3)
    h = int(rng.integers(1, 9)) if size is None else size[2]
    if twist == "one head":
        h = 1
    if twist in ("grouped", "one kv head"):
        h = pick(rng, 4, 6, 8)
    divisors = [g for g in range(1, h + 1) if h % g == 0]
    g = h if chance(rng, 0.65) else pick(rng, *divisors)
    if twist == "grouped":
        g = pick(rng, *divisors[1:-1])
    elif twist == "one kv head":
        g = 1
    elif twist in ("symmetric", "q equals k", "square", "batch"):
        g = h
    rope = chance(rng, 0.3) or twist in ("rope", "pairs")
    if twist in ("batch", "q equals k", "square"):
        rope = False
    d_k = size[1] // h if size else int(rng.integers(2, 9))
    if rope:
        d_k = max(2, d_k - d_k % 2)
    if twist == "pairs":
        d_k, rope = 2, True
    square = twist in ("symmetric", "one head", "square", "q equals k") or size is not None
    d_v = d_k if square or chance(rng, 0.75) else int(rng.integers(1, 9))
    d_model = h * d_k if square or chance(rng, 0.65) else int(rng.integers(3, 33))
    n_q, n_k = random_lengths(rng, kind, size)
    causal = kind == "cached" or (chance(rng, 0.4) and n_q <= n_k)
    if twist in ("batch", "square") and chance(rng, 0.7):
        causal = False
    if twist == "blind":
        n_q, n_k = (n_q, n_k) if kind == "cached" else (max(n_q, 3),) * 2
        causal = True
    align = "bottom-right" if kind == "cached" else "top-left"
    if causal and kind == "cross":
        align = pick(rng, "top-left", "bottom-right")
    scale = pick(rng, 0.2, 0.1, 0.4, 0.75, 1.0) if twist == "scale" or chance(rng, 0.07) else None
    return {"format": 1, "title": f"random, {kind}", "kind": kind, "batch": batch, "n_q": n_q,
            "n_k": n_k, "d_model": d_model,
            "d_context": int(rng.integers(3, 25)) if kind == "cross" and chance(rng, 0.4)
            else d_model,
            "heads": h, "kv_heads": g, "d_k": d_k, "d_v": d_v, "causal": causal,
            "causal_align": align, "scale": scale,
            "rope": random_rope(rng, kind, n_q, n_k) if rope else None, "masked_row": "zero"}


def random_lengths(rng, kind, size):
    if size:
        n_k = size[0]
        return (n_k if kind == "self" else max(1, n_k // 2)), n_k
    n = int(rng.integers(2, 17))
    if kind == "self":
        return n, n
    if kind == "cached":
        return int(rng.integers(1, n)), n
    return int(rng.integers(2, 17)), n


def random_rope(rng, kind, n_q, n_k):
    start = int(pick(rng, 0, 0, 1, 7))
    return {"layout": pick(rng, "half", "interleaved"),
            "base": pick(rng, 10000.0, 10000.0, 10.0, 100.0, 500.0, 500000.0),
            "q_start": start + (n_k - n_q if kind == "cached" else pick(rng, 0, 0, 0, 3)),
            "k_start": start}


def random_tensors(rng, p, twist):
    """Inputs, weights and biases, float32."""
    style = pick(rng, *STYLES)
    if style in ("whole", "tenths") and p["d_model"] > 8:
        style = "normal"  # their scores would grow until every softmax is one-hot
    spread = rng.uniform(0.6, 1.6)

    def array(shape, std):
        if style == "whole":
            return rng.integers(-1, 2, shape).astype(np.float32)
        if style == "tenths":
            return (rng.integers(-9, 10, shape) / 10).astype(np.float32)
        return (rng.standard_normal(shape) * std).astype(np.float32)

    lead = (p["batch"],) if p["batch"] > 1 else ()
    d, c, h, g = p["d_model"], p["d_context"], p["heads"], p["kv_heads"]
    tensors = {}
    if p["kind"] == "cached":
        tensors["x_kv"] = array((*lead, p["n_k"], d), 1.0)
        tensors["x"] = tensors["x_kv"][..., p["n_k"] - p["n_q"]:, :].copy()
    else:
        tensors["x"] = array((*lead, p["n_q"], d), 1.0)
        if p["kind"] == "cross":
            tensors["x_kv"] = array((*lead, p["n_k"], c), 1.0)
    if twist == "overflow":
        for name in ("x", "x_kv"):
            if name in tensors:
                tensors[name] = tensors[name] * np.float32(rng.integers(80, 400))
        if p["kind"] == "cached":
            tensors["x"] = tensors["x_kv"][..., p["n_k"] - p["n_q"]:, :].copy()
    shapes = {"q": (d, h * p["d_k"]), "k": (c, g * p["d_k"]), "v": (c, g * p["d_v"]),
              "o": (h * p["d_v"], d)}
    std = spread / np.sqrt(d) * (2.0 if style == "wide" else 1.0)
    for name, shape in shapes.items():
        tensors[f"w_{name}"] = array(shape, std)
        if twist == "symmetric":
            w = tensors[f"w_{name}"]
            tensors[f"w_{name}"] = np.triu(w) + np.triu(w, 1).T
    with_bias = pick(rng, "", "", "", "qkvo", "qkvo", "qkv", "o", "v", "qk")
    if twist == "biased":
        with_bias = pick(rng, "qkvo", "qkv")
    elif twist == "q equals k":
        with_bias = ""
        tensors["w_k"] = tensors["w_q"].copy()
    for name in with_bias:
        tensors[f"b_{name}"] = array((shapes[name][1],), 0.7)
    return tensors


def random_masks(rng, p, tensors, twist):
    """Key padding and a given mask."""
    n_q, n_k = p["n_q"], p["n_k"]
    if twist == "blind" or (chance(rng, 0.3) and n_k > 2):
        keep = np.ones((p["batch"], n_k), dtype=bool)
        for row in keep:
            count = int(rng.integers(1, max(2, n_k // 2)))
            if twist == "blind" or (not p["causal"] and chance(rng, 0.2)):
                # Padding on the left: with a causal mask, the first rows see nothing.
                row[:max(count, n_k - n_q + 1) if twist == "blind" else count] = False
            else:
                row[n_k - count:] = False
            if row.sum() < 1:
                row[-1] = True
        tensors["key_keep"] = keep if p["batch"] > 1 else keep[0]
    elif chance(rng, 0.08):
        mask = rng.random((n_q, n_k)) < 0.65
        mask[np.arange(n_q), rng.integers(0, n_k, n_q)] = True
        if p["causal"]:
            mask[:, 0] = True
        tensors["mask_keep"] = mask
