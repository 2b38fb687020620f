"""The options of learners: one list for all training commands."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._learners import LearnerEntry, find_learner
from trelliswork.cli._training import check_numbers

__all__ = ["Learning", "learns"]

_PLACE = "learning"  # parameter of a command that the options stand for

# Type, range and meaning of what learners take; which take it, and what they do without it, is in
# their tables.
_OPTIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "l1": (float, {}, "L1 penalty"),
    "l2": (float, {}, "L2 penalty"),
    "smoothing": (float, {}, "Count added to every event"),
    "reg": (float, {}, "Ridge, or penalty"),
    "reference": (str, {}, "What outputs are compared with: uniform, observed or generative"),
    "C": (float, {}, "Price of errors"),
    "lam": (float, {}, "Penalty by complexity"),
    "beta": (float, {}, "Penalty of all weights"),
    "loss": (str, {}, "Loss of an output"),
    "max_iter": (int, {"min": 1}, "Iterations at the most"),
}


class Learning(NamedTuple):
    """The learner that a command is to use.

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
        """Estimator with the options that were given; a mistake in them is told before any data are read.

        Parameters
        ----------
        structure : Structure
            What an output is.
        quiet : bool
            Whether to show no progress; otherwise it is shown on a terminal.
        """
        structure.check()
        return self.entry.build(structure, self.given, verbose=int(sys.stderr.isatty() and not quiet))


def learns(
    table: Mapping[str, LearnerEntry], default: str, losses: Sequence[str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its learners, in the place of its parameter ``learning``.

    Parameters
    ----------
    table : mapping of str to LearnerEntry
        Learners to choose from.
    default : str
        The one without ``--learner``.
    losses : sequence of str
        What ``--loss`` takes.

    Examples
    --------
    >>> from trelliswork.cli._learners import LEARNERS
    >>> from trelliswork.cli._learning import Learning, learns
    >>> @learns(LEARNERS, "crf", ("hamming", "zero-one"))
    ... def train(source: str, *, learning: Learning) -> None:
    ...     print(source, learning.entry.class_name, learning.given)
    >>> train(source="a.conll", learner="svm", C=10.0, seed=0)
    a.conll StructuredSVM {'C': 10.0, 'seed': 0}
    >>> train(source="a.conll", learner="svm", loss="tree")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --loss: unknown loss 'tree'; expected one of hamming, zero-one
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        added = _parameters(table, default, losses)
        own = inspect.signature(command).parameters
        hints = get_type_hints(command, include_extras=True)
        limited = {option for entry in table.values() for option in entry.options}

        @functools.wraps(command)
        def run(**values: Any) -> None:
            name = values.pop("learner", default)
            asked = {k: v for k, v in values.items() if (k in added or k in limited) and v is not None}
            rest = {k: v for k, v in values.items() if k not in added}
            command(**rest, **{_PLACE: _chosen(name, asked, table, losses)})

        parameters: list[inspect.Parameter] = []
        for place, parameter in own.items():
            if place == _PLACE:
                parameters += added.values()
            else:
                parameters.append(parameter.replace(annotation=hints[place]))
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorated


def _chosen(
    name: str, given: dict[str, Any], table: Mapping[str, LearnerEntry], losses: Sequence[str]
) -> Learning:
    """The learner with the options that were given, checked."""
    entry = find_learner(name, given, table)
    known = [*losses, "none"] if entry.class_name == "VotedCRF" else losses
    if given.get("loss", losses[0]) not in known:
        raise InputError(f"--loss: unknown loss {given['loss']!r}; expected one of {', '.join(known)}")
    check_numbers(given)
    _options.check_jobs(given.get("jobs"))
    return Learning(name, entry, given)


def _parameters(
    table: Mapping[str, LearnerEntry], default: str, losses: Sequence[str]
) -> dict[str, inspect.Parameter]:
    """Parameters of the learners of a table, as typer reads them."""
    listed = ", ".join(f"{name} ({entry.about})" for name, entry in table.items())
    about = typer.Option(help=f"How weights are found: {listed}.")
    found: dict[str, tuple[Any, Any]] = {"learner": (Annotated[str, about], default)}
    for option, (kind, limits, meaning) in _OPTIONS.items():
        takers = {name: entry.options[option] for name, entry in table.items() if option in entry.options}
        if not takers:
            continue
        if option == "loss":
            meaning += f": {', '.join(losses)}" + ", or none for vcrf" * ("vcrf" in takers)
        shown = _shown(takers)
        flags = ["--C"] if option == "C" else []
        described = typer.Option(
            *flags, help=f"{meaning} ({', '.join(takers)}).", show_default=shown, **limits
        )
        found[option] = (Annotated[kind | None, described], None)
    found["jobs"] = (_options.Jobs, None)
    found["seed"] = (_options.Seed, 0)
    return {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
        for name, (annotation, value) in found.items()
    }


def _shown(takers: Mapping[str, str]) -> str:
    """Defaults in words: one if all have the same, else by learner."""
    values = list(dict.fromkeys(takers.values()))
    if len(values) == 1:
        return values[0]
    return "; ".join(
        f"{', '.join(name for name, value in takers.items() if value == one)}: {one}" for one in values
    )
