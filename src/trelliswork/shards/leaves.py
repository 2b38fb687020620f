"""Samples in memory, cut into the blocks that partitions are cut into."""

from __future__ import annotations

import numpy as np

from trelliswork.shards.batch import sharded
from trelliswork.shards.blocks import Block, Room, block_size
from trelliswork.shards.local import LocalBlocks
from trelliswork.structures.base import Batch

__all__ = ["in_leaves"]


def in_leaves(batch: Batch, *, whole: bool = True) -> Batch:
    """The samples in leaves of the tree in which sums over partitions are taken.

    A search of hundreds of steps makes the last bits of its first sums visible in the weights. In leaves,
    sums over samples in memory have the same bits as those over partitions, here or on a cluster.

    Parameters
    ----------
    batch : Batch
        All samples.
    whole : bool, default=True
        Whether few samples stay a batch as it is; else they are asked as a block, for learners that do more
        than add up.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.shards.leaves import in_leaves
    >>> _, batch = Chain().with_limits(leaf_samples=2).compile([["a"], ["b"], ["a"]], [["A"], ["B"], ["B"]])
    >>> in_leaves(batch).blocks.lengths
    array([2, 1])
    """
    n, size = len(batch), block_size(len(batch), batch.limits.leaf_samples)
    if n <= size and whole:
        return batch.canonical()
    parts = [batch.subset(np.arange(k, min(n, k + size))).canonical() for k in range(0, max(n, 1), size)]
    blocks = LocalBlocks([Block(part, 0) for part in parts], [len(part) for part in parts], Room(1 << 62))
    return sharded(batch.space, blocks, batch.subset([]))
