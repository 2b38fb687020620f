"""Collections whose classes are the leaves of a taxonomy."""

from __future__ import annotations

import collections
import gzip
import itertools
import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from trelliswork.io import read_conll
from trelliswork.kernels import RBF
from trelliswork.structures.classes.taxonomy import Taxonomy


class Labelled(NamedTuple):
    """Rows and classes, the taxonomy as (parent, child) pairs, and the kernel of rows (None: linear).

    The first ``n`` samples are the training part of the collection, the others its test part.
    """

    X: Any
    y: np.ndarray
    n: int
    links: list[tuple[str, str]]
    kernel: Any = None

    @classmethod
    def of(cls, rows: Sequence[Any], labels: Sequence[Any], links: list[Any], kernel: Any = None):
        """From a training and a test part."""
        stack = sp.vstack if sp.issparse(rows[0]) else np.concatenate
        X, y = stack(rows), np.concatenate([np.asarray(part) for part in labels])
        return cls(X.tocsr() if sp.issparse(X) else X, y, len(labels[0]), branching(links), kernel)


def newsgroups(folder: str) -> Labelled:
    """Words of subject and body, tf-idf; the dotted names are the taxonomy."""
    root = os.path.join(folder, "taxonomy-20newsgroups")
    texts, labels = [], []
    for part in ("train", "test"):
        with gzip.open(os.path.join(root, f"{part}.jsonl.gz"), "rt", encoding="utf-8") as file:
            items = [json.loads(line) for line in file]
        texts.append([f"{item['subject']}\n{item['body']}" for item in items])
        labels.append(np.array([item["label"] for item in items]))
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
    with open(os.path.join(root, "taxonomy.tsv"), encoding="utf-8") as file:
        links = [tuple(line.rstrip("\n").split("\t")) for line in file if line.strip()]
    return Labelled.of([words.fit_transform(texts[0]), words.transform(texts[1])], labels, links)


def _arff(path: str) -> tuple[np.ndarray, list[list[str]]]:
    """Features, and the paths of every sample."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file]
    first = next(i for i, line in enumerate(lines) if line.lower().startswith("@data")) + 1
    rows = [line.rsplit(",", 1) for line in lines[first:] if line]
    return np.array([row[0].split(",") for row in rows], dtype=float), [row[1].split("@") for row in rows]


def _of_paths(paths: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Leaf of every path, and the links; a path that others continue gets an extra leaf."""
    links: dict[tuple[str, str], None] = {}
    for path in paths:
        steps = path.split("/")
        for depth in range(len(steps)):
            links["/".join(steps[:depth]) or "ROOT", "/".join(steps[: depth + 1])] = None
    inner = {parent for parent, _ in links}
    leaf = {path: f"{path}/-" if path in inner else path for path in paths}
    links |= {(path, name): None for path, name in leaf.items() if name != path}
    return leaf, list(links)


def imclef(folder: str) -> Labelled:
    """X-ray images: edge histograms; the last step of the one path of each image.

    Standardised so that a Gaussian kernel of width one is the usual choice for so few columns
    (``gamma="scale"`` of scikit-learn).
    """
    root = os.path.join(folder, "taxonomy-imclef07a")
    (A, a), (B, b) = (_arff(os.path.join(root, f"ImCLEF07A_{part}.arff.gz")) for part in ("Train", "Test"))
    leaf, links = _of_paths(sorted({row[-1] for row in (*a, *b)}))
    scale = StandardScaler().fit(A)
    rows = [scale.transform(part) / np.sqrt(part.shape[1]) for part in (A, B)]
    return Labelled.of(rows, [[leaf[row[-1]] for row in part] for part in (a, b)], links, kernel=RBF(1.0))


def enron(folder: str) -> Labelled:
    """E-mails: bag of words, tf-idf; the first path of each mail."""
    root = os.path.join(folder, "taxonomy-enron")
    (A, a), (B, b) = (
        _arff(os.path.join(root, f"Enron_corr_{part}.arff.gz")) for part in ("trainvalid", "test")
    )
    leaf, links = _of_paths(sorted({row[0] for row in (*a, *b)}))
    weigh = TfidfTransformer(sublinear_tf=True).fit(sp.csr_matrix(A))
    rows = [weigh.transform(sp.csr_matrix(part)) for part in (A, B)]
    return Labelled.of(rows, [[leaf[row[0]] for row in part] for part in (a, b)], links)


