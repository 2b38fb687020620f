"""Features of derivation graphs after seeing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.derivations.batch import DerivationBatch
from trelliswork.structures.derivations.edges import Sample
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.derivations.shared import SharedBatch
from trelliswork.structures.derivations.store import restored
from trelliswork.structures.known import check_known

if TYPE_CHECKING:
    from trelliswork.structures.derivations.structure import Derivations

__all__ = ["DerivationSpace"]


class DerivationSpace(Space):
    """Features of a :class:`Derivations` after seeing data.

    Parameters
    ----------
    structure : Derivations
        Hyper-parameters.
    features : list
        Names of the features.
    """

    structure: Derivations

    def __init__(self, structure: Derivations, features: Sequence[Any]):
        self.structure = structure
        self.features = list(features)
        self.columns = {name: j for j, name in enumerate(self.features)}

    @property
    def batch_type(self) -> type[DerivationBatch]:
        """Class of its batches."""
        return SharedBatch if self.structure.shared else DerivationBatch

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return len(self.features)

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("feature", name)`` of every weight."""
        return [("feature", name) for name in self.features]

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, known: Any = None, unknown: str = "error"
    ) -> DerivationBatch:
        """Compile inputs and, where given, their outputs.

        Parameters
        ----------
        X : list of inputs
            What ``build`` takes.
        y : list of outputs or None
            True outputs, or what is known of them.
        n_jobs : int or None
            Threads of the batch's verbs.
        known : list or None
            Instead of ``y``: what is known of the output of every input, written as in ``y``.
        unknown : {"error", "mark"}
            What to do with an output that the graph does not derive: refuse it, or give it
            no edges and the score -inf.
        """
        samples = self.structure.prepare(X)
        degrees, arity, tails = (
            Ragged.from_list([getattr(s, name) for s in samples], np.int64)
            for name in ("degrees", "arity", "tails")
        )
        moved = tails.values + np.repeat(degrees.offsets[:-1], tails.lengths)
        batch = self.batch_type(
            self,
            Graph(degrees.offsets, offsets_of(degrees.values), offsets_of(arity.values), moved),
            self._edge_features(samples, int(arity.offsets[-1])),
            [s.x for s in samples],
            [s.parts for s in samples],
            [s.dead_end for s in samples],
            None,
            n_jobs,
        )
        if y is not None:
            if not hasattr(y, "__len__") or len(y) != len(samples):
                got = len(y) if hasattr(y, "__len__") else type(y).__name__
                raise InputError(f"X has {len(samples)} inputs but y has {got}")
            batch.take_up(y, unknown=unknown)
        elif known is not None:
            check_known(known, len(samples))
            batch.known = [batch.allowed_edges(i, entry) for i, entry in enumerate(known)]
        return batch

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether all parts of an output are possible."""
        encode = self.structure.encode
        parts = list(y if encode is None else encode(x, y))
        if known is None:
            return True
        if callable(known):
            return all(map(known, parts))
        if isinstance(known, Set):
            return all(part in known for part in parts)
        return parts == list(known if encode is None else encode(x, known))

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> Any:
        """A predicate that holds for the parts of the output and for a share of all others."""
        if share in (0.0, 1.0):
            return None if share else y
        [sample] = self.structure.prepare([x])
        taken = set(y if self.structure.encode is None else self.structure.encode(sample.x, y))
        others = [part for part in dict.fromkeys(sample.parts) if part is not None and part not in taken]
        possible = taken | {part for part in others if rng.random() < share}
        return possible if self.structure.encode is None else possible.__contains__

    def _edge_features(self, samples: list[Sample], n_edges: int) -> sp.csr_matrix:
        known_maps: dict[int, np.ndarray] = {}
        indices, data, lengths = [], [], []
        for s in samples:
            target = known_maps.get(id(s.alphabet))
            if target is None or target.size < len(s.alphabet):
                target = np.array([self.columns.get(name, -1) for name in s.alphabet], dtype=np.int64)
                known_maps[id(s.alphabet)] = target
            column = target[s.feat_idx]
            known = column >= 0
            indices.append(column[known])
            data.append(s.feat_val[known])
            lengths.append(np.diff(np.concatenate([[0], np.cumsum(known)])[s.feat_ptr]))
        phi = sp.csr_matrix(
            (
                np.concatenate([np.zeros(0), *data]),
                Ragged.from_list(indices, np.int64).values,
                offsets_of(Ragged.from_list(lengths, np.int64).values),
            ),
            shape=(n_edges, self.n_features),
        )
        phi.sum_duplicates()
        return phi

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Output of every derivation of one input, by plain recursion; where derivations share outputs, no
        output twice.
        """
        [s] = self.structure.prepare([x])
        first, split, below = offsets_of(s.degrees), offsets_of(s.arity), s.tails.tolist()

        def walk(v: int) -> Iterator[list[Any]]:
            for e in range(first[v], first[v + 1]):
                here = [] if s.parts[e] is None else [s.parts[e]]
                choices = [list(walk(u)) for u in below[split[e] : split[e + 1]]]
                for combination in product(*choices):
                    yield here + [part for parts in combination for part in parts]

        found = walk(s.degrees.size - 1)
        for parts in map(list, dict.fromkeys(map(tuple, found))) if self.structure.shared else found:
            yield parts if self.structure.decode is None else self.structure.decode(s.x, parts)

    def merged(self, other: Space) -> DerivationSpace:
        """Space with the features of both."""
        assert isinstance(other, DerivationSpace)
        return DerivationSpace(self.structure, list(dict.fromkeys([*self.features, *other.features])))

    @property
    def outputs_fixed(self) -> bool:
        """True: ``build`` alone decides what the outputs of an input are."""
        return True

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> DerivationBatch:
        """Batch from its state; it knows no inputs."""
        return restored(self, state, n_jobs)

    def state(self) -> dict[str, Any]:
        """Names of the features; the functions of the structure are not stored."""
        return {"features": self.features}

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> DerivationSpace:
        """Build the space again."""
        return cls(cast("Derivations", structure), state["features"])
