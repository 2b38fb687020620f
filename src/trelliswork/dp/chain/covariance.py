"""Covariance times a vector for label chains of order 1 with shared transitions.

The token map is given as distinct rows and the rows of every token: ``rows`` holds, per
distinct row, the direction of each label (features times the vector), ``index`` (n_tokens,
n_blocks) the rows of a token. The last row is zero and stands for "none". A sequence is
gathered, swept and scattered back before the next one, so that nothing of the size of the
data is written. With ``about_gold`` the second moment about the gold output comes out:
``C v + b (b . v)``, b = gold - mean.

Transition arrays are ``[from, to]``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.chain.first_order import combine_rows
from trelliswork.dp.room import longest

_SMALLEST = 1e-290


@njit
def _gather(rows, index, t, u):
    """Direction of each label at token ``t``."""
    n_labels = u.size
    for k in range(n_labels):
        u[k] = 0.0
    for j in range(index.shape[1]):
        source = rows[index[t, j]]
        for k in range(n_labels):
            u[k] += source[k]


@njit
def _scatter(values, index, t, out_rows):
    n_labels = values.size
    for j in range(index.shape[1]):
        target = out_rows[index[t, j]]
        for k in range(n_labels):
            target[k] += values[k]


@njit(fastmath={"contract"})
def uniform_product(rows, index, offsets, gold, about_gold, weights, trans, first, last, out_rows, out_trans):
    """Uniform law over all label sequences; closed form, see ``structures/chain/uniform.py``.

    Adds to ``out_rows`` and ``out_trans``.
    """
    n_labels = trans.shape[0]
    whole = 0.0
    by_row, by_column = np.zeros(n_labels), np.zeros(n_labels)
    for a in range(n_labels):
        for b in range(n_labels):
            by_row[a] += trans[a, b] / n_labels
            by_column[b] += trans[a, b] / n_labels
            whole += trans[a, b] / (n_labels * n_labels)
    for a in range(n_labels):
        by_row[a] -= whole
        by_column[a] -= whole
    u = np.empty((longest(offsets, first, last), n_labels))
    h, every = np.empty(n_labels), np.zeros(n_labels)
    firsts, lasts = np.zeros(n_labels), np.zeros(n_labels)
    m1 = m2 = plain = 0.0
    for s in range(first, last):
        lo = offsets[s]
        n_steps = offsets[s + 1] - lo
        if n_steps == 0:
            continue
        w = weights[s]
        total = 0.0
        for t in range(n_steps):
            row = u[t]
            _gather(rows, index, lo + t, row)
            mean = 0.0
            for k in range(n_labels):
                mean += row[k]
            mean /= n_labels
            for k in range(n_labels):
                row[k] -= mean
            if about_gold:
                total += row[gold[lo + t]]
                if t > 0:
                    total += trans[gold[lo + t - 1], gold[lo + t]] - whole
        lift = w * total
        plain -= lift * (n_steps - 1)
        scale = w / n_labels
        for k in range(n_labels):
            firsts[k] += w * u[0, k]
            lasts[k] += w * u[n_steps - 1, k]
        for t in range(n_steps):
            row = u[t]
            leaves, enters = scale * (t < n_steps - 1), scale * (t > 0)
            for k in range(n_labels):
                h[k] = scale * row[k] + leaves * by_row[k] + enters * by_column[k] - lift / n_labels
                every[k] += w * row[k]
            if about_gold:
                h[gold[lo + t]] += lift
                if t > 0:
                    out_trans[gold[lo + t - 1], gold[lo + t]] += lift
            _scatter(h, index, lo + t, out_rows)
        m1 += w * (n_steps - 1)
        m2 += w * max(n_steps - 2, 0)
    square = 1.0 / (n_labels * n_labels)
    for a in range(n_labels):
        for b in range(n_labels):
            ends = every[a] - lasts[a] + every[b] - firsts[b]
            chained = m2 * (by_column[a] + by_row[b])
            out_trans[a, b] += square * (ends + plain + m1 * (trans[a, b] - whole) + chained)


@njit(fastmath={"contract"})
def prepare(unary, factors, offsets, members, base, first, last, ahead, rho, weights, pairs, doubtful):
    """Tables of a Gibbs law that :func:`gibbs_product` reads; False if numbers leave the range.

    Sequences stand in groups: group g has the lanes ``members[base[g, 1] : base[g + 1, 1]]``, longest
    first, and its part of the tables, laid out (step, label, lane), starts at ``base[g, 0]``.
    Given label a, the next label has probabilities in proportion to ``factors[a] * ahead`` there;
    ``rho`` are the label probabilities. ``unary`` is used up. ``pairs`` gains the weighted sums of
    the transition probabilities q, ``doubtful`` those of q (1 - q).
    """
    n_labels = unary.shape[1]
    here, there = np.empty(n_labels), np.empty(n_labels)
    for g in range(first, last):
        n_lanes = base[g + 1, 1] - base[g, 1]
        for i in range(n_lanes):
            s = members[base[g, 1] + i]
            lo, hi = offsets[s], offsets[s + 1]
            w = weights[s]
            for t in range(hi - 1, lo - 1, -1):
                row = unary[t]
                top = row[0]
                for b in range(1, n_labels):
                    top = max(top, row[b])
                if top == -np.inf:
                    return False
                largest = 0.0
                for a in range(n_labels):
                    value = 1.0
                    if t < hi - 1:
                        value = 0.0
                        for b in range(n_labels):
                            value += factors[a, b] * unary[t + 1, b]
                    row[a] = np.exp(row[a] - top) * value
                    largest = max(largest, row[a])
                if not 1e-280 < largest < 1e280:
                    return False
                place = base[g, 0] + (t - lo) * n_labels * n_lanes + i
                for a in range(n_labels):
                    row[a] /= largest
                    ahead[place + a * n_lanes] = row[a]
            if hi > lo:
                value = 0.0
                for a in range(n_labels):
                    value += unary[lo, a]
                for a in range(n_labels):
                    here[a] = unary[lo, a] / value
                    rho[base[g, 0] + a * n_lanes + i] = here[a]
            for t in range(lo, hi - 1):
                for b in range(n_labels):
                    there[b] = 0.0
                for a in range(n_labels):
                    if here[a] == 0.0:
                        continue
                    value = 0.0
                    for b in range(n_labels):
                        value += factors[a, b] * unary[t + 1, b]
                    if value < _SMALLEST:
                        return False
                    x = here[a] / value
                    for b in range(n_labels):
                        q = x * factors[a, b] * unary[t + 1, b]
                        there[b] += q
                        pairs[a, b] += w * q
                        doubtful[a, b] += w * q * (1.0 - min(q, 1.0))
                place = base[g, 0] + (t + 1 - lo) * n_labels * n_lanes + i
                for b in range(n_labels):
                    here[b] = there[b]
                    rho[place + b * n_lanes] = there[b]
    return True


@njit
def by_tokens(table, offsets, members, base, first, last, out):
    """Rows per token of a table laid out by lanes."""
    n_labels = out.shape[1]
    for g in range(first, last):
        n_lanes = base[g + 1, 1] - base[g, 1]
        for i in range(n_lanes):
            s = members[base[g, 1] + i]
            for t in range(offsets[s + 1] - offsets[s]):
                place = base[g, 0] + t * n_labels * n_lanes + i
                for k in range(n_labels):
                    out[offsets[s] + t, k] = table[place + k * n_lanes]


@njit(fastmath={"contract", "reassoc"})
def gibbs_product(
    rows, index, offsets, gold, about_gold, weights, trans, first, last, out_rows, out_trans, law
):
    """Law of :func:`prepare`, for the groups ``first .. last - 1``.

    ``law`` holds the factors of transitions, the groups (``members``, ``base``), and the tables that
    :func:`prepare` fills, ``ahead`` and ``rho``.

    Inner loops run over the lanes of a group. What the direction ``trans`` itself adds to
    ``out_trans`` on top of the movement of the probabilities, expected transitions times
    ``trans``, is left to the caller; the rest as in :func:`uniform_product`.
    """
    factors, members, base, flat_ahead, flat_rho = law
    n_labels = trans.shape[0]
    n_blocks = index.shape[1]
    most = largest = 0
    for g in range(first, last):
        most = max(most, base[g + 1, 1] - base[g, 1])
        largest = max(largest, base[g + 1, 0] - base[g, 0])
    work = np.empty((3, largest))
    change = np.zeros((n_labels, most))
    moved = np.zeros(most)
    pq = np.zeros((2 * n_labels, most))  # what is ahead, and that times the direction from there on
    moves = np.zeros((2 * n_labels, most))  # how far each label moves, and where it stays
    u = np.empty(n_labels)
    mean, total, lift, w, excess = np.zeros((5, most))
    low, length = np.zeros((2, most), dtype=np.int64)
    forth, back = np.empty((2, n_labels, 2 * n_labels))
    for a in range(n_labels):
        for b in range(n_labels):
            x = factors[a, b]
            forth[a, b], forth[a, n_labels + b] = x * trans[a, b], x
            back[b, a], back[b, n_labels + a] = x, x * trans[a, b]
    outer = np.zeros((n_labels, n_labels))
    for g in range(first, last):
        n_lanes = base[g + 1, 1] - base[g, 1]
        n_steps = 0
        for i in range(n_lanes):
            s = members[base[g, 1] + i]
            low[i], length[i], w[i] = offsets[s], offsets[s + 1] - offsets[s], weights[s]
            total[i] = 0.0
            n_steps = max(n_steps, length[i])
        if n_steps == 0:
            continue
        shape, size = (n_steps, n_labels, n_lanes), n_steps * n_labels * n_lanes
        ahead = flat_ahead[base[g, 0] : base[g, 0] + size].reshape(shape)
        rho = flat_rho[base[g, 0] : base[g, 0] + size].reshape(shape)
        after = work[0, :size].reshape(shape)  # direction of a label and mean direction of what follows
        up = work[1, :size].reshape(shape)  # mean direction of what follows
        inverse = work[2, :size].reshape(shape)  # one over the total of what follows
        n_next = 0  # lanes that go on after this step: always the first ones
        for t in range(n_steps - 1, -1, -1):
            n_here = n_next
            while n_here < n_lanes and length[n_here] > t:
                n_here += 1
            for i in range(n_here):
                token = low[i] + t
                for k in range(n_labels):
                    u[k] = 0.0
                for j in range(n_blocks):
                    r = index[token, j]
                    for k in range(n_labels):
                        u[k] += rows[r, k]
                for k in range(n_labels):
                    after[t, k, i] = u[k]
                if about_gold:
                    total[i] += u[gold[token]]
                    if t > 0:
                        total[i] += trans[gold[token - 1], gold[token]]
            if n_next:
                for b in range(n_labels):
                    for i in range(n_next):
                        pq[b, i] = ahead[t + 1, b, i]
                        pq[n_labels + b, i] = pq[b, i] * after[t + 1, b, i]
                for a in range(n_labels):
                    means, inverses, row = up[t, a], inverse[t, a], after[t, a]
                    combine_rows(means, pq, forth[a], n_next)
                    combine_rows(inverses, pq, factors[a], n_next)
                    for i in range(n_next):
                        x = 1.0 / inverses[i] if inverses[i] > _SMALLEST else 0.0
                        inverses[i] = x
                        means[i] *= x
                        row[i] += means[i]
            n_next = n_here
        for i in range(n_next):
            mean[i] = 0.0
        for b in range(n_labels):
            for i in range(n_next):
                mean[i] += rho[0, b, i] * after[0, b, i]
        for i in range(n_next):
            lift[i] = w[i] * (total[i] - mean[i]) if about_gold else 0.0
        for b in range(n_labels):
            for i in range(n_next):
                change[b, i] = rho[0, b, i] * (after[0, b, i] - mean[i])
        n_here = n_next
        for t in range(n_steps):
            for i in range(n_here):
                token = low[i] + t
                for k in range(n_labels):
                    u[k] = w[i] * change[k, i] - lift[i] * rho[t, k, i]
                if about_gold:
                    u[gold[token]] += lift[i]
                    if t > 0:
                        out_trans[gold[token - 1], gold[token]] += lift[i]
                for j in range(n_blocks):
                    r = index[token, j]
                    for k in range(n_labels):
                        out_rows[r, k] += u[k]
            while n_here > 0 and length[n_here - 1] <= t + 1:
                n_here -= 1
            if n_here == 0:
                break
            for b in range(n_labels):
                for i in range(n_here):
                    pq[b, i] = ahead[t + 1, b, i]
                    pq[n_labels + b, i] = pq[b, i] * after[t + 1, b, i]
                    x = inverse[t, b, i]
                    moves[b, i] = x * (change[b, i] - rho[t, b, i] * up[t, b, i])
                    moves[n_labels + b, i] = x * rho[t, b, i]
            for i in range(n_here):
                excess[i] = 0.0
            for b in range(n_labels):
                combine_rows(moved, moves, back[b], n_here)
                target, far = change[b], pq[b]
                for i in range(n_here):
                    target[i] = far[i] * moved[i] + rho[t + 1, b, i] * after[t + 1, b, i]
                    excess[i] += target[i]
            # Changes of probabilities sum to zero; taking the rest off keeps rounding from piling up.
            for b in range(n_labels):
                for i in range(n_here):
                    change[b, i] -= excess[i] * rho[t + 1, b, i]
            for a in range(n_labels):
                shift, stay = moves[a], moves[n_labels + a]
                for i in range(n_here):
                    shift[i] = w[i] * shift[i] - lift[i] * stay[i]
                    stay[i] *= w[i]
                for b in range(n_labels):
                    far, level = pq[b], pq[n_labels + b]
                    value = 0.0
                    for i in range(n_here):
                        value += shift[i] * far[i] + stay[i] * level[i]
                    outer[a, b] += value
    for a in range(n_labels):
        for b in range(n_labels):
            out_trans[a, b] += factors[a, b] * outer[a, b]
