"""Label n-grams kept as observed: contexts are those before some n-gram, with shorter ones to fall back to.

Numbers of contexts: first the labels, as contexts of the second token of a sequence; then, for all later
tokens, the single labels again and the longer contexts. So there are two levels (see
``dp/chain/any_order.py``) whatever the order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._ngrams import Coded, ngram_windows
from trelliswork.structures.backoff import Contexts

if TYPE_CHECKING:
    from trelliswork.structures.chain.backoff import Entries

__all__ = ["Failures", "SparseContexts", "observed_grams"]

Gram = tuple[int, ...]


def observed_grams(codes: np.ndarray, offsets: np.ndarray, order: int, sure: np.ndarray) -> list[Gram]:
    """Distinct n-grams of 2 to ``order + 1`` labels, all of them ``sure``; shortest first."""
    if not sure.all():  # the stretches in between are sequences of their own
        offsets = np.union1d(offsets, np.flatnonzero(~sure))
        offsets = np.searchsorted(np.flatnonzero(sure), offsets)
        codes = codes[sure]
    rows = Coded(codes, offsets)
    out: list[Gram] = []
    for n in range(2, order + 2):
        out += map(tuple, np.unique(ngram_windows(rows, n)[0], axis=0).tolist())
    return out


class Failures(NamedTuple):
    """Steps that contexts do not leave to shorter ones, for the recursion of ``dp/chain/sparse.py``.

    Contexts are numbered from the single labels on; those make all steps themselves.

    Attributes
    ----------
    suffix : ndarray of shape (n_contexts,)
        Context without its first label; -1 for single labels.
    pair_ptr : ndarray of shape (n_contexts + 1,)
        Where the own steps of each context begin.
    label : ndarray of shape (n_pairs,)
        Their labels, ascending for each context.
    target : ndarray of shape (n_pairs,)
        Contexts after them.
    up : ndarray of shape (n_pairs,)
        The same step of the suffix; -1 for single labels.
    child_ptr, child : ndarray
        Contexts that have each context as their suffix.
    """

    suffix: np.ndarray
    pair_ptr: np.ndarray
    label: np.ndarray
    target: np.ndarray
    up: np.ndarray
    child_ptr: np.ndarray
    child: np.ndarray


class SparseContexts:
    """Contexts of given n-grams.

    Parameters
    ----------
    grams : iterable of tuples of int
        Label n-grams of at least two labels that have weights.
    n_labels : int
        Number of labels.
    allowed : ndarray of bool, shape (n_labels, n_labels)
        Allowed transitions ``[from, to]``; n-grams with others are dropped.

    Attributes
    ----------
    ngrams : list of tuples of int
        The n-grams, shortest first.
    successor : ndarray of shape (n_contexts, n_labels)
        Context after each label.
    level_ptr : ndarray of shape (3,)
        Bounds of the two levels.
    matrix : csr_matrix of shape (n_contexts * n_labels, n_ngrams)
        Row (context, label) sums the weights of the n-grams that end there.
    mask : ndarray of bool, shape (n_contexts, n_labels)
        Allowed steps.
    """

    def __init__(self, grams: Iterable[Gram], n_labels: int, allowed: np.ndarray):
        kept = {g for g in grams if all(allowed[a, b] for a, b in itertools.pairwise(g))}
        self.ngrams = sorted(kept, key=lambda g: (len(g), g))
        self.n_labels = n_labels
        parts = {g[i:j] for g in self.ngrams for i in range(len(g) - 1) for j in range(i + 1, len(g))}
        self._automaton = Contexts(n_labels, [*parts, *((b,) for b in range(n_labels))])
        n = len(self._automaton.contexts) - 1  # without the empty one, which comes first
        step = self._automaton.step[1:].astype(np.int64) + n_labels - 1
        self.successor = np.concatenate([step[:n_labels], step])
        self.level_ptr = np.array([0, n_labels, n_labels + n], dtype=np.int64)
        last = np.array([c[-1] for c in self._automaton.contexts[1:]], dtype=np.int64)
        self.mask = allowed[np.concatenate([np.arange(n_labels), last])]
        self.matrix = self._matrix()

    def _matrix(self) -> sp.csr_matrix:
        contexts, k = self._automaton.contexts, self.n_labels
        number = {context: q for q, context in enumerate(contexts)}
        context_of = np.array([number[g[:-1]] for g in self.ngrams], dtype=np.int64)
        label = np.array([g[-1] for g in self.ngrams], dtype=np.int64)
        shape = (len(contexts), k)
        numbers = sp.csr_matrix(
            (np.arange(1, context_of.size + 1), (context_of, label)), shape
        )  # numbers of weights, from 1
        rows, columns = [], []
        state = np.arange(1, len(contexts))
        place = state.copy()
        while state.size:
            entries = numbers[state].tocoo()
            rows.append((place[entries.row] - 1 + k) * k + entries.col)
            columns.append(entries.data - 1)
            state = self._automaton.suffix[state]
            place, state = place[state > 0], state[state > 0]
        row, column = np.concatenate(rows), np.concatenate(columns)
        first = row < 2 * k * k  # single labels, which are also the contexts of second tokens
        row, column = np.concatenate([row, row[first] - k * k]), np.concatenate([column, column[first]])
        size = self.successor.shape[0] * k
        return sp.csr_matrix((np.ones(row.size), (row, column)), shape=(size, len(self.ngrams)))

    def before(self, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Context before each token, -1 at the first token of a sequence."""
        from trelliswork.dp.chain.sparse import contexts_before

        return contexts_before(labels, offsets, self.successor)

    @cached_property
    def steps(self) -> np.ndarray:
        """Context after each label, contexts numbered from the single labels on."""
        return np.ascontiguousarray(self.successor[self.n_labels :] - self.n_labels)

    @cached_property
    def entries(self) -> Entries:
        """Steps as entries of a sparse product."""
        from trelliswork.structures.chain.backoff import Entries

        last = np.array([c[-1] for c in self._automaton.contexts[1:]], dtype=np.int64)
        return Entries.of(self.failures, last)

    @cached_property
    def failures(self) -> Failures:
        """Own steps of every context; the others are those of its suffix."""
        contexts, k = self._automaton.contexts[1:], self.n_labels
        number = {context: q for q, context in enumerate(contexts)}
        wanted = {g[i:] for g in self.ngrams for i in range(len(g) - 2)}
        wanted |= {c[i:] for c in contexts for i in range(len(c) - 2)}
        pairs = sorted(
            [(a, b) for a in range(k) for b in range(k)]
            + [(number[g[:-1]], g[-1]) for g in wanted if g[:-1] in number and len(g) > 2]
        )
        place = {pair: p for p, pair in enumerate(pairs)}
        suffix = self._automaton.suffix[1:] - 1
        up = [place[int(suffix[q]), b] if suffix[q] >= 0 else -1 for q, b in pairs]
        context_of, label = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        order = np.argsort(suffix, kind="stable")
        order = order[suffix[order] >= 0]
        bounds = np.arange(len(contexts) + 1)
        return Failures(
            suffix,
            np.searchsorted(context_of, bounds).astype(np.int64),
            np.ascontiguousarray(label),
            self.successor[k:][context_of, label] - k,
            np.array(up, dtype=np.int64),
            np.searchsorted(suffix[order], bounds).astype(np.int64),
            order.astype(np.int64),
        )
