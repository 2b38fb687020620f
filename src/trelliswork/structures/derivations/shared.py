"""Outputs that several derivations share: which of them it was is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.base import Decoded, Parts
from trelliswork.structures.derivations.batch import DerivationBatch
from trelliswork.structures.derivations.gold import Shared, derivations_of
from trelliswork.structures.derivations.graph import Graph

__all__ = ["SharedBatch"]

_PATHS = 8  # derivations that are looked at for every output asked for


class SharedBatch(DerivationBatch):
    """Derivation graphs in which an output may have several derivations.

    The codes of a true output are those of one of its derivations; the others are found again from its parts.
    """

    _shared: list[Shared | None] | None = None  # derivations of the output of each sample, as far as needed
    _limited: tuple[DerivationBatch, np.ndarray, Parts] | None = None  # see :meth:`_alone`

    def _take(self, index: np.ndarray, gold: Ragged | None) -> SharedBatch:
        taken = super()._take(index, gold)
        assert isinstance(taken, SharedBatch)
        if self._shared is not None:
            taken._shared = [self._shared[i] for i in index.tolist()]
        return taken

    @property
    def open_samples(self) -> np.ndarray:
        """All samples with outputs: of those known as a whole the derivation is not known."""
        return np.arange(len(self)) if self.has_gold else super().open_samples

    def _masked(self, i: int) -> bool:
        """Whether the output of sample ``i`` is known by parts that it may have."""
        return self.known is not None and self.known[i] is not None

    def allowed_edges(self, i: int, known: Any) -> np.ndarray:
        """Which edges of sample ``i`` outputs may use; of a whole output those of all its derivations."""
        if known is None or self.is_open(known):
            return super().allowed_edges(i, known)
        single = self.subset([i])
        try:
            single.encode([known])
        except InputError as error:
            raise InputError(error.message, sample=i) from None
        shared = derivations_of(self.graph, i, self.parts[i], single._parts_of(0, single.gold_codes[0]))
        self._shared = [None] * len(self) if self._shared is None else self._shared
        self._shared[i] = shared
        used = np.zeros(len(self.parts[i]), dtype=bool)
        used[shared.edges] = True
        return used

    def _shares(self) -> list[Shared | None]:
        """All derivations of every output that is known as a whole; None for other samples."""
        if self._shared is None:
            self._shared = [None] * len(self)
        for i in range(len(self) if self.has_gold else 0):
            if self._shared[i] is None and not self._masked(i):
                row = self.gold_codes[i]
                none = np.zeros(0, dtype=np.int64)
                self._shared[i] = (
                    derivations_of(self.graph, i, self.parts[i], self._parts_of(i, row))
                    if row.size
                    else Shared(np.zeros(1, dtype=np.int64), none, none, none)
                )
        return self._shared

    def _alone(self) -> tuple[DerivationBatch, np.ndarray, Parts]:
        """Graphs of the derivations that agree with what is known, the edges that theirs are, and costs that
        forbid further ones.
        """
        if self._limited is not None:
            return self._limited
        g, degrees, arity, tails, edges, costs, first = self.graph, [], [], [], [], [], 0
        for i, shared in enumerate(self._shares()):
            nodes, lo, hi = slice(g.graph_ptr[i], g.graph_ptr[i + 1]), self.edge_ptr[i], self.edge_ptr[i + 1]
            if shared is None:
                below = g.tails[g.tail_ptr[lo] : g.tail_ptr[hi]] - g.graph_ptr[i]
                shared = Shared(
                    np.diff(g.node_ptr)[nodes], np.diff(g.tail_ptr)[lo:hi], below, np.arange(hi - lo)
                )
            masked = self.known is not None and self.known[i] is not None
            allowed = self.known[i][shared.edges] if masked else np.ones(shared.edges.size, dtype=bool)  # type: ignore[index]
            degrees.append(shared.degrees)
            arity.append(shared.arity)
            tails.append(shared.tails + first)
            edges.append(shared.edges + lo)
            costs.append(np.where(allowed, 0.0, -np.inf))
            first += shared.degrees.size
        graph_ptr = offsets_of(np.array([d.size for d in degrees], dtype=np.int64))
        flat = [
            np.concatenate([np.zeros(0, dtype=np.int64), *rows]) for rows in (degrees, arity, tails, edges)
        ]
        graph = Graph(graph_ptr, offsets_of(flat[0]), offsets_of(flat[1]), flat[2])
        local = Ragged(flat[3], graph.edge_ptr)
        names = [[self.parts[i][e] for e in (row - self.edge_ptr[i]).tolist()] for i, row in enumerate(local)]
        rest = self.inputs, names, self.dead_ends, None, self.n_jobs
        alone = type(self)(self.space, graph, self.phi[flat[3]], *rest)
        self._limited = alone, flat[3], Parts(edge=np.concatenate([np.zeros(0), *costs]))
        return self._limited

    def restricted(self) -> tuple[DerivationBatch, Parts | None]:
        """Graphs of the derivations that agree with what is known, and costs that forbid others."""
        alone, _, costs = self._alone()
        return alone, costs

    def completion(self, scores: Parts) -> Decoded:
        """Best derivation that agrees with what is known, for every sample."""
        alone, edges, costs = self._alone()
        best = alone.argmax(Parts(edge=self._total(scores, None)[edges]), costs)
        used = edges[alone._edges(best.codes)] - np.repeat(self.edge_ptr[:-1], best.codes.lengths)
        return Decoded(Ragged(used, best.codes.offsets), best.values)

    def gold_values(self, scores: Parts) -> np.ndarray:
        """Logs of the sums over the derivations of the true outputs."""
        alone, edges, costs = self._alone()
        return alone.log_partition(Parts(edge=self._total(scores, None)[edges]), costs)

    def _forbidden(self) -> Parts:
        """Edges of no derivation that agrees with what is known."""
        _, edges, costs = self._alone()
        out = np.full(self.n_edges, -np.inf)
        out[edges[costs.edge == 0.0]] = 0.0
        return Parts(edge=out)

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the part) for every part that the true output lacks, or that what is known
        of it forbids.
        """
        costs, constant = self.mismatch_of_parts(label_weight)
        for i in range(len(self)):
            if self.known is not None and self.known[i] is not None:
                costs.edge[self.edge_ptr[i] : self.edge_ptr[i + 1]] = ~self.known[i]
        return costs, constant

    # -- decoding -----------------------------------------------------------------------------

    def predicted(self, scores: Parts) -> Decoded:
        """Best output of every sample, summed over its derivations among the best ones."""
        best = self.candidates(scores, 1)
        rows = Ragged.from_list([found.codes[0] for found in best], np.int64)
        return Decoded(rows, np.array([found.values[0] for found in best]))

    def candidates(self, scores: Parts, k: int) -> list[Decoded]:
        """Up to ``k`` best outputs of each sample, no output twice; values are sums over derivations."""
        out = []
        for i, found in enumerate(self.kbest(scores, _PATHS * k)):
            rows: dict[tuple[Any, ...], list[int]] = {}
            for r, codes in enumerate(found.codes):
                rows.setdefault(tuple(self._parts_of(i, codes)), []).append(r)
            totals = np.array([np.logaddexp.reduce(found.values[same]) for same in rows.values()])
            order = np.argsort(-totals, kind="stable")[:k]
            first = np.array([same[0] for same in rows.values()], dtype=np.int64)
            out.append(Decoded(found.codes[first[order]], totals[order]))
        return out
