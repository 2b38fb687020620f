"""Samples in blocks, wherever these are: learners ask them what they ask of any batch."""

from __future__ import annotations

import functools
import itertools
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import Unsupported
from trelliswork._ragged import Ragged
from trelliswork.shards import questions
from trelliswork.shards.covariance import ShardedCovariance
from trelliswork.shards.recipes import GOLD, Asked, Method, PerBlock, PerSample, Recipe, asked, joined_rows
from trelliswork.structures.abilities import (
    ABILITIES,
    CountedParts,
    LossProfiles,
    ReadByAutomata,
    Rows,
    Settled,
    Settling,
    Unsettled,
)
from trelliswork.structures.base import Batch, Decoded, Parts, Space
from trelliswork.structures.scaling import Scalable

__all__ = ["Blocks", "ShardedBatch", "asked_blocks", "sharded"]

# What only whole batches can do: the learners that need it look at single outputs of all samples.
_WHOLE = (LossProfiles, CountedParts, ReadByAutomata, Rows)


class Blocks(Protocol):
    """Blocks of samples, in this process or elsewhere."""

    lengths: np.ndarray  # samples of every block

    def sum(self, question: Asked, values: list[Any]) -> Any:
        """Sum of the answers of all blocks, in the order of a fixed tree."""

    def each(self, question: Asked, values: list[Any]) -> list[Any]:
        """Answers of all blocks, in order; of those without samples only if all are."""

    def derived(self, make: Asked, values: list[Any]) -> Blocks:
        """Blocks made of these."""


def asked_blocks(lengths: np.ndarray) -> np.ndarray:
    """Numbers of the blocks that are asked: those with samples, or the first if there are none at all."""
    filled = np.flatnonzero(lengths)
    return filled if filled.size else np.zeros(1, dtype=np.int64)


