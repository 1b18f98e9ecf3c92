#!/usr/bin/env python3
"""Labelled attempts at multi-head attention: right ones, mistaken ones, twice mistaken ones.

    generate.py --seed S --cases N --out DIR [--large | --size n,d_model,h]
    generate.py --validate DIR

The first writes problems/, cases/, cases.json and labels.json. The second recomputes a labelled
corpus of the same layout, prints a table and exits 1 if a case is not reproduced.

It is written from the definitions of the mistakes alone, in NumPy, and shares nothing with the
program it is the referee of.
"""

import argparse
import itertools
import pathlib
import sys

import numpy as np

import kinds
from attention import STEPS, attend
from compare import distances, fit
from explain import Explainer
from files import write_case, write_problem, write_rows
from harmless import HARMLESS
from nameless import NAMELESS
from precision import PRECISIONS, SHARES, rounder, stored
from problems import TWISTS, chance, pick, random_problem
from validate import validate

CATEGORIES = {"one": 0.66, "two": 0.11, "right": 0.07, "harmless": 0.07, "nameless": 0.09}
# A wrong case is this many tolerances away somewhere, and its first wrong tensor this many.
CLEARLY, AT_FIRST, NOT_YET = 18, 4, 0.75
EIGHT = ("q", "k", "v", "scores", "weights", "heads", "concat", "output")
NOT_IN_PAIRS = ("dropout-left-on",)


