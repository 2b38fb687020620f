"""The nearest n-gram counts that some string has: min-cost flow, then joining of loose parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from trelliswork._errors import InputError
from trelliswork.learners.regression.preimage_graph import DeBruijn

__all__ = ["LOSSES", "Lower", "Repaired", "repair"]

LOSSES = ("squared", "absolute")
_MOST_ARCS = 1_000_000  # one for every unit of a count
_NOTHING = 1e-12  # a length that scipy's graphs do not take for a missing edge


class Lower(NamedTuple):
    """Counts of shorter n-grams that count, too.

    Attributes
    ----------
    part_of : csr_matrix of shape (n_short, n_ngrams)
        How often each short n-gram is counted with each n-gram.
    wanted : ndarray of shape (n_short,)
        Real-valued counts.
    """

    part_of: sp.csr_matrix
    wanted: np.ndarray


class Repaired(NamedTuple):
    """Realisable counts.

    Attributes
    ----------
    counts : int array of shape (n_ngrams,)
        They have a pre-image.
    cost : float
        Distance from what was asked for, without the price of the n-grams.
    """

    counts: np.ndarray
    cost: float


def repair(
    graph: DeBruijn,
    wanted: np.ndarray,
    loss: str = "squared",
    price: np.ndarray | None = None,
    lower: Lower | None = None,
) -> Repaired:
    """Counts ``f`` with a pre-image that minimise ``sum loss(f_e - wanted_e) + price_e f_e``.

    A string is one unit of flow from the start to the end of the graph; the loss is convex, so that each
    n-gram becomes a few arcs of rising cost and the flow comes out whole. Parts of the solution that do not
    hang together with the start are then removed or linked, whichever is cheaper (exact joining is NP-hard).

    Parameters
    ----------
    graph : DeBruijn
        Candidate n-grams; its counts are not read.
    wanted : ndarray of shape (n_ngrams,)
        Real-valued counts.
    loss : {"squared", "absolute"}
        Distance of a count from what is wanted.
    price : ndarray of shape (n_ngrams,) or None
        Added cost of each occurrence, such as minus the log-probability in a language model.
    lower : Lower or None
        Shorter n-grams, whose absolute distances are added.
    """
    if loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    price = np.zeros(len(wanted)) if price is None else price
    flow = _flow(graph, wanted, loss, price, lower)
    flow = _join(graph, flow, wanted, loss, price)
    cost = float(_cost(flow, wanted, loss).sum())
    if lower is not None:
        cost += float(np.abs(lower.part_of @ flow - lower.wanted).sum())
    return Repaired(flow, cost)


def _cost(t: np.ndarray, wanted: np.ndarray, loss: str) -> np.ndarray:
    return (t - wanted) ** 2 if loss == "squared" else np.abs(t - wanted)


def _pieces(wanted: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edge, cost and capacity of the arcs: rising marginal costs, the last without a limit."""
    every = np.arange(len(wanted))
    if loss == "absolute":
        whole = np.maximum(np.floor(wanted), 0.0)
        part = np.clip(wanted - whole, 0.0, 1.0)
        middle = np.where(wanted > 0, 1.0 - 2.0 * part, 1.0)
        ones = np.ones(len(wanted))
        edge, cost = [every] * 3, [-ones, middle, ones]
        capacity = [whole, ones, np.full(len(wanted), np.inf)]
    else:
        edge, cost, capacity = [], [], []
        total = float(np.maximum(np.ceil(wanted), 1.0).sum())
        if total > _MOST_ARCS:
            raise InputError(
                f"the counts sum up to {total:,.0f}; the squared loss takes at most {_MOST_ARCS:,}, "
                "loss='absolute' any number"
            )
        steps = np.maximum(np.ceil(wanted), 1.0).astype(np.int64)
        for t in range(1, int(steps.max(initial=1)) + 2):
            some = every[steps >= t - 1]
            edge.append(some)
            cost.append(2.0 * t - 1.0 - 2.0 * wanted[some])
            capacity.append(np.where(steps[some] >= t, 1.0, np.inf))
    return np.concatenate(edge), np.concatenate(cost), np.concatenate(capacity)


