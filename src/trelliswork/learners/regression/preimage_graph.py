"""De Bruijn graphs of n-gram counts: when they are those of a string, which strings, how many."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ngrams import distinct_rows, match_rows
from trelliswork.dp.solvers.euler import enumerate_trails, euler_paths

__all__ = ["DeBruijn", "Trails"]

_LONGEST = 10**7  # n-grams of one string
_MOST_LISTED = 1 << 27  # edges of all trails that are listed together


class Trails(NamedTuple):
    """Euler trails as rows of edges.

    Attributes
    ----------
    edges : int array of shape (n_trails, n_edges)
        Edge numbers.
    truncated : bool
        Whether there are more.
    """

    edges: np.ndarray
    truncated: bool


class DeBruijn:
    """Vertices are (n-1)-grams; each n-gram is as many parallel edges as it occurs.

    Parameters
    ----------
    rows : int array of shape (n_ngrams, n)
        Distinct n-grams of symbol codes, in lexicographic order.
    counts : int array of shape (n_ngrams,)
        How often each occurs; may be 0.
    start, end : tuple of int or None
        The (n-1)-grams where strings begin and end; None where anything goes.
    """

    def __init__(
        self,
        rows: np.ndarray,
        counts: np.ndarray,
        start: tuple[int, ...] | None = None,
        end: tuple[int, ...] | None = None,
    ):
        self.rows, self.counts = rows, np.asarray(counts, dtype=np.int64)
        n = rows.shape[1]
        ends = [np.array(v, dtype=np.int64).reshape(1, n - 1) for v in (start, end) if v is not None]
        if n == 1:
            self.vertices = np.zeros((1, 0), dtype=np.int64)
            self.tail = self.head = np.zeros(len(rows), dtype=np.int64)
            self.start = self.end = 0
        else:
            self.vertices = distinct_rows(np.concatenate([rows[:, :-1], rows[:, 1:], *ends]))
            self.tail = match_rows(self.vertices, rows[:, :-1])
            self.head = match_rows(self.vertices, rows[:, 1:])
            self.start = -1 if start is None else int(match_rows(self.vertices, ends[0])[0])
            self.end = -1 if end is None else int(match_rows(self.vertices, ends[-1])[0])
        self.ptr = np.searchsorted(self.tail, np.arange(len(self.vertices) + 1)).astype(np.int64)

    def with_counts(self, counts: np.ndarray) -> DeBruijn:
        """The same n-grams with other counts."""
        size = float(np.sum(counts))
        if size > _LONGEST:
            raise InputError(f"counts of {size:.3g} n-grams; strings have at most {_LONGEST:,} of them")
        twin = object.__new__(DeBruijn)
        twin.__dict__.update(self.__dict__)
        twin.counts = np.asarray(counts, dtype=np.int64)
        return twin

    def surplus(self) -> np.ndarray:
        """Edges that leave minus edges that enter, for each vertex."""
        n = len(self.vertices)
        leaving = np.bincount(self.tail, weights=self.counts, minlength=n)
        return (leaving - np.bincount(self.head, weights=self.counts, minlength=n)).astype(np.int64)

    def ends(self) -> tuple[int, int]:
        """First and last vertex of a trail: as given, or where the surplus is; -1 when there are no edges."""
        surplus = self.surplus()
        used = np.flatnonzero(self.counts)
        first = int(self.tail[used[0]]) if used.size else -1
        plus, minus = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
        start, end = self.start, self.end
        if start < 0:
            start = int(plus[0]) if plus.size else first if end < 0 else end
        if end < 0:
            end = int(minus[0]) if minus.size else start
        return start, end

    def parts(self) -> np.ndarray:
        """Number of the connected part of each vertex."""
        from scipy.sparse.csgraph import connected_components  # slow to import

        n, used = len(self.vertices), self.counts > 0
        links = sp.coo_matrix((np.ones(int(used.sum())), (self.tail[used], self.head[used])), shape=(n, n))
        return connected_components(links, directed=False)[1]

    def fault(self) -> tuple[str, int] | None:
        """Why there is no pre-image: ("balance" or "connection", vertex); None when there is one."""
        start, end = self.ends()
        if start < 0:
            return None
        wanted = np.zeros(len(self.vertices), dtype=np.int64)
        wanted[start] += 1
        wanted[end] -= 1
        wrong = np.flatnonzero(self.surplus() != wanted)
        if wrong.size:
            return "balance", int(wrong[0])
        part = self.parts()
        used = np.unique(self.tail[self.counts > 0])
        apart = used[part[used] != part[start]]
        return ("connection", int(apart[0])) if apart.size else None

    def trail(self) -> np.ndarray:
        """Edges of one Euler trail; the graph must have one."""
        edges, _ = self.paths()
        return edges

    def paths(self) -> tuple[np.ndarray, np.ndarray]:
        """Paths that together use every edge, and where they begin: the algorithm for any counts.

        The first begins at the start vertex (or, without one, at the vertex with the largest surplus), the
        others in lexicographic order.
        """
        n = len(self.vertices)
        surplus = self.surplus()
        first = self.start
        if first < 0 or self.ptr[first] == self.ptr[first + 1]:
            used = np.unique(self.tail[self.counts > 0])
            first = int(used[np.argmax(surplus[used])]) if used.size else 0
        order = np.concatenate([[first], np.arange(n)]).astype(np.int64)
        edges = np.empty(int(self.counts.sum()), dtype=np.int64)
        bounds = np.zeros(n + 2, dtype=np.int64)
        n_paths = euler_paths(self.ptr, self.head, self.counts, order, edges, bounds)
        return edges, bounds[: n_paths + 1]

    def starts(self) -> np.ndarray:
        """Vertices where trails begin; the graph must have one.

        A circuit begins at any of its vertices, unless one is given.
        """
        start, end = self.ends()
        if self.start < 0 and self.end < 0 and start == end and start >= 0:
            return np.unique(self.tail[self.counts > 0])
        return np.array([max(start, 0)])

    def trails(self, cap: int) -> Trails:
        """Up to ``cap`` different Euler trails (fewer, if they are very long); the graph must have one."""
        n_edges = int(self.counts.sum())
        cap = min(cap, max(_MOST_LISTED // max(n_edges, 1), 1))
        edges = np.empty((cap, n_edges), dtype=np.int64)
        n, truncated = 0, False
        for start in self.starts():
            if truncated := n == cap:
                break
            n_new, truncated = enumerate_trails(self.ptr, self.head, self.counts, int(start), edges[n:])
            n += n_new
            if truncated:
                break
        return Trails(edges[:n], bool(truncated))

    def number(self, exact_vertices: int = 120) -> int | float:
        """How many strings have these counts (BEST theorem).

        Parameters
        ----------
        exact_vertices : int
            Up to so many vertices the number is an exact whole number, above a float.
        """
        if self.fault() is not None:
            return 0
        start, end = self.ends()
        if start < 0:
            return 1
        used = np.unique(np.concatenate([self.tail[self.counts > 0], self.head[self.counts > 0], [start]]))
        place = {int(v): i for i, v in enumerate(used)}
        size = len(used)
        laplacian = [[0] * size for _ in range(size)]
        degree = [0] * size
        edges = [*zip(self.tail.tolist(), self.head.tolist(), self.counts.tolist()), (end, start, 1)]
        for tail, head, count in edges:  # the trail becomes a circuit through one more edge
            if count:
                i, j = place[tail], place[head]
                degree[i] += count
                laplacian[i][i] += count
                laplacian[i][j] -= count
        root = place[start]
        turns = len(self.starts()) > 1  # each start has as many circuits as edges leave it
        minor = [[v for j, v in enumerate(row) if j != root] for i, row in enumerate(laplacian) if i != root]
        if size <= exact_vertices:
            total = _determinant(minor)
            for d in degree:
                total *= math.factorial(d - 1)
            for count in self.counts.tolist():
                total //= math.factorial(count)
            return total * int(self.counts.sum()) // (degree[root] - 1) if turns else total
        value = float(np.linalg.slogdet(np.array(minor, dtype=float))[1])
        value += sum(math.lgamma(d) for d in degree) - sum(math.lgamma(c + 1) for c in self.counts.tolist())
        if turns:
            value += math.log(int(self.counts.sum()) / (degree[root] - 1))
        return math.exp(value) if value < 700 else math.inf


def _determinant(matrix: list[list[int]]) -> int:
    """Exact determinant of whole numbers, without fractions."""
    rows: list[list[Any]] = [list(row) for row in matrix]
    n, sign, before = len(rows), 1, 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign = -sign
        top = rows[k]
        for i in range(k + 1, n):
            row, lead = rows[i], rows[i][k]
            rows[i] = [0 if j <= k else (row[j] * top[k] - lead * top[j]) // before for j in range(n)]
        before = top[k]
    return sign * (rows[-1][-1] if n else 1)
