"""Packed RNA sequences and their verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._dotbracket import dot_bracket
from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.dp.rna.nearest.layout import n_cells
from trelliswork.dp.rna.rules import N_RULES
from trelliswork.structures.abilities import (
    CountedParts,
    Factored,
    LossProfiles,
    Multinomials,
    PartlyKnown,
    Storable,
)
from trelliswork.structures.base import Batch, Decoded, Parts, Space, Unsupported
from trelliswork.structures.contexts import Contextual, PartContexts
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.factors import Factors, RuleFactors
from trelliswork.structures.known import joined_known
from trelliswork.structures.rna import graph as rna_graph
from trelliswork.structures.rna.contexts import cell_contexts
from trelliswork.structures.rna.covariance import RuleCovariance
from trelliswork.structures.rna.evidence import forbidden_cells

if TYPE_CHECKING:
    from trelliswork.structures.limits import RNALimits
    from trelliswork.structures.rna.structure import RNASpace

__all__ = ["RNABatch"]

# Bytes per squared length and depth that the recursions take.
_QUICK_GRAPH = 120  # bases of a sequence whose derivation graph is made in no time
_BYTES = {"viterbi": 16, "generative": 16, "inside": 56, "expect": 88, "tangent": 144}


class RNABatch(Storable, LossProfiles, CountedParts, Factored, Multinomials, Contextual, PartlyKnown):
    """Packed RNA sequences.

    Part arrays: ``rule`` (n_features,), or (n_samples, n_features) where samples differ; ``pair``, the upper
    triangles of one matrix per sample row by row, with unpaired bases on the diagonal. The codes
    of an output are its pair table: the partner of every base, or -1.

    Parameters
    ----------
    space : RNASpace
        Rules.
    bases : Ragged of int64
        Sequences, bases as numbers.
    gold : Ragged or None
        Codes of the true structures; all -2 for one that the grammar does not have.
    n_jobs : int or None
        Threads.
    evidence : ndarray or None
        Scores of pairs and unpaired bases that belong to the inputs, as in ``pair``; -inf forbids.
    """

    shared_parts: ClassVar[Mapping[str, int]] = {"rule": 1}

    space: RNASpace

    def __init__(
        self,
        space: RNASpace,
        bases: Ragged,
        gold: Ragged | None,
        n_jobs: int | None,
        evidence: np.ndarray | None = None,
    ):
        super().__init__(space, gold, n_jobs)
        self.bases = bases
        self.evidence = evidence
        lengths = bases.lengths
        self.pair_ptr = offsets_of(n_cells(lengths, space.structure.widest))

    def sameness(self, codes: Ragged) -> str | None:
        """Outputs without a base pair."""
        return None if (codes.values >= 0).any() else "no base pair at all"

    def __len__(self) -> int:
        return len(self.bases)

    @property
    def limits(self) -> RNALimits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    def _take(self, index: np.ndarray, gold: Ragged | None) -> Self:
        evidence = None
        if self.evidence is not None:
            evidence = Ragged(self.evidence, self.pair_ptr)[index].values
        return type(self)(self.space, self.bases[index], gold, self.n_jobs, evidence)

    def into(self, space: Space) -> Self:
        """The same samples in an equal space."""
        moved = type(self)(cast("RNASpace", space), self.bases, self._gold, self.n_jobs, self.evidence)
        moved.known = self.known
        return moved

    def joined(self, other: Batch) -> Self:
        """Samples of two batches."""
        other = cast("Self", other)
        lengths = np.concatenate([self.bases.lengths, other.bases.lengths])
        bases = Ragged(np.concatenate([self.bases.values, other.bases.values]), offsets_of(lengths))
        gold = None
        if self._gold is not None and other._gold is not None:
            gold = Ragged(np.concatenate([self._gold.values, other._gold.values]), bases.offsets)
        evidence = None
        if self.evidence is not None or other.evidence is not None:
            both = ((b.evidence, b.pair_ptr[-1]) for b in (self, other))
            evidence = np.concatenate([np.zeros(size) if e is None else e for e, size in both])
        batch = type(self)(self.space, bases, gold, self.n_jobs, evidence)
        batch.known = joined_known(self, other)
        return batch

    def state(self) -> dict[str, Any]:
        """Sequences and structures as arrays."""
        out = {"bases": self.bases.values, "lengths": self.bases.lengths, "gold": self.gold_codes.values}
        if self.known is not None:
            out["known"] = self.known
        return out if self.evidence is None else out | {"evidence": self.evidence}

    # -- structures that are known in part ---------------------------------------------------

    def _forbidden(self) -> Parts:
        pair = np.zeros(self.pair_ptr[-1])
        for i in self.open_samples:
            bases = self.bases[int(i)]
            try:
                bad = forbidden_cells(self.known[i], bases, *self.cells(bases.size))  # type: ignore[index]
            except InputError as error:
                raise InputError(error.message, sample=i) from None
            pair[self.pair_ptr[i] : self.pair_ptr[i + 1]][bad] = -np.inf
        return Parts(rule=None, pair=pair)

    # -- cells: pairs i <= j of one sequence -------------------------------------------------

    def window_of(self, n: int) -> int:
        """Bases of the widest pair of a sequence."""
        return min(n, self.space.structure.widest)

    def cells(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Left and right ends of the cells of a sequence of ``n`` bases, row by row."""
        widths = np.minimum(self.window_of(n), n - np.arange(n))
        left = np.repeat(np.arange(n), widths)
        return left, left + np.arange(left.size) - np.repeat(np.cumsum(widths) - widths, widths)

    def used_cells(self, table: np.ndarray) -> np.ndarray:
        """Cells of the pairs and unpaired bases of one structure."""
        i, n = np.arange(table.size), table.size
        used = (table < 0) | (table > i)
        i, j = i[used], np.where(table < 0, i, table)[used]
        w = self.window_of(n)
        late = np.maximum(i - (n - w), 0)
        return i * w - late * (late - 1) // 2 + j - i

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Parts:
        """Rule scores: the weights themselves."""
        return Parts(rule=np.array(w, dtype=np.float64), pair=None)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Rule scores of one weight vector per sample: the weights themselves."""
        return Parts(rule=np.array(W, dtype=np.float64), pair=None)

    def pull(self, parts: Parts) -> np.ndarray:
        """Rule values to features, summed over samples."""
        return parts.rule.copy() if parts.rule.ndim == 1 else parts.rule.sum(axis=0)

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Rule values to features, one row per sample."""
        return sp.csr_matrix(parts.rule)

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often each rule, base and pair is used in given structures."""
        rule = self._rule_counts(codes)
        pair = np.zeros(self.pair_ptr[-1])
        for start, table in zip(self.pair_ptr, codes):
            pair[start + self.used_cells(table)] = 1.0
        return self._weighed(Parts(rule=rule, pair=pair), weights, each)

    def _weighed(self, parts: Parts, weights: np.ndarray | None, each: bool) -> Parts:
        """Values per sample times weights; rules are summed unless ``each``."""
        if weights is not None:
            parts = self.scale(parts, weights)
        return parts if each else Parts(rule=parts.rule.sum(axis=0), pair=parts.pair)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Bases and pairs of every sequence."""
        return {"pair": self.pair_ptr}

    def part_contexts(self) -> PartContexts:
        """Pairs and unpaired bases with the bases around them."""
        return cell_contexts(self)

    def context_places(self, codes: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Cells of the pairs and unpaired bases of given structures."""
        cells = [self.used_cells(table) for table in codes]
        owner = np.repeat(np.arange(len(self)), [used.size for used in cells])
        return owner, np.concatenate([np.zeros(0, dtype=np.int64), *cells]) + self.pair_ptr[owner]

    # -- running the recursions --------------------------------------------------------------

    def _arrays(self, scores: Parts, costs: Parts | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Rule tables (1 or n_samples, n_depths, 19) and position scores (maybe none)."""
        total = scores if costs is None else scores + costs
        rule = (
            np.zeros(self.space.n_features)
            if total.rule is None
            else np.asarray(total.rule, dtype=np.float64)
        )
        rows = np.atleast_2d(rule)
        tables = np.zeros((rows.shape[0], self.space.n_depths * N_RULES))
        tables[:, self.space.columns] = rows
        return tables.reshape(rows.shape[0], self.space.n_depths, N_RULES), self._positions(total)

    def listing_work(self) -> float:
        """Nothing where all sequences are short, else far too much."""
        return 0.0 if int(self.bases.lengths.max(initial=0)) <= _QUICK_GRAPH else np.inf

    def factors(self) -> Factors:
        """One factor per symbol and stretch of bases; its values are rules with their splits."""
        return RuleFactors(rna_graph.edge_features(self), self.space.n_features)

    def _positions(self, scores: Parts) -> np.ndarray:
        """Scores of pairs and unpaired bases, evidence included; maybe none."""
        if scores.pair is None:
            return np.zeros(0) if self.evidence is None else self.evidence
        pairs = np.ascontiguousarray(scores.pair, dtype=np.float64)
        return pairs if self.evidence is None else pairs + self.evidence

    def _data(self, scores: Parts, costs: Parts | None = None) -> tuple[np.ndarray, ...]:
        return (self.bases.values, self.bases.offsets, *self._arrays(scores, costs), self.pair_ptr)

    def _run(self, kind: str, task: Any) -> list[Any]:
        """Run a recursion over chunks of samples; refuses what would fill the memory."""
        self._check_room(kind)
        n = self.bases.lengths
        return self.run_chunks(n**3 // 64 + n**2 + 1, task)

    def _check_room(self, kind: str) -> None:
        n = self.bases.lengths
        if n.size:
            i = int(n.argmax())
            size = _BYTES[kind] * self.space.n_depths * int(n[i]) ** 2
            self.check_memory(i, size, "; cut the sequence into windows")

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of the tables of the longest sequences.

        Parameters
        ----------
        question : {"viterbi", "generative", "expect", "tangent"}
            What the recursions are asked for.
        costs : bool
            Whether parts have costs.
        """
        longest = np.sort(self.bases.lengths)[-n_threads(self.n_jobs) :].astype(np.float64)
        return int(_BYTES[question] * self.space.n_depths * (longest**2).sum())

    def check_memory(self, i: int, size: int, advice: str) -> None:
        """Refuse a sequence whose tables would fill the memory."""
        if size > self.limits.table_bytes:
            raise InputError(
                f"{self.bases.lengths[i]:,} bases would take {size / 2**30:,.0f} GiB (at most "
                f"{self.limits.table_bytes >> 30}){advice}",
                sample=i,
            )

    def run_chunks(self, work: np.ndarray, task: Any) -> list[Any]:
        """``task(start, stop)`` for chunks of samples of about the same work."""
        chunks = balanced_chunks(offsets_of(work), self.limits.work_per_chunk)
        return run(task, chunks, n_threads(self.n_jobs))

    def _rules(self, counts: np.ndarray) -> np.ndarray:
        return counts.reshape(len(self), self.space.n_depths * N_RULES)[:, self.space.columns]

    # -- verbs ---------------------------------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best structure of every sequence."""
        from trelliswork.dp.rna import viterbi

        data = self._data(scores, costs)
        codes, values = np.empty(self.bases.values.size, dtype=np.int64), np.empty(len(self))
        self._run("viterbi", lambda a, b: viterbi.viterbi(*data, a, b, codes, values))
        return Decoded(Ragged(codes, self.bases.offsets), values)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best structures of each sequence."""
        from trelliswork.dp.rna import viterbi

        data, lengths = self._data(scores, costs), self.bases.lengths

        def task(a: int, b: int) -> Iterator[Decoded]:
            counts, totals, partners = viterbi.kbest(*data, a, b, k)
            tops = offsets_of(counts)
            ends = offsets_of(counts * lengths[a:b])
            for i in range(b - a):
                rows = Ragged(partners[ends[i] : ends[i + 1]], np.arange(counts[i] + 1) * lengths[a + i])
                yield Decoded(rows, totals[tops[i] : tops[i + 1]])

        return [lists for chunk in self._run("viterbi", lambda a, b: list(task(a, b))) for lists in chunk]

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
        """Log partitions, expected rules per sample, probabilities of pairs; or their derivatives.

        Rules that are not wanted may be left at zero.
        """
        from trelliswork.dp.rna import inside

        data = self._data(scores, costs)
        if not self._in_range(data[2], data[3]):
            raise InputError("the scores overflow; scale the weights or the features down")
        along = self._arrays(Parts(rule=None, pair=None) if direction is None else direction)
        width = inside.block_width(data[2], data[3])
        log_z, counts = np.empty(len(self)), np.zeros((len(self), self.space.n_depths, N_RULES))
        probs = np.empty(self.pair_ptr[-1] if pairs else 0)
        number = {"inside": inside.LOG_Z, "expect": inside.EVERYTHING, "tangent": inside.DERIVATIVES}[goal]
        expected = inside.Expected(log_z, counts, probs)
        self._run(goal, lambda a, b: inside.expect(*data, a, b, width, number, along, expected))
        return log_z, self._rules(counts), probs

    def sums_hold(self, scores: Parts) -> bool:
        """Whether the scores are small enough for sums of powers of two."""
        return self._in_range(*self._arrays(scores))

    def _in_range(self, tables: np.ndarray, pairs: np.ndarray) -> bool:
        from trelliswork.dp.rna import inside

        return inside.spread(tables, pairs) * (int(self.bases.lengths.max(initial=0)) + 1) <= inside.LARGEST

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all structures."""
        return self._expect("inside", scores, costs)[0]

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected uses of rules and probabilities of bases and pairs."""
        _, rule, pair = self._expect("expect", scores, costs, pairs=True)
        return self._weighed(Parts(rule=rule, pair=pair), weights, each)

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        log_z, rule, _ = self._expect("expect", self.scores(w), costs)
        return log_z, rule.sum(axis=0) if weights is None else np.asarray(weights) @ rule

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction in scores."""
        _, rule, pair = self._expect("tangent", scores, costs, direction=direction, pairs=True)
        return self._weighed(Parts(rule=rule, pair=pair), weights, each)

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent structures from the Gibbs law of the scores."""
        from trelliswork.dp.rna import inside
        from trelliswork.dp.rna import sample as rna_sample

        tables, pairs = self._arrays(scores)
        width = inside.block_width(tables, pairs)
        seed = int(rng.integers(2**63 - 1))
        out = np.empty((n, self.bases.values.size), dtype=np.int64)

        def task(a: int, b: int) -> None:
            for i in range(a, b):
                seq, table = self.bases[i], tables[i if tables.shape[0] > 1 else 0]
                pair = pairs[self.pair_ptr[i] : self.pair_ptr[i + 1]] if pairs.size else pairs
                chart = inside.inside(seq, table, pair, width)
                uniform = np.random.default_rng([seed, i]).random((n, 2 * seq.size))
                rows = np.empty((n, seq.size), dtype=np.int64)
                if not rna_sample.sample(seq, table, pair, width, *chart, uniform, rows):
                    raise InputError("the scores overflow; scale the weights down", sample=i)
                out[:, self.bases.offsets[i] : self.bases.offsets[i + 1]] = rows

        self._run("inside", task)
        return [Ragged(row, self.bases.offsets) for row in out]

    def _graphs(self, scores: Parts, costs: Parts | None = None) -> Iterator[rna_graph.RNAGraph]:
        """Derivation graph of every sequence, one at a time."""
        return rna_graph.graphs(self, scores, costs)

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs; for short sequences."""
        graphs = self._graphs(scores, costs)
        rows = [rna_graph.profile(graph, max_loss) for graph in graphs]
        return np.array(rows).reshape(len(self), max_loss + 1)

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best structure of every sequence among those with the given total cost; for short sequences."""
        best = [
            rna_graph.best_at(graph, int(loss), i)
            for i, (graph, loss) in enumerate(zip(self._graphs(scores, costs), losses))
        ]
        codes = np.concatenate([np.zeros(0, dtype=np.int64), *(table for table, _ in best)])
        return Decoded(Ragged(codes, self.bases.offsets), np.array([value for _, value in best]))

    def argmax_by_counts(
        self, scores: Parts, choose: Callable[[int, int, np.ndarray], tuple[int, int]]
    ) -> tuple[Decoded, np.ndarray]:
        """Best structure with certain numbers of pairs and of right pairs; for short sequences."""
        longest = int(self.bases.lengths.max(initial=0))
        if longest > self.limits.overlap_bases:
            raise Unsupported(
                f"tables of right and predicted pairs are for sequences of at most "
                f"{self.limits.overlap_bases} bases, not {longest}"
            )
        rows, values = [np.zeros(0, dtype=np.int64)], np.zeros(len(self))
        chosen = np.zeros((len(self), 2), dtype=np.int64)
        for i, plain in enumerate(self._graphs(scores)):
            graph, (height, width) = rna_graph.overlap_costs(plain, self.gold_codes[i])
            table = rna_graph.profile(graph, height * width - 1).reshape(height, width)
            chosen[i] = predicted, right = choose(i, height - 1, table.T)
            row, values[i] = rna_graph.best_at(graph, right * width + predicted, i)
            rows.append(row)
        return Decoded(Ragged(np.concatenate(rows), self.bases.offsets), values), chosen

    def mea(self, scores: Parts) -> Decoded:
        """Structures with the largest expected number of right bases; paired ones count ``gamma``."""
        limits = scores.forbidden()
        pair = None if limits is None else limits.pair
        return self.most_accurate(self.pair_probabilities(scores), self.space.structure.gamma, pair)

    def pair_probabilities(self, scores: Parts) -> np.ndarray:
        """Probabilities of all cells: pairs, and unpaired bases."""
        return self._expect("expect", scores, pairs=True, rules=False)[2]

    def unpack_sample_pairs(self, i: int, probabilities: np.ndarray) -> list[tuple[int, int, float]]:
        """Pairs of one sequence that are not impossible, each with its probability."""
        left, right = self.cells(int(self.bases.lengths[i]))
        values = probabilities[self.pair_ptr[i] : self.pair_ptr[i + 1]]
        some = np.flatnonzero((left < right) & (values > 1e-6))
        return list(zip(left[some].tolist(), right[some].tolist(), values[some].tolist(), strict=True))

    def user_marginals(self, scores: Parts) -> list[Any]:
        """Probabilities of pairs, without expected rules."""
        return self.unpack_marginals(Parts(rule=None, pair=self.pair_probabilities(scores)))

    def possible(self) -> np.ndarray:
        """Whether each sequence has a structure at all that its evidence allows."""
        return self.argmax(self.scores(np.zeros(self.space.n_features))).values > -np.inf

    def check_room(self) -> None:
        """Refuse sequences whose tables of probabilities would fill the memory."""
        self._check_room("expect")

    def most_accurate(
        self, probabilities: np.ndarray, gamma: float, limits: np.ndarray | None = None
    ) -> Decoded:
        """Structures with the largest expected number of right bases, from probabilities of cells."""
        gain = probabilities * (2.0 * gamma)
        gain[probabilities <= 0.0] = -np.inf
        for start, n in zip(self.pair_ptr, self.bases.lengths.tolist()):
            unpaired = start + self.used_cells(np.full(n, -1))
            gain[unpaired] = np.maximum(probabilities[unpaired], 0.0)
        if limits is not None:
            gain += limits
        return self._free_of_rules().argmax(Parts(rule=None, pair=gain))

    def _free_of_rules(self) -> RNABatch:
        """The same sequences in the smallest grammar that has all their structures, without evidence."""
        return RNABatch(self.space.plain(), self.bases, None, self.n_jobs)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        return RuleCovariance(self, scores, weights, about)

    # -- outputs ---------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given structures; -inf for those that the grammar does not have."""
        from trelliswork.dp.rna import viterbi

        values = np.empty(len(self))
        viterbi.evaluate(*self._data(scores), 0, len(self), codes.values, values)
        return values

    def _rule_counts(self, codes: Ragged) -> np.ndarray:
        """Uses of rules in given structures, one row per sample."""
        from trelliswork.dp.rna import viterbi

        counts = np.zeros((len(self), self.space.n_depths, N_RULES))
        viterbi.count(self.bases.values, self.bases.offsets, codes.values, counts)
        return self._rules(counts)

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given structure per sample."""
        return sp.csr_matrix(self._rule_counts(codes))

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the gold feature vectors, times a weight per sample."""
        rows = self._rule_counts(self.gold_codes)
        return rows.sum(axis=0) if weights is None else np.asarray(weights) @ rows

    def unpack(self, codes: Ragged) -> list[str]:
        """Pair tables to dot-bracket notation."""
        return [dot_bracket(row) for row in map(np.ndarray.tolist, codes)]

    def items(self, codes: Ragged) -> list[list[tuple[int, int]]]:
        """Base pairs of given structures."""
        return [[(i, j) for i, j in enumerate(row.tolist()) if i < j] for row in codes]

    def unpack_sample(self, i: int, codes: Ragged) -> list[str]:
        """Several structures of one sequence."""
        return self.unpack(codes)

    def unpack_marginals(self, parts: Parts) -> list[np.ndarray]:
        """Probabilities of pairs per sample, a symmetric matrix; unpaired bases on the diagonal.

        Sparse where pairs have a widest span.
        """
        out = []
        for start, n in zip(self.pair_ptr, self.bases.lengths.tolist()):
            i, j = self.cells(n)
            values = np.minimum(parts.pair[start : start + i.size], 1.0)
            if self.window_of(n) < n:
                both = sp.coo_matrix((values, (i, j)), shape=(n, n)).tocsr()
                both.eliminate_zeros()
                out.append(both + sp.triu(both, 1).T)
                continue
            matrix = np.zeros((n, n))
            matrix[i, j] = matrix[j, i] = values
            out.append(matrix)
        return out

    def check_gold(self) -> None:
        """Refuse structures that were packed with ``unknown="mark"`` and that the grammar does not have."""
        values = self.evaluate(self.gold_codes, self.scores(np.zeros(self.space.n_features)))
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            raise InputError("the grammar cannot hold the given structure", sample=int(bad[0]))

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 for every pair too many and every pair missed.

        A missed pair is charged to its left base, which then is unpaired or in another pair.
        """
        weight = {} if label_weight is None else label_weight
        missed, wrong = float(weight.get("(", 1.0)), float(weight.get(".", 1.0))
        pair = np.empty(self.pair_ptr[-1])
        for start, table in zip(self.pair_ptr, self.gold_codes):
            i, j = self.cells(table.size)
            lost = np.where(table > np.arange(table.size), missed, 0.0)
            cost = np.where(i == j, lost[i], wrong + lost[i] + lost[j])
            cost[(i < j) & (table[i] == j)] = 0.0
            pair[start : start + i.size] = cost
        return self.known_costs(Parts(rule=None, pair=pair), np.zeros(len(self)))

    @property
    def is_generative(self) -> bool:
        """Whether weights are log-probabilities: those of rules."""
        return True

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Logs of smoothed relative frequencies of the rules of each left-hand side."""
        return self.log_probabilities(smoothing, weights, counts)

    def multinomials(self) -> dict[str, np.ndarray]:
        """Rules of every left-hand side."""
        return self.space.multinomials
