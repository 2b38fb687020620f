"""Derivation graphs as arrays, and the verbs on them that structures share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._threads import run

__all__ = ["Graph", "argmax_at_loss", "integer_costs", "loss_profile", "moments"]


class Graph(NamedTuple):
    """Batch of derivation graphs in the array format of ``dp/derivations/hypergraph.py``."""

    graph_ptr: np.ndarray
    node_ptr: np.ndarray
    tail_ptr: np.ndarray
    tails: np.ndarray

    @property
    def edge_ptr(self) -> np.ndarray:
        """Where the edges of each graph start."""
        return self.node_ptr[self.graph_ptr]


def integer_costs(costs: np.ndarray) -> np.ndarray:
    """Costs as int64; refuses fractions and negative numbers."""
    whole = np.rint(costs)
    if not np.array_equal(whole, costs) or (whole.size and whole.min() < 0):
        raise InputError("a loss profile needs costs that are whole numbers and not negative")
    return whole.astype(np.int64)


def loss_profile(graph: Graph, scores: np.ndarray, costs: np.ndarray, max_loss: int) -> np.ndarray:
    """Best score for every loss up to ``max_loss``; one graph at a time, to save memory."""
    from trelliswork.dp.derivations import loss as derivations_loss

    n = graph.graph_ptr.size - 1
    profile = np.empty((n, max_loss + 1))
    largest = int(np.diff(graph.graph_ptr).max(initial=0))
    table, choice = np.empty((largest, max_loss + 1)), np.empty((largest, max_loss + 1), dtype=np.int64)
    for i in range(n):
        size = graph.graph_ptr[i + 1] - graph.graph_ptr[i]
        derivations_loss.loss_profile(*graph, scores, costs, i, i + 1, table[:size], choice[:size], profile)
    return profile


def argmax_at_loss(
    graph: Graph, scores: np.ndarray, costs: np.ndarray, losses: np.ndarray, first: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Edges and score of the best derivation of every graph with the given loss.

    ``first`` is the number of the first graph in messages.
    """
    from trelliswork.dp.derivations import loss as derivations_loss

    derivations, values = [], np.empty(losses.size)
    for i, loss in enumerate(losses.tolist()):
        base, stop = graph.graph_ptr[i], graph.graph_ptr[i + 1]
        table = np.empty((stop - base, loss + 1))
        choice = np.empty(table.shape, dtype=np.int64)
        profile = np.empty((1, loss + 1))
        alone = graph._replace(graph_ptr=graph.graph_ptr[i : i + 2])
        derivations_loss.loss_profile(*alone, scores, costs, 0, 1, table, choice, profile)
        values[i] = profile[0, loss]
        if values[i] == -np.inf:
            raise InputError(f"no output has loss {loss}", sample=first + i)
        derivations.append(
            derivations_loss.profile_derivation(
                graph.tail_ptr, graph.tails, costs, table, choice, base, stop - 1, loss
            )
        )
    return derivations, values


def moments(
    graph: Graph,
    scores: np.ndarray,
    phi: sp.csr_matrix,
    weights: np.ndarray,
    chunks: list[tuple[int, int]],
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean features of every graph and the weighted sum of the covariances."""
    from trelliswork.dp.derivations import hypergraph

    n, d = graph.graph_ptr.size - 1, phi.shape[1]
    means, log_beta = np.zeros((n, d)), np.empty(graph.graph_ptr[-1])
    features = phi.indptr.astype(np.int64), phi.indices.astype(np.int64), phi.data

    def task(start: int, stop: int) -> np.ndarray:
        hypergraph.inside(*graph, scores, start, stop, log_beta)
        covariance = np.zeros((d, d))
        hypergraph.moments_dense(*graph, scores, features, start, stop, log_beta, weights, covariance, means)
        return covariance

    total = np.zeros((d, d))
    for covariance in run(task, chunks, threads):
        total += covariance
    return means, total
