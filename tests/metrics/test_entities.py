"""Entities: spans, reports and rates, against a second reading of the CoNLL evaluation script."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trelliswork import metrics

# --------------------------------------------------------------------------------------
# conlleval, written a second time from its decision tables (previous role, role).

STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
# The BIOES versions of the script add: B and S always start, E and S always end, S ends before all.
STARTS_S = STARTS | {"EB", "SB", "BS", "IS", "OS", "SS", "ES", "SI", "SE"}
ENDS_S = ENDS | {"EB", "ES", "BS", "IS", "SB", "SI", "SE", "SO", "SS"}


def conlleval(y_true, y_pred, starts, ends):
    """Found true, found predicted, correct chunks by type, with the one-pass loop of the script."""
    counts = {"true": {}, "pred": {}, "correct": {}}

    def add(which, kind):
        counts[which][kind] = counts[which].get(kind, 0) + 1

    def ended(last, now):
        return last[0] + now[0] in ends or (last[0] != "O" and last[1] != now[1])

    def started(last, now):
        return last[0] + now[0] in starts or (now[0] != "O" and last[1] != now[1])

    rows = [pair for a, b in zip(y_true, y_pred) for pair in [*zip(a, b), ("O", "O")]]
    last_t = last_p = ("O", "")
    in_correct = False
    for true, pred in rows:
        t, p = (tuple(tag.split("-", 1)) if "-" in tag else (tag, "") for tag in (true, pred))
        if in_correct:
            if ended(last_t, t) and ended(last_p, p) and last_t[1] == last_p[1]:
                in_correct = False
                add("correct", last_t[1])
            elif ended(last_t, t) != ended(last_p, p) or t[1] != p[1]:
                in_correct = False
        if started(last_t, t) and started(last_p, p) and t[1] == p[1]:
            in_correct = True
        if started(last_t, t):
            add("true", t[1])
        if started(last_p, p):
            add("pred", p[1])
        last_t, last_p = t, p
    return counts["true"], counts["pred"], counts["correct"]


def our_counts(report):
    return tuple(
        {kind: getattr(row, name) for kind, row in report.by_type.items() if getattr(row, name)}
        for name in ("n_true", "n_predicted", "n_correct")
    )


def tag_pairs(roles):
    tag = st.sampled_from(["O"] + [f"{role}-{kind}" for role in roles for kind in ("X", "Y")])
    sentence = st.lists(st.tuples(tag, tag), max_size=12)
    return st.lists(sentence, max_size=4).map(
        lambda data: ([[a for a, _ in s] for s in data], [[b for _, b in s] for s in data])
    )


@settings(max_examples=200, deadline=None)
@given(tag_pairs("BIES"))
def test_counts_are_those_of_the_bioes_conlleval(pair):
    assert our_counts(metrics.entity_scores(*pair)) == conlleval(*pair, STARTS_S, ENDS_S)


@settings(max_examples=150, deadline=None)
@given(st.one_of(tag_pairs("BI"), tag_pairs("IE")))
def test_counts_are_those_of_the_original_conlleval_without_s(pair):
    assert our_counts(metrics.entity_scores(*pair)) == conlleval(*pair, STARTS, ENDS)


@settings(max_examples=100, deadline=None)
@given(tag_pairs("BIE"))
def test_the_original_differs_only_where_b_follows_e_of_the_same_type(pair):
    ours = our_counts(metrics.entity_scores(*pair))
    e_then_b = any((a[0], b[0], a[1:]) == ("E", "B", b[1:]) for y in pair for s in y for a, b in pairwise(s))
    if not e_then_b:
        assert ours == conlleval(*pair, STARTS, ENDS)


def test_b_after_e_starts_an_entity():
    assert metrics.entity_spans(["B-X", "E-X", "B-X"]) == [(0, 2, "X"), (2, 3, "X")]


@settings(max_examples=100, deadline=None)
@given(tag_pairs("BIES"))
def test_bilou_is_bioes_with_other_letters(pair):
    other = [[[t.replace("E-", "L-").replace("S-", "U-") for t in s] for s in y] for y in pair]
    assert our_counts(metrics.entity_scores(*pair)) == our_counts(metrics.entity_scores(*other))


# --------------------------------------------------------------------------------------
# Entities -> tags in every scheme -> entities.


def encode(spans, n, scheme):
    tags = ["O"] * n
    for k, (start, stop, kind) in enumerate(spans):
        before = k > 0 and spans[k - 1][1:] == (start, kind)
        after = k + 1 < len(spans) and spans[k + 1][0] == stop and spans[k + 1][2] == kind
        roles = ["I"] * (stop - start)
        if scheme == "IOB2" or (scheme == "IOB1" and before):
            roles[0] = "B"
        elif scheme == "IOE2" or (scheme == "IOE1" and after):
            roles[-1] = "E"
        elif scheme in ("BIOES", "BILOU"):
            first, last, single = ("B", "E", "S") if scheme == "BIOES" else ("B", "L", "U")
            roles[0], roles[-1] = (first, last) if stop - start > 1 else (single, single)
        tags[start:stop] = [f"{role}-{kind}" for role in roles]
    return tags


@st.composite
def disjoint_spans(draw):
    spans, position = [], 0
    for gap, length, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["X", "Y-Z"])), max_size=6)
    ):
        spans.append((position + gap, position + gap + length, kind))
        position += gap + length
    return spans, position + draw(st.integers(0, 2))


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "BIOES", "BILOU"])
@settings(max_examples=50, deadline=None)
@given(data=disjoint_spans())
def test_well_formed_tags_give_back_their_entities(scheme, data):
    spans, n = data
    assert metrics.entity_spans(encode(spans, n, scheme)) == spans


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ([], []),
        (["O", "O"], []),
        (["I-X"], [(0, 1, "X")]),
        (["O", "I-X", "I-Y"], [(1, 2, "X"), (2, 3, "Y")]),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")]),
        (["E-X", "E-X"], [(0, 1, "X"), (1, 2, "X")]),
        (["S-X", "I-X", "E-X"], [(0, 1, "X"), (1, 3, "X")]),
        (["B", "I", "O", "B"], [(0, 2, ""), (3, 4, "")]),
        (["B-A-B", "I-A-B"], [(0, 2, "A-B")]),
        (["X", "X", "O", "Y", "X"], [(0, 2, "X"), (3, 4, "Y"), (4, 5, "X")]),
        (["ner-X", "ner-X"], [(0, 2, "ner-X")]),
    ],
)
def test_spans_by_hand(tags, spans):
    assert metrics.entity_spans(tags) == spans
    assert metrics.entity_spans(np.array(tags, dtype=str)) == spans


def test_raw_scheme_makes_every_token_an_entity():
    assert metrics.entity_spans(["X", "X", "O", "B-X"], scheme="raw") == [
        (0, 1, "X"),
        (1, 2, "X"),
        (3, 4, "B-X"),
    ]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["X"], {"scheme": "BIO"}, "scheme must be one of 'auto', 'raw', got 'BIO'"),
        ("B-X", {}, "got the string 'B-X'"),
        (["O", 3], {}, "tags must be strings, got 3 at position 1"),
    ],
)
def test_bad_tags_are_one_error(labels, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.entity_spans(labels, **options)


# --------------------------------------------------------------------------------------
# Reports and rates.

TRUE = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "I-LOC", "O"], ["O", "B-ORG"]]
PRED = [["B-PER", "I-PER", "O", "B-ORG"], ["B-LOC", "O", "B-LOC"], ["O", "B-ORG"]]


def test_report_by_hand():
    report = metrics.entity_scores(TRUE, PRED)
    assert (report.n_tokens, report.n_true, report.n_predicted, report.n_correct) == (9, 4, 5, 2)
    assert (report.precision, report.recall, report.f1) == (0.4, 0.5, pytest.approx(4 / 9))
    assert report.token_accuracy == pytest.approx(6 / 9)
    assert our_counts(report) == (
        {"PER": 1, "LOC": 2, "ORG": 1},
        {"PER": 1, "LOC": 2, "ORG": 2},
        {"PER": 1, "ORG": 1},
    )
    assert metrics.entity_precision(TRUE, PRED) == 0.4
    assert metrics.entity_recall(TRUE, PRED) == 0.5
    assert metrics.entity_f1(TRUE, PRED) == report.f1
    assert str(report).splitlines() == [
        "processed 9 tokens with 4 phrases; found: 5 phrases; correct: 2.",
        "accuracy:  66.67%; precision:  40.00%; recall:  50.00%; FB1:  44.44",
        "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  2",
        "              ORG: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
        "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1",
    ]
    with pytest.raises(AttributeError):
        report.n_true = 3


@pytest.mark.parametrize("y", [[], [[]], [["O", "O"]]])
def test_nothing_to_divide_by(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = metrics.entity_scores(y, y)
        assert (report.precision, report.recall, report.f1, report.token_accuracy) == (0.0, 0.0, 0.0, 1.0)
    assert len(str(report).splitlines()) == (2 if report.n_tokens else 1)


def test_one_sided_entities_score_zero():
    assert metrics.entity_f1([["B-X"]], [["O"]]) == metrics.entity_f1([["O"]], [["B-X"]]) == 0.0


def test_entity_errors_name_the_sample():
    with pytest.raises(ValueError, match=r"^sample 1: tags must be strings, got 0 at position 0$"):
        metrics.entity_scores([["O"], [0]], [["O"], ["O"]])
    with pytest.raises(
        ValueError, match=r"^sample 0: labels must be a sequence of tags, got the string 'B-X'$"
    ):
        metrics.entity_scores(["B-X"], ["B-X"])


def test_entities_beside_unknown_tags_do_not_count():
    true = ["B-X", "O", None, "I-X", "O", "B-Y"]
    report = metrics.entity_scores([true], [["B-X", "B-Y", "I-Y", "I-X", "O", "B-Y"]])
    assert (report.n_true, report.n_predicted, report.n_correct) == (2, 2, 2)
    assert report.n_tokens == 5
    assert report.token_accuracy == pytest.approx(4 / 5)
