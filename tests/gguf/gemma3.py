"""What transformers computes of the real Gemma 3 270M in a GGUF file, as a small reference.

    OMP_NUM_THREADS=1 python tests/gguf/gemma3.py gemma3.gguf tests/reference/gguf/gemma3-270m.json

The blocks are unpacked by the `gguf` package; everything runs in float32 with eager attention. The tokens come from
the `sentencepiece` package, whose own model file is put together from the vocabulary that the GGUF file holds.
"""

import json
import sys
from pathlib import Path

import sentencepiece
import torch
from gguf import GGUFReader
from sentencepiece import sentencepiece_model_pb2
from transformers import AutoModelForCausalLM

TEXTS = [
    "The animal didn't cross the street because it was too tired",
    "Attention  is all\n\n\nyou need: naïve café, 東京, 42 😀!",
    " leading blank, <html> and a zero\u200bwidth",
]
COLUMNS = 8


def tokenizer(reader):
    """SentencePiece's own processor with the file's pieces."""
    field = lambda key: reader.fields[f"tokenizer.ggml.{key}"].contents()  # noqa: E731
    model = sentencepiece_model_pb2.ModelProto()
    for piece, score, kind in zip(field("tokens"), field("scores"), field("token_type")):
        if kind == 4:
            piece = piece.replace(" ", "▁")  # the converter writes blanks into pieces that are always whole
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.BPE
    model.trainer_spec.byte_fallback = True
    for name, key in [("unk", "unknown"), ("bos", "bos"), ("eos", "eos"), ("pad", "padding")]:
        id = field(f"{key}_token_id")
        setattr(model.trainer_spec, f"{name}_id", id)
        setattr(model.trainer_spec, f"{name}_piece", field("tokens")[id])
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())


def main(source, target):
    source = Path(source)
    torch.set_num_threads(1)
    processor = tokenizer(GGUFReader(source))
    model = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    texts = []
    for text in TEXTS:
        ids = [2, *processor.encode(text)]
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        first = [layer[0, :, :COLUMNS].tolist() for layer in out.hidden_states]
        # Of each head's weights the last row whole, and where every row looks most.
        last = [layer[0, :, -1].tolist() for layer in out.attentions]
        most = [layer[0].argmax(-1).tolist() for layer in out.attentions]
        top = out.logits[0, -1].topk(5)
        texts.append(
            {
                "text": text,
                "ids": ids,
                "pieces": [processor.id_to_piece(id) for id in ids],
                "hidden": first,
                "last_row": last,
                "arg_max": most,
                "top": [[int(i), float(v)] for i, v in zip(top.indices, top.values)],
            }
        )
    config = {k: v for k, v in model.config.to_dict().items() if isinstance(v, (int, float, str, list, dict))}
    texts = json.dumps({"texts": texts}, ensure_ascii=False)
    # Seven digits are what float32 has.
    short = json.loads(texts, parse_float=lambda number: float(f"{float(number):.7g}"))
    Path(target).write_text(json.dumps(short, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(json.dumps(config, indent=1))


main(*sys.argv[1:])
