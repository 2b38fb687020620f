"""``trelliswork fold``: the model of the package on files as users have them, and their mistakes."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.io import read_bpseq, read_ct, read_dot_bracket

HAIRPIN = "GGGGCGAAAGCUCC"
FASTA = f">one\n{HAIRPIN}\n>two\nacgtnggcacgaaagugccn\n"


@pytest.fixture
def fasta(tmp_path):
    (tmp_path / "new.fa").write_text(FASTA)
    return "new.fa"


def test_dot_bracket_with_score_and_probability(run, fasta, tmp_path):
    done = run("fold", fasta)
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [">one", HAIRPIN]
    structure, score, share = lines[2].split(" ")
    assert tw.pretrained("rna").predict_mea([HAIRPIN]) == [structure]
    log_p = tw.pretrained("rna").log_prob([HAIRPIN], [structure])[0]
    assert float(share.removeprefix("p=").rstrip(")")) == pytest.approx(np.exp(log_p), rel=1e-2)
    assert np.isfinite(float(score.strip("(,")))
    (tmp_path / "new.fa.gz").write_bytes(gzip.compress(FASTA.encode()))
    assert run("fold", "new.fa.gz").stdout == done.stdout == run("fold", stdin=FASTA).stdout
    assert run("fold", fasta, "--jobs", 2, "-o", "out.db").exit_code == 0
    assert (tmp_path / "out.db").read_text() == done.stdout


def test_formats(run, fasta, tmp_path):
    plain = read_dot_bracket_text(run("fold", fasta).stdout, tmp_path)
    for form, reader in (("ct", read_ct), ("bpseq", read_bpseq)):
        assert run("fold", fasta, "--format", form, "-o", "out").exit_code == 0
        assert reader("out").y == plain
    rows = [json.loads(line) for line in run("fold", fasta, "--format", "json").stdout.splitlines()]
    assert [row["structure"] for row in rows] == plain
    assert set(rows[0]) == {"name", "sequence", "structure", "score", "probability"}


def read_dot_bracket_text(text, tmp_path):
    (tmp_path / "text.db").write_text(text)
    return read_dot_bracket(str(tmp_path / "text.db")).y


def test_lists_and_probabilities(run, fasta, tmp_path):
    rows = [json.loads(line) for line in run("fold", fasta, "--format", "json", "--k", 3).stdout.splitlines()]
    shares = [one["probability"] for one in rows[0]["structures"]]
    assert shares == sorted(shares, reverse=True)
    best = tw.pretrained("rna").predict([HAIRPIN])[0]
    assert rows[0]["structures"][0]["structure"] == best
    assert (
        json.loads(run("fold", fasta, "--format", "json", "--best").stdout.splitlines()[0])["structure"]
        == best
    )
    done = run("fold", fasta, "--probabilities", "pairs.tsv")
    assert done.exit_code == 0
    cells = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    P = tw.pretrained("rna").predict_marginals([HAIRPIN])[0]
    found = {(int(i), int(j)): float(p) for name, i, j, p in cells if name == "one"}
    assert found
    for (i, j), p in found.items():
        assert p == pytest.approx(P[i - 1, j - 1], abs=1e-4)
    more = run("fold", fasta, "--mea", 100, "--format", "json").stdout.splitlines()
    fewer = run("fold", fasta, "--mea", 1e-5, "--format", "json").stdout.splitlines()
    assert sum(row.count("(") for row in more) > sum(row.count("(") for row in fewer)


def test_constraints_and_shape(run, tmp_path):
    (tmp_path / "one.fa").write_text(f">one\n{HAIRPIN}\n")
    done = run("fold", "one.fa", "--constraint", "x.............", "--format", "json")
    assert json.loads(done.stdout)["structure"][0] == "."
    (tmp_path / "marks").write_text(">one\n(............)\n")
    done = run("fold", "one.fa", "--constraint", "marks", "--format", "json")
    assert json.loads(done.stdout)["structure"][0] == "("
    # Bases that react are unpaired.
    (tmp_path / "one.shape").write_text("".join(f"{i + 1} 5.0\n" for i in range(len(HAIRPIN))))
    done = run("fold", "one.fa", "--shape", "one.shape", "--format", "json")
    assert json.loads(done.stdout)["structure"] == "." * len(HAIRPIN)


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_pictures(run, fasta, tmp_path, kind, start):
    pytest.importorskip("matplotlib")
    # The option says what is drawn, not the ending of the file.
    assert run("fold", fasta, f"--{kind}", "out.picture", "--probabilities", "dots.png").exit_code == 0
    assert (tmp_path / "out.picture").read_bytes().startswith(start)
    assert (tmp_path / "dots.png").stat().st_size > 1000


def test_endings_of_pictures_in_capitals(run, fasta, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("fold", fasta, "--probabilities", "dots.PNG").exit_code == 0
    assert (tmp_path / "dots.PNG").read_bytes().startswith(b"\x89PNG")


def test_most_probable_structures_are_coloured_too(run, fasta, tmp_path):
    pytest.importorskip("matplotlib")
    for more in (["--best"], ["--k", "2"]):
        assert run("fold", fasta, *more, "--svg", "best.svg").exit_code == 0
        assert "probability of the pair" in (tmp_path / "best.svg").read_text()


def test_a_picture_that_fails_leaves_the_old_one(run, fasta, tmp_path, monkeypatch):
    figures = pytest.importorskip("matplotlib.figure")

    def fail(self, file, **options):
        file.write(b"half")
        raise MemoryError

    monkeypatch.setattr(figures.Figure, "savefig", fail)
    (tmp_path / "old.png").write_bytes(b"old")
    assert run("fold", fasta, "-o", "out.db", "--png", "old.png").exit_code != 0
    assert (tmp_path / "old.png").read_bytes() == b"old"
    assert not (tmp_path / "out.db").exists()


MISTAKES = {
    "empty record": (">a\n>b\nACGU\n", [], "no bases"),
    "other letters": (">a\nACJU\n", [], "'J' at position 3 (from 1)"),
    "gaps": (">a\nAC--GU\n", [], "'-'"),
    "nothing": ("", [], "new.fa"),
    "a million bases": (f">a\n{'ACGU' * 250_000}\n", [], "GiB"),
    "short constraint": (">a\nGGAAACC\n", ["--constraint", "(..)"], "7 bases but the constraint 4 marks"),
    "open constraint": (">a\nGGAAACC\n", ["--constraint", "((....)"], "never closed"),
    "pair that cannot be": (
        ">a\nGGAAACA\n",
        ["--constraint", "(.....)"],
        "bases 1 and 7 (from 1) do not pair",
    ),
    "tight pair": (">a\nGGAACC\n", ["--constraint", "??(?)?"], "cannot be met|do not pair"),
    "two sequences": (FASTA, ["--constraint", "...."], "one constraint for 2 sequences"),
    "missing file": (FASTA, ["--shape", "nowhere"], "no such file"),
    "format": (FASTA, ["--format", "xml"], "--format must be one of"),
    "k and mea": (FASTA, ["--k", "2", "--mea", "1"], "--k"),
    "best and mea": (FASTA, ["--best", "--mea", "1"], "--best"),
    "gamma": (FASTA, ["--mea", "0"], "gamma"),
    "many dot plots": (">a\nACGU\n" * 21, ["--probabilities", "p.svg"], "at most 20"),
    "another mark": (">a\nGGAAACC\n", ["--constraint", "(..y..)"], "marks other than"),
    "one file twice": (FASTA, ["--probabilities", "./out.db"], "name the same file"),
    "two pictures in one file": (FASTA, ["--svg", "x", "--png", "x"], "--svg and --png name the same file"),
    "picture on standard output": (FASTA, ["--svg", "-"], "cannot go to standard output"),
    "picture": (FASTA, ["--svg", "nowhere/x.svg"], "no such folder"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line_and_nothing_is_written(run, tmp_path, name):
    text, options, message = MISTAKES[name]
    (tmp_path / "new.fa").write_text(text)
    done = run("fold", "new.fa", "-o", "out.db", *options)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    assert any(part in done.stderr for part in message.split("|")), done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "out.db").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0.5\n1 0.7\n", "two reactivities"),
        ("1 0.5\n99 0.7\n", "position 99"),
        ("1 C 0.5\n", "the sequence has G"),
        ("1 much\n", "expected a position and a reactivity"),
        ("1\n", "columns"),
        (">other\n1 0.5\n", "no sequence 'other'"),
        ("", "no reactivity in the file"),
    ],
)
def test_contradictory_shape(run, tmp_path, text, message):
    (tmp_path / "one.fa").write_text(f">one\n{HAIRPIN}\n")
    (tmp_path / "one.shape").write_text(text)
    done = run("fold", "one.fa", "--shape", "one.shape")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_constraints_of_sequences_go_by_their_names(run, tmp_path):
    (tmp_path / "same.fa").write_text(">one\nGGAAACC\n>one\nGGAAAACC\n")
    (tmp_path / "marks").write_text("x......\n........\n")
    done = run("fold", "same.fa", "--constraint", "marks")
    assert done.exit_code == 2
    assert "several sequences are called 'one'" in done.stderr
    (tmp_path / "new.fa").write_text(FASTA)
    (tmp_path / "marks").write_text("\n")
    done = run("fold", "new.fa", "--constraint", "marks")
    assert done.exit_code == 2
    assert "no constraint in the file" in done.stderr


def test_training_from_the_model_of_the_package(run, tmp_path):
    (tmp_path / "known.db").write_text(f">one\n{HAIRPIN}\n.(((......))).\n")
    done = run("train", "fold", "known.db", "-o", "m.tw", "--from-pretrained", "-q")
    assert done.exit_code == 0, done.stderr
    shipped, trained = tw.pretrained("rna"), tw.load("m.tw")
    assert trained.space_.n_features == shipped.coef_.size
    y = [".(((......)))."]
    assert trained.log_prob([HAIRPIN], y)[0] > shipped.log_prob([HAIRPIN], y)[0]
    assert run("fold", "known.db", "--model", "m.tw").exit_code == 0
    for more in (["--learner", "svm"], ["--grammar", "g6"]):
        done = run("train", "fold", "known.db", "-o", "m.tw", "--from-pretrained", *more)
        assert done.exit_code == 2
        assert more[0] in done.stderr
