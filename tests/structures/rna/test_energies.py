"""Energies of a parameter file as weights."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import RNA, InputError
from trelliswork.structures import energy_weights

NEAREST = RNA("nearest-neighbour", groups=("hairpin loops", "hexaloops"))


def test_structures_have_about_their_energies():
    vienna = pytest.importorskip("RNA")
    weights = energy_weights(NEAREST)
    for x, y in (
        ("GGGGAAAACCCC", "((((....))))"),
        ("GGGACUUCGGUCCC", "(((((....)))))"),
        ("AGGCACGAAAGUGCCA", ".(((((....)))))."),
        ("GGGAGGCAAAAGCCAGGCAAAAGCCACCC", "(((.(((....))).(((....))).)))"),
        ("GGCAGGAAACCAAGCC", "(((.((...))..)))"),
        ("GGGCCAAAAGGACCC", "(((((....)).)))"),
    ):
        batch = NEAREST.bind().pack([x], [y])
        ours = -0.61632 * batch.gold_values(batch.scores(weights))[0]
        assert ours == pytest.approx(vienna.fold_compound(x).eval_structure(y), abs=1.5)


def test_files_that_hold_no_energies(tmp_path):
    path = tmp_path / "energies.par"
    path.write_text("## RNAfold parameter file v2.0\n\n# stack\n1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="stack"):
        energy_weights(NEAREST, path)
    path.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="parameter file"):
        energy_weights(NEAREST, path)
    with pytest.raises(InputError, match="nearest"):
        energy_weights(RNA())


def test_energies_of_features_that_the_file_does_not_speak_of():
    pytest.importorskip("RNA")
    structure = RNA("nearest-neighbour", groups=("triples", "helix lengths"))
    names = structure.bind().feature_names
    weights = dict(zip(names, energy_weights(structure), strict=True))
    assert {abs(weights[name]) < 1e-6 for name in names if name[0] in ("triple", "helix length")} == {True}
    assert weights["stacking", "5'-GC-3' 3'-CG-5'"] == pytest.approx(3.4 / 0.61632, abs=0.1)
    assert np.isfinite(list(weights.values())).all()
