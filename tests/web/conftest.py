"""The service in this process, with its small models."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from trelliswork.web.app import create_app  # noqa: E402
from trelliswork.web.demos import demo_models  # noqa: E402
from trelliswork.web.limits import Limits  # noqa: E402


def pytest_collection_modifyitems(items):
    """Inputs that look like a mistake are asked on purpose."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::trelliswork.InputWarning"))


class Service:
    """Requests without a network."""

    def __init__(self, app, host="127.0.0.1"):
        self.app, self.host = app, host

    def client(self):
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url=f"http://{self.host}:8000")

    def ask(self, method, path, **more):
        async def once():
            async with self.client() as client:
                return await client.request(method, path, **more)

        return asyncio.run(once())

    def predict(self, name, **body):
        return self.ask("POST", f"/models/{name}/predict", json=body)

    def result(self, name, **body):
        answer = self.predict(name, **body)
        assert answer.status_code == 200, answer.text
        return answer.json()["results"][0]


def post(service, content, name="names"):
    return service.ask(
        "POST", f"/models/{name}/predict", content=content, headers={"content-type": "application/json"}
    )


@pytest.fixture(scope="session")
def models():
    return demo_models()


@pytest.fixture(scope="session")
def service(models):
    return Service(create_app(models, limits=Limits(patience=900.0)))  # much may have to be compiled


@pytest.fixture(scope="session")
def strict(models):
    """The same with small limits."""
    limits = Limits(
        body=2000, file=2000, unpacked=5000, inputs=3, rows=5, seconds=0.5, sending=0.3, waiting=3
    )
    return Service(create_app(models, limits=limits))
