"""Bring your own structure: one function from an input to the edges of a derivation graph."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._validate import as_number
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.derivations.batch import DerivationBatch
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.derivations.store import restored

__all__ = ["DerivationSpace", "Derivations", "Edge"]


class Edge(NamedTuple):
    """One way to derive a node from other nodes.

    Attributes
    ----------
    head : hashable
        Name of the node that is derived.
    tails : sequence of hashable
        Nodes that it is derived from, left to right; none at a leaf.
    features : sequence of hashable, or mapping from hashable to float
        Features that the edge fires: names (value 1 each) or values by name.
    part : hashable
        What the edge contributes to the output; None for nothing.

    Examples
    --------
    >>> from trelliswork import Edge
    >>> Edge("S", ("NP", "VP"), ["S -> NP VP"])
    Edge(head='S', tails=('NP', 'VP'), features=['S -> NP VP'], part=None)
    """

    head: Hashable
    tails: Sequence[Hashable] = ()
    features: Sequence[Hashable] | Mapping[Hashable, float] = ()
    part: Hashable = None


class Derivations(Structure):
    """Outputs are the derivations of an acyclic graph that ``build`` makes of an input.

    A derivation picks one edge for the root, one for each tail of that edge, and so on
    down to edges without tails. Its score is the sum of the weights of the features of
    its edges; its output is the list of the parts of its edges, top-down and left to
    right. Label sequences, segmentations, alignments, trees and much else fit.

    Parameters
    ----------
    build : callable
        ``build(x)`` gives the edges of input ``x`` (:class:`Edge`, or tuples in that
        order), in any order, except that the head of the **last** edge is the root. Nodes
        are any hashable names. Edges that the root does not reach are ignored; a tail
        that no edge derives is a dead end, which is allowed; a cycle is not.
    encode : callable or None, default=None
        ``encode(x, y)`` gives the list of parts of an output; by default ``y`` is it.
    decode : callable or None, default=None
        ``decode(x, parts)`` gives the output of a list of parts; by default the list.
    min_count : int, default=1
        Drop features that fire on fewer edges of the training data.

    Notes
    -----
    Weights exist for every feature of the training graphs, not of the true outputs alone;
    names that were not seen in training are ignored. Every derivation should have an
    output of its own: where two share one, probabilities are those of derivations and the
    output may be listed twice. Ties go to the edge that ``build`` yields first. The loss
    that learners use counts the predicted parts that the true output lacks.

    ``build`` is not stored in model files; loading takes the structure again. A function
    defined at the top of a module (not a lambda) lets models be pickled.

    Examples
    --------
    Labels for the tokens of a sentence, where no label may follow itself:

    >>> from trelliswork.structures import Derivations, Edge
    >>> def build(x):
    ...     for t in reversed(range(len(x))):
    ...         for a in "AB":
    ...             tails = [] if t == len(x) - 1 else [(t + 1, "B" if a == "A" else "A")]
    ...             yield Edge((t, a), tails, [(x[t], a)], a)
    ...     for a in "AB":
    ...         yield Edge("root", [(0, a)])
    >>> space = Derivations(build).bind(["xyx"], [["A", "B", "A"]])
    >>> space.feature_names[:2]
    [('feature', ('x', 'A')), ('feature', ('y', 'B'))]
    >>> list(space.enumerate("xyx"))
    [['A', 'B', 'A'], ['B', 'A', 'B']]
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = DerivationBatch
    output_kind: ClassVar[str] = "list of parts"

    def __init__(
        self,
        build: Callable[[Any], Iterable[Edge | tuple[Any, ...]]],
        *,
        encode: Callable[[Any, Any], Iterable[Hashable]] | None = None,
        decode: Callable[[Any, list[Any]], Any] | None = None,
        min_count: int = 1,
    ):
        self.build = build
        self.encode = encode
        self.decode = decode
        self.min_count = min_count

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        if not callable(self.build):
            raise InputError(f"build must be a function from an input to edges, got {self.build!r}")
        for name in ("encode", "decode"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InputError(f"{name} must be a function or None, got {value!r}")
        if not isinstance(self.min_count, (int, np.integer)) or self.min_count < 0:
            raise InputError(f"min_count must be a whole number of at least 0, got {self.min_count!r}")

    def prepare(self, X: Any) -> list[_Sample]:
        """Build the graphs once (idempotent)."""
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of inputs, got {type(X).__name__}")
        alphabet: dict[Hashable, int] = {}
        return [
            x if isinstance(x, _Sample) else _compile(i, x, self._edges(i, x), alphabet)
            for i, x in enumerate(X)
        ]

    def _edges(self, i: int, x: Any) -> list[Any]:
        try:
            edges = self.build(x)
            if isinstance(edges, Iterable):
                return list(edges)
        except Exception as error:
            error.add_note(f"raised by build(x) for sample {i}")
            raise
        raise InputError(f"build(x) must give a list of edges, got {type(edges).__name__}", sample=i)

    def bind(self, X: Any, y: Any = None) -> DerivationSpace:
        """Collect the features of the graphs of the inputs."""
        self.check()
        counts: dict[Hashable, int] = {}
        names: dict[int, list[Hashable]] = {}
        for sample in self.prepare(X):
            alphabet = names.setdefault(id(sample.alphabet), [])
            if not alphabet:
                alphabet.extend(sample.alphabet)
            used, n = np.unique(sample.feat_idx, return_counts=True)
            for j, m in zip(used.tolist(), n.tolist(), strict=True):
                counts[alphabet[j]] = counts.get(alphabet[j], 0) + m
        return DerivationSpace(self, [name for name, n in counts.items() if n >= self.min_count])

    def bind_names(self, names: Sequence[Any]) -> DerivationSpace:
        """Features from the names of given weights, each ``("feature", name)``."""
        self.check()
        for name in names:
            if not (isinstance(name, tuple) and len(name) == 2 and name[0] == "feature"):
                raise InputError(f"unknown feature {name!r}; derivations have ('feature', name)")
        return DerivationSpace(self, list(dict.fromkeys(name for _, name in names)))

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Segmentations of three sequences."""
        X = [["a", "b", "c"], ["c", "a"], ["c"]]
        yield cls(_segments), X, [[(0, 2), (2, 3)], [(0, 1), (1, 2)], [(0, 1)]]


def _segments(x: Sequence[str]) -> Iterator[Edge]:
    """All ways to cut a sequence into pieces."""
    yield Edge(len(x))
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x) + 1):
            yield Edge(i, [j], ["".join(x[i:j])], (i, j))


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
    def n_features(self) -> int:
        """Length of the weight vector."""
        return len(self.features)

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("feature", name)`` of every weight."""
        return [("feature", name) for name in self.features]

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, unknown: str = "error"
    ) -> DerivationBatch:
        """Compile inputs and, where given, their outputs.

        Parameters
        ----------
        X : list of inputs
            What ``build`` takes.
        y : list of outputs or None
            True outputs.
        n_jobs : int or None
            Threads of the batch's verbs.
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
        batch = DerivationBatch(
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
            batch.encode(y, unknown=unknown)
        return batch

    def _edge_features(self, samples: list[_Sample], n_edges: int) -> sp.csr_matrix:
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
        """Output of every derivation of one input, by plain recursion."""
        [s] = self.structure.prepare([x])
        first, split, below = offsets_of(s.degrees), offsets_of(s.arity), s.tails.tolist()

        def walk(v: int) -> Iterator[list[Any]]:
            for e in range(first[v], first[v + 1]):
                own = [] if s.parts[e] is None else [s.parts[e]]
                choices = [list(walk(u)) for u in below[split[e] : split[e + 1]]]
                for combination in product(*choices):
                    yield own + [part for parts in combination for part in parts]

        for parts in walk(s.degrees.size - 1):
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
        assert isinstance(structure, Derivations)
        return cls(structure, state["features"])


Derivations.space_class = DerivationSpace


class _Sample(NamedTuple):
    """Graph of one input: nodes in topological order, edges grouped by head."""

    x: Any
    degrees: np.ndarray  # edges of each node
    arity: np.ndarray  # tails of each edge
    tails: np.ndarray
    feat_ptr: np.ndarray
    feat_idx: np.ndarray  # numbers of names in `alphabet`
    feat_val: np.ndarray
    alphabet: dict[Hashable, int]  # shared by the samples that were prepared together
    parts: list[Any]  # of each edge
    dead_end: Any  # name of a node without edges in a tuple, or None; for messages


def _compile(i: int, x: Any, edges: list[Any], alphabet: dict[Hashable, int]) -> _Sample:
    """Check and number the edges that the root reaches."""
    by_head: dict[Hashable, list[Edge]] = {}
    root: Any = None
    for number, item in enumerate(edges):
        edge = _as_edge(i, number, item)
        root = edge.head
        by_head.setdefault(root, []).append(edge)
    order = _topological(i, root, by_head)
    place = {node: v for v, node in enumerate(order)}
    degrees, arity, tails = array("q"), array("q"), array("q")
    feat_ptr, feat_idx, feat_val = array("q", [0]), array("q"), array("d")
    parts: list[Any] = []
    for node in order:
        mine = by_head.get(node, ())
        degrees.append(len(mine))
        for edge in mine:
            arity.append(len(edge.tails))
            tails.extend([place[u] for u in edge.tails])
            parts.append(edge.part)
            for name, value in _named_values(i, edge):
                feat_idx.append(alphabet.setdefault(name, len(alphabet)))
                feat_val.append(value)
            feat_ptr.append(len(feat_idx))
    dead = next(((node,) for node in order if node not in by_head), None)
    return _Sample(
        x,
        *_ints(degrees, arity),
        *_ints(tails, feat_ptr),
        np.array(feat_idx, dtype=np.int64),
        np.array(feat_val, dtype=np.float64),
        alphabet,
        parts,
        dead,
    )


def _ints(a: array[int], b: array[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(a, dtype=np.int64), np.array(b, dtype=np.int64)


def _as_edge(i: int, number: int, item: Any) -> Edge:
    try:
        edge = item if isinstance(item, Edge) else Edge(*item)
        hash(edge.head)
        hash(edge.part)
    except TypeError as error:
        raise InputError(
            f"edge {number} of build(x): expected Edge(head, tails, features, part) with "
            f"hashable names, got {item!r} ({error})",
            sample=i,
        ) from None
    if isinstance(edge.tails, (str, bytes)) or not isinstance(edge.tails, Sequence):
        raise InputError(f"edge {number} of build(x): tails must be a list, got {edge.tails!r}", sample=i)
    return edge


def _named_values(i: int, edge: Edge) -> Iterator[tuple[Hashable, float]]:
    features = edge.features
    if isinstance(features, (str, bytes)):
        raise InputError(f"features of {edge.head!r} must be a list or a dict, got {features!r}", sample=i)
    pairs = features.items() if isinstance(features, Mapping) else ((name, 1.0) for name in features)
    for name, value in pairs:
        if not isinstance(name, Hashable):
            raise InputError(f"a feature name must be hashable, got {name!r}", sample=i)
        yield name, as_number(f"feature {name!r}", value, sample=i)


def _topological(i: int, root: Any, by_head: Mapping[Hashable, list[Edge]]) -> list[Any]:
    """Nodes that the root reaches, each after the nodes below it."""
    order: list[Any] = []
    done: dict[Any, bool] = {root: False}  # False: on the way down to it
    stack = [(root, _children(by_head.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        for child in rest:
            finished = done.get(child)
            if finished is None:
                done[child] = False
                stack.append((child, _children(by_head.get(child, ()))))
                break
            if not finished:
                raise InputError(f"build(x) makes a cycle through node {child!r}", sample=i)
        else:
            done[node] = True
            order.append(node)
            stack.pop()
    return order


def _children(edges: Iterable[Edge]) -> Iterator[Hashable]:
    return (u for edge in edges for u in edge.tails)
