"""One tiny model for each family and each way to rotate, and what transformers computes with it.

Run: OMP_NUM_THREADS=1 python tests/models/generate.py [NAME …]    (transformers 5.24.0, torch 2.15.0, safetensors, numpy)
With names only those folders are made; a new model goes to the end of MODELS, so that the others keep their seeds.

Each folder gets config.json and model.safetensors as transformers writes them (float16, so that float32 holds every
number exactly), expected.json with token ids, and one .npz a text: attentions (layers, heads, n, n), hidden_states
(layers + 1, n, d_model) and logits (n, vocabulary), computed in float32 with eager attention. Weights are drawn wide
enough for attention to be uneven. Where a checkpoint in the wild looks different from what is written today (an older
config, older names), the files are rewritten first and transformers reads those.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

HERE = Path(__file__).parent
SHORT, LONG = 6, 14
VOCABULARY = 40
SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=20,
    max_position_embeddings=32,
)


def decoder(**more):
    return {**SIZES, "num_key_value_heads": 2, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, **more}


def old_style(**keys):
    """The config with rotary keys as they were written before transformers 5."""

    def rewrite(config, _):
        config.pop("rope_parameters", None)
        return {**config, **keys}, _

    return rewrite


def gamma_and_beta(config, tensors):
    """Names of the first BERT checkpoints."""
    old = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    return config, {old(name): tensor for name, tensor in tensors.items()}


def old_pattern(config, tensors):
    for key in ("rope_parameters", "layer_types", "_sliding_window_pattern"):
        config.pop(key, None)
    config.update(sliding_window_pattern=2, rope_theta=100000.0, rope_local_base_freq=1000.0)
    config.update(rope_scaling={"rope_type": "linear", "factor": 8.0})
    return config, tensors


# What each folder is: class of the config, of the model, the config's keys, lengths of texts, how files are rewritten.
MODELS = {
    "bert-old-names": ("BertConfig", "BertForMaskedLM", dict(SIZES, hidden_act="relu"), [LONG], gamma_and_beta),
    "roberta": (
        "RobertaConfig",
        "RobertaForMaskedLM",
        dict(SIZES, layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1),
        [LONG],
        None,
    ),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        dict(
            vocab_size=VOCABULARY,
            dim=24,
            n_layers=2,
            n_heads=4,
            hidden_dim=20,
            max_position_embeddings=32,
            pad_token_id=0,
        ),
        [LONG],
        None,
    ),
    "gpt2-by-layer": (
        "GPT2Config",
        "GPT2LMHeadModel",
        dict(
            vocab_size=VOCABULARY,
            n_embd=24,
            n_layer=2,
            n_head=4,
            n_positions=32,
            bos_token_id=0,
            eos_token_id=0,
            scale_attn_by_inverse_layer_idx=True,
        ),
        [LONG],
        None,
    ),
    "neox-parallel": (
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        decoder(num_key_value_heads=4, num_attention_heads=3),
        [LONG],
        old_style(rotary_pct=0.5, rotary_emb_base=1000),
    ),
    "neox-sequential": (
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        decoder(
            num_attention_heads=3,
            use_parallel_residual=False,
            attention_bias=False,
            rope_parameters=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=0.25),
        ),
        [LONG],
        None,
    ),
    "llama-llama3": (
        "LlamaConfig",
        "LlamaForCausalLM",
        decoder(num_key_value_heads=1, head_dim=8, attention_bias=True, mlp_bias=True),
        [LONG],
        old_style(
            rope_theta=100.0,
            rope_scaling=dict(
                rope_type="llama3",
                factor=4.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=16,
            ),
        ),
    ),
    "llama-linear": (
        "LlamaConfig",
        "LlamaForCausalLM",
        decoder(tie_word_embeddings=True),
        [LONG],
        old_style(rope_theta=10000.0, rope_scaling=dict(type="linear", factor=2.0)),
    ),
    "llama-dynamic": (
        "LlamaConfig",
        "LlamaForCausalLM",
        decoder(
            max_position_embeddings=8, rope_parameters=dict(rope_type="dynamic", rope_theta=100.0, factor=4.0)
        ),
        [SHORT, LONG],
        None,
    ),
    "mistral": (
        "MistralConfig",
        "MistralForCausalLM",
        decoder(sliding_window=4, head_dim=8),
        [LONG],
        old_style(rope_theta=1000.0),
    ),
    "qwen2-yarn": (
        "Qwen2Config",
        "Qwen2ForCausalLM",
        decoder(
            use_sliding_window=True,
            sliding_window=4,
            max_window_layers=1,
            rope_parameters=dict(
                rope_type="yarn",
                rope_theta=1000.0,
                factor=4.0,
                original_max_position_embeddings=32,
                beta_fast=4.0,
                beta_slow=1.0,
            ),
        ),
        [LONG],
        None,
    ),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", decoder(head_dim=8, num_key_value_heads=1), [LONG], None),
    "gemma3-old-config": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        decoder(
            head_dim=8,
            num_key_value_heads=1,
            sliding_window=4,
            query_pre_attn_scalar=12,
            final_logit_softcapping=3.0,
        ),
        [LONG],
        old_pattern,
    ),
    "phi3-longrope": (
        "Phi3Config",
        "Phi3ForCausalLM",
        decoder(
            num_attention_heads=3,
            num_key_value_heads=1,
            partial_rotary_factor=0.75,
            original_max_position_embeddings=8,
            rope_parameters=dict(
                rope_type="longrope",
                rope_theta=100.0,
                partial_rotary_factor=0.75,
                short_factor=[1.0, 1.25, 1.5],
                long_factor=[1.5, 3.0, 6.0],
            ),
        ),
        [SHORT, LONG],
        None,
    ),
    "smollm3": (
        "SmolLM3Config",
        "SmolLM3ForCausalLM",
        decoder(no_rope_layer_interval=2, tie_word_embeddings=True),
        [LONG],
        None,
    ),
    "starcoder2": ("Starcoder2Config", "Starcoder2ForCausalLM", decoder(sliding_window=5), [LONG], None),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        dict(
            vocab_size=VOCABULARY,
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=3,
            ffn_dim=20,
            max_position_embeddings=32,
            word_embed_proj_dim=24,
            bos_token_id=0,
            eos_token_id=0,
        ),
        [LONG],
        None,
    ),
    "opt-post-norm": (
        "OPTConfig",
        "OPTForCausalLM",
        dict(
            vocab_size=VOCABULARY,
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=20,
            max_position_embeddings=32,
            word_embed_proj_dim=24,
            bos_token_id=0,
            eos_token_id=0,
            do_layer_norm_before=False,
            enable_bias=False,
            activation_function="gelu",
            tie_word_embeddings=False,
        ),
        [LONG],
        None,
    ),
}


def draw(model, generator):
    """Numbers wide enough for uneven attention; gains near 1 (of Gemma near 0: it adds the 1)."""
    for name, parameter in model.named_parameters():
        normal = torch.randn(parameter.shape, generator=generator)
        is_gain = "norm" in name.lower() or ".ln_" in name
        if is_gain and name.endswith("weight"):
            mean = 0.0 if "Gemma" in type(model).__name__ else 1.0
            parameter.data = mean + 0.2 * normal
        elif parameter.dim() == 1:
            parameter.data = 0.3 * normal
        else:
            parameter.data = normal * (0.8 if "embed" in name or "wte" in name else 0.4)


def build(number, name, config_class, model_class, keys, lengths, rewrite):
    folder = HERE / name
    generator = torch.Generator().manual_seed(700 + number)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**keys))
    draw(model, generator)
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    config, weights = folder / "config.json", folder / "model.safetensors"
    if rewrite is not None:
        changed, tensors = rewrite(json.loads(config.read_text()), load_file(weights))
        config.write_text(json.dumps(changed, indent=2) + "\n")
        save_file(tensors, weights, metadata={"format": "pt"})
    model = getattr(transformers, model_class).from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    texts = []
    for text, length in enumerate(lengths, 1):
        ids = torch.randint(2, VOCABULARY, (1, length), generator=generator)
        if name == "roberta":
            ids[0, 5] = 1  # the padding token takes no position
        with torch.no_grad():
            out = model(input_ids=ids, output_attentions=True, output_hidden_states=True, use_cache=False)
        np.savez_compressed(
            folder / f"expected_{text}.npz",
            attentions=torch.cat(out.attentions).numpy(),
            hidden_states=torch.cat(out.hidden_states).numpy(),
            logits=out.logits[0].numpy(),
        )
        texts.append({"file": f"expected_{text}.npz", "ids": ids[0].tolist()})
    (folder / "expected.json").write_text(json.dumps({"class": model_class, "texts": texts}) + "\n")
    uneven = max(attention.max(-1).values.mean().item() for attention in out.attentions)
    print(f"{name}: mean largest weight {uneven:.2f}")


def nest(source, target):
    """The same text model as a checkpoint that also sees pictures holds it."""
    folder = HERE / target
    folder.mkdir(exist_ok=True)
    text = json.loads((HERE / source / "config.json").read_text())
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": text,
        "tie_word_embeddings": True,
        "vision_config": {"model_type": "siglip_vision_model", "num_hidden_layers": 1},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = {f"language_model.{name}": tensor for name, tensor in load_file(HERE / source / "model.safetensors").items()}
    tensors["vision_tower.vision_model.post_layernorm.weight"] = np.ones(4, dtype=np.float16)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    for file in ("expected.json", "expected_1.npz"):
        (folder / file).write_bytes((HERE / source / file).read_bytes())


def attention_only(name, number, norm, is_tied):
    """A Transformer of attention alone, which no framework has: its formulas in PyTorch."""
    folder, d_model, heads, n = HERE / name, 12, 3, 9
    folder.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(700 + number)
    drawn = lambda *shape: (0.5 * torch.randn(shape, generator=generator)).half().float()
    tensors = {"embed.weight": drawn(VOCABULARY, d_model), "positions.weight": drawn(16, d_model)}
    for layer in range(2):
        for part in "qkvo":
            tensors[f"layers.{layer}.{part}.weight"] = drawn(d_model, d_model)
        if norm == "pre":
            tensors[f"layers.{layer}.q.bias"] = drawn(d_model)
            tensors[f"layers.{layer}.norm.weight"], tensors[f"layers.{layer}.norm.bias"] = drawn(d_model), drawn(d_model)
    if norm == "pre":
        tensors["final_norm.weight"], tensors["final_norm.bias"] = drawn(d_model), drawn(d_model)
    if not is_tied:
        tensors["unembed.weight"] = drawn(VOCABULARY, d_model)
    config = dict(
        model_type="attention_only",
        hidden_size=d_model,
        num_hidden_layers=2,
        num_attention_heads=heads,
        vocab_size=VOCABULARY,
        max_position_embeddings=16,
        norm=norm,
        tie_word_embeddings=is_tied,
    )
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    halves = {key: tensor.half().numpy() for key, tensor in tensors.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})

    normed = lambda x, at: (
        torch.nn.functional.layer_norm(x, (d_model,), tensors[f"{at}.weight"], tensors[f"{at}.bias"])
        if f"{at}.weight" in tensors
        else x
    )
    ids = torch.randint(0, VOCABULARY, (n,), generator=generator)
    x = tensors["embed.weight"][ids] + tensors["positions.weight"][:n]
    states, attentions = [x], []
    for layer in range(2):
        read = normed(x, f"layers.{layer}.norm")
        linear = lambda part, x: x @ tensors[f"layers.{layer}.{part}.weight"].T + tensors.get(f"layers.{layer}.{part}.bias", 0)
        q, k, v = (linear(part, read).view(n, heads, -1).transpose(0, 1) for part in "qkv")
        scores = q @ k.transpose(1, 2) / (d_model / heads) ** 0.5
        weights = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf).softmax(-1)
        x = x + linear("o", (weights @ v).transpose(0, 1).reshape(n, d_model))
        attentions.append(weights)
        states.append(x)
    states[-1] = x = normed(x, "final_norm")
    logits = x @ tensors["embed.weight" if is_tied else "unembed.weight"].T
    arrays = dict(attentions=torch.stack(attentions), hidden_states=torch.stack(states), logits=logits)
    np.savez_compressed(folder / "expected_1.npz", **{key: array.numpy() for key, array in arrays.items()})
    texts = [{"file": "expected_1.npz", "ids": ids.tolist()}]
    (folder / "expected.json").write_text(json.dumps({"class": "by hand", "texts": texts}) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    asked = sys.argv[1:]
    for number, (name, what) in enumerate(MODELS.items()):
        if not asked or name in asked:
            build(number, name, *what)
    if not asked:
        nest("gemma3-old-config", "gemma3-nested")
        attention_only("attention-only", 50, "pre", False)
        attention_only("attention-only-bare", 51, "none", True)
