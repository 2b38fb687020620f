"""Voted CRFs on English-EWT: gradients of order 1 to 3, training, and L1 training against CRFsuite.

Gradients are of the objective with the Hamming loss inside, 17 labels, 204,577 tokens. The comparison
with python-crfsuite trains the same L1 objective (c1 = 1, c2 = 0) on the tutorial's features with the
pairs of feature and label that occur, and takes the time to CRFsuite's final objective.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks._measure import Peak, arguments, best, in_fresh_process, write_results
from benchmarks.ner import string_features, until

C1, ITERATIONS, OURS, TOL = 1.0, 100, 200, 1e-3


def read(folder: str, part: str, limit: int = 0) -> tuple[list[Any], list[Any]]:
    """(word, language-specific tag) pairs and universal tags."""
    from trelliswork.io import read_conll

    path = os.path.join(folder, "ud-en-ewt", f"en_ewt-ud-{part}.conllu.gz")
    data = read_conll(path, columns=[1, 4], label=3, separator="\t", comment="#")
    limit = limit or int(os.environ.get("BENCH_SENTENCES", "0"))
    return (data.X[:limit], data.y[:limit]) if limit else (data.X, data.y)


def words(X: list[Any]) -> list[list[str]]:
    return [[token[0] for token in x] for x in X]


def prepared(X: list[Any]) -> Any:
    from trelliswork.features import TokenWindow

    window = TokenWindow.from_template(
        "bias, lower, suffix:2, suffix:3, prefix:2, shape; lower @ -1; lower @ 1"
    )
    return window.transform(words(X))


def work_gradients(args: Any) -> dict[str, Any]:
    import trelliswork as tw
    from trelliswork.losses import Edit, Hamming
    from trelliswork.losses.inside import inside

    X, y = read(args.data, "train")
    table = prepared(X)
    n_tokens = sum(map(len, y))
    rows = {}
    for order in (1, 2, 3):
        chain = tw.Chain(order, emissions="observed")
        batch = chain.bind(table, y).pack(table, y, n_jobs=2)
        w = 0.01 * np.random.default_rng(0).normal(size=batch.space.n_features)
        made = inside(batch, Hamming())
        made.expect(w)  # loads compiled code
        seconds, _ = best(lambda made=made, w=w: made.expect(w), 1 if order == 3 else args.repeat)
        rows[f"order {order}"] = (n_tokens, n_tokens / seconds)
    chain = tw.Chain(emissions="observed")
    few = 200
    batch = chain.bind(table, y).pack(table, y, n_jobs=2).subset(np.arange(few))
    w = 0.01 * np.random.default_rng(0).normal(size=batch.space.n_features)
    made = inside(batch, Edit(cap=3))
    made.expect(w)
    seconds, _ = best(lambda: made.expect(w), 1)
    rows["order 1, edit distance (cap 3)"] = (batch.n_tokens, batch.n_tokens / seconds)
    return {"rows": rows}


def work_training(args: Any) -> dict[str, Any]:
    import trelliswork as tw

    X, y = read(args.data, "train")
    table = prepared(X)
    m = len(y)
    model = tw.VotedCRF(
        tw.Chain(2, emissions="observed"),
        1 / (30 * m),
        0.3 / m,
        tol=TOL,
        max_iter=500,
        n_jobs=2,
        penalty_mode="absolute",
    )
    tiny = tw.Chain(2, emissions="observed")
    tw.VotedCRF(tiny, max_iter=2, n_jobs=2, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        table[:20], y[:20]
    )
    started = time.perf_counter()
    with Peak() as peak:
        model.fit(table, y)
    seconds = time.perf_counter() - started
    X_dev, y_dev = read(args.data, "dev")
    error = 100 * (1 - model.score(prepared(X_dev), y_dev))
    return {
        "seconds": seconds,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "message": model.message_,
        "nonzero": int(np.count_nonzero(model.coef_)),
        "n_features": int(model.coef_.size),
        "error": error,
        "memory": peak.value,
    }


def work_crfsuite(args: Any) -> dict[str, Any]:
    import pycrfsuite

    X, y = read(args.data, "train")
    features = string_features([[tuple(token) for token in x] for x in X])
    trainer = pycrfsuite.Trainer(
        "lbfgs",
        {"c1": C1, "c2": 0.0, "max_iterations": ITERATIONS, "feature.possible_transitions": True},
        verbose=False,
    )
    for x, labels in zip(features, y, strict=True):
        trainer.append(x, labels)
    path = os.path.join(tempfile.mkdtemp(), "model")
    seconds, _ = best(lambda: trainer.train(path), 1)
    return {"fit": seconds, "objective": (trainer.logparser.last_iteration or {}).get("loss", float("nan"))}


def work_ours(args: Any, n_jobs: int) -> dict[str, Any]:
    import trelliswork as tw
    from trelliswork.features import TokenWindow

    X, y = read(args.data, "train")
    X = [[tuple(token) for token in x] for x in X]
    table = TokenWindow.tutorial(false_flags=False).transform(X)
    chain = tw.Chain(emissions="observed", start=False, end=False, unknown=False)
    m = len(y)
    common: dict[str, Any] = {"loss": None, "tol": 0.0, "n_jobs": n_jobs}
    tw.VotedCRF(chain, 0.0, C1 / m, max_iter=2, **common).fit(table[:20], y[:20])
    started = time.perf_counter()
    model = tw.VotedCRF(chain, 0.0, C1 / m, max_iter=OURS, **common).fit(table, y)
    taken = time.perf_counter() - started
    setup = taken - model.history_[-1]["seconds"]
    history = [(m * h["objective"], setup + h["seconds"]) for h in model.history_]
    return {"fit": taken, "objective": m * model.objective_, "history": history}


WORKERS = {
    "gradients": work_gradients,
    "training": work_training,
    "crfsuite": work_crfsuite,
    "ours-1": lambda args: work_ours(args, 1),
    "ours-2": lambda args: work_ours(args, 2),
}


def main() -> int:
    args = arguments(
        __doc__ or "",
        only=("", "run some parts only, separated by commas: " + ", ".join(WORKERS)),
        keep=("", "JSON file in which finished parts are kept, to go on after an interruption"),
    )
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args)))
        return 0
    results: dict[str, Any] = {}
    if args.keep and os.path.exists(args.keep):
        with open(args.keep, encoding="utf-8") as file:
            results = json.load(file)
    for name in args.only.split(",") if args.only else WORKERS:
        if name not in results:
            print(f"running {name} ...", file=sys.stderr)
            results[name] = in_fresh_process("voted", name, args)
        if args.keep:
            with open(args.keep, "w", encoding="utf-8") as file:
                json.dump(results, file)
    if set(WORKERS) <= set(results):
        write_results("voted", f"python -m benchmarks voted --repeat {args.repeat}", table(results))
    else:
        print(json.dumps({k: v for k, v in results.items() if "history" not in v}, indent=1))
    return 0


def table(r: dict[str, Any]) -> str:
    rows = r["gradients"]["rows"]
    first = rows["order 1"][1]
    lines = [
        "| one gradient, 17 labels, 2 threads | tokens | tokens/s | times order 1 |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {name} | {n:,} | {rate:,.0f} | {first / rate:.1f} |" for name, (n, rate) in rows.items()]
    t = r["training"]
    lines += [
        "",
        f"VotedCRF of order 2 with Hamming loss, tol {TOL:g}, 2 threads: {t['seconds']:.0f} s, {t['n_iter']} "
        f"iterations ({t['message']}), peak memory {t['memory']:,.0f} MB, {t['nonzero']:,} of "
        f"{t['n_features']:,} weights not 0, {t['error']:.2f} % wrong tags on the development part.",
        "",
        f"| L1 training (c1 = {C1:g}, c2 = 0), tutorial features | CRFsuite | ours, 1 thread | 2 threads |",
        "| --- | --- | --- | --- |",
    ]
    peer = r["crfsuite"]
    reach = {k: until(r[k]["history"], peer["objective"]) for k in ("ours-1", "ours-2")}
    lines += [
        f"| final objective ({ITERATIONS} iterations; ours {OURS}) | {peer['objective']:.1f} | "
        + " | ".join(f"{r[k]['objective']:.1f}" for k in reach)
        + " |",
        f"| seconds to CRFsuite's final objective | {peer['fit']:.1f} | "
        + " | ".join(f"{reach[k]:.1f}" for k in reach)
        + " |",
        "| **ratio** | 1 | " + " | ".join(f"**{peer['fit'] / reach[k]:.1f}x**" for k in reach) + " |",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
