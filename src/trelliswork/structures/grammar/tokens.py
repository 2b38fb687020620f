"""Tokens of sentences: checks, and what of them is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork import _trees as trees
from trelliswork._errors import InputError

__all__ = ["check_inputs", "difference", "short", "spelled", "tagged", "terminals", "tokens"]


def check_inputs(X: Any) -> Sequence[Any]:
    """Refuse inputs that are no list of sentences."""
    if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
        raise InputError(f"X must be a list of sentences, got {type(X).__name__}")
    return X


def tokens(i: int, x: Any) -> list[Any]:
    """Tokens of a sentence: strings, or pairs (word, tag)."""
    if isinstance(x, (str, bytes)):
        raise InputError(f"expected a list of tokens, got the string {x!r:.60}; split it first", sample=i)
    if isinstance(x, Mapping) or not hasattr(x, "__iter__"):
        raise InputError(f"expected a list of tokens, got {short(x)}", sample=i)
    out: list[Any] = []
    for t, token in enumerate(x):
        if isinstance(token, (tuple, list)) and len(token) == 2:
            out.append((str(token[0]), str(token[1])))
        elif isinstance(token, (str, int, np.integer)):
            out.append(str(token))
        else:
            raise InputError(
                f"token {t}: expected a string or a pair (word, tag), got {short(token)}",
                sample=i,
            )
    if not out:
        raise InputError("the sentence is empty; leave it out", sample=i)
    return out


def terminals(x: Sequence[Any], kind: str) -> list[str]:
    """The words or the tags of a sentence."""
    if kind == "tags":
        return [token[1] if isinstance(token, tuple) else token for token in x]
    return [token[0] if isinstance(token, tuple) else token for token in x]


def spelled(x: Sequence[Any], kind: str = "words") -> list[str]:
    """The words or the tags of a sentence as they stand in trees: ``-LRB-`` for ``(``."""
    return [trees.escape_token(terminal) for terminal in terminals(x, kind)]


def tagged(x: Sequence[Any], tree: trees.Node) -> trees.Node:
    """The tree with tags above the words, which are the leaves themselves if these are tags."""
    wanted = spelled(x, "tags")
    if [trees.escape_token(tag) for tag in trees.tags(tree)] == wanted:
        return tree
    if trees.leaves(tree) != wanted:
        raise InputError(difference(terminals(x, "tags"), trees.tags(tree), "tags"))
    root = trees.Node(tree.label, [])
    todo = [(tree, root)]
    while todo:
        node, copy = todo.pop()
        for child in node.children:
            below = trees.Node(child, [child]) if isinstance(child, str) else trees.Node(child.label, [])
            copy.children.append(below)
            if not isinstance(child, str):
                todo.append((child, below))
    return root


def difference(x: Sequence[Any], leaves: Sequence[str], what: str) -> str:
    """Where a sentence and the leaves of its tree part, in words."""
    if len(x) != len(leaves):
        return f"the sentence has {len(x)} {what} but its tree has {len(leaves)}"
    t = next(t for t, (a, b) in enumerate(zip(x, leaves)) if trees.escape_token(a) != trees.escape_token(b))
    return f"token {t} is {x[t]!r} but the tree has {leaves[t]!r} there"


def short(value: Any, limit: int = 120) -> str:
    """A value as text of bounded length."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
