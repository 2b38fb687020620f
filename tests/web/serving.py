"""A real server in a thread, and clients that write what they want."""

import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

from trelliswork.web.app import create_app
from trelliswork.web.connections import server_of


@contextmanager
def serving(models, limits, **options):
    """A server in a thread, and its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = server_of(create_app(models, limits=limits, **options), limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def head(number, length, **more):
    lines = {"Host": f"127.0.0.1:{number}", "Content-Type": "application/json", "Content-Length": length}
    lines |= {name.replace("_", "-"): value for name, value in more.items()}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /models/{{}}/predict HTTP/1.1\r\n{text}\r\n"


def request(number, body, model="names", **more):
    data = json.dumps(body).encode()
    return head(number, len(data), **more).format(model).encode() + data


def until(true, seconds=30):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def opened(number):
    return socket.create_connection(("127.0.0.1", number), timeout=20)


@contextmanager
def many(number, n):
    """So many connections."""
    with ExitStack() as stack:
        yield [stack.enter_context(opened(number)) for _ in range(n)]


def answer(client):
    """Status and JSON of one answer; None where the connection was closed without one."""
    with client.makefile("rb") as reader:
        line = reader.readline()
        if not line:
            return None
        headers = {}
        while (text := reader.readline()) not in (b"\r\n", b""):
            name, _, value = text.decode().partition(":")
            headers[name.lower()] = value.strip()
        assert "default-src 'none'" in headers["content-security-policy"]
        return int(line.split()[1]), json.loads(reader.read(int(headers["content-length"]))), headers


def ask(number, body, model="names"):
    with opened(number) as client:
        client.sendall(request(number, body, model))
        return answer(client)
