"""Label n-grams kept as observed: CESS-ESP word classes, the 119 most frequent and one for the rest.

A CRF on words and their endings makes some iterations of L-BFGS on 100,000 words; the next 10,000 words are
held out. Times are seconds of processor time on one thread.
"""

from __future__ import annotations

import gzip
import re
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks._measure import Peak, arguments, write_results

WORDS, HELD_OUT, LABELS = 100_000, 10_000, 120


def read(folder: str) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    """Sentences of the words to train on and of those held out, with their classes."""
    X, y, total = [], [], 0
    with gzip.open(Path(folder) / "cess-esp" / "trees.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            leaves = re.findall(r"\(([^\s()]+) ([^\s()]+)\)", line.split("\t")[2])
            leaves = [(label, word) for label, word in leaves if word != "*0*"]
            if leaves and total < WORDS + HELD_OUT:
                X.append([{"word": word.lower(), "end": word[-3:]} for _, word in leaves])
                y.append([label for label, _ in leaves])
                total += len(leaves)
    common = {label for label, _ in Counter(c for row in y for c in row).most_common(LABELS - 1)}
    return X, [[label if label in common else "rest" for label in row] for row in y]


def work(args: Any) -> dict[str, Any]:
    """Fit and held-out accuracy at one order."""
    import trelliswork as tw

    X, y = read(args.data)
    seen = n = 0
    while seen < WORDS:
        seen, n = seen + len(X[n]), n + 1
    structure = tw.Chain(args.order, emissions="observed", ngrams="observed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations on purpose
        tw.CRF(structure, max_iter=2).fit(X[:5], y[:5])  # loads compiled code
        crf = tw.CRF(structure, max_iter=args.iterations, n_jobs=1)
        with Peak() as peak:
            started = time.process_time()
            crf.fit(X[:n], y[:n])
            trained = time.process_time()
    right = crf.score(X[n:], y[n:])
    seconds = time.process_time() - trained
    space = crf.space_
    return {
        "contexts": LABELS if space.sparse is None else len(space.sparse.failures.suffix),
        "features": space.n_features,
        "n-grams": len(space.ngrams),
        "iterations": crf.n_iter_,
        "fit": trained - started,
        "memory": peak.value,
        "decoded": sum(map(len, X[n:])) / seconds,
        "right": 100.0 * right,
    }


def main() -> int:
    args = arguments(
        __doc__ or "",
        order=(3, "labels before a label that its score looks at"),
        iterations=(20, "most iterations of L-BFGS"),
    )
    r = work(args)
    body = "\n".join(
        [
            f"{WORDS:,} words, {LABELS} labels, order {args.order}: {r['n-grams']:,} n-grams, "
            f"{r['contexts']:,} contexts, {r['features']:,} weights.",
            "",
            "| iterations | fit, CPU s | per iteration | peak memory, MB | held-out labels right, % | "
            "decoded, words per CPU s |",
            "| --- | --- | --- | --- | --- | --- |",
            f"| {r['iterations']} | {r['fit']:.0f} | {r['fit'] / r['iterations']:.1f} | {r['memory']:.0f} | "
            f"{r['right']:.2f} | {r['decoded']:.0f} |",
        ]
    )
    command = f"python -m benchmarks ngrams --order {args.order} --iterations {args.iterations}"
    write_results("ngrams", command, body)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
