"""Names of the features of a transducer, and features from names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import sorted_symbols
from trelliswork._ragged import Ragged
from trelliswork.structures.backoff import Contexts
from trelliswork.structures.transducer.ends import END, NO_ENDS, START, Ends
from trelliswork.structures.transducer.features import Grams, Windows
from trelliswork.structures.transducer.pieces import Pieces

if TYPE_CHECKING:
    from trelliswork.structures.transducer.space import TransducerSpace
    from trelliswork.structures.transducer.structure import Transducer

__all__ = ["feature_names", "log_probabilities", "piece_names", "space_of_names"]

_LENGTHS = {"window": 6, "joint": 5, "ngram": 5, "output": 4}


def piece_names(space: TransducerSpace) -> list[tuple[Any, Any]]:
    """Input and output of every piece; both are None at the end."""
    symbols, pieces = space.input_symbols, space.pieces
    out = [
        (space.input_of(tuple(symbols[c] for c in codes)), space.writing_of(p))
        for p, codes in enumerate(pieces.inputs)
    ]
    out[pieces.end] = (None, None)
    return out


def log_probabilities(space: TransducerSpace) -> dict[tuple[Any, Any], float]:
    """Log-probability of each piece under the alignment model, by name."""
    return dict(zip(piece_names(space)[: space.pieces.unknown], space.pieces.log_p.tolist()))


def feature_names(space: TransducerSpace) -> list[Any]:
    """Names of all features, in their order."""
    pieces, windows, grams = piece_names(space), space.windows, space.grams
    n = len(space.input_symbols)
    out: list[Any] = []
    for t, (start, row) in enumerate(zip(windows.offset.tolist(), windows.strings, strict=True)):
        codes = row.tolist()
        bounds = "^" * (codes[:1] == [n]) + "$" * (codes[-1:] == [n + 1])
        string = space.input_of(tuple(space.input_symbols[c] for c in codes if c < n))
        for p in windows.row_piece[windows.row_ptr[t] : windows.row_ptr[t + 1]].tolist():
            out.append(("window", start, string, bounds, *pieces[p]))
    m, mark = len(space.output_symbols), len(space.pieces)
    histories = [
        ("^" * (codes[:1] == (mark,)), tuple(pieces[p] for p in codes if p < mark))
        for codes in grams.contexts.contexts
    ]
    contexts = []
    for codes in grams.spoken.contexts:
        symbols = tuple(space.output_symbols[c] for c in codes if c < m)
        contexts.append(("^" * (codes[:1] == (m,)), "".join(symbols) if space.text[1] else symbols))
    joint, ngram, output = (table.tolist() for table in grams.tables)
    out += [("joint", *histories[state], *pieces[p]) for state, p in joint]
    out += [("ngram", *contexts[state], *pieces[p]) for state, p in ngram]
    written = [tuple(space.output_symbols[c] for c in w) for w in space.pieces.writings]
    shown: list[Any] = [*("".join(w) if space.text[1] else w for w in written), None]
    return out + [("output", *contexts[state], shown[t]) for state, t in output]


def space_of_names(structure: Transducer, names: Sequence[Any]) -> TransducerSpace:
    """Space whose features have the given names; its alignment model gives all pieces the same
    probability.
    """
    from trelliswork.structures.transducer.space import TransducerSpace

    for name in names:
        if not isinstance(name, tuple) or _LENGTHS.get(str(name[0]) if name else "") != len(name):
            raise InputError(
                f"unknown feature {name!r:.80}; a transducer has ('window', start, substring, bounds, input, "
                "output), ('joint', bound, pieces, input, output), ('ngram', bound, context, input, output) "
                "and ('output', bound, context, output)"
            )
    named = list(
        dict.fromkeys(
            name[4:6] if name[0] == "window" else name[3:5] for name in names if name[0] != "output"
        )
    )
    named += [pair for name in names if name[0] == "joint" for pair in name[2] if pair not in named]
    real = [pair for pair in named if pair[0] is not None]
    text = (
        all(isinstance(side, str) for name in names if name[0] == "window" for side in (name[2], name[4]))
        and all(isinstance(a, str) for a, _ in real),
        all(isinstance(b, str) for _, b in real)
        and all(isinstance(name[2], str) for name in names if name[0] in ("ngram", "output")),
    )
    inputs = {s for a, _ in real for s in a} | {s for name in names if name[0] == "window" for s in name[2]}
    outputs = {s for _, b in real for s in b}
    outputs |= {s for name in names if name[0] in ("ngram", "output") for s in name[2]}
    outputs |= {s for name in names if name[0] == "output" and name[3] is not None for s in name[3]}
    x_symbols, y_symbols = sorted_symbols(inputs), sorted_symbols(outputs)
    x_code, y_code = ({s: t for t, s in enumerate(a)} for a in (x_symbols, y_symbols))
    sides = [(tuple(x_code[s] for s in a), tuple(y_code[s] for s in b)) for a, b in real]
    pieces = Pieces.completed(sides, np.zeros(len(sides)), (len(x_symbols), len(y_symbols)))
    number = {pair: t for t, pair in enumerate(zip(pieces.inputs, pieces.outputs, strict=True))}
    piece = {pair: number[side] for pair, side in zip(real, sides, strict=True)} | {(None, None): pieces.end}

    n, m = len(x_symbols), len(y_symbols)
    by_attribute: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    pairs: dict[str, list[tuple[tuple[int, ...], int]]] = {"joint": [], "ngram": [], "output": []}
    writing = {w: t for t, w in enumerate(pieces.writings)}
    for name in names:
        if name[0] == "window":
            codes = [n] * ("^" in name[3]) + [x_code[s] for s in name[2]] + [n + 1] * ("$" in name[3])
            by_attribute.setdefault((name[1], tuple(codes)), []).append(piece[name[4:6]])
            continue
        if name[0] == "joint":
            history = (len(pieces),) * (name[1] == "^") + tuple(piece[pair] for pair in name[2])
            pairs["joint"].append((history, piece[name[3:5]]))
            continue
        context = (m,) * (name[1] == "^") + tuple(y_code[s] for s in name[2])
        if name[0] == "ngram":
            pairs["ngram"].append((context, piece[name[3:5]]))
        else:
            end = len(pieces.writings)
            written = end if name[3] is None else writing.get(tuple(y_code[s] for s in name[3]), -1)
            if written < 0:
                raise InputError(f"no piece writes the output of the feature {name!r:.80}")
            pairs["output"].append((context, written))
    order = sorted(by_attribute, key=lambda a: (a[0], len(a[1]), a[1]))
    rows = Ragged.from_list([sorted(by_attribute[a]) for a in order], np.int64)
    windows = Windows(
        structure.window,
        structure.longest,
        n,
        np.array([a[0] for a in order], dtype=np.int64),
        Ragged.from_list([a[1] for a in order], np.int64),
        rows.offsets,
        rows.values.astype(np.int64),
    )
    starts = [(len(pieces),)] if structure.order else []
    contexts = Contexts(len(pieces), [*starts, *_suffixes(pairs["joint"])])
    spoken = Contexts(m, [*_suffixes(pairs["ngram"]), *_suffixes(pairs["output"])])
    tables = []
    for kind, known in (("joint", contexts), ("ngram", spoken), ("output", spoken)):
        state = {context: t for t, context in enumerate(known.contexts)}
        tables.append(np.array(sorted((state[c], p) for c, p in pairs[kind]), dtype=np.int64).reshape(-1, 2))
    grams = Grams(structure.order, contexts, spoken, pieces, *tables)
    ends = Ends(START in inputs, END in inputs) if text[0] else NO_ENDS
    return TransducerSpace(
        structure, x_symbols, y_symbols, text, pieces, windows, grams, None, None, ends=ends
    )


def _suffixes(pairs: list[tuple[tuple[int, ...], int]]) -> set[tuple[int, ...]]:
    """Contexts with all shorter ones."""
    return {context[k:] for context, _ in pairs for k in range(len(context) + 1)}
