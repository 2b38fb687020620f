"""What all views share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError

__all__ = ["View", "numbers_of", "rounded", "text_of"]

_SMALLEST = 1e-3  # probabilities below are not sent
_LISTED = 1000  # parts with their probabilities


def rounded(values: Any) -> Any:
    """Numbers with a few digits, as lists."""
    return np.round(np.asarray(values, dtype=np.float64), 5).tolist()


def numbers_of(values: Any, what: str) -> np.ndarray:
    """Numbers as an array, or an error that says what was expected."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected {what}") from None


def text_of(value: Any, what: str) -> str:
    """A text, or an error that says what was expected."""
    if not isinstance(value, str):
        raise InputError(f"expected {what}, got {type(value).__name__}")
    return value


class View:
    """Inputs and outputs of a structure as JSON.

    Parameters
    ----------
    opened : OpenModel
        The model.

    Attributes
    ----------
    name : str
        What the page calls the drawing.
    hint : str
        What an input looks like.
    call : float
        Seconds that any prediction takes.
    foreign : bool
        Whether inputs are handed to code of the user, which may raise anything.
    """

    name: ClassVar[str] = "text"
    hint: ClassVar[str] = "JSON"
    call: ClassVar[float] = 5e-4
    foreign: ClassVar[bool] = False

    def __init__(self, opened: Any):
        self.opened = opened
        self.learner = opened.learner
        self.labels: list[Any] | None = None
        if hasattr(getattr(self.learner, "space_", None), "labels"):
            self.labels = list(self.learner.space_.labels)
            self._label = {str(label): label for label in self.labels}

    @property
    def abilities(self) -> list[str]:
        """What can be asked beyond the best output."""
        verbs = {"kbest": "predict_kbest", "marginals": "predict_marginals", "mea": "predict_mea"}
        out = [name for name, verb in verbs.items() if hasattr(self.learner, verb)]
        out += ["sample"] * hasattr(self.learner, "sample") + ["why"] * hasattr(self.learner, "part_scores")
        from trelliswork.structures.abilities import PartlyKnown

        structure = getattr(self.learner, "structure", None)
        if structure is not None and type(structure).offers(PartlyKnown) and self.takes_known:
            out.append("known")
        return out

    takes_known: ClassVar[bool] = False

    # -- in --------------------------------------------------------------------------------

    def read(self, given: Any) -> Any:
        """An input from JSON.

        Parameters
        ----------
        given : object
            JSON.
        """
        return given

    def known(self, given: Any, x: Any) -> Any:
        """What is known of an output, from JSON.

        Parameters
        ----------
        given : object
            JSON.
        x : object
            The input.
        """
        raise InputError("known= is not possible for this model")

    def label(self, given: Any) -> Any:
        """The label of a text."""
        try:
            return self._label[given]
        except (KeyError, TypeError, AttributeError):
            raise InputError(f"{given!r:.60} is not one of the labels of this model") from None

    # -- how long it takes --------------------------------------------------------------------

    def seconds(self, x: Any) -> float:
        """Estimate for one output of an input.

        Parameters
        ----------
        x : object
            The input.
        """
        return 1e-6 * self.size(x)

    def size(self, x: Any) -> int:
        """Symbols of an input."""
        return len(x) if hasattr(x, "__len__") else 1

    def factor(self, k: int, sums: bool) -> float:
        """How much longer a list of ``k`` outputs, or sums over all of them, take."""
        return 1.0 + (1.0 + 0.5 * k if k > 1 else 0.0) + (4.0 if sums else 0.0)

    def check_shown(self, x: Any) -> None:
        """Refuse probabilities that would be too many to compute.

        Parameters
        ----------
        x : object
            The input.
        """

    def shown(self, x: Any) -> int:
        """How many probabilities are sent at most.

        Parameters
        ----------
        x : object
            The input.
        """
        return _LISTED

    # -- out --------------------------------------------------------------------------------------

    def input(self, x: Any) -> Any:
        """An input as JSON."""
        return x

    def output(self, x: Any, y: Any) -> Any:
        """An output as JSON."""
        return y if isinstance(y, (str, int, float)) or y is None else str(y)

    def drawn(self, x: Any, y: Any) -> dict[str, Any]:
        """More about an output, for drawings."""
        return {}

    def marginals(self, x: Any, p: Any) -> Any:
        """Probabilities of parts as JSON."""
        rows = sorted(p.items(), key=lambda item: -item[1]) if isinstance(p, dict) else []
        return [[str(part), round(float(v), 5)] for part, v in rows[:_LISTED] if v >= _SMALLEST]
