"""Pairwise alignments of two sequences, with scores that are learnt."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.alignment.batch import AlignmentBatch
from trelliswork.structures.alignment.columns import (
    MOVES,
    accuracy,
    canonical_moves,
    flags_of,
    moves_of_texts,
)
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.structures.alignment.weights import sorted_pair
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.limits import AlignmentLimits

__all__ = ["Alignment", "AlignmentSpace"]

ALPHABETS = {"protein": "ACDEFGHIKLMNPQRSTVWY", "dna": "ACGT", "rna": "ACGU"}
_MODELS = ("linear", "affine", "substitution", "substitution-affine", "ordered", "ordered-affine")
_MODES = ("global", "local", "semiglobal")
_CHOICES = {
    "model": _MODELS,
    "mode": _MODES,
    "free": ("both", "first", "second"),
    "unknown": ("error", "zero"),
    "core": ("all", "upper"),
    "output": ("strings", "path"),
    "precision": ("auto", "double", "single", "short"),
}


class CheckedPairs(list[Any]):
    """CheckedPairs of sequences that were checked: none has the gap symbol."""

    def __init__(self, pairs: Iterable[Any], gap: str):
        super().__init__(pairs)
        self.gap = gap

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckedPairs, (list(self), self.gap)


class Alignment(Structure):
    """Alignments of two sequences: which residues belong together, and where the gaps are.

    An input is a pair of sequences, an output the pair with gaps. The score of an alignment is the
    sum of the weights of its columns.

    Parameters
    ----------
    model : str, default="substitution-affine"
        What is scored. "linear": match, mismatch, gap (3 weights). "affine": match, mismatch, open,
        extend (4); the first symbol of a run of gaps opens it, the others extend it. "substitution":
        a weight for every unordered pair of symbols, and gap (211 for 20 letters).
        "substitution-affine": the same with open and extend (212). "ordered": a weight for every
        ordered pair, and gap (401); "ordered-affine" (402).
    mode : {"global", "semiglobal", "local"}, default="global"
        Where an alignment begins and ends, see Notes.
    free : {"both", "first", "second"}, default="both"
        For "semiglobal": the sequences whose overhanging residues cost nothing.
    canonical : bool, default=False
        Never a deletion right after an insertion, so that alignments that pair the same residues with
        gaps in another order count once.
    alphabet : str, sequence or None, default=None
        The symbols: "protein" (20 letters), "dna", "rna", or any symbols; None takes those of the
        training data. In a named alphabet lower case is read as upper case; otherwise as other symbols.
    unknown : {"error", "zero"}, default="error"
        What a symbol outside the alphabet does where symbols have weights: it is refused, or its matches
        score 0. ("linear" and "affine" only ask whether two symbols are equal.)
    core : {"all", "upper"}, default="all"
        Which pairs of a true alignment count in losses and in ``score``: all, or only those of two
        upper-case letters, as in reference alignments that mark what is reliable. :class:`CRF` then learns
        from these pairs alone and sums over all alignments that have them; other learners read the
        reference as it stands.
    gap : str, default="-"
        Gap symbol of true and predicted alignments.
    output : {"strings", "path"}, default="strings"
        Predict pairs of gapped strings (lists, where inputs are lists), or :class:`AlignPath`.
    precision : {"auto", "double", "single", "short"}, default="auto"
        Arithmetic of the search for the best global alignment. "double" is exact. "single" (32-bit
        floats) rounds sums, "short" (16-bit integers, twice as fast) rounds weights; Notes say what that may
        cost. "auto": "short" where the rounding is exact (whole numbers such as BLOSUM's), else "single"
        where little can be lost; "double" otherwise, and below 4,096 cells. Training with part costs, other
        modes, very long pairs, and scores that 32-bit floats cannot hold use "double". Returned scores are
        always those of the alignment found, in double precision.

    Notes
    -----
    Ends. *global*: every residue of both sequences is aligned or opposite to a scored gap.
    *semiglobal*: deletions before the first and after the last residue of the second sequence score
    nothing and fire no feature (``free`` "first" or "both"), and insertions before the first and after the
    last residue of the first sequence (``free`` "second" or "both"). *local*: the alignment starts and ends
    with a match, anywhere, and what is outside costs nothing; one more output, with score 0, aligns
    nothing. As strings, a local alignment shows all residues; it reaches from the first to the last match.

    The measure of probabilities and moments is over paths: with ``canonical=False`` "gap in the first,
    then in the second" and the reverse are two outputs. Ties go to a match, then to a deletion (a gap in
    the second sequence), seen from the last column.

    Precision. The search for a global alignment of lengths ``n1`` and ``n2`` adds ``s = pair - 2 extend`` for
    every match and ``g = open - extend`` for every run of gaps, so that a large ``extend`` makes all sums
    large. They stay below ``S = min(n1, n2) max(s, 0) + (n1 + n2) max(g, 0) + 5 |g|``, with the largest of
    the ``s``. At the worst, the score found is below the best by ``1.2e-7 (n1 + n2) S`` with "single", and
    by ``n1 + n2`` steps of ``(S + 2 max|s|) / (65000 - (n1 + n2) / 2)`` with "short". "short" is exact where
    all weights are multiples of 1, 1/2, 1/4, 1/8, 1/16, 1/5, 1/10, 1/20, 1/50 or 1/100 and this number is no
    smaller than the step. "auto" takes "single" only where its bound is at most 0.3 % of
    ``min(n1, n2)`` times the distance from the median weight of pairs to the largest.

    Examples
    --------
    >>> from trelliswork import SODA, Alignment
    >>> X = [("GATTACA", "GATACA"), ("TTAC", "TAC"), ("CATCAT", "CATAT")]
    >>> y = [("GATTACA", "GAT-ACA"), ("TTAC", "-TAC"), ("CATCAT", "CAT-AT")]
    >>> model = SODA(Alignment("affine")).fit(X, y)
    >>> model.predict([("TACCAT", "TACAT")])
    [('TACCAT', 'TA-CAT')]
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = AlignmentBatch
    output_kind: ClassVar[str] = "alignment"
    limits: AlignmentLimits = AlignmentLimits()

    def __init__(
        self,
        model: str = "substitution-affine",
        *,
        mode: str = "global",
        free: str = "both",
        canonical: bool = False,
        alphabet: str | Sequence[Hashable] | None = None,
        unknown: str = "error",
        core: str = "all",
        gap: str = "-",
        output: str = "strings",
        precision: str = "auto",
    ):
        self.model = model
        self.mode = mode
        self.free = free
        self.canonical = canonical
        self.alphabet = alphabet
        self.unknown = unknown
        self.core = core
        self.gap = gap
        self.output = output
        self.precision = precision

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise InputError(f"{name} must be one of {listed}; got {getattr(self, name)!r}")
        if not isinstance(self.canonical, (bool, np.bool_)):
            raise InputError(f"canonical must be True or False, got {self.canonical!r}")
        if not isinstance(self.gap, str) or not self.gap:
            raise InputError(f"gap must be a symbol such as '-', got {self.gap!r}")
        if self.alphabet is None:
            return
        if not isinstance(self.alphabet, Iterable) or not len(list(self.alphabet)):
            raise InputError(f"alphabet must be a name, symbols or None, got {self.alphabet!r}")
        if self.gap in list(self.alphabet):
            raise InputError(
                f"the alphabet has the gap symbol {self.gap!r}; leave it out or choose another gap"
            )

    @property
    def folds_case(self) -> bool:
        """Whether lower case is read as upper case."""
        return isinstance(self.alphabet, str) and self.alphabet in ALPHABETS

    def prepare(self, X: Any) -> CheckedPairs:
        """Check that the inputs are pairs of sequences, once."""
        if isinstance(X, CheckedPairs) and X.gap == self.gap:
            return X
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of pairs of sequences, got {type(X).__name__}")
        for i, x in enumerate(X):
            if isinstance(x, (str, bytes)) or not hasattr(x, "__len__") or len(x) != 2:
                raise InputError(f"expected a pair of sequences, got {x!r:.80}", sample=i)
            for name, sequence in zip(("first", "second"), x, strict=True):
                if isinstance(sequence, bytes) or not isinstance(sequence, (str, Sequence, np.ndarray)):
                    raise InputError(
                        f"the {name} sequence is {sequence!r:.80}; expected text or a list",
                        sample=i,
                    )
                if isinstance(sequence, str) and len(self.gap) > 1:
                    raise InputError(f"gap must be one character where sequences are text, got {self.gap!r}")
                if isinstance(sequence, str):
                    at = sequence.find(self.gap)
                else:
                    at = next((t for t, s in enumerate(sequence) if isinstance(s, str) and s == self.gap), -1)
                if at >= 0:
                    raise InputError(
                        f"the {name} sequence has the gap symbol {self.gap!r} at position "
                        f"{at}; inputs have no gaps",
                        sample=i,
                    )
        return CheckedPairs(X, self.gap)

    def symbols(self, X: Any) -> list[Any]:
        """Both sequences of a pair, with a mark between them that is no symbol."""
        fold = self.folds_case
        rows = []
        for first, second in self.prepare(X):
            both = [*first, "\n", *second]
            rows.append([s.upper() if fold and isinstance(s, str) else s for s in both])
        return rows

    def bind(self, X: Any, y: Any = None) -> AlignmentSpace:
        """Collect the alphabet, unless it is given."""
        self.check()
        X = self.prepare(X)
        if isinstance(self.alphabet, str) and not self.folds_case:
            symbols: list[Any] = list(dict.fromkeys(self.alphabet))
        elif self.alphabet is not None:
            symbols = list(ALPHABETS[self.alphabet] if self.folds_case else dict.fromkeys(self.alphabet))  # type: ignore[index]
        else:
            found: set[Any] = set()
            for i, x in enumerate(X):
                try:
                    found.update(*x)
                except TypeError as error:
                    raise InputError(f"symbols must be hashable ({error})", sample=i) from None
            symbols = _in_order(found)
        return AlignmentSpace(self, symbols)

    def bind_names(self, names: Sequence[Any]) -> AlignmentSpace:
        """Alphabet from the names of given weights."""
        self.check()
        if self.alphabet is not None:
            return self.bind([], [])
        symbols: dict[Any, None] = {}
        for name in names:
            if isinstance(name, tuple) and len(name) == 3 and name[0] == "pair":
                symbols.update({name[1]: None, name[2]: None})
        return AlignmentSpace(self, _in_order(symbols))

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """A long and a short pair, global and local."""
        X = [("AB" * 40, "B" * 80), ("A", "AB")]
        y = [("AB" * 40, "B" * 80), ("A-", "AB")]
        for mode in ("global", "local"):
            yield cls(mode=mode), X, y

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Mean share of the pairs of the true alignments that are predicted."""
        shares = [accuracy(a, b, self.gap, self.core) for a, b in zip(y_true, y_pred, strict=True)]
        return float(np.average(shares, weights=sample_weight))


class AlignmentSpace(Space):
    """Alphabet of an :class:`Alignment` after seeing data.

    Parameters
    ----------
    structure : Alignment
        Hyper-parameters.
    symbols : list
        The alphabet, in the order of codes.
    """

    structure: Alignment

    def __init__(self, structure: Alignment, symbols: Sequence[Any]):
        self.structure = structure
        self.symbols = list(symbols)
        self.place = {symbol: k for k, symbol in enumerate(self.symbols)}
        n = len(self.symbols)
        kind = structure.model.split("-", maxsplit=1)[0]
        if kind in ("linear", "affine"):
            self._names: list[tuple[Any, ...]] = [("match",), ("mismatch",)]
            self.of_pair = 1 - np.eye(n, dtype=np.int64)
        elif kind == "substitution":
            rows, columns = np.triu_indices(n)
            self._names = [
                ("pair", *sorted_pair(self.symbols[r], self.symbols[c])) for r, c in zip(rows, columns)
            ]
            self.of_pair = np.empty((n, n), dtype=np.int64)
            self.of_pair[rows, columns] = self.of_pair[columns, rows] = np.arange(rows.size)
        else:
            self._names = [("pair", a, b) for a in self.symbols for b in self.symbols]
            self.of_pair = np.arange(n * n).reshape(n, n)
        start = len(self._names)
        if structure.model.endswith("affine"):
            self._names += [("open",), ("extend",)]
            self.of_gap = np.array([start, start + 1])
        else:
            self._names += [("gap",)]
            self.of_gap = np.array([start, start])

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return len(self._names)

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("pair", a, b)``, or ``("match",)``, ``("mismatch",)``; then ``("gap",)``, or open and extend."""
        return list(self._names)

    @property
    def by_symbol(self) -> bool:
        """Whether symbols have weights of their own."""
        return self.structure.model.startswith(("substitution", "ordered"))

    @property
    def flags(self) -> int:
        """Mode as the recursions want it."""
        return flags_of(self.structure)

    # -- samples --------------------------------------------------------------------------------

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, unknown: str = "error"
    ) -> AlignmentBatch:
        """Compile pairs of sequences and, where given, their alignments.

        Parameters
        ----------
        X : list of pairs
            Sequences without gaps.
        y : list of alignments or None
            CheckedPairs of gapped sequences, or :class:`AlignPath`.
        n_jobs : int or None
            Threads of the batch's verbs.
        unknown : {"error", "mark"}
            Alignments that the mode forbids are refused, or get no columns and the score -inf. (None are
            forbidden at present: what a mode does not score is left out, and canonical order is made.)
        """
        X = self.structure.prepare(X)
        extra: dict[Any, int] = {}
        table = self._byte_table()
        codes = [[self._encoded(i, side, x, extra, table) for i, x in enumerate(pair)] for side, pair in
                 enumerate((([x[0] for x in X]), ([x[1] for x in X])))]  # fmt: skip
        ragged = [
            Ragged(np.concatenate([np.zeros(0, np.int32), *c]), offsets_of([v.size for v in c]))
            for c in codes
        ]
        n, k = len(self.symbols), len(self.symbols) + len(extra)
        of_pair = np.full((k, k), -1, dtype=np.int64)
        if not self.by_symbol:
            of_pair = 1 - np.eye(k, dtype=np.int64)
        of_pair[:n, :n] = self.of_pair
        gold = None
        if y is not None:
            if len(y) != len(X):
                raise InputError(f"X has {len(X)} pairs but y has {len(y)} alignments")
            rows = [self._columns(i, x, output) for i, (x, output) in enumerate(zip(X, y, strict=True))]
            gold = Ragged(np.concatenate([np.zeros(0, np.int64), *rows]), offsets_of([r.size for r in rows]))
        return AlignmentBatch(self, ragged[0], ragged[1], X, of_pair, gold, n_jobs)

    def _byte_table(self) -> np.ndarray | None:
        """Code of every single-byte character, or None where symbols are not all of that kind."""
        if not all(isinstance(s, str) and len(s) == 1 and ord(s) < 256 for s in self.symbols):
            return None
        table = np.full(256, -1, dtype=np.int32)
        for symbol, code in self.place.items():
            table[ord(symbol)] = code
            if self.structure.folds_case:
                table[ord(symbol.lower())] = code
        return table

    def _encoded(
        self, i: int, side: int, x: Any, extra: dict[Any, int], table: np.ndarray | None
    ) -> np.ndarray:
        if table is not None and isinstance(x, str):
            try:
                codes = table[np.frombuffer(x.encode("latin-1"), dtype=np.uint8)]
                if not codes.size or codes.min() >= 0:
                    return codes
            except UnicodeEncodeError:
                pass
        out = np.empty(len(x), dtype=np.int32)
        fold = self.structure.folds_case
        for t, symbol in enumerate(x):
            if fold and isinstance(symbol, str):
                symbol = symbol.upper()
            try:
                code = self.place.get(symbol, -1)
            except TypeError as error:
                raise InputError(f"symbols must be hashable ({error})", sample=i) from None
            if code < 0:
                if self.by_symbol and self.structure.unknown == "error":
                    name = ("first", "second")[side]
                    raise InputError(
                        f"symbol {symbol!r} at position {t} of the {name} sequence is not in the "
                        f"alphabet ({len(self.symbols)} symbols); Alignment(unknown='zero'), "
                        "or --unknown zero in training, scores it 0",
                        sample=i,
                    )
                code = extra.setdefault(symbol, len(self.symbols) + len(extra))
            out[t] = code
        return out

    def _columns(self, i: int, x: Any, output: Any) -> np.ndarray:
        """Codes of the columns of a given alignment."""
        codes = self._columns_of_texts(x, output)
        if codes is None:
            try:
                path = self._path(x, output)
            except InputError as error:
                raise InputError(error.message, sample=i) from None
            rows = path.gapped(range(len(x[0])), range(len(x[1])), gap=None)
            moves = [2 if a is None else 1 if b is None else 0 for a, b in zip(*rows, strict=True)]
            codes = np.array(moves, dtype=np.int64)
        if self.structure.canonical:
            codes = canonical_moves(codes)
        if self.structure.mode == "local":
            inner = np.flatnonzero(codes == 0)
            low, high = (inner[0], inner[-1] + 1) if inner.size else (codes.size, codes.size)
            outside = [np.sort(codes[:low]) + 2, codes[low:high], np.sort(codes[high:]) + 2]
            codes = np.concatenate(outside)
        return codes

    def _columns_of_texts(self, x: Any, output: Any) -> np.ndarray | None:
        """Codes of the columns where all is text and nothing is wrong."""
        if not isinstance(output, (tuple, list)) or len(output) != 2:
            return None
        if not all(isinstance(text, str) for text in (*x, *output)):
            return None
        for text, row in zip(x, output, strict=True):
            bare = row.replace(self.structure.gap, "")
            if bare != text and not (self.structure.folds_case and bare.upper() == text.upper()):
                return None
        return moves_of_texts(output[0], output[1], self.structure.gap)

    def _path(self, x: Any, output: Any) -> AlignPath:
        lengths = len(x[0]), len(x[1])
        if isinstance(output, AlignPath):
            inside = (
                self.structure.mode == "local"
                and output.stop[0] <= lengths[0]
                and output.stop[1] <= lengths[1]
            )
            if not inside and (output.start != (0, 0) or output.stop != lengths):
                raise InputError(
                    f"{output!r} does not fit sequences of {lengths[0]} and {lengths[1]} residues"
                )
            return output
        if isinstance(output, str) or not hasattr(output, "__len__") or len(output) != 2:
            raise InputError(f"expected a pair of gapped sequences or an AlignPath, got {output!r:.80}")
        gap = self.structure.gap
        path = AlignPath.from_gapped(output[0], output[1], gap)
        for name, row, own in zip(("first", "second"), output, x, strict=True):
            bare = [s for s in row if s != gap]
            if self.structure.folds_case:
                bare, own = [s.upper() for s in bare], [s.upper() for s in own]
            if len(bare) != len(own):
                raise InputError(
                    f"the {name} gapped sequence has {len(bare)} residues, the {name} input {len(own)}"
                )
            for t, (a, b) in enumerate(zip(bare, own, strict=True)):
                if a != b:
                    raise InputError(
                        f"residue {t} of the {name} gapped sequence is {a!r}, that of the input {b!r}"
                    )
        return path

    def accuracy(self, X: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of true pairs; with ``core="upper"`` the letters of paths are those of the inputs."""
        if self.structure.core == "upper":
            y_true = [
                y.gapped(x[0], x[1], self.structure.gap) if isinstance(y, AlignPath) else y
                for x, y in zip(X, y_true, strict=True)
            ]
        return self.structure.accuracy(y_true, y_pred, sample_weight)

    def names_advice(self) -> str:
        """Matrices often have symbols that the alphabet lacks."""
        if not self.by_symbol or self.structure.alphabet is None:
            return ""
        letters = "".join(self.symbols) if self.structure.folds_case else "..."
        return f"; alignment_weights(..., letters={letters!r}) takes only the symbols of the alphabet"

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every alignment of one tiny pair."""
        n1, n2 = len(x[0]), len(x[1])
        structure = self.structure

        def paths(i: int, j: int, last: str, i_end: int, j_end: int) -> Iterator[str]:
            if (i, j) == (i_end, j_end):
                yield ""
                return
            if i < i_end and j < j_end:
                yield from ("M" + rest for rest in paths(i + 1, j + 1, "M", i_end, j_end))
            if i < i_end and not (structure.canonical and last == "I"):
                yield from ("D" + rest for rest in paths(i + 1, j, "D", i_end, j_end))
            if j < j_end:
                yield from ("I" + rest for rest in paths(i, j + 1, "I", i_end, j_end))

        if structure.mode != "local":
            for moves in paths(0, 0, "", n1, n2):
                yield self.shown(x, AlignPath.from_moves(moves))
            return
        yield self.shown(x, AlignPath(()))
        for i, j in np.ndindex(n1, n2):
            for i_end, j_end in np.ndindex(n1 + 1, n2 + 1):
                if i_end > i and j_end > j:
                    for moves in paths(i, j, "", i_end, j_end):
                        if moves[0] == "M" and moves[-1] == "M":
                            yield self.shown(x, AlignPath.from_moves(moves, (i, j)))

    def shown(self, x: Any, path: AlignPath) -> Any:
        """An alignment in the form that the user chose."""
        return path if self.structure.output == "path" else path.gapped(x[0], x[1], self.structure.gap)

    def path_of(self, codes: np.ndarray) -> AlignPath:
        """Path of the codes of columns."""
        inner = np.flatnonzero(codes < 3)
        if inner.size == 0:
            return AlignPath(())
        before = codes[: inner[0]]
        start = int(np.sum(before == 3)), int(np.sum(before == 4))
        return AlignPath.from_moves((MOVES[c] for c in codes[inner].tolist()), start)

    # -- growing, keeping, reading -----------------------------------------------------------------

    def merged(self, other: Space) -> AlignmentSpace:
        """Space with the symbols of both."""
        assert isinstance(other, AlignmentSpace)
        if self.structure.alphabet is not None or set(other.symbols) <= set(self.symbols):
            return self
        return AlignmentSpace(self.structure, _in_order({*self.symbols, *other.symbols}))

    @property
    def outputs_fixed(self) -> bool:
        """True: the lengths decide what the alignments of a pair are."""
        return True

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> AlignmentBatch:
        """Batch from its state."""
        rows, columns = state["inputs"], state["outputs"]
        if len(rows) != len(columns):
            raise InputError("stored alignments do not fit the stored sequences")
        X = [(a, b) for a, b in rows]
        return self.pack(X, [AlignPath.from_cigar(text, (i, j)) for text, i, j in columns], n_jobs=n_jobs)

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Scores for reading: ``symbols``, the ``matrix`` of matches and the ``gaps``."""
        names = [name[0] for name in self._names]
        gaps = {
            name: float(w) for name, w in zip(names, weights.tolist()) if name in ("gap", "open", "extend")
        }
        if not self.by_symbol:
            return {"matches": {"match": float(weights[0]), "mismatch": float(weights[1])}, "gaps": gaps}
        return {"symbols": self.symbols, "matrix": np.asarray(weights)[self.of_pair], "gaps": gaps}

    def state(self) -> dict[str, Any]:
        """The alphabet."""
        return {"symbols": self.symbols}

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> AlignmentSpace:
        """Build the space again."""
        assert isinstance(structure, Alignment)
        symbols = list(state["symbols"])
        if len(set(symbols)) != len(symbols):
            raise InputError("a symbol occurs twice in the alphabet")
        return cls(structure, symbols)


def _in_order(symbols: Any) -> list[Any]:
    try:
        return sorted(symbols)
    except TypeError:
        return sorted(symbols, key=lambda v: (type(v).__name__, repr(v)))


Alignment.space_class = AlignmentSpace
