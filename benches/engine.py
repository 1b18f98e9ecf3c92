"""Times multi-head attention with every intermediate value kept, in NumPy and PyTorch.

d_model 512, 8 heads, float32, no biases, no mask. Q, K, V, scores, weights, head outputs, concat and output are all
computed, kept and handed back. The engines take turns call by call, so that whatever else the machine does meets all of them alike;
with --beside another program takes part, a process a turn:

    python benches/engine.py --n 512 2048 --threads 1 --repetitions 15 \\
        --beside 'target/release/deps/engine-… --bench'

That program is started with `--n N --threads T --repetitions R` and prints lines of JSON with median_ms and best_ms,
as `cargo bench --bench engine` does. Of its turns the median of medians and the best of bests are given.

One line of JSON a measurement: {"engine", "n", "threads", "median_ms", "best_ms", "gflops"}; GFLOP/s are of the best time,
a multiplication and its addition counted as two, matrix products only.

NumPy takes its kernels from OpenBLAS; unset OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE first, if your environment sets
them. Threads wait without spinning (OMP_WAIT_POLICY=PASSIVE, unless you set it), since one engine's spinning threads would
slow the next one down.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time

D_MODEL, NUM_HEADS = 512, 8
D_K = D_MODEL // NUM_HEADS
SCALE = D_K**-0.5
WARM_UP = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[512, 2048], help="tokens")
    parser.add_argument("--threads", type=int, default=1, help="threads of each engine")
    parser.add_argument("--repetitions", type=int, default=15, help="timed calls of each engine")
    parser.add_argument("--engines", nargs="+", choices=["numpy", "torch"], default=["numpy", "torch"])
    parser.add_argument("--beside", metavar="COMMAND", help="a program that takes turns with them")
    parser.add_argument("--beside-repetitions", type=int, default=3, help="its calls a turn")
    return parser.parse_args()


def flops(n):
    """Q, K, V and the output: n × d × d each; scores and head outputs: n × n × d each."""
    return 2 * (4 * n * D_MODEL**2 + 2 * n**2 * D_MODEL)


def numpy_engine(x, projections):
    import numpy as np

    w_q, w_k, w_v, w_o = projections
    n = len(x)

    def heads(matrix):
        return matrix.reshape(n, NUM_HEADS, D_K).transpose(1, 0, 2)

    def run():
        q, k, v = x @ w_q, x @ w_k, x @ w_v
        # scaling the queries costs n × d multiplications where scaling the scores costs h × n × n
        scores = heads(q * np.float32(SCALE)) @ heads(k).transpose(0, 2, 1)
        weights = scores - scores.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        outputs = weights @ heads(v)
        concat = outputs.transpose(1, 0, 2).reshape(n, D_MODEL)
        return q, k, v, scores, weights, outputs, concat, concat @ w_o

    return run


def torch_engine(x, projections, threads):
    import torch

    torch.set_num_threads(threads)
    x, w_q, w_k, w_v, w_o = (torch.from_numpy(array) for array in (x, *projections))
    n = len(x)
    # with beta = 0 this is only a place to broadcast from; it is never read
    nothing = torch.zeros(1, 1, 1)

    def heads(matrix):
        return matrix.view(n, NUM_HEADS, D_K).transpose(0, 1)

    def run():
        with torch.inference_mode():
            q, k, v = x @ w_q, x @ w_k, x @ w_v
            scores = torch.baddbmm(nothing, heads(q), heads(k).transpose(1, 2), beta=0, alpha=SCALE)
            weights = torch.softmax(scores, dim=-1)
            outputs = weights @ heads(v)
            concat = outputs.transpose(0, 1).reshape(n, D_MODEL)
            return q, k, v, scores, weights, outputs, concat, concat @ w_o

    return run


def beside(command, n, threads, repetitions):
    asked = ["--n", str(n), "--threads", str(threads), "--repetitions", str(repetitions)]
    done = subprocess.run([*shlex.split(command), *asked], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]


def timed(run):
    start = time.perf_counter()
    kept = run()
    seconds = time.perf_counter() - start
    del kept
    return seconds * 1e3


def report(engine, n, threads, median, best):
    line = {
        "engine": engine,
        "n": n,
        "threads": threads,
        "median_ms": round(median, 3),
        "best_ms": round(best, 3),
        "gflops": round(flops(n) / best / 1e6, 1),
    }
    print(json.dumps(line), flush=True)


def measure(options, n):
    import numpy as np

    rng = np.random.default_rng(7)
    x = rng.standard_normal((n, D_MODEL), dtype=np.float32)
    projections = [rng.standard_normal((D_MODEL, D_MODEL), dtype=np.float32) * np.float32(0.04) for _ in range(4)]
    made = {
        "numpy": lambda: numpy_engine(x, projections),
        "torch": lambda: torch_engine(x, projections, options.threads),
    }
    engines = {name: made[name]() for name in options.engines}

    results = [np.asarray(run()[-1]) for run in engines.values()]
    if any(not np.allclose(result, results[0], atol=1e-3) for result in results):
        sys.exit("the engines do not agree, so their times mean nothing")
    for run in engines.values():
        for _ in range(WARM_UP):
            run()

    times = {name: [] for name in engines}
    others = {}
    for _ in range(options.repetitions):
        for name, run in engines.items():
            times[name].append(timed(run))
        if options.beside:
            for line in beside(options.beside, n, options.threads, options.beside_repetitions):
                others.setdefault(line["engine"], []).append((line["median_ms"], line["best_ms"]))
    for name, taken in times.items():
        report(name, n, options.threads, statistics.median(taken), min(taken))
    for name, taken in others.items():
        medians, bests = zip(*taken)
        report(name, n, options.threads, statistics.median(medians), min(bests))


def main():
    options = arguments()
    # Both must be known before the libraries are imported.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(options.threads)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for n in options.n:
        measure(options, n)


if __name__ == "__main__":
    main()
