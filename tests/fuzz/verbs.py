"""Every verb of a model, and whether its answers make sense."""

from __future__ import annotations

import warnings

import numpy as np

from trelliswork import InputError
from trelliswork.structures import Unsupported

SLACK = 1e-9
ALLOWED = (InputError, Unsupported, MemoryError)


class Nonsense(Exception):
    """An answer that cannot be right."""


class Caught(str):
    """The outcome of a case that only the last line caught: no finding, but worth a check of its own."""

    def __new__(cls, error):
        out = super().__new__(cls, "caught")
        out.error = error
        return out


def ask_everything(model, X, y, verbs=None):
    """Call all verbs, or some; refusals are fine, foreign exceptions and nonsense are not.

    Returns refusals that came from the last line, behind all checks of model files.
    """
    caught = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for verb in VERBS if verbs is None else verbs:
            try:
                verb(model, X, y)
            except ALLOWED as error:
                if "fault of trelliswork" in str(error):
                    caught.append(error)
                if "\n" in str(error) or len(str(error)) > 600:
                    raise Nonsense(
                        f"{verb.__name__}: a message of many lines: {str(error)[:200]!r}"
                    ) from None
            except AttributeError as error:
                # A learner without the verb says so with its own name, as Python does.
                if type(model).__name__ not in str(error):
                    raise
    return caught


def predict(model, X, y):
    if len(model.predict(X)) != len(X):
        raise Nonsense("predict: another number of outputs than of inputs")


def kbest(model, X, y):
    for candidates in model.predict_kbest(X, 3):
        p = np.array([c.probability for c in candidates])
        scores = np.array([c.score for c in candidates])
        if np.isnan(scores).any() or np.any(np.diff(scores) > 0):
            raise Nonsense(f"kbest: scores {scores.tolist()}")
        if not (np.all(p >= 0) and p.sum() <= 1 + SLACK):
            raise Nonsense(f"kbest: probabilities {p.tolist()}")


def marginals(model, X, y):
    for values in _numbers(model.predict_marginals(X)):
        # Parts of derivations, and rules of a tree, may be used several times.
        if np.isnan(values).any() or np.any(values < -SLACK):
            raise Nonsense("marginals: not a number, or negative")


def log_prob(model, X, y):
    values = np.asarray(model.log_prob(X, y), dtype=float)
    if np.isnan(values).any() or np.any(values > SLACK):
        raise Nonsense(f"log_prob: {values.tolist()}")


def sample(model, X, y):
    draws = model.sample(X, 2, random_state=0)
    if len(draws) != len(X):
        raise Nonsense("sample: another number of samples than of inputs")


def mea(model, X, y):
    model.predict_mea(X)


def min_risk(model, X, y):
    model.predict_min_risk(X, k=2)


def score(model, X, y):
    value = model.score(X, y)
    if not np.isfinite(value):
        raise Nonsense(f"score: {value}")


def partial_fit(model, X, y):
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)


def merge(model, X, y):
    if hasattr(model, "merge"):
        model.merge(model)


VERBS = (predict, kbest, marginals, log_prob, sample, mea, min_risk, score, partial_fit, merge)


def _numbers(value):
    """Arrays inside of whatever a structure gives as marginals."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, (np.ndarray, np.generic, float)):
        array = np.asarray(value)
        if array.dtype.kind == "f":
            yield array
