"""Four methods for classes of a taxonomy: how their settings are chosen, what they are tested on."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold

import trelliswork as tw
from experiments.svm_isos.taxonomy_data import Labelled
from trelliswork.losses import Tree
from trelliswork.selection import race
from trelliswork.structures.classes.taxonomy import Taxonomy

# Weight of the slack of one sample: C / n.
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
COARSE = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6)  # at full size
ANCESTORS = (1.0, 0.5, 0.25, 0.1)  # weights of ancestors
TOL = 0.0001  # relative gap: where C is small the slacks are nearly all of the objective
COARSE_TOL = 0.001  # at full size
CACHE_MB = 4000  # holds the kernel matrix of all samples
RACE = 3.0  # standard errors behind the best form of its method at which a form is given up, at full size
ENOUGH = 4000  # judged samples by which a form is chosen at full size: fewer are split again
METHODS = ("flat 0/1", "taxonomy 0/1", "flat + tree loss", "taxonomy + tree loss")
AS_PRINTED = tuple(f"{method}, weight 1" for method in (METHODS[1], METHODS[3]))  # ancestors as in the paper
ROWS = (*METHODS[:2], AS_PRINTED[0], *METHODS[2:], AS_PRINTED[1])


class Form(NamedTuple):
    """What is chosen: where the loss goes, weight of ancestors, C / n."""

    rescale: str
    ancestors: float
    share: float


def machine(method: str, data: Labelled, n: int, form: Form, tol: float) -> Any:
    """One of the four methods for ``n`` samples."""
    taxonomy = data.links if method.startswith("taxonomy") else None
    structure = tw.Classes(taxonomy, labels=sorted(set(data.y.tolist())), ancestor_weight=form.ancestors)
    loss: Any = Tree(data.links) if "tree loss" in method else "zero-one"
    return tw.StructuredSVM(
        structure,
        form.share * n,
        loss=loss,
        rescale=form.rescale,
        kernel=data.kernel,
        tol=tol,
        cache_mb=CACHE_MB,
        n_jobs=1,
        C_mode="absolute",
    )


def forms(method: str, shares: Sequence[float], height: float = 1.0) -> list[Form]:
    """All settings of a method; slack and margin rescaling are equal for 0/1.

    Margins as large as the tree loss take weights as much larger, and so a larger C: its shares are
    multiplied by ``height``. The middle of the grid comes first: of equal settings the first is chosen, and
    machines with very small or very large C are equal.
    """
    ways = ("slack", "margin") if "tree loss" in method else ("margin",)
    ancestors = ANCESTORS if method.startswith("taxonomy") else (0.0,)
    if method in AS_PRINTED:
        ancestors = (1.0,)
    middle = (len(shares) - 1) / 2
    ordered = [shares[k] for k in sorted(range(len(shares)), key=lambda k: abs(k - middle))]
    settings = []
    for way, ancestor, share in itertools.product(ways, ancestors, ordered):
        wide = len(ways) == 2 and way == "margin"
        settings.append(Form(way, ancestor, share * height if wide else share))
    return settings


def at_end(form: Form, method: str, shares: Sequence[float], height: float) -> bool:
    """Whether the first or the last share of the grid was chosen."""
    scale = height if "tree loss" in method and form.rescale == "margin" else 1.0
    return form.share in (shares[0] * scale, shares[-1] * scale)


class Judge:
    """Measures tree losses."""

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

    def weights(self, samples: np.ndarray) -> np.ndarray:
        """Factors of losses whose mean over samples is then that of :meth:`loss`."""
        place = self.judge.place[samples]
        count = np.bincount(place, minlength=self.judge.names.size)
        share = samples.size / np.count_nonzero(count) / count[place]
        return share if self.per_class else np.ones(samples.size)

    def drawn(self, pool: np.ndarray, *numbers: int) -> np.ndarray:
        """Training set: up to ``per_class`` random samples of every class."""
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
        rounds = [(a, b, self.rows(a, b)) for a, b in self.splits(trials, inner)]
        known: dict[tuple[str, Form, int], np.ndarray] = {}

        def judged(method: str, form: Form, number: int) -> np.ndarray:
            key = (method.removesuffix(", weight 1"), form, number)
            if key not in known:
                a, b, rows = rounds[number]
                known[key] = self.losses(method, form, a, rows, b) * self.weights(b)
            return known[key]

        return {
            method: race(
                forms(method, self.shares, self.height),
                range(len(rounds)),
                functools.partial(judged, method),
                limit=None if self.per_class else RACE,
            ).best
            for method in ROWS
        }

    @property
    def shares(self) -> Sequence[float]:
        """C / n to choose from."""
        return SHARES if self.per_class else COARSE

    @property
    def height(self) -> float:
        """Factor of C / n for margins of the tree loss."""
        return 1.0 if self.per_class else float(self.judge.heights.max())
