"""The averaged structured perceptron."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, cast

import numpy as np

from trelliswork._errors import InputError, Unsupported
from trelliswork._stored import Declared, matrix, numbers
from trelliswork._tuning import Choice
from trelliswork._validate import check_number, check_samples, random_numbers
from trelliswork.accelerated import find
from trelliswork.kernels import Precomputed, as_kernel
from trelliswork.kernels._compose import fitted
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.kernel_perceptron import fitting_average, kernel_matrix, kernel_passes
from trelliswork.learners.known import known_in_part
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.learners.room import Holds
from trelliswork.learners.svm.kernel_model import KernelModel
from trelliswork.learners.svm.weights import Expansion
from trelliswork.learners.trial import Trial, trial
from trelliswork.learners.weights import carry_over, combined_weights, prior_weights
from trelliswork.shards.batch import ShardedBatch
from trelliswork.shards.recipes import PerBlock
from trelliswork.structures.abilities import Rows, RowView, require
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.held_out import ENOUGH, most_accurate_of

__all__ = ["Perceptron", "perceptron_passes"]

# What a step changes is so many times smaller than the weights that a structure knows.
_STEPS = (30.0, 100.0, 300.0, 1000.0)
_TRIAL = 5  # passes that tell which of them
_GENERATIVE_STEPS = 100.0  # and than the weights of a generative model
_LEAST, _MOST = 12, 600  # different outputs, of which a third tells what to average
_TRIED = 20  # most passes of a look: an endless fit begins soon, and an interrupt finds weights to keep

# Weights and their sum, orders of the samples, weights of samples, and the clock.
Problem = tuple[np.ndarray, np.ndarray, Iterable[np.ndarray], np.ndarray, np.ndarray]


class Perceptron(KernelModel):
    """Averaged structured perceptron.

    Visits the samples in random order, decodes each with the current weights and, where
    the output is wrong, moves towards the features of the right one. The result is the
    average of the weights over all visits. Of data in partitions (:class:`Shards`) every block of samples is
    visited from the weights of the last pass, and the results are averaged (iterative parameter mixing), so
    that the weights differ from those of a fit to the same samples in memory. The first weights are zero;
    those of ``RNA()`` are 30 to 1,000 times the weights of the model of the package, so long as predicts each
    third of up to 150 samples best after five passes over the others (30 times with fewer than 12 samples,
    with samples in partitions or outputs that are known in part), those of alignments 100 times the weights
    of :class:`Generative`: a step of the perceptron changes little of what these know.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    max_iter : int, default=20
        Passes over the data; ends earlier after a pass without a mistake. More passes fit the training data
        more closely and take longer.
    kernel : str, Kernel, callable or None, default=None
        Similarity of input rows, as in :class:`StructuredSVM`: rows of ``Classes``, tokens of ``Chain``, what
        is around base pairs (``RNA``), matches (``Alignment``) and symbols (``Grammar``). The model is then a
        sum over the rows of mistakes; no ``warm_start`` and no ``partial_fit``.
    average : {"auto", True, False, "half"}, default="auto"
        Return the average over all visits (True), over those of the second half of the passes ("half"), or
        the last weights (False). What the first passes learn is soon unlearnt where tokens have few
        attributes, and holds weights back where they have many. "auto": of True and "half" what predicts a
        third of up to 600 different outputs better after learning from the others (chains of order 1, from 12
        different outputs on), else True. With a kernel and a last pass without a mistake, "auto" goes on
        with the last weights until the average, too, gets at least 19 of 20 training outputs right.
    shuffle : bool, default=True
        Visit the samples in a new random order in each pass.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling. Another number is another random choice, no better or worse.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    n_jobs : int or None, default=None
        Threads for prediction; the passes themselves are sequential. More threads are faster, up to the
        number of cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Averaged weights (linear models).
    support_rows_, dual_coef_, linear_coef_ : ndarrays
        Rows, their coefficients (a column per label) and the weights of features without rows (kernels).
    kernel_ : kernel
        The kernel (where one was given), with the number that its ``gamma="auto"`` stands for.
    average_ : {True, False, "half"}
        What the weights are the average of.
    stop_ : {"converged", "max_iter", "interrupted"}
        Why the passes stopped; "converged" after one without a mistake.
    history_ : list of dict
        Mistakes (wrong samples) and seconds per pass.

    See Also
    --------
    CRF : Probabilities that mean what they say.
    StructuredSVM : Margins, and a certified optimum.

    References
    ----------
    .. [1] Collins (2002), EMNLP.
    .. [2] McDonald, Hall, Mann (2010), NAACL (iterative parameter mixing).

    Examples
    --------
    >>> from trelliswork import Chain, Perceptron
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> Perceptron(Chain()).fit(X, y).predict([["the", "dog"]])
    [['D', 'N']]
    """

    tuning = (Choice("max_iter", (5, 10, 20, 40)),)

    stored: ClassVar[Mapping[str, Declared]] = {
        "last_": numbers("features", optional=True),
        "sum_": numbers("features", optional=True),
        "clock_": numbers(low=0, optional=True),
        "support_rows_": matrix("rows", "attributes", optional=True),
        "dual_coef_": numbers("rows", "columns", optional=True),
        "linear_coef_": numbers("other features", optional=True),
    }
    average_: bool | str
    by_blocks = True
    sequential = True
    loosen = ("raise max_iter",)
    command = "perceptron"
    command_options = ("max_iter",)

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=4.5, tables=0.1, question="viterbi")

    def __init__(
        self,
        structure: Structure,
        max_iter: int = 20,
        *,
        kernel: Any = None,
        average: bool | str = "auto",
        shuffle: bool = True,
        class_weight: Any = None,
        random_state: Any = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.max_iter = max_iter
        self.kernel = kernel
        self.average = average
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Perceptron:
        """Make up to ``max_iter`` passes over the data.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Size of the step of each sample.
        """
        self._check_parameters()
        space, batch = self._start(X, y, sample_weight)
        for name in ("coef_", "support_rows_", "dual_coef_", "linear_coef_") if not self.warm_start else ():
            self.__dict__.pop(name, None)
        if batch.in_blocks and self.kernel is not None:
            raise Unsupported("a kernel needs all samples in memory; data in partitions take kernel=None")
        if self.kernel is not None:
            return self._fit_kernel(space, batch, sample_weight)
        start = self._start_weights(space, self.warm_start)
        if not (self.warm_start and hasattr(self, "coef_")):
            start += self._first_weights(batch, sample_weight)
        if batch.in_blocks:
            self._mix(cast("ShardedBatch", batch), start, sample_weight)
        else:
            late = self._averages_late(batch, start, sample_weight)
            self._run(batch, start, np.zeros_like(start), 0.0, self.max_iter, sample_weight, [], late=late)
        self.space_ = space
        return self

    def _check_parameters(self) -> None:
        check_number("max_iter", self.max_iter, 1, whole=True)
        if self.average not in (True, False, "auto", "half"):
            raise InputError(f"average must be True, False, 'half' or 'auto', got {self.average!r}")

    def _first_weights(self, batch: Batch, sample_weight: Any) -> np.ndarray:
        """Zeros, or what is known before the first pass."""
        if batch.space.structure.perceptron_start is None or known_in_part(batch) is not None:
            return self._known_weights(batch, sample_weight)
        weights = combined_weights(batch, sample_weight, self.class_weight)
        smoothing = self.structure.generative_smoothing * batch.count_unit(weights)
        return _GENERATIVE_STEPS * batch.generative_weights(smoothing, weights)

    def _averages_late(self, batch: Batch, start: np.ndarray, sample_weight: Any) -> bool:
        """Whether the first half of the passes is to be left out of the average."""
        if self.average != "auto":
            return self.average == "half"
        if batch.one_label or start.any() or self.max_iter < 2 or not _is_compiled(batch):
            return False
        weights = combined_weights(batch, sample_weight, self.class_weight)
        split = trial(batch, weights, least=_LEAST, most=_MOST, samples=2 * _MOST)
        return split is not None and _late_is_better(split, min(self.max_iter, _TRIED))

    def _known_weights(self, batch: Batch, sample_weight: Any) -> np.ndarray:
        """Zeros, or what the structure knows before it has seen data, so long as held-out samples say."""
        known = prior_weights(batch.space, "auto")
        if known is None:
            return np.zeros(batch.space.n_features)
        if batch.in_blocks or len(batch) < ENOUGH or known_in_part(batch) is not None:
            return _STEPS[0] * known
        weights = combined_weights(batch, sample_weight, self.class_weight)

        def averages(some: Batch, share: np.ndarray | None) -> list[np.ndarray]:
            rng, n = np.random.default_rng(0), len(some)
            orders = [rng.permutation(n) for _ in range(_TRIAL)]
            return [_average(some, scale * known, orders, share) for scale in _STEPS]

        return _STEPS[most_accurate_of(batch, weights, averages)] * known

    def _mix(self, batch: ShardedBatch, w: np.ndarray, sample_weight: Any) -> None:
        """Passes over data in partitions: each block starts from the same weights, and the results are mixed.

        This is iterative parameter mixing: weights are not those of a perceptron that visits all samples in
        turn.
        """
        n = len(batch)
        weights = combined_weights(batch, sample_weight, self.class_weight)
        weights = np.ones(n) if weights is None else weights
        rng, means, done = random_numbers(self.random_state), np.zeros_like(w), 0
        stop: StopReason = "max_iter"
        seen = batch.seen if self.verbose else None
        with Progress("Perceptron", self.max_iter, self.verbose, seen) as progress:
            try:
                for _ in range(self.max_iter):
                    sizes = batch.blocks.lengths.tolist()
                    orders = [rng.permutation(m) if self.shuffle else np.arange(m) for m in sizes]
                    moved, mean, mistakes = batch.summed(
                        perceptron_pass, w, PerBlock(orders), weights=weights
                    )
                    w, means, done = w + moved / n, means + mean / n, done + 1
                    progress.step(mistakes=mistakes)
                    if mistakes == 0:
                        stop = "converged"
                        break
            except KeyboardInterrupt:
                stop = "interrupted"
                warn_interrupted(f"Perceptron after {done} passes")
        average = means / max(done, 1)
        self.average_ = self.average is not False
        self.coef_ = average if self.average_ and done else w.copy()
        self.last_, self.clock_ = w, float(n * done)
        self.sum_ = (w - average) * (self.clock_ + 1.0)
        self.history_, self.stop_, self.n_iter_ = progress.history, stop, done

    def _fit_kernel(self, space: Space, batch: Batch, sample_weight: Any) -> Perceptron:
        """Passes over the samples in terms of their rows."""
        kernel = as_kernel(self.kernel)
        if isinstance(kernel, Precomputed):
            raise InputError("Perceptron compares rows itself: give the kernel, not precomputed values")
        if self.warm_start:
            raise InputError("warm_start does not go with a kernel; use warm_start=False")
        if known_in_part(batch) is not None:
            raise InputError("a kernel needs outputs that are known as a whole; use kernel=None")
        view = require(batch, Rows).row_view()
        self.kernel_ = fitted(kernel, view.rows)
        w, K = np.zeros(view.batch.n_features), kernel_matrix(view, self.kernel_)
        self._run(batch, w, np.zeros_like(w), 0.0, self.max_iter, sample_weight, [], (view, K))
        if self.average == "auto" and self.stop_ == "converged":
            self.coef_ = fitting_average(view, K, self.coef_, self.last_, self.n_iter_)
        expansion = Expansion.of(view, self.coef_)
        self.support_rows_, self.dual_coef_, self.linear_coef_ = expansion
        for name in ("coef_", "last_", "sum_"):
            del self.__dict__[name]
        self.space_ = space
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_") or hasattr(self, "dual_coef_")

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> Perceptron:
        """Make one pass over more data; new labels and attributes join the model.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The next part of a stream.
        sample_weight : array-like of shape (n_samples,) or None
            Size of the step of each sample.
        classes : list of labels or None
            All labels of the stream, as scikit-learn has it, where outputs are single labels; new labels
            join the model anyway. Used in the first call.
        """
        if self.kernel is not None:
            raise InputError("partial_fit knows no kernel; use kernel=None")
        history: list[dict[str, Any]] = []
        if not hasattr(self, "coef_"):
            space, batch = self._start(X, y, sample_weight, classes=classes)
            w, u = self._known_weights(batch, sample_weight), np.zeros(space.n_features)
            clock = 0.0
        else:
            check_samples(X, y)
            self._check_columns(X)
            if self.structure is not self.space_.structure:
                raise InputError("structure was replaced after training; call fit to begin anew")
            if any(vars(self).get(name) is None for name in ("last_", "sum_", "clock_")):
                raise InputError("this model has no sums to go on with; call fit to begin anew")
            X = self._checked_structure().prepare(X)
            space = self.space_.grown(X, y)
            batch = space.pack(X, y, n_jobs=self.n_jobs)
            batch.check_gold()
            w = carry_over(self.space_, space, self.last_)
            u = carry_over(self.space_, space, self.sum_)
            clock, history = self.clock_, getattr(self, "history_", [])  # which a file may lack
        self._run(batch, w, u, clock, 1, sample_weight, history)
        self.space_ = space
        return self

    def _run(
        self,
        batch: Batch,
        w: np.ndarray,
        u: np.ndarray,
        clock: float,
        n_passes: int,
        sample_weight: Any,
        history: list[dict[str, Any]],
        rows: tuple[RowView, np.ndarray] | None = None,
        late: bool = False,
    ) -> None:
        weights = combined_weights(batch, sample_weight, self.class_weight)
        weights = np.ones(len(batch)) if weights is None else weights
        rng = random_numbers(self.random_state)
        n = len(batch)
        orders = (rng.permutation(n) if self.shuffle else np.arange(n) for _ in range(n_passes))
        done = 0
        stop: StopReason = "max_iter"
        seen = np.array([clock])
        problem = w, u, orders, weights, seen
        marks: list[tuple[np.ndarray, float]] = []
        if rows is not None:
            view, K = rows
            passes = kernel_passes(view, K, *problem)
        else:
            passes = _in_two(batch, problem, n_passes // 2 if late else 0, marks)
        with Progress("Perceptron", n_passes, self.verbose) as progress:
            progress.history = list(history)
            try:
                for mistakes in passes:
                    done += 1
                    progress.step(mistakes=mistakes)
                    if mistakes == 0:
                        stop = "converged"
                        break
            except KeyboardInterrupt:
                stop = "interrupted"
                warn_interrupted(f"Perceptron after {done} passes")
            passes.close()
        self.last_, self.sum_, self.clock_ = w, u, float(seen[0])
        whole, second = _averages(w, u, self.clock_, marks)
        self.average_ = self.average if self.average is False else "half" if second is not None else True
        self.coef_ = w.copy() if self.average_ is False else whole if second is None else second
        self.history_, self.stop_ = progress.history, stop
        self.n_iter_ = len(self.history_)


def _average(
    batch: Batch, start: np.ndarray, orders: Iterable[np.ndarray], weights: np.ndarray | None
) -> np.ndarray:
    """Mean of the weights over a few passes."""
    w, u, clock = start.copy(), np.zeros_like(start), np.zeros(1)
    share = np.ones(len(batch)) if weights is None else weights
    for mistakes in perceptron_passes(batch, w, u, orders, share, clock):
        if mistakes == 0:
            break
    return w - u / (clock[0] + 1.0)


def _late_is_better(split: Trial, n_passes: int) -> bool:
    """Whether the average over the second half of the passes predicts held-out samples better."""
    batch = split.known
    w, n = np.zeros(batch.space.n_features), len(batch)
    u, clock = np.zeros_like(w), np.zeros(1)
    rng = np.random.RandomState(0)
    orders = (rng.permutation(n) for _ in range(n_passes))
    weights = np.ones(n) if split.weights is None else split.weights
    marks: list[tuple[np.ndarray, float]] = []
    passes = _in_two(batch, (w, u, orders, weights, clock), n_passes // 2, marks)
    for mistakes in passes:
        if mistakes == 0:
            break
    passes.close()
    whole, second = _averages(w, u, float(clock[0]), marks)
    if second is None:  # all was learnt in the first half
        return False
    return split.wrong(split.new.scores(second)) < split.wrong(split.new.scores(whole))


def _averages(
    w: np.ndarray, u: np.ndarray, clock: float, marks: list[tuple[np.ndarray, float]]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Average over all visits, and over those after the mark."""
    whole = w - u / (clock + 1.0)
    if not marks or not clock > marks[0][1]:
        return whole, None
    first, until = marks[0]
    return whole, ((clock + 1.0) * whole - (until + 1.0) * first) / (clock - until)


