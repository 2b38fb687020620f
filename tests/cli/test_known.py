"""Files with labels that are known in part, and predictions that agree with what is known."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from trelliswork.cli._app import app

TAGGED = "the D\ncat ?\nsleeps V\n\na D\ndog N\nbarks N|V\n\nthe ?\ndog N\nsleeps V\n\na D\ncat N\nbarks V\n"
ROWS = "label,size,fur\nanimal,1,1\ncat,2,1\ndog,3,1\noak,9,0\nelm,8,0\nplant,7,0\n"
TAXONOMY = "ROOT\tanimal\nROOT\tplant\nanimal\tcat\nanimal\tdog\nplant\toak\nplant\telm\n"
FOLDS = ">a\nGGGAAACCC\n(((...)))\n>b\nGCGCAAAGCGC\n((??...??))\n>c\nGGAUUCGCC\n<?x?.???>\n"
TREES = (
    "(S (NP (D the) (N dog)) (VP (V sleeps)))\n(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))\n"
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*arguments, **files):
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output + str(result.exception)
        return result.output

    return command


def test_tags(run):
    said = run("train", "tag", "train", "-o", "m.tw", "--unknown", "?", train=TAGGED)
    assert "(3 not known)" in said
    assert "3 labels" in said
    out = run("predict", "m.tw", "new", "--known", new="the ?\ncat V\nbarks D|V\n")
    assert [line.split()[-1] for line in out.splitlines()[:3]] == ["D", "V", "V"]


def test_classes(run):
    said = run(
        *("train", "classify", "rows", "--label", "label", "--taxonomy", "tree", "--learner", "crf"),
        *("-o", "m.tw"),
        rows=ROWS,
        tree=TAXONOMY,
    )
    assert "4 labels" in said
    assert "100.00%" in run("evaluate", "m.tw", "rows")
    out = run("predict", "m.tw", "new", "--known", new="label,size,fur\nanimal,9,0\n?,2,1\ndog|oak,9,0\n")
    found = [line.split(",")[-1] for line in out.splitlines()[1:]]
    assert found[0] in ("cat", "dog")
    assert found[2] == "oak"


def test_folds(run):
    run("train", "fold", "folds", "-o", "m.tw", folds=FOLDS)
    out = run("predict", "m.tw", "new", "--known", new=">a\nGCGGGAAACCCGC\nx???????????x\n")
    assert out.splitlines()[2] == ".((((...))))."


def test_trees(run):
    brackets = "the cat (VP sees (NP a dog))\n"
    run(
        *(
            "train",
            "parse",
            "trees",
            "-o",
            "m.tw",
            "--min-count",
            1,
            "--brackets",
            "some",
            "--learner",
            "crf",
        ),
        trees=TREES,
        some=brackets,
    )
    assert "(VP (V sees) (NP (D a) (N dog)))" in run("predict", "m.tw", "some", "--known")
