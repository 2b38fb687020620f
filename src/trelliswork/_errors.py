"""Errors that are meant to be read by people."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any, SupportsIndex

__all__ = [
    "FitWarning",
    "InputError",
    "InputWarning",
    "ModelFileError",
    "Unsupported",
    "convergence_warning",
    "is_not_fitted",
    "not_fitted",
]

_LONGEST = 500


class InputError(ValueError):
    """Input that cannot be used: a sample, a parameter, or a line of a file.

    The message is one line that says what was wrong, where (``sample 3: ...`` or
    ``FILE:LINE: ...``) and what was expected; it is fit to be shown as it is.

    Parameters
    ----------
    message : str
        What was wrong and what was expected.
    sample : int or None
        Number of the sample that it is about; the text of the error then begins with it.

    Attributes
    ----------
    message : str
        The message without the number of the sample.
    sample : int or None
        Number of the sample.

    Examples
    --------
    >>> from trelliswork import InputError
    >>> error = InputError("3 tokens in X but 2 labels in y", sample=7)
    >>> error.sample, str(error)
    (7, 'sample 7: 3 tokens in X but 2 labels in y')
    >>> raise InputError.at("train.txt", 12, "2 columns; expected 3, as in line 1")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: train.txt:12: 2 columns; expected 3, as in line 1
    """

    def __init__(self, message: str, *, sample: SupportsIndex | None = None):
        if len(message) > _LONGEST or "\n" in message:  # a value that is shown may have many lines
            message = " ".join(message.split())
            message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        self.message = message
        self.sample = None if sample is None else operator.index(sample)  # a NumPy integer becomes an int
        super().__init__(message if self.sample is None else f"sample {self.sample}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, self.sample)

    @classmethod
    def at(cls, source: object, line: int | None, message: str) -> InputError:
        """Error about one line of ``source``, or about all of it when ``line`` is None.

        Parameters
        ----------
        source : object
            Name of the file.
        line : int or None
            Its line, counted from 1.
        message : str
            What is wrong, and what was expected.
        """
        place = f"{source}" if line is None else f"{source}:{line}"
        return cls(f"{place}: {message}")

    def placed(self, source: object, places: Sequence[int | str]) -> InputError:
        """The same error about a file: it names the line (or the name) of the sample instead of its number.

        Parameters
        ----------
        source : object
            Name of the file.
        places : sequence of int or str
            Line or name of every sample.
        """
        if self.sample is None:
            return InputError.at(source, None, self.message)
        place = places[self.sample]
        if isinstance(place, int):
            return InputError.at(source, place, self.message)
        return InputError.at(source, None, f"{place}: {self.message}")


def _rebuilt(cls: type[InputError], message: str, sample: int | None) -> InputError:
    """Inverse of ``InputError.__reduce__``: errors cross process boundaries with their attributes."""
    return cls(message, sample=sample)


class FitWarning(UserWarning):
    """A model that is of no use after ``fit``, as its own training data show.

    It predicts the same for everything, no pair or bracket at all, has no weight other than zero, or its
    search was cut short far from its end. The message names the parameter to change and the direction.

    Examples
    --------
    >>> import warnings
    >>> import trelliswork as tw
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", tw.FitWarning)
    ...     _ = tw.CRF(tw.Chain(), l1=100.0).fit([["the", "cat"]], [["D", "N"]])
    >>> print(caught[0].message)
    CRF has no weight other than zero; lower l1 (now 100.0) or lower l2 (now ...)
    """


class InputWarning(UserWarning):
    """Data that can be used, but hardly as they were meant.

    Examples
    --------
    >>> import warnings
    >>> import trelliswork as tw
    >>> model = tw.CRF(tw.Chain(), l2=0.1).fit([["the", "old", "cat"]], [["D", "A", "N"]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", tw.InputWarning)
    ...     _ = model.predict([[{"word": "the"}, {"word": "old"}, {"word": "cat"}]])
    >>> print(caught[0].message)
    none of the 3 attributes of these inputs, such as 'word:the', was seen in training ('the', ...)
    """


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or comes from a newer release.

    The message is one line that starts with the path.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import trelliswork as tw
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.tw"
    >>> _ = path.write_text("not a model")
    >>> try:
    ...     tw.load(path)
    ... except tw.ModelFileError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


class Unsupported(TypeError):
    """A learner asked a structure for something that it does not offer.

    Examples
    --------
    >>> from trelliswork import Derivations, Edge, Perceptron, Unsupported
    >>> build = lambda x: [Edge("root", part=label, features=[(x, label)]) for label in "ab"]
    >>> try:
    ...     Perceptron(Derivations(build), class_weight="balanced").fit(["x"], [["a"]])
    ... except Unsupported as error:
    ...     print(error)
    Derivations does not offer weights and costs of labels ...; these structures do: Chain...
    """


# Classes of scikit-learn, imported where one is needed: most programs never see one, and the import is slow.


def convergence_warning() -> type[Warning]:
    """Class of warnings about searches that were cut short."""
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning


def not_fitted(model: object, call: str = "fit(X, y)") -> Exception:
    """Error of a model that is asked before it has learnt anything."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(f"this {type(model).__name__} is not fitted yet; call {call} first")


def is_not_fitted(error: BaseException) -> bool:
    """Whether an exception is scikit-learn's about a model that was not fitted."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return exceptions is not None and isinstance(error, exceptions.NotFittedError)
