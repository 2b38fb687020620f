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

_SMALLEST = 1e-290


@njit
def _longest(offsets, first, last):
    longest = 0
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


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
    """Uniform law over all label sequences; closed form, see ``_chain_moments``.

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
    u = np.empty((_longest(offsets, first, last), n_labels))
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
def prepare(ahead, factors, offsets, first, last, rho, weights, pairs, doubtful):
    """Tables of a Gibbs law that :func:`gibbs_product` reads; False if numbers leave the range.

    ``ahead`` holds the label scores and becomes such that, given label a at t, the label at
    ``t + 1`` has probabilities in proportion to ``factors[a] * ahead[t + 1]``; ``rho`` become the label
    probabilities. ``pairs`` gains the weighted sums of the transition probabilities q, ``doubtful``
    those of q (1 - q).
    """
    n_labels = ahead.shape[1]
    total = np.empty(n_labels)
    for s in range(first, last):
        lo, hi = offsets[s], offsets[s + 1]
        w = weights[s]
        for t in range(hi - 1, lo - 1, -1):
            row = ahead[t]
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
                        value += factors[a, b] * ahead[t + 1, b]
                row[a] = np.exp(row[a] - top) * value
                largest = max(largest, row[a])
            if not 1e-280 < largest < 1e280:
                return False
            for a in range(n_labels):
                row[a] /= largest
        if hi > lo:
            value = 0.0
            for a in range(n_labels):
                value += ahead[lo, a]
            for a in range(n_labels):
                rho[lo, a] = ahead[lo, a] / value
        for t in range(lo, hi - 1):
            here, there = rho[t], rho[t + 1]
            for b in range(n_labels):
                there[b] = 0.0
                total[b] = 0.0
            for a in range(n_labels):
                for b in range(n_labels):
                    total[a] += factors[a, b] * ahead[t + 1, b]
                if here[a] == 0.0:
                    continue
                if total[a] < _SMALLEST:
                    return False
                x = here[a] / total[a]
                for b in range(n_labels):
                    q = x * factors[a, b] * ahead[t + 1, b]
                    there[b] += q
                    pairs[a, b] += w * q
                    doubtful[a, b] += w * q * (1.0 - min(q, 1.0))
    return True


@njit(fastmath={"contract"})
def gibbs_product(
    rows,
    index,
    offsets,
    gold,
    about_gold,
    weights,
    trans,
    first,
    last,
    out_rows,
    out_trans,
    factors,
    ahead,
    rho,
):
    """Law of :func:`prepare`; arguments as in :func:`uniform_product`.

    What the direction ``trans`` itself adds to ``out_trans`` on top of the movement of the
    probabilities, expected transitions times ``trans``, is left to the caller.
    """
    n_labels = trans.shape[0]
    longest = _longest(offsets, first, last)
    after = np.zeros((longest, n_labels))  # direction of a label and mean direction of what follows
    up = np.zeros((longest, n_labels))  # mean direction of what follows
    inverse = np.zeros((longest, n_labels))  # one over the sum of what follows
    change, moved = np.zeros(n_labels), np.zeros(n_labels)
    weighed = factors * trans
    factors_t, weighed_t = factors.T.copy(), weighed.T.copy()  # columns made contiguous
    outer = np.zeros((n_labels, n_labels))
    for s in range(first, last):
        lo = offsets[s]
        n_steps = offsets[s + 1] - lo
        if n_steps == 0:
            continue
        w = weights[s]
        total = 0.0
        for t in range(n_steps - 1, -1, -1):
            row = after[t]
            _gather(rows, index, lo + t, row)
            if about_gold:
                total += row[gold[lo + t]]
                if t > 0:
                    total += trans[gold[lo + t - 1], gold[lo + t]]
            if t == n_steps - 1:
                continue
            means, sums = up[t], inverse[t]
            for a in range(n_labels):
                means[a] = 0.0
                sums[a] = 0.0
            for b in range(n_labels):
                p = ahead[lo + t + 1, b]
                if p == 0.0:
                    continue
                q = p * after[t + 1, b]
                plain, heavy = factors_t[b], weighed_t[b]
                for a in range(n_labels):
                    means[a] += q * plain[a] + p * heavy[a]
                    sums[a] += p * plain[a]
            for a in range(n_labels):
                sums[a] = 1.0 / sums[a] if sums[a] > _SMALLEST else 0.0
                means[a] *= sums[a]
                row[a] += means[a]
        mean = 0.0
        for b in range(n_labels):
            mean += rho[lo, b] * after[0, b]
        for k in range(n_labels):
            change[k] = rho[lo, k] * (after[0, k] - mean)
        lift = w * (total - mean) if about_gold else 0.0
        for t in range(n_steps):
            here = rho[lo + t]
            for k in range(n_labels):
                moved[k] = w * change[k] - lift * here[k]
            if about_gold:
                moved[gold[lo + t]] += lift
                if t > 0:
                    out_trans[gold[lo + t - 1], gold[lo + t]] += lift
            _scatter(moved, index, lo + t, out_rows)
            if t == n_steps - 1:
                break
            next_p, next_rho, below = ahead[lo + t + 1], rho[lo + t + 1], after[t + 1]
            for k in range(n_labels):
                moved[k] = 0.0
            for a in range(n_labels):
                if here[a] == 0.0:
                    continue
                x = inverse[t, a]
                shift, stay = x * (change[a] - here[a] * up[t, a]), x * here[a]
                plain, heavy = factors[a], weighed[a]
                own = w * shift - lift * stay
                target = outer[a]
                for b in range(n_labels):
                    moved[b] += shift * plain[b] + stay * heavy[b]
                    target[b] += next_p[b] * (own + w * stay * below[b])
            # Changes of probabilities sum to zero; taking the rest off keeps rounding from piling up.
            excess = 0.0
            for b in range(n_labels):
                change[b] = next_p[b] * moved[b] + next_rho[b] * below[b]
                excess += change[b]
            for b in range(n_labels):
                change[b] -= excess * next_rho[b]
    for a in range(n_labels):
        for b in range(n_labels):
            out_trans[a, b] += factors[a, b] * outer[a, b]
