"""Arrays that the solvers for label chains are called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Features", "Limits", "Planes", "Sequences", "Sums", "TrueLabels", "Weights"]


class Features(NamedTuple):
    """Features of tokens.

    Distinct feature rows of all blocks as CSR arrays (an empty ``data`` may stand for ones), and the rows
    of each token, shape (n_tokens, n_blocks), -1 for none.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    token_rows: np.ndarray


class Limits(NamedTuple):
    """Hard constraints."""

    mask: np.ndarray  # (n_labels, n_labels), 0 where a transition is allowed, -inf where it is forbidden
    start_ok: np.ndarray  # (n_labels,) of bool, allowed first labels
    end_ok: np.ndarray  # (n_labels,) of bool, allowed last labels


class Sequences(NamedTuple):
    """Tokens of each sequence, true labels, and the loss of every label (n_tokens, n_labels)."""

    offsets: np.ndarray
    gold: np.ndarray
    costs: np.ndarray


class Weights(NamedTuple):
    """Weights of attributes and labels, which of them exist, and weights of transitions ``[from, to]``."""

    emission: np.ndarray  # (n_attributes, n_labels)
    stored: np.ndarray  # of bool, of the same shape, or with no rows: all
    trans: np.ndarray


class TrueLabels(NamedTuple):
    """Tokens of each sequence, and what their labels are known to be."""

    offsets: np.ndarray
    gold: np.ndarray  # (n_tokens,); those of sequences known in part are filled in anew at every visit
    opened: np.ndarray  # (n_sequences,) of bool, or empty: which sequences are known in part
    possible: np.ndarray  # (n_tokens, n_labels) of bool, or no rows: labels that agree with what is known


class Sums(NamedTuple):
    """Sums over the visits so far of what ``Weights`` has for now."""

    emission: np.ndarray
    trans: np.ndarray


class Planes(NamedTuple):
    """Label sequences that are remembered, see ``dp/solvers/chain_ascent.py``, and their dual variables."""

    n_planes: np.ndarray
    labels: np.ndarray
    height: np.ndarray
    beta: np.ndarray
    gram: np.ndarray
    idle: np.ndarray
    mass: np.ndarray
