"""Part scores where every sample has weights of its own, and how far these are trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork.structures.base import Batch, Parts

__all__ = ["likeliest_gate", "scores_in_pieces"]

_GATES = np.linspace(0.0, 1.0, 11)  # shares of a mixture that are tried


def likeliest_gate(model: Any, X: Any, y: Any, share: np.ndarray) -> float:
    """Share of predicted probabilities, in a mixture with generative ones, that makes outputs most probable.

    Parameters
    ----------
    model : KLRSO
        Fitted to others.
    X, y : lists of inputs and outputs
        Samples.
    share : ndarray of shape (n_samples,)
        Their weights.
    """
    likelihood = np.zeros(_GATES.size)
    for g, gate in enumerate(_GATES):
        model.mixture_ = float(gate)
        each = model.log_prob(X, y)
        # Outputs that the model of the others cannot have say nothing about the gate.
        likelihood[g] = float(share[np.isfinite(each)] @ each[np.isfinite(each)])
    return float(_GATES[int(np.argmax(likelihood))])


def scores_in_pieces(
    batch: Batch, weights_of: Callable[[np.ndarray | slice], np.ndarray], samples_at_a_time: int
) -> Parts:
    """Part scores where every sample has weights of its own, which are not all in memory together.

    Parameters
    ----------
    batch : Batch
        Samples.
    weights_of : callable
        Weights of some of the samples, one row each.
    samples_at_a_time : int
        Number of rows at a time.
    """
    if len(batch) <= samples_at_a_time:
        return batch.scores_each(weights_of(slice(None)))
    pieces = []
    for first in range(0, len(batch), samples_at_a_time):
        part = np.arange(first, min(first + samples_at_a_time, len(batch)))
        pieces.append(batch.subset(part).scores_each(weights_of(part)))
    joined = {
        name: None if a is None else np.concatenate([getattr(piece, name) for piece in pieces])
        for name, a in pieces[0].items()
    }
    return Parts(**joined)
