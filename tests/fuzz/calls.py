"""Calls with whatever a user might pass: an answer, or one line that says what is wrong."""

from __future__ import annotations

import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from tests.fuzz.samples import FEW_STEPS, data
from tests.fuzz.verbs import Nonsense

import trelliswork as tw
from trelliswork.learners import LEARNERS
from trelliswork.structures import Unsupported

WORDS = ["a", "b", "", "GGAAACC", "((...))", "(S (A a))", "-", "B-X", "é", "x" * 50, "\x00", "\ud800", "1"]
METHODS = (
    "predict",
    "predict_kbest",
    "predict_marginals",
    "predict_mea",
    "predict_min_risk",
    "sample",
    "pack",
)
# Exceptions that a caller may get: input errors, and Python's own about the call itself.
FINE = (tw.InputError, Unsupported, MemoryError)


def thing(rng, depth=0):
    """A random object."""
    kind = rng.integers(26 if depth < 3 else 14)
    match kind:
        case 0:
            return None
        case 1:
            return bool(rng.integers(2))
        case 2:
            return int(rng.choice([0, 1, -1, 7, 2**31, -(2**63), 2**63 - 1]))
        case 3:
            return float(rng.choice([0.0, 1.5, np.nan, np.inf, -np.inf, 1e308]))
        case 4 | 5 | 6:
            return WORDS[rng.integers(len(WORDS))]
        case 7:
            return WORDS[rng.integers(11)].encode()
        case 8:
            return np.float64(rng.normal())
        case 9:
            return np.array(rng.normal())  # 0-d
        case 10:
            return rng.normal(size=rng.integers(0, 4, rng.integers(1, 4)))
        case 11:
            return np.array(rng.choice(WORDS[:8], rng.integers(1, 4)), dtype=object)
        case 12:
            return SimpleNamespace(a=1)
        case 13:
            return rng.choice([Fraction(1, 3), 1j, ..., NotImplemented, int, len, object()])
        case 14:
            return sp.csr_matrix(rng.normal(size=rng.integers(1, 4, 2)))
        case 15:
            return {WORDS[rng.integers(9)]: thing(rng, depth + 1) for _ in range(rng.integers(3))}
        case 16:
            return {WORDS[rng.integers(9)] for _ in range(rng.integers(3))}
        case 17:
            return tuple(thing(rng, depth + 1) for _ in range(rng.integers(4)))
        case 18:
            return iter([thing(rng, depth + 1) for _ in range(rng.integers(3))])
        case 19:
            return range(int(rng.integers(4)))
        case _:
            return [thing(rng, depth + 1) for _ in range(rng.integers(4))]


def spoiled(rng, value, depth=0):
    """A good value with something else at a random place."""
    if isinstance(value, (list, tuple)) and len(value) and depth < 4 and rng.random() < 0.85:
        items = list(value)
        i = int(rng.integers(len(items)))
        if rng.random() < 0.1:
            del items[i]
        else:
            items[i] = spoiled(rng, items[i], depth + 1)
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, np.ndarray) and value.size and rng.random() < 0.5:
        array = value.astype(object)
        array.reshape(-1)[rng.integers(array.size)] = thing(rng, 2)
        return array
    return thing(rng, 1)


class Attack:
    """One call after the other, on every structure and with every learner."""

    def __init__(self, folder):
        self.data = data()
        self.names = sorted(self.data)
        self.fitted = {}

    def _model(self, name):
        if name not in self.fitted:
            structure, X, y = self.data[name]
            self.fitted[name] = tw.Perceptron(structure, max_iter=1).fit(X, y)
        return self.fitted[name]

    def case(self, number, seed):
        """Make a call with spoiled arguments."""
        rng = np.random.default_rng([seed, number])
        name = self.names[rng.integers(len(self.names))]
        structure, X, y = self.data[name]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            bad_X = spoiled(rng, X) if rng.random() < 0.8 else X
            bad_y = spoiled(rng, y) if bad_X is X or rng.random() < 0.4 else y
            kind = rng.integers(4)
            try:
                if kind == 0:
                    learner = list(LEARNERS)[rng.integers(len(LEARNERS))]
                    if learner == "Fixed":
                        learner = "CRF"
                    LEARNERS[learner](structure, **FEW_STEPS.get(learner, {})).fit(bad_X, bad_y)
                elif kind == 1:
                    getattr(self._model(name), METHODS[rng.integers(len(METHODS))])(bad_X)
                elif kind == 2:
                    self._model(name).score(bad_X, bad_y)
                else:
                    self._model(name).log_prob(bad_X, bad_y)
            except FINE as error:
                if "\n" in str(error) or len(str(error)) > 600:
                    raise Nonsense(f"a message of many lines: {str(error)[:300]!r}") from None
                return "refused"
            except Exception as error:
                if any("raised by build(x)" in note for note in getattr(error, "__notes__", ())):
                    return "refused"  # by a function of the user's
                raise
        return "answered"
