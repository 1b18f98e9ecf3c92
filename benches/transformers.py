"""Times a real BERT in mha beside Hugging Face transformers: the same ids, every attention map kept.

    cargo build --release --bench model && cargo build --release
    python benches/transformers.py MODEL_DIR --mha target/release/mha --bench target/release/deps/model-…

Three things are compared at each length, the two taking turns so that whatever else the machine does meets both alike:

- forward alone: weights in memory, warmed up; transformers in eager mode with output_attentions (its other modes keep no
  maps), mha with all maps and hidden states kept. With one thread and with two.
- the whole process, from its start to a finished forward pass: `mha trace` with every head's weights in an npz file, beside
  a script that imports, loads, tokenises and runs the model once.
- the largest memory that each process had resident.

Prints a table of medians and ratios (above 1: mha takes less), and with --json one line of JSON a measurement. PyTorch's threads
wait without spinning (OMP_WAIT_POLICY=PASSIVE, unless you set it): spinning, they would take the core from whoever comes
next.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

FORWARD = """
import json, statistics, sys, time
import torch
from transformers import AutoModel
folder, n, threads, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
model = AutoModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False).eval()
ids = torch.tensor([[101, *(1000 + 7 * at for at in range(n - 2)), 102]])
for line in sys.stdin:
    times = []
    with torch.inference_mode():
        for _ in range(repetitions):
            start = time.perf_counter()
            kept = model(input_ids=ids, output_attentions=True, output_hidden_states=True)
            times.append((time.perf_counter() - start) * 1e3)
            del kept
    print(json.dumps({"median_ms": statistics.median(times), "best_ms": min(times)}), flush=True)
"""

WHOLE = """
import sys
import torch
from transformers import AutoModel, AutoTokenizer
folder, text, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(threads)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False).eval()
with torch.inference_mode():
    read = tokenizer(text, return_tensors="pt", truncation=False)
    kept = model(**read, output_attentions=True, output_hidden_states=True)
print(kept.attentions[0].shape[-1])
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("--mha", help="the release build of mha, for whole processes")
    parser.add_argument("--bench", help="the release build of benches/model.rs, for forward passes alone")
    parser.add_argument("--n", type=int, nargs="+", default=[16, 128, 512], help="tokens")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5, help="turns that each takes")
    parser.add_argument("--repetitions", type=int, default=9, help="forward passes a turn")
    parser.add_argument("--json", action="store_true", help="one line of JSON a measurement")
    return parser.parse_args()


def environment(threads):
    variables = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}
    return {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "HF_HUB_OFFLINE": "1", **os.environ, **variables}


def text_of(n):
    """Words that are one token each; [CLS] and [SEP] are added."""
    words = "the animal did not cross the street because it was too tired and the night was long".split()
    return " ".join(words[at % len(words)] for at in range(n - 2))


class Forward:
    """A process that has the model in memory, and runs it a few times whenever it is asked."""

    def __init__(self, options, n, threads):
        command = [sys.executable, "-c", FORWARD, options.model, str(n), str(threads), str(options.repetitions)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(threads)
        )

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def forward(options, n, threads):
    """Medians and bests of both, in ms: mha, transformers."""
    theirs = Forward(options, n, threads)
    theirs.turn()
    asked = ["--model", options.model, "--n", str(n), "--threads", str(threads)]
    asked += ["--repetitions", str(options.repetitions + 2)]
    command = [*shlex.split(options.bench), *asked]
    ours, other = [], []
    for _ in range(options.rounds):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(threads))
        ours.append(json.loads(done.stdout.splitlines()[-1]))
        other.append(theirs.turn())
    theirs.close()
    return [(statistics.median(t["median_ms"] for t in side), min(t["best_ms"] for t in side)) for side in (ours, other)]


def once(command, threads):
    """Seconds and megabytes that a process takes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment(threads))
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed: {shlex.join(command)}")
    return seconds, usage.ru_maxrss / 1024


def whole(options, n, threads):
    """Median seconds and largest megabytes of both: mha, transformers."""
    text = text_of(n)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "maps.npz")
        trace = [*shlex.split(options.mha), "trace", "--model", options.model, "--text", text, "--layer", "all"]
        commands = [
            [*trace, "--steps", "layer.*.head.*.weights", "--format", "npz", "--output", out, "--force"],
            [sys.executable, "-c", WHOLE, options.model, text, str(threads)],
        ]
        taken = [[], []]
        for _ in range(options.rounds):
            for command, side in zip(commands, taken):
                side.append(once(command, threads))
    return [(statistics.median(s for s, _ in side), max(m for _, m in side)) for side in taken]


def report(options, what, n, threads, ours, theirs, unit):
    if options.json:
        line = {"what": what, "n": n, "threads": threads, "unit": unit, "mha": ours, "transformers": theirs}
        print(json.dumps(line), flush=True)
    else:
        numbers = f"{ours:10.1f} {theirs:14.1f} {unit:3} {theirs / ours:8.2f}"
        print(f"{what:14} {n:6} {threads:8} {numbers}", flush=True)


def main():
    options = arguments()
    if not options.json:
        print(f"{'':14} {'tokens':>6} {'threads':>8} {'mha':>10} {'transformers':>14}     {'ratio':>8}")
    for n in options.n:
        for threads in options.threads:
            if options.bench:
                (ours, our_best), (theirs, their_best) = forward(options, n, threads)
                report(options, "forward", n, threads, ours, theirs, "ms")
                report(options, "forward, best", n, threads, our_best, their_best, "ms")
            if options.mha:
                (ours, our_memory), (theirs, their_memory) = whole(options, n, threads)
                report(options, "whole process", n, threads, ours * 1e3, theirs * 1e3, "ms")
                report(options, "memory", n, threads, our_memory, their_memory, "MB")


if __name__ == "__main__":
    main()
