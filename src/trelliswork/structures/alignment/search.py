"""Search for best alignments: which arithmetic, which recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.dp.alignment.flags import CANONICAL

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch, Law
    from trelliswork.structures.base import Parts

__all__ = ["best_paths", "best_scores", "path_values"]

_FEW_CELLS = 4096  # below, double precision costs nothing
_SHORT_RANGE = 65000.0  # of 16-bit integers
_STEPS = (1, 2, 4, 8, 16, 5, 10, 20, 50, 100)  # denominators of scores that integers hold exactly
_WHOLE = 1e-12  # of the largest score: how far from a multiple of a step rounding errors may take it
_LEAST, _MOST = 1e-30, 1e37  # sums that 32-bit floats hold with full precision
_ROUNDING = 2.0**-23  # two roundings to 32 bits, one of the best path and one of the path found
_TOLERATED = 3e-3  # of what the best matches are worth, lost to rounding at the worst


class _Lanes(NamedTuple):
    """Pairs for the vector recursion, with 16-bit integers (and their scales) or 32-bit floats."""

    short: np.ndarray
    scales: np.ndarray
    single: np.ndarray

    def calls(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pairs, scales and minus infinity of every arithmetic in use."""
        arithmetics: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [
            (self.short, self.scales, np.array([-32768], dtype=np.int16)),
            (self.single, np.ones(self.single.size), np.array([-np.inf], dtype=np.float32)),
        ]
        return [call for call in arithmetics if call[0].size]


def _lanes(batch: AlignmentBatch, law: Law, most: int) -> _Lanes:
    """Which pairs the vector recursion takes; what it does for a pair depends on that pair alone."""
    import numba

    config: Any = numba.config
    nothing = np.zeros(0, dtype=np.int64)
    precision = batch.space.structure.precision
    if precision == "double" or law.flags & ~CANONICAL or law.tables.shape[0] != 1 or law.cell.size:
        return _Lanes(nothing, np.zeros(0), nothing)
    if config.DISABLE_JIT or law.miss.any() or not np.isfinite(law.tables).all():
        return _Lanes(nothing, np.zeros(0), nothing)
    cells = batch.first.lengths * batch.second.lengths
    few = _FEW_CELLS if precision == "auto" else 1
    chosen = np.flatnonzero((cells >= few) & (cells <= most))
    short, scales = nothing, np.zeros(0)
    if precision != "single" and chosen.size:
        scales = _scales(batch, law)[chosen]
        short, scales, chosen = chosen[scales > 0], scales[scales > 0], chosen[scales == 0]
    return _Lanes(short, scales, chosen[_fits_single(batch, law, chosen)])


def _shifted(law: Law) -> tuple[np.ndarray, float]:
    """Scores of matches and of opening a gap, shifted so that extending one costs nothing."""
    open_, extend = law.gaps[0].tolist()
    return law.tables[0] - 2.0 * extend, open_ - extend


def _fits_single(batch: AlignmentBatch, law: Law, pairs: np.ndarray) -> np.ndarray:
    """Which of the pairs 32-bit floats may search: all that they can hold, and if "auto" no rough ones."""
    if not pairs.size:
        return np.zeros(0, dtype=bool)
    shifted, opening = _shifted(law)
    lengths = batch.first.lengths[pairs], batch.second.lengths[pairs]
    columns, matches = lengths[0] + lengths[1], np.minimum(*lengths)
    # On a best path no partial sum lies further below 0 than gaps alone would.
    sums = matches * max(shifted.max(), 0.0) + columns * max(opening, 0.0) + 5.0 * abs(opening)
    largest = max(np.abs(shifted).max(), abs(opening))
    fits = (sums + largest <= _MOST) & (largest == 0.0 or largest >= _LEAST)
    if batch.space.structure.precision == "auto":
        worth = law.tables[0].max() - np.median(law.tables[0])
        fits &= _ROUNDING * columns * sums <= _TOLERATED * matches * worth
    return fits


def _scales(batch: AlignmentBatch, law: Law) -> np.ndarray:
    """Factor of the scores of every pair for 16-bit integers; 0 where "auto" finds none that is exact."""
    values = np.concatenate([law.tables.ravel(), law.gaps.ravel()])
    error = _WHOLE * np.abs(values).max()
    fine = (k for k in _STEPS if (np.abs(np.rint(values * k) - values * k) <= error * k).all())
    exact = float(next(fine, np.inf))
    if batch.space.structure.precision == "short":
        return np.minimum(exact, _largest_scale(batch, law))
    if exact == np.inf:
        return np.zeros(len(batch))
    return np.where(exact <= _largest_scale(batch, law), exact, 0.0)


