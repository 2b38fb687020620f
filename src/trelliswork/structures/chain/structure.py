"""Label sequences: one label per token, scored by token features and label n-grams."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._names import attribute_of
from trelliswork._ragged import Ragged
from trelliswork._tokens import TokenTable, compile_tokens, token_symbols
from trelliswork._tuning import Choice
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.chain.batch import ChainBatch
from trelliswork.structures.chain.contexts import check_scheme, check_transitions, repaired, transition_mask
from trelliswork.structures.chain.joins import Joins
from trelliswork.structures.chain.space import ChainSpace
from trelliswork.structures.chain.survey import ChainSurvey
from trelliswork.structures.known import choices, open_rows
from trelliswork.structures.labels import (
    check_given_labels,
    check_row,
    sorted_labels,
)
from trelliswork.structures.limits import ChainLimits
from trelliswork.structures.scaling import check_scale

__all__ = ["Chain"]

_LONGEST = 64  # highest order, whatever is observed


class Chain(Structure):
    """Sequences of labels, one per token.

    An output scores the sum of its parts: (attribute of a token, label) pairs,
    label n-grams of up to ``order + 1`` labels, and optionally first and last labels
    and (attribute, previous label, label) triples.

    Parameters
    ----------
    order : int, default=1
        Number of previous labels that a label depends on. 1 is the usual linear chain. Each further one
        multiplies time and memory by the number of labels, unless n-grams are those observed.
    emissions : {"all", "observed"}, default="all"
        Weights for every pair of attribute and label, or only for pairs that occur in
        the training data (much smaller, as in CRFsuite). Unseen pairs then weigh 0; they
        are not forbidden.
    transitions : {"all", "observed"} or list of (from, to) pairs, default="all"
        Which labels may follow which. Others are *forbidden* in every output.
    scheme : {"BIO", "IOB2", "BIOES", "IOBES"} or None, default=None
        Forbid what the tagging scheme forbids (``I-X`` after ``O``, ...).
    invalid : {"repair", "strict"}, default="repair"
        With a ``scheme``: what happens to given outputs that break it. ``"repair"`` reads their entities as
        the CoNLL script does and writes them as the scheme demands (``I-X`` after ``O`` becomes ``B-X``);
        ``"strict"`` is an error.
    ngrams : {"auto", "all", "observed"}, default="auto"
        Label n-grams that have weights. "observed": those of the training data, of any order; memory and
        time grow with their number, and unseen ones weigh as much as the longest seen n-gram that they end
        with. "auto" is "all" where these are at most 3 million. Only from order 2 on.
    start, end : bool, default=True
        Weights for the first and for the last label.
    edge_features : "all", list of str, dict or None, default=None
        Attributes that are also joined with the pair (previous label, label): all, or those
        whose names start with one of the given prefixes. A dict says so for label n-grams of
        several lengths, ``{2: "all", 3: ["word="]}``; when there are any above 2, up to
        ``order + 1``, only n-grams that occur with the attribute in the training data have weights.
    min_count : int, default=1
        Drop attributes that occur on fewer tokens of the training data. The larger, the smaller the model.
    unknown : bool, default=True
        Weights for tokens none of whose attributes is known (rare words dropped by
        ``min_count``, new words at prediction).
    labels : list or None, default=None
        The labels, when some may be missing from the training data.
    scale : {"auto", None}, default="auto"
        Whether learners bring columns of numbers to one scale, as in :class:`Classes`: columns of arrays
        vary by about 1 unless they hold 0 and 1 alone, numbers among attributes with names are divided by
        their size. ``space_.scaling`` has what is subtracted and divided by.

    See Also
    --------
    features.TokenWindow : Features of words.
    Classes : Labels that do not depend on their neighbours.
    Transducer : Outputs of another length.

    Notes
    -----
    A token is a string, a list of strings, a dict (strings, numbers, booleans, lists;
    read as python-crfsuite reads them) or a row of a dense or sparse matrix; see
    :class:`~trelliswork.Ragged` for stacked matrices. Attributes that were not seen in
    training are ignored. Ties between outputs go to the lexicographically smallest
    sequence in the order of ``classes_``.

    Of outputs to learn from, and of those to predict (``predict(X, known=...)``), labels may be known in
    part: None stands for any label, a set for one of its labels. Pairs and transitions that are "observed"
    are then those that may occur: a set brings the pairs of all its labels, None no pair of an attribute
    and a label, but any transition. N-grams kept as observed are those of tokens
    whose labels are known.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira (2001), ICML.
    .. [2] Rabiner (1989), Proceedings of the IEEE 77.

    Examples
    --------
    >>> from trelliswork import CRF, Chain
    >>> X, y = [["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]]
    >>> CRF(Chain()).fit(X, y).predict([["a", "cat", "barks"]])
    [['D', 'N', 'V']]
    """

    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"scale": None}
    space_class: ClassVar[type[Space]] = ChainSpace
    batch_class: ClassVar[type[Batch]] = ChainBatch
    output_kind: ClassVar[str] = "label sequence"
    # Labels are mostly skewed: one of them covers most tokens, and against all label sequences alike every
    # model looks good that has learnt just that.
    generative_smoothing: ClassVar[float] = 0.2
    moment_reference: str = "generative"
    moment_loss: ClassVar[str | None] = "hamming"
    moment_margin: ClassVar[float | None] = 8.0
    moment_ridge: ClassVar[float] = 0.1
    tuning = (Choice("order", (1, 2)),)
    limits: ChainLimits = ChainLimits()

    def __init__(
        self,
        order: int = 1,
        *,
        emissions: str = "all",
        transitions: str | Iterable[tuple[Hashable, Hashable]] = "all",
        scheme: str | None = None,
        invalid: str = "repair",
        ngrams: str = "auto",
        start: bool = True,
        end: bool = True,
        edge_features: str | Sequence[str] | Mapping[int, str | Sequence[str]] | None = None,
        min_count: int = 1,
        unknown: bool = True,
        labels: Sequence[Hashable] | None = None,
        scale: str | None = "auto",
    ):
        self.order = order
        self.emissions = emissions
        self.transitions = transitions
        self.scheme = scheme
        self.invalid = invalid
        self.ngrams = ngrams
        self.start = start
        self.end = end
        self.edge_features = edge_features
        self.min_count = min_count
        self.unknown = unknown
        self.labels = labels
        self.scale = scale

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        if not isinstance(self.order, (int, np.integer)) or self.order < 1:
            raise InputError(f"order must be a whole number of at least 1, got {self.order!r}")
        if self.emissions not in ("all", "observed"):
            raise InputError(f"emissions must be 'all' or 'observed', got {self.emissions!r}")
        if not isinstance(self.min_count, (int, np.integer)) or self.min_count < 0:
            raise InputError(f"min_count must be a whole number of at least 0, got {self.min_count!r}")
        check_transitions(self.transitions)
        check_scheme(self.scheme)
        if self.invalid not in ("repair", "strict"):
            raise InputError(f"invalid must be 'repair' or 'strict', got {self.invalid!r}")
        if self.ngrams not in ("auto", "all", "observed"):
            raise InputError(f"ngrams must be 'auto', 'all' or 'observed', got {self.ngrams!r}")
        if self.ngrams == "observed" and self.edge_features is not None and self.order > 1:
            raise InputError("ngrams='observed' goes without edge_features, which need all n-grams")
        check_given_labels(self.labels)
        check_scale(self.scale)
        Joins(self.edge_features, int(self.order))  # checks them

    def few_ngrams(self, n_labels: int) -> bool:
        """Whether all n-grams of so many labels can have weights.

        Parameters
        ----------
        n_labels : int
            Number of labels; the more there are, the fewer n-grams are affordable.
        """
        log_size = (self.order + 1) * np.log(max(n_labels, 1)) + np.log(self.order)
        return bool(log_size <= np.log(self.limits.ngrams)) and self.order <= _LONGEST

    @property
    def may_keep_observed(self) -> bool:
        """Whether only the n-grams of the training data may have weights, by the number of labels."""
        return 1 < self.order <= _LONGEST and self.ngrams != "all" and self.edge_features is None

    def keeps_observed(self, n_labels: int) -> bool:
        """Whether only the n-grams of the training data have weights.

        Parameters
        ----------
        n_labels : int
            Number of labels; the more there are, the fewer n-grams are affordable.
        """
        if not self.may_keep_observed:
            return False
        return self.ngrams == "observed" or not self.few_ngrams(n_labels)

    def prepare(self, X: Any) -> Ragged:
        """Compile token features once (idempotent)."""
        if isinstance(X, Ragged) and isinstance(X.values, TokenTable):
            return X
        table, offsets = compile_tokens(X)
        return Ragged(table, offsets)

    def symbols(self, X: Any) -> list[Any]:
        """Tokens as symbols, their attributes joined where there are several; arrays stay arrays."""
        return token_symbols(self.prepare(X))

    def bind(self, X: Any, y: Any) -> ChainSpace:
        """Collect labels, attributes and (where asked for) the pairs that occur."""
        return self.survey(X, y).space()

    def compile(self, X: Any, y: Any, *, n_jobs: int | None = None) -> tuple[ChainSpace, ChainBatch]:
        """:meth:`bind` and ``pack``; labels are coded once."""
        self.check()
        X = self.prepare(X)
        survey, read, codes = ChainSurvey.of(self, X, y)
        space = survey.space()
        return space, space.settled(X, Ragged(codes, X.offsets), read.masks(space.labels), n_jobs)

    def survey(self, X: Any, y: Any) -> ChainSurvey:
        """Labels, attributes, and what occurs together."""
        self.check()
        return ChainSurvey.of(self, self.prepare(X), y)[0]

    def readable(self, y: Any) -> Any:
        """Given outputs as the scheme demands them, where they are to be repaired.

        Parameters
        ----------
        y : list of label sequences
            Outputs as they were given.

        Examples
        --------
        >>> from trelliswork import Chain
        >>> Chain(scheme="BIO").readable([["O", "I-PER", "I-PER"]])
        [['O', 'B-PER', 'I-PER']]
        """
        if self.scheme is None or self.invalid == "strict" or not hasattr(y, "__len__"):
            return y
        return repaired(y, self.scheme)

    def bind_names(self, names: Sequence[Any]) -> ChainSpace:
        """Labels and attributes from the feature names of given weights."""
        self.check()
        labels: dict[Any, None] = dict.fromkeys(self.labels or ())
        attributes: dict[str, None] = {}
        for name in names:
            kind = name[0] if isinstance(name, tuple) and name else None
            if (kind == "emission" and len(name) == 3) or (kind == "edge" and len(name) > 3):
                attributes[attribute_of(name)] = None
                labels.update(dict.fromkeys(name[2:]))
            elif kind in ("start", "end", "unknown", "transition"):
                labels.update(dict.fromkeys(name[1:]))
            else:
                raise InputError(
                    f"unknown feature {name!r}; a chain has ('emission', attribute, label), "
                    "('transition', from, to), ('start', label), ('end', label), "
                    "('edge', attribute, from, to)"
                )
        if not labels:
            raise InputError("the weights name no label; give them to the structure: Chain(labels=[...])")
        ordered = sorted_labels(labels)
        seen = np.ones((len(ordered), len(ordered)), dtype=bool)
        place = {label: i for i, label in enumerate(ordered)}
        grams = {tuple(place[label] for label in name[1:]) for name in names if name[0] == "transition"}
        mask = transition_mask(self.transitions, ordered, seen)
        space = ChainSpace(self, ordered, list(attributes), mask, grams=grams)
        space.restrict_to_named(names)
        return space

    def complete(self) -> Chain:
        """The chain with a weight for every pair of attribute and label."""
        self.check()
        return self.with_params(emissions="all")

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Words and numbers; two orders, all and observed pairs, and edge features."""
        y = [["B-X", "I-X", "O"], ["O", "B-X"], ["O"]]
        words = [["a", "b", "c"], ["c", "a"], ["c"]]
        for order in (1, 2):
            yield cls(order=order), words, y
            yield cls(order=order, emissions="observed", scheme="BIO"), words, y
        yield cls(order=2, ngrams="observed"), words, y
        yield cls(edge_features="all"), words, y
        yield cls(), [np.arange(2.0 * len(row)).reshape(-1, 2) for row in y], y

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of tokens with the right label; of a true set any label is right, and None is passed over."""
        right, tokens = [], []
        for i, (truth, guess) in enumerate(zip(y_true, y_pred, strict=True)):
            check_row(i, truth)
            if len(truth) != len(guess):
                raise InputError(f"{len(truth)} labels against {len(guess)}", sample=i)
            if open_rows([truth], self.labels):
                known = [(c, b) for c, b in zip(choices(truth, self.labels, i), guess, strict=True) if c]
                right.append(sum(b in c for c, b in known))
                tokens.append(len(known))
                continue
            right.append(sum(a == b for a, b in zip(truth, guess, strict=True)))
            tokens.append(len(truth))
        weights = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        total = float(weights @ np.array(tokens, dtype=float)) if tokens else 0.0
        return float(weights @ np.array(right, dtype=float)) / total if total else 1.0
