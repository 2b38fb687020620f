"""ImCLEF07A and Enron with their labels as they come: inner nodes, and several labels of one sample."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments._report import markdown, options, write

FILES = {
    "Enron": ("taxonomy-enron", "Enron_corr_trainvalid.arff.gz", "Enron_corr_test.arff.gz"),
    "ImCLEF07A": ("taxonomy-imclef07a", "ImCLEF07A_Train.arff.gz", "ImCLEF07A_Test.arff.gz"),
}


def _read(path: str) -> tuple[list[dict[str, Any]], list[Any], list[tuple[str, str]]]:
    from trelliswork.io.rows import read_rows

    rows = read_rows(path)
    return rows.X, rows.y, rows.taxonomy


def _some_leaf(label: Any, taxonomy: Any) -> bool:
    """Whether a label is one leaf."""
    return isinstance(label, str) and not taxonomy.children[label]


def _blurred(y: list[Any], taxonomy: Any, share: float, rng: np.random.Generator) -> list[Any]:
    """A share of the labels that are leaves replaced by the node above, where that is not the root."""
    out = []
    for label in y:
        above = taxonomy.parents[label] if _some_leaf(label, taxonomy) else [taxonomy.root]
        blur = rng.random() < share and above[0] != taxonomy.root
        out.append(above[0] if blur else label)
    return out


def taxonomy(arguments: Sequence[str]) -> None:
    """Accuracy of leaves where all labels are used, where inner nodes are left out, and where labels blur."""
    import trelliswork as tw
    from trelliswork.features import RowScaler
    from trelliswork.structures.classes.taxonomy import Taxonomy

    given = options(
        arguments,
        only=("", "name of one data set"),
        share=(0.5, "share of leaves that are replaced by the node above"),
        seed=(0, "which"),
    )
    table = []
    for name, (folder, train, test) in FILES.items():
        if given.only not in ("", name):
            continue
        root = os.path.join(given.data, folder)
        (X, y, links), (X_test, y_test, _) = (_read(os.path.join(root, part)) for part in (train, test))
        tree = Taxonomy.read(links)
        scaler = RowScaler().fit(X)
        rows, rows_test = scaler.transform(X), scaler.transform(X_test)
        everything = np.ones(len(y), dtype=bool)
        whole = np.array([_some_leaf(label, tree) for label in y])
        blurred = _blurred(y, tree, given.share, np.random.default_rng(given.seed))
        sharp = np.array([_some_leaf(label, tree) for label in blurred])
        settings = {
            "labels as they come": (everything, y),
            "samples with one leaf as label": (whole, y),
            f"{given.share:.0%} of the leaves replaced by the node above": (
                np.ones(len(y), dtype=bool),
                blurred,
            ),
            "the same, without the samples that lost their leaf": (sharp, blurred),
        }
        one = [i for i, label in enumerate(y_test) if _some_leaf(label, tree)]
        for title, (used, labels) in settings.items():
            start = time.perf_counter()
            model = tw.CRF(tw.Classes(links)).fit(
                [row for row, keep in zip(rows, used) if keep], [a for a, keep in zip(labels, used) if keep]
            )
            seconds = time.perf_counter() - start
            predicted = model.predict(rows_test)
            exact = float(np.mean([predicted[i] == y_test[i] for i in one]))
            agreeing = model.space_.accuracy(rows_test, y_test, predicted)
            table.append(
                [
                    name,
                    title,
                    int(used.sum()),
                    len(model.classes_),
                    100 * exact,
                    100 * agreeing,
                    round(seconds),
                ]
            )
            print(table[-1], flush=True)
    header = ["data", "labels to learn from", "samples", "classes", "leaves right, %", "agrees, %", "seconds"]
    write(
        "partly/taxonomy",
        "Classes known as inner nodes of a taxonomy",
        f"{markdown(header, table)}\n\n`CRF(Classes(taxonomy))` with its defaults on the columns of "
        "`RowScaler()`; nothing was chosen by the test sets. A label is the most specific path of a sample; "
        "several of them are a set, of which the predicted leaf must be one, and an inner node stands for "
        'all leaves below it. "Leaves right" is over the test samples with one leaf as label, "agrees" over '
        "all: the predicted leaf is one that the label stands for. Leaves were replaced at random (seed "
        f"{given.seed}).",
    )
