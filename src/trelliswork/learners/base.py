"""The estimator that all learners share: checks, packed data, scikit-learn's protocol."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from trelliswork._blas import one_blas_thread
from trelliswork._errors import InputError, Unsupported
from trelliswork._parameters import Parametrised
from trelliswork._stored import Declared, fitting, numbers
from trelliswork._tuning import Tunable
from trelliswork._validate import (
    check_samples,
    check_weights,
)
from trelliswork.learners.advice import advised, remark
from trelliswork.learners.calls import accepts_iterators
from trelliswork.learners.classifier import has_single_labels
from trelliswork.learners.reading import reading
from trelliswork.learners.room import Holds, check_room
from trelliswork.learners.verbs import ModelVerbs
from trelliswork.learners.weights import carry_over
from trelliswork.shards import Shards
from trelliswork.shards.leaves import in_leaves
from trelliswork.structures.base import Batch, Space, Structure

_LOOKED_AT = 8  # samples of data in partitions

__all__ = ["FitInterrupted", "StructuredEstimator", "warn_interrupted"]


class FitInterrupted(UserWarning):
    """A fit was stopped from the keyboard; the best weights so far were kept.

    Examples
    --------
    >>> import warnings
    >>> from trelliswork import FitInterrupted
    >>> warnings.simplefilter("error", FitInterrupted)  # makes Ctrl-C end the program after all
    >>> warnings.resetwarnings()
    """


def warn_interrupted(what: str) -> None:
    """Tell that a fit was interrupted."""
    warnings.warn(f"interrupted: {what}; the best weights so far were kept", FitInterrupted, stacklevel=3)


class StructuredEstimator(ModelVerbs, Parametrised):
    """Base of all learners.

    A subclass implements ``fit(X, y)``, which calls ``_start`` for the checks and the packed
    data and sets ``space_``, ``coef_``, ``history_`` and ``n_iter_``. Everything else is here
    (scikit-learn's protocol) or in :class:`ModelVerbs` (prediction, k-best lists, probabilities).

    Attributes
    ----------
    space_ : Space
        Alphabets and sizes.
    coef_ : ndarray of shape (n_features,)
        Weights; names in ``space_.feature_names``.
    history_ : list of dict
        One record per iteration.
    n_iter_ : int
        Number of iterations.
    """

    # Whether samples are visited one after the other, so that their order changes the weights.
    sequential: ClassVar[bool] = False
    # What to do about parameters that hold the weights back too much: "lower l2", "raise C".
    loosen: ClassVar[tuple[str, ...]] = ()
    # Whether ``max_iter`` cuts a search short, about which the solver itself says nothing.
    searches: ClassVar[bool] = False

    # Factor of ``tol`` where settings are compared; the model that is kept is fitted as tightly as asked.
    compared_at: ClassVar[float] = 1.0

    # Whether it can learn from samples that are asked a block at a time (``Shards``).
    by_blocks: ClassVar[bool] = False

    # Name on the command line (None: not there), and parameters of the constructor that are options there.
    command: ClassVar[str | None] = None
    command_options: ClassVar[tuple[str, ...]] = ()

    # What is worth tuning, most important first; parameters of the structure are declared there.
    tuning: ClassVar[tuple[Tunable, ...]] = ()

    # What the arrays among the fitted attributes may hold; a model file with others is refused. The size
    # ``features`` is known. A subclass adds to what its base class declares.
    stored: ClassVar[Mapping[str, Declared]] = {"coef_": numbers("features", optional=True)}

    # Fitted attributes that come together: a model that has one always has the others.
    stored_with: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    history_: list[dict[str, Any]]
    n_iter_: int

    def __init_subclass__(cls, **more: Any) -> None:
        """Limit BLAS to one thread where a learner has matrices (``_blas.py``); look at every ``fit``."""
        super().__init_subclass__(**more)
        for name in ("fit", "partial_fit", "fit_path", "part_scores"):
            if name in vars(cls):
                function = one_blas_thread(vars(cls)[name])
                function = advised(function) if name == "fit" else function
                setattr(cls, name, function if name == "part_scores" else accepts_iterators(function))

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples, for an estimate of its memory."""
        return Holds()

    def check_stored(self) -> None:
        """Refuse fitted attributes, from a file, that do not fit their declarations and each other."""
        declared = {k: v for c in reversed(type(self).__mro__) for k, v in vars(c).get("stored", {}).items()}
        if not isinstance(getattr(self, "space_", None), Space):
            if self.__sklearn_is_fitted__():
                raise InputError("weights without the alphabets that they belong to")
            return
        if not self.__sklearn_is_fitted__():
            raise InputError("alphabets without weights")
        if type(self.space_.structure) is not type(self.structure):
            raise InputError("its alphabets are those of another structure")
        nothing = [name for name in ("coef_", "dual_coef_") if vars(self).get(name, self) is None]
        if nothing:
            raise InputError(f"{nothing[0]} is null")
        arrays = fitting(vars(self), declared, "weights", features=self.space_.n_features)
        for name, value in arrays.items():
            setattr(self, name, value if value.ndim else float(value))
        for name, others in self.stored_with.items():
            missing = [other for other in others if name in vars(self) and other not in vars(self)]
            if missing:
                raise InputError(f"it has {name} without {missing[0]}")
        history = getattr(self, "history_", [])
        if not (isinstance(history, list) and all(isinstance(record, dict) for record in history)):
            raise InputError("history_ is not a list of records")
        if not isinstance(getattr(self, "n_iter_", 0), int):
            raise InputError("n_iter_ is not a number")
        self._check_stored_parameters()

    def _check_stored_parameters(self) -> None:
        """Refuse parameters, from a file, that ``fit`` hands on to others without looking at them."""
        if not isinstance(self.structure, Structure):
            raise InputError(f"structure is not a structure: {self.structure!r:.80}")
        verbose = getattr(self, "verbose", 0)
        if not isinstance(verbose, (bool, int)):
            raise InputError(f"verbose must be a number, got {verbose!r:.80}")
        seed = getattr(self, "random_state", None)
        if seed is not None and not (type(seed) is int and 0 <= seed < 1 << 32):
            raise InputError(f"random_state must be None or a number from 0 to 2**32 - 1, got {seed!r:.80}")

    # -- fitting -------------------------------------------------------------------------

    def _start(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        structure: Structure | None = None,
        classes: Any = None,
        scaled: bool = True,
        leaves: str | None = None,
    ) -> tuple[Space, Batch]:
        """Check and pack the training data; ``classes`` are all single labels of a stream.

        Columns of numbers are brought to one scale, unless the model is one of counts or has given weights.
        ``leaves`` asks for sums in the order in which those over partitions are taken: "sums" of whole
        batches or of leaves, "blocks" of samples that are always asked as blocks, "scales" for those of
        columns alone.
        """
        structure = self._checked_structure() if structure is None else structure
        if isinstance(X, Shards):
            return self._start_shards(X, structure, sample_weight, scaled)
        check_samples(X, y)
        self._check_columns(X, reset=True)
        y = self._check_labels(y)
        if has_single_labels(self):
            self.array_labels_ = hasattr(y, "__array__")
        with reading(structure, X, y):
            if classes is None:
                compile = structure.compile
                if self.compiled is not None:
                    compile = functools.partial(self.compiled.compile, structure)
                space, batch = compile(X, y, n_jobs=self.n_jobs)
            else:
                X = structure.prepare(X)
                space = structure.bind(X, self._check_classes(classes))
                batch = space.pack(X, y, n_jobs=self.n_jobs)
            batch.check_gold()
        check_room(self, batch)
        make = in_leaves if self.compiled is None else self.compiled.in_leaves
        asked = functools.partial(make, batch) if leaves == "scales" else None
        if leaves in ("sums", "blocks"):
            batch = make(batch, whole=leaves != "blocks")
        if scaled:
            if self.compiled is None:
                batch = batch.on_one_scale(check_weights(sample_weight, len(batch)), asked)
            else:
                batch = self.compiled.on_one_scale(batch, sample_weight, asked)
            space = batch.space
        if getattr(space, "width", None) is not None and has_single_labels(self):
            self.n_features_in_ = space.width  # type: ignore[attr-defined]
        return space, batch

    def _start_shards(
        self, shards: Shards, structure: Structure, sample_weight: Any, scaled: bool
    ) -> tuple[Space, Batch]:
        """The same for data in partitions."""
        if not self.by_blocks:
            raise Unsupported(
                f"{type(self).__name__} needs all samples in memory, as lists X and y; CRF, VotedCRF, "
                "ZScore, SODA, Generative, KLRSO, StructuredSVM and Perceptron take Shards"
            )
        space, batch = shards.compile(structure, n_jobs=self.n_jobs)
        if scaled:
            batch = batch.on_one_scale(check_weights(sample_weight, len(batch)))
            space = batch.space
        X, y = shards.look(_LOOKED_AT)
        self._check_columns(X, reset=True)
        if has_single_labels(self):
            self.array_labels_ = hasattr(y, "__array__")
            if getattr(space, "width", None) is not None:
                self.n_features_in_ = space.width  # type: ignore[attr-defined]
        return space, batch

    def _look_at_fit(self, X: Any, y: Any) -> None:
        """Warn where the fitted model is of no use; one of many that share their samples is only tried."""
        if self.compiled is None and hasattr(self, "space_"):
            remark(self, X, y)

    def _knows_units(self, batch: Batch) -> bool:
        """Whether the model does not change with the units of the columns of samples such as these."""
        return False

    def _loosened(self) -> tuple[str, ...]:
        """What to do about this fitted model where it is held back too much."""
        return self.loosen

    def _checked_structure(self) -> Structure:
        if not isinstance(self.structure, Structure):
            raise InputError(
                f"structure must be a Structure such as Chain(), got {type(self.structure).__name__}"
            )
        self.structure.check()
        return self.structure

    def _prepared(self, X: Any) -> Any:
        """Inputs as the structure has read them."""
        shared = self.compiled
        return self.structure.prepare(X) if shared is None else shared.prepare(self.structure, X)

    def _start_weights(self, space: Space, warm: bool) -> np.ndarray:
        """Zeros, or the old weights under their names in the new space."""
        if warm and hasattr(self, "coef_"):
            return carry_over(self.space_, space, self.coef_)
        return np.zeros(space.n_features)

    def fit_again(self, X: Any, y: Any, sample_weight: Any = None, **changes: Any) -> Self:
        """Fit to the samples of the last fit with other values of some parameters.

        The result is that of ``set_params(**changes).fit(X, y)``, up to the tolerance; learners with
        ``warm_start`` get there from the last solution, unless the way there matters (``sequential``).

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The samples of the last fit.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        **changes
            New values of parameters.

        Returns
        -------
        self
            Fitted; ``warm_start`` stays as it was.

        Examples
        --------
        >>> from trelliswork import CRF, Chain
        >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
        >>> model = CRF(Chain(), l2=1.0).fit(X, y)
        >>> model.fit_again(X, y, l2=0.5).l2, model.warm_start
        (0.5, False)
        """
        self.set_params(**changes)
        warm = None if self.sequential else getattr(self, "warm_start", None)
        if warm is not None:
            self.set_params(warm_start=True)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        try:
            self.fit(X, y, **weights)
        finally:
            if warm is not None:
                self.set_params(warm_start=warm)
        return self
