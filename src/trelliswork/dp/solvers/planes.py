"""Block-coordinate ascent on the dual of a structural support vector machine.

Sample ``i`` has up to ``M`` planes ``(a, h)``; its constraints are ``w . a >= h - slack``. The dual

    max  sum beta h - |w|^2 / 2 - sum_i inv_c[i] (sum_p beta[i, p])^2 / 2,   w = sum beta a

has ``beta >= 0`` and ``sum_p beta[i, p] <= cap[i]`` (infinite for squared slacks, where ``inv_c`` is
positive, and for hard margins). A block is solved in terms of the inner products of its
planes; the weights are touched once to read and once to write.

Planes are sparse: entries ``start[i, p] .. start[i, p] + size[i, p] - 1`` of ``idx`` and ``val``; an
index may repeat. With a ``kernel`` (n_rows, n_rows) the first ``n_rows * n_columns`` coordinates are
pairs of a column and a row, column by column. The inner product of two of them is
``kernel[row, row']`` if the columns agree, ``w`` holds products with the solution instead of the
solution itself, and changes of the latter are added to ``solution``. ``kernel`` has no rows in
the linear case. Arguments are grouped as in ``dp/solvers/constraints.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

_ROUNDING = 1e-14


@njit(no_cpython_wrapper=True)
def solve_block(gram, inv_c, top, beta, mass, cap, m, max_steps, tol):
    """Ascent over pairs of planes; plane -1 is the zero plane. Returns the new mass.

    ``top`` holds the violations ``h - w . a - inv_c * mass`` and follows the changes.
    """
    for _ in range(max_steps):
        best, high = -1, 0.0
        worst, low = -2, np.inf
        if mass < cap:
            worst, low = -1, 0.0
        for p in range(m):
            if top[p] > high:
                best, high = p, top[p]
            if beta[p] > 0.0 and top[p] < low:
                worst, low = p, top[p]
        if worst == -2 or high - low <= tol or best == worst:
            break
        curve = 0.0
        if best >= 0:
            curve += gram[best, best] + inv_c
        if worst >= 0:
            curve += gram[worst, worst] + inv_c
            if best >= 0:
                curve -= 2.0 * (gram[best, worst] + inv_c)
        room = cap - mass if worst == -1 else beta[worst]
        step = room
        if curve > 1e-300:
            step = min((high - low) / curve, room)
        if step == np.inf or step <= 0.0:
            break
        if best >= 0:
            beta[best] += step
        else:
            mass -= step
        if worst >= 0:
            beta[worst] = 0.0 if step >= room else beta[worst] - step
        else:
            mass = cap if step >= room else mass + step
        for p in range(m):
            change = 0.0
            if best >= 0:
                change += gram[p, best] + inv_c
            if worst >= 0:
                change -= gram[p, worst] + inv_c
            top[p] -= step * change
    return mass


@njit
def solve(gram, top, beta, mass, cap, max_steps, tol):
    """One block: ascend until the violations of planes in use are within ``tol``; new mass."""
    return solve_block(gram, 0.0, top, beta, mass, cap, beta.size, max_steps, tol)


@njit
def _add_coordinate(c, x, metric):
    """Add ``x`` to one coordinate of the solution, in the metric of the kernel if there is one."""
    w, kernel, n_columns, solution = metric
    n_rows = kernel.shape[0]
    if c < n_rows * n_columns:
        row = kernel[c % n_rows]  # symmetric
        part = w[c - c % n_rows : c - c % n_rows + n_rows]
        for r in range(n_rows):
            part[r] += x * row[r]
    else:
        w[c] += x
    if n_rows:
        solution[c] += x


@njit
def _add_plane(idx, val, first, size, factor, metric):
    """``w += factor * a``."""
    for j in range(first, first + size):
        _add_coordinate(idx[j], factor * val[j], metric)


@njit
def _add_block(idx, val, start, size, factor, place, coordinate, amount, metric):
    """``w += sum_p factor[p] * a_p``, every coordinate once.

    A coordinate costs a pass over a row of the kernel, and the planes of a sample share most of
    theirs: where mass moves from one plane to another the true labels even cancel. ``place`` (-1
    everywhere, as before the call), ``coordinate`` and ``amount`` are scratch.
    """
    n_used, largest = 0, 0.0
    for p in range(factor.size):
        if factor[p] != 0.0:
            for j in range(start[p], start[p] + size[p]):
                c = idx[j]
                if place[c] < 0:
                    place[c] = n_used
                    coordinate[n_used] = c
                    amount[n_used] = 0.0
                    n_used += 1
                x = factor[p] * val[j]
                amount[place[c]] += x
                largest = max(largest, abs(x))
    for u in range(n_used):
        place[coordinate[u]] = -1
        if abs(amount[u]) > _ROUNDING * largest:
            _add_coordinate(coordinate[u], amount[u], metric)


@njit
def _product(idx, val, first, size, other, other_size, kernel, n_columns):
    """Inner product of two planes in the metric of the kernel."""
    n_rows = kernel.shape[0]
    pairs = n_rows * n_columns
    total = 0.0
    for j in range(first, first + size):
        c = idx[j]
        for k in range(other, other + other_size):
            d = idx[k]
            if c == d and c >= pairs:
                total += val[j] * val[k]
            elif c < pairs and d < pairs and c // n_rows == d // n_rows:
                total += val[j] * val[k] * kernel[c % n_rows, d % n_rows]
    return total


@njit
def _dot(idx, val, first, size, w):
    """``a . w`` with four running sums: one alone would wait for every addition."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    stop = first + size
    j = first
    while j + 3 < stop:
        s0 += w[idx[j]] * val[j]
        s1 += w[idx[j + 1]] * val[j + 1]
        s2 += w[idx[j + 2]] * val[j + 2]
        s3 += w[idx[j + 3]] * val[j + 3]
        j += 4
    while j < stop:
        s0 += w[idx[j]] * val[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@njit
def visit(order, planes, cap, inv_c, metric, max_steps, tol, max_idle, gap):
    """Solve the blocks of the samples of ``order``, one after the other.

    Planes that were not in use for more than ``max_idle`` visits are left out. ``gap[i]`` is
    what the block could gain at most, before it was solved (for hard margins: its largest
    violation). ``idle[i, p]`` counts visits with ``beta = 0``.
    """
    count, start, size, idx, val, offset, beta, gram, idle, mass = planes
    w = metric.w
    slots = beta.shape[1]
    top, old = np.empty(slots), np.empty(slots)
    together = metric.kernel.shape[0] > 0
    place = np.full(w.size if together else 0, -1, dtype=np.int32)
    most = 0
    if together:
        for i in order:
            total_size = 0
            for p in range(count[i]):
                total_size += size[i, p]
            most = max(most, total_size)
    coordinate, amount = np.empty(most, dtype=np.int64), np.empty(most)
    for i in order:
        m = count[i]
        if m == 0:
            gap[i] = 0.0
            continue
        high, weighed = 0.0, 0.0
        for p in range(m):
            old[p] = beta[i, p]
            if old[p] == 0.0 and idle[i, p] > max_idle:
                top[p] = -np.inf
                continue
            total = offset[i, p] - _dot(idx, val, start[i, p], size[i, p], w)
            top[p] = total
            high = max(high, total)
            weighed += total * beta[i, p]
        gap[i] = _block_gap(high, weighed, mass[i], cap[i], inv_c[i])
        if inv_c[i] > 0.0:
            for p in range(m):
                top[p] -= inv_c[i] * mass[i]
        mass[i] = solve_block(gram[i], inv_c[i], top, beta[i], mass[i], cap[i], m, max_steps, tol)
        for p in range(m):
            old[p] = beta[i, p] - old[p]
            idle[i, p] = 0 if beta[i, p] > 0.0 else idle[i, p] + 1
            if old[p] != 0.0 and not together:
                _add_plane(idx, val, start[i, p], size[i, p], old[p], metric)
        if together:
            scratch = (place, coordinate, amount)
            _add_block(idx, val, start[i], size[i], old[:m], *scratch, metric)


@njit
def _block_gap(high, weighed, mass, cap, inv_c):
    """Duality gap of one block from its largest violation and ``sum beta * violation``."""
    if cap < np.inf:
        return cap * high - weighed
    if inv_c > 0.0:
        return 0.5 * high * high / inv_c + 0.5 * inv_c * mass * mass - weighed
    return high


@njit
def insert(owner, indptr, base, new_offset, planes, kernel, n_columns, work, slot):
    """Add planes (rows of CSR arrays that were appended to ``idx, val`` at ``base``).

    ``slot[r]`` is the place of plane ``r``; -1 if the sample has an equal plane; -2 if it is
    full, with every plane in use.
    """
    count, start, size, idx, val, offset, beta, gram, idle, _ = planes
    slots = beta.shape[1]
    for r in range(owner.size):
        i = owner[r]
        first, last = base + indptr[r], base + indptr[r + 1]
        length = last - first
        norm = 0.0
        if kernel.shape[0]:
            norm = _product(idx, val, first, length, first, length, kernel, n_columns)
        else:  # one dense copy of the new plane makes every product a walk over the other one
            for j in range(first, last):
                work[idx[j]] += val[j]
            for j in range(first, last):
                norm += work[idx[j]] * val[j]
        row = np.empty(count[i])
        same = False
        for p in range(count[i]):
            dot = 0.0
            if kernel.shape[0]:
                dot = _product(idx, val, first, length, start[i, p], size[i, p], kernel, n_columns)
            else:
                dot = _dot(idx, val, start[i, p], size[i, p], work)
            row[p] = dot
            apart = gram[i, p, p] + norm - 2.0 * dot
            if apart <= 1e-12 * (norm + 1e-300) and abs(offset[i, p] - new_offset[r]) <= 1e-12:
                same = True
        if not kernel.shape[0]:
            for j in range(first, last):
                work[idx[j]] = 0.0
        if same:
            slot[r] = -1
            continue
        free = count[i]
        if free == slots:
            free = -1
            for p in range(slots):
                if beta[i, p] == 0.0 and (free < 0 or idle[i, p] > idle[i, free]):
                    free = p
            if free < 0:
                slot[r] = -2
                continue
        else:
            count[i] += 1
        for p in range(row.size):
            gram[i, p, free] = row[p]
            gram[i, free, p] = row[p]
        gram[i, free, free] = norm
        start[i, free] = first
        size[i, free] = last - first
        offset[i, free] = new_offset[r]
        beta[i, free] = 0.0
        idle[i, free] = 0
        slot[r] = free


@njit
def shift(owner, slot, amount, planes, metric):
    """Add to the dual variables of some planes."""
    for r in range(owner.size):
        i, p = owner[r], slot[r]
        _add_plane(planes.idx, planes.val, planes.start[i, p], planes.size[i, p], amount[r], metric)
        planes.beta[i, p] += amount[r]
        planes.mass[i] += amount[r]


@njit
def release(owner, planes, metric):
    """Take the smallest plane of some samples out of use, to make room; stays feasible."""
    count, start, size, idx, val, _, beta, _, idle, mass = planes
    for i in owner:
        p = 0
        for q in range(1, count[i]):
            if beta[i, q] < beta[i, p]:
                p = q
        _add_plane(idx, val, start[i, p], size[i, p], -beta[i, p], metric)
        mass[i] = max(mass[i] - beta[i, p], 0.0)
        beta[i, p] = 0.0
        idle[i, p] = 1 << 30


@njit
def drop_idle(limit, planes, serial, factor, key):
    """Forget planes that were not in use for ``limit`` visits."""
    count, start, size, _, _, offset, beta, gram, idle, _ = planes
    for i in range(count.size):
        p = 0
        while p < count[i]:
            if beta[i, p] > 0.0 or idle[i, p] < limit:
                p += 1
                continue
            last = count[i] - 1
            for q in range(count[i]):
                gram[i, p, q] = gram[i, last, q]
            for q in range(count[i]):
                gram[i, q, p] = gram[i, q, last]
            gram[i, p, p] = gram[i, last, last]
            start[i, p] = start[i, last]
            size[i, p] = size[i, last]
            offset[i, p] = offset[i, last]
            beta[i, p] = beta[i, last]
            idle[i, p] = idle[i, last]
            serial[i, p] = serial[i, last]
            factor[i, p] = factor[i, last]
            key[i, p] = key[i, last]
            count[i] -= 1


@njit
def compact(planes, new_idx, new_val):
    """Copy the entries of all planes one after the other; returns their number."""
    count, start, size, idx, val, _, _, _, _, _ = planes
    filled = 0
    for i in range(count.size):
        for p in range(count[i]):
            for j in range(start[i, p], start[i, p] + size[i, p]):
                new_idx[filled + j - start[i, p]] = idx[j]
                new_val[filled + j - start[i, p]] = val[j]
            start[i, p] = filled
            filled += size[i, p]
    return filled
