"""Arrays that the recursions over label chains are called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Automata", "Contexts", "Expected", "Groups", "ScaledTrellis", "Sums", "Trellis"]


class Trellis(NamedTuple):
    """Scores with costs added and everything forbidden at -inf."""

    unary: np.ndarray  # (n_tokens, n_labels)
    trans: np.ndarray  # (n_tables, n_contexts, n_labels)
    which: np.ndarray  # table of each sequence
    edge: np.ndarray  # (n_tokens, n_labels, n_labels) or empty


class ScaledTrellis(NamedTuple):
    """Token scores, and transitions as factors ``exp(trans - top)``, top the largest score of a table."""

    unary: np.ndarray
    factors: np.ndarray
    top: np.ndarray
    room: np.ndarray  # how far the token scores of one step may lie apart, per table
    which: np.ndarray


class Contexts(NamedTuple):
    """Contexts of the labels (see ``dp/chain/any_order.py``), and the tokens of each sequence."""

    successor: np.ndarray
    level_ptr: np.ndarray
    offsets: np.ndarray


class Groups(NamedTuple):
    """Tokens of each sequence, and sequences side by side.

    Group ``g`` holds sequences ``members[group_ptr[g]:group_ptr[g + 1]]``, longest first.
    """

    offsets: np.ndarray
    members: np.ndarray
    group_ptr: np.ndarray


class Automata(NamedTuple):
    """One deterministic automaton per sequence, see ``dp/chain/automaton.py``."""

    layers: np.ndarray
    width: np.ndarray
    symbol: np.ndarray
    table_ptr: np.ndarray
    state_ptr: np.ndarray
    step: np.ndarray
    cost: np.ndarray
    final: np.ndarray


class Expected(NamedTuple):
    """Where the expected use of the parts goes.

    ``unary`` and ``edge`` are overwritten; transitions of sequence ``s`` are added to ``trans[into[s]]``.
    """

    unary: np.ndarray
    trans: np.ndarray
    into: np.ndarray
    edge: np.ndarray


class Sums(NamedTuple):
    """Where the sums over some groups go.

    ``log_z`` and ``failed`` (n_sequences,); ``unary`` (n_tokens, n_labels) for the token marginals, with no
    rows if these are not wanted; ``trans`` (n_contexts, n_labels), to which expected transitions are added.
    """

    log_z: np.ndarray
    unary: np.ndarray
    trans: np.ndarray
    failed: np.ndarray
