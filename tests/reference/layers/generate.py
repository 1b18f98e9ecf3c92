"""Small stacks of PyTorch's Transformer layers in double precision, every step that hooks can reach, as JSON.

    python generate.py      # writes *.json beside this file

`nn.TransformerEncoderLayer` computes; the names of the steps and `x · W` in place of `W · x` are those of mha.
"""

import json
from pathlib import Path

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.backends.mha.set_fastpath_enabled(False)  # the fused path has no steps to look at

CASES = {
    "pre_gelu_1": dict(layers=1, pre=True, gelu=True, causal=False, final=True, d=6, h=2, d_ff=9, n=4),
    "post_relu_1": dict(layers=1, pre=False, gelu=False, causal=False, final=False, d=6, h=3, d_ff=8, n=4),
    "pre_relu_2_causal": dict(layers=2, pre=True, gelu=False, causal=True, final=True, d=8, h=4, d_ff=7, n=5),
    "post_gelu_2_causal": dict(layers=2, pre=False, gelu=True, causal=True, final=False, d=4, h=2, d_ff=10, n=5),
    "pre_gelu_4_causal": dict(layers=4, pre=True, gelu=True, causal=True, final=True, d=6, h=2, d_ff=12, n=4),
    "post_gelu_3_final": dict(layers=3, pre=False, gelu=True, causal=False, final=True, d=6, h=1, d_ff=5, n=3),
    "pre_gelu_3_bare": dict(layers=3, pre=True, gelu=True, causal=False, final=False, d=4, h=2, d_ff=6, n=3, plain=True),
    "pre_gelu_2_eps": dict(layers=2, pre=True, gelu=True, causal=False, final=True, d=4, h=4, d_ff=8, n=3, eps=0.25),
}


def drawn(*shape, scale=1.0):
    """Six decimals, so that the text of a file holds the same double."""
    return (torch.randn(*shape) * scale).mul(1e6).round().div(1e6)


def record(case, seed):
    torch.manual_seed(seed)
    d, h, d_ff, n = (case[key] for key in ("d", "h", "d_ff", "n"))
    eps, plain = case.get("eps", 1e-5), case.get("plain", False)
    gain, shift = (None, None) if plain else (1 + drawn(d, scale=0.3), drawn(d, scale=0.3))
    blocks = []
    for _ in range(case["layers"]):
        activation = "gelu" if case["gelu"] else "relu"
        block = nn.TransformerEncoderLayer(
            d, h, d_ff, dropout=0.0, activation=activation, layer_norm_eps=eps, batch_first=True,
            norm_first=case["pre"], bias=True,
        ).eval()
        with torch.no_grad():
            for name, parameter in block.named_parameters():
                if "norm" in name:
                    if not plain:
                        parameter.copy_(gain if name.endswith("weight") else shift)
                elif plain and name.endswith("bias"):
                    parameter.zero_()
                else:
                    parameter.copy_(drawn(*parameter.shape, scale=0.7))
        blocks.append(block)
    last = nn.LayerNorm(d, eps=eps)
    if not plain:
        with torch.no_grad():
            last.weight.copy_(gain)
            last.bias.copy_(shift)
    x = drawn(1, n, d)
    mask = torch.full((n, n), float("-inf")).triu(1) if case["causal"] else None

    steps, given = {"embedding": x}, []
    stream = x
    with torch.no_grad():
        for number, block in enumerate(blocks, 1):
            name = lambda step: f"layer.{number}.{step}"
            keep = lambda step: lambda module, inputs, output: steps.update({name(step): output})
            seen = lambda step: lambda module, inputs: steps.update({name(step): inputs[0]})
            attention = block.self_attn
            sums = ("attention_residual", "ffn.residual")
            handles = [
                attention.register_forward_hook(lambda m, i, o: steps.update({name("x"): i[0], name("output"): o[0]})),
                block.linear1.register_forward_pre_hook(seen("ffn.x")),
                block.linear1.register_forward_hook(keep("ffn.up")),
                block.linear2.register_forward_pre_hook(seen("ffn.activation")),
                block.linear2.register_forward_hook(keep("ffn.output")),
            ]
            if case["pre"]:
                handles.append(block.norm2.register_forward_pre_hook(seen(sums[0])))
            else:
                handles.append(block.norm1.register_forward_pre_hook(seen(sums[0])))
                handles.append(block.norm1.register_forward_hook(keep("attention_norm")))
                handles.append(block.norm2.register_forward_pre_hook(seen(sums[1])))
            out = block(stream, src_mask=mask)
            for handle in handles:
                handle.remove()
            asked = steps[name("x")]
            _, weights = attention(asked, asked, asked, attn_mask=mask, need_weights=True, average_attn_weights=False)
            for head in range(h):
                steps[name(f"head.{head + 1}.weights")] = weights[:, head]
            steps[name("hidden")] = stream = out
            w_q, w_k, w_v = attention.in_proj_weight.chunk(3)
            own = {"w_q": w_q.T, "w_k": w_k.T, "w_v": w_v.T, "w_o": attention.out_proj.weight.T}
            network = {"w_1": block.linear1.weight.T, "w_2": block.linear2.weight.T}
            if not plain:
                b_q, b_k, b_v = attention.in_proj_bias.chunk(3)
                own |= {"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": attention.out_proj.bias}
                network |= {"b_1": block.linear1.bias, "b_2": block.linear2.bias}
            lists = lambda matrices: {key: value.tolist() for key, value in matrices.items()}
            given.append({"projections": lists(own), "ffn": lists(network)})
        if case["final"]:
            steps["final"] = last(stream)

    layers = {
        "norm": "pre" if case["pre"] else "post",
        "eps": eps,
        "final_norm": case["final"],
        "ffn": {"d_ff": d_ff, "activation": "gelu" if case["gelu"] else "relu"},
        "stack": given,
    }
    if not plain:
        layers |= {"gain": gain.tolist(), "shift": shift.tolist()}
    attention = {"d_model": d, "num_heads": h} | ({"mask": "causal"} if case["causal"] else {})
    lesson = {"attention": attention, "inputs": {"x": x[0].tolist()}, "layers": layers}
    return {"torch": torch.__version__, "lesson": lesson, "steps": {key: value[0].tolist() for key, value in steps.items()}}


for seed, (name, case) in enumerate(CASES.items(), 1):
    text = json.dumps(record(case, seed), separators=(",", ":"))
    Path(__file__).with_name(f"{name}.json").write_text(text + "\n")
