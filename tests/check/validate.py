"""Recompute every labelled case of a corpus and compare: `generate.py --validate DIR`."""

import itertools
import json
import pathlib

import numpy as np

import kinds
from attention import attend
from compare import distances, fit, tolerance
from files import read_case, read_problems


def dropped(given, reference):
    """Dropout by its symptom: every weight is 0 or 1/(1 - p) times the reference."""
    if "weights" not in given:
        return None
    got, right = given["weights"], reference["weights"]
    kept = got != 0
    if kept.all() or not kept.any():
        return None
    factor = (got[kept] @ right[kept]) / (right[kept] @ right[kept])
    return float(np.abs(got[kept] - factor * right[kept]).max()), float(1 - 1 / factor)


def plans(label):
    """The plans a label can stand for: the variant of a pair may be that of either."""
    if len(label["kinds"]) == 1:
        return [row[3] for row in kinds.of(label["kinds"][0], label["variant"])]
    rows = [kinds.of(kind) for kind in label["kinds"]]
    pairs = [kinds.together(a[3], b[3]) for a, b in itertools.product(*rows)
             if set(label["variant"].split("; ")) <= {"", a[1], b[1]}]
    return [plan for plan in pairs if plan is not None]


def check(label, problem, given):
    """(worst distance in tolerances, the step it is at, remark)"""
    reference = attend(problem, {})
    if label["kinds"] == ["dropout-left-on"]:
        symptom = dropped(given, reference)
        if symptom is None:
            return np.inf, "weights", "not dropout"
        allowed = tolerance(label["precision"], given["weights"])
        return symptom[0] / allowed, "weights", f"p = {symptom[1]:.3f}"
    if label["verdict"] == "wrong" and not label["kinds"]:
        apart = distances(given, reference, label["precision"])
        first = next((s for s in given if apart[s] > 1), None)
        right = first == label["first_wrong_given"]
        return (0.0 if right else np.inf), first, "no name: only its first step"
    best = (np.inf, None, "cannot be computed")
    with np.errstate(all="ignore"):
        for plan in plans(label) if label["kinds"] else [{}]:
            try:
                wanted = attend(problem, plan)
            except (ValueError, IndexError):
                continue
            worst, step = fit(given, wanted, reference, label["precision"])
            best = min(best, (worst, step, ""), key=lambda b: b[0])
    return best


def validate(root):
    """Print a table; the number of cases that are not reproduced."""
    root = pathlib.Path(root)
    labels = json.loads((root / "labels.json").read_text())
    files = {c["id"]: c["files"] for c in json.loads((root / "cases.json").read_text())}
    problems = read_problems(root)
    failed = 0
    for label in labels:
        problem = problems[label["problem"]]
        worst, step, remark = check(label, problem, read_case(root, files[label["id"]]))
        good = worst <= 1
        failed += not good
        what = " + ".join(label["kinds"]) or label["note"] or label["verdict"]
        print(f"{'ok  ' if good else 'FAIL'} {label['id']} {label['problem']} "
              f"{label['precision']:9} {worst:9.3f} {step or '':14} {what}"
              f"{' (' + label['variant'] + ')' if label['variant'] else ''} {remark}")
    print(f"{len(labels)} cases, {len(labels) - failed} reproduced, {failed} not")
    return failed
