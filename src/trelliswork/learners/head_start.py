"""Losses of learners that start from the scores of another model."""

from __future__ import annotations

from collections.abc import Callable

from trelliswork.losses import Loss
from trelliswork.losses.base import PartCosts
from trelliswork.structures.base import Batch, Parts, Space

__all__ = ["RemainingMargin"]


class RemainingMargin(Loss):
    """Margin that is left to be gained where another model has a part of it already.

    A learner that asks its weights for margins equal to this asks the sum of both scores for margins of
    ``scale`` times a loss. Below 0 where the other model is further ahead than that.

    Parameters
    ----------
    loss : Loss
        A sum over parts.
    scale : float
        Margin per unit of the loss.
    scores : callable
        ``scores(batch)``, part scores of the other model.
    costed : bool, default=False
        Whether the other model's scores count only where the loss has costs: what it knows of other parts
        (which labels follow each other) is then a gain that nobody asks for, instead of one to be undone
        where it is larger than the margin.
    """

    signed = True

    def __init__(self, loss: Loss, scale: float, scores: Callable[[Batch], Parts], *, costed: bool = False):
        self.loss, self.scale, self.scores, self.costed = loss, scale, scores, costed

    def __repr__(self) -> str:
        return repr(self.loss)

    def check(self, space: Space) -> None:
        """What the loss checks."""
        self.loss.check(space)

    def part_costs(self, batch: Batch) -> PartCosts | None:
        """Costs of the loss, times the scale, less how far the other model is ahead."""
        decomposed = self.loss.part_costs(batch)
        if decomposed is None:
            return None
        costs, constant = decomposed
        scores = self.scores(batch)
        if self.costed:
            scores = scores.limited_to(costs)
            ahead = batch.dot_each(batch.indicators(batch.gold_codes, each=True), scores)
        else:
            ahead = batch.evaluate(batch.gold_codes, scores)
        return costs * self.scale + scores, constant * self.scale - ahead
