"""Docstrings say what a newcomer asks: what happens when a number grows, what else there is, its sources."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from numpydoc import docscrape

import trelliswork as tw
from trelliswork.learners import LEARNERS
from trelliswork.structures import STRUCTURES

ESTIMATORS = {
    **LEARNERS,
    **STRUCTURES,
    "KernelRegression": tw.KernelRegression,
    "NGramModel": tw.NGramModel,
    "Pipeline": tw.Pipeline,
    "RowScaler": tw.features.RowScaler,
    "TokenWindow": tw.features.TokenWindow,
    "Tuned": tw.Tuned,
}
MODULES = ("", ".bounds", ".features", ".kernels", ".losses", ".metrics", ".plots", ".selection", ".testing")
# Words that compare a value with a larger one, or say how it limits something.
COMPARES = re.compile(
    r"\b(larger?|more|most|smaller|less|longer|slower|faster|higher|fewer|greater|grows?|falls|least|at most"
    r"|rarer|finer|multiplies|below|no better or worse)\b",
    re.IGNORECASE,
)
# Numbers that are places, lengths of a thing that is given, or values to draw: they do not grow.
NAMES_OF_THINGS = {
    "alignment_weights": {"gap_open", "gap_extend"},
    "AlignPath": {"runs", "start"},
    "Candidate": {"probability", "score"},
    "InputError": {"sample"},
    "ModelFileError": {"sample"},
    "Ragged": {"offsets"},
    "check_structure": {"n_jobs"},
    "dotplot": {"probabilities"},
    "factor_graph_complexity": {"features"},
    "mountain": {"probabilities"},
    "preimage": {"n"},
    "structure": {"probabilities"},
    "TokenWindow": {"columns"},
    "tree": {"probabilities"},
}


def public():
    """Public classes and functions, each once."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"trelliswork{name}")
        for key in getattr(module, "__all__", [key for key in vars(module) if not key.startswith("_")]):
            value = getattr(module, key)
            ours = getattr(value, "__module__", "").startswith("trelliswork")
            if ours and (inspect.isclass(value) or inspect.isfunction(value)):
                found[value] = key
    return [(key, value) for value, key in found.items()]


def test_every_number_says_what_happens_when_it_grows():
    silent = []
    for name, value in public():
        doc = docscrape.ClassDoc(value) if inspect.isclass(value) else docscrape.FunctionDoc(value)
        for parameter in doc["Parameters"]:
            grows = re.search(r"\b(int|float)\b", parameter.type)
            grows = grows and parameter.name not in NAMES_OF_THINGS.get(name, ())
            if grows and not COMPARES.search(" ".join(parameter.desc)):
                silent.append(f"{name}.{parameter.name}: {' '.join(parameter.desc)}")
    assert silent == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_names_relatives_sources_and_an_example(name):
    doc = docscrape.ClassDoc(ESTIMATORS[name])
    for section in ("See Also", "References", "Examples"):
        assert doc[section], section
