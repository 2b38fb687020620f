"""Blocks of samples on the workers of a cluster."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import reduce
from typing import Any

import numpy as np

from trelliswork.dask import tasks
from trelliswork.dask.faults import SchedulerLost, is_lost
from trelliswork.shards.recipes import Asked, PerSample

__all__ = ["ClusterBlocks", "Tasks"]

_ATTEMPTS = 5  # that a question is asked when workers are lost
_KEPT_ARRAYS = 8  # that were sent to all workers
_SMALL = 1 << 16  # bytes of arrays that go with a task


class Tasks:
    """Submits tasks with names for people, and sends arrays to all workers.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    memory : int or None
        Bytes of encoded samples that a worker holds in memory.
    interrupt : callable or None
        Called with the error when the scheduler is lost; None raises it.
    """

    def __init__(self, client: Any, memory: int | None = None, interrupt: Callable[[Any], Any] | None = None):
        self.client, self.memory, self.interrupt = client, memory, interrupt
        self.token = uuid.uuid4().hex
        self._sent: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._latest: tuple[np.ndarray, Any] | None = None
        self._number = 0

    def submit(self, name: str, function: Callable[..., Any], *args: Any, worker: str | None = None) -> Any:
        """Future of ``function(*args)``; on a given worker, if it is there."""
        self._number += 1
        key = f"{name.replace(' ', '-')}-{self.token[:12]}{self._number:08d}"
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return self.client.submit(function, *args, key=key, pure=False, **where)

    def sent(self, value: Any) -> Any:
        """Future of a value that all workers have, as it is now."""
        return self.client.scatter(value, broadcast=True, hash=False)

    def sent_as_is(self, array: Any) -> Any:
        """The same of an array that may change later; what was sent last is not sent again."""
        if not isinstance(array, np.ndarray):
            return self.sent(array)
        latest = self._latest
        if latest is None or latest[1].status != "finished" or not np.array_equal(latest[0], array):
            kept = array.copy()
            latest = self._latest = kept, self.sent(kept)
        return latest[1]

    def sent_once(self, array: Any) -> Any:
        """The same of an array that does not change; kept for the next time."""
        known = self._sent.get(id(array))
        if known is None or known[1].status != "finished":
            known = self._sent[id(array)] = array, self.sent(array)  # the array keeps its identity taken
        self._sent.move_to_end(id(array))
        while len(self._sent) > _KEPT_ARRAYS:
            self._sent.popitem(last=False)
        return known[1]

    def forget_sent(self) -> None:
        """Send arrays anew: workers that had them were lost."""
        self._sent.clear()
        self._latest = None

    def gathered(self, futures: Any) -> Any:
        """Results; the scheduler's loss is one clear error."""
        return self.guarded(lambda: self.client.gather(futures))

    def guarded(self, work: Callable[[], Any]) -> Any:
        """Do something with the cluster."""
        try:
            return work()
        except BaseException as error:
            if not is_lost(self.client, error):
                raise
            lost = SchedulerLost.of(self.client)
            if self.interrupt is not None:
                self.interrupt(lost)
            raise lost from None

    def repeated(self, work: Callable[[], Any]) -> Any:
        """Do something; once more when what it needs was lost with a worker."""
        for attempt in range(_ATTEMPTS):
            try:
                return self.guarded(work)
            except CancelledError:  # arrays that were sent are not computed again
                if attempt == _ATTEMPTS - 1:
                    raise
                self.forget_sent()
        raise AssertionError

    @property
    def workers(self) -> list[tuple[str, int]]:
        """Addresses of workers and their threads."""
        found = self.guarded(lambda: self.client.nthreads())
        return sorted(found.items())


class ClusterBlocks:
    """Blocks that workers hold in bundles.

    Parameters
    ----------
    cluster : Tasks
        The cluster.
    bundles : list of Future
        Bundles of neighbouring blocks.
    lengths : list of list of int
        Samples of the blocks of every bundle.
    homes : list of str
        Worker of every bundle.
    """

    def __init__(self, cluster: Tasks, bundles: list[Any], lengths: list[list[int]], homes: list[str]):
        self.cluster, self.bundles, self.homes = cluster, bundles, homes
        self.lengths = np.array([n for some in lengths for n in some], dtype=np.int64)
        self.firsts = np.cumsum([0, *map(len, lengths)])[:-1].tolist()

    def _asked(self, question: Asked, values: list[PerSample]) -> tuple[list[tasks.Question], list[Any]]:
        """The question for every bundle, and the arrays that go with it."""
        arrays: list[Any] = []
        question = question.without_arrays(_SMALL, arrays)
        sent = [self.cluster.sent_as_is(array) for array in arrays]  # weights change in place
        n_changing = len(arrays)
        kept = [value.without_arrays(_SMALL, arrays) for value in values]
        sent += [self.cluster.sent_once(array) for array in arrays[n_changing:]]
        return [tasks.Question(question, kept, self.lengths, first) for first in self.firsts], sent

    def _submitted(self, function: Any, question: Asked, values: list[PerSample], *more: Any) -> list[Any]:
        asked, arrays = self._asked(question, values)
        return [
            self.cluster.submit(question.name, function, one, *more, bundle, *arrays, worker=home)
            for one, bundle, home in zip(asked, self.bundles, self.homes, strict=True)
        ]

    def sum(self, question: Asked, values: list[PerSample]) -> Any:
        """Sum of the answers, in the order of a fixed tree, added up on the workers."""

        def work() -> Any:
            level = self._submitted(tasks.partial_sums, question, values)
            while len(level) > 2:  # the last two come here anyway, one through the other's worker or directly
                pairs = zip(level[::2], level[1::2], strict=False)
                added = [self.cluster.submit("add up", tasks.add_up, a, b) for a, b in pairs]
                level = added + level[len(added) * 2 :]
            first, *rest = self.cluster.client.gather(level)
            return reduce(tasks.add_up, rest, first).result

        return self.cluster.repeated(work)

    def each(self, question: Asked, values: list[PerSample]) -> list[Any]:
        """Answers of all blocks, in order."""

        def work() -> Any:
            return self.cluster.client.gather(self._submitted(tasks.answers, question, values))

        return [answer for some in self.cluster.repeated(work) for answer in some]

    def derived(self, make: Asked, values: list[PerSample]) -> ClusterBlocks:
        """Blocks made of these, on the same workers."""

        def work() -> tuple[Any, Any]:
            where = self.cluster.token, self.cluster.memory
            bundles = self._submitted(tasks.derived_bundle, make, values, *where)
            lengths = [self.cluster.submit("count", tasks.lengths_of, bundle) for bundle in bundles]
            return bundles, self.cluster.client.gather(lengths)

        bundles, lengths = self.cluster.repeated(work)
        return ClusterBlocks(self.cluster, bundles, lengths, self.homes)
