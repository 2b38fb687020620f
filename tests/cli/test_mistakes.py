"""Each mistake is one line on standard error and exit code 2."""

from __future__ import annotations

import gzip

import pytest

import trelliswork as tw
from trelliswork._errors import InputError
from trelliswork.persist import read_info

from .conftest import conll

FILES = {
    "ragged.txt": b"the D O\ncat N\n",
    "empty.txt": b"",
    "blank.txt": b"\n \n",
    "latin.txt": b"the D O\ncaf\xe9 N O\n",
    "one.txt": b"the\n",
    "broken.gz": gzip.compress(b"the D O\n" * 99)[:30],
    "scheme.txt": b"the D O\n\nAna P B-PER\nthe D I-LOC\n",
    "text.tw": b"not a model",
    "zero.tw": b"",
}
TRAIN = [
    ("missing.txt", "missing.txt: no such file; expected the path of a text or gzip file"),
    ("ragged.txt", "ragged.txt:2: 2 columns; expected 3, as in line 1"),
    ("empty.txt", "empty.txt:1: no token in the file; expected one token per line"),
    ("blank.txt", "blank.txt:1: no token in the file; expected one token per line"),
    (
        "latin.txt",
        "latin.txt:2: byte 0xe9 at offset 11 is not valid utf-8; "
        "expected utf-8 text (try --encoding latin-1)",
    ),
    ("one.txt", "one.txt:1: 1 column; expected an input column beside the label"),
    (".", ".: is a directory; expected a text or gzip file"),
    ("train.txt --label 3", "train.txt:1: label column 3 asked for; the file has 3 columns"),
    ("train.txt --columns 0,-4", "train.txt:1: input column -4 asked for; the file has 3 columns"),
    ("train.txt --columns word", "--columns: cannot read 'word'; expected numbers such as 0,2"),
    (
        "train.txt --learner svn",
        "--learner: unknown learner 'svn'; expected one of crf, hmm, klrso, perceptron, soda, "
        "structboost, svm, vcrf, zscore",
    ),
    (
        "train.txt --learner vcrf --loss pairs",
        "--loss: unknown loss 'pairs'; expected one of edit, f1, hamming, zero-one, none",
    ),
    (
        "train.txt --learner structboost --loss none",
        "--loss: unknown loss 'none'; expected one of edit, f1, hamming, zero-one",
    ),
    ("train.txt --learner vcrf --lam -1", "--lam must be a finite number >= 0, got -1.0"),
    (
        "train.txt --learner vcrf --lam 0 --beta 0",
        "train.txt: lam * r and beta are both 0 for all families: nothing keeps the weights finite; raise "
        "one of them",
    ),
    ("train.txt --learner svm --C 0", "--C must be a finite number > 0, got 0.0"),
    (
        "train.txt --learner soda --reference other",
        "train.txt: reference must be one of 'auto', 'uniform', 'observed', 'generative', got 'other'",
    ),
    (
        "train.txt --learner perceptron --l1 1",
        "--l1 does not go with --learner perceptron; its own options: --max-iter",
    ),
    ("train.txt --scheme IOB9", "--scheme: unknown scheme 'IOB9'; expected BIO or BIOES"),
    ("train.txt --l2 -1", "--l2 must be a finite number >= 0, got -1.0"),
    ("train.txt --l1 nan", "--l1 must be a finite number >= 0, got nan"),
    ("train.txt --learner hmm --smoothing 0", "--smoothing must be a finite number > 0, got 0.0"),
    ("train.txt --jobs 0", "--jobs must not be 0; expected a number of threads, or -1 for every core"),
    (
        "train.txt --encoding utf-9",
        "train.txt: unknown encoding 'utf-9'; expected a name such as utf-8 or latin-1",
    ),
    ("train.txt --template @no", "no: no such file; expected the path of a text or gzip file"),
    ("train.txt --template @empty.txt", "empty.txt: no features in it"),
    ("train.txt --template lower@x", "--template: cannot read the offsets 'x'; expected -1, 2 or -1..1"),
    ("train.txt --template col:2", "train.txt:1: 2 input columns; the template asks for column 2 (from 0)"),
    (
        "train.txt --order 99",
        "train.txt: order 99 with 4 labels means over 3,000,000 n-grams; lower the order, or keep those that "
        "occur, with ngrams='observed' (up to order 64, without edge_features)",
    ),
    ("train.txt --dev missing.txt", "missing.txt: no such file; expected the path of a text or gzip file"),
    ("train.txt --dev one.txt", "one.txt:1: the file has no label column to compare with"),
    ("train.txt --scoring entity_f1", "--scoring needs a development set; give --dev FILE"),
    (
        "train.txt --dev train.txt --scoring best",
        "--scoring: unknown score 'best'; expected one of base_pair_f1, bracket_f1, entity_f1, "
        "entity_precision, entity_recall, sequence_accuracy, tag_accuracy, token_accuracy, tree_accuracy",
    ),
    ("- --dev -", "--dev: the training data and --dev cannot both be standard input"),
    ("-", "<stdin>:1: no token in the file; expected one token per line"),
    ("train.txt --separator ,", "train.txt:1: 1 column; expected an input column beside the label"),
]
PREDICT = [
    ("none.tw train.txt", "none.tw: there is no such model file"),
    ("text.tw train.txt", "text.tw: this is not a Trelliswork model file"),
    ("zero.tw train.txt", "zero.tw: the file is empty"),
    ("m.tw missing.txt", "missing.txt: no such file; expected the path of a text or gzip file"),
    ("m.tw one.txt", "one.txt:1: 1 column; the model expects 3 or 2, or --columns to name its inputs"),
    (
        "m.tw train.txt --columns 0",
        "--columns: 1 given; the model takes 2 (the word first, in the order of training)",
    ),
    ("m.tw train.txt -o no/out", "no/out: cannot be written: there is no such folder"),
    ("m.tw train.txt -o .", ".: is a directory; expected the path of a file to write"),
]
OUTPUT = [
    ("no/m.tw", "no/m.tw: cannot be written: there is no such folder"),
    (".", ".: is a directory; expected the path of a file to write"),
    ("train.txt/m.tw", "train.txt/m.tw: cannot be written: there is no such folder"),
    ("-", "--output: a model cannot go to standard output; expected the path of a file"),
    ("/dev/null", "/dev/null: is a device or pipe; a model needs a regular file"),
]


