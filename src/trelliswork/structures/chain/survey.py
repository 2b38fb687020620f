"""What data say about label sequences: labels, attributes, and what occurs together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._ragged import Ragged
from trelliswork._tokens import TokenTable
from trelliswork.structures.chain.contexts import transition_mask
from trelliswork.structures.chain.joins import Joins, label_codes
from trelliswork.structures.chain.known import (
    ReadLabels,
    observed_tokens,
    read_labels,
    sure_tokens,
    token_numbers,
)
from trelliswork.structures.chain.sparse import observed_grams
from trelliswork.structures.known import label_mask
from trelliswork.structures.labels import collect_labels, encode_labels, sorted_labels
from trelliswork.structures.survey import Counts, Survey, block_counts, joined_counts, joined_widths
from trelliswork.structures.tokens import Layout

if TYPE_CHECKING:
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.chain.structure import Chain

__all__ = ["ChainSurvey"]

_ANY = object()  # stands behind all labels: a token of which nothing is known may have one that comes later
_NO_PAIRS = np.zeros(0, dtype=np.int64)


@dataclass
class ChainSurvey(Survey):
    """Survey of label sequences.

    Attributes
    ----------
    structure : Chain
        Hyper-parameters.
    labels : list
        Labels that occur, in their order, or that were given.
    counts : list of dict
        Attributes and how often they are used, block by block of the token tables.
    dense : bool
        Whether attributes are the columns of arrays, which keep their place if they are never used.
    rows : bool
        Whether tokens are rows of arrays and nothing else.
    width : int or None
        Number of these columns.
    seen : ndarray of bool, shape (n_labels + 1, n_labels + 1)
        Which label followed which, [from, to]; the last stands for any label.
    grams : set of tuple
        Label n-grams that occur, where they may be asked for.
    emissions, edges : ndarray of int64
        Pairs of an attribute (by its place in ``names``) and a label, or label n-gram, that occur together;
        where only those have weights.
    """

    structure: Chain
    labels: list[Any]
    counts: Counts
    dense: bool
    rows: bool
    width: int | None
    seen: np.ndarray
    grams: set[tuple[int, ...]] = field(default_factory=set)
    emissions: np.ndarray = field(default_factory=lambda: _NO_PAIRS)
    edges: np.ndarray = field(default_factory=lambda: _NO_PAIRS)

    @classmethod
    def of(cls, structure: Chain, X: Ragged, y: Any) -> tuple[ChainSurvey, ReadLabels, np.ndarray]:
        """Survey of prepared sequences, their labels as they were read, and the codes of these."""
        read = read_labels(structure.readable(y), structure.labels)
        labels = collect_labels(read.names, structure.labels, empty=True)
        codes = encode_labels(read.first(labels or [None]), X.offsets, labels or [None])
        table: TokenTable = X.values
        known = _masks(read, labels)
        seen = np.zeros((len(labels) + 1, len(labels) + 1), dtype=bool)
        inner = np.ones(codes.size, dtype=bool)
        inner[X.offsets[:-1][np.diff(X.offsets) > 0]] = False
        inner[token_numbers(X.offsets, known)] = False
        tokens = np.flatnonzero(inner)
        seen[codes[tokens - 1], codes[tokens]] = True
        for mask in known or ():  # whatever may follow is not forbidden
            if mask is not None:
                seen |= mask[:-1].astype(np.int64).T @ mask[1:].astype(np.int64) > 0
        # Columns of arrays keep their place even when they are all zero in the training data.
        dense = not sp.issparse(table.blocks[0].matrix)
        survey = cls(structure, labels, block_counts(table), dense, table.dense, table.width, seen)
        if structure.may_keep_observed:
            sure = sure_tokens(codes.size, X.offsets, known)
            survey.grams = set(observed_grams(codes, X.offsets, structure.order, sure))
        survey._observe(table, codes, X.offsets, known)
        return survey, read, codes

    @property
    def names(self) -> list[str]:
        """All attributes, in order of first use, block by block."""
        return list(dict.fromkeys(name for block in self.counts for name in block))

    def _observe(
        self, table: TokenTable, codes: np.ndarray, offsets: np.ndarray, known: list[Any] | None
    ) -> None:
        """Note which attributes and labels occur together, where only those have weights."""
        structure, n = self.structure, len(self.labels)
        joins = Joins(structure.edge_features, structure.order)
        seen_only = structure.emissions == "observed"
        if not (seen_only or joins.longest > 2) or not n:
            return
        columns = Alphabet(zip(self.names, range(len(self.names))))
        if seen_only:
            self.emissions = _observed_pairs(table, columns, *observed_tokens(codes, offsets, known), n)
        if not joins.lengths:
            return
        observed, n_columns = [], int(joins.offsets(n)[-1])
        unsure = np.concatenate([[0], np.cumsum(~sure_tokens(codes.size, offsets, known))])
        for length, first in zip(joins.lengths, joins.offsets(n), strict=False):
            chosen = Alphabet((name, columns[name]) for name in joins.attributes(list(columns), length))
            code = label_codes(codes, offsets, length, n)
            tokens = np.flatnonzero(code >= 0)
            tokens = tokens[unsure[tokens + 1] == unsure[tokens + 1 - length]]
            observed.append(_observed_pairs(table, chosen, tokens, first + code[tokens], n_columns))
        self.edges = np.unique(np.concatenate(observed))

    def joined(self, other: ChainSurvey) -> ChainSurvey:
        """Survey of the sequences of both."""
        empty = not any(self.counts) or not any(other.counts)
        labels = self.labels
        if self.structure.labels is None:
            labels = sorted_labels({*self.labels, *other.labels})
        out = ChainSurvey(
            self.structure,
            labels,
            joined_counts(self.counts, other.counts),
            other.dense if not any(self.counts) else self.dense,
            (self.rows or not any(self.counts)) and (other.rows or not any(other.counts)),
            joined_widths(self.width, other.width, empty),
            np.zeros((len(labels) + 1, len(labels) + 1), dtype=bool),
        )
        place = {label: i for i, label in enumerate(labels)}
        number = {name: i for i, name in enumerate(out.names)} if self._has_pairs(other) else {}
        joins = Joins(self.structure.edge_features, self.structure.order)
        for survey in (self, other):
            codes = np.array([place[label] for label in survey.labels], dtype=np.int64)
            with_any = np.append(codes, len(labels))
            out.seen[np.ix_(with_any, with_any)] |= survey.seen
            out.grams |= {tuple(codes[list(gram)].tolist()) for gram in survey.grams}
            if not number:
                continue
            target = np.array([number[name] for name in survey.names], dtype=np.int64)
            out.emissions = _moved(out.emissions, survey.emissions, target, codes, len(labels))
            columns = joins.moved(codes, len(labels))
            out.edges = _moved(out.edges, survey.edges, target, columns, int(joins.offsets(len(labels))[-1]))
        return out

    def _has_pairs(self, other: ChainSurvey) -> bool:
        return any(pairs.size for s in (self, other) for pairs in (s.emissions, s.edges))

    def space(self) -> ChainSpace:
        """Labels and attributes that are frequent enough."""
        from trelliswork.structures.chain.space import ChainSpace

        structure, n = self.structure, len(self.labels)
        if not self.labels:
            raise InputError("y holds no label at all; at least one non-empty sequence is needed")
        counts: dict[str, int] = {}
        for block in self.counts:
            for name, times in block.items():
                counts[name] = counts.get(name, 0) + times
        attributes = [a for a, times in counts.items() if times >= structure.min_count or self.dense]
        seen = self.seen[:n, :n] | self.seen[n, :n] | self.seen[:n, n, None] | self.seen[n, n]
        grams = None
        if structure.keeps_observed(n):
            grams = sorted(self.grams, key=lambda gram: (len(gram), gram))
        allowed = transition_mask(structure.transitions, self.labels, seen)
        space = ChainSpace(structure, self.labels, attributes, allowed, self.width, grams)
        space.dense = self.rows
        self._limit(space)
        return space

    def _limit(self, space: ChainSpace) -> None:
        """Keep weights only for what the data have, where that was asked for."""
        n, names = space.n_labels, self.names
        seen_only = self.structure.emissions == "observed"
        if seen_only:
            pairs = _renumbered(self.emissions, names, space.columns, n)
            markers = np.arange(len(space.attributes) * n, (len(space.attributes) + space.n_markers) * n)
            space.emission_layout = Layout(
                space.emission_layout.n_attributes, n, np.concatenate([pairs, markers]).astype(np.int64)
            )
        if space.edge_layout is not None and (seen_only or space.sparse_joins):
            n_columns = space.edge_layout.n_columns
            pairs = _renumbered(self.edges, names, space.edge_columns, n_columns)
            space.edge_layout = Layout(space.edge_layout.n_attributes, n_columns, pairs)


def _masks(read: ReadLabels, labels: list[Any]) -> list[np.ndarray | None] | None:
    """Possible labels of the sequences that are known in part; the last column stands for any label."""
    if not read.choices:
        return None
    found = {i: label_mask(row, [*labels, _ANY], i) for i, row in read.choices.items()}
    return [found.get(i) for i in range(len(read.rows))]


def _observed_pairs(
    table: TokenTable, columns: Alphabet, tokens: np.ndarray, codes: np.ndarray, n_columns: int
) -> np.ndarray:
    """Sorted positions ``attribute * n_columns + code`` that occur at the given tokens."""
    positions = []
    for (_, matrix, index), target in zip(table.blocks, table.columns_in(columns), strict=True):
        rows = index[tokens]
        used = rows >= 0
        shape = (matrix.shape[0], n_columns)
        pairs = sp.csr_matrix((np.ones(int(used.sum())), (rows[used], codes[used])), shape=shape)
        together = (sp.csr_matrix(matrix != 0).T.astype(np.float64) @ pairs).tocoo()
        known = target[together.row] >= 0
        positions.append(target[together.row[known]] * n_columns + together.col[known])
    return np.unique(np.concatenate(positions)) if positions else _NO_PAIRS


def _moved(
    before: np.ndarray, pairs: np.ndarray, target: np.ndarray, columns: np.ndarray, n_columns: int
) -> np.ndarray:
    """Pairs under other numbers of their attributes and columns, with those from before."""
    if not pairs.size:
        return before
    attribute, column = np.divmod(pairs, columns.size)
    return np.union1d(before, target[attribute] * n_columns + columns[column])


def _renumbered(pairs: np.ndarray, names: list[str], columns: Alphabet, n_columns: int) -> np.ndarray:
    """Positions of pairs in a table of some of the attributes."""
    target = np.array([columns.get(name, -1) for name in names], dtype=np.int64)
    attribute, column = np.divmod(pairs, max(n_columns, 1))
    kept = target[attribute] >= 0 if pairs.size else np.zeros(0, dtype=bool)
    return np.sort(target[attribute[kept]] * n_columns + column[kept])
