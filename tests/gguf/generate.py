"""Writes the small GGUF files of tests/reference/gguf, and what other implementations compute of them.

    OMP_NUM_THREADS=1 python tests/gguf/generate.py tests/reference/gguf

Each model has random weights (seeded). They are rounded to the file's types by the `gguf` package, unpacked by it again,
and put back into the transformers model, which then says what attentions and hidden states are right. The file itself is
written as llama.cpp's converter writes it: `changed` does to each family's numbers what that converter does.
"""

import io
import json
import sys
from pathlib import Path

import gguf
import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers
from gguf import GGMLQuantizationType as Type

CORPUS = """The animal didn't cross the street because it was too tired.
The animal didn't cross the street because it was too wide. Attention is all you need, and 1234 tokens.
A query looks at every key; each value is weighed, and the weighed values are added up.
the street was wide, the animal was tired, the key was lost, and the values were 12, 34 and 56"""
TEXTS = ["The animal was tired", "it's 42  keys,\n\nnaïve \U0001f600"]


def pieces():
    """A SentencePiece model of byte pair encoding: its processor, and the metadata that llama.cpp makes of it."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=out, model_type="bpe", vocab_size=370,
        byte_fallback=True, character_coverage=1.0, normalization_rule_name="identity",
        remove_extra_whitespaces=False, minloglevel=2,
    )
    p = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    kinds = [2 if p.is_unknown(i) else 3 if p.is_control(i) else 6 if p.is_byte(i) else 1 for i in range(len(p))]

    def write(w):
        w.add_tokenizer_model("llama")
        w.add_token_list([p.id_to_piece(i) for i in range(len(p))])
        w.add_token_scores([p.get_score(i) for i in range(len(p))])
        w.add_token_types(kinds)
        w.add_bos_token_id(1), w.add_eos_token_id(2), w.add_unk_token_id(0)

    return len(p), lambda text: [1, *p.encode(text)], write


def byte_pairs(pre):
    """Byte-level BPE, cut as Qwen 2, Llama 3 or GPT-2 cuts."""
    from tokenizers import pre_tokenizers as cut
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    t = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=pre == "llama-bpe"))
    if pre in GGUF_PRE_TOKENIZER_SPLITS:
        split = cut.Split(tokenizers.Regex(GGUF_PRE_TOKENIZER_SPLITS[pre]), "isolated")
        t.pre_tokenizer = cut.Sequence([split, cut.ByteLevel(add_prefix_space=False, use_regex=False)])
        if pre == "qwen2":
            t.normalizer = tokenizers.normalizers.NFC()
    else:
        t.pre_tokenizer = cut.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=340, special_tokens=["<|endoftext|>"], initial_alphabet=cut.ByteLevel.alphabet()
    )
    t.train_from_iterator(CORPUS.splitlines(), trainer)
    ids = t.get_vocab()
    model = json.loads(t.to_str())["model"]

    def write(w):
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre)
        w.add_token_list(sorted(ids, key=ids.get))
        w.add_token_types([3, *[1] * (len(ids) - 1)])
        w.add_token_merges([" ".join(m) for m in model["merges"]])
        w.add_bos_token_id(0), w.add_eos_token_id(0)
        if pre == "gpt-2":  # of the others llama.cpp knows whether they begin with a mark
            w.add_add_bos_token(False)

    begin = [0] if pre == "llama-bpe" else []
    return len(ids), lambda text: begin + t.encode(text).ids, write


def words():
    """WordPiece, spelled as llama.cpp's converter spells it."""
    text = sorted(set("".join(c if c.isalnum() else f" {c} " for c in CORPUS.lower()).split()))
    letters = sorted(set("".join(text)) | set("naive"))
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = list(dict.fromkeys([*marks, *letters, *("##" + letter for letter in letters), "##ed", "##s", *text]))
    ids = {token: id for id, token in enumerate(tokens) if token not in ("wide", "keys", "tired")} | {"tir": len(tokens)}
    ids = {token: id for id, token in enumerate(sorted(ids, key=ids.get))}
    t = tokenizers.BertWordPieceTokenizer(vocab=ids, lowercase=True)
    special = lambda token: token.startswith("[") and token.endswith("]")  # noqa: E731
    spell = lambda token: token if special(token) else token[2:] if token.startswith("##") else "▁" + token  # noqa: E731
    tokens = sorted(ids, key=ids.get)
    processor = tokenizers.processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    t._tokenizer.post_processor = processor

    def write(w):
        w.add_tokenizer_model("bert")
        w.add_token_list([spell(token) for token in tokens])
        w.add_token_types([3 if special(token) else 1 for token in tokens])
        w.add_bos_token_id(ids["[CLS]"]), w.add_sep_token_id(ids["[SEP]"]), w.add_unk_token_id(ids["[UNK]"])

    return len(ids), lambda text: t.encode(text).ids, write


