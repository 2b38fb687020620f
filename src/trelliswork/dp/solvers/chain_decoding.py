"""Best label sequences inside the solvers for label chains of order 1."""

from __future__ import annotations

from trelliswork._jit import njit

__all__ = ["best_labels"]


@njit(no_cpython_wrapper=True)
def best_labels(best, trans, n_steps, labels):
    """Best label sequence, the first of equal ones, for transitions ``[from, to]``.

    ``best`` has the scores of labels, and later those of what follows as well.
    """
    n_labels = trans.shape[0]
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
    labels[0] = choice
    for t in range(1, n_steps):
        row = trans[choice]
        choice = 0
        for b in range(1, n_labels):
            if row[b] + best[t, b] > row[choice] + best[t, choice]:
                choice = b
        labels[t] = choice
