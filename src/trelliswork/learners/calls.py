"""How data come in and outputs go out: iterators and columns are read once, NumPy can join outputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from trelliswork._front_door import FOREIGN, blame_file
from trelliswork._sketch import candidates_html, outputs_html
from trelliswork.shards import Shards

__all__ = ["Outputs", "Ranked", "accepts_iterators", "as_samples", "shown_with"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_INPUTS, _OUTPUTS = ("X", "X_dev"), ("y", "y_dev")


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

    In a notebook the first outputs are drawn, with their inputs where these are known:

    >>> "<svg" in Outputs(["((...))"], "RNA structure")._repr_html_()
    True
    """

    def __init__(self, outputs: Any = (), kind: str | None = None, inputs: Any = None):
        super().__init__(outputs)
        self.kind, self.inputs = kind, inputs

    def _repr_html_(self) -> str:
        return outputs_html(self, self.kind, self.inputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Outputs, (list(self), self.kind)  # what other processes send back are outputs alone

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.concatenate and len(args) == 1 and not kwargs:
            joined = [output for outputs in args[0] for output in outputs]
            out = np.empty(len(joined), dtype=object)
            out[:] = joined
            return out
        return function(*_plain(args), **{name: _plain(value) for name, value in kwargs.items()})


class Ranked(list):
    """A k-best list, which a notebook shows as a table with drawings.

    Examples
    --------
    >>> from trelliswork import Candidate
    >>> from trelliswork.learners.calls import Ranked
    >>> best = Ranked([Candidate("(S (N they) (V run))", 1.0, 0.9)], "parse tree")
    >>> best._repr_html_().count("<svg")
    1
    """

    def __init__(self, candidates: Any = (), kind: str | None = None, x: Any = None):
        super().__init__(candidates)
        self.kind, self.x = kind, x

    def _repr_html_(self) -> str:
        return candidates_html(self, self.kind, self.x)


def shown_with(answer: Any, X: Any) -> Any:
    """The answer of a learner, with inputs as the user has them in place of what transformers made.

    Examples
    --------
    >>> from trelliswork.learners.calls import Outputs, shown_with
    >>> shown_with(Outputs([["D"]], "label sequence"), [["the"]]).inputs
    [['the']]
    """
    if type(answer) is Outputs:
        answer.inputs = X
    elif isinstance(answer, list) and isinstance(X, (list, tuple)) and len(answer) == len(X):
        for ranked, x in zip(answer, X):
            if type(ranked) is Ranked:
                ranked.x = x
    return answer


def _plain(value: Any) -> Any:
    """Lists in place of outputs, also in lists and tuples of them."""
    if type(value) is Outputs:
        return list(value)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def as_samples(data: Any, *, outputs: bool = False) -> Any:
    """Iterators and columns of data frames as lists, what only NumPy can read as an array, all else as it is.

    Samples that are iterators, such as generators of tokens, become lists, too, if the first one is.

    Parameters
    ----------
    data : inputs or outputs
        As users give them. The rows of a column have names, which are not their places.
    outputs : bool, default=False
        Whether a column of labels is to stay an array.
    """
    if isinstance(data, Iterator):
        data = list(data)
    if type(data) in (list, tuple) and data and isinstance(data[0], Iterator):
        return [*map(_listed, data)]
    if hasattr(data, "to_numpy") and not hasattr(data, "columns"):
        return data.to_numpy() if outputs else list(data)
    unread = hasattr(data, "__array__") and not (hasattr(data, "__len__") or hasattr(data, "shape"))
    return np.asarray(data) if unread else data


def _listed(sample: Any) -> Any:
    return list(sample) if isinstance(sample, Iterator) else sample


def accepts_iterators(method: _Function) -> _Function:
    """The method with samples in lists, whatever it is given: most look at them more than once.

    Exceptions from inside of a model that was loaded from a file are about that file (``_front_door.py``).
    """
    names = [name for name in inspect.signature(method).parameters if name != "self"]

    @functools.wraps(method)
    def listed(self: Any, *args: Any, **more: Any) -> Any:
        read = tuple(_read(name, value) for name, value in zip(names, args))
        more = {name: _read(name, value) for name, value in more.items()}
        if "y" in names and len(args) < 2 and isinstance(more.get("X", *read[:1]), Shards):
            more.setdefault("y", None)  # outputs come with the inputs
        try:
            return method(self, *read, *args[len(names) :], **more)
        except FOREIGN as error:
            blamed = blame_file(self, method.__name__, error)
            if blamed is None:
                raise
            raise blamed from error

    return listed  # type: ignore[return-value]


def _read(name: str, value: Any) -> Any:
    """An argument, as a list of samples where it is one."""
    return as_samples(value, outputs=name in _OUTPUTS) if name in _INPUTS + _OUTPUTS else value
