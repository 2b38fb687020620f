"""Weights of any size: right answers as long as there are digits for them, and one clear error after that."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from tests.fuzz.samples import data
from tests.fuzz.verbs import ALLOWED, Nonsense, ask_everything

import trelliswork as tw
from trelliswork.learners.exact import exact_sums
from trelliswork.structures import Batch


class Attack:
    """One structure with random weights, times a power of ten, after the other."""

    def __init__(self, folder):
        self.data = data()
        self.names = sorted(self.data)
        self.fitted = {}

    def _model(self, name):
        if name not in self.fitted:
            structure, X, y = self.data[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.fitted[name] = tw.Perceptron(structure, max_iter=1).fit(X, y)
        return copy.copy(self.fitted[name])

    def case(self, number, seed):
        """Ask a model with such weights everything, and compare with all outputs of a sample."""
        rng = np.random.default_rng([seed, number])
        name = self.names[rng.integers(len(self.names))]
        _, X, y = self.data[name]
        model = self._model(name)
        power = int(rng.integers(-300, 301))
        kind = rng.integers(3)
        draws = rng.normal(size=model.coef_.size) if kind else rng.integers(-1, 2, model.coef_.size)
        with np.errstate(all="ignore"):
            model.coef_ = np.asarray(draws * 10.0**power)
        if kind == 2:
            model.coef_[rng.integers(model.coef_.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308])
        ask_everything(model, X, y)
        compare_with_enumeration(model, X)
        return "answered"


def compare_with_enumeration(model, X, most=3000):
    """The probabilities of all outputs of the first samples."""
    if type(model.structure).__name__ in ("Alignment", "Retrieval"):
        return  # even short sequences have too many alignments
    for i in range(min(len(X), 2)):
        try:
            outputs = []
            for output in model.space_.enumerate(X[i]):
                outputs.append(output)
                if len(outputs) > most:
                    break
        except (NotImplementedError, TypeError, *ALLOWED):
            return
        if not outputs or len(outputs) > most:
            continue
        try:
            log_p = model.log_prob([X[i]] * len(outputs), outputs)
        except ALLOWED:
            continue
        total = np.exp(log_p).sum()
        if not abs(total - 1.0) < 1e-3:
            raise Nonsense(f"log_prob: the probabilities of all {len(outputs)} outputs add up to {total}")
        compare_with_exact_sums(model, X[i], outputs, log_p)


def compare_with_exact_sums(model, x, outputs, log_p, most=100):
    """Log-probabilities of all outputs of a sample beside those from sums without rounding."""
    batch = model.pack([x] * len(outputs), outputs)
    shared = type(batch).candidates is not Batch.candidates  # outputs of several derivations
    if shared or len(outputs) > most or not np.isfinite(model.coef_).all():
        return
    sums = exact_sums(batch, model.coef_, batch.gold_codes)
    ahead = np.array([max(float(s - max(sums)), -800.0) for s in sums])
    exact = np.exp(ahead) / np.exp(ahead).sum()
    if not np.allclose(np.exp(log_p), exact, atol=1e-3):
        raise Nonsense(f"log_prob: {np.exp(log_p).tolist()!s:.100} and not {exact.tolist()!s:.100}")
