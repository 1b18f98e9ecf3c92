"""The JAX snippet: inside jit and outside, in bfloat16, and on Flax's attention."""

import jax

jax.config.update("jax_enable_x64", True)

import flax.linen as nn
import jax.numpy as jnp
import numpy as np

from recipe import STEPS, compare, follow, right

import capture

want = right("rotary")
mask = np.tril(np.ones((5, 5), dtype=bool))


def attention(x, keep):
    split = lambda rows: rows.reshape(len(rows), -1, 4).swapaxes(0, 1)
    angles = jnp.arange(5)[:, None] * 10000.0 ** (-jnp.arange(2) / 2)

    def rope(heads):
        first, second = heads[..., :2], heads[..., 2:]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        turned = [first * cos - second * sin, second * cos + first * sin]
        return jnp.concatenate(turned, -1).astype(heads.dtype)

    project = lambda rows, name: rows @ want[f"w_{name}"].astype(x.dtype) + want[f"b_{name}"].astype(x.dtype)
    q, k, v = (keep(name, project(x, name)) for name in "qkv")
    q, k, v = (keep(f"{name}_heads", split(rows)) for name, rows in zip("qkv", [q, k, v]))
    q, k = keep("q_rot", rope(q)), keep("k_rot", rope(k))
    scores = keep("scores", q @ k.swapaxes(-1, -2) / 2)
    masked = keep("masked_scores", jnp.where(mask, scores, -jnp.inf))
    weights = keep("weights", jax.nn.softmax(masked, axis=-1))
    heads = keep("heads", weights @ v)
    concat = keep("concat", heads.swapaxes(0, 1).reshape(5, -1))
    return keep("output", project(concat, "o"))


TOLERANCES = {jnp.float64: 1e-12, jnp.float32: 1e-5, jnp.float16: 2e-2, jnp.bfloat16: 1e-1}
for dtype, tolerance in TOLERANCES.items():
    for run in [attention, jax.jit(attention, static_argnums=1)]:
        capture.steps.clear()
        run(jnp.asarray(want["x"], dtype), capture.keep)
        jax.effects_barrier()
        compare(capture.steps, want, STEPS, tolerance, f"{run}, {dtype.__name__}")
        np.savez("mine.npz", **capture.steps)
        compare(np.load("mine.npz"), want, STEPS, tolerance, f"{run}, {dtype.__name__}, saved")

# The recipe, on Flax's attention with a lesson's projections: kernels are (in, h, d_k), and W_O's (h, d_v, d_model).
# jax.nn.dot_product_attention takes its softmax in float32, whatever it is given.
want = right("plain")
module = nn.MultiHeadDotProductAttention(num_heads=2, param_dtype=jnp.float64)
params = {
    name: {"kernel": want[f"w_{letter}"].reshape(8, 2, 4), "bias": want[f"b_{letter}"].reshape(2, 4)}
    for letter, name in {"q": "query", "k": "key", "v": "value"}.items()
}
params["out"] = {"kernel": want["w_o"].reshape(2, 4, 8), "bias": want["b_o"]}
names = {"np": np, "jax": jax, "keep": capture.keep, "steps": capture.steps, "module": module}
names |= {"x": jnp.asarray(want["x"]), "variables": {"params": params}, "d_k": 4}
names |= {"q_heads": jnp.asarray(want["q_heads"]), "k_heads": jnp.asarray(want["k_heads"])}
for name, step in {"query": "q_heads", "key": "k_heads", "value": "v_heads"}.items():
    names[name] = jnp.asarray(want[step]).swapaxes(-2, -3)
capture.steps.clear()
follow(names)
compare(np.load("mine.npz"), want, ["q", "k", "v", "scores", "weights", "heads", "output"], 1e-6, "Flax")
