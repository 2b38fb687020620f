"""``trelliswork serve``: starts the server and says where it is."""

from __future__ import annotations

import os
import socket
import sys
import warnings
from collections.abc import Sequence

from trelliswork._errors import InputError, InputWarning
from trelliswork.web.limits import Limits

__all__ = ["serve"]

_SHORTEST_TOKEN = 16
_SWITCH = 0.001  # seconds after which a busy thread lets others go on


def serve(
    paths: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    names: Sequence[str] = (),
    seconds: float = 10.0,
    threads: int = 2,
) -> None:
    """Serve model files, or small models for looking around, until a signal ends it.

    Parameters
    ----------
    paths : sequence of str
        Model files.
    host, port : str and int
        Where to listen; port 0 takes a free one.
    token : str or None
        Secret that requests must bring; needed where other machines can connect.
    names : sequence of str
        Names of the server that requests may use.
    seconds : float
        Longest estimated time of a request.
    threads : int
        For long requests, and as many for short ones.
    """
    try:
        from trelliswork.web.app import create_app
        from trelliswork.web.connections import server_of
    except ImportError:
        raise ImportError("serve needs starlette and uvicorn; pip install 'trelliswork[web]'") from None
    from trelliswork.web.demos import demo_models
    from trelliswork.web.guard import is_loopback
    from trelliswork.web.models import Models

    token = token or os.environ.get("TRELLISWORK_TOKEN") or None
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise InputError(f"--token: expected at least {_SHORTEST_TOKEN} printable ASCII characters")
    if not is_loopback(host) and token is None:
        raise InputError(
            f"--host {host} lets other machines send work to this one; give them a secret with --token "
            "(or TRELLISWORK_TOKEN), which every request must then bring"
        )
    models = Models.of_files(list(paths)) if paths else demo_models()
    limits = Limits(seconds=seconds)
    app = create_app(models, host=host, names=names, token=token, limits=limits, threads=threads)
    listening = _listening(host, port)
    sys.setswitchinterval(_SWITCH)
    warnings.simplefilter("ignore", InputWarning)  # anybody may type anything
    everywhere = host in ("0.0.0.0", "::")
    shown = "ADDRESS-OF-THIS-MACHINE" if everywhere else f"[{host}]" if ":" in host else host
    print(f"models: {', '.join(models)}")
    print(
        f"open http://{shown}:{listening.getsockname()[1]}/ in a browser; Ctrl-C ends the server", flush=True
    )
    server = server_of(app, limits)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        if server.force_exit:  # a second Ctrl-C: what runs is not waited for
            os._exit(130)
    finally:
        listening.close()


def _listening(host: str, port: int) -> socket.socket:
    """A socket of TCP by name: only then does asyncio send small answers at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listening
