"""Reference alignments of proteins, and families that share no structure."""

from __future__ import annotations

import gzip
from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Pair(NamedTuple):
    """Two proteins, their reference alignment, and the structures that they come from."""

    x: tuple[str, str]
    y: tuple[str, str]
    codes: frozenset[str]
    name: str


def read(path: Path) -> list[tuple[str, str]]:
    """Headers and gapped sequences of an aligned FASTA file, one line each."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        lines = [line.strip() for line in file]
    return [(a[1:], b) for a, b in zip(lines[::2], lines[1::2], strict=True)]


def pair_of(name: str, codes: list[str], first: str, second: str) -> Pair | None:
    """A pair without columns that are gaps in both; None where nothing is to be scored."""
    columns = [(a, b) for a, b in zip(first, second, strict=True) if (a, b) != ("-", "-")]
    rows = ["".join(c) for c in zip(*columns, strict=True)]
    scored = sum(a.isupper() and b.isupper() for a, b in columns)
    if scored == 0:
        return None
    bare = tuple(row.replace("-", "") for row in rows)
    return Pair((bare[0], bare[1]), (rows[0], rows[1]), frozenset(c[:4].lower() for c in codes), name)


def prefab(folder: Path) -> list[Pair]:
    """All reference pairs of PREFAB 4."""
    rows = read(folder / "prefab4_ref_pairs.afa.gz")
    out = []
    for (head, first), (other, second) in list(pairwise(rows))[::2]:
        number, code = head.split("|")
        pair = pair_of(number, [code, other.split("|")[1]], first, second)
        if pair is not None:
            out.append(pair)
    return out


def balibase(folder: Path, name: str) -> list[Pair]:
    """All pairs of sequences of the alignments of one set of BAliBASE."""
    sets: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for head, row in read(folder / f"balibase3_{name}.afa.gz"):
        _, alignment, sequence = head.split("|")
        sets[alignment].append((sequence, row))
    out = []
    for alignment, rows in sets.items():
        codes = [sequence for sequence, _ in rows]
        for (_, first), (_, second) in combinations(rows, 2):
            pair = pair_of(alignment, codes, first, second)
            if pair is not None:
                out.append(pair)
    return out


def families(pairs: list[Pair]) -> np.ndarray:
    """Number of the family of each pair: pairs that share a structure, directly or not, are one family."""
    parent: dict[str, str] = {}

    def root(code: str) -> str:
        parent.setdefault(code, code)
        while parent[code] != code:
            parent[code] = parent[parent[code]]
            code = parent[code]
        return code

    for pair in pairs:
        codes = sorted(pair.codes)
        for code in codes[1:]:
            parent[root(code)] = root(codes[0])
    roots = [root(min(pair.codes)) for pair in pairs]
    place = {code: k for k, code in enumerate(dict.fromkeys(roots))}
    return np.array([place[code] for code in roots])
