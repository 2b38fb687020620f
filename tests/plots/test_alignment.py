"""Pictures of alignments."""

from __future__ import annotations

import pytest

from trelliswork import Alignment, AlignPath, Fixed, alignment_weights
from trelliswork.plots import plot_alignment, plot_matrix

matplotlib = pytest.importorskip("matplotlib")
WEIGHTS = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}


def test_path_is_drawn_over_posteriors(tmp_path):
    model = Fixed(Alignment("affine"), WEIGHTS)
    axes = plot_alignment(model, ("GATTACA", "GATACA"))
    [line] = axes.get_lines()
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (-0.5, -0.5)
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (5.5, 6.5)
    assert axes.images[0].get_array().shape == (7, 6)
    axes.figure.savefig(tmp_path / "alignment.png")
    given = plot_alignment(model, ("GAT", "GT"), AlignPath.from_cigar("1M1D1M"), ax=axes)
    assert given is axes
    assert axes.get_title() == "1M1D1M"


def test_matrix():
    weights = alignment_weights({("A", "A"): 1, ("A", "B"): -1, ("B", "B"): 2}, gap_open=-3, gap_extend=-1)
    axes = plot_matrix(Fixed(Alignment(), weights))
    assert axes.get_title() == "open -3.00, extend -1.00"
    assert axes.images[0].get_array().shape == (2, 2)
