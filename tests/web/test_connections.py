"""Slow, silent, greedy and vanishing clients of a real server: nobody holds up anybody else for long."""

import select
import socket
import threading
import time
from contextlib import suppress

import pytest

pytest.importorskip("uvicorn")

import trelliswork.web.app as routes
from trelliswork.web.limits import Limits

from .serving import answer, ask, head, many, opened, request, serving, until

LIMITS = Limits(head=0.3, idle=0.35, sending=0.3, header=3000, connections=12)
SENTENCE = {"input": "Ana left Oslo ."}


@pytest.fixture(scope="module")
def port(models):
    with serving(models, LIMITS) as (_, number):
        assert ask(number, SENTENCE)[0] == 200  # trained
        yield number


def drip(client, data, seconds=0.02):
    """Send byte after byte, until the other side has had enough."""
    began = time.monotonic()
    try:
        for byte in data:
            client.sendall(bytes([byte]))
            time.sleep(seconds)
    except OSError:
        pass
    return time.monotonic() - began


def test_a_head_that_comes_byte_by_byte(port):
    with opened(port) as client:
        assert drip(client, request(port, SENTENCE)[:100]) < 3
        status, body, headers = answer(client)
    assert status == 408
    assert "head of the request" in body["error"]
    assert headers["connection"] == "close"


def test_a_body_that_comes_byte_by_byte(port):
    with opened(port) as client:
        client.sendall(head(port, 1000).format("names").encode())
        threading.Thread(target=drip, args=(client, b" " * 100)).start()
        status, body, _ = answer(client)
    assert status == 408
    assert "was not sent within" in body["error"]


def test_the_second_head_is_waited_for_no_longer(port):
    with opened(port) as client:
        client.sendall(request(port, SENTENCE))
        assert answer(client)[0] == 200
        drip(client, request(port, SENTENCE)[:60])
        assert answer(client)[0] == 408


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", "answered", "refused"])
def test_silent_connections_are_closed(port, sent):
    with opened(port) as client:
        began = time.monotonic()
        if sent == "answered":
            client.sendall(request(port, SENTENCE))
            assert answer(client)[0] == 200
        elif sent == "refused":  # before the body came, which never comes
            client.sendall(
                head(port, 1000, Origin="http://evil.example").format("names").encode() + b" " * 10
            )
            assert answer(client)[0] == 403
        else:
            client.sendall(sent)
        assert client.recv(1) == b""
        assert 0.2 < time.monotonic() - began < 5


def test_a_head_without_end(port):
    with opened(port) as client:
        line = b"X-More: " + b"a" * 500 + b"\r\n"
        client.sendall(request(port, SENTENCE).partition(b"\r\n\r\n")[0] + b"\r\n" + line * 4)
        time.sleep(0.05)
        try:
            client.sendall(line * 4)
            status, body, _ = answer(client)
        except ConnectionResetError:  # the rest was on its way when the connection was closed
            return
    assert status == 431
    assert "3,000 bytes" in body["error"]


def test_long_bodies_are_told_while_they_are_sent(port, strict):
    with serving(strict.app.app.service.models, Limits(body=2000)) as (_, number), opened(number) as client:
        client.sendall(head(number, 10**6).format("names").encode())
        status, body, _ = answer(client)
        assert status == 413
        assert "1,000,000 bytes" in body["error"]
        client.sendall(b" " * 10**6)  # a browser sends all of it before it reads the answer
        client.sendall(request(number, SENTENCE))
        assert answer(client)[0] == 200


def test_bodies_of_all_requests_together(models):
    with serving(models, Limits(received=5000)) as (_, number), many(number, 2) as clients:
        for client in clients:
            client.sendall(head(number, 4000).format("names").encode() + b" " * 3000)
        told = select.select(clients, [], [], 20)[0]
        assert len(told) == 1  # the other one may go on
        status, body, headers = answer(told[0])
        assert status == 503
        assert "at the same time" in body["error"]
        assert headers["retry-after"] == "1"
        for client in clients:
            client.close()
        until(lambda: ask(number, SENTENCE)[0] == 200)


def test_idle_connections_make_room(port):
    with many(port, 30) as idle:
        for _ in range(3):
            assert ask(port, SENTENCE)[0] == 200
        for client in idle[:10]:  # the oldest
            client.settimeout(0.05)
            with suppress(ConnectionError):
                assert client.recv(1) == b""


