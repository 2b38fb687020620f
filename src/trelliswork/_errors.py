"""Errors that are meant to be read by people."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["InputError", "ModelFileError", "Unsupported"]


class InputError(ValueError):
    """Input that cannot be used: a sample, a parameter, or a line of a file.

    The message is one line that says what was wrong, where (``sample 3: ...`` or
    ``FILE:LINE: ...``) and what was expected; it is fit to be shown as it is.

    Examples
    --------
    >>> from trelliswork._errors import InputError
    >>> raise InputError.at("train.txt", 12, "2 columns; expected 3, as in line 1")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: train.txt:12: 2 columns; expected 3, as in line 1
    """

    @classmethod
    def at(cls, source: object, line: int | None, message: str) -> InputError:
        """Error about one line of ``source``, or about all of it when ``line`` is None."""
        place = f"{source}" if line is None else f"{source}:{line}"
        return cls(f"{place}: {message}")

    def placed(self, source: object, places: Sequence[int | str]) -> InputError:
        """The same error with the file, and the line or name of a sample in the place of its number."""
        found = re.match(r"sample (\d+): ", str(self))
        if found is None:
            return InputError(f"{source}: {self}")
        place, message = places[int(found[1])], str(self)[found.end() :]
        if isinstance(place, int):
            return InputError.at(source, place, message)
        return InputError.at(source, None, f"{place}: {message}")


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
    Derivations does not offer 'class_weights'; these structures do: Chain...
    """
