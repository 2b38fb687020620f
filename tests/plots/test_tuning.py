"""Pictures of paths."""

from __future__ import annotations

import pytest

import trelliswork as tw
from trelliswork.plots import path

pytest.importorskip("matplotlib")

X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]]
Y = [["D", "N"]] * 4


def test_one_line_per_path_and_the_chosen_value():
    grid = {"l2": [10, 1, 0.1], "structure__order": [1, 2]}
    model = tw.Tuned(tw.CRF(tw.Chain()), cv=2, tune=grid, race=None).fit(X, Y)
    ax = path(model)
    assert ax.get_xlabel() == "l2"
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["order=1", "order=2"]
    assert len(path(model.results_, "structure__order").containers) == 2
    ax.figure.savefig("/dev/null", format="png")


def test_mistakes():
    with pytest.raises(tw.InputError, match="fitted Tuned model"):
        path(tw.Tuned(tw.CRF(tw.Chain())))
    model = tw.Tuned(tw.CRF(tw.Chain()), cv=2, tune={"l2": [1.0]}).fit(X, Y)
    with pytest.raises(tw.InputError, match="no path to draw"):
        path(model)
    with pytest.raises(tw.InputError, match="no parameter 'C'"):
        path(model, "C")
