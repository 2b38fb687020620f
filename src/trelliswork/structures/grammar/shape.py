"""Trees to rules and back: collapsed chains, binarisation, markovisation.

A rule is a tuple, which is also the name of its weight:

=============================  =====================================================
``("root", A)``                the tree is an A
``("lexical", A, x)``          A -> x
``("unary", A, B)``            A -> B
``("binary", A, B, C)``        A -> B C
``("wrap", A, x, B, x')``      A -> x B x'
=============================  =====================================================

Symbols are strings. ``S+VP`` is a chain of two phrases over the same words, ``NP^S`` an NP
below an S, and ``NP|<JJ NN>`` the rest of an NP whose next children are JJ and NN; in the
labels themselves these marks are written with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork._trees import Node

__all__ = [
    "Rule",
    "Shape",
    "Writer",
    "binarized",
    "escape",
    "is_artificial",
    "labels_of",
    "rules_of",
    "tree_of",
]

Rule = tuple[str, ...]

_MARKS = re.compile(r"\\|\+|\^|\|<")
_ESCAPED = re.compile(r"\\(\\|\+|\^|\|<)")


@lru_cache(maxsize=65536)
def escape(label: str) -> str:
    """A label as a symbol."""
    return _MARKS.sub(lambda m: "\\" + m[0], label)


@lru_cache(maxsize=65536)
def is_artificial(symbol: str) -> bool:
    """Whether a symbol was made by binarisation."""
    return "|<" in _masked(symbol)


@lru_cache(maxsize=65536)
def labels_of(symbol: str) -> tuple[str, ...]:
    """Labels of the chain that a symbol stands for, from the top; none for artificial symbols."""
    if is_artificial(symbol):
        return ()
    label = _masked(symbol).partition("^")[0]
    ends = [*(place for place, mark in enumerate(label) if mark == "+"), len(label)]
    starts = [0, *(end + 1 for end in ends)]
    return tuple(_ESCAPED.sub(r"\1", symbol[a:b]) for a, b in zip(starts, ends))


def _masked(symbol: str) -> str:
    """The symbol with a blank in the place of every character that was written with a backslash."""
    return _ESCAPED.sub(lambda m: " " * len(m[0]), symbol)


class Shape(NamedTuple):
    """How trees become rules.

    Attributes
    ----------
    unary : {"collapse", "strict", "keep"}
        What becomes of nodes with one child.
    binarize : {"right", "left"}
        Side on which the rest of a long rule hangs.
    horizontal : int or None
        Children that the name of a rest remembers; None for all.
    vertical : int
        Labels that a phrase remembers, its own included.
    """

    unary: str
    binarize: str
    horizontal: int | None
    vertical: int


def rules_of(tree: Node, terminals: Sequence[str], shape: Shape) -> list[Rule]:
    """Rules of a tree in pre-order; ``terminals`` stand for its words."""
    words = iter(terminals)
    top = _opened(tree, (), shape)
    out: list[Rule] = [("root", top.symbol)]
    todo: list[_Phrase | _Rest | int] = [top]  # a number: the rule there still lacks its last word
    while todo:
        entry = todo.pop()
        if isinstance(entry, int):
            out[entry] = (*out[entry], next(words))
        elif isinstance(entry, _Rest):
            _split(entry.symbol, entry.base, entry.children, shape, out, todo)
        else:
            head, children = entry.symbol, entry.children
            kinds = [isinstance(child, Node) for child in children]
            if kinds == [False]:
                out.append(("lexical", head, next(words)))
            elif kinds == [False, True, False]:
                child = _opened(children[1], entry.above, shape)
                out.append(("wrap", head, next(words), child.symbol))
                todo += [len(out) - 1, child]
            elif not all(kinds):
                raise InputError(
                    f"the node ({labels_of(head)[-1]} ...) has words beside phrases; give every word a tag"
                )
            elif len(kinds) == 1:
                child = _opened(children[0], entry.above, shape)
                out.append(("unary", head, child.symbol))
                todo.append(child)
            else:
                opened = [_opened(child, entry.above, shape) for child in children]
                _split(head, head, opened, shape, out, todo)
    return out


class _Phrase(NamedTuple):
    """A symbol, the children that it derives, and the labels above those."""

    symbol: str
    children: list[Any]
    above: tuple[str, ...]


class _Rest(NamedTuple):
    """The children that a binarised rule still has to derive."""

    symbol: str
    base: str
    children: list[_Phrase]


def _opened(node: Node, above: tuple[str, ...], shape: Shape) -> _Phrase:
    """Symbol of a node; chains of nodes with one child are followed as far as they are one symbol."""
    chain = [node.label]
    tagged = node.is_tag
    while shape.unary != "keep" and len(node.children) == 1 and isinstance(node.children[0], Node):
        if node.children[0].is_tag and shape.unary == "collapse":
            break
        node = node.children[0]
        chain.append(node.label)
    symbol = "+".join(map(escape, chain))
    if not tagged:
        symbol += "".join("^" + escape(label) for label in above)
    below = (*reversed(chain), *above)[: shape.vertical - 1]
    return _Phrase(symbol, node.children, below)


def _split(
    head: str,
    base: str,
    children: Sequence[_Phrase],
    shape: Shape,
    out: list[Rule],
    todo: list[_Phrase | _Rest | int],
) -> None:
    """A binary rule for two or more children, the first of which is to be derived next."""
    if len(children) == 2:
        out.append(("binary", head, children[0].symbol, children[1].symbol))
        todo += [children[1], children[0]]
        return
    if shape.binarize == "right":
        rest = _rest(base, children[1:], shape, 0)
        out.append(("binary", head, children[0].symbol, rest.symbol))
        todo += [rest, children[0]]
    else:
        rest = _rest(base, children[:-1], shape, 1)
        out.append(("binary", head, rest.symbol, children[-1].symbol))
        todo += [children[-1], rest]


def _rest(base: str, children: Sequence[_Phrase], shape: Shape, from_end: int) -> _Rest:
    names = [child.symbol for child in children]
    if shape.horizontal is not None:
        n = shape.horizontal
        names = names[max(len(names) - n, 0) :] if from_end else names[:n]
    return _Rest(_rest_name(base, names), base, list(children))


def _rest_name(base: str, names: Sequence[str]) -> str:
    return f"{base}|<{' '.join(names)}>"


def binarized(head: str, children: Sequence[str], side: str) -> list[Rule]:
    """Binary rules that together are one rule with two or more children."""
    out: list[Rule] = []
    base, rest = head, list(children)
    while len(rest) > 2:
        if side == "right":
            first, rest = rest[0], rest[1:]
            out.append(("binary", head, first, _rest_name(base, rest)))
        else:
            rest, last = rest[:-1], rest[-1]
            out.append(("binary", head, _rest_name(base, rest), last))
        head = _rest_name(base, rest)
    return [*out, ("binary", head, rest[0], rest[1])]


def tree_of(rules: Sequence[Rule], words: Iterator[str]) -> Node:
    """The tree of rules in pre-order; ``words`` are its words from left to right."""
    stack: list[list[Any]] = []  # what each symbol derives, artificial ones spliced; None for a word
    for rule in reversed(rules):
        kind, head = rule[0], rule[1]
        if kind == "root":
            continue
        if kind == "lexical":
            children: list[Any] = [None]
        elif kind == "wrap":
            children = [None, *stack.pop(), None]
        elif kind == "unary":
            children = stack.pop()
        else:
            children = stack.pop()
            children = children + stack.pop()
        for label in reversed(labels_of(head)):
            children = [Node(label, children)]
        stack.append(children)
    [top] = stack.pop()
    return _filled(top, words)


def _filled(tree: Node, words: Iterator[str]) -> Node:
    """Put words in the places of None, from left to right."""
    todo: list[tuple[Node, int]] = [(tree, 0)]
    while todo:
        node, i = todo.pop()
        children = node.children
        while i < len(children) and not isinstance(children[i], Node):
            children[i] = next(words)
            i += 1
        if i < len(children):
            todo += [(node, i + 1), (children[i], 0)]
    return tree


class Writer:
    """Bracketed strings of derivations, straight from the numbers of their rules.

    Parameters
    ----------
    kinds : list of str
        Kind of every rule.
    labels : list of tuple of str
        Labels that every rule brackets, from the top.
    """

    def __init__(self, kinds: Sequence[str], labels: Sequence[tuple[str, ...]]):
        self.opens = ["".join(f" ({label}" for label in chain) for chain in labels]
        self.closes = [")" * len(chain) for chain in labels]
        self.arity = [{"lexical": 0, "binary": 2}.get(kind, 1) for kind in kinds]
        self.wraps = [kind == "wrap" for kind in kinds]

    def text(self, codes: Sequence[int], words: Sequence[str]) -> str:
        """The tree of rules in pre-order over the given words."""
        out: list[str] = []
        left: list[int] = []  # children that open rules still lack
        rules: list[int] = []
        word = 0
        for code in codes:
            out.append(self.opens[code])
            if self.arity[code]:
                left.append(self.arity[code])
                rules.append(code)
                if self.wraps[code]:
                    out.append(f" {words[word]}")
                    word += 1
                continue
            out.append(f" {words[word]}{self.closes[code]}")
            word += 1
            while left:
                if left[-1] > 1:
                    left[-1] -= 1
                    break
                left.pop()
                done = rules.pop()
                if self.wraps[done]:
                    out.append(f" {words[word]}")
                    word += 1
                out.append(self.closes[done])
        return "".join(out)[1:]
