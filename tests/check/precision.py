"""Tensors as they come out of other people's hands: rounded, at the end or at every step."""

import numpy as np

PRECISIONS = ("f32", "f64", "f16", "f16-chain", "bf16", "4dp", "3dp", "4dp-chain")
SHARES = (0.32, 0.10, 0.13, 0.07, 0.08, 0.16, 0.07, 0.07)


def bfloat16(a):
    """Rounded to the nearest bfloat16, ties to even; not-a-numbers and infinities are kept."""
    bits = a.astype(np.float32).view(np.uint32)
    nearest = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    cut = (nearest & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(a), cut, a).astype(np.float32)


def rounder(precision, every_step):
    """What is done to every step before it is used further."""
    if precision == "f16-chain":
        return lambda a: a.astype(np.float16).astype(np.float64)
    if precision == "4dp-chain":
        return lambda a: np.round(a, 4)
    if precision == "f32" and every_step:
        return lambda a: a.astype(np.float32).astype(np.float64)
    return lambda a: a


def stored(tensors, precision, widened):
    """(tensors as stored, the remark `stored_as` or None). `widened`: half kept as float32."""
    if precision in ("4dp", "3dp", "4dp-chain"):
        return {k: np.round(a, int(precision[0])) + 0.0 for k, a in tensors.items()}, None
    if precision == "bf16":
        return ({k: bfloat16(a) for k, a in tensors.items()},
                "float32 holding bfloat16 values")
    dtype = {"f64": np.float64, "f32": np.float32}.get(precision, np.float16)
    kept = {k: a.astype(dtype) for k, a in tensors.items()}
    if dtype == np.float16 and widened:
        return ({k: a.astype(np.float32) for k, a in kept.items()},
                "float32 holding float16 values")
    return kept, None
