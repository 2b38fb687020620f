"""What a loss is: a number for a pair of outputs and, where it decomposes, costs of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._parameters import Parametrised
from trelliswork._ragged import Ragged
from trelliswork.losses.automata import MAX_STATES, LossAutomaton
from trelliswork.structures.abilities import Labelled, require
from trelliswork.structures.base import Batch, Parts, Space, Structure, Unsupported

__all__ = ["Loss", "PartCosts", "is_label", "losses_of", "symbols_of"]

PartCosts = tuple[Parts, np.ndarray]


class Loss(Parametrised):
    """Base of all losses.

    ``loss(y_true, y_pred)`` is the loss of one pair of outputs: not negative, zero for
    equal outputs. A subclass that decomposes over parts also has :meth:`part_costs`. A loss of
    certain outputs only names their kinds in ``compares`` (``Structure.output_kind``; None, the
    default, is any), and learners refuse it on other structures. With ``of_items`` the outputs are
    compared as the lists that the structure makes of them (``Batch.items``), not as they are.

    Examples
    --------
    >>> from trelliswork.losses import Loss
    >>> class FirstLabel(Loss):
    ...     def __call__(self, y_true, y_pred):
    ...         return float(y_true[0] != y_pred[0])
    ...     def max_value(self, y_true):
    ...         return 1.0
    >>> FirstLabel()(["D", "N"], ["D", "V"])
    0.0
    """

    name: ClassVar[str | None] = None  # what learners and the command line call it
    compares: ClassVar[tuple[str, ...] | None] = None
    of_items: ClassVar[bool] = False
    all_or_nothing: ClassVar[bool] = False  # whether all wrong outputs cost the same
    signed: ClassVar[bool] = False  # whether it may be negative, where a search has a head start

    def __init_subclass__(cls, **more: Any) -> None:
        """Make outputs of any kind a number or one line that says what is wrong."""
        super().__init_subclass__(**more)
        if "__call__" in vars(cls) and cls.__module__.startswith("trelliswork."):
            cls.__call__ = readable(vars(cls)["__call__"])  # type: ignore[method-assign]

    @classmethod
    def by_name(cls) -> Loss:
        """The loss that its name stands for."""
        return cls()

    @property
    def by_counts(self) -> bool:
        """Whether the loss depends on the numbers of true, predicted and right items alone: ``of_counts``."""
        return False

    def of_counts(self, true: int, predicted: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Loss of outputs with the given numbers of items, where :attr:`by_counts` is true.

        Parameters
        ----------
        true : int
            Number of true items.
        predicted, right : ndarray
            Numbers of predicted items, and of those that are right.
        """
        raise Unsupported(f"{_named(self)} is not a function of numbers of items")

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Loss of one prediction."""
        raise NotImplementedError

    def applies(self, space: Space | Structure) -> bool:
        """Whether the outputs of a space are such as the loss compares.

        Parameters
        ----------
        space : Space or Structure
            A structure, bound to data or not.
        """
        structure = space.structure if isinstance(space, Space) else space
        return self.compares is None or structure.output_kind in self.compares

    def check(self, space: Space) -> None:
        """Refuse a space whose outputs the loss does not compare.

        Parameters
        ----------
        space : Space
            A structure bound to data.
        """
        if not self.applies(space):
            structure, kinds = type(space.structure), " or ".join(map(repr, self.compares or ()))
            raise Unsupported(
                f"loss {_named(self)} compares outputs of the kind {kinds}, and those of "
                f"{structure.__name__} are of the kind {structure.output_kind!r}; {structure.__name__} takes "
                f"{', '.join(map(repr, losses_of(space)))} or a Loss of your own"
            )

    def between(self, space: Space, X: Any, y_true: Any, y_pred: Any) -> np.ndarray:
        """Loss of given outputs, compared as the structure does: what learners use.

        Parameters
        ----------
        space : Space
            A structure bound to data, such as ``space_`` of a learner.
        X : list of inputs
            Inputs.
        y_true, y_pred : lists of outputs
            True outputs and others, of the same inputs.

        Examples
        --------
        >>> from trelliswork import Alignment
        >>> from trelliswork.losses import Hamming
        >>> X, y = [("GATTA", "GATA")], [("GATTA", "GA-TA")]
        >>> Hamming().between(Alignment("linear").bind(X, y), X, y, [("GATTA", "GAT-A")]).tolist()
        [1.0]
        """
        self.check(space)
        return self.evaluate(space.pack(X, y_true), space.pack(X, y_pred).gold_codes)

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Loss of one label, where an output is one label.

        Losses of sequences take it as a sequence of one.

        Parameters
        ----------
        true, predicted : label
            Two labels.
        """
        return float(self(true, predicted))

    def max_value(self, y_true: Any) -> float:
        """Upper bound on the loss of any output of a sample whose true output is ``y_true``.

        Infinity where there is none; searches then end only when they have seen every output.
        A loss that cannot tell without knowing the outputs leaves this as it is; :meth:`max_values`
        then looks at them.

        Parameters
        ----------
        y_true : output
            The true output of a sample.
        """
        raise InputError(
            f"{type(self).__name__} does not know its largest value without the outputs of a structure; "
            "define max_value(y_true), or ask max_values(batch)"
        )

    def max_values(self, batch: Batch) -> np.ndarray:
        """:meth:`max_value` for every sample of a batch, whose outputs may be known to be limited.

        The largest loss of any output, where an output is one label or the loss has no ``max_value``.

        Parameters
        ----------
        batch : Batch
            Samples packed with their true outputs.
        """
        if batch.one_label or type(self).max_value is Loss.max_value:
            return self._largest_of_all(batch)
        return np.array([self.max_value(y) for y in batch.unpack(batch.gold_codes)], dtype=np.float64)

    def _largest_of_all(self, batch: Batch) -> np.ndarray:
        from trelliswork.losses.inside import inside

        return inside(batch, self).largest()

    def units(self, batch: Batch) -> np.ndarray:
        """Number per sample of which the costs of its parts are whole multiples, where there is one.

        Parameters
        ----------
        batch : Batch
            Samples packed with their true outputs.
        """
        return np.ones(len(batch))

    def part_costs(self, batch: Batch) -> PartCosts | None:
        """Costs of the parts of all outputs, and a constant per sample.

        The loss of an output is the sum of the costs of its parts plus the constant of its
        sample. None where the loss does not decompose over the parts of this structure.

        Parameters
        ----------
        batch : Batch
            Samples packed with their true outputs.
        """
        return (
            require(batch, Labelled).label_costs(self.label_table(batch.space)) if batch.one_label else None
        )

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton | None:
        """The loss as a deterministic automaton, or None where it is none.

        Parameters
        ----------
        y_true : sequence of labels
            The true output, symbol by symbol.
        alphabet : sequence of labels
            Everything that outputs are made of.
        length : int
            Most symbols of an output.
        fixed : bool
            Whether all outputs have as many symbols as the true one.
        limit : int
            Most states; more are refused with :class:`~trelliswork.losses.automata.TooManyStates`.
        """
        return None

    def label_table(self, space: Space) -> np.ndarray:
        """Losses ``[true, predicted]`` of all pairs of labels of a space.

        Parameters
        ----------
        space : Space
            A structure of one label per sample, bound to data.
        """
        return self.table(space.labels)  # type: ignore[attr-defined]

    def table(self, labels: Sequence[Any]) -> np.ndarray:
        """Losses ``[true, predicted]`` of all pairs of labels.

        Parameters
        ----------
        labels : sequence of labels
            Rows and columns of the table, in this order.
        """
        return np.array([[self.label_loss(a, b) for b in labels] for a in labels], dtype=np.float64)

    def evaluate(self, batch: Batch, codes: Ragged) -> np.ndarray:
        """Loss of one given output per sample.

        Parameters
        ----------
        batch : Batch
            Samples packed with their true outputs.
        codes : Ragged
            One output per sample.
        """
        additive = self.part_costs(batch)
        if additive is None:
            read = batch.items if self.of_items else batch.unpack
            pairs = zip(read(batch.gold_codes), read(codes), strict=True)
            return np.array([self(a, b) for a, b in pairs], dtype=np.float64)
        costs, constant = additive
        return batch.evaluate(codes, batch.scores(np.zeros(batch.n_features)) + costs) + constant


