"""Who may ask."""

import pytest

from trelliswork.web.app import create_app

from .conftest import Service
from .inputs import INPUTS

SECRET = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80", "127.3.2.1"])
def test_this_machine_has_many_names(service, host):
    assert service.ask("GET", "/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "192.168.0.7", "", "127.0.0.1.evil.example"]
)
def test_other_names_are_refused(service, host):
    for path in ("/", "/models", "/health"):
        assert service.ask("GET", path, headers={"host": host}).status_code in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_cannot_post(service, headers):
    asked = service.ask("POST", "/models/names/predict", json={"input": "Ana"}, headers=headers)
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers


def test_pages_of_other_sites_can_link_and_nothing_else(service):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert service.ask("GET", "/", headers=link).status_code == 200
    assert (
        service.ask("POST", "/models/names/predict", json={"input": "Ana"}, headers=link).status_code == 403
    )
    for mode in ("no-cors", "cors", "websocket"):  # pictures, scripts, fetch
        headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode}
        for path in ("/models", "/models/rna", "/static/app.js"):  # a card costs something
            answer = service.ask("GET", path, headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
    asked = service.ask("OPTIONS", "/models/names/predict", headers={"origin": "http://evil.example"})
    assert asked.status_code == 403
    assert not [name for name in asked.headers if name.startswith("access-control")]


def test_the_page_itself_can_post(service):
    headers = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    asked = service.ask("POST", "/models/names/predict", json={"input": INPUTS["names"]}, headers=headers)
    assert asked.status_code == 200


def test_forms_of_other_sites_cannot_post(service):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        asked = service.ask(
            "POST", "/models/names/predict", content=b'{"input": "Ana"}', headers={"content-type": kind}
        )
        assert asked.status_code == 415
        asked = service.ask("POST", "/models/names/file", content=b"Ana\n", headers={"content-type": kind})
        assert asked.status_code == 415


def test_answers_say_what_may_run(service):
    for path in ("/", "/static/app.js", "/models", "/nothing"):
        policy = service.ask("GET", path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "frame-ancestors 'none'" in policy
    assert service.ask("GET", "/models").headers["cache-control"] == "no-store"


def test_tokens(models):
    service = Service(create_app(models, host="0.0.0.0", token=SECRET), host="10.0.0.5")
    assert service.ask("GET", "/").status_code == 200  # the page asks for the token
    assert service.ask("GET", "/health").status_code == 200
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {SECRET}"}):
        answer = service.ask("GET", "/models", headers=headers)
        assert answer.status_code == 401
        assert SECRET not in answer.text
    assert service.ask("GET", "/models", headers={"authorization": f"Bearer {SECRET}"}).status_code == 200
    named = {"host": "tagger.example", "authorization": f"Bearer {SECRET}"}
    assert service.ask("GET", "/models", headers=named).status_code == 403
    known = Service(create_app(models, host="0.0.0.0", names=["Tagger.example"], token=SECRET))
    assert known.ask("GET", "/models", headers=named).status_code == 200


def test_methods(service):
    for method, path, allowed in (
        ("GET", "/models/names/predict", "POST"),
        ("PUT", "/models", "GET, HEAD"),
        ("OPTIONS", "/models", "GET, HEAD"),
    ):
        answer = service.ask(method, path)
        assert answer.status_code == 405
        assert sorted(answer.headers["allow"].split(", ")) == sorted(allowed.split(", "))


def test_other_machines_need_a_token():
    from typer.testing import CliRunner

    from trelliswork.cli import app

    done = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0"])
    assert done.exit_code == 2
    assert "--token" in done.stderr
    assert "other machines" in done.stderr
    done = CliRunner().invoke(app, ["serve", "--token", "short"])
    assert done.exit_code == 2
    assert "at least 16" in done.stderr
