"""Classes and attributes after seeing data."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._tokens import check_width
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.classes.batch import ClassesBatch, single_labels
from trelliswork.structures.classes.taxonomy import Taxonomy
from trelliswork.structures.known import check_known, choices, label_mask
from trelliswork.structures.labels import label_list, sorted_labels, unhashable
from trelliswork.structures.scaling import Scaling, rescaled
from trelliswork.structures.tokens import Layout, TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.classes.structure import Classes

__all__ = ["ClassesSpace", "agrees", "class_choice"]


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
    choices : bool
        Whether only classes (and ancestors) have weights, the attributes none.

    Attributes
    ----------
    scaling : Scaling or None
        What columns are less and divided by; None where they are taken as they are.
    dense : bool
        Whether the rows are those of arrays.
    """

    structure: Classes
    scaling: Scaling | None = None
    dense: bool = False

    def __init__(
        self,
        structure: Classes,
        labels: Sequence[Any],
        attributes: Sequence[str],
        taxonomy: Taxonomy | None,
        width: int | None = None,
        choices: bool = False,
    ):
        self.structure = structure
        self.choices = choices
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
        self.layout = Layout(self.n_weighed + bool(structure.bias), len(self.nodes))
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
    def n_weighed(self) -> int:
        """Number of attributes that have weights."""
        return 0 if self.choices else len(self.attributes)

    def as_choices(self) -> ClassesSpace:
        """The same classes, chosen branch by branch from the root on; attributes have no weights."""
        structure = self.structure.with_params(bias=True, ancestor_weight=1.0)
        space = ClassesSpace(structure, self.labels, self.attributes, self.taxonomy, self.width, choices=True)
        space.dense = self.dense
        return space.with_scaling(self.scaling)

    def kernel_inputs(self, X: Any) -> Any:
        """Rows of the known attributes, an array or a sparse matrix, on the scale of the space."""
        rows = self._compiled(X, Layout(len(self.attributes), 1))
        if self.dense:
            return rows.dense_rows(len(self.attributes))
        return rows.token_matrix()

    def _compiled(self, X: Any, layout: Layout) -> TokenMap:
        """Rows with the numbers of attributes, on the scale of the space."""
        table = self.structure.prepare(X)
        check_width(table, self.width, self.columns, len(self.attributes), "rows")
        return rescaled(TokenMap.compile(layout, table, self.columns), None, self.scaling)

    @property
    def is_flat(self) -> bool:
        """Whether there are no ancestors."""
        return len(self.nodes) == len(self.labels)

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return self.layout.n_weights

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("feature", attribute, class or ancestor)``, then ``("bias", class or ancestor)``."""
        attributes = self.attributes[: self.n_weighed]
        names: list[tuple[Any, ...]] = [("feature", a, node) for a in attributes for node in self.nodes]
        return names + ([("bias", node) for node in self.nodes] if self.structure.bias else [])

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, known: Any = None, unknown: str = "error"
    ) -> ClassesBatch:
        """Compile rows and, where given, their labels.

        Parameters
        ----------
        X : matrix or list of rows
            As in :class:`Classes`.
        y : labels or None
            True classes, which may be known in part.
        n_jobs : int or None
            Threads of the batch's verbs.
        known : list or None
            Instead of ``y``: what is known of the class of every sample, written as in ``y``.
        unknown : {"error", "mark"}
            What to do with labels that are no class: refuse, or code them -1.
        """
        table = self.structure.prepare(X)
        if self.choices:
            check_width(table, self.width, self.columns, len(self.attributes), "rows")
            emission = TokenMap(self.layout, [], len(table))
        else:
            emission = self._compiled(table, self.layout)
        if self.structure.bias:
            emission.mark(self.n_weighed, np.arange(len(table)))
        batch = ClassesBatch(self, emission, None, n_jobs)
        if known is not None:
            check_known(known, len(table))
            batch.known = [self._mask(label, i, True) for i, label in enumerate(label_list(known))]
        elif y is not None:
            self._take_up(batch, y, unknown == "error")
        return batch

    def _take_up(self, batch: ClassesBatch, y: Any, strict: bool) -> None:
        """Give a batch its true classes."""
        labels, n = label_list(y), len(batch)
        if len(labels) != n:
            raise InputError(f"X has {n} samples but y has {len(labels)}")
        place = {label: i for i, label in enumerate(self.labels)}
        codes = np.empty(n, dtype=np.int64)
        known: list[np.ndarray | None] = [None] * n
        for i, label in enumerate(labels):
            try:
                codes[i] = place.get(label, -1) if label.__hash__ is not None else -1
            except TypeError as error:
                raise unhashable(error, i) from None
            if codes[i] >= 0:
                continue
            choice = class_choice(label, self.labels, self.taxonomy, i)
            if choice is None or len(choice) != 1 or choice[0] != label:
                known[i] = self._mask(label, i, strict)
            elif strict:
                raise InputError(f"label {label!r} is not one of the {len(self.labels)} classes", sample=i)
        if all(mask is None for mask in known):
            batch._gold = single_labels(codes)
        else:
            batch.settle(list(codes[:, None]), known, strict)

    def _mask(self, label: Any, i: int, strict: bool) -> np.ndarray:
        """Which classes a label stands for."""
        [given] = choices([label], self.labels, i)
        names = given
        if given is not None and self.taxonomy is not None:  # leaves that were never seen are no classes
            below = set(class_choice(label, self.labels, self.taxonomy, i) or ()) - {*given}
            leaves = [name for name in given if name in self.labels or not self.taxonomy.children.get(name)]
            names = (*leaves, *(name for name in self.labels if name in below))
        if names == ():
            raise InputError(f"no class below {label!r} is in the training data", sample=i)
        return label_mask([names], self.labels, i, strict=strict, what="place")[0]

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether a class is one of those that what is known of it stands for."""
        return agrees(known, y, self.labels, self.taxonomy)

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> Any:
        """A set with another class, an ancestor, or None."""
        if rng.random() >= share:
            return y
        above = [] if self.taxonomy is None else sorted_labels(self.taxonomy.lineage(y) - {y})
        if share < 1 and above and rng.random() < 0.5:
            return above[int(rng.integers(len(above)))]
        return {y, self.labels[int(rng.integers(self.n_labels))]} if share < 1 else None

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
        space = ClassesSpace(self.structure, labels, attributes, self.taxonomy, self.width)
        space.dense = self.dense and other.dense
        return space.with_scaling(self.scaling)

    @property
    def measured(self) -> bool:
        """Whether rows are measurements with a covariance: those of arrays, with a bias, of few columns."""
        few = len(self.attributes) <= self.structure.limits.gram_attributes
        return self.dense and few and self.takes_up_means and not self.choices

    @property
    def takes_up_means(self) -> bool:
        """Whether the bias takes up what is subtracted from columns."""
        return bool(self.structure.bias)

    @property
    def moment_reference(self) -> str:
        """Classes as normal distributions where rows are measurements, else all classes alike."""
        return "generative" if self.measured else "uniform"

    def with_scaling(self, scaling: Scaling | None) -> ClassesSpace:
        """The same space with other scales of its columns; new columns stay as they are."""
        space = copy.copy(self)
        n = len(self.attributes)
        space.scaling = None if scaling is None else scaling.at(np.arange(scaling.scale.size), n)
        return space

    @property
    def outputs_fixed(self) -> bool:
        """Whether the classes were given and columns are taken as they are, whatever more data bring."""
        scaled = self.scaling is not None or (self.dense and self.structure.scale is not None)
        return self.structure.labels is not None and not scaled

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> ClassesBatch:
        """Batch from its state."""
        return ClassesBatch.restored(self, state, n_jobs)

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Top attributes of every class (ancestors included in the sum)."""
        table = self.layout.table(weights) @ self.above.T
        names = [*self.attributes[: self.n_weighed], *(["<bias>"] if self.structure.bias else [])]
        best = {}
        for b, label in enumerate(self.labels):
            order = np.argsort(-table[:, b], kind="stable")[:top]
            best[label] = [(names[a], float(table[a, b])) for a in order if table[a, b] > 0]
        return {"labels": self.labels, "top": best}

    def state(self) -> dict[str, Any]:
        """Classes, attributes and the links of the taxonomy."""
        state: dict[str, Any] = {"labels": self.labels, "attributes": self.attributes}
        if self.taxonomy is not None:
            state["links"] = [list(edge) for edge in self.taxonomy.edges]
        if self.width is not None:
            state["width"] = self.width
        if self.choices:
            state["choices"] = True
        if self.dense:
            state["dense"] = True
        return state if self.scaling is None else state | self.scaling.state()

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> ClassesSpace:
        """Build the space again."""
        labels, attributes = list(state["labels"]), list(state["attributes"])
        if len(set(labels)) != len(labels) or len(set(attributes)) != len(attributes):
            raise InputError("labels or attributes occur twice")
        links = state.get("links")
        taxonomy = None if links is None else Taxonomy(map(tuple, links))
        width, choices = state.get("width"), bool(state.get("choices", False))
        space = cls(cast("Classes", structure), labels, attributes, taxonomy, width, choices)
        space.dense = bool(state.get("dense", False))
        if space.dense and not attributes:
            raise InputError("rows of numbers without columns")
        return space.with_scaling(Scaling.from_state(state, len(attributes)))


def class_choice(
    label: Any, given: Sequence[Any], taxonomy: Taxonomy | None, sample: int
) -> tuple[Any, ...] | None:
    """The classes that a label stands for; None for any.

    Examples
    --------
    >>> from trelliswork.structures.classes.space import class_choice
    >>> from trelliswork.structures.classes.taxonomy import Taxonomy
    >>> class_choice("animal", (), Taxonomy.read({"thing": {"animal": {"cat": {}, "dog": {}}}}), 0)
    ('cat', 'dog')
    """
    [choice] = choices([label], given, sample)
    if choice is None or taxonomy is None:
        return choice
    below: dict[Any, None] = {}
    for name in choice:
        inner = name not in given and bool(taxonomy.children.get(name))
        below.update(dict.fromkeys(taxonomy.leaves_below(name) if inner else [name]))
    return tuple(below)


def agrees(known: Any, label: Any, given: Sequence[Any], taxonomy: Taxonomy | None) -> bool:
    """Whether a class is one of those that another label stands for."""
    if known is not None and isinstance(known, (str, int, float)) and known == label:
        return True
    choice = class_choice(known, given, taxonomy, 0)
    return choice is None or label in choice
