"""Threads that do the work: a bounded queue, long requests apart from short ones, equal ones together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trelliswork.web.bodies import GONE
from trelliswork.web.limits import Limits, Refused

__all__ = ["Workers", "unless_gone"]

_TOGETHER = 64  # requests that are answered together at most


class Workers:
    """Runs functions in threads.

    Short work has threads of its own, so that it never waits for long work. Short requests that ask the same
    of the same model are answered together: while one group is worked on, the next one gathers. Work that
    nobody waits for any more is not begun.

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
        self._threads = threads
        self._long = ThreadPoolExecutor(threads, "long")
        self._short = ThreadPoolExecutor(threads, "short")
        self._ahead = 0.0  # seconds of long work that waits or runs
        self._of: Counter[str] = Counter()  # requests that wait or run, by client
        self._gathering: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._busy: set[Hashable] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def _enter(self, client: str, seconds: float) -> float:
        """Count a request; the seconds of long work, so that it can be counted out again."""
        if self.load >= self.limits.waiting:
            raise Refused(503, f"{self.load} requests are waiting already; try again later", retry=1)
        if self._of[client] >= self.limits.share:
            raise Refused(
                429, f"{self._of[client]} of your requests are waiting already; wait for some", retry=1
            )
        long = seconds if seconds > self.limits.short else 0.0
        if long and self._ahead / self._threads > self.limits.patience:
            wait = self._ahead / self._threads
            raise Refused(503, f"work for about {wait:,.0f} s is waiting already; try again later", retry=30)
        self.load += 1
        self._of[client] += 1
        self._ahead += long
        return long

    def _leave(self, client: str, long: float, future: asyncio.Future[Any]) -> None:
        self.load -= 1
        self._ahead -= long
        self._of[client] -= 1
        if not self._of[client]:
            del self._of[client]
        if not future.cancelled():
            self.answered += 1
            future.exception()  # looked at, although nobody may be waiting any more

    async def run(
        self, seconds: float, function: Callable[..., Any], *arguments: Any, client: str = ""
    ) -> Any:
        """Result of a function that is about to take so long.

        Parameters
        ----------
        seconds : float
            Estimate.
        function : callable
            What to do.
        *arguments
            Of the function.
        client : str
            Who asks.
        """
        long = self._enter(client, seconds)
        job = (self._long if long else self._short).submit(function, *arguments)
        future = asyncio.wrap_future(job)
        future.add_done_callback(lambda done: self._leave(client, long, done))
        return await self._patiently(future, job.cancel)

    async def _patiently(self, future: asyncio.Future[Any], drop: Callable[[], Any]) -> Any:
        """The result of a future; work that has not been begun is dropped when nobody waits for it."""
        try:
            async with asyncio.timeout(self.limits.patience):
                return await asyncio.shield(future)
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()
            drop()
            raise Refused(
                503, f"no answer within {self.limits.patience:g} s; ask for less", retry=30
            ) from None
        except asyncio.CancelledError:
            drop()
            raise

    async def together(
        self, key: Hashable, function: Callable[[list[Any]], list[Any]], item: Any, client: str = ""
    ) -> Any:
        """Result for one item of a function of lists; requests with the same key share calls of it.

        Parameters
        ----------
        key : hashable
            What the items must have in common.
        function : callable
            Takes a list of items and returns a result for each, or an exception in its place.
        item : object
            One request.
        client : str
            Who asks.
        """
        self._enter(client, 0.0)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        future.add_done_callback(lambda done: self._leave(client, 0.0, done))
        self._gathering.setdefault(key, []).append((item, future))
        if key not in self._busy:
            self._busy.add(key)
            task = loop.create_task(self._work(key, function))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await self._patiently(future, future.cancel)

    async def _work(self, key: Hashable, function: Callable[[list[Any]], list[Any]]) -> None:
        """Answer what has gathered under a key, group by group, until nothing is left."""
        loop = asyncio.get_running_loop()
        while gathered := self._gathering.pop(key, None):
            group = [(item, future) for item, future in gathered if not future.done()]
            if len(group) > _TOGETHER:
                self._gathering[key] = group[_TOGETHER:]
                group = group[:_TOGETHER]
            if not group:
                continue
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
        """Finish what runs; what nobody waits for any more does not begin."""
        self._short.shutdown(cancel_futures=True)
        self._long.shutdown(cancel_futures=True)


async def unless_gone(receive: Any, work: Coroutine[Any, Any, Any]) -> Any:
    """Result of work, which is dropped when the client goes away.

    Parameters
    ----------
    receive : callable
        Gives the messages of the request (ASGI), whose body has been read.
    work : coroutine
        What is waited for.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refused(400, GONE)
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
