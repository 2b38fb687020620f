"""What a learner or a structure names as worth tuning; :class:`~trelliswork.Tuned` reads it.

A class declares it in one place: ``tuning = (Path("C", weaker="up"), Choice("slack", ("l1", "l2")))``.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Choice", "Path", "Tunable"]


class Path(NamedTuple):
    """A strength of regularisation, as multiples of the value that a learner has.

    Neighbours on a path have similar solutions, so each fit starts from the last one. Paths run
    from strong to weak, as strong regularisation has the quickest fits.

    Attributes
    ----------
    name : str
        The parameter.
    weaker : {"up", "down"}
        Whether a larger or a smaller value regularises less.
    with_ : tuple of str
        Parameters that are multiplied by the same factor.
    decades : tuple of float
        How far the path goes to the strong and to the weak side, in powers of ten.
    fallback : float
        Middle of the path where the learner has no positive number, nor says which it took.
    resolved : str or None
        Fitted attribute with the number that ``"auto"`` stands for; None is the name with an underscore.
    fixed : tuple of (str, object)
        Parameters that go with such a number.

    Examples
    --------
    >>> from trelliswork._tuning import Path
    >>> path = Path("C", weaker="up", decades=(1, 2))
    >>> [path.point({"C": 10.0}, i, 4) for i in range(5)]
    [{'C': 1.0}, {'C': 10.0}, {'C': 100.0}, {'C': 1000.0}, {'C': 10000.0}]
    """

    name: str
    weaker: str = "down"
    with_: tuple[str, ...] = ()
    decades: tuple[float, float] = (1.5, 3.0)
    fallback: float = 1.0
    resolved: str | None = None
    fixed: tuple[tuple[str, Any], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters that change along the path."""
        return (self.name, *self.with_)

    def middle(self, n_values: int) -> int:
        """Place of the learner's own values on a path of so many."""
        return round(self.decades[0] * (n_values - 1) / sum(self.decades))

    def is_number(self, params: Mapping[str, Any]) -> bool:
        """Whether the learner has a number to start from.

        Parameters
        ----------
        params : mapping of str to object
            Values that the learner has.
        """
        return any(_positive(params.get(name)) for name in self.names)

    def point(self, params: Mapping[str, Any], i: int, n_values: int) -> dict[str, Any]:
        """Parameters at place ``i`` of a path of ``n_values``; places beyond its ends go on alike.

        One place has the values of the learner itself; 0 stays 0 unless all are.

        Parameters
        ----------
        params : mapping of str to object
            Values that the learner has.
        i : int
            Place; larger is weaker.
        n_values : int
            Length of the path.
        """
        strong, weak = self.decades
        step = (strong + weak) / max(n_values - 1, 1)
        exponent = (i - self.middle(n_values)) * step if n_values > 1 else 0.0
        factor = 10.0 ** (exponent if self.weaker == "up" else -exponent)
        middle = {name: params[name] for name in self.names if _positive(params.get(name))}
        middle = middle or {self.name: self.fallback}
        # Four digits: settings that people can read and type.
        return {name: float(f"{value * factor:.4g}") for name, value in middle.items()}


class Choice(NamedTuple):
    """A parameter with a few values that are worth trying.

    Attributes
    ----------
    name : str
        The parameter.
    values : tuple
        The values.
    decoding : bool
        Whether it matters for prediction alone, so that one fit serves all values.
    on_request : bool
        Whether it is tried only with ``tune="all"`` or by its name, for it makes fits much longer.

    Examples
    --------
    >>> from trelliswork._tuning import Choice
    >>> Choice("rescale", ("margin", "slack"), on_request=True).values
    ('margin', 'slack')
    """

    name: str
    values: tuple[Any, ...]
    decoding: bool = False
    on_request: bool = False


Tunable = Path | Choice


def _positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf
