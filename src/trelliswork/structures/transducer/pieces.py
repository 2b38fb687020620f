"""Pieces: parts of inputs with what they are written as, found by aligning pairs of strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.dp.transducer.arrays import Factors, Lattice, Sums

__all__ = ["Aligned", "PairLattice", "Pieces", "align", "best_paths", "pair_lattice", "step_shapes"]

_MOST = 2**62  # numbers of pieces stay below
_UNEVEN = 0.1  # first count of a piece that is not one symbol to one, beside 1
_RARE = 1e-8  # least count of a piece, which keeps products of probabilities in range


def step_shapes(max_in: int, max_out: int) -> np.ndarray:
    """Sizes (a, b) of pieces: one input symbol to any number of outputs, or several to one."""
    one = [(1, b) for b in range(max_out + 1)]
    return np.array(one + [(a, 1) for a in range(2, max_in + 1)], dtype=np.int64)


class PairLattice(NamedTuple):
    """Monotone alignments of pairs of strings, in the format of ``dp/transducer/lattice.py``."""

    graph_ptr: np.ndarray
    node_ptr: np.ndarray
    place: np.ndarray
    tail: np.ndarray
    steps: (
        np.ndarray
    )  # per edge: places of its first input and output symbol, number of its shape (-1 at the end)
    keys: np.ndarray  # per edge: number of its piece among all thinkable ones, -1 at the end

    def kept(self, good: np.ndarray) -> PairLattice:
        """Without the edges that are not ``good``."""
        return self._replace(
            node_ptr=offsets_of(good)[self.node_ptr],
            tail=self.tail[good],
            steps=self.steps[good],
            keys=self.keys[good],
        )


def pair_lattice(x: Coded, y: Coded, shapes: np.ndarray, sizes: tuple[int, int]) -> PairLattice:
    """All alignments of pairs; ``sizes`` are those of the two alphabets."""
    from trelliswork.dp.transducer import pairs

    max_in, max_out = shapes.max(axis=0).tolist()
    x_base, y_base = _bases(max_in, max_out, sizes)
    graph_ptr, node_ptr, place, tail, steps = pairs.list_steps(x.offsets, y.offsets, shapes, max_out)
    keys = pairs.step_keys(x.values, y.values, steps, shapes, x_base, y_base, y_base**max_out)
    return PairLattice(graph_ptr, node_ptr, place, tail, steps, keys)


def _bases(max_in: int, max_out: int, sizes: tuple[int, int]) -> tuple[int, int]:
    """What pieces are numbered with: one more than the symbols of each alphabet."""
    x_base, y_base = sizes[0] + 1, sizes[1] + 1
    if x_base**max_in * y_base**max_out >= _MOST:
        raise InputError(
            f"there are too many pieces of {max_in} of {sizes[0]} and {max_out} of {sizes[1]} symbols; "
            "lower max_in or max_out"
        )
    return x_base, y_base


class Pieces:
    """An inventory of pieces.

    The two last pieces have no symbols: one is for an unknown input symbol, one for the end of the output.

    Parameters
    ----------
    inputs, outputs : list of tuples of int
        Symbols of the two sides of every piece but the two last; no input is empty.
    log_p : ndarray of shape (n_pieces,)
        Log-probabilities under the alignment model.
    sizes : tuple of int
        Sizes of the two alphabets.
    """

    def __init__(
        self,
        inputs: list[tuple[int, ...]],
        outputs: list[tuple[int, ...]],
        log_p: Any,
        sizes: tuple[int, int],
    ):
        order = sorted(
            range(len(inputs)), key=lambda p: (len(inputs[p]), inputs[p], len(outputs[p]), outputs[p])
        )
        self.inputs = [inputs[p] for p in order] + [(), ()]
        self.outputs = [outputs[p] for p in order] + [(), ()]
        self.log_p = np.append(np.asarray(log_p, dtype=np.float64)[order], [0.0, 0.0])
        self.sizes = sizes
        self.unknown, self.end = len(order), len(order) + 1
        self.max_in = max(map(len, self.inputs), default=1) or 1
        self.max_out = max(map(len, self.outputs), default=1) or 1
        sizes_of = {(1, 0)} | {(len(a), len(b)) for a, b in zip(self.inputs[:-2], self.outputs)}
        self.shapes = np.array(sorted(sizes_of), dtype=np.int64)  # the first is that of an unknown symbol
        out = Ragged.from_list(self.outputs, np.int64)
        self.out_ptr, self.out = out.offsets, out.values
        # Distinct outputs, for features that do not look at the input; the end has one of its own.
        names = sorted(set(self.outputs[:-1]), key=lambda o: (len(o), o))
        number = {o: t for t, o in enumerate(names)}
        self.writings = names
        self.writing = np.array([number[o] for o in self.outputs[:-1]] + [len(names)], dtype=np.int64)
        x_base, y_base = _bases(self.max_in, self.max_out, sizes)
        keys = [_number(i, x_base) for i in self.inputs[:-2]]
        self.input_keys, first = np.unique(np.array(keys, dtype=np.int64), return_index=True)
        self.piece_ptr = np.append(first, len(keys)).astype(np.int64)
        self._size = y_base**self.max_out
        whole = [key * self._size + _number(o, y_base) for key, o in zip(keys, self.outputs)]
        self._keys = np.array(whole, dtype=np.int64)

    @classmethod
    def completed(
        cls,
        pairs: list[tuple[tuple[int, ...], tuple[int, ...]]],
        log_p: np.ndarray,
        sizes: tuple[int, int],
    ) -> Pieces:
        """Given pieces, and an empty output for each input symbol that has none alone: every input has some
        output.
        """
        alone = {a[0] for a, _ in pairs if len(a) == 1}
        left = [(code,) for code in range(sizes[0]) if code not in alone]
        rest = np.full(len(left), np.min(log_p, initial=0.0))
        inputs = [a for a, _ in pairs] + left
        return cls(inputs, [b for _, b in pairs] + [()] * len(left), np.append(log_p, rest), sizes)

    def __len__(self) -> int:
        return len(self.inputs)

    def arcs(self, x: Coded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pieces at every position of inputs: ``arc_ptr``, ``arc_length`` and ``arc_piece``."""
        from trelliswork.dp.transducer import pairs

        base = self.sizes[0] + 1
        return pairs.list_arcs(
            x.values, x.offsets, self.input_keys, self.piece_ptr, self.unknown, self.max_in, base
        )

    def lattice(self, x: Coded, y: Coded) -> tuple[PairLattice, np.ndarray]:
        """Alignments of pairs that are made of these pieces, and the piece of each edge (the end at the
        end).
        """
        lattice = pair_lattice(x, y, self.shapes, self.sizes)
        place = np.minimum(np.searchsorted(self._keys, lattice.keys), max(self._keys.size - 1, 0))
        piece = (
            np.where(self._keys[place] == lattice.keys, place, -1)
            if self._keys.size
            else np.full(place.size, -1)
        )
        # An unknown input symbol is written as nothing.
        one, none = lattice.steps[:, 2] == 0, lattice.steps[:, 2] < 0
        first = np.minimum(lattice.steps[:, 0], max(x.values.size - 1, 0))
        if x.values.size:
            piece = np.where(one & (x.values[first] < 0), self.unknown, piece)
        piece = np.where(none, self.end, piece)
        return lattice.kept(piece >= 0), piece[piece >= 0]


