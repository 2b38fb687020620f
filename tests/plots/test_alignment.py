"""Pictures of alignments."""

from __future__ import annotations

import pytest

from trelliswork import Alignment, AlignPath, Fixed, alignment_weights
from trelliswork.plots import alignment, matrix, posterior

matplotlib = pytest.importorskip("matplotlib")
WEIGHTS = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
MODEL = Fixed(Alignment("affine"), WEIGHTS)


def test_path_is_drawn_over_posteriors(tmp_path):
    axes = posterior(MODEL, ("GATTACA", "GATACA"))
    [line] = axes.get_lines()
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (-0.5, -0.5)
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (5.5, 6.5)
    assert axes.images[0].get_array().shape == (7, 6)
    axes.figure.savefig(tmp_path / "alignment.png")
    given = posterior(MODEL, ("GAT", "GT"), AlignPath.from_cigar("1M1D1M"), ax=axes)
    assert given is axes
    assert axes.get_title() == "1M1D1M"


def test_rows_are_shaded_by_probability():
    axes = alignment(MODEL, ("GATTACA", "GATACA"), width=4)
    rows = {-text.get_position()[1]: "" for text in axes.texts}
    for text in axes.texts:
        rows[-text.get_position()[1]] += text.get_text()
    assert [rows[key] for key in sorted(rows)] == ["GATT", "GA-T", "ACA", "ACA"]
    lightness = [sum(patch.get_facecolor()[:3]) for patch in axes.patches]
    assert lightness[0] < lightness[2]  # the first column is surer than the gap


def test_matrix():
    weights = alignment_weights({("A", "A"): 1, ("A", "B"): -1, ("B", "B"): 2}, gap_open=-3, gap_extend=-1)
    axes = matrix(Fixed(Alignment(), weights))
    assert axes.get_title() == "open -3.00, extend -1.00"
    assert axes.images[0].get_array().shape == (2, 2)
    assert axes.images[0].get_clim() == (-2, 2)