@pytest.fixture
def folder(files):
    for name, data in FILES.items():
        (files / name).write_bytes(data)
    return files


def check(done, message):
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"trelliswork: {message}\n")


@pytest.mark.parametrize(("args", "message"), TRAIN, ids=[args for args, _ in TRAIN])
def test_train(run, folder, args, message):
    check(run("train", "tag", *args.split(" "), "-o", "new.tw"), message)
    assert not (folder / "new.tw").exists()


@pytest.mark.parametrize(("args", "message"), PREDICT, ids=[args for args, _ in PREDICT])
def test_predict(run, folder, model, args, message):
    check(run("predict", *args.split(" ")), message)


@pytest.mark.parametrize(("path", "message"), OUTPUT, ids=[path for path, _ in OUTPUT])
def test_output_is_checked_before_anything_is_read(run, files, monkeypatch, path, message):
    monkeypatch.setattr("trelliswork.cli._columns.Document.__init__", None)
    check(run("train", "tag", "train.txt", "-o", path), message)


def test_broken_gzip(run, folder):
    done = run("train", "tag", "broken.gz", "-o", "new.tw")
    assert done.exit_code == 2
    assert done.stderr.startswith("trelliswork: broken.gz: broken gzip data (")
    assert done.stderr.count("\n") == 1