def _number(symbols: tuple[int, ...], base: int) -> int:
    key = 0
    for code in symbols:
        key = key * base + code + 1
    return key


class Aligned(NamedTuple):
    """Best alignments of pairs."""

    sample: np.ndarray  # pair of each piece
    start: np.ndarray  # first input symbol, within the pair
    piece: np.ndarray  # number of the piece

    def offsets(self, n: int) -> np.ndarray:
        """Where the pieces of each of ``n`` pairs begin."""
        return offsets_of(np.bincount(self.sample, minlength=n))


def best_paths(
    lattice: PairLattice, scores: np.ndarray, number: np.ndarray, x: Coded
) -> tuple[Aligned, np.ndarray]:
    """Best path of every pair, by ``scores[number]`` of the edges, and its score."""
    from trelliswork.dp.transducer import lattice as recursions
    from trelliswork.dp.transducer import paths

    n = lattice.graph_ptr.size - 1
    best, back = np.empty(lattice.graph_ptr[-1]), np.empty(lattice.graph_ptr[-1], dtype=np.int64)
    nothing = np.full(number.size, -1, dtype=np.int32)
    recursions.viterbi(
        lattice.graph_ptr,
        lattice.node_ptr,
        lattice.tail,
        number.astype(np.int32),
        nothing,
        scores,
        np.zeros(1),
        0,
        n,
        best,
        back,
    )
    ptr, edges = paths.follow(lattice.graph_ptr, lattice.tail, back)
    owner = np.repeat(np.arange(n), np.diff(ptr))
    inner = lattice.tail[edges] >= 0
    edges, owner = edges[inner], owner[inner]
    aligned = Aligned(owner, lattice.steps[edges, 0] - x.offsets[owner], number[edges].astype(np.int64))
    return aligned, best[lattice.graph_ptr[1:] - 1]


