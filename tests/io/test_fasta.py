"""Pairs of sequences in FASTA files."""

from __future__ import annotations

import gzip
import io

import pytest

from trelliswork import InputError
from trelliswork.io import read_fasta_pairs


def test_lines_gaps_and_comments(tmp_path):
    text = "; a comment\n>first one\nGA-\n TT\n\n>second\nGACTT\n>x\n\n>y\n.A\n"
    found = read_fasta_pairs(io.StringIO(text))
    assert found.X == [("GATT", "GACTT"), ("", "A")]
    assert found.y == [("GA-TT", "GACTT"), ("", "-A")]
    assert found.names == [("first one", "second"), ("x", "y")]
    assert found.lines == [2, 8]
    path = tmp_path / "pairs.fa.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_fasta_pairs(path).X == found.X


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GATT\n", ":1: expected a header"),
        (">a\nG\n", ":1: 1 sequences; pairs need an even number"),
        ("", "no sequence"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(InputError, match=message):
        read_fasta_pairs(io.StringIO(text))


def test_unaligned_pairs_are_told(tmp_path):
    for text, message in (
        (">a\nG\n>b\nGA\n", "1 and 2 columns"),
        (">a\nG-\n>b\nG-\n", "column 2 .from 1. is a gap in both"),
    ):
        with pytest.raises(InputError, match=message):
            read_fasta_pairs(io.StringIO(text)).aligned()