def _in_two(
    batch: Batch, problem: Problem, half: int, marks: list[tuple[np.ndarray, float]]
) -> Generator[int, None, None]:
    """Passes, and a mark after ``half`` of them: the average so far, and the number of visits."""
    w, u, orders, weights, clock = problem
    orders = iter(orders)
    for number in (half, None) if half else (None,):
        stage = _compiled_or_plain(batch, (w, u, islice(orders, number), weights, clock))
        try:
            yield from stage
        finally:
            stage.close()
        if number:
            marks.append((w - u / (clock[0] + 1.0), float(clock[0])))


def _compiled_or_plain(batch: Batch, problem: Problem) -> Generator[int, None, None]:
    return find("perceptron", batch)(batch, *problem) or perceptron_passes(batch, *problem)


def _is_compiled(batch: Batch) -> bool:
    nothing = np.zeros(0)
    made = find("perceptron", batch)(batch, nothing, nothing, iter(()), nothing, nothing)
    return made is not None


def perceptron_pass(
    batch: Batch, w: np.ndarray, order: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """One pass over a block: how weights moved and their mean, both times the samples; and mistakes."""
    last, u, clock = w.copy(), np.zeros_like(w), np.zeros(1)
    [mistakes] = list(_compiled_or_plain(batch, (last, u, iter([order]), weights, clock)))
    n = len(batch)
    return n * (last - w), n * (last - u / (clock[0] + 1.0)), int(mistakes)


def perceptron_passes(
    batch: Batch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None]:
    """Passes of the perceptron, one per order of samples; yields the number of mistakes.

    Both weight vectors are up to date only after the iterator was closed or exhausted.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    w : ndarray
        Weights; at each mistake they move by ``weight * (true features - features of the guess)``.
    u : ndarray
        Moves by ``clock`` times that, for the average.
    orders : iterable of ndarray
        Order of the samples in every pass.
    weights : ndarray
        Weight of every sample.
    clock : ndarray of one number
        Samples seen, this one included; counted in place.
    """
    for order in orders:
        mistakes = 0
        for i in order:
            clock[0] += 1.0
            sample = batch.subset([i])
            scores = sample.scores(w)
            guess = sample.argmax(scores).codes
            partly = known_in_part(sample)
            truth = sample.gold_codes if partly is None else partly.completion(scores).codes
            if not np.array_equal(guess.values, truth.values):
                step = (sample.features(truth) - sample.features(guess)).toarray().ravel() * weights[i]
                w += step
                u += clock[0] * step
                mistakes += 1
        yield mistakes
