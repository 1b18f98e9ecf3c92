"""Trains the two models that ship inside mha, and checks the files that ship.

    python train.py induction            train, and write induction/ and its reference
    python train.py pronouns --seed 7    train with another seed, print what came of it, write nothing
    python train.py pronouns --check     read the files that ship, print what they do; nothing is trained

Needs torch, numpy, safetensors and tokenizers; `--check` of pronouns also transformers. One thread, two to four minutes.
The same machine and the same versions give the same bytes. Weights are rounded to float16 before anything is measured, so
that what is printed holds for the files.
"""

import argparse
import json
import random
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "tests" / "reference" / "models" / "builtin"


def matrix(*shape, std=None):
    """A learned matrix: out x in, so that a product keeps its size unless `std` says otherwise."""
    return (torch.randn(*shape) * (std or shape[-1] ** -0.5)).requires_grad_()


def vector(size, value=0.0):
    return torch.full((size,), value).requires_grad_()


def heads_of(x, heads):
    """(batch, n, d_model) to (batch, heads, n, d_k): head i owns the i-th block of columns."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(q, k, v, hidden, heads, zero):
    """What the heads find, side by side (batch, n, d_model), and their weights (batch, heads, n, n)."""
    q, k, v = (heads_of(x, heads) for x in (q, k, v))
    weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf")).softmax(-1)
    found = weights @ v
    if zero is not None:
        keep = torch.ones(heads, 1, 1, dtype=found.dtype)
        keep[zero] = 0
        found = found * keep
    return found.transpose(1, 2).flatten(2), weights


class Induction:
    """Two causal layers without feed-forward networks; reads letters, guesses the next one."""

    name, seed, steps = "induction", 1, 2500
    letters = "abcdefghijklmnopqrstuvwxyz"
    heads, width, length = 4, 32, 33
    texts = ["q w e r t q w e r t", "mhamha", "the quick brown fox jumps over"]
    config = {
        "model_type": "attention_only",
        "architectures": ["AttentionOnlyForCausalLM"],
        "vocab_size": 27,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "max_position_embeddings": length,
        "norm": "none",
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "torch_dtype": "float16",
    }

    @classmethod
    def fresh(cls):
        vocabulary, width = cls.config["vocab_size"], cls.width
        weights = {
            "embed.weight": matrix(vocabulary, width, std=0.1),
            "positions.weight": matrix(cls.length, width, std=0.1),
            "unembed.weight": matrix(vocabulary, width, std=0.1),
        }
        for layer in range(2):
            weights |= {f"layers.{layer}.{letter}.weight": matrix(width, width) for letter in "qkvo"}
        return weights

    @classmethod
    def forward(cls, weights, ids, zero=None):
        """Logits (batch, n, 27) and each layer's attention weights; `zero` = (layer, head), from 0, finds nothing."""
        n = ids.shape[1]
        stream = weights["embed.weight"][ids] + weights["positions.weight"][:n]
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        maps = []
        for layer in range(2):
            w = [weights[f"layers.{layer}.{letter}.weight"] for letter in "qkvo"]
            cut = zero[1] if zero is not None and zero[0] == layer else None
            found, weights_ = attend(*(stream @ m.T for m in w[:3]), later, cls.heads, cut)
            stream = stream + found @ w[3].T
            maps.append(weights_)
        return stream @ weights["unembed.weight"].T, maps

    @classmethod
    def batch(cls, size):
        """<s>, then 3 to 12 letters over and over, then 3 to 13 others over and over; either part may be cut short.

        Ids (size, 33); whether the letter at a place has been read before (size, 33); whether what comes next can be known,
        because the letter and what followed it have been read before (size, 32).
        """
        first, second = torch.randint(3, 13, (size, 1)), torch.randint(3, 14, (size, 1))
        change = (torch.rand(size, 1) * (30 - second)).long()
        at = torch.arange(cls.length - 1)
        letters = torch.rand(size, 26).argsort(1) + 1
        chosen = torch.where(at < change, at % first, first + (at - change) % second)
        ids = F.pad(letters.gather(1, chosen), (1, 0))
        again = torch.where(at < change, at >= first, at >= change + second)
        known = again & (at + 1 != change)
        return ids, F.pad(again, (1, 0)), F.pad(known[:, :-1], (1, 0))

    @classmethod
    def loss(cls, weights, late, size=48):
        ids, _, known = cls.batch(size)
        logits, _ = cls.forward(weights, ids)
        losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
        # What nobody can know counts a tenth: otherwise its noise drowns what can be learned.
        # The heads of layer 1 pay for what they write, so that one of them does the work and not each a quarter of it.
        blocks = weights["layers.0.o.weight"].unflatten(1, (cls.heads, -1))
        price = (blocks.square().sum((0, 2)) + 1e-8).sqrt().sum()
        return (losses * torch.where(known, 1.0, 0.1)).sum() / known.sum() + 0.004 * price

    @classmethod
    def report(cls, weights):
        """What the heads do on 500 fresh sequences, and how often the next letter of the repeated part is right."""
        torch.manual_seed(2**20)
        ids, again, known = cls.batch(500)

        def right(zero=None):
            logits, _ = cls.forward(weights, ids, zero)
            return (logits[:, :-1].argmax(-1) == ids[:, 1:])[known].float().mean().item()

        _, maps = cls.forward(weights, ids)
        print(f"right on the repeated part: {right():.4f}")
        for layer, map_ in enumerate(maps):
            for head in range(cls.heads):
                shown = map_[:, head]
                at = torch.arange(2, cls.length)
                previous = shown[:, at, at - 1].mean().item()
                # Letters that were read before: every place whose letter before it is the letter asked from.
                follows = torch.zeros_like(shown, dtype=torch.bool)
                follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
                follows &= ~torch.ones(cls.length, cls.length, dtype=torch.bool).triu(1)
                induction = (shown * follows).sum(-1)[again].mean().item()
                print(
                    f"layer {layer + 1} head {head + 1} (L{layer}H{head}): previous token {previous:.3f}, "
                    f"after an earlier occurrence {induction:.3f}; right without it {right((layer, head)):.4f}"
                )

    @classmethod
    def tokenizer(cls):
        vocabulary = {"<s>": 0} | {letter: at + 1 for at, letter in enumerate(cls.letters)}
        start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
        one, two = ({"Sequence": {"id": text, "type_id": 0}} for text in "AB")
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [special(0, "<s>")],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Lowercase"},
                    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": ""},
                ],
            },
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "."},
                "behavior": "Isolated",
                "invert": False,
            },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [start, one],
                "pair": [start, one, two],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
        }


