"""The recipe of the NumPy snippet, as it stands in its comments, on a rotary lesson with a mask and biases."""

import numpy as np

from recipe import STEPS, compare, follow, right, rotate

import capture

want = right("rotary")


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


names = {key: want[key] for key in ["x", "w_q", "b_q", "w_k", "b_k", "w_v", "b_v", "w_o", "b_o"]}
names |= {"np": np, "keep": capture.keep, "steps": capture.steps, "rope": rotate, "softmax": softmax, "d_k": 4}
names["split"] = lambda rows: rows.reshape(len(rows), -1, 4).swapaxes(0, 1)
names["merge"] = lambda heads: heads.swapaxes(0, 1).reshape(heads.shape[1], -1)
names["mask"] = np.tril(np.ones((5, 5), dtype=bool))
follow(names)
compare(np.load("mine.npz"), want, STEPS, 1e-12, "NumPy")

# Scores that are masked in place after they were kept are still the scores.
scores = capture.keep("scores", want["scores"].copy())
scores[:, ~names["mask"]] = -np.inf
compare(capture.steps, want, STEPS, 1e-12, "masked in place")
