"""Measures of predictions by name, each a ratio of sums over samples, and scorers made of them.

As every measure is a ratio of two sums, so is its standard error: that of the residuals of the samples. It
compares settings sample by sample, on F1 as well as on error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trelliswork._counts.base_pairs import base_pair_scores
from trelliswork._counts.brackets import bracket_scores
from trelliswork._counts.entities import looks_like_entities
from trelliswork._errors import InputError
from trelliswork.losses import Edit, Tree
from trelliswork.metrics import EntityCounts, entity_scores
from trelliswork.structures.base import Structure
from trelliswork.structures.classes.taxonomy import Taxonomy

__all__ = [
    "MEASURES",
    "Judged",
    "Measure",
    "as_measure",
    "default_measure",
    "final_step",
    "scorers",
    "structure_of",
]


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


class _Asked(Measure):
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


def _right(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    same = np.shape(true) == np.shape(guess) and np.all(np.asarray(true == guess))
    return float(same), 1.0


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
    found = _entities(true, guess)
    return _f1(found.n_true, found.n_predicted, found.n_correct)


def _entity_precision(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    found = _entities(true, guess)
    return found.n_correct, found.n_predicted


def _entity_recall(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    found = _entities(true, guess)
    return found.n_correct, found.n_true


def _pair_f1(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    found = base_pair_scores([true], [guess])
    return _f1(found.true, found.predicted, found.right)


def _bracket_f1(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    found = bracket_scores([true], [guess])
    return _f1(found.n_true, found.n_predicted, found.n_correct)


def _tag_accuracy(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return bracket_scores([true], [guess]).tags, 1.0


def _tree_loss(tree: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return tree.height_of_meeting(true, guess), 1.0


def _edit(structure: Any, x: Any, true: Any, guess: Any) -> tuple[float, float]:
    return Edit()(true, guess), len(true)


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
_ALIASES = {"base_pair_f1": "pair_f1", "wer": "edit", "sequence_accuracy": "accuracy"}
_BY_KIND = {
    "label sequence": "token_error",
    "label": "error",
    "RNA structure": "pair_f1",
    "parse tree": "bracket_f1",
    "alignment": "columns",
    "list of parts": "error",
}


def as_measure(scoring: Any, learner: Any, y: Any) -> Measure:
    """Measure by name, function or scorer; None is what suits the outputs.

    Parameters
    ----------
    scoring : str, callable or None
        A name of :data:`MEASURES`; ``scoring(y_true, y_pred)``; or a scorer of scikit-learn,
        ``scoring(estimator, X, y)``; greater is better for the last two.
    learner : estimator
        A learner, or a pipeline that ends in one.
    y : list of outputs
        Training outputs.
    """
    if scoring is None:
        return default_measure(learner, y)
    if isinstance(scoring, Measure):
        return scoring
    if isinstance(scoring, str):
        name = _ALIASES.get(scoring, scoring)
        if name not in MEASURES:
            raise InputError(
                f"scoring: unknown measure {scoring!r}; expected one of {', '.join([*MEASURES, *_ALIASES])}, "
                "a function of y_true and y_pred, or a scorer"
            )
        return MEASURES[name]
    if isinstance(scoring, MeasureScorer):
        return scoring.measure
    if not callable(scoring):
        raise InputError(f"scoring must be a name, a function or a scorer, got {scoring!r:.60}")
    if _takes_an_estimator(scoring):
        return _Asked(_named(scoring), lambda model, X, y, method: scoring(model, X, y))
    return _Asked(_named(scoring), lambda model, X, y, method: scoring(y, getattr(model, method)(X)))


def _named(function: Any) -> str:
    return getattr(function, "__name__", None) or str(function)


def _takes_an_estimator(function: Any) -> bool:
    import inspect

    if hasattr(function, "_score_func") or hasattr(function, "_sign"):  # made by make_scorer
        return True
    try:
        needed = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return False
    return len(needed) == 3


def default_measure(learner: Any, y: Any) -> Measure:
    """The measure that suits outputs: entity F1 for BIO labels, F1 of brackets or pairs, error rates.

    Parameters
    ----------
    learner : estimator
        A learner, or a pipeline that ends in one.
    y : list of outputs
        Training outputs.

    Examples
    --------
    >>> from trelliswork import CRF, Chain
    >>> from trelliswork.selection.scoring import default_measure
    >>> default_measure(CRF(Chain()), [["B-PER", "O"]]).name, default_measure(CRF(Chain()), [["D"]]).name
    ('entity_f1', 'token_error')
    """
    last = final_step(learner)
    structure = structure_of(last)
    if structure is None:
        if len(y) and isinstance(y[0], (str, list, tuple)):
            return MEASURES["edit"]
        return _Asked("score", lambda model, X, y, method: model.score(X, y))
    kind = structure.output_kind
    if kind == "label sequence" and looks_like_entities(y):
        return MEASURES["entity_f1"]
    loss = getattr(last, "loss", None)
    if kind == "label" and structure.taxonomy is not None and (loss == "tree" or isinstance(loss, Tree)):
        return MEASURES["tree"]
    return MEASURES[_BY_KIND.get(str(kind), "own")]


def final_step(model: Any) -> Any:
    """The learner of a pipeline, or of a tuned model; a learner itself."""
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "learner") and hasattr(model, "tune"):
            model = getattr(model, "best_estimator_", model.learner)
        else:
            return model


def structure_of(model: Any) -> Any:
    """Structure of a learner, a pipeline or a tuned model; None where there is none."""
    return getattr(final_step(model), "structure", None)


class MeasureScorer:
    """A measure as a scorer of scikit-learn, ``scorer(estimator, X, y)``: greater is better.

    Parameters
    ----------
    measure : Measure
        The measure; errors are returned with a minus sign.
    """

    def __init__(self, measure: Measure):
        self.measure = measure

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return self.measure.sign * self.measure.evaluate(estimator, X, y).score

    def __repr__(self) -> str:
        return f"scorers[{self.measure.name!r}]"

    def __reduce__(self) -> Any:
        return _scorer, (self.measure.name,)


def _scorer(name: str) -> MeasureScorer:
    return scorers[name]


scorers: Mapping[str, MeasureScorer] = {
    **{name: MeasureScorer(measure) for name, measure in MEASURES.items()},
    **{alias: MeasureScorer(MEASURES[name]) for alias, name in _ALIASES.items()},
}
