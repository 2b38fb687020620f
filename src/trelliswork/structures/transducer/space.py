"""A transducer after it has seen data: alphabets, pieces, features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import check_sequences
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, lengths, numbers, whole
from trelliswork._validate import warn_nothing_known
from trelliswork.structures.backoff import Contexts
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.known import check_known
from trelliswork.structures.transducer import names, store
from trelliswork.structures.transducer.agreeing import agreeing
from trelliswork.structures.transducer.batch import TransducerBatch
from trelliswork.structures.transducer.ends import NO_ENDS, Ends
from trelliswork.structures.transducer.features import Grams, Windows
from trelliswork.structures.transducer.law import PieceLaw
from trelliswork.structures.transducer.outputs import coded_outputs, read_alignments, symbols_of
from trelliswork.structures.transducer.pieces import Aligned, Pieces
from trelliswork.structures.transducer.shortlist import Shortlist
from trelliswork.structures.transducer.unseen import Unseen

if TYPE_CHECKING:
    from trelliswork.structures.transducer.structure import Transducer

__all__ = ["TransducerSpace"]

_STORED = {
    "piece_inputs": whole("symbols read", high="inputs"),
    "piece_inputs_lengths": lengths("pieces", "symbols read", least=1),
    "piece_outputs": whole("symbols written", high="outputs"),
    "piece_outputs_lengths": lengths("pieces", "symbols written"),
    "log_p": numbers("pieces"),
    "spoken": whole("symbols of contexts", high="outputs and the start"),
    "spoken_lengths": lengths("contexts of outputs", "symbols of contexts"),
    "strings": whole("symbols of strings", low=-2),
    "strings_lengths": lengths("strings", "symbols of strings"),
}
_STORED_ROWS = {
    "offset": whole("rows", low=-(2**31)),
    "row_piece": whole("entries", high="pieces"),
    "row_lengths": lengths("rows", "entries"),
    "contexts": whole("pieces of contexts", high="pieces and the start"),
    "contexts_lengths": lengths("contexts", "pieces of contexts"),
}


class TransducerSpace(Space):
    """Alphabets, pieces and features of a transducer.

    Parameters
    ----------
    structure : Transducer
        Hyper-parameters.
    input_symbols, output_symbols : list
        The two alphabets.
    text : tuple of bool
        Whether inputs, and outputs, are text (of characters) and not lists of symbols.
    pieces : Pieces
        Pieces of inputs and what they are written as.
    windows : Windows
        Features of pieces at positions of inputs.
    grams : Grams
        Features of pieces after output contexts.
    shortlist : Shortlist or None
        Counts by which pieces are proposed; None proposes all.
    law : PieceLaw or None
        Kneser-Ney model of the pieces.
    unseen : Unseen or None
        What becomes of input symbols that training did not have; with None they are dropped.
    ends : Ends
        Which ends of inputs have a symbol of their own.
    """

    structure: Transducer

    def __init__(
        self,
        structure: Transducer,
        input_symbols: list[Any],
        output_symbols: list[Any],
        text: tuple[bool, bool],
        pieces: Pieces,
        windows: Windows,
        grams: Grams,
        shortlist: Shortlist | None,
        law: PieceLaw | None,
        unseen: Unseen | None = None,
        ends: Ends = NO_ENDS,
    ):
        self.structure = structure
        self.input_symbols, self.output_symbols, self.text = input_symbols, output_symbols, text
        self.pieces, self.windows, self.grams, self.shortlist = pieces, windows, grams, shortlist
        self.law, self.unseen, self.ends = law, unseen, ends
        self._names: list[Any] | None = None
        self._writings: list[Any] | None = None

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return len(self.windows) + len(self.grams)

    @property
    def feature_names(self) -> list[Any]:
        """``("window", start, substring, bounds, input, output)``, ``("joint", bound, pieces, input,
        output)``, ``("ngram", bound, context, input, output)`` and ``("output", bound, context, output)``;
        input and output are None at the end of the string.
        """
        if self._names is None:
            self._names = names.feature_names(self)
        return self._names

    @property
    def feature_orders(self) -> np.ndarray:
        """1 more than the output symbols of the context."""
        return np.concatenate([np.ones(len(self.windows), dtype=np.int64), 1 + self.grams.lengths])

    # -- strings ------------------------------------------------------------------------------

    def input_of(self, symbols: tuple[Any, ...]) -> Any:
        """Input symbols as the user's kind of string."""
        return "".join("\ufffd" if s is None else str(s) for s in symbols) if self.text[0] else tuple(symbols)

    def writing_of(self, piece: int) -> Any:
        """Output of a piece as the user's kind of string."""
        symbols = tuple(self.output_symbols[c] for c in self.pieces.outputs[piece])
        return "".join(symbols) if self.text[1] else symbols

    def output_of(self, pieces: list[int]) -> Any:
        """Output that pieces write together."""
        if self._writings is None:
            self._writings = [self.writing_of(p) for p in range(len(self.pieces))]
        written = [self._writings[p] for p in pieces]
        return "".join(written) if self.text[1] else [s for symbols in written for s in symbols]

    # -- samples ------------------------------------------------------------------------------

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, known: Any = None, unknown: str = "error"
    ) -> TransducerBatch:
        """Compile inputs, and their outputs, into lattices.

        Parameters
        ----------
        X, y : lists
            Inputs and outputs; y may be None.
        n_jobs : int or None
            Threads.
        known : list or None
            Instead of ``y``: of every input the only output, or outputs, that are possible; None for any.
        unknown : {"error", "mark"}
            What to do about outputs that the pieces cannot write.
        """
        check_sequences(X)
        inputs = [symbols_of(x, i, "an input") for i, x in enumerate(X)]
        batch = store.packed(self, [self.ends.added(symbols) for symbols in inputs], n_jobs)
        if y is None:
            new, n = batch.x.values < 0, sum(map(len, inputs))
            if n and np.count_nonzero(new) == n:
                example = next(s for symbols in inputs for s in symbols)
                warn_nothing_known("symbols", n, example, self.input_symbols[0])
            if known is None:
                return batch
            check_known(known, len(inputs))
            return agreeing(batch, known)
        if not hasattr(y, "__len__") or len(y) != len(inputs):
            got = len(y) if hasattr(y, "__len__") else type(y).__name__
            raise InputError(f"X has {len(inputs)} inputs but y has {got}")
        if self.structure.output == "pieces":
            batch._gold = self.aligned_codes(batch, y, unknown)
        else:
            store.completed(batch, coded_outputs(y, batch.output_symbols)[0], unknown)
        return batch

    def aligned_codes(self, batch: TransducerBatch, y: Any, unknown: str) -> Ragged:
        """Codes of given alignments."""
        place = {pair: t for t, pair in enumerate(zip(self.pieces.inputs, self.pieces.outputs, strict=True))}
        known = [{s: t for t, s in enumerate(a)} for a in (self.input_symbols, self.output_symbols)]
        rows: list[tuple[int, int, int]] = []
        possible = np.ones(len(batch), dtype=bool)
        for i, pairs in enumerate(read_alignments(batch.inputs, y)):
            start = 0
            for a, b in pairs:
                left, right = (
                    tuple(d.get(s, -1) for s in side) for d, side in zip(known, (a, b), strict=True)
                )
                piece = place.get((left, right), -1)
                if batch.novel is not None and -1 in left:
                    piece = batch.piece_at(i, start, a, b)
                elif left == (-1,) and not right:
                    piece = self.pieces.unknown
                possible[i] &= piece >= 0
                rows.append((i, start, piece))
                start += len(a)
        if unknown == "error" and not possible.all():
            raise InputError(store.NOT_WRITTEN, sample=int(np.flatnonzero(~possible)[0]))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return store.path_codes(batch, Aligned(*table[possible[table[:, 0]]].T), possible)

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every output of one tiny input: alignments, or the distinct strings that they write."""
        symbols = self.ends.added(symbols_of(x, 0, "an input"))
        batch = store.packed(self, [symbols], None)
        arcs = batch.arcs
        written = batch.writing_at(np.arange(arcs.piece.size))

        def walk(start: int) -> Iterator[list[tuple[int, int, int]]]:
            if start == len(symbols):
                yield []
                return
            here = slice(arcs.ptr[start], arcs.ptr[start + 1])
            for length, number in zip(arcs.length[here].tolist(), written[here].tolist(), strict=True):
                for rest in walk(start + length):
                    yield [(start, start + length, number), *rest]

        seen = set()
        for path in walk(0):
            if self.structure.output == "pieces":
                yield [(self.input_of(symbols[a:b]), batch.writing_of(p)) for a, b, p in path]
                continue
            output = batch.output_of([p for *_, p in path])
            if tuple(output) not in seen:
                seen.add(tuple(output))
                yield output

    def accuracy(self, X: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of outputs that are wholly right; one of several true outputs is enough."""
        return self.structure.accuracy(y_true, y_pred, sample_weight)

    # -- other spaces and model files -----------------------------------------------------------

    def merged(self, other: Space) -> TransducerSpace:
        """Space with the pieces and features of both."""
        assert isinstance(other, TransducerSpace)
        both = list(dict.fromkeys([*self.feature_names, *other.feature_names]))
        if len(both) == self.n_features:
            return self
        out = self.structure.bind_names(both)
        known = names.log_probabilities(other) | names.log_probabilities(self)
        for piece, pair in enumerate(names.piece_names(out)[: out.pieces.unknown]):
            out.pieces.log_p[piece] = known.get(pair, min(known.values()))
        out.unseen = other.unseen if self.unseen is None else self.unseen
        out.ends = Ends(*(a or b for a, b in zip(self.ends, other.ends, strict=True)))
        return out

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> TransducerBatch:
        """Batch from its state."""
        return store.restored(self, state, n_jobs)

    def state(self) -> dict[str, Any]:
        """Alphabets, pieces and features as plain values and arrays."""
        pieces, windows, grams = self.pieces, self.windows, self.grams
        lists = {
            "piece_inputs": pieces.inputs[:-2],
            "piece_outputs": pieces.outputs[:-2],
            "contexts": grams.contexts.contexts,
            "spoken": grams.spoken.contexts,
        }
        state: dict[str, Any] = {
            "input_symbols": self.input_symbols,
            "output_symbols": self.output_symbols,
            "text": list(self.text),
            "log_p": pieces.log_p[:-2],
            "offset": windows.offset,
            "strings": windows.strings.values,
            "strings_lengths": windows.strings.lengths,
            "row_lengths": np.diff(windows.row_ptr),
            "row_piece": windows.row_piece,
            **dict(zip(("joint", "ngram", "output"), grams.tables, strict=True)),
        }
        if self.shortlist is not None:
            state |= self.shortlist.state()
        if self.law is not None:
            state |= self.law.state()
        if self.unseen is not None:
            state["copied_kinds"] = self.unseen.kinds
        if any(self.ends):
            state["ends"] = list(self.ends)
        for name, rows in lists.items():
            ragged = Ragged.from_list(rows, np.int64)
            state |= {name: ragged.values, f"{name}_lengths": ragged.lengths}
        return state

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> TransducerSpace:
        """Build the space again; a file is not trusted, so everything is checked."""
        symbols = [list(state["input_symbols"]), list(state["output_symbols"])]
        sizes = len(symbols[0]), len(symbols[1])
        known = {"inputs": sizes[0], "outputs": sizes[1], "outputs and the start": sizes[1] + 1}
        stored = fitting(state, _STORED, "pieces", **known)
        inputs, outputs, spoken = (
            _rows(stored, name) for name in ("piece_inputs", "piece_outputs", "spoken")
        )
        pieces = Pieces(inputs, outputs, stored["log_p"], sizes)
        strings = Ragged(stored["strings"], offsets_of(stored["strings_lengths"]))
        known = {"rows": len(strings), "pieces": len(pieces), "pieces and the start": len(pieces) + 1}
        rows = fitting(state, _STORED_ROWS, "features", **known)
        automata = Contexts(len(pieces), _rows(rows, "contexts")), Contexts(sizes[1], spoken)
        tables = []
        for name, automaton, width in (
            ("joint", automata[0], len(pieces)),
            ("ngram", automata[1], len(pieces)),
            ("output", automata[1], len(pieces.writings) + 1),
        ):
            tables.append(fitting(state, {name: whole("entries", 2)}, "features")[name])
            if np.any(tables[-1] >= np.array([len(automaton.contexts), width])):
                raise InputError("the stored features are damaged: an n-gram of symbols that are not there")
        row_ptr, row_piece, offset = offsets_of(rows["row_lengths"]), rows["row_piece"], rows["offset"]
        transducer = cast("Transducer", structure)
        windows = Windows(
            transducer.window, transducer.longest, sizes[0], offset, strings, row_ptr, row_piece
        )
        text = bool(state["text"][0]), bool(state["text"][1])
        for some, joined in zip(symbols, text, strict=True):
            if joined and not all(isinstance(symbol, str) for symbol in some):
                raise InputError("a stored transducer is damaged: a symbol of a text is no character")
        grams = Grams(transducer.order, *automata, pieces, *tables)
        shortlist = Shortlist.from_state(state, pieces) if "listed_keys" in state else None
        law = PieceLaw.from_state(state, grams) if "law_rows" in state else None
        # Files without it are older: their models drop what they do not know.
        unseen = Unseen(list(state["copied_kinds"])) if "copied_kinds" in state else None
        ends = Ends.from_state(state["ends"]) if "ends" in state else NO_ENDS
        return cls(
            transducer, symbols[0], symbols[1], text, pieces, windows, grams, shortlist, law, unseen, ends
        )

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Weights for reading: the largest of each kind of feature."""
        named = self.feature_names
        out: dict[str, Any] = {}
        for kind in ("window", "joint", "ngram", "output"):
            rows = np.array([i for i, name in enumerate(named) if name[0] == kind], dtype=np.int64)
            order = rows[np.argsort(-np.abs(weights[rows]), kind="stable")[:top]]
            out[kind] = [(named[i], float(weights[i])) for i in order]
        return out


def _rows(stored: Mapping[str, np.ndarray], name: str) -> list[tuple[int, ...]]:
    return [tuple(row.tolist()) for row in Ragged(stored[name], offsets_of(stored[f"{name}_lengths"]))]
