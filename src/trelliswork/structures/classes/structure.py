"""Single labels: flat classes, or the leaves of a taxonomy."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import attribute_of
from trelliswork._tokens import TokenBlock, TokenTable, compile_tokens
from trelliswork._tuning import Choice, Tunable
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.classes.batch import ClassesBatch
from trelliswork.structures.classes.space import ClassesSpace, agrees, class_choice
from trelliswork.structures.classes.taxonomy import Taxonomy
from trelliswork.structures.labels import check_given_labels, label_list, sorted_labels, unhashable
from trelliswork.structures.limits import ClassesLimits
from trelliswork.structures.scaling import check_scale
from trelliswork.structures.survey import Counts, Survey, block_counts, joined_counts, joined_widths

__all__ = ["Classes"]


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
    ancestor_weight : float or dict, default=0.3
        How much classes share through a taxonomy: the factor of the attributes of ancestors,
        one number or ``{node: number}`` (1 for nodes not named). A weight of an ancestor costs as
        much as one of a class but counts for all classes below; a factor below 1 makes it
        dearer, and 0 leaves it out (all 0: flat classes). Worth choosing together with the
        regularisation, on data put aside.
    scale : {"auto", None}, default="auto"
        Whether learners bring columns of numbers to one scale, so that metres and millimetres make the same
        model: columns of arrays vary by about 1 unless they hold 0 and 1 alone; those that are 0 now and then
        (counts, pixels) and sparse attributes are divided by their size alone, others are less their mean.
        ``space_.scaling`` has what is subtracted and divided by, and weights are those of scaled columns.
        Models of counts (``Generative``) take the data as they are.

    See Also
    --------
    Chain : Labels that depend on their neighbours.
    losses.Tree : How far two classes of a taxonomy lie apart.

    Notes
    -----
    ``X`` is a matrix, dense or sparse, with one row per sample; or a list whose items are
    rows, lists of strings or dicts. Ties between classes go to the first in the order of
    ``classes_``.

    Classes to learn from may be known in part: a set stands for one of its labels, an inner node of the
    taxonomy for one of the leaves below it, None for any class. Such a class is predicted right
    (``score``) by any that it stands for.

    References
    ----------
    .. [1] Crammer, Singer (2001), JMLR 2.
    .. [2] Cai, Hofmann (2004), CIKM (taxonomies).

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import CRF, Classes
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), ["east", "north", "west"]
    >>> CRF(Classes(), l2=0.01).fit(X, y).predict(np.array([[2.0, 0.1], [0.2, 3.0]]))
    ['east', 'north']
    """

    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"ancestor_weight": 1.0, "scale": None}
    space_class: ClassVar[type[Space]] = ClassesSpace
    batch_class: ClassVar[type[Batch]] = ClassesBatch
    output_kind: ClassVar[str] = "label"
    generative_smoothing: ClassVar[float] = 0.2
    compares_rows: ClassVar[bool] = True
    moment_ridge: ClassVar[float] = 1.0
    limits: ClassesLimits = ClassesLimits()

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        bias: bool = True,
        labels: Sequence[Hashable] | None = None,
        ancestor_weight: Any = 0.3,
        scale: str | None = "auto",
    ):
        self.taxonomy = taxonomy
        self.bias = bias
        self.labels = labels
        self.ancestor_weight = ancestor_weight
        self.scale = scale

    @property
    def tuning(self) -> tuple[Tunable, ...]:  # type: ignore[override]
        """How much classes share, where there is a taxonomy."""
        return () if self.taxonomy is None else (Choice("ancestor_weight", (1.0, 0.3, 0.1, 0.0)),)

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense; reads the taxonomy."""
        check_given_labels(self.labels)
        check_scale(self.scale)
        if self.taxonomy is not None:
            taxonomy = Taxonomy.read(self.taxonomy)
            taxonomy.ancestor_weights(self.ancestor_weight)
            if self.labels is not None:
                taxonomy.check_classes(self.labels)

    def check_stored(self) -> None:
        """As :meth:`check`; the taxonomy itself is in the model file, wherever it once came from."""
        structure = self.with_params(taxonomy=None) if isinstance(self.taxonomy, (str, os.PathLike)) else self
        structure.check()

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
        return self.survey(X, y).space()

    def survey(self, X: Any, y: Any) -> ClassesSurvey:
        """Classes and attributes that occur."""
        self.check()
        table = self.prepare(X)
        taxonomy = None if self.taxonomy is None else Taxonomy.read(self.taxonomy)
        labels = list(dict.fromkeys(self.labels)) if self.labels is not None else _labels_of(y, taxonomy)
        return ClassesSurvey(self, labels, block_counts(table), taxonomy, table.width, table.dense)

    def bind_names(self, names: Sequence[Any]) -> ClassesSpace:
        """Classes and attributes from the names of given weights."""
        self.check()
        nodes: dict[Any, None] = {}
        attributes: dict[str, None] = {}
        for name in names:
            kind = name[0] if isinstance(name, tuple) and name else None
            if kind == "feature" and len(name) == 3:
                attributes[attribute_of(name)] = None
            elif kind != "bias" or len(name) != 2:
                raise InputError(
                    f"unknown feature {name!r}; classes have ('feature', attribute, class), ('bias', class)"
                )
            nodes[name[-1]] = None
        taxonomy = None if self.taxonomy is None else Taxonomy.read(self.taxonomy)
        named = nodes if taxonomy is None else [node for node in taxonomy.leaves if node in nodes]
        labels = list(dict.fromkeys(self.labels)) if self.labels is not None else sorted_labels(named)
        return ClassesSpace(self, labels, list(attributes), taxonomy)

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Three rows."""
        yield cls(), np.eye(3), ["a", "b", "c"]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of right labels; a true class that is known in part is any of those it stands for."""
        taxonomy = None if self.taxonomy is None else Taxonomy.read(self.taxonomy)
        pairs = list(zip(label_list(y_true), label_list(y_pred), strict=True))
        right = np.array([agrees(a, b, self.labels or (), taxonomy) for a, b in pairs], dtype=float)
        return float(np.average(right, weights=sample_weight))


@dataclass
class ClassesSurvey(Survey):
    """Classes and attributes of some samples.

    Attributes
    ----------
    structure : Classes
        Hyper-parameters.
    labels : list
        Classes that occur, or that were given.
    names : list of dict
        Attributes, block by block of the table of rows.
    taxonomy : Taxonomy or None
        Taxonomy of the classes.
    width : int or None
        Number of columns, where rows are those of a matrix.
    dense : bool
        Whether they are rows of arrays.
    """

    structure: Classes
    labels: list[Any]
    names: Counts
    taxonomy: Taxonomy | None
    width: int | None
    dense: bool

    def joined(self, other: ClassesSurvey) -> ClassesSurvey:
        """Classes and attributes of both."""
        labels = self.labels
        if self.structure.labels is None:
            labels = sorted_labels({*self.labels, *other.labels})
        empty = not any(self.names) or not any(other.names)
        width = joined_widths(self.width, other.width, empty)
        names = joined_counts(self.names, other.names)
        dense = (self.dense or not any(self.names)) and (other.dense or not any(other.names))
        return ClassesSurvey(self.structure, labels, names, self.taxonomy, width, dense)

    def space(self) -> ClassesSpace:
        """Space with them."""
        attributes = list(dict.fromkeys(name for block in self.names for name in block))
        space = ClassesSpace(self.structure, self.labels, attributes, self.taxonomy, self.width)
        space.dense = self.dense
        return space


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
        raise InputError(
            f"X must be a matrix with one row per sample, got shape {matrix.shape}. Reshape your data: "
            "X.reshape(-1, 1) has one feature, X.reshape(1, -1) one sample"
        )
    if matrix.dtype.kind == "c":
        raise InputError("Complex data not supported; X must hold real numbers")
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
        raise InputError(
            f"X must hold numbers ({error}); code text with OneHotEncoder, or give rows as dicts: "
            "df.to_dict('records')"
        ) from None
    if row >= 0:
        raise InputError("the row holds NaN or infinity; features must be finite", sample=row)
    n_rows, width = matrix.shape
    names = [str(j) for j in range(width)]
    return TokenTable([TokenBlock(names, matrix, np.arange(n_rows, dtype=np.int32))], width)


def _labels_of(y: Any, taxonomy: Taxonomy | None) -> list[Any]:
    """Classes that occur; of a class that is known in part all that it may be."""
    labels: dict[Any, None] = {}
    for i, label in enumerate(label_list(y)):
        try:
            labels.update(dict.fromkeys(class_choice(label, (), taxonomy, i) or ()))
        except TypeError as error:
            raise unhashable(error, i) from None
    return sorted_labels(labels)
