"""Grapheme to phoneme, an application beyond the paper."""

from __future__ import annotations

import gzip
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments.string_regression.words import edit_accuracy
from trelliswork.kernels import Normalized, Spectrum

RESULT = "string_regression/g2p"
PHONETISAURUS = {"dut": "23.8", "fre": "11.1", "hun": "6.2"}  # word errors


def pronunciations(folder: str, part: str, language: str) -> tuple[list[str], list[list[str]]]:
    """Words and their phonemes, SIGMORPHON 2020."""
    X, y = [], []
    with gzip.open(Path(folder) / "sigmorphon-g2p-2020" / f"{part}.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            entry_language, word, phones = line.rstrip("\n").split("\t")
            if entry_language == language:
                X.append(word)
                y.append(phones.split())
    return X, y


def cmudict(folder: str, n: int) -> dict[str, tuple[list[str], list[list[str]]]]:
    """First pronunciation of words of letters alone, stress marks dropped; parts drawn at random."""
    first: dict[str, list[str]] = {}
    with gzip.open(Path(folder) / "cmudict" / "cmudict.dict.gz", "rt", encoding="utf-8") as file:
        for line in file:
            word, *phones = line.split("#")[0].split()
            if word.isalpha() and word.isascii():
                first.setdefault(word, [p.rstrip("012") for p in phones])
    order = np.random.default_rng(0).permutation(sorted(first))[: n + 1500].tolist()
    parts = {"train": order[:n], "dev": order[n : n + 1000], "test": order[n + 1000 :]}
    return {name: (list(words), [first[word] for word in words]) for name, words in parts.items()}


def g2p(arguments: Sequence[str]) -> None:
    """Grapheme to phoneme: word and phoneme error."""
    args = options(
        arguments,
        languages=("dut,fre,hun", "SIGMORPHON languages"),
        cmu=(8000, "CMUdict training words; 0 leaves it out"),
        dev=(200, "development words"),
    )
    sets = {
        language: {p: pronunciations(args.data, p, language) for p in ("train", "dev", "test")}
        for language in args.languages.split(",")
        if language
    }
    if args.cmu:
        sets["CMUdict"] = cmudict(args.data, args.cmu)
    for name, parts in sets.items():
        started = time.perf_counter()
        candidates = [
            tw.KernelRegression(
                Normalized(Spectrum(1, 5, boundary=True)),
                tw.NGrams(n, language_model=tw.NGramModel(4)),
                ridge=0.03,
                solver="dual",
            )
            for n in (2, 3)
        ]
        few = [part[: args.dev] for part in parts["dev"]]
        scores = [edit_accuracy(few[1], m.fit(*parts["train"]).predict(few[0])) for m in candidates]
        model = candidates[int(np.argmax(scores))]
        X, y = parts["test"]
        predicted = model.predict(X)
        wrong = 100.0 * float(np.mean([a != b for a, b in zip(y, predicted, strict=True)]))
        chosen = f"n = {model.output.n}, ridge {model.ridge:g}"
        seconds = time.perf_counter() - started
        row = [
            name,
            len(parts["train"][0]),
            wrong,
            100.0 - edit_accuracy(y, predicted),
            PHONETISAURUS.get(name, "-"),
            chosen,
            f"{seconds:.0f} s",
        ]
        store(RESULT, load(RESULT) | {name: row}, sort_keys=True)
        print(row, flush=True)
    rows = list(load(RESULT).values())
    body = markdown(
        [
            "set",
            "training words",
            "word error %",
            "phoneme error %",
            "Phonetisaurus word error %",
            "chosen",
            "time",
        ],
        rows,
    )
    body += (
        "\n\nThe length of the output n-grams is chosen on the first development words. The "
        "regression sees which letter n-grams a word has, not where, and predicts which phoneme n-grams its "
        "pronunciation has: a baseline for learners that align letters with phonemes."
    )
    write(RESULT, "Grapheme to phoneme by string regression", body)
