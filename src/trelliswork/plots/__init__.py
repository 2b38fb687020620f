"""Pictures, with matplotlib (``pip install trelliswork[plot]``): axes in, axes out.

Every function takes ``ax=`` and returns the axes that it drew on; without it there is a new figure,
``ax.figure``. Colours can be told apart by all readers; ``COLORS`` lists them.

>>> import trelliswork as tw
>>> ax = tw.plots.tree("(S (NP they) (VP run))")
>>> ax.figure.savefig("/dev/null", format="svg")
"""

from __future__ import annotations

from trelliswork.plots._canvas import COLORS
from trelliswork.plots.alignment import alignment, matrix, posterior
from trelliswork.plots.chain import marginals, transitions
from trelliswork.plots.classes import taxonomy
from trelliswork.plots.grammar import tree
from trelliswork.plots.judged import calibration, confusion
from trelliswork.plots.learners import history, learning_curve, weights
from trelliswork.plots.rna import arcs, dotplot, mountain, structure
from trelliswork.plots.strings import ngrams, pieces
from trelliswork.plots.tuning import comparison, path

__all__ = [
    "COLORS",
    "alignment",
    "arcs",
    "calibration",
    "comparison",
    "confusion",
    "dotplot",
    "history",
    "learning_curve",
    "marginals",
    "matrix",
    "mountain",
    "ngrams",
    "path",
    "pieces",
    "posterior",
    "structure",
    "taxonomy",
    "transitions",
    "tree",
    "weights",
]
