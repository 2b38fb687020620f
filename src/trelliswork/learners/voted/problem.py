"""What the objectives of voted models share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trelliswork.learners.known import Target
from trelliswork.losses import Loss
from trelliswork.structures.base import Batch
from trelliswork.structures.families import Families

__all__ = ["Problem"]


@dataclass
class Problem:
    """What all voted objectives share.

    Attributes
    ----------
    batch : Batch
        Samples with their outputs.
    loss : Loss or None
        Loss inside the objective.
    families : Families
        Partition of the features.
    l1 : ndarray of shape (n_features,)
        Penalty of every weight.
    share : ndarray of shape (n_samples,)
        Weights of the samples, with sum 1.
    l2 : float
        Weight of the squared norm.
    origin : ndarray of shape (n_features,) or None
        Weights that penalties pull towards; what is searched for is the difference from them.
    """

    batch: Batch
    loss: Loss | None
    families: Families
    l1: np.ndarray
    share: np.ndarray
    l2: float = 0.0
    origin: np.ndarray | None = None
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        self.target = Target(self.batch, self.share)

    def whole(self, v: np.ndarray) -> np.ndarray:
        """Weights whose difference from the origin is given."""
        return v if self.origin is None else v + self.origin

    def penalty(self, w: np.ndarray) -> float:
        """Value of the regulariser."""
        return float(self.l1 @ np.abs(w))
