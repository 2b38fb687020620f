"""Generative models whose multinomials are predicted from the input."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError, Unsupported
from trelliswork._ragged import offsets_of
from trelliswork._stored import Declared, numbers, pointers, whole
from trelliswork._threads import n_threads, run
from trelliswork._tuning import Path
from trelliswork._validate import check_number, check_weights, count_samples
from trelliswork.kernels._compose import fitted, similarities
from trelliswork.learners.base import StructuredEstimator, warn_interrupted
from trelliswork.learners.completion import filled_in
from trelliswork.learners.klrso.em import LEAST_GAIN, MAX_ROUNDS, expected_counts, first_counts
from trelliswork.learners.klrso.problems import (
    Design,
    Problem,
    check_size,
    choose_kernel,
    distinct,
    frequent_outcomes,
    make_design,
    problems,
    take,
)
from trelliswork.learners.klrso.scoring import likeliest_gate, scores_in_pieces
from trelliswork.learners.known import known_in_part
from trelliswork.learners.optimize.logistic import Logistic, fit_logistic
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.learners.room import Holds
from trelliswork.metrics._crossval import take as pick
from trelliswork.shards import Shards
from trelliswork.shards.recipes import joined_rows
from trelliswork.structures.abilities import Multinomials, PartlyKnown, require, unsupported
from trelliswork.structures.base import Batch, Parts, Space, Structure

__all__ = ["KLRSO"]

_WEIGHTS_AT_A_TIME = 1 << 22
_RARE, _RARE_CLASS = 5.0, 1.0  # counts of outcomes that are worth a prediction


class KLRSO(StructuredEstimator):
    """Generative model with probabilities that depend on the whole input.

    A hidden Markov model, a probabilistic grammar or a pair model makes its choices (the next label, the
    rule of a symbol) with the same probabilities for every input. Here each of these multinomials is
    predicted for each input by kernel logistic regression, from the shares that its outcomes have in
    the training outputs; the model with these probabilities is then decoded as usual. Training needs no
    search over outputs.

    Parameters
    ----------
    structure : Structure
        Output space made of multinomials, for instance ``Chain()``, ``Grammar()`` or ``Classes()``, whose
        choice is the class itself (with a taxonomy, the branches on the way to it).
    kernel : kernel, str or function, default="auto"
        Similarity of inputs, see :mod:`trelliswork.kernels`: of the tokens or letters as sequences of
        symbols, or of what ``features`` makes of the inputs. "auto" is the normalised spectrum kernel, of
        substrings that are long enough for two inputs to share them not just by chance: 1 to 3 words; of
        few symbols longer ones, as a polynomial of degree 3 (RNA of 75 bases: 5 to 9). For sequences of
        vectors it is the cosine of the sums of their rows. Single rows (``Classes``, ``features``) are
        compared by ``RBF()`` if they are those of arrays, otherwise by their cosine.
    reg : float, default=0.1
        Penalty on the squared norm of the functions, against the sum of losses. The larger, the nearer
        predictions come to the generative model.
    features : function or None, default=None
        Takes the list of inputs to a matrix with one row each, for kernels of rows such as "linear".
    weighting : {"example", "count"}, default="example"
        Whether all samples that use a multinomial count the same, or each use of it.
    bias : {"generative", "free", "none"}, default="generative"
        Constant part of the scores: the logarithms of the generative model, to which a large ``reg`` then
        leads; constants that are fitted without penalty; nothing, so that a large ``reg`` leads to uniform
        shares.
    min_count : float or "auto", default="auto"
        Outcomes that occur less often in the training data keep their generative probability, and the others
        share what these leave. "auto" is 5, for single labels 1. The larger, the more stay generative, and
        the faster is the fit.
    heads : collection or None, default=None
        Multinomials to be predicted, by their names as in ``heads_``; None for all. The others
        stay as in the generative model.
    smoothing : float or "auto", default="auto"
        Count added to every event in the generative model; "auto" as in :class:`Generative`. The larger, the
        nearer its probabilities come to being equal.
    mixture : float, "held-out" or None, default=None
        Share of the predicted probabilities in a mixture with those of the generative model, outcome by
        outcome: a gate between 0 (generative) and 1. "held-out" takes the share with the largest likelihood
        of every fifth sample, under a model of the others. None is 1. A larger share trusts the input more,
        a smaller one the counts.
    fill_in : {"crf", "em"}, default="crf"
        What becomes of outputs that are known in part: completed by a conditional random field that is
        fitted first, or counted as expected under the model itself, in rounds of expectation-maximisation
        (all outputs that agree, by their probabilities; the penalised likelihood of what is known never
        falls). "em" needs ``weighting="count"``, since in a likelihood every use counts.
    n_basis : int or None, default=None
        Compare with this many training inputs only; None with all. More take longer and more memory, and are
        nearer to all.
    basis : {"cholesky", "random"}, default="cholesky"
        How they are chosen: by incomplete Cholesky factorisation, or at random (Nystrom).
    solver : {"newton-cg", "lbfgs"}, default="newton-cg"
        Method.
    tol : float, default=1e-6
        A regression ends when the norm of its gradient is below ``tol`` times that of the start. Larger
        values stop sooner, with weights that are less exact.
    max_iter : int, default=100
        Maximum number of iterations of a regression. More let a slow fit come to its end; fewer cut it
        short.
    random_state : int, Generator or None, default=None
        Seed of a random basis. Another number is another random choice, no better or worse.
    n_jobs : int or None, default=None
        Threads (-1: all cores); multinomials are solved side by side. More threads are faster, up to the
        number of cores.
    verbose : int, default=0
        1 shows the progress over the multinomials. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the generative model.
    kernel_, smoothing_ : kernel and float
        The similarity and the count that were used.
    log_prob_ : ndarray of shape (n_features,)
        Its log-probabilities of outcomes.
    heads_ : list
        Multinomials that are predicted.
    outcomes_, outcome_ptr_ : ndarrays of int
        Features that are their predicted outcomes, and where those of each head start.
    inputs_ : list or matrix
        Distinct training inputs that new ones are compared with.
    dual_coef_ : ndarray of shape (n_inputs, n_outcomes)
        Coefficients of their similarities.
    intercept_ : ndarray of shape (n_outcomes,)
        Constants.
    completed_by_ : str or None
        What filled in outputs that are known in part ("crf" or "em"); None where all are whole.
    rounds_ : list of dict
        With ``fill_in="em"``: the penalised log-likelihood of every round (``objective``), if outputs are
        known in part.
    mixture_ : float
        The share of the predicted probabilities.
    stop_ : {"converged", "max_iter", "interrupted", "no progress"}
        Why the search stopped: "converged" where that of every multinomial has, else what kept one of
        them from it.

    See Also
    --------
    Generative : The same model with fixed probabilities.
    CRF : For features that are local in the input.

    Notes
    -----
    Heads with one outcome, or seen with fewer than two distinct inputs, are those of :class:`Generative`.
    Equal inputs with different outputs count together: their shares are averaged. An interrupt
    keeps the multinomials that are finished; the others stay generative.

    References
    ----------
    .. [1] Costa, Passerini, Lippi, Frasconi, "A Semiparametric Generative Model for Efficient
       Structured-Output Supervised Learning".

    Examples
    --------
    >>> from trelliswork import KLRSO, Chain
    >>> X = [list("+ab"), list("+aab"), list("+ba"), list("-ab"), list("-aab"), list("-ba")]
    >>> y = ["SXY", "SXXY", "SYX", "SYX", "SYYX", "SXY"]  # after "-", X and Y change places
    >>> model = KLRSO(Chain(), reg=0.01, min_count=1).fit(X, [list(row) for row in y])
    >>> ["".join(row) for row in model.predict([list("+bba"), list("-bba")])]
    ['SYYX', 'SXXY']
    """

    by_blocks = True
    searches = True
    loosen = ("lower reg",)
    stored: ClassVar[Mapping[str, Declared]] = {
        "outcomes_": whole("outcomes", high="features", optional=True),
        "outcome_ptr_": pointers("heads", "outcomes", optional=True),
        "log_prob_": numbers("features", optional=True),
        "dual_coef_": numbers("inputs", "outcomes", optional=True),
        "intercept_": numbers("outcomes", optional=True),
    }
    stored_with: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "coef_": (
            "log_prob_",
            "outcomes_",
            "outcome_ptr_",
            "heads_",
            "dual_coef_",
            "intercept_",
            "inputs_",
            "kernel_",
        )
    }
    rounds_: list[dict[str, float]]

    command = "klrso"
    command_options = ("smoothing", "reg", "max_iter")
    tuning = (Path("reg"),)

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=4, tables=1, pairs=4 if self.n_basis is None else 0, question="generative")

    def __init__(
        self,
        structure: Structure,
        kernel: Any = "auto",
        *,
        reg: float = 0.1,
        features: Any = None,
        weighting: str = "example",
        bias: str = "generative",
        min_count: float | str = "auto",
        heads: Any = None,
        smoothing: float | str = "auto",
        mixture: float | str | None = None,
        fill_in: str = "crf",
        n_basis: int | None = None,
        basis: str = "cholesky",
        solver: str = "newton-cg",
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.kernel = kernel
        self.reg = reg
        self.features = features
        self.weighting = weighting
        self.bias = bias
        self.min_count = min_count
        self.heads = heads
        self.smoothing = smoothing
        self.mixture = mixture
        self.fill_in = fill_in
        self.n_basis = n_basis
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self) -> None:
        check_number("reg", self.reg, 0, above=True)
        if self.min_count != "auto":
            check_number("min_count", self.min_count, 0)
        if self.smoothing != "auto":
            check_number("smoothing", self.smoothing, 0, above=True)
        check_number("tol", self.tol, 0, above=True)
        check_number("max_iter", self.max_iter, 1, whole=True)
        if isinstance(self.mixture, str) and self.mixture != "held-out":
            raise InputError(
                f"mixture must be a number from 0 to 1, 'held-out' or None, got {self.mixture!r}"
            )
        if not isinstance(self.mixture, str) and self.mixture is not None:
            check_number("mixture", self.mixture, 0)
            if self.mixture > 1:
                raise InputError(f"mixture must be a number from 0 to 1, got {self.mixture!r}")
        if self.n_basis is not None:
            check_number("n_basis", self.n_basis, 1, whole=True)
        for name, known in (
            ("weighting", ("example", "count")),
            ("bias", ("generative", "free", "none")),
            ("fill_in", ("crf", "em")),
            ("basis", ("cholesky", "random")),
            ("solver", ("newton-cg", "lbfgs")),
        ):
            if getattr(self, name) not in known:
                raise InputError(
                    f"{name} must be {' or '.join(map(repr, known))}, got {getattr(self, name)!r}"
                )
        if self.fill_in == "em" and self.weighting != "count":
            raise InputError(
                "fill_in='em' maximises a likelihood, in which every use counts: weighting='count'"
            )
        if self.heads is not None and (isinstance(self.heads, str) or not hasattr(self.heads, "__iter__")):
            raise InputError(f"heads must be a list of names or None, got {self.heads!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KLRSO:
        """Count, then solve one logistic regression per multinomial.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        """
        self._check()
        structure = self._checked_structure()
        if not structure.offers(Multinomials):
            raise unsupported(type(structure), Multinomials)
        whole = structure.complete() if structure.known_weights() is None else structure
        _, batch = self._start(X, y, structure=whole, scaled=structure.compares_rows)
        weights = check_weights(sample_weight, len(batch))
        completed_by = None
        if self.fill_in == "crf":
            batch, completed_by = filled_in(batch, weights)
        batch = require(batch, Multinomials).choices()
        partly = known_in_part(batch)
        inputs = self._all_inputs(batch.space, X)
        first, place = distinct(inputs)
        kernel = fitted(choose_kernel(self.kernel, inputs), take(inputs, first))
        smoothing = self.smoothing
        if isinstance(smoothing, str):
            smoothing = structure.generative_smoothing * batch.count_unit(weights)
        share = np.ones(len(batch)) if weights is None else weights
        counts, totals = first_counts(batch, partly, smoothing, weights)
        summed = np.asarray(counts.T @ share).ravel()
        rare = self.min_count
        if isinstance(rare, str):
            rare = _RARE_CLASS if batch.one_label else _RARE
        choices = frequent_outcomes(batch, summed, self.heads, rare)
        log_prob = require(batch, Multinomials).log_probabilities(smoothing, weights, totals)
        rng = np.random.default_rng(self.random_state)
        design = make_design(kernel, take(inputs, first), first, self.n_basis, self.basis, rng)
        check_size(design.chosen.size, sum(outcomes.size for outcomes in choices.values()))
        self.coef_ = batch.generative_weights(smoothing, weights, totals)
        self.space_, self.log_prob_, self.kernel_, self.smoothing_ = (
            batch.space,
            log_prob,
            kernel,
            float(smoothing),
        )
        self.inputs_ = take(inputs, first[design.chosen])
        self.mixture_, self.completed_by_, self.rounds_ = 1.0, completed_by, []
        norm = self._predict_choices(problems(choices, counts, place, share, self.weighting), design)
        if partly is not None:
            self.completed_by_ = "em"
            self._maximise(partly, choices, inputs, place, share, design, norm)
        self.mixture_ = self._gate(X, y, sample_weight)
        self.n_iter_ = max([1, *(record["iterations"] for record in self.history_)])
        return self

    def _predict_choices(self, todo: list[Problem], design: Design) -> float:
        """Solve the regressions and keep them; returns the squared norm of the functions."""
        offsets = [self.log_prob_[problem.outcomes] * (self.bias == "generative") for problem in todo]
        solved, self.history_, self.stop_ = self._solve(todo, design, offsets)
        done = [i for i, regression in enumerate(solved) if regression is not None]
        self.heads_ = [todo[i].head for i in done]
        self.outcome_ptr_ = offsets_of([todo[i].outcomes.size for i in done])
        self.outcomes_ = np.concatenate([np.zeros(0, dtype=np.int64), *(todo[i].outcomes for i in done)])
        self.dual_coef_ = np.zeros((design.chosen.size, self.outcomes_.size))
        self.intercept_ = np.zeros(self.outcomes_.size)
        norm = 0.0
        for number, i in enumerate(done):
            columns = slice(self.outcome_ptr_[number], self.outcome_ptr_[number + 1])
            regression = solved[i]
            assert regression is not None
            norm += float(np.vdot(regression.weights, regression.weights))
            self.intercept_[columns] = offsets[i] + regression.bias
            if design.back is None:
                self.dual_coef_[todo[i].rows, columns] = regression.dual
            else:
                self.dual_coef_[:, columns] = design.back @ regression.weights
        return norm

    def _maximise(
        self,
        batch: PartlyKnown,
        choices: dict[Any, np.ndarray],
        inputs: Any,
        place: np.ndarray,
        share: np.ndarray,
        design: Design,
        norm: float,
    ) -> None:
        """Rounds of expected counts and regressions, until the penalised likelihood stays."""
        K = similarities(self.kernel_, inputs, self.inputs_)
        at_a_time = max(1, _WEIGHTS_AT_A_TIME // max(self.coef_.size, 1))
        names = ("heads_", "outcome_ptr_", "outcomes_", "dual_coef_", "intercept_", "history_", "stop_")
        kept: dict[str, Any] = {}
        while True:
            scores = scores_in_pieces(batch, lambda part: self._weights(batch, K[part]), at_a_time)
            value = float(share @ batch.gold_values(scores)) - self.reg * norm
            if self.rounds_ and not value > self.rounds_[-1]["objective"]:
                self.__dict__.update(kept)
                return
            gain = value - self.rounds_[-1]["objective"] if self.rounds_ else np.inf
            self.rounds_.append({"objective": value})
            if gain <= LEAST_GAIN * abs(value) or self.stop_ == "interrupted":
                return
            if len(self.rounds_) == MAX_ROUNDS:
                self.stop_ = "max_iter"
                return
            kept = {name: getattr(self, name) for name in names}
            counts = expected_counts(
                batch, lambda some, part: some.scores_each(self._weights(some, K[part])), at_a_time
            )
            norm = self._predict_choices(problems(choices, counts, place, share, self.weighting), design)

    def _gate(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Share of the predicted probabilities: as given, or by the likelihood of every fifth sample."""
        if not isinstance(self.mixture, str):
            return 1.0 if self.mixture is None else float(self.mixture)
        if isinstance(X, Shards):
            raise Unsupported("mixture='held-out' needs all samples in memory; give a number, or None")
        n = count_samples(X)
        held = np.arange(n) % 5 == 4
        if not held.any():
            return 1.0
        weights = check_weights(sample_weight, n)
        rest, some = np.flatnonzero(~held), np.flatnonzero(held)
        from sklearn.base import clone

        model = clone(self).set_params(mixture=None, verbose=0)
        model.fit(pick(X, rest), pick(y, rest), None if weights is None else weights[rest])
        share = np.ones(some.size) if weights is None else weights[some]
        return likeliest_gate(model, pick(X, some), pick(y, some), share)

    def _all_inputs(self, space: Space, X: Any) -> Any:
        """Training inputs as the kernel takes them, of all partitions together."""
        if not isinstance(X, Shards):
            return self._inputs(space, X)
        return joined_rows([self._inputs(space, some) for some in X.inputs(self.structure)])

    def _inputs(self, space: Space, X: Any, width: int | None = None) -> Any:
        """Inputs as the kernel takes them; ``width`` is the number of features that there must be."""
        if self.features is None:
            return space.kernel_inputs(X)
        if not callable(self.features):
            raise InputError(
                f"features must be a function of the list of inputs or None, got {self.features!r}"
            )
        rows = self.features(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if not hasattr(rows, "shape") or len(rows.shape) != 2 or rows.shape[0] != n:
            raise InputError(f"features must give a matrix with one row for each of the {n} inputs")
        if width is not None and rows.shape[1] != width:
            raise InputError(f"features gives {rows.shape[1]} columns; in training it gave {width}")
        return rows.tocsr() if hasattr(rows, "tocsr") else np.asarray(rows, dtype=np.float64)

    def _solve(
        self, todo: list[Problem], design: Design, offsets: list[np.ndarray]
    ) -> tuple[list[Logistic | None], list[dict[str, Any]], StopReason]:
        """Regressions (None where an interrupt came first), their records, and why they stopped."""
        solved: list[Logistic | None] = [None] * len(todo)
        records: dict[int, dict[str, Any]] = {}
        lock, stopped = threading.Lock(), threading.Event()
        # Large ones first, so that no thread is left with one at the end.
        order = sorted(range(len(todo)), key=lambda i: -todo[i].targets.size)
        with Progress("KLRSO", len(todo), self.verbose) as progress:

            def task(i: int) -> None:
                if stopped.is_set():
                    return
                problem = todo[i]
                regression = fit_logistic(
                    design.rows(problem.rows),
                    problem.targets,
                    problem.weights,
                    offsets[i],
                    self.reg,
                    bias=self.bias == "free",
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                )
                with lock:
                    solved[i] = regression
                    progress.step(
                        head=problem.head,
                        inputs=problem.rows.size,
                        outcomes=problem.outcomes.size,
                        objective=regression.objective,
                        iterations=regression.n_iter,
                        converged=regression.stop == "converged",
                    )
                    records[i] = progress.history[-1]

            try:
                run(task, [(i,) for i in order], n_threads(self.n_jobs))
            except KeyboardInterrupt:
                stopped.set()
                warn_interrupted(f"{len(records)} of {len(todo)} multinomials are predicted")
        stops = {"interrupted" if regression is None else regression.stop for regression in solved}
        reasons: tuple[StopReason, ...] = ("interrupted", "max_iter", "no progress")
        stop: StopReason = next((reason for reason in reasons if reason in stops), "converged")
        return solved, [records[i] for i in sorted(records)], stop

    # -- prediction ---------------------------------------------------------------------------

    def _compared(self, X: Any) -> np.ndarray:
        """Similarities with the training inputs."""
        width = None if self.features is None else self.inputs_.shape[1]
        return similarities(self.kernel_, self._inputs(self.space_, X, width), self.inputs_)

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs: every input has weights of its own.

        Parameters
        ----------
        batch : Batch
            Samples from ``pack``, or some of them.
        X : list of inputs
            Their inputs.
        """
        K = self._compared(X)
        samples_at_a_time = max(1, _WEIGHTS_AT_A_TIME // max(self.coef_.size, 1))
        return scores_in_pieces(batch, lambda part: self._weights(batch, K[part]), samples_at_a_time)

    def weights_of_input(self, batch: Batch, X: Any) -> np.ndarray:
        """Weights of the features for the only sample of a batch.

        Parameters
        ----------
        batch : Batch
            One sample.
        X : list of inputs
            Its input.
        """
        return self._weights(batch, self._compared(X))[0]

    def _weights(self, batch: Batch, K: np.ndarray) -> np.ndarray:
        """Weight vector of each sample."""
        log_p = np.tile(self.log_prob_, (K.shape[0], 1))
        log_p[:, self.outcomes_] = self._log_shares(K)
        generative = require(batch, Multinomials)
        moved = generative.outcome_weights(log_p)
        moved -= generative.outcome_weights(self.log_prob_)
        moved += self.coef_
        return moved

    def _log_shares(self, K: np.ndarray) -> np.ndarray:
        """Predicted log-probabilities of the outcomes, shape (n_samples, n_outcomes)."""
        # One row at a time in the product: a prediction must not depend on the other samples.
        F = np.empty((K.shape[0], self.outcomes_.size))
        for i, row in enumerate(K):
            F[i] = row @ self.dual_coef_
        F += self.intercept_
        if not F.size:
            return F
        starts, sizes = self.outcome_ptr_[:-1], np.diff(self.outcome_ptr_)
        F -= np.repeat(np.maximum.reduceat(F, starts, axis=1), sizes, axis=1)
        F -= np.repeat(np.log(np.add.reduceat(np.exp(F), starts, axis=1)), sizes, axis=1)
        generative = self.log_prob_[self.outcomes_]
        F += np.repeat(np.log(np.add.reduceat(np.exp(generative), starts)), sizes)
        gate = getattr(self, "mixture_", 1.0)  # files of earlier versions have none
        if gate == 1.0:
            return F
        return np.logaddexp(F + np.log(gate), generative + np.log1p(-gate)) if gate else F * 0.0 + generative

    def predict_multinomials(self, X: Any) -> dict[Any, tuple[list[Any], np.ndarray]]:
        """Predicted probabilities of the outcomes of every head in ``heads_``.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.

        Returns
        -------
        dict
            Head -> names of its predicted outcomes (features), and their probabilities, one row per
            sample. What is missing to 1 belongs to outcomes that are too rare to be predicted.

        Examples
        --------
        >>> from trelliswork import KLRSO, Chain
        >>> X, y = [["a"], ["b"], ["a"], ["b"]], [["A"], ["B"], ["A"], ["B"]]
        >>> model = KLRSO(Chain(), min_count=1).fit(X, y)
        >>> names, shares = model.predict_multinomials([["a"], ["b"]])[("start",)]
        >>> names, shares.round(2).tolist()
        ([('start', 'A'), ('start', 'B')], [[0.89, 0.11], [0.11, 0.89]])
        """
        self._check_fitted()
        K = self._compared(X)
        shares, names = np.exp(self._log_shares(K)), self.space_.feature_names
        out = {}
        for number, head in enumerate(self.heads_):
            columns = slice(self.outcome_ptr_[number], self.outcome_ptr_[number + 1])
            out[head] = ([names[i] for i in self.outcomes_[columns]], shares[:, columns])
        return out

    def check_stored(self) -> None:
        """Refuse fitted attributes, from a file, that do not fit their declarations and each other."""
        super().check_stored()
        if not hasattr(self, "dual_coef_"):
            return
        if not callable(self.kernel_):
            raise InputError("kernel_ is not a kernel")
        if self.features is not None and len(getattr(self.inputs_, "shape", ())) != 2:
            raise InputError("its inputs are no matrix of features")
        n = self.inputs_.shape[0] if hasattr(self.inputs_, "shape") else len(self.inputs_)
        if len(self.heads_) != self.outcome_ptr_.size - 1 or n != self.dual_coef_.shape[0]:
            raise InputError("the coefficients do not fit the inputs or the heads")
        if np.any(np.diff(self.outcome_ptr_) < 1):
            raise InputError("outcome_ptr_ has a head without outcomes")
        if not isinstance(gate := getattr(self, "mixture_", 1.0), (int, float)) or not 0 <= gate <= 1:
            raise InputError(f"mixture_ is no number from 0 to 1: {gate!r:.80}")
