"""All of CMUdict: nine tenths of the words to learn from, drawn by a hash of the word."""

from __future__ import annotations

import gzip
import resource
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trelliswork as tw
from experiments._report import options, write
from trelliswork.losses import Edit

RESULT = "transduce/cmudict"
HISTORY = """Words are split by their CRC-32: those that 10 divides are the test words. Settings were compared
on those with a remainder of 1 (`--dev 1`) and models of 20,000 words, one or two at a time; those of the
run above were not compared together there. The test words were read twice before: with the settings
`--order 2 --window 4 --longest 6 --count 2 --context 5` (word error 27.37 %), and with those of the run
above, before features and the pairs of L-BFGS took less memory (25.10 %, 5.0 GB)."""


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
        order=(4, "pieces that a score looks back at"),
        window=(5, "letters on either side of a piece that a score looks at"),
        longest=(8, "most letters of a feature"),
        count=(1, "times that a feature of letters must occur"),
        context=(4, "times that a context of pieces must occur"),
        dev=(0, "1 tests on a tenth of the training words, which is then left out"),
        jobs=(1, "threads"),
    )
    spoken = words(args.data)
    part = {w: zlib.crc32(w.encode()) % 10 for w in sorted(spoken)}
    test = [w for w in part if part[w] == args.dev]
    train = [w for w in part if part[w] not in (0, args.dev)]
    if args.words:
        train = np.random.default_rng(0).permutation(train)[: args.words].tolist()
    # Acronyms have more phonemes than their letters can write.
    train = [w for w in train if all(len(p) <= 4 * len(w) for p in spoken[w])]
    started, spent = time.perf_counter(), time.process_time()
    structure = tw.Transducer(
        args.order, window=args.window, longest=args.longest, min_count=args.count, min_context=args.context
    )
    model = tw.CRF(structure, max_iter=args.iterations, n_jobs=args.jobs)
    model.fit(train, [spoken[w] for w in train])
    trained, spent = time.perf_counter(), time.process_time() - spent
    predicted = model.predict(test)
    seconds = time.perf_counter() - trained
    distance = Edit()
    nearest = [min((distance(y, p), len(y)) for y in spoken[w]) for w, p in zip(test, predicted, strict=True)]
    wrong = 100.0 * float(np.mean([d > 0 for d, _ in nearest]))
    symbols = 100.0 * sum(d for d, _ in nearest) / sum(n for _, n in nearest)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = (
        f"{len(train):,} words to train on, {len(test):,} to test; {model.space_.n_features:,} features.\n\n"
        f"Word error {wrong:.2f} %, phoneme error {symbols:.2f} %. Fit {trained - started:.0f} s "
        f"({spent:.0f} s of processor time), {len(test) / seconds:.0f} words a second predicted; "
        f"{memory / 2**20:.1f} GB at most, the dictionary included.\n\n{HISTORY}"
    )
    write(RESULT, "CMUdict by a transducer", body)
