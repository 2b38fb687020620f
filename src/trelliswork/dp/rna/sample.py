"""RNA secondary structures drawn at random, top-down, from the chart of ``dp/rna/inside.py``."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.rules import F_LS, F_PAIR, KIND, S_L, S_LS

__all__ = ["sample"]

_LN2 = np.log(2.0)
_SUM, _INNER = 0, 1


@njit
def sample(seq, table, pair, width, s, f, e, fe, Lm, Le, uniform, partners):
    """Draw structures with probability proportional to the exponential of their score.

    Parameters
    ----------
    seq, table, pair, width
        One sequence and its scores, see ``dp/rna/inside.py``.
    s, f, e, fe, Lm, Le : ndarray
        From ``inside`` of ``dp/rna/inside.py``.
    uniform : ndarray of shape (n_draws, 2 * n)
        Random numbers in [0, 1); a draw takes at most one for each base and each pair.
    partners : ndarray of int64, shape (n_draws, n)
        Output: pair tables.

    Returns
    -------
    bool
        Whether all draws came to an end; sums that are no numbers leave nothing to choose from.
    """
    n, n_depths = seq.size, table.shape[0]
    stack = np.empty((n + 2, 4), np.int64)
    for r in range(uniform.shape[0]):
        partner = partners[r]
        partner[:] = -1
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = _SUM, 0, 0, n - 1
        depth, used = 1, 0
        while depth > 0:
            depth -= 1
            goal, d, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            block = j // width
            col = j - block * width
            common = e[d, block, i] if goal == _SUM else fe[d, block, i]
            inner = min(d + 1, n_depths - 1)
            if used == uniform.shape[1] or depth + 2 > stack.shape[0]:
                return False
            level = uniform[r, used]
            used += 1
            if goal == _SUM:
                level *= s[d, block, i, col]
                share = Lm[d, i, j] * np.exp(table[d, S_L] + (Le[d, i, j] - common) * _LN2)
                if level < share or i == j:
                    if i < j:
                        partner[i], partner[j] = j, i
                        stack[depth, 0], stack[depth, 1] = _INNER, inner
                        stack[depth, 2], stack[depth, 3] = i + 1, j - 1
                        depth += 1
                    continue
                rule = table[d, S_LS]
            else:
                level *= f[d, block, i, col]
                share = 0.0
                kind = KIND[seq[i], seq[j]]
                if kind >= 0 and j >= i + 3:
                    before = (j - 1) // width
                    share = f[d, before, i + 1, j - 1 - before * width]
                    weight = table[d, F_PAIR + kind]
                    if pair.size:
                        weight += pair[i * n - (i * (i - 1)) // 2 - i + j]
                    share *= np.exp(weight + (fe[d, before, i + 1] - common) * _LN2)
                if level < share:
                    partner[i], partner[j] = j, i
                    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = (
                        _INNER,
                        d,
                        i + 1,
                        j - 1,
                    )
                    depth += 1
                    continue
                rule = table[d, F_LS]
            level -= share
            split = -1  # rounding may leave a rest at the end: then it is the last that is possible
            for k in range(i, j):
                if Lm[d, i, k] == 0.0 or s[d, block, k + 1, col] == 0.0:
                    continue
                weight = rule + (Le[d, i, k] + e[d, block, k + 1] - common) * _LN2
                split = k
                level -= Lm[d, i, k] * s[d, block, k + 1, col] * np.exp(weight)
                if level < 0.0:
                    break
            if split < 0:
                return False
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = _SUM, d, split + 1, j
            depth += 1
            if split > i:
                partner[i], partner[split] = split, i
                stack[depth, 0], stack[depth, 1] = _INNER, inner
                stack[depth, 2], stack[depth, 3] = i + 1, split - 1
                depth += 1
    return True
