"""What a structure is to a learner: four nouns and a dozen verbs.

``Structure`` (hyper-parameters) binds to data and becomes a ``Space`` (alphabets and
sizes), which packs samples into a ``Batch`` (contiguous arrays). A batch turns weights
into part scores and part values back into features, and answers every question about
the outputs of its samples. Learners see nothing else.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from trelliswork._errors import Unsupported
from trelliswork._parameters import Parametrised
from trelliswork._tuning import Tunable
from trelliswork.structures.batch import Batch
from trelliswork.structures.limits import Limits
from trelliswork.structures.parts import Decoded, Moments, Parts
from trelliswork.structures.survey import Samples, Survey

__all__ = ["Batch", "Decoded", "Moments", "Parts", "Space", "Structure", "Unsupported"]


class Structure(Parametrised):
    """What an output is: hyper-parameters only, never changed after construction.

    Subclasses store their arguments under their own names, so that
    ``sklearn.base.clone``, ``get_params`` and nested grids (``structure__order``) work.
    """

    space_class: ClassVar[type[Space] | None] = None  # what ``bind`` returns
    batch_class: ClassVar[type[Batch] | None] = None  # what ``Space.pack`` returns
    output_kind: ClassVar[str | None] = None  # what an output is; losses say which kinds they compare
    generative_smoothing: ClassVar[float] = 1.0  # count added to every event, in mean values of a feature
    svm_prior: str | None = None  # model whose weights a structural SVM is pulled towards
    perceptron_start: ClassVar[str | None] = None  # model whose weights a perceptron starts from
    moment_reference: str = "uniform"  # law that moment learners compare true outputs with, see ``Space``
    moment_loss: ClassVar[str | None] = None  # that they ask for margins of
    moment_margin: ClassVar[float | None] = None  # per unit of it, of scores with those of a generative law
    moment_ridge: ClassVar[float] = 1e-6  # their default ridge with it, in mean variances of a feature
    tuning: ClassVar[tuple[Tunable, ...]] = ()  # what is worth tuning
    # Parameters while it is fitted to a part of the data, whose other part may have symbols of its own.
    on_a_part: ClassVar[Mapping[str, Any]] = {}
    limits: Limits = Limits()  # no hyper-parameters: model files do not hold them

    @classmethod
    def offers(cls, ability: type[Batch]) -> bool:
        """Whether batches of this structure have an ability.

        Parameters
        ----------
        ability : type
            One of ``trelliswork.structures.abilities``.

        Examples
        --------
        >>> from trelliswork.structures import RNA, Chain, abilities
        >>> Chain.offers(abilities.Labelled), RNA.offers(abilities.Labelled)
        (True, False)
        """
        return cls.batch_class is not None and issubclass(cls.batch_class, ability)

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense, without any data; here none.

        :meth:`bind` and :meth:`bind_names` call it, and so do learners and the command line before they look
        at the data.

        Raises
        ------
        InputError
            When a hyper-parameter is of the wrong kind or out of range.

        Examples
        --------
        >>> from trelliswork import RNA
        >>> RNA(depth=0).check()
        Traceback (most recent call last):
        ...
        trelliswork._errors.InputError: depth must be a whole number from 1 to 20, got 0
        """

    def check_stored(self) -> None:
        """Refuse hyper-parameters of a model file that make no sense; opens no file that they name."""
        self.check()

    def prepare(self, X: Any) -> Any:
        """Read the inputs once into a form that :meth:`bind` and ``Space.pack`` share.

        Parameters
        ----------
        X : list of inputs
            As the user has them.
        """
        return X

    # Whether kernels of whole inputs compare rows of numbers, whose columns had better be on one scale.
    compares_rows: ClassVar[bool] = False

    def symbols(self, X: Any) -> list[Any]:
        """The inputs as kernels of strings take them: one sequence of symbols per sample.

        Parameters
        ----------
        X : list of inputs
            As the user has them.
        """
        return list(X)

    def bind(self, X: Any, y: Any) -> Space:
        """Learn alphabets and sizes from data; the structure itself stays as it is.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Samples.
        """
        raise NotImplementedError

    def survey(self, X: Any, y: Any) -> Survey:
        """What :meth:`bind` has to know of some of the samples; here the samples themselves.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            A part of the data; surveys of parts are joined in the order of the data.

        Examples
        --------
        >>> from trelliswork import Chain
        >>> first, second = Chain().survey([["a"]], [["A"]]), Chain().survey([["b"]], [["B"]])
        >>> first.joined(second).space().labels
        ['A', 'B']
        """
        return Samples(self, X, y)

    def compile(self, X: Any, y: Any, *, n_jobs: int | None = None) -> tuple[Space, Batch]:
        """:meth:`bind` and ``Space.pack`` of the same samples; here one after the other.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Samples.
        n_jobs : int or None
            Threads of the batch's verbs. More threads are faster, up to the number of cores.
        """
        X = self.prepare(X)
        space = self.bind(X, y)
        return space, space.pack(X, y, n_jobs=n_jobs)

    def bind_names(self, names: Sequence[Any]) -> Space:
        """Build a space from feature names alone, for weights that come from elsewhere.

        Parameters
        ----------
        names : sequence of tuple
            Feature names, as ``Space.feature_names`` has them.
        """
        raise Unsupported(f"{type(self).__name__} cannot be built from feature names; fit it on data")

    def with_params(self, **params: Any) -> Self:
        """The same structure with other values of some hyper-parameters.

        Parameters
        ----------
        **params
            Arguments of the constructor.

        Examples
        --------
        >>> from trelliswork import Chain
        >>> Chain(order=2).with_params(scheme="BIO")
        Chain(order=2, scheme='BIO')
        """
        return self._with_own_limits(type(self)(**{**self.get_params(deep=False), **params}))

    def with_limits(self, **limits: int) -> Self:
        """The same structure with other limits of memory and of work done at a time.

        Parameters
        ----------
        **limits
            Fields of ``limits``, see ``trelliswork.structures.limits``.

        Examples
        --------
        >>> from trelliswork import RNA
        >>> RNA().with_limits(table_bytes=64 << 30).limits.table_bytes >> 30
        64
        """
        other = self.with_params()
        other.limits = dataclasses.replace(self.limits, **limits)
        return other

    def _with_own_limits(self, other: Any) -> Any:
        if "limits" in self.__dict__:
            other.limits = self.limits
        return other

    def __sklearn_clone__(self) -> Any:
        return self._with_own_limits(super().__sklearn_clone__())

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Tiny problems: structures with inputs and outputs; here none.

        ``trelliswork warmup`` runs every learner on them, so together they should use all recursions of
        the structure.

        Yields
        ------
        structure, X, y : tuple
            What ``CRF(structure).fit(X, y)`` takes, for instance.

        Examples
        --------
        >>> from trelliswork import RNA
        >>> next(RNA.examples())
        (RNA(grammar='g6'), ['GGAAACC', 'GAAAC', 'ACGU'], ['((...))', '(...)', '....'])
        """
        return iter(())

    def complete(self) -> Structure:
        """The same structure with a weight for every feature, for models made of counts."""
        return self

    def known_weights(self) -> Mapping[Any, float] | None:
        """Weights by feature name that are good before any data are seen; here there are none.

        Learners that search for weights begin with them and are pulled towards them.
        """
        return None

    def alternatives(self, y: Any) -> list[Any]:
        """All outputs that count as right where one is given; here it alone.

        Parameters
        ----------
        y : output
            The truth about one sample.

        Examples
        --------
        >>> from trelliswork import Chain, Transducer
        >>> Chain().alternatives(["D", "N"]), Transducer().alternatives({"ab", "ba"})
        ([['D', 'N']], ['ab', 'ba'])
        """
        return [y]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of outputs that are wholly right.

        Parameters
        ----------
        y_true, y_pred : lists of outputs
            True outputs and predicted ones.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        """
        right = np.array([bool(np.all(a == b)) for a, b in zip(y_true, y_pred, strict=True)], dtype=float)
        return float(np.average(right, weights=sample_weight))


