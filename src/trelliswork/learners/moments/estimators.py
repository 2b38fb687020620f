"""Learning from the mean and the covariance of scores over all outputs: Z-score and SODA."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._validate import check_number
from trelliswork.learners.moments.base import AnyMoments, MomentLearner
from trelliswork.learners.moments.sums import without_rounding
from trelliswork.learners.optimize.ridge import Ridge
from trelliswork.structures.base import Structure

__all__ = ["SODA", "ZScore", "z_score_weights"]


class ZScore(MomentLearner):
    r"""Weights that maximise the Z-score of the given outputs.

    The Z-score is the distance of the score of the given outputs from the mean score of all
    outputs, in standard deviations. The best weights solve one linear system,
    :math:`(C + \lambda I) w = b`, with C the sum of the covariances and b the sum of (given
    less mean) features. C and b are exact, come from dynamic programming (or closed forms)
    and add up over samples: one pass, no search, shards in any order.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    reg : float or "auto", default="auto"
        Ridge that is added to the covariance: the larger, the smaller and smoother the weights. "auto" is a
        multiple of the mean variance of a feature with the uniform law (0.1 for chains, 1 for classes, 10
        for transducers, 1e-6 for the rest), and of ``V sqrt(m)`` with the others (0.08 generative, 0.1
        observed; V and m as in :class:`CRF`); with ``total_margin`` it is ``0.01 V m``. Where an output is
        one label, without constraints and loss, it is 100, 30, 10, 3, 1 or 0.3 times that, whatever
        predicts a third of up to 1,500 samples best after learning from the others (of 450 or fewer, each
        third in turn). On chains with the observed law it is 30 to 0.01 times that, told in the same way by
        up to 300 sequences.
    reg_mode : {"relative", "absolute"}, default="relative"
        Whether a number ``reg`` is in units of the mean variance of a feature, or absolute. It is added to
        the sum of the covariances of all samples, so that ``lam_ / 2`` plays the part of ``l2`` of
        :class:`CRF`, whose first Newton step this is.
    reference : {"auto", "uniform", "observed", "generative"}, default="auto"
        Law of the outputs that the given one is compared with: uniform over all outputs;
        uniform over those made of parts seen in training (prediction then keeps to them, too);
        or a generative model fitted first, whose scores the weights then correct. "auto" is
        "generative" where nearly all outputs are absurd (chains, alignments, parse trees, RNA but for
        ``grammar="nearest-neighbour"``), for classes of rows of arrays (normal distributions with one
        covariance), and "uniform" for the rest.
    symbols : "auto", None or list of str, default="auto"
        With ``reference="observed"`` on chains: attributes that limit the labels of a token, by
        prefix; "auto" is all of them if no token has two, else none.
    smoothing : float, default=0.1
        Count added to every event of the generative reference. The larger, the nearer its probabilities come
        to being equal.
    n_steps : int, default=1
        Newton steps with a line search on the likelihood; many reach the optimum of a
        ``CRF`` with ``l2`` half the ridge. More come nearer to it and take longer.
    loss : "auto", None, "hamming", dict or object, default="auto"
        Ask for the least variance of score plus loss at a margin of ``tau`` over the mean loss.
        "hamming" counts wrong parts, a dict gives weights of labels, an object has
        ``part_costs(batch)``. "auto" is "hamming" for chains with the uniform or observed law, unless there
        are ``constraints`` or several ``n_steps``, and None for classes. With the generative law, held-out
        samples tell: of None, "hamming" and (on chains of attributes) "hamming" with a total margin of 8 it
        is what predicts a third of up to 150 different outputs (chains: 300) best after learning from the
        others, together with the factor ``length_`` of the weights (1/8 to 16). With at most 30 samples each
        third is held out in turn, and its probability decides. None and 1 with fewer than 5 different
        outputs. For ``RNA()``, whose law begins with the weights of the package, it is None, and each third
        is held out in turn to tell the factor (1/64 to 8; 1 with fewer than 12 different outputs).
    total_margin : float, None or "auto", default="auto"
        With a loss and the generative reference: the score is that of the whole model, reference
        included (but for parts that cost nothing, such as transitions), and the loss is so many times as
        large. None takes the score of the weights alone, and the loss as it is. "auto": see ``loss``.
        The larger, the more the weights may change what the reference says.
    tau : float, default=1.0
        The margin with a loss; large values approach ``loss=None``.
    constraints : {None, "hard", "slack"}, default=None
        Demand that no wrong output beats the given one.
    slack : {"quadratic", "linear"}, default="quadratic"
        How broken constraints are paid for.
    slack_penalty : float, default=1.0
        Their price. The larger, the fewer constraints are broken.
    margin : float, default=0.0
        By how much the given output must be ahead, per wrong part of the other one. 0, as in the
        paper, lets ties stand, which prediction may break the wrong way. The larger, the clearer the lead
        that is asked for.
    epsilon : float, default=0.0
        By how much another output may be ahead after all: constraints relaxed by a tolerance, in the units of
        ``theta . b = 1`` (with a reference, of its scores), for data that are not quite separable. The
        larger, the fewer constraints count.
    moments : {"exact", "sampled"}, default="exact"
        Exact moments, or estimates from random outputs.
    n_samples : int, default=200
        Random outputs per input. More are slower and nearer to exact moments.
    solver : {"auto", "direct", "cholesky", "cg"}, default="auto"
        "direct" is for chains with one symbol per token, "cholesky" for few features, "cg"
        (conjugate gradients) for any number; ``history_`` names the one used.
    tol : float, default=1e-4
        Residual at which conjugate gradients stop, relative to the right-hand side. Larger values stop
        sooner, with weights that are less exact.
    max_iter : int or None, default=None
        Maximum number of their iterations; None is ``1000 + 10 sqrt(n_features)``. A solution that has
        not reached ``tol`` by then gives a ``ConvergenceWarning``. More let a slow fit come to its end;
        fewer cut it short.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    keep_moments : bool, default=True
        Keep what ``partial_fit``, ``merge`` and ``resolve`` need; False gives smaller models.
    random_state : int, RandomState or None, default=0
        Seed of sampled moments; models that are to be merged should have different ones. Another number is
        another random choice, no better or worse.
    n_jobs : int or None, default=None
        Threads (-1: all cores). Results do not depend on it. More threads are faster, up to the number of
        cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    reference_coef_ : ndarray of shape (n_features,) or None
        Weights of the generative reference; its scores are added to those of ``coef_``.
    z_score_ : float
        Z-score of the training outputs.
    lam_, reference_, loss_, total_margin_, length_ : float, str, object, float or None, float
        The ridge as a number, the reference, the loss, the margin per unit of it and the factor of the
        weights.
    n_constraints_ : int
        Constraints that were needed.
    stop_ : {"converged", "max_iter", "interrupted", "no progress"}
        Why the search stopped: that for constraints, that of ``n_steps`` > 1, or conjugate gradients; a
        system that is solved directly has "converged".
    completed_by_ : str or None
        The learner that filled in outputs that are known in part ("crf"); None where all are whole.
    moments_ : MomentState
        What was kept of the data.
    history_ : list of dict
        Solver, residual and so on, per step.

    See Also
    --------
    SODA : Also asks for the same margin on every sample.

    References
    ----------
    .. [1] Ricci, De Bie, Cristianini (2008), Magic moments for structured output prediction,
       JMLR 9.

    Examples
    --------
    >>> from trelliswork import Chain, ZScore
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> model = ZScore(Chain()).fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    >>> model.predict([["the", "dog"]])
    [['D', 'N']]
    >>> model.history_[-1]["solver"], model.resolve(reg=0.1).predict([["a", "cat"]])
    ('cholesky', [['D', 'N']])
    """

    _about = "mean"

    command = "zscore"
    command_options = ("reg", "reference")

    def __init__(
        self,
        structure: Structure,
        reg: float | str = "auto",
        *,
        reg_mode: str = "relative",
        reference: str = "auto",
        symbols: Any = "auto",
        smoothing: float = 0.1,
        n_steps: int = 1,
        loss: Any = "auto",
        total_margin: float | str | None = "auto",
        tau: float = 1.0,
        constraints: str | None = None,
        slack: str = "quadratic",
        slack_penalty: float = 1.0,
        margin: float = 0.0,
        epsilon: float = 0.0,
        moments: str = "exact",
        n_samples: int = 200,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        class_weight: Any = None,
        keep_moments: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            structure,
            reg,
            reg_mode=reg_mode,
            reference=reference,
            symbols=symbols,
            smoothing=smoothing,
            n_steps=n_steps,
            loss=loss,
            total_margin=total_margin,
            constraints=constraints,
            slack=slack,
            slack_penalty=slack_penalty,
            margin=margin,
            epsilon=epsilon,
            moments=moments,
            n_samples=n_samples,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            keep_moments=keep_moments,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.tau = tau

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("tau", self.tau, 0, above=True)

    def _weights(self, moments: AnyMoments, ridge: Ridge, with_loss: bool) -> np.ndarray:
        return z_score_weights(moments, ridge, self.tau if with_loss else None)


def z_score_weights(moments: AnyMoments, ridge: Ridge, tau: float | None = None) -> np.ndarray:
    """Weights of the largest Z-score, or with ``tau`` those of the fixed-margin form with a loss."""
    b = moments.deviation
    if tau is None:
        return ridge.solve(b)
    mean, covariance = moments.cost_mean, moments.cost_covariance  # before the solver takes its memory
    # The direction of b only sets the scale, for which few iterations do; the weights get all of them.
    direction = ridge.solve(b, loose=True)
    reach = float(b @ direction)
    if reach <= 0.0:
        return direction
    kappa = (tau + mean + float(covariance @ direction)) / reach
    theta = ridge.solve(kappa * b - covariance, overwrite=True)
    return theta + (tau + mean - float(b @ theta)) / reach * direction


class SODA(MomentLearner):
    r"""Structured output discriminant analysis: least squares on the margins to all outputs.

    Minimises :math:`\sum_i E_y (w \cdot (\phi(x_i, y_i) - \phi(x_i, y)) - 1)^2`, the mean taken over
    all outputs y of an input. This bounds the share of outputs that score at least as
    high as the given one, and is one linear system like that of :class:`ZScore`, with
    :math:`b_i b_i^T` added to the covariance of each sample. With a loss,
    margins are to grow with the number of wrong labels; on sequences this is the default.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    reg : float or "auto", default="auto"
        Ridge that is added to the second moments; "auto" as in :class:`ZScore`. The larger, the smaller and
        smoother the weights.
    reg_mode : {"relative", "absolute"}, default="relative"
        Whether a number ``reg`` is in units of the mean variance of a feature, or absolute.
    reference : {"auto", "uniform", "observed", "generative"}, default="auto"
        Law of the outputs that the given one is compared with, as in :class:`ZScore`.
    symbols : "auto", None or list of str, default="auto"
        With ``reference="observed"`` on chains: attributes that limit the labels of a token.
    smoothing : float, default=0.1
        Count added to every event of the generative reference. The larger, the nearer its probabilities come
        to being equal.
    n_steps : int, default=1
        Steps with a line search on the likelihood, with this learner's matrix. More come nearer to the
        optimum of the likelihood and take longer.
    loss : "auto", None, "hamming", dict or object, default="auto"
        Ask for margins equal to the loss instead of 1. "hamming" counts wrong parts, a dict
        gives weights of labels, an object has ``part_costs(batch)``. "auto" as in :class:`ZScore`, but
        "hamming" on chains with too few samples: a wrong sequence may differ in one label or in all.
    total_margin : float, None or "auto", default="auto"
        With a loss and the generative reference: margins are those of the whole model, reference
        included (but for parts that cost nothing, such as transitions), and shall be so many times the loss.
        None asks the weights alone for margins equal to the loss. "auto" as in :class:`ZScore`.
        The larger, the more the weights may change what the reference says.
    constraints : {None, "hard", "slack"}, default=None
        Demand that no wrong output beats the given one.
    slack : {"quadratic", "linear"}, default="quadratic"
        How broken constraints are paid for.
    slack_penalty : float, default=1.0
        Their price. The larger, the fewer constraints are broken.
    margin : float, default=0.0
        By how much the given output must be ahead, per wrong part of the other one. 0, as in the
        paper, lets ties stand, which prediction may break the wrong way. The larger, the clearer the lead
        that is asked for.
    epsilon : float, default=0.0
        By how much another output may be ahead after all: constraints relaxed by a tolerance, in the units of
        ``theta . b = 1`` (with a reference, of its scores), for data that are not quite separable. The
        larger, the fewer constraints count.
    moments : {"exact", "sampled"}, default="exact"
        Exact moments, or unbiased estimates from random outputs.
    n_samples : int, default=200
        Random outputs per input. More are slower and nearer to exact moments.
    solver : {"auto", "direct", "cholesky", "cg"}, default="auto"
        As in :class:`ZScore`.
    tol : float, default=1e-4
        Residual at which conjugate gradients stop, relative to the right-hand side. Larger values stop
        sooner, with weights that are less exact.
    max_iter : int or None, default=None
        Maximum number of their iterations; None is ``1000 + 10 sqrt(n_features)``. A solution that has
        not reached ``tol`` by then gives a ``ConvergenceWarning``. More let a slow fit come to its end;
        fewer cut it short.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    keep_moments : bool, default=True
        Keep what ``partial_fit``, ``merge`` and ``resolve`` need; False gives smaller models.
    random_state : int, RandomState or None, default=0
        Seed of sampled moments; models that are to be merged should have different ones. Another number is
        another random choice, no better or worse.
    n_jobs : int or None, default=None
        Threads (-1: all cores). Results do not depend on it. More threads are faster, up to the number of
        cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    reference_coef_ : ndarray of shape (n_features,) or None
        Weights of the generative reference; its scores are added to those of ``coef_``.
    objective_ : float
        Value of the sum of squares, ridge left out (only without loss and constraints).
    z_score_ : float
        Z-score of the training outputs.
    lam_, reference_, loss_, total_margin_, length_ : float, str, object, float or None, float
        The ridge as a number, the reference, the loss, the margin per unit of it and the factor of the
        weights.
    n_constraints_ : int
        Constraints that were needed.
    stop_ : {"converged", "max_iter", "interrupted", "no progress"}
        Why the search stopped: that for constraints, that of ``n_steps`` > 1, or conjugate gradients; a
        system that is solved directly has "converged".
    completed_by_ : str or None
        The learner that filled in outputs that are known in part ("crf"); None where all are whole.
    moments_ : MomentState
        What was kept of the data.
    history_ : list of dict
        Solver, residual and so on, per step.

    See Also
    --------
    ZScore : Pools all samples in one ratio.
    CRF : Probabilities in place of moments.
    metrics.relative_rank : What its loss bounds.

    References
    ----------
    .. [1] Ricci, De Bie, Cristianini (2008), Magic moments for structured output prediction,
       JMLR 9.

    Examples
    --------
    >>> from trelliswork import SODA, Chain
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> model = SODA(Chain(), loss="hamming").fit(X, y)
    >>> model.predict([["the", "dog"]])
    [['D', 'N']]
    >>> bool((model.margins(X, y) > 0).all())
    True
    """

    _about = "gold"

    command = "soda"
    command_options = ("reg", "reference")

    def __init__(
        self,
        structure: Structure,
        reg: float | str = "auto",
        *,
        reg_mode: str = "relative",
        reference: str = "auto",
        symbols: Any = "auto",
        smoothing: float = 0.1,
        n_steps: int = 1,
        loss: Any = "auto",
        total_margin: float | str | None = "auto",
        constraints: str | None = None,
        slack: str = "quadratic",
        slack_penalty: float = 1.0,
        margin: float = 0.0,
        epsilon: float = 0.0,
        moments: str = "exact",
        n_samples: int = 200,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        class_weight: Any = None,
        keep_moments: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            structure,
            reg,
            reg_mode=reg_mode,
            reference=reference,
            symbols=symbols,
            smoothing=smoothing,
            n_steps=n_steps,
            loss=loss,
            total_margin=total_margin,
            constraints=constraints,
            slack=slack,
            slack_penalty=slack_penalty,
            margin=margin,
            epsilon=epsilon,
            moments=moments,
            n_samples=n_samples,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            keep_moments=keep_moments,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _weights(self, moments: AnyMoments, ridge: Ridge, with_loss: bool) -> np.ndarray:
        right = moments.deviation
        if with_loss:
            cost = moments.cost_mean / moments.total
            right = without_rounding(moments.cost_deviation - moments.cost_covariance, moments, cost)
        theta = ridge.solve(right, overwrite=with_loss)
        if not with_loss:
            self.objective_ = float(
                theta @ moments.second.product(theta) - 2.0 * (theta @ moments.deviation) + moments.total
            )
        return theta
