"""The options of learners, for the training commands.

The decorator :func:`learns` gives the options of all learners to the command of a task, which receives what
was chosen as a :class:`Learning` and builds the estimator from that. The learners are imported when a
training command is looked up, not before.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._entries import GENERAL, WORDS, LearnerEntry, flag, learner_table

__all__ = ["Learning", "LearningCommand", "find_learner", "learns"]

_PLACEHOLDER = "learning"  # parameter of a command that stands for the options of learners


class Learning(NamedTuple):
    """The learner that a command was asked to use.

    Attributes
    ----------
    name : str
        Value of ``--learner``.
    entry : LearnerEntry
        What it stands for.
    given : dict of str to object
        Options that were given, by name.
    tune : float or None
        Seconds for the choice of settings (infinite: as long as it takes); None takes them as they are.
    scoring : str or None
        What the choice of settings goes by.
    """

    name: str
    entry: LearnerEntry
    given: dict[str, Any]
    tune: float | None = None
    scoring: str | None = None

    @property
    def in_parts(self) -> bool:
        """Whether the file that is read is one of several."""
        return False

    def build(self, structure: Any, quiet: bool) -> Any:
        """Estimator with the options that were given.

        Commands call it before they read any data, so that a mistake in the options is reported at once.

        Parameters
        ----------
        structure : Structure
            What an output is.
        quiet : bool
            Whether to show no progress.
        """
        structure.check()
        if "loss" in self.given:
            self._check_loss(structure)
        if "scoring" in self.given:
            self._check_scoring()
        verbose = 0 if self.tune is not None else int(not quiet)
        return self.wrapped(self.entry.build(structure, self.given, verbose=verbose), quiet)

    def wrapped(self, estimator: Any, quiet: bool) -> Any:
        """The estimator with the choice of its settings around it, where that was asked for.

        Parameters
        ----------
        estimator : estimator
            A learner.
        quiet : bool
            Whether to show no progress.
        """
        if self.tune is None:
            return estimator
        from trelliswork.selection import Tuned

        return Tuned(
            estimator,
            budget=None if self.tune == math.inf else self.tune,
            scoring=self.scoring,
            n_jobs=self.given.get("jobs"),
            verbose=int(not quiet),
        )

    def said(self, said: list[str]) -> list[str]:
        """What a command says of a fit, as it says it."""
        return said

    def held_out(self, X: Any, y: Any) -> dict[str, Any]:
        """Arguments of ``fit`` for a development set: none where the learner does not stop by it.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            The development set.
        """
        return {"X_dev": X, "y_dev": y} if self.entry.uses_dev or self.tune is not None else {}

    def check_dev(self, dev: str | None, source: str) -> None:
        """Refuse a development set from the same stream, and options that need one without it.

        Parameters
        ----------
        dev, source : str
            Values of ``--dev`` and of the training file.
        """
        if source == dev == "-":
            raise InputError("--dev: the training data and --dev cannot both be standard input")
        if dev is None:
            for option in ("patience", "scoring"):
                if option in self.given:
                    raise InputError(f"{flag(option)} needs a development set; give --dev FILE")

    def _check_loss(self, structure: Any) -> None:
        from trelliswork.losses import losses_of

        option, given = self.entry.options["loss"], self.given["loss"]
        if given is None or given == option.default:
            return
        known = [*losses_of(structure), *(["none"] if "None" in option.kinds else [])]
        if given not in known:
            raise InputError(f"--loss: unknown loss {given!r}; expected one of {', '.join(known)}")

    def _check_scoring(self) -> None:
        from trelliswork.learners.early_stopping import SCORES

        if self.given["scoring"] not in SCORES:
            known = ", ".join(SCORES)
            raise InputError(f"--scoring: unknown score {self.given['scoring']!r}; expected one of {known}")


class LearningCommand:
    """The command of a task with the options of its learners in place of its parameter ``learning``.

    Parameters
    ----------
    command : callable
        What :func:`learns` decorates.
    default : str
        Learner without ``--learner``.
    find_table : callable
        Makes the table of learners; called once, when the options are first needed.
    """

    def __init__(
        self,
        command: Callable[..., None],
        default: str,
        find_table: Callable[[], Mapping[str, LearnerEntry]],
    ):
        functools.update_wrapper(self, command)
        self._command, self._default, self._find_table = command, default, find_table

    @functools.cached_property
    def table(self) -> Mapping[str, LearnerEntry]:
        """Learners to choose from, by name."""
        return self._find_table()

    @functools.cached_property
    def _added(self) -> dict[str, inspect.Parameter]:
        return _parameters(self.table, self._default)

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        hints = get_type_hints(self._command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(self._command).parameters.items():
            if name == _PLACEHOLDER:
                parameters += self._added.values()
            else:
                parameters.append(parameter.replace(annotation=hints[name]))
        return inspect.Signature([p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters])

    @functools.cached_property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {p.name: p.annotation for p in self.__signature__.parameters.values()}

    def __call__(self, **values: Any) -> None:
        """Run the command with what the user gave."""
        name = values.pop("learner", self._default)
        tune, scoring = values.pop("tune", None), None
        scheduler = values.pop("dask", None)
        if tune is not None:
            scoring = _check_measure(values.pop("scoring", None))
        given = {k: v for k, v in values.items() if k in self._added and v is not None}
        entry = find_learner(name, given, self.table)
        given = {k: entry.options[k].read(k, v) if k in entry.options else v for k, v in given.items()}
        _check_numbers(given)
        _options.check_jobs(given.get("jobs"))
        rest = {k: v for k, v in values.items() if k not in self._added}
        learning = Learning(name, entry, given, tune, scoring)
        if scheduler is None:
            self._command(**rest, **{_PLACEHOLDER: learning})
            return
        from trelliswork.cli._cluster import train_files

        train_files(self._command, scheduler, rest, learning)


def learns(
    default: str,
    *,
    renamed: Mapping[str, tuple[str, str]] | None = None,
    without: Collection[str] = (),
    also: Mapping[str, tuple[str, str]] | None = None,
) -> Callable[[Callable[..., None]], LearningCommand]:
    """Give a command the options of its learners, in place of its parameter ``learning``.

    Parameters
    ----------
    default : str
        Learner without ``--learner``.
    renamed, without, also
        As in :func:`learner_table`.

    Examples
    --------
    >>> from trelliswork.cli._learners import Learning, learns
    >>> @learns("crf")
    ... def train(source: str, *, learning: Learning) -> None:
    ...     print(source, learning.entry.learner.__name__, learning.given)
    >>> train(source="a.conll", learner="svm", C=10.0, seed=0)
    a.conll StructuredSVM {'C': 10.0, 'seed': 0}
    >>> train(source="a.conll", learner="svm", C=0.0)
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --C must be a finite number > 0, got 0.0
    """
    return lambda command: LearningCommand(command, default, lambda: learner_table(renamed, without, also))


def find_learner(name: str, given: Mapping[str, Any], table: Mapping[str, LearnerEntry]) -> LearnerEntry:
    """Entry of a learner; refuses options that it does not take.

    Parameters
    ----------
    name : str
        Value of ``--learner``.
    given : mapping of str to object
        Options that were given, by name.
    table : mapping of str to LearnerEntry
        Learners to choose from.

    Examples
    --------
    >>> from trelliswork.cli._entries import learner_table
    >>> from trelliswork.cli._learners import find_learner
    >>> find_learner("crf", {"l1": 0.1}, learner_table()).learner.__name__
    'CRF'
    >>> find_learner("generative", {"l1": 0.1}, learner_table())
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --l1 does not go with --learner generative; its own options: --smoothing
    """
    entry = table.get(name)
    if entry is None:
        raise InputError(f"--learner: unknown learner {name!r}; expected one of {', '.join(table)}")
    for option in given:
        if option not in entry.options and option not in GENERAL:
            taken = ", ".join(map(flag, entry.options)) or "none"
            raise InputError(f"{flag(option)} does not go with --learner {name}; its own options: {taken}")
    return entry


def _check_numbers(given: Mapping[str, Any]) -> None:
    """Refuse strengths that are negative or not finite, and those that must not be 0."""
    for name, value in given.items():
        if not isinstance(value, float):
            continue
        positive = name in WORDS and WORDS[name].positive
        if not 0 <= value < math.inf or (positive and value == 0):
            least = "> 0" if positive else ">= 0"
            raise InputError(f"{flag(name)} must be a finite number {least}, got {value}")


def _check_measure(name: str | None) -> str | None:
    """Refuse a measure that the choice of settings cannot go by."""
    from trelliswork.selection import scorers

    if name is not None and name not in scorers:
        raise InputError(f"--scoring: unknown score {name!r}; expected one of {', '.join(scorers)}")
    return name


def _parameters(table: Mapping[str, LearnerEntry], default: str) -> dict[str, inspect.Parameter]:
    """Parameters of the learners of a table, as Typer reads them."""
    listed = ", ".join(f"{name} ({entry.about})" for name, entry in table.items())
    choice = typer.Option(help=f"How weights are found: {listed}.")
    options: dict[str, tuple[Any, Any]] = {"learner": (Annotated[str, choice], default)}
    for name in dict.fromkeys(option for entry in table.values() for option in entry.options):
        having = {learner: entry.options[name] for learner, entry in table.items() if name in entry.options}
        kinds = {option.type for option in having.values()}
        kind = kinds.pop() if len(kinds) == 1 else str
        described = typer.Option(
            flag(name),
            help=f"{next(iter(having.values())).about} ({', '.join(having)}).",
            show_default=_in_words({learner: option.default_in_words for learner, option in having.items()}),
            min=1 if kind is int else None,
        )
        options[name] = (Annotated[kind | None, described], None)
    options["tune"] = (_options.Tune, None)
    options["jobs"] = (_options.Jobs, None)
    options["dask"] = (_options.Dask, None)
    options["seed"] = (_options.Seed, None)
    return {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
        for name, (annotation, value) in options.items()
    }


def _in_words(defaults: Mapping[str, str]) -> str:
    """Defaults by learner in words, or the one that all of them have."""
    values = list(dict.fromkeys(defaults.values()))
    if len(values) == 1:
        return values[0]
    return "; ".join(
        f"{', '.join(learner for learner, default in defaults.items() if default == value)}: {value}"
        for value in values
    )