def test_samples_become_lines(run, folder):
    done = run("train", "tag", "scheme.txt", "-o", "new.tw", "--scheme", "BIO", "--invalid", "strict")
    assert done.stderr.startswith("trelliswork: scheme.txt:3: the output ['B-PER', 'I-LOC'] breaks ")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["foo"], "no such command 'foo'; see 'trelliswork --help'"),
        (["train", "foo"], "no such command 'foo'; see 'trelliswork train --help'"),
        (
            ["train", "tag", "x", "-o", "y", "--foo"],
            "no such option: --foo; see 'trelliswork train tag --help'",
        ),
        (["evaluate", "m.tw"], "missing argument 'GOLD'; see 'trelliswork evaluate --help'"),
    ],
)
def test_usage(run, args, message):
    check(run(*args), message)


@pytest.mark.parametrize("args", [["--order", 0], ["--max-iter", "x"], ["--min-count", 0], ["--seed", -1]])
def test_values_out_of_range(run, files, args):
    done = run("train", "tag", "train.txt", "-o", "m.tw", *args)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"trelliswork: invalid value for '{args[0]}': ")
    assert done.stderr.count("\n") == 1


def test_labels_that_cannot_be_written(run, files):
    text = conll(30, separator="\t").replace("B-PER", "a person")
    assert run("train", "tag", "-", "-o", "m.tw", stdin=text).exit_code == 0
    done = run("predict", "m.tw", stdin="Ana\nRuiz\n")
    check(done, "<stdin>: the label 'a person' cannot be a column here; use another --separator")
    done = run("predict", "m.tw", "--separator", "tab", stdin="Ana\nRuiz\n")
    assert done.stdout == "Ana\ta person\nRuiz\tI-PER\n"
    text = conll(30).replace("B-PER", "ŁX")
    assert run("train", "tag", "-", "-o", "m.tw", stdin=text).exit_code == 0
    done = run("predict", "m.tw", "--encoding", "latin-1", stdin="Ana\n")
    check(done, "<stdout>: 'Ł' cannot be written in latin-1")


def test_untrained_models(run, tmp_path):
    tw.save(tw.CRF(tw.Chain()), tmp_path / "new.tw")
    check(run("predict", "new.tw", stdin="a\n"), "new.tw: the model was saved before it was trained")
    assert "not trained" in run("inspect", "new.tw").stdout


@pytest.mark.parametrize(
    "layout", [None, 3, {}, {"inputs": []}, {"inputs": [-1], "n_columns": 2, "label": 1}, {"inputs": ["0"]}]
)
def test_descriptions_are_not_trusted(run, tmp_path, layout):
    model = tw.CRF(tw.Chain(labels=["X", "Y"])).fit([["a"]], [["X"]])
    tw.save(model, tmp_path / "m.tw", info={"kind": "tag", "layout": layout})
    check(run("predict", "m.tw", stdin="a\n"), "m.tw: its description of columns cannot be read")


def test_info_is_json(tmp_path):
    model, path = tw.CRF(tw.Chain()), tmp_path / "m.tw"
    for info in (3, {1: 2}, {"a": float("nan")}, {"a": object()}):
        with pytest.raises(InputError, match=r"^info must "):
            tw.save(model, path, info=info)
    assert not path.exists()
    tw.save(model, path)
    assert read_info(path) == {}
    plain = path.read_bytes()
    tw.save(model, path, info={"a": [1, None]})
    assert read_info(path) == {"a": [1, None]}
    assert repr(tw.load(path)) == repr(model)
    assert plain != path.read_bytes()


def test_bugs_and_debug(run, monkeypatch):
    def broken(*args):
        raise KeyError("x")

    monkeypatch.setattr("trelliswork.cli._app.open_model", broken)
    done = run("inspect", "m.tw")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("trelliswork: internal error, KeyError: 'x'")
    assert "Traceback" in run("--debug", "inspect", "m.tw").stderr
    assert "Traceback" not in run("inspect", "m.tw").stderr
    monkeypatch.setenv("TRELLISWORK_DEBUG", "1")
    assert "Traceback" in run("inspect", "m.tw").stderr


def test_interrupt_outside_training(run, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("trelliswork.cli._app.open_model", interrupted)
    done = run("inspect", "m.tw")
    assert (done.exit_code, done.stderr) == (130, "trelliswork: interrupted\n")
