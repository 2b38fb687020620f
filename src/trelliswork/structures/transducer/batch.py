"""Packed inputs with the lattices of their outputs, and the verbs on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError, Unsupported
from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.dp.transducer.arrays import Arcs, Factors, Lattice, Sums
from trelliswork.structures.abilities import JointLaw
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.derivations.batch import DerivationBatch
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.transducer import candidates, store
from trelliswork.structures.transducer.indicators import Indicators
from trelliswork.structures.transducer.outputs import Given
from trelliswork.structures.transducer.unseen import Novel

if TYPE_CHECKING:
    from trelliswork.structures.transducer.space import TransducerSpace

__all__ = ["TransducerBatch"]


def graph_of(lattice: Lattice) -> Graph:
    """Lattices as derivation graphs."""
    inner = lattice.tail >= 0
    first = np.repeat(lattice.graph_ptr[:-1], np.diff(lattice.edge_ptr))
    return Graph(lattice.graph_ptr, lattice.node_ptr, offsets_of(inner), (lattice.tail + first)[inner])


class TransducerBatch(DerivationBatch, JointLaw):
    """Packed inputs of a transducer.

    Part array: ``edge`` (n_edges,), the edges of all lattices one after the other. An edge is a piece at a
    position of the input, after a context of output symbols. Codes of an output are the numbers of its
    edges within its sample.

    Parameters
    ----------
    space : TransducerSpace
        Pieces and features.
    inputs : list of tuples
        Symbols of the inputs.
    x : Coded
        Their codes.
    arcs : Arcs
        Pieces at every position.
    windows : Indicators of shape (n_arcs, n_window_features)
        Features of the arcs.
    lattice : Lattice
        Outputs.
    joins : ndarray of shape (n_joins, 3)
        States, pieces and states after them that occur in the lattices.
    grams : Indicators of shape (n_joins, n_gram_features)
        Features of the joins.
    gold : Ragged or None
        Codes of the true outputs; where the alignment is hidden, of the best one under the alignment model.
    given : Given or None
        True outputs whose alignments are hidden.
    novel : Novel or None
        Copies of input symbols that training did not have; None where there are no such symbols, or where
        they are dropped.
    n_jobs : int or None
        Threads.
    """

    space: TransducerSpace  # type: ignore[assignment]

    def __init__(
        self,
        space: TransducerSpace,
        inputs: list[tuple[Any, ...]],
        x: Coded,
        arcs: Arcs,
        windows: Indicators,
        lattice: Lattice,
        joins: np.ndarray,
        grams: Indicators,
        *,
        gold: Ragged | None = None,
        given: Given | None = None,
        novel: Novel | None = None,
        n_jobs: int | None,
    ):
        Batch.__init__(self, space, gold, n_jobs)
        self.inputs = inputs
        self.x, self.arcs, self.windows, self.lattice = x, arcs, windows, lattice
        self.joins, self.grams, self.given, self.novel = joins, grams, given, novel
        self.edge_ptr = lattice.edge_ptr
        self._reads = None
        self._lazy: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_lazy": {}}

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._lazy:
            self._lazy[name] = make()
        return self._lazy[name]

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        """The lattices as derivation graphs."""
        return self._once("graph", lambda: graph_of(self.lattice))

    @property
    def phi(self) -> sp.csr_matrix:
        """Features of the edges."""
        return self._once("phi", self._phi)

    def _phi(self) -> sp.csr_matrix:
        of_arcs = sp.vstack([self.windows.csr(), sp.csr_matrix((1, self.windows.n_columns))], format="csr")
        return sp.hstack([of_arcs[self.lattice.arc], self.grams.csr()[self.lattice.join]], format="csr")

    @property
    def parts(self) -> list[list[Any]]:  # type: ignore[override]
        """Per sample, the pair of input and output of the piece of every edge; None at ends."""
        return self._once(
            "parts", lambda: [self._pairs(i, np.arange(n)) for i, n in enumerate(self._sizes())]
        )

    @property
    def dead_ends(self) -> list[Any]:  # type: ignore[override]
        """None: every input has an output."""
        return [None] * len(self)

    def _sizes(self) -> list[int]:
        return np.diff(self.edge_ptr).tolist()

    def _pairs(self, i: int, edges: np.ndarray) -> list[Any]:
        """Pieces of edges of sample ``i``, as pairs of the user's kind of strings."""
        arcs = self.lattice.arc[edges + self.edge_ptr[i]]
        first = self.x.offsets[i] + i
        starts = np.searchsorted(self.arcs.ptr, arcs, side="right") - 1 - first
        pieces, lengths = self.writing_at(arcs), np.append(self.arcs.length, 0)[arcs]
        x, space, out = self.inputs[i], self.space, []
        for arc, a, n, p in zip(
            arcs.tolist(), starts.tolist(), lengths.tolist(), pieces.tolist(), strict=True
        ):
            read = space.ends.removed(x[a : a + n], a, len(x))
            out.append(None if arc < 0 else (space.input_of(read), self.writing_of(p)))
        return out

    def piece_of(self, arcs: np.ndarray) -> np.ndarray:
        """Pieces of arcs; the end for -1."""
        ended = self._once("piece", lambda: np.append(self.arcs.piece, self.space.pieces.end))
        return ended[arcs]

    @property
    def output_symbols(self) -> list[Any]:
        """Symbols that outputs of these inputs may have."""
        return self.space.output_symbols + ([] if self.novel is None else self.novel.symbols)

    def writing_at(self, arcs: np.ndarray) -> np.ndarray:
        """Number of what arcs write, see :attr:`inventory`; the end for -1."""
        if self.novel is None:
            return self.piece_of(arcs)
        novel = self.novel
        return self._once("writes", lambda: np.append(novel.writes, self.space.pieces.end))[arcs]

    @property
    def inventory(self) -> tuple[np.ndarray, np.ndarray]:
        """Output symbols of the pieces, and after them of copies of new symbols: where those of each begin,
        and their codes.
        """
        pieces, novel = self.space.pieces, self.novel
        if novel is None:
            return pieces.out_ptr, pieces.out
        return self._once("inventory", lambda: novel.inventory(pieces))

    def writing_of(self, number: int) -> Any:
        """An entry of :attr:`inventory` as the user's kind of string."""
        if number < len(self.space.pieces):
            return self.space.writing_of(number)
        assert self.novel is not None
        codes = self.novel.outputs[number - len(self.space.pieces)]
        symbols = tuple(self.output_symbols[c] for c in codes)
        return "".join(symbols) if self.space.text[1] else symbols

    def piece_at(self, i: int, start: int, read: tuple[Any, ...], written: tuple[Any, ...]) -> int:
        """Piece of an arc of sample ``i`` that writes given symbols as others; -1 where there is none."""
        row = self.x.offsets[i] + i + start
        for arc in range(self.arcs.ptr[row], self.arcs.ptr[row + 1]):
            if self.arcs.length[arc] == len(read):
                number = int(self.writing_at(np.array([arc]))[0])
                if tuple(self.writing_of(number)) == written:
                    return int(self.arcs.piece[arc])
        return -1

    def _take(self, index: np.ndarray, gold: Ragged | None) -> TransducerBatch:
        return store.taken(self, index, gold)

    def into(self, space: Space) -> TransducerBatch:
        """The same samples in another space."""
        return store.into_space(self, cast("TransducerSpace", space))

    def joined(self, other: Batch) -> TransducerBatch:
        """Samples of two batches."""
        return store.joined(self, cast("TransducerBatch", other))

    def state(self) -> dict[str, Any]:
        """Inputs and true outputs, as codes."""
        return store.batch_state(self)

    # -- linear maps ------------------------------------------------------------------------

    def _halves(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of arcs and of joins; the last entries are for edges that have none."""
        w = np.asarray(w, dtype=np.float64)
        n = self.windows.n_columns
        return self.windows.times(w[:n]), self.grams.times(w[n:])

    def scores(self, w: np.ndarray) -> Parts:
        """Edge scores of a weight vector."""
        arcs, joins = self._halves(w)
        return Parts(edge=arcs[self.lattice.arc] + joins[self.lattice.join])

    @property
    def law_weight(self) -> float:
        """Weight of :meth:`law_scores` beside learnt scores."""
        return 0.0 if self.space.law is None else float(self.space.structure.law)

    def law_scores(self) -> Parts:
        """Log-probabilities under the Kneser-Ney model of pieces."""
        if self.space.law is None:
            raise InputError("this transducer comes from the names of weights; its pieces were not counted")
        return Parts(edge=self.space.law.log_p(self.joins)[self.lattice.join])

    def pull(self, parts: Parts) -> np.ndarray:
        """Edge values to features, summed over samples."""
        arcs = np.bincount(self.lattice.arc + 1, parts.edge, minlength=self.arcs.piece.size + 1)[1:]
        joins = np.bincount(self.lattice.join, parts.edge, minlength=len(self.joins))
        return self._pulled(arcs, joins)

    def _pulled(self, arcs: np.ndarray, joins: np.ndarray) -> np.ndarray:
        return np.concatenate([self.windows.turned_times(arcs), self.grams.turned_times(joins)])

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Edge values to features, one row per sample."""
        n, lattice = len(self), self.lattice
        arcs = sp.csr_matrix((parts.edge, lattice.arc + 1, self.edge_ptr), (n, self.arcs.piece.size + 1))[
            :, 1:
        ]
        joins = sp.csr_matrix((parts.edge, lattice.join, self.edge_ptr), (n, len(self.joins)))
        return sp.hstack([arcs @ self.windows.csr(), joins @ self.grams.csr()], format="csr")

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of the features of all edges, twice while they are joined, or of what costs are made of.

        Parameters
        ----------
        question : {"viterbi", "generative", "expect", "tangent"}
            What the recursions are asked for.
        costs : bool
            Whether parts have costs.
        """
        if question == "viterbi" and costs:
            return _BYTES_OF_COSTS * self.n_edges
        if question != "tangent" and not costs:
            return 0
        of_arcs = np.append(np.diff(self.windows.indptr), 0)[self.lattice.arc]
        of_joins = np.append(np.diff(self.grams.indptr), 0)[self.lattice.join]
        return 2 * _BYTES_OF_FEATURE * int(of_arcs.sum() + of_joins.sum())

    # -- sums over outputs, with hidden alignments and without --------------------------------

    def _sums(
        self, lattice: Lattice, owner: np.ndarray, halves: tuple[np.ndarray, np.ndarray], weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log sums over the paths of lattices and the weighted sums of their expected arcs and joins."""
        from trelliswork.dp.transducer.lattice import inside_outside

        arc_score, join_score = halves
        if np.abs(join_score).max() > _LARGE:
            return self._log_sums(lattice, arc_score[lattice.arc] + join_score[lattice.join], owner, weights)
        rows = np.append(np.diff(self.arcs.ptr), 0)
        filled = rows > 0
        top = np.zeros(rows.size)
        top[filled] = np.maximum.reduceat(arc_score, np.append(self.arcs.ptr[:-1], 0)[filled])
        factor = np.append(np.exp(arc_score[:-1] - np.repeat(top, rows)), 1.0)
        nodes = np.repeat(self.x.offsets[owner] + owner, np.diff(lattice.graph_ptr))
        factors = Factors(factor, top[nodes + lattice.place], np.exp(join_score))
        log_z, arcs = np.empty(owner.size), np.zeros(factor.size - 1)
        chunks = balanced_chunks(lattice.edge_ptr, self.limits.edges_per_chunk * _KERNEL_CHUNKS)

        def task(a: int, b: int) -> np.ndarray:
            joins = np.zeros(join_score.size - 1)
            inside_outside(lattice, factors, weights, a, b, Sums(log_z, arcs, joins))
            return joins

        return log_z, arcs, sum(run(task, chunks, n_threads(self.n_jobs)), np.zeros(len(self.joins)))

    def _log_sums(
        self, lattice: Lattice, score: np.ndarray, owner: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same from scores of edges, however large."""
        from trelliswork.dp.derivations import hypergraph

        graph, n = graph_of(lattice), owner.size
        log_beta, rho_node, rho = (
            np.empty(lattice.place.size),
            np.empty(lattice.place.size),
            np.zeros(score.size),
        )
        hypergraph.inside(*graph, score, 0, n, log_beta)
        hypergraph.marginals(*graph, score, 0, n, log_beta, rho_node, rho)
        rho *= np.repeat(weights, np.diff(lattice.edge_ptr))
        arcs = np.bincount(lattice.arc + 1, rho, minlength=self.arcs.piece.size + 1)[1:]
        joins = np.bincount(lattice.join, rho, minlength=len(self.joins))
        return log_beta[lattice.graph_ptr[1:] - 1], arcs, joins

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        if costs is not None:
            return super().expect(w, costs, weights)
        weight = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        log_z, arcs, joins = self._sums(self.lattice, np.arange(len(self)), self._halves(w), weight)
        return log_z, self._pulled(arcs, joins)

    @property
    def open_samples(self) -> np.ndarray:
        """All samples, if the alignments of the true outputs are hidden."""
        return np.arange(0 if self.given is None else len(self))

    def expect_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """``expect`` over the alignments of the true outputs."""
        lattice, owner, _ = self._known()
        halves, weight = self._halves(w), np.ones(len(self)) if weights is None else np.asarray(weights)
        share = np.ones(owner.size)
        if owner.size > len(self):  # several true outputs: first how probable each is
            each, _, _ = self._sums(lattice, owner, halves, np.zeros(owner.size))
            share = np.exp(each - _by_owner(each, owner, len(self))[owner])
        log_z, arcs, joins = self._sums(lattice, owner, halves, share * weight[owner])
        return _by_owner(log_z, owner, len(self)), self._pulled(arcs, joins)

    def completion(self, scores: Parts) -> Decoded:
        """Best alignment of a true output, for every sample."""
        from trelliswork.dp.derivations import hypergraph

        lattice, owner, edges = self._known()
        graph, score = graph_of(lattice), self._total(scores, None)[edges]
        best, back = np.empty(lattice.place.size), np.empty(lattice.place.size, dtype=np.int64)
        hypergraph.viterbi(*graph, score, 0, owner.size, best, back)
        ptr, used = hypergraph.derivations(graph.graph_ptr, graph.tail_ptr, graph.tails, 0, owner.size, back)
        values, chosen = best[lattice.graph_ptr[1:] - 1], np.zeros(len(self), dtype=np.int64)
        for output in np.argsort(values, kind="stable"):  # the last, the best, stays
            chosen[owner[output]] = output
        codes = Ragged(edges[used], ptr)[chosen]
        return Decoded(
            Ragged(codes.values - np.repeat(self.edge_ptr[:-1], codes.lengths), codes.offsets), values[chosen]
        )

    def _forbidden(self) -> Parts:
        raise Unsupported("what is known of an output of Transducer cannot be written as forbidden pieces")

    def gold_values(self, scores: Parts) -> np.ndarray:
        """Logs of the sums over the alignments of the true outputs."""
        if not self.partly_known:
            return super().gold_values(scores)
        lattice, owner, edges = self._known()
        score = self._total(scores, None)[edges]
        return _by_owner(self._log_sums(lattice, score, owner, np.zeros(owner.size))[0], owner, len(self))

    def _known(self) -> tuple[Lattice, np.ndarray, np.ndarray]:
        """Alignments of the true outputs as lattices, the sample of each, and the edges that theirs are."""
        return self._once("known", lambda: store.known_lattice(self))

    # -- decoding -----------------------------------------------------------------------------

    def _kbest(
        self, scores: Parts, k: int, costs: Parts | None = None
    ) -> tuple[np.ndarray, np.ndarray, Ragged]:
        """Best paths of all samples one after the other: where those of each begin, values, codes."""
        if not 0 < k <= _LISTED:
            return super()._kbest(scores, k, costs)
        from trelliswork.dp.transducer.kbest import kbest

        score, lattice = self._total(scores, costs), self.lattice
        chunks = self._run(
            lambda a, b: kbest(lattice.graph_ptr, lattice.node_ptr, lattice.tail, score, a, b, k)
        )
        none = [np.zeros(0, dtype=np.int64)]
        counts = np.concatenate([np.diff(part[0]) for part in chunks] or none)
        self._check_possible(np.where(counts > 0, 0.0, -np.inf))
        lengths = np.concatenate([np.diff(part[2]) for part in chunks] or none)
        totals, codes = (np.concatenate([part[j] for part in chunks] or none) for j in (1, 3))
        return offsets_of(counts), totals, Ragged(codes, offsets_of(lengths))

    def predicted(self, scores: Parts) -> Decoded:
        """Best outputs, summed over their alignments, among the best paths."""
        if self.space.structure.output == "pieces":
            return self.argmax(scores)
        _, values, codes = candidates.merged(self, self._kbest(scores, candidates.PATHS), 1)
        return Decoded(codes, values)

    def candidates(self, scores: Parts, k: int) -> list[Decoded]:
        """Up to ``k`` best outputs of each sample, no output twice; values are sums over alignments."""
        if self.space.structure.output == "pieces":
            return self.kbest(scores, k)
        ptr, values, codes = candidates.merged(self, self._kbest(scores, candidates.PATHS * k), k)
        bounds = zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)
        return [Decoded(codes[a:b], values[a:b]) for a, b in bounds]

    # -- outputs ------------------------------------------------------------------------------

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to outputs; row ``i`` belongs to sample ``i``."""
        if len(codes) != len(self):
            raise ValueError(f"{len(codes)} outputs for {len(self)} samples; see unpack_sample")
        return self._outputs(np.arange(len(self)), codes)

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Codes of several outputs of one sample to outputs."""
        return self._outputs(np.full(len(codes), i), codes)

    def alignments(self, codes: Ragged) -> list[list[tuple[Any, Any]]]:
        """The pieces of outputs: pairs of an input, empty at an end, and what it is written as."""
        rows = (self._parts_of(i, row) for i, row in enumerate(codes))
        return [[pair for pair in row if any(map(len, pair))] for row in rows]

    def _parts_of(self, i: int, row: np.ndarray) -> list[Any]:
        return [pair for pair in self._pairs(i, row) if pair is not None]

    def _outputs(self, sample: np.ndarray, codes: Ragged) -> list[Any]:
        if self.space.structure.output == "pieces":
            return [self._parts_of(i, row) for i, row in zip(sample.tolist(), codes, strict=True)]
        piece = self.written_pieces(sample, codes).tolist()
        bounds = zip(codes.offsets[:-1].tolist(), codes.offsets[1:].tolist(), strict=True)
        return [self.output_of(piece[a:b]) for a, b in bounds]

    def output_of(self, numbers: list[int]) -> Any:
        """What entries of :attr:`inventory` are together."""
        if self.novel is None:
            return self.space.output_of(numbers)
        written = [self.writing_of(number) for number in numbers]
        return "".join(written) if self.space.text[1] else [s for symbols in written for s in symbols]

    def written_pieces(self, sample: np.ndarray, codes: Ragged) -> np.ndarray:
        """What the pieces of the outputs ``codes``, whose samples are given, write."""
        edges = codes.values + np.repeat(self.edge_ptr[sample], codes.lengths)
        return self.writing_at(self.lattice.arc[edges])

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the piece) for every piece that the true output lacks."""
        lattice = self.lattice
        pieces, edge_piece = self.space.pieces, self.piece_of(lattice.arc)
        new = self.novel is not None or bool(np.any(edge_piece == pieces.unknown))
        if label_weight is not None or new:
            return self.mismatch_of_parts(label_weight)  # pieces by name
        owner = np.repeat(np.arange(len(self)), np.diff(self.edge_ptr))
        keys = owner * len(pieces) + edge_piece
        free = np.isin(keys, keys[self._edges(self.gold_codes)]) | (edge_piece == pieces.end)
        return Parts(edge=1.0 - free), np.zeros(len(self))

    def check_gold(self) -> None:
        """Refuse true outputs that cannot be written."""
        bad = np.flatnonzero(self.gold_codes.lengths == 0)
        if bad.size:
            raise InputError(store.NOT_WRITTEN, sample=int(bad[0]))


_BYTES_OF_FEATURE, _BYTES_OF_COSTS = 12, 120  # of an entry, and of an edge
_LISTED = 64  # paths up to which every node keeps a list of its best
_LARGE = 300.0  # scores of joins whose exponentials could leave the range of numbers
_KERNEL_CHUNKS = 32  # the scaled recursion does so many times more edges at a time than that of all graphs


def _by_owner(values: np.ndarray, owner: np.ndarray, n: int) -> np.ndarray:
    """Log of the sums of exponentials, by owner."""
    if values.size == n:
        return values
    top = np.full(n, -np.inf)
    np.maximum.at(top, owner, values)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.bincount(owner, np.exp(values - safe[owner]), minlength=n)
    with np.errstate(divide="ignore"):
        return safe + np.log(total)
