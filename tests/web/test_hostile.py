"""Whatever is sent has an answer that the description of the service states, and no server error but 503."""

import asyncio
import json
import re
import string

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from trelliswork.web.limits import Limits
from trelliswork.web.openapi import openapi

from .conftest import post
from .inputs import INPUTS

OPERATION = openapi(Limits())["paths"]["/models/{name}/predict"]["post"]
STATED = {int(code) for code in OPERATION["responses"]} - {503}  # which says that there is too much to do
FIELDS = list(OPERATION["requestBody"]["content"]["application/json"]["schema"]["properties"])
some = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

ODD = ["\ud800", "x\udfff", "\x00", "\u2028", "\U0001f3f3\ufe0f\u200d\U0001f308", "x" * 3000]
ODD += ["(" * 60, "[" * 60, "{", "[1, NaN]", '{"a": 1e999}', "a=nan", "=", ">a", ">a\n>b", "-", "ACG-"]
ODD += ["/", "word/TAG", "G" * 400]
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 2**63, 1e308, 5e-324])
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(st.characters(), max_size=20) | st.sampled_from(ODD)
VALUES = LEAVES
for _ in range(3):
    VALUES = LEAVES | st.lists(VALUES, max_size=3) | st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
FINE = {
    "k": st.integers(0, 3),
    "sample": st.integers(0, 2),
    "seed": st.none() | st.integers(0, 9),
    "why": st.booleans() | st.just([0, 1]),
    **{name: st.booleans() for name in ("marginals", "mea", "draw")},
}


def check(answer, sent):
    assert answer.status_code in STATED, (sent, answer.text)
    if answer.status_code != 200:
        assert list(answer.json()) == ["error"]
        assert len(answer.json()["error"]) < 600
        assert "Traceback" not in answer.text


def asked(body):
    """JSON as hostile clients write it: lone surrogates are escaped, infinite numbers are there."""
    return json.dumps(body).encode()


@some
@given(name=st.sampled_from(list(INPUTS)), body=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5))
def test_any_json(service, name, body):
    check(post(service, asked(body), name), body)


def spoiled(value, draw):
    """A good value with a part of it replaced, or something put into it."""
    if isinstance(value, list) and value:
        i = draw(st.integers(0, len(value) - 1))
        return [*value[:i], spoiled(value[i], draw), *value[i + 1 :]]
    if isinstance(value, str) and draw(st.booleans()):
        i = draw(st.integers(0, len(value)))
        return value[:i] + draw(st.sampled_from(ODD)) + value[i:]
    return draw(VALUES)


KNOWN = {
    "names": ["B-PER", None, None, ["O"], None, None, None, None],
    "rna": "????(((....)))????????????",
    "trees": [["NP", 0, 2], [None, 3, 5]],
    "dna": [[0, 0], [1, None]],
    "greek": ["potamos", "potams"],
    "animals": ["cat", "dog"],
}


@some
@given(name=st.sampled_from(list(INPUTS)), options=st.fixed_dictionaries({}, optional=FINE), data=st.data())
def test_inputs_that_are_nearly_right(service, name, options, data):
    """Everything else is as it should be, so that the work begins."""
    value, known = INPUTS[name], KNOWN[name]
    if data.draw(st.booleans()):
        body = {"inputs": [value, spoiled(value, data.draw)], **options}
    else:
        body = {"input": value, "known": spoiled(known, data.draw), **options}
    check(post(service, asked(body), name), body)


@pytest.mark.parametrize("name", INPUTS)
def test_the_values_that_are_spoiled_are_right(service, name):
    assert service.predict(name, input=INPUTS[name], known=KNOWN[name]).status_code == 200


@some
@given(
    content=st.binary(max_size=60) | st.sampled_from([b'{"input": "Ana", "k": 2}', b'{"inputs": ["A"]}']),
    data=st.data(),
)
def test_any_bytes(service, content, data):
    at = data.draw(st.integers(0, len(content)))
    check(post(service, content[:at] + data.draw(st.binary(max_size=3)) + content[at:]), content)


@some
@given(depth=st.integers(0, 5000), kind=st.sampled_from(["[]", "{}"]), text=st.booleans())
def test_any_depth(service, depth, kind, text):
    opening, closing = ("[", "]") if kind == "[]" else ('{"a":', "}")
    body = f'{{"input": {opening * depth}1{closing * depth}}}'
    if text:  # brackets in a text are no depth
        body = json.dumps({"input": opening * depth})
    answer = post(service, body.encode())
    check(answer, depth)
    assert answer.status_code == (200 if text else 400 if depth >= 50 else 422)


@some
@given(size=st.integers(0, 6000))
def test_any_size(strict, size):
    body = b'{"input": "' + b"a" * size + b'"}'
    answer = post(strict, body)
    check(answer, size)
    assert (answer.status_code == 413) == (len(body) > 2000)


def asked_as(app, method, path, headers):
    """Status of a request whose headers are any bytes."""
    found = []

    async def receive():
        return {"type": "http.request", "body": b'{"input": "Ana"}', "more_body": False}

    async def send(message):
        found.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    return found[0]["status"]


HOSTS = st.binary(max_size=30) | st.text(string.printable, max_size=20).map(str.encode)
ODD_HOSTS = [b"[::1", b"]", b"[", b"127.0.0.1@evil.example", b"evil.example@127.0.0.1", b"evil.example:80"]
HOSTS |= st.sampled_from([*ODD_HOSTS, b"0.0.0.0", b"127.0.0.1.", b"127.1", b"::ffff:8.8.8.8", b"127.0.0.1/x"])
OURS = re.compile(rb"(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d*)?", re.IGNORECASE)


@some
@given(host=HOSTS)
def test_any_host(service, host):
    """Names of other sites, and what is no name at all, never get an answer."""
    assume(not OURS.fullmatch(host))
    for path in ("/", "/models", "/health"):
        assert asked_as(service.app, "GET", path, [(b"host", host)]) in (400, 403), host


@some
@given(
    origin=HOSTS | st.sampled_from([b"null", b"http://127.0.0.1", b"http://127.0.0.1:8001", b"http://[::1"])
)
def test_any_origin(service, origin):
    headers = [(b"host", b"127.0.0.1:8000"), (b"origin", origin), (b"content-type", b"application/json")]
    expected = 200 if origin.endswith(b"//127.0.0.1:8000") else 403
    assert asked_as(service.app, "POST", "/models/names/predict", headers) == expected


@some
@given(token=st.binary(max_size=40))
def test_any_token(models, token):
    from trelliswork.web.app import create_app

    app = create_app(models, host="0.0.0.0", token="0123456789abcdef")
    for scheme in (b"Bearer ", b"bearer ", b"Basic ", b""):
        headers = [(b"host", b"10.0.0.5"), (b"authorization", scheme + token)]
        assert asked_as(app, "GET", "/models", headers) == 401
