"""Contexts of symbols kept as observed: an automaton whose states are the contexts, with shorter ones to
fall back to.

States are the observed substrings of a few symbols (and the empty one); after a symbol comes the state of
the longest suffix that is one. Its size grows with what was observed and not with the number of all
n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trelliswork._ngrams import Coded, ngram_windows

__all__ = ["Contexts"]

_FREE = 2  # most symbols of a context that do not count


class Contexts:
    """Automaton of observed contexts.

    Parameters
    ----------
    n_symbols : int
        Size of the alphabet; the code ``n_symbols`` marks the start of a string.
    contexts : sequence of tuples of int
        Observed contexts, with every suffix of each; the empty one may be left out.

    Attributes
    ----------
    contexts : list of tuples of int
        Context of every state, shorter ones first; state 0 is the empty one.
    suffix : ndarray of shape (n_states,)
        State of the context without its first symbol; 0 for state 0.
    step : ndarray of shape (n_states, n_symbols)
        State after each symbol.
    start : int
        State before the first symbol.
    """

    def __init__(self, n_symbols: int, contexts: Sequence[tuple[int, ...]]):
        self.n_symbols = n_symbols
        self.contexts = sorted({(), *contexts}, key=lambda c: (len(c), c))
        number = {context: state for state, context in enumerate(self.contexts)}
        n = len(self.contexts)
        self.suffix = np.array([number[c[1:]] for c in self.contexts], dtype=np.int64)
        self.step = np.zeros((n, n_symbols), dtype=np.int32)
        children: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for state, context in enumerate(self.contexts):
            if context and context[-1] < n_symbols:
                parent = number.get(context[:-1])
                if parent is not None:
                    children[parent].append((context[-1], state))
        for state in range(n):  # suffixes come first, as they are shorter
            if state:
                self.step[state] = self.step[self.suffix[state]]
            for symbol, target in children[state]:
                self.step[state, symbol] = target
        self.start = number.get((n_symbols,), 0)

    @classmethod
    def observed(
        cls, codes: Coded, n_symbols: int, longest: int, min_count: int = 1, free: np.ndarray | None = None
    ) -> Contexts:
        """Contexts of up to ``longest`` symbols that occur before some symbol or the end at least
        ``min_count`` times.

        Parameters
        ----------
        codes : Coded
            Strings of symbol codes.
        n_symbols : int
            Size of the alphabet.
        longest : int
            Most symbols of a context.
        min_count : int
            Rarer contexts fall back to shorter ones.
        free : ndarray of bool or None
            Symbols that do not count as one of the ``longest``; at most two of them.
        """
        marked = Coded(
            np.insert(codes.values, codes.offsets[:-1], n_symbols),
            codes.offsets + np.arange(codes.offsets.size),
        )
        kept: list[tuple[int, ...]] = [(n_symbols,)] if longest else []
        costs = np.ones(n_symbols + 1, dtype=np.int64)
        if free is not None:
            costs[:-1][free] = 0
        for length in range(1, longest + 1 + _FREE * (free is not None and longest > 0)):
            rows, _ = ngram_windows(marked, length)
            rows = rows[costs[rows[:, 1:]].sum(axis=1) < longest]
            table, counts = np.unique(rows, axis=0, return_counts=True)
            kept += map(tuple, table[counts >= min_count].tolist())
        return cls(n_symbols, kept)
