"""Save the steps of your JAX attention for `mha check`. Paste this above your code."""

import jax
import jax.numpy as jnp
import numpy as np

steps = {}


def keep(name, array):
    """Keep a copy of a step, inside jax.jit too, and give the array back."""
    def store(value):  # NumPy's files have no bfloat16
        steps[name] = np.array(value, np.float32 if value.dtype == jnp.bfloat16 else value.dtype)

    jax.debug.callback(store, array)
    return array


# Put keep(...) around those steps that your own code has, outside of vmap and scan, which would leave
# the last part only. In order, h query heads, g key/value heads, a batch in front:
#   q (n_q, h * d_k), k (n_k, g * d_k), v (n_k, g * d_v); q_heads (h, n_q, d_k), k_heads (g, n_k, d_k),
#   v_heads (g, n_k, d_v); q_rot, k_rot: after RoPE; scores (h, n_q, n_k): scaled, before any mask;
#   masked_scores; weights; heads (h, n_q, d_v); concat (n_q, h * d_v); output (n_q, d_model).
#     scores = keep("scores", q_heads @ k_heads.swapaxes(-1, -2) / d_k**0.5)
# jax.nn.dot_product_attention has heads behind tokens, (n_q, h, d_k):
#     heads = jax.nn.dot_product_attention(query, key, value)
#     keep("heads", heads.swapaxes(-2, -3))
# flax.linen.MultiHeadDotProductAttention keeps a record of its own:
#     output, record = module.apply(variables, x, sow_weights=True, capture_intermediates=True)
#     for step, part in {"q": "query", "k": "key", "v": "value"}.items():
#         keep(step, record["intermediates"][part]["__call__"][0].reshape(*x.shape[:-1], -1))
#     keep("weights", record["intermediates"]["attention_weights"][0])
#     keep("output", output)
# At the end:
#     jax.effects_barrier()  # what is kept inside jit comes a little later
#     np.savez("mine.npz", **steps)
# and in a terminal:
#     $ mha check LESSON mine.npz
