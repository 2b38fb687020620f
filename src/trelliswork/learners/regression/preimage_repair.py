"""The nearest n-gram counts that some string has: min-cost flow with cuts, or joining of loose parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.learners.regression.preimage_graph import DeBruijn

__all__ = ["LOSSES", "Lower", "Repaired", "repair"]

LOSSES = ("squared", "absolute")
_MOST_ARCS = 1_000_000  # one for every unit of a count
_MAX_CUTS = 200
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
    excess : float
        By how much, at most, other counts would be better, the price included; 0 means that none are.
    """

    counts: np.ndarray
    cost: float
    excess: float


def repair(
    graph: DeBruijn,
    wanted: np.ndarray,
    loss: str = "squared",
    price: np.ndarray | None = None,
    lower: Lower | None = None,
    exact_up_to: int = 64,
) -> Repaired:
    """Counts ``f`` with a pre-image that minimise ``sum loss(f_e - wanted_e) + price_e f_e``.

    A string is one unit of flow from the start to the end of the graph; the loss is convex, so that each
    n-gram becomes a few arcs of rising cost and the flow comes out whole. Where parts of the solution do not
    hang together with the start, constraints are added that each of them, if used, is entered, until
    everything hangs together: the result is the nearest. This may take long (the problem is NP-hard), so
    that graphs of more than ``exact_up_to`` n-grams have their loose parts removed or linked one after the
    other, whichever is cheaper; ``excess`` bounds what that may have cost.

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
    exact_up_to : int
        Most n-grams of a graph whose loose parts are cut off exactly.
    """
    if loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    price = np.zeros(len(wanted)) if price is None else price
    network = _network(graph, wanted, loss, price, lower)
    flow, x = network.solve()
    least = float(network.costs @ x)
    proved = not _loose(graph, flow, network.first(x)).size
    if not proved and len(wanted) <= exact_up_to:
        most = float(np.maximum(np.ceil(wanted), 0.0).sum()) + len(graph.vertices) + 1.0
        for _ in range(_MAX_CUTS):
            network.cut(graph, flow, network.first(x), np.maximum(np.ceil(wanted), 0.0) + most)
            flow, x = network.solve()
            least = float(network.costs @ x)
            if proved := not _loose(graph, flow, network.first(x)).size:
                break
    if proved:
        excess = 0.0
    else:
        joined = _join(graph, flow, wanted, loss, price)
        excess = (
            _objective(joined, wanted, loss, price, lower)
            - least
            - float(_cost(0.0 * wanted, wanted, loss).sum())
        )
        flow, excess = joined, max(excess, 0.0)
    return Repaired(flow, _objective(flow, wanted, loss, 0.0 * price, lower), excess)


def _objective(
    flow: np.ndarray, wanted: np.ndarray, loss: str, price: np.ndarray, lower: Lower | None
) -> float:
    cost = float(_cost(flow, wanted, loss).sum() + price @ flow)
    return cost if lower is None else cost + float(np.abs(lower.part_of @ flow - lower.wanted).sum())


def _loose(graph: DeBruijn, flow: np.ndarray, start: int) -> np.ndarray:
    """Numbers of the parts in use that do not hang together with the start; -1 is where nothing is used."""
    if start < 0:
        return np.zeros(0, dtype=np.int64)
    part = graph.with_counts(flow).parts()
    used = np.unique(part[graph.tail[flow > 0]])
    return used[used != part[start]]


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


