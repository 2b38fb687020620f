"""Too much, too slow, not JSON: every mistake has a stated answer."""

import asyncio
import gzip
import threading
import time
from pathlib import Path

import pytest

from trelliswork.web.app import create_app
from trelliswork.web.bodies import Bodies
from trelliswork.web.limits import Limits, Refused
from trelliswork.web.workers import Workers

from .conftest import Service, post


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"input": NaN}', 400),
        (b'{"input": 1e999}', 422),
        (b'{"input": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"input": ' + b"[" * 300 + b"]" * 300 + b"}", 400),
        (b'{"input": "\\ud800"}', 400),
        (b'{"input": "\xff"}', 400),
        (b'{"input": "\xed\xa0\x80"}', 400),
        (b'{"inputs": {"a": 1}}', 400),
        (b'{"input": "Ana", "inputs": []}', 400),
        (b'{"input": "Ana", "file": "/etc/passwd"}', 400),
        (b'{"input": "Ana", "model": "/tmp/model.tw"}', 400),
        (b'{"input": null}', 422),
        (b'{"input": [null, 3]}', 422),
        (b'{"input": "Ana", "k": 1e9}', 400),
        (b'{"input": "Ana", "k": true}', 400),
        (b'{"input": "Ana", "k": -1}', 400),
        (b'{"input": "Ana", "k": 100000}', 400),
        (b'{"input": "Ana", "sample": 100000}', 400),
        (b'{"input": "Ana", "why": [0, 0]}', 400),
        (b'{"input": "Ana", "seed": -1, "sample": 1}', 400),
        (b'{"input": "Ana", "marginals": "yes"}', 400),
        (b'{"input": "Ana", "known": ["PERSON"]}', 422),
        (b'{"input": "Ana", "known": [["B-PER", {}]]}', 422),
        (b'{"input": "Ana", "known": []}', 422),
        (b'{"inputs": []}', 200),
        (b'{"input": ""}', 200),
        (b'{"input": [[], {}]}', 422),
    ],
)
def test_hostile_requests(service, content, code):
    answer = post(service, content)
    assert answer.status_code == code, answer.text
    if code != 200:
        assert list(answer.json()) == ["error"]
        assert len(answer.json()["error"]) < 600


def test_the_documentation_has_the_limits():
    page = Path(__file__).parents[2] / "docs" / "serve.md"
    if not page.exists():
        pytest.skip("the documentation is not here")
    text, own = page.read_text(encoding="utf-8"), Limits()
    for line in (
        f"{own.body >> 20} MiB, {own.file >> 20} MiB ({own.unpacked >> 20} MiB unpacked)",
        f"| {own.inputs:,}, {own.rows:,} |",
        f"| {own.k} |",
        f"| {own.seconds:g} s (`--max-seconds`) |",
        f"{own.symbols:,} symbols of outputs, {own.cells:,} probabilities",
        f"{own.header >> 10} KiB; {own.head:g} s from its first byte",
        f"{own.sending:g} s, and 1 s more for every {own.rate >> 10} KiB",
        f"| {own.received >> 20} MiB |",
        f"| {own.waiting}, {own.share} |",
        f"as much as {own.patience:g} s",
        f"{own.idle:g} s; of {own.connections} that are open",
    ):
        assert line in text, line


def test_long_work_is_refused_before_it_starts(service):
    began = time.perf_counter()
    answer = service.predict("rna", input="GC" * 25_000)
    assert answer.status_code == 422
    assert "would take about" in answer.json()["error"]
    assert service.predict("dna", input=["A" * 100_000, "C" * 100_000]).status_code == 422
    assert service.predict("trees", input="the man " * 5_000).status_code == 422
    assert service.predict("greek", input="α" * 100_000).status_code == 422
    assert time.perf_counter() - began < 20


def test_sizes(strict):
    assert post(strict, b'{"input": "' + b"a" * 3000 + b'"}').status_code == 413
    assert strict.predict("names", inputs=["Ana"] * 4).status_code == 413
    assert strict.predict("names", inputs=["Ana"] * 3).status_code == 200

    async def pieces():
        for _ in range(100):
            yield b"a" * 100

    async def send():
        async with strict.client() as client:
            headers = {"content-type": "application/json"}
            return await client.post("/models/names/predict", content=pieces(), headers=headers)

    assert asyncio.run(send()).status_code == 413


