"""Packed derivation graphs and their verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.structures.abilities import (
    Factored,
    LossProfiles,
    PartlyKnown,
    ReadByAutomata,
    Reading,
    Storable,
)
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.derivations import graph as derivations_graph
from trelliswork.structures.derivations import store
from trelliswork.structures.derivations.gold import derivation_of
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.derivations.product import GraphProduct, longest_reading

if TYPE_CHECKING:
    from trelliswork.structures.derivations.space import DerivationSpace
    from trelliswork.structures.factors import Factors

__all__ = ["DerivationBatch"]


class DerivationBatch(Storable, LossProfiles, ReadByAutomata, Factored, PartlyKnown):
    """Packed derivation graphs.

    Part array: ``edge`` (n_edges,), the edges of all samples one after the other. Codes of
    an output are the numbers of its edges within its sample, top-down and left to right.

    Parameters
    ----------
    space : DerivationSpace
        Features.
    graph : Graph
        Arrays of the derivation engine.
    phi : csr_matrix of shape (n_edges, n_features)
        Features of the edges.
    inputs, parts, dead_ends : list
        Per sample: the input, the parts of its edges, an underivable node for messages.
    gold : Ragged or None
        Codes of the true outputs.
    n_jobs : int or None
        Threads.
    """

    space: DerivationSpace

    def __init__(
        self,
        space: DerivationSpace,
        graph: Graph,
        phi: sp.csr_matrix,
        inputs: list[Any],
        parts: list[list[Any]],
        dead_ends: list[tuple[Any] | None],
        gold: Ragged | None,
        n_jobs: int | None,
    ):
        super().__init__(space, gold, n_jobs)
        self.graph = graph
        self.edge_ptr = graph.edge_ptr
        self.phi = phi
        self.inputs = inputs
        self.parts = parts
        self.dead_ends = dead_ends
        self._reads: tuple[np.ndarray, list[dict[Any, int]], np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def n_edges(self) -> int:
        """Edges of all graphs together."""
        return int(self.edge_ptr[-1])

    def _take(self, index: np.ndarray, gold: Ragged | None) -> DerivationBatch:
        g = self.graph
        nodes, edges = gather_ranges(g.graph_ptr, index), gather_ranges(self.edge_ptr, index)
        graph_ptr = offsets_of(np.diff(g.graph_ptr)[index])
        tails = g.tails[gather_ranges(g.tail_ptr, edges)]
        n_tails = (g.tail_ptr[self.edge_ptr[1:]] - g.tail_ptr[self.edge_ptr[:-1]])[index]
        tails = tails + np.repeat(graph_ptr[:-1] - g.graph_ptr[:-1][index], n_tails)
        node_ptr, tail_ptr = offsets_of(np.diff(g.node_ptr)[nodes]), offsets_of(np.diff(g.tail_ptr)[edges])
        rows = index.tolist()
        return type(self)(
            self.space,
            Graph(graph_ptr, node_ptr, tail_ptr, tails),
            self.phi[edges],
            [self.inputs[i] for i in rows],
            [self.parts[i] for i in rows],
            [self.dead_ends[i] for i in rows],
            gold,
            self.n_jobs,
        )

    def into(self, space: Space) -> DerivationBatch:
        """The same graphs in a larger space."""
        return store.into_space(self, cast("DerivationSpace", space))

    def joined(self, other: Batch) -> DerivationBatch:
        """Graphs of two batches."""
        return store.joined(self, cast("DerivationBatch", other))

    def state(self) -> dict[str, Any]:
        """Graphs, features of edges, parts and gold codes; no inputs."""
        return store.batch_state(self)

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Parts:
        """Edge scores of a weight vector."""
        return Parts(edge=self.phi @ np.asarray(w, dtype=np.float64))

    def pull(self, parts: Parts) -> np.ndarray:
        """Edge values to features, summed over samples."""
        return self.phi.T @ parts.edge

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Edge values to features, one row per sample."""
        each = sp.csr_matrix((parts.edge, np.arange(self.n_edges), self.edge_ptr), (len(self), self.n_edges))
        return sp.csr_matrix(each @ self.phi)

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often each edge is used in given outputs."""
        value = None if weights is None else np.repeat(np.asarray(weights, dtype=np.float64), codes.lengths)
        used = np.bincount(self._edges(codes), value, minlength=self.n_edges)
        return Parts(edge=used.astype(np.float64))

    def _edges(self, codes: Ragged) -> np.ndarray:
        return codes.values + np.repeat(self.edge_ptr[:-1], codes.lengths)

    def _per_edge(self, weights: np.ndarray | None, values: np.ndarray) -> np.ndarray:
        if weights is None:
            return values
        return values * np.repeat(np.asarray(weights, dtype=np.float64), np.diff(self.edge_ptr))

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Edges of every sample."""
        return {"edge": self.edge_ptr}

    # -- verbs ---------------------------------------------------------------------------------

    def rough_part_offsets(self, question: str, *, costs: bool = False) -> Mapping[str, np.ndarray]:
        """Those of one leaf of samples where sums over all outputs are asked for, as these are taken so."""
        by_leaf = question in ("expect", "tangent")
        return {"edge": self.edge_ptr[: 1 + (self.limits.leaf_samples if by_leaf else len(self))]}

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Leaves of samples, and the blocks of a solver with costs, are copies of all graphs."""
        if question == "generative" or (question == "viterbi" and not costs):
            return 8 * self.n_edges  # counts or scores of all edges beside the table of them
        if question != "viterbi" and len(self) <= self.limits.leaf_samples:
            return 0
        graphs = sum(a.nbytes for a in (*self.graph, self.phi.data, self.phi.indices, self.phi.indptr))
        # Moments are tried on half of the samples before they are taken of all.
        return graphs + graphs // 2 if question == "tangent" else graphs

    def _total(self, scores: Parts, costs: Parts | None) -> np.ndarray:
        total = scores if costs is None else scores + costs
        return np.zeros(self.n_edges) if total.edge is None else np.ascontiguousarray(total.edge, dtype=float)

    def _run(self, task: Any) -> list[Any]:
        return run(task, balanced_chunks(self.edge_ptr, self.limits.edges_per_chunk), n_threads(self.n_jobs))

    def _viterbi(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from trelliswork.dp.derivations import hypergraph

        best = np.empty(self.graph.graph_ptr[-1])
        back = np.empty(best.size, dtype=np.int64)
        self._run(lambda a, b: hypergraph.viterbi(*self.graph, score, a, b, best, back))
        return best, back

    def _follow(self, back: np.ndarray) -> Ragged:
        """Codes of the derivations that ``back`` selects; none where there is no derivation."""
        from trelliswork.dp.derivations import hypergraph

        g = self.graph
        edge_ptr, edges = hypergraph.derivations(g.graph_ptr, g.tail_ptr, g.tails, 0, len(self), back)
        return Ragged(edges - np.repeat(self.edge_ptr[:-1], np.diff(edge_ptr)), edge_ptr)

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best derivation of every sample; refuses samples without any."""
        best, back = self._viterbi(self._total(scores, costs))
        values = best[self.graph.graph_ptr[1:] - 1]
        self._check_possible(values)
        return Decoded(self._follow(back), values)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best derivations of each sample."""
        list_ptr, totals, codes = self._kbest(scores, k, costs)
        return [
            Decoded(codes[first:last], totals[first:last])
            for first, last in zip(list_ptr[:-1].tolist(), list_ptr[1:].tolist(), strict=True)
        ]

    def _kbest(
        self, scores: Parts, k: int, costs: Parts | None = None
    ) -> tuple[np.ndarray, np.ndarray, Ragged]:
        """The same for all samples one after the other: where those of each begin, values, codes."""
        from trelliswork.dp.derivations import kbest as derivations_kbest

        score = self._total(scores, costs)
        best, back = self._viterbi(score)
        self._check_possible(best[self.graph.graph_ptr[1:] - 1])
        chunks = self._run(lambda a, b: derivations_kbest.kbest(*self.graph, score, a, b, k, best, back))
        none = [np.zeros(0, dtype=np.int64)]
        counts = np.concatenate([np.diff(part[0]) for part in chunks] or none)
        lengths = np.concatenate([np.diff(part[2]) for part in chunks] or none)
        totals, edges = (np.concatenate([part[j] for part in chunks] or none) for j in (1, 3))
        first = np.repeat(np.repeat(self.edge_ptr[:-1], counts), lengths)
        return offsets_of(counts), totals, Ragged(edges - first, offsets_of(lengths))

    def _inside(self, score: np.ndarray) -> np.ndarray:
        from trelliswork.dp.derivations import hypergraph

        log_beta = np.empty(self.graph.graph_ptr[-1])
        self._run(lambda a, b: hypergraph.inside(*self.graph, score, a, b, log_beta))
        return log_beta

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all derivations; -inf where there is none."""
        return self._inside(self._total(scores, costs))[self.graph.graph_ptr[1:] - 1]

    def _marginals(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from trelliswork.dp.derivations import hypergraph

        log_beta = self._inside(score)
        rho_node, rho = np.empty(log_beta.size), np.empty(self.n_edges)
        self._run(lambda a, b: hypergraph.marginals(*self.graph, score, a, b, log_beta, rho_node, rho))
        return log_beta, rho

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected number of uses of every edge (times the weight of its sample)."""
        return Parts(edge=self._per_edge(weights, self._marginals(self._total(scores, costs))[1]))

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        log_beta, rho = self._marginals(self._total(self.scores(w), costs))
        return log_beta[self.graph.graph_ptr[1:] - 1], self.pull(Parts(edge=self._per_edge(weights, rho)))

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction in edge scores."""
        from trelliswork.dp.derivations import hypergraph

        score, along = self._total(scores, costs), self._total(direction, None)
        log_beta, rho = self._marginals(score)
        slope, out = np.empty(len(self)), np.empty(self.n_edges)
        self._run(lambda a, b: hypergraph.tangent(*self.graph, score, a, b, log_beta, rho, along, slope, out))
        return Parts(edge=self._per_edge(weights, out))

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent derivations from the Gibbs law of the scores."""
        from trelliswork.dp.derivations import hypergraph

        score = self._total(scores, None)
        log_beta = self._inside(score)
        self._check_possible(log_beta[self.graph.graph_ptr[1:] - 1])
        seed = int(rng.integers(-(2**63), 2**63 - 1))
        pieces = self._run(lambda a, b: hypergraph.sample(*self.graph, score, a, b, log_beta, n, seed))
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(ptr) for ptr, _ in pieces)])
        edges = np.concatenate([np.zeros(0, dtype=np.int64), *(edges for _, edges in pieces)])
        edges -= np.repeat(np.repeat(self.edge_ptr[:-1], n), lengths)
        draws = Ragged(edges, offsets_of(lengths))  # row i * n + r is draw r of sample i
        return [draws[np.arange(len(self)) * n + r] for r in range(n)]

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs, shape (n_samples, max_loss + 1)."""
        score, cost = self._total(scores, None), derivations_graph.integer_costs(self._total(costs, None))

        def task(a: int, b: int) -> np.ndarray:
            part = self.graph._replace(graph_ptr=self.graph.graph_ptr[a : b + 1])
            return derivations_graph.loss_profile(part, score, cost, max_loss)

        return np.concatenate([np.zeros((0, max_loss + 1)), *self._run(task)])

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best derivation of every sample among those with the given total cost."""
        score, cost = self._total(scores, None), derivations_graph.integer_costs(self._total(costs, None))
        losses = np.asarray(losses, dtype=np.int64)

        def task(a: int, b: int) -> tuple[list[np.ndarray], np.ndarray]:
            part = self.graph._replace(graph_ptr=self.graph.graph_ptr[a : b + 1])
            return derivations_graph.argmax_at_loss(part, score, cost, losses[a:b], a)

        chunks = self._run(task)
        edges = Ragged.from_list([edges for chunk, _ in chunks for edges in chunk], np.int64)
        codes = Ragged(edges.values - np.repeat(self.edge_ptr[:-1], edges.lengths), edges.offsets)
        return Decoded(codes, np.concatenate([np.zeros(0), *(values for _, values in chunks)]))

    def readings(self) -> list[Reading]:
        """The parts of the true output and of all outputs, in the order of derivations."""
        if self._reads is None:
            alphabets: list[dict[Any, int]] = []
            reads = []
            for names in self.parts:
                alphabet: dict[Any, int] = {}
                reads.append([-1 if p is None else alphabet.setdefault(p, len(alphabet)) for p in names])
                alphabets.append(alphabet)
            flat = np.array([r for row in reads for r in row], dtype=np.int64)
            self._reads = flat, alphabets, longest_reading(self.graph, flat)
        _, alphabets, longest = self._reads
        return [
            Reading(self._parts_of(i, row), list(alphabets[i]), int(longest[i]), False)
            for i, row in enumerate(self.gold_codes)
        ]

    def product(self, automata: Sequence[Any]) -> GraphProduct:
        """Product with one loss automaton per sample."""
        self.readings()
        return GraphProduct(self, automata)

    def reads(self, i: int) -> np.ndarray:
        """Position in the alphabet of the part of each edge of sample ``i``; -1 for none."""
        assert self._reads is not None
        return self._reads[0][self.edge_ptr[i] : self.edge_ptr[i + 1]]

    def edge_scores(self, scores: Parts) -> np.ndarray:
        """Scores of all edges."""
        return self._total(scores, None)

    def collect(self, values: np.ndarray) -> Parts:
        """Values of edges as parts."""
        return Parts(edge=values)

    def decoded(self, edges: list[np.ndarray], values: np.ndarray) -> Decoded:
        """Outputs of given edges."""
        self._check_possible(values)
        return Decoded(Ragged.from_list(edges, np.int64), values)

    def factors(self) -> Factors:
        """The factor graph."""
        from trelliswork.structures.derivations.factors import DerivationFactors

        return DerivationFactors(self)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features."""
        return _EdgeCovariance(self, scores, weights, about)

    def count(self) -> list[int]:
        """Exact number of derivations of every sample."""
        from trelliswork.dp.derivations import hypergraph

        return hypergraph.count(*self.graph)

    # -- outputs ---------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given derivations; -inf where no edges are given."""
        owner = np.repeat(np.arange(len(self)), codes.lengths)
        total = np.bincount(owner, self._total(scores, None)[self._edges(codes)], minlength=len(self))
        return np.where(codes.lengths > 0, total, -np.inf)

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to outputs; row ``i`` belongs to sample ``i``."""
        if len(codes) != len(self):
            raise ValueError(f"{len(codes)} outputs for {len(self)} samples; see unpack_sample")
        return [self._output(i, row) for i, row in enumerate(codes)]

    def items(self, codes: Ragged) -> list[list[Any]]:
        """Parts of given outputs."""
        return [self._parts_of(i, row) for i, row in enumerate(codes)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several outputs of sample ``i``."""
        return [self._output(i, row) for row in codes]

    def unpack_marginals(self, parts: Parts) -> list[dict[Any, float]]:
        """Per sample, the expected number of times that each part is in the output."""
        out = []
        for i, names in enumerate(self.parts):
            total: dict[Any, float] = {}
            for part, p in zip(
                names, parts.edge[self.edge_ptr[i] : self.edge_ptr[i + 1]].tolist(), strict=True
            ):
                if part is not None:
                    total[part] = total.get(part, 0.0) + p
            out.append(total)
        return out

    def part_name(self, array: str, place: tuple[int, ...]) -> tuple[Any, ...]:
        """The part of an edge, as users know it."""
        return ("part", self.parts[0][place[0]])

    def _output(self, i: int, row: np.ndarray) -> Any:
        decode, chosen = self.space.structure.decode, self._parts_of(i, row)
        return chosen if decode is None else decode(self.inputs[i], chosen)

    def _parts_of(self, i: int, row: np.ndarray) -> list[Any]:
        parts = self.parts[i]
        return [parts[e] for e in row.tolist() if parts[e] is not None]

    def encode(self, y: Any, *, unknown: str = "error") -> None:
        """Find the derivations of the true outputs ``y`` and keep them as gold codes."""
        to_parts = self.space.structure.encode
        wanted: list[list[Any]] = []
        for i, (x, output) in enumerate(zip(self.inputs, y, strict=True)):
            parts_given = output if to_parts is None else to_parts(x, output)
            if not hasattr(parts_given, "__iter__"):
                raise InputError(f"expected a list of parts, got {_short(parts_given)}", sample=i)
            wanted.append(list(parts_given))
        # The derivation with most true parts and no others: right unless parts repeat.
        score = np.empty(self.n_edges)
        for i, parts_given in enumerate(wanted):
            try:
                worth: dict[Any, float] = dict.fromkeys(parts_given, 1.0) | {None: 0.0}
            except TypeError as error:
                raise InputError(f"the parts of an output must be hashable ({error})", sample=i) from None
            score[self.edge_ptr[i] : self.edge_ptr[i + 1]] = [
                worth.get(part, -np.inf) for part in self.parts[i]
            ]
        best, back = self._viterbi(score)
        rows = list(self._follow(back))
        for i, parts_given in enumerate(wanted):
            if self._parts_of(i, rows[i]) == parts_given and rows[i].size:
                continue
            exact = None
            if best[self.graph.graph_ptr[i + 1] - 1] > -np.inf:
                exact = derivation_of(self.graph, i, self.parts[i], parts_given)
            if exact is None and unknown == "error":
                self._check_possible(
                    np.where(np.arange(len(self)) == i, self.log_partition(Parts(edge=None)), 0)
                )
                raise InputError(f"{_short(y[i])} is not an output of build(x)", sample=i)
            rows[i] = np.array(exact or [], dtype=np.int64)
        self._gold = Ragged.from_list(rows, np.int64)

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the part) for every part that the true output lacks."""
        return self.known_costs(*self.mismatch_of_parts(label_weight))

    def mismatch_of_parts(self, label_weight: Mapping[Any, float] | None) -> tuple[Parts, np.ndarray]:
        """The same where outputs are known as a whole."""
        costs = []
        for i, row in enumerate(self.gold_codes):
            free = {None, *self._parts_of(i, row)}
            if label_weight is None:
                costs.append(np.array([part not in free for part in self.parts[i]], dtype=np.float64))
            else:
                weight = [0.0 if p in free else float(label_weight.get(p, 1.0)) for p in self.parts[i]]
                costs.append(np.array(weight))
        return Parts(edge=np.concatenate([np.zeros(0), *costs])), np.zeros(len(self))

    # -- outputs that are known in part ----------------------------------------------------------

    def take_up(self, y: Any, *, unknown: str = "error") -> None:
        """Keep the true outputs ``y``, of which some may be known in part."""
        known = [
            self.allowed_edges(i, output) if self.is_open(output) else None for i, output in enumerate(y)
        ]
        whole = [i for i, mask in enumerate(known) if mask is None]
        if len(whole) == len(self):
            self.encode(y, unknown=unknown)
            return
        rows: list[np.ndarray | None] = [None] * len(self)
        if whole:
            part = self.subset(whole)
            try:
                part.encode([y[i] for i in whole], unknown=unknown)
            except InputError as error:
                number = None if error.sample is None else whole[error.sample]
                raise InputError(error.message, sample=number) from None
            for i, row in zip(whole, part.gold_codes, strict=True):
                rows[i] = row
        self.settle(rows, known, unknown == "error")

    def is_open(self, output: Any) -> bool:
        """Whether an output is known in part: a predicate, a set of parts (without ``encode``), or None."""
        plain = self.space.structure.encode is None
        return output is None or callable(output) or (plain and isinstance(output, Set))

    def allowed_edges(self, i: int, known: Any) -> np.ndarray:
        """Which edges of sample ``i`` outputs may use: those with parts that are possible, or without any.

        Of an output that is known as a whole, those of its derivation.
        """
        parts = self.parts[i]
        if known is None:
            return np.ones(len(parts), dtype=bool)
        if not self.is_open(known):
            used, single = np.zeros(len(parts), dtype=bool), self.subset([i])
            try:
                single.encode([known])
            except InputError as error:
                raise InputError(error.message, sample=i) from None
            used[single.gold_codes.values] = True
            return used
        known = known if callable(known) else known.__contains__
        return np.array([part is None or bool(known(part)) for part in parts], dtype=bool)

    def _forbidden(self) -> Parts:
        edge = np.zeros(self.n_edges)
        for i in self.open_samples:
            edge[self.edge_ptr[i] : self.edge_ptr[i + 1]][~self.known[i]] = -np.inf  # type: ignore[index]
        return Parts(edge=edge)

    def check_gold(self) -> None:
        """Refuse true outputs that were packed with ``unknown="mark"`` and are not derivable."""
        bad = np.flatnonzero(self.gold_codes.lengths == 0)
        if bad.size:
            raise InputError("the given output is not an output of build(x)", sample=int(bad[0]))

    def _check_possible(self, values: np.ndarray) -> None:
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            i = int(bad[0])
            why = self.dead_ends[i]
            hint = "" if why is None else f"; build(x) has no edge for node {why[0]!r}"
            raise InputError(f"no output is possible{hint}", sample=i)


class _EdgeCovariance(Covariance):
    """Second moments of edge features."""

    batch: DerivationBatch

    def diagonal_sum(self) -> np.ndarray:
        """Variances of the features if edges were independent, a preconditioner."""
        rho = self.marginals(weighted=False).edge
        return self.batch.phi.power(2).T @ self.batch._per_edge(self.weights, rho * (1.0 - rho))

    def _covariance(self) -> np.ndarray:
        batch = self.batch
        if self.n_features > batch.limits.increment_features:
            return super()._covariance()
        weight = np.ones(len(batch)) if self.weights is None else self.weights
        chunks = balanced_chunks(batch.edge_ptr, batch.limits.edges_per_chunk)
        score = batch._total(self.law, None)
        return derivations_graph.moments(
            batch.graph, score, batch.phi, weight, chunks, n_threads(batch.n_jobs)
        )[1]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
