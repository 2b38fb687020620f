"""Distinct tokens of a data set and sparse rows of their features."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._interning import distinct
from trelliswork._names import Names
from trelliswork._ragged import offsets_of
from trelliswork._tokens import TokenBlock, TokenTable, attributes_of
from trelliswork._validate import check_sentences_in
from trelliswork.features.template import Feature

__all__ = ["DistinctTokens", "check_sentences"]


def check_sentences(X: Any) -> tuple[Sequence[Any], np.ndarray]:
    """Sentences as a list, and where each starts."""
    if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
        raise InputError(f"X must be a list of sentences, got {type(X).__name__}")
    check_sentences_in(X)
    samples = X if isinstance(X, (list, tuple)) else list(X)
    if set(map(type, samples)) <= {list, tuple}:
        return samples, offsets_of(list(map(len, samples)))
    lengths = np.empty(len(samples), dtype=np.int64)
    for i, x in enumerate(samples):
        try:
            lengths[i] = -1 if isinstance(x, (Mapping, TokenTable)) else len(x)
        except TypeError:
            lengths[i] = -1
        if lengths[i] < 0:
            raise InputError(f"expected a list of tokens, got {type(x).__name__}", sample=i)
    return samples, offsets_of(lengths)


def _with_tuples(samples: Sequence[Any]) -> Iterator[Any]:
    """Tokens whose columns came as lists, as tuples."""
    for i, sample in enumerate(samples):
        for j, token in enumerate(sample):
            try:
                token = tuple(token) if isinstance(token, (list, np.ndarray)) else token
                hash(token)
            except TypeError:
                raise InputError(
                    f"token {j} must be a string or a tuple of strings, got {type(token).__name__}",
                    sample=i,
                ) from None
            yield token


class DistinctTokens:
    """Distinct tokens, the number of each token, and matrices of their features.

    Parameters
    ----------
    samples : sequence of sentences
        Checked by :func:`check_sentences`.
    offsets : ndarray of int64, shape (n_samples + 1,)
        Where each sentence starts.
    features : list of Feature
        All features that will be asked for.

    Attributes
    ----------
    rows : list of tuple of str
        Columns of the distinct tokens.
    index : ndarray of int32, shape (n_tokens,)
        Which of the rows each token is.
    """

    def __init__(self, samples: Sequence[Any], offsets: np.ndarray, features: Sequence[Feature]):
        n_tokens = int(offsets[-1])
        try:
            tokens, self.index = distinct(chain.from_iterable(samples), n_tokens)
        except TypeError:
            tokens, self.index = distinct(_with_tuples(samples), n_tokens)
        self.offsets = offsets
        self.rows: list[tuple[str, ...]] = tokens
        if not set(map(type, tokens)) <= {tuple}:
            self.rows = [(t,) if isinstance(t, str) else t for t in tokens]
        self._check(features)
        used = sorted({f.column for f in features})
        if self.rows and len(used) < len(self.rows[0]) and not any(f.kind == "extra" for f in features):
            # Columns that no feature reads (a gold label, a line number) must not keep rows apart.
            last = used[-1] if used else 0
            keys = (tuple([t[c] if c in used else "" for c in range(last + 1)]) for t in self.rows)
            self.rows, fewer = distinct(keys, len(self.rows))
            self.index = fewer[self.index]
        self._columns: dict[int, tuple[list[str], np.ndarray]] = {}
        self._stems: list[str] = []  # of all features, one after another
        self._codes: dict[Feature, tuple[np.ndarray, np.ndarray]] = {}
        self._called: dict[Feature, tuple[np.ndarray, Any]] = {}
        self._matrices: dict[tuple[Feature, ...], tuple[np.ndarray, Any]] = {}

    def _check(self, features: Sequence[Feature]) -> None:
        if not self.rows:
            return
        width = len(self.rows[0]) if isinstance(self.rows[0], tuple) else 0
        usual = set(map(type, self.rows)) == {tuple} and set(map(len, self.rows)) == {width} != {0}
        usual = usual and set(map(type, chain.from_iterable(self.rows))) == {str}
        for number, row in enumerate(() if usual else self.rows):
            if not (isinstance(row, tuple) and row and all(isinstance(c, str) for c in row)):
                i, j = self._place(number)
                raise InputError(f"token {j} must be a string or a tuple of strings, got {row!r}", sample=i)
            if len(row) != width:
                i, j = self._place(number)
                raise InputError(
                    f"token {j} {row!r} has {_columns(len(row))}, the first token of the data has {width}",
                    sample=i,
                )
        for feature in features:
            if feature.column >= width:
                i, j = self._place(0)
                raise InputError(
                    f"token {j} {self.rows[0]!r} has {_columns(width)}; "
                    f"{feature.stem!r} needs column {feature.column}, counted from 0",
                    sample=i,
                )

    def _place(self, number: int) -> tuple[int, int]:
        """Sample, and token in it, where a distinct token is first met."""
        first = int(np.argmax(self.index == number))
        sample = int(np.searchsorted(self.offsets, first, side="right") - 1)
        return sample, first - int(self.offsets[sample])

    def block(self, features: Sequence[Feature], index: np.ndarray, prefix: str) -> TokenBlock:
        """Features of the tokens numbered ``index`` (-1 for none); only rows and names that occur.

        Parameters
        ----------
        features : sequence of Feature
            What to compute.
        index : ndarray of int32, shape (n_tokens,)
            The token that stands at the offset, seen from each token.
        prefix : str
            Put before every name.
        """
        key = tuple(features)
        if key not in self._matrices:
            self._matrices[key] = self._assemble(features)
        stems, matrix = self._matrices[key]
        used = np.zeros(len(self.rows), dtype=bool)
        used[index[index >= 0]] = True
        if not used.all():  # a last word is nobody's left neighbour, so it has no name there
            index = np.where(index >= 0, (np.cumsum(used, dtype=np.int32) - np.int32(1))[index], np.int32(-1))
            matrix = matrix[np.flatnonzero(used)]
            columns = np.bincount(matrix.indices, minlength=stems.size) > 0
            stems = stems[columns]
            number = np.cumsum(columns, dtype=np.int32) - np.int32(1)
            matrix = sp.csr_matrix(
                (matrix.data, number[matrix.indices], matrix.indptr), shape=(matrix.shape[0], stems.size)
            )
        return TokenBlock(Names(self._stems, stems, prefix), matrix, index)

    def _assemble(self, features: Sequence[Feature]) -> tuple[np.ndarray, Any]:
        """Stems of some features, and the matrix (distinct tokens, stems) of them."""
        stems = np.zeros(0, dtype=np.int64)
        plain = [f for f in features if f.kind != "extra"]
        ids = np.empty((len(self.rows), len(plain)), dtype=np.int32)
        for k, feature in enumerate(plain):
            new_stems, codes = self._encode(feature)
            ids[:, k] = np.where(codes >= 0, codes + np.int32(stems.size), -1)
            stems = np.concatenate([stems, new_stems])
        present = ids >= 0
        indices = ids[present]
        matrix = sp.csr_matrix(
            (np.ones(indices.size), indices, offsets_of(present.sum(axis=1))), shape=(len(ids), stems.size)
        )
        for feature in features:
            if feature.kind == "extra":
                new_stems, rows = self._call(feature)
                stems = np.concatenate([stems, new_stems])
                matrix = sp.hstack([matrix, rows], format="csr")
        names = [self._stems[j] for j in stems.tolist()]
        if len(set(names)) < len(names):  # a column or an extra feature named like another feature
            names, where = distinct(names, len(names))
            first = np.full(len(names), stems.size)
            np.minimum.at(first, where, np.arange(stems.size))
            stems = stems[first]
            matrix = sp.csr_matrix(
                (matrix.data, where[matrix.indices], matrix.indptr), shape=(len(ids), stems.size)
            )
            matrix.sum_duplicates()
        return stems, matrix

    def _keep(self, names: Iterable[str]) -> np.ndarray:
        """Append stems and return their positions."""
        start = len(self._stems)
        self._stems.extend(names)
        return np.arange(start, len(self._stems))

    def _encode(self, feature: Feature) -> tuple[np.ndarray, np.ndarray]:
        """Stems of one feature, and which of them (or -1) each distinct token has."""
        if feature not in self._codes:
            if feature.column not in self._columns:
                texts = list(map(itemgetter(feature.column), self.rows))
                self._columns[feature.column] = distinct(texts, len(texts))
            texts, where = self._columns[feature.column]
            values, codes = distinct(feature.of(texts), len(texts))
            if None in values:
                absent = values.index(None)
                values.remove(None)
                codes = np.where(codes == absent, -1, codes - (codes > absent)).astype(np.int32)
            stems = self._keep(map(feature.stem.__add__, values))
            self._codes[feature] = stems, codes[where]
        return self._codes[feature]

    def _call(self, feature: Feature) -> tuple[np.ndarray, Any]:
        """Stems returned by the user's function, and one row of them per distinct token."""
        if feature in self._called:
            return self._called[feature]
        extra = feature.arg
        columns: dict[str, int] = {}
        indptr, indices, data = array("q", [0]), array("i"), array("d")
        for number, row in enumerate(self.rows):
            result = extra(row)
            if not isinstance(result, (list, tuple, Mapping)):
                raise InputError(
                    f"extra({row!r}) must return a list of strings or a dict, got {type(result).__name__}",
                    sample=self._place(number)[0],
                )
            try:
                pairs = attributes_of(result, -1)
            except InputError:
                pairs = attributes_of(result, self._place(number)[0])  # the same error, with its sample
            for name, value in pairs:
                indices.append(columns.setdefault(name, len(columns)))
                data.append(value)
            indptr.append(len(indices))
        matrix = sp.csr_matrix(
            (np.array(data), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)),
            shape=(len(self.rows), len(columns)),
        )
        matrix.sum_duplicates()
        self._called[feature] = self._keep(columns), matrix
        return self._called[feature]


def _columns(n: int) -> str:
    return f"{n} column" if n == 1 else f"{n} columns"
