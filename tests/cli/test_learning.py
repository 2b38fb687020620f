"""One list of learners' options for all training commands."""

from __future__ import annotations

import pytest

import trelliswork as tw
from trelliswork.cli._learners import learns
from trelliswork.cli.tasks import align, classify, fold, parse, tag
from trelliswork.learners import LEARNERS

from .conftest import conll

TASKS = {"tag": tag, "classify": classify, "align": align, "fold": fold, "parse": parse}
TABLES = {kind: task.train.table for kind, task in TASKS.items()}
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
def test_the_command_line_has_the_defaults_of_python(kind, name):
    entry = TABLES[kind][name]
    built = entry.build(tw.Chain(), {}).get_params(deep=False)
    plain = entry.learner(tw.Chain()).get_params(deep=False)
    del built["structure"], plain["structure"]
    # What a model file keeps beside its weights is no setting of the learner.
    assert {k: v for k, v in built.items() if k != "keep_moments"} == {
        k: v for k, v in plain.items() if k != "keep_moments"
    }
    assert all(option.default == plain[parameter] for parameter, option in entry.options.items())


@pytest.mark.parametrize("kind", TABLES)
def test_structures_have_the_defaults_of_python(run, tmp_path, kind):
    (tmp_path / "train.txt").write_text(FILES[kind], encoding="utf-8")
    more = ["--min-count", 1] if kind == "parse" else []  # two trees
    done = run("train", kind, "train.txt", "-o", "m.tw", "--learner", "perceptron", "-q", *more)
    assert (done.exit_code, done.output) == (0, "")
    model = tw.load("m.tw")
    structure = (model[-1] if hasattr(model, "steps") else model).structure
    differs = {
        "classify": {"scale": None},  # a step before it standardises the columns of files
        "fold": {"invalid": "repair"},  # files of families have pseudoknots
        "parse": {"min_count": 1},
    }
    assert structure.get_params() == {**type(structure)().get_params(), **differs.get(kind, {})}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_has_every_learner(kind):
    learners = {entry.learner for entry in TABLES[kind].values()}
    assert learners == set(LEARNERS.values()) - {tw.Fixed}


def test_a_learner_joins_by_its_class_alone(run, files, monkeypatch):
    class Eager(tw.CRF):
        """Eager field: as a CRF, with an option that nothing else has.

        Parameters
        ----------
        haste : float or str
            How soon it stops. Or not.
        """

        command = "eager"
        command_options = ("l2", "haste")

        def __init__(self, structure, l2=1.0, haste: float | str = "auto", verbose=0):
            super().__init__(structure, l2=l2, verbose=verbose)
            self.haste = haste

        def fit(self, X, y):
            assert self.haste == 0.5
            return super().fit(X, y)

    monkeypatch.setitem(LEARNERS, "Eager", Eager)
    command = learns("crf")(tag.train.__wrapped__)
    help_of_haste = command.table["eager"].options["haste"]
    assert (help_of_haste.about, help_of_haste.default_in_words) == ("How soon it stops", "auto")
    assert command.table["crf"].learner is tw.CRF
    monkeypatch.chdir(files)
    with pytest.raises(tw.InputError, match="--haste: expected a number or auto, got 'soon'"):
        command(source="train.txt", output="m.tw", learner="eager", haste="soon")
    monkeypatch.setattr("trelliswork.cli._training.finish", lambda *args, **more: None)
    command(source="train.txt", output="m.tw", learner="eager", haste="0.5")


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
    assert (model[-1] if kind in ("tag", "classify") else model).loss == LOSSES[kind]


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
