"""The law check itself: it must notice what is broken."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import RNA, Chain, Derivations, Edge, Unsupported
from trelliswork.structures import Decoded, Parts
from trelliswork.structures.abilities import Labelled, LossProfiles, require, unsupported
from trelliswork.structures.chain.batch import ChainBatch
from trelliswork.testing import _structure_laws, check_structure

X, Y = [["a", "b"], ["b"]], [["X", "Y"], ["X"]]


def shifted(method, change):
    def broken(self, *args, **kwargs):
        return change(method(self, *args, **kwargs))

    return broken


@pytest.mark.parametrize(
    ("verb", "law", "change"),
    [
        ("argmax", "argmax", lambda d: Decoded(d.codes, d.values + 1e-3)),
        ("kbest", "kbest", lambda found: [Decoded(d.codes[:1], d.values[:1]) for d in found]),
        ("log_partition", "log_partition", lambda z: z + 1e-3),
        ("marginals", "marginals", lambda p: p * 1.001),
        ("expect", "expect", lambda pair: (pair[0], pair[1] * 1.001)),
        ("tangent", "tangent", lambda p: p * 1.001),
        ("moments", "moments", lambda m: m._replace(covariance=m.covariance * 1.001)),
        ("pull", "features", lambda v: v * 1.001),
        ("sample", "sample", lambda draws: draws[:1] * len(draws)),
        ("mismatch", "costs", lambda pair: (pair[0], pair[1] + 1)),
        ("loss_profile", "loss_profile", lambda p: p + 1e-3),
        ("unpack", "round trip", lambda rows: [row[::-1] for row in rows]),
    ],
)
def test_notices(monkeypatch, verb, law, change):
    monkeypatch.setattr(ChainBatch, verb, shifted(getattr(ChainBatch, verb), change))
    with pytest.raises(AssertionError, match=f"Chain: law '{law}'"):
        check_structure(Chain(), X, Y)


def test_abilities_that_lack_are_skipped(monkeypatch):
    def refused(batch, ability):
        raise unsupported(Chain, ability)

    monkeypatch.setattr(_structure_laws, "require", refused)
    done = check_structure(Chain(), X, Y)
    assert [line.split(":")[0] for line in done.skipped] == ["loss_profile", "store", "partly known"]
    assert "argmax" in done.laws


def test_unsupported_message():
    batch = RNA("g6").bind(["GAAAC"], ["(...)"]).pack(["GAAAC"])
    assert not RNA.offers(Labelled)
    able = r"RNA does not offer weights and costs of labels .*; these structures do: Chain, Classes"
    with pytest.raises(Unsupported, match=able):
        require(batch, Labelled)
    assert require(batch, LossProfiles) is batch


def test_unpicklable_structures_are_said_so():
    structure = Derivations(lambda x: [Edge("root", part="P"), Edge("root", part="Q")])
    done = check_structure(structure, ["x"], [["P"]])
    assert len(done.skipped) == 1
    assert done.skipped[0].startswith("pickle: the structure cannot be pickled")


def test_ambiguous_outputs_are_noticed():
    structure = Derivations(lambda x: [Edge("root", part="P"), Edge("root", part="P")])
    with pytest.raises(AssertionError, match=r"sample 0: \['P'\] is listed twice"):
        check_structure(structure, ["x"], [["P"]])


def test_large_inputs_are_refused():
    with pytest.raises(ValueError, match="sample 0 has more than"):
        check_structure(Chain(), [["a"] * 12], [["X", "Y"] * 6])


def test_parts_are_a_vector_space():
    a = Parts(edge=np.array([1.0, 2.0]))
    assert (a - 0.5 * a).edge.tolist() == [0.5, 1.0]
