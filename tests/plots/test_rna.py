"""Arc diagrams."""

from __future__ import annotations

import io

import pytest

from trelliswork import InputError

pytest.importorskip("matplotlib")
from trelliswork.plots.rna import _COLORS, arcs


def test_arcs_of_one_structure():
    ax = arcs("GGGAAACCC", "(((...)))", title="hairpin")
    assert len(ax.patches) == 3
    assert ax.get_title() == "hairpin"
    assert [t.get_text() for t in ax.texts] == list("GGGAAACCC")
    out = io.BytesIO()
    ax.figure.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def test_arcs_against_a_reference():
    ax = arcs("GGGAAACCCA", "((.....)).", "(((...))).")
    from matplotlib.colors import to_hex

    colors = [to_hex(patch.get_edgecolor()) for patch in ax.patches]
    assert sorted(colors) == sorted([_COLORS["right"]] * 4 + [_COLORS["missed"]])
    ax = arcs("GGGAAACCCA", "(........)", "..........")
    assert [to_hex(patch.get_edgecolor()) for patch in ax.patches] == [_COLORS["wrong"]]


def test_long_sequences_have_no_letters():
    ax = arcs("A" * 400, "." * 400)
    assert not ax.texts
    assert len(ax.lines) == 1


def test_mistakes():
    with pytest.raises(InputError, match="9 bases but structure has 3 positions"):
        arcs("GGGAAACCC", "...")
    with pytest.raises(InputError, match="reference has"):
        arcs("GGG", "...", "....")
    with pytest.raises(InputError, match="unbalanced"):
        arcs("GGG", "(..")
