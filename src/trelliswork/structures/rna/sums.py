"""Sums over all structures of one sequence: shifts that keep numbers in range, and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trelliswork.dp.rna.nearest import layout
from trelliswork.dp.rna.nearest.layout import Problem
from trelliswork.dp.rna.nearest.lookup import rows

__all__ = ["Sums", "log_chart", "sums"]

_LENGTHS = np.arange(layout.LONGEST + 1)
_STEP = 1e-9  # of derivatives; its square is below the rounding of 1
_SHORT = 300  # bases whose sums need no shift, as a rule
_PROBE = 200  # bases that tell what a base adds to the logarithm of the sum
_SAFE = 1e-140  # products of two numbers between this and its inverse are in range
_WIDEST = 300.0  # largest score whose weight is far from the ends of the range
_AGREE = 1e-9  # of two logarithms of the sum, relative


class Sums(NamedTuple):
    """Results for one sequence; with a direction, their derivatives.

    Attributes
    ----------
    log_z : float
        Logarithm of the sum.
    counts : ndarray of the size of the table, or empty
        Expected uses of the entries of the table.
    probs : ndarray or empty
        Probabilities of pairs and of unpaired bases, by cell.
    """

    log_z: float
    counts: np.ndarray
    probs: np.ndarray


def _weights(problem: Problem, shift: float) -> tuple[Problem, np.ndarray]:
    """Scores to weights, with every base ``shift`` less; and the powers of an unpaired base."""
    table = problem.table.copy()
    table[layout.PAIR : layout.STACK] -= 2 * shift
    table[layout.HAIRPIN : layout.LENGTH] -= shift * _LENGTHS
    table[layout.LENGTH : layout.END] -= shift * (_LENGTHS[:, None] + _LENGTHS).ravel()
    table[[layout.MULTI_BASE, layout.OUTER_BASE]] -= shift
    with np.errstate(over="ignore", under="ignore"):
        powers = np.exp(-shift * np.arange(problem.seq.size + 1)).astype(table.dtype)
        return problem._replace(table=np.exp(table), pair=np.exp(problem.pair)), powers


def _shifts(problem: Problem) -> Iterator[float]:
    """What a base adds to the logarithm of the sum: guesses."""
    from trelliswork.dp.rna.nearest import inside, viterbi

    n = problem.seq.size
    if n <= _SHORT:
        yield 0.0
    else:
        start = (n - _PROBE) // 2
        part = problem._replace(
            seq=problem.seq[start : start + _PROBE].copy(),
            table=problem.table.real.copy(),
            pair=np.empty(0),
            forced=np.zeros(_PROBE, dtype=bool),
            offset=rows(_PROBE, min(_PROBE, problem.window)),
            window=min(_PROBE, problem.window),
        )
        chart, _, high = inside.inside(*_weights(part, 0.0))
        if high < np.inf and np.isfinite(chart.X[-1]):
            yield float(chart.X[-1]) / _PROBE
    real = problem._replace(table=problem.table.real.copy(), pair=problem.pair.real.copy())
    best = float(viterbi.fill(real).X[-1])
    if best > -np.inf:
        yield from (best / n * factor for factor in (1.0, 1.25, 1.5, 2.0))


def _scaled(problem: Problem) -> Any:
    """Weights, powers, chart and shift with which the sums are in range; None if no guess is known to do.

    A guess is good if all numbers are far from the ends of the range, or if another one gives the same sum.
    Scores that are no numbers as weights would be missing from all of these sums.
    """
    from trelliswork.dp.rna.nearest import inside

    for given in (problem.table.real, problem.pair.real):
        if np.abs(given[np.isfinite(given)]).max(initial=0.0) > _WIDEST:
            return None
    earlier: list[float] = []
    for shift in _shifts(problem):
        weights, powers = _weights(problem, shift)
        chart, low, high = inside.inside(weights, powers)
        log_z = chart.X[-1].real + shift * problem.seq.size
        if not (np.isfinite(log_z) and high < np.inf):
            continue
        safe = low > _SAFE and high < 1.0 / _SAFE
        if safe or any(abs(log_z - other) <= _AGREE * max(1.0, abs(log_z)) for other in earlier):
            return weights, powers, chart, shift
        earlier.append(log_z)
    return None


def sums(
    problem: Problem, *, counts: bool, probs: bool, direction: tuple[np.ndarray, np.ndarray] | None = None
) -> Sums:
    """Sums over all structures of one sequence.

    Parameters
    ----------
    problem : Problem
        Sequence and scores (logarithms).
    counts, probs : bool
        What is wanted besides the logarithm of the sum.
    direction : (ndarray, ndarray) or None
        Direction in the table and in the scores of pairs (or empty): derivatives along it are wanted.
    """
    from trelliswork.dp.rna.nearest import any_range, inside

    step = 1.0
    if direction is not None:
        largest = max(float(np.abs(d).max(initial=0.0)) for d in direction)
        step = _STEP / max(1.0, largest * problem.seq.size)
        h, hp = direction
        pair = problem.pair
        if hp.size or pair.size:
            pair = (pair if pair.size else np.zeros(hp.size)) + (1j * step) * (hp if hp.size else 0.0)
        problem = problem._replace(table=problem.table + (1j * step) * h, pair=pair.astype(np.complex128))
    scaled = _scaled(problem)
    uses = np.zeros(problem.table.size if counts else 0, dtype=problem.table.dtype)
    chances = np.zeros(problem.offset[-1] + problem.seq.size if probs else 0, dtype=problem.table.dtype)
    fine = scaled is not None
    if scaled is not None:
        weights, powers, chart, shift = scaled
        log_z = chart.X[-1] + shift * problem.seq.size
        if counts or probs:
            inside.outside(weights, powers, chart, uses, chances)
            fine = bool(np.isfinite(uses.sum() + chances.sum()))
            fine = fine and chances.real.max(initial=0.0) < 1 + 1e-6
    if not fine:
        uses[:], chances[:] = 0.0, 0.0
        chart = any_range.inside(problem)
        log_z = chart.X[-1]
        if log_z.real == -np.inf:
            return Sums(-np.inf, uses.real, chances.real)
        if counts or probs:
            any_range.outside(problem, chart, uses, chances)
    if direction is None:
        return Sums(float(log_z), uses, chances)
    return Sums(float(log_z.imag) / step, uses.imag / step, chances.imag / step)


def log_chart(problem: Problem) -> Any:
    """Logarithms of the sums of all cells and prefixes, for draws; None if there is no structure."""
    from trelliswork.dp.rna.nearest import any_range

    scaled = _scaled(problem)
    if scaled is None:
        chart = any_range.inside(problem)
        return chart if chart.X[-1] > -np.inf else None
    _, _, chart, shift = scaled
    n = problem.seq.size
    widths = np.minimum(problem.window, n - np.arange(n))
    spans = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths) + 1
    with np.errstate(divide="ignore"):
        cells = [np.log(table) + shift * spans for table in chart[:4]]
    return type(chart)(*cells, chart.X + shift * np.arange(n + 1))
