"""Euler trails against plain recursion."""

from __future__ import annotations

import itertools

import numpy as np

from trelliswork.dp.solvers import euler


def random_graph(rng):
    """Edges by their tails, with an Euler trail from vertex 0: those of a random walk."""
    n = int(rng.integers(1, 5))
    walk = [0, *rng.integers(0, n, rng.integers(0, 9)).tolist()]
    pairs = sorted(set(itertools.pairwise(walk)))
    mult = np.array([sum(p == q for q in itertools.pairwise(walk)) for p in pairs], dtype=np.int64)
    tail = np.array([a for a, _ in pairs], dtype=np.int64)
    ptr = np.searchsorted(tail, np.arange(n + 1)).astype(np.int64)
    return ptr, np.array([b for _, b in pairs], dtype=np.int64), mult


def walks(ptr, head, left, v=0):
    """All trails that use every edge."""
    if not any(left):
        yield []
    for e in range(ptr[v], ptr[v + 1]):
        if left[e]:
            rest = [c - (i == e) for i, c in enumerate(left)]
            yield from ([e, *tail] for tail in walks(ptr, head, rest, head[e]))


def recursive(ptr, head, left, q):
    """The recursion as it is printed."""
    path = []
    for e in range(ptr[q], ptr[q + 1]):
        while left[e]:
            left[e] -= 1
            path = [e, *recursive(ptr, head, left, head[e]), *path]
    return path


def test_enumeration_is_complete_and_ordered():
    rng = np.random.default_rng(0)
    for _ in range(60):
        ptr, head, mult = random_graph(rng)
        expected = sorted(walks(ptr, head, mult.tolist()))
        out = np.empty((len(expected) + 1, mult.sum()), dtype=np.int64)
        n, more = euler.enumerate_trails(ptr, head, mult, 0, out)
        assert out[:n].tolist() == expected
        assert not more
        short = np.empty((max(len(expected) - 1, 1), mult.sum()), dtype=np.int64)
        n, more = euler.enumerate_trails(ptr, head, mult, 0, short)
        assert n == len(short)
        assert more == (len(expected) > len(short))


def test_paths_are_those_of_the_recursion():
    rng = np.random.default_rng(1)
    for _ in range(100):
        ptr, head, mult = random_graph(rng)
        if rng.random() < 0.5 and mult.size:  # any counts at all
            mult = rng.integers(0, 3, mult.size)
        order = np.arange(ptr.size - 1)
        edges = np.empty(mult.sum(), dtype=np.int64)
        bounds = np.zeros(ptr.size + 1, dtype=np.int64)
        n = euler.euler_paths(ptr, head, mult, order, edges, bounds)
        left, expected = mult.tolist(), []
        for q in order:
            expected += recursive(ptr, head, left, q)
        assert edges.tolist() == expected
        assert bounds[n] == edges.size
        assert np.all(np.diff(bounds[: n + 1]) > 0)
