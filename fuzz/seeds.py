"""Writes what the fuzz targets start from: a few small files of each kind, most of them taken from the tests.

    python fuzz/seeds.py fuzz/corpus        (needs numpy and gguf)
"""

import io
import json
import struct
import sys
from pathlib import Path

import gguf
import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def seeds(target):
    out = Path(sys.argv[1]) / target
    out.mkdir(parents=True, exist_ok=True)
    return lambda name, data: (out / name).write_bytes(data if isinstance(data, bytes) else data.encode())


SMALL = "attention: {num_heads: 2}\ninputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1]]}\nprojections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n"
ATTENTION = [
    "mask: causal", "mask: [{causal: top-left}, {window: 2}, {key_padding: [true, false]}]",
    "mask: {window: {left: 1, right: 0, offset: 0}}", "mask: {allow: [[true, false], [true, true]]}",
    "mask: {add: [[0, -.inf], [1.5, 0]]}", "positions: rope", "positions: {alibi: {slopes: [0.5, 0.25]}}",
    "positions: {rope: {theta: 10000, layout: interleaved, dims: 2, q_start: 1, k_start: 0}}", "softcap: 5",
    "qk_norm: {eps: 1.0e-6, scope: full}", "sinks: [0.1, 0.2]", "scale: 0.25",
    "fully_masked_rows: zeros, mask: {allow: [[false, false], [true, true]]}",
]
SHAPES = "attention: {num_heads: 2, num_kv_heads: 1, d_k: 2, d_v: 3}\ninputs: {q: [[1, 0, 1, 0]], k: [[1, 0], [0, 1]], v: [[1, 0, 1], [0, 1, 2]]}\nprojections: {w_o: none}\n"
REST = [
    "title: {en: One, zh: 一}\ntokens: [a, b]\nstory:\n- {at: head.1.scores, say: 'x {head.1.scores[1,2]}'}\n",
    "claims:\n- {step: head.1.weights, row: 1, equals: [0.6, 0.4]}\n- {that: 'sum(head.1.weights[1]) = 1'}\n",
    "quiz:\n- {ask: which, choices: [a, b], answer: 2, because: so}\n- {ask: cell, cell: 'head.1.scores[1,1]'}\n",
    "layers: {norm: pre, stack: [{}, {projections: {w_q: ones}, ffn: {w_1: ones, w_2: identity, activation: gelu}}]}\n",
    "runs: {other: {mistake: scale-missing}, none: {zero_head: head.1}}\ncourse:\n- {say: 'so {sum(head.1.weights@other)}'}\n- {show: head.1.weights}\n",
    "projections: {w_q: {random: {seed: 7, std: 0.5}}, w_k: zeros, w_v: ones, w_o: identity, b_q: [0, 1, 0, 1]}\n",
]
put = seeds("lesson")
put("small", SMALL), put("shapes", SHAPES)
for i, keys in enumerate(ATTENTION):
    put(f"attention-{i + 1}", SMALL.replace("num_heads: 2", "num_heads: 2, " + keys))
for i, keys in enumerate(REST):
    put(f"more-{i + 1}", (SMALL if not keys.startswith("proj") else SMALL[: SMALL.index("proj")]) + keys)
for path in sorted((ROOT / "tests/faulty").glob("*.yaml")):
    put(path.stem, path.read_bytes())


def npy(array, **how):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **how)
    return out.getvalue()


put = seeds("arrays")
ramp = np.arange(6).reshape(2, 3)
for kind in ["<f8", "<f4", "<f2", "<i8", "<i4", "|b1", ">f8", "|u1"]:
    put("npy-" + kind.strip("<>|") + ("-big" if kind[0] == ">" else ""), b"\0" + npy(ramp.astype(kind)))
put("npy-columns", b"\0" + npy(np.asfortranarray(ramp * 0.5)))
put("npy-version-2", b"\0" + npy(ramp * 0.5, version=(2, 0)))
put("npy-scalar", b"\0" + npy(np.array(1.5)))
put("npy-empty", b"\0" + npy(np.zeros((0, 3))))
for how in ["savez", "savez_compressed"]:
    out = io.BytesIO()
    getattr(np, how)(out, x=ramp * 0.5, weights=np.eye(2))
    put(how, b"\1" + out.getvalue())
put("packed", b"\2" + npy(ramp * 0.5) + npy(ramp * 0.25))