class Pronouns:
    """A post-LN encoder of two layers and two heads; at `it` it names the noun that `it` stands for."""

    name, seed, steps = "pronouns", 1, 1000
    heads, width, inner, length = 2, 32, 64, 32
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    beings = "animal dog cat horse cow bear fox child boy girl man woman".split()
    places = "street road river bridge field garden park lake hill forest path square".split()
    # What a being is too much of, what a place is.
    of_beings = "tired hungry thirsty sick sleepy scared lazy weak angry sad shy slow".split()
    of_places = "wide long deep busy dangerous dark muddy icy steep narrow wet crowded".split()
    verbs = {"cross": "crossed", "enter": "entered", "visit": "visited", "reach": "reached", "like": "liked"}
    little = "the did didn ' t not because since it was too very so by , .".split()
    texts = [
        "The animal didn't cross the street because it was too tired",
        "The animal didn't cross the street because it was too wide",
        "Because it was so muddy, the path was not liked by the horse.",
    ]
    sentences = None
    words = specials + little + beings + places + of_beings + of_places + [*verbs, *verbs.values()]
    config = {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
        "vocab_size": len(words),
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "hidden_act": "gelu",
        "max_position_embeddings": length,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
    }

    @classmethod
    def fresh(cls):
        width, inner = cls.width, cls.inner
        table = "bert.embeddings.{}_embeddings.weight"
        weights = {
            table.format("word"): matrix(len(cls.words), width, std=0.1),
            table.format("position"): matrix(cls.length, width, std=0.1),
            table.format("token_type"): matrix(2, width, std=0.1),
            "cls.predictions.bias": vector(len(cls.words)),
        }

        def linear(name, inputs, outputs):
            weights[f"{name}.weight"], weights[f"{name}.bias"] = matrix(outputs, inputs), vector(outputs)

        def norm(name):
            weights[f"{name}.weight"], weights[f"{name}.bias"] = vector(width, 1.0), vector(width)

        norm("bert.embeddings.LayerNorm")
        for layer in range(2):
            at = f"bert.encoder.layer.{layer}"
            for name in ("self.query", "self.key", "self.value", "output.dense"):
                linear(f"{at}.attention.{name}", width, width)
            linear(f"{at}.intermediate.dense", width, inner)
            linear(f"{at}.output.dense", inner, width)
            norm(f"{at}.attention.output.LayerNorm")
            norm(f"{at}.output.LayerNorm")
        linear("cls.predictions.transform.dense", width, width)
        norm("cls.predictions.transform.LayerNorm")
        return weights

    @classmethod
    def forward(cls, weights, ids, zero=None):
        """Logits (batch, n, vocabulary) and each layer's attention weights; `zero` = (layer, head), from 0."""

        def linear(x, name):
            return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

        def norm(x, name):
            return F.layer_norm(x, (cls.width,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

        words = weights["bert.embeddings.word_embeddings.weight"]
        x = words[ids] + weights["bert.embeddings.token_type_embeddings.weight"][0]
        x = x + weights["bert.embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = norm(x, "bert.embeddings.LayerNorm")
        padding = (ids == 0)[:, None, None]
        maps = []
        for layer in range(2):
            at = f"bert.encoder.layer.{layer}"
            q, k, v = (linear(x, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
            cut = zero[1] if zero is not None and zero[0] == layer else None
            found, weights_ = attend(q, k, v, padding, cls.heads, cut)
            x = norm(x + linear(found, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            found = linear(F.gelu(linear(x, f"{at}.intermediate.dense")), f"{at}.output.dense")
            x = norm(x + found, f"{at}.output.LayerNorm")
            maps.append(weights_)
        x = norm(F.gelu(linear(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
        return x @ words.T + weights["cls.predictions.bias"], maps

    @classmethod
    def sentence(cls, held_out):
        """A sentence in words, the noun that `it` stands for, the adjective that decides, the other noun.

        One in five triples of nouns and adjective is held out.
        """
        while True:
            being, place = random.choice(cls.beings), random.choice(cls.places)
            is_being = random.random() < 0.5
            adjective = random.choice(cls.of_beings if is_being else cls.of_places)
            numbers = (cls.beings.index(being), cls.places.index(place), cls.words.index(adjective))
            if (sum(numbers) % 5 == 0) == held_out:
                break
        verb = random.choice(list(cls.verbs))
        because, too = random.choice(["because", "since"]), random.choice(["too", "very", "so"])
        reason = f"{because} it was {too} {adjective}"
        did = random.choice(["did not", "didn ' t"])
        clause = random.choice(
            [f"the {being} {did} {verb} the {place}", f"the {place} was not {cls.verbs[verb]} by the {being}"]
        )
        both = random.choice([f"{clause} {reason}", f"{reason} , {clause}"])
        end = random.choice(["", " ."])
        meant, other = (being, place) if is_being else (place, being)
        return f"[CLS] {both}{end} [SEP]".split(), meant, adjective, other

    @classmethod
    def drawn(cls, size, held_out=False):
        """Ids with padding (size, n), and in each sentence (size): where `it` stands, the id of the noun that it stands for,
        where the deciding adjective stands, where the other noun stands."""
        drawn = [cls.sentence(held_out) for _ in range(size)]
        longest = max(len(words) for words, *_ in drawn)
        number = {word: at for at, word in enumerate(cls.words)}
        ids = torch.zeros(size, longest, dtype=torch.long)
        for row, (words, *_) in enumerate(drawn):
            ids[row, : len(words)] = torch.tensor([number[word] for word in words])
        it = torch.tensor([words.index("it") for words, *_ in drawn])
        noun = torch.tensor([number[noun] for _, noun, _, _ in drawn])
        adjective = torch.tensor([words.index(adjective) for words, _, adjective, _ in drawn])
        other = torch.tensor([words.index(other) for words, _, _, other in drawn])
        return ids, it, noun, adjective, other

    @classmethod
    def loss(cls, weights, late, size=48):
        if cls.sentences is None:
            cls.sentences = cls.drawn(8192)
        some = torch.randint(8192, (size,))
        ids, it, noun, _, other = (column[some] for column in cls.sentences)
        logits, maps = cls.forward(weights, ids)
        rows = torch.arange(size)
        # Layer 1 pays for what its heads write, so that layer 2 has to look by itself; at `it` each head of layer 2 pays for
        # looking at many words at once, and in the last two thirds of the training for looking at the other noun.
        blocks = weights["bert.encoder.layer.0.attention.output.dense.weight"].unflatten(1, (cls.heads, -1))
        price = (blocks.square().sum((0, 2)) + 1e-8).sqrt().sum()
        at = maps[1][rows, :, it]
        entropy = -(at * (at + 1e-9).log()).sum(-1).mean()
        astray = at[rows, :, other].mean()
        return F.cross_entropy(logits[rows, it], noun) + 0.03 * price + 0.02 * entropy + late * 0.3 * astray

    @classmethod
    def report(cls, weights):
        """What the heads of layer 2 do at `it` on 1000 held-out sentences, and how often the noun is right."""
        random.seed(2**20)
        ids, it, noun, adjective, _ = cls.drawn(1000, held_out=True)
        rows = torch.arange(len(ids))

        def right(zero=None):
            logits, _ = cls.forward(weights, ids, zero)
            return (logits[rows, it].argmax(-1) == noun).float().mean().item()

        print(f"right on held-out sentences: {right():.4f}")
        _, maps = cls.forward(weights, ids)
        noun_at = (ids == noun[:, None]).int().argmax(1)
        of_being = noun < cls.words.index(cls.places[0])
        for layer, map_ in enumerate(maps):
            for head in range(cls.heads):
                said = []
                for what, which in (("tired", of_being), ("wide", ~of_being)):
                    at = map_[rows, head, it]
                    to_noun = at[rows, noun_at][which].mean().item()
                    to_adjective = at[rows, adjective][which].mean().item()
                    said.append(f"{what}: noun {to_noun:.3f} adjective {to_adjective:.3f}")
                print(
                    f"layer {layer + 1} head {head + 1} (L{layer}H{head}): {', '.join(said)}; "
                    f"right without it {right((layer, head)):.4f}"
                )
        for text in cls.texts:
            encoding = Tokenizer.from_str(json.dumps(cls.tokenizer())).encode(text)
            logits, maps = cls.forward(weights, torch.tensor([encoding.ids]))
            at = encoding.tokens.index("it")
            print(text, "->", cls.words[logits[0, at].argmax()])
            for layer, map_ in enumerate(maps):
                for head in range(cls.heads):
                    best = map_[0, head, at].topk(3)
                    shown = ", ".join(f"{encoding.tokens[i]} {w:.2f}" for w, i in zip(*best))
                    print(f"   layer {layer + 1} head {head + 1}: {shown}")

    @classmethod
    def tokenizer(cls):
        number = {word: at for at, word in enumerate(cls.words)}
        first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [special(at, name) for at, name in enumerate(cls.specials)],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Lowercase"},
                    {"type": "Replace", "pattern": {"String": "\u2019"}, "content": "'"},
                ],
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
                "pair": [
                    first,
                    {"Sequence": {"id": "A", "type_id": 0}},
                    last,
                    {"Sequence": {"id": "B", "type_id": 1}},
                    {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
                ],
                "special_tokens": {
                    name: {"id": name, "ids": [number[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")
                },
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": number, "unk_token": "[UNK]"},
        }


def special(number, name):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": name} | flags


def train(kind, seed):
    """Weights after training, as float16 holds them."""
    torch.manual_seed(seed)
    random.seed(seed)
    weights = kind.fresh()
    rate = 5e-3
    optimiser = torch.optim.AdamW(weights.values(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    for step in range(kind.steps):
        # Up for 100 steps, level, down to nothing over the last 40 %.
        share = min(1, (step + 1) / 100, (kind.steps - step) / (0.4 * kind.steps))
        for group in optimiser.param_groups:
            group["lr"] = rate * share
        loss = kind.loss(weights, late=step > kind.steps // 3)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % 500 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    return {name: weight.detach().half().float() for name, weight in weights.items()}


def reference(kind, weights):
    """Attention weights and logits of a few texts in float64, for mha's tests."""
    exact = {name: weight.double() for name, weight in weights.items()}
    tokenizer = Tokenizer.from_str(json.dumps(kind.tokenizer()))
    texts = []
    for text in kind.texts:
        encoding = tokenizer.encode(text)
        logits, maps = kind.forward(exact, torch.tensor([encoding.ids]))
        rounded = lambda numbers: [round(number, 7) for number in numbers.flatten().tolist()]
        texts.append(
            {
                "text": text,
                "ids": encoding.ids,
                "tokens": encoding.tokens,
                "attentions": [[rounded(head) for head in map_[0]] for map_ in maps],
                "logits": [rounded(row) for row in logits[0]],
            }
        )
    return {"made_by": "src/model/builtin/train.py", "torch": torch.__version__, "texts": texts}


def write(kind, weights):
    folder = HERE / kind.name
    folder.mkdir(exist_ok=True)
    save_file(
        {name: weight.half().contiguous() for name, weight in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    for name, content in (("config.json", kind.config), ("tokenizer.json", kind.tokenizer())):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n")
    REFERENCE.mkdir(parents=True, exist_ok=True)
    (REFERENCE / f"{kind.name}.json").write_text(json.dumps(reference(kind, weights)) + "\n")


def check(kind):
    """The files as they ship: what they do, and for pronouns that transformers reads the same from them."""
    folder = HERE / kind.name
    weights = {name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()}
    kind.report(weights)
    print("parameters:", sum(weight.numel() for weight in weights.values()))
    again = json.loads((REFERENCE / f"{kind.name}.json").read_text())
    print("the reference is what these files give:", again == reference(kind, weights))
    if kind is Pronouns:
        from transformers import BertForMaskedLM

        model = BertForMaskedLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        for text in again["texts"]:
            ids = torch.tensor([text["ids"]])
            theirs = model(ids, output_attentions=True)
            logits, maps = kind.forward(weights, ids)
            apart = [(logits - theirs.logits).abs().max().item()]
            apart += [(a - b).abs().max().item() for a, b in zip(maps, theirs.attentions)]
            print(f"beside transformers, at most {max(apart):.1e} apart: {text['text']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["induction", "pronouns"])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seed", type=int)
    chosen = parser.parse_args()
    kind = {"induction": Induction, "pronouns": Pronouns}[chosen.model]
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if chosen.check:
        with torch.no_grad():
            return check(kind)
    weights = train(kind, kind.seed if chosen.seed is None else chosen.seed)
    with torch.no_grad():
        kind.report(weights)
        if chosen.seed is None:
            write(kind, weights)


if __name__ == "__main__":
    main()