class Generator:
    def __init__(self, seed, size, new_problem, most_pairs):
        self.rng = np.random.default_rng(seed)
        self.size = size
        self.new_problem = new_problem
        self.most_pairs = most_pairs
        self.pool = []
        self.wanted = iter(())

    def problem_where(self, test, twist=None):
        """An Explainer of a problem that passes the test: one of the pool, or a new one."""
        rng = self.rng
        suitable = [e for e in self.pool if test(e.problem)]
        if suitable and not chance(rng, self.new_problem):
            return suitable[rng.integers(len(suitable))]
        for _ in range(200):
            chosen = twist or (pick(rng, *TWISTS) if chance(rng, 0.5) else None)
            if self.size and chosen == "pairs":
                continue
            problem = random_problem(rng, f"p{len(self.pool) + 1:03}", self.size, chosen)
            if test(problem):
                self.pool.append(Explainer(problem, self.most_pairs))
                return self.pool[-1]
        return None

    def next_kind(self):
        """The kinds in turn, in a new order every round."""
        kind = next(self.wanted, None)
        if kind is None:
            order = self.rng.permutation(kinds.IDS)
            self.wanted = iter(order.tolist())
            kind = next(self.wanted)
        return pick(self.rng, *kinds.of(kind))

    def case(self):
        """One case: (explainer, tensors to store, label, file format)."""
        shares = list(CATEGORIES.values())
        category = self.rng.choice(list(CATEGORIES), p=shares)
        while True:
            made = getattr(self, f"make_{category}")()
            if made:
                return made

    # One attempt of each category; None if it did not come out.

    def make_one(self):
        row = self.next_kind()
        for _ in range(25):
            made = self.plant([row])
            if made:
                return made
        return None

    def make_two(self):
        a, b = self.next_kind(), pick(self.rng, *kinds.KINDS)
        if a[0] == b[0] or {a[0], b[0]} & set(NOT_IN_PAIRS):
            return None
        rows = sorted((a, b), key=kinds.KINDS.index)
        if kinds.together(a[3], b[3]) is None:
            return None
        for _ in range(4):
            made = self.plant(rows)
            if made:
                return made
        return None

    def plant(self, rows):
        explainer = self.problem_where(lambda p: all(row[4](p) for row in rows))
        if explainer is None:
            return None
        variants = [row[1] for row in rows]
        plan = rows[0][3] if len(rows) == 1 else kinds.together(rows[0][3], rows[1][3])
        if rows[0][0] == "dropout-left-on":
            p = float(pick(self.rng, 0.1, 0.2, 0.3, 0.5))
            plan, variants = {"dropout": (p, int(self.rng.integers(1 << 30)))}, [f"p = {p}"]
        label = {"kinds": [row[0] for row in rows],
                 "variant": "; ".join(v for v in variants if v),
                 "first_wrong_step": min((row[2] for row in rows), key=STEPS.index),
                 "nameable": True}
        must = {"weights"} if "weights" in label["first_wrong_step"] and (
            rows[0][0] in ("dropout-left-on", "weights-averaged-over-heads")) else set()
        hidden = {"masked_scores"} if "mask" in plan and plan["mask"] == "after" else set()
        return self.wrong(explainer, explainer.problem, plan, label, must, hidden)

    def make_nameless(self):
        note, make = pick(self.rng, *NAMELESS)
        explainer = self.problem_where(lambda p: True)
        made = make(explainer.problem, self.rng)
        if made is None:
            return None
        problem, plan = made
        label = {"kinds": [], "variant": "", "first_wrong_step": None, "nameable": False,
                 "note": note}
        return self.wrong(explainer, problem, plan, label, set(), set())

    def wrong(self, explainer, problem, plan, label, must, hidden):
        """A wrong case, if what it is can be seen in the tensors given and only that."""
        rng, reference = self.rng, explainer.reference
        precision = self.precision(explainer.problem)
        state = rng.bit_generator.state
        try:
            exact = attend(problem, plan)
            rng.bit_generator.state = state  # the same noise once more
            rounded = attend(problem, plan, rounder(precision, chance(rng, 0.5)
                                                    if not plan.get("hooks") else False))
        except (ValueError, IndexError):
            return None
        given = self.some_of(rounded, must, hidden)
        kept, stored_as = stored(given, precision, chance(rng, 0.5))
        seen = {k: a.astype(np.float64) for k, a in kept.items()}
        if fit(seen, exact, reference, precision)[0] > 1:
            return None
        apart = distances(seen, reference, precision)
        first = next((step for step in seen if apart[step] > NOT_YET), None)
        if first is None or apart[first] < AT_FIRST or max(apart.values()) < CLEARLY:
            return None
        if label["first_wrong_step"] is None:
            full = distances(exact, reference, "f64")
            label["first_wrong_step"] = next(s for s in exact if full[s] > 1)
        alone = explainer.alone(seen, precision)
        if len(label["kinds"]) == 1:
            label["also"] = [k for k in alone if k not in label["kinds"]]
        elif alone:
            return None
        else:
            pairs = explainer.pairs(seen, precision, label["kinds"], not label["kinds"])
            if pairs and not label["kinds"]:
                return None
            label["also"] = [pair for pair in pairs if set(pair) != set(label["kinds"])]
        label = {"verdict": "wrong", **label, "first_wrong_given": first}
        return explainer, kept, self.finish(label, kept, precision, stored_as)

    def make_right(self):
        explainer = self.problem_where(lambda p: True)
        note = ""
        return self.right(explainer, lambda p, steps: steps, set(), {"note": note})

    def make_harmless(self):
        looks_like, note, twist, test, make, hidden = pick(self.rng, *HARMLESS)
        explainer = self.problem_where(test, twist)
        if explainer is None:
            return None
        label = {"note": note, **({"looks_like": looks_like} if looks_like else {})}
        return self.right(explainer, make, hidden, label)

    def right(self, explainer, make, hidden, label):
        rng, reference = self.rng, explainer.reference
        precision = self.precision(explainer.problem)
        if "-1e9" in label["note"] and precision in ("f16", "f16-chain"):
            precision = "f32"  # half precision cannot hold it
        chain = rounder(precision, chance(rng, 0.5))
        steps = attend(explainer.problem, {}, chain)
        steps = {k: chain(a) for k, a in make(explainer.problem, steps).items()}
        given = self.some_of(steps, set(), hidden)
        kept, stored_as = stored(given, precision, chance(rng, 0.5))
        seen = {k: a.astype(np.float64) for k, a in kept.items()}
        if max(distances(seen, reference, precision).values()) > 0.5001:
            return None
        label = {"verdict": "correct", "kinds": [], "variant": "", "first_wrong_step": None,
                 "first_wrong_given": None, "nameable": True, "also": [], **label}
        return explainer, kept, self.finish(label, kept, precision, stored_as)

    def precision(self, problem):
        if problem["overflows"]:
            return pick(self.rng, "f32", "f64")
        return str(self.rng.choice(PRECISIONS, p=SHARES))

    def some_of(self, steps, must, hidden):
        """The tensors given: the output alone, two, the usual eight, all, or some."""
        rng = self.rng
        names = [s for s in STEPS if s in steps and s not in hidden]
        how = pick(rng, "output", "output", "two", "eight", "eight", "all", "some")
        if how == "output":
            chosen = {"output"}
        elif how == "two":
            chosen = {"output", pick(rng, *names)}
        elif how == "eight":
            chosen = set(EIGHT)
        elif how == "all":
            chosen = set(names)
        else:
            chosen = {"output"} | {s for s in names if chance(rng, 0.5)}
        return {s: steps[s] for s in names if s in chosen | must}

    def finish(self, label, kept, precision, stored_as):
        rng = self.rng
        formats = ["npz", "npz", "npz-compressed", "safetensors", "json"]
        if set(kept) == {"output"}:
            formats.append("npy")
        if all(a.ndim == 2 for a in kept.values()) and precision != "bf16":
            formats += ["csv", "csv"]
        if "Fortran" in label.get("note", ""):
            formats = ["npz", "npz-compressed"]
        label = {**label, "given": list(kept), "precision": precision,
                 "format": pick(rng, *formats), "note": label.get("note", "")}
        if stored_as:
            label["stored_as"] = stored_as
        return label


