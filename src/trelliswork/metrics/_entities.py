"""Entities (chunks) of tagged sequences, counted by the rules of the CoNLL evaluation script."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from trelliswork._counts.entities import entity_spans
from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.metrics._tokens import judged, paired

__all__ = [
    "EntityCounts",
    "EntityReport",
    "entity_f1",
    "entity_precision",
    "entity_recall",
    "entity_scores",
]


@dataclass(frozen=True)
class EntityCounts:
    """How many entities there are, how many were predicted, and how many of these are right.

    An entity is right when its two ends and its type are.

    Attributes
    ----------
    n_true, n_predicted, n_correct : int
        Entities in the truth, in the prediction, in both.

    Examples
    --------
    >>> from trelliswork.metrics import EntityCounts
    >>> counts = EntityCounts(n_true=4, n_predicted=2, n_correct=1)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.5, 0.25, 0.333)
    """

    n_true: int
    n_predicted: int
    n_correct: int

    @property
    def precision(self) -> float:
        """Share of predicted entities that are right; 0.0 when none was predicted."""
        return self.n_correct / self.n_predicted if self.n_predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of true entities that were found; 0.0 when there are none."""
        return self.n_correct / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 when nothing is right."""
        return 2 * self.n_correct / (self.n_true + self.n_predicted) if self.n_correct else 0.0


@dataclass(frozen=True)
class EntityReport(EntityCounts):
    """Entity scores over all types and by type; prints as ``conlleval`` does.

    Attributes
    ----------
    n_true, n_predicted, n_correct : int
        Entities of all types; ``precision``, ``recall`` and ``f1`` follow from them
        (micro average).
    n_tokens : int
        Tokens compared.
    token_accuracy : float
        Share of tokens with the right tag; 1.0 when there is no token.
    by_type : dict of str to EntityCounts
        One row per type, sorted by name.

    Examples
    --------
    >>> from trelliswork.metrics import entity_scores
    >>> report = entity_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    >>> report.f1, report.by_type["LOC"].recall
    (0.5, 1.0)
    >>> print(report)
    processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.
    accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00
                  LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
                  PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
    """

    n_tokens: int
    token_accuracy: float
    by_type: dict[str, EntityCounts]

    def __str__(self) -> str:
        lines = [
            f"processed {self.n_tokens} tokens with {self.n_true} phrases; "
            f"found: {self.n_predicted} phrases; correct: {self.n_correct}."
        ]
        if self.n_tokens:
            lines.append(f"accuracy: {100 * self.token_accuracy:6.2f}%; {_row(self)}")
        lines += [f"{kind:>17}: {_row(c)}  {c.n_predicted}" for kind, c in self.by_type.items()]
        return "\n".join(lines)


def _row(c: EntityCounts) -> str:
    p, r, f = 100 * c.precision, 100 * c.recall, 100 * c.f1
    return f"precision: {p:6.2f}%; recall: {r:6.2f}%; FB1: {f:6.2f}"


@readable
def entity_scores(y_true: Any, y_pred: Any, *, scheme: str = "auto") -> EntityReport:
    """Precision, recall and F1 of entities, overall and by type.

    Parameters
    ----------
    y_true, y_pred : sequence of tag sequences
        Tags as in :func:`entity_spans`. A true tag that is None (or a set) is not known: entities that hold
        or touch its token do not count.
    scheme : {"auto", "raw"}, default="auto"
        As in :func:`entity_spans`.

    Returns
    -------
    EntityReport
        Counts and scores; ``print`` it for a table.

    Raises
    ------
    ValueError
        When the numbers of sequences differ, the two lengths of one sample differ,
        or a tag is not a string; names the sample.

    Examples
    --------
    >>> from trelliswork.metrics import entity_scores
    >>> report = entity_scores([["B-PER", "O"], ["B-LOC"]], [["B-PER", "B-PER"], ["B-LOC"]])
    >>> report.n_true, report.n_predicted, report.n_correct
    (2, 3, 2)
    """
    n_true: Counter[str] = Counter()
    n_predicted: Counter[str] = Counter()
    n_correct: Counter[str] = Counter()
    n_tokens = n_right = 0
    for i, a, b in paired(y_true, y_pred):
        verdicts = judged(a, b)
        n_tokens += len(verdicts) - verdicts.count(None)
        n_right += verdicts.count(True)
        unknown = {t for t, tag in enumerate(a) if tag is None or isinstance(tag, (set, frozenset))}
        tags = ["O" if t in unknown else tag for t, tag in enumerate(a)] if unknown else a
        try:
            true, pred = entity_spans(tags, scheme=scheme), entity_spans(b, scheme=scheme)
        except ValueError as e:
            raise InputError(str(e), sample=i) from None
        if unknown:
            true, pred = (
                [span for span in spans if unknown.isdisjoint(range(span[0] - 1, span[1] + 1))]
                for spans in (true, pred)
            )
        n_true.update(kind for _, _, kind in true)
        n_predicted.update(kind for _, _, kind in pred)
        n_correct.update(kind for _, _, kind in set(true).intersection(pred))
    return EntityReport(
        n_true=n_true.total(),
        n_predicted=n_predicted.total(),
        n_correct=n_correct.total(),
        n_tokens=n_tokens,
        token_accuracy=n_right / n_tokens if n_tokens else 1.0,
        by_type={
            kind: EntityCounts(n_true[kind], n_predicted[kind], n_correct[kind])
            for kind in sorted(n_true.keys() | n_predicted.keys())
        },
    )


@readable
def entity_precision(y_true: Any, y_pred: Any, *, scheme: str = "auto") -> float:
    """Share of predicted entities that are right, all types together.

    Parameters
    ----------
    y_true, y_pred, scheme
        As in :func:`entity_scores`.

    Returns
    -------
    float
        0.0 when no entity was predicted.

    Examples
    --------
    >>> from trelliswork.metrics import entity_precision
    >>> entity_precision([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    0.5
    """
    return entity_scores(y_true, y_pred, scheme=scheme).precision


@readable
def entity_recall(y_true: Any, y_pred: Any, *, scheme: str = "auto") -> float:
    """Share of true entities that were found, all types together.

    Parameters
    ----------
    y_true, y_pred, scheme
        As in :func:`entity_scores`.

    Returns
    -------
    float
        0.0 when there is no true entity.

    Examples
    --------
    >>> from trelliswork.metrics import entity_recall
    >>> entity_recall([["B-PER", "B-LOC"]], [["B-PER", "O"]])
    0.5
    """
    return entity_scores(y_true, y_pred, scheme=scheme).recall


@readable
def entity_f1(y_true: Any, y_pred: Any, *, scheme: str = "auto") -> float:
    """F1 of entities, all types together (micro average), the score of the CoNLL tasks.

    Parameters
    ----------
    y_true, y_pred, scheme
        As in :func:`entity_scores`.

    Returns
    -------
    float
        0.0 when no entity is right.

    Examples
    --------
    >>> from trelliswork.metrics import entity_f1
    >>> round(entity_f1([["B-PER", "B-LOC"]], [["B-PER", "O"]]), 3)
    0.667
    """
    return entity_scores(y_true, y_pred, scheme=scheme).f1
