"""The factor graph of structures that are scored by their loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import offsets_of
from trelliswork.dp.rna.nearest.layout import MULTI_BASE, N_ENTRIES
from trelliswork.structures.factors import EdgeFactors

if TYPE_CHECKING:
    from trelliswork.structures.rna.nearest import NearestBatch

__all__ = ["entry_features", "loop_factors"]


def loop_factors(batch: NearestBatch) -> EdgeFactors:
    """One factor per pair, stretch of a multiloop and prefix; its values are the loops there.

    Parameters
    ----------
    batch : NearestBatch
        Packed sequences.
    """
    kinds: dict[int, int] = {}
    counts, values, listed, edges = [], [], [np.zeros((0, N_ENTRIES + 1), dtype=np.int64)], []
    # A random number for every list of entries: sorting lists would take most of the time.
    factors = np.random.default_rng(0).integers(1, 2**62, N_ENTRIES + 1)
    for n_nodes, entries in batch.loop_entries():
        counts.append(n_nodes)
        values.append(len(entries))
        marks = (entries + 2) @ factors  # wraps around
        found, first, uses = np.unique(marks, return_index=True, return_counts=True)
        new = np.array([mark not in kinds for mark in found.tolist()], dtype=bool)
        listed.append(entries[first[new]])
        kinds.update({mark: len(kinds) + k for k, mark in enumerate(found[new].tolist())})
        edges.append((np.array([kinds[mark] for mark in found.tolist()]), uses.astype(np.float64)))
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *(column for column, _ in edges)])
    numbers = np.concatenate([np.zeros(0), *(uses for _, uses in edges)])
    pointers = offsets_of([column.size for column, _ in edges])
    table = sp.csr_matrix((numbers, columns, pointers), shape=(len(batch), len(kinds)))
    return EdgeFactors(counts, values, table, entry_features(np.concatenate(listed), batch.space.map))


def entry_features(entries: np.ndarray, table: sp.csr_matrix) -> sp.csr_matrix:
    """Features of edges, by the entries of the table of scores that they add up.

    Parameters
    ----------
    entries : ndarray of int64, shape (n_edges, ...)
        As ``derivation_graph`` of ``dp/rna/nearest/search.py`` lists them.
    table : csr_matrix of shape (n_entries, n_features)
        Features of the entries.
    """
    bases = np.flatnonzero(entries[:, -1])
    edge, column = np.nonzero(entries[:, :-1] >= 0)
    rows, used = np.append(edge, bases), np.append(entries[edge, column], np.full(bases.size, MULTI_BASE))
    values = np.append(np.ones(edge.size), entries[bases, -1])
    return sp.csr_matrix((values, (rows, used)), shape=(len(entries), table.shape[0])) @ table