def generate(generator, count, out):
    cases, labels, used = [], [], {}
    for number in range(1, count + 1):
        explainer, kept, label = generator.case()
        name, problem = f"c{number:04}", explainer.problem
        used[problem["id"]] = problem
        decimals = int(label["precision"][0]) if "dp" in label["precision"] else None
        files = write_case(out, name, kept, label["format"], decimals)
        label["format"] = label["format"].removesuffix("-compressed")
        cases.append({"id": name, "problem": problem["id"], "files": files})
        labels.append({"id": name, "problem": problem["id"], **label})
        if number % 100 == 0:
            print(f"{number} cases on {len(used)} problems", flush=True)
    for problem in used.values():
        write_problem(out, problem)
    write_rows(pathlib.Path(out, "cases.json"), cases)
    write_rows(pathlib.Path(out, "labels.json"), labels)
    counts = {"right": sum(not c["kinds"] and c["nameable"] for c in labels),
              "one mistake": sum(len(c["kinds"]) == 1 for c in labels),
              "two mistakes": sum(len(c["kinds"]) == 2 for c in labels),
              "no name": sum(not c["nameable"] for c in labels)}
    missing = set(kinds.IDS) - set(itertools.chain(*(c["kinds"] for c in labels)))
    print(f"{len(cases)} cases on {len(used)} problems:", counts)
    print("kinds without a case:", sorted(missing) or "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--validate", metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--large", action="store_true", help="64 tokens, d_model 256, 8 heads")
    parser.add_argument("--size", metavar="n,d_model,h")
    parser.add_argument("--new-problem", type=float, default=0.15, metavar="SHARE",
                        help="how often a case gets a problem of its own")
    parser.add_argument("--pairs", type=int, metavar="N",
                        help="compare with so many pairs only (large problems: 300; else all)")
    options = parser.parse_args()
    np.seterr(all="ignore")
    if options.validate:
        return 1 if validate(options.validate) else 0
    if not options.out:
        parser.error("--out or --validate is needed")
    size = (64, 256, 8) if options.large else None
    if options.size:
        size = tuple(int(part) for part in options.size.split(","))
        if len(size) != 3 or min(size) < 1 or size[1] % size[2]:
            parser.error("--size takes three whole numbers, h a divisor of d_model")
    if size and size[0] * size[1] > 2000 and options.pairs is None:
        options.pairs = 300
        print("nameless and twice mistaken cases are compared with 300 pairs, not with all")
    generate(Generator(options.seed, size, options.new_problem, options.pairs),
             options.cases, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
