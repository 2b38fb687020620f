"""Fits on a cluster of two processes: the same weights, whatever happens to the workers."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork.structures import STRUCTURES

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import dask.bag  # noqa: E402

from trelliswork.dask import blocks  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::trelliswork.FitWarning"),
    pytest.mark.filterwarnings("ignore::trelliswork.InputWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tw.dask.local_cluster(2) as client:
            yield client


def tagged(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = [["ABC"[k] for k in rng.integers(0, 3, rng.integers(1, 6))] for _ in range(n)]
    X = [[a.lower() + str(rng.integers(4)) if rng.random() < 0.8 else "x" for a in row] for row in y]
    return X, y


CHAIN = tw.Chain().with_limits(leaf_samples=3)  # several blocks for few samples


def halves(X, y):
    return [(X[:1], y[:1]), (X[1:1], y[1:1]), (X[1:], y[1:])]


FEW = {"max_iter": 3}
LEARNERS = {
    "CRF": FEW,
    "VotedCRF": FEW,
    "ZScore": {},
    "SODA": {},
    "Generative": {},
    "KLRSO": {"min_count": 1},
    "StructuredSVM": {"solver": "one-slack", **FEW},
    "Perceptron": FEW,
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_weights_are_those_of_a_local_fit(name, client):
    structure, X, y = next(STRUCTURES[name].examples())
    structure = structure.with_limits(leaf_samples=1)  # every sample is a block
    parts = tw.dask.Parts(halves(X, y), client=client)
    for learner, options in LEARNERS.items():
        if learner in ("ZScore", "SODA"):  # test_every_learner has one that samples left out tell
            options = {"reg": 1e-2, "total_margin": 1.0}
        local = getattr(tw, learner)(structure, **options)
        there = getattr(tw.dask, learner)(structure, client=client, **options)
        here = halves(X, y) if learner == "Perceptron" else None  # it mixes what blocks learnt
        try:
            whole = local.fit(X, y) if here is None else local.fit(tw.Shards(here))
        except (tw.Unsupported, tw.InputError) as error:
            with pytest.raises(type(error)):
                there.fit(parts)
            continue
        model = there.fit(parts).to_local()
        assert type(model) is type(whole)
        assert np.array_equal(model.coef_, whole.coef_), learner  # to the last bit: sums have one order
        assert list(map(str, model.predict(X))) == list(map(str, whole.predict(X)))


def test_every_learner(client):
    X, y = tagged()
    parts = tw.dask.Parts(halves(X, y), client=client)
    for name, options in LEARNERS.items():
        there = getattr(tw.dask, name)(CHAIN, client=client, **options).fit(parts)
        data = (tw.Shards(halves(X, y)),) if name == "Perceptron" else (X, y)
        here = getattr(tw, name)(CHAIN, **options).fit(*data)
        assert np.array_equal(there.coef_, here.coef_), name
    assert there.predict(X[:1]) == there.to_local().predict(X[:1])


def test_progress_and_names_of_tasks_are_for_people(client, caplog):
    X, y = tagged()
    with caplog.at_level("INFO"):
        tw.dask.CRF(CHAIN, max_iter=3, verbose=2, client=client).fit(halves(X, y))
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("CRF ")]
    said = r"CRF 2 of 3: objective [\d.]+ .* [\d,]+ tokens/s  [\d.]+ s, at most \d+ s left"
    assert any(re.fullmatch(said, line) for line in lines), lines
    names = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    assert {"survey", "join-alphabets", "alphabets", "read", "cut", "encode", "bundle", "gradient"} <= names


def test_weights_that_change_in_place_are_sent_anew(client, monkeypatch):
    monkeypatch.setattr(blocks, "_SMALL", 0)  # all arrays are sent apart, as large ones are
    X, y = tagged()
    parts = tw.dask.Parts(halves(X, y), client=client)
    for learner in (tw.StructuredSVM(CHAIN, max_iter=4), tw.ZScore(CHAIN, solver="cg")):
        here = clone(learner).fit(tw.Shards(halves(X, y)), None, np.linspace(0.5, 1.5, 40))
        assert np.array_equal(learner.fit(parts, None, np.linspace(0.5, 1.5, 40)).coef_, here.coef_)


def test_delayed_bags_and_files(client, tmp_path):
    X, y = tagged()
    whole = tw.CRF(CHAIN, max_iter=5).fit(X, y)
    for i in (0, 20):
        rows = ("".join(f"{t} {a}\n" for t, a in zip(*pair)) for pair in zip(X[i : i + 20], y[i : i + 20]))
        (tmp_path / f"part-{i:02d}.conll").write_text("\n".join(rows), encoding="utf-8")
    delayed = [dask.delayed((X[i : i + 10], y[i : i + 10])) for i in range(0, 40, 10)]
    bag = dask.bag.from_sequence(list(zip(X, y, strict=True)), npartitions=3)
    for parts in (delayed, bag, f"{tmp_path}/part-*.conll"):
        model = tw.dask.CRF(CHAIN, max_iter=5, client=client, worker_memory=0).fit(parts)  # all on disk
        assert np.array_equal(model.coef_, whole.coef_)
    outputs = model.predict(delayed)
    assert [row for part in dask.compute(*outputs) for row in part] == whole.predict(X)
    assert model.score(delayed) == pytest.approx(whole.score(X, y), abs=1e-12)
    assert model.score(f"{tmp_path}/part-*.conll") == pytest.approx(whole.score(X, y), abs=1e-12)
    assert np.array_equal(tw.dask.CRF(CHAIN, max_iter=5, client=client).fit(X, y).coef_, whole.coef_)


def test_a_bad_line_names_its_file(client, tmp_path):
    (tmp_path / "a.conll").write_text("a A\n", encoding="utf-8")
    (tmp_path / "b.conll").write_text("a A\nb\n", encoding="utf-8")
    with pytest.raises(tw.InputError, match=r"b\.conll:2: 1 column; expected 2"):
        tw.dask.CRF(tw.Chain(), client=client).fit(f"{tmp_path}/*.conll")
    (tmp_path / "b.conll").write_text("a A\nb B\n", encoding="utf-8")
    with pytest.raises(tw.InputError, match=r"b\.conll:1: the output .* breaks the constraints"):
        tw.dask.CRF(tw.Chain(transitions=[("A", "A")]), client=client).fit(f"{tmp_path}/*.conll")


def test_partitions_with_one_label_or_none(client):
    X, y = [["a"], ["b"], ["c"], ["a"]], [["A"], ["B"], ["B"], ["A"]]
    parts = [(X[:1], y[:1]), ([], []), (X[1:3], y[1:3]), (X[3:], y[3:])]
    model = tw.dask.CRF(CHAIN, max_iter=3, client=client).fit(parts)
    assert np.array_equal(model.coef_, tw.CRF(CHAIN, max_iter=3).fit(X, y).coef_)


def test_a_killed_worker_loses_nothing(client, monkeypatch):
    X, y = tagged()
    parts = [dask.delayed((X[i : i + 10], y[i : i + 10])) for i in range(0, 40, 10)]
    undisturbed = tw.dask.CRF(CHAIN, max_iter=8, client=client).fit(parts)
    calls, submitted = [], blocks.ClusterBlocks._submitted

    def killing(self, *args):
        futures = submitted(self, *args)
        calls.append(args)
        if len(calls) == 8:  # in the middle of an iteration
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return futures

    monkeypatch.setattr(blocks.ClusterBlocks, "_submitted", killing)
    model = tw.dask.CRF(CHAIN, max_iter=8, client=client).fit(parts)
    assert len(calls) > 8
    assert np.array_equal(model.coef_, undisturbed.coef_)
    assert model.n_iter_ == undisturbed.n_iter_


def test_scores_folds_and_settings(client):
    X, y = tagged(16)
    parts = tw.dask.Parts(halves(X, y), client=client)
    learner = tw.CRF(CHAIN, max_iter=3)
    scores = tw.dask.cross_val_score(learner, parts, cv=2)
    held_out = [
        row for part in dask.compute(*tw.dask.cross_val_predict(learner, parts, cv=2)) for row in part
    ]
    truth = [label for row in y for label in row]
    right = np.array([a == b for a, b in zip(truth, (b for row in held_out for b in row), strict=True)])
    half = sum(map(len, y[:8]))
    assert scores == pytest.approx([right[:half].mean() - 1, right[half:].mean() - 1])  # minus the errors
    tuned = tw.Tuned(learner, tune={"l2": [1.0, 0.1]}, cv=2).fit(parts)
    here = tw.Tuned(learner, tune={"l2": [1.0, 0.1]}, cv=2).fit(tw.Shards(halves(X, y)))
    assert tuned.best_params_ == here.best_params_
    assert np.array_equal(tuned.best_estimator_.coef_, here.best_estimator_.coef_)


def test_commands(client, tmp_path):
    from typer.testing import CliRunner

    from trelliswork.cli import app

    X, y = tagged(20)
    for i in (0, 10):
        rows = ("".join(f"{t} {a}\n" for t, a in zip(*pair)) for pair in zip(X[i : i + 10], y[i : i + 10]))
        (tmp_path / f"part-{i:02d}.conll").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "all.conll").write_text(
        "\n".join((tmp_path / f"part-{i:02d}.conll").read_text() for i in (0, 10)), encoding="utf-8"
    )
    address = ["--dask", client.scheduler.address]
    command = ["train", "tag", "--max-iter", "5", "-o"]

    def run(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args])

    done = run(*command, tmp_path / "a.tw", f"{tmp_path}/part-*.conll", *address)
    assert done.exit_code == 0, done.stderr
    assert "20 samples of 2 files on 2 workers" in done.stderr
    assert run(*command, tmp_path / "b.tw", tmp_path / "all.conll").exit_code == 0
    models = [tw.load(tmp_path / name).steps[-1][1].weights_by_name() for name in ("a.tw", "b.tw")]
    assert models[0] == models[1]  # to the last bit
    files = f"{tmp_path}/part-*.conll"
    assert run("predict", tmp_path / "a.tw", files, "-o", tmp_path / "out", *address).exit_code == 0
    assert (
        run("predict", tmp_path / "b.tw", tmp_path / "part-00.conll", "-o", tmp_path / "one").exit_code == 0
    )
    assert (tmp_path / "out" / "part-00.conll").read_text() == (tmp_path / "one").read_text()
    done = run(*command, tmp_path / "c.tw", files, "--dask", "local:1")  # a cluster of its own
    assert done.exit_code == 0, done.stderr
    assert "20 samples of 2 files on 1 workers" in done.stderr
    weights = tw.load(tmp_path / "c.tw").steps[-1][1].coef_
    assert np.array_equal(weights, tw.load(tmp_path / "b.tw").steps[-1][1].coef_)
    done = run(*command, tmp_path / "c.tw", files, "--dask", "local:0")
    assert done.exit_code == 2
    assert "expected local:N with N processes" in done.stderr
    (tmp_path / "part-10.conll").write_text("a A\nb\n", encoding="utf-8")
    done = run(*command, tmp_path / "a.tw", files, *address)
    assert done.exit_code == 2
    assert "part-10.conll:2: 1 column; expected 2" in done.stderr


def test_a_lost_scheduler_is_one_error(tmp_path):
    """In a process of its own: what is left of such a cluster complains for long."""
    script = Path(__file__).with_name("lost_scheduler.py")
    with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
        process = subprocess.Popen([sys.executable, script], stdout=out, stderr=err, start_new_session=True)
        try:
            process.wait(120)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the worker, too
    assert process.returncode == 0, (tmp_path / "err").read_text()
    assert (tmp_path / "out").read_text().split() == ["interrupted", "good", "SchedulerLost"]
