"""Real tasks for the benchmark of defaults: data as they come, an error that users look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments._ocr import Words
from experiments._samples import take
from experiments._treebank import read_treebank
from experiments.alignment.references import prefab
from experiments.string_regression.g2p import pronunciations
from experiments.svm_isos.taxonomy_data import enron, imclef, newsgroups, words

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.io import read_conll, read_stockholm
from trelliswork.metrics import base_pair_scores, bracket_scores, edit_error, token_error

Samples = tuple[Any, Any]


class Task(NamedTuple):
    """A set of samples to learn from and one to be judged on.

    Attributes
    ----------
    structure : Structure
        With its default arguments.
    train, test : (X, y)
        Samples.
    error : callable
        ``error(y_true, y_pred)``, a share.
    trivial : float
        Error of the trivial prediction (most frequent label, no pair, no bracket, no gap, a copy).
    scoring : str or None
        What tuning looks at; None is what suits the outputs.
    attributes, raw : callable, (inputs, inputs)
        For peers: what makes attributes of the tokens of a raw input, and the inputs before that.
    """

    structure: Any
    train: Samples
    test: Samples
    error: Callable[[Any, Any], float]
    trivial: float
    scoring: str | None = None
    attributes: Callable[[Any], list[list[str]]] | None = None
    raw: tuple[Any, Any] | None = None


def _majority(y: Any) -> Any:
    return Counter(label for labels in y for label in labels).most_common(1)[0][0]


def _tagging(train: Samples, test: Samples) -> Task:
    label = _majority(train[1])
    constant = [[label] * len(labels) for labels in test[1]]
    return Task(tw.Chain(), train, test, token_error, token_error(test[1], constant), "token_error")


def _windows(task: Task) -> Task:
    """The same tokens with the attributes that ``TokenWindow`` makes of them."""
    window = TokenWindow().fit(task.train[0])
    train, test = ((window.transform(X), y) for X, y in (task.train, task.test))
    return task._replace(
        train=train, test=test, attributes=window.describe, raw=(task.train[0], task.test[0])
    )


def _conll(path: Path, n: int | None, **columns: Any) -> Samples:
    data = read_conll(path, **columns)
    assert data.y is not None
    return data.X[:n], data.y[:n]


def entities(data: Path, n: int | None = 300) -> Task:
    """Spanish names, words alone."""
    folder = data / "conll2002-es"
    return _tagging(
        _conll(folder / "esp.train.gz", n, columns=[0], label=2),
        _conll(folder / "esp.testa.gz", 600 if n else None, columns=[0], label=2),
    )


def chunks(data: Path, n: int | None = 500) -> Task:
    """English chunks from words and tags."""
    folder = data / "conll2000"
    return _windows(
        _tagging(
            _conll(folder / "train.txt.gz", n, columns=[0, 1], label=2),
            _conll(folder / "test.txt.gz", 600 if n else None, columns=[0, 1], label=2),
        )
    )


def speech(language: str) -> Callable[..., Task]:
    """Universal tags of words of a language."""

    def read(data: Path, n: int | None = 200) -> Task:
        (folder,) = data.glob(f"ud-{language}-*")
        (train,), (test,) = (folder.glob(f"*-ud-{part}.conllu.gz") for part in ("train", "test"))
        options = {"columns": [1], "label": 3, "separator": "\t", "comment": "#"}
        return _windows(_tagging(_conll(train, n, **options), _conll(test, 600 if n else None, **options)))

    return read


def letters(data: Path, n: int | None = None) -> Task:
    """Handwritten words, pixels as they come: one fold to learn from, one to be judged on."""
    read = Words.read(str(data))
    train, test = (np.flatnonzero(read.fold == fold) for fold in (0, 1))
    return _tagging(read.part(train), read.part(test))


def taxonomy(read: Callable[[str], Any]) -> Callable[..., Task]:
    """Classes of a taxonomy; the error is the distance to the true class by the taxonomy."""

    def task(data: Path, n: int | None = 2000) -> Task:
        found = read(str(data))
        rng = np.random.default_rng(0)
        train = np.sort(rng.permutation(found.n)[:n])
        test = np.sort(found.n + rng.permutation(len(found.y) - found.n)[:n])
        label = Counter(found.y[train]).most_common(1)[0][0]
        y = found.y[test]
        return Task(
            tw.Classes(),
            (found.X[train], found.y[train]),
            (found.X[test], y),
            lambda a, b: float(np.mean(np.asarray(a) != np.asarray(b))),
            float(np.mean(y != label)),
        )

    return task


def trees(treebank: str) -> Callable[..., Task]:
    """Sentences of at most 15 words."""

    def task(data: Path, n: int | None = 400) -> Task:
        read = read_treebank(str(data), treebank, max_words=15)
        order = np.random.default_rng(0).permutation(len(read.X))
        train, test = order[:n], order[-200:]
        return Task(
            tw.Grammar(),
            (take(read.X, train), take(read.y, train)),
            (take(read.X, test), take(read.y, test)),
            lambda a, b: 1.0 - bracket_scores(a, b).f1,
            1.0,
        )

    return task


def sounds(language: str) -> Callable[..., Task]:
    """Pronunciations; the trivial prediction is the spelling."""

    def task(data: Path, n: int | None = 400) -> Task:
        train, test = (pronunciations(str(data), part, language) for part in ("train", "test"))
        copy = [list(x) for x in test[0]]
        train = (list(train[0])[:n], list(train[1])[:n])
        return Task(tw.Transducer(), train, test, edit_error, edit_error(test[1], copy))

    return task


def _folds(train: Samples, test: Samples) -> Task:
    return Task(tw.RNA(invalid="repair"), train, test, lambda a, b: 1.0 - base_pair_scores(a, b).f1, 1.0)


def transfer(data: Path, n: int | None = 100) -> Task:
    """Transfer RNA."""
    read = read_stockholm(data / "rna-singlefamily" / "trna1415_annote_1of1.sto.gz")
    order = np.random.default_rng(0).permutation(len(read.X))
    train, test = order[:n], order[-200:]
    return _folds((take(read.X, train), take(read.y, train)), (take(read.X, test), take(read.y, test)))


def seeds(data: Path, n: int | None = 150) -> Task:
    """RNA of other families, 30 to 100 bases, at least five pairs and no knot."""
    read = read_stockholm(data / "rna-rfam14" / "families.sto.gz")
    X, y = [x.upper().replace("T", "U") for x in read.X], list(read.y)
    fit = [i for i, s in enumerate(y) if 30 <= len(s) <= 100 and s.count("(") >= 5 and set(s) <= set("().")]
    order = [fit[i] for i in np.random.default_rng(0).permutation(len(fit))]
    train, test = np.array(order[:n]), np.array(order[-150:])
    return _folds((take(X, train), take(y, train)), (take(X, test), take(y, test)))


def families(data: Path, n: int | None = None) -> Task:
    """RNA of three families together."""
    X: list[str] = []
    y: list[str] = []
    for name in ("RF00048", "RF00185", "RF00020"):
        read = read_stockholm(data / "rna-rfam-named" / f"{name}.sto")
        X += [x.upper().replace("T", "U") for x in read.X]
        y += read.y
    test = np.arange(len(X)) % 3 == 0
    held, kept = np.flatnonzero(test), np.flatnonzero(~test)
    return _folds((take(X, kept), take(y, kept)), (take(X, held), take(y, held)))


def rnas(data: Path, n: int | None = 200) -> Task:
    """RNA of many families, up to 150 bases."""
    parts = []
    for name in ("TrA", "TestA"):
        read = read_stockholm(data / "rna-tornado" / f"TORNADO_{name}.sto.gz")
        short = [i for i, x in enumerate(read.X) if 20 <= len(x) <= 150]
        short = [short[i] for i in np.random.default_rng(0).permutation(len(short))[:n]]
        parts.append((take(read.X, short), take(read.y, short)))
    return _folds(*parts)


def _columns(y: Any, predicted: Any) -> float:
    """Share of the scored columns of the reference that are not found."""
    wanted = found = 0
    for reference, other in zip(y, predicted):
        pairs = _pairs(reference, core=True)
        wanted += len(pairs)
        found += len(pairs & _pairs(other))
    return 1.0 - found / wanted


def _pairs(rows: tuple[str, str], core: bool = False) -> set[tuple[int, int]]:
    i = j = 0
    out = set()
    for a, b in zip(*rows):
        if a != "-" and b != "-" and (not core or (a.isupper() and b.isupper())):
            out.add((i, j))
        i += a != "-"
        j += b != "-"
    return out


def proteins(data: Path, n: int | None = 100) -> Task:
    """Structural alignments of two proteins, letters in the case in which they come."""
    pairs = [p for p in prefab(data / "protein-align") if max(map(len, p.x)) <= 250]
    order = np.random.default_rng(0).permutation(len(pairs))
    train, test = ([pairs[i] for i in part] for part in (order[:n], order[-150:]))
    flush = [tuple(s + "-" * (max(map(len, p.x)) - len(s)) for s in p.x) for p in test]
    y = [p.y for p in test]
    return Task(
        tw.Alignment(),
        ([p.x for p in train], [p.y for p in train]),
        ([p.x for p in test], y),
        _columns,
        _columns(y, flush),
    )


# Defaults were chosen with the tasks of the first table in sight; those of the second are only reported.
CHOSEN_ON: dict[str, Callable[..., Task]] = {
    "names, words alone": entities,
    "names, windows": lambda data, n=300: _windows(entities(data, n)),
    "tags, English": speech("en"),
    "tags, Turkish": speech("tr"),
    "letters": letters,
    "newsgroups": taxonomy(newsgroups),
    "images": taxonomy(imclef),
    "mails": taxonomy(enron),
    "proteins": proteins,
    "trees, Spanish": trees("cess-esp"),
    "transfer RNA": transfer,
    "RNA, other families": seeds,
    "sounds, Dutch": sounds("dut"),
}
APART: dict[str, Callable[..., Task]] = {
    "tags, Greek": speech("el"),
    "chunks": chunks,
    "word classes": taxonomy(words),
    "trees": trees("ptb-sample"),
    "RNA, three families": families,
    "RNA, many families": rnas,
    "sounds, Hungarian": sounds("hun"),
}
# The same kinds of tasks with all the samples there are; nothing is tuned on these.
WHOLE: dict[str, Callable[..., Task]] = {
    "names, windows, all": lambda data: _windows(entities(data, None)),
    "tags, English, all": lambda data: speech("en")(data, None),
    "tags, Turkish, all": lambda data: speech("tr")(data, None),
    "tags, Greek, all": lambda data: speech("el")(data, None),
    "chunks, all": lambda data: chunks(data, None),
}
