"""Conditional random fields: penalised maximum likelihood for any structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError, Unsupported
from trelliswork._tuning import Path
from trelliswork._validate import check_number, check_samples
from trelliswork.learners.base import StructuredEstimator, warn_interrupted
from trelliswork.learners.coarse import coarse_start
from trelliswork.learners.early_stopping import Watcher, dev_score
from trelliswork.learners.known import Target
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.smooth import (
    Minimum,
    Narrow,
    Stop,
    Value,
    gradient_norm,
    lbfgs,
    newton_cg,
    pseudo_gradient,
)
from trelliswork.learners.pull import Pull, chosen_pull
from trelliswork.learners.room import Holds
from trelliswork.learners.strength import DataScale
from trelliswork.learners.weights import combined_weights, prior_weights
from trelliswork.structures.abilities import JointLaw, Settling
from trelliswork.structures.base import Batch, Parts, Space, Structure

__all__ = ["CRF"]

_NEARER = 0.2  # part of the gradient at a warm start that is to be left
_TRIAL = 15  # iterations of a fit that only tells how strong a prior should be
_MANY_WEIGHTS = 5000  # from which on the search is told how often features are expected


class CRF(StructuredEstimator):
    """Conditional random field.

    Minimises the negative log-likelihood, summed over samples, plus
    ``l1 * |w|_1 + l2 * |w|_2^2`` (the scale of CRFsuite's ``c1`` and ``c2``), or the same of ``w - prior``.

    Where only part of a true output is known (``None`` for the label of a token; see the page on partly
    known outputs), the likelihood is that of the known part: a sum over all outputs that agree with it.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    l1 : float, default=0.0
        Strength of the penalty of absolute values. With ``l1 > 0`` most weights become exactly zero. The
        larger, the fewer weights are left.
    l2 : float, "auto", dict or ndarray, default="auto"
        Strength of the penalty of squares; larger values give smaller weights and less sure predictions.
        "auto" is ``0.004 V sqrt(m)``, with V the mean squared norm of the features of one part of an output
        (a token with its label) and m the mean number of samples that a feature occurs in: 0.1 for text.
        With a prior it is a multiple of that, from 1 to 256: the largest with which samples that are held out
        are as probable as with any other (within a standard error). They may also say that there is better
        no prior.
        An array has a strength for every feature, a dict one by kind of feature (the first item of its
        name; "auto" for kinds left out): the variance of a prior per group is ``1 / (2 * l2)``.
    prior : "auto", dict, ndarray or None, default="auto"
        Weights to which the penalties pull and from which the search starts, by feature name or in the
        order of the features; None is zero. For instance ``alignment_weights("BLOSUM62")``. "auto" is
        what the structure knows before it has seen data: for ``RNA()`` the model of the package, for
        others nothing.
    solver : {"auto", "lbfgs", "newton-cg"}, default="auto"
        ``"auto"`` is ``"lbfgs"`` (OWL-QN when ``l1 > 0``). ``"newton-cg"`` needs ``l1 = 0``; it
        takes few, costly steps and reaches high precision.
    max_iter : int, default=500
        Maximum number of iterations. With ``l1 > 0``, on label sequences of 20,000 tokens and more, an
        iteration includes up to twelve steps on the tokens whose label is not sure yet, unless there is a
        development set. More let a slow fit come to its end; fewer cut it short.
    tol : float, default=1e-4
        Stop when the norm of the gradient falls to this part of its value at zero weights, or when ten
        iterations have lowered the objective by less than ``100 * tol**2`` of it. Larger values stop sooner,
        with weights that are less exact.
    memory : int, default=10
        Pairs that L-BFGS keeps. More make better steps and take more memory: two numbers per weight and
        pair.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    patience : int, default=60
        With a development set: stop after this many iterations without a better score. A larger number waits
        longer and may find better weights late.
    scoring : str, callable or None, default=None
        Score of the development set, higher is better: the name of a function of
        :mod:`trelliswork.metrics` such as ``"token_accuracy"``, or ``scoring(y_true, y_pred)``. None is
        ``"entity_f1"`` for labels such as ``B-PER``, otherwise the structure's own accuracy.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    n_jobs : int or None, default=None
        Threads (-1: all cores). Results do not depend on it. More threads are faster, up to the number of
        cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    l2_ : float or ndarray
        The penalty of squares as a number, or one for every feature.
    prior_coef_ : ndarray of shape (n_features,) or None
        The prior; None where there is none, or where held-out samples were against it.
    objective_ : float
        Value of the objective at ``coef_``.
    converged_ : bool
        Whether the tolerance was met.
    stop_ : {"converged", "max_iter", "patience", "interrupted", "no progress"}
        Why the search stopped.
    message_ : str
        The same in words.
    history_ : list of dict
        Objective, gradient norm, number of non-zero weights and seconds per iteration.

    See Also
    --------
    StructuredSVM : Margins in place of probabilities; any loss, kernels.
    VotedCRF : A loss inside of the objective, penalties by family of features.
    SODA : One linear system in place of a search.
    tuned : Good settings by cross-validation.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira (2001), ICML.
    .. [2] Andrew, Gao (2007), ICML (OWL-QN).

    Examples
    --------
    >>> from trelliswork import CRF, Chain
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> crf = CRF(Chain(), l2=0.1).fit(X, y)
    >>> crf.predict([["the", "dog"]])
    [['D', 'N']]
    >>> best = crf.predict_kbest([["the", "dog"]], k=2)[0][0]
    >>> best.output, best.probability > 0.5
    (['D', 'N'], True)
    """

    by_blocks = True
    searches = True
    compared_at = 10.0
    loosen = (
        "lower l1",
        "lower l2",
    )
    command = "crf"
    command_options = ("l1", "l2", "max_iter", "patience", "scoring")
    tuning = (Path("l2", with_=("l1",)),)

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=13 + 2 * self.memory, tables=4)

    def __init__(
        self,
        structure: Structure,
        l1: float = 0.0,
        l2: float | str | Mapping[str, float] | np.ndarray = "auto",
        *,
        prior: Any = "auto",
        solver: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        memory: int = 10,
        class_weight: Any = None,
        patience: int = 60,
        scoring: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.l1 = l1
        self.l2 = l2
        self.prior = prior
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.class_weight = class_weight
        self.patience = patience
        self.scoring = scoring
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Find the weights.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample; 2 is the same as having the sample twice.
        X_dev, y_dev : lists or None
            Development set for early stopping: the weights that score best on it are kept,
            the latest of them where several score the same.
        """
        self._check_parameters()
        space, batch = self._start(X, y, sample_weight, leaves="sums")
        weights = combined_weights(batch, sample_weight, self.class_weight)
        prior = prior_weights(space, self.prior)
        watcher = self._watcher(space, X_dev, y_dev)
        settings: dict[str, Any] = {"l1": self.l1, "solver": self.solver, "memory": self.memory}
        l2 = _strengths(space, batch, weights, self.l2)
        if prior is not None and isinstance(self.l2, str):
            l2, prior = _pulled(batch, prior, l2, weights, settings)
        start = self._start_weights(space, self.warm_start)
        if prior is not None and not (self.warm_start and hasattr(self, "coef_")):
            start = prior
        minimum, history = fit_crf(
            batch,
            start,
            l2=l2,
            prior=prior,
            weights=weights,
            max_iter=self.max_iter,
            tol=self.tol,
            watcher=watcher,
            # Along a path the last solution nearly meets tol where penalties are weak.
            nearer=self.warm_start and not np.array_equal(getattr(self, "l2_", l2), l2),
            verbose=self.verbose,
            **settings,
        )
        self.space_ = space
        self.coef_ = minimum.w
        self.l2_, self.prior_coef_ = l2, prior
        self.objective_ = minimum.objective
        self.converged_, self.stop_, self.message_ = minimum.converged, minimum.stop, minimum.message
        self.n_iter_ = minimum.n_iter
        self.history_ = history
        return self

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs, with those of a generative law where the structure has one.

        Parameters
        ----------
        batch : Batch
            Samples from ``pack``, or some of them.
        X : list of inputs
            Their inputs.
        """
        scores = batch.scores(self.coef_)
        if isinstance(batch, JointLaw) and batch.law_weight:
            scores = scores + batch.law_weight * batch.law_scores()
        return scores

    def _check_parameters(self) -> None:
        for name in ("l1", "tol"):
            check_number(name, getattr(self, name), 0)
        if isinstance(self.l2, Mapping):
            for kind, strength in self.l2.items():
                check_number(f"l2 of {kind!r}", strength, 0)
        elif not isinstance(self.l2, np.ndarray) and not (isinstance(self.l2, str) and self.l2 == "auto"):
            check_number("l2", self.l2, 0)
        for name in ("max_iter", "memory", "patience"):
            check_number(name, getattr(self, name), 1, whole=True)
        if self.solver not in ("auto", "lbfgs", "newton-cg"):
            raise InputError(f"solver must be 'auto', 'lbfgs' or 'newton-cg', got {self.solver!r}")
        if self.solver == "newton-cg" and self.l1 > 0:
            raise InputError("solver='newton-cg' needs l1=0; use solver='lbfgs' for an L1 penalty")

    def _watcher(self, space: Space, X_dev: Any, y_dev: Any) -> Watcher | None:
        if X_dev is None and y_dev is None:
            return None
        if X_dev is None or y_dev is None:
            raise InputError("early stopping needs both X_dev and y_dev")
        check_samples(X_dev, y_dev)
        batch = space.pack(X_dev, n_jobs=self.n_jobs)
        return Watcher(batch, y_dev, dev_score(self.scoring, space.structure, y_dev), self.patience)


def _strengths(space: Space, batch: Batch, weights: np.ndarray | None, l2: Any) -> float | np.ndarray:
    """Strength of the penalty of squares, for all features or for each."""
    if isinstance(l2, str):
        return DataScale.of(batch, weights).l2
    if isinstance(l2, Mapping):
        kinds = [name[0] for name in space.feature_names]
        if not set(l2) <= set(kinds):
            raise InputError(
                f"l2: {sorted(set(l2) - set(kinds))!r:.80} are no kinds of features of these data"
            )
        others = DataScale.of(batch, weights).l2
        return np.array([float(l2.get(kind, others)) for kind in kinds])
    if not isinstance(l2, np.ndarray):
        return float(l2)
    if l2.shape != (space.n_features,) or not (np.isfinite(l2).all() and l2.min(initial=0.0) >= 0):
        raise InputError(f"l2 must hold {space.n_features} finite numbers >= 0, one for every feature")
    return l2


def _pulled(
    batch: Batch, prior: np.ndarray, l2: Any, weights: np.ndarray | None, settings: dict[str, Any]
) -> Pull:
    """Strength of the penalty beside the prior that a structure knows, and whether it is worth anything."""

    def fit(samples: np.ndarray, start: np.ndarray, pull: Pull) -> np.ndarray:
        share = None if weights is None else weights[samples]
        trial: dict[str, Any] = {"l2": pull.strength, "prior": pull.prior, "max_iter": _TRIAL, "tol": 1e-2}
        return fit_crf(batch.subset(samples), start, weights=share, **settings, **trial)[0].w

    return chosen_pull(batch, prior, float(l2), fit, weights)


def _inverse_curvature(batch: Batch, weights: np.ndarray | None, l2: Any) -> np.ndarray | None:
    """Inverse square roots of the expected features at zero weights; None for few weights.

    None, too, where some are negative: of centred features the sums say nothing about their sizes.

    Frequent features bend the objective more than rare ones. Roots, since a model that has learnt something
    is less and less unsure of what is frequent: half way between all weights alike and full scaling took the
    fewest iterations.
    """
    if batch.space.n_features < _MANY_WEIGHTS:
        return None
    expected = batch.expected(np.zeros(batch.space.n_features), weights=weights)[1]
    if not expected.min() >= 0:
        return None
    return 1.0 / np.sqrt(expected + 2.0 * l2 + 1e-6 * float(expected.max()))


def _on_unsettled(batch: Batch, weights: np.ndarray | None, origin: np.ndarray, l2: Any) -> Narrow | None:
    """The objective with what is sure by now taken as linear: a fraction of the work."""
    if not isinstance(batch, Settling):
        return None

    def narrow(v: np.ndarray, g: np.ndarray) -> Value | None:
        unsettled = batch.unsettled(weights)
        if unsettled is None:
            return None
        part, share = unsettled.batch, None if weights is None else weights[unsettled.owners]
        here = part.expected(origin + v, weights=share)
        linear = g - (2.0 * l2) * v - here[1]

        def value(u: np.ndarray) -> tuple[float, np.ndarray]:
            total, expected = here if np.array_equal(u, v) else part.expected(origin + u, weights=share)
            return total + float(linear @ u) + float((l2 * u) @ u), expected + linear + (2.0 * l2) * u

        return value

    return narrow


def fit_crf(
    batch: Batch,
    start: np.ndarray,
    *,
    l1: float,
    l2: Any,
    prior: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    solver: str = "auto",
    max_iter: int = 200,
    tol: float = 1e-4,
    memory: int = 10,
    watcher: Watcher | None = None,
    nearer: bool = False,
    verbose: int = 0,
) -> tuple[Minimum, list[dict[str, Any]]]:
    """Minimise the penalised negative log-likelihood of a batch.

    Returns the minimum and the history; arguments as in :class:`CRF`. ``nearer`` asks for a gradient well
    below that of the start, the solution for another strength.
    """
    target = Target(batch, weights)
    if target.open is not None and solver == "newton-cg":
        raise Unsupported("solver='newton-cg' needs outputs that are known as a whole; use 'lbfgs'")
    origin = np.zeros_like(start) if prior is None else prior

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        w = origin + v
        total, expected = batch.expected(w, weights=weights)
        log_known, wanted = target(w)
        g = expected - wanted
        g += (2.0 * l2) * v
        return total - log_known + float((l2 * v) @ v), g

    best: dict[str, Any] = {"w": start, "objective": np.inf, "n": 0}
    with Progress("CRF", max_iter, verbose, batch.seen if verbose else None) as progress:

        def callback(n: int, w: np.ndarray, objective: float, norm: float) -> None:
            w = origin + w
            best.update(w=w, objective=objective, n=n)
            record: dict[str, Any] = {"objective": objective, "gradient": norm}
            if l1 > 0:
                record["nonzero"] = int(np.count_nonzero(w - origin))
            if watcher is not None:
                record["dev"] = watcher.see(w, objective)
            progress.step(**record)
            if watcher is not None and watcher.impatient:
                raise Stop("patience", f"no better development score for {watcher.patience} iterations")

        try:
            reference = None
            begin = start - origin
            # Where every iteration is looked at there are to be many; and without an l1 penalty expected
            # counts say enough of the curvature, so that steps on some tokens or samples gain nothing.
            plain = solver == "newton-cg" or watcher is not None or target.open is not None or l1 == 0
            if not (plain or begin.any()) and isinstance(batch, Settling):
                begin = coarse_start(
                    batch, origin, l1=l1, l2=l2, weights=weights, memory=memory, max_iter=max_iter
                )
            if start.any() or begin.any():  # what tol is relative to does not depend on the start
                zero = -origin
                reference = gradient_norm(pseudo_gradient(zero, value(zero)[1], l1))
            if nearer and begin.any():
                near = gradient_norm(pseudo_gradient(begin, value(begin)[1], l1))
                tol = min(tol, max(_NEARER * near / max(reference or 1.0, 1e-300), _NEARER**2 * tol))
            if solver == "newton-cg":
                minimum = newton_cg(
                    value,
                    lambda v, u: batch.covariance_product(origin + v, u, weights) + (2.0 * l2) * u,
                    begin,
                    max_iter=max_iter,
                    tol=tol,
                    reference=reference,
                    callback=callback,
                )
            else:
                minimum = lbfgs(
                    value,
                    begin,
                    l1=l1,
                    memory=memory,
                    max_iter=max_iter,
                    tol=tol,
                    reference=reference,
                    callback=callback,
                    narrow=None if plain else _on_unsettled(batch, weights, origin, l2),
                    inverse=_inverse_curvature(batch, weights, l2) if l1 == 0 else None,
                )
            minimum.w = origin + minimum.w
        except KeyboardInterrupt:
            warn_interrupted(f"CRF after {best['n']} iterations")
            minimum = Minimum(best["w"], best["objective"], best["n"], 0, "interrupted", "interrupted")
        if watcher is not None and watcher.weights is not None:
            minimum.w, minimum.objective = watcher.weights, watcher.objective
    if not np.isfinite(minimum.w).all():
        raise InputError("the weights are not finite; raise l2 or scale the features")
    return minimum, progress.history
