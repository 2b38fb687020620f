"""What treebanks say about a grammar: rules, words and how often they occur."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trelliswork import _trees as trees
from trelliswork._errors import InputError
from trelliswork.structures.grammar.known import is_open
from trelliswork.structures.grammar.shape import Rule, labels_of
from trelliswork.structures.grammar.space import GrammarSpace
from trelliswork.structures.grammar.tokens import spelled
from trelliswork.structures.grammar.words import UNKNOWN, signatures
from trelliswork.structures.survey import Survey

if TYPE_CHECKING:
    from trelliswork.structures.grammar.structure import Grammar

__all__ = ["GrammarSurvey"]

_WORDS = {"lexical": (2,), "wrap": (2, 4)}  # places of words in rules


@dataclass
class GrammarSurvey(Survey):
    """Rules and words of some sentences.

    Attributes
    ----------
    structure : Grammar
        Hyper-parameters.
    rules : dict
        Rules of their trees; in place of a word stands the word and whether it is the first of a sentence.
    roots : Counter
        Labels of the trees.
    words : Counter
        Words.
    n_sentences : int
        Number of sentences.
    as_nltk : bool
        Whether a tree is one of nltk.
    """

    structure: Grammar
    rules: dict[tuple[Any, ...], None] = field(default_factory=dict)
    roots: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    n_sentences: int = 0
    as_nltk: bool = False

    @classmethod
    def of(cls, structure: Grammar, sentences: list[list[Any]], y: Any) -> GrammarSurvey:
        """Survey of sentences and their trees, some of which may be known in part."""
        survey = cls(structure, n_sentences=len(sentences), as_nltk=any(map(trees.is_tree, y)))
        gold = [
            None if is_open(tree) else structure.tree_of(i, x, tree)
            for i, (x, tree) in enumerate(zip(sentences, y))
        ]
        for i, (x, tree) in enumerate(zip(sentences, gold)):
            words = spelled(x, structure.input)
            survey.words.update(words)
            if tree is None:
                continue
            places = {str(t): (word, t == 0) for t, word in enumerate(words)}.__getitem__
            used = structure.rules_of(i, tree, list(map(str, range(len(words)))))
            survey.rules |= dict.fromkeys(_with_words(rule, places) for rule in used)
            survey.roots[labels_of(used[0][1])[0]] += 1
        return survey

    def joined(self, other: GrammarSurvey) -> GrammarSurvey:
        """Rules and words of both."""
        return GrammarSurvey(
            self.structure,
            self.rules | other.rules,
            self.roots + other.roots,
            self.words + other.words,
            self.n_sentences + other.n_sentences,
            self.as_nltk or other.as_nltk,
        )

    def space(self) -> GrammarSpace:
        """Rules, in which rare words are replaced by their classes."""
        structure = self.structure
        if structure.rules is not None:
            return GrammarSpace(structure, *structure.given_rules(), self.as_nltk)
        classed = structure.input != "tags" and structure.unknown is not None
        common = {word for word, n in self.words.items() if n >= structure.min_count} if classed else None

        def written(part: tuple[str, bool]) -> str:
            return part[0] if common is None or part[0] in common else signatures(*part)[0]

        rules: dict[Rule, None] = {}
        classes: dict[tuple[str, str], None] = {}  # rare words: symbol and class
        for rule in self.rules:
            rules[_with_words(rule, written)] = None
            if rule[0] == "lexical" and common is not None and rule[2][0] not in common:
                classes |= {(rule[1], c): None for c in signatures(*rule[2])}
        if common is not None:
            if not classes:  # nothing is rare: any word may be unknown
                classes = {(rule[1], UNKNOWN): None for rule in rules if rule[0] == "lexical"}
            rules |= {("lexical", symbol, c): None for symbol, c in classes}
        if self.n_sentences and not self.roots:
            raise InputError(
                "no tree is known as a whole, so that there are no rules; give rules= to Grammar"
            )
        top = min(self.roots, key=lambda label: (-self.roots[label], label)) if self.roots else ""
        return GrammarSpace(structure, list(rules), top, self.as_nltk)


def _with_words(rule: tuple[Any, ...], word: Callable[[Any], Any]) -> tuple[Any, ...]:
    """A rule with something else in place of its words."""
    places = _WORDS.get(rule[0], ())
    return tuple(word(part) if k in places else part for k, part in enumerate(rule))
