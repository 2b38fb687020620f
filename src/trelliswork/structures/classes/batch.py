"""Packed rows with one label each, and their verbs."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork._stored import fitting, whole
from trelliswork._threads import n_threads
from trelliswork.structures.abilities import (
    Factored,
    Labelled,
    LossProfiles,
    Multinomials,
    PartlyKnown,
    ReferenceLaw,
    Rows,
    RowView,
    Storable,
)
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.derivations.graph import integer_costs
from trelliswork.structures.known import (
    grown_masks,
    joined_known,
    least_costs,
    mask_state,
    restored_masks,
)
from trelliswork.structures.labels import same_label
from trelliswork.structures.normal import holds_measurements, normal_law_of
from trelliswork.structures.scaling import Scalable, rescaled
from trelliswork.structures.spread import Spread
from trelliswork.structures.tokens import TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.classes.space import ClassesSpace
    from trelliswork.structures.factors import Factors
    from trelliswork.structures.limits import ClassesLimits

__all__ = ["ClassesBatch", "single_labels"]

_STORED = {"gold": whole("samples", high="labels")}


class ClassesBatch(
    Storable, LossProfiles, Factored, Multinomials, ReferenceLaw, Rows, Labelled, PartlyKnown, Scalable
):
    """Packed rows.

    Part array: ``label`` (n_samples, n_labels). The code of an output is its label.

    Parameters
    ----------
    space : ClassesSpace
        Classes and attributes.
    emission : TokenMap
        Features of the rows.
    gold : Ragged or None
        Codes of the true classes.
    n_jobs : int or None
        Threads.
    """

    one_label: ClassVar[bool] = True
    fixed_length: ClassVar[bool] = True

    space: ClassesSpace

    def __init__(self, space: ClassesSpace, emission: TokenMap, gold: Ragged | None, n_jobs: int | None):
        super().__init__(space, gold, n_jobs)
        self.emission = emission

    def sameness(self, codes: Ragged) -> str | None:
        """Outputs that are all the same class."""
        return same_label(codes, self.space.labels, "sample")

    def cautions(self, names: Sequence[str] | None = None) -> list[str]:
        """A column that dwarfs the others.

        Parameters
        ----------
        names : sequence of str or None
            Names of the columns, where they have any.
        """
        attributes = self.space.attributes[: self.space.n_weighed]
        return self.emission.cautions(attributes if names is None else [names[int(a)] for a in attributes])

    def __len__(self) -> int:
        return self.emission.n_tokens

    def _take(self, index: np.ndarray, gold: Ragged | None) -> ClassesBatch:
        return ClassesBatch(self.space, self.emission.subset(index), gold, self.n_jobs)

    def columns(self, weights: np.ndarray | None) -> tuple[TokenMap, np.ndarray | None]:
        """Features as they came, and weights of rows."""
        return rescaled(self.emission, self.space.scaling, None), weights

    def rescaled(self, space: Any) -> ClassesBatch:
        """The same rows on another scale."""
        emission = rescaled(self.emission, self.space.scaling, space.scaling)
        scaled = ClassesBatch(space, emission, self._gold, self.n_jobs)
        scaled.known = self.known
        return scaled

    def labelled_rows(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows, their true classes and their weights."""
        return self.emission.dense_rows(len(self.space.attributes)), self.gold_codes.values, weights

    @property
    def limits(self) -> ClassesLimits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    # -- storing and joining ----------------------------------------------------------------

    def into(self, space: Space) -> ClassesBatch:
        """The same rows with the numbering of a larger space."""
        new, old = cast("ClassesSpace", space), self.space
        place = {label: i for i, label in enumerate(new.labels)}
        codes = np.array([place[label] for label in old.labels], dtype=np.int64)
        names = np.array([new.columns[a] for a in old.attributes], dtype=np.int64)
        target = np.append(names, len(new.attributes))  # the bias stays last
        was = None if old.scaling is None else old.scaling.at(names, len(new.attributes))
        emission = rescaled(self.emission.renumbered(new.layout, target), was, new.scaling)
        gold = single_labels(codes[self.gold_codes.values]) if self.has_gold else None
        moved = ClassesBatch(new, emission, gold, self.n_jobs)
        moved.known = grown_masks(self.known, codes, new.n_labels)
        return moved

    def joined(self, other: Batch) -> ClassesBatch:
        """Rows of two batches."""
        assert isinstance(other, ClassesBatch)
        gold = None
        if self.has_gold and other.has_gold:
            gold = single_labels(np.concatenate([self.gold_codes.values, other.gold_codes.values]))
        both = ClassesBatch(self.space, self.emission.joined(other.emission), gold, self.n_jobs)
        both.known = joined_known(self, other)
        return both

    def state(self) -> dict[str, Any]:
        """Distinct rows, rows of samples, classes."""
        return {"emission": self.emission.state(), "gold": self.gold_codes.values} | mask_state(self)

    @classmethod
    def restored(cls, space: ClassesSpace, state: Mapping[str, Any], n_jobs: int | None) -> ClassesBatch:
        """Inverse of :meth:`state`; a file is not trusted, so everything is checked."""
        gold = fitting(state, _STORED, "classes", labels=space.n_labels)["gold"]
        emission = TokenMap.restored(state["emission"], space.layout, gold.size, len(space.attributes))
        batch = cls(space, emission, single_labels(gold), n_jobs)
        masks = restored_masks(state, np.ones(gold.size, dtype=np.int64), space.n_labels)
        batch.known = None if masks is None else [None if mask is None else mask[0] for mask in masks]
        return batch

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Parts:
        """Class scores of a weight vector."""
        by_node = self.emission.scores(
            np.asarray(w, dtype=np.float64), n_threads(self.n_jobs), self.limits.rows_per_chunk
        )
        return Parts(label=by_node if self.space.is_flat else by_node @ self.space.above.T)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Class scores of one weight vector per sample; of choices all at once."""
        if not self.space.choices:
            return super().scores_each(W)
        by_node = np.array(W, dtype=np.float64)
        return Parts(label=by_node if self.space.is_flat else by_node @ self.space.above.T)

    def _by_node(self, parts: Parts) -> np.ndarray:
        values = parts.label
        return values if self.space.is_flat else np.ascontiguousarray(values @ self.space.above)

    def pull(self, parts: Parts) -> np.ndarray:
        """Class values to features, summed over samples."""
        return self._pull_spread(parts).dense()

    def _pull_spread(self, parts: Parts) -> Spread:
        by_node, threads = self._by_node(parts), n_threads(self.n_jobs)
        return self.emission.pull_spread(by_node, threads, self.limits.rows_per_chunk)

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Class values to features, one row per sample."""
        return self.emission.pull_each(self._by_node(parts), np.arange(len(self) + 1))

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """One-hot rows of given classes."""
        out = np.zeros((len(self), self.space.n_labels))
        out[np.arange(len(self)), codes.values] = 1.0 if weights is None else weights
        return Parts(label=out)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """One row per sample."""
        return {"label": np.arange(len(self) + 1)}

    def factors(self) -> Factors:
        """The factor graph."""
        from trelliswork.structures.classes.factors import ClassesFactors

        return ClassesFactors(self)

    # -- verbs ---------------------------------------------------------------------------------

    def _total(self, scores: Parts, costs: Parts | None) -> np.ndarray:
        total = scores if costs is None else scores + costs
        return np.zeros((len(self), self.space.n_labels)) if total.label is None else total.label

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best class of every sample."""
        total = self._total(scores, costs)
        best = total.argmax(axis=1)
        return Decoded(single_labels(best), total[np.arange(len(self)), best])

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best classes of each sample."""
        total = self._total(scores, costs)
        order = np.argsort(-total, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(total, order, axis=1)
        n_possible = np.maximum((values > -np.inf).sum(axis=1), 1)
        return [
            Decoded(single_labels(codes[:n]), v[:n])
            for codes, v, n in zip(order, values, n_possible, strict=True)
        ]

    def _softmax(self, scores: Parts, costs: Parts | None) -> tuple[np.ndarray, np.ndarray]:
        total = self._total(scores, costs)
        top = total.max(axis=1, keepdims=True)
        p = np.exp(total - top)
        z = p.sum(axis=1, keepdims=True)
        return (top + np.log(z)).ravel(), p / z

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over classes."""
        return self._softmax(scores, costs)[0]

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Class probabilities (times the weight of the sample)."""
        p = self._softmax(scores, costs)[1]
        return Parts(label=p if weights is None else p * np.asarray(weights)[:, None])

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        log_z, p = self._softmax(self.scores(w), costs)
        return log_z, self.pull(Parts(label=p if weights is None else p * np.asarray(weights)[:, None]))

    def spread_expected(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[float, Spread]:
        """The same summed, with the features of these samples."""
        log_z, p = self._softmax(self.scores(w), costs)
        parts = Parts(label=p if weights is None else p * np.asarray(weights)[:, None])
        return float(log_z.sum() if weights is None else log_z @ weights), self._pull_spread(parts)

    def canonical(self) -> ClassesBatch:
        """The same rows, in their order."""
        same = copy.copy(self)
        same.emission = self.emission.canonical()
        return same

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the probabilities along a direction in class scores."""
        p, along = self._softmax(scores, costs)[1], self._total(direction, None)
        out = p * (along - (p * along).sum(axis=1, keepdims=True))
        return Parts(label=out if weights is None else out * np.asarray(weights)[:, None])

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent classes from the Gibbs law of the scores."""
        below = np.cumsum(self._softmax(scores, None)[1], axis=1)[:, :-1]
        return [single_labels((rng.random((len(self), 1)) > below).sum(axis=1)) for _ in range(n)]

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every integer cost, shape (n_samples, max_loss + 1)."""
        total, cost = self._total(scores, None), integer_costs(self._total(costs, None))
        profile = np.full((len(self), max_loss + 1), -np.inf)
        row, label = np.nonzero(cost <= max_loss)
        np.maximum.at(profile, (row, cost[row, label]), total[row, label])
        return profile

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best class of every sample among those with the given cost."""
        cost = integer_costs(self._total(costs, None))
        total = np.where(cost == np.asarray(losses)[:, None], self._total(scores, None), -np.inf)
        best = total.argmax(axis=1)
        values = total[np.arange(len(self)), best]
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            raise InputError(f"no output has loss {losses[bad[0]]}", sample=int(bad[0]))
        return Decoded(single_labels(best), values)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        from trelliswork.structures.classes.moments import ClassCovariance

        return ClassCovariance(self, scores, weights, about)

    # -- outputs ---------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given classes; -inf where the class is unknown."""
        known = codes.values >= 0
        values = self._total(scores, None)[np.arange(len(self)), np.where(known, codes.values, 0)]
        return np.where(known, values, -np.inf)

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to classes."""
        return [self.space.labels[c] for c in codes.values.tolist()]

    def items(self, codes: Ragged) -> list[list[Any]]:
        """Lists of one class."""
        return [[label] for label in self.unpack(codes)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several classes of one sample."""
        return self.unpack(codes)

    def norm_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Squared norms of the features of the true classes."""
        share = np.ones(len(self)) if weights is None else weights
        norms = np.asarray(self.gold().power(2).sum(axis=1)).ravel()
        return float(share @ norms), float(share.sum())

    def unpack_marginals(self, parts: Parts) -> np.ndarray:  # type: ignore[override]
        """Class probabilities, shape (n_samples, n_labels)."""
        return parts.label

    def value_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Values of the attributes where they are not 0."""
        return self.emission.value_sums(self.space.n_weighed, weights)

    @property
    def is_generative(self) -> bool:
        """Whether weights are log-probabilities: of choices, or of naive Bayes without a taxonomy."""
        return self.space.choices or (self.space.is_flat and not holds_measurements(self))

    def multinomials(self) -> dict[Any, np.ndarray]:
        """Branches from the root to the class; those of naive Bayes where attributes have weights.

        A class with several ways from the root is a single choice among all classes.
        """
        space = self.space
        numbers = np.arange(space.n_features).reshape(space.layout.n_attributes, -1)
        heads: dict[Any, np.ndarray] = {}
        if space.choices and space.taxonomy is not None and not space.taxonomy.is_tree:
            heads[("class",)] = numbers[-1, : space.n_labels]
        elif space.choices and space.taxonomy is not None:
            place = {node: column for column, node in enumerate(space.nodes)}
            for node, below in space.taxonomy.children.items():
                columns = [place[child] for child in below if child in place]
                if columns:
                    heads["below", node] = numbers[-1, columns]
        elif space.structure.bias:
            heads[("class",)] = numbers[-1]
        for column, label in enumerate(space.nodes if space.n_weighed else ()):
            heads["feature", label] = numbers[: space.n_weighed, column]
        return heads

    def choices(self) -> ClassesBatch:
        """The same samples without weights of attributes: a class is a choice, whatever the row."""
        space = self.space.as_choices()
        emission = TokenMap(space.layout, [], len(self))
        emission.mark(0, np.arange(len(self)))
        batch = ClassesBatch(space, emission, self._gold, self.n_jobs)
        batch.known = self.known
        return batch

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights of naive Bayes, or of normal classes; ancestors of a taxonomy have none.

        Counts of a class are in those of its ancestors already: to add both up would count the same words
        several times over.
        """
        if self.space.choices:
            return self.log_probabilities(smoothing, weights, counts)
        if counts is None and holds_measurements(self):
            return self.reference_weights(smoothing, weights)
        table = self.space.layout.table(self.gold_sum(weights) if counts is None else counts).copy()
        n_real, k = len(self.space.attributes), self.space.n_labels
        table[:, k:] = 0.0
        counts = table[:, :k]
        if counts.min(initial=0.0) < 0:
            raise InputError(
                "Negative values in data: Generative needs counts, the features must not be negative"
            )
        smoothed = counts[:n_real] + smoothing
        counts[:n_real] = np.log(smoothed / smoothed.sum(axis=0, keepdims=True))
        prior = counts[n_real:] + smoothing
        counts[n_real:] = np.log(prior / prior.sum(axis=1, keepdims=True))
        return table.ravel()

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of normal classes where rows are measurements, else those of naive Bayes."""
        space = self.space
        if not space.measured:
            return self.generative_weights(smoothing, weights)
        n_real, k = len(space.attributes), space.n_labels
        law = normal_law_of(self, weights)
        table = np.zeros((space.layout.n_attributes, space.layout.n_columns))
        table[:n_real, :k] = law.weights
        table[n_real, :k] = law.bias + np.log((law.counts + smoothing) / (law.counts + smoothing).sum())
        return table.ravel()

    def reference_scores(self, w: np.ndarray) -> Parts:
        """Class scores."""
        return self.scores(w)

    @property
    def reference_is_linear(self) -> bool:
        """They are those of a weight vector."""
        return True

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the true class) for every other class."""
        weight = np.ones(self.space.n_labels)
        if label_weight is not None:
            weight = np.array([float(label_weight.get(label, 1.0)) for label in self.space.labels])
        return self.label_costs(weight[:, None] * (1.0 - np.eye(self.space.n_labels)))

    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Row of the true class in a table of costs; of several that it may be, the least."""
        table = np.asarray(table, dtype=np.float64)
        label = table[self.gold_codes.values]
        for i in self.open_samples:
            label[i] = least_costs(table, self.known[i][None])[0]  # type: ignore[index]
        return Parts(label=label), np.zeros(len(self))

    # -- classes that are known in part ----------------------------------------------------------

    def sure_labels(self) -> np.ndarray:
        """Samples with one possible class."""
        sure = np.ones(len(self), dtype=bool)
        sure[self.open_samples] = False
        return sure

    def _forbidden(self) -> Parts:
        label = np.zeros((len(self), self.space.n_labels))
        for i in self.open_samples:
            label[i, ~self.known[i]] = -np.inf  # type: ignore[index]
        return Parts(label=label)

    def row_view(self) -> RowView:
        """The same samples with one attribute per distinct row."""
        from trelliswork.structures.classes.space import ClassesSpace

        space = self.space
        emission, rows = self.emission.by_row(len(space.attributes))
        names = [str(i) for i in range(rows.shape[0])]
        by_row = ClassesSpace(space.structure, space.labels, names, space.taxonomy)
        view = ClassesBatch(by_row, emission, self._gold, self.n_jobs)
        view.known = self.known
        return RowView(view, rows, len(space.nodes), emission.first_tokens(rows.shape[0]))


def single_labels(codes: np.ndarray) -> Ragged:
    """Outputs that are one label each."""
    return Ragged(codes, np.arange(codes.size + 1))
