"""Global alignment of protein pairs with traceback: ours, parasail, Biopython and edlib.

Our scores are real numbers (BLOSUM62 with noise) except in the rows that say otherwise; the peers
align with BLOSUM62 and gaps 11/1 (edlib: unit costs). A cell is one entry of the matrix of a pair;
speeds are billions of cells per second (GCUPS).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import _measure

LETTERS = "ARNDCQEGHILKMFPSTWYV"
SETS = {"short": (2000, 270, 330), "long": (20, 2700, 3300)}


def pairs(name: str) -> list[tuple[str, str]]:
    """Random proteins; every second pair is related (70 % identity)."""
    n, low, high = SETS[name]
    rng = np.random.default_rng(0)
    out = []
    for k in range(n):
        first = rng.integers(0, 20, rng.integers(low, high))
        second = rng.integers(0, 20, rng.integers(low, high))
        if k % 2:
            size = min(first.size, second.size)
            same = rng.random(size) < 0.7
            second[:size][same] = first[:size][same]
        out.append(("".join(LETTERS[c] for c in first), "".join(LETTERS[c] for c in second)))
    return out


def weights(whole: bool) -> dict[tuple[Any, ...], float]:
    """BLOSUM62 11/1, with noise unless ``whole``."""
    import trelliswork as tw

    out = tw.alignment_weights("BLOSUM62", gap_open=-11, gap_extend=-1, letters=LETTERS)
    if whole:
        return out
    rng = np.random.default_rng(1)
    return {name: value + 0.2 * float(rng.normal()) for name, value in out.items()}


def ours(name: str, precision: str, jobs: int, whole: bool, what: str) -> Callable[[], Any]:
    import trelliswork as tw

    X = pairs(name)
    model = tw.Fixed(tw.Alignment(precision=precision), weights(whole), n_jobs=jobs).fit()
    if what == "predict":
        return lambda: model.predict(X)
    batch = model.space_.pack(X, n_jobs=jobs)
    scores = batch.scores(model.coef_)
    return (lambda: batch.argmax(scores)) if what == "path" else (lambda: batch.best_scores(scores))


def parasail_task(name: str, function: str) -> Callable[[], Any]:
    import parasail

    X, align = pairs(name), getattr(parasail, function)
    return lambda: [align(a, b, 11, 1, parasail.blosum62) for a, b in X]


def biopython_task(name: str, what: str) -> Callable[[], Any]:
    from Bio import Align

    X = pairs(name)[: 60 if name == "short" else 1]
    aligner = Align.PairwiseAligner(mode="global", open_gap_score=-11, extend_gap_score=-1)
    aligner.substitution_matrix = Align.substitution_matrices.load("BLOSUM62")
    if what == "score":
        return lambda: [aligner.score(a, b) for a, b in X]
    return lambda: [aligner.align(a, b)[0] for a, b in X]


def edlib_task(name: str, what: str) -> Callable[[], Any]:
    import edlib

    X = pairs(name)
    return lambda: [edlib.align(a, b, task="path" if what == "path" else "distance") for a, b in X]


TASKS: dict[str, tuple[str, Callable[[str], Callable[[], Any]]]] = {
    "ours, BLOSUM62 11/1 (exact, short), 1 thread": ("path", lambda s: ours(s, "auto", 1, True, "path")),
    "ours, double, 1 thread": ("path", lambda s: ours(s, "double", 1, False, "path")),
    "ours, single, from strings to strings, 1 thread": (
        "path",
        lambda s: ours(s, "single", 1, False, "predict"),
    ),
    "parasail nw_trace_scan_16": ("path", lambda s: parasail_task(s, "nw_trace_scan_16")),
    "parasail nw_trace_striped_16": ("path", lambda s: parasail_task(s, "nw_trace_striped_16")),
    "Biopython align()[0]": ("path", lambda s: biopython_task(s, "path")),
    "edlib path (unit costs)": ("path", lambda s: edlib_task(s, "path")),
    "ours, scores, single, 1 thread": ("score", lambda s: ours(s, "single", 1, False, "score")),
    "ours, scores, short, 1 thread": ("score", lambda s: ours(s, "short", 1, False, "score")),
    "parasail nw_scan_16": ("score", lambda s: parasail_task(s, "nw_scan_16")),
    "parasail nw_striped_16": ("score", lambda s: parasail_task(s, "nw_striped_16")),
    "Biopython score()": ("score", lambda s: biopython_task(s, "score")),
    "edlib distance (unit costs)": ("score", lambda s: edlib_task(s, "score")),
}


def scaling(name: str, precision: str, repeat: int) -> dict[str, float]:
    """One thread and two in turns, so that the state of the machine is the same for both."""
    tasks = {jobs: ours(name, precision, jobs, False, "path") for jobs in (1, 2)}
    cells = sum(len(a) * len(b) for a, b in pairs(name))
    for task in tasks.values():
        task()  # compiles, warms caches
    seconds = {jobs: float("inf") for jobs in tasks}
    for _ in range(4 * repeat):
        for jobs, task in tasks.items():
            seconds[jobs] = min(seconds[jobs], _measure.best(task, 1)[0])
    return {str(jobs): cells / least / 1e9 for jobs, least in seconds.items()}


def worker(which: str, repeat: int) -> dict[str, Any]:
    if which == "moments":
        return time_of_moments()
    if which == "huge":
        return huge()
    if which.startswith("curve"):
        return curve(int(which.split(":")[1]))
    label, name = which.split("|")
    if label.startswith("scaling"):
        return scaling(name, label.split(":")[1], repeat)
    task = TASKS[label][1](name)
    task()  # compiles, warms caches
    seconds, aligned = _measure.best(task, repeat)
    n = len(aligned.values) if hasattr(aligned, "values") else len(aligned)
    cells = sum(len(a) * len(b) for a, b in pairs(name)[:n])
    return {"gcups": cells / seconds / 1e9, "seconds": seconds}


def time_of_moments() -> dict[str, Any]:
    """Means and covariance of 212 features for 1,000 pairs of length 100, two threads."""
    import trelliswork as tw

    rng = np.random.default_rng(2)
    X = [tuple("".join(rng.choice(list(LETTERS), 100)) for _ in range(2)) for _ in range(1000)]
    batch = tw.Alignment(alphabet="protein").bind(X).pack(X, n_jobs=2)
    batch.subset(np.arange(2)).moments()
    started = time.perf_counter()
    moments = batch.moments()
    return {"seconds": time.perf_counter() - started, "features": int(moments.covariance.shape[0])}


def questions(length: int) -> dict[str, Callable[[], Any]]:
    """Every question about one random pair."""
    import trelliswork as tw

    rng = np.random.default_rng(3)
    text = ["".join(rng.choice(list(LETTERS), length)) for _ in range(2)]
    model = tw.Fixed(tw.Alignment(), weights(False)).fit()
    batch, w = model.space_.pack([(text[0], text[1])]), model.coef_
    scores = batch.scores(w)
    return {
        "best path": lambda: batch.argmax(scores),
        "log partition": lambda: batch.log_partition(scores),
        "expected features": lambda: batch.expect(w),
        "posteriors": lambda: batch.marginals(scores),
        "tangent": lambda: batch.covariance(scores).tangent(batch.scores(w)),
        "moments": lambda: batch.covariance(scores).dense(),
    }


def curve(length: int) -> dict[str, Any]:
    """Seconds of one pair for every question, and the most memory."""
    for task in questions(100).values():
        task()  # compiles
    out: dict[str, Any] = {}
    with _measure.Peak() as peak:
        for name, task in questions(length).items():
            out[name] = _measure.best(task, 3 if length <= 400 else 1)[0]
    return out | {"MB": peak.value}


def huge() -> dict[str, Any]:
    """The best path of one pair of 50,000 residues each: seconds and memory."""
    import trelliswork as tw

    rng = np.random.default_rng(4)
    text = ["".join(rng.choice(list(LETTERS), 50_000)) for _ in range(2)]
    model = tw.Fixed(tw.Alignment(), weights(False))
    model.predict([(text[0][:100], text[1][:100])])
    model.predict([(text[0][:5000], text[1][:5000])])
    with _measure.Peak() as peak:
        before = peak.value
        started = time.perf_counter()
        model.predict([(text[0], text[1])])
        seconds = time.perf_counter() - started
    return {"seconds": seconds, "before": before, "MB": peak.value}


def main() -> int:
    args = _measure.arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(worker(args.worker, args.repeat)))
        return 0
    table: dict[str, dict[str, float]] = {}
    for precision in ("single", "short"):
        for name in SETS:
            speeds = _measure.in_fresh_process("align", f"scaling:{precision}|{name}", args)
            for jobs, speed in speeds.items():
                label = f"ours, {precision}, {jobs} thread{'s' * (jobs == '2')}"
                table.setdefault(label, {})[name] = speed
                print(f"{label} {name} {speed:.3f}", file=sys.stderr, flush=True)
    for label in TASKS:
        for name in SETS:
            speed = _measure.in_fresh_process("align", f"{label}|{name}", args)["gcups"]
            table.setdefault(label, {})[name] = speed
            print(f"{label} {name} {speed:.3f}", file=sys.stderr, flush=True)
    lines = ["| with traceback, GCUPS | short (2,000 of ~300) | long (20 of ~3,000) |", "| --- | --- | --- |"]
    for kind in ("path", "score"):
        if kind == "score":
            lines += ["", "| score only, GCUPS | short | long |", "| --- | --- | --- |"]
        for label in table:
            if (TASKS[label][0] if label in TASKS else "path") == kind:
                lines.append(f"| {label} | {table[label]['short']:.2f} | {table[label]['long']:.2f} |")
    short = {label: cells["short"] for label, cells in table.items()}
    best = max(short[k] for k in short if k.startswith("parasail nw_trace"))
    slow = short["Biopython align()[0]"]
    lines += [
        "",
        f"single / Biopython, 1 thread: {short['ours, single, 1 thread'] / slow:.1f}x; "
        f"short / Biopython: {short['ours, short, 1 thread'] / slow:.1f}x; "
        f"single / best parasail trace: {short['ours, single, 1 thread'] / best:.2f}x on 1 thread, "
        f"{short['ours, single, 2 threads'] / best:.2f}x on 2; "
        f"short / best parasail trace: {short['ours, short, 1 thread'] / best:.2f}x on 1 thread, "
        f"{short['ours, short, 2 threads'] / best:.2f}x on 2; "
        "2 threads / 1, in turns: "
        + ", ".join(
            f"{table[f'{row}, 2 threads'][name] / table[f'{row}, 1 thread'][name]:.2f}x ({row}, {name} pairs)"
            for row in ("ours, single", "ours, short")
            for name in SETS
        )
        + ".",
        "",
    ]
    moments = _measure.in_fresh_process("align", "moments", args)
    lines.append(
        f"Moments (mean and covariance of {moments['features']} features) of 1,000 pairs of length 100, "
        f"2 threads: {moments['seconds']:.1f} s."
    )
    one_pair = _measure.in_fresh_process("align", "huge", args)
    lines += [
        "",
        f"Best path of one pair of 50,000 x 50,000 residues, 1 thread: {one_pair['seconds']:.0f} s, at most "
        f"{one_pair['MB']:,.0f} MB (before: {one_pair['before']:,.0f} MB).",
    ]
    lengths = (100, 200, 400, 1000, 2000, 5000)
    curves = {n: _measure.in_fresh_process("align", f"curve:{n}", args) for n in lengths}
    names = [name for name in curves[100] if name != "MB"]
    lines += ["", "Seconds for one pair by length, 1 thread, and most memory of all questions:", ""]
    lines += ["| length | " + " | ".join(names) + " | MB |", "| --- " * (len(names) + 2) + "|"]
    for n, row in curves.items():
        cells = [f"{row[name]:.4f}" if name in row else "-" for name in names]
        lines.append(f"| {n:,} | " + " | ".join(cells) + f" | {row['MB']:,.0f} |")
    _measure.write_results("align", f"python -m benchmarks align --repeat {args.repeat}", "\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