def header(**tensors):
    at, out = 0, {}
    for name, (dtype, shape) in tensors.items():
        size = int(np.prod(shape)) * {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U8": 1, "BOOL": 1}[dtype]
        out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return json.dumps(out, separators=(",", ":")), at


put = seeds("safetensors")
for name, tensors in {
    "few": dict(weights=("F32", [2, 2, 2]), x=("F64", [2, 4])),
    "kinds": dict(a=("F16", [2]), b=("BF16", [2]), c=("I64", [2]), d=("BOOL", [2]), e=("U8", [2])),
    "empty": {},
    "scalar": dict(a=("F32", [])),
}.items():
    text, size = header(**tensors)
    put(f"header-{name}", b"\1" + text.encode())
    put(f"whole-{name}", b"\0" + struct.pack("<Q", len(text)) + text.encode() + bytes(size))
text, _ = header(x=("F32", [2, 2]))
put("metadata", b"\1" + text.replace("{", '{"__metadata__":{"format":"pt"},', 1).encode())

put = seeds("gguf")


def model(name, kind, layers=1, tokens="ab ", write=lambda w: None, arch="llama"):
    path = Path(sys.argv[1]) / "gguf" / name
    w = gguf.GGUFWriter(str(path), arch)
    w.add_context_length(16), w.add_embedding_length(32), w.add_block_count(layers), w.add_feed_forward_length(32)
    w.add_head_count(2), w.add_head_count_kv(1), w.add_layer_norm_rms_eps(1e-5), w.add_rope_freq_base(1e4)
    w.add_key_length(16), w.add_value_length(16), w.add_vocab_size(len(tokens))
    w.add_tokenizer_model("llama"), w.add_token_list(["▁" if t == " " else t for t in tokens])
    w.add_token_scores([-float(i) for i in range(len(tokens))]), w.add_token_types([2] + [1] * (len(tokens) - 1))
    w.add_bos_token_id(0), w.add_unk_token_id(0)
    write(w)
    rng = np.random.default_rng(1)

    def tensor(name, *shape):
        numbers = rng.normal(size=shape).astype(np.float32)
        if len(shape) == 1:
            w.add_tensor(name, numbers)
        else:
            w.add_tensor(name, gguf.quants.quantize(numbers, kind), raw_dtype=kind)

    tensor("token_embd.weight", len(tokens), 32), tensor("output_norm.weight", 32)
    for i in range(layers):
        for part, shape in dict(attn_norm=(32,), attn_q=(32, 32), attn_k=(16, 32), attn_v=(16, 32), attn_output=(32, 32),
                                ffn_norm=(32,), ffn_gate=(32, 32), ffn_up=(32, 32), ffn_down=(32, 32)).items():
            tensor(f"blk.{i}.{part}.weight", *shape)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


kinds = gguf.GGMLQuantizationType
model("q4_0", kinds.Q4_0), model("q8_0", kinds.Q8_0), model("f16", kinds.F16), model("bf16", kinds.BF16)
model("two-layers", kinds.Q4_0, layers=2, arch="qwen2")

put = seeds("answers")
put("weights.csv", b"\0" + b"0.5,0.5,0\n0.25,0.25,0.5\n1,0,0\n")
put("semicolons.csv", b"\4" + b"0,5;0,5;0\n0,25;0,25;0,5\n1;0;0\n")
put("headed.csv", b"\0" + b"token,a,b,c\na,0.1,0.2,0.7\nb,1,0,0\nc,0,0,1\n")
put("tabs.csv", b"\4" + b"1\t0\t0\n0\t1\t0\n0\t0\t1\n")
half = [[0.4, 0.2, 0.4], [0.2, 0.6, 0.2], [1 / 3] * 3]
put("weights.json", b"\1" + json.dumps({"weights": [half, half]}).encode())
put("bare.json", b"\5" + b"[[1,2,NaN],[Infinity,-Infinity,1e400],[1,2,3]]")
put("trace.json", b"\1" + json.dumps({"steps": [{"id": "head.1.weights", "value": half}]}).encode())
put("head.yaml", b"\2" + b"head.1.scores: [[1.41, 0, 0.7], [0, 1.41, 0.7], [0.7, 0.7, 1.4]]\n")
put("q.yaml", b"\6" + b"q:\n- [1, 0, 1, 0]\n- [0, 1, 0, 1]\n- [1, 1, 0, 0]\n")

put, folders = seeds("config"), seeds("folder")
places = sorted((ROOT / "tests/models").glob("*/config.json")) + sorted((ROOT / "tests/reference/models").glob("*/config.json"))
short = json.dumps(
    {"version": "1.0", "added_tokens": [], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
     "post_processor": None, "decoder": None,
     "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "ab": 1, "b": 2}, "unk_token": "[UNK]"}},
    separators=(",", ":"),
)
for path in places:
    text = json.dumps(json.loads(path.read_text()), separators=(",", ":"))
    put(path.parent.name, text)
    held = path.parent / "model.safetensors"
    if held.exists():
        with held.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            held_in = file.read(length).strip()
        rows = max(shape[0] for name, tensor in json.loads(held_in).items() if len(shape := tensor.get("shape", [])) == 2 and ("embed" in name or "wte" in name))
        words = json.loads(short)
        words["model"]["vocab"] |= {f"w{i}": i for i in range(3, rows)}
        words = json.dumps(words, separators=(",", ":")).encode()
        if rows < 100:
            folders(path.parent.name, text.encode() + b"\0" + words + b"\0" + held_in)
for name in ["llama", "gpt2", "bert", "t5", "mixtral", "deepseek_v3", "gemma3", "qwen3_moe", "whisper", "falcon"]:
    put("bare-" + name, json.dumps({"model_type": name}))

put = seeds("tokenizer")
put("words", short)
bare = json.loads(short)
bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "<unk>": 4}, "merges": ["a b"], "unk_token": "<unk>"}
pieces = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["ab", -2.5]], "byte_fallback": False}
parts = {
    "bpe": dict(model=bpe, pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}),
    "wordpiece": dict(model=pieces, normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}, pre_tokenizer={"type": "BertPreTokenizer"}),
    "unigram": dict(model=unigram, pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}),
    "template": dict(post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}}}),
    "replace": dict(normalizer={"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": " +"}, "content": "▁"}, {"type": "Prepend", "prepend": "▁"}, {"type": "NFKC"}]}),
    "split": dict(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{L}+|\\s(?!\\S)"}, "behavior": "Isolated", "invert": False}, {"type": "Digits", "individual_digits": True}]}),
    "added": dict(added_tokens=[{"id": 3, "content": "<s>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": False, "special": True}]),
    "padding": dict(padding={"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}, truncation={"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 1}),
    "roberta": dict(model=bpe, post_processor={"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 0], "trim_offsets": True, "add_prefix_space": False}),
}
for name, part in parts.items():
    put(name, json.dumps({**bare, **part}, separators=(",", ":")))

put = seeds("steps")
for i, text in enumerate(["q,k", "head.2.*", "*.weights", "weights", "w_?", "head.1.q,output", "batch.1.x", "layer.1.ffn.*", "*"]):
    put(f"{i + 1}", text)
put = seeds("explain")
for i, text in enumerate(["head.1.scores[1,3]", "head.1.weights[3]", "[*,3]", "concat[1,*]", "output", "head.1.masked_scores[1,2]", "q[ 1 , 2 ]", "w_q[4,4]"]):
    put(f"{i + 1}", text)
put = seeds("quantity")
for i, text in enumerate([
    "head.1.scores[1,3]", "entropy(head.1.weights[3])", "sum(head.1.weights) = 3", "2^8", "sqrt(2) / -3.5e-2", "max(head.1.scores, head.2.scores)",
    "rank(head.1.scores)", "rows(q) * columns(k)", "count('llama-2-70b', 'kv-heads')", "|head.1.weights[1,1] - 0.4866| < 0.0001",
    "difference(output, output@other)", "slope(head.1.weights[1,1], x[1,2])", "argmax(head.1.weights[1])", "variance(x)", "log2(8) >= 3",
]):
    put(f"{i + 1}", text)
put = seeds("quiz")
for i, text in enumerate([
    b"\0" + b"0.3333", b"\2" + b"1/3 1/3 1/3", b"\0" + "1/√2".encode(), b"\0" + b"sqrt(2)/2", b"\1" + b"[3, 4]", b"\0" + "3 × 4".encode(),
    b"\0" + b"head 2", b"\0" + b"1,048,576", b"\0" + b"0,5", b"\0" + b"e^-1.5", b"\0" + b"-inf", b"\0" + "２".encode(), b"\0" + b"2e-3", b"\0" + b"3/4",
    b"\0" + "１ 乘 ４".encode(), b"\0" + b"50%",
]):
    put(f"{i + 1}", text)
