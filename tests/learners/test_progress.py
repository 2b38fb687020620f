"""What a fit, a search and a comparison show on a terminal: a bar with the values and the time left."""

import contextlib
import os
import re
import sys
import threading

import pytest

import trelliswork as tw

pty = pytest.importorskip("pty", reason="terminals of this kind are POSIX")

X, Y = [["the", "cat"], ["a", "dog"], ["the", "dog"]] * 4, [["D", "N"]] * 12


def shown(monkeypatch, work):
    """What comes out of a terminal that is standard error while something is done."""
    near, far = pty.openpty()
    pieces = []

    def read():  # all the while: a terminal that is full would wait for ever
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(near, 65536):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with open(far, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        work()
    reader.join()
    os.close(near)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(pieces).decode("utf-8"))


def test_a_bar_with_objective_and_time_left(monkeypatch):
    said = shown(monkeypatch, lambda: tw.CRF(tw.Chain(), verbose=1).fit(X, Y))
    assert re.search(r"CRF \S+ +\d+/500 objective [0-9.]+ .*\d:\d\d:\d\d", said)
    assert shown(monkeypatch, lambda: tw.CRF(tw.Chain()).fit(X, Y)) == ""


def test_a_bar_of_a_search(monkeypatch):
    said = shown(monkeypatch, lambda: tw.Tuned(tw.CRF(tw.Chain()), verbose=1, n_values=3).fit(X, Y))
    assert re.search(r"tuning \S+ +\d+/\d+ .*token_error 0.*\d:\d\d:\d\d", said)


def test_a_bar_of_a_comparison(monkeypatch):
    said = shown(monkeypatch, lambda: tw.compare(X, Y, learners=["Generative"], budget=5, verbose=1))
    assert re.search(r"comparing \S+ +\d+/\d+ learner Generative.* \d:\d\d:\d\d", said)
