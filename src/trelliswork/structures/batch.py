"""The verbs that every structure answers, for samples compiled into arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.parts import Ascent, Decoded, Moments, Parts, RowView, Unsupported

if TYPE_CHECKING:
    from trelliswork.structures.base import Space
    from trelliswork.structures.factors import Factors
    from trelliswork.structures.readings import Product, Reading

__all__ = ["BUILT_ON", "Batch"]

# Verbs that the base class answers with the help of others.
BUILT_ON = {
    "expect": ("log_partition", "marginals"),
    "log_count": ("log_partition",),
    "means": ("marginals",),
    "covariance": ("marginals", "tangent"),
    "covariance_product": ("covariance",),
    "moments": ("covariance",),
    "reference_weights": ("generative_weights",),
    "reference_scores": (),
    "generative_weights": ("marginals",),
    "perceptron_passes": ("argmax",),
    "check_gold": ("evaluate",),
    "unpack_sample": (),
    "items": (),
    "contrast": (),
    "ascent": (),
    "dot_each": (),
    "scale": (),
    "part_offsets": (),
    "log_probabilities": ("multinomials",),
    "outcome_weights": ("multinomials",),
    "scores_each": (),
}


class Batch(ABC):
    """Samples compiled into contiguous arrays, and the verbs of the design.

    Every verb takes *part scores* (``scores(w)``, or anything of that shape), so
    weights may differ between samples or come from elsewhere. ``costs`` are added to
    the scores. Results are sums over samples in a fixed order: the same bits whatever
    ``n_jobs``.
    """

    one_label: ClassVar[bool] = False  # whether every output is a single label of ``space.labels``
    fixed_length: ClassVar[bool] = False  # whether all outputs of a sample have the same length
    shared_parts: ClassVar[frozenset[str] | None] = (
        None  # arrays that are sums unless ``each=True``; None: any
    )

    space: Space
    n_jobs: int | None
    similarities: np.ndarray | None = None  # of the samples with the inputs of a kernel model, set by it

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def has_gold(self) -> bool:
        """Whether the samples were packed with their outputs."""

    @property
    def quick_profile(self) -> bool:
        """Whether :meth:`loss_profile` costs little more than :meth:`argmax`, for losses of some hundreds."""
        return False

    @abstractmethod
    def subset(self, index: np.ndarray) -> Batch:
        """Batch of some of the samples."""

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

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Rows of each part array that belong to each sample; arrays left out have one row per sample."""
        return {}

    def dot_each(self, parts: Parts, other: Parts) -> np.ndarray:
        """Sum of the products of all entries of two part arrays, per sample; the first has ``each=True``."""
        out = np.zeros(len(self))
        offsets = self.part_offsets()
        for name, a in parts.items():
            b = other.__dict__.get(name)
            if a is None or b is None:
                continue
            both = (np.broadcast_to(x, a.shape).reshape(a.shape[0], -1) for x in (a, b))
            rows = np.einsum("ij,ij->i", *both)
            if name in offsets:
                owner = np.repeat(np.arange(len(self)), np.diff(offsets[name]))
                rows = np.bincount(owner, rows, minlength=len(self))
            out += rows
        return out

    def scale(self, parts: Parts, factors: np.ndarray) -> Parts:
        """Part values (made with ``each=True`` where samples share them) times a factor per sample."""
        factors, offsets = np.asarray(factors, dtype=np.float64), self.part_offsets()
        out: dict[str, np.ndarray | None] = {}
        for name, a in parts.items():
            if a is not None:
                own = np.repeat(factors, np.diff(offsets[name])) if name in offsets else factors
                a = a * own.reshape(-1, *(1,) * (a.ndim - 1))
            out[name] = a
        return Parts(**out)

    def scores_each(self, W: np.ndarray) -> Parts:
        """Part scores of one weight vector per sample, shape (n_samples, n_features)."""
        if not len(self):
            return self.scores(np.zeros(self.space.n_features))
        rows = [self.subset(np.array([i])).scores(w) for i, w in enumerate(W)]
        offsets = self.part_offsets()
        out: dict[str, np.ndarray | None] = {}
        for name, first in rows[0].items():
            own = [getattr(parts, name) for parts in rows]
            join = np.concatenate if name in offsets else np.stack
            out[name] = None if first is None else join(own)
        return Parts(**out)

    # -- storing and joining ------------------------------------------------------------

    def into(self, space: Space) -> Batch:
        """The same samples in a larger space (see :meth:`Space.merged`), or in a restricted one."""
        raise self._unsupported("into")

    def joined(self, other: Batch) -> Batch:
        """Samples of two batches of one space, one after the other."""
        raise self._unsupported("joined")

    def state(self) -> dict[str, Any]:
        """Arrays and plain values from which ``Space.restore`` makes the batch again."""
        raise self._unsupported("state")

    # -- verbs on part scores ---------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best output of every sample."""
        raise self._unsupported("argmax")

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best outputs of every sample, best first, no output twice."""
        raise self._unsupported("kbest")

    def mea(self, scores: Parts) -> Decoded:
        """Output of every sample with the largest expected accuracy; values are those expectations.

        The accuracy is the number of right parts, unless a structure says otherwise.
        """
        return self.argmax(self.marginals(scores, each=True))

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over outputs of exp(score), per sample."""
        raise self._unsupported("log_partition")

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected number of times that each part is used.

        Parts shared by all samples are summed over them unless ``each`` is true.
        """
        raise self._unsupported("marginals")

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of :meth:`marginals` when the scores move along ``direction``."""
        raise self._unsupported("tangent")

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """``n`` independent outputs of every sample, one ``Ragged`` of codes per draw."""
        raise self._unsupported("sample")

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score among the outputs with total integer cost L, for L = 0 .. ``max_loss``."""
        raise self._unsupported("loss_profile")

    def argmax_by_counts(
        self, scores: Parts, choose: Callable[[int, int, np.ndarray], tuple[int, int]]
    ) -> tuple[Decoded, np.ndarray]:
        """Best output of every sample with certain numbers of predicted and of right :meth:`items`.

        What losses of these numbers, such as F1, need for an exact search.
        ``choose(i, n_true, table)`` picks a row (number of parts) and a column (of those that are
        right) of the table of best scores of sample ``i``, whose gold output has ``n_true`` parts.
        Returns the outputs and what was chosen, shape (n_samples, 2).
        """
        raise self._unsupported("argmax_by_counts")

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best output of every sample among those with the total integer cost ``losses[i]``."""
        raise self._unsupported("argmax_at_loss")

    def readings(self) -> list[Reading]:
        """Per sample, the true output and the alphabet of outputs, for loss automata."""
        raise self._unsupported("readings")

    def factors(self) -> Factors:
        """The factor graph of the samples, for bounds and voted penalties."""
        raise self._unsupported("factors")

    def product(self, automata: Sequence[Any]) -> Product:
        """Product of the outputs with one loss automaton per sample (see ``losses.automata``)."""
        raise self._unsupported("product")

    # -- outputs -----------------------------------------------------------------------

    @abstractmethod
    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to the user's objects; row ``i`` belongs to sample ``i``."""

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several outputs of sample ``i`` to the user's objects."""
        return self.subset(np.full(len(codes), i)).unpack(codes)

    def items(self, codes: Ragged) -> list[Any]:
        """Outputs as the lists of labels or parts that losses compare; here the outputs themselves."""
        return self.unpack(codes)

    def unpack_marginals(self, parts: Parts) -> list[Any]:
        """Probabilities of parts in a form for users, per sample."""
        raise self._unsupported("unpack_marginals")

    def check_gold(self) -> None:
        """Refuse gold outputs that hard constraints forbid."""
        values = self.evaluate(self.gold_codes, self.scores(np.zeros(self.space.n_features)))
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            i = int(bad[0])
            output = self.subset(np.array([i])).unpack(self.subset(np.array([i])).gold_codes)[0]
            raise InputError(
                f"the output {_shortened(output)} breaks the constraints of "
                f"{self.space.structure!r}; {self.space.advice()}",
                sample=i,
            )

    def class_weights(self, class_weight: Any) -> np.ndarray:
        """Weight of each sample from the weights of its classes."""
        raise self._unsupported("class_weights")

    @property
    @abstractmethod
    def gold_codes(self) -> Ragged:
        """Codes of the outputs that the samples were packed with."""

    @abstractmethod
    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Costs that count what differs from the gold output, and a constant per sample."""

    def gold_sizes(self) -> np.ndarray:
        """Number of parts (labels, brackets, ...) of each gold output."""
        return np.array([len(y) for y in self.unpack(self.gold_codes)], dtype=np.int64)

    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Costs ``table[gold label, label]`` of every labelled part, and a constant per sample."""
        raise self._unsupported("label_costs")

    def bracket_costs(self) -> tuple[Parts, np.ndarray] | None:
        """Costs that count the brackets that only one of two trees has; None where they are no sum."""
        raise self._unsupported("bracket_costs")

    # -- conveniences over weights -------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of one given output per sample."""
        raise self._unsupported("evaluate")

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given output per sample."""
        return self.pull_each(self.indicators(codes, each=True))

    def features_of_draws(self, draws: Sequence[Ragged]) -> sp.csr_matrix:
        """Feature vectors of several outputs per sample; those of the first draw come first."""
        return sp.vstack([self.features(codes) for codes in draws], format="csr")

    def gold(self) -> sp.csr_matrix:
        """Feature vectors of the gold outputs, shape (n_samples, n_features)."""
        return self.features(self.gold_codes)

    def contrast(self, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix:
        """Gold features minus the features of one given output, for some of the samples.

        ``codes`` has one output per sample of the batch. Rows may hold an entry in several pieces.
        """
        part = self.subset(samples)
        return sp.csr_matrix(part.gold() - part.features(codes[samples]))

    def ascent(
        self,
        height: Parts,
        scale: Parts | None,
        cap: np.ndarray,
        curvature: np.ndarray,
        cache_mb: float = 1000.0,
    ) -> Ascent | None:
        """Compiled solver of support vector machines, or None where there is none.

        Parameters
        ----------
        height, scale : Parts
            Height and scale of the outputs, as sums over parts; no scale is 1 for all.
        cap, curvature : ndarray of shape (n_samples,)
            Bound on the dual mass of each sample, and weight of its square.
        cache_mb : float
            Bound on the memory for outputs that are remembered, in megabytes.
        """
        return None

    def kernel_ascent(
        self,
        rows: Any,
        first: np.ndarray,
        kernel: Any,
        height: Parts,
        scale: Parts | None,
        cap: np.ndarray,
        curvature: np.ndarray,
        cache_mb: float = 1000.0,
    ) -> Ascent | None:
        """Compiled solver for the batch of a :meth:`row_view`, or None where there is none.

        Parameters
        ----------
        rows, first : ndarray or csr_matrix, ndarray
            Distinct rows of the view, and the sample that each is first met in.
        kernel : Kernel
            Their similarity.
        height, scale, cap, curvature
            As for :meth:`ascent`.
        cache_mb : float
            Bound on the memory for the kernel matrix, in megabytes.
        """
        return None

    def row_view(self) -> RowView:
        """The same samples with one feature per distinct input row, for kernels on rows."""
        raise self._unsupported("row_view")

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the gold feature vectors, times a weight per sample."""
        return self.pull(self.indicators(self.gold_codes, weights))

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partition of every sample and the (weighted) sum of expected features."""
        scores = self.scores(w)
        log_z = self.log_partition(scores, costs)
        return log_z, self.pull(self.marginals(scores, costs, weights=weights))

    @property
    def partly_known(self) -> bool:
        """Whether the gold outputs are known in part only; then there is :meth:`expect_known`."""
        return False

    def expect_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`expect` over the outputs that agree with what is known of the gold ones."""
        raise self._unsupported("expect_known")

    def log_count(self) -> np.ndarray:
        """Log of the number of outputs of each sample."""
        return self.log_partition(self.scores(np.zeros(self.space.n_features)))

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the features under the law of ``scores`` (None: uniform), as an operator."""
        return Covariance(self, scores, weights, about)

    def covariance_product(
        self, w: np.ndarray | None, V: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Sum over samples of (covariance of the features) times ``V``; uniform law for ``w=None``."""
        return self.covariance(None if w is None else self.scores(w), weights).product(V)

    def means(self, w: np.ndarray | None = None) -> sp.csr_matrix:
        """Mean features of every sample; uniform law for ``w=None``."""
        return self.covariance(None if w is None else self.scores(w)).means()

    def moments(self, w: np.ndarray | None = None, weights: np.ndarray | None = None) -> Moments:
        """Means per sample and the summed covariance; for small numbers of features."""
        covariance = self.covariance(None if w is None else self.scores(w), weights)
        return Moments(covariance.means().toarray(), covariance.dense())

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Generative weights for use as a reference law, see :meth:`reference_scores`."""
        return self.generative_weights(smoothing, weights)

    def reference_scores(self, w: np.ndarray) -> Parts:
        """Part scores of :meth:`reference_weights`."""
        return self.scores(w)

    def generative_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights made of smoothed counts; here log-odds of gold against uniform outputs."""
        gold = self.gold_sum(weights)
        uniform = self.scores(np.zeros(self.space.n_features))
        everywhere = self.pull(self.marginals(uniform, weights=weights))
        if min(gold.min(initial=0.0), everywhere.min(initial=0.0)) < 0:
            raise InputError("Generative needs counts: the features must not be negative")
        return np.log((gold + smoothing) / (everywhere + smoothing))

    def multinomials(self) -> dict[Any, np.ndarray]:
        """The choices that a generative model makes: head -> features that are its outcomes."""
        raise self._unsupported("multinomials")

    def log_probabilities(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Logs of the smoothed shares of the outcomes of every choice; 0 for all other features."""
        counts = self.gold_sum(weights)
        out = np.zeros(self.space.n_features)
        for members in self.multinomials().values():
            own = counts[members] + smoothing
            out[members] = np.log(own / own.sum())
        return out

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Weights that score outputs by the given log-probabilities of outcomes, row by row."""
        return log_p

    def perceptron_passes(
        self,
        w: np.ndarray,
        u: np.ndarray,
        orders: Iterable[np.ndarray],
        weights: np.ndarray,
        clock: np.ndarray,
    ) -> Generator[int, None, None]:
        """Passes of the perceptron, one per order of samples; yields the number of mistakes.

        ``w`` moves by ``weight * (gold features - features of the guess)`` at each mistake, and
        ``u`` by ``clock`` times that, where ``clock``, an array of one number that is counted in
        place, is the number of samples seen, this one included. Both weight vectors are up to
        date only after the iterator was closed or exhausted.
        """
        for order in orders:
            mistakes = 0
            for i in order:
                clock[0] += 1.0
                one = self.subset(np.array([i]))
                found = one.argmax(one.scores(w)).codes
                if not np.array_equal(found.values, one.gold_codes.values):
                    step = (one.gold() - one.features(found)).toarray().ravel() * weights[i]
                    w += step
                    u += clock[0] * step
                    mistakes += 1
            yield mistakes

    def _unsupported(self, verb: str) -> Unsupported:
        from trelliswork.structures import STRUCTURES

        able = [name for name, cls in STRUCTURES.items() if cls.offers(verb)]
        return Unsupported(
            f"{type(self.space.structure).__name__} does not offer {verb!r}; these structures do: "
            f"{', '.join(able) or 'none'}"
        )


def _shortened(output: Any, limit: int = 200) -> str:
    text = repr(output)
    return text if len(text) <= limit else f"{text[:limit]} ..."
