"""The estimator that ZScore and SODA share: how its weights are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._signature import signature
from trelliswork._tuning import Choice, Path
from trelliswork._validate import random_numbers
from trelliswork.learners.calls import accepts_iterators
from trelliswork.learners.completion import filled_in
from trelliswork.learners.head_start import RemainingMargin
from trelliswork.learners.moments.checks import check_parameters
from trelliswork.learners.moments.constraints import fit_constrained
from trelliswork.learners.moments.held_out import Scores, Setting, told_by_others, told_ridge
from trelliswork.learners.moments.model import MomentModel
from trelliswork.learners.moments.newton import newton_steps
from trelliswork.learners.moments.reference import reference_scores, reference_weights
from trelliswork.learners.moments.state import MomentState
from trelliswork.learners.moments.sums import BatchMoments, MomentSums, SampledMoments
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.ridge import Ridge, SecondMoment
from trelliswork.learners.room import Holds
from trelliswork.learners.strength import DataScale
from trelliswork.learners.trial import Trial
from trelliswork.learners.weights import combined_weights
from trelliswork.losses import as_loss
from trelliswork.structures.abilities import Storable, require
from trelliswork.structures.base import Batch, Parts, Space, Structure

__all__ = ["AnyMoments", "MomentLearner"]

AnyMoments = BatchMoments | SampledMoments | MomentSums
_LOOSE = 1e-2  # tolerance of a look
Self = TypeVar("Self", bound="MomentLearner")

# Parameters that decide what is kept of the data; models must agree on them to be merged.
_KEPT = (
    *("reference", "loss", "total_margin", "moments", "n_samples", "symbols", "smoothing", "constraints"),
    "n_steps",
)


class MomentLearner(MomentModel):
    """Learning from the first two moments of the features over all outputs of each input.

    Subclasses say which second moment they use (``_about``) and how weights come out of it
    (``_weights``).
    """

    tuning = (
        Path("reg", decades=(2.0, 2.0), resolved="lam_", fixed=(("reg_mode", "absolute"),)),
        Choice("reference", ("uniform", "generative")),
    )

    by_blocks = True
    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"total_margin": None}
    _about = "mean"
    loosen = ("use reference='generative'", "lower reg")

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        # Trials hold half of the samples out; moments about gold outputs are joined from several tables.
        about = 4.5 if self._about == "gold" else 0.0
        return Holds(vectors=12, tables=8, expected=0.5, matrices=4, deviations=about, question="tangent")

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
        self.structure = structure
        self.reg = reg
        self.reg_mode = reg_mode
        self.reference = reference
        self.symbols = symbols
        self.smoothing = smoothing
        self.n_steps = n_steps
        self.loss = loss
        self.total_margin = total_margin
        self.constraints = constraints
        self.slack = slack
        self.slack_penalty = slack_penalty
        self.margin = margin
        self.epsilon = epsilon
        self.moments = moments
        self.n_samples = n_samples
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- data in ---------------------------------------------------------------------------

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the moments of the data and solve.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample; 2 is the same as having the sample twice.
        """
        self._check_parameters()
        self._solve(self._state_of(X, y, sample_weight))
        return self

    def partial_fit(
        self: Self, X: Any, y: Any, sample_weight: Any = None, *, solve: bool = True, classes: Any = None
    ) -> Self:
        """Add the moments of more data; the result is that of one ``fit`` on all of it.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The next shard; new labels and features join the model.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        solve : bool, default=True
            Whether to solve now; with False, call :meth:`resolve` after the last shard.
        classes : list of labels or None
            All labels of the stream, as scikit-learn has it, where outputs are single labels; new labels
            join the model anyway.
        """
        self._check_parameters()
        old = self._kept() if hasattr(self, "moments_") or hasattr(self, "coef_") else None
        if old is not None:
            self._check_columns(X)
        state = self._state_of(X, y, sample_weight, 0 if old is None else old.n_samples, classes)
        if old is not None:
            state = self._joined(old, state)
        if solve:
            self._solve(state)
        else:
            self.moments_ = state
        return self

    @accepts_iterators
    def merge(self: Self, other: MomentLearner) -> Self:
        """Add the moments that another model has seen, and solve.

        Parameters
        ----------
        other : ZScore or SODA
            A model of the same structure and parameters (``reg`` may differ), fitted on other
            samples, perhaps on another machine.
        """
        self._check_parameters()
        if not isinstance(other, MomentLearner):
            raise InputError(f"merge needs a ZScore or SODA model, got {type(other).__name__}")
        for name in _KEPT:
            if signature(getattr(self, name)) != signature(getattr(other, name)):
                raise InputError(
                    f"merge needs equal parameters: {name} is {getattr(self, name)!r} here and "
                    f"{getattr(other, name)!r} there"
                )
        if signature(self.structure) != signature(other.structure):
            raise InputError(f"merge needs one structure, got {self.structure!r} and {other.structure!r}")
        self._solve(self._joined(self._kept(), other._kept()))
        return self

    @accepts_iterators
    def resolve(self: Self, reg: float | str | None = None, *, reg_mode: str | None = None) -> Self:
        """Solve again, from the moments that were kept, without the data.

        Parameters
        ----------
        reg : float, "auto" or None
            New value of ``reg``, larger for simpler models; None keeps it.
        reg_mode : {"relative", "absolute"} or None
            New value of ``reg_mode``.
        """
        changes = {"reg": reg, "reg_mode": reg_mode}
        changes = {name: value for name, value in changes.items() if value is not None}
        old = {name: getattr(self, name) for name in changes}
        try:
            self.set_params(**changes)._check_parameters()
        except InputError:
            self.set_params(**old)
            raise
        self._solve(self._kept())
        return self

    def fit_again(self: Self, X: Any, y: Any, sample_weight: Any = None, **changes: Any) -> Self:
        """Fit to the samples of the last fit with other parameters; another ``reg`` takes no new pass.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The samples of the last fit.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        **changes
            New values of parameters.
        """
        if hasattr(self, "moments_") and changes.keys() <= {"reg", "reg_mode"}:
            return self.resolve(**changes)
        return super().fit_again(X, y, sample_weight, **changes)

    def _kept(self) -> MomentState:
        if not hasattr(self, "moments_"):
            if hasattr(self, "coef_"):
                raise InputError("the moments were not kept; fit with keep_moments=True")
            raise InputError(
                f"this {type(self).__name__} has seen no data yet; call fit or partial_fit first"
            )
        return self.moments_

    def _state_of(
        self, X: Any, y: Any, sample_weight: Any, seen: int = 0, classes: Any = None
    ) -> MomentState:
        structure = self._checked_structure()
        counted = self.reference == "generative" or (
            self.reference == "auto" and structure.moment_reference == "generative"
        )
        # What is known before any data is a law, too.
        whole = structure.complete() if counted and structure.known_weights() is None else structure
        leaves = "scales" if self._adds_up else None
        space, batch = self._start(X, y, sample_weight, structure=whole, classes=classes, leaves=leaves)
        weights = combined_weights(batch, sample_weight, self.class_weight)
        batch, self.completed_by_ = filled_in(batch, weights)
        plain = self._law(space) == "uniform" and self.constraints is None and self.n_steps == 1
        plain = plain and self.solver in ("auto", "cholesky")  # others go through the samples
        if plain and space.outputs_fixed and space.n_features <= batch.covariance().max_dense:
            return self._summed(space, batch, weights, seen)
        joinable = structure.offers(Storable) or batch.in_blocks
        samples = None if joinable else (list(X), list(batch.unpack(batch.gold_codes)))
        return MomentState(space, batch=batch, weights=weights, samples=samples, n_samples=len(batch))

    def _summed(self, space: Space, batch: Batch, weights: np.ndarray | None, seen: int = 0) -> MomentState:
        state = MomentState(space, batch=batch, weights=weights, n_samples=len(batch))
        moments = self._moments(self._samples(state), None, weights, seen)
        sums = MomentSums.of(moments, self._loss is not None)
        return MomentState(space, sums=sums, made=self._made(), n_samples=len(batch))

    def _samples(self, state: MomentState) -> Batch:
        """Samples in leaves, as far as all that is asked of them adds up."""
        assert state.batch is not None
        return state.in_leaves() if self._adds_up else state.batch

    @property
    def _adds_up(self) -> bool:
        return self.moments == "exact" and self.constraints is None

    def _made(self) -> dict[str, str]:
        """What sums depend on."""
        names: tuple[str, ...] = ("reference", "loss", "constraints", "n_steps", "moments")
        names += ("n_samples",) if self.moments == "sampled" else ()
        return {name: signature(self._loss if name == "loss" else getattr(self, name)) for name in names}

    def _joined(self, one: MomentState, other: MomentState) -> MomentState:
        if (one.sums is None) != (other.sums is None):  # near the largest size of sums
            one, other = (
                s if s.batch is None else self._summed(s.space, s.batch, s.weights) for s in (one, other)
            )
        return one.merged(other)

    # -- solving ---------------------------------------------------------------------------

    def _moments(
        self,
        batch: Batch,
        scores: Parts | None,
        weights: np.ndarray | None,
        seen: int = 0,
        reference: np.ndarray | None = None,
        setting: Setting | None = None,
    ) -> BatchMoments | SampledMoments:
        loss, margin, *_ = Setting(self._loss) if setting is None else setting
        if loss is not None and reference is not None and margin is not None:
            loss = RemainingMargin(
                as_loss(loss), margin, lambda part: reference_scores(part, reference), costed=True
            )
        if self.moments == "exact":
            return BatchMoments(batch, scores, weights, loss)
        seed = random_numbers(self.random_state).randint(2**31)
        rng = np.random.default_rng([seed, seen] if seen else seed)  # errors of shards must not add up
        return SampledMoments(batch, scores, weights, loss, self.n_samples, rng)

    def _solve(self, state: MomentState) -> None:
        space, weights = state.space, state.weights
        batch = None if state.batch is None else self._samples(state)
        law, setting = self._law(space), self._setting(state)
        reference: np.ndarray | None = None
        offset: Parts | None = None
        moments: AnyMoments
        if state.sums is not None:
            state.check_made(self._made())
            moments = state.sums
        else:
            assert batch is not None
            if law == "observed":
                space = space.observed(batch, self.symbols)
                batch = require(batch, Storable).into(space)
            elif law == "generative":
                reference = reference_weights(batch, self.smoothing, weights)
                offset = reference_scores(batch, reference)
            moments = self._moments(batch, offset, weights, reference=reference, setting=setting)
        lam = self._ridge(law, setting, moments, batch, weights)
        if not np.isfinite(lam) or not np.isfinite(moments.deviation).all():
            raise InputError(
                "the second moments of the features are too large for floating point; scale them"
            )
        n_constraints = 0
        if hasattr(self, "objective_"):  # of another fit
            del self.objective_
        seen = None if batch is None or not self.verbose else batch.seen
        with Progress(type(self).__name__, None, self.verbose, seen) as progress:
            if self.n_steps > 1:
                assert batch is not None
                theta, stop = newton_steps(
                    batch,
                    offset,
                    weights,
                    lam,
                    about=self._about,
                    n_steps=self.n_steps,
                    options=self._options(),
                    progress=progress,
                )
            elif self.constraints is not None and moments.deviation.any():
                assert batch is not None
                working_set, stop = fit_constrained(
                    batch,
                    Ridge(self._second(moments), lam, **self._options(exact=True)),
                    moments.deviation,
                    slack=self.slack if self.constraints == "slack" else None,
                    penalty=self.slack_penalty,
                    weights=weights,
                    margin=self.margin,
                    epsilon=self.epsilon,
                    reference=reference,
                    progress=progress,
                )
                theta, n_constraints = working_set.theta, len(working_set)
            else:
                ridge = Ridge(self._second(moments), lam, **self._options())
                theta = setting.length * self._weights(moments, ridge, setting.loss is not None)
                if setting.length != 1.0:
                    self.__dict__.pop("objective_", None)  # that of weights of another length
                stop = ridge.stop
                progress.done(n_features=space.n_features, lam=lam, **ridge.said)
        if not np.isfinite(theta).all():
            raise InputError("the weights are not finite; raise reg or scale the features")
        self.space_ = space
        self.coef_ = theta
        self.reference_coef_ = reference
        self.lam_, self.reference_ = lam, law
        self.loss_, self.total_margin_, self.length_, _ = setting
        self.n_constraints_ = n_constraints
        spread = float(theta @ moments.covariance.product(theta))
        ahead = float(theta @ moments.deviation)
        self.z_score_ = ahead / np.sqrt(spread) if spread > 0 else 0.0
        self.history_ = progress.history
        self.n_iter_, self.stop_ = len(progress.history), stop
        if self.keep_moments and (state.batch is None or not state.batch.in_blocks):
            state.forget_leaves()
            self.moments_ = state
        elif hasattr(self, "moments_"):
            del self.moments_

    def _law(self, space: Space) -> str:
        return space.moment_reference if self.reference == "auto" else self.reference

    @property
    def _loss(self) -> Any:
        if not (isinstance(self.loss, str) and self.loss == "auto"):
            return self.loss
        alone = self.constraints is not None or self.n_steps > 1
        return None if alone else self._checked_structure().moment_loss

    def _setting(self, state: MomentState) -> Setting:
        """Loss, margin per unit of it and factor of the weights; what is "auto", held-out samples tell."""
        if state.batch is not None and self._ridge_is_told(state.batch):
            if state.told is None:
                state.told = Setting(self._loss, ridge=self._told_ridge(state.batch, state.weights))
            return state.told._replace(loss=self._loss)
        generative = self._law(state.space) == "generative"
        if self._loss is not None and generative and self.total_margin not in (None, "auto"):
            return Setting(self._loss, float(self.total_margin))
        plain = Setting(self._loss)
        given = not isinstance(self.loss, str) or self.loss != "auto" or self.total_margin != "auto"
        alone = self.constraints is not None or self.n_steps > 1 or self.moments != "exact"
        if given or alone or not generative or state.batch is None:
            return plain
        if self._about == "mean":
            # A step of Newton's method is 0 where the law is right; a margin that is asked for may be huge.
            plain = Setting(None)
        if state.batch.one_label:  # with a ridge that is given
            return plain
        if state.told is None:
            known, margin = state.space.structure.known_weights() is not None, state.space.moment_margin
            others = [Setting(loss) for loss in (None, "hamming") if loss != plain.loss and not known]
            others += [] if margin is None else [Setting("hamming", margin)]
            settings = [plain, *others]
            samples = self._samples(state)
            state.told = told_by_others(samples, state.weights, settings, self._tried, in_turn=known)
        return state.told

    def _ridge_is_told(self, batch: Batch) -> bool:
        """Whether held-out samples choose the ridge: of single labels, and of chains with an observed law."""
        plain = self.constraints is None and self.n_steps == 1 and self.moments == "exact"
        if self.reg != "auto" or not plain:
            return False
        if batch.one_label:
            return self._loss is None and self.reference != "observed"
        return self.reference == "observed"

    def _told_ridge(self, batch: Batch, weights: np.ndarray | None) -> float:
        law, setting = self._law(batch.space), Setting(self._loss)
        unit = self._ridge(law, setting, self._moments(batch, None, weights, setting=setting), batch, weights)

        loose = {"tol": _LOOSE} if batch.one_label else {}

        def learn(split: Trial) -> tuple[Trial, Scores]:
            reference, offset = None, None
            if law == "observed":
                space = split.known.space.observed(split.known, self.symbols)
                known, new = (require(part, Storable).into(space) for part in (split.known, split.new))
                split = split._replace(known=known, new=new)
            elif law == "generative":
                reference = reference_weights(split.known, self.smoothing, split.weights)
                offset = reference_scores(split.known, reference)
            moments = self._moments(split.known, offset, split.weights, setting=setting)

            def told(factor: float) -> Parts:
                ridge = Ridge(self._second(moments), factor * unit, **self._options() | loose)
                found = split.new.scores(self._weights(moments, ridge, setting.loss is not None))
                return found if reference is None else found + reference_scores(split.new, reference)

            return split, told

        return told_ridge(batch, weights, learn)

    def _tried(
        self, batch: Batch, weights: np.ndarray | None
    ) -> Callable[[Setting], tuple[np.ndarray, np.ndarray]]:
        """Weights of some samples beside a generative law, for a setting, and those of the law."""
        reference = reference_weights(batch, self.smoothing, weights)
        offset, scale = reference_scores(batch, reference), DataScale.of(batch, weights)

        def solved(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
            moments = self._moments(batch, offset, weights, reference=reference, setting=setting)
            lam = scale.ridge("generative" if setting.margin is None else "total")
            ridge = Ridge(self._second(moments), lam, **self._options())
            return self._weights(moments, ridge, setting.loss is not None), reference

        return solved

    def _ridge(
        self,
        law: str,
        setting: Setting,
        moments: AnyMoments,
        batch: Batch | None,
        weights: np.ndarray | None,
    ) -> float:
        """What is added to the diagonal of the covariance."""
        if self.reg == "auto" and law != "uniform":
            if batch is None:  # sums are kept of uniform laws only
                raise InputError(
                    f"sums of moments tell no reg='auto' with reference={law!r}; set reg, or fit anew"
                )
            scale = DataScale.of(batch, weights)
            return setting.ridge * scale.ridge(law if setting.margin is None else "total")
        if self.reg != "auto" and self.reg_mode == "absolute":
            return float(self.reg)
        variance = float(moments.covariance.diagonal().mean()) if moments.deviation.size else 0.0
        return (
            setting.ridge * self.structure.moment_ridge if self.reg == "auto" else float(self.reg)
        ) * variance

    def _options(self, exact: bool = False) -> dict[str, Any]:
        # A quadratic program is only as good as the products of its solutions.
        tol = min(self.tol, 1e-6) if exact else self.tol
        return {"solver": self.solver, "tol": tol, "max_iter": self.max_iter}

    def _second(self, moments: AnyMoments) -> SecondMoment:
        return moments.covariance if self._about == "mean" else moments.second

    def _weights(self, moments: AnyMoments, ridge: Ridge, with_loss: bool) -> np.ndarray:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_parameters(self)
