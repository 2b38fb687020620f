"""Dual ascent for outputs that are single classes: every class is a constraint.

The features of class ``k`` are the row of the sample at the node of ``k`` and, times their share, at
the nodes above it. Sample ``i`` with the true class ``g`` has the constraints ``scale[g, k] * (score_g
- score_k) >= height[g, k] - slack``; the problem is that of :mod:`trelliswork.dp.solvers.planes`.
Arguments are grouped as in ``dp/solvers/classes.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

_SHRUNK = 0.3  # part of the violations of a block that may be left


@njit(fastmath={"contract"})
def _violations(g, classes, by_node, top):
    """``top[k]``: violation of the constraint of every class; -inf at the true one."""
    above_ptr, above, share, _, height, scale = classes
    true = 0.0
    for j in range(above_ptr[g], above_ptr[g + 1]):
        true += share[j] * by_node[above[j]]
    for k in range(top.size):
        score = 0.0
        for j in range(above_ptr[k], above_ptr[k + 1]):
            score += share[j] * by_node[above[j]]
        top[k] = height[g, k] - scale[g, k] * (true - score)
    top[g] = -np.inf


@njit(fastmath={"contract"})
def _score(rows, i, weights, by_node):
    """Scores of all nodes for one row."""
    indptr, indices, data = rows
    by_node[:] = 0.0
    for j in range(indptr[i], indptr[i + 1]):
        x = data[j]
        row = weights[indices[j]]
        for v in range(by_node.size):
            by_node[v] += x * row[v]


@njit(fastmath={"contract"})
def _gap(top, mine, mass, cap, inv_c):
    """Duality gap of one block (hard margins: its largest violation)."""
    high, weighed = 0.0, 0.0
    for k in range(top.size):
        high = max(high, top[k])
        if mine[k] > 0.0:
            weighed += top[k] * mine[k]
    if cap < np.inf:
        return cap * high - weighed
    if inv_c > 0.0:
        return 0.5 * high * high / inv_c + 0.5 * inv_c * mass**2 - weighed
    return high


@njit(fastmath={"contract"})
def _solve(g, norm, classes, top, mine, total, cap, extra, max_steps, some):
    """Pairwise ascent on the dual variables of one block, in place; returns their sum.

    Only classes that are in use or violated take part (``some``: place for them), and it ends when
    the violations within the block have shrunk: the blocks are visited again anyway.
    """
    common, scale = classes.common, classes.scale
    n_some = 0
    for k in range(top.size):
        top[k] -= extra * total
        if mine[k] > 0.0 or top[k] > 0.0:
            some[n_some] = k
            n_some += 1
    enough = 1e-14
    for number in range(max_steps):
        best, high = -1, 0.0
        worst, low = -2, np.inf
        if total < cap:
            worst, low = -1, 0.0
        for m in range(n_some):
            k = some[m]
            if top[k] > high:
                best, high = k, top[k]
            if mine[k] > 0.0 and top[k] < low:
                worst, low = k, top[k]
        if worst == -2 or best == worst or high - low <= enough:
            break
        if number == 0:
            enough = max(enough, _SHRUNK * (high - low))
        curve = 0.0
        if best >= 0:
            s = scale[g, best]
            apart = common[g, g] - 2.0 * common[g, best] + common[best, best]
            curve += norm * s * s * apart + extra
        if worst >= 0:
            s = scale[g, worst]
            apart = common[g, g] - 2.0 * common[g, worst] + common[worst, worst]
            curve += norm * s * s * apart + extra
            if best >= 0:
                s *= scale[g, best]
                between = common[g, g] - common[g, best] - common[g, worst] + common[best, worst]
                curve -= 2.0 * (norm * s * between + extra)
        room = cap - total if worst == -1 else mine[worst]
        step = room
        if curve > 1e-300:
            step = min((high - low) / curve, room)
        if step == np.inf or step <= 0.0:
            break
        if best >= 0:
            mine[best] += step
        else:
            total -= step
        if worst >= 0:
            mine[worst] = 0.0 if step >= room else mine[worst] - step
        else:
            total = cap if step >= room else total + step
        for m in range(n_some):
            k = some[m]
            change = 0.0
            if best >= 0:
                between = common[g, g] - common[g, k] - common[g, best] + common[k, best]
                change += norm * scale[g, k] * scale[g, best] * between + extra
            if worst >= 0:
                between = common[g, g] - common[g, k] - common[g, worst] + common[k, worst]
                change -= norm * scale[g, k] * scale[g, worst] * between + extra
            top[k] -= step * change
    return total


@njit
def _moves(g, old, mine, classes, by_node):
    """``by_node``: by how much the coefficients of a sample changed; returns whether they did."""
    above_ptr, above, share, _, _, scale = classes
    by_node[:] = 0.0
    moved = False
    for k in range(old.size):
        step = (mine[k] - old[k]) * scale[g, k]
        if step != 0.0:
            moved = True
            for j in range(above_ptr[g], above_ptr[g + 1]):
                by_node[above[j]] += share[j] * step
            for j in range(above_ptr[k], above_ptr[k + 1]):
                by_node[above[j]] -= share[j] * step
    return moved


@njit(fastmath={"contract"})
def sweep(order, rows, norm, gold, classes, weights, beta, mass, cap, inv_c, max_steps, gap):
    """Solve the blocks of the samples of ``order``, one after the other.

    Parameters
    ----------
    rows : Rows
        Rows of the samples.
    norm : (n,)
        Squared norms of the rows.
    classes : Classes
        The classes and their constraints.
    weights : (n_attributes, n_nodes)
        Changed in place.
    beta : (n, n_classes), mass : (n,)
        Dual variables and their sums, changed in place.
    cap, inv_c : (n,)
        Bound on the mass, and curvature of squared slacks.
    gap : (n,), out
        Duality gap of every block before it was solved (hard margins: largest violation).
    """
    indptr, indices, data = rows
    by_node = np.empty(weights.shape[1])
    top, old = np.empty(beta.shape[1]), np.empty(beta.shape[1])
    some = np.empty(beta.shape[1], dtype=np.int64)
    for i in order:
        g, mine = gold[i], beta[i]
        _score(rows, i, weights, by_node)
        _violations(g, classes, by_node, top)
        for k in range(mine.size):
            old[k] = mine[k]
        gap[i] = _gap(top, mine, mass[i], cap[i], inv_c[i])
        mass[i] = _solve(g, norm[i], classes, top, mine, mass[i], cap[i], inv_c[i], max_steps, some)
        if _moves(g, old, mine, classes, by_node):
            for j in range(indptr[i], indptr[i + 1]):
                x = data[j]
                row = weights[indices[j]]
                for v in range(by_node.size):
                    row[v] += x * by_node[v]


@njit(fastmath={"contract"})
def sweep_gram(order, gram, gold, classes, scores, beta, mass, cap, inv_c, max_steps, gap):
    """Solve blocks as :func:`sweep` does, from inner products of samples alone.

    Parameters
    ----------
    gram : (n, n)
        Inner products.
    scores : (n_nodes, n)
        Scores of all samples, changed in place; node by node, so that a change runs along a row of
        ``gram``.
    """
    by_node = np.empty(scores.shape[0])
    top, old = np.empty(beta.shape[1]), np.empty(beta.shape[1])
    some = np.empty(beta.shape[1], dtype=np.int64)
    for i in order:
        g, mine = gold[i], beta[i]
        for v in range(by_node.size):
            by_node[v] = scores[v, i]
        _violations(g, classes, by_node, top)
        for k in range(mine.size):
            old[k] = mine[k]
        gap[i] = _gap(top, mine, mass[i], cap[i], inv_c[i])
        mass[i] = _solve(g, gram[i, i], classes, top, mine, mass[i], cap[i], inv_c[i], max_steps, some)
        if _moves(g, old, mine, classes, by_node):
            products = gram[i]
            for v in range(by_node.size):
                change = by_node[v]
                if change != 0.0:
                    row = scores[v]
                    for j in range(row.size):
                        row[j] += change * products[j]


@njit
def _largest(values):
    top = values[0]
    for k in range(1, values.size):
        top = max(top, values[k])
    return top


@njit
def largest(rows, gold, classes, weights, out):
    """Largest violation of every sample, at fixed weights."""
    by_node, top = np.empty(weights.shape[1]), np.empty(classes.height.shape[0])
    for i in range(gold.size):
        _score(rows, i, weights, by_node)
        _violations(gold[i], classes, by_node, top)
        out[i] = _largest(top)


@njit
def largest_gram(gold, classes, scores, out):
    """Largest violation of every sample, at given scores (n_nodes, n)."""
    by_node, top = np.empty(scores.shape[0]), np.empty(classes.height.shape[0])
    for i in range(gold.size):
        for v in range(by_node.size):
            by_node[v] = scores[v, i]
        _violations(gold[i], classes, by_node, top)
        out[i] = _largest(top)
