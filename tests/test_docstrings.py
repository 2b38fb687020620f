"""Docstrings say what a newcomer asks: what happens when a number grows, what else there is, its sources."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

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
MODULES = (
    "",
    ".bounds",
    ".features",
    ".io",
    ".kernels",
    ".losses",
    ".metrics",
    ".plots",
    ".selection",
    ".testing",
)
# Words that compare a value with a larger one, or say how it limits something.
COMPARES = re.compile(
    r"\b(larger?|more|most|smaller|less|longer|slower|faster|higher|fewer|greater|grows?|falls|least|at most"
    r"|rarer|finer|multiplies|below|no better or worse)\b",
    re.IGNORECASE,
)
# Numbers that are places, seeds, lengths of a thing that is given, or values to draw: they do not grow.
NAMES_OF_THINGS = {
    "alignment_weights": {"gap_open", "gap_extend"},
    "AlignPath": {"runs", "start"},
    "AlignPath.from_cigar": {"start"},
    "AlignPath.from_moves": {"start"},
    "Candidate": {"probability", "score"},
    "Evidence.scores": {"bases", "left, right"},
    "F1.of_counts": {"true"},
    "Grammar.rules_of": {"i"},
    "Grammar.tree_of": {"i"},
    "InputError": {"sample"},
    "InputError.at": {"line"},
    "InputError.placed": {"places"},
    "Loss.of_counts": {"true"},
    "LossAutomaton.loss": {"codes"},
    "ModelFileError": {"sample"},
    "ModelVerbs.sample": {"random_state"},
    "NGramModel.log_prob_codes": {"codes"},
    "Ragged": {"offsets"},
    "check_structure": {"n_jobs"},
    "dotplot": {"probabilities"},
    "factor_graph_complexity": {"features"},
    "mountain": {"probabilities"},
    "paf": {"score"},
    "preimage": {"n"},
    "read_conll": {"columns", "label"},
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


def methods() -> Iterator[tuple[str, type, str, Callable[..., Any], bool]]:
    """Public methods and properties of public classes, each once, with whether it is a property."""
    seen = set()
    for _, owner in public():
        for name in dir(owner) if inspect.isclass(owner) else ():
            value = inspect.getattr_static(owner, name)
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            ours = inspect.isfunction(function) and function.__module__.startswith("trelliswork")
            if ours and not name.startswith("_") and function not in seen:
                seen.add(function)
                yield function.__qualname__, owner, name, function, isinstance(value, property)


def documented(function: Callable[..., Any]) -> list[docscrape.Parameter]:
    return docscrape.FunctionDoc(function)["Parameters"]


def names_of(parameters: list[docscrape.Parameter]) -> set[str]:
    return {name.strip().lstrip("*") for parameter in parameters for name in parameter.name.split(",")}


def missing(function: Callable[..., Any], names: set[str]) -> list[str]:
    own = [name for name in inspect.signature(function).parameters if not name.startswith("_")]
    return [name for name in own if name not in {"self", "cls", *names}]


def silent(name: str, parameters: list[docscrape.Parameter]) -> list[str]:
    found = []
    for parameter in parameters:
        text = " ".join(parameter.desc)
        grows = re.search(r"\b(int|float)\b", parameter.type)
        grows = grows and parameter.name not in NAMES_OF_THINGS.get(name, ())
        if grows and not COMPARES.search(text):
            found.append(f"{name}.{parameter.name}: {text}")
    return found


def test_every_number_says_what_happens_when_it_grows():
    found = []
    for name, value in public():
        doc = docscrape.ClassDoc(value) if inspect.isclass(value) else docscrape.FunctionDoc(value)
        found += silent(name, doc["Parameters"])
    for name, _, _, function, is_property in methods():
        found += [] if is_property else silent(name, documented(function))
    assert found == []


def test_every_function_documents_its_parameters_and_shows_an_example():
    found = []
    for name, value in public():
        if inspect.isfunction(value):
            found += [f"{name}: {key}" for key in missing(value, names_of(documented(value)))]
            found += [] if docscrape.FunctionDoc(value)["Examples"] else [f"{name}: no example"]
    assert found == []


def test_every_method_documents_its_parameters():
    """Its own docstring does, or that of the method of a base class that it fills in."""
    found = []
    for name, owner, attribute, function, is_property in methods():
        if not inspect.getdoc(function):
            found.append(f"{name}: no docstring")
        elif not is_property:
            bases = [vars(base).get(attribute) for base in owner.__mro__]
            texts = [getattr(base, "__func__", base) for base in bases if base is not None]
            names = set().union(*(names_of(documented(text)) for text in texts if inspect.isfunction(text)))
            found += [f"{name}: {key}" for key in missing(function, names)]
    assert found == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_names_relatives_sources_and_an_example(name):
    doc = docscrape.ClassDoc(ESTIMATORS[name])
    for section in ("See Also", "References", "Examples"):
        assert doc[section], section
