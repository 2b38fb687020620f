"""Train, predict, evaluate and inspect aligners."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.cli.tasks.align import train as command


def pairs(n, seed):
    """Aligned DNA with mutations and gaps, as FASTA."""
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        columns = []
        for _ in range(int(rng.integers(8, 14))):
            a = str(rng.choice(list("ACGT")))
            u = rng.random()
            b = a if u < 0.8 else str(rng.choice(list("ACGT")))
            columns.append((a, "-") if u > 0.95 else ("-", a) if u > 0.9 else (a, b))
        first, second = ("".join(row) for row in zip(*columns, strict=True))
        lines += [f">a{k} one", first[:6], first[6:], f">b{k}", second]
    return "\n".join(lines) + "\n"


@pytest.fixture
def aligned(tmp_path):
    for seed, name in enumerate(("train", "test")):
        (tmp_path / f"{name}.afa").write_text(pairs(20, seed))
    return tmp_path


@pytest.mark.parametrize("learner", command.table)
def test_round_trip(run, aligned, learner):
    options = ("--alphabet", "dna", "--dev", "test.afa", "--learner", learner)
    done = run("train", "align", "train.afa", "-o", "m.tw", *options)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1].startswith(f"{learner}: 20 pairs, ")  # after warnings
    assert "12 scores" in done.stderr
    found = json.loads(run("evaluate", "m.tw", "test.afa", "--json").stdout)
    assert found["recovered"] > 0.7
    done = run("predict", "m.tw", "test.afa", "-o", "out.afa")
    assert (done.exit_code, done.output) == (0, "")
    again = json.loads(run("evaluate", "m.tw", "out.afa", "--json").stdout)
    assert again["exact"] == 1.0
    shown = run("inspect", "m.tw").stdout
    assert "scores of pairs" in shown
    assert "extend" in shown


def test_forms_of_output(run, aligned):
    run("train", "align", "train.afa", "-o", "m.tw", "--model", "affine", "-q")
    text = ">x\nGATTACA\n>y\nGATACA\n"
    done = run("predict", "m.tw", "--format", "cigar", stdin=text)
    cells = done.stdout.strip().split("\t")
    assert cells[:4] == ["x", "y", "0", "0"]
    assert tw.AlignPath.from_cigar(cells[4]).stop == (7, 6)
    done = run("predict", "m.tw", "--kbest", 2, "--probabilities", stdin=text)
    heads = [line for line in done.stdout.split("\n") if line.startswith(">")]
    assert [head.split(" probability=")[0] for head in heads] == [
        f">{n} rank={k}" for k in (1, 2) for n in "xy"
    ]
    done = run("predict", "m.tw", "--mea", stdin=text)
    assert (done.exit_code, done.stdout.count(">")) == (0, 2)
    assert run("predict", "m.tw", "--mea", "--kbest", 2, stdin=text).exit_code == 2
    assert "matches" in run("inspect", "m.tw").stdout
    assert run("predict", "m.tw", "--format", "xml", stdin=text).exit_code == 2
    assert "recovered" in run("evaluate", "m.tw", "test.afa").stdout


def test_options_reach_the_model(run, aligned):
    options = ("--mode", "semiglobal", "--free", "first", "--canonical", "--core", "--unknown", "zero")
    assert (
        run("train", "align", "train.afa", "-o", "m.tw", *options, "--l2", 3, "--max-iter", 5).exit_code == 0
    )
    model = tw.load("m.tw")
    s = model.structure
    assert (s.mode, s.free, s.canonical, s.core, s.unknown) == ("semiglobal", "first", True, "upper", "zero")
    assert (model.l2, model.max_iter) == (3.0, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nAC\n>b\nACG\n", "bad.afa:1: the two sequences have 2 and 3 columns; expected equal numbers"),
        (">a\nA-C\n>b\nA-C\n", "bad.afa:1: column 2 (from 1) is a gap in both sequences; leave it out"),
        (">a\nAC\n", "bad.afa:1: 1 sequences; pairs need an even number"),
        ("AC\n", "bad.afa:1: expected a header that starts with '>', got 'AC'"),
        ("", "bad.afa: no sequence; expected a FASTA file with pairs of sequences"),
        (
            ">a\nAC\n>b\nAN\n",
            "bad.afa:1: symbol 'N' at position 1 of the second sequence is not in the alphabet",
        ),
    ],
)
def test_mistakes(run, aligned, text, message):
    (aligned / "bad.afa").write_text(text)
    done = run("train", "align", "bad.afa", "-o", "m.tw", "--alphabet", "dna")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"trelliswork: {message}")
    assert done.stderr.count("\n") == 1


def test_unknown_symbols_and_empty_sequences_at_prediction(run, aligned):
    run("train", "align", "train.afa", "-o", "m.tw", "-q")
    done = run("predict", "m.tw", stdin=">a\nACG\n>b\nACG\n>c\nACN\n>d\nAC\n")
    assert done.exit_code == 2
    assert "<stdin>:5: symbol 'N' at position 2 of the first sequence" in done.stderr
    done = run("predict", "m.tw", stdin=">a\nACG\n>b\n\n")
    assert done.stdout == ">a\nACG\n>b\n---\n"
    for option, value in (("--model", "cubic"), ("--mode", "round"), ("--learner", "hmm"), ("--C", "0")):
        assert run("train", "align", "train.afa", "-o", "m.tw", option, value).exit_code == 2


def test_the_remedy_is_named_for_both(run, aligned):
    done = run("train", "align", "train.afa", "-o", "m.tw", "--alphabet", "AC")
    assert "Alignment(unknown='zero'), or --unknown zero in training, scores it 0" in done.stderr


def test_lower_case(run, aligned):
    """The same letters, and kept as they were written."""
    lower = "".join(
        line if line[0] == ">" else line.lower() for line in pairs(20, 0).splitlines(keepends=True)
    )
    (aligned / "lower.afa").write_text(lower)
    found = []
    for source in ("train.afa", "lower.afa"):
        assert run("train", "align", source, "-o", "m.tw", "--alphabet", "dna", "-q").exit_code == 0
        found.append(run("predict", "m.tw", stdin=">a\nACgt\n>b\nAct\n").stdout)
    assert found[0] == found[1] == ">a\nACgt\n>b\nAc-t\n"
    # Letters of residues are known without a name.
    run("train", "align", "train.afa", "-o", "m.tw", "-q")
    assert run("predict", "m.tw", stdin=">a\nACG\n>b\nACg\n").stdout == ">a\nACG\n>b\nACg\n"


@pytest.mark.parametrize("learner", ["crf", "soda", "svm", "perceptron", "logodds"])
def test_training_with_an_empty_sequence(run, aligned, learner):
    (aligned / "some.afa").write_text(pairs(8, 0) + ">x\nACG\n>y\n---\n>x\n\n>y\n\n")
    done = run("train", "align", "some.afa", "-o", "m.tw", "--alphabet", "dna", "--learner", learner)
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith(f"{learner}: 10 pairs, ")
    done = run("predict", "m.tw", stdin=">x\n\n>y\nAC\n>x\n\n>y\n\n")
    assert done.stdout == ">x\n--\n>y\nAC\n>x\n\n>y\n\n"


@pytest.mark.parametrize("options", [(), ("--mea",), ("--kbest", 2), ("--probabilities",)])
def test_predicted_scores_in_every_output(run, aligned, options):
    """Weights that differ from pair to pair."""
    run("train", "align", "train.afa", "-o", "m.tw", "--alphabet", "dna", "--learner", "klrso", "--reg", 0.01)
    done = run("predict", "m.tw", "test.afa", *options)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(">")
    done = run("train", "align", "train.afa", "-o", "m.tw", "--learner", "klrso", "--reg", 0)
    assert done.exit_code != 0
    assert "reg must be a finite number > 0" in done.stderr


PAIRS = ">a first\nHEAGAWGHEE\n>b\npawheae\n"


def test_align_with_a_matrix(run, tmp_path):
    pytest.importorskip("Bio")
    (tmp_path / "p.fa").write_text(PAIRS)
    options = ["--matrix", "BLOSUM62", "--gap-open", 11, "--gap-extend", 1]
    done = run("align", "p.fa", *options)
    assert (done.exit_code, done.stderr) == (0, "")
    weights = tw.alignment_weights("BLOSUM62", gap_open=-11, gap_extend=-1)
    model = tw.Fixed(tw.Alignment(), weights)
    (rows,) = model.predict([("HEAGAWGHEE", "pawheae")])
    assert done.stdout == f">a first\n{rows[0]}\n>b\n{rows[1]}\n"
    done = run("align", "p.fa", *options, "--mode", "local", "--format", "paf")
    cells = done.stdout.rstrip("\n").split("\t")
    assert cells[:9:4] == ["b", "+", cells[8]]
    assert cells[5:7] == ["a", "10"]
    assert re.fullmatch(r"cg:Z:(\d+[MDI])+", cells[-1])
    done = run("align", "p.fa", *options, "--format", "clustal")
    assert done.stdout.splitlines()[0] == "CLUSTAL"
    assert done.stdout.splitlines()[2].split() == ["a", rows[0]]
    done = run("align", "p.fa", "--gap-open", -11)
    assert done.stderr == "trelliswork: --gap-open is what a gap costs, a finite number >= 0; got -11\n"
    done = run("align", "p.fa", "--format", "blast")
    assert done.stderr == "trelliswork: --format: expected one of fasta, clustal, paf, cigar; got 'blast'\n"
    with pytest.raises(tw.InputError, match=r"gap_open=11 would reward gaps.*a cost of 11 is gap_open=-11"):
        tw.alignment_weights("BLOSUM62", gap_open=11, gap_extend=-1)


def test_the_matrix_of_a_model(run, tmp_path):
    (tmp_path / "p.fa").write_text(">a\nGATTaca\n>b\nGAT-ACA\n>c\nGATTC\n>d\nga-TC\n")
    assert run("train", "align", "p.fa", "-o", "m.tw", "-q").exit_code == 0
    assert tw.load("m.tw").space_.symbols == ["A", "C", "G", "T"]
    assert run("inspect", "m.tw", "--matrix", "m.txt").exit_code == 0
    table = tw.structures.read_matrix("m.txt")
    model = tw.load("m.tw").weights_by_name()
    assert table["A", "A"] == pytest.approx(model["pair", "A", "A"], abs=1e-4)
    assert run("inspect", "m.tw", "--matrix", "-").stdout == (tmp_path / "m.txt").read_text()