class Space(ABC):
    """A structure after it has seen data: alphabets, sizes, feature names."""

    structure: Structure

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Length of the weight vector."""

    @property
    @abstractmethod
    def feature_names(self) -> list[Any]:
        """Name of each weight, as a tuple whose first item is the kind of feature."""

    @property
    def feature_kinds(self) -> list[Any]:
        """Kind of each weight, for penalties by family: the first item of its name, or finer."""
        return [name[0] if isinstance(name, tuple) and name else "feature" for name in self.feature_names]

    @property
    def feature_orders(self) -> np.ndarray:
        """How many neighbouring labels each weight looks at; 1 where the structure has no such order."""
        return np.ones(self.n_features, dtype=np.int64)

    @abstractmethod
    def pack(self, X: Any, y: Any = None, *, n_jobs: int | None = None, **constraints: Any) -> Batch:
        """Compile samples (and their outputs) into a batch."""

    def kernel_inputs(self, X: Any) -> Any:
        """Inputs as kernels of whole inputs compare them; here sequences of symbols.

        Parameters
        ----------
        X : list of inputs
            As the user has them.
        """
        return self.structure.symbols(X)

    @abstractmethod
    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every output of one tiny input; the oracle of the law tests."""

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether an output agrees with what is known of it, in the structure's notation for that.

        Parameters
        ----------
        x : object
            Input.
        known : object
            What is known of the output of ``x``, as in ``fit(X, y)`` or ``predict(X, known=...)``.
        y : object
            An output of ``x``, known as a whole.
        """
        raise self._no_notation()

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> Any:
        """An output of which about a share is made unknown, in the structure's notation for that.

        Parameters
        ----------
        x, y : object
            Input and output.
        share : float
            From 0 (the output itself) to 1 (nothing is known).
        rng : Generator
            Source of randomness.
        """
        raise self._no_notation()

    def _no_notation(self) -> Unsupported:
        return Unsupported(
            f"{type(self.structure).__name__} has no notation for outputs that are known in part"
        )

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """JSON values and arrays from which :meth:`from_state` builds the space again."""

    @classmethod
    @abstractmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> Space:
        """Inverse of :meth:`state`."""

    def grown(self, X: Any, y: Any) -> Space:
        """Space of the same structure that also has the labels and features of more data."""
        return self.merged(self.structure.bind(X, y))

    def merged(self, other: Space) -> Space:
        """Space with the labels and features of two spaces of one structure."""
        names = list(dict.fromkeys([*self.feature_names, *other.feature_names]))
        return self if len(names) == self.n_features else self.structure.bind_names(names)

    def accuracy(self, X: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """``accuracy`` of the structure, for outputs that may need their inputs to be compared."""
        return self.structure.accuracy(y_true, y_pred, sample_weight)

    def advice(self) -> str:
        """What to do about an output that breaks the constraints."""
        return "repair it or drop the constraint"

    def cautions(self, weights: np.ndarray | None = None) -> list[str]:
        """What looks like a mistake in the alphabet or in given weights, a line each; here nothing."""
        return []

    def names_advice(self) -> str:
        """What to do about weights whose names are no features, to end the message; here nothing."""
        return ""

    @property
    def outputs_fixed(self) -> bool:
        """Whether the outputs of an input and their features stay the same, however much the space grows.

        The moments of the samples seen so far are then enough to go on; samples can be forgotten.
        """
        return False

    def attribute_features(self) -> np.ndarray:
        """Which features say what an attribute of the input tells of the output; here none.

        Returns
        -------
        ndarray of bool, shape (n_features,)
            A mask.
        """
        return np.zeros(self.n_features, dtype=bool)

    @property
    def moment_reference(self) -> str:
        """Law that moment learners compare true outputs with."""
        return self.structure.moment_reference

    @property
    def moment_margin(self) -> float | None:
        """Margin per unit of a loss that they ask for, of scores with those of a generative law."""
        return self.structure.moment_margin

    def observed(self, batch: Batch, symbols: Any = "auto") -> Space:
        """Space that forbids what does not occur in the gold outputs of a batch."""
        raise Unsupported(
            f"{type(self.structure).__name__} does not tell observed outputs from others; use "
            "reference='uniform' or 'generative'"
        )

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> Batch:
        """Batch from ``Storable.state``; refuses arrays that do not fit."""
        raise Unsupported(f"batches of {type(self.structure).__name__} cannot be stored")

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Weights for reading: for each kind of feature the rows with the largest weights."""
        names = self.feature_names
        order = np.argsort(-np.abs(weights), kind="stable")[:top]
        return {"weights": [(names[i], float(weights[i])) for i in order]}
