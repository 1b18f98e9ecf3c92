"""The PyTorch snippet: modules of one's own, torch.nn.MultiheadAttention in its many forms, and a small Llama."""

import types
import warnings
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F

from recipe import STEPS, compare, follow, right, rotate

import capture

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}
CAPTURED = ["q", "k", "v", "masked_scores", "weights", "concat", "output"]


def tensor(array, dtype=torch.float64):
    return torch.from_numpy(np.ascontiguousarray(array)).to(dtype)


def module_of(want, dtype, batch_first):
    """torch.nn.MultiheadAttention with a lesson's projections; it stores them (out, in)."""
    width, kv_width = want["x"].shape[-1], want.get("x_kv", want["x"]).shape[-1]
    mha = torch.nn.MultiheadAttention(
        width, 2, batch_first=batch_first, kdim=kv_width, vdim=kv_width, dropout=0.5, dtype=dtype
    )
    weights = [tensor(want[f"w_{letter}"].T, dtype) for letter in "qkv"]
    with torch.no_grad():
        if mha._qkv_same_embed_dim:
            mha.in_proj_weight.copy_(torch.cat(weights))
        else:
            for own, weight in zip([mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight], weights):
                own.copy_(weight)
        mha.in_proj_bias.copy_(torch.cat([tensor(want[f"b_{letter}"], dtype) for letter in "qkv"]))
        mha.out_proj.weight.copy_(tensor(want["w_o"].T, dtype))
        mha.out_proj.bias.copy_(tensor(want["b_o"], dtype))
    return mha.eval()


def left_as_it_was(mha):
    assert "forward" not in vars(mha) and torch.backends.mha.get_fastpath_enabled()
    assert F.linear is LINEAR and F.softmax is SOFTMAX
    assert not mha._forward_hooks and not mha._forward_pre_hooks


LINEAR, SOFTMAX = F.linear, F.softmax
# True hides: the causal triangle, and the last two tokens of sequence 2.
hidden = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])


def multihead_attention():
    """Self-attention with both masks, and cross-attention with a context of the same and of another width."""
    for name in ["masked", "cross", "cross-wider"]:
        want = right(name)
        masks = {"attn_mask": hidden, "key_padding_mask": padding} if name == "masked" else {}
        steps = [step for step in CAPTURED if step != "masked_scores"]
        # Without a mask the softmax reads the scores: masked_scores is the other name for them.
        scores = want.get("masked_scores", want["scores"])
        for dtype, tolerance in TOLERANCES.items():
            for batch_first in [True, False]:
                told = f"{name}, {dtype}, batch_first={batch_first}"
                mha = module_of(want, dtype, batch_first)
                given = [tensor(want["x"], dtype)]
                given += [tensor(want["x_kv"], dtype)] if "x_kv" in want else given
                if not batch_first:
                    given = [each.transpose(0, 1) for each in given]
                given.append(given[1])
                capture.steps.clear()
                with capture.capture(mha) as kept, torch.no_grad():
                    output, mean = mha(*given, **masks)
                    assert mha(*given, **masks, need_weights=False)[1] is None
                compare(kept, want | {"masked_scores": scores}, steps + ["masked_scores"], tolerance, told)
                # Whoever called it sees what it gives without us.
                with torch.no_grad():
                    plain, plain_mean = mha(*given, **masks)
                torch.testing.assert_close(output, plain, rtol=0, atol=tolerance)
                torch.testing.assert_close(mean, plain_mean, rtol=0, atol=tolerance)
                left_as_it_was(mha)


def one_sequence():
    """(n, d_model) in, no axis of length one out; masks given by place, and with gradients."""
    want = {step: array[0] if step in STEPS + ["x"] else array for step, array in right("masked").items()}
    mha = module_of(want, torch.float64, True)
    x = tensor(want["x"])
    capture.steps.clear()
    with capture.capture(mha) as kept:
        mha(x, x, x, None, False, hidden)[0].sum().backward()
    compare(kept, want, CAPTURED, 1e-12, "one sequence")
    assert mha.in_proj_weight.grad is not None


def fast_path():
    """An encoder in eval() computes a layer in one call, without its attention module; not while we watch."""
    want = right("masked")
    attention = module_of(want, torch.float32, True)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    layer.self_attn.load_state_dict(attention.state_dict())
    encoder = torch.nn.TransformerEncoder(layer, 1).eval()
    first = encoder.layers[0].self_attn
    x = tensor(want["x"], torch.float32)
    masks = {"mask": hidden, "src_key_padding_mask": padding}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nested tensors are a prototype, says PyTorch
        capture.steps.clear()
        with capture.capture(first) as kept:
            encoder(x, **masks)
        compare(kept, want, CAPTURED, 1e-5, "encoder")
        left_as_it_was(first)
        with mock.patch.object(F, "multi_head_attention_forward") as inside:
            encoder(x, **masks)
        assert not inside.called, "there is no fast path here to be kept from"


