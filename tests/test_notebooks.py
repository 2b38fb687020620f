"""What notebooks show: outputs, candidates, trees, folds and alignments draw themselves."""

from __future__ import annotations

import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

import trelliswork as tw
from trelliswork._sketch import output_html
from trelliswork.learners.calls import Outputs

SVG = "{http://www.w3.org/2000/svg}"
X, Y = [["the", "cat"], ["a", "<dog>"]], [["D", "N"], ["D", "N"]]


def drawing(page):
    """The first drawing of a page, which must be well-formed."""
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    return ElementTree.fromstring(page[start:end])


def words(element):
    return [text.text for text in element.iter(f"{SVG}text")]


def test_label_sequences_are_shown_with_their_words():
    model = tw.Generative(tw.Chain()).fit(X, Y)
    page = model.predict(X)._repr_html_()
    assert "the<br>" in page
    assert "&lt;dog&gt;" in page
    assert "<dog>" not in page
    window = tw.make_pipeline(tw.features.TokenWindow(), tw.CRF(tw.Chain())).fit(X, Y)
    assert "the<br>" in window.predict(X)._repr_html_()
    best = window.predict_kbest(X[:1], k=2)[0]._repr_html_()
    assert best.count("<tr>") == 3
    assert "the<br>" in best


def test_folds():
    model = tw.Generative(tw.RNA("g6")).fit(["GGGAAACCC"], ["(((...)))"])
    picture = drawing(model.predict(["GGGAAACCC"])._repr_html_())
    assert words(picture) == list("GGGAAACCC")
    assert len(list(picture.iter(f"{SVG}path"))) == 3


def test_trees():
    text = "(S (NP (D the) (N dog)) (VP (V barks)))"
    model = tw.Generative(tw.Grammar(min_count=1)).fit([["the", "dog", "barks"]], [text])
    [candidates] = model.predict_kbest([["the", "dog", "barks"]], k=1)
    picture = drawing(candidates._repr_html_())
    assert words(picture) == ["the", "D", "dog", "N", "NP", "barks", "V", "VP", "S"]
    assert len(list(picture.iter(f"{SVG}line"))) == 8
    assert words(drawing(candidates[0]._repr_html_())) == words(picture)


def test_alignments():
    weights = {("match",): 1.0, ("mismatch",): -1.0, ("gap",): -1.0}
    model = tw.Fixed(tw.Alignment("linear"), weights)
    assert words(drawing(model.predict([("GAT", "GT")])._repr_html_())) == ["G", "G", "A", "-", "T", "T"]
    bars = ElementTree.fromstring(tw.AlignPath.from_cigar("1M1D1M")._repr_svg_())
    assert len(list(bars.iter(f"{SVG}rect"))) == 5


@pytest.mark.parametrize("output", ["(S (NP", "((.", ("ab", "abc"), "", None, 3, ["x"] * 5000, "(" * 9000])
def test_what_cannot_be_drawn_is_text(output):
    for kind in (None, "parse tree", "RNA structure", "alignment", "label sequence"):
        assert output_html(output, kind, ["a"]).startswith("<code>")


def test_outputs_stay_lists():
    outputs = tw.Generative(tw.Chain()).fit(X, Y).predict(X)
    assert outputs == [["D", "N"], ["D", "N"]]
    again = pickle.loads(pickle.dumps(outputs))
    assert again == outputs
    assert type(again) is Outputs
    assert again.inputs is None  # inputs do not travel
    assert len(np.concatenate([outputs, outputs])) == 4
