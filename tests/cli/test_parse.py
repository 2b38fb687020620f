"""``train parse`` and what follows it."""

from __future__ import annotations

import json

import pytest

import trelliswork as tw

TREES = """
( (S (NP-SBJ (D the) (N cat)) (VP (V sees) (NP (D a) (N dog)))) )
(S (NP (D a) (N dog))
   (VP (V sleeps) (NP (-NONE- *))))
(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))
"""


@pytest.fixture
def parser(run, tmp_path):
    (tmp_path / "trees.mrg").write_text(TREES)
    done = run("train", "parse", "trees.mrg", "-o", "m.tw", "--min-count", 1)
    assert done.exit_code == 0, done.output
    assert "pcfg: 3 trees, 13 words" in done.stderr
    return "m.tw"


def test_predict(run, parser):
    done = run("predict", parser, stdin="the cat sleeps\n\nthe zebra sees the cat\n")
    assert done.exit_code == 0
    assert done.stdout.split("\n") == [
        "(S (NP (D the) (N cat)) (VP (V sleeps)))",
        "",
        "(S (NP (D the) (N zebra)) (VP (V sees) (NP (D the) (N cat))))",
        "",
    ]


def test_sentences_without_trees_are_told(run, parser):
    done = run("predict", parser, stdin="sees sees\nthe cat sleeps\n")
    assert done.stdout.startswith("(S (X sees) (X sees))\n(S ")
    assert "1 of 2 sentences have no tree in this grammar" in done.stderr


def test_kbest_and_probabilities(run, parser):
    done = run("predict", parser, "--kbest", 2, "--probabilities", stdin="the cat sleeps\nsees\n")
    lines = done.stdout.split("\n")
    assert lines[0] == "1\t(S (NP (D the) (N cat)) (VP (V sleeps)))"
    assert lines[2:4] == ["0\t(S (X sees))", ""]


def test_evaluate(run, parser):
    done = run("evaluate", parser, "trees.mrg")
    assert done.exit_code == 0
    assert "F1 100.00%" in done.stdout
    found = json.loads(run("evaluate", parser, "trees.mrg", "--json").stdout)
    assert found["brackets"]["n_true"] == 11
    assert found["without_root"]["n_true"] == 8
    assert found["brackets"]["tags"] == 1.0


def test_inspect(run, parser):
    done = run("inspect", parser)
    assert done.exit_code == 0
    assert "S -> NP^S VP^S" in done.stdout
    assert "parse" in done.stdout


@pytest.mark.parametrize("learner", ["crf", "perceptron", "svm", "zscore", "soda", "klrso"])
def test_learners(run, tmp_path, learner):
    (tmp_path / "trees.mrg").write_text(TREES)
    options = ("--learner", learner, "--min-count", 1, "--dev", "trees.mrg", "-q")
    done = run("train", "parse", "trees.mrg", "-o", "m.tw", *options)
    assert done.exit_code == 0, done.output
    assert (
        run("predict", "m.tw", stdin="the cat sleeps").stdout == "(S (NP (D the) (N cat)) (VP (V sleeps)))\n"
    )


def test_tags(run, tmp_path):
    (tmp_path / "trees.mrg").write_text(TREES)
    done = run("train", "parse", "trees.mrg", "-o", "m.tw", "--input", "tags", "--unary", "strict")
    assert done.exit_code == 0, done.output
    done = run("predict", "m.tw", stdin="the/D zebra/N runs/V\nD N V\n")
    assert done.stdout.split("\n")[:2] == [
        "(S (NP (D the) (N zebra)) (VP (V runs)))",
        "(S (NP (D D) (N N)) (VP (V V)))",
    ]
    assert "F1 100.00%" in run("evaluate", "m.tw", "trees.mrg").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (N a)", "bad.mrg:1: 1 '(' without ')'"),
        ("(S (N a))\n(S (N))", "bad.mrg:2: the node (N) has no children"),
        ("(S (N a))\n\n(S (N b) c)", "bad.mrg:3: the node (S ...) has words beside phrases"),
        ("", "bad.mrg:1: no tree in the file"),
        ("hello", "bad.mrg:1: 'hello' outside of any bracket"),
    ],
)
def test_bad_trees(run, tmp_path, text, message):
    (tmp_path / "bad.mrg").write_text(text)
    done = run("train", "parse", "bad.mrg", "-o", "m.tw")
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bad_options(run, tmp_path, parser):
    for options, message in (
        (["--learner", "hmm"], "unknown learner 'hmm'"),
        (["--l2", 1], "--l2 does not go with --learner pcfg"),
        (["--unary", "drop"], "unary must be one of"),
        (["--smoothing", 0], "--smoothing must be a finite number > 0"),
    ):
        done = run("train", "parse", "trees.mrg", "-o", "n.tw", *options)
        assert done.exit_code == 2
        assert message in done.stderr
    done = run("predict", parser, stdin="\n\n")
    assert done.exit_code == 2
    assert "no sentence in the file" in done.stderr


def test_markovisation(run, tmp_path):
    (tmp_path / "t.mrg").write_text("(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat)) (P up)))\n")
    assert run("train", "parse", "t.mrg", "-o", "m.tw", "-q").exit_code == 0
    assert (tw.load("m.tw").structure.horizontal, tw.load("m.tw").structure.vertical) == (2, 2)
    options = ["--horizontal", -1, "--vertical", 1]
    assert run("train", "parse", "t.mrg", "-o", "m.tw", "-q", *options).exit_code == 0
    assert (tw.load("m.tw").structure.horizontal, tw.load("m.tw").structure.vertical) == (None, 1)