def dropout():
    """In train() the weights are those that were used: some are 0, and the others doubled."""
    want = right("masked")
    mha = module_of(want, torch.float64, True).train()
    x = tensor(want["x"])
    torch.manual_seed(1)
    with capture.capture(mha) as kept:
        mha(x, x, x, attn_mask=hidden, key_padding_mask=padding)
    dropped = kept["weights"] == 0
    assert dropped[np.isfinite(want["masked_scores"])].any()
    np.testing.assert_allclose(kept["weights"], np.where(dropped, 0, 2 * want["weights"]), rtol=0, atol=1e-12)
    assert np.abs(kept["output"] - want["output"]).max() > 0.01


def an_error_passes_through():
    mha = module_of(right("masked"), torch.float64, True)
    try:
        with capture.capture(mha):
            mha(torch.zeros(2, 5, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 7))
    except (AssertionError, RuntimeError):
        left_as_it_was(mha)
    else:
        raise AssertionError("a wrong width was taken")


class Attention(torch.nn.Module):
    """Grouped queries, RoPE and a causal mask, with the names of Llama's projections."""

    def __init__(self, want, dtype):
        super().__init__()
        for letter in "qkvo":
            weight = tensor(want[f"w_{letter}"].T, dtype)
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=dtype)
            layer.weight, layer.bias = (
                torch.nn.Parameter(each) for each in [weight, tensor(want[f"b_{letter}"], dtype)]
            )
            self.add_module(f"{letter}_proj", layer)

    def forward(self, x, keep=lambda name, value: value):
        split = lambda rows: rows.unflatten(-1, (-1, 4)).transpose(-2, -3)
        rope = lambda heads: tensor(rotate(heads.detach().double().numpy()), heads.dtype)
        q = keep("q_heads", split(self.q_proj(x)))
        k = keep("k_heads", split(self.k_proj(x)))
        v = keep("v_heads", split(self.v_proj(x)))
        q, k = keep("q_rot", rope(q)), keep("k_rot", rope(k))
        groups = q.shape[-3] // k.shape[-3]
        k, v = k.repeat_interleave(groups, -3), v.repeat_interleave(groups, -3)
        scores = keep("scores", q @ k.transpose(-1, -2) / 2)
        scores.masked_fill_(hidden, -torch.inf)  # in place: what was kept stays
        weights = keep("weights", keep("masked_scores", scores).softmax(-1))
        heads = keep("heads", weights @ v)
        return self.o_proj(heads.transpose(-2, -3).flatten(-2))


def own_modules():
    """All fourteen steps: those between the projections with keep, the others with hooks."""
    for name in ["rotary", "grouped"]:
        want = right(name)
        for dtype, tolerance in TOLERANCES.items():
            attention = Attention(want, dtype)
            x = tensor(want["x"], dtype)
            capture.steps.clear()
            with torch.no_grad(), capture.capture_projections(attention) as kept:
                output = attention(x, capture.keep)
            compare(kept, want, STEPS, tolerance, f"{name}, {dtype}")
            assert (kept["q"].dtype == np.float16) == (dtype == torch.float16)
            assert torch.equal(output, attention(x))
            assert not any(part._forward_hooks or part._forward_pre_hooks for part in attention.children())


def the_recipe():
    """The lines in the comments run as they stand."""
    want = right("masked")
    names = {name: getattr(capture, name) for name in ["keep", "steps", "capture", "capture_projections"]}
    names |= {"np": np, "torch": torch, "F": F, "x": tensor(want["x"]), "hidden": hidden}
    names["mha"] = module_of(want, torch.float64, True)
    for step in ["q_heads", "k_heads", "v_heads"]:
        names[step] = tensor(right("rotary")[step])
    attention = Attention(right("rotary"), torch.float64)
    layer = types.SimpleNamespace(self_attn=attention)
    names["model"] = type("Model", (), {"layers": [layer], "__call__": lambda self, x: attention(x)})()
    names["result"] = types.SimpleNamespace(attentions=[tensor(want["weights"])])
    capture.steps.clear()
    follow(names)
    saved = np.load("mine.npz")
    assert set(saved) == {"heads", *CAPTURED}
    np.testing.assert_array_equal(saved["weights"], want["weights"])


multihead_attention()
one_sequence()
fast_path()
dropout()
an_error_passes_through()
own_modules()
the_recipe()
