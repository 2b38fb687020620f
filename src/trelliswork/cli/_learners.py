"""The learners of the training commands: what ``--learner`` takes, and the options of learners.

:data:`LEARNERS` has a line for every learner; a task takes them from there, with defaults of its own where
its data ask for others. The decorator :func:`learns` gives the options of these learners to the command of a
task, which receives what was chosen as a :class:`Learning` and builds the estimator from that. Nothing heavy
is imported before an estimator is built.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options

__all__ = ["LEARNERS", "PLAIN_MOMENTS", "LearnerEntry", "Learning", "find_learner", "learns"]


class LearnerOption(NamedTuple):
    """An option that some learners take; which, and with what default, is said in their table.

    Attributes
    ----------
    type : type
        Of its values. A float must be finite and not negative, an int at least 1.
    about : str
        A few words for ``--help``.
    positive : bool
        Whether 0 is refused.
    """

    type: type
    about: str
    positive: bool = False


# Every option of learners is listed here once, under the name of the parameter of their classes.
OPTIONS = {
    "l1": LearnerOption(float, "L1 penalty"),
    "l2": LearnerOption(float, "L2 penalty"),
    "smoothing": LearnerOption(float, "Count added to every event", positive=True),
    "reg": LearnerOption(float, "Ridge, or penalty"),
    "reference": LearnerOption(str, "What outputs are compared with: uniform, observed or generative"),
    "C": LearnerOption(float, "Price of errors", positive=True),
    "lam": LearnerOption(float, "Penalty by complexity"),
    "beta": LearnerOption(float, "Penalty of all weights"),
    "loss": LearnerOption(str, "Loss of an output; an unknown name lists them"),
    "max_iter": LearnerOption(int, "Largest number of iterations"),
}
_GENERAL = {"jobs": "n_jobs", "seed": "random_state"}  # options of all learners, with their parameters
_PLACEHOLDER = "learning"  # parameter of a command that stands for the options of learners


@dataclass(frozen=True)
class LearnerEntry:
    """One learner of the command line.

    Attributes
    ----------
    class_name : str
        Name of the class in :data:`trelliswork.learners.LEARNERS`.
    about : str
        A few words for ``--help``.
    options : mapping of str to str
        Options that it takes beside those that all take, each with its default in words.
    uses_dev : bool
        Whether ``fit`` takes ``X_dev, y_dev``; otherwise ``--dev`` is only scored.
    loss_optional : bool
        Whether ``--loss none`` is possible.
    template : str
        Features of a token when there is no ``--template``.
    settings : mapping of str to object
        Parameters of the class that differ from its defaults here.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.cli._learners import LEARNERS
    >>> LEARNERS["crf"].build(Chain(), {"l2": 0.1, "seed": 3})
    CRF(l2=0.1, structure=Chain())
    """

    class_name: str
    about: str
    options: Mapping[str, str] = field(default_factory=dict)
    uses_dev: bool = False
    loss_optional: bool = False
    template: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def but(self, options: Mapping[str, str], settings: Mapping[str, Any]) -> LearnerEntry:
        """Learner with other defaults, in words and as parameters of its class.

        Parameters
        ----------
        options, settings : mapping
            What differs.
        """
        return replace(self, options={**self.options, **options}, settings={**self.settings, **settings})

    def build(self, structure: Any, given: Mapping[str, Any], *, verbose: int = 0) -> Any:
        """Estimator with the options that were given.

        Parameters
        ----------
        structure : Structure
            What an output is.
        given : mapping of str to object
            Options by name; those that are no parameters of the class belong to the structure.
        verbose : int
            1 shows a progress bar.
        """
        from trelliswork.learners import LEARNERS

        cls = LEARNERS[self.class_name]
        values = {**self.settings, **{_GENERAL.get(option, option): v for option, v in given.items()}}
        if values.get("loss") == "none":
            values["loss"] = None
        if verbose:
            values["verbose"] = verbose
        known = inspect.signature(cls).parameters
        return cls(structure, **{name: v for name, v in values.items() if name in known})


# Labels of text are mostly skewed (one of them covers most tokens), where moments need a reference measure;
# files keep the weights, not the moments.
_MOMENTS = {"reference": "generative", "reg": 1.0, "reg_mode": "absolute", "keep_moments": False}

# Where nothing is skewed: defaults in words, and as parameters, for outputs other than text.
PLAIN_MOMENTS = (
    {"reg": "1e-6", "reference": "uniform"},
    {"reg": 1e-6, "reg_mode": "relative", "reference": "uniform"},
)

# Means over sentences, not sums: penalties of text are small numbers.
_VOTED = {"lam": 1e-6, "beta": 1e-4}
_VOTED_OPTIONS = {"lam": "1e-6", "beta": "1e-4", "loss": "hamming", "max_iter": "200"}

# Every learner of the command line is listed here once.
LEARNERS = {
    "crf": LearnerEntry(
        "CRF",
        "conditional random field",
        {"l1": "0", "l2": "1", "max_iter": "200"},
        uses_dev=True,
    ),
    "perceptron": LearnerEntry("Perceptron", "averaged perceptron", {"max_iter": "20"}),
    "hmm": LearnerEntry("Generative", "hidden Markov model", {"smoothing": "1"}, template="word"),
    "klrso": LearnerEntry(
        "KLRSO",
        "generative, with probabilities predicted per input",
        {"smoothing": "1", "reg": "0.1", "max_iter": "100"},
        template="word",
    ),
    "zscore": LearnerEntry(
        "ZScore", "largest Z-score", {"reg": "1", "reference": "generative"}, settings=_MOMENTS
    ),
    "soda": LearnerEntry(
        "SODA", "least squares on margins", {"reg": "1", "reference": "generative"}, settings=_MOMENTS
    ),
    "svm": LearnerEntry(
        "StructuredSVM",
        "structural SVM",
        {"C": "1000", "loss": "hamming", "max_iter": "1000"},
        settings={"C": 1000.0},
    ),
    "vcrf": LearnerEntry("VotedCRF", "voted CRF", _VOTED_OPTIONS, loss_optional=True, settings=_VOTED),
    "structboost": LearnerEntry("StructBoost", "structured boosting", _VOTED_OPTIONS, settings=_VOTED),
}


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
    """

    name: str
    entry: LearnerEntry
    given: dict[str, Any]

    def build(self, structure: Any, quiet: bool) -> Any:
        """Estimator with the options that were given.

        Commands call it before they read any data, so that a mistake in the options is reported at once.

        Parameters
        ----------
        structure : Structure
            What an output is.
        quiet : bool
            Whether to show no progress; otherwise it is shown on a terminal.
        """
        structure.check()
        if "loss" in self.given:
            self._check_loss(structure)
        return self.entry.build(structure, self.given, verbose=int(sys.stderr.isatty() and not quiet))

    def _check_loss(self, structure: Any) -> None:
        from trelliswork.losses import losses_of

        known = [*losses_of(structure), *(["none"] if self.entry.loss_optional else [])]
        if self.given["loss"] not in known:
            raise InputError(
                f"--loss: unknown loss {self.given['loss']!r}; expected one of {', '.join(known)}"
            )


