"""Single labels: flat classes, or the leaves of a taxonomy."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._tokens import TokenBlock, TokenTable, check_width, compile_tokens
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.classes.batch import ClassesBatch, single_labels
from trelliswork.structures.classes.taxonomy import Taxonomy
from trelliswork.structures.labels import check_given_labels, sorted_labels
from trelliswork.structures.limits import ClassesLimits
from trelliswork.structures.tokens import Layout, TokenMap

__all__ = ["Classes", "ClassesSpace"]


class Classes(Structure):
    """One label per sample: multiclass classification, flat or with a taxonomy.

    The score of a class is ``w_class . x``; with a taxonomy it is the sum over the class
    and its ancestors (times ``ancestor_weight``), so that related classes share what they learn.

    Parameters
    ----------
    taxonomy : pairs, dict, graph, path or None, default=None
        A tree or an acyclic graph with one root whose leaves are the classes:
        (parent, child) pairs, a nested dict ``{"animal": {"cat": {}, "dog": {}}}`` (several
        top nodes get a common root), a directed networkx graph, or the path of a file
        with lines ``parent TAB child``.
    bias : bool, default=True
        A constant attribute, which gives every class (and ancestor) an intercept. It is
        penalised like any other weight.
    labels : list or None, default=None
        The classes, when some may be missing from the training data.
    ancestor_weight : float or dict, default=1.0
        How much classes share through a taxonomy: the factor of the attributes of ancestors,
        one number or ``{node: number}`` (1 for nodes not named). A weight of an ancestor costs as
        much as one of a class but counts for all classes below; a factor below 1 makes it
        dearer, and 0 leaves it out (all 0: flat classes). Worth choosing together with the
        regularisation, on data put aside.

    Notes
    -----
    ``X`` is a matrix, dense or sparse, with one row per sample; or a list whose items are
    rows, lists of strings or dicts. Ties between classes go to the first in the order of
    ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import CRF, Classes
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), ["east", "north", "west"]
    >>> CRF(Classes(), l2=0.01).fit(X, y).predict(np.array([[2.0, 0.1], [0.2, 3.0]]))
    ['east', 'north']
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = ClassesBatch
    output_kind: ClassVar[str] = "label"
    limits: ClassesLimits = ClassesLimits()

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        bias: bool = True,
        labels: Sequence[Hashable] | None = None,
        ancestor_weight: Any = 1.0,
    ):
        self.taxonomy = taxonomy
        self.bias = bias
        self.labels = labels
        self.ancestor_weight = ancestor_weight

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense; reads the taxonomy."""
        check_given_labels(self.labels)
        if self.taxonomy is not None:
            taxonomy = Taxonomy.read(self.taxonomy)
            taxonomy.ancestor_weights(self.ancestor_weight)
            if self.labels is not None:
                taxonomy.check_classes(self.labels)

    def prepare(self, X: Any) -> TokenTable:
        """Compile the rows once (idempotent)."""
        if isinstance(X, TokenTable):
            return X
        if hasattr(X, "to_numpy"):  # a data frame
            X = X.to_numpy()
        if sp.issparse(X) or isinstance(X, np.ndarray):
            return _matrix_table(X)
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a matrix or a list of rows, got {type(X).__name__}")
        items = list(X)
        if items and all(sp.issparse(x) for x in items):
            return _matrix_table(sp.vstack(items, format="csr"))
        if items and not isinstance(items[0], (str, Mapping, set, frozenset)) and not _has_text(items[0]):
            return _matrix_table(_stacked(items))
        for i, x in enumerate(items):
            if isinstance(x, str):
                raise InputError(f"expected a row, a list of strings or a dict, got {x!r}", sample=i)
        return compile_tokens([items])[0]

    def bind(self, X: Any, y: Any) -> ClassesSpace:
        """Collect classes and attributes."""
        self.check()
        table = self.prepare(X)
        taxonomy = None if self.taxonomy is None else Taxonomy.read(self.taxonomy)
        labels = list(dict.fromkeys(self.labels)) if self.labels is not None else _labels_of(y)
        attributes = dict.fromkeys(name for block in table.blocks for name in block.names)
        return ClassesSpace(self, labels, list(attributes), taxonomy, table.width)

    def bind_names(self, names: Sequence[Any]) -> ClassesSpace:
        """Classes and attributes from the names of given weights."""
        self.check()
        nodes: dict[Any, None] = {}
        attributes: dict[str, None] = {}
        for name in names:
            kind = name[0] if isinstance(name, tuple) and name else None
            if kind == "feature" and len(name) == 3:
                attributes[name[1]] = None
            elif kind != "bias" or len(name) != 2:
                raise InputError(
                    f"unknown feature {name!r}; classes have ('feature', attribute, class), ('bias', class)"
                )
            nodes[name[-1]] = None
        taxonomy = None if self.taxonomy is None else Taxonomy.read(self.taxonomy)
        found = nodes if taxonomy is None else [node for node in taxonomy.leaves if node in nodes]
        labels = list(dict.fromkeys(self.labels)) if self.labels is not None else sorted_labels(found)
        return ClassesSpace(self, labels, list(attributes), taxonomy)

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Three rows."""
        yield cls(), np.eye(3), ["a", "b", "c"]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of right labels."""
        right = np.array([a == b for a, b in zip(y_true, y_pred, strict=True)], dtype=float)
        return float(np.average(right, weights=sample_weight))


class ClassesSpace(Space):
    """Classes and attributes of a :class:`Classes` after seeing data.

    Weights form a table (attributes and bias, nodes): the nodes are the classes and then
    their ancestors in the taxonomy, the root left out. ``above`` (classes, nodes) holds what a
    node counts for a class: 1 for itself, the weight of the ancestor, or 0.

    Parameters
    ----------
    structure : Classes
        Hyper-parameters.
    labels : list
        Classes, in the order of codes.
    attributes : list of str
        Attribute alphabet.
    taxonomy : Taxonomy or None
        Taxonomy of the classes.
    width : int or None
        Number of columns, where rows are those of a matrix.
    """

    structure: Classes

    def __init__(
        self,
        structure: Classes,
        labels: Sequence[Any],
        attributes: Sequence[str],
        taxonomy: Taxonomy | None,
        width: int | None = None,
    ):
        self.structure = structure
        self.labels = list(labels)
        self.attributes = list(attributes)
        self.taxonomy = taxonomy
        self.width = width
        if not self.labels:
            raise InputError("there is no class at all; y is empty")
        self.nodes, self.above = self.labels, sp.identity(len(self.labels), format="csr")
        if taxonomy is not None:
            taxonomy.check_classes(self.labels)
            self.nodes, self.above = taxonomy.nodes_above(self.labels, structure.ancestor_weight)
        self.columns = Alphabet(zip(self.attributes, range(len(self.attributes))))
        self.layout = Layout(len(self.attributes) + bool(structure.bias), len(self.nodes))
        if self.layout.n_weights > structure.limits.weights:
            raise InputError(
                f"{self.layout.n_attributes:,} attributes x {len(self.nodes):,} classes and ancestors is "
                f"over {structure.limits.weights:,} weights; hash or select the attributes"
            )

    @property
    def n_labels(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return self.layout.n_weights

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("feature", attribute, class or ancestor)``, then ``("bias", class or ancestor)``."""
        names: list[tuple[Any, ...]] = [("feature", a, node) for a in self.attributes for node in self.nodes]
        return names + ([("bias", node) for node in self.nodes] if self.structure.bias else [])

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, unknown: str = "error"
    ) -> ClassesBatch:
        """Compile rows and, where given, their labels.

        Parameters
        ----------
        X : matrix or list of rows
            As in :class:`Classes`.
        y : labels or None
            True classes.
        n_jobs : int or None
            Threads of the batch's verbs.
        unknown : {"error", "mark"}
            What to do with labels that are no class: refuse, or code them -1.
        """
        table = self.structure.prepare(X)
        check_width(table, self.width, self.columns, len(self.attributes), "rows")
        emission = TokenMap.compile(self.layout, table, self.columns)
        if self.structure.bias:
            emission.mark(len(self.attributes), np.arange(len(table)))
        gold = None if y is None else single_labels(self._encode(y, len(table), unknown))
        return ClassesBatch(self, emission, gold, n_jobs)

    def _encode(self, y: Any, n: int, unknown: str) -> np.ndarray:
        labels = _as_list(y)
        if len(labels) != n:
            raise InputError(f"X has {n} samples but y has {len(labels)}")
        place = {label: i for i, label in enumerate(self.labels)}
        codes = np.empty(n, dtype=np.int64)
        for i, label in enumerate(labels):
            try:
                codes[i] = place.get(label, -1)
            except TypeError as error:
                raise InputError(f"labels must be hashable ({error})", sample=i) from None
        if unknown == "error" and codes.size and codes.min() < 0:
            i = int(np.argmin(codes))
            raise InputError(f"label {labels[i]!r} is not one of the {len(self.labels)} classes", sample=i)
        return codes

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every class."""
        return iter(self.labels)

    def merged(self, other: Space) -> ClassesSpace:
        """Space with the classes and attributes of both."""
        assert isinstance(other, ClassesSpace)
        if self.width != other.width and self.attributes and other.attributes:
            raise InputError(f"X: expected arrays with {self.width} columns as before, got {other.width}")
        labels = self.labels
        if self.structure.labels is None:
            labels = sorted_labels({*self.labels, *other.labels})
        attributes = list(dict.fromkeys([*self.attributes, *other.attributes]))
        return ClassesSpace(self.structure, labels, attributes, self.taxonomy, self.width)

    @property
    def outputs_fixed(self) -> bool:
        """Whether the classes were given, so that more data cannot bring new ones."""
        return self.structure.labels is not None

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> ClassesBatch:
        """Batch from its state."""
        return ClassesBatch.restored(self, state, n_jobs)

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Top attributes of every class (ancestors included in the sum)."""
        table = self.layout.table(weights) @ self.above.T
        names = [*self.attributes, *(["<bias>"] if self.structure.bias else [])]
        best = {}
        for b, label in enumerate(self.labels):
            order = np.argsort(-table[:, b], kind="stable")[:top]
            best[label] = [(names[a], float(table[a, b])) for a in order if table[a, b] > 0]
        return {"labels": self.labels, "top": best}

    def state(self) -> dict[str, Any]:
        """Classes, attributes and the links of the taxonomy."""
        out: dict[str, Any] = {"labels": self.labels, "attributes": self.attributes}
        if self.taxonomy is not None:
            out["links"] = [list(edge) for edge in self.taxonomy.edges]
        if self.width is not None:
            out["width"] = self.width
        return out

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> ClassesSpace:
        """Build the space again."""
        assert isinstance(structure, Classes)
        labels, attributes = list(state["labels"]), list(state["attributes"])
        if len(set(labels)) != len(labels) or len(set(attributes)) != len(attributes):
            raise InputError("labels or attributes occur twice")
        links = state.get("links")
        taxonomy = None if links is None else Taxonomy(map(tuple, links))
        return cls(structure, labels, attributes, taxonomy, state.get("width"))


