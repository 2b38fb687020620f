"""Spanish named entities (CoNLL-2002) with some of the labels taken away."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments._report import load, markdown, options, store, write
from experiments.partly.features import rich_window

_PLAIN = (
    "Features are those of `TokenWindow()`, the learner its defaults; nothing was chosen by the test sets."
)
_RICH = (
    "Features are the word, its two to four first and last letters, its shape and part of speech, the "
    "same with fewer letters of two neighbours on either side, and clusters of words (32, 128 and 512) "
    "by their neighbours in the training text, which need no labels. All rows have the same features "
    "and the defaults of the learner. Features were chosen on testa, with one or two draws of half of "
    "the labels: compared were those of `TokenWindow()` with clusters, these ones without clusters, "
    "without parts of speech, without these but with clusters of more text, and with an `l2` of 0.03 and "
    "0.3 for all rows. testb was read for the rows of this table alone."
)

LONGEST = 10  # tokens of a span that is kept or hidden as a whole
Labels = list[list[Any]]


def spans_hidden(y: Labels, share: float, rng: np.random.Generator, longest: int = LONGEST) -> Labels:
    """Sentences cut into spans of 1 to ``longest`` tokens, a share of which loses its labels."""
    out = []
    for row in y:
        new, start = list(row), 0
        while start < len(row):
            stop = start + int(rng.integers(1, longest + 1))
            if rng.random() < share:
                new[start:stop] = [None] * len(row[start:stop])
            start = stop
        out.append(new)
    return out


def entities_only(y: Labels) -> Labels:
    """Only the labels of entities are left."""
    return [[None if label == "O" else label for label in row] for row in y]


def small_words_too(y: Labels, words: Sequence[Sequence[Any]]) -> Labels:
    """The labels of entities that are known, and O for words without a capital letter."""
    return [
        [
            "O" if label is None and not any(c.isupper() for c in token[0]) else label
            for label, token in zip(row, tokens, strict=True)
        ]
        for row, tokens in zip(y, words, strict=True)
    ]


def entities_hidden(y: Labels, share: float, rng: np.random.Generator) -> Labels:
    """Only labels of entities are left, and a share of the entities is missing."""
    from trelliswork.metrics import entity_spans

    out = []
    for row in y:
        new: list[Any] = [None] * len(row)
        for start, stop, _ in entity_spans(row):
            if rng.random() >= share:
                new[start:stop] = row[start:stop]
        out.append(new)
    return out


def read_as_o(y: Labels) -> Labels:
    """What is unknown taken for no entity."""
    return [["O" if label is None else label for label in row] for row in y]


def _settings(
    y: Labels, words: Sequence[Sequence[Any]], rng: np.random.Generator
) -> dict[str, tuple[np.ndarray, Labels]]:
    """Samples and labels of every setting."""
    everything = np.arange(len(y))
    half = spans_hidden(y, 0.5, rng)
    some = np.sort(rng.permutation(len(y))[: len(y) // 5])
    marked = set(some.tolist())
    mixed = [row if i in marked else sparse for i, (row, sparse) in enumerate(zip(y, entities_only(y)))]
    found = entities_hidden(y, 0.5, rng)
    single = spans_hidden(y, 0.5, rng, 1)
    rows = np.sort(rng.permutation(len(y))[: len(y) // 2])
    return {
        "all labels": (everything, y),
        "half of the labels": (everything, half),
        "half of the labels, the others read as O": (everything, read_as_o(half)),
        "a fifth of the sentences": (some, [y[i] for i in some]),
        "a fifth of the sentences, of the others the entities": (everything, mixed),
        "the entities alone": (everything, entities_only(y)),
        "half of the entities alone": (everything, found),
        "half of the entities, O elsewhere": (everything, read_as_o(found)),
        "half of the entities, O for words without capitals": (everything, small_words_too(found, words)),
        "half of the labels, token by token": (everything, single),
        "half of the sentences": (rows, [y[i] for i in rows]),
    }


def _learners() -> dict[str, Callable[[Any], Any]]:
    import trelliswork as tw

    return {
        "CRF": lambda chain: tw.CRF(chain, n_jobs=1),
        "Perceptron": lambda chain: tw.Perceptron(chain),
        "StructuredSVM": lambda chain: tw.StructuredSVM(chain, tol=1e-2),
    }


def _mean(draws: dict[str, dict[str, float]], what: str) -> float:
    """Mean of a figure over all draws."""
    return float(np.mean([draw[what] for draw in draws.values()]))


def ner(arguments: Sequence[str]) -> None:
    """F1 of entities on testa and testb, for labels that are all there and for labels that are not."""
    import trelliswork as tw
    from trelliswork.features import TokenWindow
    from trelliswork.io import read_conll
    from trelliswork.metrics import entity_f1

    given = options(
        arguments,
        learner=("CRF", "CRF, Perceptron or StructuredSVM"),
        seeds=("0", "which labels are taken away: one draw for each number, as in 0,1,2"),
        sentences=(0, "use so many training sentences; 0 for all"),
        features=("plain", "plain: those of TokenWindow(); rich: wider windows, affixes, clusters of words"),
        settings=("", "numbers of the settings, as in 0,1; all by default; 'stored' writes what is stored"),
    )
    folder = os.path.join(given.data, "conll2002-es")
    data = {part: read_conll(os.path.join(folder, f"esp.{part}.gz")) for part in ("train", "testa", "testb")}
    n = given.sentences or len(data["train"].y)
    rich = given.features == "rich"
    window = (rich_window(data["train"].X[:n]) if rich else TokenWindow()).fit(data["train"].X[:n])
    X = {part: window.transform(rows.X if part != "train" else rows.X[:n]) for part, rows in data.items()}
    y = data["train"].y[:n]
    labels = sorted({label for row in y for label in row})
    name = "partly/ner" if given.learner == "CRF" else f"partly/ner_{given.learner.lower()}"
    name += "_rich" if rich else ""
    kept = {} if given.sentences else load(name)
    for seed in given.seeds.split(","):
        settings = _settings(y, data["train"].X[:n], np.random.default_rng(int(seed)))
        chosen: Sequence[int] = range(len(settings))
        if given.settings:
            chosen = (
                [] if given.settings == "stored" else [int(number) for number in given.settings.split(",")]
            )
        for number in chosen:
            title = list(settings)[number]
            index, rows = settings[title]
            model = _learners()[given.learner](tw.Chain(labels=labels))
            start = time.process_time()
            model.fit(X["train"][index], rows)
            seconds = time.process_time() - start
            known = np.mean([label is not None for row in rows for label in row])
            kept.setdefault(title, {})[seed] = {
                "known": 100.0 * float(known),
                "seconds": seconds,
                **{
                    part: 100.0 * entity_f1(data[part].y, model.predict(X[part]))
                    for part in ("testa", "testb")
                },
            }
            print(title, kept[title][seed], flush=True)
            if not given.sentences:
                store(name, kept)
    table = [
        [
            title,
            len(kept[title]),
            *(_mean(kept[title], part) for part in ("known", "testa", "testb", "seconds")),
        ]
        for title in settings
        if title in kept
    ]
    head = ["labels to learn from", "draws", "known tokens, %", "F1 testa", "F1 testb", "CPU seconds"]
    body = markdown(head, table)
    if not given.sentences:
        write(
            name,
            f"Spanish entities with labels known in part: {given.learner}",
            f"{body}\n\n{n:,} sentences. {_RICH if rich else _PLAIN} Figures are means over draws of the "
            "labels that are taken away. Labels that are not known are None: the learner sums over (CRF) or "
            "fills in (the others) whatever agrees with the rest. Sentences are cut into spans of 1 to "
            f"{LONGEST} tokens, half of which lose their labels; token by token, every label is lost or kept "
            "on its own. With the entities alone nothing says what is no entity: there is no label O to "
            "learn from.",
        )
    else:
        print(body)
