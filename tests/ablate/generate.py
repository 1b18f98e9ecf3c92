"""What transformers and PyTorch make of the tiny models with heads switched off: tests/ablate/expected.json.

    OMP_NUM_THREADS=1 python tests/ablate/generate.py

A head is changed where its output enters the output projection, by a hook: its block of columns is set to zero, to its mean
over the tokens, or to the mean of the values that each query may see (which is what even attention weights give). Nothing
of mha is used. Layers, heads and tokens count from 1 here, as in the tests.
"""

import json
import pathlib

import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent / "reference" / "models"
MASK = 4  # [MASK] of bert-tiny
TOP = 5

# (layer, head) pairs, replacement
CASES = [
    ([(1, 2)], "zero"),
    ([(2, 1)], "mean"),
    ([(1, 4)], "uniform"),
    ([(1, 1), (1, 3), (2, 2)], "zero"),
    ([(1, 3), (2, 4)], "mean"),
    ([(2, 1), (2, 2), (2, 3), (2, 4)], "uniform"),
]


class Tiny:
    """A model, and where its attention stands."""

    def __init__(self, name):
        self.folder = MODELS / name
        self.is_bert = name.startswith("bert")
        auto = AutoModelForMaskedLM if self.is_bert else AutoModelForCausalLM
        self.model = auto.from_pretrained(self.folder, attn_implementation="eager", dtype=torch.float32).eval()
        self.config = self.model.config
        self.heads = self.config.num_attention_heads
        self.kv_heads = getattr(self.config, "num_key_value_heads", self.heads)
        types = getattr(self.config, "layer_types", None) or []
        self.windows = [self.config.sliding_window if kind == "sliding_attention" else None for kind in types]

    def modules(self, layer):
        """The value projection and the output projection."""
        if self.is_bert:
            attention = self.model.bert.encoder.layer[layer].attention
            return attention.self.value, attention.output.dense
        attention = self.model.model.layers[layer].self_attn
        return attention.v_proj, attention.o_proj

    def even(self, layer, head, values):
        """The mean of the values that each query may see (n x d_v)."""
        n = values.shape[0]
        d_v = values.shape[1] // self.kv_heads
        own = head // (self.heads // self.kv_heads)
        v = values[:, own * d_v : (own + 1) * d_v]
        at = torch.arange(n)
        seen = torch.ones(n, n, dtype=torch.bool)
        if not self.is_bert:
            seen = at[None, :] <= at[:, None]
            window = self.windows[layer] if self.windows else None
            if window is not None:
                seen &= at[None, :] > at[:, None] - window
        weights = seen.float() / seen.sum(1, keepdim=True)
        return weights @ v

    def run(self, ids, heads=(), replacement="zero"):
        """What every output projection gives, the last hidden states, and the logits."""
        handles, values, outputs = [], {}, {}
        for layer in range(self.config.num_hidden_layers):
            value, project = self.modules(layer)
            mine = [head - 1 for at, head in heads if at - 1 == layer]

            def keep_values(_, __, result, layer=layer):
                values[layer] = result[0].detach()

            def replace(_, inputs, layer=layer, mine=mine):
                concat = inputs[0].clone()
                d_v = concat.shape[-1] // self.heads
                for head in mine:
                    block = concat[0, :, head * d_v : (head + 1) * d_v]
                    if replacement == "zero":
                        block[:] = 0
                    elif replacement == "mean":
                        block[:] = block.mean(0, keepdim=True).clone()
                    else:
                        block[:] = self.even(layer, head, values[layer])
                return (concat,)

            def keep_output(_, __, result, layer=layer):
                outputs[layer + 1] = result[0].detach()

            handles.append(value.register_forward_hook(keep_values))
            handles.append(project.register_forward_pre_hook(replace))
            handles.append(project.register_forward_hook(keep_output))
        with torch.no_grad():
            result = self.model(torch.tensor([ids]), output_hidden_states=True)
        for handle in handles:
            handle.remove()
        return outputs, result.hidden_states[-1][0], result.logits[0].double()


def moved(before, after):
    before, after = before.double(), after.double()
    return {
        "change": (after - before).norm(dim=1).tolist(),
        "cosine": torch.nn.functional.cosine_similarity(before, after, dim=1).tolist(),
    }


def predicted(logits, targets, place):
    """The mean loss at (row, id) pairs, and the most likely tokens of one row."""
    log_p = torch.log_softmax(logits, dim=1)
    loss = -sum(log_p[row, token] for row, token in targets) / len(targets)
    top = torch.topk(log_p[place], TOP)
    return {"loss": loss.item(), "ids": top.indices.tolist(), "p": top.values.exp().tolist()}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return value


def of_model(name):
    tiny = Tiny(name)
    expected = json.loads((tiny.folder / "expected.json").read_text())
    ids = expected["texts"][1]["ids"]
    masked = None
    if tiny.is_bert:
        # as it stands but for the special tokens; and with token 5 hidden
        targets = [(row, token) for row, token in enumerate(ids) if token not in (2, 3)]
        masked = 5
        hidden = [MASK if row == masked - 1 else token for row, token in enumerate(ids)]
    else:
        targets = [(row, token) for row, token in enumerate(ids[1:])]
    place = len(ids) - 1
    base = tiny.run(ids)
    found = {"ids": ids, "masked": masked, "before": predicted(base[2], targets, place), "cases": []}
    found["last"] = base[1].tolist()
    if masked:
        base_masked = tiny.run(hidden)
        guess = [(masked - 1, ids[masked - 1])]
        found["masked_before"] = predicted(base_masked[2], guess, masked - 1)
    for heads, replacement in CASES:
        after = tiny.run(ids, heads, replacement)
        layers = sorted({layer for layer, _ in heads})
        case = {
            "heads": [f"layer.{layer}.head.{head}" for layer, head in heads],
            "with": replacement,
            "outputs": [moved(base[0][layer], after[0][layer]) for layer in layers],
            "last": moved(base[1], after[1]),
            "after": predicted(after[2], targets, place),
        }
        if masked:
            case["masked_after"] = predicted(tiny.run(hidden, heads, replacement)[2], guess, masked - 1)
        found["cases"].append(case)
    return found


def main():
    names = ["bert-tiny", "llama-tiny", "qwen2-tiny", "gemma2-tiny"]
    found = {name: rounded(of_model(name)) for name in names}
    (HERE / "expected.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
