"""Packed sequences with candidates and their verbs, made of those of alignments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork.structures.abilities import LossProfiles, Multinomials, Storable
from trelliswork.structures.alignment.batch import AlignmentBatch
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.derivations.graph import integer_costs

if TYPE_CHECKING:
    from trelliswork.structures.alignment.retrieval import RetrievalSpace

__all__ = ["RetrievalBatch"]


class RetrievalBatch(Storable, LossProfiles, Multinomials):
    """Packed sequences with candidates.

    Part arrays: ``feature`` (n_features,) or (n_samples, n_features), as for alignments, and ``choice``
    (candidates of all samples,). Codes of an output are the number of its candidate, then the columns of
    the alignment.

    Parameters
    ----------
    space : RetrievalSpace
        The alphabet.
    pairs : AlignmentBatch
        All sequences with all their candidates, without true alignments.
    offsets : ndarray
        Where the pairs of each sample start.
    inputs : list
        The inputs.
    gold : Ragged or None
        Codes of the true outputs.
    n_jobs : int or None
        Threads.
    """

    shared_parts: ClassVar[Mapping[str, int]] = {"feature": 1}
    indicates_all: ClassVar[bool] = False  # but for the posteriors of cells

    space: RetrievalSpace

    def __init__(
        self,
        space: RetrievalSpace,
        pairs: AlignmentBatch,
        offsets: np.ndarray,
        inputs: list[Any],
        gold: Ragged | None,
        n_jobs: int | None,
    ):
        super().__init__(space, gold, n_jobs)
        self.pairs = pairs
        self.offsets = offsets
        self.owner = np.repeat(np.arange(len(inputs)), np.diff(offsets))
        self.inputs = inputs

    @property
    def quick_profile(self) -> bool:
        """Every candidate is scored anyway."""
        return True

    def __len__(self) -> int:
        return len(self.inputs)

    def _take(self, index: np.ndarray, gold: Ragged | None) -> RetrievalBatch:
        pairs = self.pairs.subset(gather_ranges(self.offsets, index))
        offsets = offsets_of(np.diff(self.offsets)[index])
        inputs = [self.inputs[i] for i in index.tolist()]
        return RetrievalBatch(self.space, pairs, offsets, inputs, gold, self.n_jobs)

    def into(self, space: Space) -> RetrievalBatch:
        """The same samples in a larger space."""
        gold = self._outputs(self.gold_codes) if self.has_gold else None
        return space.pack(self.inputs, gold, n_jobs=self.n_jobs)  # type: ignore[return-value]

    def joined(self, other: Batch) -> RetrievalBatch:
        """Samples of two batches."""
        assert isinstance(other, RetrievalBatch)
        gold = None
        if self.has_gold and other.has_gold:
            gold = self._outputs(self.gold_codes) + other._outputs(other.gold_codes)
        return self.space.pack(self.inputs + other.inputs, gold, n_jobs=self.n_jobs)

    def _outputs(self, codes: Ragged) -> list[tuple[int, Any]]:
        return [(int(row[0]), self.space.inner.path_of(row[1:])) for row in codes]

    def state(self) -> dict[str, Any]:
        """Sequences, candidates and true alignments."""

        def plain(x: Any) -> Any:
            return x if isinstance(x, str) else list(x)

        return {
            "inputs": [[plain(x), [plain(z) for z in candidates]] for x, candidates in self.inputs],
            "outputs": [[t, path.to_cigar(), *path.start] for t, path in self._outputs(self.gold_codes)],
        }

    # -- linear maps --------------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Parts:
        """Part scores of a weight vector: the weights themselves."""
        return Parts(feature=np.asarray(w, dtype=np.float64), choice=None)

    def pull(self, parts: Parts) -> np.ndarray:
        """Values of features, summed over samples."""
        return parts.feature.copy() if parts.feature.ndim == 1 else parts.feature.sum(axis=0)

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Values of features, one row per sample."""
        return sp.csr_matrix(parts.feature)

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given output per sample."""
        chosen = self._chosen(codes)
        return self.pairs.subset(chosen).features(self._columns(codes))

    def _chosen(self, codes: Ragged) -> np.ndarray:
        """Pairs of given outputs."""
        return self.offsets[:-1] + codes.values[codes.offsets[:-1]]

    def _columns(self, codes: Ragged) -> Ragged:
        """Columns of given outputs."""
        keep = np.ones(codes.values.size, dtype=bool)
        keep[codes.offsets[:-1]] = False
        return Ragged(codes.values[keep], codes.offsets - np.arange(len(codes) + 1))

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often the parts occur in given outputs."""
        sample_weight = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        feature = self.features(codes).toarray() * sample_weight[:, None]
        choice = np.zeros(self.owner.size)
        choice[self._chosen(codes)] = sample_weight
        return Parts(feature=feature if each else feature.sum(axis=0), choice=choice)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Candidates of every sample."""
        return {"choice": self.offsets}

    # -- verbs -----------------------------------------------------------------------------------------

    def _law(self, scores: Parts, costs: Parts | None) -> tuple[Parts, np.ndarray]:
        """Part scores of the pairs, and scores of the candidates."""
        total = scores if costs is None else scores + costs
        feature = np.zeros(self.space.n_features) if total.feature is None else total.feature
        if feature.ndim == 2:
            feature = feature[self.owner]
        choice = np.zeros(self.owner.size) if total.choice is None else total.choice
        return Parts(feature=feature, miss=None, cell=None), choice

    def _best(self, values: np.ndarray) -> np.ndarray:
        """Pair with the largest value of every sample, the first of equals."""
        top = np.maximum.reduceat(values, self.offsets[:-1]) if len(self) else values
        first = np.full(len(self), values.size)
        hit = np.flatnonzero(values == top[self.owner])
        np.minimum.at(first, self.owner[hit], hit)
        return first

    def _coded(self, chosen: np.ndarray, rows: Any) -> Ragged:
        numbers = chosen - self.offsets[:-1]
        return Ragged.from_list([np.append(number, rows[i]) for i, number in enumerate(numbers)], np.int64)

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best candidate of every sample and its alignment."""
        return self._searched(*self._law(scores, costs), fast=costs is None)

    def _searched(self, law: Parts, choice: np.ndarray, *, fast: bool) -> Decoded:
        """Best outputs; ``fast`` allows less than double precision, which training must not use."""
        chosen = self._best(self.pairs.best_scores(law, fast=fast) + choice)
        part = self.pairs.subset(chosen)
        chosen_law = (
            law if law.feature.ndim == 1 else Parts(feature=law.feature[chosen], miss=None, cell=None)
        )
        aligned = part.argmax(chosen_law, None if fast else Parts(feature=None, miss=None, cell=None))
        return Decoded(self._coded(chosen, aligned.codes), aligned.values + choice[chosen])

    def mea(self, scores: Parts) -> Decoded:
        """Most probable candidate of every sample, aligned for most right pairs; values are probabilities."""
        law, choice = self._law(scores, None)
        p = self._softmax(self.pairs.log_partition(law) + choice)[1]
        if np.isnan(p).any():
            sample = int(self.owner[np.isnan(p)][0])
            raise InputError("the weights leave no possible alignment", sample=sample)
        chosen = self._best(p)
        chosen_law = (
            law if law.feature.ndim == 1 else Parts(feature=law.feature[chosen], miss=None, cell=None)
        )
        return Decoded(self._coded(chosen, self.pairs.subset(chosen).mea(chosen_law).codes), p[chosen])

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best outputs of each sample."""
        law, choice = self._law(scores, costs)
        lists = self.pairs.kbest(law, k)
        best = []
        for first, last in itertools.pairwise(self.offsets.tolist()):
            ranked = [
                (value + choice[p], p, row)
                for p in range(first, last)
                for value, row in zip(lists[p].values, lists[p].codes, strict=True)
            ]
            ranked.sort(key=lambda item: -item[0])
            rows = [np.append(p - first, row) for _, p, row in ranked[:k]]
            best.append(Decoded(Ragged.from_list(rows, np.int64), np.array([v for v, _, _ in ranked[:k]])))
        return best

    def _softmax(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log of the sum over the candidates of each sample, and their probabilities."""
        if not len(self):
            return np.zeros(0), values
        top = np.maximum.reduceat(values, self.offsets[:-1])
        p = np.exp(values - top[self.owner])
        total = np.add.reduceat(p, self.offsets[:-1])
        return top + np.log(total), p / total[self.owner]

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all alignments with all candidates."""
        law, choice = self._law(scores, costs)
        return self._softmax(self.pairs.log_partition(law) + choice)[0]

    def _expectations(
        self, scores: Parts, costs: Parts | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Parts]:
        """Log partitions, probabilities of candidates, mean features of pairs, scores of pairs."""
        law, choice = self._law(scores, costs)
        log_z, parts = self.pairs._sums(self.pairs._law(law, sums=True), None, True, False)
        total, p = self._softmax(log_z + choice)
        return total, p, parts.feature, law

    def _summed(self, rows: np.ndarray, weights: np.ndarray | None, each: bool) -> np.ndarray:
        """Rows of pairs, summed per sample (``each``) or over all samples, times a weight per sample."""
        if weights is not None:
            rows = rows * np.asarray(weights)[self.owner][:, None]
        if not each:
            return rows.sum(axis=0)
        return np.add.reduceat(rows, self.offsets[:-1], axis=0) if len(self) else rows

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected features, and probabilities of the candidates."""
        _, p, mean, _ = self._expectations(scores, costs)
        choice = p if weights is None else p * np.asarray(weights)[self.owner]
        return Parts(feature=self._summed(mean * p[:, None], weights, each), choice=choice)

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction."""
        _, p, mean, law = self._expectations(scores, costs)
        along, by_choice = self._law(direction, None)
        inner = self.pairs
        moved = inner._sums(inner._law(law, sums=True), None, True, False, inner._law(along))[1].feature
        slope = (mean * along.feature).sum(axis=1) + by_choice
        slope -= np.bincount(self.owner, p * slope, minlength=len(self))[self.owner]
        feature = (moved + mean * slope[:, None]) * p[:, None]
        choice = p * slope if weights is None else p * slope * np.asarray(weights)[self.owner]
        return Parts(feature=self._summed(feature, weights, each), choice=choice)

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent outputs from the Gibbs law of the scores."""
        law, choice = self._law(scores, None)
        _, p = self._softmax(self.pairs.log_partition(law) + choice)
        below = np.cumsum(p)
        below = below - np.concatenate([[0.0], below])[self.offsets[:-1]][self.owner]
        out = []
        for codes in self.pairs.sample(law, n, rng):
            u = rng.random(len(self))
            passed = np.bincount(self.owner, below <= u[self.owner], minlength=len(self)).astype(np.int64)
            chosen = self.offsets[:-1] + np.minimum(passed, np.diff(self.offsets) - 1)
            out.append(self._coded(chosen, [codes[int(q)] for q in chosen]))
        return out

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every integer cost of candidates."""
        law, choice = self._law(scores, None)
        cost = integer_costs(self._law(costs, None)[1])
        values = self.pairs.best_scores(law, fast=False) + choice
        profile = np.full((len(self), max_loss + 1), -np.inf)
        inside = np.flatnonzero(cost <= max_loss)
        np.maximum.at(profile, (self.owner[inside], cost[inside]), values[inside])
        return profile

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best output of every sample among the candidates with the given cost."""
        law, choice = self._law(scores, None)
        cost = integer_costs(self._law(costs, None)[1])
        losses = np.asarray(losses)
        other = np.where(cost == losses[self.owner], choice, -np.inf)
        best = np.maximum.reduceat(other, self.offsets[:-1]) if len(self) else other
        if np.any(best == -np.inf):
            i = int(np.flatnonzero(best == -np.inf)[0])
            raise InputError(f"no output has loss {losses[i]}", sample=i)
        return self._searched(law, other, fast=False)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        return _RetrievalCovariance(self, scores, weights, about)

    # -- outputs --------------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given outputs."""
        chosen = self._chosen(codes)
        law, choice = self._law(scores, None)
        chosen_law = (
            law if law.feature.ndim == 1 else Parts(feature=law.feature[chosen], miss=None, cell=None)
        )
        return self.pairs.subset(chosen).evaluate(self._columns(codes), chosen_law) + choice[chosen]

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to (candidate, alignment)."""
        if len(codes) != len(self):
            raise ValueError(f"{len(codes)} outputs for {len(self)} samples; see unpack_sample")
        shown = self.pairs.subset(self._chosen(codes)).unpack(self._columns(codes))
        return [(int(row[0]), output) for row, output in zip(codes, shown, strict=True)]

    def unpack_marginals(self, parts: Parts) -> list[np.ndarray]:
        """Probabilities of the candidates of every sample."""
        return [parts.choice[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 for every candidate but the right one."""
        cost = np.ones(self.owner.size)
        cost[self._chosen(self.gold_codes)] = 0.0
        return Parts(feature=None, choice=cost), np.zeros(len(self))

    def gold_sizes(self) -> np.ndarray:
        """1: what can be wrong is the candidate."""
        return np.ones(len(self), dtype=np.int64)

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Those of the true alignments with the right candidates."""
        inner = self.derived(_true_pairs, space=self.space.inner)
        return inner.generative_weights(smoothing, weights)

    def multinomials(self) -> dict[str, np.ndarray]:
        """``"pair"``: which symbols match in the right alignment; the candidates are given, no outcomes."""
        return self.pairs.multinomials()


def _true_pairs(batch: RetrievalBatch) -> Batch:
    """The right candidates with their alignments."""
    true = batch.pairs.subset(batch._chosen(batch.gold_codes))
    paths = [batch.space.inner.path_of(row) for row in batch._columns(batch.gold_codes)]
    return batch.space.inner.pack(true.inputs, paths, n_jobs=batch.n_jobs)


class _RetrievalCovariance(Covariance):
    """Within candidates and between them."""

    batch: RetrievalBatch

    def _covariance(self) -> np.ndarray:
        batch = self.batch
        _, p, mean, law = batch._expectations(self.law, None)
        share = p if self.weights is None else p * self.weights[batch.owner]
        centred = mean - batch._summed(mean * p[:, None], None, True)[batch.owner]
        inner = batch.pairs.covariance(law, share).dense()
        return inner + (centred.T * share) @ centred
