"""Label sequences compiled into arrays: the verbs, and what chains can do beyond them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork.structures.abilities import (
    Factored,
    Labelled,
    LossProfiles,
    Multinomials,
    PartlyKnown,
    ReadByAutomata,
    Reading,
    ReferenceLaw,
    Rows,
    RowView,
    Settled,
    Settling,
    Storable,
    Unsettled,
    unsupported,
)
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.chain import hmm, store
from trelliswork.structures.chain.known import sure_tokens
from trelliswork.structures.chain.verbs import ChainVerbs
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.known import least_costs
from trelliswork.structures.normal import holds_measurements
from trelliswork.structures.scaling import Scalable, rescaled

if TYPE_CHECKING:
    from trelliswork.structures.chain.product import ChainProduct
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.factors import Factors
    from trelliswork.structures.tokens import TokenMap

__all__ = ["ChainBatch"]


class ChainBatch(
    ChainVerbs,
    Storable,
    LossProfiles,
    ReadByAutomata,
    Factored,
    Multinomials,
    ReferenceLaw,
    Rows,
    Labelled,
    PartlyKnown,
    Scalable,
    Settling,
):
    """Packed label sequences and every question about them; their verbs are those of :class:`ChainVerbs`."""

    def __getstate__(self) -> dict[str, Any]:
        # Cheap to build again.
        return super().__getstate__() | {
            "_scratch": None,
            "_lane_cache": None,
            "_joint": None,
            "_agreeing": None,
            "_places": None,
        }

    def _take(self, index: np.ndarray, gold: Ragged | None) -> ChainBatch:
        tokens = gather_ranges(self.offsets, index)
        part = ChainBatch(
            self.space,
            offsets_of(np.diff(self.offsets)[index]),
            self.emission.subset(tokens),
            None if self.edge is None else self.edge.subset(tokens),
            gold,
            None if self.user_allowed is None else self.user_allowed[tokens],
            self.n_jobs,
        )
        part._by_symbols = None if self._by_symbols is None else self._by_symbols[tokens]
        return part

    def canonical(self) -> ChainBatch:
        """The same sequences, with rows of features in the order of the tokens."""
        same = copy.copy(self)
        same._scratch = same._joint = same._places = None
        same.emission = self.emission.canonical()
        same.edge = None if self.edge is None else self.edge.canonical()
        return same

    def columns(self, weights: np.ndarray | None) -> tuple[TokenMap, np.ndarray | None]:
        """Features as they came, and weights of tokens."""
        return rescaled(self.emission, self.space.scaling, None), self._of_tokens(weights)

    def rescaled(self, space: Any) -> ChainBatch:
        """The same sequences on another scale."""
        return store.on_scale_of(self, space)

    def labelled_rows(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows of the tokens, their true labels and their weights."""
        rows = self.emission.dense_rows(len(self.space.attributes))
        return rows, self.gold_codes.values, self._of_tokens(weights)

    def _of_tokens(self, weights: np.ndarray | None) -> np.ndarray | None:
        return None if weights is None else np.repeat(weights, np.diff(self.offsets))

    def seen_attributes(self) -> np.ndarray:
        """Number of blocks of rows where an attribute is used."""
        return self.emission.used().astype(np.int64)

    def as_new(self, seen: np.ndarray) -> ChainBatch:
        """The same sequences without the attributes that were not seen; their tokens may be unknown."""
        return store.as_new(self, seen)

    def unsure(self, weights: np.ndarray | None = None) -> np.ndarray | None:
        """Tokens whose true label is not sure; chains of order 1 whose labels are free."""
        space, n = self.space, self.n_tokens
        ends = space.start_mask is not None or space.end_mask is not None
        if space.order > 1 or self.edge is not None or self.allowed is not None or ends:
            return None
        if self._scratch is None or not self.has_gold:
            return None
        sure = self._scratch[1][np.arange(n), self.gold_codes.values]  # probabilities, times the weights
        if weights is not None:
            sure /= np.repeat(np.where(weights > 0, weights, 1.0), np.diff(self.offsets))
        return np.flatnonzero(sure < self.limits.settled)

    def _around(self, unsure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of the pieces, and which of all tokens are the first of a sequence."""
        n = self.n_tokens
        filled = self.offsets[:-1][np.diff(self.offsets) > 0]
        first, kept = np.zeros(n + 1, dtype=bool), np.zeros(n + 1, dtype=bool)
        first[filled] = first[n] = True
        kept[unsure] = True
        kept[unsure[~first[unsure + 1]] + 1] = True
        kept[unsure[~first[unsure]] - 1] = True
        return np.flatnonzero(kept), first

    def settled(self, unsure: np.ndarray) -> Settled:
        """Numbers of tokens."""
        return Settled(float(self.n_tokens), float(unsure.size), float(self._around(unsure)[0].size))

    def settling_pays(self, settled: Settled) -> bool:
        """Whether there are many tokens, and few of them unsure."""
        n, unsure, kept = settled
        limits = self.limits
        many = n >= limits.settling_tokens and 2 * unsure <= n
        return many and 0 < kept <= limits.settling_share * n

    def pieces(self, unsure: np.ndarray) -> Unsettled:
        """Every run of unsure tokens, with a sure token on either side."""
        tokens, first = self._around(unsure)
        starts = np.flatnonzero((np.diff(tokens, prepend=-2) != 1) | first[tokens])
        owners = np.searchsorted(self.offsets, tokens[starts], side="right") - 1
        offsets = np.append(starts, tokens.size)
        emission = self.emission.subset(tokens).with_own()
        part = ChainBatch(self.space, offsets, emission, None, None, None, self.n_jobs)
        return Unsettled(part, owners)

    # -- labels that are known in part -------------------------------------------------------------

    def possible(self) -> np.ndarray:
        """Labels (n_tokens, n_labels) that agree with what is known."""
        mask = np.ones((self.n_tokens, self.space.n_labels), dtype=bool)
        for i, possible in enumerate(self.known or ()):
            if possible is not None:
                mask[self.offsets[i] : self.offsets[i + 1]] = possible
        return mask

    def sure_labels(self) -> np.ndarray:
        """Tokens with one possible label."""
        return sure_tokens(self.n_tokens, self.offsets, self.known)

    def _forbidden(self) -> Parts:
        return Parts(unary=np.where(self.possible(), 0.0, -np.inf), trans=None, edge=None)

    def _guess(self) -> Parts:
        """Labels that are frequent among those that are known."""
        scores = self.scores(np.zeros(self.space.n_features))
        mask = self.possible()
        counts = mask[mask.sum(axis=1) == 1].sum(axis=0)
        return scores + Parts(unary=np.tile(np.log1p(counts), (self.n_tokens, 1)), trans=None, edge=None)

    # -- losses -----------------------------------------------------------------------------------

    @property
    def quick_profile(self) -> bool:
        """Whether the compiled recursion of order 1 finds the best scores by loss."""
        return self.space.order == 1 and self.edge is None

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs, shape (n_sequences, max_loss + 1)."""
        from trelliswork.structures.chain import graph

        return graph.loss_profile(self, scores, costs, max_loss)

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best label sequences among those with the given total cost."""
        from trelliswork.structures.chain import graph

        return graph.argmax_at_loss(self, scores, costs, losses)

    def readings(self) -> list[Reading]:
        """The true labels and the label alphabet of every sequence."""
        labels = self.space.labels
        return [Reading(y, labels, len(y), True) for y in self.unpack(self.gold_codes)]

    def product(self, automata: Sequence[Any]) -> ChainProduct:
        """Product with one loss automaton per sequence."""
        from trelliswork.structures.chain.product import ChainProduct

        return ChainProduct(self, automata)

    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Cost ``table[gold, label]`` of every token."""
        table = np.asarray(table, dtype=np.float64)
        unary = table[self.gold_codes.values]
        for i in self.open_samples:  # what may be the true label costs nothing more
            rows = slice(self.offsets[i], self.offsets[i + 1])
            unary[rows] = least_costs(table, self.known[i])  # type: ignore[index]
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))

    def factors(self) -> Factors:
        """The factor graph."""
        from trelliswork.structures.chain.factors import ChainFactors

        return ChainFactors(self)

    # -- moments and the hidden Markov model --------------------------------------------------------

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments; in closed form for the uniform law over all label sequences."""
        from trelliswork.structures.chain.gibbs import GibbsChain, PlainChain
        from trelliswork.structures.chain.uniform import UniformChain, is_free

        if scores is None and is_free(self):
            return UniformChain(self, None, weights, about)
        if scores is None and PlainChain.fits(self):
            return PlainChain(self, None, weights, about)
        return GibbsChain(self, scores, weights, about)

    def multinomials(self) -> dict[Any, np.ndarray]:
        """``("start",)``, ``("transition", label, ...)`` with stopping, and ``("emission", label)``."""
        return hmm.hmm_choices(self)

    def log_probabilities(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Log-probabilities of a hidden Markov model."""
        return hmm.hmm_log_probabilities(self, smoothing, weights, counts)

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Weights of a hidden Markov model; those of orders above 1 telescope."""
        return hmm.hmm_weights(self, log_p)

    def value_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Values of the attributes where they are not 0."""
        tokens = None if weights is None else np.repeat(weights, np.diff(self.offsets))
        return self.emission.value_sums(len(self.space.attributes), tokens)

    @property
    def is_generative(self) -> bool:
        """Whether weights are log-probabilities: those of a hidden Markov model of symbols."""
        return not holds_measurements(self)

    def attribute_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Attributes of tokens, and tokens; none where labels emit normal distributions."""
        if holds_measurements(self):
            return 0.0, 0.0
        return self.value_sums(weights)[1], hmm.count_tokens(self, weights)

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights of a hidden Markov model; its labels emit normal distributions of measurements."""
        if counts is None and holds_measurements(self):
            return hmm.normal_weights(self, smoothing, weights)
        return self.outcome_weights(self.log_probabilities(smoothing, weights, counts))

    def scores_each(self, W: np.ndarray) -> Parts:
        """Token and context scores of one weight vector per sequence."""
        return hmm.scores_each(self, W)

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of a hidden Markov model in which symbols that were never seen say nothing.

        Where tokens are rows of arrays, labels emit normal distributions of them; other attributes with
        negative values are left out.
        """
        if self.space.measured:
            return hmm.normal_weights(self, smoothing, weights)
        w = hmm.hmm_log_probabilities(self, smoothing, weights, any_values=True)
        if "unknown" in self.space.marker_names and not self.summed(hmm.unknown_tokens):
            # Smoothing alone would make rare labels likely at unknown symbols.
            self.space.split(w)[0].reshape(-1, self.space.n_labels)[-1] = 0.0
        return w

    def reference_scores(self, w: np.ndarray) -> Parts:
        """Scores of a hidden Markov model; the attributes of a token are averaged, not added."""
        return self.scores(w) if self.space.measured else hmm.hmm_scores(self, w)

    @property
    def reference_is_linear(self) -> bool:
        """Whether nothing is averaged."""
        return self.space.measured

    # -- other spaces, other batches, other rows ---------------------------------------------------------

    def into(self, space: Space) -> ChainBatch:
        """The same sequences in a larger or restricted space."""
        return store.into_space(self, cast("ChainSpace", space))

    def joined(self, other: Batch) -> ChainBatch:
        """Sequences of two batches."""
        return store.joined(self, cast("ChainBatch", other))

    def state(self) -> dict[str, Any]:
        """Distinct rows, rows of tokens, labels."""
        return store.batch_state(self)

    def row_view(self) -> RowView:
        """The same sequences with one attribute per distinct token."""
        if self.edge is not None:
            raise unsupported(type(self.space.structure), Rows)
        return store.row_view(self)
