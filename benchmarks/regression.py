"""Kernel regression: a fit against its parts and KernelRidge; Euler trails; n-gram Gram matrices."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks._measure import arguments, best, in_fresh_process, write_results

M, WIDTH, OUTPUTS, RIDGE = 5000, 128, 26, 1.0
EDGES = 1_000_000
STRINGS, LENGTH = 2000, 100


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixel-like inputs, indicator targets, and rows to predict."""
    rng = np.random.default_rng(0)
    X = (rng.random((M + 1000, WIDTH)) < 0.3).astype(float)
    return X[:M] / 8, np.eye(OUTPUTS)[rng.integers(0, OUTPUTS, M)], X[M:] / 8


def parts(args: Any) -> dict[str, Any]:
    """What no fit can do without: the Gram matrix and one Cholesky factorisation."""
    from scipy.linalg import cho_factor

    from trelliswork.kernels import Polynomial

    X, _, _ = rows()
    gram, K = best(lambda: Polynomial(3)(X, X), args.repeat)
    K[np.diag_indices(M)] += RIDGE
    cholesky, _ = best(lambda: cho_factor(K), args.repeat)
    return {"gram": gram, "cholesky": cholesky}


def ours(args: Any) -> dict[str, Any]:
    """KernelRegression, and how far its predictions are from those of KernelRidge."""
    import trelliswork as tw

    X, Y, new = rows()
    model = tw.KernelRegression(tw.kernels.Polynomial(3), tw.Values(), ridge=RIDGE)
    seconds, _ = best(lambda: model.fit(X, Y), args.repeat)
    predict, values = best(lambda: model.predict(new), args.repeat)
    from sklearn.kernel_ridge import KernelRidge

    other = KernelRidge(alpha=RIDGE, kernel="poly", degree=3, gamma=1.0, coef0=1.0).fit(X, Y)
    return {"fit": seconds, "predict": predict, "gap": float(np.abs(values - other.predict(new)).max())}


def peer(args: Any) -> dict[str, Any]:
    """scikit-learn's KernelRidge."""
    from sklearn.kernel_ridge import KernelRidge

    X, Y, new = rows()
    model = KernelRidge(alpha=RIDGE, kernel="poly", degree=3, gamma=1.0, coef0=1.0)
    seconds, _ = best(lambda: model.fit(X, Y), args.repeat)
    predict, _ = best(lambda: model.predict(new), args.repeat)
    return {"fit": seconds, "predict": predict}


def counted_ngrams(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct n-grams of a string in lexicographic order, and how often each occurs."""
    return np.unique(np.lib.stride_tricks.sliding_window_view(codes, n), axis=0, return_counts=True)


def euler(args: Any) -> dict[str, Any]:
    """A string of a million letters from its 6-gram counts."""
    from trelliswork.learners.regression.preimage_graph import DeBruijn

    n, letters = 6, 26
    start, end = (letters,) * (n - 1), (letters + 1,) * (n - 1)
    codes = np.random.default_rng(0).integers(0, letters, EDGES)
    table, counts = counted_ngrams(np.concatenate([start, codes, end]), n)
    DeBruijn(table, counts, start, end).trail()
    build, graph = best(lambda: DeBruijn(table, counts, start, end), args.repeat)
    seconds, edges = best(graph.trail, args.repeat)
    again = counted_ngrams(np.append(start, table[edges, -1]), n)
    assert all(map(np.array_equal, again, (table, counts))), "the trail is not a pre-image"
    return {"edges": int(counts.sum()), "build": build, "trail": seconds}


def ngrams(args: Any) -> dict[str, Any]:
    """Gram matrices of n-gram and spectrum kernels against a plain double loop."""
    from trelliswork.kernels import NGram, Spectrum

    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), LENGTH)) for _ in range(STRINGS)]
    out: dict[str, Any] = {}
    for name, kernel, lengths in (
        ("NGram(3)", NGram(3), (3,)),
        ("Spectrum(1, 3)", Spectrum(1, 3), (1, 2, 3)),
    ):
        kernel(texts[:10], texts[:10])
        seconds, K = best(lambda kernel=kernel: kernel(texts, texts), args.repeat)
        started = time.perf_counter()
        counts = [Counter(t[i : i + n] for n in lengths for i in range(LENGTH - n + 1)) for t in texts]
        slow = np.zeros((STRINGS, STRINGS))
        for i, a in enumerate(counts):
            for j in range(i + 1):
                b = counts[j]
                slow[i, j] = slow[j, i] = sum(c * b[u] for u, c in a.items() if u in b)
        loop = time.perf_counter() - started
        assert np.array_equal(K, slow)
        out[name] = {"ours": seconds, "loop": loop}
    return out


WORKERS = {"parts": parts, "ours": ours, "peer": peer, "euler": euler, "ngrams": ngrams}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args)))
        return 0
    results = {name: in_fresh_process("regression", name, args) for name in WORKERS}
    floor = results["parts"]["gram"] + results["parts"]["cholesky"]
    fit, other = results["ours"]["fit"], results["peer"]["fit"]
    lines = [
        f"Training, {M:,} examples of {WIDTH} numbers, {OUTPUTS} outputs, cubic kernel, 2 threads (seconds):",
        "",
        "| step | seconds | ours / step |",
        "| --- | --- | --- |",
        f"| Gram matrix {results['parts']['gram']:.2f} + SciPy Cholesky {results['parts']['cholesky']:.2f} "
        f"| {floor:.2f} | {fit / floor:.2f} |",
        f"| scikit-learn KernelRidge.fit | {other:.2f} | {fit / other:.2f} |",
        f"| **KernelRegression.fit** | **{fit:.2f}** | |",
        "",
        f"Largest difference between the predictions of both: {results['ours']['gap']:.1e}; "
        f"prediction of 1,000 rows {results['ours']['predict']:.3f} s, "
        f"KernelRidge {results['peer']['predict']:.3f} s.",
        "",
        f"Euler trail of {results['euler']['edges']:,} edges: {results['euler']['trail']:.2f} s "
        f"(graph from counted n-grams: {results['euler']['build']:.2f} s).",
        "",
        f"Gram matrix of {STRINGS:,} strings of length {LENGTH} (20 letters), one thread:",
        "",
        "| kernel | double loop, half of the matrix (s) | ours (s) | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for name, times in results["ngrams"].items():
        lines.append(
            f"| {name} | {times['loop']:.1f} | {times['ours']:.2f} | {times['loop'] / times['ours']:.0f} |"
        )
    write_results("regression", "python -m benchmarks regression", "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
