"""Measures of predictions by name, each a ratio of sums over samples.

As every measure is a ratio of two sums, so is its standard error: that of the residuals of the samples. It
compares settings sample by sample, on F1 as well as on error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trelliswork._counts.base_pairs import base_pair_scores
from trelliswork._counts.brackets import bracket_scores
from trelliswork._errors import InputError
from trelliswork.losses import Edit
from trelliswork.metrics import EntityCounts, entity_scores
from trelliswork.selection.steps import structure_of
from trelliswork.structures.base import Structure
from trelliswork.structures.classes.taxonomy import Taxonomy

__all__ = ["ALIASES", "BY_KIND", "MEASURES", "Judged", "Measure", "OneNumber"]


class Judged(NamedTuple):
    """What a measure says about samples: the score is the ratio of the two sums.

    Attributes
    ----------
    part, size : ndarray of shape (n_samples,)
        Numerator and denominator of every sample.
    """

    part: np.ndarray
    size: np.ndarray

    @property
    def score(self) -> float:
        """Ratio of the sums; 0 where nothing can be judged."""
        total = float(self.size.sum())
        return float(self.part.sum()) / total if total else 0.0

    @property
    def residuals(self) -> np.ndarray:
        """What each sample adds to the deviation of the score, in units of the score."""
        mean = float(self.size.mean()) if self.size.size else 0.0
        return (self.part - self.score * self.size) / mean if mean else np.zeros_like(self.part)

    @property
    def standard_error(self) -> float:
        """Standard error of the score; NaN for fewer than two samples."""
        n = self.part.size
        return float(self.residuals.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    @classmethod
    def joined(cls, parts: Iterable[Judged]) -> Judged:
        """Samples of several together."""
        columns = list(zip(*parts, strict=True))
        return cls(*map(np.concatenate, columns))


@dataclass(frozen=True)
class Measure:
    """How good predictions are.

    Attributes
    ----------
    name : str
        What ``scoring=`` takes.
    counts : callable
        ``counts(structure, x, y_true, y_pred)`` of one sample: numerator and denominator.
    greater_is_better : bool
        False for errors and losses.

    Examples
    --------
    >>> from trelliswork.selection import MEASURES
    >>> judged = MEASURES["token_error"].judge(None, [["a", "b"]] * 2, [["A", "B"]] * 2, [["A", "B"], "AA"])
    >>> judged.score, round(judged.standard_error, 3)
    (0.25, 0.25)
    """

    name: str
    counts: Callable[[Any, Any, Any, Any], tuple[float, float]]
    greater_is_better: bool = True

    @property
    def sign(self) -> float:
        """1, or -1 for errors."""
        return 1.0 if self.greater_is_better else -1.0

    def judge(self, structure: Structure | None, X: Any, y_true: Any, y_pred: Any) -> Judged:
        """Compare predictions with the truth, sample by sample.

        Parameters
        ----------
        structure : Structure or None
            What an output is.
        X : list of inputs
            Samples.
        y_true, y_pred : lists of outputs
            One for each sample.
        """
        table = np.zeros((len(y_true), 2))
        inputs = X if isinstance(X, (list, tuple)) else [None] * len(y_true)  # rows of a matrix tell nothing
        for i, (x, true, guess) in enumerate(zip(inputs, y_true, y_pred, strict=True)):
            try:
                table[i] = self.counts(structure, x, true, guess)
            except InputError as error:
                raise InputError(error.message, sample=i) from None
        return Judged(table[:, 0], table[:, 1])

    def evaluate(self, model: Any, X: Any, y: Any, method: str = "predict") -> Judged:
        """Predict with a fitted model and compare.

        Parameters
        ----------
        model : estimator
            A learner.
        X, y : lists of inputs and outputs
            Held-out samples.
        method : str
            Its method that predicts.
        """
        return self.judge(structure_of(model), X, y, getattr(model, method)(X))


class OneNumber(Measure):
    """A scorer of scikit-learn, or the model's own ``score``: one number for all samples."""

    def evaluate(self, model: Any, X: Any, y: Any, method: str = "predict") -> Judged:
        """Ask it; the samples together count as one."""
        value, n = float(self.counts(model, X, y, method)), float(len(y))  # type: ignore[arg-type]
        return Judged(np.array([value * n]), np.array([n]))


