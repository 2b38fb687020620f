"""Fold RNA from the command line: what goes in, what comes out, each mistake one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.cli.tasks.fold import train as command
from trelliswork.io import read_bpseq, read_ct, read_dot_bracket
from trelliswork.persist import read_info

pytest.importorskip("Bio")

STOCKHOLM = """# STOCKHOLM 1.0
a GGGGAAACUCC
b GCGGAAACUGC
c GC-GAAAC-GC
d GAGGAAACUUC
e GAGGAA-CUUC
#=GC SS_cons <<<<...>>>>
//
"""
FASTA = ">x\nGGCGAAAGCC\n>y\nacgu\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "family.sto").write_text(STOCKHOLM)
    (tmp_path / "new.fa").write_text(FASTA)
    (tmp_path / "gold.db").write_text(">x\nGGCGAAAGCC\n(((....)))\n>y\nACGU\n....\n")
    return tmp_path


@pytest.fixture
def model(run, files):
    done = run("train", "fold", "family.sto", "-o", "m.tw", "--grammar", "g6", "--l2", 0.1, "-q")
    assert (done.exit_code, done.output) == (0, "")
    return "m.tw"


@pytest.mark.parametrize("learner", command.table)
def test_round_trip(run, files, learner):
    options = ("--grammar", "g6", "--learner", learner, "--dev", "gold.db")
    done = run("train", "fold", "family.sto", "-o", "m.tw", *options)
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith(f"{learner}: 5 sequences, 52 bases; 19 weights in ")
    assert "dev sensitivity" in done.stderr
    done = run("predict", "m.tw", "new.fa")
    assert (done.exit_code, done.stderr) == (0, "")
    x, y = done.stdout.split(">")[1:]
    assert x.split("\n")[:2] == ["x", "GGCGAAAGCC"]
    assert y.split("\n")[:2] == ["y", "acgu"]
    assert len(x.split("\n")[2]) == 10
    found = json.loads(run("evaluate", "m.tw", "gold.db", "--json").stdout)
    assert found["sequences"] == 2
    assert 0 <= found["f1"] <= found["f1_slip_1"] <= 1
    assert read_info("m.tw") == {"kind": "fold", "learner": learner}
    assert tw.load("m.tw").predict(["GGCGAAAGCC"])


def test_structures_are_right_in_any_notation(run, model, files):
    for marks in ("(((....)))", "<<<____>>>", "<(<,,,,>)>", "[[[::::]]]"):
        (files / "gold.db").write_text(f">x\nGGCGAAAGCC\n{marks}\n")
        found = json.loads(run("evaluate", "m.tw", "gold.db", "--json").stdout)
        assert (found["f1"], found["exact"]) == (1.0, 1.0)
    (files / "gold.db").write_text(">x\nGGCGAAAGCC\n<<______>>\n")
    assert json.loads(run("evaluate", "m.tw", "gold.db", "--json").stdout)["exact"] == 0.0


def test_formats(run, model):
    plain = read_dot_bracket(_saved(run, model, "out.db"))
    assert plain.y[0] == "(((....)))"
    assert read_bpseq(_saved(run, model, "out.bpseq", "--format", "bpseq")).y == plain.y
    assert read_ct(_saved(run, model, "out.ct", "--format", "ct")).y == plain.y
    mea = read_dot_bracket(_saved(run, model, "mea.db", "--mea", "--gamma", 0.001))
    assert mea.y == ["..........", "...."]


def _saved(run, model, name, *more):
    done = run("predict", model, "new.fa", "-o", name, *more)
    assert (done.exit_code, done.output) == (0, "")
    return name


def test_pictures(run, model, files):
    pytest.importorskip("matplotlib")
    done = run("predict", model, "new.fa", "-o", "fold.png", "--format", "picture")
    assert (done.exit_code, done.output) == (0, "")
    assert (files / "fold.png").read_bytes().startswith(b"\x89PNG")
    done = run("predict", model, "gold.db", "-o", "fold.svg", "--format", "picture")
    assert (done.exit_code, done.output) == (0, "")
    assert "<svg" in (files / "fold.svg").read_text()
    assert (
        "cannot be drawn" in run("predict", model, "new.fa", "-o", "fold.xyz", "--format", "picture").stderr
    )


def test_lists(run, model):
    done = run("predict", model, "new.fa", "--kbest", 3, "--probabilities")
    records = [record.split("\n") for record in done.stdout.split(">")[1:]]
    assert [r[0] for r in records] == ["x_1", "x_2", "x_3", "y_1", "y_2"]  # ACGU has two structures
    shares = [float(r[2].split()[1].strip("()")) for r in records[:3]]
    assert shares == sorted(shares, reverse=True)


def test_inspect_and_nested(run, files):
    run("train", "fold", "family.sto", "-o", "m.tw", "--grammar", "nested", "--depth", 1, "-q")
    done = run("inspect", "m.tw", "--top", 31)
    assert done.exit_code == 0
    assert "fold" in done.stdout
    assert "F1 -> " in done.stdout


def test_what_the_grammar_cannot_hold(run, files):
    (files / "odd.sto").write_text(STOCKHOLM.replace("d GAGGAAACUUC", "d GAGGAAACUUA"))
    done = run("train", "fold", "odd.sto", "-o", "m.tw", "--grammar", "g6")
    assert "52 bases (1 structures repaired)" in done.stderr
    done = run("train", "fold", "odd.sto", "-o", "m.tw", "--grammar", "g6", "--invalid", "drop")
    assert "4 sequences, 41 bases (1 left out)" in done.stderr
    done = run("train", "fold", "odd.sto", "-o", "m.tw", "--invalid", "strict")
    assert done.exit_code == 2
    assert done.stderr.startswith("trelliswork: odd.sto: d: the pair (0, 10) is G-A")


KNOTS = """>nested
GGGGAAACUCC
((((...))))
>knot
GGAAACCGGGUU
((.[[))...]]
>wuss
GGCGAAAGCCUU
<<<.AA.>>>aa
"""


def test_pseudoknots(run, files):
    (files / "knots.db").write_text(KNOTS)
    done = run("train", "fold", "knots.db", "-o", "repaired.tw", "--invalid", "repair")
    assert "3 sequences, 35 bases (2 structures repaired)" in done.stderr
    nested = KNOTS.replace("((.[[))...]]", "((...)).....").replace("<<<.AA.>>>aa", "<<<....>>>..")
    (files / "nested.db").write_text(nested)
    run("train", "fold", "nested.db", "-o", "nested.tw", "--invalid", "strict", "-q")
    np.testing.assert_array_equal(tw.load("repaired.tw").coef_, tw.load("nested.tw").coef_)
    done = run("train", "fold", "knots.db", "-o", "m.tw", "--invalid", "drop")
    assert "1 sequences, 11 bases (2 left out)" in done.stderr
    done = run("train", "fold", "knots.db", "-o", "strict.tw", "--invalid", "strict")
    assert done.exit_code == 2
    assert done.stderr.startswith("trelliswork: knots.db: knot: the pair (3, 11) crosses")
    assert not (files / "strict.tw").exists()


MISTAKES = {
    "unbalanced": (">a\nGGAAACC\n((...)\n", "bad.db:1: a: unbalanced brackets: '(' at position 1 (from 1)"),
    "lengths": (">a\nGGAAACC\n((...))).\n", "bad.db:1: a: unbalanced brackets"),
    "alphabet": (">a\nGGAAZCC\n((...))\n", "bad.db: a: 'Z' at position 5 (from 1) is no base"),
    "empty file": ("", "bad.db:1: no sequence in the file"),
    "empty record": (">a\n>b\nACGU\n....\n", "bad.db:1: a: no bases"),
    "no structures": (">a\nACGU\n", "bad.db: no structures in the file"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_bad_files(run, files, name):
    text, message = MISTAKES[name]
    (files / "bad.db").write_text(text)
    done = run("train", "fold", "bad.db", "-o", "m.tw")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"trelliswork: {message}")
    assert done.stderr.count("\n") == 1
    assert not (files / "m.tw").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("train fold family.sto -o n.tw --learner hmm", "unknown learner 'hmm'"),
        ("train fold family.sto -o n.tw --invalid ignore", "--invalid must be one of"),
        ("train fold family.sto -o n.tw --grammar g7", "grammar must be"),
        ("train fold family.sto -o n.tw --l2 -1", "--l2 must be a finite number >= 0"),
        ("train fold - -o n.tw --dev -", "cannot both be standard input"),
        ("predict m.tw new.fa --format pdb", "--format must be one of"),
        ("predict m.tw new.fa --format picture", "--format picture needs --output"),
        ("predict m.tw new.fa --format ct --kbest 2", "--kbest and --probabilities go with"),
        ("predict m.tw new.fa --mea --gamma 0", "gamma must be a finite number > 0"),
        ("predict m.tw gaps.fa", "gaps.fa: z: '-' at position 3 (from 1) is no base"),
        ("evaluate m.tw new.fa", "new.fa: no structures in the file"),
    ],
)
def test_mistakes(run, model, files, args, message):
    (files / "gaps.fa").write_text(">z\nAC-GU\n")
    done = run(*args.split())
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_other_models_have_no_formats(run, files):
    (files / "t.txt").write_text("a X\nb Y\n\n" * 3)
    run("train", "tag", "t.txt", "-o", "t.tw", "-q")
    done = run("predict", "t.tw", "t.txt", "--format", "ct")
    assert done.exit_code == 2
    assert "--format: expected columns or jsonl, got 'ct'" in done.stderr