def align(
    x: Coded,
    y: Coded,
    sizes: tuple[int, int],
    shapes: np.ndarray,
    weights: np.ndarray,
    n_iter: int,
    restarts: int = 0,
    seed: int = 0,
    ends: Sequence[int] = (),
) -> tuple[Pieces, Aligned]:
    """Pieces of the best alignments of pairs, by expectation-maximisation.

    The model draws pieces independently. At first all of one symbol on both sides have the same probability,
    and all others a lower one, except those of the symbols ``ends``, which may be written as any number;
    every restart multiplies these by random numbers, and the counts of the
    largest likelihood are taken.
    """
    lattice = pair_lattice(x, y, shapes, sizes)
    keys, number = np.unique(lattice.keys, return_inverse=True)
    ended = int(keys.size > 0 and keys[0] == -1)
    keys, piece_of = keys[ended:], number.ravel().astype(np.int32) - ended
    inner = piece_of >= 0
    shape = np.zeros(keys.size, dtype=np.int64)
    shape[piece_of[inner]] = lattice.steps[inner, 2]
    max_out = int(shapes[:, 1].max())
    y_base = sizes[1] + 1
    even = (shapes[shape] == 1).all(axis=1) | np.isin(keys // y_base**max_out, np.array(ends, dtype=int) + 1)
    start = np.where(even, 1.0, _UNEVEN)
    counts, likelihood = _maximised(lattice, piece_of, start, weights, n_iter)
    rng = np.random.default_rng(seed)
    for _ in range(restarts):
        moved = start * rng.exponential(size=start.size)
        other, reached = _maximised(lattice, piece_of, moved, weights, n_iter)
        if reached > likelihood:
            counts, likelihood = other, reached
    log_p = np.log(np.maximum(counts, _RARE) / max(counts.sum(), _RARE))
    aligned, _ = best_paths(lattice, np.append(log_p, 0.0), piece_of, x)
    used, piece = np.unique(aligned.piece, return_inverse=True)
    pairs = [
        (_symbols(key // y_base**max_out, sizes[0] + 1), _symbols(key % y_base**max_out, y_base))
        for key in keys[used].tolist()
    ]
    bare = [((t,), ()) for t in ends if ((t,), ()) not in pairs]  # something may have no ending
    rest = np.full(len(bare), log_p[used].min(initial=0.0))
    pieces = Pieces.completed([*pairs, *bare], np.append(log_p[used], rest), sizes)
    place = {pair: t for t, pair in enumerate(zip(pieces.inputs, pieces.outputs, strict=True))}
    numbers = np.array([place[pair] for pair in pairs], dtype=np.int64)
    return pieces, aligned._replace(piece=numbers[piece.ravel()])


def _symbols(key: int, base: int) -> tuple[int, ...]:
    out = []
    while key:
        out.append(key % base - 1)
        key //= base
    return tuple(reversed(out))


def _maximised(
    lattice: PairLattice, number: np.ndarray, counts: np.ndarray, weights: np.ndarray, n_iter: int
) -> tuple[np.ndarray, float]:
    """Expected counts of pieces after some rounds of expectation-maximisation, and the log-likelihood
    before the last.
    """
    from trelliswork.dp.transducer.lattice import inside_outside

    nothing, still = np.full(number.size, -1, dtype=np.int32), np.zeros(lattice.place.size)
    paths = Lattice(*lattice[:4], number, nothing)
    log_z = np.zeros(weights.size)
    for _ in range(n_iter):
        counts = np.maximum(counts, _RARE)
        factors = Factors(np.append(counts / counts.sum(), 1.0), still, np.ones(1))
        counts = np.zeros(counts.size)
        inside_outside(paths, factors, weights, 0, weights.size, Sums(log_z, counts, np.zeros(1)))
    return counts, float(weights @ log_z)
