"""Packed label sequences: features to part scores and back, and what the learners ask of gold labels."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._validate import as_number
from trelliswork.structures.base import Ascent, Batch, Decoded, Parts, RowView, Space
from trelliswork.structures.chain import hmm, store
from trelliswork.structures.chain.contexts import context_before
from trelliswork.structures.chain.hmm import hmm_scores
from trelliswork.structures.chain.inference import ChainInference
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.readings import Reading
from trelliswork.structures.tokens import TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.product import ChainProduct
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.factors import Factors

__all__ = ["ChainBatch"]

_TOKENS_OF_DRAWS = 200_000


class ChainBatch(ChainInference):
    """Packed label sequences.

    Part arrays: ``unary`` (n_tokens, n_labels); ``trans`` (n_contexts, n_labels), shared,
    or (n_sequences, n_contexts, n_labels); ``edge`` (n_tokens, n_labels, n_labels) or None, or
    with longer n-grams one value per cell of ``joint``.
    """

    fixed_length: ClassVar[bool] = True
    shared_parts: ClassVar[frozenset[str] | None] = frozenset({"trans"})

    space: ChainSpace

    def __init__(
        self,
        space: ChainSpace,
        offsets: np.ndarray,
        emission: TokenMap,
        edge: TokenMap | None,
        gold: np.ndarray | None,
        allowed: np.ndarray | None,
        n_jobs: int | None,
    ):
        super().__init__()
        self.space = space
        self.offsets = offsets
        self.emission = emission
        self.edge = edge
        self._gold = gold
        self.user_allowed = allowed
        self.n_jobs = n_jobs
        self._limits: np.ndarray | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Cheap to build again.
        return self.__dict__ | {"_scratch": None, "_lane_cache": None, "_joint": None}

    @property
    def allowed(self) -> np.ndarray | None:
        """Labels (n_tokens, n_labels) that the user and the symbols of a token allow; None for all."""
        mask = self.space.symbol_mask
        if mask is None:
            return self.user_allowed
        if self._limits is None:
            forbidden = np.zeros((self.space.emission_layout.n_attributes, self.space.n_labels))
            forbidden[: mask.shape[0]] = ~mask
            used = (self.emission.token_matrix() != 0).astype(np.float64)
            own = self.user_allowed
            self._limits = used @ forbidden == 0
            if own is not None:
                self._limits &= own
            unary, trans = np.zeros(self._limits.shape), np.zeros(self.space.successor.shape)
            zeros = Parts(unary=unary, trans=trans, edge=None)
            stuck = gather_ranges(self.offsets, np.flatnonzero(self.log_partition(zeros) == -np.inf))
            self._limits[stuck] = True if own is None else own[stuck]
        return self._limits

    @property
    def has_gold(self) -> bool:
        """Whether labels were given."""
        return self._gold is not None

    @property
    def gold_codes(self) -> Ragged:
        """Codes of the given labels."""
        if self._gold is None:
            raise InputError("these sequences were packed without labels")
        return Ragged(self._gold, self.offsets)

    def subset(self, index: np.ndarray) -> ChainBatch:
        """Batch of some of the sequences."""
        index = np.asarray(index)
        tokens = gather_ranges(self.offsets, index)
        part = ChainBatch(
            self.space,
            offsets_of(np.diff(self.offsets)[index]),
            self.emission.subset(tokens),
            None if self.edge is None else self.edge.subset(tokens),
            None if self._gold is None else self._gold[tokens],
            None if self.user_allowed is None else self.user_allowed[tokens],
            self.n_jobs,
        )
        part._limits = None if self._limits is None else self._limits[tokens]
        return part

    def into(self, space: Space) -> ChainBatch:
        """The same sequences in a larger or restricted space."""
        return store.into_space(self, cast("ChainSpace", space))

    def joined(self, other: Batch) -> ChainBatch:
        """Sequences of two batches."""
        return store.joined(self, cast("ChainBatch", other))

    def state(self) -> dict[str, Any]:
        """Distinct rows, rows of tokens, labels."""
        return store.batch_state(self)

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> Parts:
        """Token and context scores of a weight vector."""
        emission, edge, grams = self.space.split(np.asarray(w, dtype=np.float64))
        k = self.space.n_labels
        trans = (self.space.ngram_matrix @ grams).reshape(-1, k)
        unary = self.emission.scores(emission, self._threads, out)
        pairs = None
        if self.joint is not None:
            pairs = self.joint.matrix @ edge
        elif self.edge is not None:
            pairs = self.edge.scores(edge, self._threads).reshape(-1, k, k)
        return Parts(unary=unary, trans=trans, edge=pairs)

    def pull(self, parts: Parts) -> np.ndarray:
        """Part values to features, summed over sequences."""
        trans = parts.trans if parts.trans.ndim == 2 else parts.trans.sum(axis=0)
        pieces = [self.emission.pull(parts.unary, self._threads)]
        if self.edge is not None:
            pieces.append(self._pull_edges(parts.edge))
        pieces.append(self.space.ngram_matrix.T @ trans.ravel())
        return np.concatenate(pieces)

    def _pull_edges(self, edge: np.ndarray | None) -> np.ndarray:
        assert self.edge is not None
        if edge is None:
            return np.zeros(self.space.n_edges)
        if self.joint is not None:
            return self.joint.matrix.T @ edge
        return self.edge.pull(self._inner_edges(edge), self._threads)

    def _inner_edges(self, edge: np.ndarray) -> np.ndarray:
        # A first token has no previous label: whatever stands there is not a part.
        flat = edge.reshape(self.n_tokens, self.space.n_labels**2).copy()
        flat[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0.0
        return flat

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Part values to features, one row per sequence."""
        n = len(self)
        if parts.trans.ndim != 3:
            raise ValueError("pull_each needs parts made with each=True")
        pieces = [self.emission.pull_each(parts.unary, self.offsets)]
        if self.edge is not None:
            if parts.edge is None:
                pieces.append(sp.csr_matrix((n, self.space.n_edges)))
            elif self.joint is not None:
                cells = np.arange(parts.edge.size)
                rows = sp.csr_matrix((parts.edge, cells, self.joint.offsets), shape=(n, parts.edge.size))
                pieces.append(rows @ self.joint.matrix)
            else:
                pieces.append(self.edge.pull_each(self._inner_edges(parts.edge), self.offsets))
        pieces.append(sp.csr_matrix(parts.trans.reshape(n, -1)) @ self.space.ngram_matrix)
        return sp.hstack(pieces, format="csr")

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """Parts of given label sequences."""
        k, n_contexts = self.space.n_labels, self.space.successor.shape[0]
        labels = codes.values
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        value = np.ones(self.n_tokens) if weights is None else np.asarray(weights, dtype=np.float64)[owner]
        unary = np.zeros((self.n_tokens, k))
        unary[np.arange(self.n_tokens), labels] = value
        before = context_before(labels, self.offsets, k, self.space.order)
        at = np.flatnonzero(before >= 0)
        flat = before[at] * k + labels[at]
        size = n_contexts * k
        if each:
            flat = flat + owner[at] * size
        n_tables = len(self) if each else 1
        trans = np.bincount(flat, weights=value[at], minlength=n_tables * size)
        trans = trans.reshape(n_tables, n_contexts, k)
        edge = self._no_edges()
        if self.joint is not None:
            cells, tokens = self.joint.of_labels(labels, self.offsets)
            edge[cells] = value[tokens]
        elif edge is not None:
            edge[at, labels[at - 1], labels[at]] = value[at]
        return Parts(unary=unary, trans=trans if each else trans[0], edge=edge)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Tokens (and cells) of every sequence."""
        return {"unary": self.offsets, "edge": self.offsets if self.joint is None else self.joint.offsets}

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

    def factors(self) -> Factors:
        """The factor graph."""
        from trelliswork.structures.factors import ChainFactors

        return ChainFactors(self)

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

    def features_of_draws(self, draws: Sequence[Ragged]) -> sp.csr_matrix:
        """Feature vectors of several label sequences per sample, many draws at a time."""
        step = max(1, _TOKENS_OF_DRAWS // max(self.n_tokens, 1))
        pieces = []
        for first in range(0, len(draws), step):
            part = draws[first : first + step]
            repeated = self.subset(np.tile(np.arange(len(self)), len(part)))
            codes = np.concatenate([codes.values for codes in part])
            pieces.append(repeated.features(Ragged(codes, repeated.offsets)))
        return sp.vstack(pieces, format="csr")

    # -- outputs ---------------------------------------------------------------------------------

    def unpack(self, codes: Ragged) -> list[list[Any]]:
        """Codes to lists of labels."""
        # Object arrays hand out the labels themselves; a loop over codes is five times slower.
        labels = np.empty(self.space.n_labels, dtype=object)
        for i, label in enumerate(self.space.labels):
            labels[i] = label
        flat = labels[codes.values].tolist()
        bounds = codes.offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(bounds)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[list[Any]]:
        """Several label sequences of sample ``i``; labels do not depend on the sample."""
        return self.unpack(codes)

    def unpack_marginals(self, parts: Parts) -> list[np.ndarray]:
        """Label probabilities, one array (n_tokens, n_labels) per sequence."""
        return [parts.unary[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def class_weights(self, class_weight: Any) -> np.ndarray:
        """Mean weight of the labels of each sequence; "balanced" is inverse to frequency."""
        k = self.space.n_labels
        gold = self.gold_codes.values
        if isinstance(class_weight, str):
            if class_weight != "balanced":
                raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
            counts = np.bincount(gold, minlength=k)
            by_label = gold.size / (k * np.maximum(counts, 1))
        else:
            if not isinstance(class_weight, Mapping):
                raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
            # A fold may lack some of the labels, but hardly all of them.
            if class_weight and not any(label in self.space.labels for label in class_weight):
                raise InputError(
                    f"class_weight: {list(class_weight)!r:.80} are not labels of the data; the labels are "
                    f"{self.space.labels!r:.80}"
                )
            by_label = np.ones(k)
            for i, label in enumerate(self.space.labels):
                by_label[i] = as_number(f"class_weight of {label!r}", class_weight.get(label, 1.0))
                if by_label[i] < 0:
                    raise InputError(f"class_weight of {label!r} is {by_label[i]}; it must be >= 0")
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        total = np.bincount(owner, weights=by_label[gold], minlength=len(self))
        return total / np.maximum(np.diff(self.offsets), 1)

    def generative_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of a hidden Markov model."""
        return self.outcome_weights(self.log_probabilities(smoothing, weights))

    def multinomials(self) -> dict[Any, np.ndarray]:
        """``("start",)``, ``("transition", label, ...)`` with stopping, and ``("emission", label)``."""
        return hmm.hmm_choices(self)

    def log_probabilities(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Log-probabilities of a hidden Markov model."""
        return hmm.hmm_log_probabilities(self, smoothing, weights)

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Weights of a hidden Markov model; those of orders above 1 telescope."""
        return hmm.hmm_weights(self, log_p)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Token and context scores of one weight vector per sequence."""
        return hmm.scores_each(self, W)

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of a hidden Markov model in which symbols that were never seen say nothing."""
        w = self.generative_weights(smoothing, weights)
        if "unknown" in self.space.marker_names and self.emission.blocks[-1].index.max(initial=-1) < 0:
            # Smoothing alone would make rare labels likely at unknown symbols.
            self.space.split(w)[0].reshape(-1, self.space.n_labels)[-1] = 0.0
        return w

    def reference_scores(self, w: np.ndarray) -> Parts:
        """Scores of a hidden Markov model; the attributes of a token are averaged, not added."""
        return hmm_scores(self, w)

    def perceptron_passes(
        self,
        w: np.ndarray,
        u: np.ndarray,
        orders: Iterable[np.ndarray],
        weights: np.ndarray,
        clock: np.ndarray,
    ) -> Generator[int, None, None]:
        """Passes of the perceptron, compiled for chains of order 1."""
        from trelliswork.accelerated import perceptron_chain

        if self.space.order != 1 or self.edge is not None or self.allowed is not None:
            return super().perceptron_passes(w, u, orders, weights, clock)
        return perceptron_chain.perceptron_passes(self, w, u, orders, weights, clock)

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the gold label) for every token with another label."""
        gold = self.gold_codes.values
        cost = np.ones(self.n_tokens)
        if label_weight is not None:
            cost = np.array([float(label_weight.get(label, 1.0)) for label in self.space.labels])[gold]
        unary = np.repeat(cost[:, None], self.space.n_labels, axis=1)
        unary[np.arange(self.n_tokens), gold] = 0.0
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))

    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Cost ``table[gold, label]`` of every token."""
        unary = np.asarray(table, dtype=np.float64)[self.gold_codes.values]
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))

    def scale(self, parts: Parts, factors: np.ndarray) -> Parts:
        """Part values times a factor per sequence; a shared table becomes one per sequence."""
        if parts.trans is not None and parts.trans.ndim == 2:
            trans = np.broadcast_to(parts.trans, (len(self), *parts.trans.shape))
            parts = Parts(unary=parts.unary, trans=trans, edge=parts.edge)
        return super().scale(parts, factors)

    def contrast(self, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix:
        """Gold features minus those of given label sequences; compiled for chains of order 1."""
        from trelliswork.structures.chain import rows as chain_rows

        if self.space.order != 1 or self.edge is not None:
            return super().contrast(codes, samples)
        return chain_rows.contrast(self, codes, samples)

    def ascent(
        self,
        height: Parts,
        scale: Parts | None,
        cap: np.ndarray,
        curvature: np.ndarray,
        cache_mb: float = 1000.0,
    ) -> Ascent | None:
        """Block-coordinate Frank-Wolfe with remembered label sequences, for chains of order 1."""
        from trelliswork.accelerated.svm_chain import ChainAscent

        simple = self.space.order == 1 and self.edge is None and self.allowed is None
        if not simple or scale is not None or height.trans is not None or curvature.any():
            return None
        return ChainAscent(self, height, cap, cache_mb) if np.isfinite(cap).all() else None

    def row_view(self) -> RowView:
        """The same sequences with one attribute per distinct token."""
        from trelliswork.structures.chain import rows as chain_rows

        if self.edge is not None:
            raise self._unsupported("row_view")
        return chain_rows.row_view(self)
