"""A real server and a real browser; only with TRELLISWORK_BROWSER=1, as ``make test-web`` sets it."""

import json
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
from tests.web.inputs import INPUTS

collect_ignore_glob = [] if os.environ.get("TRELLISWORK_BROWSER") else ["test_*.py"]

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SHOTS = Path(os.environ.get("TRELLISWORK_SHOTS", "web-screenshots"))


@contextmanager
def running(*arguments):
    """Address and process of a server."""
    command = [sys.executable, "-m", "trelliswork", "serve", "--port", "0", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    try:
        process = subprocess.Popen(command, **pipes)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
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
        for name, given in INPUTS.items():  # train and compile
            urllib.request.urlopen(f"{address}/models/{name}", timeout=300).read()
            for wanted in ({"k": 2}, {"marginals": True}, {"mea": True}, {"sample": 1}, {"why": True}):
                body = json.dumps({"input": given, **wanted}).encode()
                asked = urllib.request.Request(
                    f"{address}/models/{name}/predict", body, {"Content-Type": "application/json"}
                )
                urllib.request.urlopen(asked, timeout=300).read()
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
        page.set_default_timeout(300_000)  # much may have to be compiled
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on(
            "request",
            lambda r: self.errors.append(r.url) if not r.url.startswith((address, "blob:")) else None,
        )
        page.on("dialog", lambda dialog: (self.errors.append("a script ran"), dialog.dismiss()))

    def open(self, name, text=None):
        """Choose a model, and ask it if it has no example."""
        self.page.goto(self.address)
        self.page.wait_for_selector("#card dl")
        self.choose(name, text)

    def choose(self, name, text=None):
        if self.page.input_value("#model") != name:
            with self.page.expect_response(lambda r: r.url.endswith(f"/models/{name}")):
                self.page.select_option("#model", name)
        if text is not None:
            self.page.wait_for_selector("#results:empty", state="attached")
            self.type(name, text)
        self.result(name)

    def result(self, name):
        self.page.wait_for_selector(f"section[aria-label='result of {name}']")

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
        with self.answered():
            self.page.locator(selector).first.click()

    @contextmanager
    def answered(self):
        """Something that asks, and the answer."""
        with self.page.expect_response(lambda r: r.url.endswith("/predict")):
            yield
        self.quiet()

    def text(self, selector):
        return self.page.inner_text(selector)

    def count(self, selector):
        return self.page.locator(selector).count()

    def shot(self, name):
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)

    def fits(self):
        """Whether nothing is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@contextmanager
def at(browser, address, **options):
    """A page in a window of its own."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
    page = Page(context.new_page(), address)
    try:
        yield page
    finally:
        context.close()
    assert not page.errors


@pytest.fixture
def page(browser, server):
    with at(browser, server[0]) as found:
        yield found
