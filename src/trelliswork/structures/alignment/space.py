"""Alphabet and weights of alignments after seeing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork._text import plain_sequence
from trelliswork.structures.alignment.batch import AlignmentBatch
from trelliswork.structures.alignment.columns import (
    MOVES,
    RESIDUES,
    canonical_moves,
    flags_of,
    moves_of_texts,
)
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.structures.alignment.weights import sorted_pair
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.known import check_known, is_open
from trelliswork.structures.labels import sorted_labels

if TYPE_CHECKING:
    from trelliswork.structures.alignment.structure import Alignment

__all__ = ["AlignmentSpace"]


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
    def folds_case(self) -> bool:
        """Whether lower case is read as upper case: in named alphabets, and in residues found in data."""
        read_off_data = self.structure.alphabet is None and bool(self.symbols)
        return self.structure.folds_case or (read_off_data and all(s in RESIDUES for s in self.symbols))

    @property
    def flags(self) -> int:
        """Mode as the recursions want it."""
        return flags_of(self.structure)

    # -- samples --------------------------------------------------------------------------------

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, known: Any = None, unknown: str = "error"
    ) -> AlignmentBatch:
        """Compile pairs of sequences and, where given, their alignments.

        Parameters
        ----------
        X : list of pairs
            Sequences without gaps.
        y : list of alignments or None
            Pairs of gapped sequences, :class:`AlignPath`, or what is known of them.
        n_jobs : int or None
            Threads of the batch's verbs.
        known : list or None
            Instead of ``y``: what is known of every alignment, written as in ``y``.
        unknown : {"error", "mark"}
            Alignments that the mode forbids are refused, or get no columns and the score -inf. (None are
            forbidden at present: what a mode does not score is left out, and canonical order is made.)
        """
        X = self.structure.prepare(X)
        extra: dict[Any, int] = {}
        table = self._byte_table()
        first, second = (
            Ragged.from_list(
                [self._encoded(i, side, x[side], extra, table) for i, x in enumerate(X)], np.int32
            )
            for side in (0, 1)
        )
        n, k = len(self.symbols), len(self.symbols) + len(extra)
        of_pair = np.full((k, k), -1, dtype=np.int64)
        if not self.by_symbol:
            of_pair = 1 - np.eye(k, dtype=np.int64)
        of_pair[:n, :n] = self.of_pair
        batch = AlignmentBatch(self, first, second, X, of_pair, None, n_jobs)
        if known is not None:
            check_known(known, len(X))
            batch.known = [self._known_pairs(i, x, entry) for i, (x, entry) in enumerate(zip(X, known))]
        elif y is not None:
            if len(y) != len(X):
                raise InputError(f"X has {len(X)} pairs but y has {len(y)} alignments")
            samples = list(enumerate(zip(X, y, strict=True)))
            rows = [None if is_open(output) else self._columns(i, x, output) for i, (x, output) in samples]
            entries = [self._known_pairs(i, x, o) if is_open(o) else None for i, (x, o) in samples]
            batch.settle(rows, entries, unknown == "error")
        return batch

    def _known_pairs(self, i: int, x: Any, entry: Any) -> tuple[tuple[int | None, int | None], ...]:
        """What is known of an alignment: pairs of residues, None for one that has no partner."""
        if entry is None:
            return ()
        if not is_open(entry):  # all of it
            pairs = self.path_of(self._columns(i, x, entry)).pairs().tolist()
            matched = [{pair[side] for pair in pairs} for side in (0, 1)]
            entry = {tuple(pair) for pair in pairs}
            entry |= {(a, None) for a in range(len(x[0])) if a not in matched[0]}
            entry |= {(None, b) for b in range(len(x[1])) if b not in matched[1]}
        for pair in entry:
            fits = isinstance(pair, tuple) and len(pair) == 2 and pair != (None, None)
            fits = fits and all(
                place is None or (isinstance(place, (int, np.integer)) and 0 <= place < len(row))
                for place, row in zip(pair, x, strict=True)
            )
            if not fits:
                raise InputError(
                    f"{pair!r:.60} is no pair of residues of sequences of {len(x[0])} and {len(x[1])}; "
                    "expected their numbers from 0, None for no partner",
                    sample=i,
                )
        return tuple(sorted(entry, key=lambda pair: tuple(-1 if a is None else int(a) for a in pair)))

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether an alignment matches the known pairs, and no residue known to have no partner."""
        pairs = {tuple(pair) for pair in self._path(x, y).pairs().tolist()}
        matched = [{pair[side] for pair in pairs} for side in (0, 1)]
        return all(
            (i, j) in pairs
            if i is not None and j is not None
            else (j if i is None else i) not in matched[i is None]
            for i, j in self._known_pairs(0, x, known)
        )

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> Any:
        """The columns that stay known, as a set of pairs."""
        if share == 0:
            return y
        columns = self._known_pairs(0, x, y)
        return {pair for pair in columns if rng.random() >= share}

    def _byte_table(self) -> np.ndarray | None:
        """Code of every single-byte character, or None where symbols are not all of that kind."""
        if not all(isinstance(s, str) and len(s) == 1 and ord(s) < 256 for s in self.symbols):
            return None
        table = np.full(256, -1, dtype=np.int32)
        for symbol, code in self.place.items():
            table[ord(symbol)] = code
            if self.folds_case:
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
        codes = np.empty(len(x), dtype=np.int32)
        fold = self.folds_case
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
            codes[t] = code
        return codes

    def _columns(self, i: int, x: Any, output: Any) -> np.ndarray:
        """Codes of the columns of a given alignment."""
        if isinstance(output, (tuple, list)):
            output = type(output)(map(plain_sequence, output))
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
            if bare != text and not (self.folds_case and bare.upper() == text.upper()):
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
        for name, row, sequence in zip(("first", "second"), output, x, strict=True):
            bare = [s for s in row if s != gap]
            if self.folds_case:
                bare, sequence = [s.upper() for s in bare], [s.upper() for s in sequence]
            if len(bare) != len(sequence):
                raise InputError(
                    f"the {name} gapped sequence has {len(bare)} residues, the {name} input {len(sequence)}"
                )
            for t, (a, b) in enumerate(zip(bare, sequence, strict=True)):
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
        letters = "".join(self.symbols) if self.folds_case else "..."
        return f"; alignment_weights(..., letters={letters!r}) takes only the symbols of the alphabet"

    def cautions(self, weights: np.ndarray | None = None) -> list[str]:
        """Letters in both cases, which count as different symbols; given gap scores above zero."""
        said = []
        letters = {s for s in self.symbols if isinstance(s, str)}
        small = sorted(s for s in letters if s != s.upper() and s.upper() in letters)
        if small and self.by_symbol:
            said.append(
                f"{small[0]!r} and {small[0].upper()!r} are different symbols ({len(small)} letters occur in "
                "both cases); write all sequences in upper case, or give alphabet='protein' or the like"
            )
        gaps = {} if weights is None else self.tables(weights)["gaps"]
        above = [name for name, score in gaps.items() if score > 0]
        if above:
            said.append(
                f"the score of {above[0]!r} is {gaps[above[0]]:g}: scores are added, so gaps are rewarded; "
                "a penalty is a negative score"
            )
        return said

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
        return AlignmentSpace(self.structure, sorted_labels({*self.symbols, *other.symbols}))

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
        batch = self.pack(X, [AlignPath.from_cigar(text, (i, j)) for text, i, j in columns], n_jobs=n_jobs)
        known = state.get("known")
        if known is not None:
            check_known(known, len(X))
            batch.known = [
                None if entry is None else self._known_pairs(i, X[i], {tuple(pair) for pair in entry})
                for i, entry in enumerate(known)
            ]
        return batch

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
        symbols = list(state["symbols"])
        if len(set(symbols)) != len(symbols):
            raise InputError("a symbol occurs twice in the alphabet")
        return cls(cast("Alignment", structure), symbols)
