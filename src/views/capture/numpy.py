"""Save the steps of your NumPy attention for `mha check`. Paste this above your code."""

import numpy as np

steps = {}


def keep(name, array):
    """Keep a copy of a step (masking in place must not change it) and give the array back."""
    steps[name] = np.array(array)
    return array


# Put keep(...) around those steps that your own code has. h query heads, g key/value heads; a batch
# stands in front. One head at a time: keep(f"head.{i + 1}.scores", ...), counted from 1.
#     q = keep("q", x @ w_q + b_q)  # (n_q, h * d_k)
#     k = keep("k", x @ w_k + b_k)  # (n_k, g * d_k)
#     v = keep("v", x @ w_v + b_v)  # (n_k, g * d_v)
#     q_heads = keep("q_heads", split(q))  # (h, n_q, d_k)
#     k_heads = keep("k_heads", split(k))  # (g, n_k, d_k)
#     v_heads = keep("v_heads", split(v))  # (g, n_k, d_v)
#     q_rot = keep("q_rot", rope(q_heads))  # (h, n_q, d_k), with rotary positions only
#     k_rot = keep("k_rot", rope(k_heads))  # (g, n_k, d_k), likewise
#     scores = keep("scores", q_rot @ k_rot.swapaxes(-1, -2) / np.sqrt(d_k))  # (h, n_q, n_k)
#     masked_scores = keep("masked_scores", np.where(mask, scores, -np.inf))  # with a mask only
#     weights = keep("weights", softmax(masked_scores))  # (h, n_q, n_k), each row sums to 1
#     heads = keep("heads", weights @ v_heads)  # (h, n_q, d_v)
#     concat = keep("concat", merge(heads))  # (n_q, h * d_v)
#     output = keep("output", concat @ w_o + b_o)  # (n_q, d_model)
# At the end:
#     np.savez("mine.npz", **steps)
# and in a terminal:
#     $ mha check LESSON mine.npz
