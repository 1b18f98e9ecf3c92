#!/usr/bin/env python3
"""Hand every case of a set to `mha check`, and collect what it says.

    run.py MHA DIR RESULTS.json [--jobs 2]     lessons, checks; RESULTS maps case id to answer
    run.py MHA DIR --trace                     only compare the lessons' numbers with the references

Every problem becomes a lesson, DIR/problems/ID/lesson.json, beside its tensors. `mha check`
exits 0 (right), 1 (wrong) or 2 (cannot read); the answer is its JSON. Where it exits with
anything else, or prints no JSON, the answer is {"error": what it said}.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

import numpy as np

from files import read_problems

PROJECTIONS = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o")
ALLOWED = 1e-9


def from_file(name):
    return {"file": "tensors.npz", "array": name}


def lesson(problem):
    """The lesson that states a problem. JSON is YAML."""
    tensors = problem["tensors"]
    masks = []
    if problem["causal"]:
        masks.append({"causal": problem["causal_align"]})
    if "key_keep" in tensors:
        masks.append({"key_padding": from_file("key_keep")})
    if "mask_keep" in tensors:
        masks.append({"allow": from_file("mask_keep")})
    attention = {"d_model": problem["d_model"], "num_heads": problem["heads"],
                 "num_kv_heads": problem["kv_heads"], "d_k": problem["d_k"],
                 "d_v": problem["d_v"], "fully_masked_rows": "zeros"}
    if masks:
        attention["mask"] = masks
    if problem["scale"] is not None:
        attention["scale"] = problem["scale"]
    if problem["rope"]:
        rope = problem["rope"]
        layout = {"half": "half-split", "interleaved": "interleaved"}[rope["layout"]]
        attention["positions"] = {"rope": {"theta": rope["base"], "layout": layout,
                                           "q_start": rope["q_start"],
                                           "k_start": rope["k_start"]}}
    return {"mha": 1, "title": problem["title"], "attention": attention,
            "inputs": {name: from_file(name) for name in ("x", "x_kv") if name in tensors},
            "projections": {name: from_file(name) for name in PROJECTIONS if name in tensors}}


def write_lessons(root, problems):
    """The lesson file of every problem."""
    paths = {}
    for name, problem in problems.items():
        paths[name] = pathlib.Path(root, "problems", name, "lesson.json")
        paths[name].write_text(json.dumps(lesson(problem), indent=1) + "\n")
    return paths


def trace_differs(binary, path):
    """What is wrong with the numbers of `mha trace` for a lesson, or None."""
    written = path.with_name("traced.npz")
    done = subprocess.run([binary, "trace", str(path), "--format", "npz", "--output",
                           str(written), "--force"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    with np.load(written) as traced, np.load(path.with_name("reference.npz")) as reference:
        for step in reference.files:
            if step not in traced.files:
                return f"{step} is missing"
            got, right = traced[step], reference[step]
            if got.shape != right.shape:
                return f"{step} is {got.shape}, not {right.shape}"
            size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0))
            if not np.allclose(got, right, rtol=0, atol=ALLOWED * size):
                return f"{step} differs by {np.abs(got - right).max()}"
    written.unlink()
    return None


def check(binary, path, files):
    """One answer."""
    started = time.monotonic()
    done = subprocess.run([binary, "check", str(path), *map(str, files), "--format", "json"],
                          capture_output=True, text=True)
    seconds = time.monotonic() - started
    try:
        if done.returncode not in (0, 1):
            raise ValueError
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"error": done.stderr.strip() or f"exit status {done.returncode}"}
    return {**answer, "seconds": round(seconds, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("results", nargs="?")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--lessons", type=pathlib.Path, metavar="DIR",
                        help="work on a copy of the problems here (where DIR is not ours to write)")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    if not options.trace and not options.results:
        parser.error("where do the results go?")
    home = options.lessons or options.dir
    problems = read_problems(options.dir)
    if options.lessons:
        copy_problems(options.dir, options.lessons)
    paths = write_lessons(home, problems)
    if options.trace:
        wrong = {name: trace_differs(options.binary, path) for name, path in paths.items()}
        wrong = {name: why for name, why in wrong.items() if why}
        print(f"{len(paths) - len(wrong)} of {len(paths)} problems traced alike")
        for name, why in wrong.items():
            print(f"  {name}: {why}")
        return 1 if wrong else 0
    cases = json.loads((options.dir / "cases.json").read_text())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as jobs:
        answers = list(jobs.map(
            lambda case: check(options.binary, paths[case["problem"]],
                               [options.dir / "cases" / name for name in case["files"]]), cases))
    results = {case["id"]: answer for case, answer in zip(cases, answers)}
    pathlib.Path(options.results).write_text(json.dumps(results, indent=1) + "\n")
    failed = [name for name, answer in results.items() if "error" in answer]
    times = sorted(answer["seconds"] for answer in answers)
    print(f"{len(results)} cases; seconds each: median {times[len(times) // 2]:.2f}, "
          f"longest {times[-1]:.2f}")
    for name in failed[:20]:
        print(f"  no answer to {name}: {results[name]['error'][:200]}")
    return 1 if failed else 0


def copy_problems(source, target):
    for folder in pathlib.Path(source, "problems").iterdir():
        to = pathlib.Path(target, "problems", folder.name)
        to.mkdir(parents=True, exist_ok=True)
        for name in ("tensors.npz", "reference.npz"):
            (to / name).write_bytes((folder / name).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
