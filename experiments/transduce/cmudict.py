"""All of CMUdict: nine tenths of the words to learn from, drawn by a hash of the word."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trelliswork as tw
from experiments._report import options, write
from trelliswork.losses import Edit

RESULT = "transduce/cmudict"


def words(folder: str) -> dict[str, list[list[str]]]:
    """All pronunciations of the words of letters alone, stress marks dropped."""
    out: dict[str, list[list[str]]] = {}
    with gzip.open(Path(folder) / "cmudict" / "cmudict.dict.gz", "rt", encoding="utf-8") as file:
        for line in file:
            word, *phones = line.split("#")[0].split()
            word = word.split("(")[0]
            if word.isalpha() and word.isascii():
                spoken = [p.rstrip("012") for p in phones]
                found = out.setdefault(word, [])
                if spoken not in found:
                    found.append(spoken)
    return out


def cmudict(arguments: Sequence[str]) -> None:
    """Word and phoneme errors; any listed pronunciation is right."""
    args = options(
        arguments,
        iterations=(60, "most iterations"),
        words=(0, "training words; 0 is all"),
        order=(2, "pieces that a score looks back at"),
        longest=(6, "most letters of a feature"),
        jobs=(1, "threads"),
    )
    spoken = words(args.data)
    test = [w for w in sorted(spoken) if zlib.crc32(w.encode()) % 10 == 0]
    train = [w for w in sorted(spoken) if zlib.crc32(w.encode()) % 10]
    if args.words:
        train = np.random.default_rng(0).permutation(train)[: args.words].tolist()
    # Acronyms have more phonemes than their letters can write.
    train = [w for w in train if all(len(p) <= 4 * len(w) for p in spoken[w])]
    started = time.perf_counter()
    structure = tw.Transducer(args.order, longest=args.longest, min_count=2, min_context=5)
    model = tw.CRF(structure, max_iter=args.iterations, n_jobs=args.jobs)
    model.fit(train, [spoken[w] for w in train])
    trained = time.perf_counter()
    predicted = model.predict(test)
    seconds = time.perf_counter() - trained
    distance = Edit()
    nearest = [min((distance(y, p), len(y)) for y in spoken[w]) for w, p in zip(test, predicted, strict=True)]
    wrong = 100.0 * float(np.mean([d > 0 for d, _ in nearest]))
    symbols = 100.0 * sum(d for d, _ in nearest) / sum(n for _, n in nearest)
    body = (
        f"{len(train):,} words to train on, {len(test):,} to test; {model.space_.n_features:,} features.\n\n"
        f"Word error {wrong:.2f} %, phoneme error {symbols:.2f} %. Fit {trained - started:.0f} s, "
        f"{len(test) / seconds:.0f} words a second predicted."
    )
    write(RESULT, "CMUdict by a transducer", body)
