"""The server as a process: signals, many requests, one slow one among them, and what is left behind."""

import json
import os
import signal
import socket
import statistics
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.web.inputs import INPUTS
from tests.web.serving import until

from .conftest import running

LONG = {"input": "GGGAAACCC" * 120, "marginals": True, "mea": True}  # a second or more


def post(address, name, body, timeout=300):
    data = json.dumps(body).encode()
    asked = urllib.request.Request(
        f"{address}/models/{name}/predict", data, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def health(address):
    return json.load(urllib.request.urlopen(f"{address}/health", timeout=10))


class Client:
    """One connection that sends request after request."""

    def __init__(self, address):
        self.port = int(address.rpartition(":")[2])
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=300)
        self.reader = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()
        self.socket.close()

    def ask(self, path, data, kind="application/json"):
        """Status and body of an answer."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: {kind}\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        status, length = int(self.reader.readline().split()[1]), 0
        while (line := self.reader.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, self.reader.read(length)

    def predict(self, name, body):
        return self.ask(f"/models/{name}/predict", json.dumps(body).encode())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_finish(number):
    with running("--threads", "1") as (address, process):
        post(address, "rna", {"input": "GGGAAACCC", "marginals": True, "mea": True})
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(post, address, "rna", LONG) for _ in range(3)]  # one runs, two wait
            until(lambda: health(address)["waiting"] == 3)
            process.send_signal(number)
            answers = [one.result(120) for one in asked]
        assert [status for status, _ in answers] == [200] * 3
        assert all(len(body["results"][0]["output"]) == len(LONG["input"]) for _, body in answers)
        assert process.wait(60) in (0, -number)
        assert "Traceback" not in process.stderr.read()
        with pytest.raises(urllib.error.URLError, match="refused"):
            health(address)


def test_a_second_signal_does_not_wait():
    with running() as (address, process), ThreadPoolExecutor(1) as pool:
        post(address, "rna", {"input": "GGGAAACCC", "marginals": True, "mea": True})
        slow = pool.submit(post, address, "rna", {**LONG, "input": "GCAU" * 350})
        until(lambda: health(address)["waiting"] == 1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None  # the request runs
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert time.monotonic() - began < 2
        assert slow.result(30) == (503, {"error": "the server is shutting down"})


def test_a_slow_request_does_not_hold_up_others(server):
    address, _ = server
    with ThreadPoolExecutor(2) as pool, Client(address) as client:
        slow = [pool.submit(post, address, "rna", LONG) for _ in range(2)]  # all threads for long work
        until(lambda: health(address)["waiting"] == 2)
        times = []
        while not all(one.done() for one in slow) and len(times) < 200:
            began = time.monotonic()
            status, _ = client.predict("names", {"input": INPUTS["names"], "k": 2})
            assert status == 200
            times.append(time.monotonic() - began)
        assert [one.result(60)[0] for one in slow] == [200, 200]
    assert len(times) > 20
    assert statistics.median(times) < 0.1


def test_two_hundred_at_once(server):
    address, _ = server
    names = list(INPUTS)
    gate = threading.Barrier(200)

    def one(i):
        name = names[i % len(names)]
        with Client(address) as client:
            gate.wait(60)
            status, body = client.predict(
                name, {"input": INPUTS[name], "k": 1 + i % 3, "marginals": i % 2 == 0}
            )
        return name, status, json.loads(body)

    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(one, range(200)))
    first = {}
    for i, (name, status, body) in enumerate(answers):
        assert status == 200, body
        assert body["model"] == name
        assert len(body["results"][0]["candidates"]) <= 1 + i % 3
        assert body["results"][0]["output"] == first.setdefault(name, body["results"][0]["output"])
    assert set(first) == set(INPUTS)


def test_vanishing_clients(server):
    address, _ = server
    port = int(address.rpartition(":")[2])
    head = (
        f"POST /models/rna/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    )
    body = json.dumps(LONG).encode()
    before = health(address)["answered"]
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", port)) as gone:
            gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    until(lambda: health(address)["waiting"] == 0, 60)
    assert health(address)["answered"] - before < 20  # most had not been begun when their clients had gone
    assert post(address, "names", {"input": "Ana"})[0] == 200


def left(pid):
    """Memory in MB, open files and threads of a process."""
    with open(f"/proc/{pid}/statm") as file:
        resident = int(file.read().split()[1]) * 4096 / 1e6
    return resident, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def test_ten_thousand_requests_leave_nothing_behind(server):
    """Good and bad ones of every kind, words that nobody has used before, clients that come and go."""
    address, pid = server

    def some(first, n):
        with Client(address) as client:
            for i in range(first, first + n):
                name = list(INPUTS)[i % 6] if i % 5 == 0 else "names"
                given = INPUTS[name] if i % 4 or name != "names" else f"Ana{i} left Oslo{i} ."
                more = (
                    {"k": 3, "marginals": True, "mea": True, "draw": True, "sample": 1} if i % 10 == 0 else {}
                )
                if i % 97 == 0:
                    status, _ = client.ask(
                        "/models/names/file?name=x.txt", b"Ana\nleft\n", "application/octet-stream"
                    )
                elif i % 31 == 0:
                    status, _ = client.predict(name, {"input": [None], "k": -1})
                    assert status == 400
                    continue
                else:
                    status, _ = client.predict(name, {"input": given, **more})
                assert status == 200

    def parallel(first, total, clients=8, each=50):
        starts = range(first, first + total, each)
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda start: some(start, each), starts))

    parallel(0, 4_000)
    before = left(pid)
    parallel(4_000, 10_000)
    until(lambda: left(pid)[1] <= before[1] + 2)  # the last connections are being closed
    after = left(pid)
    assert after[0] - before[0] < 15, (before, after)
    assert after[2] <= before[2]
    assert health(address)["waiting"] == 0
