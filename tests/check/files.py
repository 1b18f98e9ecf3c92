"""Problems and learners' tensors as files."""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file

from attention import RIGHT, STEPS, attend, keep_mask, scale_of

HALF_MAX = 65504.0
# What is found out about a problem, and not written.
FOUND = ("has_blind_rows", "has_blind_columns", "overflows")


def completed(config, tensors):
    """A problem as the other modules take it: configuration, arrays, and what is special."""
    problem = {**config, "tensors": tensors, "has_blind_rows": False, "has_blind_columns": False}
    keep = keep_mask(problem, RIGHT)
    if keep is not None:
        problem["has_blind_rows"] = bool((~keep).all(axis=-1).any())
        problem["has_blind_columns"] = bool((~keep).all(axis=-2).any())
    scores = attend(problem, {})["scores"]
    problem["overflows"] = bool(np.abs(scores).max() / abs(scale_of(problem, RIGHT)) > HALF_MAX)
    return problem


def read_problem(folder):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "problem.json").read_text())
    with np.load(folder / "tensors.npz") as tensors:
        return completed(config, dict(tensors))


def read_problems(root):
    folders = sorted(pathlib.Path(root, "problems").iterdir())
    return {folder.name: read_problem(folder) for folder in folders}


def write_problem(root, problem):
    folder = pathlib.Path(root, "problems", problem["id"])
    folder.mkdir(parents=True, exist_ok=True)
    config = {k: v for k, v in problem.items() if k != "tensors" and k not in FOUND}
    (folder / "problem.json").write_text(json.dumps(config, indent=1) + "\n")
    np.savez(folder / "tensors.npz", **problem["tensors"])
    np.savez(folder / "reference.npz", **attend(problem, {}))


def read_case(root, files):
    """A learner's tensors as float64, in the order of the steps."""
    found = {}
    for name in files:
        path = pathlib.Path(root, "cases", name)
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                found.update(arrays)
        elif path.suffix == ".safetensors":
            found.update(load_file(path))
        elif path.suffix == ".json":
            found.update(json.loads(path.read_text()))
        elif path.suffix == ".npy":
            found["output"] = np.load(path)
        else:
            found[path.name.split(".")[-2]] = np.loadtxt(path, delimiter=",", ndmin=2)
    return {s: np.asarray(found[s], dtype=np.float64) for s in STEPS if s in found}


def write_case(root, name, tensors, kind, decimals=None):
    """The files written. Arrays keep their dtype and order; json and csv are text."""
    folder = pathlib.Path(root, "cases")
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "csv":
        files = []
        for step, a in tensors.items():
            files.append(f"{name}.{step}.csv")
            fmt = "%.17g" if decimals is None else f"%.{decimals}f"
            np.savetxt(folder / files[-1], a, delimiter=",", fmt=fmt)
        return files
    path = folder / f"{name}.{kind}"
    if kind == "npz":
        np.savez(path, **tensors)
    elif kind == "npz-compressed":
        path = folder / f"{name}.npz"
        np.savez_compressed(path, **tensors)
    elif kind == "safetensors":
        save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, path)
    elif kind == "json":
        # A float32 number is written as the shortest text that reads back as itself.
        listed = {k: [float(str(x)) for x in v.ravel()] for k, v in tensors.items()}
        path.write_text(json.dumps({k: nested(listed[k], v.shape) for k, v in tensors.items()}))
    else:
        np.save(path, tensors["output"])
    return [path.name]


def nested(flat, shape):
    return np.array(flat, dtype=object).reshape(shape).tolist()


def write_rows(path, rows):
    """A list of objects, one a line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    pathlib.Path(path).write_text(f"[\n{lines}\n]\n")