class Gate:
    """Answers that wait until they may go on."""

    def __init__(self, monkeypatch):
        self.open, self.begun = threading.Event(), []
        monkeypatch.setattr(routes, "answer", self)

    def __call__(self, served, asked):
        self.begun.append(asked.X[0])
        self.open.wait(30)
        return [{"input": asked.X[0], "output": None}]

    def wait_for(self, n):
        until(lambda: len(self.begun) >= n)


def waiting(number):
    """How many requests wait or run."""
    with opened(number) as client:
        client.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{number}\r\n\r\n".encode())
        return answer(client)[1]["waiting"]


def long(i):
    return {"input": f"Ana {i}", "known": [None, None]}


def test_work_that_nobody_waits_for_is_not_begun(models, monkeypatch):
    gate = Gate(monkeypatch)
    with serving(models, Limits(short=0.0), threads=1) as (_, number), many(number, 6) as clients:
        clients[0].sendall(request(number, long(0)))
        gate.wait_for(1)
        for i, client in enumerate(clients[1:]):
            client.sendall(request(number, long(i + 1)))
        until(lambda: waiting(number) == 6)
        for client in clients[1:]:
            client.close()
        until(lambda: waiting(number) == 1)
        gate.open.set()
        assert answer(clients[0])[0] == 200
    assert gate.begun == [["Ana", "0"]]


def test_all_connections_in_use(models, monkeypatch):
    gate = Gate(monkeypatch)
    with serving(models, Limits(short=0.0, connections=4)) as (_, number), many(number, 4) as clients:
        for i, client in enumerate(clients[:3]):
            client.sendall(request(number, long(i)))
        gate.wait_for(2)
        until(lambda: waiting(number) == 3)  # takes the place of the fourth
        with opened(number) as fourth:
            fourth.sendall(request(number, long(3)))
            time.sleep(0.05)
            with opened(number) as fifth:
                status, body, headers = answer(fifth)
            assert status == 503
            assert "try again later" in body["error"]
            assert headers["retry-after"] == "1"
            gate.open.set()
            for client in (*clients[:3], fourth):
                assert answer(client)[0] == 200


def test_one_client_cannot_fill_the_queue(models, monkeypatch):
    gate = Gate(monkeypatch)
    with serving(models, Limits(short=0.0, share=2)) as (_, number), many(number, 3) as clients:
        for i, client in enumerate(clients[:2]):
            client.sendall(request(number, long(i)))
        gate.wait_for(2)
        clients[2].sendall(request(number, long(2)))
        status, body, headers = answer(clients[2])
        assert status == 429
        assert "your requests" in body["error"]
        assert headers["retry-after"]
        gate.open.set()
        for client in clients[:2]:
            assert answer(client)[0] == 200
        clients[2].sendall(request(number, long(2)))
        assert answer(clients[2])[0] == 200


def test_the_end_waits_for_what_runs(models, monkeypatch):
    gate = Gate(monkeypatch)
    with serving(models, Limits(short=0.0), threads=1) as (server, number), many(number, 4) as clients:
        for i, client in enumerate(clients[:3]):
            client.sendall(request(number, long(i)))
        until(lambda: waiting(number) == 3)
        server.should_exit = True
        assert clients[3].recv(1) == b""  # idle
        gate.open.set()
        for client in clients[:3]:  # also those that had not been begun
            assert answer(client)[0] == 200
            assert client.recv(1) == b""


def test_an_end_that_cannot_wait_is_told(models, monkeypatch):
    gate = Gate(monkeypatch)
    with serving(models, Limits(short=0.0), threads=1) as (server, number), many(number, 2) as clients:
        server.config.timeout_graceful_shutdown = 0.3
        for i, client in enumerate(clients):
            client.sendall(request(number, long(i)))
        until(lambda: waiting(number) == 2)
        server.should_exit = True
        for client in clients:
            status, body, _ = answer(client)
            assert status == 503
            assert body["error"] == "the server is shutting down"
        gate.open.set()
    assert len(gate.begun) == 1


def test_answers_that_are_not_read(models):
    limits = Limits(sending=0.3, rate=1 << 30)
    with serving(models, limits) as (server, number), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", number))
        body = {"inputs": ["Ana left Oslo . " * 300] * 50}
        for _ in range(6):
            client.sendall(request(number, body))
        now = server.server_state.connections
        until(lambda: any(c.transport and c.transport.get_write_buffer_size() for c in list(now)))
        until(lambda: not now)
