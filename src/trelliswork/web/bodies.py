"""Bodies of requests and answers: read up to a limit and within a time, JSON that is only JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trelliswork.web.limits import Limits, Refused

__all__ = ["GONE", "Bodies", "as_json", "parsed", "shortened"]

GONE = "the client went away"
_DEEPEST = 50
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


class Bodies:
    """Reads the bodies of requests, as many bytes of all together as there may be.

    Parameters
    ----------
    limits : Limits
        Sizes and times.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self.held = 0

    @asynccontextmanager
    async def read(self, receive: Any, declared: str, most: int) -> AsyncIterator[bytes]:
        """Body of a request, counted until the request is answered.

        413 when it is too long, 408 when it takes too long, 503 when there are too many.

        Parameters
        ----------
        receive : callable
            Gives the messages of the request (ASGI).
        declared : str
            Its Content-Length.
        most : int
            Bytes.
        """
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > most:
            raise Refused(413, f"the request has {int(declared[:20]):,} bytes; at most {most:,} are read")
        pieces: list[bytes] = []
        try:
            await self._receive(receive, pieces, most)
            yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
        finally:
            self.held -= sum(map(len, pieces))

    async def _receive(self, receive: Any, pieces: list[bytes], most: int) -> None:
        size, until = 0, asyncio.get_running_loop().time() + self.limits.sending
        while True:
            try:
                async with asyncio.timeout_at(until + size / self.limits.rate):
                    message = await receive()
            except TimeoutError:
                allowed = self.limits.sending + size / self.limits.rate
                raise Refused(408, f"the request was not sent within {allowed:.3g} s") from None
            if message["type"] == "http.disconnect":
                raise Refused(400, GONE)
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            self.held += len(pieces[-1])
            if size > most:
                raise Refused(413, f"the request has more than {most:,} bytes")
            if self.held > self.limits.received:
                raise Refused(503, "too much is being sent at the same time; try again later", retry=1)
            if not message.get("more_body", False):
                return


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object, of ordinary depth, with numbers that are numbers and texts that are Unicode.

    Parameters
    ----------
    body : bytes
        UTF-8.

    Examples
    --------
    >>> from trelliswork.web.bodies import parsed
    >>> parsed(b'{"k": 2}')
    {'k': 2}
    """
    if body.count(b"[") + body.count(b"{") > _DEEPEST and _depth(body) > _DEEPEST:
        raise Refused(400, f"the JSON is nested deeper than {_DEEPEST}")
    try:
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        if b"\\u" in body:  # half of a character can only be written like this
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise Refused(400, "the request is no UTF-8 text, or has half of a character in it") from None
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the request is no JSON: {shortened(error)}") from None
    if not isinstance(value, dict):
        raise Refused(400, 'expected a JSON object such as {"inputs": [...]}')
    return value


def _depth(body: bytes) -> int:
    """How deep brackets are nested."""
    depth = deepest = 0
    for byte in _TEXT.sub(b"", body):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def shortened(error: object, limit: int = 300) -> str:
    """Message of an error on one line of bounded length."""
    text = " ".join(str(error).split())
    return text if len(text) <= limit else f"{text[:limit]}..."


def as_json(value: Any) -> bytes:
    r"""JSON in ASCII; numbers that are not finite become null.

    Parameters
    ----------
    value : object
        Dicts, lists, texts and numbers.

    Examples
    --------
    >>> from trelliswork.web.bodies import as_json
    >>> as_json({"score": float("-inf"), "text": "\u00fc"})
    b'{"score":null,"text":"\\u00fc"}'
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
