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


def regression(run, *more):
    return train(run, "--learner", "regression", *more)


def test_transducer(run, pairs):
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw", "--dev", "pairs.tsv")
    assert done.exit_code == 0, done.output
    assert "6 inputs, 6 outputs, symbols of outputs by word" in done.stderr
    assert "dev exact 100.00%" in done.stderr
    (pairs / "new.txt").write_text("ab\nba?\n\n", encoding="utf-8")
    assert run("predict", "m.tw", "new.txt").stdout == "ab\tx y\nba?\ty x\n\t\n"
    shown = run("predict", "m.tw", "new.txt", "--show-alignment").stdout
    assert shown == "ab\tx y\na  b\nx  y\nba?\ty x\nb  a  ?\ny  x  -\n\t\n\n\n"
    first, *_ = run("predict", "m.tw", "new.txt", "--kbest", "3", "--probabilities").stdout.split("\n")
    text, best, p, *_ = first.split("\t")
    assert (text, best) == ("ab", "x y")
    assert 0.5 < float(p) <= 1
    done = run("inspect", "m.tw")
    assert done.exit_code == 0, done.output
    assert "Transducer" in done.stdout


def test_alignments_as_outputs(run, pairs):
    model = tw.CRF(tw.Transducer(output="pieces")).fit(["ab", "b"], [[("a", "x"), ("b", "")], [("b", "")]])
    tw.save(model, pairs / "p.tw")
    done = run("predict", "p.tw", "-", "--show-alignment", stdin="ba\n")
    assert done.stdout == "ba\t('b', '') ('a', 'x')\nb  a\n-  x\n"


def test_alternatives_and_confusions(run, pairs):
    (pairs / "pairs.tsv").write_text("ab\txy\nab\txz\nb\ty\na\tx\nba\tyx\nq\txxxxxxxxx\n", encoding="utf-8")
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw")
    assert "4 inputs, 5 outputs, symbols of outputs by char" in done.stderr
    assert "1 input left out, with more than 5 output symbols per input symbol" in done.stderr
    assert "(see --max-out) (first: line 6)" in done.stderr
    (pairs / "gold.tsv").write_text("ab\txz\nab\txy\nb\ty\na\ty\nba\tyxx\n", encoding="utf-8")
    found = json.loads(run("evaluate", "m.tw", "gold.tsv", "--json").stdout)
    assert (found["pairs"], found["word_error"]) == (4, 0.5)
    assert found["confusions"] == [["x", "", 1], ["y", "x", 1]]
    assert found["symbol_error"] == pytest.approx(2 / 7)
    assert "confusions          x -> - (1), y -> x (1)" in run("evaluate", "m.tw", "gold.tsv").stdout
    more = ("--show-alignment", "--kbest", "2", "--probabilities")
    line, *rows = run("predict", "m.tw", "-", *more, stdin="ab\n").stdout.split("\n")
    _, first, _, second, p = line.split("\t")
    assert {first, second} == {"xy", "xz"}
    assert 0 < float(p) < 0.6
    assert [row.split() for row in rows[:4]] == [["a", "b"], [*first], ["a", "b"], [*second]]


def test_alignment_is_for_transducers(run, pairs):
    regression(run, "-q")
    done = run("predict", "m.tw", "pairs.tsv", "--show-alignment")
    assert done.stderr == "trelliswork: --show-alignment: a regression model has none\n"
    (pairs / "tags.conll").write_text("a X\nb Y\n\nb Y\na X\n", encoding="utf-8")
    run("train", "tag", "tags.conll", "-o", "t.tw")
    done = run("predict", "t.tw", "tags.conll", "--show-alignment")
    assert "the option goes with transduce alone" in done.stderr


def test_a_transducer_from_python(run, pairs):
    model = tw.CRF(tw.Transducer()).fit(["ab", "ba", "a", "b"], [["x", "y"], ["y", "x"], ["x"], ["y"]])
    tw.save(model, pairs / "p.tw")
    assert run("predict", "p.tw", "-", stdin="aba\n").stdout == "aba\tx y x\n"


def test_outputs_too_long(run, pairs):
    (pairs / "pairs.tsv").write_text("\tx\na\txxxxxxxxx\n", encoding="utf-8")
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw")
    assert done.exit_code == 2
    said = "trelliswork: pairs.tsv: no output has at most 5 symbols for each of its input; give --max-out\n"
    assert done.stderr == said
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw", "--max-out", "9")
    assert "1 input, 1 output" in done.stderr
    assert run("predict", "m.tw", "-", stdin="a\n").stdout == "a\txxxxxxxxx\n"


def test_train_predict_evaluate_inspect(run, pairs):
    done = regression(run, "--dev", "pairs.tsv")
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
    rest = {"word_error": 0.0, "edit_distance": 0.0, "symbol_error": 0.0, "confusions": []}
    assert found == {"pairs": 6, "exact_match": 1.0} | rest
    done = run("inspect", "m.tw")
    assert done.exit_code == 0, done.output
    assert "KernelRegression" in done.stdout
    assert "output features" in done.stdout


def test_options(run, pairs):
    for more in (("--ridge", "loo", "--basis", "4"), ("--ngram", "3", "--language-model", "0", "-q")):
        done = regression(run, *more)
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
        (
            ("--ridge", "1"),
            None,
            "--ridge does not go with --learner crf",
        ),
        (
            ("--learner", "regression", "--ridge", "x"),
            None,
            "--ridge must be a finite number >= 0 or loo, got 'x'",
        ),
        (
            ("--output-units", "bit"),
            None,
            "--output-units: unknown unit 'bit'; expected char or word or auto",
        ),
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
    regression(run, "-q")
    done = run("predict", "m.tw", "pairs.tsv", "--probabilities")
    assert done.exit_code == 2
    assert done.stderr == "trelliswork: --probabilities: a regression model has none\n"


def test_outputs_that_lack_their_blanks_are_named(run, pairs):
    (pairs / "pairs.tsv").write_text("cat\tk a t\nab\tka\nbc\tt k\n", encoding="utf-8")
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw")
    assert "1 output without blanks read as one symbol each (first: line 2)" in done.stderr


def test_empty_sides_are_named(run, pairs):
    (pairs / "pairs.tsv").write_text("cat\tk a t\n\tk a\nh\t\nact\ta k t\n", encoding="utf-8")
    done = run("train", "transduce", "pairs.tsv", "-o", "m.tw")
    assert done.exit_code == 0
    assert "1 input left out: nothing stands before the tab (first: line 2)" in done.stderr
    assert "1 output empty (first: line 3)" in done.stderr
