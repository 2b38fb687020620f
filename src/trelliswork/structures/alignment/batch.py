"""Packed pairs of sequences and their verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.dp.alignment.flags import LOCAL, LOGS
from trelliswork.dp.alignment.pairs import Expected, Law, Pairs
from trelliswork.structures.abilities import Factored, LossProfiles, Multinomials, PartlyKnown, Storable
from trelliswork.structures.alignment import graph, search
from trelliswork.structures.alignment.columns import Columns, gapped_texts
from trelliswork.structures.alignment.contexts import match_contexts
from trelliswork.structures.alignment.generative import generative_weights
from trelliswork.structures.alignment.sample import draw
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.contexts import Contextual, PartContexts
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.factors import Factors, RuleFactors
from trelliswork.structures.known import joined_known

if TYPE_CHECKING:
    from trelliswork.structures.alignment.space import AlignmentSpace
    from trelliswork.structures.limits import AlignmentLimits

__all__ = ["AlignmentBatch", "Law"]

_LARGEST = 300.0  # scores beyond are summed as logarithms
_CHECKPOINTS = 24.0  # bytes of a cell of the rows that a search keeps where it does not keep all choices
_BYTES = {"expect": (72, 24), "tangent": (88, 40)}  # of a cell of a block of rows, and of those between


class AlignmentBatch(Storable, LossProfiles, Factored, Multinomials, Contextual, PartlyKnown):
    """Packed pairs of sequences.

    Part arrays: ``feature`` (n_features,), or (n_samples, n_features) for weights or values per sample;
    ``miss`` (residues of all first sequences,), for residues that are not matched with their partner in
    the true alignment; ``cell`` (sum of n1 * n2,), for the matches of single cells, row by row. Codes of
    an output are its columns: 0 match, 1 deletion, 2 insertion, and in local alignments 3 and 4 for the
    residues of the first and second sequence that are left out.

    Parameters
    ----------
    space : AlignmentSpace
        The alphabet.
    first, second : Ragged of int32
        Codes of the symbols.
    inputs : list of pairs
        The sequences as they were given.
    of_pair : ndarray of shape (K, K)
        Feature of the match of two symbols, or -1.
    gold : Ragged or None
        Columns of the true alignments.
    n_jobs : int or None
        Threads.
    """

    shared_parts: ClassVar[Mapping[str, int]] = {"feature": 1}
    indicates_all: ClassVar[bool] = False  # but for the posteriors of cells

    space: AlignmentSpace

    def __init__(
        self,
        space: AlignmentSpace,
        first: Ragged,
        second: Ragged,
        inputs: list[Any],
        of_pair: np.ndarray,
        gold: Ragged | None,
        n_jobs: int | None,
    ):
        super().__init__(space, gold, n_jobs)
        self.first, self.second = first, second
        self.inputs = inputs
        self.of_pair = of_pair
        self.cell_ptr = offsets_of(first.lengths * second.lengths)
        self._partner: np.ndarray | None = None

    def sameness(self, codes: Ragged) -> str | None:
        """Outputs that align nothing."""
        return None if (codes.values == 0).any() else "no aligned pair at all"

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def limits(self) -> AlignmentLimits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    @property
    def flags(self) -> int:
        """Mode as the recursions want it."""
        return self.space.flags

    @property
    def partner(self) -> np.ndarray:
        """Residue of the second sequence that every residue of the first is truly matched with, or -1."""
        if self._partner is None:
            self._partner = np.full(self.first.values.size, -1, dtype=np.int64)
            if self._gold is not None:
                columns = Columns.of(self, self._gold)
                self._partner[self.first.offsets[:-1][columns.owner] + columns.first] = columns.second
            for p, entry in enumerate(self.known or ()):
                for i, j in entry or ():
                    if i is not None and j is not None:
                        self._partner[self.first.offsets[p] + i] = j
        return self._partner

    def _take(self, index: np.ndarray, gold: Ragged | None) -> AlignmentBatch:
        inputs = [self.inputs[i] for i in index.tolist()]
        sequences = self.first[index], self.second[index]
        return AlignmentBatch(self.space, *sequences, inputs, self.of_pair, gold, self.n_jobs)

    # -- storing and joining ------------------------------------------------------------------

    def into(self, space: Space) -> AlignmentBatch:
        """The same pairs in a larger space."""
        gold = None if self._gold is None else [self.space.path_of(row) for row in self._gold]
        moved: AlignmentBatch = space.pack(self.inputs, gold, n_jobs=self.n_jobs)  # type: ignore[assignment]
        moved.known = self.known
        return moved

    def joined(self, other: Batch) -> AlignmentBatch:
        """Pairs of two batches."""
        assert isinstance(other, AlignmentBatch)
        batches = (self, other)
        gold = None
        if all(batch.has_gold for batch in batches):
            gold = [self.space.path_of(row) for batch in batches for row in batch.gold_codes]
        both = self.space.pack(self.inputs + other.inputs, gold, n_jobs=self.n_jobs)
        both.known = joined_known(self, other)
        return both

    def state(self) -> dict[str, Any]:
        """Sequences and alignments."""
        paths = [self.space.path_of(row) for row in self.gold_codes]
        state: dict[str, Any] = {
            "inputs": [[x if isinstance(x, str) else list(x) for x in pair] for pair in self.inputs],
            "outputs": [[path.to_cigar(), *path.start] for path in paths],
        }
        if self.known is not None:
            state["known"] = [
                None if entry is None else [list(pair) for pair in entry] for entry in self.known
            ]
        return state

    # -- linear maps ------------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Parts:
        """Part scores of a weight vector: the weights themselves."""
        return Parts(feature=np.asarray(w, dtype=np.float64), miss=None, cell=None)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Part scores of one weight vector per sample: the weights themselves."""
        return Parts(feature=np.array(W, dtype=np.float64), miss=None, cell=None)

    def pull(self, parts: Parts) -> np.ndarray:
        """Values of features, summed over samples."""
        values = parts.feature
        return values.copy() if values.ndim == 1 else values.sum(axis=0)

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Values of features, one row per sample."""
        return sp.csr_matrix(parts.feature)

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often the parts occur in given alignments."""
        columns = Columns.of(self, codes)
        sample_weight = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        d = self.space.n_features
        if each:
            place = columns.feature_owner * d + columns.feature
            value = np.bincount(place, sample_weight[columns.feature_owner], minlength=len(self) * d)
            feature = value.reshape(len(self), d).astype(np.float64)
        else:
            value = np.bincount(columns.feature, sample_weight[columns.feature_owner], minlength=d)
            feature = value.astype(np.float64)
        return Parts(feature=feature, miss=self._missed(columns, sample_weight), cell=None)

    def _missed(self, columns: Columns, weights: np.ndarray) -> np.ndarray:
        """Weight of the sample for residues that have a partner and are not matched with it."""
        out = np.repeat(weights, self.first.lengths) * (self.partner >= 0)
        row = self.first.offsets[:-1][columns.owner] + columns.first
        out[row[self.partner[row] == columns.second]] = 0.0
        return out

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given alignment per sample."""
        columns = Columns.of(self, codes)
        out = sp.coo_matrix(
            (np.ones(columns.feature.size), (columns.feature_owner, columns.feature)),
            (len(self), self.space.n_features),
        )
        return sp.csr_matrix(out)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Residues of the first sequence, and cells, of every pair."""
        return {"miss": self.first.offsets, "cell": self.cell_ptr}

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of the choices that a search keeps, and of the rows of cells that sums keep.

        Parameters
        ----------
        question : {"viterbi", "generative", "expect", "tangent"}
            What the recursions are asked for.
        costs : bool
            Whether parts have costs.
        """
        cells = self.first.lengths.astype(np.float64) * self.second.lengths
        largest = np.argsort(cells)[-n_threads(self.n_jobs) :]
        n1, n2, cells = self.first.lengths[largest], self.second.lengths[largest], cells[largest]
        traced = np.where(cells <= self.limits.lane_cells, cells, n2 * np.sqrt(_CHECKPOINTS * n1))
        if question in ("viterbi", "generative"):
            return int(traced.sum())
        per_row, per_block = _BYTES[question]
        step = np.maximum(np.minimum(np.sqrt(n1), 300_000 / np.maximum(n2, 1)), 8)  # as in ``inside.py``
        return int(np.maximum(traced, n2 * (per_row * step + per_block * n1 / step)).sum())

    def part_contexts(self) -> PartContexts:
        """Matches with the residues around them."""
        return match_contexts(self)

    def context_places(self, codes: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Cells that given alignments match."""
        columns = Columns.of(self, codes)
        owner = columns.owner
        return owner, self.cell_ptr[owner] + columns.first * self.second.lengths[owner] + columns.second

    # -- verbs ---------------------------------------------------------------------------------------

    def _law(self, scores: Parts, costs: Parts | None = None, *, sums: bool = False) -> Law:
        """Scores as the recursions want them; for ``sums`` their exponentials, unless too large."""
        total = scores if costs is None else scores + costs
        d = self.space.n_features
        feature = np.zeros(d) if total.feature is None else np.asarray(total.feature, dtype=np.float64)
        feature = np.atleast_2d(feature)
        padded = np.concatenate([feature, np.zeros((feature.shape[0], 1))], axis=1)
        tables = np.ascontiguousarray(padded[:, self.of_pair])
        gaps = np.ascontiguousarray(feature[:, self.space.of_gap])
        miss = np.zeros(self.first.values.size)
        if total.miss is not None:
            miss = np.where(self.partner >= 0, total.miss, 0.0)
            if self.flags & LOCAL:
                # Local paths take differences of sums over what they leave out, so that it must be finite.
                miss = np.maximum(miss, -graph.NEVER)
        cell = np.zeros(0) if total.cell is None else np.ascontiguousarray(total.cell, dtype=np.float64)
        flags = self.flags
        if sums:
            arrays = (tables, gaps, miss, cell)
            largest = max(float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in arrays)
            if largest > _LARGEST:
                flags |= LOGS
            else:
                tables, gaps, miss, cell = map(np.exp, arrays)
        return Law(tables, gaps, miss, cell, flags)

    def arrays(self) -> Pairs:
        """The sequences as the recursions want them."""
        sequences = self.first.values, self.first.offsets, self.second.values, self.second.offsets
        return Pairs(*sequences, self.partner, self.cell_ptr)

    def _run(self, task: Callable[[int, int], Any]) -> list[Any]:
        cells = offsets_of((self.first.lengths + 1) * (self.second.lengths + 1))
        return run(task, balanced_chunks(cells, self.limits.cells_per_chunk), n_threads(self.n_jobs))

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best alignment of every pair."""
        return self._best(scores, costs, fast=costs is None)

    def _best(self, scores: Parts, costs: Parts | None, *, fast: bool) -> Decoded:
        """Best alignments; ``fast`` lets ``precision`` decide on the arithmetic, else it is double."""
        law = self._law(scores, costs)
        codes = search.best_paths(self, law, fast)
        if law.tables.shape[0] == 1 and not law.cell.size and not law.miss.any():
            return Decoded(codes, search.path_values(self, law, codes))
        return Decoded(codes, self.evaluate(codes, scores if costs is None else scores + costs))

    def best_scores(self, scores: Parts, *, fast: bool = True) -> np.ndarray:
        """Score of the best alignment of every pair, without the alignment.

        Parameters
        ----------
        scores : Parts
            Part scores.
        fast : bool
            Whether the arithmetic may be that of ``precision``; else it is double.
        """
        return search.best_scores(self, self._law(scores), scores, fast)

    def mea(self, scores: Parts, threshold: float = 0.0) -> Decoded:
        """Alignments with the largest expected number of right pairs.

        Parameters
        ----------
        scores : Parts
            Part scores of the law of pairs.
        threshold : float
            What a pair has to be worth: pairs count their probability less this.
        """
        posterior = self.marginals(scores).cell - threshold
        limits = scores.forbidden()
        nothing = Parts(feature=np.zeros(self.space.n_features), miss=None, cell=posterior)
        return self._best(nothing, limits, fast=False)

    def factors(self) -> Factors:
        """One factor per cell and state; its values are the moves."""
        return RuleFactors((graph.edge_features(self, i) for i in range(len(self))), self.space.n_features)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best alignments of each pair; that of :meth:`argmax` is first among equals."""
        graph.check_sizes(self)
        law, best = self._law(scores, costs), self.argmax(scores, costs)

        def task(a: int, b: int) -> list[Decoded]:
            return [graph.kbest(self, law, i, k, best.codes[i], float(best.values[i])) for i in range(a, b)]

        return [decoded for chunk in self._run(task) for decoded in chunk]

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all alignments."""
        from trelliswork.dp.alignment import inside

        pairs, law, out = self.arrays(), self._law(scores, costs, sums=True), np.empty(len(self))
        self._run(lambda a, b: inside.log_partition(pairs, law, a, b, out))
        return out

    def _sums(
        self, law: Law, weights: np.ndarray | None, each: bool, cells: bool, direction: Law | None = None
    ) -> tuple[np.ndarray, Parts]:
        """Log partitions and marginals, or the derivative of the marginals along a direction."""
        from trelliswork.dp.alignment import inside

        pairs, n = self.arrays(), len(self)
        if cells and self.cell_ptr[-1] > self.limits.posterior_cells:
            size = self.cell_ptr[-1] * 8 / 2**30
            raise InputError(f"the posteriors of all cells take {size:,.0f} GiB; ask for fewer pairs at once")
        sample_weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        log_z, missed = np.empty(n), np.zeros(self.first.values.size)
        posterior = np.empty(self.cell_ptr[-1] if cells else 0)
        k, to_features = self.of_pair.shape[0], self._to_features()

        def part(a: int, b: int) -> np.ndarray:
            rows = b - a if each else 1
            counts, gaps = np.zeros((rows, k, k)), np.zeros((rows, 2))
            expected = Expected(counts, gaps, missed, posterior)
            if direction is None:
                inside.marginals(pairs, law, a, b, sample_weight, each, log_z, expected)
            else:
                inside.tangent(pairs, law, direction, a, b, sample_weight, each, expected)
            feature = (to_features.T @ counts.reshape(rows, -1).T).T
            feature[:, self.space.of_gap[0]] += gaps[:, 0]
            feature[:, self.space.of_gap[1]] += gaps[:, 1]
            return feature

        def task(a: int, b: int) -> np.ndarray:
            if not each:
                return part(a, b)
            # Pairs whose tables of counts are held at a time.
            width = max(1, self.limits.count_entries // max(k * k, 1))
            return np.concatenate([part(c, min(c + width, b)) for c in range(a, b, width)])

        chunks = self._run(task)
        if each:
            feature = np.concatenate([np.zeros((0, self.space.n_features)), *chunks])
        else:
            feature = np.zeros(self.space.n_features)
            for rows in chunks:
                feature += rows[0]
        return log_z, Parts(feature=feature, miss=missed, cell=posterior if cells else None)

    def _to_features(self) -> sp.csr_matrix:
        """Matrix from pairs of symbols to features."""
        flat = self.of_pair.ravel()
        known = np.flatnonzero(flat >= 0)
        shape = (flat.size, self.space.n_features)
        return sp.csr_matrix((np.ones(known.size), (known, flat[known])), shape)

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected use of all parts (times the weight of the sample)."""
        return self._sums(self._law(scores, costs, sums=True), weights, each, True)[1]

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, without the posteriors of cells."""
        log_z, parts = self._sums(self._law(self.scores(w), costs, sums=True), weights, False, False)
        return log_z, parts.feature

    @property
    def open_samples(self) -> np.ndarray:
        """All samples, if only the pairs of two capitals are known; else those that say so."""
        return np.arange(len(self)) if self.space.structure.core == "upper" else super().open_samples

    def _forbidden(self) -> Parts:
        miss = np.zeros(self.first.values.size)
        if self.space.structure.core == "upper" and self._gold is not None:
            miss[(self.partner >= 0) & self._upper_pairs()] = -np.inf
        cell = None
        for p, entry in enumerate(self.known or ()):
            if entry is None:
                continue
            start = int(self.first.offsets[p])
            miss[start : int(self.first.offsets[p + 1])] = 0.0
            for i, j in entry:
                if i is not None and j is not None:
                    miss[start + i] = -np.inf
                    continue
                cell = np.zeros(self.cell_ptr[-1]) if cell is None else cell
                shape = int(self.first.lengths[p]), int(self.second.lengths[p])
                plane = cell[self.cell_ptr[p] : self.cell_ptr[p + 1]].reshape(shape)
                plane[slice(None) if i is None else i, slice(None) if j is None else j] = -np.inf
        return Parts(feature=None, miss=miss, cell=cell)

    def _replace_gold(self, codes: Ragged) -> None:
        super()._replace_gold(codes)
        self._partner = None

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction in part scores."""
        law = self._law(scores, costs, sums=True)
        return self._sums(law, weights, each, True, self._law(direction))[1]

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent alignments from the Gibbs law of the scores."""
        law, seed = self._law(scores, sums=True), int(rng.integers(0, 2**31))
        pieces = self._run(lambda a, b: [draw(self, law, p, n, seed) for p in range(a, b)])
        drawn = [piece for chunk in pieces for piece in chunk]
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(lengths for _, lengths in drawn)])
        values = np.concatenate([np.zeros(0, dtype=np.int64), *(codes for codes, _ in drawn)])
        draws = Ragged(values, offsets_of(lengths))  # row i * n + r is draw r of sample i
        return [draws[np.arange(len(self)) * n + r] for r in range(n)]

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs, shape (n_samples, max_loss + 1)."""
        graph.check_sizes(self)
        law, cost = self._law(scores), self._law(costs)

        def task(a: int, b: int) -> list[np.ndarray]:
            return [graph.loss_profile(self, law, cost, i, max_loss) for i in range(a, b)]

        rows = [row for chunk in self._run(task) for row in chunk]
        return np.concatenate([np.zeros((0, max_loss + 1)), *rows])

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best alignment of every pair among those with the given total cost."""
        graph.check_sizes(self)
        law, cost = self._law(scores), self._law(costs)

        def task(a: int, b: int) -> list[tuple[np.ndarray, float]]:
            return [graph.argmax_at_loss(self, law, cost, i, int(losses[i])) for i in range(a, b)]

        best = [pair for chunk in self._run(task) for pair in chunk]
        codes = Ragged.from_list([codes for codes, _ in best], np.int64)
        return Decoded(codes, np.array([value for _, value in best]))

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        from trelliswork.structures.alignment.moments import AlignmentCovariance

        return AlignmentCovariance(self, scores, weights, about)

    def count(self) -> list[int]:
        """Exact number of alignments of every pair."""
        graph.check_sizes(self)
        return [graph.count(self, i) for i in range(len(self))]

    # -- outputs ------------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given alignments; -inf where a code sequence is none of this mode."""
        columns = Columns.of(self, codes)
        n, feature = len(self), scores.feature
        if feature is None:
            out = np.zeros(n)
        else:
            entries = columns.feature if feature.ndim == 1 else (columns.feature_owner, columns.feature)
            out = np.bincount(columns.feature_owner, feature[entries], minlength=n).astype(np.float64)
        if scores.miss is not None:
            missed = np.where(self._missed(columns, np.ones(n)) > 0, scores.miss, 0.0)
            out = out + np.bincount(np.repeat(np.arange(n), self.first.lengths), missed, minlength=n)
        if scores.cell is not None:
            place = self.cell_ptr[columns.owner] + columns.first * self.second.lengths[columns.owner]
            out = out + np.bincount(columns.owner, scores.cell[place + columns.second], minlength=n)
        return out

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to alignments; row ``i`` belongs to sample ``i``."""
        if len(codes) != len(self):
            raise ValueError(f"{len(codes)} outputs for {len(self)} samples; see unpack_sample")
        gap = self.space.structure.gap
        if self.space.structure.output == "strings" and len(gap) == 1:
            texts = [[pair[side] for pair in self.inputs] for side in (0, 1)]
            if all(isinstance(x, str) for side in texts for x in side):
                return gapped_texts(texts[0], texts[1], codes, gap)
        return [self._output(i, row) for i, row in enumerate(codes)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several alignments of sample ``i``."""
        return [self._output(i, row) for row in codes]

    def _output(self, i: int, row: np.ndarray) -> Any:
        return self.space.shown(self.inputs[i], self.space.path_of(row))

    def unpack_marginals(self, parts: Parts) -> list[dict[str, np.ndarray]]:
        """Per pair the posteriors: ``match`` (n1, n2), and ``first``, ``second`` of having no partner."""
        out = []
        for i, (n1, n2) in enumerate(zip(self.first.lengths, self.second.lengths, strict=True)):
            match = parts.cell[self.cell_ptr[i] : self.cell_ptr[i + 1]].reshape(n1, n2).clip(0.0, 1.0)
            alone = [(1.0 - match.sum(axis=axis)).clip(0.0, 1.0) for axis in (1, 0)]
            out.append({"match": match, "first": alone[0], "second": alone[1]})
        return out

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the first symbol) for every true pair that is missed.

        With ``core="upper"`` pairs with a lower-case letter are free.
        """
        counts = self.partner >= 0
        cost = counts.astype(np.float64)
        if self.space.structure.core == "upper":
            cost *= self._upper_pairs()
        if label_weight is not None:
            symbols = (symbol for pair in self.inputs for symbol in pair[0])
            cost *= np.array([float(label_weight.get(symbol, 1.0)) for symbol in symbols])
        costs, constant = Parts(feature=None, miss=cost, cell=None), np.zeros(len(self))
        return (costs, constant) if self.known is None else self.known_costs(costs, constant)

    def gold_sizes(self) -> np.ndarray:
        """Number of true pairs that count; with ``core="upper"`` those of two capitals."""
        counted = self.mismatch()[0]  # 0 or 1
        return self.dot_each(counted, counted).astype(np.int64)

    def items(self, codes: Ragged) -> list[list[tuple[int, int]]]:
        """Pairs of residues that given alignments match; with ``core="upper"`` those of two capitals."""
        columns = Columns.of(self, codes)
        out: list[list[tuple[int, int]]] = [[] for _ in range(len(self))]
        core = self.space.structure.core == "upper"
        for p, i, j in zip(
            columns.owner.tolist(), columns.first.tolist(), columns.second.tolist(), strict=True
        ):
            first, second = self.inputs[p]
            if not core or (str(first[i]).isupper() and str(second[j]).isupper()):
                out[p].append((i, j))
        return out

    def _upper_pairs(self) -> np.ndarray:
        """Whether a residue of a first sequence and its partner are upper-case letters."""
        upper = [
            np.array([str(s).isupper() for pair in self.inputs for s in pair[side]], bool) for side in (0, 1)
        ]
        place = np.repeat(self.second.offsets[:-1], self.first.lengths) + np.maximum(self.partner, 0)
        matched = self.partner >= 0
        out = np.zeros(matched.size, dtype=bool)
        out[matched] = upper[0][matched] & upper[1][place[matched]]
        return out

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Log-odds of pairs of symbols in true alignments, and gap weights found by search."""
        return generative_weights(self, smoothing, weights)

    def multinomials(self) -> dict[str, np.ndarray]:
        """``"pair"``: which symbols match, given that two do; gaps are no choice of the generative model."""
        return {"pair": np.arange(int(self.space.of_gap.min()))}