def _flow(
    graph: DeBruijn, wanted: np.ndarray, loss: str, price: np.ndarray, lower: Lower | None
) -> np.ndarray:
    n = len(graph.vertices)
    edge, cost, capacity = _pieces(wanted, loss)
    cost = cost + price[edge]
    tail, head = graph.tail[edge], graph.head[edge]
    balance = np.zeros(n)
    # Where a string may begin or end anywhere, free arcs lead in and out; vertex n is outside.
    free_in = np.arange(n) if graph.start < 0 else np.zeros(0, dtype=np.int64)
    free_out = np.arange(n) if graph.end < 0 else np.zeros(0, dtype=np.int64)
    outside = free_in.size or free_out.size
    if graph.start >= 0:
        balance[graph.start] += 1.0
    if graph.end >= 0:
        balance[graph.end] -= 1.0
    tails = np.concatenate([tail, np.full(free_in.size, n), free_out])
    heads = np.concatenate([head, free_in, np.full(free_out.size, n)])
    n_arcs, n_main = len(tails), len(edge)
    size = n + 1 if outside else n
    if outside:
        balance = np.append(balance, -balance.sum())
    arcs = np.arange(n_arcs)
    matrix = sp.csc_matrix(
        (
            np.concatenate([np.ones(n_arcs), -np.ones(n_arcs)]),
            (np.concatenate([tails, heads]), np.concatenate([arcs, arcs])),
        ),
        shape=(size, n_arcs),
    )
    if free_in.size and free_out.size:  # one unit goes around through the outside
        matrix = sp.vstack([matrix, sp.csr_matrix(np.isin(arcs, np.arange(n_main, n_main + n)) * 1.0)])
        balance = np.append(balance, 1.0)
    costs = np.concatenate([cost, np.zeros(n_arcs - n_main)])
    upper = np.concatenate([capacity, np.ones(n_arcs - n_main)])
    whole = np.zeros(n_arcs)
    if lower is not None:  # the sum of a short n-gram's arcs, less too many, plus too few, is what is wanted
        n_short = len(lower.wanted)
        sums = lower.part_of.tocsc()[:, edge]
        block = sp.hstack(
            [sums, sp.csc_matrix((n_short, n_arcs - n_main)), -sp.eye(n_short), sp.eye(n_short)]
        )
        matrix = sp.vstack([sp.hstack([matrix, sp.csr_matrix((matrix.shape[0], 2 * n_short))]), block])
        balance = np.concatenate([balance, lower.wanted])
        costs = np.concatenate([costs, np.ones(2 * n_short)])
        upper = np.concatenate([upper, np.full(2 * n_short, np.inf)])
        whole = np.concatenate([np.ones(n_arcs), np.zeros(2 * n_short)])
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    optimum = (
        None
        if not costs.size
        else milp(
            costs,
            integrality=whole,
            bounds=Bounds(np.zeros(len(costs)), upper),
            constraints=LinearConstraint(matrix.tocsc(), balance, balance),
            options={"presolve": lower is not None},  # costs more than it saves on plain flows
        )
    )
    if optimum is None or optimum.x is None:
        raise InputError(
            "no string can be made of these n-grams: nothing leads from the start to the end; "
            "name more n-grams in allowed"
        )
    return np.bincount(edge, weights=np.rint(optimum.x[:n_main]), minlength=len(wanted)).astype(np.int64)


def _join(graph: DeBruijn, flow: np.ndarray, wanted: np.ndarray, loss: str, price: np.ndarray) -> np.ndarray:
    """Remove or link the parts that do not hang together with the first."""
    while True:
        now = graph.with_counts(flow)
        start, _ = now.ends()
        if start < 0:
            return flow
        part = now.parts()
        used = flow > 0
        loose = np.unique(part[graph.tail[used]])
        loose = loose[loose != part[start]]
        if not loose.size:
            return flow
        more = _cost(flow + 1.0, wanted, loss) - _cost(flow.astype(float), wanted, loss) + price
        length = np.maximum(more, 0.0) + _NOTHING
        n = len(graph.vertices)
        order = np.lexsort((length, graph.head, graph.tail))
        key = graph.tail[order] * n + graph.head[order]
        first = order[np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))]  # cheapest of parallels
        links = sp.csr_matrix((length[first], (graph.tail[first], graph.head[first])), shape=(n, n))
        main = np.flatnonzero(np.isin(part, part[start]))
        best: tuple[float, np.ndarray] | None = None
        for p in loose:
            inside = used & (part[graph.tail] == p)
            gone = np.where(inside, -flow, 0)
            saved = float((_cost(np.where(inside, 0, flow), wanted, loss) - _cost(flow, wanted, loss)).sum())
            change = saved + float(price @ gone)
            if best is None or change < best[0]:
                best = change, gone
            sources = np.unique(graph.tail[inside])
            away, via = dijkstra(links, indices=sources, return_predecessors=True)
            back, via_back = dijkstra(links.T, indices=sources, return_predecessors=True)
            around = away[:, main] + back[:, main]
            i, j = np.unravel_index(int(around.argmin()), around.shape)
            if around[i, j] < best[0]:
                added = np.zeros(len(flow), dtype=np.int64)
                place = {(int(graph.tail[e]), int(graph.head[e])): int(e) for e in first}
                v = int(main[j])
                while v != sources[i]:
                    u = int(via[i, v])
                    added[place[u, v]] += 1
                    v = u
                v = int(main[j])
                while v != sources[i]:
                    u = int(via_back[i, v])
                    added[place[v, u]] += 1
                    v = u
                best = float(around[i, j]), added
        assert best is not None
        flow = flow + best[1]
