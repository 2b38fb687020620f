"""Constituency trees: bracketed strings and nltk trees in, bracketed strings and nltk trees out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = [
    "Node",
    "as_node",
    "brackets",
    "escape_token",
    "is_tree",
    "leaves",
    "normalized",
    "parse_tree",
    "split_trees",
    "tags",
    "to_nltk",
    "to_string",
]

_PIECE = re.compile(r"[()]|[^\s()]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_EMPTY = "-NONE-"


class Node(NamedTuple):
    """A phrase or a tagged word: a label, and children that are nodes or words."""

    label: str
    children: list[Any]

    @property
    def is_tag(self) -> bool:
        """Whether the node is a tag over one word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)


def split_trees(text: str, source: str) -> Iterator[tuple[int, str]]:
    """Bracketed trees of a text, each with the number of its first line.

    Brackets that do not match and text outside of brackets are errors about a line of ``source``.
    """
    depth, start, first, line = 0, 0, 1, 1
    for match in re.finditer(r"[()\n]|[^\s()]+", text):
        piece = match[0]
        if piece == "\n":
            line += 1
        elif piece == "(":
            if depth == 0:
                start, first = match.start(), line
            depth += 1
        elif piece == ")":
            depth -= 1
            if depth < 0:
                raise InputError.at(source, line, "')' without '('")
            if depth == 0:
                yield first, text[start : match.end()]
        elif depth == 0:
            raise InputError.at(source, line, f"{piece!r} outside of any bracket; expected '('")
    if depth:
        raise InputError.at(source, first, f"{depth} '(' without ')'; the tree that starts here never ends")


def parse_tree(text: str) -> Node:
    """A tree from its bracketed string.

    ``( (S ...) )``, with an outer bracket that has no label, is the tree inside it.
    """
    stack: list[Node] = []
    done: Node | None = None
    fresh = False  # whether the last piece was "(", so that a label is due
    for piece in _PIECE.findall(text):
        if done is not None:
            raise InputError(f"unbalanced brackets: {piece!r} after the end of the tree")
        if piece == "(":
            if fresh:
                stack.append(Node("", []))
            fresh = True
        elif piece == ")":
            if fresh:
                raise InputError("an empty bracket '()'")
            if not stack:
                raise InputError("unbalanced brackets: ')' without '('")
            node = stack.pop()
            if not node.children:
                raise InputError(f"the node ({node.label}) has no children")
            if stack:
                stack[-1].children.append(node)
            else:
                done = node
        elif fresh:
            stack.append(Node(piece, []))
            fresh = False
        elif stack:
            stack[-1].children.append(piece)
        else:
            raise InputError(f"expected a bracketed tree such as '(S (NP we) (VP sleep))', got {text[:80]!r}")
    if fresh or stack or done is None:
        missing = len(stack) + fresh
        raise InputError(
            f"unbalanced brackets: {missing} '(' without ')'" if missing else "expected a tree, got nothing"
        )
    return done


def is_tree(value: Any) -> bool:
    """Whether a value is an nltk tree, or one of ours."""
    return isinstance(value, Node) or (hasattr(value, "label") and hasattr(value, "leaves"))


def as_node(value: Any) -> Node:
    """A tree from a bracketed string or an nltk tree."""
    if isinstance(value, Node):
        return value
    if isinstance(value, str):
        return parse_tree(value)
    if is_tree(value) and callable(value.label):
        return _from_nltk(value)
    raise InputError(f"expected a bracketed string or an nltk.Tree, got {type(value).__name__}")


def _from_nltk(tree: Any) -> Node:
    root = Node(str(tree.label()), [])
    todo = [(tree, root)]
    while todo:
        source, node = todo.pop()
        if not len(source):
            raise InputError(f"the node ({node.label}) has no children")
        for child in source:
            if is_tree(child):
                below = Node(str(child.label()), [])
                node.children.append(below)
                todo.append((child, below))
            else:
                node.children.append(str(child))
    return root


