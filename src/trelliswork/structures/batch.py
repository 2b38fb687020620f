"""What every learner asks of samples compiled into arrays; what only some can do is in ``abilities.py``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.log_odds import log_odds
from trelliswork.structures.parts import Decoded, Moments, Parts
from trelliswork.structures.scratch import Scratch
from trelliswork.structures.spread import Spread

if TYPE_CHECKING:
    from trelliswork.structures.base import Space
    from trelliswork.structures.limits import Limits

__all__ = ["Batch"]

_COPIES = 5  # of the rows of attributes during a fit
_KEPT = 4  # things that are remembered of a batch, the latest ones


class Batch(ABC):
    """Samples compiled into contiguous arrays: two linear maps, the verbs, and conveniences made of them.

    Every verb takes *part scores* (``scores(w)``, or anything of that shape), so that weights may differ
    between samples or come from elsewhere. ``costs`` are added to the scores. Results are sums over samples
    in a fixed order: the same bits whatever ``n_jobs``.

    A structure of one's own implements the abstract methods. Methods that say "here ..." have an answer for
    every structure; override them where the structure knows a faster or a better one. The others are final.

    Parameters
    ----------
    space : Space
        Alphabets and sizes.
    gold : Ragged or None
        Codes of the true outputs, one row per sample; None where they were not given.
    n_jobs : int or None
        Threads.
    """

    # Whether the samples are asked a block at a time: parts are then recipes, and codes stay with the blocks.
    in_blocks: ClassVar[bool] = False
    one_label: ClassVar[bool] = False  # whether every output is a single label of ``space.labels``
    fixed_length: ClassVar[bool] = False  # whether all outputs of a sample have the same length
    # Part arrays that all samples may share, each with the number of its axes when it is shared: scores of
    # one weight vector, sums over samples. With one entry per sample (``each=True``) they have one axis more.
    shared_parts: ClassVar[Mapping[str, int]] = {}
    indicates_all: ClassVar[bool] = True  # whether ``indicators`` have all arrays that ``marginals`` have

    space: Space
    n_jobs: int | None
    known: list[Any] | None = None  # what is known of the true outputs, see ``abilities.PartlyKnown``
    notes: dict[str, Any]  # of a block of samples: what questions leave for those that follow
    scratch: Scratch | None = None  # of a block: arrays that it shares with others that are asked in turn

    def __init__(self, space: Space, gold: Ragged | None, n_jobs: int | None):
        self.space = space
        self._gold = gold
        self.n_jobs = n_jobs

    @property
    def n_features(self) -> int:
        """Length of weight vectors; here that of the space."""
        return self.space.n_features

    @property
    def limits(self) -> Limits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    def __getstate__(self) -> dict[str, Any]:
        # What was made for questions stays behind.
        return {k: v for k, v in self.__dict__.items() if k not in ("_remembered", "notes", "scratch")}

    # -- what is odd -------------------------------------------------------------------

    def sameness(self, codes: Ragged) -> str | None:
        """What outputs have in common that makes them say nothing, in words; here None.

        Parameters
        ----------
        codes : Ragged
            Codes of one output per sample.

        Returns
        -------
        str or None
            As in "predicts ...", for instance ``"no base pair"``; None where they say something.
        """
        return None

    def cautions(self, names: Sequence[str] | None = None) -> list[str]:
        """What looks like a mistake in the inputs, a line each; here nothing.

        Parameters
        ----------
        names : sequence of str or None
            Names of the columns, where inputs are rows of a data frame.
        """
        return []

    # -- samples -----------------------------------------------------------------------

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _take(self, index: np.ndarray, gold: Ragged | None) -> Self:
        """Batch of the samples with the given numbers, whose true outputs are ``gold``."""

    @final
    def subset(self, index: Any) -> Self:
        """Batch of some of the samples, by number or by a mask; a sample may be named twice."""
        numbers = np.arange(len(self))[np.asarray(index) if np.size(index) else np.zeros(0, dtype=np.int64)]
        part = self._take(numbers, None if self._gold is None else self._gold[numbers])
        if self.known is not None:
            part.known = [self.known[i] for i in numbers]
        return part

    def on_one_scale(
        self, weights: np.ndarray | None = None, asked: Callable[[], Batch] | None = None
    ) -> Batch:
        """The same samples with columns of numbers on one scale, in a space that knows it; here as they are.

        Learners whose weights are held back ask for it, so that no column is held back more than others.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample.
        asked : callable or None
            Gives the same samples, perhaps in blocks, which are asked for sums; None for these.
        """
        return self

    def seen_attributes(self) -> np.ndarray:
        """How often attributes of inputs are used, for :meth:`as_new`; here nothing."""
        return np.zeros(0, dtype=np.int64)

    def as_new(self, seen: np.ndarray) -> Batch:
        """The same samples as a model sees them that was learnt from others; here as they are.

        Parameters
        ----------
        seen : ndarray
            ``seen_attributes()`` of the others, of the same space.
        """
        return self

    @property
    @final
    def has_gold(self) -> bool:
        """Whether the samples were packed with their outputs."""
        return self._gold is not None

    @property
    @final
    def gold_codes(self) -> Ragged:
        """Codes of the outputs that the samples were packed with."""
        if self._gold is None:
            raise InputError("these samples were packed without outputs")
        return self._gold

    def check_gold(self) -> None:
        """Refuse true outputs that hard constraints forbid."""
        values = self.evaluate(self.gold_codes, self.scores(np.zeros(self.space.n_features)))
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            sample = self.subset(bad[:1])
            output = sample.unpack(sample.gold_codes)[0]
            told = f"{self.space.structure!r}; {self.space.advice()}"
            raise InputError(f"the output {output!r:.200} breaks the constraints of {told}", sample=bad[0])

    # -- questions whose answers add up ------------------------------------------------

    def summed(self, question: Callable[..., Any], *args: Any, weights: np.ndarray | None = None) -> Any:
        """Answer to a question that adds up over samples; here asked of all of them at once.

        Parameters
        ----------
        question : callable
            ``question(batch, *args, weights)``: a number, an array, or a tuple of them. A function of a
            module, since it may be asked elsewhere.
        *args
            The same for all samples.
        weights : ndarray or None
            Weight of each sample.
        """
        return question(self, *args, weights)

    def rows(self, question: Callable[..., Any], *args: Any) -> Any:
        """Answer with one entry per sample; here asked of all of them at once.

        Parameters
        ----------
        question : callable
            ``question(batch, *args)``; a function of a module.
        *args
            The same for all samples.
        """
        return question(self, *args)

    def derived(self, make: Callable[..., Batch], *args: Any, space: Space | None = None) -> Any:
        """Batch that is made of this one, sample by sample; here of all of them at once.

        Parameters
        ----------
        make : callable
            ``make(batch, *args)``; a function of a module.
        *args
            The same for all samples.
        space : Space or None
            Space of the result, None for that of this batch.
        """
        return make(self, *args)

    @final
    def remembered(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """``make()``, kept with the batch for the next one who asks with the same key.

        Parameters
        ----------
        key : hashable
            Name of what is made.
        make : callable
            Makes it.
        """
        kept = self.__dict__.setdefault("_remembered", {})
        if key not in kept:
            while len(kept) >= _KEPT:
                del kept[next(iter(kept))]
            kept[key] = make()
        return kept[key]

    @property
    def seen(self) -> Callable[[], float] | None:
        """Counts the tokens that questions went through so far; None where nobody counts."""
        return None

    # -- linear maps between weights and parts ---------------------------------------

    @abstractmethod
    def scores(self, w: np.ndarray) -> Parts:
        """Part scores of a weight vector (linear in ``w``; hard constraints are the verbs' business)."""

    @abstractmethod
    def pull(self, parts: Parts) -> np.ndarray:
        """Adjoint of :meth:`scores`: part values, summed over samples, to features."""

    @abstractmethod
    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Like :meth:`pull` but one row per sample; needs parts made with ``each=True``."""

    @abstractmethod
    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often each part occurs in the given outputs, times a weight per sample."""

    @abstractmethod
    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """For every part array that is not in ``shared_parts``: which rows belong to which sample."""

    def part_name(self, array: str, place: tuple[int, ...]) -> tuple[Any, ...]:
        """Name of a part of the first sample, for reading; here its array and its place there.

        Parameters
        ----------
        array : str
            Name of the part array.
        place : tuple of int
            Place among the parts of the sample.
        """
        return (array, *place)

    @final
    def dot_each(self, parts: Parts, other: Parts) -> np.ndarray:
        """Sum of the products of all entries of two part arrays, per sample; the first has ``each=True``."""
        total = np.zeros(len(self))
        offsets = self.part_offsets()
        for name, a in parts.items():
            b = other.__dict__.get(name)
            if a is None or b is None:
                continue
            if a.ndim == 1:
                rows = a * b
            else:  # without a table of products
                size = int(np.prod(a.shape[1:]))
                tables = (np.broadcast_to(x, a.shape).reshape(a.shape[0], size) for x in (a, b))
                rows = np.einsum("ij,ij->i", *tables)
            if name in offsets:
                owner = np.repeat(np.arange(len(self)), np.diff(offsets[name]))
                rows = np.bincount(owner, rows, minlength=len(self))
            total += rows
        return total

    @final
    def scale(self, parts: Parts, factors: np.ndarray) -> Parts:
        """Part values times a factor per sample; what samples share becomes one entry per sample."""
        factors, offsets = np.asarray(factors, dtype=np.float64), self.part_offsets()
        scaled: dict[str, np.ndarray | None] = {}
        for name, values in parts.items():
            if values is not None:
                if values.ndim == self.shared_parts.get(name, -1):
                    values = values[None]
                factor = np.repeat(factors, np.diff(offsets[name])) if name in offsets else factors
                values = values * factor.reshape(-1, *(1,) * (values.ndim - 1))
            scaled[name] = values
        return Parts(**scaled)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Part scores of one weight vector per sample, shape (n_samples, n_features); here one by one."""
        if not len(self):
            return self.scores(np.zeros(self.n_features))
        by_sample = [self.subset([i]).scores(w) for i, w in enumerate(W)]
        offsets = self.part_offsets()
        joined: dict[str, np.ndarray | None] = {}
        for name, first in by_sample[0].items():
            arrays = [getattr(parts, name) for parts in by_sample]
            join = np.concatenate if name in offsets else np.stack
            joined[name] = None if first is None else join(arrays)
        return Parts(**joined)

    # -- verbs on part scores ---------------------------------------------------------

    @abstractmethod
    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best output of every sample."""

    @abstractmethod
    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best outputs of every sample, best first, no output twice."""

    def predicted(self, scores: Parts) -> Decoded:
        """The output to predict for every sample; here the best one."""
        return self.argmax(scores)

    def candidates(self, scores: Parts, k: int) -> list[Decoded]:
        """Up to ``k`` outputs to list for every sample, best first; here the ``k`` best."""
        if k == 1:  # lists of a single output are found much sooner without a list
            best = self.argmax(scores)
            return [Decoded(best.codes[np.array([i])], best.values[i : i + 1]) for i in range(len(self))]
        return self.kbest(scores, k)

    def rough_part_offsets(self, question: str, *, costs: bool = False) -> Mapping[str, np.ndarray]:
        """``part_offsets``, estimated where they would take work; for the question that a learner asks."""
        return self.part_offsets()

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of recursions ("viterbi", "expect", ...) for long samples, and of copies of rows."""
        matrices = [block.matrix for block in getattr(getattr(self, "emission", None), "blocks", ())]
        bytes_each = (m.data.nbytes + m.indices.nbytes if sp.issparse(m) else m.nbytes for m in matrices)
        return _COPIES * sum(bytes_each)

    def sums_hold(self, scores: Parts) -> bool:
        """Whether sums over all outputs stay within the range of numbers; here always."""
        return True

    @abstractmethod
    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over outputs of exp(score), per sample."""

    @abstractmethod
    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected number of times that each part is used; what samples share is summed unless ``each``."""

    @abstractmethod
    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of :meth:`marginals` along a direction in part scores."""

    @abstractmethod
    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """``n`` independent outputs of every sample, one ``Ragged`` of codes per draw."""

    def mea(self, scores: Parts) -> Decoded:
        """Output of every sample with the largest expected accuracy; values are those expectations.

        The accuracy is here the number of right parts.
        """
        return self.argmax(self.marginals(scores, each=True), scores.forbidden())

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partition of every sample and the weighted sum of expected features; here in two passes."""
        scores = self.scores(w)
        log_z = self.log_partition(scores, costs)
        return log_z, self.pull(self.marginals(scores, costs, weights=weights))

    def expected(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """:meth:`expect` with the log partitions summed, too, times a weight per sample."""
        log_z, features = self.expect(w, costs, weights)
        return float(log_z.sum() if weights is None else log_z @ weights), features

    def spread_expected(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[float, Spread]:
        """:meth:`expected`, with the features that these samples have; here all of them."""
        total, features = self.expected(w, costs, weights)
        return total, Spread(features)

    def canonical(self) -> Self:
        """The same samples in arrays that depend on them and on the space alone; here as they are.

        Sums over samples are then the same to the last bit, whether the samples were packed together with
        others or in pieces.
        """
        return self

    # -- outputs -----------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of one given output per sample; -inf for one that is not possible."""

    def gold_values(self, scores: Parts) -> np.ndarray:
        """Scores of the true outputs, -inf for one that is not possible; here those of their codes."""
        return self.evaluate(self.gold_codes, scores)

    @abstractmethod
    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to the user's objects; row ``i`` belongs to sample ``i``."""

    @abstractmethod
    def unpack_marginals(self, parts: Parts) -> list[Any]:
        """Probabilities of parts in a form for users, per sample."""

    def user_marginals(self, scores: Parts) -> list[Any]:
        """Probabilities of parts in a form for users; here of all parts, although not all may be shown."""
        return self.unpack_marginals(self.marginals(scores))

    @abstractmethod
    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Costs that count what differs from the true output, and a constant per sample."""

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several outputs of sample ``i`` to the user's objects; here through a batch of copies of it."""
        return self.subset(np.full(len(codes), i)).unpack(codes)

    def items(self, codes: Ragged) -> list[Any]:
        """Outputs as the lists of labels or parts that losses compare; here the outputs themselves."""
        return self.unpack(codes)

    def gold_sizes(self) -> np.ndarray:
        """Number of parts (labels, brackets, ...) of each true output; here its length."""
        return np.array([len(y) for y in self.items(self.gold_codes)], dtype=np.int64)

    def norm_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Squared norms of the features of all parts of true outputs, summed, and how many parts there are.

        Here the number of features: those that count (rules, base pairs, columns) are 0 or 1 for each part,
        so that their number is the squared norm. Structures whose inputs bring values of features compute it
        from these.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample.
        """
        share = np.ones(len(self)) if weights is None else weights
        counts = np.asarray(abs(self.gold()).sum(axis=1)).ravel()
        return float(share @ counts), float(share @ self.gold_sizes())

    @final
    def unit_norm(self, weights: np.ndarray | None = None) -> float:
        """Mean squared norm of the features that one part of a true output has; 0 without any part.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample.
        """
        squares, units = self.norm_sums(weights)
        return squares / units if units else 0.0

    # -- features of outputs -------------------------------------------------------------

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given output per sample; here through :meth:`indicators`."""
        return self.pull_each(self.indicators(codes, each=True))

    @final
    def features_of_draws(self, draws: Sequence[Ragged]) -> sp.csr_matrix:
        """Feature vectors of several outputs per sample; those of the first draw come first."""
        blocks: list[sp.csr_matrix] = []
        waiting: list[Ragged] = []
        size = 0
        for draw in [*draws, None]:  # many draws at a time, as far as memory allows
            if draw is not None:
                waiting.append(draw)
                size += draw.values.size
            if waiting and (draw is None or size >= self.limits.draw_codes):
                copies = self.subset(np.tile(np.arange(len(self)), len(waiting)))
                values = np.concatenate([codes.values for codes in waiting])
                lengths = np.concatenate([codes.lengths for codes in waiting])
                blocks.append(copies.features(Ragged(values, offsets_of(lengths))))
                waiting, size = [], 0
        return sp.vstack(blocks, format="csr")

    @final
    def gold(self) -> sp.csr_matrix:
        """Feature vectors of the true outputs, shape (n_samples, n_features)."""
        return self.features(self.gold_codes)

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the feature vectors of the true outputs, times a weight per sample."""
        return self.pull(self.indicators(self.gold_codes, weights))

    def value_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """What features add to counts, summed, and how many times they do; here none is told, each adds 1."""
        return 0.0, 0.0

    def attribute_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Attributes with weights of their own and parts that have them, summed; here none is told."""
        return 0.0, 0.0

    @final
    def count_unit(self, weights: np.ndarray | None = None) -> float:
        """What a feature adds to a count each time, on average."""
        total, times = self.value_sums(weights)
        return total / times if times else 1.0

    @property
    def is_generative(self) -> bool:
        """Whether :meth:`generative_weights` score inputs with outputs by log-probabilities; here not."""
        return False

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights made of smoothed counts; here log-odds of true outputs against uniform ones.

        Parameters
        ----------
        smoothing : float
            Count added to every event.
        weights : ndarray or None
            Weight of each sample.
        counts : ndarray or None
            Features of the true outputs, summed, where these are expectations; None counts them.
        """
        return log_odds(self, smoothing, weights, counts)

    # -- moments of features over all outputs ---------------------------------------------

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features under the law of ``scores`` (None: uniform), as an operator.

        Here every product with a vector is a :meth:`tangent`.
        """
        return Covariance(self, scores, weights, about)

    @final
    def covariance_product(
        self, w: np.ndarray | None, V: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Sum over samples of (covariance of the features) times ``V``; uniform law for ``w=None``."""
        return self.covariance(None if w is None else self.scores(w), weights).product(V)

    @final
    def means(self, w: np.ndarray | None = None) -> sp.csr_matrix:
        """Mean features of every sample; uniform law for ``w=None``."""
        return self.covariance(None if w is None else self.scores(w)).means()

    @final
    def moments(self, w: np.ndarray | None = None, weights: np.ndarray | None = None) -> Moments:
        """Means per sample and the summed covariance; for small numbers of features."""
        covariance = self.covariance(None if w is None else self.scores(w), weights)
        return Moments(covariance.means().toarray(), covariance.dense())

    @final
    def log_count(self) -> np.ndarray:
        """Log of the number of outputs of each sample."""
        return self.log_partition(self.scores(np.zeros(self.n_features)))
