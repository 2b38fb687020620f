"""Features of words that need few labels: wider windows, affixes, and clusters learnt from the text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

SIZES = (32, 128, 512)  # numbers of clusters
_LEAST = 2  # times that a word occurs which is in a cluster
_CONTEXTS, _DIMENSIONS, _SMOOTHED = 3000, 64, 0.75


def neighbour_counts(sentences: Sequence[Sequence[str]], words: Sequence[str]) -> sp.csr_matrix:
    """How often each word is before, and after, each of the most frequent words, or of the ends."""
    frequent = Counter(word for row in sentences for word in row).most_common(_CONTEXTS - 2)
    column = {word: t for t, (word, _) in enumerate(frequent, 2)}
    number = {word: t for t, word in enumerate(words)}
    rows, columns = [], []
    for row in sentences:
        codes = [0, *(column.get(word, 1) for word in row), 0]
        for t, word in enumerate(row):
            if word in number:
                rows += [number[word]] * 2
                columns += [codes[t], _CONTEXTS + codes[t + 2]]
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(words), 2 * _CONTEXTS))


def word_vectors(sentences: Sequence[Sequence[str]], words: Sequence[str]) -> np.ndarray:
    """Directions of words in the singular vectors of the positive pointwise mutual information."""
    from sklearn.decomposition import TruncatedSVD

    counts = neighbour_counts(sentences, words).tocoo()
    of_word = np.bincount(counts.row, counts.data, counts.shape[0])
    of_context = np.bincount(counts.col, counts.data, counts.shape[1]) ** _SMOOTHED
    expected = of_word[counts.row] * of_context[counts.col] / of_context.sum()
    information = np.maximum(np.log(counts.data / expected), 0.0)
    table = sp.csr_matrix((information, (counts.row, counts.col)), shape=counts.shape)
    model = TruncatedSVD(min(_DIMENSIONS, len(words) - 1), random_state=0).fit(table)
    vectors = model.transform(table) / np.sqrt(model.singular_values_)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def word_clusters(sentences: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Names of the clusters of every word that occurs twice, one for each number of clusters."""
    from sklearn.cluster import MiniBatchKMeans

    counts = Counter(word for row in sentences for word in row)
    words = [word for word, times in counts.most_common() if times >= _LEAST]
    vectors = word_vectors(sentences, words)
    names: dict[str, list[str]] = {word: [] for word in words}
    for size in SIZES:
        k = min(size, len(words))
        means = MiniBatchKMeans(k, random_state=0, n_init=3, batch_size=4096, max_iter=50)
        for word, cluster in zip(words, means.fit_predict(vectors), strict=True):
            names[word].append(f"cluster{size}={cluster}")
    return names


def rich_window(sentences: Sequence[Sequence[Any]]) -> Any:
    """Features of tokens ``(word, part of speech, ...)``, with clusters of the words of these sentences."""
    from trelliswork.features import TokenWindow

    clusters = word_clusters([[token[0] for token in row] for row in sentences])
    return TokenWindow(
        offsets=(-2, -1, 0, 1, 2),
        prefixes=(2, 3, 4),
        suffixes=(2, 3, 4),
        shape=True,
        columns={"pos": 1, "pos[:2]": 1},
        extra=lambda token: clusters.get(token[0], []),
        neighbours={"prefixes": (), "suffixes": (3,)},
    )
