"""Strings to strings, piece by piece, with hidden alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, check_sequences, encode
from trelliswork._text import plain_sequence
from trelliswork._validate import check_number
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.transducer.batch import TransducerBatch
from trelliswork.structures.transducer.ends import END, NO_ENDS, START, Ends
from trelliswork.structures.transducer.features import Grams, Windows
from trelliswork.structures.transducer.law import PieceLaw
from trelliswork.structures.transducer.names import space_of_names
from trelliswork.structures.transducer.outputs import (
    alternatives,
    coded_outputs,
    read_alignments,
    several,
    symbols_of,
)
from trelliswork.structures.transducer.pieces import Aligned, Pieces, align, step_shapes
from trelliswork.structures.transducer.shortlist import Shortlist
from trelliswork.structures.transducer.space import TransducerSpace
from trelliswork.structures.transducer.unseen import Unseen

__all__ = ["Transducer"]

_MOST_OUT = 5  # output symbols of a piece where ``max_out`` is None
_MOST_PAIRS = 0.95  # share of the pairs whose endings fit into one piece: single odd pairs do not count
_ROUNDS = 20  # of expectation-maximisation


class Transducer(Structure):
    """Outputs are strings, written from left to right along the input; how they align is hidden.

    The input is cut into pieces of 1 to ``max_in`` symbols, and each piece is written as 0 to ``max_out``
    output symbols. Pieces are those of the best alignments of the training pairs, found by
    expectation-maximisation. Inputs and outputs are text (its characters are the symbols) or lists of
    symbols. For pronunciation, transliteration, inflection, spelling.

    Parameters
    ----------
    order : int, default=2
        Pieces that write something, and output symbols, before a piece that its score looks at. The larger,
        the more context is seen and the more weights there are.
    max_in : int, default=1
        Most input symbols of a piece; pieces of several are written as one output symbol. The larger, the
        more pieces there are, and the slower.
    max_out : int or None, default=None
        Most output symbols of a piece; None is 2, or as many as the training pairs need, at most 5. Where
        most output symbols are symbols of inputs, too (forms of words), an ending must fit into one piece:
        then it is at least one more than the symbols that 95 of 100 outputs are longer by, at most 5. The
        larger, the more pieces there are, and the slower.
    window : int, default=4
        Input symbols before and after a piece that its score looks at. The larger, the more context is seen
        and the more weights there are.
    longest : int, default=6
        Most symbols of the substrings of this window that are features. The larger, the more weights there
        are.
    min_count : int, default=1
        Drop pairs of a substring and a piece that are rarer in the best alignments. The larger, the smaller
        the model.
    min_context : int, default=2
        Contexts of pieces that are rarer fall back to shorter ones. The larger, the smaller the model.
    prune : float, default=0.001
        Do not propose pieces that are less probable than this at their place, beside the most probable one,
        by their counts in contexts of up to two input symbols on either side; 0 proposes all. The larger,
        the faster, and the more often the right piece is missing.
    law : float, default=0.4
        Weight of the log-probability of a Kneser-Ney model of the pieces, which :class:`CRF` adds to its
        scores in prediction; 0 for none. The larger, the more the counts of pieces decide.
    restarts : int, default=0
        Further starts of expectation-maximisation, from random probabilities of pieces; the alignments of
        the largest likelihood are kept. The first start, from pieces of one symbol, is rarely beaten. More
        take longer.
    seed : int, default=0
        Of the random starts. Another number is another random choice, no better or worse.
    output : {"symbols", "pieces"}, default="symbols"
        What an output is: the string, or its alignment, a list of pairs (input piece, output piece). With
        "pieces" the alignments of the training data are given and not hidden.

    See Also
    --------
    KernelRegression : Strings without an alignment.
    Chain : Outputs as long as their inputs.

    Notes
    -----
    A true output may be a set of strings (or a list of lists of symbols): all are right. Learners that sum
    over hidden alignments (:class:`CRF`) learn from all of them; others learn from the best alignment of
    one.

    Where inputs and outputs are text, most output symbols are input symbols, and outputs grow at their end
    (or at their start), inputs have one more symbol there, ``␃`` (or ``␂``), of which the ending is written:
    it need not be seen with every last letter. In alignments it is an empty string.

    An input symbol that training did not have is copied to the output if training shows that symbols of its
    kind (letters, digits, other characters, symbols of several characters) are copied: at least two of three
    of the input symbols of the kind are mostly written as themselves, and at least two of three of the
    output symbols of the kind are input symbols. Otherwise it is read like its other case, or like its
    letter without marks (``é`` like ``e``), if training had that one; otherwise it is dropped, and
    substrings with it are no features. An empty input has the empty output only. Weights exist for the
    features of the best alignments of the training pairs; contexts that were not seen fall back to shorter
    ones.

    :class:`Generative` is the Kneser-Ney model itself: a joint n-gram model of pieces.

    References
    ----------
    .. [1] Novak, Minematsu, Hirose (2016), Natural Language Engineering 22 (joint n-gram models).
    .. [2] Jiampojamarn, Kondrak, Sherif (2007), NAACL (many-to-many alignments).

    Examples
    --------
    >>> from trelliswork import CRF, Transducer
    >>> X = ["cat", "act", "tic", "city", "ice", "acid", "face"]
    >>> y = ["kat", "akt", "tik", "siti", "is", "asid", "fas"]
    >>> model = CRF(Transducer(), l2=0.1).fit(X, y)
    >>> model.predict(["cact", "tacit"])
    ['kakt', 'tasit']
    >>> batch = model.pack(["tice"])
    >>> best = batch.argmax(model.part_scores(batch, ["tice"]))
    >>> batch.alignments(best.codes)
    [[('t', 't'), ('i', 'i'), ('c', 's'), ('e', '')]]
    """

    space_class: ClassVar[type[Space]] = TransducerSpace
    batch_class: ClassVar[type[Batch]] = TransducerBatch
    output_kind: ClassVar[str] = "list of parts"
    moment_ridge: ClassVar[float] = 10.0  # most features are of single words, and there are many of them

    def __init__(
        self,
        order: int = 2,
        *,
        max_in: int = 1,
        max_out: int | None = None,
        window: int = 4,
        longest: int = 6,
        min_count: int = 1,
        min_context: int = 2,
        prune: float = 0.001,
        law: float = 0.4,
        restarts: int = 0,
        seed: int = 0,
        output: str = "symbols",
    ):
        self.order = order
        self.max_in = max_in
        self.max_out = max_out
        self.window = window
        self.longest = longest
        self.min_count = min_count
        self.min_context = min_context
        self.prune = prune
        self.law = law
        self.restarts = restarts
        self.seed = seed
        self.output = output

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        for name, low in (("order", 0), ("max_in", 1), ("window", 0), ("longest", 1), ("min_count", 1)):
            check_number(name, getattr(self, name), low, whole=True)
        check_number("min_context", self.min_context, 1, whole=True)
        for name in ("restarts", "seed"):
            check_number(name, getattr(self, name), 0, whole=True)
        for name in ("prune", "law"):
            check_number(name, getattr(self, name), 0)
        if self.prune >= 1:
            raise InputError(f"prune must be below 1, got {self.prune!r}")
        if self.max_out is not None:
            check_number("max_out", self.max_out, 1, whole=True)
        if self.output not in ("symbols", "pieces"):
            raise InputError(f"output must be 'symbols' or 'pieces', got {self.output!r}")

    def bind(self, X: Any, y: Any) -> TransducerSpace:
        """Align the pairs and collect pieces and features."""
        self.check()
        check_sequences(X)
        inputs = [symbols_of(x, i, "an input") for i, x in enumerate(X)]
        x, x_symbols = encode(inputs)
        text_in = all(isinstance(plain_sequence(item), str) for item in X)
        if self.output == "pieces":
            return self._bind_alignments(inputs, x, x_symbols, text_in, y)
        given, y_symbols = coded_outputs(y, None)
        text_out = all(
            isinstance(plain_sequence(o), str)
            for y_i in y
            for o in (y_i if isinstance(y_i, (set, frozenset)) else [y_i])
        )
        owner = given.owner
        pairs = _repeated(x, owner)
        shared = set(x_symbols)
        copied = np.isin(given.codes.values, [t for t, s in enumerate(y_symbols) if s in shared])
        rewritten = bool(copied.size) and copied.mean() > 0.5
        shapes = step_shapes(self.max_in, self._widest(pairs, given.codes, owner, rewritten))
        ends = NO_ENDS
        if rewritten and text_in and text_out and shared.isdisjoint((START, END)):
            written = (tuple(y_symbols[c] for c in row.tolist()) for row in given.codes)
            ends = Ends.of((inputs[i], output) for i, output in zip(owner.tolist(), written, strict=True))
        if any(ends):
            x, x_symbols = encode([ends.added(symbols) for symbols in inputs])
            pairs = _repeated(x, owner)
        weights = 1.0 / np.diff(given.ptr)[owner]
        sizes = len(x_symbols), len(y_symbols)
        starts = self.restarts, self.seed
        marks = [t for t, s in enumerate(x_symbols) if any(ends) and s in (START, END)]
        pieces, aligned = align(pairs, given.codes, sizes, shapes, weights, _ROUNDS, *starts, ends=marks)
        return self._space(x_symbols, y_symbols, (text_in, text_out), pairs, pieces, aligned, ends)

    def _widest(self, x: Coded, y: Coded, owner: np.ndarray, rewritten: bool) -> int:
        """Most output symbols of a piece; ``rewritten`` outputs are mostly copies of their inputs."""
        most = _MOST_OUT if self.max_out is None else self.max_out
        bad = np.flatnonzero(y.lengths > most * x.lengths)
        if bad.size:
            n, m = int(x.lengths[bad[0]]), int(y.lengths[bad[0]])
            wanted = int(np.max(-(-y.lengths // np.maximum(x.lengths, 1))))
            advice = f"give max_out={wanted}, or drop such pairs" if n else "drop the pair"
            raise InputError(
                f"{n} input symbols cannot be written as {m} output symbols, at most {most} for each; "
                f"{advice}",
                sample=int(owner[bad[0]]),
            )
        if self.max_out is not None:
            return self.max_out
        needed = int(np.max(-(-y.lengths // np.maximum(x.lengths, 1)), initial=2))
        # Where letters are copied, a narrow limit would spread an ending over them: ci-ti-es, with t as "ti".
        longer = 1 + int(np.quantile(y.lengths - x.lengths, _MOST_PAIRS, method="lower")) if rewritten else 0
        return max(needed, min(longer, _MOST_OUT))

    def _bind_alignments(
        self, inputs: list[tuple[Any, ...]], x: Coded, x_symbols: list[Any], text_in: bool, y: Any
    ) -> TransducerSpace:
        given = read_alignments(inputs, y)
        text_out = all(isinstance(b, str) for y_i in y for _, b in y_i)
        _, y_symbols = encode([tuple(s for _, b in pairs for s in b) for pairs in given], what="y")
        x_code, y_code = ({s: t for t, s in enumerate(a)} for a in (x_symbols, y_symbols))
        rows = []
        for i, pairs in enumerate(given):
            start = 0
            for a, b in pairs:
                rows.append((i, start, (tuple(x_code[s] for s in a), tuple(y_code[s] for s in b))))
                start += len(a)
        sides = list(dict.fromkeys(pair for _, _, pair in rows))
        pieces = Pieces.completed(sides, np.zeros(len(sides)), (len(x_symbols), len(y_symbols)))
        number = {pair: t for t, pair in enumerate(zip(pieces.inputs, pieces.outputs, strict=True))}
        table = np.array([(i, start, number[pair]) for i, start, pair in rows], dtype=np.int64).reshape(-1, 3)
        return self._space(x_symbols, y_symbols, (text_in, text_out), x, pieces, Aligned(*table.T.copy()))

    def _space(
        self,
        x_symbols: list[Any],
        y_symbols: list[Any],
        text: tuple[bool, bool],
        x: Coded,
        pieces: Pieces,
        aligned: Aligned,
        ends: Ends = NO_ENDS,
    ) -> TransducerSpace:
        windows = Windows.observed(x, aligned, pieces, self.window, self.longest, self.min_count)
        grams = Grams.observed(pieces, aligned, len(x), self.order, self.min_context)
        shortlist = Shortlist.observed(x, aligned, pieces)
        law = PieceLaw.observed(grams, aligned, len(x))
        unseen = Unseen.observed(pieces, aligned, x_symbols, y_symbols)
        return TransducerSpace(
            self, x_symbols, y_symbols, text, pieces, windows, grams, shortlist, law, unseen, ends
        )

    def bind_names(self, names: Sequence[Any]) -> TransducerSpace:
        """Pieces and features from the names of given weights."""
        self.check()
        return space_of_names(self, names)

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Five words with hidden and with given alignments."""
        X = ["cat", "act", "tic", "cit", "ice"]
        yield cls(min_context=1), X, ["kat", "akt", "tik", "sit", {"ais", "is"}]
        yield cls(output="pieces"), ["ab", "ba"], [[("a", "x"), ("b", "")], [("b", "y"), ("a", "x")]]

    def alternatives(self, y: Any) -> list[Any]:
        """All true outputs of a sample.

        Parameters
        ----------
        y : str, list, set or list of lists
            The truth about one sample.
        """
        return [list(map(tuple, y))] if self.output == "pieces" else several(y)

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of outputs that are wholly right; one of several true outputs is enough."""
        if self.output == "pieces":
            return super().accuracy([list(map(tuple, t)) for t in y_true], y_pred, sample_weight)
        pairs = zip(y_true, y_pred, strict=True)
        right = [tuple(p) in alternatives(t, i) for i, (t, p) in enumerate(pairs)]
        return float(np.average(right, weights=sample_weight))


def _repeated(x: Coded, owner: np.ndarray) -> Coded:
    rows = x[owner]
    return Coded(rows.values, rows.offsets)
