"""Hyper-parameters are checked without data, and by a fit with the same words."""

from __future__ import annotations

import re

import pytest

from trelliswork import (
    RNA,
    Alignment,
    Chain,
    Classes,
    Derivations,
    Fixed,
    Grammar,
    Perceptron,
    Retrieval,
    Transducer,
)
from trelliswork._errors import InputError
from trelliswork.structures import STRUCTURES

TREE = [("all", "a"), ("all", "b"), ("b", "c"), ("b", "d")]

# Structure -> parameter -> structures with a bad value of it.
BAD = {
    "Alignment": {
        "model": [Alignment("quadratic")],
        "mode": [Alignment(mode="glocal")],
        "free": [Alignment(free="none")],
        "canonical": [Alignment(canonical="yes")],
        "alphabet": [Alignment(alphabet=""), Alignment(alphabet=4), Alignment(alphabet="AC-")],
        "unknown": [Alignment(unknown="one")],
        "core": [Alignment(core="lower")],
        "gap": [Alignment(gap=""), Alignment(gap=None)],
        "output": [Alignment(output="cigar")],
        "precision": [Alignment(precision="half")],
        "context": [Alignment(context=-1), Alignment(context="wide")],
    },
    "Chain": {
        "order": [Chain(order=0), Chain(order="one")],
        "emissions": [Chain(emissions="some")],
        "transitions": [Chain(transitions="none"), Chain(transitions=3), Chain(transitions=["ab", "abc"])],
        "invalid": [Chain(invalid="mend")],
        "ngrams": [Chain(ngrams="some"), Chain(2, ngrams="observed", edge_features="all")],
        "scheme": [Chain(scheme="IOB1"), Chain(scheme=2)],
        "edge_features": [Chain(edge_features="some"), Chain(edge_features={5: "all"})],
        "min_count": [Chain(min_count=-1), Chain(min_count="all")],
        "labels": [Chain(labels=[]), Chain(labels=3), Chain(labels=[["a"]])],
        "scale": [Chain(scale="all"), Chain(scale=2.0)],
    },
    "Classes": {
        "taxonomy": [Classes(taxonomy=7), Classes(taxonomy=[("a", "b"), ("b", "a")]), Classes(taxonomy=[])],
        "labels": [Classes(labels=[]), Classes(labels=3), Classes(TREE, labels=["b"])],
        "scale": [Classes(scale="all"), Classes(scale=2.0)],
        "ancestor_weight": [Classes(TREE, ancestor_weight=-1), Classes(TREE, ancestor_weight={"a": 1})],
    },
    "Derivations": {
        "build": [Derivations(None)],
        "encode": [Derivations(list, encode="parts")],
        "decode": [Derivations(list, decode="parts")],
        "min_count": [Derivations(list, min_count=-1), Derivations(list, min_count=None)],
    },
    "Grammar": {
        "context": [Grammar(context=21), Grammar(context=1.5)],
        "compared": [Grammar(compared="trees")],
        "span_features": [Grammar(span_features=["words"]), Grammar(span_features=1)],
        "rules": [Grammar("S NP VP"), Grammar(3), Grammar([]), Grammar("S -> A")],
        "input": [Grammar(input="letters")],
        "start": [Grammar("S -> 'a'", start="X")],
        "unary": [Grammar(unary="drop")],
        "max_unary": [Grammar(max_unary=-1)],
        "binarize": [Grammar(binarize="middle")],
        "horizontal": [Grammar(horizontal=-1)],
        "vertical": [Grammar(vertical=0)],
        "unknown": [Grammar(unknown="guess")],
        "min_count": [Grammar(min_count=0)],
        "no_parse": [Grammar(no_parse="guess")],
        "beam": [Grammar(beam=0)],
    },
    "RNA": {
        "context": [RNA(context=21), RNA(context=1.5)],
        "grammar": [RNA("g7")],
        "depth": [RNA(depth=0), RNA(depth=True)],
        "invalid": [RNA(invalid="drop")],
        "gamma": [RNA(gamma=0), RNA(gamma="much")],
        "min_hairpin": [RNA(min_hairpin=1), RNA("nearest-neighbour", min_hairpin=4)],
        "max_loop": [RNA(max_loop=31), RNA(max_loop=-1)],
        "window": [RNA("g6", window=100), RNA("nearest-neighbour", window=3)],
        "groups": [RNA(groups="hairpin loops"), RNA(groups=["loops"])],
    },
    "Retrieval": {"alignment": [Retrieval(Chain()), Retrieval(Alignment("quadratic"))]},
    "Transducer": {
        "order": [Transducer(-1)],
        "max_in": [Transducer(max_in=0)],
        "max_out": [Transducer(max_out=0), Transducer(max_out=1.5)],
        "window": [Transducer(window=-1)],
        "longest": [Transducer(longest=0)],
        "min_count": [Transducer(min_count=0)],
        "min_context": [Transducer(min_context=0)],
        "prune": [Transducer(prune=-0.1), Transducer(prune=1.0)],
        "law": [Transducer(law=-1.0), Transducer(law="much")],
        "restarts": [Transducer(restarts=-1)],
        "seed": [Transducer(seed=0.5)],
        "output": [Transducer(output="text")],
    },
}
DATA = {
    "Alignment": ([("AC", "A")], [("AC", "A-")]),
    "Chain": ([["a", "b"]], [["B-X", "O"]]),
    "Classes": ([[1.0], [2.0]], ["a", "c"]),
    "Derivations": ([["a"]], [[]]),
    "Grammar": ([["a"]], ["(S a)"]),
    "RNA": (["GAAAC"], ["(...)"]),
    "Retrieval": ([("A", ["A"])], [(0, ("A", "A"))]),
    "Transducer": (["ab"], ["xy"]),
}
# Parameters of which every value means something.
FREE = {
    "Chain": {"start", "end", "unknown"},
    "Classes": {"bias"},
    "Derivations": {"shared"},
    "Grammar": {"functions", "empty"},
}
CASES = [
    pytest.param(structure, id=f"{name}-{parameter}-{k}")
    for name, parameters in BAD.items()
    for parameter, structures in parameters.items()
    for k, structure in enumerate(structures)
]


@pytest.mark.parametrize("structure", CASES)
def test_bad_values_are_refused_without_data(structure):
    with pytest.raises(InputError) as error:
        structure.check()
    message = f"^{re.escape(str(error.value))}$"
    X, y = DATA[type(structure).__name__]
    for action in (Perceptron(structure).fit, structure.bind):
        with pytest.raises(InputError, match=message):
            action(X, y)
    with pytest.raises(InputError, match=message):
        Fixed(structure, {}).predict(X)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_parameter_has_a_bad_value(name):
    parameters = set(STRUCTURES[name]._get_param_names())
    assert set(BAD[name]) == parameters - FREE.get(name, set())
