"""Sentences drawn from a hidden Markov model of CoNLL-2002 (es), one partition at a time."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ner import read

__all__ = ["Part", "parts_of", "sentences", "window"]


class Law(NamedTuple):
    """Words and labels, and how they follow one another; chances are summed up along the last axis."""

    words: list[str]
    names: list[str]
    sizes: np.ndarray
    start: np.ndarray
    move: np.ndarray
    emission: np.ndarray


def train(folder: str, target: Path) -> None:
    """Write the law of the corpus into a file."""
    import trelliswork as tw

    corpus = read(folder, "train")
    words = [[token[0] for token in x] for x in corpus.X]
    model = tw.Generative(tw.Chain()).fit(words, corpus.y)
    space, k = model.space_, model.space_.n_labels
    chances = np.exp(model.log_prob_ if hasattr(model, "log_prob_") else model.coef_)
    n_real = len(space.attributes)
    table = chances[: (n_real + space.n_markers) * k].reshape(-1, k)
    start = table[n_real + space.marker_names.index("start")]
    move = chances[space.n_features - k * k :].reshape(k, k)
    emission = np.cumsum(table[:n_real].T, axis=1)
    np.savez(
        target,
        words=np.array(space.attributes),
        names=np.array(space.labels),
        sizes=np.array([len(x) for x in words if x]),
        start=np.cumsum(start / start.sum()),
        move=np.cumsum(move / move.sum(axis=1, keepdims=True), axis=1),
        emission=emission / emission[:, -1:],
    )


@functools.lru_cache(maxsize=1)
def _law(path: str) -> Law:
    stored = np.load(path)
    arrays = (stored[name] for name in ("sizes", "start", "move", "emission"))
    return Law(stored["words"].tolist(), stored["names"].tolist(), *arrays)


class Part:
    """Some tokens, the same ones whenever they are asked for.

    Parameters
    ----------
    path : str
        File of the law.
    number : int
        Number of the partition, the seed of its draws.
    n_tokens : int
        About so many tokens.
    """

    def __init__(self, path: str, number: int, n_tokens: int):
        self.path, self.number, self.n_tokens = path, number, n_tokens

    def sentences(self) -> tuple[list[list[str]], list[list[str]]]:
        """Words and labels."""
        law, rng = _law(self.path), np.random.default_rng(self.number)
        lengths = rng.choice(law.sizes, int(self.n_tokens / law.sizes.mean()) + 1)
        longest, k = int(lengths.max()), len(law.names)
        labels = np.zeros((longest, lengths.size), dtype=np.int64)
        labels[0] = np.searchsorted(law.start, rng.random(lengths.size)).clip(0, k - 1)
        order = np.argsort(-lengths, kind="stable")  # the longest first: shorter ones end before
        for t in range(1, longest):
            going = order[: int(np.count_nonzero(lengths > t))]
            steps = law.move[labels[t - 1, going]]
            labels[t, going] = (rng.random(going.size)[:, None] > steps).sum(axis=1).clip(0, k - 1)
        codes = labels.T[np.arange(longest) < lengths[:, None]]
        tokens = np.empty(codes.size, dtype=np.int64)
        for c in range(k):
            mine = np.flatnonzero(codes == c)
            found = np.searchsorted(law.emission[c], rng.random(mine.size))
            tokens[mine] = found.clip(0, len(law.words) - 1)
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        X, y = (
            [table[i] for i in some.tolist()] for table, some in ((law.words, tokens), (law.names, codes))
        )
        cut = list(zip(starts, ends, strict=True))
        return [X[a:b] for a, b in cut], [y[a:b] for a, b in cut]

    def __call__(self) -> tuple[Any, Any]:
        """Features and labels."""
        X, y = self.sentences()
        return window().transform(X), y


def window() -> Any:
    """Features of the sentences."""
    from trelliswork.features import TokenWindow

    return TokenWindow(suffixes=(3,), flags=("title",))


def parts_of(folder: str, target: Path, n_tokens: int, per_part: int) -> list[Part]:
    """Partitions with so many tokens in all."""
    path = target / "law.npz"
    train(folder, path)
    n_parts = max(1, round(n_tokens / per_part))
    return [Part(str(path), number, n_tokens // n_parts) for number in range(n_parts)]


def sentences(parts: list[Part]) -> tuple[list[list[str]], list[list[str]]]:
    """Those of all partitions, here."""
    loaded = [part.sentences() for part in parts]
    return [x for X, _ in loaded for x in X], [y_i for _, y in loaded for y_i in y]
