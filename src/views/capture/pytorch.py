"""Save the steps of your PyTorch attention for `mha check`. Paste this above your code.

`keep` is all that modules of your own need. The rest is for modules that you cannot change.
"""

import contextlib
import inspect
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F

steps = {}


def keep(name, tensor):
    """Keep a copy of a step (masking in place must not change it) and give the tensor back."""
    kept = tensor.detach().cpu()
    steps[name] = np.array(kept.float() if kept.dtype == torch.bfloat16 else kept)  # NumPy has no bfloat16
    return tensor


@contextlib.contextmanager
def capture_projections(attention):
    """Keep q, k, v, concat and output of a module with q_proj, k_proj, v_proj and o_proj, as Llama's."""
    with contextlib.ExitStack() as hooks:
        for step, layer in {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "o_proj"}.items():
            hook = getattr(attention, layer).register_forward_hook
            hooks.enter_context(hook(lambda module, args, result, step=step: keep(step, result)))
        hook = attention.o_proj.register_forward_pre_hook
        hooks.enter_context(hook(lambda module, args: keep("concat", args[0])))
        yield steps


@contextlib.contextmanager
def calls_of(function):
    """List what a function of torch.nn.functional is given first, and what it gives."""
    original, calls = getattr(F, function), []

    def listed(given, *args, **kwargs):
        calls.append((given, original(given, *args, **kwargs)))
        return calls[-1][1]

    with mock.patch.object(F, function, listed):
        yield calls


@contextlib.contextmanager
def capture(mha):
    """Keep q, k, v, masked_scores, weights, concat, output of a torch.nn.MultiheadAttention, batch first."""
    forward, fast_path = mha.forward, torch.backends.mha.get_fastpath_enabled()

    def captured(*args, **kwargs):
        call = inspect.signature(forward).bind(*args, **kwargs)
        call.apply_defaults()
        need, average = call.arguments["need_weights"], call.arguments["average_attn_weights"]
        call.arguments.update(need_weights=True, average_attn_weights=False)
        # It calls functions, not modules: a hook on its out_proj would never run.
        with calls_of("linear") as linear, calls_of("softmax") as softmax:
            output, weights = forward(*call.args, **call.kwargs)
        batch = weights.shape[:-3]  # () where there is none

        def batch_first(tensor):  # inside, tokens come first
            tokens = tensor.reshape(-1, *(batch or (1,)), mha.embed_dim)
            return tokens.transpose(0, 1).reshape(*batch, -1, mha.embed_dim)

        *projected, (concat, _) = linear
        blocks = [block for _, result in projected for block in result.split(mha.embed_dim, -1)]
        for step, block in zip("qkv", blocks, strict=True):
            keep(step, batch_first(block))
        keep("masked_scores", softmax[-1][0].reshape(weights.shape))
        keep("weights", weights)
        keep("concat", batch_first(concat))
        keep("output", output if mha.batch_first or not batch else output.transpose(0, 1))
        return output, (weights.mean(-3) if average else weights) if need else None

    torch.backends.mha.set_fastpath_enabled(False)  # eval() would compute everything in one call
    try:
        with mock.patch.object(mha, "forward", captured):
            yield steps
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)


# The steps in order, any of which will do; h query heads, g key/value heads; a batch stands in front:
#   q (n_q, h * d_k), k (n_k, g * d_k), v (n_k, g * d_v); q_heads (h, n_q, d_k), k_heads (g, n_k, d_k),
#   v_heads (g, n_k, d_v); q_rot, k_rot: after RoPE; scores (h, n_q, n_k): scaled, before any mask;
#   masked_scores; weights; heads (h, n_q, d_v); concat (n_q, h * d_v); output (n_q, d_model).
# Call eval() first, since dropout changes weights. Then run your model once, in one of these ways.
#
# Your own module: keep(...) around its steps. What F.scaled_dot_product_attention gives are the heads:
#     heads = keep("heads", F.scaled_dot_product_attention(q_heads, k_heads, v_heads, is_causal=True))
# torch.nn.MultiheadAttention. It reads (n, batch, d_model) unless batch_first=True. Its boolean masks
# hide where True; those of a lesson and of F.scaled_dot_product_attention show where True. The weights
# that it gives back are a mean over heads; those kept here are each head's:
#     with capture(mha): mha(x, x, x, attn_mask=hidden)
# Llama and its like, one whole text at once, without a cache (q and k are those before RoPE):
#     with capture_projections(model.layers[0].self_attn): model(x)
# and from Hugging Face, with attn_implementation="eager" and output_attentions=True, also:
#     keep("weights", result.attentions[0])
#
# At the end:
#     np.savez("mine.npz", **steps)
# and in a terminal:
#     $ mha check LESSON mine.npz
