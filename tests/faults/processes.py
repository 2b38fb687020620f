"""Fork and spawn after a fit on several threads, ten threads with one model, little address space."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.children import ended, in_child

import trelliswork as tw
from trelliswork.cli import app
from trelliswork.structures import STRUCTURES


def ask(job):
    """Predictions, as texts."""
    model, X = job
    return repr([model.predict(X), [[c.output for c in row] for row in model.predict_kbest(X, 2)]])


def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cls in STRUCTURES.items():
            structure, X, y = next(iter(cls.examples()))
            repeat = 1 if name in ("Alignment", "Retrieval") else 30
            yield name, tw.Perceptron(structure, max_iter=2).fit(list(X) * repeat, list(y) * repeat), list(X)


def little_memory(folder, X):
    """A child with 300 MB more than it has: one error, and a model that works again."""
    model = tw.load(folder / "fold.tw")
    model.predict_marginals(X)
    (folder / "long.txt").write_text(">a\n" + "GCAU" * 1500 + "\n")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20),) * 2)
    try:
        model.predict_marginals(["GCAU" * 1500])
    except (MemoryError, tw.InputError):
        pass
    else:
        raise AssertionError("answered")
    command = ["predict", str(folder / "fold.tw"), str(folder / "long.txt"), "--probabilities"]
    assert app(command, prog_name="trelliswork", standalone_mode=False) == 2
    assert len(model.predict(X)) == len(X)
    said = ""
    rows, labels = [{f"w{100 * i + j}": 1.0 for j in range(100)} for i in range(100)], range(100)
    try:
        tw.CRF(tw.Classes()).fit(rows, [f"c{k}" for k in labels])  # a million weights
    except tw.InputError as error:
        said = str(error)
    assert "would take about" in said  # before the work, and not in the middle of it


def main(folder):
    fitted = list(models())
    crf = tw.CRF(tw.Chain(), n_jobs=2, max_iter=3)
    X, y = [["a", "b"]] * 20_000, [["A", "B"]] * 20_000
    crf.fit(X, y)
    expected = ask((crf, X[:5000]))

    def compare():
        signal.alarm(60)
        assert ask((crf, X[:5000])) == expected

    assert ended(in_child(compare)) == 0, "fork"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(ask, [(crf, X[:5000])]) == [expected]

    with ThreadPoolExecutor(10) as threads:
        for name, model, some in fitted:
            alone = ask((model, some))
            assert set(threads.map(ask, [(model, some)] * 30)) == {alone}, name

    folds = tw.CRF(tw.RNA("g6"), max_iter=1).fit(["GGAAACC"], ["((...))"])
    tw.save(folds, folder / "fold.tw")
    assert ended(in_child(lambda: little_memory(folder, ["GGAAACC"]))) == 0, "little memory"
