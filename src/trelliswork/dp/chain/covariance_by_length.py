"""Covariance times a vector for chains whose law depends on the length of the sequence alone.

The uniform law under constraints on transitions and ends is of this kind: given the label of a
token, that of the next one has probabilities which depend on the number of tokens that follow, and
sequences of one length share all label probabilities. Sequences of equal length stand in groups;
inner loops run over the lanes of a group with weights that all lanes share.

Arguments, layouts and results are those of ``dp/chain/covariance.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit
def prepare(allowed, starts, ends, lengths, base, moves, rho):
    """Fill the probabilities of the next label and the label probabilities of every length.

    ``moves[r]`` (from, to) is for a token that ``r`` tokens follow; the label probabilities of
    ``lengths[j]`` tokens start at ``rho[base[j]]``. ``allowed`` are the factors of transitions,
    ``starts`` and ``ends`` those of the first and the last label.
    """
    n_labels = allowed.shape[0]
    longest = moves.shape[0]
    n_paths = np.empty((max(longest, 1), n_labels))  # up to a factor per row
    for a in range(n_labels):
        n_paths[0, a] = ends[a]
    for r in range(1, longest):
        for a in range(n_labels):
            total = 0.0
            for b in range(n_labels):
                total += allowed[a, b] * n_paths[r - 1, b]
            n_paths[r, a] = total
            for b in range(n_labels):
                moves[r, a, b] = allowed[a, b] * n_paths[r - 1, b] / total if total > 0.0 else 0.0
        largest = 0.0
        for a in range(n_labels):
            largest = max(largest, n_paths[r, a])
        if largest > 0.0:
            for a in range(n_labels):
                n_paths[r, a] /= largest
    for j in range(lengths.size):
        n = lengths[j]
        here, total = rho[base[j]], 0.0
        for a in range(n_labels):
            here[a] = starts[a] * n_paths[n - 1, a]
            total += here[a]
        if total > 0.0:
            for a in range(n_labels):
                here[a] /= total
        for t in range(base[j], base[j] + n - 1):
            step = moves[base[j] + n - 1 - t]
            for b in range(n_labels):
                rho[t + 1, b] = 0.0
                for a in range(n_labels):
                    rho[t + 1, b] += rho[t, a] * step[a, b]


@njit(inline="always")
def _combine(out, rows, weights):
    """``out = weights @ rows``, the columns of ``rows`` side by side."""
    n = weights.size
    n3 = n // 3 * 3
    for lane in range(out.size):
        out[lane] = 0.0
    for i in range(0, n3, 3):
        x0, x1, x2 = weights[i], weights[i + 1], weights[i + 2]
        r0, r1, r2 = rows[i], rows[i + 1], rows[i + 2]
        for lane in range(out.size):
            out[lane] += r0[lane] * x0 + r1[lane] * x1 + r2[lane] * x2
    for i in range(n3, n):
        x0 = weights[i]
        r0 = rows[i]
        for lane in range(out.size):
            out[lane] += r0[lane] * x0


@njit(fastmath={"contract", "reassoc"})
def plain_product(
    rows, index, offsets, gold, about_gold, weights, trans, first, last, out_rows, out_trans, law
):
    """Law of :func:`prepare`, for the groups ``first .. last - 1``.

    ``law`` holds the groups (``members``, ``group_ptr``, ``group_base``), the probabilities of transitions
    ``moves`` and those of labels ``all_rho``. Group g holds the sequences ``members[group_ptr[g] :
    group_ptr[g + 1]]``, all of one length, whose label probabilities start at ``all_rho[group_base[g]]``.
    """
    members, group_ptr, group_base, moves, all_rho = law
    n_labels = trans.shape[0]
    n_blocks = index.shape[1]
    most = longest = 0
    for g in range(first, last):
        most = max(most, group_ptr[g + 1] - group_ptr[g])
        s = members[group_ptr[g]]
        longest = max(longest, offsets[s + 1] - offsets[s])
    space = np.empty(2 * longest * n_labels * most)
    flat = np.empty((3, n_labels * most))
    total, mean, lift, w, excess = np.zeros((5, most))
    low = np.zeros(most, dtype=np.int64)
    u = np.empty(n_labels)
    mean_trans = np.zeros((longest, n_labels))  # of the next transition, given the label
    for r in range(1, longest):
        for a in range(n_labels):
            for b in range(n_labels):
                mean_trans[r, a] += moves[r, a, b] * trans[a, b]
    turned = np.empty((longest, n_labels, n_labels))
    for r in range(1, longest):
        for a in range(n_labels):
            for b in range(n_labels):
                turned[r, b, a] = moves[r, a, b]
    for g in range(first, last):
        n_lanes = group_ptr[g + 1] - group_ptr[g]
        for i in range(n_lanes):
            s = members[group_ptr[g] + i]
            low[i], w[i], total[i] = offsets[s], weights[s], 0.0
        s = members[group_ptr[g]]
        n_steps = offsets[s + 1] - offsets[s]
        size, shape = n_steps * n_labels * n_lanes, (n_steps, n_labels, n_lanes)
        after = space[:size].reshape(shape)  # direction of a label and mean direction of what follows
        up = space[size : 2 * size].reshape(shape)  # mean direction of what follows
        change = flat[0, : n_labels * n_lanes].reshape((n_labels, n_lanes))
        moved = flat[1, : n_labels * n_lanes].reshape((n_labels, n_lanes))
        shift = flat[2, : n_labels * n_lanes].reshape((n_labels, n_lanes))
        rho = all_rho[group_base[g] : group_base[g] + n_steps]
        for t in range(n_steps - 1, -1, -1):
            r = n_steps - 1 - t
            for i in range(n_lanes):
                token = low[i] + t
                for k in range(n_labels):
                    u[k] = 0.0
                for j in range(n_blocks):
                    source = index[token, j]
                    for k in range(n_labels):
                        u[k] += rows[source, k]
                for k in range(n_labels):
                    after[t, k, i] = u[k]
                if about_gold:
                    total[i] += u[gold[token]]
                    if t > 0:
                        total[i] += trans[gold[token - 1], gold[token]]
            if r:
                for a in range(n_labels):
                    means, row, constant = up[t, a], after[t, a], mean_trans[r, a]
                    _combine(means, after[t + 1], moves[r, a])
                    for i in range(n_lanes):
                        means[i] += constant
                        row[i] += means[i]
        for i in range(n_lanes):
            mean[i] = 0.0
        for b in range(n_labels):
            for i in range(n_lanes):
                mean[i] += rho[0, b] * after[0, b, i]
        lift_sum = 0.0
        for i in range(n_lanes):
            lift[i] = w[i] * (total[i] - mean[i]) if about_gold else 0.0
            lift_sum += lift[i]
        for b in range(n_labels):
            for i in range(n_lanes):
                change[b, i] = rho[0, b] * (after[0, b, i] - mean[i])
        for t in range(n_steps):
            r = n_steps - 1 - t
            for i in range(n_lanes):
                token = low[i] + t
                for k in range(n_labels):
                    u[k] = w[i] * change[k, i] - lift[i] * rho[t, k]
                if about_gold:
                    u[gold[token]] += lift[i]
                    if t > 0:
                        out_trans[gold[token - 1], gold[token]] += lift[i]
                for j in range(n_blocks):
                    target = index[token, j]
                    for k in range(n_labels):
                        out_rows[target, k] += u[k]
            if r == 0:
                break
            for a in range(n_labels):
                x = rho[t, a]
                weighed = 0.0
                for i in range(n_lanes):
                    shift[a, i] = change[a, i] - x * up[t, a, i]
                    weighed += w[i] * shift[a, i]
                # All transitions from a, but for what the direction of the next label adds.
                u[a] = weighed - lift_sum * x
            for i in range(n_lanes):
                excess[i] = 0.0
            for b in range(n_labels):
                constant = weighed = 0.0
                for a in range(n_labels):
                    constant += rho[t, a] * moves[r, a, b] * trans[a, b]
                x = rho[t + 1, b]
                target, ahead = moved[b], after[t + 1, b]
                _combine(target, shift, turned[r, b])
                for i in range(n_lanes):
                    target[i] += constant + x * ahead[i]
                    excess[i] += target[i]
                    weighed += w[i] * ahead[i]
                for a in range(n_labels):
                    out_trans[a, b] += moves[r, a, b] * (u[a] + rho[t, a] * weighed)
            # Changes of probabilities sum to zero; taking the rest off keeps rounding from piling up.
            for b in range(n_labels):
                x = rho[t + 1, b]
                for i in range(n_lanes):
                    change[b, i] = moved[b, i] - excess[i] * x
