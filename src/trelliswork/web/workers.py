"""Threads that do the work: a bounded queue, long requests apart from short ones, equal ones together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trelliswork.web.limits import Limits, Refused

__all__ = ["Workers"]

_TOGETHER = 64  # requests that are answered together at most


class Workers:
    """Runs functions in threads.

    Short work has threads of its own, so that it never waits for long work. Short requests that ask the same
    of the same model are answered together: while one group is worked on, the next one gathers.

    Parameters
    ----------
    limits : Limits
        Most requests, and times.
    threads : int
        For long work, and as many for short work.
    """

    def __init__(self, limits: Limits, threads: int = 2):
        self.limits = limits
        self.load = 0
        self.answered = 0
        self._long = ThreadPoolExecutor(threads, "long")
        self._short = ThreadPoolExecutor(threads, "short")
        self._gathering: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._busy: set[Hashable] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def _enter(self) -> None:
        if self.load >= self.limits.waiting:
            raise Refused(503, f"{self.load} requests are waiting already; try again later", retry=1)
        self.load += 1

    async def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Result of a function that is about to take so long.

        Parameters
        ----------
        seconds : float
            Estimate.
        function : callable
            What to do.
        *arguments
            Of the function.
        """
        self._enter()
        pool = self._short if seconds <= self.limits.short else self._long
        future = asyncio.get_running_loop().run_in_executor(pool, function, *arguments)
        future.add_done_callback(self._left)
        return await self._patiently(future)

    def _left(self, future: asyncio.Future[Any]) -> None:
        self.load -= 1
        self.answered += 1
        if not future.cancelled():
            future.exception()  # looked at, although nobody may be waiting any more

    async def _patiently(self, future: asyncio.Future[Any]) -> Any:
        try:
            async with asyncio.timeout(self.limits.patience):
                return await asyncio.shield(future)
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()
            raise Refused(
                503, f"no answer within {self.limits.patience:g} s; ask for less", retry=30
            ) from None

    async def together(self, key: Hashable, function: Callable[[list[Any]], list[Any]], item: Any) -> Any:
        """Result for one item of a function of lists; requests with the same key share calls of it.

        Parameters
        ----------
        key : hashable
            What the items must have in common.
        function : callable
            Takes a list of items and returns a result for each, or an exception in its place.
        item : object
            One request.
        """
        self._enter()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        future.add_done_callback(self._left)
        self._gathering.setdefault(key, []).append((item, future))
        if key not in self._busy:
            self._busy.add(key)
            task = loop.create_task(self._work(key, function))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await self._patiently(future)

    async def _work(self, key: Hashable, function: Callable[[list[Any]], list[Any]]) -> None:
        """Answer what has gathered under a key, group by group, until nothing is left."""
        loop = asyncio.get_running_loop()
        while group := self._gathering.pop(key, None):
            if len(group) > _TOGETHER:
                self._gathering[key] = group[_TOGETHER:]
                group = group[:_TOGETHER]
            try:
                results = await loop.run_in_executor(self._short, function, [item for item, _ in group])
            except Exception as error:
                results = [error] * len(group)
            for (_, future), result in zip(group, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)
        self._busy.discard(key)

    def close(self) -> None:
        """Finish what runs."""
        self._short.shutdown()
        self._long.shutdown()
