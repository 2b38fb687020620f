"""Symbols or rules of a grammar with the words that they span, and those beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import offsets_of
from trelliswork.structures.contexts import PartContexts

if TYPE_CHECKING:
    from trelliswork.structures.grammar.parts import GrammarParts

__all__ = ["COMPARED", "span_contexts"]

COMPARED = ("symbols", "rules")


def span_contexts(batch: GrammarParts) -> PartContexts:
    """Contexts of all nodes: which words are spanned, the first and last of them, and those around.

    Where rules are compared, those of every rule at every node; rules that only undo a split have none.

    Parameters
    ----------
    batch : GrammarParts
        Packed sentences.
    """
    n_words, radius = len(batch.grammar.terminals), int(batch.space.structure.context)
    n_codes = n_words + 2  # an unknown word, and what lies beyond the ends
    of_rules = batch.compares_rules
    symbols = batch.grammar.symbols
    # By name, since the numbers of the recursions are theirs.
    types = np.empty(len(symbols), dtype=np.int64)
    types[np.argsort(np.array(symbols, dtype=object), kind="stable")] = np.arange(len(symbols))
    number: dict[tuple[int, ...], int] = {}
    first, row, column = [], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for i in range(len(batch)):
        forest, words = batch.forest(i), batch.store.words[int(batch.index[i])]
        words = np.where(words < 0, n_words, words).tolist()
        found: dict[tuple[int, int], int] = {}
        numbers = np.full(forest.n_nodes, -1, dtype=np.int64)
        for node, (start, end) in enumerate(
            zip(forest.start[:-1].tolist(), forest.end[:-1].tolist(), strict=True)
        ):
            if (start, end) not in found:
                entries = _entries(words, start, end, radius, n_codes)
                if entries not in number:
                    number[entries] = len(number)
                    first.append(i)
                found[start, end] = number[entries]
            numbers[node] = found[start, end]
        if of_rules:
            sites = batch.sites(i)
            feature = batch.grammar.feature[sites.rule]
            row.append(np.where(feature < 0, -1, numbers[sites.node]))
            column.append(np.maximum(feature, 0))
        else:
            row.append(numbers)
            column.append(types[np.maximum(forest.symbol, 0)])
    indices = np.array([entry for entries in number for entry in entries], dtype=np.int64)
    pointers = offsets_of([len(entries) for entries in number])
    shape = (len(number), n_codes * (1 + 4 * radius))
    rows = sp.csr_matrix((np.ones(indices.size), indices, pointers), shape=shape)
    where = np.concatenate(row), np.concatenate(column)
    n_types = len(batch.space.rules) if of_rules else len(symbols)
    array = "site" if of_rules else "node"
    return PartContexts(array, rows, *where, n_types, np.array(first, dtype=np.int64))


def _entries(words: list[int], start: int, end: int, radius: int, n_codes: int) -> tuple[int, ...]:
    """Columns that are 1: words inside, then before, first, last and after, the nearest ones first."""
    entries = sorted(set(words[start:end]))
    block = n_codes
    for k in range(radius):
        inside = start + k < end
        for at, there in ((start - 1 - k, True), (start + k, inside), (end - 1 - k, inside), (end + k, True)):
            if there:
                code = words[at] if 0 <= at < len(words) else n_codes - 1
                entries.append(block + code)
            block += n_codes
    return tuple(entries)
