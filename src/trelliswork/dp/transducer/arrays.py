"""Arrays that the recursions of transducers are called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Arcs", "Attributes", "Factors", "Lattice", "Sums"]


class Arcs(NamedTuple):
    """Pieces at the positions of inputs; see ``dp/transducer/pairs.py``."""

    ptr: np.ndarray
    length: np.ndarray
    piece: np.ndarray


class Lattice(NamedTuple):
    """Outputs as paths; see ``dp/transducer/lattice.py``."""

    graph_ptr: np.ndarray
    node_ptr: np.ndarray
    place: np.ndarray
    tail: np.ndarray
    arc: np.ndarray
    join: np.ndarray

    @property
    def edge_ptr(self) -> np.ndarray:
        """Where the edges of each sample begin."""
        return self.node_ptr[self.graph_ptr]


class Factors(NamedTuple):
    """Exponentials of the scores of arcs and joins, each with a 1 at its end; ``shift`` of every node."""

    arc: np.ndarray
    shift: np.ndarray
    join: np.ndarray


class Sums(NamedTuple):
    """Log sums of samples; expected arcs and joins of all samples together, to which is added."""

    log_z: np.ndarray
    arc: np.ndarray
    join: np.ndarray


class Attributes(NamedTuple):
    """Substrings around pieces, and the pieces with which each makes a feature.

    ``table`` and ``places`` are the hash table from keys to numbers of attributes; the pieces of attribute
    ``t`` are ``piece[ptr[t]:ptr[t + 1]]``. Attributes lie within ``window`` symbols of a piece, and have at
    most ``longest``.
    """

    table: np.ndarray
    places: np.ndarray
    ptr: np.ndarray
    piece: np.ndarray
    window: int
    longest: int
