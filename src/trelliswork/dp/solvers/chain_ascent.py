"""Dual ascent for label chains of order 1, margin rescaling and absolute slacks.

Block-coordinate Frank-Wolfe that remembers the label sequences it met: a visit scores the
tokens of one sequence, may look for the most violated labels (Viterbi with costs), solves
the small problem over the remembered label sequences and moves the weights. Problem and
notation are those of :mod:`trelliswork.dp.solvers.planes`; plane ``p`` of sequence ``s`` is the label
sequence ``labels[p, offsets[s]:offsets[s + 1]]``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit(fastmath={"contract"})
def _score(indptr, indices, data, token_rows, first, n_steps, needed, emission, out):
    """``out[t, k]``: score of label ``k`` at token ``first + t``, where needed."""
    n_labels = emission.shape[1]
    for t in range(n_steps):
        if not needed[t]:
            continue
        row = out[t]
        for k in range(n_labels):
            row[k] = 0.0
        for block in range(token_rows.shape[1]):
            r = token_rows[first + t, block]
            if r < 0:
                continue
            for j in range(indptr[r], indptr[r + 1]):
                x = data[j]
                source = emission[indices[j]]
                for k in range(n_labels):
                    row[k] += x * source[k]


@njit
def _decode(unary, costs, first, n_steps, trans, start_ok, end_ok, best, found):
    """Best labels with costs added; ties go to the first label."""
    n_labels = trans.shape[0]
    for t in range(n_steps):
        for k in range(n_labels):
            best[t, k] = unary[t, k] + costs[first + t, k]
    for k in range(n_labels):
        if not start_ok[k]:
            best[0, k] = -np.inf
        if not end_ok[k]:
            best[n_steps - 1, k] = -np.inf
    for t in range(n_steps - 2, -1, -1):
        ahead = best[t + 1]
        for a in range(n_labels):
            row = trans[a]
            top = row[0] + ahead[0]
            for b in range(1, n_labels):
                top = max(top, row[b] + ahead[b])
            best[t, a] += top
    choice = 0
    for b in range(1, n_labels):
        if best[0, b] > best[0, choice]:
            choice = b
    found[0] = choice
    for t in range(1, n_steps):
        row = trans[choice]
        choice = 0
        for b in range(1, n_labels):
            if row[b] + best[t, b] > row[choice] + best[t, choice]:
                choice = b
        found[t] = choice


@njit
def _lead(unary, trans, labels, gold, n_steps):
    """Score of a label sequence minus that of the true one; reads only where they differ."""
    total = 0.0
    same = True
    for t in range(n_steps):
        a, g = labels[t], gold[t]
        if t > 0 and not (same and a == g):
            total += trans[labels[t - 1], a] - trans[gold[t - 1], g]
        same = a == g
        if not same:
            total += unary[t, a] - unary[t, g]
    return total


@njit
def _token_products(indptr, indices, data, token_rows, first, n_steps, t, label, stored, buffer, out):
    """``out[u]``: product of the features of tokens ``t`` and ``u`` over attributes stored with ``label``."""
    for block in range(token_rows.shape[1]):
        r = token_rows[first + t, block]
        if r < 0:
            continue
        for j in range(indptr[r], indptr[r + 1]):
            if stored.shape[0] == 0 or stored[indices[j], label]:
                buffer[indices[j]] += data[j]
    for u in range(n_steps):
        total = 0.0
        for block in range(token_rows.shape[1]):
            r = token_rows[first + u, block]
            if r < 0:
                continue
            for j in range(indptr[r], indptr[r + 1]):
                total += buffer[indices[j]] * data[j]
        out[u] = total
    for block in range(token_rows.shape[1]):
        r = token_rows[first + t, block]
        if r < 0:
            continue
        for j in range(indptr[r], indptr[r + 1]):
            buffer[indices[j]] = 0.0


@njit
def _gram_row(gold, new, others, m, n_steps, right, wrong, counts, row):
    """Inner products of a new plane with ``m`` planes; ``right, wrong`` from ``_token_products``."""
    for t in range(1, n_steps):
        if gold[t] != new[t] or gold[t - 1] != new[t - 1]:
            counts[gold[t - 1], gold[t]] += 1.0
            counts[new[t - 1], new[t]] -= 1.0
    for p in range(m):
        other = others[p]
        total = 0.0
        for u in range(n_steps):
            if u > 0 and (gold[u] != other[u] or gold[u - 1] != other[u - 1]):
                total += counts[gold[u - 1], gold[u]] - counts[other[u - 1], other[u]]
            if gold[u] == other[u]:
                continue
            for t in range(n_steps):
                if gold[t] == new[t]:
                    continue
                if gold[t] == gold[u]:
                    total += right[t, u]
                if gold[t] == other[u]:
                    total -= right[t, u]
                if new[t] == gold[u]:
                    total -= wrong[t, u]
                if new[t] == other[u]:
                    total += wrong[t, u]
        row[p] = total
    for t in range(1, n_steps):
        counts[gold[t - 1], gold[t]] = 0.0
        counts[new[t - 1], new[t]] = 0.0


@njit
def _solve(gram, top, beta, mass, cap, m, max_steps):
    """Ascent over pairs of planes; plane -1 is the zero plane. Returns the new mass."""
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
        if worst == -2 or best == worst or high - low <= 1e-12:
            break
        curve = 0.0
        if best >= 0:
            curve += gram[best, best]
        if worst >= 0:
            curve += gram[worst, worst]
            if best >= 0:
                curve -= 2.0 * gram[best, worst]
        room = cap - mass if worst == -1 else beta[worst]
        step = room
        if curve > 1e-300:
            step = min((high - low) / curve, room)
        if step <= 0.0:
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
                change += gram[p, best]
            if worst >= 0:
                change -= gram[p, worst]
            top[p] -= step * change
    return mass


@njit(fastmath={"contract"})
def sweep(
    order,
    search,
    indptr,
    indices,
    data,
    token_rows,
    offsets,
    gold,
    costs,
    emission,
    stored,
    trans,
    mask,
    start_ok,
    end_ok,
    cap,
    count,
    labels,
    height,
    beta,
    gram,
    idle,
    mass,
    gap,
    max_steps,
    make_room,
):
    """Visit the sequences of ``order``; returns how many planes are new and how many found no place.

    Parameters
    ----------
    search : bool
        Whether to look for the most violated labels.
    indptr, indices, data, token_rows
        Features, as in :mod:`trelliswork.dp.solvers.chain_perceptron`.
    costs : (n_tokens, n_labels)
        Loss of every label.
    emission, trans
        Weights, changed in place.
    stored : (n_attributes, n_labels) of bool, or no rows
        Which pairs have a weight.
    mask, start_ok, end_ok
        Hard constraints.
    cap : (n_sequences,)
        Bound on the dual mass.
    count, labels, height, beta, gram, idle, mass
        Planes and dual variables.
    gap : (n_sequences,), out
        Duality gap of every block before it was solved.
    make_room : bool
        Give up the smallest plane of a sequence that found no place for a new one.
    """
    n_labels = trans.shape[0]
    slots = beta.shape[1]
    longest = 0
    for s in order:
        longest = max(longest, offsets[s + 1] - offsets[s])
    unary, best = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    change = np.zeros((longest, n_labels))
    found = np.empty(longest, dtype=np.int64)
    needed = np.empty(longest, dtype=np.bool_)
    right, wrong = np.empty((longest, longest)), np.empty((longest, longest))
    counts = np.zeros((n_labels, n_labels))
    buffer = np.zeros(emission.shape[0])
    top, old, row = np.empty(slots), np.empty(slots), np.empty(slots)
    masked = trans + mask
    n_new, n_full = 0, 0
    for s in order:
        first = offsets[s]
        n_steps = offsets[s + 1] - first
        gap[s] = 0.0
        if n_steps == 0 or (not search and count[s] == 0):
            continue
        mine = gold[first : first + n_steps]
        m = count[s]
        for t in range(n_steps):
            needed[t] = search
            if not search:  # planes agree with the true labels at most tokens
                for p in range(m):
                    needed[t] |= labels[p, first + t] != mine[t]
        _score(indptr, indices, data, token_rows, first, n_steps, needed, emission, unary)
        high, own = 0.0, 0.0
        for p in range(m):
            top[p] = height[s, p] + _lead(unary, trans, labels[p, first : first + n_steps], mine, n_steps)
            old[p] = beta[s, p]
            high = max(high, top[p])
            own += old[p] * top[p]
        crowded = False
        if search:
            _decode(unary, costs, first, n_steps, masked, start_ok, end_ok, best, found)
            loss = 0.0
            for t in range(n_steps):
                loss += costs[first + t, found[t]]
            value = loss + _lead(unary, trans, found, mine, n_steps)
            if value > high * (1.0 + 1e-12) + 1e-12:
                high = value
                at = m
                if m == slots:
                    at = -1
                    for p in range(m):
                        if beta[s, p] == 0.0 and (at < 0 or idle[s, p] > idle[s, at]):
                            at = p
                if at < 0:
                    n_full += 1
                    crowded = make_room
                else:
                    if at == m:
                        m += 1
                        count[s] = m
                    labels[at, first : first + n_steps] = found[:n_steps]
                    height[s, at] = loss
                    beta[s, at] = 0.0
                    idle[s, at] = 0
                    top[at], old[at] = value, 0.0
                    for t in range(n_steps):
                        if found[t] != mine[t]:
                            _token_products(
                                indptr, indices, data, token_rows, first, n_steps, t, mine[t], stored, buffer,
                                right[t],
                            )  # fmt: skip
                            if stored.shape[0]:
                                _token_products(
                                    indptr, indices, data, token_rows, first, n_steps, t, found[t], stored,
                                    buffer, wrong[t],
                                )  # fmt: skip
                    _gram_row(
                        mine,
                        found,
                        labels[:, first : first + n_steps],
                        m,
                        n_steps,
                        right,
                        wrong if stored.shape[0] else right,
                        counts,
                        row,
                    )
                    for p in range(m):
                        gram[s, p, at] = row[p]
                        gram[s, at, p] = row[p]
                    n_new += 1
        gap[s] = cap[s] * high - own
        mass[s] = _solve(gram[s], top, beta[s], mass[s], cap[s], m, max_steps)
        if crowded:
            least = 0
            for p in range(1, m):
                if beta[s, p] < beta[s, least]:
                    least = p
            mass[s] = max(mass[s] - beta[s, least], 0.0)
            beta[s, least] = 0.0
        moved = False
        for p in range(m):
            step = beta[s, p] - old[p]
            idle[s, p] = 0 if beta[s, p] > 0.0 else idle[s, p] + 1
            if step == 0.0:
                continue
            moved = True
            for t in range(n_steps):
                a = labels[p, first + t]
                if a != mine[t]:
                    change[t, mine[t]] += step
                    change[t, a] -= step
                if t > 0 and (a != mine[t] or labels[p, first + t - 1] != mine[t - 1]):
                    b, c = mine[t - 1], mine[t]
                    trans[b, c] += step
                    masked[b, c] = trans[b, c] + mask[b, c]
                    b, c = labels[p, first + t - 1], a
                    trans[b, c] -= step
                    masked[b, c] = trans[b, c] + mask[b, c]
        if moved:
            _move(indptr, indices, data, token_rows, first, n_steps, change, stored, emission)
    return n_new, n_full


@njit(fastmath={"contract"})
def _move(indptr, indices, data, token_rows, first, n_steps, change, stored, emission):
    """Add ``change[t, k]`` times the features of token ``t`` to the weights, and clear ``change``."""
    n_labels = emission.shape[1]
    for t in range(n_steps):
        step = change[t]
        some = False
        for k in range(n_labels):
            some |= step[k] != 0.0
        if not some:
            continue
        for block in range(token_rows.shape[1]):
            r = token_rows[first + t, block]
            if r < 0:
                continue
            for j in range(indptr[r], indptr[r + 1]):
                x = data[j]
                target = emission[indices[j]]
                if stored.shape[0] == 0:
                    for k in range(n_labels):
                        target[k] += x * step[k]
                else:
                    keep = stored[indices[j]]
                    for k in range(n_labels):
                        if keep[k]:
                            target[k] += x * step[k]
        for k in range(n_labels):
            step[k] = 0.0
