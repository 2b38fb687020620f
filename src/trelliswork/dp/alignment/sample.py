"""Random alignments of a pair, drawn move by move from the probabilities of ``dp/alignment/inside.py``."""

from __future__ import annotations

from trelliswork._jit import njit
from trelliswork.dp.alignment.flags import LOCAL

__all__ = ["NOT_STARTED", "finish", "start_block", "walk_block"]

NOT_STARTED, _ENDED = 3, 4  # states beside M, D, I


@njit
def start_block(low, high, entry, passed, marks, order, state, cell, paths, used):
    """Let local alignments start in the rows low .. high - 1; returns the probability so far.

    Walk ``k`` starts where the sum of ``entry``, row by row, passes ``marks[k]``; ``order`` sorts the
    marks. Walks that never do stay empty.
    """
    waiting = 0
    while waiting < order.size and state[order[waiting]] != NOT_STARTED:
        waiting += 1
    for i in range(low, high):
        for j in range(entry.shape[1]):
            passed += entry[i - low, j]
            while waiting < order.size and marks[order[waiting]] < passed:
                k = order[waiting]
                waiting += 1
                paths[k, :i] = 3
                paths[k, i : i + j] = 4
                paths[k, i + j] = 0
                used[k] = i + j + 1
                state[k], cell[k, 0], cell[k, 1] = 0, i + 1, j + 1
    return passed


@njit
def walk_block(low, high, n1, n2, flags, P, uniform, state, cell, paths, used):
    """Move all walks on as long as they are in the rows low .. high - 1.

    ``state``, ``cell`` and ``used`` (columns so far) belong to the walks; the move from a cell takes
    the number ``uniform[k, i + j]``. Returns whether every move was possible: probabilities that are no
    numbers lead out of the table.
    """
    for k in range(state.size):
        while state[k] < NOT_STARTED and low <= cell[k, 0] < high:
            i, j = cell[k, 0], cell[k, 1]
            if not flags & LOCAL and i == n1 and j == n2:
                break
            p, s, u = P[i - low, j], 3 * state[k], uniform[k, i + j]
            if u < p[s]:
                move = 0
            elif u < p[s] + p[s + 1]:
                move = 1
            elif u < p[s] + p[s + 1] + p[s + 2] or not flags & LOCAL:
                move = 2
                if p[s + 2] == 0.0:  # the sum was rounded to below 1
                    move = 1 if p[s + 1] > 0.0 else 0
            else:
                state[k] = _ENDED
                break
            if (i == n1 and move != 2) or (j == n2 and move != 1):
                return False
            paths[k, used[k]] = move
            used[k] += 1
            state[k] = move
            cell[k, 0] += move != 2
            cell[k, 1] += move != 1
    return True


@njit
def finish(n1, n2, flags, cell, paths, used):
    """Skip what local alignments leave out behind them."""
    for k in range(used.size):
        if flags & LOCAL:
            rest = n1 - cell[k, 0]
            paths[k, used[k] : used[k] + rest] = 3
            used[k] += rest
            rest = n2 - cell[k, 1]
            paths[k, used[k] : used[k] + rest] = 4
            used[k] += rest
