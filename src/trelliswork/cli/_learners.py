"""Learners by the names that ``--learner`` takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import trelliswork
from trelliswork._errors import InputError

__all__ = ["LEARNERS", "PLAIN_MOMENTS", "LearnerEntry", "find_learner"]

# Option -> parameter of the learner's class. Options that are not here (order, scheme, ...) belong to the
# structure.
_PARAMETERS = {
    "l1": "l1",
    "l2": "l2",
    "max_iter": "max_iter",
    "smoothing": "smoothing",
    "reg": "reg",
    "reference": "reference",
    "C": "C",
    "lam": "lam",
    "beta": "beta",
    "loss": "loss",
    "jobs": "n_jobs",
    "seed": "random_state",
}
_ALWAYS = {"jobs", "seed"}  # of no effect where a learner has no use for them


@dataclass(frozen=True)
class LearnerEntry:
    """One learner of the command line.

    Attributes
    ----------
    class_name : str
        Public name of the class in :mod:`trelliswork`.
    about : str
        A few words for ``--help``.
    options : mapping of str to str
        Options that it takes beside those that all take, each with its default in words.
    uses_dev : bool
        Whether ``fit`` takes ``X_dev, y_dev``; otherwise ``--dev`` is only scored.
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
            Options by name; those of the structure are passed over.
        verbose : int
            1 shows a progress bar.
        """
        cls = getattr(trelliswork, self.class_name)
        known = inspect.signature(cls).parameters
        values = {**self.settings, **{_PARAMETERS[k]: v for k, v in given.items() if k in _PARAMETERS}}
        if values.get("loss") == "none":
            values["loss"] = None
        if verbose:
            values["verbose"] = verbose
        return cls(structure, **{k: v for k, v in values.items() if k in known})


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
    "vcrf": LearnerEntry("VotedCRF", "voted CRF", _VOTED_OPTIONS, settings=_VOTED),
    "structboost": LearnerEntry("StructBoost", "structured boosting", _VOTED_OPTIONS, settings=_VOTED),
}


def find_learner(
    name: str, given: Mapping[str, Any], table: Mapping[str, LearnerEntry] = LEARNERS
) -> LearnerEntry:
    """Entry of a learner, after a look at the options that were given.

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
    limited = {option for other in table.values() for option in other.options}
    for option in given:
        if option in limited - set(entry.options) - _ALWAYS:
            own = ", ".join(map(_flag, entry.options))
            raise InputError(f"{_flag(option)} does not go with --learner {name}; its own options: {own}")
    return entry


def _flag(option: str) -> str:
    return "--observed/--all-emissions" if option == "observed" else f"--{option.replace('_', '-')}"
