"""Training of CRFs to the objective that CRFsuite ends with, everything included, on three tasks.

CRFsuite makes 100 iterations from lists of attribute strings; ours is given the same lists, or the dicts that
sklearn-crfsuite takes, and stops the clock when its objective, of the same features and penalties, is as low.
Reading the attributes counts on both sides. One thread is measured in CPU seconds, alone and beside a process
that keeps one core busy; two threads in wall seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any

from benchmarks._measure import arguments, in_fresh_process, write_results
from benchmarks.ner import ITERATIONS, as_strings, read, until, word_features

TASKS = {"names": "names (CoNLL-2002, es)", "chunks": "chunks (CoNLL-2000)", "tags": "tags (EWT)"}
PENALTIES = {"l1 + l2": (0.1, 0.1), "l2": (0.0, 0.1)}
RUNS = {
    "strings, 1 thread": ("strings", 1, False),
    "strings, 1 thread, beside a busy process": ("strings", 1, True),
    "dicts, 1 thread": ("dicts", 1, False),
    "strings, 2 threads": ("strings", 2, False),
}


def sentences(folder: str, task: str) -> tuple[list[Any], list[Any]]:
    """Sentences of (word, second column) and their labels; tags have the start of the word as column."""
    from trelliswork.io import read_conll

    if task == "names":
        data = read(folder, "train")
        return data.X, data.y
    if task == "chunks":
        data = read_conll(os.path.join(folder, "conll2000", "train.txt.gz"))
        return data.X, data.y
    path = os.path.join(folder, "ud-en-ewt", "en_ewt-ud-train.conllu.gz")
    data = read_conll(path, columns=[1], label=3)
    words = [[token if isinstance(token, str) else token[0] for token in x] for x in data.X]
    return [[(word, word[:3]) for word in x] for x in words], data.y


def dicts(X: list[Any]) -> list[list[dict[str, Any]]]:
    return [[word_features(x, i) for i in range(len(x))] for x in X]


def strings(X: list[Any]) -> list[list[list[str]]]:
    return [[as_strings(token) for token in x] for x in dicts(X)]


def work_peer(args: Any, task: str, penalty: str) -> dict[str, Any]:
    import pycrfsuite

    X, y = sentences(args.data, task)
    features = strings(X)
    l1, l2 = PENALTIES[penalty]
    params = {"max_iterations": ITERATIONS, "feature.possible_transitions": True, "c1": l1, "c2": l2}
    best = float("inf")
    for _ in range(args.repeat):
        started = time.process_time()
        trainer = pycrfsuite.Trainer("lbfgs", params, verbose=False)
        for x, labels in zip(features, y, strict=True):
            trainer.append(x, labels)
        trainer.train(os.path.join(tempfile.mkdtemp(), "model"))
        best = min(best, time.process_time() - started)
    last = trainer.logparser.last_iteration or {}
    return {"seconds": best, "objective": last["loss"], "iterations": last["num"]}


def work_ours(args: Any, task: str, penalty: str, given: str, n_jobs: int) -> dict[str, Any]:
    from trelliswork import CRF, Chain

    X, y = sentences(args.data, task)
    X = strings(X) if given == "strings" else dicts(X)
    chain = Chain(emissions="observed", start=False, end=False, unknown=False)
    l1, l2 = PENALTIES[penalty]
    CRF(chain, l1, l2, max_iter=3, n_jobs=n_jobs).fit(X[:50], y[:50])  # loads compiled code
    clock = time.process_time if n_jobs == 1 else time.perf_counter
    best: list[tuple[float, float]] = []
    for _ in range(args.repeat):
        walls, started = time.perf_counter(), clock()
        model = CRF(chain, l1, l2, max_iter=2 * ITERATIONS, tol=1e-6, n_jobs=n_jobs).fit(X, y)
        share = (clock() - started) / (time.perf_counter() - walls)
        setup = (clock() - started) - share * model.history_[-1]["seconds"]
        curve = [(h["objective"], setup + share * h["seconds"]) for h in model.history_]
        best = curve if not best or curve[-1][1] < best[-1][1] else best
    return {"curve": best}


def work(args: Any) -> dict[str, Any]:
    name, task, penalty, *rest = args.worker.split("|")
    if name == "peer":
        return work_peer(args, task, penalty)
    return work_ours(args, task, penalty, rest[0], int(rest[1]))


def table(results: dict[str, Any]) -> str:
    lines = [
        "| task, penalty | CRFsuite, CPU s | its objective | ours, s until then: " + " | ".join(RUNS) + " |",
        "| --- | --- | --- |" + " --- |" * len(RUNS),
    ]
    for (task, penalty), (peer, runs) in results.items():
        cells = []
        for name in RUNS:
            seconds = until(runs[name]["curve"], peer["objective"])
            cells.append(f"{seconds:.2f} (**{peer['seconds'] / seconds:.1f}x**)")
        lines.append(
            f"| {TASKS[task]}, {penalty} | {peer['seconds']:.1f} | {peer['objective']:.1f} | "
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines)


def main() -> int:
    args = arguments(__doc__ or "", task=("all", f"one of {', '.join(TASKS)}, or all"))
    if args.worker:
        print(json.dumps(work(args)))
        return 0
    results: dict[Any, Any] = {}
    for task in TASKS if args.task == "all" else [args.task]:
        for penalty in PENALTIES:
            print(f"running {task}, {penalty} ...", file=sys.stderr)
            peer = in_fresh_process("crf", f"peer|{task}|{penalty}", args)
            runs = {
                name: in_fresh_process("crf", f"ours|{task}|{penalty}|{given}|{jobs}", args, busy=busy)
                for name, (given, jobs, busy) in RUNS.items()
            }
            results[task, penalty] = peer, runs
    write_results("crf", f"python -m benchmarks crf --repeat {args.repeat}", table(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
