"""Classes with a taxonomy against flat ones, with default arguments: wanted is that a taxonomy never hurts.

Two losses on the test part: wrong classes, and the tree loss (distance of the predicted class from the true
one by the taxonomy). A model depends on the samples that it is made of, too: every learner is fitted to
several random parts of the training data, and both are told from chance. The standard error of the mean
difference, sample by sample, adds its variance over the test samples and that over the models.
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
    "Perceptron": ("Perceptron", {}),
    "Generative": ("Generative", {}),
}


def parts(found: Any, n: int, draws: int) -> list[tuple[Any, Any]]:
    """Rows and classes to learn from, drawn several times: at most two thirds of what there is each time."""
    rng = np.random.default_rng(0)
    size = min(n, 2 * found.n // 3)
    drawn = (np.sort(rng.permutation(found.n)[:size]) for _ in range(draws))
    return [(found.X[index], found.y[index]) for index in drawn]


def losses(model: Any, X: Any, y: Any, links: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both losses of every sample."""
    predicted = np.asarray(model.predict(X))
    classes, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    table = Tree(links).table(classes.tolist())
    return (predicted != y).astype(float), table[codes[: len(y)], codes[len(y) :]]


def fitted(learner: str, structure: Any, params: dict[str, Any], drawn: list[tuple[Any, Any]]) -> list[Any]:
    """A model of each part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [getattr(tw, learner)(structure, **params).fit(X, y) for X, y in drawn]


def difference(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Mean of ``two - one`` and its standard error; rows are models, columns test samples."""
    gap = two - one
    models, samples = gap.mean(axis=1), gap.mean(axis=0)
    variance = np.var(samples, ddof=1) / samples.size + np.var(models, ddof=1) / models.size
    return float(gap.mean()), float(np.sqrt(variance))


def main() -> None:
    args = arguments(
        __doc__ or "",
        samples=(2000, "largest number of training samples"),
        draws=(3, "random parts of the training data; at least 2"),
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
        X_test, y_test = found.X[found.n :], found.y[found.n :]
        drawn = parts(found, args.samples, args.draws)
        for title, (learner, params) in LEARNERS.items():
            flat = fitted(learner, tw.Classes(), {}, drawn)
            shared = fitted(learner, tw.Classes(found.links, **sharing), params, drawn)
            one, two = (
                [losses(model, X_test, y_test, found.links) for model in models] for models in (flat, shared)
            )
            cells, worse = [], []
            for kind, a, b in zip(("wrong", "tree loss"), zip(*one), zip(*two), strict=True):
                gap, error = difference(np.array(a), np.array(b))
                cells += [f"{np.mean(a):.3f}", f"{np.mean(b):.3f} ({gap:+.4f} +- {error:.4f})"]
                worse += [kind] if gap > error else []
            lines.append(f"| {name} | {title} | {' | '.join(cells)} | {', '.join(worse) or 'no'} |")
            print(lines[-1], flush=True)
    body = f"{(__doc__ or '').split(chr(10), 2)[2].strip()} In brackets: the difference.\n\n"
    write_results("taxonomies", "python -m benchmarks taxonomies", body + "\n".join(lines))


if __name__ == "__main__":
    main()