OPEN = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
OTHER = ("PUNCT", "SYM", "X")
TOKENS = (10_000, 5_000)  # of training and test part, drawn at random


def attributes(sentence: Sequence[str], i: int) -> list[str]:
    """A word, its affixes, and its neighbours with theirs."""
    word = sentence[i].lower()
    out = [f"word={word}", f"capital={sentence[i][0].isupper()}", f"digit={any(c.isdigit() for c in word)}"]
    out += [f"suffix={word[-k:]}" for k in (1, 2, 3)] + [f"prefix={word[:k]}" for k in (1, 2)]
    for side, j in (("before", i - 1), ("after", i + 1)):
        other = sentence[j].lower() if 0 <= j < len(sentence) else "#"
        out += [f"{side}={other}", f"{side}, suffix={other[-2:]}"]
    return out


def words(folder: str) -> Labelled:
    """Words in their sentences: affixes and neighbours, Penn tags.

    The taxonomy is that of Universal Dependencies: open and closed classes and others, universal
    tags, and below each the Penn tags that mostly go with it.
    """
    rng = np.random.default_rng(0)
    tokens, labels = [], []
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    for part, size in zip(("train", "test"), TOKENS, strict=True):
        path = os.path.join(folder, "ud-en-ewt", f"en_ewt-ud-{part}.conllu.gz")
        fine, universal = (
            read_conll(path, columns=[1], label=column, separator="\t", comment="#") for column in (4, 3)
        )
        rows = [attributes(sentence, i) for sentence in fine.X for i in range(len(sentence))]
        tags = [tag for sentence in fine.y for tag in sentence]
        if part == "train":
            seen.update(zip(tags, (tag for sentence in universal.y for tag in sentence), strict=True))
        index = rng.permutation(len(tags))[:size]
        tokens.append([rows[i] for i in index])
        labels.append(np.array([tags[i] for i in index]))
    columns = CountVectorizer(analyzer=lambda token: token, binary=True, min_df=2)
    X, X_test = columns.fit_transform(tokens[0]), columns.transform(tokens[1])
    parent: dict[str, str] = {}
    for (tag, above), _ in reversed(seen.most_common()):
        parent[tag] = above
    links = []
    for tag in sorted(set(labels[0]) | set(labels[1])):
        above = parent[tag]
        group = "open" if above in OPEN else "other" if above in OTHER else "closed"
        links += [("ROOT", group), (group, f"{group}/{above}"), (f"{group}/{above}", tag)]
    scale = TfidfTransformer().fit(X)
    return Labelled.of([scale.transform(part) for part in (X, X_test)], labels, sorted(set(links)))


def branching(links: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The taxonomy without nodes that have only one child, its leaves all at the same depth.

    Dotted names and codes spell out steps at which nothing branches. What is left gets as many
    steps between a node and its parent as their heights differ by: the heights at which classes
    meet stay, and all classes have equally many ancestors.
    """
    tree = Taxonomy(links)

    def branch(node: str) -> str:
        while len(tree.children[node]) == 1:
            node = tree.children[node][0]
        return node

    kept: list[tuple[str, str]] = []
    stack = [branch(tree.root)]
    while stack:
        parent = stack.pop()
        below = [branch(child) for child in tree.children[parent]]
        kept += [(parent, node) for node in below]
        stack += below
    heights = Taxonomy(kept).heights
    levelled: list[tuple[str, str]] = []
    for parent, node in kept:
        steps = range(heights[parent] - heights[node] - 1)
        chain = [parent, *(f"{node}^{step}" for step in steps), node]
        levelled += itertools.pairwise(chain)
    return levelled


SETS = {"Enron": enron, "ImCLEF07A": imclef, "20 Newsgroups": newsgroups, "words": words}
