"""One list of learners' options for all training commands."""

from __future__ import annotations

import pytest

import trelliswork as tw
from trelliswork.cli._learners import LEARNERS
from trelliswork.cli.tasks import align, classify, fold, parse, tag

from .conftest import conll

TABLES = {
    "tag": tag._TAGGERS,
    "classify": classify._CLASSIFIERS,
    "align": align._ALIGNERS,
    "fold": fold._FOLDERS,
    "parse": parse._PARSERS,
}
PAIRS = [(kind, name) for kind, table in TABLES.items() for name in table]
FILES = {
    "tag": conll(20),
    "classify": "a 1:1\nb 2:1\na 1:2 2:1\nb 1:1 2:3\n",
    "align": ">a\nGATTACA\n>b\nGAT-ACA\n>c\nGATTC\n>d\nGA-TC\n",
    "fold": ">x\nGGCGAAAGCC\n(((....)))\n>y\nGCCGAAAGGC\n(((....)))\n",
    "parse": "(S (D the) (N dog))\n(S (D a) (N cat))\n",
}
LOSSES = {
    "tag": "zero-one",
    "classify": "zero-one",
    "align": "hamming",
    "fold": "base-pairs",
    "parse": "brackets",
}


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_defaults_in_words_are_those_of_the_estimator(kind, name):
    entry = TABLES[kind][name]
    parameters = entry.build(tw.Chain(), {}).get_params(deep=False)
    for option, words in entry.options.items():
        if option == "observed":
            continue
        value = parameters[option]
        if isinstance(value, str):
            assert words.split(",")[0] == value
        else:
            assert float(words) == value


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_has_every_learner(kind):
    found = {entry.class_name for entry in TABLES[kind].values()}
    all_of_them = {entry.class_name for entry in LEARNERS.values()}
    assert found == all_of_them - ({"KLRSO"} if kind == "classify" else set())  # classes are no multinomials


@pytest.mark.parametrize("learner", ["svm", "vcrf", "structboost"])
@pytest.mark.parametrize("kind", TABLES)
def test_losses(run, tmp_path, kind, learner):
    (tmp_path / "train.txt").write_text(FILES[kind], encoding="utf-8")
    more = ["--min-count", 1] if kind == "parse" else []
    done = run(
        "train", kind, "train.txt", "-o", "m.tw", "--learner", learner, "--loss", LOSSES[kind], "-q", *more
    )
    assert (done.exit_code, done.output) == (0, "")
    model = tw.load("m.tw")
    assert (model[-1] if kind == "tag" else model).loss == LOSSES[kind]


def test_no_loss(run, tmp_path):
    (tmp_path / "train.txt").write_text(FILES["fold"], encoding="utf-8")
    done = run("train", "fold", "train.txt", "-o", "m.tw", "--learner", "vcrf", "--loss", "none", "-q")
    assert (done.exit_code, done.output) == (0, "")
    assert tw.load("m.tw").loss is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "crf", "--lam", 1], "--lam does not go with --learner crf"),
        (["--learner", "svm", "--loss", "none"], "--loss: unknown loss 'none'; expected one of base-pairs,"),
        (["--learner", "vcrf", "--loss", "tree"], "--loss: unknown loss 'tree'; expected one of base-pairs,"),
        (["--learner", "vcrf", "--beta", -1], "--beta must be a finite number >= 0, got -1.0"),
        (["--jobs", 0], "--jobs must not be 0"),
        (
            ["--learner", "zscore", "--reference", "observed"],
            "RNA does not tell observed outputs from others",
        ),
    ],
)
def test_mistakes(run, tmp_path, options, message):
    (tmp_path / "train.txt").write_text(FILES["fold"], encoding="utf-8")
    done = run("train", "fold", "train.txt", "-o", "m.tw", *options)
    assert done.exit_code == 2
    assert message in done.stderr
