"""Numbers as mantissa and power of two, and sums over rows of them, for ``dp/rna/inside.py``."""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

__all__ = ["LN2", "NONE", "add_rows", "dot_rows", "exponent", "pow2", "split"]

LN2 = math.log(2.0)
NONE = -(1 << 29)  # exponent of zero
_LOW, _HIGH = -1074, 1023
_POW2 = np.ldexp(1.0, np.arange(_LOW, _HIGH + 1))
_POW2[0] = 0.0  # what is smaller than any number


@njit(no_cpython_wrapper=True)
def pow2(exponent):
    """Power of two; 0 where it is too small for a double."""
    return _POW2[min(max(exponent, _LOW), _HIGH) - _LOW]


@njit(no_cpython_wrapper=True)
def split(x):
    """Mantissa in [1, 2) and exponent of exp(x); zero for -inf."""
    if x == -np.inf:
        return 0.0, NONE
    exponent = math.floor(x / LN2)
    return math.exp(x - exponent * LN2), exponent


@njit(no_cpython_wrapper=True)
def exponent(x):
    """Exponent of a positive double."""
    return math.frexp(x)[1]


@njit(fastmath={"contract"})
def _add4(out, c0, c1, c2, c3, r0, r1, r2, r3):
    for x in range(out.size):
        out[x] += c0 * r0[x] + c1 * r1[x] + c2 * r2[x] + c3 * r3[x]


@njit(fastmath={"contract"})
def _add(out, c, row):
    for x in range(out.size):
        out[x] += c * row[x]


@njit(fastmath={"contract"}, no_cpython_wrapper=True)
def add_rows(out, rows, where, coef, n_rows):
    """Add ``coef[r] * rows[where[r]]`` for all r."""
    whole = n_rows - n_rows % 4
    for r in range(0, whole, 4):
        _add4(
            out, coef[r], coef[r + 1], coef[r + 2], coef[r + 3],
            rows[where[r]], rows[where[r + 1]], rows[where[r + 2]], rows[where[r + 3]],
        )  # fmt: skip
    for r in range(whole, n_rows):
        _add(out, coef[r], rows[where[r]])


@njit(fastmath={"contract", "reassoc"}, no_cpython_wrapper=True)
def dot_rows(v, rows, where, n_rows, out):
    """Inner products of ``v`` with some rows."""
    whole = n_rows - n_rows % 4
    for r in range(0, whole, 4):
        r0, r1, r2, r3 = rows[where[r]], rows[where[r + 1]], rows[where[r + 2]], rows[where[r + 3]]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for x in range(v.size):
            t0 += v[x] * r0[x]
            t1 += v[x] * r1[x]
            t2 += v[x] * r2[x]
            t3 += v[x] * r3[x]
        out[r], out[r + 1], out[r + 2], out[r + 3] = t0, t1, t2, t3
    for r in range(whole, n_rows):
        row, t0 = rows[where[r]], 0.0
        for x in range(v.size):
            t0 += v[x] * row[x]
        out[r] = t0
