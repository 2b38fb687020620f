"""Classes of a taxonomy: ours with defaults beside HiClass.

HiClass trains a logistic regression of scikit-learn for every inner node (or for every node) and walks down
from the root; ours is one model of all classes. The logistic regression has its default, C = 1, which is a
strong penalty for rows of norm 1 such as those of texts, and C = 100. Two losses on the test part: wrong
classes, and the tree loss (the height at which two classes meet).
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw
from benchmarks._measure import arguments, write_results
from benchmarks.taxonomies import SETS, losses
from trelliswork.structures.classes.taxonomy import Taxonomy


class Levels:
    """A classifier of HiClass that takes classes and gives classes, as ours do."""

    def __init__(self, classifier: Any, links: Any):
        self.classifier, self.paths = classifier, _paths(Taxonomy.read(links))

    def fit(self, X: Any, y: Any) -> Levels:
        """Fit to the paths from the root to the classes."""
        self.classifier.fit(X, np.array([self.paths[label] for label in y], dtype=object))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Last node of every predicted path."""
        return np.array([[node for node in row if node][-1] for row in self.classifier.predict(X)])


def part(found: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """Rows and classes to learn from and to be judged on; the same as in the benchmark of defaults."""
    rng = np.random.default_rng(0)
    train = np.sort(rng.permutation(found.n)[:n])
    test = np.sort(found.n + rng.permutation(len(found.y) - found.n)[:n])
    return found.X[train], found.y[train], found.X[test], found.y[test]


def _paths(taxonomy: Taxonomy) -> dict[Any, list[Any]]:
    """Nodes below the root on the way to each class, all of one length."""
    paths = {}
    for leaf in taxonomy.leaves:
        path = [leaf]
        while taxonomy.parents[path[0]] != [taxonomy.root]:
            path.insert(0, taxonomy.parents[path[0]][0])
        paths[leaf] = path
    longest = max(map(len, paths.values()))
    return {leaf: path + [""] * (longest - len(path)) for leaf, path in paths.items()}


def contenders(links: Any) -> dict[str, Any]:
    """Models by the names of the table."""
    from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
    from sklearn.linear_model import LogisticRegression

    kinds = {"per parent node": LocalClassifierPerParentNode, "per node": LocalClassifierPerNode}
    theirs = {
        f"HiClass, {name}, C = {C}": Levels(kind(LogisticRegression(C=C, max_iter=1000)), links)
        for name, kind in kinds.items()
        for C in (1, 100)
    }
    return {
        **theirs,
        "ours, CRF": tw.CRF(tw.Classes(links)),
        "ours, StructuredSVM, tree loss": tw.StructuredSVM(tw.Classes(links), loss="tree"),
    }


def main() -> None:
    args = arguments(
        __doc__ or "", samples=(2000, "training samples; at most as many are judged on"),
        sets=("newsgroups,images", "some of the sets"),
    )  # fmt: skip
    lines = [
        "| set | model | wrong | tree loss | fit, s | predict, s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in args.sets.split(","):
        found = SETS[name](str(Path(args.data)))
        X, y, X_test, y_test = part(found, args.samples)
        for title, model in contenders(found.links).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y).predict(X_test[:2])  # compiled, imported
                started = time.perf_counter()
                model.fit(X, y)
                fitted = time.perf_counter()
                wrong, tree = losses(model, X_test, y_test, found.links)
            seconds = fitted - started, time.perf_counter() - fitted
            cells = [name, title, f"{wrong.mean():.3f}", f"{tree.mean():.3f}", *(f"{s:.2f}" for s in seconds)]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    text = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    setting = f"{args.samples:,} training samples, at most as many test samples, one thread."
    write_results("hiclass", "python -m benchmarks hiclass", f"{text} {setting}\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
