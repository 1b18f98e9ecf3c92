#!/usr/bin/env python3
"""Count how well a checker did: `score.py RESULTS.json DIR`.

RESULTS maps a case's id to the answer: {"verdict": "right" | "wrong", "first_wrong":
{"step": ...} | null, "explanations": [["scale-missing"], ["a", "b"], ...]}. Every explanation is
one or two mistakes; several mean that they cannot be told apart. DIR holds labels.json.

Exits 1 if a right case was called wrong, a mistake was not named, or a nameless one was.
"""

import argparse
import collections
import json
import pathlib
import sys

SHOWN = 40


class Answer:
    """An answer, or the lack of one."""

    def __init__(self, result):
        result = result or {"error": "no answer"}
        self.error = result.get("error")
        self.right = result.get("verdict") == "right"
        self.wrong = result.get("verdict") == "wrong"
        self.step = (result.get("first_wrong") or {}).get("step")
        self.explanations = []
        for explanation in result.get("explanations") or []:
            if sorted(explanation) not in self.explanations:
                self.explanations.append(sorted(explanation))

    def __str__(self):
        if self.error:
            return f"error: {self.error[:80]}"
        named = " | ".join("+".join(e) for e in self.explanations) or "no name"
        verdict = "right" if self.right else "wrong" if self.wrong else "no verdict"
        return f"{verdict}, from {self.step}, {named}"


def accepted(label):
    """The explanations that count as naming it: the label's own, and its doubles."""
    also = [[k] if isinstance(k, str) else sorted(k) for k in label["also"]]
    return [sorted(label["kinds"])] + also


def describe(label):
    parts = [label["id"], label["problem"], label["precision"],
             "+".join(label["kinds"]) or label["note"] or label["verdict"]]
    if label["variant"]:
        parts.append(f"({label['variant']})")
    given = label["given"]
    parts.append(f"given {','.join(given) if len(given) < 4 else len(given)}")
    return " ".join(parts)


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def listed(title, rows):
    print(f"\n{title}: {len(rows) or 'none'}")
    for row in rows[:SHOWN]:
        print("  " + row)
    if len(rows) > SHOWN:
        print(f"  ... and {len(rows) - SHOWN} more")


def named_table(pairs):
    """Per group: how many, named, named with all doubles and nothing else, list lengths."""
    print(f"\n{'':24}{'cases':>7}{'named':>7}{'exactly':>9}{'list':>7}")
    for title, rows in pairs:
        if not rows:
            continue
        named = sum(any(e in accepted(lb) for e in an.explanations) for lb, an in rows)
        exact = sum(sorted(an.explanations) == sorted(accepted(lb)) for lb, an in rows)
        length = sum(len(an.explanations) for _, an in rows) / len(rows)
        print(f"{title:24}{len(rows):7}{named:7}{exact:9}{length:7.2f}")


def confusions(rows):
    table = collections.defaultdict(collections.Counter)
    for label, answer in rows:
        key = "+".join(label["kinds"]) or "(no name)"
        if not answer.explanations:
            table[key]["(no name)" if not answer.right else "(right)"] += 1
        for explanation in answer.explanations:
            table[key]["+".join(explanation)] += 1
    print("\nwhat is there -> what was named")
    for key in sorted(table):
        if len(key.split("+")) > 1:
            continue
        named = ", ".join(f"{name} {count}" for name, count in table[key].most_common(6))
        more = len(table[key]) - 6
        print(f"  {key:32} {named}{f', {more} others' if more > 0 else ''}")


def score(labels, results, least):
    """Print everything; True if nobody is accused, no name is made up, and the rest is right in `least` percent."""
    rows = [(label, Answer(results.get(label["id"]))) for label in labels]
    correct = [(lb, an) for lb, an in rows if lb["verdict"] == "correct"]
    wrong = [(lb, an) for lb, an in rows if lb["verdict"] == "wrong"]
    one = [(lb, an) for lb, an in wrong if len(lb["kinds"]) == 1]
    two = [(lb, an) for lb, an in wrong if len(lb["kinds"]) == 2]
    nameless = [(lb, an) for lb, an in wrong if not lb["nameable"]]

    agree = sum(an.right for _, an in correct) + sum(an.wrong for _, an in wrong)
    accused = [f"{describe(lb)}: {an}" for lb, an in correct if not an.right]
    missed = [f"{describe(lb)}: {an}" for lb, an in wrong if not an.wrong]
    other_step = [f"{describe(lb)}: should be {lb['first_wrong_given']}: {an}"
                  for lb, an in wrong if an.step != lb["first_wrong_given"]]
    unnamed = [f"{describe(lb)}: {an}" for lb, an in one + two
               if not any(e in accepted(lb) for e in an.explanations)]
    undeserved = [f"{describe(lb)}: {an}" for lb, an in one + two
                  if any(e not in accepted(lb) for e in an.explanations)]
    false_names = [f"{describe(lb)}: {an}" for lb, an in nameless if an.explanations]
    half = sum(1 for lb, an in two if not any(e in accepted(lb) for e in an.explanations)
               and any(set(e) & set(lb["kinds"]) for e in an.explanations))

    print("verdict:         ", share(agree, len(rows)))
    print("right and so said:", share(len(correct) - len(accused), len(correct)))
    print("first wrong step:", share(len(wrong) - len(other_step), len(wrong)))
    print("named:           ", share(len(one) + len(two) - len(unnamed), len(one) + len(two)),
          f"(one of two names: {half} more)")
    print("no name, none given:", share(len(nameless) - len(false_names), len(nameless)))
    groups = [("one mistake", one), ("two mistakes", two)]
    for precision in sorted({lb["precision"] for lb, _ in one}):
        groups.append((f"one, {precision}", [r for r in one if r[0]["precision"] == precision]))
    groups.append(("one, output alone", [r for r in one if r[0]["given"] == ["output"]]))
    named_table(groups)
    listed("right, but accused", accused)
    listed("wrong, but not found", missed)
    listed("another first wrong step", other_step)
    listed("not named", unnamed)
    listed("no name, but given one", false_names)
    listed("named, and something else offered that does not give these tensors", undeserved)
    confusions(wrong)
    enough = all(100 * len(failed) <= (100 - least) * max(of, 1)
                 for failed, of in [(missed, len(wrong)), (other_step, len(wrong)), (unnamed, len(one) + len(two))])
    return enough and not accused and not false_names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=100, metavar="PERCENT",
                        help="how many first wrong steps and names must be right")
    options = parser.parse_args()
    labels = json.loads((options.dir / "labels.json").read_text())
    results = json.loads(pathlib.Path(options.results).read_text())
    return 0 if score(labels, results, options.least) else 1


if __name__ == "__main__":
    sys.exit(main())
