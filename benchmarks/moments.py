"""Z-score and SODA, CoNLL-2002 Spanish: moments and solution against the L-BFGS of our CRF.

All learners of the second table have the same weights: every tutorial attribute with every label,
and all transitions. The CRF makes 100 iterations of L-BFGS; the moment learners solve their linear
system by conjugate gradients to the default tolerance. Times are seconds of processor time of ``fit`` on
one thread, the least of several runs, features read before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks._measure import Peak, arguments, in_fresh_process, resident, write_results
from benchmarks.ner import ITERATIONS, quality, read

REFERENCES = ("uniform", "observed")
REG = {"uniform": 0.1, "observed": 0.1}  # absolute; chosen on esp.testa, the development part
TOLERANCES = (1e-3, 1e-4, 1e-5)
SIZES = ((1000, 1), (4000, 1), (8323, 1), (8323, 10))


def best(task: Callable[[], Any], repeat: int) -> float:
    """Least seconds of processor time over some repeats; other programs do not count."""
    seconds = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        task()
        seconds = min(seconds, time.process_time() - started)
    return seconds


def chain() -> Any:
    from trelliswork import Chain

    return Chain(start=False, end=False, unknown=False)


def learner(name: str, reference: str, **params: Any) -> Any:
    import trelliswork as tw

    kind = {"Z-score": tw.ZScore, "SODA": tw.SODA}[name]
    settings = {"reg_mode": "absolute", "reference": reference, "loss": "hamming", "total_margin": None}
    return kind(chain(), REG[reference], **settings, keep_moments=False, n_jobs=1, **params)


def token_table(args: Any, part: str) -> tuple[Any, Any, Any]:
    from trelliswork.features import TokenWindow

    data = read(args.data, part)
    window = TokenWindow.tutorial(false_flags=False)
    return window, data.X, data.y


def matrix_megabytes(X: Any) -> float:
    """Size of the features as a sparse matrix, one row per token: 8 bytes a value, 4 an index."""
    space = chain().bind(X, [["O"] * n for n in X.lengths])  # labels do not matter here
    tokens = space.pack(X).emission.token_matrix()
    return (12 * tokens.nnz + 4 * tokens.shape[0]) / 1e6


def work_small(args: Any) -> dict[str, Any]:
    """300 sentences, the words as features."""
    import trelliswork as tw
    from trelliswork.features import TokenWindow

    data = read(args.data, "train")
    X, y = (
        TokenWindow.from_template("word").transform([[t[:1] for t in x] for x in data.X[:300]]),
        data.y[:300],
    )
    out: dict[str, Any] = {}
    for name, kind in (("Z-score", tw.ZScore), ("SODA", tw.SODA)):
        for reference in REFERENCES:
            model = kind(chain(), REG[reference], reg_mode="absolute", reference=reference, loss=None)
            model.fit(X[:20], y[:20])  # loads compiled code
            raw = resident()
            with Peak() as peak:
                seconds = best(lambda model=model: model.fit(X, y), args.repeat)
            out[f"{name}, {reference}"] = {
                "fit": seconds,
                "memory": peak.value - raw,
                "process": peak.value,
                "solver": model.history_[-1]["solver"],
            }
    return out


def work_crf(args: Any) -> dict[str, Any]:
    from trelliswork import CRF

    window, X, y = token_table(args, "train")
    crf = CRF(chain(), l2=0.1, max_iter=ITERATIONS, tol=0.0, n_jobs=1)
    tiny = window.transform(X[:50])
    CRF(chain(), l2=0.1, max_iter=3).fit(tiny, y[:50]).predict(tiny)
    packed = window.transform(X)
    seconds = best(lambda: crf.fit(packed, y), args.repeat)
    _, held, truth = token_table(args, "testa")
    predicted = crf.predict(window.transform(held))
    return {"fit": seconds, "features": crf.space_.n_features} | quality(truth, predicted)


def work_moments(args: Any, name: str, reference: str) -> dict[str, Any]:
    window, X, y = token_table(args, "train")
    tiny = window.transform(X[:50])
    learner(name, reference).fit(tiny, y[:50]).predict(tiny)
    packed = window.transform(X)
    model = learner(name, reference)
    raw = resident()
    with Peak() as peak:
        started = time.process_time()
        model.fit(packed, y)
        first = time.process_time() - started
    seconds = min(first, best(lambda: learner(name, reference).fit(packed, y), args.repeat - 1))
    solution = model.history_[-1]
    _, held, truth = token_table(args, "testa")
    predicted = model.predict(window.transform(held))
    return {
        "fit": seconds,
        "memory": peak.value - raw,
        "matrix": matrix_megabytes(packed),
        "iterations": solution["cg_iterations"],
        "residual": solution["residual"],
    } | quality(truth, predicted)


def work_tolerance(args: Any) -> dict[str, Any]:
    """Iterations and errors on the development part for several tolerances."""
    window, X, y = token_table(args, "train")
    packed = window.transform(X)
    _, held, truth = token_table(args, "testa")
    prepared = window.transform(held)
    rows = []
    for reference in REFERENCES:
        for tol in TOLERANCES:
            started = time.process_time()
            model = learner("Z-score", reference, tol=tol, max_iter=120).fit(packed, y)
            seconds = time.process_time() - started
            solution = model.history_[-1]
            scores = quality(truth, model.predict(prepared))
            rows.append(
                (
                    reference,
                    tol,
                    solution["cg_iterations"],
                    solution["residual"],
                    seconds,
                    scores["error"],
                    scores["f1"],
                )
            )
    return {"rows": rows}


def work_growth(args: Any) -> dict[str, Any]:
    """Time and memory from 1,000 sentences to ten times the training set."""
    window, X, y = token_table(args, "train")
    tiny = window.transform(X[:50])
    rows = []
    for reference in REFERENCES:
        learner("Z-score", reference).fit(tiny, y[:50])
        for n, times in SIZES:
            packed, labels = window.transform(X[:n] * times), y[:n] * times
            raw = resident()
            with Peak() as peak:
                started = time.process_time()
                model = learner("Z-score", reference, tol=1e-12, max_iter=10).fit(packed, labels)
                taken = time.process_time() - started
            tokens = sum(map(len, labels))
            rows.append((reference, len(labels), tokens, taken, peak.value - raw))
            del packed, model
    return {"rows": rows}


CASES = [(name, reference) for name in ("Z-score", "SODA") for reference in REFERENCES]
WORKERS: dict[str, Any] = {
    "small": work_small,
    "crf": work_crf,
    **{
        f"{name}, {reference}": lambda args, name=name, reference=reference: work_moments(
            args, name, reference
        )
        for name, reference in CASES
    },
    "tolerance": work_tolerance,
    "growth": work_growth,
}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args)))
        return 0
    results = {}
    for name in WORKERS:
        print(f"running {name} ...", file=sys.stderr)
        results[name] = in_fresh_process("moments", name, args)
    write_results("moments", f"python -m benchmarks moments --repeat {args.repeat}", table(results))
    return 0


def table(r: dict[str, Any]) -> str:
    crf = r["crf"]
    lines = [
        "300 sentences, words as features, exact moments, solution (the paper: 9,967 s, SVM-struct 1,043 s):",
        "",
        "| | solver | fit, CPU s | peak memory above the features, MB | of the whole process, MB |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {name} | {v['solver']} | {v['fit']:.3f} | {v['memory']:.0f} | {v['process']:.0f} |"
        for name, v in r["small"].items()
    ]
    lines += [
        "",
        f"The whole of esp.train, tutorial features, {crf['features']:,} weights; errors on esp.testa:",
        "",
        "| | fit, CPU s | ratio to CRF | peak memory above the features, MB | ratio to the feature matrix "
        "| iterations | token error % | entity F1 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        f"| CRF, {ITERATIONS} iterations of L-BFGS | {crf['fit']:.2f} | 1 | | | {ITERATIONS} | "
        f"{crf['error']:.2f} | {crf['f1']:.2f} |",
    ]
    for name, reference in CASES:
        v = r[f"{name}, {reference}"]
        lines.append(
            f"| {name}, {reference} | {v['fit']:.2f} | **{v['fit'] / crf['fit']:.2f}** | {v['memory']:.0f} | "
            f"**{v['memory'] / v['matrix']:.2f}** | {v['iterations']} | {v['error']:.2f} | {v['f1']:.2f} |"
        )
    matrix = r["Z-score, uniform"]["matrix"]
    lines += [
        "",
        f"The feature matrix, one sparse row per token, takes {matrix:.0f} MB. Ridges (absolute): "
        f"{REG['uniform']:g} uniform, {REG['observed']:g} observed, chosen on esp.testa; all with the "
        "Hamming loss.",
        "",
        "How far to solve (Z-score; at most 120 iterations):",
        "",
        "| reference | tolerance | iterations | residual | CPU s | token error %, testa | entity F1, testa |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {ref} | {tol:g} | {n} | {res:.1e} | {s:.1f} | {error:.2f} | {f1:.2f} |"
        for ref, tol, n, res, s, error, f1 in r["tolerance"]["rows"]
    ]
    lines += [
        "",
        "Growth (Z-score, at most 10 iterations for each of its two systems; the last row is the training "
        "set ten times):",
        "",
        "| reference | sentences | tokens | fit, CPU s | microseconds a token | peak MB above the features |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {ref} | {n:,} | {t:,} | {s:.2f} | {1e6 * s / t:.2f} | {m:.0f} |"
        for ref, n, t, s, m in r["growth"]["rows"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