def upload(service, name, what, data, **query):
    return service.ask(
        "POST",
        f"/models/{name}/{what}",
        params={"name": "some.txt", **query},
        content=data,
        headers={"content-type": "application/octet-stream"},
    )


def test_files_have_limits(strict):
    assert upload(strict, "names", "file", b"a\n" * 1500).status_code == 413
    assert upload(strict, "names", "file", gzip.compress(b"a\n" * 100_000)).status_code == 413
    assert upload(strict, "names", "file", gzip.compress(b"Ana\n")[:-9]).status_code in (200, 422)
    assert upload(strict, "names", "file", b"\x1f\x8bbroken").status_code == 422
    assert upload(strict, "names", "file", b"Ana\n\n" * 6).status_code == 413
    assert upload(strict, "names", "file", b"Ana\n", k="x").status_code == 400


def test_files_that_take_too_long(service):
    pairs = "".join(f">{i}\n{'ACGT' * 100}\n" for i in range(100)).encode()
    assert upload(service, "dna", "file", pairs).status_code == 200
    answer = upload(service, "dna", "file", pairs, k="9")  # lists take much longer
    assert answer.status_code == 422
    assert "would take about" in answer.json()["error"]


def test_answers_that_are_too_long_to_send(service):
    one = ["A" * 500, "C" * 500]
    assert service.predict("dna", input=one, marginals=True).status_code == 200
    answer = service.predict("dna", inputs=[one] * 5, marginals=True)
    assert answer.status_code == 422
    assert "probabilities are too many to send" in answer.json()["error"]
    answer = service.predict("names", inputs=[["Ana"] * 1000] * 60, k=50)
    assert answer.status_code == 422
    assert "too long to send" in answer.json()["error"]


def test_slow_clients_are_not_waited_for():
    async def receive():
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"a", "more_body": True}

    bodies = Bodies(Limits(sending=0.2))

    async def read():
        async with bodies.read(receive, "", 10_000):
            pass

    with pytest.raises(Refused) as refused:
        asyncio.run(read())
    assert refused.value.status == 408
    assert bodies.held == 0


def test_a_full_queue_is_told():
    async def fill():
        workers = Workers(Limits(waiting=3, patience=5.0), threads=1)
        gate = threading.Event()
        slow = [asyncio.ensure_future(workers.run(1.0, gate.wait)) for _ in range(3)]
        await asyncio.sleep(0.01)
        with pytest.raises(Refused) as refused:
            await workers.run(1.0, time.sleep, 0.0)
        gate.set()
        await asyncio.gather(*slow)
        assert workers.load == 0
        await workers.run(1.0, time.sleep, 0.0)
        workers.close()
        return refused.value

    error = asyncio.run(fill())
    assert error.status == 503
    assert error.retry


def test_long_work_does_not_hold_up_short_work():
    async def both():
        workers, gate = Workers(Limits(), threads=1), threading.Event()
        slow = [asyncio.ensure_future(workers.run(5.0, gate.wait)) for _ in range(2)]
        answers = [workers.together("key", lambda items: [2 * i for i in items], i) for i in range(100)]
        assert await asyncio.gather(*answers) == [2 * i for i in range(100)]
        assert not any(one.done() for one in slow)
        gate.set()
        await asyncio.gather(*slow)
        workers.close()

    asyncio.run(both())


def test_no_answer_in_time_is_told():
    async def wait():
        workers = Workers(Limits(patience=0.05), threads=1)
        with pytest.raises(Refused) as refused:
            await workers.run(1.0, time.sleep, 0.2)
        await asyncio.sleep(0.3)
        assert workers.load == 0
        workers.close()
        return refused.value.status

    assert asyncio.run(wait()) == 503


def test_a_cancelled_request_leaves_nothing_behind(models):
    service = Service(create_app(models))

    async def cancel():
        async with service.client() as client:
            for _ in range(5):
                asked = asyncio.ensure_future(
                    client.post("/models/rna/predict", json={"input": "GGGAAACCC" * 20, "marginals": True})
                )
                await asyncio.sleep(0.005)
                asked.cancel()
            for _ in range(1500):
                await asyncio.sleep(0.02)
                state = (await client.get("/health")).json()
                if state["waiting"] == 0:
                    return state
        return None

    assert asyncio.run(cancel()) is not None


def test_a_bug_is_one_line(models, monkeypatch, caplog):
    import trelliswork.web.app as module

    service = Service(create_app(models))

    def broken(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(module, "answer_at_once", broken)
    answer = service.predict("names", input="Ana")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret" in caplog.text
