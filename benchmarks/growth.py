"""How time and memory grow with the size of the data, learner by learner; one thread.

Sentences are those of CoNLL-2002 (es), repeated, with one word in fifty replaced by a new one; iterations
are few and of a fixed number, so that times are those of reading, packing and passes over the data. An
exponent is the slope of the last three sizes on logarithmic scales.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Peak, arguments, in_fresh_process, resident, write_results
from benchmarks.ner import read

TOKENS = (10**4, 10**5, 10**6, 10**7)
LETTERS = "ARNDCQEGHILKMFPSTWYV"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "growth.svg"


def sentences(folder: str, n_tokens: int) -> tuple[list[Any], list[Any]]:
    """So many tokens of sentences with their labels."""
    train = read(folder, "train")
    rng = np.random.default_rng(0)
    X, y, size = [], [], 0
    for x, labels in itertools.cycle(zip(train.X, train.y)):
        if size >= n_tokens:
            return X, y
        new = rng.random(len(x)) < 0.02
        X.append([(f"nueva{size + i}", token[1]) if new[i] else token for i, token in enumerate(x)])
        y.append(labels)
        size += len(x)
    raise AssertionError("sentences never end")


def chain_learners() -> dict[str, Callable[[], Any]]:
    import trelliswork as tw

    chain = tw.Chain(emissions="observed")
    return {
        "CRF, 10 iterations": lambda: tw.CRF(chain, max_iter=10, tol=0.0),
        "Perceptron, 3 passes": lambda: tw.Perceptron(chain, max_iter=3),
        "StructuredSVM, 3 passes": lambda: tw.StructuredSVM(chain, max_iter=3),
        "Generative": lambda: tw.Generative(tw.Chain()),
    }


def work_chain(args: Any, name: str, size: int) -> dict[str, float]:
    from trelliswork.features import TokenWindow

    X, y = sentences(args.data, size)
    model = chain_learners()[name]
    window = TokenWindow.tutorial(false_flags=False)
    if name == "Generative":  # a law of single words
        X = [[token[0] for token in x] for x in X]
    prepare = (lambda rows: rows) if name == "Generative" else window.transform
    model().fit(prepare(X[:50]), y[:50])  # loads compiled code
    raw, started = resident(), time.process_time()
    with Peak() as peak:
        model().fit(prepare(X), y)
    return {"seconds": time.process_time() - started, "memory": peak.value - raw}


def work_rna(args: Any, name: str, size: int) -> dict[str, float]:
    import trelliswork as tw

    rng = np.random.default_rng(0)
    model = tw.pretrained("rna")
    x = ["".join(rng.choice(list("ACGU"), size))]
    ask = {"best fold": model.predict, "pair probabilities": model.predict_marginals}[name]
    ask(["ACGU" * 10])
    raw, started = resident(), time.process_time()
    with Peak() as peak:
        ask(x)
    return {"seconds": time.process_time() - started, "memory": peak.value - raw}


def work_alignment(args: Any, name: str, size: int) -> dict[str, float]:
    import trelliswork as tw

    rng = np.random.default_rng(0)
    weights = tw.alignment_weights("BLOSUM62", gap_open=-11, gap_extend=-1, letters=LETTERS)
    model = tw.Fixed(tw.Alignment(), weights).fit()
    pair = tuple("".join(rng.choice(list(LETTERS), size)) for _ in range(2))
    model.predict([(pair[0][:100], pair[1][:100])])
    raw, started = resident(), time.process_time()
    with Peak() as peak:
        model.predict([pair])
    return {"seconds": time.process_time() - started, "memory": peak.value - raw}


def work_classes(args: Any, name: str, size: int) -> dict[str, float]:
    import trelliswork as tw

    rng = np.random.default_rng(0)
    y = rng.integers(0, 1000, size)
    X = rng.normal(size=(1000, 50))[y] + rng.normal(size=(size, 50))
    tw.CRF(tw.Classes(), max_iter=2).fit(X[:2000], y[:2000])
    raw, started = resident(), time.process_time()
    with Peak() as peak:
        tw.CRF(tw.Classes(), max_iter=10, tol=0.0).fit(X, y)
    return {"seconds": time.process_time() - started, "memory": peak.value - raw}


# Name of the curve: worker, sizes, what the size is, the exponent by theory.
CURVES: dict[str, tuple[Callable[..., dict[str, float]], tuple[int, ...], str, float]] = {
    "CRF, 10 iterations": (work_chain, TOKENS, "tokens", 1.0),
    "Perceptron, 3 passes": (work_chain, TOKENS, "tokens", 1.0),
    "StructuredSVM, 3 passes": (work_chain, TOKENS, "tokens", 1.0),
    "Generative": (work_chain, TOKENS, "tokens", 1.0),
    "best fold": (work_rna, (500, 1000, 2000, 4000), "bases", 3.0),
    "pair probabilities": (work_rna, (500, 1000, 2000, 4000), "bases", 3.0),
    "best path": (work_alignment, (1000, 3162, 10000), "residues", 2.0),
    "classes, 1,000 of them": (work_classes, (1000, 10**4, 10**5), "samples", 1.0),
}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the last three points on logarithmic scales."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])


def draw(curves: dict[str, dict[int, dict[str, float]]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name, points in curves.items():
        sizes = list(points)
        seconds = [points[size]["seconds"] for size in sizes]
        label = f"{name} ({exponent(sizes, seconds):.2f})"
        axes.loglog(sizes, seconds, "o-", label=label)
    axes.set_xlabel("size (tokens, bases, residues, samples)")
    axes.set_ylabel("CPU seconds, one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, title="curve (exponent)", title_fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


def table(curves: dict[str, dict[int, dict[str, float]]]) -> str:
    lines = [
        "| | size | CPU s | peak MB above the raw data | exponent | by theory |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, points in curves.items():
        _, _, unit, theory = CURVES[name]
        slope = exponent(list(points), [point["seconds"] for point in points.values()])
        for i, (size, point) in enumerate(points.items()):
            shown = f"**{slope:.2f}** | {theory:g}" if i == len(points) - 1 else " | "
            cells = f"{size:,} {unit} | {point['seconds']:.2f} | {point['memory']:.0f}"
            lines.append(f"| {name if i == 0 else ''} | {cells} | {shown} |")
    return "\n".join(lines)


def main() -> int:
    args = arguments(__doc__ or "", largest=(10**7, "tokens of the largest set of sentences"))
    if args.worker:
        name, size = args.worker.split("|")
        print(json.dumps(CURVES[name][0](args, name, int(size))))
        return 0
    curves: dict[str, dict[int, dict[str, float]]] = {}
    for name, (_, sizes, unit, _) in CURVES.items():
        curves[name] = {}
        for size in sizes:
            if unit != "tokens" or size <= args.largest:
                print(f"running {name}, {size:,} {unit} ...", file=sys.stderr)
                curves[name][size] = in_fresh_process("growth", f"{name}|{size}", args)
    write_results("growth", f"python -m benchmarks growth --largest {args.largest}", table(curves))
    draw(curves)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
