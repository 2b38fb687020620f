"""Partitions that the workers of a cluster read, and the samples that they then hold."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.dask import tasks
from trelliswork.dask.blocks import ClusterBlocks, Tasks
from trelliswork.shards import Shards
from trelliswork.shards.batch import ShardedBatch, sharded
from trelliswork.shards.blocks import block_size, unpacked
from trelliswork.shards.reading import Partition, listed, pieces_of
from trelliswork.shards.tree import groups_of
from trelliswork.structures.base import Space, Structure

__all__ = ["Parts", "as_parts", "client_of", "is_bag", "is_delayed", "is_parts"]

_JOINED = 8  # surveys that a task joins
_PER_THREAD = 1  # bundles of blocks for every thread


def client_of(client: Any) -> Any:
    """The client that was given, or the one in use."""
    if client is not None:
        return client
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise InputError(
            "there is no Dask cluster; make one with distributed.Client(...), or give client="
        ) from None


def is_parts(data: Any) -> bool:
    """Whether data are partitions for a cluster, and not samples."""
    if isinstance(data, (Shards, str, os.PathLike)) or is_bag(data):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(map(is_delayed, data))


def as_parts(data: Any, client: Any = None, **options: Any) -> Parts:
    """Partitions as they are, or made of what a user has."""
    return data if isinstance(data, Parts) else Parts(data, client=client, **options)


def is_delayed(value: Any) -> bool:
    """Whether a task makes the value, or has made it on a worker."""
    from dask.base import is_dask_collection

    return is_dask_collection(value) or type(value).__module__.startswith("distributed")


def is_bag(value: Any) -> bool:
    """Whether a value is a bag of Dask."""
    return hasattr(value, "to_delayed") and hasattr(value, "npartitions") and hasattr(value, "map_partitions")


class Parts(Shards):
    """Samples in partitions on a cluster, for ``fit`` of the learners that take :class:`~trelliswork.Shards`.

    Workers read the partitions (paths must mean the same files for all of them), the alphabets are joined
    in a tree, and every worker then holds encoded samples; raw ones are dropped. What was lost with a worker
    is read again.

    Parameters
    ----------
    partitions : str, list or dask.bag.Bag
        A pattern of file names, a list of files, of delayed pairs ``(X, y)``, of functions or of pairs, or a
        bag of samples ``(x, y)``.
    client : distributed.Client or None, default=None
        The cluster; None is the one in use.
    reader, features
        As in :class:`~trelliswork.Shards`.
    memory : int or None, default=None
        Bytes of encoded samples that a worker holds in memory; what is beyond goes to its local folder. None
        is a quarter of the memory of a worker.
    keep_best : bool, default=False
        Whether a fit that loses the scheduler ends with the best weights so far and a warning, as after
        Ctrl-C, instead of an error.

    Examples
    --------
    >>> from distributed import Client
    >>> import trelliswork as tw
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    >>> parts = tw.dask.Parts([([["the", "cat"]], [["D", "N"]]), ([["a", "dog"]], [["D", "N"]])])
    >>> tw.CRF(tw.Chain(), l2=0.1).fit(parts).predict([["the", "dog"]])
    [['D', 'N']]
    >>> client.close()
    """

    def __init__(
        self,
        partitions: Any,
        *,
        client: Any = None,
        reader: Any = None,
        features: Any = None,
        memory: int | None = None,
        keep_best: bool = False,
    ):
        self.client = client_of(client)
        self.keep_best = keep_best
        self.options: dict[str, Any] = {"client": self.client, "memory": memory, "keep_best": keep_best}
        self.cluster = Tasks(self.client, memory, _interrupted if keep_best else None)
        self.partitions = self._listed(partitions, reader, features)
        self.counts: list[int] | None = None
        self._looked_at: tuple[Any, Any] | None = None
        self._compiled: tuple[str, Space, ShardedBatch] | None = None

    def _listed(self, partitions: Any, reader: Any, features: Any) -> list[Partition]:
        if isinstance(partitions, Shards):
            return partitions.partitions
        if is_bag(partitions):
            from dask import delayed

            partitions = [delayed(tasks.samples_of)(part) for part in partitions.to_delayed()]
        elif isinstance(partitions, (str, os.PathLike)) and not glob.glob(os.fspath(partitions)):
            # Perhaps only the workers see the files.
            pattern = os.fspath(partitions)
            partitions = self.cluster.gathered(self.cluster.submit("list files", _matching, pattern))
            if not partitions:
                raise InputError(f"{pattern}: there is no such file, here or on a worker")
        return listed(partitions, reader, features)

    def value(self, partition: Partition) -> tuple[Partition, tuple[Any, ...]]:
        """A partition for a task, and the future of its samples where a task of the user makes them."""
        if not is_delayed(partition.source):
            return partition, ()
        source = partition.source
        future = self.client.compute(source) if hasattr(source, "__dask_graph__") else source
        return replace(partition, source=None), (future,)

    def _compile(self, structure: Structure, n_jobs: int | None) -> tuple[Space, ShardedBatch]:
        return self.cluster.repeated(lambda: self._encoded(structure, n_jobs))

    def _encoded(self, structure: Structure, n_jobs: int | None) -> tuple[Space, ShardedBatch]:
        space_there, space = self._bound_there(structure)
        assert self.counts is not None
        cluster, size = self.cluster, block_size(sum(self.counts), structure.limits.leaf_samples)
        n_blocks = -(-sum(self.counts) // size)
        lengths = [min(size, sum(self.counts) - k * size) for k in range(n_blocks)]
        ranges = _shared_out(n_blocks, cluster.workers)
        home = {k: worker for first, last, worker in ranges for k in range(first, last)}
        blocks = self._blocks(structure, space_there, n_jobs, home)
        bundles = [
            cluster.submit("bundle", tasks.bundled, lengths[a:b], *blocks[a:b], worker=worker)
            for a, b, worker in ranges
        ]
        del blocks
        stream, buffers = cluster.gathered(cluster.submit("template", tasks.empty_batch, bundles[0]))
        template = unpacked(stream, buffers, [space, *_inner_spaces(space)])
        cluster.guarded(lambda: _finished(bundles))
        homes = [worker for _, _, worker in ranges]
        return space, sharded(
            space, ClusterBlocks(cluster, bundles, [lengths[a:b] for a, b, _ in ranges], homes), template
        )

    def _blocks(
        self, structure: Structure, space: Any, n_jobs: int | None, home: dict[int, str]
    ) -> list[Any]:
        """Futures of the blocks; partitions are read where most of their samples go."""
        assert self.counts is not None
        cluster, size = self.cluster, block_size(sum(self.counts), structure.limits.leaf_samples)
        plan = pieces_of(self.counts, size)
        blocks: list[Any] = []
        waiting: list[Any] = []
        done = 0
        for number, pieces in itertools.groupby(plan, key=lambda piece: piece.partition):
            mine = list(pieces)
            worker = home[mine[len(mine) // 2].block]
            partition, value = self.value(self.partitions[number])
            read = cluster.submit("read", tasks.read_partition, partition, structure, *value, worker=worker)
            for piece in mine:
                waiting.append(cluster.submit("cut", _stretch, read, piece.first, piece.last))
                done += piece.last - piece.first
                if done % size == 0 or done == sum(self.counts):
                    made = space, n_jobs, cluster.token, cluster.memory, *waiting
                    blocks.append(
                        cluster.submit("encode", tasks.encoded_block, *made, worker=home[piece.block])
                    )
                    waiting = []
        return blocks

    def _bound_there(self, structure: Structure) -> tuple[Any, Space]:
        """Space of all samples, as a future and here; alphabets are joined on the workers."""
        cluster = self.cluster
        level = []
        for partition in self.partitions:
            small, value = self.value(partition)
            level.append(cluster.submit("survey", tasks.survey_partition, small, structure, *value))
        while len(level) > 1:
            level = [
                cluster.submit("join alphabets", tasks.join_surveys, *level[i : i + _JOINED])
                for i in range(0, len(level), _JOINED)
            ]
        counts, some = cluster.gathered(cluster.submit("count", _counted, level[0]))
        self._check_counts(counts)
        self._looked_at = some
        there = cluster.submit("alphabets", tasks.space_of, level[0])
        space: Space = cluster.gathered(there)
        space.structure = structure
        return there, space

    def _bound(self, structure: Structure) -> Space:
        return self.cluster.repeated(lambda: self._bound_there(structure)[1])

    def judged(self, model: Any, measure: Any, method: str = "predict") -> Any:
        """What a measure says about all samples; they stay where they are.

        Parameters
        ----------
        model : estimator
            Fitted.
        measure : Measure
            One of ``trelliswork.selection``.
        method : str, default="predict"
            Method of the model that predicts.
        """
        from trelliswork.dask.predicting import judged

        return judged(model, self, measure, method)

    def inputs(self, structure: Structure) -> Iterator[Any]:
        """Inputs of one partition after the other, brought here."""
        for partition in self.partitions:
            small, value = self.value(partition)
            read = self.cluster.submit("read", tasks.read_partition, small, structure, *value)
            found = self.cluster.gathered(self.cluster.submit("inputs", _inputs, read))
            if found is not None:
                yield found

    def subset(self, index: np.ndarray) -> Parts:
        """Some of the samples, in their order, in the partitions where they are."""
        return Parts(self._parts(index), **self.options)


def _interrupted(error: Exception) -> None:
    import warnings

    warnings.warn(str(error), UserWarning, stacklevel=2)
    raise KeyboardInterrupt from None


def _matching(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))


def _stretch(read: Any, first: int, last: int) -> Any:
    return read.part(np.arange(first, last))


def _counted(found: tasks.Surveyed) -> tuple[list[int], Any]:
    return found.counts, found.some


def _inputs(read: Any) -> Any:
    return read.X if len(read) else None


def _finished(futures: list[Any]) -> None:
    """Wait until all is done, and raise the first error."""
    from distributed import wait

    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()


def _inner_spaces(space: Space) -> list[Space]:
    """Spaces inside of a space, in the order in which batches name them."""
    inner = getattr(space, "inner", None)
    return [inner] if isinstance(inner, Space) else []


def _shared_out(n_blocks: int, workers: list[tuple[str, int]]) -> list[tuple[int, int, str]]:
    """Neighbouring blocks for every worker, by its threads: first, last, worker.

    Examples
    --------
    >>> from trelliswork.dask.source import _shared_out
    >>> _shared_out(8, [("a", 1), ("b", 2)])
    [(0, 3, 'a'), (3, 5, 'b'), (5, 8, 'b')]
    """
    slots = [worker for worker, threads in workers for _ in range(_PER_THREAD * threads)]
    if not slots:
        raise InputError("the Dask cluster has no worker")
    starts = np.array([first for first, _ in groups_of(n_blocks)] + [n_blocks])
    if starts.size <= 2 * len(slots):  # whole groups, which are handed on as one sum, would not be fair
        starts = np.arange(n_blocks + 1)
    marks = starts[np.linspace(0, starts.size - 1, min(len(slots), n_blocks) + 1).round().astype(int)]
    homes = [slots[int(i * len(slots) / (len(marks) - 1))] for i in range(len(marks) - 1)]
    return [(int(a), int(b), home) for a, b, home in zip(marks[:-1], marks[1:], homes, strict=True)]
