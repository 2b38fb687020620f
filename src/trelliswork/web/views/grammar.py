"""Parse trees."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork._trees import Node, as_node
from trelliswork.cli.tasks.parse import tokens_of
from trelliswork.web.limits import Refused
from trelliswork.web.views.base import View

__all__ = ["GrammarView"]

_LISTED = 2000  # brackets with their probabilities
_DEEPEST_DRAWING = 200


class GrammarView(View):
    """Sentences with their trees."""

    name = "tree"
    hint = "a sentence, with blanks between its tokens"
    takes_known = True

    def __init__(self, opened: Any):
        super().__init__(opened)
        rules = self.learner.space_.rules
        self._tagged = self.learner.structure.input == "tags"
        self._rules = sum(rule[0] != "lexical" for rule in rules)
        self._labels = {str(part) for rule in rules if rule[0] != "lexical" for part in rule[1:]}
        self._labels |= {str(rule[1]) for rule in rules}

    def read(self, given: Any) -> Any:
        """Tokens, separated by blanks; ``word/TAG`` or pairs for a model of tags."""
        tokens = given.split() if isinstance(given, str) else given
        if not isinstance(tokens, list) or not all(isinstance(token, (str, list)) for token in tokens):
            raise InputError(f"expected {self.hint}")
        if not tokens:
            raise InputError("expected at least one token")
        return [self._token(token) for token in tokens]

    def _token(self, token: Any) -> Any:
        if isinstance(token, list):
            if len(token) != 2 or not all(isinstance(part, str) for part in token):
                raise InputError("expected tokens as texts or pairs of word and tag")
            return tuple(token)
        return tokens_of([token], self._tagged)[0]

    def known(self, given: Any, x: Any) -> Any:
        """Brackets ``[label or null, start, end]``."""
        if not isinstance(given, list):
            raise InputError("known must be a list of brackets [label, start, end]")
        out = set()
        for bracket in given:
            fine = (
                isinstance(bracket, list) and len(bracket) == 3 and isinstance(bracket[0], (str, type(None)))
            )
            if not fine or not all(type(i) is int for i in bracket[1:]):
                raise InputError("known must be a list of brackets [label or null, start, end]")
            out.add(tuple(bracket))
        return out

    def seconds(self, x: Any) -> float:
        """By the cube of the length and the number of rules."""
        return 1e-3 + len(x) ** 3 * (2e-8 + 4e-10 * self._rules)

    def shown(self, x: Any) -> int:
        """The likely ones of all brackets."""
        return _LISTED

    def check_shown(self, x: Any) -> None:
        """A probability for every bracket."""
        if len(x) > 400:
            raise Refused(422, f"{len(x):,} tokens are too many to send all brackets of; at most 400")

    def input(self, x: Any) -> Any:
        """Words."""
        return [token if isinstance(token, str) else token[0] for token in x]

    def output(self, x: Any, y: Any) -> Any:
        """Brackets as text."""
        return None if y is None else str(y)

    def drawn(self, x: Any, y: Any) -> dict[str, Any]:
        """The tree as nested lists ``[label, child, ...]``; None where it is too deep to be drawn."""
        return {"tree": None if y is None else _nested(as_node(str(y)))}

    def marginals(self, x: Any, p: Any) -> Any:
        """``[label, start, end, probability]`` of every bracket."""
        rows = sorted(p.items(), key=lambda item: -item[1])[:_LISTED]
        return [[str(a), int(i), int(j), round(float(v), 5)] for (a, i, j), v in rows if v >= 1e-3]


def _nested(node: Node) -> list[Any] | None:
    """Without recursion: trees of long sentences are deep."""
    out: list[Any] = [node.label]
    stack = [(out, node, 1)]
    while stack:
        into, here, depth = stack.pop()
        if depth > _DEEPEST_DRAWING:
            return None
        for child in here.children:
            if isinstance(child, Node):
                below: list[Any] = [child.label]
                into.append(below)
                stack.append((below, child, depth + 1))
            else:
                into.append(str(child))
    return out
