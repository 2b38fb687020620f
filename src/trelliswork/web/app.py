"""The routes of the service."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import trelliswork
from trelliswork.plots.drawing import drawing_files
from trelliswork.web.answers import answer, answer_at_once, answer_together
from trelliswork.web.asked import Asked
from trelliswork.web.bodies import Bodies, as_json, parsed
from trelliswork.web.card import model_card
from trelliswork.web.files import evaluated, predicted
from trelliswork.web.guard import Guard
from trelliswork.web.limits import Limits, Refused
from trelliswork.web.models import Models, Served
from trelliswork.web.openapi import openapi
from trelliswork.web.workers import Workers, unless_gone

__all__ = ["create_app"]

_log = logging.getLogger("trelliswork.web")
_INTERNAL = "internal error; the server's log has the details"
_PREDICT = re.compile(r"/models/([^/]+)/predict")
_AT_ONCE = 1 << 14  # bytes of a request that is read without a thread
_FRESH = (b"cache-control", b"no-store")  # answers may be private
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def create_app(
    models: Models | Mapping[str, Any],
    *,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
    token: str | None = None,
    limits: Limits | None = None,
    threads: int = 2,
) -> Guard:
    """Make the application, for any ASGI server.

    Parameters
    ----------
    models : mapping of str to fitted model
        What is served, by name.
    host : str, default="127.0.0.1"
        Address that the server will be bound to.
    names : iterable of str
        Names of the server that requests may use, beside addresses.
    token : str or None, default=None
        Secret that requests must bring.
    limits : Limits or None, default=None
        How much may be asked.
    threads : int, default=2
        For long requests, and as many for short ones.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("starlette")
    >>> import trelliswork as tw
    >>> from trelliswork.web import create_app
    >>> model = tw.CRF(tw.Chain()).fit([["the", "cat"]], [["D", "N"]])
    >>> app = create_app({"tags": model})
    """
    service = _Service(
        models if isinstance(models, Models) else Models.of(models), limits or Limits(), threads
    )
    routes = [
        Route("/", service.page),
        Route("/static/{path:path}", service.static),
        Route("/models", service.listed),
        Route("/models/{name}", service.card),
        Route("/models/{name}/file", service.file, methods=["POST"]),
        Route("/models/{name}/evaluate", service.evaluate, methods=["POST"]),
        Route("/openapi.json", service.described),
        Route("/health", service.health),
    ]
    app = Starlette(
        routes=routes,
        lifespan=service.lifespan,
        exception_handlers={Refused: _refused, Exception: _failed, 404: _not_there, 405: _not_there},
    )
    return Guard(_Front(service, app), host=host, names=names, token=token)


class _Front:
    """Predictions at once, everything else by the routes: these cost as much as tagging a sentence."""

    def __init__(self, service: _Service, app: Any):
        self.service, self.app = service, app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        found = _PREDICT.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "POST":
            if found is not None:
                await _json({"error": "method not allowed"}, 405, {"allow": "POST"})(scope, receive, send)
                return
            await self.app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = []
        try:
            status, body = 200, as_json(await self.service.predict(found[1], scope, receive))
        except Refused as error:
            status, body, headers = error.status, as_json({"error": error.message}), _headers(error)
        except Exception as error:
            _log.error("internal error", exc_info=error)
            status, body = 500, as_json({"error": _INTERNAL})
        size = str(len(body)).encode()
        headers += [(b"content-type", b"application/json"), (b"content-length", size), _FRESH]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class _Service:
    """The models, and what the routes do with them."""

    def __init__(self, models: Models, limits: Limits, threads: int):
        self.models, self.limits = models, limits
        self.workers, self.bodies = Workers(limits, threads), Bodies(limits)
        self._loading: dict[str, asyncio.Task[Any]] = {}

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """At the end what runs is finished."""
        yield
        await asyncio.to_thread(self.workers.close)

    async def _ready(self, name: str) -> Served:
        """The model of a request; trained or loaded if it has not been needed yet, once for all who wait."""
        served = self.models.asked(name)
        if not served.ready:
            if name not in self._loading:
                work = self.workers.run(self.limits.seconds, getattr, served, "view")
                self._loading[name] = asyncio.ensure_future(work)
                self._loading[name].add_done_callback(lambda _: self._loading.pop(name, None))
            await asyncio.shield(self._loading[name])
        return served

    async def predict(self, name: str, scope: Any, receive: Any) -> dict[str, Any]:
        served, headers = await self._ready(name), dict(scope["headers"])
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise Refused(415, "expected Content-Type: application/json")
        declared = headers.get(b"content-length", b"").decode("latin-1")
        async with self.bodies.read(receive, declared, self.limits.body) as body:
            client = _client(scope)
            read = functools.partial(self._read, body, served)
            asked = read() if len(body) <= _AT_ONCE else await self.workers.run(0.0, read, client=client)
            results = answer_at_once(served, asked)
            if results is not None:
                pass
            elif asked.seconds <= self.limits.short and asked.known is None:
                key, call = (served.name, asked.options), functools.partial(answer_together, served)
                results = await self.workers.together(key, call, asked, client)
            else:
                work = self.workers.run(asked.seconds, answer, served, asked, client=client)
                results = await unless_gone(receive, work)
        return {"model": served.name, "results": results}

    def _read(self, body: bytes, served: Served) -> Asked:
        return Asked.read(parsed(body), served.view, self.limits)

    async def file(self, request: Request) -> Response:
        options = _file_options(request, self.limits)
        return await self._of_file(request, predicted, options)

    async def evaluate(self, request: Request) -> Response:
        return await self._of_file(request, evaluated)

    async def _of_file(self, request: Request, function: Any, *options: Any) -> Response:
        served = await self._ready(request.path_params["name"])
        if request.headers.get("content-type", "") != "application/octet-stream":
            raise Refused(415, "expected the file as Content-Type: application/octet-stream")
        declared = request.headers.get("content-length", "")
        name = request.query_params.get("name", "file")
        async with self.bodies.read(request.receive, declared, self.limits.file) as data:
            arguments = (function, served, data, name, *options, self.limits)
            work = self.workers.run(1.0, *arguments, client=_client(request.scope))
            return _json(await unless_gone(request.receive, work))

    async def listed(self, request: Request) -> Response:
        rows = [{"name": one.name, "about": one.about, "ready": one.ready} for one in self.models.values()]
        return _json({"models": rows})

    async def card(self, request: Request) -> Response:
        served = await self._ready(request.path_params["name"])

        def make() -> dict[str, Any]:
            return served.brief() | {"card": model_card(served), "limits": {"file": self.limits.file}}

        return _json(await self.workers.run(0.5, make, client=_client(request.scope)))

    async def described(self, request: Request) -> Response:
        return _json(openapi(self.limits))

    async def health(self, request: Request) -> Response:
        state = {"status": "ok", "version": trelliswork.__version__, "waiting": self.workers.load}
        return _json(state | {"answered": self.workers.answered})

    async def page(self, request: Request) -> Response:
        return _file("index.html")

    async def static(self, request: Request) -> Response:
        return _file(request.path_params["path"])


def _client(scope: Any) -> str:
    """Address of who asks."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _file_options(request: Request, limits: Limits) -> dict[str, Any]:
    query = request.query_params
    kbest = query.get("k", "1")
    if not kbest.isascii() or not kbest.isdigit() or not 1 <= int(kbest[:9]) <= limits.k:
        raise Refused(400, f"k must be a whole number from 1 to {limits.k}")
    options: dict[str, Any] = {"kbest": int(kbest)}
    for flag in ("probabilities", "mea", "raw"):
        options[flag] = query.get(flag, "0") == "1"
    return options


