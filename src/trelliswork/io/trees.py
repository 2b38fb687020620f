"""Treebanks of bracketed trees, one per line or over several lines, as in Penn's ``.mrg`` files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._text import read_text, write_text
from trelliswork._trees import as_node, leaves, normalized, parse_tree, split_trees, tags, to_string

__all__ = ["TreeData", "read_trees", "some_brackets", "write_trees"]


@dataclass
class TreeData:
    """Sentences and trees of a treebank.

    Attributes
    ----------
    X : list of list of str, or list of list of tuple of str
        Sentences: words, tags, or pairs of both.
    y : list of str
        Bracketed trees, each on one line.
    lines : list of int
        Line of the file on which each tree starts.
    n_skipped : int
        Trees without any word, which were left out.

    Examples
    --------
    >>> from trelliswork.io import TreeData
    >>> data = TreeData([["cats", "sit"]], ["(S (N cats) (V sit))"], [1], 0)
    >>> len(data), data
    (1, TreeData(1 trees, 2 words))
    """

    X: list[list[Any]]
    y: list[str]
    lines: list[int]
    n_skipped: int

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"TreeData({len(self.y)} trees, {sum(map(len, self.X))} words)"


def read_trees(
    path_or_file: Any,
    *,
    input: str = "words",
    functions: bool = False,
    empty: bool = False,
    max_words: int | None = None,
    encoding: str = "utf-8",
) -> TreeData:
    r"""Read bracketed trees.

    Parameters
    ----------
    path_or_file : str, path or file object
        Plain or gzip. ``"-"`` is standard input.
    input : {"words", "tags", "pairs"}, default="words"
        What ``X`` holds: the words, the tags right above them, or pairs (word, tag).
    functions, empty : bool, default=False
        Keep function tags (``NP-SBJ``) and empty elements (``-NONE-``). Trees of nothing but
        empty elements are left out.
    max_words : int, optional
        Leave out longer sentences.
    encoding : str, default="utf-8"
        Encoding of the bytes.

    Returns
    -------
    TreeData

    Raises
    ------
    InputError
        ``FILE:LINE: what was wrong``: brackets that do not match, text outside of brackets, a
        node without children, no tree at all.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_trees
    >>> text = "( (S (NP-SBJ (NNS Cats)) (VP (VBP sit)\n    (NP (-NONE- *)))) )\n"
    >>> data = read_trees(io.StringIO(text))
    >>> data.X, data.y
    ([['Cats', 'sit']], ['(S (NP (NNS Cats)) (VP (VBP sit)))'])
    >>> read_trees(io.StringIO(text), input="pairs").X
    [[('Cats', 'NNS'), ('sit', 'VBP')]]
    """
    if input not in ("words", "tags", "pairs"):
        raise InputError(f"input must be 'words', 'tags' or 'pairs', got {input!r}")
    text, name = read_text(path_or_file, encoding)
    data = TreeData([], [], [], 0)
    for line, piece in split_trees(text, name):
        try:
            tree = normalized(parse_tree(piece), functions=functions, empty=empty)
        except InputError as error:
            raise InputError.at(name, line, error.message) from None
        words = [] if tree is None else leaves(tree)
        if tree is None or (max_words is not None and len(words) > max_words):
            data.n_skipped += tree is None
            continue
        sentence: Sequence[Any] = words
        if input != "words":
            sentence = tags(tree) if input == "tags" else list(zip(words, tags(tree)))
        data.X.append(list(sentence))
        data.y.append(to_string(tree))
        data.lines.append(line)
    if not data.y:
        raise InputError.at(
            name, 1, "no tree in the file; expected bracketed trees such as (S (NP we) (VP sleep))"
        )
    return data


@readable
def some_brackets(text: str) -> tuple[list[str], set[tuple[str | None, int, int]]]:
    """Words of a sentence and the brackets that are known of its tree.

    Parameters
    ----------
    text : str
        Words, with brackets around some of them: a label follows the opening one, unless it is not known.

    Returns
    -------
    list of str, and set of (str or None, int, int)
        Words; label, first word and word after the last of every bracket, as ``Grammar`` takes them.

    Examples
    --------
    >>> from trelliswork.io import some_brackets
    >>> words, brackets = some_brackets("(NP the cat) sleeps ( on (NP the mat))")
    >>> words
    ['the', 'cat', 'sleeps', 'on', 'the', 'mat']
    >>> sorted(brackets, key=str)
    [('NP', 0, 2), ('NP', 4, 6), (None, 3, 6)]
    """
    words: list[str] = []
    brackets: set[tuple[str | None, int, int]] = set()
    open_: list[tuple[str | None, int]] = []
    for piece in re.findall(r"\([^\s()]*|\)|[^\s()]+", text):
        if piece[0] == "(":
            open_.append((piece[1:] or None, len(words)))
        elif piece != ")":
            words.append(piece)
        elif not open_:
            raise InputError("a bracket closes that was never opened")
        elif open_[-1][1] == len(words):
            raise InputError("there is no word between two brackets")
        else:
            brackets.add((*open_.pop(), len(words)))
    if open_:
        raise InputError("a bracket is never closed")
    return words, brackets


@readable
def write_trees(path_or_file: Any, y: Any, *, encoding: str = "utf-8") -> None:
    """Write trees, one per line; an empty line for None.

    Parameters
    ----------
    path_or_file : str, path or file object
        ``"-"`` is standard output; a path that ends in ``.gz`` is compressed.
    y : list of bracketed strings or nltk trees
        The trees.
    encoding : str, default="utf-8"
        Encoding of the bytes.

    Examples
    --------
    >>> import sys
    >>> from trelliswork.io import write_trees
    >>> write_trees(sys.stdout, ["(S (N cats)   (V sit))"])
    (S (N cats) (V sit))
    """
    lines = ["" if tree is None else to_string(as_node(tree)) for tree in y]
    write_text(path_or_file, "".join(line + "\n" for line in lines), encoding)
