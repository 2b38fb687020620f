"""The simple tokeniser."""

import pytest

from trelliswork.io import tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  a\tb ", ["a", "b"]),
        ("don't, well-known", ["don't", ",", "well-known"]),
        ("(3.14) 1,000.", ["(", "3.14", ")", "1,000", "."]),
        ("¿Qué? «año»...", ["¿", "Qué", "?", "«", "año", "»", ".", ".", "."]),
        ("a--b", ["a", "-", "-", "b"]),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens
