"""Sequences to train the RNA model of the package on, by family.

TORNADO's TrainSetA, without sequences like one of TestSetA, and Rfam's seed alignments: the consensus
structure of an alignment, taken over to a few of its members that are unlike each other.

TestSetB of TORNADO's authors holds families of Rfam whose structures in space are known and which are not in
TrainSetA. It is not read here, and its families are not listed in what is at hand; so all kinds of families
are left out in which such structures are known (``KINDS``, ``TITLES``, ``NAMES``, ``SOLVED``), with the other
members of their clans. Families with a member like a sequence of TestSetA are left out too.
"""

from __future__ import annotations

import gzip
import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from experiments._samples import take
from experiments.rna.scale import read
from trelliswork.io import read_stockholm
from trelliswork.structures import base_pairs

__all__ = ["PAIRED", "WEIGHTS", "Family", "Samples", "rfam", "tornado", "unlike"]

WORD = 10
# Kinds of Rfam's families none of which is used.
KINDS = (
    "riboswitch", "ribozyme", "splicing", "rRNA", "tRNA", "IRES", "frameshift_element", "leader", "Intron",
)  # fmt: skip
# What the titles of references, or names, say where a structure in space was solved; families of TestSetA.
TITLES = re.compile(
    r"crystal|\bNMR\b|solution structure|three.dimensional|\b3D\b|tertiary structure|cryo|X-ray", re.I
)
NAMES = re.compile(
    r"SRP|tmRNA|telomerase|RNaseP|RNase_MRP|rRNA|SAM|ykkC|yybP|HIV|TAR|CRE|TLS|IRE|kink|k-turn|SECIS|"
    r"Vimentin|7SK|6S|Histone|U\d+atac|rev|Hammerhead|_FE$|FSE",
    re.I,
)
# Families with a solved structure whose records do not say so.
SOLVED = (
    27, 102, 109, 207, 220, 233, 250, 252, 374, 390, 452, 500, 502, 505, 523, 525, 1072, 1073, 1075,
    1344, 1357, 1380, 1381, 1415, 1704, 1763, 2266, 2340, 2359, 2519, 2553,
)  # fmt: skip
# Sources of structures that are not used: folded from one sequence, or pseudoknots only.
SOURCES = re.compile(r"Pseudobase|\brnafold|mfold", re.I)
SHORTEST, LONGEST = 30, 400  # bases
FEWEST = 4  # pairs
# Most members of a family, by whether its structure was published or predicted from the alignment, and how
# much a sequence weighs where one of TrainSetA weighs 1; chosen with families held out (``unseen.py``).
MEMBERS = {True: 3, False: 1}
WEIGHTS = {True: 1.0, False: 0.2}
PAIRED = 0.4  # least part of paired bases of structures that are trained on
SUPPORT = 0.85  # of the consensus pairs that can pair in a member


class Samples(NamedTuple):
    """Sequences, structures, the family of each, and whether its structure was published."""

    X: list[str]
    y: list[str]
    family: list[str]
    published: list[bool]

    def of(self, index: list[int]) -> Samples:
        """Some of them."""
        return Samples(*(take(column, index) for column in self))

    def paired(self, i: int) -> float:
        """Part of the bases of a sequence that are paired."""
        return 2 * len(base_pairs(self.y[i])) / len(self.y[i])

    def joined(self, other: Samples) -> Samples:
        """Both."""
        return Samples(*(mine + others for mine, others in zip(self, other, strict=True)))


class Family(NamedTuple):
    """What the head of a seed alignment tells."""

    accession: str
    name: str
    kind: str
    source: str
    clan: str
    titles: str
    record: str

    @property
    def published(self) -> bool:
        """Whether the structure is that of a publication; others are predicted from the alignment."""
        return self.source.startswith("Published")

    @property
    def solved(self) -> bool:
        """Whether structures in space may be known."""
        return (
            int(self.accession[2:]) in SOLVED
            or any(kind in self.kind for kind in KINDS)
            or bool(TITLES.search(self.titles) or NAMES.search(self.name))
        )


def words(x: str) -> set[str]:
    """Distinct words of a sequence."""
    x = x.upper().replace("T", "U")
    return {x[i : i + WORD] for i in range(len(x) - WORD + 1)} or {x}


class Words:
    """Words of some sequences."""

    def __init__(self, X: list[str]):
        self.holders = defaultdict(list)
        for i, x in enumerate(X):
            for word in words(x):
                self.holders[word].append(i)

    def share(self, x: str) -> float:
        """The largest part of a sequence's words that one of them has."""
        mine = words(x)
        hits = Counter(i for word in mine for i in self.holders.get(word, ()))
        return max(hits.values(), default=0) / len(mine)


def unlike(X: list[str], others: list[str], share: float = 0.5) -> list[int]:
    """Sequences that share less than a part of their words with every one of the others."""
    known = Words(others)
    return [i for i, x in enumerate(X) if known.share(x) < share]


def heads(folder: str) -> Iterator[Family]:
    """All seed alignments."""
    path = os.path.join(folder, "rna-rfam14", "families.sto.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = file.read().split("//\n")
    for record in records:
        if "#=GF AC" not in record:
            continue

        def field(key: str, text: str = record) -> str:
            return " ".join(re.findall(rf"^#=GF {key}\s+(.*)$", text, re.M))

        yield Family(field("AC"), field("ID"), field("TP"), field("SS"), field("CL"), field("RT"), record)


def _supported(x: str, pairs: list[tuple[int, int]]) -> bool:
    canonical = {"AU", "UA", "CG", "GC", "GU", "UG"}
    return sum(x[i] + x[j] in canonical for i, j in pairs) >= SUPPORT * len(pairs)


def members(family: Family, test: Words) -> Samples:
    """A few members with the consensus structure; none if one is like a test sequence."""
    data = read_stockholm(io.StringIO(family.record + "//\n"))
    X = [x.upper().replace("T", "U") for x in data.X]
    structures = data.y or []
    if any(test.share(x) >= 0.2 for x in X):
        return Samples([], [], [], [])
    kept: list[int] = []
    for i, x in enumerate(X):
        nested = [pair for pair in base_pairs(structures[i]) if structures[i][pair[0]] in "([{<"]
        fits = SHORTEST <= len(x) <= LONGEST and len(nested) >= FEWEST and set(x) <= set("ACGU")
        if fits and _supported(x, nested) and (not kept or unlike([x], take(X, kept))):
            kept.append(i)
        if len(kept) == MEMBERS[family.published]:
            break
    name = family.clan or family.accession
    return Samples(take(X, kept), take(structures, kept), [name] * len(kept), [family.published] * len(kept))


def rfam(folder: str) -> tuple[Samples, str]:
    """Members of all families that may be trained on, and how many those are."""
    found = list(heads(folder))
    solved = {family.accession for family in found if family.solved}
    clans = {family.clan for family in found if family.solved and family.clan}
    allowed = [f for f in found if f.accession not in solved and f.clan not in clans]
    used = [f for f in allowed if not SOURCES.search(f.source)]
    test = Words(read(folder, "TestA")[0])
    out, families = Samples([], [], [], []), Counter[bool]()
    for family in used:
        some = members(family, test)
        out = out.joined(some)
        families[family.published] += bool(some.X)
    note = (
        f"{len(out.X):,} sequences of {families[True]:,} of Rfam's {len(found):,} families with published "
        f"structures and of {families[False]:,} others; "
        f"{len(found) - len(allowed)} left out for kind, name, clan or references, "
        f"{len(allowed) - len(used)} for the source of the structure"
    )
    return out, note


def tornado(folder: str) -> tuple[Samples, str]:
    """TrainSetA without sequences like one of TestSetA; families are the databases that names tell."""
    data = read_stockholm(os.path.join(folder, "rna-tornado", "TORNADO_TrA.sto.gz"))
    assert data.y is not None
    kept = unlike(data.X, read(folder, "TestA")[0])
    source = [re.split(r"[_\d.]", name)[0] for name in data.names]
    like = len(data.X) - len(kept)
    note = f"{like} of {len(data.X):,} training sequences are like a test sequence and left out"
    return Samples(data.X, data.y, source, [True] * len(source)).of(kept), note
