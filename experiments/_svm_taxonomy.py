"""Classes of a taxonomy: flat or shared attributes, zero-one or tree loss (Table 1)."""

from __future__ import annotations

import collections
import gzip
import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

import trelliswork as tw
from experiments._report import markdown, options, write
from trelliswork.io import read_conll
from trelliswork.kernels import RBF
from trelliswork.losses import Tree
from trelliswork.structures.classes.taxonomy import Taxonomy

SHARES = (0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0, 30.0)  # weight of the slack of one sample: C / n
COARSE = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)  # at full size
ANCESTORS = (1.0, 0.5, 0.25, 0.1)  # weights of ancestors
TOL = 0.0001  # relative gap: where C is small the slacks are nearly all of the objective
COARSE_TOL = 0.001  # at full size
CACHE_MB = 4000  # holds the kernel matrix of all samples
RACE = 3.0  # standard errors behind the best form of its method at which a form is given up, at full size
ENOUGH = 4000  # judged samples by which a form is chosen at full size: fewer are split again
METHODS = ("flat 0/1", "taxonomy 0/1", "flat + tree loss", "taxonomy + tree loss")


class Form(NamedTuple):
    """What is chosen: where the loss goes, weight of ancestors, C / n."""

    rescale: str
    ancestors: float
    share: float


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
    """Leaf of every path, and the links; a path that others continue gets a leaf of its own."""
    links: dict[tuple[str, str], None] = {}
    for path in paths:
        steps = path.split("/")
        for depth in range(len(steps)):
            links["/".join(steps[:depth]) or "ROOT", "/".join(steps[: depth + 1])] = None
    inner = {parent for parent, _ in links}
    leaf = {path: f"{path}/-" if path in inner else path for path in paths}
    links |= {(path, own): None for path, own in leaf.items() if own != path}
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
    """The taxonomy without nodes that have one child alone, its leaves all at the same depth.

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
        found = [branch(child) for child in tree.children[parent]]
        kept += [(parent, node) for node in found]
        stack += found
    heights = Taxonomy(kept).heights
    levelled: list[tuple[str, str]] = []
    for parent, node in kept:
        steps = range(heights[parent] - heights[node] - 1)
        chain = [parent, *(f"{node}^{step}" for step in steps), node]
        levelled += itertools.pairwise(chain)
    return levelled


SETS = {"Enron": enron, "ImCLEF07A": imclef, "20 Newsgroups": newsgroups, "words": words}


def machine(method: str, data: Labelled, n: int, form: Form, tol: float) -> Any:
    """One of the four methods for ``n`` samples."""
    taxonomy = data.links if method.startswith("taxonomy") else None
    structure = tw.Classes(taxonomy, labels=sorted(set(data.y.tolist())), ancestor_weight=form.ancestors)
    loss: Any = Tree(data.links) if method.endswith("tree loss") else "zero-one"
    return tw.StructuredSVM(
        structure,
        form.share * n,
        loss=loss,
        rescale=form.rescale,
        kernel=data.kernel,
        tol=tol,
        cache_mb=CACHE_MB,
        n_jobs=1,
    )


def forms(method: str, shares: Sequence[float], height: float = 1.0) -> list[Form]:
    """All settings of a method; slack and margin rescaling are equal for 0/1.

    Margins as large as the tree loss take weights as much larger, and so a larger C: its shares are
    multiplied by ``height``.
    """
    ways = ("slack", "margin") if method.endswith("tree loss") else ("margin",)
    ancestors = ANCESTORS if method.startswith("taxonomy") else (0.0,)
    found = []
    for way, ancestor, share in itertools.product(ways, ancestors, shares):
        wide = len(ways) == 2 and way == "margin"
        found.append(Form(way, ancestor, share * height if wide else share))
    return found


class Judge:
    """Tree loss."""

    def __init__(self, data: Labelled):
        self.names, self.place = np.unique(data.y, return_inverse=True)
        self.heights = Taxonomy(data.links).meeting_heights(self.names.tolist())

    def __call__(self, samples: np.ndarray, guess: Sequence[str]) -> np.ndarray:
        """Tree loss of every sample."""
        return self.heights[self.place[samples], np.searchsorted(self.names, np.asarray(guess))]

    def over_classes(self, samples: np.ndarray, losses: np.ndarray) -> float:
        """Mean over classes of the mean over their samples."""
        count = np.bincount(self.place[samples], minlength=self.names.size)
        total = np.bincount(self.place[samples], losses, minlength=self.names.size)
        return float(np.mean(total[count > 0] / count[count > 0]))


class Protocol:
    """What is trained on and tested.

    Few samples per class: half of the training part, class by class, chooses the form; training
    sets come from the other half, and all that is left of it and the test part are the test. As
    training sets have all classes alike, so has the test: its losses are means over classes. Full
    size (``per_class`` 0, with training and test samples given): folds of the training samples
    choose, and all test samples count alike.
    """

    def __init__(self, data: Labelled, judge: Judge, per_class: int, seed: int, fold: Any = None):
        self.data, self.judge, self.per_class, self.seed = data, judge, per_class, seed
        if fold is not None:
            self.development, self.test = fold
            self.pool = self.development
            return
        rng = np.random.default_rng([seed, per_class])
        train = [rng.permutation(np.flatnonzero(data.y[: data.n] == name)) for name in judge.names]
        self.development = np.concatenate([part[: (part.size + 1) // 2] for part in train])
        self.pool = np.concatenate([part[(part.size + 1) // 2 :] for part in train])
        self.test = np.concatenate([self.pool, np.arange(data.n, data.y.size)])

    def loss(self, samples: np.ndarray, losses: np.ndarray) -> float:
        """Mean over classes, or over samples if training sets have them as they come."""
        return self.judge.over_classes(samples, losses) if self.per_class else float(losses.mean())

    def drawn(self, pool: np.ndarray, *numbers: int) -> np.ndarray:
        """Training set: up to so many random samples of every class."""
        rng = np.random.default_rng([self.seed, self.per_class, *numbers])
        classes = [pool[self.data.y[pool] == name] for name in self.judge.names]
        return np.concatenate([rng.permutation(part)[: self.per_class] for part in classes])

    def rows(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        """Rows of training and test, without columns that the training rows do not have."""
        X, others = self.data.X[train], self.data.X[test]
        if not sp.issparse(X):
            return X, others
        used = np.unique(X.indices)
        return X[:, used], others[:, used]

    def losses(self, method: str, form: Form, train: np.ndarray, rows: tuple[Any, Any], test: np.ndarray):
        """Tree losses of the test samples."""
        tol = TOL if self.per_class else COARSE_TOL
        model = machine(method, self.data, train.size, form, tol).fit(rows[0], self.data.y[train])
        return self.judge(test, model.predict(rows[1]))

    def splits(self, trials: int, inner: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Samples that train and samples that judge, to choose the form."""
        if self.per_class:
            for trial in range(trials):
                rng = np.random.default_rng([self.seed, self.per_class, trial, 1])
                a = self.drawn(self.development, trial, 2)
                yield a, rng.permutation(np.setdiff1d(self.development, a))
            return
        for repeat in range(-(-ENOUGH // self.development.size)):
            for a, b in KFold(inner, shuffle=True, random_state=self.seed + repeat).split(self.development):
                yield self.development[a], self.development[b]

    def chosen(self, trials: int, inner: int) -> dict[str, Form]:
        """For every method the form with the least tree loss on other samples than those of training.

        At full size forms that are surely not the best of their method leave the race.
        """
        height = 1.0 if self.per_class else float(self.judge.heights.max())
        shares = SHARES if self.per_class else COARSE
        racing = {method: forms(method, shares, height) for method in METHODS}
        totals: dict[tuple[str, Form], float] = collections.Counter()
        seen: dict[tuple[str, Form], list[np.ndarray]] = collections.defaultdict(list)
        for a, b in self.splits(trials, inner):
            rows = self.rows(a, b)
            for method, left in racing.items():
                for form in left:
                    losses = self.losses(method, form, a, rows, b)
                    totals[method, form] += self.loss(b, losses)
                    seen[method, form].append(losses)
                best = min(left, key=lambda form: totals[method, form])
                if not self.per_class:
                    behind = {form: _behind(seen[method, form], seen[method, best]) for form in left}
                    racing[method] = [form for form in left if behind[form] <= RACE]
        return {method: min(left, key=lambda form: totals[method, form]) for method, left in racing.items()}


def _behind(losses: list[np.ndarray], best: list[np.ndarray]) -> float:
    """By how many standard errors the losses of the same samples are larger."""
    apart = np.concatenate(losses) - np.concatenate(best)
    return float(apart.mean() / max(apart.std() / np.sqrt(apart.size), 1e-12))


def taxonomies(arguments: Sequence[str]) -> None:
    """Accuracy and tree loss of four methods, their forms chosen on samples of the training part."""
    args = options(
        arguments,
        draws=(50, "random draws of small training sets"),
        trials=(16, "other draws that choose the form"),
        only=("", "data whose names hold this, in a result of their own"),
        folds=(0, "0: few samples per class; 1: all of the training part; more: folds of the collection"),
        inner=(3, "folds of the training samples of a fold, which choose the form"),
        seed=(0, "seed"),
    )
    rows: list[list[Any]] = []
    notes: list[str] = []
    for name, read in SETS.items():
        if args.only not in name:
            continue
        data = read(args.data)
        judge = Judge(data)
        notes.append(
            f"{name}: {data.n:,} training and {data.y.size - data.n:,} test samples, {judge.names.size} "
            f"classes (the largest has {100 * np.bincount(judge.place).max() / data.y.size:.0f} % of the "
            f"samples), largest tree loss {judge.heights.max():.0f}"
        )
        started = time.perf_counter()
        if args.folds:
            splits = [(np.arange(data.n), np.arange(data.n, data.y.size))]
            if args.folds > 1:
                splits = KFold(args.folds, shuffle=True, random_state=args.seed).split(data.X)
            rows += compared(name, [Protocol(data, judge, 0, args.seed, fold) for fold in splits], args)
        else:
            for per_class in (2, 4):
                rows += compared(name, [Protocol(data, judge, per_class, args.seed)], args)
                _write(args, rows, notes)
        print(f"{time.perf_counter() - started:.0f} s", flush=True)
        _write(args, rows, notes)


class Tested(NamedTuple):
    """What one machine got: test samples, their tree losses, and the mean over classes."""

    losses: np.ndarray
    over_classes: float


def compared(name: str, protocols: Sequence[Protocol], args: Any) -> list[list[Any]]:
    """The four methods; folds are put together."""
    per_class = protocols[0].per_class
    found: dict[str, list[Tested]] = {method: [] for method in METHODS}
    shown: dict[str, list[str]] = {method: [] for method in METHODS}
    for protocol in protocols:
        best = protocol.chosen(args.trials, args.inner)
        print(name, per_class, best, flush=True)
        for draw in range(args.draws if per_class else 1):
            train = protocol.drawn(protocol.pool, draw) if per_class else protocol.pool
            test = np.setdiff1d(protocol.test, train)
            rows = protocol.rows(train, test)
            for method in METHODS:
                losses = protocol.losses(method, best[method], train, rows, test)
                found[method].append(Tested(losses, protocol.judge.over_classes(test, losses)))
        for method in METHODS:
            shown[method].append(_shown(method, best[method]))
    classes = {method: float(np.mean([run.over_classes for run in runs])) for method, runs in found.items()}
    every = {method: np.concatenate([run.losses for run in runs]) for method, runs in found.items()}
    samples = {method: float(losses.mean()) for method, losses in every.items()}
    means = classes if per_class else samples
    table: list[list[Any]] = []
    for method in METHODS:
        # Draws are what varies; otherwise the test samples are.
        if per_class:
            pairs = zip(found[method], found[METHODS[2]], strict=True)
            apart = np.array([a.over_classes - b.over_classes for a, b in pairs])
        else:
            apart = every[method] - every[METHODS[2]]
        chosen = "; ".join(dict.fromkeys(shown[method]))
        row = [name, per_class or "all", method, chosen, 100 * float(np.mean(every[method] == 0))]
        for level in (classes, samples):
            mark = "**" if level[method] == min(level.values()) else ""
            row.append(f"{mark}{level[method]:.{3 if per_class else 4}f}{mark}")
        row.append(f"{100 * (1 - means[method] / means[METHODS[0]]):+.1f} %")
        row.append(f"{apart.mean():+.4f} ({apart.std() / np.sqrt(apart.size):.4f})")
        print(row, flush=True)
        table.append(row)
    return table


def _shown(method: str, form: Form) -> str:
    parts = [f"{form.share:g}"]
    if method.startswith("taxonomy"):
        parts.append(f"{form.ancestors:g}")
    if method.endswith("tree loss"):
        parts.append(form.rescale)
    return ", ".join(parts)


def _verdict(rows: list[list[Any]]) -> str:
    """How often each method has the lowest tree loss, and where the taxonomy helps or harms for sure."""
    best = [row[2] for row in rows if row[6 if row[1] == "all" else 5].startswith("**")]
    counts = ", ".join(f"{method} in {best.count(method)}" for method in reversed(METHODS))
    last = [row for row in rows if row[2] == METHODS[3]]
    samples = sum(row[6].startswith("**") for row in last)
    clear = {"below": 0, "above": 0}
    for row in last:
        mean, error = (float(part.strip(" )")) for part in row[8].split("("))
        if abs(mean) > 2 * error:
            clear["below" if mean < 0 else "above"] += 1
    return (
        f"The lowest tree loss of {len(last)} comparisons (over classes for few samples per class, over "
        f"samples for all): {counts}. Taxonomy + tree loss is more than two standard errors below flat + "
        f"tree loss in {clear['below']}, above in {clear['above']}, and within two in "
        f"{len(last) - clear['below'] - clear['above']}. Over samples everywhere it is lowest in {samples}. "
        "In the paper taxonomy + tree loss is lowest both times."
    )


def _write(args: Any, rows: list[list[Any]], notes: list[str]) -> None:
    header = ["data", "per class", "method", "C / n, weight of ancestors, rescaling", "accuracy %"]
    header += ["tree loss over classes", "over samples", "less than flat 0/1", "minus flat + tree loss"]
    body = markdown(header, rows) + "\n\n" + "; ".join(notes) + ".\n\n" + _verdict(rows) + "\n\n"
    grid, coarse, weights = (", ".join(f"{v:g}" for v in part) for part in (SHARES, COARSE, ANCESTORS))
    shares = f"{coarse} (times the largest tree loss for margins of it)" if args.folds else grid
    if args.folds:
        parts = "Training and test part as they are given"
        if args.folds > 1:
            parts = f"{args.folds} random folds of the whole collection"
        body += (
            f"L1 slacks, relative gap {COARSE_TOL:g}. {parts}; {args.inner} folds of the training samples "
            f"choose (again and again until {ENOUGH:,} samples are judged; a form that is {RACE:g} standard "
            "errors behind the best of its method is given up); standard errors over samples.\n\n"
        )
    else:
        body += (
            f"L1 slacks, relative gap {TOL:g}. Half of every class of the training part chooses what is to "
            f"be chosen, on {args.trials} random draws and the samples left of that half; then come "
            f"{args.draws} draws from the other half, tested on all that is left of it and on the test part. "
            "A training set has as many samples of a rare class as of a frequent one, so the test counts "
            "classes alike too (tree loss over classes; the paper does not say how its test samples are "
            "spread). The loss over samples, in which the frequent classes prevail, stands beside it. In the "
            "last column the difference and its standard error over draws.\n\n"
        )
    body += (
        "Gaussian kernel for ImCLEF07A, linear machines for the others.\n\n"
        f"To choose from: C / n of {shares}, the weight of the attributes of ancestors of "
        f"{weights} (the class itself has 1; the paper has 1 for all), slack or margin rescaling of the tree "
        "loss (for 0/1 they are the same). Intercepts are penalised like other weights, in all methods. "
        "Taxonomies without nodes that do not branch, all leaves at one depth, as in the paper's. Words are "
        "weighed by inverse document frequency over the training part, without labels.\n\n"
        "The paper (WIPO-alpha section D, 160 classes), flat 0/1, taxonomy 0/1, flat + tree loss, taxonomy + "
        "tree loss: 4 per class, accuracy 28.32, 28.32, 27.47, 29.74, tree loss 1.36, 1.32, 1.30, 1.21; 2 "
        "per class, 20.20, 20.46, 20.20, 21.73 and 1.54, 1.51, 1.39, 1.33."
    )
    ending = ("", "_all", "_folds")[min(args.folds, 2)]
    name = "".join(c for c in args.only.lower() if c.isalnum()) + ending
    write(f"svm_isos/taxonomies{'_' * bool(name)}{name}", "Structural SVM: taxonomies (Table 1)", body)
