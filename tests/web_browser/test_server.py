"""The server as a process: signals, slow clients, many requests."""

import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

from .conftest import running


def post(address, name, body, timeout=60):
    data = json.dumps(body).encode()
    asked = urllib.request.Request(
        f"{address}/models/{name}/predict", data, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def test_a_signal_lets_requests_finish():
    with running() as (address, process):
        post(address, "rna", {"input": "GGGAAACCC", "marginals": True}, timeout=300)
        answers = []
        long = {"input": "GGGAAACCC" * 90, "marginals": True, "mea": True}
        asked = threading.Thread(target=lambda: answers.append(post(address, "rna", long)))
        asked.start()
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        asked.join(60)
        assert answers
        assert answers[0][0] == 200, answers[0][1]
        assert process.wait(60) == 0 or process.returncode == -signal.SIGTERM


def test_a_slow_request_does_not_hold_up_others(server):
    address, _ = server
    slow = threading.Thread(
        target=lambda: post(address, "rna", {"input": "GGGAAACCC" * 150, "marginals": True})
    )
    slow.start()
    time.sleep(0.1)
    began = time.perf_counter()
    for _ in range(20):
        assert post(address, "names", {"input": "Ana left Oslo ."})[0] == 200
    took, waits = time.perf_counter() - began, slow.is_alive()
    slow.join()
    assert waits or took < 5


def test_slow_and_vanishing_clients(server):
    address, _ = server
    port = int(address.rpartition(":")[2])
    head = (
        f"POST /models/names/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    )
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for client in slow:
        client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())  # and no more
    for _ in range(20):
        gone = socket.create_connection(("127.0.0.1", port))
        body = b'{"input": "Ana left Oslo ."}'
        gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        gone.close()  # before the answer
    assert post(address, "names", {"input": "Ana"})[0] == 200
    for client in slow:
        client.close()
    for _ in range(100):
        state = json.load(urllib.request.urlopen(f"{address}/health", timeout=10))
        if state["waiting"] == 0:
            return
        time.sleep(0.1)
    raise AssertionError(state)


def test_ten_thousand_requests_leave_nothing_behind(server):
    address, pid = server
    port = int(address.rpartition(":")[2])
    bodies = [
        json.dumps({"input": f"Ana{i % 97} left Oslo .", "k": 2 * (i % 10 == 0)}).encode() for i in range(500)
    ]

    def many(times):
        with socket.create_connection(("127.0.0.1", port)) as client:
            reader = client.makefile("rb")
            for i in range(times):
                body = bodies[i % 500]
                client.sendall(
                    f"POST /models/names/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                    "Content-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                line = reader.readline()
                assert line.startswith(b"HTTP/1.1 200"), line
                length = 0
                while (line := reader.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                reader.read(length)

    def parallel(total, clients=8):
        threads = [threading.Thread(target=many, args=(total // clients,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    parallel(2_000)
    before = resident(pid)
    parallel(10_000)
    assert resident(pid) - before < 15