class _Network:
    """The flow problem: arcs with costs and capacities, and the cuts added so far.

    Attributes
    ----------
    edge : int array of shape (n_main,)
        n-gram of each of the first arcs; the others lead in and out, or count shorter n-grams.
    tails, heads : int arrays of shape (n_arcs,)
        Vertices of the arcs; the number of vertices stands for the outside.
    costs, upper, whole : ndarray
        Cost, capacity and whether it must be whole, of every variable.
    """

    def __init__(self, edge: np.ndarray, tails: np.ndarray, heads: np.ndarray, graph: DeBruijn):
        self.edge, self.tails, self.heads = edge, tails, heads
        self.n_ngrams, self.n_vertices, self.start = len(graph.tail), len(graph.vertices), graph.start
        self.costs = self.upper = self.whole = np.zeros(0)
        self.matrix, self.balance = sp.csr_matrix((0, 0)), np.zeros(0)
        self.cuts: list[sp.csr_matrix] = []

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Count of every n-gram, and value of every variable."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

        constraints = [LinearConstraint(self.matrix.tocsc(), self.balance, self.balance)]
        if self.cuts:
            constraints.append(LinearConstraint(sp.vstack(self.cuts).tocsc(), -np.inf, 0.0))
        plain = not self.cuts and not self.whole.any()
        optimum = None
        if self.costs.size:
            optimum = milp(
                self.costs,
                integrality=np.ones(len(self.costs)) if self.cuts and not self.whole.any() else self.whole,
                bounds=Bounds(np.zeros(len(self.costs)), self.upper),
                constraints=constraints,
                options={"presolve": not plain},  # costs more than it saves on plain flows
            )
        if optimum is None or optimum.x is None:
            raise InputError(
                "no string can be made of these n-grams: nothing leads from the start to the end; "
                "name more n-grams in allowed"
            )
        used = np.rint(optimum.x[: len(self.edge)])
        return np.bincount(self.edge, weights=used, minlength=self.n_ngrams).astype(np.int64), optimum.x

    def first(self, x: np.ndarray) -> int:
        """Vertex where the unit of flow begins."""
        if self.start >= 0:
            return self.start
        return int(np.argmax(x[len(self.edge) : len(self.edge) + self.n_vertices]))

    def cut(self, graph: DeBruijn, flow: np.ndarray, start: int, most: np.ndarray) -> None:
        """Ask that every loose part is entered where it is used; ``most`` bounds the counts of an optimum."""
        part = graph.with_counts(flow).parts()
        n_arcs = len(self.tails)
        for p in _loose(graph, flow, start):
            inside = np.append(part == p, False)
            entering = np.flatnonzero(inside[self.heads] & ~inside[self.tails])
            for e in np.flatnonzero((flow > 0) & inside[graph.tail]):
                arcs = np.flatnonzero(self.edge == e)
                row = np.zeros(len(self.costs))
                row[arcs] = 1.0
                row[entering[entering < n_arcs]] = -most[e]
                self.cuts.append(sp.csr_matrix(row))


def _network(
    graph: DeBruijn, wanted: np.ndarray, loss: str, price: np.ndarray, lower: Lower | None
) -> _Network:
    n = len(graph.vertices)
    edge, cost, capacity = _pieces(wanted, loss)
    cost = cost + price[edge]
    balance = np.zeros(n)
    # Where a string may begin or end anywhere, free arcs lead in and out; vertex n is outside.
    free_in = np.arange(n) if graph.start < 0 else np.zeros(0, dtype=np.int64)
    free_out = np.arange(n) if graph.end < 0 else np.zeros(0, dtype=np.int64)
    outside = free_in.size or free_out.size
    if graph.start >= 0:
        balance[graph.start] += 1.0
    if graph.end >= 0:
        balance[graph.end] -= 1.0
    tails = np.concatenate([graph.tail[edge], np.full(free_in.size, n), free_out])
    heads = np.concatenate([graph.head[edge], free_in, np.full(free_out.size, n)])
    network = _Network(edge, tails, heads, graph)
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
    network.costs = np.concatenate([cost, np.zeros(n_arcs - n_main)])
    network.upper = np.concatenate([capacity, np.ones(n_arcs - n_main)])
    network.whole = np.zeros(n_arcs)
    if lower is not None:  # the sum of a short n-gram's arcs, less too many, plus too few, is what is wanted
        n_short = len(lower.wanted)
        sums = lower.part_of.tocsc()[:, edge]
        block = sp.hstack(
            [sums, sp.csc_matrix((n_short, n_arcs - n_main)), -sp.eye(n_short), sp.eye(n_short)]
        )
        matrix = sp.vstack([sp.hstack([matrix, sp.csr_matrix((matrix.shape[0], 2 * n_short))]), block])
        balance = np.concatenate([balance, lower.wanted])
        network.costs = np.concatenate([network.costs, np.ones(2 * n_short)])
        network.upper = np.concatenate([network.upper, np.full(2 * n_short, np.inf)])
        network.whole = np.concatenate([np.ones(n_arcs), np.zeros(2 * n_short)])
    network.matrix, network.balance = matrix, balance
    return network


def _join(graph: DeBruijn, flow: np.ndarray, wanted: np.ndarray, loss: str, price: np.ndarray) -> np.ndarray:
    """Remove or link the parts that do not hang together with the first."""
    while (loose := _loose(graph, flow, start := graph.with_counts(flow).ends()[0])).size:
        part, used = graph.with_counts(flow).parts(), flow > 0
        more = _cost(flow + 1.0, wanted, loss) - _cost(flow.astype(float), wanted, loss) + price
        length = np.maximum(more, 0.0) + _NOTHING
        from scipy.sparse.csgraph import dijkstra  # slow to import

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
    return flow