def losses_of(space: Space | Structure) -> list[str]:
    """Names of the losses that apply to the outputs of a space.

    Parameters
    ----------
    space : Space or Structure
        A structure, bound to data or not.

    Examples
    --------
    >>> from trelliswork import RNA
    >>> from trelliswork.losses import losses_of
    >>> losses_of(RNA())
    ['base-pairs', 'f1', 'hamming', 'zero-one']
    """
    from trelliswork.losses import LOSSES

    return [name for name, cls in LOSSES.items() if cls.by_name().applies(space)]


def _named(loss: Loss) -> str:
    return repr(loss) if type(loss).name is None else repr(type(loss).name)


def symbols_of(named: Any, alphabet: Sequence[Any]) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """Symbol of each label, and their names: ``(label,)`` for those named, ``()`` for all others."""
    known = set(named)
    symbols: dict[tuple[Any, ...], int] = {}
    symbol = [symbols.setdefault((a,) if a in known else (), len(symbols)) for a in alphabet]
    return np.array(symbol, dtype=np.int64), list(symbols)


def is_label(y: Any) -> bool:
    """Whether an output is one label and not a sequence of labels or parts."""
    return isinstance(y, (str, bytes)) or not hasattr(y, "__len__")


def check_label_weight(label_weight: Mapping[Any, float] | None) -> None:
    """Refuse weights that are not positive numbers."""
    for label, weight in (label_weight or {}).items():
        if not (isinstance(weight, Real) and 0 < weight < np.inf):
            raise InputError(f"label_weight[{label!r}] must be a finite number > 0, got {weight!r}")