def changed(arch, name, weight, config):
    """What llama.cpp's converter does to a tensor beside renaming it."""
    heads = config.num_attention_heads
    if arch == "llama" and (".q_proj." in name or ".k_proj." in name):
        heads = heads if ".q_proj." in name else config.num_key_value_heads
        halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
        return halves.swapaxes(1, 2).reshape(weight.shape)
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return weight + np.float32(1)
    if arch == "gpt2" and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
        return weight.T
    if arch == "gptneox" and ".query_key_value." in name:
        packed = weight.reshape(heads, 3, weight.shape[0] // heads // 3, *weight.shape[1:])
        return packed.swapaxes(0, 1).reshape(weight.shape)
    return weight


def restored(arch, name, weight, config):
    """The other way round, for the values that the file's types left."""
    if arch == "llama" and (".q_proj." in name or ".k_proj." in name):
        heads = config.num_attention_heads if ".q_proj." in name else config.num_key_value_heads
        pairs = weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:])
        return pairs.swapaxes(1, 2).reshape(weight.shape)
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return weight - np.float32(1)
    if arch == "gpt2" and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
        return weight.T
    if arch == "gptneox" and ".query_key_value." in name:
        blocks = weight.reshape(3, config.num_attention_heads, -1, *weight.shape[1:])
        return blocks.swapaxes(0, 1).reshape(weight.shape)
    return weight


def common(w, c):
    """Counts that every family writes."""
    w.add_embedding_length(c.hidden_size), w.add_block_count(c.num_hidden_layers)
    w.add_head_count(c.num_attention_heads)
    w.add_context_length(c.max_position_embeddings)
    w.add_feed_forward_length(getattr(c, "intermediate_size", None) or 4 * c.hidden_size)


def grouped(w, c):
    common(w, c)
    w.add_head_count_kv(c.num_key_value_heads), w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_key_length(c.head_dim), w.add_value_length(c.head_dim)


def llama(vocab):
    c = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=vocab, max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        head_dim=8, rms_norm_eps=1e-5,
    )
    return transformers.LlamaForCausalLM(c), lambda w: (grouped(w, c), w.add_rope_freq_base(500.0), w.add_rope_dimension_count(8))


def llama3(vocab):
    """Llama 3.1's scaling of slow rotary pairs, which the converter writes as a factor a pair."""
    c = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        vocab_size=vocab, max_position_embeddings=64, head_dim=16, tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    )

    def write(w):
        grouped(w, c), w.add_rope_freq_base(100.0), w.add_rope_dimension_count(16)
        turns = 32 * 100.0 ** (-np.arange(0, 16, 2) / 16) / (2 * np.pi)
        smooth = (turns - 1.0) / (4.0 - 1.0)
        factors = np.where(turns > 4, 1.0, np.where(turns < 1, 8.0, 1 / ((1 - smooth) / 8 + smooth)))
        w.add_tensor("rope_freqs.weight", factors.astype(np.float32))

    return transformers.LlamaForCausalLM(c), write


def gemma3(vocab):
    c = transformers.Gemma3TextConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=6, num_attention_heads=2, num_key_value_heads=1,
        vocab_size=vocab, max_position_embeddings=64, head_dim=16, sliding_window=4, query_pre_attn_scalar=16,
        rms_norm_eps=1e-6,
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
        },
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
    return transformers.Gemma3ForCausalLM(c), lambda w: (grouped(w, c), w.add_rope_freq_base(1e6), w.add_sliding_window(4))


def qwen3(vocab):
    c = transformers.Qwen3Config(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=vocab, max_position_embeddings=64, head_dim=16, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
    )
    return transformers.Qwen3ForCausalLM(c), lambda w: (grouped(w, c), w.add_rope_freq_base(1000.0))


def gpt2(vocab):
    c = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=vocab)
    return transformers.GPT2LMHeadModel(c), lambda w: (common(w, c), w.add_layer_norm_eps(1e-5))


def gptneox(vocab):
    c = transformers.GPTNeoXConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=vocab,
        max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
    )
    return transformers.GPTNeoXForCausalLM(c), lambda w: (
        common(w, c), w.add_layer_norm_eps(1e-5), w.add_rope_dimension_count(4), w.add_parallel_residual(True),
    )


def bert(vocab):
    c = transformers.BertConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=vocab,
        max_position_embeddings=64,
    )
    return transformers.BertModel(c, add_pooling_layer=False), lambda w: (common(w, c), w.add_layer_norm_eps(1e-12))


