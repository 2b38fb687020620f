"""Voted conditional random fields: a loss inside, penalties by the complexity of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import check_number, check_samples
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.smooth import Minimum
from trelliswork.learners.room import Holds
from trelliswork.learners.voted.base import Voted
from trelliswork.learners.voted.problem import Problem
from trelliswork.learners.voted.solvers import fit_vcrf, stream_vcrf
from trelliswork.learners.weights import carry_over
from trelliswork.losses import Loss
from trelliswork.structures.base import Space, Structure

__all__ = ["VotedCRF"]


class VotedCRF(Voted):
    """Voted conditional random field: a loss inside, and penalties by family.

    Minimises the mean over samples of ``log sum_y exp(L(y) - margin(y))`` plus
    ``u sum_k (lam r_k + beta) |w_k|_1`` and a multiple of ``|w|^2``, where the families ``k`` are sets of
    features and ``r_k`` measures how easily a family fits noise.

    Parameters
    ----------
    structure : Structure
        Output space; ``Chain(order)`` has the families of label n-grams up to ``order + 1``.
    lam, beta : float, default=0.15 and 0.15
        Weights of the penalty that grows with the complexity of a family, and of the one that does
        not; the larger, the more weights are zero. They must not both be 0.
    l2 : float or "auto", default="auto"
        Weight of the squared norm of all weights. Absolute values alone often leave several minima and keep
        one of many attributes that say the same; any ``l2 > 0`` leaves one minimum, and shares. "auto" is 1,
        and 0 as in the paper with ``penalty_mode="absolute"``. The larger, the smaller all weights.
    penalty_mode : {"relative", "absolute"}, default="relative"
        Whether penalties are relative to the data or numbers as in the paper. "relative": the unit of
        penalties is ``u = 0.05 sqrt(V m) / n_samples``, with V the mean squared norm of the features of
        one part of an output (a token with its label) and m the mean number of samples that a feature
        occurs in, the mean of ``r_k`` over all features is 1, and 1 is for ``l2`` what "auto" is for
        :class:`CRF`.
        "absolute": u is 1; ``lam=0, loss=None, beta=l1 / n_samples`` is ``CRF(l1=l1, l2=0)``.
    loss : str, Loss or None, default="hamming"
        Loss inside the objective: a name of :mod:`trelliswork.losses` (``"edit"`` is
        ``Edit(cap=3)``), a loss that is a sum over parts or has an automaton, None or ``"none"``.
    families : "auto", "order", "kind", callable or dict, default="auto"
        Partition of the features: by number of labels that a feature looks at, by the first item of
        its name (the rules of ``RNA("g6")`` and ``RNA("nested")`` by what they make), by ``families(name)``,
        or a dict from families to functions that accept names, or lists of first items. "auto" is "order"
        where orders differ, else "kind".
    r : "auto", "sparsity", "paper", "monte_carlo" or list of float, default="auto"
        Complexity of the families, from the largest value, the number and the frequency of their
        features (``"sparsity"``), from the number of factors (``"paper"``), by simulation, or given.
        "auto" is "sparsity" where the structure knows its factors (all but :class:`Retrieval` and
        :class:`Transducer`) and lists them quickly (not the loops of ``RNA()``, nor long inputs), else 1.
        The larger the number of a family, the dearer its weights.
    solver : {"owlqn", "fista"}, default="owlqn"
        Orthant-wise quasi-Newton, or accelerated proximal gradient.
    max_iter : int, default=1000
        Maximum number of iterations. More let a slow fit come to its end; fewer cut it short.
    tol : float, default=1e-4
        Stop when the norm of the proximal gradient falls to this part of its value at zero, or (``"owlqn"``)
        when ten iterations have lowered the objective by less than ``100 * tol**2`` of it. Larger values
        stop sooner, with weights that are less exact.
    memory : int, default=10
        Pairs that the quasi-Newton method keeps. More make better steps and take more memory.
    step, batch_size : float and int, default=0.1 and 8
        Size of the first steps and samples per step of ``partial_fit``. Larger steps move faster and may
        overshoot; larger batches are steadier and slower.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    random_state : int or None, default=0
        Seed of ``r="monte_carlo"`` and of the order of samples in ``partial_fit``. Another number is another
        random choice, no better or worse.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it. More threads are faster, up to the number of cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    families_, r_ : list and ndarray
        Families and their complexities.
    penalty_unit_, l2_ : float
        The unit u of penalties, and the factor of the squared norm.
    n_nonzero_ : dict
        Non-zero weights per family.
    objective_ : float
        Value of the objective at ``coef_``.
    converged_ : bool
        Whether the tolerance was met.
    stop_ : {"converged", "max_iter", "interrupted", "no progress"}
        Why the search stopped.
    message_ : str
        The same in words.
    history_ : list of dict
        Objective, norm of the proximal gradient, non-zero weights (all, and per family) and seconds.

    See Also
    --------
    CRF : One penalty for all features, no loss inside.
    StructBoost : Exponential margins.
    bounds.margin : What the penalties come from.

    Notes
    -----
    A loss that is 0 for a wrong output leaves that output with the weight it has in a CRF. Families of
    n-grams longer than every sequence have weights 0.

    References
    ----------
    .. [1] Cortes, Kuznetsov, Mohri, Yang (2016), NIPS.

    Examples
    --------
    >>> from trelliswork import Chain, VotedCRF
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> model = VotedCRF(Chain(order=2), loss="edit").fit(X, y)
    >>> model.predict([["the", "dog"]]), model.families_
    ([['D', 'N']], ['order 1', 'order 2', 'order 3'])
    """

    by_blocks = True
    command = "vcrf"
    command_options = ("lam", "beta", "loss", "max_iter")

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=13 + 2 * self.memory, tables=4, costs=4)

    def __init__(
        self,
        structure: Structure,
        lam: float = 0.15,
        beta: float = 0.15,
        *,
        l2: float | str = "auto",
        penalty_mode: str = "relative",
        loss: str | Loss | None = "hamming",
        families: Any = "auto",
        r: Any = "auto",
        solver: str = "owlqn",
        max_iter: int = 1000,
        tol: float = 1e-4,
        memory: int = 10,
        step: float = 0.1,
        batch_size: int = 8,
        class_weight: Any = None,
        random_state: Any = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.lam = lam
        self.beta = beta
        self.l2 = l2
        self.penalty_mode = penalty_mode
        self.loss = loss
        self.families = families
        self.r = r
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.step = step
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> VotedCRF:
        """Find the weights.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample; 2 is the same as having the sample twice.
        """
        loss = self._checked_loss()
        self._check_solver()
        space, batch = self._start(X, y, sample_weight, leaves=self._leaves)
        problem = self._problem(space, batch, loss, sample_weight)
        start = self._begin(space, problem)
        for name in ("path_", "lam_"):
            self.__dict__.pop(name, None)  # of an earlier path
        self._solve(space, problem, start)
        return self

    @property
    def _leaves(self) -> str | None:
        drawn = isinstance(self.r, str) and self.r == "monte_carlo"
        return None if drawn else "sums"  # draws are for all samples together

    def _solve(self, space: Space, problem: Problem, start: np.ndarray) -> None:
        seen = problem.batch.seen if self.verbose else None
        with Progress("VotedCRF", self.max_iter, self.verbose, seen) as progress:
            minimum = fit_vcrf(
                problem,
                start,
                solver=self.solver,
                max_iter=self.max_iter,
                tol=self.tol,
                memory=self.memory,
                progress=progress,
            )
        self._finish(space, minimum, progress.history, problem)
        self.__dict__.pop("squares_", None)  # a later stream starts its steps anew

    def fit_path(
        self,
        X: Any,
        y: Any,
        lams: Sequence[float],
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        sample_weight: Any = None,
    ) -> VotedCRF:
        """Fit a falling sequence of ``lam``, each from the weights of the last.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        lams : sequence of float
            Values of ``lam``, larger for fewer weights; taken from the largest to the smallest.
        X_dev, y_dev : lists or None
            Development set: the weights that score best on it are kept, of equal ones the sparsest;
            without it the last ones.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.

        Returns
        -------
        self
            With ``path_``, one dict per ``lam``: ``lam``, ``objective``, ``nonzero``, ``score``, ``coef``.
        """
        loss = self._checked_loss()
        self._check_solver()
        if (X_dev is None) != (y_dev is None):
            raise InputError("a development set needs both X_dev and y_dev")
        if np.ndim(lams) != 1:
            raise InputError(f"lams must be a list of numbers, got {lams!r}")
        for lam in lams:
            check_number("lams", lam, 0)
        if not len(lams):
            raise InputError("lams must not be empty")
        space, batch = self._start(X, y, sample_weight, leaves=self._leaves)
        dev = None
        if X_dev is not None:
            check_samples(X_dev, y_dev)
            dev = space.pack(X_dev, n_jobs=self.n_jobs)
        path, ends, history = [], [], []
        problem = self._problem(space, batch, loss, sample_weight, min(lams))
        start = self._begin(space, problem)
        for lam in sorted(map(float, lams), reverse=True):
            problem.l1 = self._penalties(lam)[self.family_of_]
            self._solve(space, problem, start)
            coef = self.coef_
            start = coef if problem.origin is None else coef - problem.origin
            history += [{"lam": lam, **record} for record in self.history_]
            record: dict[str, Any] = {
                "lam": lam,
                "objective": self.objective_,
                "nonzero": int(np.count_nonzero(start)),
                "coef": coef,
            }
            if dev is not None:
                predicted = dev.unpack(dev.argmax(dev.scores(coef)).codes)
                record["score"] = float(space.accuracy(X_dev, y_dev, predicted))
            path.append(record)
            ends.append((self.converged_, self.stop_, self.message_))
        # Without scores the last one; of equal scores the sparsest, then the one of the largest lam.
        chosen = len(path) - 1
        if dev is not None:
            chosen = max(range(len(path)), key=lambda i: (path[i]["score"], -path[i]["nonzero"]))
        best = path[chosen]
        self.path_, self.lam_, self.coef_ = path, best["lam"], best["coef"]
        self.objective_ = best["objective"]
        self.converged_, self.stop_, self.message_ = ends[chosen]
        self.history_, self.n_iter_ = history, len(history)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> VotedCRF:
        """Make one pass over more data; new labels and features join the model.

        Lazy proximal AdaGrad: a weight is touched only by samples that have its feature. Penalties
        are those of the data of this call.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The next part of a stream.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        classes : list of labels or None
            All labels of the stream, as scikit-learn has it, where outputs are single labels; new labels
            join the model anyway. Used in the first call.
        """
        loss = self._checked_loss()
        check_number("step", self.step, 0, above=True)
        check_number("batch_size", self.batch_size, 1, whole=True)
        structure = self._checked_structure()
        old = getattr(self, "space_", None)
        if old is None:
            space, batch = self._start(X, y, sample_weight, classes=classes)
        else:
            check_samples(X, y)
            self._check_columns(X)
            X = structure.prepare(X)
            space = old.grown(X, y)
            batch = space.pack(X, y, n_jobs=self.n_jobs)
            batch.check_gold()
        w, squares = np.zeros(space.n_features), np.zeros(space.n_features)
        if old is not None:
            w = carry_over(old, space, self.coef_)
            squares = carry_over(old, space, getattr(self, "squares_", np.zeros(old.n_features)))
        problem = self._problem(space, batch, loss, sample_weight)
        history = list(getattr(self, "history_", []))
        order = np.random.default_rng(self.random_state).permutation(len(batch))
        with Progress("VotedCRF", 1, self.verbose) as progress:
            mean = stream_vcrf(problem, w, squares, step=self.step, batch_size=self.batch_size, order=order)
            progress.step(
                objective=mean + problem.penalty(w),
                nonzero=int(np.count_nonzero(w)),
                families=problem.families.sizes(w != 0).tolist(),
            )
        objective, n_passes = mean + problem.penalty(w), len(history) + 1
        minimum = Minimum(w, objective, n_passes, 0, "max_iter", "one pass over a stream")
        self._finish(space, minimum, history + progress.history)
        self.squares_ = squares
        return self

    def _check_solver(self) -> None:
        if self.solver not in ("owlqn", "fista"):
            raise InputError(f"solver must be 'owlqn' or 'fista', got {self.solver!r}")
