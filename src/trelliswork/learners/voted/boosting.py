"""Structured boosting: exponential margins, penalties by the complexity of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trelliswork._errors import InputError
from trelliswork.learners.known import refuse_open
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.room import Holds
from trelliswork.learners.voted.base import Voted
from trelliswork.learners.voted.solvers import fit_structboost, fit_vcrf
from trelliswork.losses import Loss
from trelliswork.structures.base import Structure

__all__ = ["StructBoost"]


class StructBoost(Voted):
    """Structured boosting: exponential margins weighted by the loss, and penalties by family.

    Minimises the mean over samples of ``sum_y L(y) exp(-margin(y))`` (or of the maximum over ``y``)
    plus ``u sum_k (lam r_k + beta) |w_k|_1``, see :class:`VotedCRF`. There is no choice of solver, no
    ``partial_fit`` and no ``fit_path``: those are of :class:`VotedCRF` only.

    Parameters
    ----------
    structure : Structure
        Output space; any that offers ``tangent``.
    lam, beta, l2 : float, default=0.15, 0.15 and "auto"
        As in :class:`VotedCRF`. The larger, the more weights are zero (``lam``, ``beta``) or small (``l2``).
    penalty_mode : {"relative", "absolute"}, default="relative"
        As in :class:`VotedCRF`.
    loss : str or Loss, default="hamming"
        Loss of outputs, refused if it is negative for any output or not 0 for the true one. Other
        outputs of loss 0 do not count.
    form : {"sum", "max"}, default="sum"
        Sum or maximum over outputs. The maximum is not smooth and is minimised by a bundle method, which
        proves how far the result can be from the optimum.
    families, r : default="auto"
        As in :class:`VotedCRF`.
    start : {"crf", "zero"}, default="crf"
        First weights. At zero the sum is about the number of outputs. The maximum starts from zero where
        zero is better.
    max_iter, tol, memory : default=1000, 1e-3 and 10
        Iterations; stop when the norm of the proximal gradient falls to this part of the norm of the
        penalties, or when ten iterations have lowered the objective by less than ``100 * tol**2``,
        relative to it, or, with ``form="max"``, when the relative gap does; pairs of the quasi-Newton method.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    random_state : int or None, default=0
        Seed of ``r="monte_carlo"``. Another number is another random choice, no better or worse.
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
    families_, r_, penalty_unit_, l2_ : list, ndarray, float and float
        Families, their complexities, the unit of penalties, and the factor of the squared norm.
    objective_ : float
        Value of the objective at ``coef_``.
    converged_ : bool
        Whether the tolerance was met.
    gap_ : float
        With ``form="max"``, how far ``objective_`` can lie above the minimum, relative to it; 1 where a
        family has no penalty at all, since nothing is known then.
    stop_ : {"converged", "max_iter", "interrupted", "no progress"}
        Why the search stopped.
    message_ : str
        The same in words.
    history_ : list of dict
        Objective, norm of the proximal gradient (or gap), non-zero weights and seconds per iteration.

    See Also
    --------
    VotedCRF : The same penalties with a logarithm around the sum.
    bounds.margin : What the penalties come from.

    References
    ----------
    .. [1] Cortes, Kuznetsov, Mohri, Yang (2016), NIPS.

    Examples
    --------
    >>> from trelliswork import Chain, StructBoost
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> StructBoost(Chain()).fit(X, y).predict([["the", "dog"]])
    [['D', 'N']]
    """

    command = "structboost"
    command_options = ("lam", "beta", "loss", "max_iter")

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=15 + 2 * self.memory, tables=5, costs=10, expected=1)

    def __init__(
        self,
        structure: Structure,
        lam: float = 0.15,
        beta: float = 0.15,
        *,
        l2: float | str = "auto",
        penalty_mode: str = "relative",
        loss: str | Loss = "hamming",
        form: str = "sum",
        families: Any = "auto",
        r: Any = "auto",
        start: str = "crf",
        max_iter: int = 1000,
        tol: float = 1e-3,
        memory: int = 10,
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
        self.form = form
        self.families = families
        self.r = r
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructBoost:
        """Find the weights.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample; 2 is the same as having the sample twice.
        """
        loss = self._checked_loss()
        if loss is None:
            raise InputError("StructBoost needs a loss: outputs of loss 0 do not count")
        if self.form not in ("sum", "max"):
            raise InputError(f"form must be 'sum' or 'max', got {self.form!r}")
        if self.start not in ("crf", "zero"):
            raise InputError(f"start must be 'crf' or 'zero', got {self.start!r}")
        space, batch = self._start(X, y, sample_weight)
        refuse_open(batch, "StructBoost")
        problem = self._problem(space, batch, loss, sample_weight)
        if self.form == "max":  # planes know no origin
            problem = replace(problem, origin=None)
        w = self._begin(space, problem)
        if self.start == "crf" and not w.any():
            plain = replace(problem, loss=None)
            w = fit_vcrf(plain, w, max_iter=50, tol=1e-2, memory=self.memory).w
        with Progress("StructBoost", self.max_iter, self.verbose) as progress:
            minimum, gap = fit_structboost(
                problem,
                w,
                form=self.form,
                max_iter=self.max_iter,
                tol=self.tol,
                memory=self.memory,
                progress=progress,
            )
        self._finish(space, minimum, progress.history, problem)
        if gap is None:
            self.__dict__.pop("gap_", None)  # of an earlier fit
        else:
            self.gap_ = gap
        return self
