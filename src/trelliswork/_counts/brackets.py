"""Parse trees: labelled brackets as evalb counts them, exact match, tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._trees import Node, as_node, brackets, normalized, tags
from trelliswork._validate import weights_or_ones

__all__ = ["BracketReport", "bracket_scores"]

# What evalb's usual parameter file leaves out.
_PUNCTUATION = {",", ":", "``", "''", "."}
_NO_BRACKETS = {"", "TOP", "ROOT", "S1"}


@dataclass(frozen=True)
class BracketReport:
    """Scores of predicted trees.

    Attributes
    ----------
    precision, recall, f1 : float
        Of labelled brackets, over all trees together.
    exact : float
        Share of trees whose brackets are all right.
    tags : float
        Share of words with the right tag.
    n_trees, n_true, n_predicted, n_correct : int
        Trees, true, predicted and right brackets.
    n_missing : int
        Trees that were not predicted (None).

    Examples
    --------
    >>> from trelliswork.metrics import bracket_scores
    >>> report = bracket_scores(["(S (NP (D the) (N cat)) (V sat))"], ["(S (D the) (VP (N cat) (V sat)))"])
    >>> report.n_true, report.n_correct, report.f1
    (2, 1, 0.5)
    """

    precision: float
    recall: float
    f1: float
    exact: float
    tags: float
    n_trees: int
    n_true: int
    n_predicted: int
    n_correct: int
    n_missing: int

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.2%}, recall {self.recall:.2%}, F1 {self.f1:.2%}, exact match "
            f"{self.exact:.2%}, tags {self.tags:.2%} ({self.n_trees} trees, {self.n_true} true and "
            f"{self.n_predicted} predicted brackets, {self.n_missing} trees missing)"
        )


@readable
def bracket_scores(
    y_true: Any, y_pred: Any, *, root: bool = True, punctuation: bool = True, sample_weight: Any = None
) -> BracketReport:
    """Labelled brackets, exact match and tags of predicted trees.

    A bracket is a label with the words that it covers; a pair of equal brackets in both trees
    counts once, two pairs twice. Tags right above words are no brackets, nor is an outer bracket
    without a label or with the label TOP, ROOT or S1.

    Parameters
    ----------
    y_true, y_pred : lists of bracketed strings or nltk trees
        The trees; a prediction may be None, which has no brackets and no tags. Empty
        elements and function tags are left out.
    root : bool, default=True
        Count the bracket of the whole tree; the one below TOP, ROOT or S1 where these are.
    punctuation : bool, default=True
        Count words whose true tag is one of ``, : `` '' .``; False leaves them out of all
        brackets and of the tags, and takes PRT for ADVP, as evalb does with its usual parameters.
    sample_weight : array-like or None
        Weight of each tree.

    Returns
    -------
    BracketReport

    Raises
    ------
    InputError
        For a sample that is not a tree, or whose two trees have different numbers of words.

    Examples
    --------
    >>> from trelliswork.metrics import bracket_scores
    >>> true = ["(S (NP (D the) (N cat)) (VP (V sat)))", "(S (NP (N cats)) (VP (V sit)))"]
    >>> report = bracket_scores(true, [true[0], "(S (N cats) (VP (V sit)))"])
    >>> report.n_correct, report.recall, report.exact, report.tags
    (5, 0.833..., 0.5, 1.0)
    """
    if len(y_true) != len(y_pred):
        raise InputError(f"{len(y_true)} true trees, but {len(y_pred)} predicted ones")
    weights = weights_or_ones(sample_weight, len(y_true))
    sums = np.zeros(6)  # true, predicted, right brackets; exact; words, right tags
    counts = np.zeros(3, dtype=np.int64)
    n_missing = 0
    for i, (true, predicted) in enumerate(_pairs(y_true, y_pred)):
        dropped = [] if punctuation else [t for t, tag in enumerate(tags(true)) if tag in _PUNCTUATION]
        true_brackets = _brackets(true, root, dropped, punctuation)
        predicted_brackets: Counter[Any] = Counter()
        true_tags, right_tags = tags(true), 0
        if predicted is None:
            n_missing += 1
        else:
            predicted_tags = tags(predicted)
            if len(predicted_tags) != len(true_tags):
                raise InputError(
                    f"the true tree has {len(true_tags)} words, the predicted one {len(predicted_tags)}",
                    sample=i,
                )
            left_out = set(dropped)
            pairs = enumerate(zip(true_tags, predicted_tags))
            right_tags = sum(a == b for t, (a, b) in pairs if t not in left_out)
            predicted_brackets = _brackets(predicted, root, dropped, punctuation)
        right_brackets = (true_brackets & predicted_brackets).total()
        exact = float(predicted is not None and true_brackets == predicted_brackets)
        of_tree = (true_brackets.total(), predicted_brackets.total(), right_brackets)
        counts += of_tree
        sums += weights[i] * np.array([*of_tree, exact, len(true_tags) - len(dropped), right_tags])
    true_sum, predicted_sum, right, exact_sum, words, right_words = sums.tolist()
    precision = right / predicted_sum if predicted_sum else float(not true_sum)
    recall = right / true_sum if true_sum else float(not predicted_sum)
    f1 = 2 * right / (true_sum + predicted_sum) if true_sum + predicted_sum else 1.0
    total = float(weights.sum())
    return BracketReport(
        precision,
        recall,
        f1,
        exact_sum / total if total else 1.0,
        right_words / words if words else 1.0,
        len(y_true),
        int(counts[0]),
        int(counts[1]),
        int(counts[2]),
        n_missing,
    )


def _pairs(y_true: Any, y_pred: Any) -> Iterator[tuple[Node, Node | None]]:
    for i, pair in enumerate(zip(y_true, y_pred)):
        try:
            true, predicted = (None if tree is None else normalized(as_node(tree)) for tree in pair)
            if true is None:
                raise InputError("the true tree is empty")
        except InputError as error:
            raise InputError(error.message, sample=i) from None
        yield true, predicted


def _brackets(tree: Node, root: bool, dropped: list[int], punctuation: bool) -> Counter[Any]:
    spans = brackets(tree)
    if spans and spans[0][0] in _NO_BRACKETS:
        spans = spans[1:]
    if not root and spans and spans[0][1:] == (0, len(tags(tree))):  # TOP over several phrases has no root
        spans = spans[1:]
    if not punctuation:
        # Positions without the dropped words; brackets over nothing but those go.
        before = np.concatenate([[0], np.cumsum(np.bincount(dropped, minlength=len(tags(tree))))])
        moved = [(label, a - int(before[a]), b - int(before[b])) for label, a, b in spans]
        spans = [("ADVP" if label == "PRT" else label, a, b) for label, a, b in moved if b > a]
    return Counter(spans)
