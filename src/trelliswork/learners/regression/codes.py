"""Outputs of kernel regression as rows of numbers, and rows of numbers as outputs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ngrams import count_matrix, encode, match_rows, padded
from trelliswork._ragged import Ragged
from trelliswork._validate import as_numbers
from trelliswork.dp.chain import any_order
from trelliswork.dp.chain.trellis import Contexts, Trellis
from trelliswork.kernels._strings import as_vectors
from trelliswork.language import NGramModel
from trelliswork.learners.regression.preimage import Search
from trelliswork.learners.regression.preimage_graph import DeBruijn
from trelliswork.learners.regression.preimage_repair import Lower
from trelliswork.structures.chain.contexts import level_starts, successors

__all__ = ["Code", "NGramCode", "PositionCode", "ValueCode", "kind_of", "position_items", "value_matrix"]


def kind_of(y: Any) -> str:
    """Whether outputs are strings, tuples or lists."""
    if all(isinstance(s, str) for s in y):
        return "str"
    return "tuple" if all(isinstance(s, tuple) for s in y) else "list"


def _as_kind(symbols: list[Any], kind: str) -> Any:
    return "".join(symbols) if kind == "str" else tuple(symbols) if kind == "tuple" else symbols


def _stored_symbols(state: dict[str, Any]) -> tuple[list[Any], str]:
    """Alphabet and kind of outputs of a model file, which is not trusted."""
    symbols, kind = list(state["symbols"]), str(state["kind"])
    if kind == "str" and not all(isinstance(s, str) for s in symbols):
        raise ValueError("a symbol of its strings is no text")
    if not all(isinstance(s, Hashable) for s in symbols):
        raise ValueError("a symbol is not hashable")
    if not isinstance(state["model"], NGramModel | None):
        raise ValueError("its language model is none")
    return symbols, kind


def value_matrix(y: Any) -> np.ndarray:
    """Outputs that are numbers, as rows of a matrix."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.stack([as_numbers("value {}", row, sample=i) for i, row in enumerate(y)])
    if values.ndim not in (1, 2):
        raise InputError(f"y must be a list of numbers or of rows of numbers, got shape {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if bad.size:
        raise InputError("y holds NaN or infinity", sample=int(bad[0]))
    return values.reshape(len(values), -1)


class Code:
    """Base of the codes: outputs as rows of numbers, and back."""

    output: Any

    @property
    def names(self) -> list[Any]:
        """Names of the output features."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Plain values from which ``restore`` makes the code again."""
        raise NotImplementedError


class ValueCode(Code):
    """Rows of numbers are themselves."""

    def __init__(self, output: Any, width: int, flat: bool):
        self.output, self.width, self.flat = output, width, flat

    @property
    def names(self) -> list[Any]:
        """Column numbers."""
        return list(range(self.width))

    def targets(self, y: Any) -> np.ndarray:
        """Outputs as a matrix."""
        values = value_matrix(y)
        if values.shape[1] != self.width:
            raise InputError(f"y has rows of {values.shape[1]} numbers; expected {self.width}")
        return values

    def decode(self, G: np.ndarray) -> Any:
        """Outputs as they were given."""
        return G[:, 0] if self.flat else G

    def state(self) -> dict[str, Any]:
        """Width and shape."""
        return {"width": self.width, "flat": self.flat}

    @classmethod
    def restore(cls, output: Any, state: dict[str, Any]) -> ValueCode:
        """Inverse of ``state``."""
        return cls(output, int(state["width"]), bool(state["flat"]))


class PositionCode(Code):
    """Symbols at positions as indicator rows; decoding by the largest entry or by Viterbi."""

    def __init__(self, output: Any, symbols: list[Any], kind: str, longest: int, model: Any):
        self.output, self.symbols, self.kind = output, symbols, kind
        self.longest, self.model = longest, model
        self._tables: Any = None

    @property
    def names(self) -> list[Any]:
        """Symbols, or pairs of position and symbol."""
        if self.output.shared:
            return list(self.symbols)
        return [(t, s) for t in range(self.longest) for s in self.symbols]

    def targets(self, y: Any, lengths: np.ndarray) -> np.ndarray:
        """Indicators: one row for each position, or for each sample when positions are not shared."""
        coded, _ = encode(y, self.symbols, what="y")
        wrong = np.flatnonzero(coded.lengths != lengths)
        if wrong.size:
            i = int(wrong[0])
            raise InputError(
                f"{coded.lengths[i]} symbols for {lengths[i]} positions; outputs of other "
                "lengths need output=NGrams(...)",
                sample=i,
            )
        k = len(self.symbols)
        if self.output.shared:
            out = np.zeros((coded.values.size, k))
            out[np.arange(coded.values.size), coded.values] = 1.0
            return out
        owner = np.repeat(np.arange(len(coded)), coded.lengths)
        place = np.arange(coded.values.size) - np.repeat(coded.offsets[:-1], coded.lengths)
        out = np.zeros((len(coded), self.longest * k))
        out[owner, place * k + coded.values] = 1.0
        return out

    def decode(self, G: np.ndarray, offsets: np.ndarray) -> list[Any]:
        """Outputs of stacked position scores (n_positions, n_symbols)."""
        labels = self._viterbi(G, offsets) if self.model is not None else G.argmax(axis=1)
        letters = [self.symbols[c] for c in labels.tolist()]
        return [
            _as_kind(letters[a:b], self.kind)
            for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]

    def _viterbi(self, G: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Best strings under scores plus language model: a chain whose last label is the end symbol."""
        weight = float(self.output.lm_weight)
        if not (np.isfinite(weight) and weight >= 0):
            raise InputError(f"lm_weight must be a finite number >= 0, got {self.output.lm_weight!r}")
        k = len(self.symbols)
        order = max(self.model.n - 1, 1)
        if self._tables is None:
            first, table = self.model.context_table(self.symbols)
            self._tables = first, table, successors(k + 1, order), level_starts(k + 1, order)
        first, table, after, levels = self._tables
        longer = offsets + np.arange(offsets.size)  # one more position for the end of each string
        unary = np.full((int(longer[-1]), k + 1), -np.inf)
        rows_of_symbols = np.arange(len(G)) + np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        unary[rows_of_symbols, :k] = G
        unary[longer[1:] - 1, k] = 0.0
        unary[longer[:-1]] += weight * first
        labels = np.empty(len(unary), dtype=np.int64)
        n = offsets.size - 1
        any_order.viterbi(
            Trellis(unary, (weight * table)[None], np.zeros(n, dtype=np.int64), np.zeros((0, 0, 0))),
            Contexts(after, levels, longer),
            np.arange(n),
            labels,
            np.empty(n),
        )
        return labels[rows_of_symbols]

    def state(self) -> dict[str, Any]:
        """Alphabet, kind, longest output, language model."""
        return {"symbols": self.symbols, "kind": self.kind, "longest": self.longest, "model": self.model}

    @classmethod
    def restore(cls, output: Any, state: dict[str, Any]) -> PositionCode:
        """Inverse of ``state``."""
        symbols, kind = _stored_symbols(state)
        output.check()
        return cls(output, symbols, kind, int(state["longest"]), state["model"])


class NGramCode(Code):
    """Strings as n-gram counts, longest n-grams first; decoding by pre-images."""

    def __init__(
        self,
        output: Any,
        symbols: list[Any],
        kind: str,
        tables: list[np.ndarray],
        model: Any,
        thresholds: list[np.ndarray] | None = None,
    ):
        self.output, self.symbols, self.kind, self.tables = output, symbols, kind, tables
        self.model, self.thresholds = model, thresholds
        n = tables[0].shape[1]
        start, end = len(symbols), len(symbols) + 1
        self.graph = DeBruijn(tables[0], np.zeros(len(tables[0])), (start,) * (n - 1), (end,) * (n - 1))
        self.search = Search(self.graph, symbols, model, output.lm_weight, output.loss, output.cap)

    @property
    def names(self) -> list[Any]:
        """The n-grams as tuples; ``^`` and ``$`` mark the ends."""
        letters = [*self.symbols, "^", "$"]
        return [tuple(letters[c] for c in row) for table in self.tables for row in table.tolist()]

    def targets(self, y: Any) -> sp.csr_matrix:
        """Counts of all n-grams, in the order of ``names``."""
        coded, _ = encode(y, self.symbols, what="y")
        start, end = len(self.symbols), len(self.symbols) + 1
        blocks = [count_matrix(padded(coded, t.shape[1], start, end), t) for t in self.tables]
        return sp.hstack(blocks, format="csr")

    # -- thresholds ---------------------------------------------------------------------

    @property
    def needs_thresholds(self) -> bool:
        """Whether decoding starts from whole counts."""
        return self.output.preimage == "euler" or bool(self.output.rounded)

    def calibrate(self, G: np.ndarray, T: np.ndarray, weights: np.ndarray | None) -> None:
        """Thresholds under which the training strings with at least 1, 2, ... of an n-gram come out right."""
        size = len(self.tables[0])
        T = T[:, :size]
        w = np.ones(len(T)) if weights is None else weights
        self.thresholds = []
        for level in range(1, int(T.max(initial=0.0)) + 1):
            row = np.full(size, np.inf)
            for j in np.flatnonzero((level <= T).any(axis=0)):
                order = np.argsort(-G[:, j], kind="stable")
                reached = np.cumsum(w[order])
                total = float(w[T[:, j] >= level].sum())
                last = int(np.searchsorted(reached, total * (1 - 1e-12)))  # the last one that is kept
                falling = G[order, j]
                row[j] = 0.5 * (falling[last] + falling[last + 1]) if last + 1 < len(order) else -np.inf
            self.thresholds.append(row)

    def counts(self, G: np.ndarray) -> np.ndarray:
        """Whole counts of the longest n-grams, by thresholds."""
        size = len(self.tables[0])
        out = np.zeros((len(G), size))
        for row in self.thresholds or []:
            out += G[:, :size] > row
        return out

    def shortened(self, counts: np.ndarray, n: int, table: np.ndarray, symbols: list[Any]) -> np.ndarray:
        """Counts of the n-grams of another table that lie at the end of the own, longer ones."""
        if symbols != self.symbols or self.tables[0].shape[1] < n:
            raise InputError(f"a regressor that votes must predict n-grams of length {n} or more")
        place = match_rows(table, self.tables[0][:, -n:])
        known = place >= 0
        merge = sp.csr_matrix(
            (np.ones(int(known.sum())), (np.flatnonzero(known), place[known])),
            shape=(len(place), len(table)),
        )
        return np.asarray(counts @ merge)

    # -- decoding -----------------------------------------------------------------------

    def decode(self, G: np.ndarray) -> list[Any]:
        """Strings for real-valued or whole counts."""
        if self.needs_thresholds:
            return self.decode_counts(self.counts(G))
        return [self._best(self._nearest(z)[0]) for z in G]

    def decode_counts(self, Z: np.ndarray) -> list[Any]:
        """Strings for whole counts of the longest n-grams."""
        if self.output.preimage == "euler":
            return [self._euler(z) for z in Z]
        return [self._best(self._found(z)[0]) for z in Z]

    def candidates(self, z: np.ndarray) -> tuple[list[Any], float, int | float, bool]:
        """All strings for one prediction, best first; cost, number and whether there are more."""
        if self.output.rounded:
            codes, cost, number, truncated = self._found(self.counts(z[None])[0])
        else:
            codes, cost, number, truncated = self._nearest(z)
        return [self._string(c) for c in codes], cost, number, truncated

    def _nearest(self, z: np.ndarray) -> tuple[list[list[int]], float, int | float, bool]:
        size = len(self.tables[0])
        if len(self.tables) == 1:
            return self._found(z)
        parts = []
        for table in self.tables[1:]:
            place = match_rows(table, self.tables[0][:, -table.shape[1] :])
            known = place >= 0
            entries = (np.ones(int(known.sum())), (place[known], np.flatnonzero(known)))
            parts.append(sp.csr_matrix(entries, shape=(len(table), size)))
        return self.search.repaired(z[:size], Lower(sp.vstack(parts, format="csr"), z[size:]))

    def _found(self, z: np.ndarray) -> tuple[list[list[int]], float, int | float, bool]:
        if self.search.price is None:
            rounded = self.graph.with_counts(np.rint(np.maximum(z, 0.0)))
            if rounded.fault() is None:  # every n-gram has its own best count: nothing to repair
                return self.search.strings(rounded)
        return self.search.repaired(z)

    def _euler(self, z: np.ndarray) -> Any:
        graph = self.graph.with_counts(z)
        if self.model is not None and graph.fault() is None:
            return self._best(self.search.strings(graph)[0])
        return self._string(self.search.concatenated(graph))

    def _best(self, found: list[list[int]]) -> Any:
        if not found:  # n-grams of training strings always make up one
            raise InputError("no string can be made of the n-grams of this model")
        return self._string(found[0])

    def _string(self, codes: list[int]) -> Any:
        return _as_kind([self.symbols[c] for c in codes], self.kind)

    def state(self) -> dict[str, Any]:
        """Alphabet, kind, n-grams, language model, thresholds."""
        return {
            "symbols": self.symbols,
            "kind": self.kind,
            "tables": self.tables,
            "model": self.model,
            "thresholds": self.thresholds,
        }

    @classmethod
    def restore(cls, output: Any, state: dict[str, Any]) -> NGramCode:
        """Inverse of ``state``."""
        symbols, kind = _stored_symbols(state)
        tables, n_symbols = list(state["tables"]), len(symbols)
        for table in tables:
            if table.ndim != 2 or table.dtype.kind != "i" or not table.size:
                raise ValueError("n-grams are not a table of codes")
            if table.min() < 0 or table.max() > n_symbols + 1:
                raise ValueError("n-grams of symbols that are not there")
        return cls(output, symbols, kind, tables, state["model"], state["thresholds"])


def position_items(X: Any, window: int, symbols: list[Any] | None) -> tuple[Ragged, list[Any] | None]:
    """Items at all positions as rows: vectors, or indicators of symbols; with their neighbours.

    ``symbols`` is the input alphabet (found when None); it is None for vectors.
    """
    vectors = isinstance(X, Ragged) or any(isinstance(x, np.ndarray) and x.ndim == 2 for x in X)
    if vectors:
        ragged = as_vectors(X)
        alphabet = None
    else:
        coded, alphabet = encode(X, symbols)
        ragged = Ragged(np.eye(len(alphabet) + 1)[coded.values][:, : len(alphabet)], coded.offsets)
    if window:
        rows, width = ragged.values.shape
        owner = np.repeat(np.arange(len(ragged)), ragged.lengths)
        wide = np.zeros((rows, (2 * window + 1) * width))
        for j in range(-window, window + 1):
            neighbour = np.arange(rows) + j
            inside = (neighbour >= 0) & (neighbour < rows)
            inside[inside] &= owner[neighbour[inside]] == owner[inside]
            wide[inside, (j + window) * width : (j + window + 1) * width] = ragged.values[neighbour[inside]]
        ragged = Ragged(wide, ragged.offsets)
    return ragged, alphabet
