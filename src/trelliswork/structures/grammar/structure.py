"""Parse trees: context-free grammars, given or read off a treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork import _trees as trees
from trelliswork._counts.brackets import bracket_scores
from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.grammar.batch import GrammarBatch
from trelliswork.structures.grammar.brackets import Brackets
from trelliswork.structures.grammar.forest import ForestStore
from trelliswork.structures.grammar.shape import Rule, Shape, Writer, labels_of, rules_of, tree_of
from trelliswork.structures.grammar.tables import GrammarTables, check_rule, sorted_rules
from trelliswork.structures.grammar.tokens import (
    check_inputs,
    difference,
    short,
    spelled,
    tagged,
    terminals,
    tokens,
)
from trelliswork.structures.grammar.words import UNKNOWN, WordMap, as_rules, read_rules, signatures
from trelliswork.structures.limits import GrammarLimits

__all__ = ["Grammar", "GrammarSpace"]


class Grammar(Structure):
    """Parse trees of sentences under a context-free grammar.

    The score of a tree is the sum of the weights of its rules: a probabilistic grammar with
    :class:`Generative`, a log-linear grammar with :class:`CRF`, and so on. Rules are read off
    the trees of the training data, or given.

    Parameters
    ----------
    rules : str, list, nltk grammar or None, default=None
        None reads them off the trees. Otherwise lines such as ``"S -> NP VP"`` and
        ``"N -> 'dog' | 'cat'"`` (one string, or a list), pairs ``("S", ["NP", "VP"])`` in which
        what is no head is a word, or an ``nltk.CFG``. A rule derives one word, any number of
        symbols, or a symbol between two words. Probabilities in brackets are passed over.
    input : {"words", "tags"}, default="words"
        What is parsed. With "tags" the tokens are part-of-speech tags, or pairs (word, tag); a
        tag without its word is its own word in the output, as in ``(NP (DT DT) (NN NN))``.
    start : str or None, default=None
        Symbol of whole trees, for given rules; by default the head of the first rule.
    unary : {"collapse", "strict", "keep"}, default="collapse"
        Nodes with one child, in trees: a chain of phrases becomes one symbol; "strict" does so
        down to the tag, so that no unary rule is left (Chomsky normal form); "keep" has a rule
        for each. All are undone in the output, and do not concern given rules.
    max_unary : int or None, default=None
        Most unary rules in a row. Needed for rules that make a cycle (A -> B, B -> A), which
        would allow endless trees.
    binarize : {"right", "left"}, default="right"
        How rules with more than two children are split; undone in the output.
    horizontal : int or None, default=None
        How many of the next children the symbol of a split rule remembers; None for all of
        them, in which case no tree is added to those of the unsplit rules.
    vertical : int, default=1
        Labels that a phrase remembers: 2 tells an NP below S from one below VP.
    functions, empty : bool, default=False
        Keep function tags (``NP-SBJ``) and empty elements (``-NONE-``) of Penn trees.
    unknown : {"signature", None}, default="signature"
        Words that were not seen: by classes of capitals, digits, hyphens and endings; or no
        tree. Given rules have classes if they derive ``'<unk>'``.
    min_count : int, default=2
        Rarer words are replaced by their classes in training, which is how these are learned.
    no_parse : {"flat", "none", "error"}, default="flat"
        Output for sentences without any tree: all words below one phrase (of the most frequent
        label of whole trees, tags ``X``), None, or an error.
    beam : float or None, default=None
        Prediction drops phrases whose score is worse than the best over the same words by more
        than this: faster, but the tree may be second best or missing. None is exact.

    Notes
    -----
    ``X`` is a list of token lists, ``y`` a list of bracketed strings or of ``nltk.Tree``; outputs
    are of the same kind. ``predict_mea`` gives the trees with most expected brackets instead of
    the most probable ones (max-recall). ``predict_marginals`` gives, for every labelled span,
    the expected number of times that a tree has it: its probability, unless trees may repeat a
    label over the same words, as in ``(NP (NP ...))``, which counts 2. Where several
    derivations have one tree (only possible with given rules), probabilities are those of
    derivations. Ties go to the earliest split. The loss that learners
    use counts predicted brackets and tags that the true tree lacks.

    Examples
    --------
    >>> from trelliswork import CRF, Grammar
    >>> X = [["the", "dog", "sleeps"], ["a", "cat", "sees", "the", "dog"]]
    >>> y = ["(S (NP (D the) (N dog)) (VP (V sleeps)))",
    ...      "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))"]
    >>> parser = CRF(Grammar(min_count=1)).fit(X, y)
    >>> parser.predict([["the", "cat", "sees", "a", "bird"]])
    ['(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (N bird))))']

    A grammar by hand, with weights:

    >>> from trelliswork import Fixed
    >>> grammar = Grammar("S -> S S | 'a'")
    >>> model = Fixed(grammar, {("binary", "S", "S", "S"): -1.0})
    >>> len(model.predict_kbest([list("aaaa")], k=10)[0])
    5
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = GrammarBatch
    output_kind: ClassVar[str] = "parse tree"
    limits: GrammarLimits = GrammarLimits()

    def __init__(
        self,
        rules: Any = None,
        *,
        input: str = "words",
        start: str | None = None,
        unary: str = "collapse",
        max_unary: int | None = None,
        binarize: str = "right",
        horizontal: int | None = None,
        vertical: int = 1,
        functions: bool = False,
        empty: bool = False,
        unknown: str | None = "signature",
        min_count: int = 2,
        no_parse: str = "flat",
        beam: float | None = None,
    ):
        self.rules = rules
        self.input = input
        self.start = start
        self.unary = unary
        self.max_unary = max_unary
        self.binarize = binarize
        self.horizontal = horizontal
        self.vertical = vertical
        self.functions = functions
        self.empty = empty
        self.unknown = unknown
        self.min_count = min_count
        self.no_parse = no_parse
        self.beam = beam

    @property
    def shape(self) -> Shape:
        """How trees become rules; given rules are taken as they are."""
        if self.rules is not None:
            return Shape("keep", self.binarize, None, 1)
        return Shape(self.unary, self.binarize, self.horizontal, self.vertical)

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        choices = {
            "input": ("words", "tags"),
            "unary": ("collapse", "strict", "keep"),
            "binarize": ("right", "left"),
            "unknown": ("signature", None),
            "no_parse": ("flat", "none", "error"),
        }
        for name, values in choices.items():
            if getattr(self, name) not in values:
                raise InputError(
                    f"{name} must be one of {', '.join(map(repr, values))}, got {getattr(self, name)!r}"
                )
        least = {"vertical": 1, "min_count": 1, "horizontal": 0, "max_unary": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if value is None and name in ("horizontal", "max_unary"):
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < low:
                raise InputError(f"{name} must be a whole number >= {low}, got {value!r}")
        if self.beam is not None and not (isinstance(self.beam, (int, float, np.number)) and self.beam > 0):
            raise InputError(f"beam must be None or a number > 0, got {self.beam!r}")
        if self.rules is not None:
            self._given_rules()

    def bind(self, X: Any, y: Any) -> GrammarSpace:
        """Read the rules off the trees, or take the given ones."""
        self.check()
        sentences = [tokens(i, x) for i, x in enumerate(check_inputs(X))]
        as_nltk = any(trees.is_tree(tree) for tree in (y if y is not None else ()))
        if self.rules is not None:
            return GrammarSpace(self, *self._given_rules(), as_nltk)
        if y is None:
            raise InputError("Grammar() reads its rules off trees: give y, or rules=")
        if len(y) != len(sentences):
            raise InputError(f"X has {len(sentences)} samples but y has {len(y)}")
        gold = [self._tree(i, x, tree) for i, (x, tree) in enumerate(zip(sentences, y))]
        common = self._common(sentences)
        rules: dict[Rule, None] = {}
        roots: Counter[str] = Counter()
        classes: dict[tuple[str, str], None] = {}  # rare words: symbol and class
        for i, (x, tree) in enumerate(zip(sentences, gold)):
            words = spelled(x, self.input)
            seen = [
                w if common is None or w in common else signatures(w, t == 0)[0] for t, w in enumerate(words)
            ]
            own = self._rules(i, tree, seen)
            rules |= dict.fromkeys(own)
            roots[labels_of(own[0][1])[0]] += 1
            if common is not None and seen != words:
                for rule in self._rules(i, tree, list(map(str, range(len(words))))):
                    if rule[0] == "lexical" and words[t := int(rule[2])] not in common:
                        classes |= {(rule[1], c): None for c in signatures(words[t], t == 0)}
        if common is not None:
            if not classes:  # nothing is rare: any word may be unknown
                classes = {(rule[1], UNKNOWN): None for rule in rules if rule[0] == "lexical"}
            rules |= {("lexical", symbol, c): None for symbol, c in classes}
        top = min(roots, key=lambda label: (-roots[label], label)) if roots else ""
        return GrammarSpace(self, list(rules), top, as_nltk)

    def symbols(self, X: Any) -> list[Any]:
        """The words, or the tags where these are parsed, as they stand in trees."""
        return [spelled(tokens(i, x), self.input) for i, x in enumerate(check_inputs(X))]

    def bind_names(self, names: Sequence[Any]) -> GrammarSpace:
        """Rules from the names of given weights."""
        self.check()
        if self.rules is not None:
            return GrammarSpace(self, *self._given_rules(), False)
        rules = [check_rule(name) for name in names]
        roots = [labels_of(rule[1]) for rule in rules if rule[0] == "root"]
        if not roots:
            raise InputError("the weights name no ('root', A): no symbol of whole trees")
        return GrammarSpace(self, rules, roots[0][0], False)

    def _given_rules(self) -> tuple[list[Rule], str]:
        """The rules that were given, and the symbol of whole trees."""
        productions, first = read_rules(self.rules)
        top = self.start or first
        return as_rules(productions, top, self.binarize), top

    def _common(self, sentences: list[list[Any]]) -> set[str] | None:
        """Words that are frequent enough for rules of their own; None if all terminals are known."""
        if self.input == "tags" or self.unknown is None:
            return None
        counts = Counter(word for x in sentences for word in spelled(x, self.input))
        return {word for word, n in counts.items() if n >= self.min_count}

    def _rules(self, i: int, tree: trees.Node, words: Sequence[str]) -> list[Rule]:
        try:
            return rules_of(tree, words, self.shape)
        except InputError as error:
            raise InputError(error.message, sample=i) from None

    def _tree(self, i: int, x: list[Any], value: Any) -> trees.Node:
        """True tree of a sentence, normalised, with a tag above every word."""
        try:
            given = self.rules is not None
            tree = trees.normalized(
                trees.as_node(value), functions=self.functions or given, empty=self.empty or given
            )
            if tree is None:
                raise InputError("the tree has no words but empty elements")
            if self.input == "words":
                if spelled(x) != [trees.escape_token(w) for w in trees.leaves(tree)]:
                    raise InputError(difference(terminals(x, "words"), trees.leaves(tree), "words"))
                return tree
            return tagged(x, tree)
        except InputError as error:
            raise InputError(error.message, sample=i) from None

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Three short trees."""
        X = [["a", "b", "c"], ["c", "a"], ["c"]]
        yield cls(), X, ["(S (A a) (B b) (C c))", "(S (C c) (A a))", "(S (C c))"]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """F1 of labelled brackets, roots included; share of right tags if no tree has a bracket."""
        report = bracket_scores(y_true, y_pred, sample_weight=sample_weight)
        return report.f1 if report.n_true or report.n_predicted else report.tags


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
    """

    structure: Grammar

    def __init__(self, structure: Grammar, rules: Sequence[Rule], top: str, as_nltk: bool):
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
        self._words = WordMap(self.grammar.terminals, structure.unknown)

    @property
    def n_features(self) -> int:
        """Number of rules."""
        return len(self.rules)

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """The rules: ``("binary", A, B, C)``, ``("lexical", A, word)``, and so on."""
        return list(self.rules)

    def pack(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        n_jobs: int | None = None,
        unknown: str = "error",
    ) -> GrammarBatch:
        """Compile sentences and, where given, their trees.

        Parameters
        ----------
        X : list of token lists
            Sentences.
        y : list of trees or None
            True trees.
        n_jobs : int or None
            Threads of the batch's verbs.
        unknown : {"error", "mark"}
            What to do with trees of the sentence that are not of this grammar, and with None: refuse
            them, or give them no codes and the score -inf.
        """
        inputs = [tokens(i, x) for i, x in enumerate(check_inputs(X))]
        kept = [self.terminals(x) for x in inputs]
        number = self.grammar.terminals
        words = [np.array([-1 if w is None else number[w] for w in row], dtype=np.int64) for row in kept]
        gold = None
        if y is not None:
            if not hasattr(y, "__len__") or len(y) != len(inputs):
                got = len(y) if hasattr(y, "__len__") else type(y).__name__
                raise InputError(f"X has {len(inputs)} samples but y has {got}")
            rows = [self._encode(i, inputs[i], kept[i], y[i], unknown) for i in range(len(y))]
            gold = Ragged.from_list(rows, np.int64)
        store = ForestStore(self.grammar, words, self.structure.limits)
        return GrammarBatch(self, inputs, store, np.arange(len(inputs)), gold, n_jobs)

    def terminals(self, x: Sequence[Any]) -> list[str | None]:
        """What stands for the tokens of a sentence in the rules; None for what no rule derives."""
        words = terminals(x, self.structure.input)
        return [self._words.find(word, t == 0) for t, word in enumerate(words)]

    def _encode(self, i: int, x: list[Any], words: list[str | None], value: Any, unknown: str) -> np.ndarray:
        if value is None and unknown == "mark":  # what ``no_parse="none"`` predicts
            return np.zeros(0, dtype=np.int64)
        tree = self.structure._tree(i, x, value)
        try:
            rules = self.structure._rules(i, tree, [w or "" for w in words])
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
        own = spelled(x, "tags") if self.structure.input == "tags" else ["X"] * len(x)
        return trees.Node(self.top, [trees.Node(tag, [word]) for tag, word in zip(own, spelled(x))])

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
        return GrammarSpace(self.structure, rules, self.top or other.top, self.as_nltk)

    @property
    def outputs_fixed(self) -> bool:
        """Whether the rules were given, so that more data add none."""
        return self.structure.rules is not None

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> GrammarBatch:
        """Batch from its state; a file is not trusted, so trees are checked."""
        inputs = [[tuple(t) if isinstance(t, list) else t for t in x] for x in state["inputs"]]
        batch = self.pack(inputs, n_jobs=n_jobs)
        lengths = np.asarray(state["gold_lengths"], dtype=np.int64)
        codes = np.asarray(state["gold"], dtype=np.int64)
        if lengths.size != len(inputs) or lengths.min(initial=0) < 0 or lengths.sum() != codes.size:
            raise InputError("stored trees do not fit the sentences")
        if codes.size and (codes.min() < 0 or codes.max() >= self.rule_kind.size):
            raise InputError("stored trees have unknown rules")
        gold = Ragged(codes, np.concatenate([[0], np.cumsum(lengths)]))
        rows = [self.output(x, row) for x, row in zip(inputs, gold)]
        return self.pack(inputs, rows, n_jobs=n_jobs) if inputs else batch

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Rules with the largest weights, by kind."""
        out: dict[str, Any] = {}
        for i in np.argsort(-np.abs(weights), kind="stable").tolist():
            rows = out.setdefault(self.rules[i][0], [])
            if len(rows) < top:
                rows.append((_shown(self.rules[i]), float(weights[i])))
        kinds = ("root", "binary", "unary", "wrap", "lexical")
        return {"top": {kind: out[kind] for kind in kinds if kind in out}}

    def state(self) -> dict[str, Any]:
        """Rules, the label of last resort and the kind of outputs."""
        return {"grammar": [list(rule) for rule in self.rules], "top": self.top, "nltk": self.as_nltk}

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> GrammarSpace:
        """Build the space again."""
        assert isinstance(structure, Grammar)
        rules = [check_rule(tuple(rule)) for rule in state["grammar"]]
        if len(set(rules)) != len(rules):
            raise InputError("a rule occurs twice")
        return cls(structure, rules, str(state["top"]), bool(state["nltk"]))


def _shown(rule: Rule) -> str:
    if rule[0] == "lexical":
        return f"{rule[1]} -> {rule[2]!r}"
    if rule[0] == "wrap":
        return f"{rule[1]} -> {rule[2]!r} {rule[3]} {rule[4]!r}"
    return f"root -> {rule[1]}" if rule[0] == "root" else f"{rule[1]} -> {' '.join(rule[2:])}"


Grammar.space_class = GrammarSpace
