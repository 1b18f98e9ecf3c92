"""What the programs of this folder share: a snippet's recipe, the right steps, the comparison.

Each program runs in a folder that holds capture.py as mha printed it, and NAME.npz as `mha trace` saved it.
"""

import os
import re
import sys

import numpy as np

sys.path.insert(0, os.getcwd())


def follow(names):
    """Run the lines of code in the comments of capture.py, as a person who takes them out of the comments would."""
    with open("capture.py", encoding="utf-8") as file:
        lines = re.findall(r"^#     (?!\$)(.*)$", file.read(), re.MULTILINE)
    exec("\n".join(lines), names)


def right(name):
    """The steps of a lesson, by name, as `mha trace` computes them."""
    return dict(np.load(f"{name}.npz"))


def compare(have, want, names, tolerance, told):
    """Every step of `names` and no other was captured, with our shape and our numbers."""
    assert set(have) == set(names), f"{told}: {sorted(set(have) ^ set(names))}"
    for name in names:
        mine = np.asarray(have[name])
        assert mine.dtype.kind == "f", f"{told}: {name} is {mine.dtype}"
        assert mine.shape == want[name].shape, f"{told}: {name} is {mine.shape}, not {want[name].shape}"
        np.testing.assert_allclose(mine, want[name], rtol=0, atol=tolerance, err_msg=f"{told}: {name}")


def rotate(heads):
    """RoPE, half-split, base 10000, in NumPy: pair i of position p turns by p / 10000^(2i/d)."""
    half = heads.shape[-1] // 2
    angles = np.arange(heads.shape[-2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = heads[..., :half], heads[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


STEPS = (
    "q k v q_heads k_heads v_heads q_rot k_rot scores masked_scores weights heads concat output"
).split()
