"""Brackets as evalb counts them."""

from __future__ import annotations

import pytest

from trelliswork import InputError
from trelliswork.metrics import (
    bracket_f1,
    bracket_precision,
    bracket_recall,
    bracket_scores,
    tag_accuracy,
    tree_accuracy,
)

GOLD = "(S (NP (DT the) (NN cat)) (VP (VBZ sits) (PP (IN on) (NP (DT a) (NN mat)))) (. .))"
FLAT = "(S (NP (DT the) (NN cat)) (VP (VBZ sits)) (PP (IN on) (NP (DT a) (VB mat))) (. .))"


def test_counts():
    report = bracket_scores([GOLD, GOLD], [FLAT, GOLD])
    assert (report.n_true, report.n_predicted, report.n_correct) == (10, 10, 9)
    assert report.precision == report.recall == report.f1 == pytest.approx(0.9)
    assert (report.exact, report.tags) == (0.5, 13 / 14)
    inner = bracket_scores([GOLD, GOLD], [FLAT, GOLD], root=False)
    assert (inner.n_true, inner.n_correct) == (8, 7)
    assert "F1 90.00%" in str(report)


def test_functions():
    assert bracket_f1([GOLD], [FLAT]) == bracket_precision([GOLD], [FLAT]) == bracket_recall([GOLD], [FLAT])
    assert tree_accuracy([GOLD, GOLD], [FLAT, GOLD]) == 0.5
    assert tag_accuracy([GOLD], [FLAT]) == 6 / 7
    assert bracket_f1([GOLD, GOLD], [FLAT, GOLD], sample_weight=[0.0, 1.0]) == 1.0


def test_duplicates_count_by_pairs():
    assert bracket_scores(["(S (NP (NP (N a))))"], ["(S (NP (N a)))"]).n_correct == 2
    assert bracket_scores(["(S (NP (NP (N a))))"], ["(S (NP (NP (N a))))"]).n_correct == 3


def test_evalb_conventions():
    top = f"(TOP {GOLD})"
    assert bracket_scores([top], [top]).n_true == 5
    marked = "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sits) (NP (-NONE- *)) (PRT (RP down))) (, ,)))"
    moved = "(S (NP (DT the) (NN cat) (VP (VBZ sits) (ADVP (RP down))) (, ,)))"
    assert bracket_scores([marked], [moved]).n_correct == 2
    # Without the comma the NP is too long but the S is not; PRT is ADVP.
    bare = bracket_scores([marked], [moved], punctuation=False)
    assert (bare.n_true, bare.n_correct) == (4, 3)
    assert bracket_scores(["(S (, ,) (NP (N a)))"], ["(S (, ,) (NP (N a)))"], punctuation=False).n_true == 2
    wrong = FLAT.replace("(. .)", "(NN .)")  # no word of the tags, either
    assert bracket_scores([GOLD], [wrong], punctuation=False).tags == 5 / 6


@pytest.mark.parametrize("label", ["TOP", "ROOT", "S1", ""])
@pytest.mark.parametrize("root", [True, False])
def test_outer_labels_make_no_difference(label, root):
    plain = bracket_scores([GOLD], [FLAT], root=root)
    assert bracket_scores([f"({label} {GOLD})"], [FLAT], root=root) == plain
    assert bracket_scores([GOLD], [f"({label} {FLAT})"], root=root) == plain
    assert bracket_scores(["(TOP (S (D a) (N b)))"], ["(S (D a) (N b))"], root=root).f1 == 1.0


def test_outer_label_over_several_phrases():
    fragments = "(TOP (NP (D a) (N b)) (NP (D a) (N c)))"
    assert bracket_scores([fragments], [fragments]).n_true == 2
    assert bracket_scores([fragments], [fragments], root=False).n_true == 2
    assert bracket_scores(["(N a)"], ["(TOP (N a))"], root=False).n_predicted == 0


def test_missing_and_bare_trees():
    report = bracket_scores([GOLD, GOLD], [None, GOLD])
    assert (report.n_missing, report.recall, report.precision, report.tags) == (1, 0.5, 1.0, 0.5)
    assert bracket_f1(["(N a)"], ["(N a)"]) == 1.0
    assert bracket_scores(["(N a)"], ["(N a)"]).n_true == 0


def test_mistakes():
    with pytest.raises(InputError, match="1 true trees, but 2 predicted"):
        bracket_scores([GOLD], [GOLD, GOLD])
    with pytest.raises(InputError, match="sample 0: the true tree has 7 words, the predicted one 1"):
        bracket_scores([GOLD], ["(N a)"])
    with pytest.raises(InputError, match="sample 0: unbalanced"):
        bracket_scores([GOLD], ["(N a"])
    with pytest.raises(InputError, match="sample 0: the true tree is empty"):
        bracket_scores(["(S (-NONE- *))"], [GOLD])
    with pytest.raises(InputError, match=r"sample_weight must have one entry per sample \(2\)"):
        bracket_scores([GOLD, GOLD], [GOLD, GOLD], sample_weight=[1.0])
    with pytest.raises(InputError, match="sample 1: sample_weight is nan"):
        bracket_scores([GOLD, GOLD], [GOLD, GOLD], sample_weight=[1.0, float("nan")])
