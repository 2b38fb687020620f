"""AlignPath: coordinates, CIGAR, gapped strings, printing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from trelliswork import AlignPath, InputError


def test_round_trips():
    rng = np.random.default_rng(0)
    for _ in range(50):
        moves = "".join(rng.choice(list("MDI"), rng.integers(0, 12)))
        path = AlignPath.from_moves(moves)
        assert path.moves() == moves
        assert len(path) == len(moves)
        assert AlignPath.from_cigar(path.to_cigar()) == path
        first, second = "A" * path.stop[0], "C" * path.stop[1]
        assert AlignPath.from_gapped(*path.gapped(first, second)) == path
        assert pickle.loads(pickle.dumps(path)) == copy.deepcopy(path) == path
        assert hash(path) == hash(AlignPath(path.runs))


def test_local_coordinates():
    path = AlignPath.from_cigar("2M1D1M", (3, 1))
    assert (path.start, path.stop) == ((3, 1), (7, 4))
    assert path.pairs().tolist() == [[3, 1], [4, 2], [6, 3]]
    assert path.gapped("abcDEFGh", "xDEGy") == ("abc-DEFGh-", "---xDE-G-y")
    assert repr(path) == "AlignPath('2M1D1M', start=(3, 1))"
    assert path != AlignPath.from_cigar("2M1D1M")


def test_cigar_of_sequences():
    assert AlignPath.from_cigar("4M1I").to_cigar("AACA", "AAGAT") == "2=1X1=1I"
    assert AlignPath.from_cigar("MMD").to_cigar() == "2M1D"


def test_printing_in_blocks():
    text = AlignPath.from_cigar("3M1D2M").pretty("GATTAC", "GATAC", width=4)
    assert text == "1 GATT 4\n  |||\n1 GAT- 3\n\n5 AC 6\n  ||\n4 AC 5"
    assert AlignPath(()).pretty("", "") == "1  0\n\n1  0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlignPath([("Q", 1)]), "a run must be M, D or I"),
        (lambda: AlignPath([("M", -1)]), "a run must be"),
        (lambda: AlignPath((), (-1, 0)), "cannot start at"),
        (lambda: AlignPath.from_cigar("3M2S"), "not a CIGAR string"),
        (lambda: AlignPath.from_gapped("A-", "A"), "2 and 1 columns"),
        (lambda: AlignPath.from_gapped("A-", "A-"), "column 1 is a gap in both"),
        (lambda: AlignPath.from_cigar("3M").gapped("AA", "AAA"), "ends at"),
        (lambda: AlignPath.from_cigar("5M").pretty("AA", "AA"), r"ends at \(5, 5\)"),
        (lambda: AlignPath.from_cigar("5M").to_cigar("AA", "AA"), r"ends at \(5, 5\)"),
        (lambda: AlignPath.from_cigar("2M").pretty("AA", "AA", width=0), "width must be at least 1"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(InputError, match=message):
        make()