def _has_text(item: Any) -> bool:
    """Whether a row is a list of strings (an empty list counts)."""
    if isinstance(item, np.ndarray):
        return False
    return isinstance(item, (list, tuple)) and (not item or isinstance(item[0], str))


def _stacked(items: list[Any]) -> np.ndarray:
    rows = [np.asarray(x, dtype=np.float64) if not _has_text(x) else None for x in items]
    for i, row in enumerate(rows):
        if row is None or row.shape != rows[0].shape:  # type: ignore[union-attr]
            raise InputError(f"expected a row like that of sample 0, got {items[i]!r:.80}", sample=i)
    return np.stack(rows)  # type: ignore[arg-type]


def _matrix_table(matrix: Any) -> TokenTable:
    if len(matrix.shape) != 2:
        raise InputError(f"X must be a matrix with one row per sample, got shape {matrix.shape}")
    try:
        if sp.issparse(matrix):
            matrix = sp.csr_matrix(matrix, dtype=np.float64)
            bad = np.flatnonzero(~np.isfinite(matrix.data))
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right") - 1) if bad.size else -1
        else:
            matrix = np.ascontiguousarray(matrix, dtype=np.float64)
            bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
            row = int(bad[0]) if bad.size else -1
    except (TypeError, ValueError) as error:
        raise InputError(f"X must hold numbers ({error})") from None
    if row >= 0:
        raise InputError("the row holds NaN or infinity; features must be finite", sample=row)
    n_rows, width = matrix.shape
    names = [str(j) for j in range(width)]
    return TokenTable([TokenBlock(names, matrix, np.arange(n_rows, dtype=np.int32))], width)


def _as_list(y: Any) -> list[Any]:
    if hasattr(y, "tolist"):
        y = y.tolist()
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise InputError(f"y must be a list of labels, got {type(y).__name__}")
    return list(y)


def _labels_of(y: Any) -> list[Any]:
    found: dict[Any, None] = {}
    for i, label in enumerate(_as_list(y)):
        try:
            found[label] = None
        except TypeError as error:
            raise InputError(f"labels must be hashable ({error})", sample=i) from None
    return sorted_labels(found)


Classes.space_class = ClassesSpace
