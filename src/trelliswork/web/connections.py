"""The server, and connections that nobody can hold for nothing: slow heads, endless heads, unread answers."""

from __future__ import annotations

import asyncio
import functools
import itertools
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trelliswork.web.bodies import as_json
from trelliswork.web.guard import HEADERS
from trelliswork.web.limits import Limits

__all__ = ["Connection", "server_of"]

_ENDING = 60  # seconds that running requests have when the server is told to end

_steps = itertools.count()  # clocks are too coarse for connections that come together
_LINES = {
    408: b"408 Request Timeout",
    431: b"431 Request Header Fields Too Large",
    503: b"503 Service Unavailable",
}


def server_of(app: Any, limits: Limits) -> uvicorn.Server:
    """The server of an application.

    Parameters
    ----------
    app : ASGI application
        What answers.
    limits : Limits
        For connections.
    """
    config = uvicorn.Config(
        app,
        http=cast(Any, functools.partial(Connection, limits=limits)),
        log_level="error",  # a client that writes nonsense does not fill a log
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever connects could write them
        timeout_keep_alive=max(1, round(limits.idle)),
        timeout_graceful_shutdown=_ENDING,
        lifespan="on",
        ws="none",
    )
    return uvicorn.Server(config)


class Connection(HttpToolsProtocol):
    """A connection of uvicorn with limits; bodies of requests are limited where they are read.

    Parameters
    ----------
    *args
        As for uvicorn.
    limits : Limits
        Number of connections, length of a head, and times.
    **kwargs
        As for uvicorn.
    """

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head = -1  # bytes of the head that is being sent; -1 between heads
        self._wait: asyncio.TimerHandle | None = None  # for a head
        self._flush: asyncio.TimerHandle | None = None  # for a client that reads its answer
        self._since = 0  # when it was last used, in steps of a counter

    # -- connections --------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Begin; when there are too many, the one that has been idle for longest goes."""
        super().connection_made(transport)
        self._expect(self._limits.idle)
        if len(self.connections) <= self._limits.connections:
            return
        idle = [other for other in self.connections if other is not self and other.is_idle]  # type: ignore[union-attr]
        if idle:
            oldest = min(idle, key=lambda other: other._since)  # type: ignore[union-attr]
            self.connections.discard(oldest)
            oldest.transport.abort()
        else:
            self._refuse(503, "all connections are in use; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and with it all timers."""
        self._stop_waiting()
        self._stop_flushing()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is worked on."""
        return self.cycle is None or self.cycle.response_complete

    # -- heads of requests --------------------------------------------------------------------

    def _expect(self, seconds: float) -> None:
        """A head must have come within so much time, however many bytes of it come."""
        self._stop_waiting()
        self._since = next(_steps)
        self._wait = self.loop.call_later(seconds, self._too_late)

    def _stop_waiting(self) -> None:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    def _too_late(self) -> None:
        self._wait = None
        if self._head >= 0:
            self._refuse(408, f"the head of the request was not sent within {self._limits.head:g} s")
        else:
            self.transport.close()
            self._see_to_flushing()

    def on_message_begin(self) -> None:
        """The first byte of a head has come."""
        super().on_message_begin()
        self._head = 0
        if self._wait is not None:  # not for a request that was sent before the last answer
            self._expect(self._limits.head)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._head = -1
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > self._limits.header and not self.transport.is_closing():
                self._refuse(431, f"the head of the request has more than {self._limits.header:,} bytes")
        if self.transport.is_closing():
            self._see_to_flushing()

    def _refuse(self, status: int, message: str) -> None:
        """Answer without asking the application, and close."""
        body = as_json({"error": message})
        more = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        more += [(b"connection", b"close"), *([(b"retry-after", b"1")] if status == 503 else [])]
        lines = [b"HTTP/1.1 " + _LINES[status], *(name + b": " + value for name, value in (*more, *HEADERS))]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()
        self._see_to_flushing()

    # -- answers ----------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """The answer has been written, though perhaps not been read."""
        super().on_response_complete()
        if self.is_idle and not self.transport.is_closing():
            self._expect(self._limits.idle)
        self._see_to_flushing()

    def _see_to_flushing(self) -> None:
        """Give the client time to read what has been written, by its length."""
        left = self.transport.get_write_buffer_size()
        if left and self._flush is None:
            seconds = self._limits.sending + left / self._limits.rate
            self._flush = self.loop.call_later(seconds, self._not_read)

    def _stop_flushing(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None

    def _not_read(self) -> None:
        self._flush = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def pause_writing(self) -> None:
        """Much has been written and not been read."""
        super().pause_writing()
        self._see_to_flushing()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        self._stop_flushing()
        self._see_to_flushing()
