"""Structural support vector machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError, Unsupported
from trelliswork._stored import Declared, matrix, numbers
from trelliswork._tuning import Choice, Path
from trelliswork._validate import check_number
from trelliswork.kernels import Precomputed, as_kernel
from trelliswork.kernels._compose import fitted
from trelliswork.learners.completion import best_completion, first_completion
from trelliswork.learners.head_start import RemainingMargin
from trelliswork.learners.known import check_loss, known_in_part
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.room import Holds
from trelliswork.learners.strength import DataScale
from trelliswork.learners.svm.fit import fit_svm, tell_no_optimum
from trelliswork.learners.svm.kernel_model import KernelModel
from trelliswork.learners.svm.rounds import fit_completed
from trelliswork.learners.svm.weights import Expansion
from trelliswork.learners.weights import combined_weights, given_weights
from trelliswork.losses import Loss, as_loss
from trelliswork.losses.forms import Form, check_form
from trelliswork.shards import Shards
from trelliswork.structures.abilities import Rows, require
from trelliswork.structures.base import Batch, Space, Structure

__all__ = ["StructuredSVM"]

_ROWS = 200  # that tell the values of a kernel
_MARGINS = {"generative": 0.1, "given": 0.3}  # per unit of the loss, in scores of the prior
_SOLVERS = ("auto", "bcfw", "working-set", "one-slack")


class StructuredSVM(KernelModel):
    r"""Structural support vector machine.

    Minimises ``|w|^2 / 2`` plus ``C_`` times the mean of the slacks (or half their squares),
    where every other output must score below the true one by a margin, up to the slack:

    ========  ===========  ===========================================================
    slack     rescale      constraint, for every output with loss ``D``
    ========  ===========  ===========================================================
    "none"    None         margin >= 1
    "l1"      None         margin >= 1 - slack
    "l2"      None         margin >= 1 - slack
    "l1"      "margin"     margin >= D - slack
    "l2"      "margin"     margin >= sqrt(D) - slack
    "l1"      "slack"      margin >= 1 - slack / D
    "l2"      "slack"      margin >= 1 - slack / sqrt(D)
    ========  ===========  ===========================================================

    Where only part of a true output is known, the best output that agrees with it takes its place, and losses
    count only what contradicts what is known. Rounds of completing and solving (the concave-convex
    procedure), from the completions of a conditional random field, lower the objective until it stays.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    C : float, default=1.0
        Price of errors: larger values fit the training data more closely.
    C_mode : {"relative", "absolute"}, default="relative"
        Whether the weight of the mean slack is ``C_ = 3 C n_samples / V``, with V the mean squared norm of
        the features of one part of an output (a token with its label; with a kernel its mean value for
        equal rows), or C itself. With the prior "generative" it is ``5 C / V``, with others ``150 C / V``.
        With one label per sample and margin rescaling ``C_`` is also times the mean loss of a wrong label, by
        which weights grow (L1 slacks), and with slack rescaling it is divided by it. (``C_ / n_samples`` is
        what other tools call C; ``n_samples / (2 C_)`` plays the part of ``l2`` of :class:`CRF`.)
    loss : str or Loss, default="hamming"
        ``"hamming"``, ``"zero-one"``, ``"tree"``, ``"f1"``, ``"edit"`` (``Edit(cap=3)``), or an object
        of :mod:`trelliswork.losses`.
    slack : {"l1", "l2", "none"}, default="l1"
        Penalty on slacks; ``"none"`` is the hard margin, for separable data.
    rescale : {"margin", "slack", None}, default="margin"
        Where the loss enters.
    prior : "auto", "generative", dict, ndarray or None, default="auto"
        Weights that the others are pulled towards: ``|w|^2`` becomes ``|w - prior|^2``. Given by feature
        name or in the order of the features, or those of :class:`Generative`. "auto" is what the structure
        knows before it has seen data (``RNA()``: the model of the package), "generative" for the other
        grammars of RNA, where otherwise the structure without a pair is best for data of many families, and
        None for the rest. It goes with L1 slacks, ``rescale="margin"``, a loss that is a sum over parts, and
        no kernel.
    prior_margin : float or "auto", default="auto"
        With a prior: margin per unit of the loss, in the units of its scores. "auto" is 0.1 with the
        weights of :class:`Generative`, which are far too sure, and 0.3 with others. The larger, the further
        weights move from the prior.
    solver : {"auto", "bcfw", "working-set", "one-slack"}, default="auto"
        All reach the same optimum. ``"bcfw"``, block-coordinate Frank-Wolfe with line search
        over cached outputs, is the default. ``"working-set"`` solves the problem over all
        outputs found so far before it looks for more, ``"one-slack"`` keeps one constraint for all
        samples (L1 slacks, no kernel).
    kernel : str, Kernel, callable or None, default=None
        Similarity of input rows (``"poly"``, ``"rbf"``, see :mod:`trelliswork.kernels`): rows of
        ``Classes``, tokens of ``Chain``; or of what is around parts of outputs: base pairs of ``RNA``,
        matches of ``Alignment``, symbols of ``Grammar`` (see their ``context``), each type for itself.
        Features without rows (transitions, bias, rules) stay linear. Columns of
        arrays are scaled first and vary by about 1, which a ``gamma`` is relative to; with few columns a
        larger one than 1 does better.
    tol : float, default=1e-3
        Stop when the duality gap is below this part of the objective. Larger values stop sooner, with
        weights that are less exact.
    epsilon : float or None, default=None
        Instead of ``tol``: take up only constraints that are broken by more than ``epsilon`` beyond the slack
        of their sample, and stop when there are none (``"working-set"`` only, which "auto" then is). The
        objective is then within ``C_ epsilon`` of the optimum (L1 slacks), and
        :func:`trelliswork.bounds.svm_constraints` bounds the number of constraints. The larger, the fewer
        constraints, the faster and the less exact.
    max_iter : int, default=1000
        Maximum number of rounds over the data. More let a slow fit come to its end; fewer cut it short.
    average : bool, default=False
        Return the weighted average of the iterates of ``"bcfw"``.
    approx : bool, default=False
        Take the best output that a few searches find, where proving it best is costly
        (slack rescaling, squared slacks, losses that do not decompose). ``primal_`` and ``gap_``
        are then estimates from below.
    cache_mb : float, default=1000
        Bound on the memory for constraints (with their outputs) and kernel matrices, in
        megabytes. Eight outputs per sample are kept whatever the bound. More room saves searches; too little
        takes more rounds.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label; a sample weighs the mean over its labels.
    random_state : int, RandomState or None, default=0
        Seed of the order of visits. Another number is another random choice, no better or worse.
    warm_start : bool, default=False
        Start from the support set of the previous fit (of the same samples, in the same order; more
        may follow): for one C after the other, or a smaller ``tol``. The optimum is the same.
        Not used by ``"one-slack"``.
    n_jobs : int or None, default=None
        Threads of the search for violated outputs. Results do not depend on it. More threads are faster, up
        to the number of cores.
    verbose : int, default=0
        1 shows progress. Larger values show no more.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights (linear models).
    C_ : float
        Weight of the mean slack.
    prior_coef_ : ndarray of shape (n_features,) or None
        Weights of the prior; they are part of ``coef_``.
    prior_margin_ : float or None
        Margin per unit of the loss, where there is a prior.
    support_ : list of (int, output, float)
        Sample, output and dual variable of every constraint in use.
    n_constraints_ : int
        Constraints that were ever added.
    primal_, dual_, gap_ : float
        Objectives and their relative difference.
    stop_ : {"converged", "max_iter", "interrupted"}
        Why the solver stopped.
    history_ : list of dict
        Per round: primal, dual, relative gap (``certified`` where the gap is exact), constraints.
    rounds_ : list of dict
        Where outputs are known in part: ``objective`` and ``gap`` of every round, and the number of outputs
        whose best completion ``changed`` after it. The objective never rises.
    support_rows_, dual_coef_, linear_coef_ : arrays
        Kernel models: rows (or contexts), their coefficients per label (or type of part), weights of the
        features without rows.
    kernel_ : kernel or None
        The kernel, with the number that its ``gamma="auto"`` stands for.

    See Also
    --------
    CRF : Probabilities in place of margins.
    Perceptron : Faster, without a certificate.
    bounds.svm_constraints : How many constraints are taken up at most.

    References
    ----------
    .. [1] Tsochantaridis, Hofmann, Joachims, Altun (2004), ICML.
    .. [2] Joachims, Finley, Yu (2009), Machine Learning 77.
    .. [3] Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), ICML.

    Examples
    --------
    >>> from trelliswork import Chain, StructuredSVM
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> svm = StructuredSVM(Chain(), C=10).fit(X, y)
    >>> svm.predict([["the", "dog"]])
    [['D', 'N']]
    >>> svm.gap_ <= 1e-3
    True

    A pair of bases that forms between different neighbours only, which no sum of weights can say:

    >>> from trelliswork import RNA
    >>> X = ["AGAAAACC", "CGAAAACA", "AGAAAACA", "CGAAAACC"]
    >>> y = [".(....).", ".(....).", "........", "........"]
    >>> StructuredSVM(RNA("g6"), C=100, kernel="poly").fit(X, y).predict(X) == y
    True
    """

    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"C_mode": "absolute", "prior": None}

    stored: ClassVar[Mapping[str, Declared]] = {
        "support_rows_": matrix("rows", "attributes", optional=True),
        "dual_coef_": numbers("rows", "columns", optional=True),
        "linear_coef_": numbers("other features", optional=True),
        "prior_coef_": numbers("features", optional=True),
    }
    tuning = (Path("C", weaker="up"), Choice("rescale", ("margin", "slack"), on_request=True))
    by_blocks = True
    loosen = ("raise C", "use prior='auto'")

    support_: list[tuple[int, Any, float]]

    command = "svm"
    command_options = ("C", "loss", "max_iter")

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=4, tables=3, costs=2, question="viterbi")

    def __init__(
        self,
        structure: Structure,
        C: float = 1.0,
        *,
        C_mode: str = "relative",
        loss: str | Loss = "hamming",
        slack: str = "l1",
        rescale: str | None = "margin",
        prior: Any = "auto",
        prior_margin: float | str = "auto",
        solver: str = "auto",
        kernel: Any = None,
        tol: float = 1e-3,
        epsilon: float | None = None,
        max_iter: int = 1000,
        average: bool = False,
        approx: bool = False,
        cache_mb: float = 1000.0,
        class_weight: Any = None,
        random_state: Any = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.C = C
        self.C_mode = C_mode
        self.loss = loss
        self.slack = slack
        self.rescale = rescale
        self.prior = prior
        self.prior_margin = prior_margin
        self.solver = solver
        self.kernel = kernel
        self.tol = tol
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.average = average
        self.approx = approx
        self.cache_mb = cache_mb
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuredSVM:
        """Find the weights.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample; 2 is the same as having the sample twice.
        """
        form, loss, kernel = self._checked()
        structure = self._checked_structure()
        source = self._prior_source(structure, form, kernel)
        counted = isinstance(source, str)  # "generative"
        if counted:
            structure = structure.complete()
        joint = self.solver == "one-slack" or isinstance(X, Shards)
        leaves = "blocks" if joint else None
        space, batch = self._start(
            X, y, sample_weight, structure=structure, scaled=not counted, leaves=leaves
        )
        weights = combined_weights(batch, sample_weight, self.class_weight)
        if isinstance(X, Shards):
            self._check_blocks(form, kernel)
        if kernel is not None:
            kernel = fitted(kernel, require(batch, Rows).row_view().rows)
        partly = known_in_part(batch)
        prior = None if source is None else self._prior(source, batch, weights, loss, partly is not None)
        check_loss(batch, loss)
        kind = None if prior is None else "generative" if counted else "given"
        price = self._price(batch, weights, kernel, kind) * self._loss_unit(batch, loss, form)
        margin = None
        if prior is not None:
            margin = _MARGINS[str(kind)] if isinstance(self.prior_margin, str) else self.prior_margin
            loss = RemainingMargin(loss, margin, lambda part: part.scores(prior))
        options: dict[str, Any] = {
            "weights": weights,
            "solver": self.solver,
            "kernel": kernel,
            "tol": self.tol,
            "epsilon": self.epsilon,
            "max_iter": self.max_iter,
            "average": self.average,
            "approx": self.approx,
            "cache_mb": self.cache_mb,
            "random_state": self.random_state,
            "keep_outputs": not isinstance(X, Shards),
        }
        warm = self.warm_start and self.__sklearn_is_fitted__() and not joint
        start = (self._prepared(X), self.support_) if warm else None
        rounds: list[dict[str, Any]] = []
        seen = batch.seen if self.verbose else None
        with Progress("StructuredSVM", self.max_iter, self.verbose, seen) as progress:
            options["progress"] = progress
            if partly is None:
                solution, model = fit_svm(batch, price, loss, form, warm=start, **options)
            else:
                inputs = None if joint else self._prepared(X)
                first = (
                    best_completion(partly, None, self.part_scores(batch, X))
                    if self._goes_on(space)
                    else None
                )
                solution, model, rounds = fit_completed(
                    first_completion(partly, weights) if first is None else first,
                    lambda done, warm: fit_svm(done, price, loss, form, warm=warm, **options),
                    inputs,
                    kernel,
                    self.tol,
                )
        tell_no_optimum(solution, self.tol, self.epsilon)
        for name in ("coef_", "support_rows_", "dual_coef_", "linear_coef_"):
            self.__dict__.pop(name, None)
        if isinstance(model, Expansion):
            self.support_rows_, self.dual_coef_, self.linear_coef_ = model
        else:
            self.coef_ = model if prior is None else model + prior
        self.space_, self.C_, self.prior_coef_, self.rounds_ = space, price, prior, rounds
        self.kernel_, self.prior_margin_ = kernel, margin
        self.support_, self.n_constraints_ = solution.support, solution.n_constraints
        self.primal_, self.dual_, self.gap_ = solution.primal, solution.dual, solution.gap
        self.history_, self.n_iter_, self.stop_ = progress.history, solution.n_iter, solution.stop
        return self

    def _check_blocks(self, form: Form, kernel: Any) -> None:
        """Refuse problems that keep something of every sample, for data in partitions."""
        others = self.solver not in ("auto", "one-slack") or self.average or self.epsilon is not None
        if others or form.slack != "l1" or kernel is not None:
            raise Unsupported(
                "data in partitions are learnt from with solver='one-slack': it needs slack='l1', "
                "average=False, and neither kernel nor epsilon"
            )

    def _loosened(self) -> tuple[str, ...]:
        """Away from a prior that knows more than the weights it was left for, C is too large."""
        return self.loosen if self.prior_coef_ is None else ("lower C", "lower prior_margin")

    def _goes_on(self, space: Space) -> bool:
        """Whether there are weights to start from."""
        same = self.__sklearn_is_fitted__() and self.space_.feature_names == space.feature_names
        return bool(self.warm_start) and same

    def _prior_source(self, structure: Structure, form: Form, kernel: Any) -> Any:
        """The word "generative", weights, or None for no prior, as far as parameters tell."""
        if not self._prior_is("auto"):
            return self.prior
        if not form.additive or kernel is not None:
            return None
        known = structure.known_weights()
        return structure.svm_prior if known is None else known

    def _prior(
        self, source: Any, batch: Batch, weights: np.ndarray | None, loss: Loss, partly: bool
    ) -> np.ndarray | None:
        """Weights of the prior; with "auto" None for a loss or for outputs that do not go with one."""
        auto = self._prior_is("auto")
        if partly:
            if auto:
                return None
            raise InputError("the prior needs outputs that are known as a whole; use prior=None")
        loss.check(batch.space)
        if loss.part_costs(batch) is None:
            if auto:
                return None
            raise InputError(f"{loss!r} is not a sum over parts; use loss='hamming' or prior=None")
        if not isinstance(source, str):
            return given_weights(batch.space, source, "prior")
        smoothing = self.structure.generative_smoothing * batch.count_unit(weights)
        return batch.generative_weights(smoothing, weights)

    def _prior_is(self, name: str) -> bool:
        return isinstance(self.prior, str) and self.prior == name

    def _price(self, batch: Batch, weights: np.ndarray | None, kernel: Any, prior: str | None) -> float:
        """Weight of the mean slack."""
        if self.C_mode == "absolute":
            return self.C
        scale = DataScale.of(batch, weights)
        if kernel is not None:
            rows = require(batch, Rows).row_view().rows[:_ROWS]
            scale = scale._replace(norm=float(np.mean(np.diagonal(kernel(rows, rows)))) + 1.0)
        return self.C * (scale.price if prior is None else scale.prior_price(prior))

    def _loss_unit(self, batch: Batch, loss: Loss, form: Form) -> float:
        """What the mean loss of a wrong class does to the price: the same C for heights and for 0 or 1."""
        if self.C_mode == "absolute" or not batch.one_label or form.rescale is None:
            return 1.0
        table = np.asarray(loss.label_table(batch.space))
        wrong = table[~np.eye(len(table), dtype=bool)]
        mean = float(wrong.mean()) if wrong.size else 1.0
        if mean <= 0.0:
            return 1.0
        if form.rescale == "slack":
            return 1.0 / mean
        return mean if form.slack == "l1" else 1.0

    def _checked(self) -> tuple[Form, Loss, Any]:
        form, loss = check_form(self.slack, self.rescale), as_loss(self.loss)
        if isinstance(self.prior, str) and self.prior not in ("auto", "generative"):
            raise InputError(f"prior must be 'auto', 'generative', weights or None, got {self.prior!r}")
        for name in ("C", "tol", "cache_mb", "prior_margin"):
            if name != "prior_margin" or self.prior_margin != "auto":
                check_number(name, getattr(self, name), 0, above=True)
        check_number("max_iter", self.max_iter, 1, whole=True)
        if self.C_mode not in ("relative", "absolute"):
            raise InputError(f"C_mode must be 'relative' or 'absolute', got {self.C_mode!r}")
        if self.solver not in _SOLVERS:
            raise InputError(f"solver must be one of {', '.join(map(repr, _SOLVERS))}, got {self.solver!r}")
        kernel = None if self.kernel is None else as_kernel(self.kernel)
        if isinstance(kernel, Precomputed):
            raise InputError("StructuredSVM compares rows itself: give the kernel, not precomputed values")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, 0, above=True)
            if self.solver not in ("auto", "working-set") or self.average:
                raise InputError("epsilon=... needs solver='working-set' and average=False")
        if self.solver == "one-slack" and (form.slack != "l1" or kernel is not None):
            raise InputError("solver='one-slack' needs slack='l1' and no kernel; use solver='working-set'")
        given = self.prior is not None and not self._prior_is("auto")
        if given and (not form.additive or kernel is not None):
            raise InputError("a prior needs slack='l1', rescale='margin' and no kernel")
        if self.average and (self.solver not in ("auto", "bcfw") or kernel is not None):
            raise InputError("average=True needs solver='bcfw' and no kernel")
        return form, loss, kernel

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_") or hasattr(self, "dual_coef_")

    def weights_by_name(self) -> dict[Any, float]:
        """All non-zero weights under their feature names (linear models)."""
        self._refuse_kernel("weights_by_name")
        return super().weights_by_name()

    def tables(self, top: int = 10) -> dict[str, Any]:
        """Weights for reading (linear models).

        Parameters
        ----------
        top : int, default=10
            Rows per label; more show smaller weights.
        """
        self._refuse_kernel("tables")
        return super().tables(top)

    def _refuse_kernel(self, what: str) -> None:
        if hasattr(self, "dual_coef_"):
            raise InputError(
                f"a kernel model has no weights by name, so {what} cannot show any; see support_rows_ and "
                "dual_coef_"
            )
