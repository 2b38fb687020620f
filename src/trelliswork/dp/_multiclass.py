"""Dual ascent for outputs that are single classes: every class is a constraint.

The features of class ``k`` are the row of the sample at the node of ``k`` and, times their share, at
the nodes above it. Sample ``i`` with the true class ``g`` has the constraints ``scale[g, k] * (score_g
- score_k) >= height[g, k] - slack``; the problem is that of :mod:`trelliswork.dp._planes`.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit(fastmath={"contract"})
def _violations(indptr, indices, data, i, g, above_ptr, above, share, height, scale, weights, by_node, top):
    """``top[k]``: violation of the constraint of every class; -inf at the true one."""
    by_node[:] = 0.0
    for j in range(indptr[i], indptr[i + 1]):
        x = data[j]
        row = weights[indices[j]]
        for v in range(by_node.size):
            by_node[v] += x * row[v]
    own = 0.0
    for j in range(above_ptr[g], above_ptr[g + 1]):
        own += share[j] * by_node[above[j]]
    for k in range(top.size):
        score = 0.0
        for j in range(above_ptr[k], above_ptr[k + 1]):
            score += share[j] * by_node[above[j]]
        top[k] = height[g, k] - scale[g, k] * (own - score)
    top[g] = -np.inf


@njit(fastmath={"contract"})
def sweep(
    order,
    indptr,
    indices,
    data,
    norm,
    gold,
    above_ptr,
    above,
    share,
    common,
    height,
    scale,
    weights,
    beta,
    mass,
    cap,
    inv_c,
    max_steps,
    gap,
):
    """Solve the blocks of the samples of ``order``, one after the other.

    Parameters
    ----------
    indptr, indices, data : CSR arrays
        Rows of the samples.
    norm : (n,)
        Squared norms of the rows.
    above_ptr, above, share : CSR arrays
        Nodes of every class, itself included, and what each counts.
    common : (n_classes, n_classes)
        Inner products of the rows of that matrix.
    height, scale : (n_classes, n_classes)
        Constraints by true class and other class.
    weights : (n_attributes, n_nodes)
        Changed in place.
    beta : (n, n_classes), mass : (n,)
        Dual variables and their sums, changed in place.
    cap, inv_c : (n,)
        Bound on the mass, and curvature of squared slacks.
    gap : (n,), out
        Duality gap of every block before it was solved (hard margins: largest violation).
    """
    n_classes = beta.shape[1]
    by_node = np.empty(weights.shape[1])
    top, old = np.empty(n_classes), np.empty(n_classes)
    for i in order:
        g = gold[i]
        _violations(
            indptr, indices, data, i, g, above_ptr, above, share, height, scale, weights, by_node, top
        )
        mine = beta[i]
        high, own = 0.0, 0.0
        for k in range(n_classes):
            high = max(high, top[k])
            old[k] = mine[k]
            if mine[k] > 0.0:
                own += top[k] * mine[k]
        if cap[i] < np.inf:
            gap[i] = cap[i] * high - own
        elif inv_c[i] > 0.0:
            gap[i] = 0.5 * high * high / inv_c[i] + 0.5 * inv_c[i] * mass[i] ** 2 - own
        else:
            gap[i] = high
        total = mass[i]
        extra = inv_c[i]
        for k in range(n_classes):
            top[k] -= extra * total
        for _ in range(max_steps):
            best, high = -1, 0.0
            worst, low = -2, np.inf
            if total < cap[i]:
                worst, low = -1, 0.0
            for k in range(n_classes):
                if top[k] > high:
                    best, high = k, top[k]
                if mine[k] > 0.0 and top[k] < low:
                    worst, low = k, top[k]
            if worst == -2 or best == worst or high - low <= 1e-10:
                break
            curve = 0.0
            if best >= 0:
                s = scale[g, best]
                apart = common[g, g] - 2.0 * common[g, best] + common[best, best]
                curve += norm[i] * s * s * apart + extra
            if worst >= 0:
                s = scale[g, worst]
                apart = common[g, g] - 2.0 * common[g, worst] + common[worst, worst]
                curve += norm[i] * s * s * apart + extra
                if best >= 0:
                    s *= scale[g, best]
                    between = common[g, g] - common[g, best] - common[g, worst] + common[best, worst]
                    curve -= 2.0 * (norm[i] * s * between + extra)
            room = cap[i] - total if worst == -1 else mine[worst]
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
                total = cap[i] if step >= room else total + step
            for k in range(n_classes):
                change = 0.0
                if best >= 0:
                    between = common[g, g] - common[g, k] - common[g, best] + common[k, best]
                    change += norm[i] * scale[g, k] * scale[g, best] * between + extra
                if worst >= 0:
                    between = common[g, g] - common[g, k] - common[g, worst] + common[k, worst]
                    change -= norm[i] * scale[g, k] * scale[g, worst] * between + extra
                top[k] -= step * change
        mass[i] = total
        by_node[:] = 0.0
        moved = False
        for k in range(n_classes):
            step = (mine[k] - old[k]) * scale[g, k]
            if step != 0.0:
                moved = True
                for j in range(above_ptr[g], above_ptr[g + 1]):
                    by_node[above[j]] += share[j] * step
                for j in range(above_ptr[k], above_ptr[k + 1]):
                    by_node[above[j]] -= share[j] * step
        if moved:
            for j in range(indptr[i], indptr[i + 1]):
                x = data[j]
                row = weights[indices[j]]
                for v in range(by_node.size):
                    row[v] += x * by_node[v]


@njit
def largest(indptr, indices, data, gold, above_ptr, above, share, height, scale, weights, out):
    """Largest violation of every sample, at fixed weights."""
    by_node, top = np.empty(weights.shape[1]), np.empty(height.shape[0])
    for i in range(gold.size):
        _violations(
            indptr, indices, data, i, gold[i], above_ptr, above, share, height, scale, weights, by_node, top
        )
        out[i] = top.max()
