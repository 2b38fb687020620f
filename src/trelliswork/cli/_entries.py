"""Learners as the command line knows them: their names, their options, and how they are built.

Learners come from :data:`trelliswork.learners.LEARNERS`: each class says its name on the command line and
which of its parameters are options there (``command``, ``command_options``). Types and defaults are those of
its constructor, so that the command line and Python have the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = ["GENERAL", "WORDS", "LearnerEntry", "LearnerOption", "flag", "learner_table"]


class Words(NamedTuple):
    """What ``--help`` says of an option, and whether 0 is refused at once."""

    about: str
    positive: bool = False


# Short words for the parameters that several learners have; others are described by their docstrings.
WORDS = {
    "l1": Words("L1 penalty"),
    "l2": Words("L2 penalty"),
    "smoothing": Words("Count added to every event", positive=True),
    "reg": Words("Ridge, or penalty"),
    "reference": Words("What outputs are compared with: uniform, observed or generative"),
    "C": Words("Price of errors", positive=True),
    "lam": Words("Penalty by complexity"),
    "beta": Words("Penalty of all weights"),
    "loss": Words("Loss of an output; an unknown name lists them"),
    "max_iter": Words("Largest number of iterations"),
    "patience": Words("With --dev: stop after so many iterations without a better score"),
    "scoring": Words("With --dev or --tune: score that decides; an unknown name lists them"),
}
GENERAL = {"jobs": "n_jobs", "seed": "random_state"}  # options of all learners, with their parameters
_FILES = {"keep_moments": False}  # model files of the command line hold weights, not what they came from


class LearnerOption(NamedTuple):
    """An option of a learner, as its constructor declares it.

    Attributes
    ----------
    kinds : frozenset of str
        Names in the annotation: ``"float"``, ``"int"``, ``"str"``, ``"None"``, ...
    default : object
        Of the constructor.
    about : str
        A few words for ``--help``.
    """

    kinds: frozenset[str]
    default: Any
    about: str

    @property
    def type(self) -> type:
        """What the parser of the command line is asked for; a text where several kinds are possible."""
        kinds = self.kinds - {"None"}
        return float if kinds == {"float"} else int if kinds == {"int"} else str

    def read(self, name: str, given: Any) -> Any:
        """Value of a text that may be a number or a word such as ``auto``."""
        if given == "none" and "None" in self.kinds:
            return None
        if not isinstance(given, str):
            return given
        for kind, number in (("int", int), ("float", float)):
            if kind in self.kinds:
                try:
                    return number(given)
                except ValueError:
                    pass
        if self.kinds & {"int", "float"} and given != self.default and "Any" not in self.kinds:
            word = f" or {self.default}" if isinstance(self.default, str) else ""
            raise InputError(f"{flag(name)}: expected a number{word}, got {given!r}")
        return given

    @property
    def default_in_words(self) -> str:
        """The default for ``--help``."""
        value = self.default
        return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class LearnerEntry:
    """One learner of the command line.

    Attributes
    ----------
    learner : type
        Its class.
    about : str
        A few words for ``--help``.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.cli._entries import learner_table
    >>> crf = learner_table()["crf"]
    >>> crf.about, crf.options["max_iter"].default_in_words
    ('conditional random field', '500')
    >>> crf.build(Chain(), {"l2": 0.1, "seed": 3})
    CRF(l2=0.1, structure=Chain())
    """

    learner: type
    about: str

    @functools.cached_property
    def options(self) -> dict[str, LearnerOption]:
        """Options that it takes beside those that all take, by the name of the parameter."""
        parameters = inspect.signature(self.learner).parameters
        return {
            name: LearnerOption(
                _kinds(parameters[name]), parameters[name].default, _words(self.learner, name)
            )
            for name in getattr(self.learner, "command_options", ())
        }

    @property
    def uses_dev(self) -> bool:
        """Whether ``fit`` takes ``X_dev, y_dev``; otherwise ``--dev`` is only scored."""
        return "X_dev" in inspect.signature(self.learner.fit).parameters  # type: ignore[attr-defined]

    def build(self, structure: Any, given: Mapping[str, Any], *, verbose: int = 0) -> Any:
        """Estimator with the options that were given.

        Parameters
        ----------
        structure : Structure
            What an output is.
        given : mapping of str to object
            Options by name; those that are no parameters of the class belong to the structure.
        verbose : int
            1 shows progress.
        """
        values = {GENERAL.get(option, option): value for option, value in given.items()}
        if verbose:
            values["verbose"] = verbose
        known = inspect.signature(self.learner).parameters
        return self.learner(structure, **{k: v for k, v in {**_FILES, **values}.items() if k in known})


def learner_table(
    renamed: Mapping[str, tuple[str, str]] | None = None,
    without: Collection[str] = (),
    also: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, LearnerEntry]:
    """Learners of a task by their names on the command line.

    Parameters
    ----------
    renamed : mapping of str to tuple
        Learners that have a name of their own on the structures of the task: names of classes with the name
        on the command line and a few words.
    without : collection of str
        Classes that cannot learn these structures.
    also : mapping of str to tuple
        Regressors by name on the command line, with a few words and the name of the class.

    Examples
    --------
    >>> from trelliswork.cli._entries import learner_table
    >>> "svm" in learner_table(), "klrso" in learner_table(without=["KLRSO"])
    (True, False)
    """
    from trelliswork.learners import LEARNERS, REGRESSORS

    table = {}
    for class_name, cls in LEARNERS.items():
        command = vars(cls).get("command")  # not what a subclass of a listed learner inherits
        if command is None or class_name in without:
            continue
        first = (cls.__doc__ or class_name).strip().split("\n")[0].split(":")[0].rstrip(".")
        about = first if first[:2].isupper() else first[:1].lower() + first[1:]
        name, about = (renamed or {}).get(class_name, (command, about))
        table[name] = LearnerEntry(cls, about)
    return table | {name: LearnerEntry(REGRESSORS[cls], about) for name, (about, cls) in (also or {}).items()}


def flag(option: str) -> str:
    """Option of the command line for a parameter."""
    return f"--{option.replace('_', '-')}"


def _kinds(parameter: inspect.Parameter) -> frozenset[str]:
    """Names of the kinds that the annotation of a parameter, or else its default, allows."""
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        annotation = type(parameter.default)
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return frozenset(piece.strip() for piece in text.split("|"))


def _words(cls: type, name: str) -> str:
    """What an option is, in a few words: from the list above or the docstring of the class."""
    if name in WORDS:
        return WORDS[name].about
    lines = inspect.getdoc(cls) or ""
    _, separator, after = lines.partition(f"\n{name} : ")
    described = " ".join(after.split("\n")[1:]).strip() if separator else name
    return " ".join(described.split(". ")[0].split()).rstrip(".")
