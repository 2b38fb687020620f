"""Rules of a grammar after seeing data: sentences and trees to codes and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trelliswork import _trees as trees
from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, lengths, whole
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.grammar.batch import GrammarBatch
from trelliswork.structures.grammar.brackets import Brackets
from trelliswork.structures.grammar.forest import ForestStore
from trelliswork.structures.grammar.known import KnownBrackets, is_open, read_brackets
from trelliswork.structures.grammar.shape import Rule, Writer, tree_of
from trelliswork.structures.grammar.spans import SpanName, SpanTable, check_kinds, check_name, span_values
from trelliswork.structures.grammar.tables import GrammarTables, check_rule, sorted_rules
from trelliswork.structures.grammar.tokens import check_inputs, short, spelled, terminals, tokens
from trelliswork.structures.grammar.words import WordMap
from trelliswork.structures.known import check_known

if TYPE_CHECKING:
    from trelliswork.structures.grammar.structure import Grammar

__all__ = ["GrammarSpace"]

_STORED = {
    "gold": whole("rules of the trees", high="rules"),
    "gold_lengths": lengths("sentences", "rules of the trees"),
}


class GrammarSpace(Space):
    """Rules of a :class:`Grammar` after seeing data.

    Parameters
    ----------
    structure : Grammar
        Hyper-parameters.
    rules : list of tuple
        Rules, which are also the names of the weights.
    top : str
        Label of the trees of sentences without any tree.
    as_nltk : bool
        Whether outputs are nltk trees.
    spans : list of tuple
        Names of span features: ``("span", kind, value, symbol)``.
    """

    structure: Grammar

    def __init__(
        self,
        structure: Grammar,
        rules: Sequence[Rule],
        top: str,
        as_nltk: bool,
        spans: Sequence[SpanName] = (),
    ):
        self.structure = structure
        self.rules = sorted_rules(rules)
        self.top = top
        self.as_nltk = as_nltk
        self.grammar = GrammarTables(self.rules, structure.max_unary)
        self.beam = np.inf if structure.beam is None else float(structure.beam)
        self.rule_kind, self.rule_head = self.grammar.arrays.kind, self.grammar.arrays.head.astype(np.int64)
        self.brackets = Brackets(self.grammar)
        kinds = [rule[0] for rule in self.grammar.dp_rules]
        heads = self.rule_head.tolist()
        labels = [() if kind == "root" else self.grammar.labels[h] for kind, h in zip(kinds, heads)]
        self._writer = Writer(kinds, labels)
        kinds_of_spans = check_kinds(structure.span_features)
        self.spans = SpanTable(sorted(set(spans)), self.grammar.symbols, kinds_of_spans, structure.input)
        self._words = WordMap(self.grammar.terminals, structure.unknown)

    @property
    def n_features(self) -> int:
        """Number of rules and span features."""
        return len(self.rules) + len(self.spans)

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """The rules: ``("binary", A, B, C)``, ``("lexical", A, word)``, and so on; then span features."""
        return [*self.rules, *self.spans.names]

    def with_spans(self, X: Any, y: Any) -> GrammarSpace:
        """The space with the span features of true trees."""
        batch = self.pack(X, y)
        names: dict[SpanName, None] = {}
        symbols = self.grammar.symbols
        for i in range(len(batch)):
            row = batch.gold_codes[i]
            row = row[self.rule_kind[row] != 0] if batch.known is None or batch.known[i] is None else row[:0]
            if not row.size:
                continue
            start, end = batch._spans(batch.gold_codes[i])
            inner = self.rule_kind[batch.gold_codes[i]] != 0
            heads = [symbols[h] for h in self.rule_head[row]]
            kinds = self.spans.kinds
            for kind, values in span_values(
                batch.inputs[i], self.structure.input, kinds, start[inner], end[inner]
            ):
                names |= {("span", kind, v, h): None for v, h in zip(values, heads, strict=True)}
        return GrammarSpace(self.structure, self.rules, self.top, self.as_nltk, list(names))

    def pack(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        n_jobs: int | None = None,
        known: Any = None,
        unknown: str = "error",
    ) -> GrammarBatch:
        """Compile sentences and, where given, their trees.

        Parameters
        ----------
        X : list of token lists
            Sentences.
        y : list of trees or None
            True trees, or sets of brackets that they have.
        n_jobs : int or None
            Threads of the batch's verbs.
        known : list or None
            Instead of ``y``: brackets of every tree, or whole trees.
        unknown : {"error", "mark"}
            What to do with trees of the sentence that are not of this grammar, and with None: refuse
            them, or give them no codes and the score -inf.
        """
        inputs = [tokens(i, x) for i, x in enumerate(check_inputs(X))]
        kept = [self.terminals(x) for x in inputs]
        number = self.grammar.terminals
        words = [np.array([-1 if w is None else number[w] for w in row], dtype=np.int64) for row in kept]
        store = ForestStore(self.grammar, words, self.structure.limits)
        batch = GrammarBatch(self, inputs, store, np.arange(len(inputs)), None, n_jobs)
        if known is not None:
            check_known(known, len(inputs))
            batch.known = [self._brackets(i, inputs[i], entry) for i, entry in enumerate(known)]
        elif y is not None:
            if not hasattr(y, "__len__") or len(y) != len(inputs):
                got = len(y) if hasattr(y, "__len__") else type(y).__name__
                raise InputError(f"X has {len(inputs)} samples but y has {got}")
            strict = unknown == "error"
            opened = [is_open(tree) and (strict or tree is not None) for tree in y]
            rows = [
                None if opened[i] else self._encode(i, inputs[i], kept[i], tree, unknown)
                for i, tree in enumerate(y)
            ]
            entries = [self._brackets(i, inputs[i], t) if opened[i] else None for i, t in enumerate(y)]
            batch.settle(rows, entries, strict)
        return batch

    def _brackets(self, i: int, x: list[Any], known: Any) -> KnownBrackets:
        """Brackets of a tree that are known; of a whole tree all of them."""
        if not is_open(known):
            known = set(trees.brackets(self.structure.tree_of(i, x, known), tagged=True))
        return read_brackets(i, known, len(x))

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether a tree has all known brackets."""
        brackets: set[Any] = set(trees.brackets(trees.as_node(y), tagged=True))
        brackets |= {(None, start, end) for _, start, end in brackets}
        return brackets.issuperset(self._brackets(0, tokens(0, x), known))

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> Any:
        """The brackets and tags that stay known, every third without its label."""
        if share == 0:
            return y
        kept = [b for b in self._brackets(0, tokens(0, x), y) if rng.random() >= share]
        return {(None if rng.random() < 1 / 3 else label, start, end) for label, start, end in kept}

    def terminals(self, x: Sequence[Any]) -> list[str | None]:
        """What stands for the tokens of a sentence in the rules; None for what no rule derives."""
        words = terminals(x, self.structure.input)
        return [self._words.find(word, t == 0) for t, word in enumerate(words)]

    def _encode(self, i: int, x: list[Any], words: list[str | None], value: Any, unknown: str) -> np.ndarray:
        if value is None and unknown == "mark":  # what ``no_parse="none"`` predicts
            return np.zeros(0, dtype=np.int64)
        tree = self.structure.tree_of(i, x, value)
        try:
            rules = self.structure.rules_of(i, tree, [w or "" for w in words])
        except InputError:
            if unknown == "error":
                raise
            return np.zeros(0, dtype=np.int64)
        codes = self.grammar.codes(rules)
        if codes is None:
            if unknown == "error":
                missing = [rule for rule in rules if rule not in self.grammar.place]
                why = f"there is no rule {_shown(missing[0])}" if missing else "too many unary rules in a row"
                raise InputError(f"the tree {short(value)} is not one of this grammar: {why}", sample=i)
            return np.zeros(0, dtype=np.int64)
        return np.array(codes, dtype=np.int64)

    def tree(self, x: Sequence[Any], codes: np.ndarray) -> trees.Node:
        """Tree of the given rules; all words below one phrase where there are none."""
        if not codes.size:
            return self._flat(x)
        return tree_of(self.grammar.decoded(codes), iter(spelled(x)))

    def output(self, x: Sequence[Any], codes: np.ndarray, sample: int = 0) -> Any:
        """Tree as the user has it; what ``no_parse`` says where there are no rules."""
        if not codes.size:
            if self.structure.no_parse == "error":
                words = short(" ".join(spelled(x)))
                raise InputError(f"no parse: the grammar derives no tree for {words}", sample=sample)
            if self.structure.no_parse == "none":
                return None
        if codes.size and not self.as_nltk:
            return self._writer.text(codes.tolist(), spelled(x))
        tree = self.tree(x, codes)
        return trees.to_nltk(tree) if self.as_nltk else trees.to_string(tree)

    def _flat(self, x: Sequence[Any]) -> trees.Node:
        """All words below one phrase."""
        tags = spelled(x, "tags") if self.structure.input == "tags" else ["X"] * len(x)
        return trees.Node(self.top, [trees.Node(tag, [word]) for tag, word in zip(tags, spelled(x))])

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every tree of one tiny sentence, by plain recursion over the rules."""
        sentence = tokens(0, x)
        words, n = self.terminals(sentence), len(sentence)
        by_head: dict[str, list[tuple[int, Rule]]] = {}
        for r, rule in enumerate(self.grammar.dp_rules):
            if rule[0] != "root":
                by_head.setdefault(rule[1], []).append((r, rule))

        def derive(symbol: str, i: int, j: int) -> Iterator[list[int]]:
            for r, rule in by_head.get(symbol, ()):
                if rule[0] == "lexical" and j == i + 1 and words[i] == rule[2]:
                    yield [r]
                elif rule[0] == "unary":
                    yield from ([r, *below] for below in derive(rule[2], i, j))
                elif rule[0] == "wrap" and j - i > 2 and (words[i], words[j - 1]) == (rule[2], rule[4]):
                    yield from ([r, *below] for below in derive(rule[3], i + 1, j - 1))
                elif rule[0] == "binary":
                    for k in range(i + 1, j):
                        right = list(derive(rule[3], k, j)) if j - k < n else []
                        for left in derive(rule[2], i, k) if right else ():
                            yield from ([r, *left, *other] for other in right)

        for r, rule in enumerate(self.grammar.dp_rules):
            if rule[0] == "root":
                for codes in derive(rule[1], 0, n):
                    yield self.output(sentence, np.array([r, *codes], dtype=np.int64))

    def merged(self, other: Space) -> GrammarSpace:
        """Space with the rules of both."""
        assert isinstance(other, GrammarSpace)
        rules = [*self.rules, *other.rules]
        spans = [*self.spans.names, *other.spans.names]
        return GrammarSpace(self.structure, rules, self.top or other.top, self.as_nltk, spans)

    @property
    def outputs_fixed(self) -> bool:
        """Whether the rules were given, so that more data add none."""
        return self.structure.rules is not None

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> GrammarBatch:
        """Batch from its state; a file is not trusted, so trees are checked."""
        inputs = [[tuple(t) if isinstance(t, list) else t for t in x] for x in state["inputs"]]
        batch = self.pack(inputs, n_jobs=n_jobs)
        stored = fitting(state, _STORED, "trees", sentences=len(inputs), rules=self.rule_kind.size)
        gold = Ragged(stored["gold"], offsets_of(stored["gold_lengths"]))
        rows = [self.output(x, row) for x, row in zip(inputs, gold)]
        batch = self.pack(inputs, rows, n_jobs=n_jobs) if inputs else batch
        known = state.get("known")
        if known is not None:
            check_known(known, len(inputs))
            batch.known = [
                None if entry is None else read_brackets(i, {tuple(b) for b in entry}, len(inputs[i]))
                for i, entry in enumerate(known)
            ]
        return batch

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Rules with the largest weights, by kind."""
        by_kind: dict[str, Any] = {}
        names = self.feature_names
        for i in np.argsort(-np.abs(weights), kind="stable").tolist():
            rows = by_kind.setdefault(names[i][0], [])
            if len(rows) < top:
                rows.append((_shown(names[i]), float(weights[i])))
        kinds = ("root", "binary", "unary", "wrap", "lexical", "span")
        return {"top": {kind: by_kind[kind] for kind in kinds if kind in by_kind}}

    def state(self) -> dict[str, Any]:
        """Rules, the label of last resort and the kind of outputs."""
        state = {"grammar": [list(rule) for rule in self.rules], "top": self.top, "nltk": self.as_nltk}
        return state | ({"spans": [list(name) for name in self.spans.names]} if len(self.spans) else {})

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> GrammarSpace:
        """Build the space again."""
        rules = [check_rule(tuple(rule)) for rule in state["grammar"]]
        if len(set(rules)) != len(rules):
            raise InputError("a rule occurs twice")
        spans = [check_name(tuple(name)) for name in state.get("spans", [])]
        return cls(cast("Grammar", structure), rules, str(state["top"]), bool(state["nltk"]), spans)


def _shown(rule: Any) -> str:
    if rule[0] == "span":
        return f"{rule[3]}: {rule[1]} {rule[2]!r}"
    if rule[0] == "lexical":
        return f"{rule[1]} -> {rule[2]!r}"
    if rule[0] == "wrap":
        return f"{rule[1]} -> {rule[2]!r} {rule[3]} {rule[4]!r}"
    return f"root -> {rule[1]}" if rule[0] == "root" else f"{rule[1]} -> {' '.join(rule[2:])}"
