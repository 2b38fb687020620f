"""How good predictions are: scores of tokens, sequences, entities, trees and base pairs; cross-validation.

Functions take lists of sequences of unequal length, in pure Python; only
``relative_rank`` needs a fitted model of this package.

>>> from trelliswork import metrics
>>> y_true, y_pred = [["B-PER", "O"], ["O", "B-LOC"]], [["B-PER", "O"], ["O", "O"]]
>>> metrics.token_accuracy(y_true, y_pred), metrics.sequence_accuracy(y_true, y_pred)
(0.75, 0.5)
>>> round(metrics.entity_f1(y_true, y_pred), 3)
0.667
"""

from trelliswork._counts.base_pairs import BasePairScores, base_pair_scores
from trelliswork._counts.brackets import BracketReport, bracket_scores
from trelliswork._counts.entities import entity_spans
from trelliswork.metrics import scorers
from trelliswork.metrics._brackets import (
    bracket_f1,
    bracket_precision,
    bracket_recall,
    tag_accuracy,
    tree_accuracy,
)
from trelliswork.metrics._crossval import cross_val_predict
from trelliswork.metrics._entities import (
    EntityCounts,
    EntityReport,
    entity_f1,
    entity_precision,
    entity_recall,
    entity_scores,
)
from trelliswork.metrics._pairs import base_pair_f1
from trelliswork.metrics._rank import relative_rank
from trelliswork.metrics._strings import edit_error, mean_edit_distance
from trelliswork.metrics._taxonomy import hierarchical_f1
from trelliswork.metrics._tokens import sequence_accuracy, token_accuracy, token_error
from trelliswork.metrics.scorers import make_scorer

__all__ = [
    "BasePairScores",
    "BracketReport",
    "EntityCounts",
    "EntityReport",
    "base_pair_f1",
    "base_pair_scores",
    "bracket_f1",
    "bracket_precision",
    "bracket_recall",
    "bracket_scores",
    "cross_val_predict",
    "edit_error",
    "entity_f1",
    "entity_precision",
    "entity_recall",
    "entity_scores",
    "entity_spans",
    "hierarchical_f1",
    "make_scorer",
    "mean_edit_distance",
    "relative_rank",
    "scorers",
    "sequence_accuracy",
    "tag_accuracy",
    "token_accuracy",
    "token_error",
    "tree_accuracy",
]
