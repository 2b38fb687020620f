"""A real server and a real browser; only with TRELLISWORK_BROWSER=1, as ``make test-web`` sets it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("TRELLISWORK_BROWSER") else ["test_*.py"]

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SHOTS = Path(os.environ.get("TRELLISWORK_SHOTS", "web-screenshots"))


@contextmanager
def running(*arguments):
    """Address and process of a server."""
    command = [sys.executable, "-m", "trelliswork", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline(), process.stdout.readline()]
        found = re.search(r"http://\S+/", lines[1])
        assert found, lines + [process.stderr.read()]
        try:
            yield found[0].rstrip("/"), process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


@pytest.fixture(scope="session")
def server():
    with running() as (address, process):
        for name in ("names", "rna", "trees", "dna", "greek", "animals"):  # train and compile
            urllib.request.urlopen(f"{address}/models/{name}", timeout=300).read()
        yield address, process.pid


@pytest.fixture(scope="session")
def browser():
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as play:
        found = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield found
        found.close()


class Page:
    """A page of the server, with all that went wrong in it."""

    def __init__(self, page, address):
        self.page, self.address, self.errors = page, address, []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on(
            "request",
            lambda r: self.errors.append(r.url) if not r.url.startswith((address, "blob:")) else None,
        )
        page.on("dialog", lambda dialog: (self.errors.append("a script ran"), dialog.dismiss()))

    def open(self, name):
        self.page.goto(self.address)
        self.page.wait_for_selector("section[aria-label^='result of']")
        self.choose(name)

    def choose(self, name):
        if self.page.input_value("#model") != name:
            self.page.select_option("#model", name)
        self.result(name)

    def result(self, name):
        self.page.wait_for_selector(f"section[aria-label='result of {name}']", timeout=30_000)

    def type(self, name, text):
        self.page.fill("#input", text)
        with self.page.expect_response(lambda r: r.url.endswith("/predict")):
            self.page.click("#predict")
        self.quiet()
        self.result(name)

    def quiet(self):
        """Wait until the last question is answered."""
        self.page.wait_for_selector("body:not(.busy)")

    def click(self, selector):
        with self.page.expect_response(lambda r: r.url.endswith("/predict")):
            self.page.locator(selector).first.click()
        self.quiet()

    def shot(self, name):
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


@pytest.fixture
def page(browser, server):
    made = browser.new_page(viewport={"width": 1200, "height": 900})
    made.set_default_timeout(15_000)
    wrapped = Page(made, server[0])
    yield wrapped
    made.close()
    assert not wrapped.errors
