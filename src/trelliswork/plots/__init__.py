"""Pictures, with matplotlib (``pip install trelliswork[plot]``)."""

from __future__ import annotations

from trelliswork.plots.alignment import plot_alignment, plot_matrix
from trelliswork.plots.rna import arcs, dot_plot, mountain, planar
from trelliswork.plots.tuning import path

__all__ = ["arcs", "dot_plot", "mountain", "path", "planar", "plot_alignment", "plot_matrix"]
