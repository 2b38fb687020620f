"""Rules of the RNA grammars as columns of a table; the grammars are in ``dp/rna/viterbi.py``."""

from __future__ import annotations

import numpy as np

__all__ = ["BASE", "BASES", "F_LS", "F_PAIR", "KIND", "L_PAIR", "N_RULES", "PAIRS", "S_L", "S_LS", "UNKNOWN"]

BASES = "ACGU"
UNKNOWN = 4  # a base that is not known: always unpaired, no rule of its own
PAIRS = ("AU", "UA", "GC", "CG", "GU", "UG")

# Columns: S -> L S, S -> L, F -> L S, then L -> base, L -> pair, F -> pair.
S_LS, S_L, F_LS, BASE, L_PAIR, F_PAIR, N_RULES = 0, 1, 2, 3, 7, 13, 19

# Number in ``PAIRS`` of two bases, -1 if they do not pair.
KIND = np.full((5, 5), -1)
for _kind, _pair in enumerate(PAIRS):
    KIND[BASES.index(_pair[0]), BASES.index(_pair[1])] = _kind
