"""What a moment learner keeps of its data: sums, or the compiled samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._stored import fitting, numbers
from trelliswork.learners.moments.held_out import Setting
from trelliswork.learners.moments.sums import MomentSums
from trelliswork.shards.leaves import in_leaves
from trelliswork.structures.abilities import Storable, require
from trelliswork.structures.base import Batch, Space

__all__ = ["MomentState"]


class MomentState:
    """Samples seen so far, in a form that can be merged, stored and solved again.

    Sums are enough as long as more data cannot change the outputs of the samples already
    seen. Otherwise (a new label, an observed transition) the compiled features are kept, or, for
    structures whose batches cannot be joined, the samples themselves.

    Parameters
    ----------
    space : Space
        Alphabets of the samples, without the limits of a reference.
    batch : Batch or None
        Compiled samples.
    weights : ndarray or None
        Their weights.
    samples : pair of lists or None
        Inputs and outputs of the compiled samples, where batches cannot be joined.
    sums : MomentSums or None
        Moments instead of samples.
    made : dict
        Signatures of the parameters that the sums depend on.
    n_samples : int
        Number of samples seen.
    """

    def __init__(
        self,
        space: Space,
        *,
        batch: Batch | None = None,
        weights: np.ndarray | None = None,
        samples: tuple[list[Any], list[Any]] | None = None,
        sums: MomentSums | None = None,
        made: Mapping[str, str] | None = None,
        n_samples: int,
    ):
        self.space = space
        self.batch, self.weights, self.samples, self.sums = batch, weights, samples, sums
        self.made = dict(made or {})
        self.n_samples = n_samples
        self.told: Setting | None = None  # by held-out samples; found again where it is not known
        self._leaves: Batch | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"told": None, "_leaves": None}

    def in_leaves(self) -> Batch:
        """The compiled samples, asked as those of partitions are: sums have the same bits."""
        assert self.batch is not None
        if self.batch.in_blocks:
            return self.batch
        if self._leaves is None:
            self._leaves = in_leaves(self.batch, whole=False)
        return self._leaves

    def forget_leaves(self) -> None:
        """Let go of what is quickly made again."""
        self._leaves = None

    def __repr__(self) -> str:
        kept = "sums" if self.batch is None else "samples" if self.samples else "compiled features"
        return f"MomentState({self.n_samples} samples, {self.space.n_features} features, {kept})"

    def merged(self, other: MomentState) -> MomentState:
        """State of the samples of both; alphabets may differ."""
        n = self.n_samples + other.n_samples
        if self.sums is not None and other.sums is not None:
            self.check_made(other.made)
            space = self.space.merged(other.space)
            total = self.sums.padded(self.space, space) + other.sums.padded(other.space, space)
            return MomentState(space, sums=total, made=self.made, n_samples=n)
        if self.batch is None or other.batch is None:
            raise InputError("one model keeps sums and the other compiled features; fit both alike")
        weights = None
        if self.weights is not None or other.weights is not None:
            pair = ((self.batch, self.weights), (other.batch, other.weights))
            weights = np.concatenate([np.ones(len(b)) if w is None else w for b, w in pair])
        if self.samples is not None and other.samples is not None:
            X, y = (a + b for a, b in zip(self.samples, other.samples, strict=True))
            space = self.space.structure.bind(X, y)
            batch = space.pack(X, y, n_jobs=self.batch.n_jobs)
            return MomentState(space, batch=batch, weights=weights, samples=(X, y), n_samples=n)
        space = self.space.merged(other.space)
        moved = (require(b, Storable).into(space) for b in (self.batch, other.batch))
        batch = require(next(moved), Storable).joined(next(moved)).on_one_scale(weights)
        return MomentState(batch.space, batch=batch, weights=weights, n_samples=n)

    def check_made(self, made: Mapping[str, str]) -> None:
        """Refuse parameters other than those that the sums were made with."""
        for name, kept in self.made.items():
            if made.get(name, kept) != kept:
                raise InputError(
                    f"the moments that were kept are sums for {name}={kept}, not {made[name]}; fit again"
                )

    def state(self) -> dict[str, Any]:
        """Plain values for a model file."""
        out: dict[str, Any] = {"space": self.space, "n_samples": self.n_samples}
        if self.sums is not None:
            out["sums"], out["made"] = dict(self.sums.arrays), dict(self.made)
        if self.samples is not None:
            out["samples"] = list(self.samples)
        elif self.batch is not None:
            out["batch"] = require(self.batch, Storable).state()
        if self.weights is not None:
            out["weights"] = self.weights
        return out

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_jobs: int | None) -> MomentState:
        """Inverse of :meth:`state`, for files that are not trusted."""
        space = state["space"]
        if not isinstance(space, Space):
            raise InputError("stored moments have no alphabets")
        sums = MomentSums.checked(state["sums"], space.n_features) if "sums" in state else None
        batch = space.restore(state["batch"], n_jobs=n_jobs) if "batch" in state else None
        samples = None
        if "samples" in state:
            stored = state["samples"]
            if not isinstance(stored, list) or [type(part) for part in stored] != [list, list]:
                raise InputError("stored samples are damaged")
            X, y = samples = stored[0], stored[1]
            batch = space.pack(X, y, n_jobs=n_jobs)
        weights = state.get("weights")
        if weights is not None:
            size = -1 if batch is None else len(batch)
            weights = fitting(state, {"weights": numbers("samples", low=0)}, "samples", samples=size)[
                "weights"
            ]
        n, made = int(state["n_samples"]), state.get("made") or {}
        if not (isinstance(made, dict) and all(isinstance(v, str) for v in made.values())):
            raise InputError("stored moments do not say how they were made")
        return cls(space, batch=batch, weights=weights, samples=samples, sums=sums, made=made, n_samples=n)
