"""Samples that several fits share: compiled once, for all settings of a learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trelliswork._signature import signature
from trelliswork._validate import check_weights
from trelliswork.shards.leaves import in_leaves
from trelliswork.structures.base import Batch, Space, Structure

__all__ = ["CompiledSamples"]


class CompiledSamples:
    """Spaces and batches by structure and samples; compiled when they are first asked for.

    Samples are told apart by identity, so they must not change while they are shared.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.learners.compiled import CompiledSamples
    >>> X, y = [["a"]], [["A"]]
    >>> shared = CompiledSamples()
    >>> first, again = (shared.compile(Chain(), X, y, n_jobs=None) for _ in range(2))
    >>> first[1] is again[1], shared.compile(Chain(order=2), X, y, n_jobs=None)[1] is first[1]
    (True, False)
    """

    def __init__(self) -> None:
        # Keys are identities: what they belong to is kept with the values, so that none is used again.
        self._compiled: dict[Any, tuple[Any, Any]] = {}

    def prepare(self, structure: Structure, X: Any) -> Any:
        """``structure.prepare(X)``.

        Parameters
        ----------
        structure : Structure
            What an output is.
        X : list of inputs
            Samples.
        """
        return self._once(("read", signature(structure), id(X)), X, lambda: structure.prepare(X))

    def compile(self, structure: Structure, X: Any, y: Any, *, n_jobs: int | None) -> tuple[Space, Batch]:
        """``structure.compile(X, y)``.

        Parameters
        ----------
        structure : Structure
            What an output is.
        X, y : lists of inputs and outputs
            Samples.
        n_jobs : int or None
            Threads of the batch's verbs.
        """
        key = ("fit", signature(structure), id(X), id(y), n_jobs)
        return self._once(
            key, (X, y), lambda: structure.compile(self.prepare(structure, X), y, n_jobs=n_jobs)
        )

    def in_leaves(self, batch: Batch, *, whole: bool = True) -> Batch:
        """Samples in the leaves of sums.

        Parameters
        ----------
        batch : Batch
            Samples that were compiled here.
        whole : bool
            Whether few samples stay as they are.
        """
        return self._once(("leaves", id(batch), whole), batch, lambda: in_leaves(batch, whole=whole))

    def on_one_scale(
        self, batch: Batch, sample_weight: Any, asked: Callable[[], Batch] | None = None
    ) -> Batch:
        """``batch.on_one_scale``.

        Parameters
        ----------
        batch : Batch
            Samples that were compiled here.
        sample_weight : array-like or None
            Weight of each sample.
        asked : callable or None
            Gives the same samples, perhaps in blocks, which are asked for sums; None for these.
        """
        key = ("scaled", id(batch), id(sample_weight))
        weights = check_weights(sample_weight, len(batch))
        return self._once(key, (batch, sample_weight), lambda: batch.on_one_scale(weights, asked))

    def pack(self, space: Space, X: Any, *, n_jobs: int | None) -> Batch:
        """``space.pack(X)``.

        Parameters
        ----------
        space : Space
            Alphabets and sizes.
        X : list of inputs
            Samples.
        n_jobs : int or None
            Threads of the batch's verbs.
        """
        key = ("predict", id(space), id(X), n_jobs)
        return self._once(key, (space, X), lambda: space.pack(X, n_jobs=n_jobs))

    def _once(self, key: Any, owners: Any, make: Any) -> Any:
        if key not in self._compiled:
            self._compiled[key] = owners, make()
        return self._compiled[key][1]
