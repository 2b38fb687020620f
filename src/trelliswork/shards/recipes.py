"""Parts and outputs of samples that are not here: how to make them where the samples are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import Unsupported
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.base import Batch, Parts

__all__ = ["GOLD", "Asked", "Later", "Method", "PerBlock", "PerSample", "Recipe", "asked", "joined_rows"]


class PerSample:
    """Values of all samples, of which every block gets its own.

    Parameters
    ----------
    values : ndarray or Ragged
        One entry per sample.
    """

    def __init__(self, values: Any):
        self.values = values

    def cut(self, bounds: np.ndarray) -> list[Any]:
        """Values of every block, whose samples lie between the bounds."""
        if isinstance(self, PerBlock):
            return list(self.values)
        return [self.values[a:b] for a, b in itertools.pairwise(bounds.tolist())]

    def without_arrays(self, size: int, arrays: list[Any]) -> PerSample:
        """The same with values over a size in a list of arrays that are sent apart."""
        return type(self)(_placed_apart(self.values, size, arrays))

    def with_arrays(self, arrays: Sequence[Any]) -> PerSample:
        """Inverse of :meth:`without_arrays`."""
        return type(self)(_put_back(self.values, arrays))


class PerBlock(PerSample):
    """A value for each block, in a list."""


class Gold:
    """Codes of the true outputs, which every block has itself."""


GOLD = Gold()


class Method:
    """A method of a batch as a function of the batch.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, name: str):
        self.name = name

    def __call__(self, batch: Batch, *args: Any, **more: Any) -> Any:
        """Call the method."""
        return getattr(batch, self.name)(*args, **more)


class Recipe(Parts):
    """Parts that a function makes of a block of samples.

    Parameters
    ----------
    make : callable
        ``make(batch, *args, **more)``.
    *args, **more
        Its arguments, recipes among them.
    """

    def __init__(self, make: Callable[..., Any], *args: Any, **more: Any):
        super().__init__(make=make, args=args, more=more)  # type: ignore[arg-type]

    def __add__(self, other: Parts) -> Recipe:
        return Recipe(_plus, self, other)

    def __mul__(self, factor: float) -> Recipe:
        return Recipe(_times, self, factor)

    __rmul__ = __mul__

    def __sub__(self, other: Parts) -> Recipe:
        return Recipe(_minus, self, other)

    def limited_to(self, other: Parts) -> Recipe:
        """Recipe for the arrays that another has, too."""
        return Recipe(_limited, self, other)

    def forbidden(self) -> Recipe:
        """Recipe for what is forbidden; the parts may turn out to be None."""
        return Recipe(_forbidden, self)

    def items(self) -> Any:
        """Refused: the parts are not here."""
        raise Unsupported("parts of samples in blocks stay with the blocks")

    def dot(self, other: Parts) -> float:
        """Refused: the parts are not here."""
        return self.items()

    def __repr__(self) -> str:
        return f"Recipe({self.make})"


def _plus(batch: Batch, a: Parts, b: Parts) -> Parts:
    return a + b


def _minus(batch: Batch, a: Parts, b: Parts) -> Parts:
    return a - b


def _times(batch: Batch, a: Parts, factor: float) -> Parts:
    return a * factor


def _limited(batch: Batch, a: Parts, b: Parts) -> Parts:
    return a.limited_to(b)


def _forbidden(batch: Batch, a: Parts) -> Parts | None:
    return a.forbidden()


class Later(NamedTuple):
    """An argument that is only made if it is called for."""

    recipe: Any


class _Slot(NamedTuple):
    """Place of the values of a block."""

    number: int


class Asked(NamedTuple):
    """A question as it is sent to blocks.

    Attributes
    ----------
    question : callable
        ``question(batch, *args)``.
    args : tuple
        Its arguments, with recipes for what blocks make and places for what differs between them.
    """

    question: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What to call it, for people: the function, or the method that it calls."""
        name = self.question.name if isinstance(self.question, Method) else self.question.__name__
        if getattr(self.question, "calls_a_method", False):
            name = self.args[0]
        return name.strip("_").replace("_", " ")

    def without_arrays(self, size: int, arrays: list[Any]) -> Asked:
        """The same with arrays over a size in a list of their own, since all blocks get the same ones."""
        return Asked(self.question, tuple(_placed_apart(arg, size, arrays) for arg in self.args))

    def with_arrays(self, arrays: Sequence[Any]) -> Asked:
        """Inverse of :meth:`without_arrays`."""
        return Asked(self.question, tuple(_put_back(arg, arrays) for arg in self.args))

    def of(self, batch: Batch, values: Sequence[Any]) -> Any:
        """The answer of one block, which has values of its own."""
        return self.question(batch, *(_made(arg, batch, values) for arg in self.args))


class _Apart(NamedTuple):
    """Place of an array that is sent apart."""

    number: int


def _replaced(arg: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with something else in place of its innermost values."""
    if isinstance(arg, Recipe):
        more = {name: _replaced(value, change) for name, value in arg.more.items()}
        return Recipe(arg.make, *(_replaced(inner, change) for inner in arg.args), **more)
    if isinstance(arg, Later):
        return Later(_replaced(arg.recipe, change))
    if type(arg) is tuple:
        return tuple(_replaced(inner, change) for inner in arg)
    return change(arg)


def _placed_apart(arg: Any, size: int, arrays: list[Any]) -> Any:
    def change(value: Any) -> Any:
        rows = value.values if isinstance(value, Ragged) else value
        if not isinstance(rows, np.ndarray) or rows.nbytes <= size:
            return value
        arrays.append(value)
        return _Apart(len(arrays) - 1)

    return _replaced(arg, change)


def _put_back(arg: Any, arrays: Sequence[Any]) -> Any:
    return _replaced(arg, lambda value: arrays[value.number] if isinstance(value, _Apart) else value)


def asked(question: Callable[..., Any], args: Sequence[Any]) -> tuple[Asked, list[PerSample]]:
    """A question for blocks, and the values of all samples that are to be cut for it."""
    per_sample: list[PerSample] = []

    def placed(arg: Any) -> Any:
        if not isinstance(arg, PerSample):
            return arg
        per_sample.append(arg)
        return _Slot(len(per_sample) - 1)

    return Asked(question, tuple(_replaced(arg, placed) for arg in args)), per_sample


def _made(arg: Any, batch: Batch, values: Sequence[Any]) -> Any:
    if isinstance(arg, _Slot):
        return values[arg.number]
    if isinstance(arg, Gold):
        return batch.gold_codes
    if isinstance(arg, Later):
        return lambda: _made(arg.recipe, batch, values)
    if isinstance(arg, Recipe):
        more = {name: _made(value, batch, values) for name, value in arg.more.items()}
        return arg.make(batch, *(_made(inner, batch, values) for inner in arg.args), **more)
    return arg


def joined_rows(answers: Sequence[Any]) -> Any:
    """Answers with an entry per sample, one block after the other.

    Examples
    --------
    >>> from trelliswork.shards.recipes import joined_rows
    >>> joined_rows([[1, 2], [3]])
    [1, 2, 3]
    """
    first = answers[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(answers)
    if isinstance(first, Ragged):
        lengths = np.concatenate([rows.lengths for rows in answers])
        return Ragged(np.concatenate([rows.values for rows in answers]), offsets_of(lengths))
    if sp.issparse(first):
        return sp.vstack(answers, format="csr")
    if isinstance(first, tuple):
        columns = [joined_rows(column) for column in zip(*answers, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else tuple(columns)
    return list(itertools.chain.from_iterable(answers))
