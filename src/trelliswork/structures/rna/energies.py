"""Published energies of loops as weights of the nearest-neighbour model.

Read from a parameter file of ViennaRNA, or from an installed ViennaRNA; none comes with the package. Energies
that the model has no weight for (internal loops of 1x2 and 2x2 bases by their bases, among others) go into
those that it has, by least squares.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.dp.rna.nearest import layout
from trelliswork.dp.rna.nearest.layout import LONGEST
from trelliswork.dp.rna.rules import BASES, KIND, PAIRS

__all__ = ["energy_weights"]

_THERMAL = 61.632  # energy of a degree of freedom at 37 degrees, in units of 0.01 kcal/mol
_ORDER = ("CG", "GC", "GU", "UG", "AU", "UA")  # pairs of a parameter file; a seventh stands for any other
_WIDTH = LONGEST + 1
_RIDGE = 1e-3


class _Energies:
    """Sections of a parameter file as arrays; pairs and bases in the order of this package."""

    def __init__(self, text: str):
        text = re.sub(r"/\*.*?\*/", " ", text)
        sections = dict(re.findall(r"^# (\S+)\s*\n(.*?)(?=^#|\Z)", text, re.M | re.S))
        self.text = sections
        self.kinds = [_ORDER.index(pair) for pair in PAIRS]

    def numbers(self, name: str) -> np.ndarray:
        """All numbers of a section."""
        known = {"DEF": -50.0, "INF": np.inf}
        try:
            words = self.text[name].split()
            return np.array([known[w] if w in known else float(w) for w in words])
        except (KeyError, ValueError):
            raise InputError(f"no energies {name!r}; expected a parameter file of ViennaRNA") from None

    def table(self, name: str, *shape: int) -> np.ndarray:
        """A section of an array; the first axes of seven are pairs, those of five are bases."""
        values = self.numbers(name)
        if values.size != np.prod(shape):
            raise InputError(f"energies {name!r} are {values.size} numbers; expected {np.prod(shape)}")
        values = values.reshape(shape)
        for axis, size in enumerate(shape):
            if size in (6, 7):
                values = values.take(self.kinds, axis=axis)
            elif size == 5:
                values = values.take([1, 2, 3, 4, 0], axis=axis)
        return values

    def loops(self, name: str) -> dict[str, float]:
        """Whole hairpins, with the pair around them."""
        words = self.text.get(name, "").split()
        return {bases: float(energy) for bases, energy in zip(words[::3], words[1::3])}


def _ends(read: _Energies, end: np.ndarray) -> None:
    """Ends of helices, by class, pair and neighbours."""
    weak = np.array([0.0 if set(pair) == {"C", "G"} else read.numbers("Misc")[2] for pair in PAIRS])
    end[layout.BULGE_END] = weak[:, None, None]
    end[layout.HAIRPIN_END] = read.table("mismatch_hairpin", 7, 5, 5)
    end[layout.ONE_BY_MANY_END] = read.table("mismatch_internal_1n", 7, 5, 5)
    end[layout.OTHER_END] = read.table("mismatch_internal", 7, 5, 5)
    turned = [pair ^ 1 for pair in range(6)]  # a pair seen from the other side
    five, three = read.table("dangle5", 7, 5), read.table("dangle3", 7, 5)
    for kind, name in ((layout.MULTI_END, "mismatch_multi"), (layout.OUTER_END, "mismatch_exterior")):
        both = read.table(name, 7, 5, 5)[turned].transpose(0, 2, 1)
        both[:, 4, :4], both[:, :4, 4], both[:, 4, 4] = five[turned, :4], three[turned, :4], 0.0
        end[kind] = both + weak[:, None, None]
    end[layout.MULTI_END] += read.numbers("ML_params")[4]


def _internal(read: _Energies, end: np.ndarray) -> np.ndarray:
    """Lengths of bulges and internal loops; also fills the ends of 1x1 loops."""
    bulge, internal = read.numbers("bulge"), read.numbers("internal")
    per_base, _, most = read.numbers("NINIO")
    length = np.zeros((_WIDTH, _WIDTH))
    length[0, 1:], length[1:, 0] = bulge[1:], bulge[1:]
    for a in range(1, _WIDTH):
        for b in range(1, _WIDTH - a):
            length[a, b] = internal[a + b] + min(most, per_base * abs(a - b))
    one = read.table("int11", 7, 7, 5, 5)[:6, :6, :4, :4]
    length[1, 1] = one.mean()
    pairs, bases = one.mean(axis=(1, 2, 3)) - one.mean(), one.mean(axis=(0, 1)) - one.mean()
    end[layout.ONE_BY_ONE_END] = pairs[:, None, None]
    end[layout.ONE_BY_ONE_END, :, :4, :4] += bases / 2
    known = end[:, :, :4, :4].mean(axis=(1, 2, 3))
    small = read.table("int21", 7, 7, 5, 5, 5)[:, :, :4, :4, :4].mean()
    length[1, 2] = length[2, 1] = small - 2 * known[layout.ONE_BY_MANY_END]
    length[2, 2] = read.numbers("int22").mean() - 2 * known[layout.OTHER_END]
    return length


def _table(read: _Energies) -> np.ndarray:
    """Energies of the entries of the table of ``dp/rna/nearest``; infinite where there is none."""
    table = np.full(layout.WHOLE, np.inf)
    stack = read.table("stack", 7, 7)[:, [pair ^ 1 for pair in range(6)]]
    table[layout.PAIR : layout.STACK] = 0.0
    table[layout.STACK : layout.BULGE_STACK] = stack.ravel()
    table[layout.BULGE_STACK : layout.BULGE_BASE] = stack.ravel()
    table[layout.BULGE_BASE : layout.HAIRPIN] = 0.0
    table[layout.HAIRPIN : layout.LENGTH] = read.numbers("hairpin")
    end = np.zeros((7, 6, 5, 5))
    _ends(read, end)
    table[layout.LENGTH : layout.END] = _internal(read, end).ravel()
    # The bases next to the pair of a loop of three have no energy; here they have one on average.
    table[layout.HAIRPIN + 3] -= end[layout.HAIRPIN_END, :, :4, :4].mean()
    lengths = np.add.outer(np.arange(_WIDTH), np.arange(_WIDTH)).ravel()
    table[layout.LENGTH : layout.END][(lengths == 0) | (lengths > LONGEST)] = np.inf
    inner = end[: layout.MULTI_END]
    inner[:, :, 4, :], inner[:, :, :, 4] = np.inf, np.inf
    table[layout.END : layout.LOOP_3] = end.ravel()
    table[layout.LOOP_3 : layout.MULTI] = 0.0
    table[layout.LOOP_6 : layout.WHOLE] = 0.0
    table[layout.MULTI] = read.numbers("ML_params")[2]
    table[layout.MULTI_BASE], table[layout.OUTER_BASE] = read.numbers("ML_params")[0], 0.0
    table[layout.LONELY : layout.SIZE] = 0.0
    for name, start in (
        ("Triloops", layout.LOOP_3),
        ("Tetraloops", layout.LOOP_4),
        ("Hexaloops", layout.LOOP_6),
    ):
        for hairpin, energy in read.loops(name).items():
            code = [BASES.index(base) for base in hairpin]
            kind = KIND[code[0], code[-1]]
            plain = table[layout.HAIRPIN + len(code) - 2] + end[layout.HAIRPIN_END, kind, code[1], code[-2]]
            entry = start + sum(base * 4**place for place, base in enumerate(reversed(code[1:-1])))
            table[entry] = energy - plain
    return table


def _installed() -> str:
    """The parameters of an installed ViennaRNA."""
    try:
        import RNA as vienna
    except ImportError:
        raise ImportError("energies need ViennaRNA, or its parameter file: pip install ViennaRNA") from None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "energies.par")
        vienna.params_save(path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def energy_weights(structure: Any, path: str | os.PathLike[str] | None = None) -> np.ndarray:
    """Weights of a nearest-neighbour model out of published energies: a prior for a CRF, or a model.

    Parameters
    ----------
    structure : RNA
        ``RNA("nearest-neighbour")``, with any groups.
    path : path or None, default=None
        Parameter file of ViennaRNA; without one, the parameters of an installed ViennaRNA.

    Returns
    -------
    weights : ndarray of shape (n_features,)
        Energies at 37 degrees in units of minus the thermal energy; features that they say nothing of have 0.

    Examples
    --------
    ::

        structure = tw.RNA("nearest-neighbour")
        energies = tw.structures.energy_weights(structure)
        model = tw.CRF(structure, prior=energies).fit(X, y)
    """
    if structure.grammar != "nearest-neighbour":
        raise InputError("energies are for RNA('nearest-neighbour')")
    if path is None:
        text = _installed()
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    space = structure.bind()
    target = -_table(_Energies(text))[: space.map.shape[0]] / _THERMAL
    told = np.isfinite(target)
    used = space.map[told]
    gram = (used.T @ used).toarray()
    gram[np.diag_indices_from(gram)] += _RIDGE
    weights: np.ndarray = np.linalg.solve(gram, used.T @ target[told])
    return weights
