"""Scores of loops as one flat table: what each entry stands for.

A structure is the sum of its loops; every loop is scored by a few entries of the table, which the features
of ``structures/rna/features.py`` are mapped to:

* every pair: ``PAIR[kind]``;
* two pairs stacked: ``STACK[outer kind, inner kind]``;
* a bulge of one base: ``BULGE_STACK[outer, inner] + BULGE_BASE[base] + LENGTH[0, 1]`` (or ``[1, 0]``);
* any other bulge or internal loop: ``LENGTH[left, right]`` and, for both of its pairs seen from the
  loop, ``END[class, kind, 3' neighbour, 5' neighbour]``; classes tell bulges, 1x1, 1xn and other loops apart;
* three pairs stacked: ``TRIPLE[outer, middle, inner]`` besides;
* a hairpin: ``HAIRPIN[length]`` (the last entry for all longer ones), ``END[class HAIRPIN_END]``, and
  ``LOOP_3``, ``LOOP_4`` or ``LOOP_6`` of its bases where it has three, four or six;
* a multiloop: ``MULTI``, ``MULTI_BASE`` for every unpaired base, ``END[class MULTI_END]`` for every pair;
* outside of all pairs: ``OUTER_BASE`` for every unpaired base, ``END[class OUTER_END]`` for every pair;
* ``LONELY`` for a pair with no other stacked on it, ``HELIX[length - 2]`` for a helix of two to four pairs.

Neighbours that do not exist or are not known have the number 4. Tables without ``LOOP_6`` end before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "BULGE_BASE",
    "BULGE_END",
    "BULGE_STACK",
    "END",
    "HAIRPIN",
    "HAIRPIN_END",
    "HELIX",
    "LENGTH",
    "LONELY",
    "LONGEST",
    "LOOP_3",
    "LOOP_4",
    "LOOP_6",
    "MOST_STACKED",
    "MULTI",
    "MULTI_BASE",
    "MULTI_END",
    "N_ENDS",
    "N_ENTRIES",
    "ONE_BY_MANY_END",
    "ONE_BY_ONE_END",
    "OTHER_END",
    "OUTER_BASE",
    "OUTER_END",
    "PAIR",
    "SIZE",
    "STACK",
    "TRIPLE",
    "WHOLE",
    "Problem",
    "n_cells",
]

LONGEST = 30  # lengths that have an entry of their own
# Classes of ``END``; the first four are those of internal loops.
BULGE_END, ONE_BY_ONE_END, ONE_BY_MANY_END, OTHER_END, HAIRPIN_END, MULTI_END, OUTER_END = range(7)
N_ENDS = 150  # entries of one class: 6 kinds of pairs, 5 x 5 neighbours

PAIR = 0
STACK = PAIR + 6
BULGE_STACK = STACK + 36
BULGE_BASE = BULGE_STACK + 36
HAIRPIN = BULGE_BASE + 5
LENGTH = HAIRPIN + LONGEST + 1
END = LENGTH + (LONGEST + 1) ** 2
LOOP_3 = END + 7 * N_ENDS
LOOP_4 = LOOP_3 + 64
MULTI = LOOP_4 + 256
MULTI_BASE = MULTI + 1
OUTER_BASE = MULTI_BASE + 1
LONELY = OUTER_BASE + 1
HELIX = LONELY + 1
TRIPLE = HELIX + 3
SIZE = TRIPLE + 216
LOOP_6 = SIZE
WHOLE = LOOP_6 + 4096
N_ENTRIES = 5  # that one loop or stretch uses at most, beside unpaired bases of a multiloop
MOST_STACKED = 4  # states of stacked pairs where lengths of helices count: second, third, fourth, any later


class Problem(NamedTuple):
    """A sequence and the scores of its loops.

    Cells are pairs i <= j less than ``window`` apart, row by row: cell (i, j) is number ``offset[i] + j``.
    """

    seq: np.ndarray  # bases
    table: np.ndarray  # as in above; logarithms, or weights
    pair: (
        np.ndarray
    )  # of every cell, with scores of unpaired bases taken off (see ``lookup.absorbed``); or empty
    forced: np.ndarray  # bases that must be paired
    offset: np.ndarray
    min_hairpin: int
    max_loop: int
    window: int
    stacked: int  # states of stacked pairs: 1, or MOST_STACKED if lengths of helices count


def n_cells(n: Any, window: int) -> Any:
    """Number of cells of sequences of ``n`` bases (numbers or arrays)."""
    w = np.minimum(n, window)
    return n * w - w * (w - 1) // 2