def learns(
    table: Mapping[str, LearnerEntry], default: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its learners, in place of its parameter ``learning``.

    Parameters
    ----------
    table : mapping of str to LearnerEntry
        Learners to choose from.
    default : str
        The one without ``--learner``.

    Examples
    --------
    >>> from trelliswork.cli._learners import LEARNERS, Learning, learns
    >>> @learns(LEARNERS, "crf")
    ... def train(source: str, *, learning: Learning) -> None:
    ...     print(source, learning.entry.class_name, learning.given)
    >>> train(source="a.conll", learner="svm", C=10.0, seed=0)
    a.conll StructuredSVM {'C': 10.0, 'seed': 0}
    >>> train(source="a.conll", learner="svm", C=0.0)
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --C must be a finite number > 0, got 0.0
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        added = _parameters(table, default)
        hints = get_type_hints(command, include_extras=True)
        limited = {option for entry in table.values() for option in entry.options}

        @functools.wraps(command)
        def run(**values: Any) -> None:
            name = values.pop("learner", default)
            given = {k: v for k, v in values.items() if (k in added or k in limited) and v is not None}
            entry = find_learner(name, given, table)
            _check_numbers(given)
            _options.check_jobs(given.get("jobs"))
            rest = {k: v for k, v in values.items() if k not in added}
            command(**rest, **{_PLACEHOLDER: Learning(name, entry, given)})

        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            if name == _PLACEHOLDER:
                parameters += added.values()
            else:
                parameters.append(parameter.replace(annotation=hints[name]))
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorated


def find_learner(
    name: str, given: Mapping[str, Any], table: Mapping[str, LearnerEntry] = LEARNERS
) -> LearnerEntry:
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
    >>> from trelliswork.cli._learners import find_learner
    >>> find_learner("crf", {"l1": 0.1}).class_name
    'CRF'
    >>> find_learner("hmm", {"l1": 0.1})
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --l1 does not go with --learner hmm; its own options: --smoothing
    """
    entry = table.get(name)
    if entry is None:
        raise InputError(f"--learner: unknown learner {name!r}; expected one of {', '.join(table)}")
    of_some = {option for other in table.values() for option in other.options}
    for option in given:
        if option in of_some - set(entry.options) - set(_GENERAL):
            taken = ", ".join(map(_flag, entry.options))
            raise InputError(f"{_flag(option)} does not go with --learner {name}; its own options: {taken}")
    return entry


def _flag(option: str) -> str:
    return "--observed/--all-emissions" if option == "observed" else f"--{option.replace('_', '-')}"


def _check_numbers(given: Mapping[str, Any]) -> None:
    """Refuse strengths that are negative or not finite, and those that must not be 0."""
    for name, option in OPTIONS.items():
        if option.type is not float or name not in given:
            continue
        if not 0 <= given[name] < math.inf or (option.positive and given[name] == 0):
            least = "> 0" if option.positive else ">= 0"
            raise InputError(f"--{name} must be a finite number {least}, got {given[name]}")
    if given.get("lam") == 0 and given.get("beta") == 0:
        raise InputError("--lam and --beta are both 0: nothing keeps the weights finite; raise one of them")


def _parameters(table: Mapping[str, LearnerEntry], default: str) -> dict[str, inspect.Parameter]:
    """Parameters of the learners of a table, as Typer reads them."""
    listed = ", ".join(f"{name} ({entry.about})" for name, entry in table.items())
    choice = typer.Option(help=f"How weights are found: {listed}.")
    options: dict[str, tuple[Any, Any]] = {"learner": (Annotated[str, choice], default)}
    for name, option in OPTIONS.items():
        defaults = {learner: entry.options[name] for learner, entry in table.items() if name in entry.options}
        if not defaults:
            continue
        described = typer.Option(
            *(["--C"] if name == "C" else []),
            help=f"{option.about} ({', '.join(defaults)}).",
            show_default=_in_words(defaults),
            min=1 if option.type is int else None,
        )
        options[name] = (Annotated[option.type | None, described], None)
    options["jobs"] = (_options.Jobs, None)
    options["seed"] = (_options.Seed, 0)
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
