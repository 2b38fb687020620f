"""Kneser-Ney model of pieces: how probable a piece is after those before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._stored import fitting, numbers, whole
from trelliswork.language import NGramModel
from trelliswork.structures.transducer.features import Grams
from trelliswork.structures.transducer.pieces import Aligned

__all__ = ["PieceLaw"]

_MORE = 2  # pieces of a context that write nothing
_KEPT = 1 << 22  # pairs of a context and a piece whose probabilities are kept all together


class PieceLaw:
    """Joint n-gram model of inputs and outputs.

    Every piece, and the end, is drawn given the state of the lattice, a context of the last pieces, by
    interpolated Kneser-Ney smoothing from its context to shorter ones.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, width)
        Pieces, and the pieces before them.
    counts : ndarray of shape (n_rows,)
        How often each row occurs.
    grams : Grams
        States and pieces.
    """

    def __init__(self, rows: np.ndarray, counts: np.ndarray, grams: Grams):
        self.rows, self.counts, self.grams = rows, counts, grams
        tables, totals = [], []
        for k in range(1, grams.order + _MORE + 2):
            table, place = np.unique(rows[:, rows.shape[1] - k :], axis=0, return_inverse=True)
            tables.append(table)
            totals.append(np.bincount(place.ravel(), counts))
        # One model for every length of contexts, as the longest n-grams are counted in another way.
        self.models = []
        for n in range(1, len(tables) + 1):
            model = NGramModel(n)
            stored = {"symbols": list(range(grams.pieces.end)), "tables": tables[:n], "counts": totals[:n]}
            try:
                model.__tw_restore__(stored)
            except ValueError as error:
                raise InputError(f"a stored transducer is damaged: {error}") from None
            self.models.append(model)
        self._table: np.ndarray | None = None

    @classmethod
    def observed(cls, grams: Grams, aligned: Aligned, n: int) -> PieceLaw:
        """Counts in the alignments of ``n`` samples."""
        from trelliswork.dp.transducer.paths import histories

        width, end = np.int64(grams.order + _MORE), np.int64(grams.pieces.end)
        rows = histories(aligned.offsets(n), aligned.piece, width, end)
        rows, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(rows, counts.astype(np.float64), grams)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], grams: Grams) -> PieceLaw:
        """Model with stored counts, which are not trusted."""
        width = grams.order + _MORE + 1
        symbols = grams.pieces.end + 2  # the last stands before the start
        stored = fitting(
            state,
            {"law_rows": whole("rows", width, high=symbols), "law_counts": numbers("rows", low=0)},
            "alignments",
        )
        return cls(stored["law_rows"], stored["law_counts"], grams)

    def state(self) -> dict[str, Any]:
        """Counts as plain arrays."""
        return {"law_rows": self.rows, "law_counts": self.counts}

    def log_p(self, joins: np.ndarray) -> np.ndarray:
        """Log-probability of the piece of every join after its state."""
        n, contexts = len(self.grams.pieces), self.grams.contexts.contexts
        if n * len(contexts) <= _KEPT:
            if self._table is None:
                self._table = np.log(np.array([self.models[len(c)].after(c)[:n] for c in contexts]))
            return self._table[joins[:, 0], joins[:, 1]]
        out, lengths = np.empty(len(joins)), np.array([len(c) for c in contexts])[joins[:, 0]]
        for length in np.unique(lengths).tolist():
            some = np.flatnonzero(lengths == length)
            before = np.array([contexts[state] for state in joins[some, 0].tolist()], dtype=np.int64)
            rows = np.concatenate([before.reshape(some.size, length), joins[some, 1:2]], axis=1)
            out[some] = self.models[length].of_ngrams(rows)
        return np.log(out)
