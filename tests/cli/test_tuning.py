"""``train --tune``, what ``inspect`` shows of it, and ``compare``."""

from __future__ import annotations

import pytest

import trelliswork as tw

from .test_learning import FILES as OTHERS

FILES = {**OTHERS, "transduce": "cat\tkat\nact\takt\ntac\ttak\n"}


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


@pytest.mark.parametrize("kind", ["classify", "align", "fold", "parse", "transduce"])
def test_other_tasks(run, tmp_path, kind):
    (tmp_path / "data").write_text(FILES[kind] * 4, encoding="utf-8")
    learner = {"classify": "bayes", "fold": "scfg", "parse": "pcfg"}.get(kind, "perceptron")
    done = run("train", kind, "data", "--learner", learner, "-o", "m.tw", "--dev", "data", "--tune")
    assert done.exit_code == 0, done.stderr
    assert "tuned in" in done.stderr
    model = tw.load(tmp_path / "m.tw")
    assert isinstance(model[-1] if hasattr(model, "steps") else model, tw.Tuned)
    assert "split1_score" not in (model[-1] if hasattr(model, "steps") else model).results_


def test_ridge_of_a_regression(run, tmp_path):
    (tmp_path / "data").write_text(FILES["transduce"] * 4, encoding="utf-8")
    args = ("train", "transduce", "data", "--learner", "regression", "-o", "m.tw", "--tune")
    for more in ((), ("--dev", "data")):
        done = run(*args, *more)
        assert done.exit_code == 0, done.stderr
        assert "tuned in" in done.stderr
    assert set(tw.load(tmp_path / "m.tw").best_params_) <= {"ridge"}
    assert run("predict", "m.tw", "data").exit_code == 0


def test_text_is_weighed_and_counts_stay_counts(run, tmp_path):
    rows = [f'{{"label": "{a}", "text": "{a} word", "n": {i}}}' for i, a in enumerate("xyz" * 5)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    args = ("compare", "classify", "rows.jsonl", "--learners", "Generative,Perceptron", "-q")
    for more in (("--text", "text"), ()):
        done = run(*args, *more)
        assert done.exit_code == 0, done.stderr
        assert "Negative values" not in done.stdout


def test_compare(run, files):
    done = run("compare", "tag", "train.txt", "--learners", "Generative, Perceptron", "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    assert "most frequent" in done.stdout
    assert "wrote page.html" in done.stderr
    assert "drawCurves" in (files / "page.html").read_text(encoding="utf-8")
    named = run("compare", "tag", "train.txt", "--label", "1", "--learners", "Generative", "-q")
    assert "token_error" in named.stdout


@pytest.mark.parametrize("kind", ["classify", "align", "fold", "parse", "transduce"])
def test_compare_other_tasks(run, tmp_path, kind):
    (tmp_path / "data").write_text(FILES[kind] * 4, encoding="utf-8")
    done = run("compare", kind, "data", "--learners", "Perceptron", "--budget", "9", "-q")
    assert done.exit_code == 0, done.stderr
    assert "Perceptron *" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("sing", "train.txt"), "unknown task 'sing'; expected one of tag, parse, transduce, classify"),
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
