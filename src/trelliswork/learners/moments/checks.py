"""Checks of the parameters of moment learners."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork._validate import check_number
from trelliswork.learners.optimize.ridge import SOLVERS

__all__ = ["check_parameters"]


def check_parameters(learner: Any) -> None:
    """Refuse parameters of a moment learner that make no sense.

    Parameters
    ----------
    learner : ZScore or SODA
        The learner.
    """
    for name, allowed in (
        ("reg_mode", ("relative", "absolute")),
        ("reference", ("auto", "uniform", "observed", "generative")),
        ("constraints", (None, "hard", "slack")),
        ("slack", ("quadratic", "linear")),
        ("moments", ("exact", "sampled")),
        ("solver", SOLVERS),
    ):
        if getattr(learner, name) not in allowed:
            raise InputError(
                f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(learner, name)!r}"
            )
    if not (isinstance(learner.reg, str) and learner.reg == "auto"):
        check_number("reg", learner.reg, 0)
    check_number("margin", learner.margin, 0)
    check_number("epsilon", learner.epsilon, 0)
    if learner.total_margin is not None and learner.total_margin != "auto":
        check_number("total_margin", learner.total_margin, 0, above=True)
    for name in ("tol", "smoothing", "slack_penalty"):
        check_number(name, getattr(learner, name), 0, above=True)
    for name in ("n_steps", "n_samples"):
        check_number(name, getattr(learner, name), 1, whole=True)
    if learner.max_iter is not None:
        check_number("max_iter", learner.max_iter, 1, whole=True)
    _check_combinations(learner)


def _check_combinations(learner: Any) -> None:
    for name, used in (
        ("loss", learner._loss is not None),
        ("constraints", learner.constraints is not None),
        ("moments='sampled'", learner.moments == "sampled"),
    ):
        if learner.n_steps > 1 and used:
            raise InputError(f"n_steps > 1 is a search on the likelihood; it cannot be combined with {name}")
    if learner.constraints is not None and learner._loss is not None:
        raise InputError("constraints and loss are two ways to treat errors; choose one")
