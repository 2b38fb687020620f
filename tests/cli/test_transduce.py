"""``trelliswork train transduce`` and what comes after it."""

from __future__ import annotations

import json

import pytest

import trelliswork as tw

PAIRS = [("ab", "x y"), ("ba", "y x"), ("abb", "x y y"), ("b", "y"), ("a", "x"), ("aab", "x x y")]


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in PAIRS), encoding="utf-8")
    return tmp_path


def train(run, *more):
    return run("train", "transduce", "pairs.tsv", "-o", "m.tw", "--output-units", "word", *more)


def test_train_predict_evaluate_inspect(run, pairs):
    done = train(run, "--dev", "pairs.tsv")
    assert done.exit_code == 0, done.output
    assert "6 pairs" in done.stderr
    assert "dev exact 100.00%" in done.stderr
    (pairs / "new.txt").write_text("ab\nba\n", encoding="utf-8")
    done = run("predict", "m.tw", "new.txt")
    assert done.stdout == "ab\tx y\nba\ty x\n"
    assert run("predict", "m.tw", "-", stdin="abb\tignored\n").stdout == "abb\tx y y\n"
    assert run("predict", "m.tw", "new.txt", "--kbest", "3").stdout.startswith("ab\tx y")
    done = run("evaluate", "m.tw", "pairs.tsv")
    assert "exact match         100.00%" in done.stdout
    found = json.loads(run("evaluate", "m.tw", "pairs.tsv", "--json").stdout)
    assert found == {"pairs": 6, "exact_match": 1.0, "edit_distance": 0.0, "symbol_error": 0.0}
    done = run("inspect", "m.tw")
    assert done.exit_code == 0, done.output
    assert "KernelRegression" in done.stdout
    assert "output features" in done.stdout


def test_options(run, pairs):
    for more in (("--ridge", "loo", "--basis", "4"), ("--ngram", "3", "--language-model", "0", "-q")):
        done = train(run, *more)
        assert done.exit_code == 0, done.output
    assert done.output == ""


def test_a_model_from_python(run, pairs):
    X, y = [x for x, _ in PAIRS], [y.replace(" ", "") for _, y in PAIRS]
    kernel = tw.kernels.Spectrum(1, 3, boundary=True)
    tw.save(tw.KernelRegression(kernel, tw.NGrams(2), ridge=0.01).fit(X, y), pairs / "p.tw")
    assert run("predict", "p.tw", "-", stdin="ab\n").stdout == "ab\txy\n"


@pytest.mark.parametrize(
    ("args", "text", "message"),
    [
        (("--ridge", "x"), None, "--ridge must be a finite number >= 0 or loo, got 'x'"),
        (("--input-units", "bit"), None, "--input-units: unknown unit 'bit'; expected char or word"),
        ((), "ab x\n", "pairs.tsv:1: 1 column; expected an input, a tab and an output"),
        ((), "ab\tx\ty\n", "pairs.tsv:1: 3 columns; expected an input, a tab and an output"),
        ((), "", "pairs.tsv: the file is empty; expected one pair a line"),
    ],
)
def test_mistakes(run, pairs, args, text, message):
    if text is not None:
        (pairs / "pairs.tsv").write_text(text, encoding="utf-8")
    done = train(run, *args)
    assert done.exit_code == 2
    assert done.stderr == f"trelliswork: {message}\n"
    assert not (pairs / "m.tw").exists()


def test_no_probabilities(run, pairs):
    train(run, "-q")
    done = run("predict", "m.tw", "pairs.tsv", "--probabilities")
    assert done.exit_code == 2
    assert done.stderr == "trelliswork: --probabilities: a regression model has none\n"