# By the file's name: the model, its vocabulary, the names of its tensors, and the type of its matrices.
CASES = {
    "llama3": (llama3, lambda: byte_pairs("llama-bpe"), gguf.MODEL_ARCH.LLAMA, Type.Q5_1),
    "llama": (llama, pieces, gguf.MODEL_ARCH.LLAMA, Type.Q8_0),
    "gemma3": (gemma3, pieces, gguf.MODEL_ARCH.GEMMA3, Type.Q5_0),
    "qwen3": (qwen3, lambda: byte_pairs("qwen2"), gguf.MODEL_ARCH.QWEN3, Type.Q4_1),
    "gpt2": (gpt2, lambda: byte_pairs("gpt-2"), gguf.MODEL_ARCH.GPT2, Type.F16),
    "gptneox": (gptneox, lambda: byte_pairs("gpt-2"), gguf.MODEL_ARCH.GPTNEOX, Type.BF16),
    "bert": (bert, words, gguf.MODEL_ARCH.BERT, Type.F32),
}


def model(folder, file):
    build, vocabulary, names, kind = CASES[file]
    arch = gguf.MODEL_ARCH_NAMES[names]
    torch.manual_seed(7)
    vocab, encode, write_tokens = vocabulary()
    model, write_config = build(vocab)
    model.eval()
    c = model.config
    writer = gguf.GGUFWriter(folder / f"{file}.gguf", arch, split_max_tensors=8 if file == "llama3" else 0)
    write_config(writer)
    write_tokens(writer)
    names = gguf.get_tensor_name_map(names, c.num_hidden_layers)
    state = model.state_dict()
    for name, tensor in model.named_parameters():
        # Larger than usual, so that attention is far from uniform; norms near 1 (Gemma's are kept less 1), biases near 0.
        is_norm = "norm" in name.lower() or ".ln_" in name or "layernorm" in name
        mean = 1.0 if is_norm and name.endswith("weight") and arch != "gemma3" else 0.0
        with torch.no_grad():
            tensor.copy_(mean + torch.randn_like(tensor) * (0.2 if tensor.dim() > 1 else 0.1))
        weight = changed(arch, name, tensor.detach().numpy(), c)
        stored = kind if weight.ndim > 1 else Type.F32
        data = gguf.quants.quantize(np.ascontiguousarray(weight), stored)
        values = gguf.quants.dequantize(data, stored).reshape(weight.shape)
        stem, _, ending = name.rpartition(".")
        writer.add_tensor(f"{names.get_name(stem)}.{ending}", data, raw_dtype=stored)
        state[name] = torch.from_numpy(restored(arch, name, values, c).copy())
    model.load_state_dict(state)
    model.set_attn_implementation("eager")
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file()
    writer.close()
    texts, arrays = [], {}
    for number, text in enumerate(TEXTS, 1):
        ids = encode(text)
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        texts.append({"text": text, "ids": ids})
        arrays[f"attentions_{number}"] = torch.cat(out.attentions).numpy()
        arrays[f"hidden_{number}"] = torch.cat(out.hidden_states).numpy()
        if "logits" in out:
            arrays[f"logits_{number}"] = out.logits[0, -1].numpy()
    np.savez(folder / f"{file}.npz", **arrays)
    (folder / f"{file}.json").write_text(json.dumps({"texts": texts}, ensure_ascii=False) + "\n")
    if file in ("llama", "gemma3"):
        other = type(model).from_pretrained(folder, gguf_file=f"{file}.gguf", dtype=torch.float32, attn_implementation="eager")
        if arch == "gemma3":  # transformers takes this from the real models, where it is 256; the file does not say it
            for layer in other.model.layers:
                layer.self_attn.scaling = 16**-0.5
        with torch.no_grad():
            theirs = other.eval()(torch.tensor([texts[0]["ids"]]), output_attentions=True)
        difference = (torch.cat(theirs.attentions) - torch.from_numpy(arrays["attentions_1"])).abs().max()
        print(file, "as transformers reads the file:", float(difference))


# Where a block's scales stand (bytes), so that random ones are finite: two bytes a half, four a float.
SCALES = {"Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def blocks(folder):
    """One tensor of each type: 3 rows of 256 numbers, in layers 0, 1, 2, … of a model that is none."""
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(folder / "blocks.gguf", "qwen2")
    writer.add_embedding_length(256), writer.add_head_count(4), writer.add_block_count(14)
    arrays = {}
    numbers = random.normal(size=(3, 256)).astype(np.float32)
    for layer, name in enumerate("F32 F16 BF16 F64 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split()):
        kind = Type[name]
        if name == "F64":
            data, values = numbers.astype(np.float64), numbers
        elif name in SCALES:
            size = gguf.GGML_QUANT_SIZES[kind][1]
            data = random.integers(0, 256, (3, size), dtype=np.uint8)
            for at in SCALES[name]:
                halves = random.uniform(0.01, 0.1, (3, 1)).astype(np.float16)
                data[:, at : at + 2] = halves.view(np.uint8)
            values = gguf.quants.dequantize(data, kind)
        else:
            data = gguf.quants.quantize(numbers, kind)
            values = gguf.quants.dequantize(data, kind)
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", data, raw_dtype=None if name == "F64" else kind)
        arrays[name] = values.astype(np.float32)
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file()
    writer.close()
    np.savez(folder / "blocks.npz", **arrays)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    blocks(target)
    for file in CASES:
        model(target, file)
