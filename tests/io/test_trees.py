"""Reading and writing treebanks."""

from __future__ import annotations

import gzip
import io

import pytest

from trelliswork import InputError
from trelliswork.io import read_trees, write_trees

TEXT = """
( (S
    (NP-SBJ (DT The) (NN cat) )
    (VP (VBZ sits)
      (NP (-NONE- *) ))))
(TOP (FRAG (NP-TMP=2 (NNP Monday)) (-LRB- -LRB-)))

( (S (NP (-NONE- *)) (VP (-NONE- *?*))) )
"""


def test_read(tmp_path):
    path = tmp_path / "a.mrg.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    data = read_trees(path)
    assert data.X == [["The", "cat", "sits"], ["Monday", "-LRB-"]]
    assert data.y == [
        "(S (NP (DT The) (NN cat)) (VP (VBZ sits)))",
        "(TOP (FRAG (NP (NNP Monday)) (-LRB- -LRB-)))",
    ]
    assert (data.lines, data.n_skipped, len(data)) == ([2, 6], 1, 2)
    assert repr(data) == "TreeData(2 trees, 5 words)"
    assert read_trees(path, input="tags").X == [["DT", "NN", "VBZ"], ["NNP", "-LRB-"]]
    assert read_trees(path, input="pairs", max_words=2).X == [[("Monday", "NNP"), ("-LRB-", "-LRB-")]]
    full = read_trees(path, functions=True, empty=True)
    assert full.X[0] == ["The", "cat", "sits", "*"]
    assert full.y[2] == "(S (NP (-NONE- *)) (VP (-NONE- *?*)))"


def test_write(tmp_path):
    data = read_trees(io.StringIO(TEXT))
    path = tmp_path / "b.txt"
    write_trees(path, [data.y[0], None, data.y[1]])
    assert path.read_text() == f"{data.y[0]}\n\n{data.y[1]}\n"
    assert read_trees(path).y == data.y


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (N a))\n\n(S (N a)", r"<text>:3: 1 '\(' without '\)'; the tree that starts here never ends"),
        ("(S (N a))\n)", r"<text>:2: '\)' without '\('"),
        ("(S (N a)) b", r"<text>:1: 'b' outside of any bracket"),
        ("(S (N a))\n(S (N))", r"<text>:2: the node \(N\) has no children"),
        ("(S ())", r"<text>:1: an empty bracket"),
        ("\n\n", r"<text>:1: no tree in the file"),
        ("((S (N a)) (S (N b)))", r"<text>:1: the outer bracket has no label and more than one child"),
    ],
)
def test_mistakes(text, message):
    file = io.StringIO(text)
    file.name = "<text>"
    with pytest.raises(InputError, match=message):
        read_trees(file)
    with pytest.raises(InputError, match="input must be"):
        read_trees(io.StringIO(text), input="letters")
