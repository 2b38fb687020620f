"""Ctrl-C and SIGTERM during the fit of every learner, on two threads."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import numpy as np
from sklearn.exceptions import NotFittedError

import trelliswork as tw
from trelliswork.cli._training import _sigterm_interrupts
from trelliswork.learners import LEARNERS

LONG = {
    "CRF": {"l2": 1e-9, "tol": 1e-300, "max_iter": 10_000},
    "Perceptron": {"max_iter": 10_000},
    "StructuredSVM": {"C": 1e6, "tol": 1e-300, "max_iter": 10_000},
    "VotedCRF": {"lam": 1e-9, "beta": 1e-9, "tol": 1e-300, "max_iter": 10_000},
    "StructBoost": {"max_iter": 10_000},
    "KLRSO": {},
    "ZScore": {},
    "SODA": {},
    "Generative": {},
}
SEARCHING = ("CRF", "Perceptron", "StructuredSVM", "VotedCRF", "StructBoost")


def data(n=200):
    rng = np.random.default_rng(0)
    X = [[f"w{i}" for i in rng.integers(60, size=12)] for _ in range(n)]
    return X, [[f"L{i}" for i in rng.integers(6, size=12)] for _ in range(n)]


def interrupted(model, X, y, number, seconds):
    """How a fit ended to which a signal came after some time."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            timer.start()
            model.fit(X, y)
            timer.join()  # the signal of a fit that was quick comes here
            ended = "finished"
        except KeyboardInterrupt:
            ended = "raised"
        timer.join()
    if any(issubclass(w.category, tw.FitInterrupted) for w in caught):
        ended = "kept"
    return ended


def main(folder):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started all this to ignore it
    X, y = data()
    seen = {}
    for name, params in LONG.items():
        cls = LEARNERS[name]
        small = 40 if name in ("KLRSO", "StructBoost") else len(X)
        short = params | ({"max_iter": 2} if "max_iter" in params else {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls(tw.Chain(), n_jobs=2, **short).fit(X[:small], y[:small])  # compiled code is there
        for number in (signal.SIGINT, signal.SIGTERM):
            for seconds in (
                0.1,
                0.3,
                0.03,
                0.01,
            ):  # on some machines a fit is over, or begins, later than on others
                model = cls(tw.Chain(), n_jobs=2, **params)
                with _sigterm_interrupts(60.0):
                    ended = interrupted(model, X[:small], y[:small], number, seconds)
                seen.setdefault(name, set()).add(ended)
                if ended == "kept" or name not in SEARCHING:
                    break
            try:
                assert len(model.predict(X[:3])) == 3
            except NotFittedError:
                assert ended == "raised", name
            again = cls(tw.Chain(), n_jobs=2, **short)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert len(again.fit(X[:20], y[:20]).predict(X[:3])) == 3
        print(name, sorted(seen[name]), flush=True)
    assert set(LONG) == set(LEARNERS) - {"Fixed"}
    for name in SEARCHING:
        assert "kept" in seen[name], seen
