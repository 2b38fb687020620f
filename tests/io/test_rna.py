"""Files of sequences and structures: what is read, what comes back, what is refused."""

from __future__ import annotations

import builtins
import gzip
import io

import pytest

from trelliswork import RNA, InputError
from trelliswork.io import (
    RnaData,
    read_bpseq,
    read_ct,
    read_dot_bracket,
    read_fasta,
    read_rna,
    read_stockholm,
    write_bpseq,
    write_ct,
    write_dot_bracket,
)

pytest.importorskip("Bio")

DATA = RnaData(["one", "two"], ["GGAAACC", "ACGUUU"], ["((...))", "......"])
STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID Tiny
one/1-7    GGA-AACC
two/3-8    .G-AAaC~
#=GR two/3-8 SS .(....).
three      GCGAAACC
#=GC SS_cons <<.._A>>
//
# STOCKHOLM 1.0
four GGGAAACCC
#=GR four SS (((...)))
//
"""


@pytest.mark.parametrize(
    ("write", "read"),
    [(write_dot_bracket, read_dot_bracket), (write_bpseq, read_bpseq), (write_ct, read_ct)],
)
def test_round_trip(write, read, tmp_path):
    for name in ("folds.txt", "folds.txt.gz"):
        write(tmp_path / name, *DATA)
        assert read(tmp_path / name) == DATA == read_rna(tmp_path / name)
    assert gzip.decompress((tmp_path / "folds.txt.gz").read_bytes()) == (tmp_path / "folds.txt").read_bytes()


def test_pseudoknots_come_back(tmp_path):
    data = RnaData(["k"], ["GGGAACCCUUCC"], ["((.[[))...]]"])
    for write, read in (
        (write_bpseq, read_bpseq),
        (write_ct, read_ct),
        (write_dot_bracket, read_dot_bracket),
    ):
        write(tmp_path / "k", *data)
        assert read(tmp_path / "k") == data


def test_stockholm():
    with pytest.raises(InputError, match=r"'A' at position 6 .from 1. is never closed"):
        read_stockholm(io.StringIO(STOCKHOLM))
    data = read_stockholm(io.StringIO(STOCKHOLM.replace("<<.._A>>", "<<.._.>>")))
    assert data.names == ["one/1-7", "two/3-8", "three", "four"]
    assert data.X == ["GGAAACC", "GAAaC", "GCGAAACC", "GGGAAACCC"]
    assert data.y == ["((...))", "(...)", "((....))", "(((...)))"]
    text = "# STOCKHOLM 1.0\na GGAA\nb GG-A\n//\n"
    assert read_stockholm(io.StringIO(text)) == RnaData(["a", "b"], ["GGAA", "GGA"], None)
    mixed = text + STOCKHOLM.partition("//\n")[2]
    assert read_stockholm(io.StringIO(mixed)).y == ["....", "...", "(((...)))"]


def test_fasta(tmp_path):
    text = "\n>one first sequence\nGGAA\nACC\n\n>two\nacgt\n"
    wanted = RnaData(["one", "two"], ["GGAAACC", "acgt"], None)
    assert read_fasta(io.StringIO(text)) == wanted == read_rna(io.StringIO(text))


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems(end):
    fasta = ">a desc\nGG\nAACC\n>b\nAC\n".replace("\n", end).encode()
    wanted = RnaData(["a", "b"], ["GGAACC", "AC"], None)
    assert read_fasta(io.BytesIO(fasta)) == wanted == read_rna(io.BytesIO(fasta))
    bpseq = "1 G 4\n2 A 0\n3 A 0\n4 C 1\n".replace("\n", end).encode()
    assert read_rna(io.BytesIO(bpseq)).y == ["(..)"]


def test_dot_bracket_with_energies_and_comments():
    text = "; comment\nGGAA\nACC\n((...)) ( -1.20)\n> \nACGU\n.... (0)\n"
    wanted = RnaData(["sequence 1", "sequence 2"], ["GGAAACC", "ACGU"], ["((...))", "...."])
    assert read_dot_bracket(io.StringIO(text)) == wanted


def test_dot_bracket_in_blocks_and_with_letters():
    assert read_dot_bracket(io.StringIO(">a\nGGAAA CCGGA\nAACC\n")).X == ["GGAAACCGGAAACC"]
    assert read_dot_bracket(io.StringIO(">a\nGGAAACC UU\nAA(.aa..)\n")).y == ["AA(.aa..)"]


def test_gaps_are_no_structure():
    for text in (">a\nGGAACC\n-GAAC\n", ">a\nGGAACC\n-GA AC\n", ">a\nGGAACC-\nGAAC\n"):
        [x] = read_rna(io.StringIO(text)).X
        assert x.replace("-", "") == "GGAACCGAAC"
        assert read_rna(io.StringIO(text)).y is None
        with pytest.raises(InputError, match=r"'-' at position 7 .from 1. is no base"):
            RNA("g6").bind().pack([x])
    assert read_rna(io.StringIO(">a\n-GGAAACC\n.((...))\n")).X == ["-GGAAACC"]
    # Marks, an energy or lines before them tell a structure.
    assert read_rna(io.StringIO(">a\nGGAAACC\n((\n---\n))\n")).y == ["((---))"]
    assert read_rna(io.StringIO(">a\nGGAAC\n----- (0.0)\n")).y == ["-----"]


def test_bpseq_headers():
    text = "Filename: x.bpseq\nOrganism: E. coli\nAccession Number: none\n1 G 4\n2 A 0\n3 A 0\n4 C 1\n"
    wanted = RnaData(["sequence 1"], ["GAAC"], ["(..)"])
    assert read_rna(io.StringIO(text)) == read_bpseq(io.StringIO(text)) == wanted
    text = "".join(f"Remark {k}: none\n" for k in range(9)) + text
    assert read_rna(io.StringIO(text)) == read_bpseq(io.StringIO(text)) == wanted


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("tiny", "tiny"),
        ("ENERGY = -1.0   tiny", "tiny"),
        ("Energy=-12 tiny one", "tiny one"),
        ("dG = -1.2 [initially -1.5] tiny", "tiny"),
        ("tiny  dG = +0.5", "tiny"),
        ("ENERGY = -1.0", "sequence 1"),
        ("energy of tiny", "energy of tiny"),
    ],
)
def test_ct_headers(header, name):
    text = f"    4  {header}\n1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n"
    assert read_rna(io.StringIO(text)) == read_ct(io.StringIO(text)) == RnaData([name], ["GAAC"], ["(..)"])


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_dot_bracket, "", "no sequence in the file"),
        (read_dot_bracket, ">a\n>b\nACGU\n", r"<stream>:1: a: no bases"),
        (read_dot_bracket, ">a\nACGU\n....\n>b\nACGU\n", r"<stream>:4: b: no structure, but"),
        (read_dot_bracket, ">a\nACGU\n...\n", r"<stream>:1: a: 4 bases but 3 marks"),
        (read_dot_bracket, ">a\nACGU\n((..\n", "a: unbalanced brackets"),
        (read_dot_bracket, ">a\nACGU\n....\nACGU\n", r"<stream>:4: bases after the structure"),
        (read_rna, ">a\nGGAAC\n-----\n", r"<stream>:3: gaps only"),
        (read_rna, ">a\nGGAAC\n~~_ --\n.....\n", r"<stream>:3: gaps only"),
        (read_rna, "; c\nACGU\n\nGGAA\n", r"<stream>:4: a second line of bases without a name"),
        (read_rna, "ACGU\nGGAA\n>b\nACGU\n", r"<stream>:2: a second line of bases without a name"),
        (read_rna, "ACGU\nGGAA\n....\n", r"<stream>:1: sequence 1: 8 bases but 4 marks"),
        (read_fasta, "ACGU\n", "expected a FASTA file"),
        (read_fasta, "\n>a\nAC\n\n>b\n>c\nAC\n", r"<stream>:5: b: no bases"),
        (read_stockholm, ">a\nACGU\n", "expected a Stockholm file"),
        (read_stockholm, "# STOCKHOLM 1.0\na GGAA\nb GG\n//\n", "not a Stockholm file that can be read"),
        (read_bpseq, "# x\n", "no sequence in the file"),
        (read_bpseq, "1 G 0\n3 C 0\n", r"<stream>:2: position 3 out of order"),
        (read_bpseq, "1 G 2\n2 C 0\n", "sequence 1: base 1 is paired with 2, but base 2 not with it"),
        (read_bpseq, "1 G 1\n", "base 1 is paired with 1"),
        (read_bpseq, "1 ACGU 5\n", "<stream>:1: 'ACGU' is no base; expected one letter"),
        (read_bpseq, "1 G x\n", "'x' is not a whole number"),
        (read_bpseq, "# x\n1 G 0\n2 A -5\n", r"<stream>:3: partner -5; expected a position, or 0"),
        (read_rna, "1 G -1\n2 A 0\n", r"<stream>:1: partner -1; expected a position, or 0"),
        (read_ct, "1 t\n1 G 0 2 -1 1\n", r"<stream>:2: partner -1; expected a position, or 0"),
        (read_bpseq, "1 G 0\n2 C\n", "<stream>:2: 2 columns; expected 3"),
        (read_ct, "2 t\n1 G 0 2 0 1\n", "t: 1 bases are missing at the end"),
        (read_ct, "1 t\n1 G 0\n", "3 columns; expected 6"),
        (read_ct, "two t\n", "'two' is not a whole number"),
    ],
)
def test_mistakes(read, text, message):
    with pytest.raises(InputError, match=message):
        read(io.StringIO(text))


def test_without_biopython(monkeypatch):
    plain = builtins.__import__

    def blocked(name, *args, **kwargs):
        if name.startswith("Bio"):
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    import importlib

    monkeypatch.setattr(importlib, "import_module", lambda name: blocked(name))
    with pytest.raises(ImportError, match=r"trelliswork\[bio\]"):
        read_fasta(io.StringIO(">a\nACGU\n"))
    assert read_rna(io.StringIO(">a\nACGU\n")).X == ["ACGU"]
