"""Parse trees: context-free grammars, given or read off a treebank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork import _trees as trees
from trelliswork._counts.brackets import bracket_scores
from trelliswork._errors import InputError
from trelliswork._tuning import Choice
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.contexts import check_context
from trelliswork.structures.grammar.batch import GrammarBatch
from trelliswork.structures.grammar.contexts import COMPARED
from trelliswork.structures.grammar.forest import check_work
from trelliswork.structures.grammar.shape import Rule, Shape, labels_of, rules_of
from trelliswork.structures.grammar.space import GrammarSpace
from trelliswork.structures.grammar.spans import check_kinds, check_name
from trelliswork.structures.grammar.survey import GrammarSurvey
from trelliswork.structures.grammar.tables import check_rule
from trelliswork.structures.grammar.tokens import (
    check_inputs,
    difference,
    spelled,
    tagged,
    terminals,
    tokens,
)
from trelliswork.structures.grammar.words import as_rules, read_rules
from trelliswork.structures.limits import GrammarLimits
from trelliswork.structures.survey import Survey

__all__ = ["Grammar"]


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
        would allow endless trees. The larger, the slower.
    binarize : {"right", "left"}, default="right"
        How rules with more than two children are split; undone in the output.
    horizontal : int or None, default=2
        How many of the next children the symbol of a split rule remembers; None for all of
        them, in which case no tree is added to those of the unsplit rules. The larger, the more rules, and
        the fewer trees that were never seen are possible.
    vertical : int, default=2
        Labels that a phrase remembers: 2 tells an NP below S from one below VP, 1 does not. The larger, the
        more symbols, the slower, and the more data it takes.
    functions, empty : bool, default=False
        Keep function tags (``NP-SBJ``) and empty elements (``-NONE-``) of Penn trees.
    unknown : {"signature", None}, default="signature"
        Words that were not seen: by classes of capitals, digits, hyphens and endings; or no
        tree. Given rules have classes if they derive ``'<unk>'``.
    min_count : int, default=2
        Rarer words are replaced by their classes in training, which is how these are learned. The larger,
        the more words share a class.
    no_parse : {"flat", "none", "error"}, default="flat"
        Output for sentences without any tree: all words below one phrase (of the most frequent
        label of whole trees, tags ``X``), None, or an error.
    span_features : bool or list of str, default=None
        Features of the words that a phrase spans, for every symbol, as they occur in the training trees: its
        "first" and "last" word, those next to them ("inside"), those "before" and "after" it, both of these
        ("around"), and its "length"; True for all. Of pairs (word, tag) words and tags. They need the forest
        of all trees of a sentence.
    beam : float or None, default=None
        Prediction drops phrases whose score is worse than the best over the same words by more
        than this: faster, but the tree may be second best or missing. None is exact. The larger, the more is
        kept, and the slower.
    context : int, default=1
        Words at either border of a phrase, inside and outside, that kernels see besides the set of all words
        that it spans (``StructuredSVM(kernel=...)``, ``Perceptron(kernel=...)``; nothing else uses it). More
        tell more contexts apart, and take longer.
    compared : {"symbols", "rules"}, default="symbols"
        What such kernels compare: symbols over words, or the rules that derive these words, which see what
        their children are together, and have fewer examples of each.

    See Also
    --------
    RNA : Grammars of base pairs.
    io.read_trees : Treebanks.
    metrics.bracket_scores : How good trees are.

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

    Of trees to learn from, and of those to predict (``predict(X, known=...)``), some brackets may be all
    that is known: a set of ``(label, start, end)``, words counted from 0 and ``end`` after the last, with
    None for a label that is not known; None in place of the set knows nothing. Rules are read off the trees
    that are known as a whole.

    References
    ----------
    .. [1] Younger (1967), Information and Control 10 (CKY).
    .. [2] Klein, Manning (2003), ACL (markovised rules).

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

    space_class: ClassVar[type[Space]] = GrammarSpace
    batch_class: ClassVar[type[Batch]] = GrammarBatch
    output_kind: ClassVar[str] = "parse tree"
    moment_reference: str = "generative"
    tuning = (Choice("vertical", (1, 2)), Choice("horizontal", (None, 1, 2)))
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
        horizontal: int | None = 2,
        vertical: int = 2,
        functions: bool = False,
        empty: bool = False,
        unknown: str | None = "signature",
        min_count: int = 2,
        no_parse: str = "flat",
        span_features: Any = None,
        beam: float | None = None,
        context: int = 1,
        compared: str = "symbols",
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
        self.span_features = span_features
        self.beam = beam
        self.context = context
        self.compared = compared

    @property
    def shape(self) -> Shape:
        """How trees become rules; given rules are taken as they are."""
        if self.rules is not None:
            return Shape("keep", self.binarize, None, 1)
        return Shape(self.unary, self.binarize, self.horizontal, self.vertical)

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        check_context(self.context)
        choices = {
            "input": ("words", "tags"),
            "unary": ("collapse", "strict", "keep"),
            "binarize": ("right", "left"),
            "unknown": ("signature", None),
            "no_parse": ("flat", "none", "error"),
            "compared": COMPARED,
        }
        for name, values in choices.items():
            if getattr(self, name) not in values:
                raise InputError(
                    f"{name} must be one of {', '.join(map(repr, values))}, got {getattr(self, name)!r}"
                )
        check_kinds(self.span_features)
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
            self.given_rules()

    def bind(self, X: Any, y: Any) -> GrammarSpace:
        """Read the rules off the trees, or take the given ones."""
        sentences = self._sentences(X)
        space = self._read(sentences, y).space()
        spans = self.rules is None and check_kinds(self.span_features) and sentences
        return space.with_spans(sentences, y) if spans else space

    def survey(self, X: Any, y: Any) -> Survey:
        """Rules and words; the sentences themselves where spans have features."""
        if check_kinds(self.span_features):
            return super().survey(X, y)
        return self._read(self._sentences(X), y)

    def _sentences(self, X: Any) -> list[list[Any]]:
        self.check()
        sentences = [tokens(i, x) for i, x in enumerate(check_inputs(X))]
        check_work([len(x) for x in sentences], 1, self.limits)  # before rules are read off
        return sentences

    def _read(self, sentences: list[list[Any]], y: Any) -> GrammarSurvey:
        if self.rules is not None:
            return GrammarSurvey(self, as_nltk=any(map(trees.is_tree, y if y is not None else ())))
        if y is None:
            raise InputError("Grammar() reads its rules off trees: give y, or rules=")
        if len(y) != len(sentences):
            raise InputError(f"X has {len(sentences)} samples but y has {len(y)}")
        return GrammarSurvey.of(self, sentences, y)

    def symbols(self, X: Any) -> list[Any]:
        """The words, or the tags where these are parsed, as they stand in trees."""
        return [spelled(tokens(i, x), self.input) for i, x in enumerate(check_inputs(X))]

    def bind_names(self, names: Sequence[Any]) -> GrammarSpace:
        """Rules from the names of given weights."""
        self.check()
        if self.rules is not None:
            return GrammarSpace(self, *self.given_rules(), False)
        spans = [check_name(name) for name in names if name[0] == "span"]
        rules = [check_rule(name) for name in names if name[0] != "span"]
        roots = [labels_of(rule[1]) for rule in rules if rule[0] == "root"]
        if not roots:
            raise InputError("the weights name no ('root', A): no symbol of whole trees")
        return GrammarSpace(self, rules, roots[0][0], False, spans)

    def given_rules(self) -> tuple[list[Rule], str]:
        """The rules that were given, and the symbol of whole trees."""
        productions, first = read_rules(self.rules)
        top = self.start or first
        return as_rules(productions, top, self.binarize), top

    def rules_of(self, i: int, tree: trees.Node, words: Sequence[str]) -> list[Rule]:
        """Rules of the tree of sentence ``i``, whose words in the rules are the given ones.

        Parameters
        ----------
        i : int
            Number of the sentence, for messages.
        tree : Node
            Its tree.
        words : sequence of str
            What stands for its words.
        """
        try:
            return rules_of(tree, words, self.shape)
        except InputError as error:
            raise InputError(error.message, sample=i) from None

    def tree_of(self, i: int, x: list[Any], value: Any) -> trees.Node:
        """True tree of sentence ``i``, normalised, with a tag above every word.

        Parameters
        ----------
        i : int
            Number of the sentence, for messages.
        x : list
            Its words or tags.
        value : tree
            Bracketed text, ``nltk.Tree`` or node.
        """
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
