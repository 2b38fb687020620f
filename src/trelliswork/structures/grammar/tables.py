"""Rules as the arrays of ``dp/grammar/rules.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork.dp.grammar.rules import Rules
from trelliswork.structures.grammar.shape import Rule, labels_of

__all__ = ["GrammarTables", "sorted_rules"]

_KINDS = ("root", "lexical", "unary", "binary", "wrap")
_MOST_LAYERED = 10_000_000  # unary rules of the recursions, which are made one by one
_MAX_CONTEXT = 1 << 24
_LENGTHS = {"root": 2, "lexical": 3, "unary": 3, "binary": 4, "wrap": 5}


def sorted_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Distinct rules in an order that depends on nothing else."""
    return sorted(set(rules), key=lambda rule: (_KINDS.index(rule[0]), rule[1:]))


class GrammarTables:
    """Rules with numbers for symbols and words.

    With ``max_unary`` every symbol with unary rules becomes several, one per number of unary
    rules that may still follow on the same words (``A #0``: none), and one that stands for any
    of them (``A #``), so that cycles of unary rules do no harm.

    Parameters
    ----------
    rules : list of Rule
        Rules in the order of their weights, see :func:`sorted_rules`.
    max_unary : int or None
        Most unary rules on the same words; None leaves them as they are, and refuses cycles.

    Attributes
    ----------
    arrays : Rules
        The rules of the recursions.
    feature : ndarray of shape (n_dp_rules,)
        Weight of each rule of the recursions; -1 for rules that stand for no rule of the grammar.
    terminals : dict
        Number of each word.
    symbols : list of str
        Symbols of the recursions, children of unary rules before their heads.
    """

    def __init__(self, rules: Sequence[Rule], max_unary: int | None = None):
        self.rules = list(rules)
        self.max_unary = max_unary
        self.place = {rule: i for i, rule in enumerate(self.rules)}
        self.terminals: dict[str, int] = {}
        for rule in self.rules:
            for word in _words(rule):
                self.terminals.setdefault(word, len(self.terminals))
        self._layered = set()
        if max_unary is not None:
            self._layered = {symbol for rule in self.rules if rule[0] == "unary" for symbol in rule[1:]}
            n_unary = sum(rule[0] == "unary" for rule in self.rules)
            if max_unary * n_unary > _MOST_LAYERED:
                raise InputError(
                    f"max_unary={max_unary} with {n_unary} unary rules takes a copy of each for every length "
                    f"of a chain, more than {_MOST_LAYERED:,}; chains of more than a few are rare: "
                    "lower max_unary"
                )
        expanded = self._expanded()
        self.symbols = _topological(expanded)
        self.number = {symbol: i for i, symbol in enumerate(self.symbols)}
        expanded.sort(key=lambda entry: self._key(entry[0]))
        self.feature = np.array([feature for _, feature in expanded], dtype=np.int64)
        self.dp_rules = [rule for rule, _ in expanded]
        self._dp_place = {rule: i for i, rule in enumerate(self.dp_rules)}
        self.arrays = self._arrays()
        self.word_class, self.context = self._neighbours()
        self.labels = [self._labels(symbol) for symbol in self.symbols]

    def _key(self, rule: Rule) -> tuple[int, ...]:
        """Order of the rules in the recursions: of binary rules by left, right, head."""
        kind = _KINDS.index(rule[0])
        if rule[0] == "binary":
            return (kind, *(self.number[s] for s in (rule[2], rule[3], rule[1])))
        if rule[0] == "lexical":
            return (kind, self.terminals[rule[2]], self.number[rule[1]])
        if rule[0] == "unary":
            return (kind, self.number[rule[2]], self.number[rule[1]])
        if rule[0] == "wrap":
            words = self.terminals[rule[2]], self.terminals[rule[4]]
            return (kind, self.number[rule[3]], self.number[rule[1]], *words)
        return (kind, self.number[rule[1]])

    def _expanded(self) -> list[tuple[Rule, int]]:
        """Rules of the recursions, each with the number of its weight."""
        out: list[tuple[Rule, int]] = []
        heads = {rule[1] for rule in self.rules if rule[0] == "unary"}
        depth = self.max_unary or 0
        for i, rule in enumerate(self.rules):
            if rule[0] == "unary" and self._layered:
                for layer in range(1, depth + 1):
                    if layer == 1 or rule[2] in heads:
                        out.append((("unary", f"{rule[1]} #{layer}", f"{rule[2]} #{layer - 1}"), i))
            elif self._layered:
                out.append((self._renamed(rule), i))
            else:
                out.append((rule, i))
        for symbol in sorted(self._layered):
            for layer in range(depth + 1 if symbol in heads else 1):
                out.append((("unary", f"{symbol} #", f"{symbol} #{layer}"), -1))
        return out

    def _renamed(self, rule: Rule) -> Rule:
        def head(symbol: str) -> str:
            return f"{symbol} #0" if symbol in self._layered else symbol

        if rule[0] == "root":
            return ("root", self._any(rule[1]))
        if rule[0] == "binary":
            return ("binary", head(rule[1]), self._any(rule[2]), self._any(rule[3]))
        if rule[0] == "wrap":
            return ("wrap", head(rule[1]), rule[2], self._any(rule[3]), rule[4])
        return (rule[0], head(rule[1]), *rule[2:])

    def _any(self, symbol: str) -> str:
        return f"{symbol} #" if symbol in self._layered else symbol

    def _labels(self, symbol: str) -> tuple[str, ...]:
        """Labels that a symbol of the recursions brackets."""
        if not self._layered:
            return labels_of(symbol)
        base, mark, layer = symbol.rpartition(" #")
        if mark and base in self._layered and (layer == "" or layer.isdigit()):
            return labels_of(base) if layer else ()
        return labels_of(symbol)

    # -- between rules and numbers -------------------------------------------------------------

    def codes(self, rules: Sequence[Rule]) -> list[int] | None:
        """Numbers of the rules of a tree in pre-order; None if the grammar lacks one of them."""
        if not self._layered:
            numbers = [self._dp_place.get(rule, -1) for rule in rules]
            return None if -1 in numbers else numbers
        out: list[int] = []
        inside = 0  # unary rules that are still to come on the same words
        for i, rule in enumerate(rules):
            chain = rule[0] == "unary"
            if rule[0] != "root" and rule[1] in self._layered and not inside:
                inside = next(j for j in range(i, len(rules)) if rules[j][0] != "unary") - i
                out.append(self._dp_place.get(("unary", f"{rule[1]} #", f"{rule[1]} #{inside}"), -1))
                inside += 1
            named = self._renamed(rule)
            if chain:
                named = ("unary", f"{rule[1]} #{inside - 1}", f"{rule[2]} #{inside - 2}")
            out.append(self._dp_place.get(named, -1))
            inside = max(inside - 1, 0)
        return None if -1 in out else out

    def decoded(self, codes: Iterable[int]) -> list[Rule]:
        """Rules of the grammar behind the rules of the recursions."""
        return [self.rules[f] for f in self.feature[np.asarray(codes, dtype=np.int64)].tolist() if f >= 0]

    def _arrays(self) -> Rules:
        number, words, n = self.number, self.terminals, len(self.symbols)
        by_kind: dict[str, list[tuple[int, Rule]]] = {kind: [] for kind in _KINDS}
        for i, rule in enumerate(self.dp_rules):
            by_kind[rule[0]].append((i, rule))
        roots = [(0, number[r[1]], i) for i, r in by_kind["root"]]
        lexical = [(words[r[2]], number[r[1]], i) for i, r in by_kind["lexical"]]
        unary = [(number[r[2]], number[r[1]], i) for i, r in by_kind["unary"]]
        left = [(number[r[2]], number[r[3]], number[r[1]], i) for i, r in by_kind["binary"]]
        right = [(number[r[3]], number[r[2]], number[r[1]], i) for i, r in by_kind["binary"]]
        wrap = [(number[r[3]], number[r[1]], words[r[2]], words[r[4]], i) for i, r in by_kind["wrap"]]
        below = [[number[s] for s in _symbols(r)[r[0] != "root" :]] for r in self.dp_rules]
        heads = [number[r[1]] for r in self.dp_rules]
        table = np.array(
            [[_KINDS.index(r[0]), *(b + [-1, -1])[:2], h] for r, b, h in zip(self.dp_rules, below, heads)]
        )
        return Rules(
            *_indexed(roots, 1, 3)[1:],
            *_indexed(lexical, len(words), 3),
            *_indexed(unary, n, 3),
            *_indexed(left, n, 4),
            *_indexed(right, n, 4),
            *_indexed(wrap, n, 5),
            *_columns(table.reshape(-1, 4)),
        )

    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of every word, and which classes may stand right before and right after each symbol.

        The last class is the border of the sentence. Words with the same lexical rules are one
        class. Nothing is told apart (one class, everything allowed) where the table would be large.
        """
        n = len(self.symbols)
        heads: list[set[int]] = [set() for _ in self.terminals]
        wrapped = set()
        for rule in self.dp_rules:
            if rule[0] == "lexical":
                heads[self.terminals[rule[2]]].add(self.number[rule[1]])
            elif rule[0] == "wrap":
                wrapped |= {self.terminals[rule[2]], self.terminals[rule[4]]}
        groups: dict[object, int] = {}
        keys = [(tuple(sorted(above)), x if x in wrapped else -1) for x, above in enumerate(heads)]
        word_class = np.array([groups.setdefault(key, len(groups)) for key in keys], dtype=np.int32)
        if n * (len(groups) + 1) > _MAX_CONTEXT:
            return np.zeros(len(heads), dtype=np.int32), np.ones((2, n, 2), dtype=np.uint8)
        border = len(groups)
        first = np.zeros((n, border + 1), dtype=bool)
        last, before, after = first.copy(), first.copy(), first.copy()
        top_left, top_right, beside = [], [], []
        for rule in self.dp_rules:
            below = [self.number[s] for s in _symbols(rule)]
            words = [word_class[self.terminals[x]] for x in _words(rule)]
            if rule[0] == "root":
                before[below[0], border] = after[below[0], border] = True
            elif rule[0] == "lexical":
                first[below[0], words[0]] = last[below[0], words[0]] = True
            elif rule[0] == "wrap":
                first[below[0], words[0]] = last[below[0], words[1]] = True
                before[below[1], words[0]] = after[below[1], words[1]] = True
            else:
                top_left.append((below[0], below[1]))
                top_right.append((below[0], below[-1]))
                beside += [(below[1], below[2])] if len(below) == 3 else []
        opens, closes, next_to = (_links(pairs, n) for pairs in (top_left, top_right, beside))
        first, last = _closure(opens, first), _closure(closes, last)
        before |= (next_to.T @ last.astype(np.int32)) > 0
        after |= (next_to @ first.astype(np.int32)) > 0
        before, after = _closure(opens.T.tocsr(), before), _closure(closes.T.tocsr(), after)
        return word_class, np.stack([before, after]).astype(np.uint8)


def _links(pairs: list[tuple[int, int]], n: int) -> sp.csr_matrix:
    row, column = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return sp.csr_matrix((np.ones(row.size, dtype=np.int32), (row, column)), (n, n))


def _closure(links: sp.csr_matrix, table: np.ndarray) -> np.ndarray:
    """Least table that contains the given one and, in each row, the rows that it is linked to."""
    while True:
        larger = table | ((links @ table.astype(np.int32)) > 0)
        if np.array_equal(larger, table):
            return table
        table = larger


def _indexed(rows: Sequence[tuple[int, ...]], n: int, width: int) -> tuple[np.ndarray, ...]:
    """Offsets by the first column, then the other columns, in that order."""
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, width)
    pointer = offsets_of(np.bincount(table[:, 0], minlength=n)).astype(np.int32)
    return (pointer, *_columns(table[:, 1:]))


def _columns(table: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(column, dtype=np.int32) for column in table.T]


def _words(rule: Rule) -> tuple[str, ...]:
    if rule[0] == "lexical":
        return (rule[2],)
    return (rule[2], rule[4]) if rule[0] == "wrap" else ()


def _symbols(rule: Rule) -> tuple[str, ...]:
    if rule[0] == "lexical":
        return (rule[1],)
    return (rule[1], rule[3]) if rule[0] == "wrap" else rule[1:]


def _topological(rules: list[tuple[Rule, int]]) -> list[str]:
    """All symbols, children of unary rules before their heads; by name where that is free."""
    below: dict[str, list[str]] = {}
    for rule, _ in rules:
        for symbol in _symbols(rule):
            below.setdefault(symbol, [])
        if rule[0] == "unary":
            below[rule[1]].append(rule[2])
    order: list[str] = []
    done: dict[str, bool] = {}
    for start in sorted(below):
        if start in done:
            continue
        done[start] = False
        path = [(start, iter(sorted(below[start])))]
        while path:
            symbol, rest = path[-1]
            for child in rest:
                if child not in done:
                    done[child] = False
                    path.append((child, iter(sorted(below[child]))))
                    break
                if not done[child]:
                    cycle = [s for s, _ in path[[s for s, _ in path].index(child) :]]
                    raise InputError(
                        f"the unary rules make a cycle, {' -> '.join([*cycle, child])}, so that trees may be "
                        "endless; set max_unary, or unary='collapse' when rules come from trees"
                    )
            else:
                done[symbol] = True
                order.append(symbol)
                path.pop()
    return order


def check_rule(rule: object) -> Rule:
    """A rule as a tuple of strings, or an error."""
    if (
        not isinstance(rule, tuple)
        or not rule
        or not all(isinstance(item, str) for item in rule)
        or len(rule) != _LENGTHS.get(rule[0], -1)
    ):
        raise InputError(
            f"unknown feature {rule!r}; grammars have ('root', A), ('lexical', A, word), ('unary', A, B), "
            "('binary', A, B, C) and ('wrap', A, word, B, word)"
        )
    return rule
