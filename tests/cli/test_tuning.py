"""``train --tune``, what ``inspect`` shows of it, and ``compare``."""

from __future__ import annotations

import pytest

import trelliswork as tw

from .test_learning import FILES


def test_train_predict_and_inspect(run, files):
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--tune", "20")
    assert done.exit_code == 0, done.stderr
    assert "tuned in" in done.stderr
    assert "entity_f1" in done.stderr
    model = tw.load(files / "m.tw")[-1]
    assert isinstance(model, tw.Tuned)
    assert model.budget == 20
    assert model.verbose == 0
    assert run("predict", "m.tw", "test.txt").exit_code == 0
    assert run("evaluate", "m.tw", "test.txt", "--json").exit_code == 0
    shown = run("inspect", "m.tw").stdout
    assert "tuned" in shown
    assert "chosen" in shown
    assert "CRF(" in shown


def test_without_seconds_by_a_development_set(run, files):
    done = run("train", "tag", "train.txt", "--tune", "--dev", "dev.txt", "--learner", "hmm", "-o", "m.tw")
    assert done.exit_code == 0, done.stderr
    model = tw.load(files / "m.tw")[-1]
    assert model.budget is None
    assert [name for name in model.results_ if name.startswith("split")] == ["split0_score"]


def test_scoring(run, files):
    args = ("train", "tag", "train.txt", "-o", "m.tw", "-q", "--learner", "hmm", "--scoring")
    assert run(*args, "token_error", "--tune").exit_code == 0
    assert tw.load(files / "m.tw")[-1].scoring_ == "token_error"
    done = run(*args, "best", "--tune")
    assert done.exit_code == 2
    assert "unknown score 'best'" in done.stderr


@pytest.mark.parametrize("kind", ["classify", "align", "fold", "parse"])
def test_other_tasks(run, tmp_path, kind):
    (tmp_path / "data").write_text(FILES[kind] * 4, encoding="utf-8")
    learner = {"classify": "bayes", "fold": "scfg", "parse": "pcfg"}.get(kind, "perceptron")
    done = run("train", kind, "data", "--learner", learner, "-o", "m.tw", "--dev", "data", "--tune")
    assert done.exit_code == 0, done.stderr
    assert "tuned in" in done.stderr
    assert isinstance(tw.load(tmp_path / "m.tw"), tw.Tuned)


def test_compare(run, files):
    done = run("compare", "tag", "train.txt", "--learners", "Generative, Perceptron", "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    assert "most frequent" in done.stdout
    assert "wrote page.html" in done.stderr
    assert "<svg" in (files / "page.html").read_text(encoding="utf-8")
    named = run("compare", "tag", "train.txt", "--label", "1", "--learners", "Generative", "-q")
    assert "token_error" in named.stdout


@pytest.mark.parametrize("kind", ["classify", "align", "fold", "parse"])
def test_compare_other_tasks(run, tmp_path, kind):
    (tmp_path / "data").write_text(FILES[kind] * 4, encoding="utf-8")
    done = run("compare", kind, "data", "--learners", "Perceptron", "--budget", "9", "-q")
    assert done.exit_code == 0, done.stderr
    assert "Perceptron *" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("sing", "train.txt"), "unknown task 'sing'; expected one of tag, parse, classify, fold, align"),
        (("fold", "train.txt", "--label", "1"), "--label does not go with compare fold"),
        (("tag", "train.txt", "--label", "x"), "expected the number of a column"),
        (("tag", "train.txt", "--learners", "Guess"), "unknown learner 'Guess'"),
        (("tag", "train.txt", "--scoring", "f2"), "unknown measure 'f2'"),
        (("tag", "train.txt", "--budget", "0"), "budget must be"),
    ],
)
def test_mistakes(run, files, args, message):
    done = run("compare", *args)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
