"""Packed RNA sequences whose structures are scored by their loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError, Unsupported
from trelliswork._ragged import Ragged
from trelliswork._threads import n_threads
from trelliswork.dp.rna.nearest.layout import Problem
from trelliswork.structures.base import Decoded, Parts
from trelliswork.structures.batch import Batch
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.derivations.graph import Graph, integer_costs
from trelliswork.structures.factors import Factors
from trelliswork.structures.held_out import ENOUGH, most_accurate_of
from trelliswork.structures.rna.batch import RNABatch
from trelliswork.structures.rna.factors import loop_factors
from trelliswork.structures.rna.graph import RNAGraph, check_size

if TYPE_CHECKING:
    from trelliswork.structures.rna.structure import NearestSpace

__all__ = ["NearestBatch"]

_DENSE_CELLS = 20_000  # of all sequences, up to which the matrix of second moments is cheap
_DRAWS = 50  # structures of every sequence that tell about their covariance
_STEPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # towards the log-odds of counts
_OVERLAP = 0.5  # part of what predicted shares of features say that is news
# Kinds of features that are no choices: at least so long, or so often.
_COUNTED = frozenset(
    (*(f"{loop} length" for loop in ("hairpin", "bulge", "internal", "helix")), "internal asymmetry")
    + ("internal symmetric", "multiloop", "outer", "lonely pair")
)
# Bytes per cell that the recursions take.
_BYTES = {"viterbi": 32, "generative": 56, "inside": 32, "expect": 56, "tangent": 112}


class NearestBatch(RNABatch):
    """Packed RNA sequences of the nearest-neighbour model.

    Made as :class:`RNABatch` is. Parts and codes are the same; ``rule`` holds one value per feature.
    """

    space: NearestSpace

    def listing_work(self) -> float:
        """Far too much: hundreds of loops for every pair, which the recursions never list."""
        return np.inf

    def factors(self) -> Factors:
        """One factor per pair, stretch of a multiloop and prefix; its values are the loops there."""
        return loop_factors(self)

    def loop_entries(self) -> Iterator[tuple[int, np.ndarray]]:
        """Nodes of the graph of every sequence, and the entries that its edges add up."""
        from trelliswork.dp.rna.nearest import search, viterbi

        tables = self._table(None)
        for i, seq in enumerate(self.bases):
            check_size(seq.size, self.limits.loop_graph_bases, i)
            problem, _ = self._problem(i, tables, np.zeros(0))
            node_ptr, *_, entries = search.derivation_graph(problem, viterbi.fill(problem), True)
            yield node_ptr.size - 1, entries

    # -- running the recursions --------------------------------------------------------------

    def _table(self, rule: np.ndarray | None) -> np.ndarray:
        """Scores of loops, one row for all sequences or for each."""
        if rule is None:
            return np.zeros((1, self.space.map.shape[0]))
        return np.atleast_2d((self.space.map @ np.atleast_2d(rule).T).T)

    def _arrays(self, scores: Parts, costs: Parts | None = None) -> tuple[np.ndarray, np.ndarray]:
        total = scores if costs is None else scores + costs
        return self._table(total.rule), self._positions(total)

    def _problem(self, i: int, tables: np.ndarray, pairs: np.ndarray) -> tuple[Problem, float]:
        """One sequence with its scores, and the score of the structure without pairs."""
        from trelliswork.dp.rna.nearest.lookup import absorbed, rows

        seq, structure = self.bases[i], self.space.structure
        window = self.window_of(seq.size)
        offset = rows(seq.size, window)
        forced, constant, relative = np.zeros(seq.size, dtype=bool), 0.0, pairs
        if pairs.size:
            relative = np.empty(self.pair_ptr[i + 1] - self.pair_ptr[i], dtype=pairs.dtype)
            given = pairs[self.pair_ptr[i] : self.pair_ptr[i + 1]]
            constant = absorbed(given, offset, window, relative, forced)
        table = np.ascontiguousarray(tables[i if tables.shape[0] > 1 else 0])
        limits = int(structure.min_hairpin), int(structure.max_loop), window
        problem = Problem(
            np.ascontiguousarray(seq), table, relative, forced, offset, *limits, self.space.stacked
        )
        return problem, constant

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of the tables of the longest sequences.

        Parameters
        ----------
        question : {"viterbi", "generative", "expect", "tangent"}
            What the recursions are asked for.
        costs : bool
            Whether parts have costs.
        """
        largest = np.sort(np.diff(self.pair_ptr))[-n_threads(self.n_jobs) :]
        return int(_BYTES[question] * largest.sum())

    def _check_room(self, kind: str) -> None:
        sizes = np.diff(self.pair_ptr)
        if sizes.size:
            i = int(sizes.argmax())
            self.check_memory(i, _BYTES[kind] * int(sizes[i]), "; use a window")

    def _run(self, kind: str, task: Any) -> list[Any]:
        self._check_room(kind)
        sizes = np.diff(self.pair_ptr)
        return self.run_chunks(sizes + sizes * self.bases.lengths // 64, task)

    def _each(self, kind: str, task: Any) -> list[Any]:
        """Results of ``task(i)`` for every sample."""
        chunks = self._run(kind, lambda a, b: [task(i) for i in range(a, b)])
        return [result for chunk in chunks for result in chunk]

    # -- verbs ---------------------------------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best structure of every sequence."""
        from trelliswork.dp.rna.nearest import search, viterbi

        data = self._arrays(scores, costs)
        codes, values = np.full(self.bases.values.size, -1, dtype=np.int64), np.empty(len(self))

        def task(i: int) -> None:
            problem, constant = self._problem(i, *data)
            chart = viterbi.fill(problem)
            values[i] = chart.X[-1] + constant
            if values[i] > -np.inf:
                search.trace(problem, chart, codes[self.bases.offsets[i] : self.bases.offsets[i + 1]])

        self._each("viterbi", task)
        return Decoded(Ragged(codes, self.bases.offsets), values)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best structures of each sequence."""
        from trelliswork.dp.rna.nearest import search, viterbi

        data = self._arrays(scores, costs)

        def task(i: int) -> Decoded:
            problem, constant = self._problem(i, *data)
            n = problem.seq.size
            partners, totals = np.empty((k, n), dtype=np.int64), np.empty(k)
            count = search.kbest(problem, viterbi.fill(problem), k, partners, totals)
            return Decoded(
                Ragged(partners[:count].ravel(), np.arange(count + 1) * n), totals[:count] + constant
            )

        return self._each("viterbi", task)

    def sums_hold(self, scores: Parts) -> bool:
        """Always: sums of scores of any range are taken in logarithms."""
        return True

    def _expect(
        self,
        goal: str,
        scores: Parts,
        costs: Parts | None = None,
        *,
        direction: Parts | None = None,
        pairs: bool = False,
        rules: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from trelliswork.structures.rna.sums import sums

        data = self._arrays(scores, costs)
        along = None if direction is None else (self._table(direction.rule), direction.pair)
        wanted = {"counts": rules and goal != "inside", "probs": pairs}
        probs = np.empty(self.pair_ptr[-1] if pairs else 0)

        def task(i: int) -> tuple[float, np.ndarray]:
            problem, constant = self._problem(i, *data)
            h = None
            if along is not None:
                towards = np.zeros(0) if along[1] is None else np.asarray(along[1], dtype=np.float64)
                bent, constant = self._problem(i, along[0], towards)
                h = bent.table, bent.pair
            answer = sums(problem, direction=h, **wanted)
            if pairs:
                probs[self.pair_ptr[i] : self.pair_ptr[i + 1]] = answer.probs
            return answer.log_z + constant, answer.counts

        results = self._each(goal, task)
        counts = np.zeros((len(self), self.space.n_features))
        if wanted["counts"] and results:
            counts = np.asarray((self.space.map.T @ np.array([uses for _, uses in results]).T).T)
        return np.array([log_z for log_z, _ in results]), counts, probs

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent structures from the Gibbs law of the scores."""
        seed = int(rng.integers(2**63 - 1))
        return self._draws(scores, n, lambda i: [seed, i])

    def _draws(self, scores: Parts, n: int, seed: Callable[[int], list[int]]) -> list[Ragged]:
        """Random structures of every sequence, which has a seed of its own."""
        from trelliswork.dp.rna.nearest import search
        from trelliswork.structures.rna.sums import log_chart

        data = self._arrays(scores)
        out = np.full((n, self.bases.values.size), -1, dtype=np.int64)

        def task(i: int) -> None:
            problem, _ = self._problem(i, *data)
            size = problem.seq.size
            chart, draws = log_chart(problem), np.empty((n, size), dtype=np.int64)
            if chart is None:
                raise InputError("no structure is possible", sample=i)
            search.sample(problem, chart, np.random.default_rng(seed(i)).random((n, 3 * size + 3)), draws)
            out[:, self.bases.offsets[i] : self.bases.offsets[i + 1]] = draws

        self._each("inside", task)
        return [Ragged(row, self.bases.offsets) for row in out]

    # -- outputs ---------------------------------------------------------------------------------

    def _uses(self, codes: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Uses of the entries of the table in given structures, and which of them are possible."""
        from trelliswork.dp.rna.nearest import count

        structure = self.space.structure
        limits = int(structure.min_hairpin), int(structure.max_loop)
        uses, fine = np.zeros((len(self), self.space.map.shape[0])), np.empty(len(self), dtype=bool)
        for i, seq in enumerate(self.bases):
            fine[i] = count.count(seq, codes[i], *limits, self.window_of(seq.size), uses[i])
        uses[~fine] = 0.0
        return uses, fine

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given structures; -inf for those that the model does not have."""
        tables, pairs = self._arrays(scores)
        uses, fine = self._uses(codes)
        values = np.where(fine, np.einsum("ij,ij->i", uses, np.broadcast_to(tables, uses.shape)), -np.inf)
        if pairs.size:
            for i in np.flatnonzero(fine).tolist():
                values[i] += pairs[self.pair_ptr[i] + self.used_cells(codes[i])].sum()
        return values

    def _rule_counts(self, codes: Ragged) -> np.ndarray:
        return np.asarray((self.space.map.T @ self._uses(codes)[0].T).T)

    def _graphs(self, scores: Parts, costs: Parts | None = None) -> Iterator[RNAGraph]:
        from trelliswork.dp.rna.nearest import search, viterbi

        tables, pairs = self._arrays(scores)
        cost = np.zeros(self.pair_ptr[-1], dtype=np.int64)
        if costs is not None and costs.pair is not None:
            cost = integer_costs(costs.pair)
        for i, seq in enumerate(self.bases):
            check_size(seq.size, self.limits.loop_graph_bases, i)
            problem, _ = self._problem(i, tables, np.zeros(0))
            *arrays, values, marks, _ = search.derivation_graph(problem, viterbi.fill(problem), False)
            cells = slice(self.pair_ptr[i], self.pair_ptr[i + 1])
            places = np.where(marks[:, 0] >= 0, _triangle(seq.size, marks[:, 0], marks[:, 1]), -1)
            if pairs.size:
                values += _marked(pairs[cells], problem.offset, marks)
            graph = Graph(np.array([0, arrays[0].size - 1]), *arrays)
            edge_costs = _marked(cost[cells], problem.offset, marks)
            yield RNAGraph(seq.size, graph, places, places, values, edge_costs)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        return _LoopCovariance(self, scores, weights, about)

    @property
    def is_generative(self) -> bool:
        """Whether weights are log-probabilities: they are log-odds."""
        return False

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Log-odds of the features in true structures against all structures, or against the model's law.

        The weights of the package are moved by the log-odds against their own law, times a step of a few:
        features overlap, and a whole step would count the same evidence several times. The step is the one
        with which structures that are held out are predicted best; of few samples, the one by which they are
        most probable.
        """
        known = self.space.structure.known_weights()
        if known is None:
            return Batch.generative_weights(self, smoothing, weights, counts)
        start = np.array([known.get(name, 0.0) for name in self.space.feature_names])  # of more groups: 0

        def moved(batch: Batch, share: np.ndarray | None, gold: np.ndarray | None = None) -> list[np.ndarray]:
            true = batch.gold_sum(share) if gold is None else gold
            expected = batch.summed(_expected, start, weights=share)
            odds = np.log((true + smoothing) / (expected + smoothing))
            return [start + step * odds for step in _STEPS]

        candidates = moved(self, weights, counts)
        if len(self) >= ENOUGH and counts is None:
            return candidates[most_accurate_of(self, weights, moved)]
        gold = self.gold_sum(weights) if counts is None else counts
        values = [float(gold @ w) - self.summed(_log_partitions, w, weights=weights) for w in candidates]
        return candidates[int(np.argmax(values))]

    def multinomials(self) -> dict[str, np.ndarray]:
        """Kinds of features of which a structure has one out of several, with the weights of the package.

        Without these weights nothing tells how the kinds, which overlap, make up a law: refused.
        """
        if self.space.structure.known_weights() is None:
            raise Unsupported(
                "RNA(grammar='nearest-neighbour') is not a generative grammar; use 'auto', 'g6' or 'nested'"
            )
        kinds: dict[str, list[int]] = {}
        for column, (kind, _) in enumerate(self.space.feature_names):
            if kind not in _COUNTED:
                kinds.setdefault(kind, []).append(column)
        return {kind: np.array(columns) for kind, columns in kinds.items()}

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Weights by log-probabilities of outcomes, halved: one pair is an outcome of several kinds."""
        return _OVERLAP * log_p

    def _free_of_rules(self) -> RNABatch:
        if self.space.structure.window is not None:
            return type(self)(self.space, self.bases, None, self.n_jobs)
        return super()._free_of_rules()


def _expected(batch: Batch, w: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Features that weights expect, summed."""
    return batch.pull(batch.marginals(batch.scores(w), weights=weights))


def _log_partitions(batch: Batch, w: np.ndarray, weights: np.ndarray | None) -> float:
    """Logarithms of the sums over all outputs, summed."""
    each = batch.log_partition(batch.scores(w))
    return float(each.sum() if weights is None else weights @ each)


def _triangle(n: int, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Entries of an upper triangle, row by row."""
    return cast("np.ndarray", i * n - i * (i - 1) // 2 + j - i)


def _marked(cells: np.ndarray, offset: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Values of the pair and of the unpaired bases of every edge."""
    n = offset.size - 1
    before = np.concatenate([[0], np.cumsum(cells[offset[:n] + np.arange(n)])]).astype(cells.dtype)
    total = before[marks[:, 3]] - before[marks[:, 2]] + before[marks[:, 5]] - before[marks[:, 4]]
    paired = marks[:, 0] >= 0
    total[paired] += cells[offset[marks[paired, 0]] + marks[paired, 1]]
    return cast("np.ndarray", total)


class _LoopCovariance(Covariance):
    """Second moments of the features of loops; a matrix of them takes a tangent per feature that is used."""

    batch: NearestBatch

    def size(self) -> float:
        """Cells of all sequences."""
        return float(self.batch.pair_ptr[-1])

    def most_dense(self, size: float) -> int:
        """Number of features up to which the matrix is cheaper than products with it."""
        return self.batch.limits.matrix_features if size <= _DENSE_CELLS else 0

    def means(self) -> sp.csr_matrix:
        """Mean features of every sample, not weighted."""
        return sp.csr_matrix(self.batch._expect("expect", self.law)[1])

    def frequencies(self) -> np.ndarray:
        """Covariance of random structures, the same for a sequence whatever others there are."""
        batch, d = self.batch, self.n_features
        share = sp.diags_array(np.ones(len(batch)) if self.weights is None else self.weights)
        total, mean = np.zeros((d, d)), sp.csr_matrix((len(batch), d))
        for codes in batch._draws(self.law, _DRAWS, lambda _: [0]):
            drawn = sp.csr_matrix(batch._uses(codes)[0]) @ batch.space.map
            mean = mean + drawn / _DRAWS
            total += (drawn.T @ (share @ drawn)).toarray() / _DRAWS
        total -= (mean.T @ (share @ mean)).toarray()
        return total

    def preconditioner(
        self, lam: float, asked: Covariance | None = None
    ) -> Callable[[np.ndarray, np.ndarray], object] | None:
        """Inverse of the second moments of random structures: products with exact ones take long."""
        import scipy.linalg as la  # slow to import

        asked = self if asked is None else asked
        told = asked.frequencies()
        if self.about == "gold":
            told = told + asked.spread()
        diagonal = np.diag_indices_from(told)
        told[diagonal] += lam + 1e-3 * max(float(told[diagonal].mean()), 1e-300)
        factor = la.cho_factor(told)

        def solve(r: np.ndarray, out: np.ndarray) -> None:
            out[:] = la.cho_solve(factor, r)

        return solve

    def _covariance(self) -> np.ndarray:
        """One tangent for every feature that is ever used: counts whose mean is 0 are always 0."""
        plain, out = self.turned("mean"), np.zeros((self.n_features, self.n_features))
        used = np.flatnonzero(np.abs(self.means().toarray()).sum(axis=0) > 0)
        out[:, used] = plain.product(np.eye(self.n_features)[:, used])
        return out