def normalized(tree: Node, *, functions: bool = False, empty: bool = False) -> Node | None:
    """The tree without empty elements, function tags and outer bracket; None if nothing is left.

    Parameters
    ----------
    tree : Node
        The tree.
    functions : bool, default=False
        Keep function tags and indices: ``NP-SBJ-1`` stays, instead of ``NP``.
    empty : bool, default=False
        Keep empty elements: ``(-NONE- *T*)``, and phrases of nothing else.
    """
    # Post-order without recursion: children are rebuilt before their parent.
    built: dict[int, Node | None] = {}
    todo: list[tuple[Node, bool]] = [(tree, False)]
    while todo:
        node, ready = todo.pop()
        if not ready:
            todo.append((node, True))
            todo.extend((child, False) for child in node.children if isinstance(child, Node))
            continue
        if node.label == _EMPTY and not empty:
            built[id(node)] = None
            continue
        below = [child if isinstance(child, str) else built[id(child)] for child in node.children]
        kept = [child for child in below if child is not None]
        label = node.label if functions or node.is_tag else _phrase_label(node.label)
        built[id(node)] = Node(label, kept) if kept else None
    top = built[id(tree)]
    while top is not None and not top.label:
        if len(top.children) != 1 or isinstance(top.children[0], str):
            raise InputError(
                "the outer bracket has no label and more than one child; label it, as in (TOP ...)"
            )
        top = top.children[0]
    return top


@lru_cache(maxsize=65536)
def _phrase_label(label: str) -> str:
    """``NP`` of ``NP-SBJ-1`` and ``NP=2``; ``-LRB-`` and labels that start so stay."""
    if label[:1] in ("-", "="):
        return label
    return re.split(r"[-=]", label, maxsplit=1)[0]


def escape_token(token: Any) -> str:
    """A word as it stands in bracketed strings: ``(`` is ``-LRB-``; no white space."""
    text = str(token)
    if text in _ESCAPES:
        return _ESCAPES[text]
    if not text or any(c in "()" or c.isspace() for c in text):
        text = re.sub(r"\s+", "_", text).replace("(", "-LRB-").replace(")", "-RRB-") or "_"
    return text


def leaves(tree: Node) -> list[str]:
    """Words from left to right."""
    out: list[str] = []
    todo: list[Any] = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            todo.extend(reversed(item.children))
    return out


def tags(tree: Node) -> list[str]:
    """Labels right above the words, from left to right."""
    out: list[str] = []
    todo: list[Any] = [("", tree)]
    while todo:
        above, item = todo.pop()
        if isinstance(item, str):
            out.append(above)
        else:
            todo.extend((item.label, child) for child in reversed(item.children))
    return out


def brackets(tree: Node, *, tagged: bool = False) -> list[tuple[str, int, int]]:
    """Label, start and end of every phrase, the root first; with ``tagged`` also of every tag."""
    out: list[tuple[str, int, int]] = []
    position = 0
    todo: list[tuple[Any, int]] = [(tree, -1)]
    while todo:
        item, opened = todo.pop()
        if isinstance(item, str):
            position += 1
        elif opened >= 0:
            label, start, _ = out[opened]
            out[opened] = (label, start, position)
        elif item.is_tag and not tagged:
            position += 1
        else:
            out.append((item.label, position, position))
            todo.append((item, len(out) - 1))
            todo.extend((child, -1) for child in reversed(item.children))
    return out


def to_string(tree: Node) -> str:
    """Bracketed string on one line."""
    out: list[str] = []
    todo: list[Any] = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        out.append(f" ({item.label}")
        todo.append(")")
        for child in reversed(item.children):
            todo.append(f" {child}" if isinstance(child, str) else child)
    return "".join(out)[1:]


def to_nltk(tree: Node) -> Any:
    """The tree as an ``nltk.Tree``."""
    try:
        from nltk import Tree
    except ImportError:
        raise ImportError('nltk trees need the nltk library: pip install "trelliswork[text]"') from None
    root = Tree(tree.label, [])
    todo = [(tree, root)]
    while todo:
        node, target = todo.pop()
        for child in node.children:
            if isinstance(child, str):
                target.append(child)
            else:
                below = Tree(child.label, [])
                target.append(below)
                todo.append((child, below))
    return root
