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
from trelliswork.dp.solvers.chain_decoding import best_labels
from trelliswork.dp.solvers.planes import solve_block

_TOL = 1e-12  # violations within a block that are as good as none


@njit(fastmath={"contract"})
def _score(features, first, n_steps, needed, emission, out):
    """``out[t, k]``: score of label ``k`` at token ``first + t``, where needed."""
    indptr, indices, data, token_rows = features
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
def _decode(unary, costs, first, n_steps, trans, limits, best, guess):
    """Best labels with costs added; ties go to the first label."""
    _, start_ok, end_ok = limits
    n_labels = trans.shape[0]
    for t in range(n_steps):
        for k in range(n_labels):
            best[t, k] = unary[t, k] + costs[first + t, k]
    for k in range(n_labels):
        if not start_ok[k]:
            best[0, k] = -np.inf
        if not end_ok[k]:
            best[n_steps - 1, k] = -np.inf
    best_labels(best, trans, n_steps, guess)


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
def _token_products(features, first, n_steps, t, label, stored, buffer, out):
    """``out[u]``: product of the features of tokens ``t`` and ``u`` over attributes stored with ``label``."""
    indptr, indices, data, token_rows = features
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
def _free_slot(beta, idle, m):
    """Slot for one more plane: a new one, or that of the plane longest out of use; -1 if there is none."""
    if m < beta.size:
        return m
    slot = -1
    for p in range(m):
        if beta[p] == 0.0 and (slot < 0 or idle[p] > idle[slot]):
            slot = p
    return slot


@njit
def _remember(features, first, gold, guess, slot, m, stored, labels, gram, work):
    """Store labels as plane ``slot`` of ``m`` planes of a sequence, with its inner products."""
    n_steps = gold.size
    right, wrong, counts, buffer, row = work
    for t in range(n_steps):
        labels[slot, first + t] = guess[t]
    for t in range(n_steps):
        if guess[t] != gold[t]:
            _token_products(features, first, n_steps, t, gold[t], stored, buffer, right[t])
            if stored.shape[0]:
                _token_products(features, first, n_steps, t, guess[t], stored, buffer, wrong[t])
    others = labels[:, first : first + n_steps]
    _gram_row(gold, guess, others, m, n_steps, right, wrong if stored.shape[0] else right, counts, row)
    for p in range(m):
        gram[p, slot] = row[p]
        gram[slot, p] = row[p]


@njit
def _drop_smallest(beta, mass, m):
    """Take the smallest plane out of use; returns the new mass."""
    least = 0
    for p in range(1, m):
        if beta[p] < beta[least]:
            least = p
    mass = max(mass - beta[least], 0.0)
    beta[least] = 0.0
    return mass


@njit
def _shift(gold, labels, step, trans, mask, masked, change):
    """Add ``step`` times a plane to the weights of transitions, and to the changes of labels."""
    for t in range(gold.size):
        a = labels[t]
        if a != gold[t]:
            change[t, gold[t]] += step
            change[t, a] -= step
        if t > 0 and (a != gold[t] or labels[t - 1] != gold[t - 1]):
            b, c = gold[t - 1], gold[t]
            trans[b, c] += step
            masked[b, c] = trans[b, c] + mask[b, c]
            b, c = labels[t - 1], a
            trans[b, c] -= step
            masked[b, c] = trans[b, c] + mask[b, c]


@njit(fastmath={"contract"})
def sweep(order, search, features, sequences, weights, limits, cap, planes, gap, max_steps, make_room):
    """Visit the sequences of ``order``; returns how many planes are new and for how many there was no place.

    Parameters
    ----------
    order : int array
        Sequences to visit.
    search : bool
        Whether to look for the most violated labels.
    features, sequences
        The problem, see ``dp/solvers/chain.py``.
    weights : Weights
        Changed in place.
    limits : Limits
        Hard constraints.
    cap : (n_sequences,)
        Bound on the dual mass.
    planes : Planes
        Planes and dual variables, changed in place.
    gap : (n_sequences,), out
        Duality gap of every block before it was solved.
    max_steps : int
        Most steps on a block.
    make_room : bool
        Give up the smallest plane of a sequence that has no place for a new one.
    """
    offsets, gold, costs = sequences
    emission, stored, trans = weights
    count, labels, height, beta, gram, idle, mass = planes
    n_labels = trans.shape[0]
    slots = beta.shape[1]
    longest = 0
    for s in order:
        longest = max(longest, offsets[s + 1] - offsets[s])
    unary, best = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    change = np.zeros((longest, n_labels))
    guess = np.empty(longest, dtype=np.int64)
    needed = np.empty(longest, dtype=np.bool_)
    top, old = np.empty(slots), np.empty(slots)
    work = (
        np.empty((longest, longest)),
        np.empty((longest, longest)),
        np.zeros((n_labels, n_labels)),
        np.zeros(emission.shape[0]),
        np.empty(slots),
    )
    masked = trans + limits.mask
    n_new, n_full = 0, 0
    for s in order:
        first = offsets[s]
        n_steps = offsets[s + 1] - first
        gap[s] = 0.0
        if n_steps == 0 or (not search and count[s] == 0):
            continue
        true = gold[first : first + n_steps]
        m = count[s]
        for t in range(n_steps):
            needed[t] = search
            if not search:  # planes agree with the true labels at most tokens
                for p in range(m):
                    needed[t] |= labels[p, first + t] != true[t]
        _score(features, first, n_steps, needed, emission, unary)
        high, weighed = 0.0, 0.0
        for p in range(m):
            top[p] = height[s, p] + _lead(unary, trans, labels[p, first : first + n_steps], true, n_steps)
            old[p] = beta[s, p]
            high = max(high, top[p])
            weighed += old[p] * top[p]
        crowded = False
        if search:
            _decode(unary, costs, first, n_steps, masked, limits, best, guess)
            loss = 0.0
            for t in range(n_steps):
                loss += costs[first + t, guess[t]]
            value = loss + _lead(unary, trans, guess, true, n_steps)
            if value > high * (1.0 + 1e-12) + 1e-12:
                high = value
                slot = _free_slot(beta[s], idle[s], m)
                if slot < 0:
                    n_full += 1
                    crowded = make_room
                else:
                    m = max(m, slot + 1)
                    count[s] = m
                    height[s, slot] = loss
                    beta[s, slot] = 0.0
                    idle[s, slot] = 0
                    top[slot], old[slot] = value, 0.0
                    _remember(features, first, true, guess, slot, m, stored, labels, gram[s], work)
                    n_new += 1
        gap[s] = cap[s] * high - weighed
        mass[s] = solve_block(gram[s], 0.0, top, beta[s], mass[s], cap[s], m, max_steps, _TOL)
        if crowded:
            mass[s] = _drop_smallest(beta[s], mass[s], m)
        moved = False
        for p in range(m):
            step = beta[s, p] - old[p]
            idle[s, p] = 0 if beta[s, p] > 0.0 else idle[s, p] + 1
            if step != 0.0:
                moved = True
                _shift(true, labels[p, first : first + n_steps], step, trans, limits.mask, masked, change)
        if moved:
            _move(features, first, n_steps, change, stored, emission)
    return n_new, n_full


@njit(fastmath={"contract"})
def _move(features, first, n_steps, change, stored, emission):
    """Add ``change[t, k]`` times the features of token ``t`` to the weights, and clear ``change``."""
    indptr, indices, data, token_rows = features
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
