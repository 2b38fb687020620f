"""How data come in and outputs go out: iterators are read once, outputs are lists that NumPy can join."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

__all__ = ["Outputs", "accepts_iterators", "as_samples"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SAMPLES = ("X", "y", "X_dev", "y_dev")


class Outputs(list):
    """One output per sample: a list, except that ``np.concatenate`` does not look into the outputs.

    ``cross_val_predict`` of scikit-learn joins the outputs of the folds in this way; outputs of different
    lengths are no matrix. The result is an array of objects, one per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.learners.calls import Outputs
    >>> np.concatenate([Outputs([["D", "N"]]), Outputs([["N"]])])
    array([list(['D', 'N']), list(['N'])], dtype=object)
    """

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.concatenate and len(args) == 1 and not kwargs:
            joined = [output for outputs in args[0] for output in outputs]
            out = np.empty(len(joined), dtype=object)
            out[:] = joined
            return out
        return function(*_plain(args), **{name: _plain(value) for name, value in kwargs.items()})


def _plain(value: Any) -> Any:
    """Lists in place of outputs, also in lists and tuples of them."""
    if type(value) is Outputs:
        return list(value)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def as_samples(data: Any) -> Any:
    """Iterators as lists, what only NumPy can read as an array, all else as it is."""
    if isinstance(data, Iterator):
        return list(data)
    unread = hasattr(data, "__array__") and not (hasattr(data, "__len__") or hasattr(data, "shape"))
    return np.asarray(data) if unread else data


def accepts_iterators(method: _Function) -> _Function:
    """The method with samples in lists, whatever it is given: most look at them more than once."""
    names = [name for name in inspect.signature(method).parameters if name != "self"]

    @functools.wraps(method)
    def listed(self: Any, *args: Any, **more: Any) -> Any:
        args = (
            tuple(as_samples(value) if name in _SAMPLES else value for name, value in zip(names, args))
            + args[len(names) :]
        )
        more = {name: as_samples(value) if name in _SAMPLES else value for name, value in more.items()}
        return method(self, *args, **more)

    return listed  # type: ignore[return-value]
