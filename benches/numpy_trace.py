"""Prints the tables of `mha trace` (the lesson two-heads) with NumPy.

The yardstick for the time that a whole process takes:

    hyperfine -N --warmup 5 'mha trace' 'python benches/numpy_trace.py' true
"""

import numpy as np

TOKENS = ["a", "b", "c"]
NUM_HEADS, D_K = 2, 2


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def table(name, formula, matrix, columns=None):
    columns = columns or [str(column + 1) for column in range(matrix.shape[1])]
    line = "───┼" + "┼".join(["────────"] * len(columns))
    print(f"{name}   {formula}   {matrix.shape[0]} × {matrix.shape[1]}")
    print("   │" + "│".join(f"{column:>7} " for column in columns))
    print(line)
    for token, row in zip(TOKENS, matrix):
        print(f" {token} │" + "│".join(f"{number:7.4f} " for number in row))
    print()


def main():
    x = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], dtype=np.float64)
    w_q = w_k = w_v = w_o = np.eye(4)
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    table("x", "token embeddings", x)
    table("q", "Q = X · W_Q", q)
    table("k", "K = X · W_K", k)
    table("v", "V = X · W_V", v)
    outputs = []
    for head in range(NUM_HEADS):
        block = slice(head * D_K, (head + 1) * D_K)
        name = f"head.{head + 1}"
        q_head, k_head, v_head = q[:, block], k[:, block], v[:, block]
        scores = q_head @ k_head.T / np.sqrt(D_K)
        weights = softmax(scores)
        outputs.append(weights @ v_head)
        table(f"{name}.q", "columns of Q", q_head)
        table(f"{name}.k", "columns of K", k_head)
        table(f"{name}.v", "columns of V", v_head)
        table(f"{name}.scores", "Q · Kᵀ / √d_k", scores, TOKENS)
        table(f"{name}.weights", "softmax(scores), row by row", weights, TOKENS)
        table(f"{name}.output", "weights · V", outputs[-1])
    concat = np.concatenate(outputs, axis=1)
    table("concat", "head outputs side by side", concat)
    table("output", "concat · W_O", concat @ w_o)


if __name__ == "__main__":
    main()