@functools.cache
def _static_files() -> dict[str, bytes]:
    """All files of the page by their paths; nothing else is ever sent."""
    from importlib.resources import files

    pages = {
        entry.name: entry.read_bytes()
        for entry in files("trelliswork.web").joinpath("static").iterdir()
        if entry.is_file()
    }
    return pages | {f"draw/{name}": data for name, data in drawing_files().items()}


def _file(path: str) -> Response:
    data = _static_files().get(path)
    if data is None:
        raise Refused(404, "there is no such page")
    kind = _TYPES.get(path.rpartition(".")[2], "application/octet-stream")
    return Response(data, media_type=kind, headers={"cache-control": "no-cache"})


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    name, kept = _FRESH
    more = {name.decode(): kept.decode()} | (headers or {})
    return Response(as_json(value), status, more, "application/json")


async def _refused(request: Request, error: Any) -> Response:
    headers = {name.decode(): value.decode() for name, value in _headers(error)}
    return _json({"error": error.message}, error.status, headers)


def _headers(error: Refused) -> list[tuple[bytes, bytes]]:
    headers = [] if error.retry is None else [(b"retry-after", str(error.retry).encode())]
    if error.status == 408:  # what is still being sent is not read
        headers.append((b"connection", b"close"))
    return headers


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("internal error", exc_info=error)
    return _json({"error": _INTERNAL}, 500)


async def _not_there(request: Request, error: Any) -> Response:
    text = "there is no such page" if error.status_code == 404 else "method not allowed"
    return _json({"error": text}, error.status_code, dict(error.headers or {}))
