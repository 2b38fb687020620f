"""Labels of single sentences from remembered scores of words.

A call of ``predict`` for one short sentence spends nearly all of its time on building tables of features.
With the features of :class:`~trelliswork.features.TokenWindow` the score of a token is a sum over its
neighbours of something that depends on one word alone, so it can be remembered word by word. The labels are
those of ``predict``; models to which this does not apply are asked as usual.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from trelliswork.features import TokenWindow
from trelliswork.learners.base import StructuredEstimator
from trelliswork.structures import Chain

__all__ = ["QuickTagger"]

_MOST_BYTES = 64 << 20  # of remembered scores, and of the table of weights
_LONGEST = 100  # letters of a word that is remembered
_BESIDE = 500  # bytes of a word, beside its scores


class QuickTagger:
    """Best labels of sentences.

    Parameters
    ----------
    window : TokenWindow
        Features.
    learner : estimator
        With a first-order chain whose scores are linear in its weights.
    """

    def __init__(self, window: TokenWindow, learner: Any):
        space = learner.space_
        self.window, self.space = window, space
        emission, _, grams = space.split(np.asarray(learner.coef_, dtype=np.float64))
        self._weights = space.emission_layout.table(emission)
        n_real, k = len(space.attributes), space.n_labels
        markers = dict(zip(space.marker_names, self._weights[n_real:], strict=True))
        nothing = np.zeros(k)
        self._first, self._last = markers.get("start", nothing).copy(), markers.get("end", nothing).copy()
        self._unknown = markers.get("unknown", nothing)
        for mark, row in (("BOS", self._first), ("EOS", self._last)):
            if mark in space.columns and window.boundaries:
                row += self._weights[space.columns[mark]]
        if space.start_mask is not None:
            self._first[~space.start_mask] = -np.inf
        if space.end_mask is not None:
            self._last[~space.end_mask] = -np.inf
        trans = (space.ngram_matrix @ grams).reshape(-1, k)
        self._trans = np.ascontiguousarray(np.where(space.context_mask, trans, -np.inf))
        self._labels = [str(label) for label in space.labels]
        # One block of features per offset, then one for the boundaries.
        self._offsets = [o for o, fs in window._window().items() if any(f.kind != "boundary" for f in fs)]
        self._reach = max(map(abs, self._offsets), default=0)
        self._capacity = max(64, _MOST_BYTES // (8 * (k + 1) * max(1, len(self._offsets)) + _BESIDE))
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._places: dict[Any, int] = {}
        self._scores = np.zeros((64, len(self._offsets), self.space.n_labels))
        self._counts = np.zeros((64, len(self._offsets)), dtype=np.int64)

    @classmethod
    def of(cls, opened: Any) -> QuickTagger | None:
        """The same model, if its scores are sums over single words; otherwise None.

        Parameters
        ----------
        opened : OpenModel
            The model.
        """
        learner, steps = opened.learner, opened.transformers
        if len(steps) != 1 or type(steps[0]) is not TokenWindow or steps[0].extra is not None:
            return None
        if type(learner.structure) is not Chain or hasattr(learner, "dual_coef_"):
            return None
        if type(learner).weights_of_input is not StructuredEstimator.weights_of_input:
            return None  # the weights differ from input to input, or are not all
        space = learner.space_
        plain = space.order == 1 and space.edge_layout is None and space.sparse is None
        size = 8 * (len(space.attributes) + 3) * space.n_labels
        if not plain or space.symbol_mask is not None or space.width is not None or size > _MOST_BYTES:
            return None
        return cls(steps[0], learner) if _is_linear(steps[0], learner) else None

    def labels(self, X: list[list[Any]], most: int | None = None) -> list[list[str]] | None:
        """Labels of sentences; None where ``predict`` must be asked (odd tokens, nothing possible).

        Parameters
        ----------
        X : list of sentences
            Tokens are texts or tuples of texts.
        most : int or None
            Only for so many tokens, and only if all are remembered: never takes long.
        """
        from trelliswork.dp.chain import first_order

        offsets = np.zeros(len(X) + 1, dtype=np.int64)
        np.cumsum([len(x) for x in X], out=offsets[1:])
        if most is not None and offsets[-1] > most:
            return None
        unary = self._unary(X, offsets, new=most is None)
        if unary is None:
            return None
        codes, values = np.empty(len(unary), dtype=np.int64), np.empty(len(X))
        first_order.viterbi(unary, self._trans, offsets, 0, len(X), codes, values)
        if not np.isfinite(values).all():
            return None
        names, flat, ends = self._labels, codes.tolist(), offsets.tolist()
        return [[names[c] for c in flat[a:b]] for a, b in itertools.pairwise(ends)]

    def _unary(self, X: list[list[Any]], offsets: np.ndarray, *, new: bool) -> np.ndarray | None:
        """Scores of labels at all tokens; None if there are new words that must not be looked at."""
        tokens = [token for x in X for token in x]
        if not self._lock.acquire(blocking=new):
            return None
        try:
            if new:
                missing = [token for token in dict.fromkeys(tokens) if token not in self._places]
                if any(len(part) > _LONGEST for token in missing for part in _parts(token)):
                    return None
                if len(self._places) + len(missing) > self._capacity:
                    self._forget()
                    missing = list(dict.fromkeys(tokens))
                if missing:
                    self._remember(missing)
            places = np.array([self._places[token] for token in tokens], dtype=np.int64)
            scores, counts = self._scores, self._counts
        except (TypeError, ValueError, LookupError):
            return None
        finally:
            self._lock.release()
        n = len(tokens)
        unary, known = np.zeros((n, self.space.n_labels)), np.zeros(n, dtype=np.int64)
        lengths = np.diff(offsets)
        starts, ends = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
        here = np.arange(n)
        for number, offset in enumerate(self._offsets):
            if offset == 0:
                unary += scores[places, number]
                known += counts[places, number]
                continue
            there = here + offset
            inside = np.flatnonzero((there >= starts) & (there < ends))
            unary[inside] += scores[places[there[inside]], number]
            known[inside] += counts[places[there[inside]], number]
        filled = lengths > 0
        first, last = offsets[:-1][filled], offsets[1:][filled] - 1
        if self.window.boundaries:
            known[first] += "BOS" in self.space.columns
            known[last] += "EOS" in self.space.columns
        unary[known == 0] += self._unknown
        unary[first] += self._first
        unary[last] += self._last
        return unary

    def _remember(self, tokens: list[Any]) -> None:
        """Compute the scores of new words, all at once."""
        width = 2 * self._reach + 1
        table = self.window.transform([[token] * width for token in tokens]).values
        middles = np.arange(len(tokens)) * width + self._reach
        start = len(self._places)
        needed = start + len(tokens)
        while needed > len(self._scores):
            self._scores = np.concatenate([self._scores, np.zeros_like(self._scores)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        columns = self.space.columns
        for number, (names, matrix, index) in enumerate(table.blocks[: len(self._offsets)]):
            codes = np.array([columns.get(name, -1) for name in names], dtype=np.int64)
            for i, row in enumerate(index[middles].tolist()):
                span = slice(matrix.indptr[row], matrix.indptr[row + 1])
                rows = codes[matrix.indices[span]]
                used = rows >= 0
                self._scores[start + i, number] = matrix.data[span][used] @ self._weights[rows[used]]
                self._counts[start + i, number] = int(used.sum())
        for i, token in enumerate(tokens):
            self._places[token] = start + i


def _parts(token: Any) -> tuple[Any, ...]:
    return token if isinstance(token, tuple) else (token,)


def _is_linear(window: TokenWindow, learner: Any) -> bool:
    """Whether scores come from the weights alone; asks for a sentence, which also compiles what is needed."""
    columns = ("a",) * window.n_columns
    X = window.transform([["a" if len(columns) == 1 else columns] * 2])
    batch = learner.pack(X)
    given, linear = learner.part_scores(batch, X), batch.scores(learner.coef_)
    batch.argmax(given)
    return all(
        np.array_equal(values, linear.__dict__.get(name)) if values is not None else True
        for name, values in given.items()
    )
