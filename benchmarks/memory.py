"""Memory over 10,000 predictions of every structure, and over a million samples of ``partial_fit``.

``python -m benchmarks memory`` draws ``docs/images/memory.svg`` and writes ``benchmarks/results/memory.md``.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

import trelliswork as tw
from trelliswork.structures import STRUCTURES

ROOT = Path(__file__).parents[1]
PREDICTIONS, SAMPLES, STEP = 10_000, 1_000_000, 2_000
LABELS = [f"L{i}" for i in range(5)]


def resident() -> float:
    """Memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def predictions(name: str) -> list[float]:
    """Memory after every 500 calls of ``predict`` and ``predict_kbest``, one sample each."""
    structure, X, y = next(iter(STRUCTURES[name].examples()))
    if name == "Alignment":  # the examples are long
        X, y = [("ABA", "AB"), ("BA", "BBA")], [("ABA", "AB-"), ("-BA", "BBA")]
    model = tw.Perceptron(structure, max_iter=2).fit(X, y)
    seen = []
    for i in range(PREDICTIONS + 1):
        if i % 500 == 0:
            gc.collect()
            seen.append(resident())
        x = [X[i % len(X)]]
        model.predict(x) if i % 10 else model.predict_kbest(x, 2)
    return seen


def stream(model) -> list[float]:
    """Memory after every 20,000 samples of a stream of sentences over 100 words and 5 labels."""
    rng, seen = np.random.default_rng(0), []
    for i in range(0, SAMPLES + STEP, STEP):
        if i % (10 * STEP) == 0:
            gc.collect()
            seen.append(resident())
        if i < SAMPLES:
            words = rng.integers(100, size=(STEP, 4))
            X = [[f"w{w}" for w in row] for row in words.tolist()]
            y = [[LABELS[w % 5] for w in row] for row in words.tolist()]
            model.partial_fit(X, y)
    return seen


def main() -> int:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    warnings.simplefilter("ignore")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    rows = []
    for name in STRUCTURES:
        started, seen = time.process_time(), predictions(name)
        axes[0].plot(np.arange(len(seen)) / 2, np.array(seen) - seen[1], label=name)
        rows.append((f"{name}: 10,000 predictions", seen[1], seen[-1], time.process_time() - started))
        print(rows[-1], flush=True)
    # ZScore keeps sums as long as no new label can come; else it keeps the encoded samples.
    moments = tw.ZScore(tw.Chain(labels=LABELS), reference="uniform")
    for model in (tw.Perceptron(tw.Chain(), max_iter=1), moments):
        name = type(model).__name__
        started, seen = time.process_time(), stream(model)
        axes[1].plot(np.arange(len(seen)) * 0.02, np.array(seen) - seen[1], label=name)
        rows.append((f"{name}: 1,000,000 samples", seen[1], seen[-1], time.process_time() - started))
        print(rows[-1], flush=True)
    axes[0].set(xlabel="thousand predictions", ylabel="MB more than at the start")
    axes[1].set(xlabel="million samples of partial_fit")
    for ax in axes:
        ax.legend(fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "memory.svg")
    lines = [
        "# Memory over time",
        "",
        f"`python -m benchmarks memory`, {date.today()}: resident memory of one process; "
        "the start is after the first 500 predictions, or the first 20,000 samples.",
        "",
        "| what | start, MB | end, MB | CPU s |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {what} | {a:.1f} | {b:.1f} | {s:.0f} |" for what, a, b, s in rows),
    ]
    (ROOT / "benchmarks" / "results" / "memory.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
