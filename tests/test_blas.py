"""Solvers keep BLAS to one thread, and leave it as it was."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import trelliswork as tw
from trelliswork._blas import one_blas_thread


def threads():
    return [
        library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"
    ]


@pytest.fixture
def two_threads():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if 2 not in threads():
            pytest.skip("this BLAS cannot have two threads here")
        yield


def test_one_thread_while_it_runs(two_threads):
    assert set(one_blas_thread(threads)()) == {1}
    assert 2 in threads()


def test_restored_after_an_error(two_threads):
    @one_blas_thread
    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert 2 in threads()


def test_nested_calls_keep_the_limit(two_threads):
    @one_blas_thread
    def outer():
        one_blas_thread(threads)()
        return threads()

    assert set(outer()) == {1}
    assert 2 in threads()


def test_threads_that_overlap(two_threads):
    """The one that began first may end first; in the end all is as it was."""
    inside, leave = threading.Event(), threading.Event()

    @one_blas_thread
    def slow():
        inside.set()
        leave.wait(10)

    @one_blas_thread
    def first():
        other.start()
        inside.wait(10)

    other = threading.Thread(target=slow)
    first()
    leave.set()
    other.join()
    assert 2 in threads()


@pytest.mark.parametrize("learner", [tw.CRF, tw.SODA, tw.StructuredSVM, tw.KLRSO])
def test_learners(learner, two_threads):
    """Fits see one thread, also when a user's own structure or kernel calls BLAS."""
    seen = []

    class Watched(learner):
        def fit(self, X, y):
            seen.extend(threads())
            return super().fit(X, y)

    X, y = [["a", "b"], ["b"], ["a"], ["b", "a"]], [["A", "B"], ["B"], ["A"], ["B", "A"]]
    model = Watched(tw.Chain()).fit(X, y)
    assert set(seen) == {1}
    assert 2 in threads()
    assert np.isfinite(model.coef_).all()
