"""Inputs and outputs of each structure as JSON, one file each, and their list.

A view reads the JSON of a request into an input (and what is known of its output), tells how long an input
would take, and writes outputs and probabilities of parts as JSON that the page draws. A structure without a
view of its own is shown as text.
"""

from __future__ import annotations

from typing import Any

from trelliswork.web.views.alignment import AlignmentView
from trelliswork.web.views.base import View
from trelliswork.web.views.chain import ChainView
from trelliswork.web.views.classes import ClassesView
from trelliswork.web.views.grammar import GrammarView
from trelliswork.web.views.regression import RegressionView
from trelliswork.web.views.rna import RNAView
from trelliswork.web.views.text import RetrievalView, TextView
from trelliswork.web.views.transducer import TransducerView

__all__ = ["VIEWS", "View", "view_of"]

# Every view is listed here once, by the class of the structure (or of a learner that has none).
VIEWS: dict[str, type[View]] = {
    "Alignment": AlignmentView,
    "Chain": ChainView,
    "Classes": ClassesView,
    "Grammar": GrammarView,
    "KernelRegression": RegressionView,
    "RNA": RNAView,
    "Retrieval": RetrievalView,
    "Transducer": TransducerView,
}


def view_of(opened: Any) -> View:
    """The view of a model.

    Parameters
    ----------
    opened : OpenModel
        The model.
    """
    outputs = getattr(opened.learner, "structure", opened.learner)
    for base in type(outputs).__mro__:
        if base.__name__ in VIEWS:
            return VIEWS[base.__name__](opened)
    return TextView(opened)
