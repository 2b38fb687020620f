"""Random hidden Markov models.

The paper does not give the parameters of its models; here several are drawn at random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import trelliswork as tw
from trelliswork.metrics import token_error

CHAIN = tw.Chain(start=False, end=False, unknown=False)


class Hmm(NamedTuple):
    """First labels, transitions and emissions."""

    start: np.ndarray
    trans: np.ndarray
    emit: np.ndarray

    @classmethod
    def draw(cls, n_labels: int, n_symbols: int, rng: np.random.Generator) -> Hmm:
        """Random parameters with which the true model itself errs on at most a tenth of the labels.

        (The paper's noise-free errors are 4 to 10 %, so its models were about as clear.)
        """
        while True:
            trans = rng.dirichlet(np.ones(n_labels), n_labels) + np.eye(n_labels)
            emit = rng.dirichlet(np.full(n_symbols, 0.3), n_labels)
            hmm = cls(np.full(n_labels, 1 / n_labels), trans / trans.sum(axis=1, keepdims=True), emit)
            X, y = hmm.sequences(20, 100, rng)
            if error(hmm.model(), X, y) <= 10:
                return hmm

    def model(self) -> tw.Fixed:
        """The true parameters as a model."""
        k, q = self.emit.shape
        with np.errstate(divide="ignore"):
            trans, emit = np.maximum(np.log(self.trans), -50), np.maximum(np.log(self.emit), -50)
        weights = {("transition", a, b): trans[a, b] for a in range(k) for b in range(k)}
        weights |= {("emission", f"o{o}", a): emit[a, o] for a in range(k) for o in range(q)}
        return tw.Fixed(CHAIN, weights)

    def sequences(
        self, n: int, length: int, rng: np.random.Generator
    ) -> tuple[list[list[str]], list[list[int]]]:
        """Observed and hidden sequences."""
        labels = np.empty((n, length), dtype=np.int64)
        labels[:, 0] = _drawn(np.tile(self.start, (n, 1)), rng)
        for t in range(1, length):
            labels[:, t] = _drawn(self.trans[labels[:, t - 1]], rng)
        symbols = _drawn(self.emit[labels.ravel()], rng).reshape(n, length)
        names = np.array([f"o{o}" for o in range(self.emit.shape[1])])
        return names[symbols].tolist(), labels.tolist()


def _drawn(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One number per row of probabilities."""
    below = np.cumsum(p, axis=1)[:, :-1]
    return (rng.random((p.shape[0], 1)) > below).sum(axis=1)


def flipped(y: list[list[int]], p: float, k: int, rng: np.random.Generator) -> list[list[int]]:
    """Each label replaced by another one with probability ``p``."""
    labels = np.array(y)
    moved = (labels + rng.integers(1, k, labels.shape)) % k
    return np.where(rng.random(labels.shape) < p, moved, labels).tolist()


def error(model: Any, X: Any, y: Any) -> float:
    return 100 * token_error(y, model.predict(X))
