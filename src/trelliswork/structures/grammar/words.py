"""Classes of unknown words, and grammars written down by hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from trelliswork._errors import InputError
from trelliswork._trees import escape_token
from trelliswork.structures.grammar.shape import Rule, binarized, escape

__all__ = ["UNKNOWN", "WordMap", "as_rules", "read_rules", "signatures"]

UNKNOWN = "<unk>"


def signatures(word: str, at_start: bool) -> tuple[str, ...]:
    """Classes of an unknown word, from narrow to wide.

    Examples
    --------
    >>> from trelliswork.structures.grammar.words import signatures
    >>> signatures("jumping", False), signatures("1,250", False)[0]
    (('<unk:low:ng>', '<unk:low>', '<unk>'), '<unk:num>')
    """
    if any(c.isdigit() for c in word):
        shape = "num" if not any(c.isalpha() for c in word) else "num-abc"
    elif not any(c.isalpha() for c in word):
        shape = "sign"
    elif word.isupper() and len(word) > 1:
        shape = "caps"
    elif word[0].isupper():
        shape = "first" if at_start else "cap"
    else:
        shape = "low"
    if "-" in word[1:]:
        shape += "-hyphen"
    wide = (f"<unk:{shape}>", UNKNOWN)
    ending = word[-2:].lower()
    if len(word) > 4 and ending.isalpha():
        return (f"<unk:{shape}:{ending}>", *wide)
    return wide


_TERM = re.compile(r"'[^']*'|\"[^\"]*\"|\[[0-9.eE+-]+\]|\||[^\s|\[\]]+")


def read_rules(rules: Any) -> tuple[list[tuple[str, list[tuple[bool, str]]]], str]:
    """Rules that a user wrote: heads with (is a word, text) of their right sides; and the first head.

    Parameters
    ----------
    rules : str, list or nltk grammar
        See ``Grammar``.
    """
    if hasattr(rules, "productions") and callable(rules.productions):
        productions = [_from_production(p) for p in rules.productions()]
        start = str(rules.start())
    else:
        if isinstance(rules, (bytes, Mapping)) or not isinstance(rules, Collection):
            raise InputError(
                f'rules must be lines such as "S -> NP VP", pairs or an nltk grammar, got {rules!r:.80}'
            )
        lines = rules.splitlines() if isinstance(rules, str) else list(rules)
        productions = []
        heads = {item.partition("->")[0].strip() for item in lines if isinstance(item, str)}
        heads |= {str(item[0]) for item in lines if isinstance(item, (tuple, list)) and len(item) == 2}
        for item in lines:
            if isinstance(item, str):
                productions += _from_line(item)
            else:
                productions.append(_from_pair(item, heads))
        start = productions[0][0] if productions else ""
    if not productions:
        raise InputError("rules: there is no rule")
    return productions, start


def _from_production(production: Any) -> tuple[str, list[tuple[bool, str]]]:
    right = [(isinstance(item, str), str(item)) for item in production.rhs()]
    return _checked(str(production.lhs()), right, str(production))


def _from_pair(item: Any, heads: set[str]) -> tuple[str, list[tuple[bool, str]]]:
    try:
        head, right = item
        right = [right] if isinstance(right, str) else [str(part) for part in right]
    except (TypeError, ValueError):
        raise InputError(f"rules: expected 'A -> B C' or a pair (head, [children]), got {item!r}") from None
    return _checked(str(head), [(part not in heads, part) for part in right], repr(item))


def _from_line(line: str) -> list[tuple[str, list[tuple[bool, str]]]]:
    text = line.split("#", 1)[0].strip() if line.lstrip().startswith("#") else line.strip()
    if not text:
        return []
    head, arrow, right = text.partition("->")
    head = head.strip()
    if not arrow or not head or any(c.isspace() for c in head):
        raise InputError(f'rules: expected "A -> B C" or "A -> \'word\'", got {line!r}')
    out, current = [], []  # type: list[Any], list[tuple[bool, str]]
    for piece in [*_TERM.findall(right), "|"]:
        if piece == "|":
            out.append(_checked(head, current, line))
            current = []
        elif piece[0] in "'\"":
            if len(piece) == 1 or piece[-1] != piece[0]:
                raise InputError(f"rules: a quotation mark without its pair in {line.strip()!r}")
            current.append((True, piece[1:-1]))
        elif piece[0] != "[":  # a probability: rules have weights of their own
            current.append((False, piece))
    return out


def _checked(head: str, right: list[tuple[bool, str]], shown: str) -> tuple[str, list[tuple[bool, str]]]:
    if not right:
        raise InputError(f"rules: {shown.strip()!r} derives nothing; empty (epsilon) rules are not supported")
    if any(word and not text for word, text in right):
        raise InputError(
            f"rules: {shown.strip()!r} has an empty word; empty (epsilon) rules are not supported"
        )
    words = [word for word, _ in right]
    if any(words) and words not in ([True], [True, False, True]):
        raise InputError(
            f"rules: {shown.strip()!r} mixes words and symbols; words stand alone (A -> 'x') or at both "
            "ends of one symbol (A -> 'x' B 'y')"
        )
    return head, right


def as_rules(productions: Iterable[tuple[str, list[tuple[bool, str]]]], start: str, side: str) -> list[Rule]:
    """Rules of the four forms; long ones are binarised."""
    out: dict[Rule, None] = {("root", escape(start)): None}
    defined: set[str] = set()
    used: dict[str, str] = {}
    for head, right in productions:
        defined.add(head)
        used |= {text: head for word, text in right if not word}
        names = [text if word else escape(text) for word, text in right]
        if right[0][0]:
            out["lexical" if len(right) == 1 else "wrap", escape(head), *names] = None
        elif len(right) == 1:
            out["unary", escape(head), names[0]] = None
        else:
            out |= dict.fromkeys(binarized(escape(head), names, side))
    for symbol, head in used.items():
        if symbol not in defined:
            raise InputError(
                f"rules: {symbol!r}, which {head!r} derives, has no rule; words need quotes: '{symbol}'"
            )
    if start not in defined:
        raise InputError(f"start: {start!r} has no rule")
    return list(out)


class WordMap:
    """From words to the terminals that stand for them.

    A word stands for itself or, if no rule derives it so, for a word that is the same in trees, where
    ``(`` is ``-LRB-``.

    Parameters
    ----------
    terminals : iterable of str
        Words and classes that rules derive.
    unknown : {"signature", None}
        Whether unknown words are found by their classes.
    """

    def __init__(self, terminals: Iterable[str], unknown: str | None):
        self.known = set(terminals)
        self.spelling = {escape_token(word): word for word in sorted(self.known)}
        self.has_classes = unknown is not None and any(word.startswith("<unk") for word in self.known)

    def find(self, word: str, at_start: bool) -> str | None:
        """The word in the spelling of the rules, its narrowest class that a rule derives, or None."""
        if word in self.known:
            return word
        shown = escape_token(word)
        if shown in self.spelling:
            return self.spelling[shown]
        if self.has_classes:
            return next((c for c in signatures(shown, at_start) if c in self.known), None)
        return None
