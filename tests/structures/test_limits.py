"""Limits of memory and of chunks belong to a structure and go wherever it goes, but for model files."""

import dataclasses
import pickle

import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork.structures import STRUCTURES

X, Y = [["a", "b"], ["b"]], [["X", "Y"], ["Y"]]
CHAIN = tw.Chain(2).with_limits(tokens_per_chunk=7)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_has_limits(name):
    structure, inputs, outputs = next(STRUCTURES[name].examples())
    limited = structure.with_limits(matrix_bytes=8)
    assert limited.limits == dataclasses.replace(structure.limits, matrix_bytes=8)
    batch = limited.bind(inputs, outputs).pack(inputs, outputs)
    for part in (batch, batch.subset([0])):
        assert part.limits.matrix_bytes == 8
        with pytest.raises(tw.InputError, match="as a matrix"):
            part.moments()


def test_copies_keep_them():
    copies = [clone(CHAIN), CHAIN.with_params(order=1), CHAIN.complete(), pickle.loads(pickle.dumps(CHAIN))]
    copies += [clone(tw.CRF(CHAIN)).structure, CHAIN.bind(X, Y).grown([["c"]], [["Z"]]).structure]
    assert all(copy.limits.tokens_per_chunk == 7 for copy in copies)
    assert CHAIN.with_limits(ngrams=100).limits.tokens_per_chunk == 7
    assert tw.Chain().limits.tokens_per_chunk > 7


def test_they_are_no_hyper_parameters(tmp_path):
    assert repr(CHAIN) == "Chain(order=2)"
    assert "limits" not in CHAIN.get_params()
    tw.save(tw.Generative(CHAIN).fit(X, Y), tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").structure.limits == tw.Chain().limits


def test_limits_of_retrieval_are_those_of_its_alignments():
    limited = tw.Retrieval().with_limits(cells_per_chunk=5)
    batch = limited.bind([("AB", ["A"])]).pack([("AB", ["A"])])
    assert batch.limits.cells_per_chunk == batch.pairs.limits.cells_per_chunk == 5


def test_an_unknown_limit_is_refused():
    with pytest.raises(TypeError, match="cells_per_chunk"):
        tw.Chain().with_limits(cells_per_chunk=1)
