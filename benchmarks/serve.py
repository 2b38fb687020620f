"""Requests per second of ``trelliswork serve``: one sentence tagged by each request.

The server runs in a process of its own with the small tagger of names that it offers without a model file;
the clients are connections that one process of this benchmark keeps open over loopback, each sending its next
sentence when it has read its last answer. Server and clients share the cores of the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._measure import arguments, write_results
from trelliswork.web.demos import sentences

CLIENTS = (1, 8, 64)


@contextmanager
def running(*options: str) -> Iterator[tuple[int, int]]:
    """Port and process id of a server, which ends with the block."""
    command = [sys.executable, "-m", "trelliswork", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.search(r":(\d+)/", line)
            if found:
                break
        else:
            raise RuntimeError("the server did not start")
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            process.wait(30)


def request_of(port: int, tokens: list[str]) -> bytes:
    body = json.dumps({"input": tokens}).encode()
    head = (
        f"POST /models/names/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Client(asyncio.Protocol):
    """One connection: sends the next request when it has the whole answer to the last one."""

    def __init__(self, requests: list[bytes], start: int, until: float, times: list[float]):
        self.requests, self.next, self.until, self.times = requests, start, until, times
        self.done = asyncio.get_running_loop().create_future()
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request."""
        self.began = time.perf_counter()
        self.transport.write(self.requests[self.next % len(self.requests)])
        self.next += 1

    def data_received(self, data: bytes) -> None:
        """Read what has come of the answer."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        if not head.startswith(b"http/1.1 200"):
            self.done.set_exception(RuntimeError(self.buffer.decode("latin-1")))
            return
        length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
        if len(self.buffer) < end + 4 + length:
            return
        now = time.perf_counter()
        self.times.append(now - self.began)
        self.buffer = b""
        if now < self.until:
            self.send()
        else:
            self.transport.close()
            self.done.set_result(None)


async def load(port: int, n_clients: int, seconds: float) -> list[float]:
    """Seconds of every request."""
    requests = [request_of(port, tokens) for tokens in sentences(100, seed=1)[0]]
    times: list[float] = []
    until = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    clients = []
    for c in range(n_clients):
        _, client = await loop.create_connection(
            lambda c=c: Client(requests, 7 * c, until, times), "127.0.0.1", port
        )
        clients.append(client.done)
    await asyncio.gather(*clients)
    return times


def memory(pid: int) -> float:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    args = arguments(__doc__ or "", seconds=(5.0, "of each measurement"))
    rows: list[list[Any]] = []
    busy = os.getloadavg()[0]
    total = 0
    with running() as (port, pid):
        asyncio.run(load(port, 2, 3.0))  # the model is trained by the first request; code is compiled
        before = memory(pid)
        for n in CLIENTS:
            used = cpu(pid)
            times = sorted(asyncio.run(load(port, n, args.seconds)))
            used = (cpu(pid) - used) / len(times) * 1e3
            total += len(times)
            at = [times[min(len(times) - 1, int(q * len(times)))] * 1e3 for q in (0.5, 0.99)]
            rows.append(
                [
                    n,
                    f"{len(times) / args.seconds:,.0f}",
                    f"{at[0]:.1f} ms",
                    f"{at[1]:.1f} ms",
                    f"{used:.2f} ms",
                ]
            )
            print(*rows[-1], flush=True)
        grown = memory(pid) - before
    head = "| clients | requests/s | median | 99th percentile | processor time of the server |\n"
    head += "| --- | --- | --- | --- | --- |\n"
    body = head + "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)
    note = (
        f"One sentence of 4 to 15 tokens a request, keep-alive, {args.seconds:g} s each, loopback. Memory of "
        f"the server grew by {grown:.1f} MB over these {total:,} requests. Load average of the machine "
        f"before: {busy:.1f}."
    )
    write_results("serve", "python -m benchmarks serve", f"Tagging one sentence.\n\n{body}\n\n{note}")


if __name__ == "__main__":
    main()
