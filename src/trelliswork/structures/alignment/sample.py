"""Random alignments of the pairs of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._errors import InputError
from trelliswork.dp.alignment.flags import LOCAL
from trelliswork.dp.alignment.pairs import Pair

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch, Law

__all__ = ["PairLaw", "draw"]


class PairLaw:
    """Probabilities of moves of one pair, a block of rows at a time.

    Parameters
    ----------
    batch : AlignmentBatch
        The batch.
    law : Law
        Scores, made with ``sums=True``.
    p : int
        Number of the pair.

    Attributes
    ----------
    step, n_blocks : int
        Rows of a block, and number of blocks.
    moves, entry : ndarray
        Probabilities in the present block, see ``dp/alignment/inside.py``.
    """

    def __init__(self, batch: AlignmentBatch, law: Law, p: int):
        from trelliswork.dp.alignment import inside

        rows = slice(batch.first.offsets[p], batch.first.offsets[p + 1])
        self.first, self.second, self.flags = batch.first[p], batch.second[p], law.flags
        t = p if law.tables.shape[0] > 1 else 0
        cell = law.cell[batch.cell_ptr[p] : batch.cell_ptr[p + 1]] if law.cell.size else law.cell
        scores = law.tables[t], law.gaps[t], law.miss[rows], batch.partner[rows], cell
        self._pair = Pair(self.first, self.second, *scores, law.flags)
        n1, n2 = self.first.size, self.second.size
        self.step = int(inside.block_rows(n1, n2))
        self.n_blocks = -(-(n1 + 1) // self.step)
        self._kept = np.empty((self.n_blocks, 3, n2 + 1))
        self._log_z = inside.pair_backward(self._pair, self.step, self._kept)
        self.moves, self.entry = np.empty((self.step, n2 + 1, 9)), np.zeros((self.step, n2))
        self._known = -1

    def block(self, q: int) -> tuple[int, int]:
        """Make ``q`` the present block; returns its first row and the row after its last."""
        from trelliswork.dp.alignment import inside

        if q != self._known:
            kept = self.step, self._kept, self._log_z, self.moves, self.entry
            inside.pair_block(q, self._pair, *kept)
            self._known = q
        return q * self.step, min((q + 1) * self.step, self.first.size + 1)


def draw(batch: AlignmentBatch, law: Law, p: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of ``n`` alignments of pair ``p``, one after the other, and their numbers.

    The stream of random numbers is that of the pair, whatever the threads.
    """
    from trelliswork.dp.alignment import sample

    pair = PairLaw(batch, law, p)
    n1, n2 = pair.first.size, pair.second.size
    rng = np.random.default_rng([seed, p])
    uniform = rng.random((n, n1 + n2 + 1))
    local = bool(law.flags & LOCAL)
    state = np.full(n, sample.NOT_STARTED if local else 0)
    position, paths, used = (
        np.zeros((n, 2), np.int64),
        np.empty((n, n1 + n2), np.int64),
        np.zeros(n, np.int64),
    )
    marks = rng.random(n) if local else np.zeros(n)
    order, passed = np.argsort(marks, kind="stable"), 0.0
    for q in range(pair.n_blocks):
        low, high = pair.block(q)
        if local:
            passed = sample.start_block(
                low, min(high, n1), pair.entry, passed, marks, order, state, position, paths, used
            )
        walks = state, position, paths, used
        if not sample.walk_block(low, high, n1, n2, law.flags, pair.moves, uniform, *walks):
            raise InputError("the scores overflow; scale the weights or the features down", sample=p)
    sample.finish(n1, n2, law.flags, position, paths, used)
    return paths[np.arange(n1 + n2) < used[:, None]], used