class ShardedBatch(Batch):
    """Samples in blocks. Parts are recipes, and answers come from the blocks.

    Made by :func:`sharded`, which gives it the abilities of the batches of its structure.

    Parameters
    ----------
    space : Space
        Alphabets and sizes.
    blocks : Blocks
        The samples.
    template : Batch
        A batch of the space without any sample.
    """

    in_blocks = True
    kind: type[Batch]  # of the blocks

    def __init__(self, space: Space, blocks: Blocks, template: Batch):
        super().__init__(space, None, template.n_jobs)
        self.blocks, self.template = blocks, template
        self._last: tuple[str, np.ndarray] | None = None
        self._passes = 0
        self._marks = map("{}-{}".format, itertools.repeat(uuid.uuid4().hex), itertools.count())

    def __len__(self) -> int:
        return int(self.blocks.lengths.sum())

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("samples in blocks cannot be stored; models that were fitted to them can")

    # -- asking ------------------------------------------------------------------------------

    def summed(self, question: Callable[..., Any], *args: Any, weights: np.ndarray | None = None) -> Any:
        """Sum of the answers of the blocks, always in the same order."""
        self._passes += 1
        share = None if weights is None else PerSample(np.asarray(weights, dtype=np.float64))
        return self.blocks.sum(*asked(question, [*args, share]))

    @property
    def seen(self) -> Callable[[], float]:
        """Counts the codes of true outputs (tokens, bases, rules) that sums went through so far."""
        tokens, before = self.summed(questions.size_of_gold), self._passes
        return lambda: tokens * (self._passes - before)

    def rows(self, question: Callable[..., Any], *args: Any) -> Any:
        """Answers with one entry per sample, of all samples."""
        return joined_rows(self.blocks.each(*asked(question, args)))

    def derived(self, make: Callable[..., Batch], *args: Any, space: Space | None = None) -> ShardedBatch:
        """Batch whose blocks are made of those of this one."""
        blocks = self.blocks.derived(*asked(make, args))
        if space is None:
            return sharded(self.space, blocks, self.template)
        return sharded(space, blocks, make(self.template, *args))

    def _sum_of(self, method: str, *args: Any, weights: np.ndarray | None = None) -> Any:
        return self.summed(_weighted, method, *args, weights=weights)

    def _rows_of(self, method: str, *args: Any) -> Any:
        return self.rows(Method(method), *args)

    def _numbered(self, question: Callable[..., Any], *args: Any) -> np.ndarray:
        """Numbers of samples, which blocks count from 0."""
        found = self.blocks.each(*asked(question, args))
        lengths = self.blocks.lengths
        starts = (np.cumsum(lengths) - lengths)[asked_blocks(lengths)]
        return np.concatenate([numbers + start for numbers, start in zip(found, starts, strict=True)])

    def _borrowed(self, name: str, *args: Any) -> Any:
        """What the batches of the structure make of sums: done here, with the sums of all blocks."""
        return getattr(self.kind, name)(self, *args)

    # -- samples -------------------------------------------------------------------------------

    def _take(self, index: np.ndarray, gold: Ragged | None) -> ShardedBatch:
        if np.any(np.diff(index) < 0):
            raise Unsupported("samples in blocks are taken in their order")
        bounds = np.concatenate([[0], np.cumsum(self.blocks.lengths)])
        cuts = np.searchsorted(index, bounds)
        parts = [index[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], bounds[:-1], strict=True)]
        return self.derived(_subset, PerBlock(parts))

    def subset(self, index: Any) -> ShardedBatch:  # type: ignore[misc]
        """Some of the samples, in their order."""
        numbers = np.arange(len(self))[np.asarray(index) if np.size(index) else np.zeros(0, dtype=np.int64)]
        return self._take(numbers, None)

    @property  # type: ignore[misc]
    def has_gold(self) -> bool:
        """Whether the samples were packed with their outputs."""
        return True

    @property  # type: ignore[misc]
    def gold_codes(self) -> Any:
        """Stands for the codes of the true outputs, which are with the blocks."""
        return GOLD

    @functools.cached_property
    def known(self) -> Any:  # type: ignore[override]
        """None where all outputs are known as a whole; else what is known is with the blocks."""
        return () if self.summed(questions.known_in_part) else None

    def check_gold(self) -> None:
        """Refuse true outputs that hard constraints forbid."""
        self.summed(questions.constraint_check)

    # -- parts -----------------------------------------------------------------------------------

    def scores(self, w: np.ndarray) -> Recipe:
        """Recipe for part scores."""
        return Recipe(Method("scores"), w)

    def pull(self, parts: Parts) -> np.ndarray:
        """Part values, summed over samples, to features."""
        return self._sum_of("pull", parts)

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Part values to features, one row per sample."""
        return self._rows_of("pull_each", parts)

    def indicators(self, codes: Any, weights: np.ndarray | None = None, *, each: bool = False) -> Recipe:
        """Recipe for the parts of given outputs."""
        return Recipe(Method("indicators"), _codes(codes), _values(weights), each=each)

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Refused: parts are with the blocks."""
        raise Unsupported("parts of samples in blocks stay with the blocks")

    def dot_each(self, parts: Parts, other: Parts) -> np.ndarray:  # type: ignore[misc]
        """Sum of the products of all entries, per sample."""
        return self._rows_of("dot_each", parts, other)

    def scale(self, parts: Parts, factors: np.ndarray) -> Recipe:  # type: ignore[misc]
        """Recipe for part values times a factor per sample."""
        return Recipe(Method("scale"), parts, PerSample(factors))

    def scores_each(self, W: np.ndarray) -> Recipe:
        """Recipe for the scores of one weight vector per sample."""
        return Recipe(Method("scores_each"), PerSample(W))

    # -- verbs -------------------------------------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best output of every sample."""
        return self._rows_of("argmax", scores, costs)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Best outputs of every sample."""
        return self._rows_of("kbest", scores, k, costs)

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over outputs, per sample."""
        return self._rows_of("log_partition", scores, costs)

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Recipe:
        """Recipe for the expected use of parts."""
        return Recipe(Method("marginals"), scores, costs, weights=_values(weights), each=each)

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Recipe:
        """Recipe for the derivative of marginals."""
        return Recipe(Method("tangent"), scores, direction, costs, weights=_values(weights), each=each)

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Refused: draws would depend on the blocks."""
        raise Unsupported("random outputs are drawn of samples in memory; use moments='exact'")

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partition of every sample and the sum of expected features."""
        return self.log_partition(self.scores(w), costs), self.expected(w, costs, weights)[1]

    def expected(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Log partitions and expected features, summed."""
        mark = next(self._marks) if isinstance(self, Settling) and costs is None else None
        self._last = None if mark is None else (mark, w)
        total, features = self.summed(questions.gradient, mark, w, costs, weights=weights)
        return total, features.dense()

    # -- outputs -----------------------------------------------------------------------------------

    def evaluate(self, codes: Any, scores: Parts) -> np.ndarray:
        """Score of given outputs."""
        return self._rows_of("evaluate", _codes(codes), scores)

    def gold_values(self, scores: Parts) -> np.ndarray:
        """Scores of the true outputs."""
        return self._rows_of("gold_values", scores)

    def unpack(self, codes: Any) -> list[Any]:
        """Codes to the user's objects."""
        return self._rows_of("unpack", _codes(codes))

    def unpack_marginals(self, parts: Parts) -> Any:
        """Probabilities of parts in a form for users."""
        return self._rows_of("unpack_marginals", parts)

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Recipe, np.ndarray]:
        """Costs of what differs from the true output."""
        return self._costs("mismatch", label_weight)

    def _costs(self, method: str, *args: Any) -> tuple[Recipe, np.ndarray]:
        constants = self.rows(questions.cost_constants, method, *args)
        return Recipe(questions.cost_parts, method, *args), constants

    def gold_sizes(self) -> np.ndarray:
        """Number of parts of each true output."""
        return self._rows_of("gold_sizes")

    def norm_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Squared norms and number of parts."""
        return self._sum_of("norm_sums", weights=weights)

    def value_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Values of features and their number."""
        return self._sum_of("value_sums", weights=weights)

    def features(self, codes: Any) -> sp.csr_matrix:
        """Feature vectors of given outputs."""
        return self._rows_of("features", _codes(codes))

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the feature vectors of the true outputs."""
        return self._sum_of("gold_sum", weights=weights)

    @property
    def is_generative(self) -> bool:
        """As for the batches of the structure, by what all blocks hold."""
        return self.kind.is_generative.fget(self)  # type: ignore[attr-defined]

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights made of the counts of all blocks."""
        return self._borrowed("generative_weights", smoothing, weights, counts)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> ShardedCovariance:
        """Second moments, summed over blocks."""
        return ShardedCovariance(self, scores, weights, about)

    # -- abilities ---------------------------------------------------------------------------------

    def into(self, space: Space) -> ShardedBatch:
        """The same samples in another space."""
        return self.derived(Method("into"), space, space=space)

    def on_one_scale(
        self, weights: np.ndarray | None = None, asked: Callable[[], Batch] | None = None
    ) -> Any:
        """The same samples with columns on one scale, which all blocks tell together."""
        return self._borrowed("on_one_scale", weights, asked)

    def seen_attributes(self) -> np.ndarray:
        """How often attributes are used in all blocks."""
        return self._sum_of("seen_attributes")

    def as_new(self, seen: np.ndarray) -> ShardedBatch:
        """The same samples without the attributes that were not seen."""
        return self.derived(Method("as_new"), seen)

    def columns(self, weights: np.ndarray | None) -> Any:
        """Refused: tokens are with the blocks."""
        raise Unsupported("tokens of samples in blocks stay with the blocks")

    rescaled = columns

    def joined(self, other: Batch) -> Batch:
        """Refused: blocks have their order."""
        raise Unsupported("samples in blocks cannot be joined with others; give them all to one Shards")

    def state(self) -> dict[str, Any]:
        """Refused."""
        raise Unsupported("samples in blocks cannot be stored")

    def multinomials(self) -> dict[Any, np.ndarray]:
        """Those of the space."""
        return self.template.multinomials()  # type: ignore[attr-defined]

    def choices(self) -> ShardedBatch:
        """Those of the blocks."""
        made = _choices(self.template)
        return self if made is self.template else self.derived(_choices, space=made.space)

    def log_probabilities(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Log-probabilities from the counts of all blocks."""
        return self._borrowed("log_probabilities", smoothing, weights, counts)

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Those of the space."""
        return self.template.outcome_weights(log_p)  # type: ignore[attr-defined]

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Generative weights from the counts of all blocks."""
        return self._borrowed("reference_weights", smoothing, weights)

    def reference_scores(self, w: np.ndarray) -> Recipe:
        """Recipe for the scores of a generative law."""
        return Recipe(Method("reference_scores"), w)

    @property
    def reference_is_linear(self) -> bool:
        """As for all batches of the structure."""
        return self.template.reference_is_linear  # type: ignore[attr-defined]

    @property
    def law_weight(self) -> float:
        """That of the structure."""
        return self.template.law_weight  # type: ignore[attr-defined]

    def law_scores(self) -> Recipe:
        """Recipe for the scores of the law."""
        return Recipe(Method("law_scores"))

    def listing_work(self) -> float:
        """Work of all blocks."""
        return float(self._sum_of("listing_work"))

    def factors(self) -> Any:
        """Refused: factors are asked for block by block."""
        raise Unsupported("factors of samples in blocks stay with the blocks")

    def label_costs(self, table: np.ndarray) -> tuple[Recipe, np.ndarray]:
        """Costs by true label."""
        return self._costs("label_costs", table)

    def mean_weights(self, by_label: np.ndarray) -> np.ndarray:
        """Mean weight of the labels of each sample."""
        return self.rows(questions.mean_label_weights, by_label)

    @functools.cached_property
    def open_samples(self) -> np.ndarray:
        """Samples whose outputs are known in part only."""
        return self._numbered(questions.open_numbers)

    def _forbidden(self) -> Recipe:
        return Recipe(Method("_forbidden"))

    def expect_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """``expect`` over the outputs that agree."""
        return self._rows_of("expect_known", w)[0], self.expected_known(w, weights)[1]

    def expected_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """The same, summed."""
        return self._sum_of("expected_known", w, weights=weights)

    def completion(self, scores: Parts) -> Decoded:
        """Best of the outputs that agree."""
        return self._rows_of("completion", scores)

    def completed(self, codes: Ragged) -> ShardedBatch:
        """The same samples with other true outputs."""
        return self.derived(Method("completed"), PerSample(codes))

    # -- what is not settled -------------------------------------------------------------------------

    def unsettled(self, weights: np.ndarray | None = None) -> Unsettled | None:
        """Pieces of all blocks, if there are enough samples and few of their tokens are unsure."""
        if self._last is None:
            return None
        sums = self.summed(questions.settled_tokens, *self._last, weights=weights)
        empty: Any = self.template
        if sums is None or not empty.settling_pays(Settled(*sums)):
            return None
        part = self.derived(questions.unsettled_pieces, *self._last, _values(weights))
        owners = np.zeros(0, dtype=np.int64)
        if weights is not None:
            owners = self._numbered(questions.piece_owners, *self._last, PerSample(weights))
        return Unsettled(part, owners)

    def unsure(self, weights: np.ndarray | None = None) -> np.ndarray | None:
        """Refused: see :meth:`unsettled`."""
        raise Unsupported("tokens of samples in blocks stay with the blocks")

    settled = pieces = settling_pays = unsure


def _weighted(batch: Batch, method: str, *args: Any) -> Any:
    return getattr(batch, method)(*(args[:-1] if method in _PLAIN else args))


_PLAIN = ("pull", "listing_work", "seen_attributes")  # methods without weights of samples
_weighted.calls_a_method = True  # type: ignore[attr-defined]


def _subset(batch: Batch, numbers: np.ndarray) -> Batch:
    return batch.subset(numbers)


def _values(values: np.ndarray | None) -> PerSample | None:
    return None if values is None else PerSample(np.asarray(values))


def _codes(codes: Any) -> Any:
    return PerSample(codes) if isinstance(codes, Ragged) else codes


@functools.cache
def _class_for(kind: type[Batch]) -> type[ShardedBatch]:
    """Class of batches in blocks with the abilities of others."""
    abilities: tuple[type[Batch], ...] = (*ABILITIES, Scalable, Settling)
    able = [a for a in abilities if issubclass(kind, a) and not issubclass(a, _WHOLE)]
    known = {name: getattr(kind, name) for name in ("one_label", "fixed_length", "shared_parts")}
    return type(f"Sharded{kind.__name__}", (ShardedBatch, *able), {"kind": kind, **known})


def _choices(batch: Any) -> Batch:
    return batch.choices()


def sharded(space: Space, blocks: Blocks, template: Batch) -> ShardedBatch:
    """Batch of blocks of one space.

    Parameters
    ----------
    space : Space
        Alphabets and sizes.
    blocks : Blocks
        The samples.
    template : Batch
        A batch of the space without any sample.
    """
    return _class_for(type(template))(space, blocks, template)
