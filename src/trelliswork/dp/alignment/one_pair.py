"""One pair of a batch."""

from __future__ import annotations

from trelliswork._jit import njit
from trelliswork.dp.alignment.pairs import Pair

__all__ = ["one_pair"]


@njit(no_cpython_wrapper=True)
def one_pair(pairs, law, p):
    """Pair ``p`` with its scores."""
    t = p if law.tables.shape[0] > 1 else 0
    rows = slice(pairs.first_ptr[p], pairs.first_ptr[p + 1])
    return Pair(
        pairs.first[rows],
        pairs.second[pairs.second_ptr[p] : pairs.second_ptr[p + 1]],
        law.tables[t],
        law.gaps[t],
        law.miss[rows],
        pairs.partner[rows],
        law.cell[pairs.cell_ptr[p] : pairs.cell_ptr[p + 1]] if law.cell.size else law.cell,
        law.flags,
    )
