"""Pictures, with matplotlib (``pip install trelliswork[plot]``)."""

from __future__ import annotations

from trelliswork.plots.alignment import plot_alignment, plot_matrix
from trelliswork.plots.rna import arcs

__all__ = ["arcs", "plot_alignment", "plot_matrix"]
