"""How large forests are, estimated from the lengths of sentences and the forests of a few."""

from __future__ import annotations

import numpy as np

from trelliswork._errors import InputError
from trelliswork.structures.grammar.forest import ForestStore

__all__ = ["forest_sizes"]

_SMALL = 200_000  # edges of all forests together up to which the bound is as good as an estimate
_FEW = 6  # forests that are made for an estimate
_WORK = 30_000_000  # words cubed times rules of a sentence whose forest is made for an estimate


def forest_sizes(store: ForestStore, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and edges of the forest of every sample, about.

    There is a node at most for every symbol over every stretch of words, and an edge for every rule and every
    place where a stretch can be split. Most of them are in no whole tree: which share is, the forests
    of a few sentences of different lengths tell. These are kept, if there is room, and not made again.

    Parameters
    ----------
    store : ForestStore
        Sentences.
    index : ndarray of int
        Place of every sample in the store.

    Returns
    -------
    nodes, edges : ndarray of float64
        One entry per sample.
    """
    words = np.array([store.words[i].size for i in index], dtype=np.float64)
    rules = store.tables.arrays
    n_symbols, n_rules = store.tables.context.shape[1], int(rules.left_rule.size)
    stretches, splits = words * (words + 1) / 2, (words**3 - words) / 6
    nodes, edges = stretches * n_symbols + 1, splits * n_rules + stretches * (n_symbols + 1)
    if edges.sum() <= _SMALL:
        return nodes, edges
    cheap = np.flatnonzero((words > 1) & (words**3 * max(n_rules, 1) <= _WORK))
    if not cheap.size:
        cheap = np.array([int(np.argmin(words))])
    by_length = cheap[np.argsort(words[cheap], kind="stable")]
    places = np.unique(np.linspace(0.3, 1.0, _FEW) * (by_length.size - 1)).astype(np.int64)
    seen = np.zeros((2, 2))
    for i in by_length[np.unique(places)].tolist():
        try:
            forest = store.get(int(index[i]), i)
        except InputError:  # too many trees
            continue
        seen += [[forest.n_nodes, nodes[i]], [forest.rule.size, edges[i]]]
    share = np.divide(seen[:, 0], seen[:, 1], out=np.ones(2), where=seen[:, 1] > 0)
    return nodes * share[0], np.minimum(edges * share[1], store.limits.forest_edges)
