"""Dual variables of an earlier solution, as the start of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.losses import Loss
from trelliswork.losses.forms import Form
from trelliswork.structures.base import Batch

__all__ = ["Start", "as_start"]


class Start(NamedTuple):
    """Outputs with their dual variables; feasible for the problem at hand.

    Attributes
    ----------
    sample : ndarray of int
        Sample of each output.
    rank : ndarray of int
        Number of the output among those of its sample.
    codes : Ragged
        The outputs.
    loss, beta : ndarray
        Their losses and dual variables.
    """

    sample: np.ndarray
    rank: np.ndarray
    codes: Ragged
    loss: np.ndarray
    beta: np.ndarray

    def part(self, samples: np.ndarray) -> Start:
        """Entries of some samples (sorted), which are counted anew."""
        place = np.searchsorted(samples, self.sample)
        inside = np.append(samples, -1)[place] == self.sample
        entries = np.flatnonzero(inside)
        return Start(
            place[entries], self.rank[entries], self.codes[entries], self.loss[entries], self.beta[entries]
        )


def as_start(
    X: Any,
    batch: Batch,
    support: Sequence[tuple[int, Any, float]],
    loss: Loss,
    form: Form,
    shares: np.ndarray,
) -> Start | None:
    """Support set of an earlier fit as the start of this one.

    Outputs that are not possible any more, or belong to samples that are gone, are left
    out; where dual variables exceed the bound of their sample they shrink.
    """
    entries = [(i, output, alpha) for i, output, alpha in support if i < len(batch) and shares[i] > 0]
    if not entries:
        return None
    sample = np.array([i for i, _, _ in entries], dtype=np.int64)
    rows = [X[i] for i in sample] if isinstance(X, (list, tuple)) else X[sample]
    packed = batch.space.pack(rows, [output for _, output, _ in entries], unknown="mark")
    nothing = packed.scores(np.zeros(batch.space.n_features))
    possible = np.flatnonzero(packed.evaluate(packed.gold_codes, nothing) > -np.inf)
    if not possible.size:
        return None
    codes, sample = packed.gold_codes[possible], sample[possible]
    losses = loss.evaluate(batch.subset(sample), codes)
    same = [bool(np.array_equal(codes[j], batch.gold_codes[int(i)])) for j, i in enumerate(sample)]
    scale = form.plane(losses)[1]
    keep = np.flatnonzero((scale > 0) & ~np.array(same, dtype=bool))
    if not keep.size:
        return None
    sample, codes, losses = sample[keep], codes[keep], losses[keep]
    alpha = np.array([alpha for _, _, alpha in entries])[possible][keep]
    beta = alpha / scale[keep]
    if form.slack == "l1":
        total = np.bincount(sample, beta, minlength=len(batch))
        beta *= np.minimum(1.0, shares / np.maximum(total, 1e-300))[sample]
    order = np.argsort(sample, kind="stable")
    first = np.searchsorted(sample[order], sample[order])
    rank = np.empty(sample.size, dtype=np.int64)
    rank[order] = np.arange(sample.size) - first
    return Start(sample, rank, codes, losses, beta)
