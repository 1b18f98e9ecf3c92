"""Run the programs of each folder named, and compare what they saved with what mha saved.

A folder holds with_numpy.py and with_pytorch.py, maybe notebook.ipynb, and inputs.npz as mha wrote it.
"""

import os
import runpy
import sys
import traceback
import warnings

import numpy as np


def compare(want, have):
    assert set(have) == set(want), f"names differ: {set(have) ^ set(want)}"
    for name in want:
        assert have[name].dtype == np.float64, f"{name} is {have[name].dtype}"
        assert have[name].shape == want[name].shape, f"{name} is {have[name].shape}, not {want[name].shape}"
        np.testing.assert_allclose(have[name], want[name], rtol=1e-12, atol=1e-12, err_msg=name)


def run_script(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # a script leaves its file to Python's end
        runpy.run_path(name, run_name="__main__")


def run_notebook(name):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(name, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=120).execute()


failures = 0
start = os.getcwd()
for folder in sys.argv[1:]:
    os.chdir(os.path.join(start, folder))
    for name in ["with_numpy.py", "with_pytorch.py", "notebook.ipynb"]:
        if not os.path.exists(name):
            continue
        try:
            run_notebook(name) if name.endswith("ipynb") else run_script(name)
            compare(np.load("inputs.npz"), np.load("answers.npz"))
            os.remove("answers.npz")
        except Exception:
            failures += 1
            print(f"{folder}/{name}\n{traceback.format_exc(limit=-2)}")
sys.exit(f"{failures} failed" if failures else 0)
