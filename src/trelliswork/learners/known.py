"""Learning from outputs that are known in part: what learners share."""

from __future__ import annotations

import numpy as np

from trelliswork._errors import Unsupported
from trelliswork.losses import Hamming, Loss
from trelliswork.structures.abilities import PartlyKnown
from trelliswork.structures.base import Batch

__all__ = ["Target", "check_loss", "known_in_part", "refuse_open"]


def known_in_part(batch: Batch) -> PartlyKnown | None:
    """The batch itself if some of its outputs are known in part only, else None."""
    return batch if isinstance(batch, PartlyKnown) and batch.partly_known else None


def refuse_open(batch: Batch, what: str) -> None:
    """Refuse outputs that are known in part; ``what`` needs all of them."""
    partly = known_in_part(batch)
    if partly is not None and partly.known is not None:
        raise Unsupported(
            f"{what} needs outputs that are known as a whole (sample {partly.open_samples[0]} is not); "
            "CRF, VotedCRF, Perceptron, StructuredSVM and Generative learn from others"
        )


def check_loss(batch: Batch, loss: Loss) -> None:
    """Refuse losses that cannot tell what an output costs of whose truth only a part is known."""
    if known_in_part(batch) is None or batch.known is None or batch.one_label:
        return
    if not isinstance(loss, Hamming) or (loss.normalized and not batch.fixed_length):
        raise Unsupported(f"{loss!r} needs outputs that are known as a whole; loss='hamming' does not")


class Target:
    """Log of the sum over all outputs that agree with what is known, and their expected features.

    Of outputs that are known as a whole these are the score and the features of the output.

    Parameters
    ----------
    batch : Batch
        Samples with their outputs.
    weights : ndarray or None
        Weight of each sample.

    Attributes
    ----------
    open : PartlyKnown or None
        The samples whose outputs are known in part.
    gold : ndarray
        Features of the others, summed.
    """

    def __init__(self, batch: Batch, weights: np.ndarray | None = None):
        self.open = known_in_part(batch)
        self._weights = weights
        if self.open is None:
            self.gold = batch.gold_sum(weights)
            return
        self.numbers = self.open.open_samples
        rest = np.setdiff1d(np.arange(len(batch)), self.numbers)
        self.gold = np.zeros(batch.space.n_features)
        if weights is not None:
            self._weights = weights[self.numbers]
        if rest.size:
            self.open = self.open.subset(self.numbers)
            self.gold = batch.subset(rest).gold_sum(None if weights is None else weights[rest])

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum over samples, times their weights, and its gradient."""
        value = float(self.gold @ w)
        if self.open is None:
            return value, self.gold
        log_known, expected = self.open.expected_known(w, self._weights)
        return value + log_known, self.gold + expected
