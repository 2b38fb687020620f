"""Features of the nearest-neighbour model: what is tied together, and what each is called."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import scipy.sparse as sp

from trelliswork.dp.rna.nearest import layout
from trelliswork.dp.rna.nearest.layout import LONGEST
from trelliswork.dp.rna.rules import BASES, PAIRS

__all__ = ["GROUPS", "feature_map", "scales"]

# Optional groups of features.
GROUPS = ("hairpin loops", "hexaloops", "triples", "helix lengths")
_INTERNAL = {
    layout.ONE_BY_MANY_END: "1xn mismatch",
    layout.OTHER_END: "internal mismatch",
}
_DANGLING = {layout.MULTI_END: "multiloop dangle", layout.OUTER_END: "outer dangle"}

_Feature = tuple[tuple[str, str], list[tuple[int, float]]]


def _cumulative(kind: str, start: int, entries: dict[int, list[int]]) -> Iterator[_Feature]:
    """Features "at least so long" over the entries of every length."""
    for least in range(start, max(entries) + 1):
        used = [(entry, 1.0) for length, some in entries.items() if length >= least for entry in some]
        yield (kind, f"at least {least}"), used


def _length(left: int, right: int) -> int:
    return layout.LENGTH + left * (LONGEST + 1) + right


def _end(kind: int, pair: int, after: int, before: int) -> int:
    return layout.END + kind * layout.N_ENDS + pair * 25 + after * 5 + before


def _stacks(kind: str, start: int) -> Iterator[_Feature]:
    """Pairs on pairs; the same read from the other strand."""
    for outer in range(6):
        for inner in range(6):
            other_outer, other_inner = inner ^ 1, outer ^ 1
            if (outer, inner) <= (other_outer, other_inner):
                cells = {start + 6 * outer + inner, start + 6 * other_outer + other_inner}
                a, b = PAIRS[outer], PAIRS[inner]
                yield (
                    (kind, f"5'-{a[0]}{b[0]}-3' 3'-{a[1]}{b[1]}-5'"),
                    [(cell, 1.0) for cell in sorted(cells)],
                )


def _loops(size: int, start: int) -> Iterator[_Feature]:
    """Hairpin loops of so many bases."""
    for code in range(4**size):
        bases = "".join(BASES[code // 4**place % 4] for place in reversed(range(size)))
        yield ("hairpin loop", bases), [(start + code, 1.0)]


def _triples() -> Iterator[_Feature]:
    """Three pairs stacked; the same read from the other strand."""
    for outer, middle, inner in product(range(6), repeat=3):
        other = inner ^ 1, middle ^ 1, outer ^ 1
        if (outer, middle, inner) <= other:
            a, b, c = PAIRS[outer], PAIRS[middle], PAIRS[inner]
            cells = {layout.TRIPLE + 36 * x + 6 * y + z for x, y, z in ((outer, middle, inner), other)}
            yield (
                ("triple", f"5'-{a[0]}{b[0]}{c[0]}-3' 3'-{a[1]}{b[1]}{c[1]}-5'"),
                [(cell, 1.0) for cell in sorted(cells)],
            )


def _ends() -> Iterator[_Feature]:
    """Ends of helices: the pair, and the bases next to it."""
    inner = [layout.HAIRPIN_END, layout.ONE_BY_MANY_END, layout.OTHER_END]
    for pair, name in enumerate(PAIRS):
        used = [(_end(kind, pair, x, y), 1.0) for kind in range(7) for x in range(5) for y in range(5)]
        yield ("helix end", name), used
    for pair, name in enumerate(PAIRS):
        for x, after in enumerate(BASES):
            for y, before in enumerate(BASES):
                where = f"{name[0]}{after}..{before}{name[1]}"
                yield ("mismatch", where), [(_end(kind, pair, x, y), 1.0) for kind in inner]
                yield ("hairpin mismatch", where), [(_end(layout.HAIRPIN_END, pair, x, y), 1.0)]
                for kind, group in _INTERNAL.items():
                    yield (group, where), [(_end(kind, pair, x, y), 1.0)]
    for x, after in enumerate(BASES):  # half of it from either side
        for y in range(x, 4):
            cells = [
                _end(layout.ONE_BY_ONE_END, pair, a, b) for pair in range(6) for a, b in {(x, y), (y, x)}
            ]
            yield ("1x1 bases", f"{after}.{BASES[y]}"), [(cell, 0.5) for cell in cells]
    for pair, name in enumerate(PAIRS):
        for x, base in enumerate(BASES):
            for side, show in (("3'", f"{name[0]}{base}..{name[1]}"), ("5'", f"{name[0]}..{base}{name[1]}")):
                sides = {
                    kind: [
                        (_end(kind, pair, x, y) if side == "3'" else _end(kind, pair, y, x), 1.0)
                        for y in range(5)
                    ]
                    for kind in _DANGLING
                }
                yield ("dangle", show), [cell for some in sides.values() for cell in some]
                for kind, group in _DANGLING.items():
                    yield (group, show), sides[kind]


def _lengths() -> Iterator[_Feature]:
    lengths = range(LONGEST + 1)
    yield from _cumulative("hairpin length", 3, {n: [layout.HAIRPIN + n] for n in lengths})
    bulges = {n: [_length(0, n), _length(n, 0)] for n in lengths if n}
    yield from _cumulative("bulge length", 1, bulges)
    both = [(a, b) for a in lengths for b in lengths if a and b and a + b <= LONGEST]
    total: dict[int, list[int]] = {}
    skew: dict[int, list[int]] = {}
    for a, b in both:
        total.setdefault(a + b, []).append(_length(a, b))
        skew.setdefault(abs(a - b), []).append(_length(a, b))
    yield from _cumulative("internal length", 2, total)
    yield from _cumulative("internal asymmetry", 1, skew)
    yield from _cumulative("internal symmetric", 1, {n: [_length(n, n)] for n in range(1, LONGEST // 2 + 1)})
    for a in range(1, 5):
        for b in range(a, 5):
            yield (
                ("internal loop", f"{a}x{b}"),
                [(cell, 1.0) for cell in sorted({_length(a, b), _length(b, a)})],
            )


def _features(groups: tuple[str, ...]) -> Iterator[_Feature]:
    for pair in range(0, 6, 2):
        yield ("base pair", PAIRS[pair]), [(layout.PAIR + pair, 1.0), (layout.PAIR + pair + 1, 1.0)]
    yield from _stacks("stacking", layout.STACK)
    yield from _stacks("stacking over a bulge", layout.BULGE_STACK)
    for x, base in enumerate(BASES):
        yield ("bulged base", base), [(layout.BULGE_BASE + x, 1.0)]
    yield from _ends()
    yield from _lengths()
    yield ("multiloop", "loop"), [(layout.MULTI, 1.0)]
    yield ("multiloop", "unpaired"), [(layout.MULTI_BASE, 1.0)]
    yield (
        ("multiloop", "paired"),
        [(layout.END + layout.MULTI_END * layout.N_ENDS + x, 1.0) for x in range(150)],
    )
    yield ("outer", "unpaired"), [(layout.OUTER_BASE, 1.0)]
    yield ("outer", "paired"), [(layout.END + layout.OUTER_END * layout.N_ENDS + x, 1.0) for x in range(150)]
    yield ("lonely pair", ""), [(layout.LONELY, 1.0)]
    if "hairpin loops" in groups:
        yield from _loops(3, layout.LOOP_3)
        yield from _loops(4, layout.LOOP_4)
    if "hexaloops" in groups:
        yield from _loops(6, layout.LOOP_6)
    if "triples" in groups:
        yield from _triples()
    if "helix lengths" in groups:
        for pairs in (2, 3, 4):
            yield ("helix length", f"{pairs} pairs"), [(layout.HELIX + pairs - 2, 1.0)]


@cache
def feature_map(groups: tuple[str, ...]) -> tuple[list[tuple[str, str]], sp.csr_matrix]:
    """Names of the features, and the matrix that maps weights to the table of ``dp/rna/nearest``.

    Parameters
    ----------
    groups : tuple of str
        Optional groups, of ``GROUPS``.
    """
    names, rows, columns, values = [], [], [], []
    for column, (name, used) in enumerate(_features(groups)):
        names.append(name)
        for entry, value in used:
            rows.append(entry)
            columns.append(column)
            values.append(value)
    # The end of a pair in a multiloop or outside: both dangles use the same entry once each.
    size = layout.WHOLE if "hexaloops" in groups else layout.SIZE
    matrix = sp.csr_matrix((values, (rows, columns)), shape=(size, len(names)))
    return names, matrix


# How far weights of a group are from zero, roughly: standard deviations of a prior.
_SCALES = {
    "mismatch": 0.5,
    "hairpin mismatch": 0.3,
    "1xn mismatch": 0.3,
    "internal mismatch": 0.3,
    "dangle": 0.5,
    "multiloop dangle": 0.3,
    "outer dangle": 0.3,
    "hairpin length": 0.7,
    "bulge length": 0.5,
    "internal length": 0.5,
    "internal asymmetry": 0.5,
    "internal symmetric": 0.5,
    "hairpin loop": 0.4,
    "triple": 0.3,
    "helix length": 0.5,
}


def scales(names: list[tuple[str, str]]) -> np.ndarray:
    """Standard deviation of the prior of each feature; 1 for groups without a smaller one."""
    return np.array([_SCALES.get(kind, 1.0) for kind, _ in names])
