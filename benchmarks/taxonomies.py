"""Classes with a taxonomy against flat ones, with default arguments: wanted is that a taxonomy never hurts.

Two losses on the test part: wrong classes, and the tree loss (distance of the predicted class from the true
one by the taxonomy). A difference counts beyond its standard error, sample by sample.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from experiments.svm_isos.taxonomy_data import enron, imclef, newsgroups, words

import trelliswork as tw
from benchmarks._measure import arguments, write_results
from trelliswork.losses import Tree

SETS = {"newsgroups": newsgroups, "mails": enron, "images": imclef, "word classes": words}
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "CRF": ("CRF", {}),
    "StructuredSVM": ("StructuredSVM", {}),
    "StructuredSVM, tree loss": ("StructuredSVM", {"loss": "tree"}),
}


def part(found: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """Rows and classes to learn from and to be judged on; the same as in the benchmark of defaults."""
    rng = np.random.default_rng(0)
    train = np.sort(rng.permutation(found.n)[:n])
    test = np.sort(found.n + rng.permutation(len(found.y) - found.n)[:n])
    return found.X[train], found.y[train], found.X[test], found.y[test]


def losses(model: Any, X: Any, y: Any, links: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both losses of every sample."""
    predicted = np.asarray(model.predict(X))
    classes, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    table = Tree(links).table(classes.tolist())
    return (predicted != y).astype(float), table[codes[: len(y)], codes[len(y) :]]


def main() -> None:
    args = arguments(
        __doc__ or "",
        samples=(2000, "training samples; at most as many are judged on"),
        sets=(",".join(SETS), "some of the sets"),
        weight=(-1.0, "ancestor_weight; below 0 is the default"),
    )
    sharing = {} if args.weight < 0 else {"ancestor_weight": args.weight}
    lines = [
        "| set | learner | wrong, flat | wrong, taxonomy | tree loss, flat | tree loss, taxonomy | worse |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in args.sets.split(","):
        found = SETS[name](str(Path(args.data)))
        X, y, X_test, y_test = part(found, args.samples)
        for title, (learner, params) in LEARNERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                flat = getattr(tw, learner)(tw.Classes()).fit(X, y)
                shared = getattr(tw, learner)(tw.Classes(found.links, **sharing), **params).fit(X, y)
            one, two = (losses(model, X_test, y_test, found.links) for model in (flat, shared))
            cells, worse = [], []
            for kind, a, b in zip(("wrong", "tree loss"), one, two, strict=True):
                error = float(np.std(b - a) / np.sqrt(len(a)))
                cells += [f"{a.mean():.3f}", f"{b.mean():.3f} (+- {error:.3f})"]
                worse += [kind] if b.mean() - a.mean() > error else []
            lines.append(f"| {name} | {title} | {' | '.join(cells)} | {', '.join(worse) or 'no'} |")
            print(lines[-1], flush=True)
    body = (
        f"{(__doc__ or '').split(chr(10), 2)[2].strip()} In brackets: standard error of the difference.\n\n"
    )
    write_results("taxonomies", "python -m benchmarks taxonomies", body + "\n".join(lines))


if __name__ == "__main__":
    main()
