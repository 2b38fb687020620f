"""Inflection, SIGMORPHON 2020: the lemma between two marks that name the form."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write

RESULT = "transduce/inflection"
LANGUAGES = "swa,tgl,mlt,aze,crh,ben,cly,frr"  # Estonian (est) has five times as many forms as these

Form = tuple[str, str, str]


def forms(folder: str, part: str, language: str) -> list[Form]:
    """Lemmas, inflected forms and tags."""
    path = Path(folder) / "sigmorphon-inflection-2020" / f"{part}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(lemma, form, tags) for name, lemma, form, tags in rows if name == language]


def suffix_rules(train: list[Form]) -> Counter[tuple[str, str, str]]:
    """How often an ending of lemmas becomes an ending of forms, by tags; the longest common beginning
    stays.
    """
    rules: Counter[tuple[str, str, str]] = Counter()
    for lemma, form, tags in train:
        common = 0
        while common < min(len(lemma), len(form)) and lemma[common] == form[common]:
            common += 1
        for start in range(max(common - 4, 0), common + 1):
            rules[tags, lemma[start:], form[start:]] += 1
    return rules


def by_rules(rules: dict[tuple[str, str], str], lemma: str, tags: str) -> str:
    """The form by the rule of the longest ending; the lemma itself where there is none."""
    for start in range(len(lemma) + 1):
        if (tags, lemma[start:]) in rules:
            return lemma[:start] + rules[tags, lemma[start:]]
    return lemma


def _inputs(rows: list[Form]) -> list[list[str]]:
    return [[f"<{tags}>", *lemma, f"<{tags}>"] for lemma, _, tags in rows]


def inflection(arguments: Sequence[str]) -> None:
    """Share of right forms, beside that of rules for endings."""
    args = options(
        arguments,
        languages=(LANGUAGES, "languages; 'stored' writes what is stored"),
        iterations=(60, "most iterations"),
    )
    for language in [] if args.languages == "stored" else args.languages.split(","):
        train, dev, test = (forms(args.data, part, language) for part in ("trn", "dev", "tst"))
        counted = suffix_rules(train)
        rules = {
            (tags, old): new for (tags, old, new), _ in sorted(counted.items(), key=lambda item: item[1])
        }
        base = float(np.mean([by_rules(rules, lemma, tags) == form for lemma, form, tags in test]))
        started = time.perf_counter()
        models = []
        for l2 in (0.1, 0.4):
            structure = tw.Transducer(max_out=5, window=5)
            model = tw.CRF(structure, l2=l2, max_iter=args.iterations)
            model.fit(_inputs(train), [list(form) for _, form, _ in train])
            models.append((model.score(_inputs(dev), [list(form) for _, form, _ in dev]), model))
        model = max(models, key=lambda item: item[0])[1]
        score = model.score(_inputs(test), [list(form) for _, form, _ in test])
        seconds = time.perf_counter() - started
        row = [language, len(train), 100.0 * score, 100.0 * base, model.l2, f"{seconds:.0f} s"]
        store(RESULT, load(RESULT) | {language: row}, sort_keys=True)
        print(row, flush=True)
    rows = list(load(RESULT).values())
    header = ["language", "training forms", "right %", "endings %", "l2", "time"]
    body = (
        f"{markdown(header, rows)}\n\nThe input is the lemma with its tags, as one symbol, before and after "
        'it. "Endings" are rules: the most frequent change of the longest ending of the lemma that was seen '
        "with the tags, and the lemma itself where there is none. The strength `l2` was chosen on the "
        "development forms (0.1 or 0.4); time is that of both fits."
    )
    write(RESULT, "Inflection by transducers", body)
