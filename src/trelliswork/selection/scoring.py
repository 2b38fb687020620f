"""What ``scoring=`` means, and scorers for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trelliswork._counts.entities import looks_like_entities
from trelliswork._errors import InputError
from trelliswork.losses import Tree
from trelliswork.selection.measures import ALIASES, BY_KIND, MEASURES, Measure, OneNumber
from trelliswork.selection.steps import final_step, structure_of

__all__ = ["MeasureScorer", "as_measure", "default_measure", "scorers"]


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
        name = ALIASES.get(scoring, scoring)
        if name not in MEASURES:
            raise InputError(
                f"scoring: unknown measure {scoring!r}; expected one of {', '.join([*MEASURES, *ALIASES])}, "
                "a function of y_true and y_pred, or a scorer"
            )
        return MEASURES[name]
    if isinstance(scoring, MeasureScorer):
        return scoring.measure
    if not callable(scoring):
        raise InputError(f"scoring must be a name, a function or a scorer, got {scoring!r:.60}")
    if _takes_an_estimator(scoring):
        return OneNumber(_named(scoring), lambda model, X, y, method: scoring(model, X, y))
    return OneNumber(_named(scoring), lambda model, X, y, method: scoring(y, getattr(model, method)(X)))


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
        return OneNumber("score", lambda model, X, y, method: model.score(X, y))
    kind = structure.output_kind
    if kind == "label sequence" and looks_like_entities(y):
        return MEASURES["entity_f1"]
    loss = getattr(last, "loss", None)
    if kind == "label" and structure.taxonomy is not None and (loss == "tree" or isinstance(loss, Tree)):
        return MEASURES["tree"]
    return MEASURES[BY_KIND.get(str(kind), "own")]


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
        """Score of the predictions of a fitted estimator."""
        return self.measure.sign * self.measure.evaluate(estimator, X, y).score

    def __repr__(self) -> str:
        return f"scorers[{self.measure.name!r}]"

    def __reduce__(self) -> Any:
        return _scorer, (self.measure.name,)


def _scorer(name: str) -> MeasureScorer:
    return scorers[name]


scorers: Mapping[str, MeasureScorer] = {
    **{name: MeasureScorer(measure) for name, measure in MEASURES.items()},
    **{alias: MeasureScorer(MEASURES[name]) for alias, name in ALIASES.items()},
}