def _largest_scale(batch: AlignmentBatch, law: Law) -> np.ndarray:
    """Largest factor of the scores of every pair with which no sum leaves the range of integers."""
    from trelliswork.dp.alignment import viterbi_lanes

    shifted, opening = _shifted(law)
    sides = np.zeros((2, len(batch)))
    for k, rows in enumerate((batch.first, batch.second)):
        best = np.maximum(shifted.max(axis=1 - k), 0.0)
        viterbi_lanes.row_sums(rows.values, rows.offsets, best, sides[k])
    top = sides.min(axis=0) + (batch.first.lengths + batch.second.lengths) * max(opening, 0.0)
    span = top + 5.0 * abs(opening) + 2.0 * np.abs(shifted).max()
    # Rounding moves every one of at most n1 + n2 columns by half a unit.
    room = _SHORT_RANGE - 0.5 * (batch.first.lengths + batch.second.lengths)
    return np.maximum(room, 0.0) / np.maximum(span, 1e-300)


def _in_chunks(batch: AlignmentBatch, pairs: np.ndarray) -> list[tuple[int, int]]:
    cells = (batch.first.lengths + 1) * (batch.second.lengths + 1)
    return balanced_chunks(offsets_of(cells[pairs]), batch.limits.search_cells_per_chunk)


def best_paths(batch: AlignmentBatch, law: Law, fast: bool) -> Ragged:
    """Columns of the best alignment of every pair; ``fast`` allows less than double precision."""
    from trelliswork.dp.alignment import viterbi

    n = len(batch)
    offsets = batch.first.offsets + batch.second.offsets
    lengths, codes = np.zeros(n, dtype=np.int64), np.empty(offsets[-1], dtype=np.uint8)
    rest = np.ones(n, dtype=bool)
    threads = n_threads(batch.n_jobs)
    for pairs, scales, low in _lanes(batch, law, batch.limits.lane_cells).calls() if fast else []:
        from trelliswork.dp.alignment import viterbi_lanes

        arrays = (batch.arrays(), law.tables[0], law.gaps[0], law.flags, pairs, scales)
        run(
            lambda a, b, arrays=arrays, low=low: viterbi_lanes.viterbi(*arrays, a, b, low, codes, lengths),
            _in_chunks(batch, pairs),
            threads,
        )
        rest[pairs] = False
    if rest.any():
        part = batch if rest.all() else batch.subset(np.flatnonzero(rest))
        values, own_lengths = np.empty(len(part)), np.empty(len(part), dtype=np.int64)
        own_offsets = part.first.offsets + part.second.offsets
        part_codes = codes if part is batch else np.empty(own_offsets[-1], dtype=np.uint8)
        part_law = law if part is batch else law._replace(miss=np.zeros(part.first.values.size))
        part_pairs = part.arrays()
        traced = batch.limits.traced_cells
        part._run(
            lambda a, b: viterbi.viterbi(part_pairs, part_law, a, b, traced, values, part_codes, own_lengths)
        )
        if part is batch:
            lengths = own_lengths
        else:
            for k, p in enumerate(np.flatnonzero(rest).tolist()):
                lengths[p] = own_lengths[k]
                codes[offsets[p] : offsets[p] + lengths[p]] = part_codes[
                    own_offsets[k] : own_offsets[k] + lengths[p]
                ]
    kept = offsets_of(lengths)
    out = np.empty(kept[-1], dtype=np.int64)
    run(
        lambda a, b: viterbi.first_of_rows(codes, offsets, kept, a, b, out),
        balanced_chunks(kept, batch.limits.columns_per_chunk),
        threads,
    )
    return Ragged(out, kept)


def best_scores(batch: AlignmentBatch, law: Law, scores: Parts, fast: bool) -> np.ndarray:
    """Score of the best alignment of every pair; ``fast`` allows less than double precision."""
    out, rest = np.empty(len(batch)), np.ones(len(batch), dtype=bool)
    for pairs, scales, low in _lanes(batch, law, np.iinfo(np.int64).max).calls() if fast else []:
        from trelliswork.dp.alignment import viterbi_lanes

        arrays = (batch.arrays(), law.tables[0], law.gaps[0], law.flags, pairs, scales)
        run(
            lambda a, b, arrays=arrays, low=low: viterbi_lanes.best_values(*arrays, a, b, low, out),
            _in_chunks(batch, pairs),
            n_threads(batch.n_jobs),
        )
        rest[pairs] = False
    if rest.any():
        part = batch.subset(np.flatnonzero(rest))
        out[rest] = part.evaluate(best_paths(part, part._law(scores), False), scores)
    return out


def path_values(batch: AlignmentBatch, law: Law, codes: Ragged) -> np.ndarray:
    """Score of one path per pair, for scores that all pairs share."""
    from trelliswork.dp.alignment import viterbi

    out = np.empty(len(batch))
    arrays = (batch.arrays(), law.tables[0], law.gaps[0], law.flags)
    run(
        lambda a, b: viterbi.path_values(*arrays, a, b, codes.values, codes.offsets, out),
        balanced_chunks(codes.offsets, batch.limits.columns_per_chunk),
        n_threads(batch.n_jobs),
    )
    return out