class _OfTaxonomy(Measure):
    """A measure that needs the taxonomy of the structure, which is read once."""

    def judge(self, structure: Structure | None, X: Any, y_true: Any, y_pred: Any) -> Judged:
        """Compare, with the taxonomy in place of the structure."""
        links = getattr(structure, "taxonomy", None)
        if links is None:
            raise InputError("scoring='tree' needs a structure with a taxonomy, such as Classes(taxonomy)")
        return super().judge(Taxonomy.read(links), X, y_true, y_pred)  # type: ignore[arg-type]


# -- one sample at a time --------------------------------------------------------------------------


def _same_length(true: Any, guess: Any) -> None:
    if not (hasattr(true, "__len__") and hasattr(guess, "__len__")):
        raise InputError(f"expected a sequence of labels, got {true!r:.60} and {guess!r:.60}")
    if len(true) != len(guess):
        raise InputError(f"{len(true)} labels against {len(guess)}")


def _tokens_right(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    _same_length(true, guess)
    return sum(a == b for a, b in zip(true, guess)), len(true)


def _tokens_wrong(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    right, n = _tokens_right(structure, x, true, guess)
    return n - right, n


def _all_right(structure: Any, true: Any) -> list[Any]:
    """True outputs of a sample, of which a structure may allow several."""
    return [true] if structure is None else structure.alternatives(true)


def _same(true: Any, guess: Any) -> bool:
    return np.shape(true) == np.shape(guess) and bool(np.all(np.asarray(true == guess)))


def _right(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return float(any(_same(output, guess) for output in _all_right(structure, true))), 1.0


def _wrong(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return 1.0 - _right(structure, x, true, guess)[0], 1.0


def _own_accuracy(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    if structure is None:
        raise InputError("the measure needs a model with a structure")
    return structure.accuracy([true], [guess]), 1.0


def _columns(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    if hasattr(true, "gapped") and x is not None and getattr(structure, "core", "all") == "upper":
        true = true.gapped(x[0], x[1], structure.gap)  # upper case is told by the letters of the input
    return _own_accuracy(structure, x, true, guess)


def _f1(true: float, predicted: float, right: float) -> tuple[float, float]:
    return 2.0 * right, true + predicted


def _entities(true: Any, guess: Any) -> EntityCounts:
    return entity_scores([true], [guess])


def _entity_f1(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    counts = _entities(true, guess)
    return _f1(counts.n_true, counts.n_predicted, counts.n_correct)


def _entity_precision(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    counts = _entities(true, guess)
    return counts.n_correct, counts.n_predicted


def _entity_recall(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    counts = _entities(true, guess)
    return counts.n_correct, counts.n_true


def _pair_f1(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    counts = base_pair_scores([true], [guess])
    return _f1(counts.true, counts.predicted, counts.right)


def _bracket_f1(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    counts = bracket_scores([true], [guess])
    return _f1(counts.n_true, counts.n_predicted, counts.n_correct)


def _tag_accuracy(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return bracket_scores([true], [guess]).tags, 1.0


def _tree_loss(tree: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return tree.height_of_meeting(true, guess), 1.0


def _edit(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    outputs = _all_right(structure, true)
    edits = [Edit()(output, guess) for output in outputs]
    nearest = int(np.argmin(edits))
    return edits[nearest], len(outputs[nearest])


# Every measure is listed here once.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("token_accuracy", _tokens_right),
        Measure("token_error", _tokens_wrong, greater_is_better=False),
        Measure("accuracy", _right),
        Measure("error", _wrong, greater_is_better=False),
        Measure("entity_f1", _entity_f1),
        Measure("entity_precision", _entity_precision),
        Measure("entity_recall", _entity_recall),
        Measure("pair_f1", _pair_f1),
        Measure("bracket_f1", _bracket_f1),
        Measure("tag_accuracy", _tag_accuracy),
        _OfTaxonomy("tree", _tree_loss, greater_is_better=False),
        Measure("edit", _edit, greater_is_better=False),
        Measure("columns", _columns),
        Measure("own", _own_accuracy),
    )
}
ALIASES = {"base_pair_f1": "pair_f1", "wer": "edit", "sequence_accuracy": "accuracy"}
BY_KIND = {
    "label sequence": "token_error",
    "label": "error",
    "RNA structure": "pair_f1",
    "parse tree": "bracket_f1",
    "alignment": "columns",
    "list of parts": "edit",
}
