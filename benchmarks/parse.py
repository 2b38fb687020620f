"""Parsing tag strings with a grammar of 7,000 rules: ours against sparse CKY over dictionaries.

The grammar is read off the 3,914 trees of the Penn Treebank sample: unary chains collapsed, long rules
split to the right with two children remembered, relative frequencies (Chomsky normal form). The peer is
a plain-Python CKY over dictionaries that finds the best score alone; ours finds trees, from lists of tags
to bracketed strings. Times are wall seconds, the least of several runs.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from typing import Any

import numpy as np
from experiments.svm_isos.parsing import read_penn

from benchmarks._measure import arguments, best, in_fresh_process, write_results

BANDS = ((2, 10), (11, 20), (21, 40))
N = 200  # sentences of each band


def model_of(folder: str, jobs: int) -> Any:
    import trelliswork as tw

    X, y = read_penn(folder, 1, 10**6)
    grammar = tw.Grammar(input="tags", unary="strict", horizontal=2, vertical=1)
    return tw.Generative(grammar, smoothing=1e-12, n_jobs=jobs).fit(X, y)


def sentences(folder: str, band: tuple[int, int]) -> list[list[str]]:
    return [[tag for _, tag in x] for x in read_penn(folder, *band)[0][:N]]


def dictionary_cky(model: Any) -> Any:
    """Best score of a tag string, as one writes it in plain Python."""
    by_left: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    lexical: dict[str, dict[str, float]] = defaultdict(dict)
    root: dict[str, float] = {}
    for (kind, head, *rest), w in zip(model.space_.feature_names, model.coef_.tolist(), strict=True):
        if kind == "binary":
            by_left[rest[0]].append((rest[1], head, w))
        elif kind == "lexical":
            lexical[rest[0]][head] = w
        else:
            root[head] = w

    def parse(words: list[str]) -> float:
        n = len(words)
        chart: dict[tuple[int, int], dict[str, float]] = {}
        for i, word in enumerate(words):
            chart[i, i + 1] = dict(lexical[word])
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                j = i + width
                cell: dict[str, float] = {}
                for k in range(i + 1, j):
                    right = chart[k, j]
                    if not right:
                        continue
                    for b, left_score in chart[i, k].items():
                        for c, a, w in by_left.get(b, ()):
                            if c in right:
                                value = w + left_score + right[c]
                                if value > cell.get(a, -math.inf):
                                    cell[a] = value
                chart[i, j] = cell
        return max((v + root[a] for a, v in chart[0, n].items() if a in root), default=-math.inf)

    return parse


def work_python(args: Any) -> dict[str, Any]:
    model = model_of(args.data, 1)
    parse, out = dictionary_cky(model), {}
    for band in BANDS:
        X = sentences(args.data, band)
        seconds, scores = best(lambda X=X: [parse(x) for x in X], 1)
        out[str(band)] = {"speed": len(X) / seconds, "scores": scores}
    return out


def work_ours(args: Any, jobs: int = 1) -> dict[str, Any]:
    model = model_of(args.data, jobs)
    model.predict([["NN"]])
    kinds = [name[0] for name in model.space_.feature_names]
    out: dict[str, Any] = {kind: kinds.count(kind) for kind in set(kinds)}
    for band in BANDS:
        X = sentences(args.data, band)
        seconds, trees = best(lambda X=X: model.predict(X), max(args.repeat, 3))
        batch = model.space_.pack(X)
        scores = batch.argmax(batch.scores(model.coef_)).values
        assert len(trees) == len(X)
        out[str(band)] = {"speed": len(X) / seconds, "scores": scores.tolist()}
    return out


WORKERS = {
    "python": work_python,
    "ours": work_ours,
    "ours-2": lambda args: work_ours(args, 2),
}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args)))
        return 0
    results = {name: in_fresh_process("parse", name, args) for name in WORKERS}
    rows = [
        "| words | plain Python | ours, 1 thread | ours, 2 threads | 1 thread / Python | 2 threads / Python |"
    ]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    worst = 0.0
    for band in BANDS:
        python, ours = (results[name][str(band)]["scores"] for name in ("python", "ours"))
        worst = max(worst, float(np.abs(np.array(python) - ours).max()))
        speed = [results[name][str(band)]["speed"] for name in WORKERS]
        ratios = [f"{speed[k] / speed[0]:.0f}x" for k in (1, 2)]
        rows.append(f"| {band[0]}-{band[1]} | " + " | ".join([f"{s:,.1f}" for s in speed] + ratios) + " |")
    rules = results["ours"]
    body = "Sentences per second.\n\n" + "\n".join(rows)
    body += (
        f"\n\n{rules['binary']:,} binary and {rules['lexical']:,} lexical rules, {rules['root']} root "
        f"symbols; the first {N} sentences of each length. Largest difference of best log-probabilities: "
        f"{worst:.1e}. Plain Python finds scores, ours trees."
    )
    write_results("parse", "python -m benchmarks parse --data DIR", body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
