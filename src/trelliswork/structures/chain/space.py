"""Label sequences after seeing data: alphabets, weights and their names."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, lengths, whole
from trelliswork._tokens import TokenTable, check_width
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.chain import store
from trelliswork.structures.chain.batch import ChainBatch
from trelliswork.structures.chain.contexts import (
    context_before,
    level_starts,
    ngram_map,
    scheme_masks,
    successors,
)
from trelliswork.structures.chain.joins import Joins
from trelliswork.structures.chain.known import allowed_mask, read_labels
from trelliswork.structures.chain.sparse import SparseContexts
from trelliswork.structures.known import check_known, choices
from trelliswork.structures.labels import encode_labels, listed, sorted_labels
from trelliswork.structures.scaling import Scaling, rescaled
from trelliswork.structures.tokens import Layout, TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.structure import Chain

__all__ = ["ChainSpace"]

_STORED_GRAMS = {
    "grams": whole("labels of n-grams", high="labels"),
    "gram_lengths": lengths("n-grams", "labels of n-grams", least=2),
}


class ChainSpace(Space):
    """Alphabets and sizes of a :class:`Chain` after seeing data.

    Parameters
    ----------
    structure : Chain
        Hyper-parameters.
    labels : list
        Label alphabet, in the order of codes.
    attributes : list of str
        Attribute alphabet.
    allowed : ndarray of bool, shape (n_labels, n_labels)
        Allowed transitions ``[from, to]``, before the tagging scheme.
    width : int or None
        Number of columns, when the attributes are the columns of arrays.
    grams : list of tuples of int or None
        Label n-grams that have weights, where only some do.

    Attributes
    ----------
    scaling : Scaling or None
        What columns are less and divided by; None where they are taken as they are.
    dense : bool
        Whether the tokens are rows of arrays.
    """

    structure: Chain
    scaling: Scaling | None = None
    dense: bool = False

    def __init__(
        self,
        structure: Chain,
        labels: list[Any],
        attributes: list[str],
        allowed: np.ndarray,
        width: int | None = None,
        grams: Iterable[tuple[int, ...]] | None = None,
    ):
        self.structure = structure
        self.width = width
        self.labels = list(labels)
        self.attributes = list(attributes)
        self.order = int(structure.order)
        n = len(self.labels)
        self.columns = Alphabet(zip(self.attributes, range(len(self.attributes))))
        self.n_markers = len(self.marker_names)
        self.emission_layout = Layout(len(self.attributes) + self.n_markers, n)
        self.joins = Joins(structure.edge_features, self.order)
        chosen = self.joins.attributes(self.attributes)
        self.edge_columns = Alphabet(zip(chosen, range(len(chosen))))
        self.edge_layout = None
        if self.joins.lengths:
            # Long n-grams are many: until data say which of them occur there are none.
            nothing = np.zeros(0, dtype=np.int64) if self.sparse_joins else None
            self.edge_layout = Layout(len(chosen), int(self.joins.offsets(n)[-1]), nothing)
        self.allowed = allowed
        self.symbol_mask: np.ndarray | None = None  # (n_attributes, n_labels), see `observed`
        self.start_mask: np.ndarray | None = None
        self.end_mask: np.ndarray | None = None
        mask = allowed
        if structure.scheme is not None:
            follows, self.start_mask, self.end_mask = scheme_masks(structure.scheme, self.labels)
            mask = allowed & follows
        self.sparse: SparseContexts | None = None
        if structure.keeps_observed(n):
            self.sparse = sparse = SparseContexts(grams or (), n, mask)
            self.level_ptr, self.successor, self.ngrams = sparse.level_ptr, sparse.successor, sparse.ngrams
            self.ngram_matrix, self.context_mask = sparse.matrix, sparse.mask
            self.everything_allowed = bool(self.context_mask.all())
            return
        most = structure.limits.ngrams
        if not structure.few_ngrams(n):
            raise InputError(
                f"order {self.order} with {n} labels means over {most:,} n-grams; lower the order, or keep "
                "those that occur, with ngrams='observed' (up to order 64, without edge_features)"
            )
        self.level_ptr = level_starts(n, self.order)
        self.successor = successors(n, self.order)
        self.ngram_matrix, self.context_mask, self.ngrams = ngram_map(n, self.order, mask)
        self.everything_allowed = bool(self.context_mask.all())

    @property
    def sparse_joins(self) -> bool:
        """Whether attributes are joined with label n-grams longer than pairs; only seen ones have weights."""
        return self.joins.longest > 2

    def contexts_before(self, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Context before each token of label sequences, -1 at the first token of each."""
        if self.sparse is not None:
            return self.sparse.before(labels, offsets)
        return context_before(labels, offsets, self.n_labels, self.order)

    def restrict_to_named(self, names: Sequence[Any]) -> None:
        """Weights for the named joins, where only some have any."""
        if self.edge_layout is None or not self.sparse_joins:
            return
        column = {gram: i for i, gram in enumerate(self.joins.grams(self.n_labels))}
        code = {label: i for i, label in enumerate(self.labels)}
        n_columns = self.edge_layout.n_columns
        flat = [
            self.edge_columns[name[1]] * n_columns + column[tuple(code[label] for label in name[2:])]
            for name in names
            if name[0] == "edge" and name[1] in self.edge_columns and len(name) - 2 in self.joins.lengths
        ]
        self.edge_layout = self.edge_layout.limited(np.unique(np.array(flat, dtype=np.int64)))

    # -- sizes and names ------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @property
    def n_emissions(self) -> int:
        """Number of emission weights, first and last labels included."""
        return self.emission_layout.n_weights

    @property
    def n_edges(self) -> int:
        """Number of edge-observation weights."""
        return 0 if self.edge_layout is None else self.edge_layout.n_weights

    @property
    def n_features(self) -> int:
        """Length of the weight vector: emissions, edge observations, label n-grams."""
        return self.n_emissions + self.n_edges + len(self.ngrams)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Emission, edge-observation and n-gram weights (views)."""
        a, b = self.n_emissions, self.n_emissions + self.n_edges
        return w[:a], w[a:b], w[b:]

    @property
    def feature_orders(self) -> np.ndarray:
        """1 for emissions, the number of labels for edge observations and label n-grams."""
        out = np.ones(self.n_features, dtype=np.int64)
        if self.edge_layout is not None:
            lengths = np.array([len(gram) for gram in self.joins.grams(self.n_labels)], dtype=np.int64)
            column = self.edge_layout.positions()[1]
            out[self.n_emissions : self.n_emissions + self.n_edges] = lengths[column]
        out[self.n_emissions + self.n_edges :] = [len(gram) for gram in self.ngrams]
        return out

    @property
    def marker_names(self) -> list[str]:
        """Kinds of the marker attributes that follow the real ones."""
        return [kind for kind in ("start", "end", "unknown") if getattr(self.structure, kind)]

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """``("emission", attribute, label)``, ``("start", label)``, ``("transition", from, to)``, ..."""
        names: list[tuple[Any, ...]] = []
        n_real = len(self.attributes)
        for a, b in zip(*map(np.ndarray.tolist, self.emission_layout.positions()), strict=True):
            label = self.labels[b]
            kind = self.marker_names[a - n_real] if a >= n_real else None
            names.append((kind, label) if kind else ("emission", self.attributes[a], label))
        if self.edge_layout is not None:
            edge_names = list(self.edge_columns)
            grams = self.joins.grams(self.n_labels)
            for a, column in zip(*map(np.ndarray.tolist, self.edge_layout.positions()), strict=True):
                names.append(("edge", edge_names[a], *(self.labels[i] for i in grams[column])))
        names.extend(("transition", *(self.labels[i] for i in gram)) for gram in self.ngrams)
        return names

    # -- data ------------------------------------------------------------------------------

    def pack(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        n_jobs: int | None = None,
        allowed: Any = None,
        known: Any = None,
        unknown: str = "error",
    ) -> ChainBatch:
        """Compile sequences; ``allowed`` limits the labels of single tokens.

        Parameters
        ----------
        X : sequences of tokens
            As in :class:`Chain`.
        y : sequences of labels or None
            Gold labels, which may be known in part.
        n_jobs : int or None
            Threads of the batch's verbs.
        allowed : list or None
            Per sequence None or a list that has, per token, None (any label), a label, or
            a collection of labels.
        known : list or None
            Instead of ``y``: what is known of the labels of every sequence (None: nothing), written as in
            ``y``; see ``PartlyKnown.agreeing``.
        unknown : {"error", "mark"}
            What to do with labels outside the alphabet: refuse, or code them -1.
        """
        X = self.structure.prepare(X)
        self._check_width(X.values)
        mask = None if allowed is None else allowed_mask(allowed, self.labels, X.offsets)
        if known is not None:
            batch = self.compiled(X, None, mask, n_jobs)
            batch.known = self._known_masks(known, X.offsets)
            return batch
        if y is None:
            return self.compiled(X, None, mask, n_jobs)
        read = read_labels(self.structure.readable(y), self.labels)
        codes = encode_labels(read.first(self.labels), X.offsets, self.labels, unknown=unknown)
        strict = unknown == "error"
        masks = read.masks(self.labels, strict=strict)
        return self.settled(X, Ragged(codes, X.offsets), masks, n_jobs, mask, strict=strict)

    def settled(
        self,
        X: Ragged,
        codes: Ragged,
        known: list[np.ndarray | None] | None,
        n_jobs: int | None,
        allowed: np.ndarray | None = None,
        *,
        strict: bool = True,
    ) -> ChainBatch:
        """Batch of prepared sequences whose labels may be known in part."""
        batch = self.compiled(X, codes, allowed, n_jobs)
        if known is not None:
            batch.settle(list(codes), known, strict)
        return batch

    def _known_masks(self, known: Any, offsets: np.ndarray) -> list[Any]:
        """Labels that agree with what is known of every sequence."""
        check_known(known, offsets.size - 1)
        rows = [
            [None] * int(n) if row is None else row for row, n in zip(known, np.diff(offsets), strict=True)
        ]
        read = read_labels(self.structure.readable(rows), self.labels, everything=True)
        encode_labels(read.first(self.labels), offsets, self.labels)  # checks lengths and labels
        return read.masks(self.labels) or []

    def compiled(
        self, X: Ragged, gold: Ragged | None, allowed: np.ndarray | None, n_jobs: int | None
    ) -> ChainBatch:
        """Batch of prepared sequences, with codes of their labels and a mask of what is allowed."""
        offsets = X.offsets
        filled = np.flatnonzero(np.diff(offsets) > 0)
        emission = TokenMap.compile(self.emission_layout, X.values, self.columns)
        where = {"start": offsets[:-1][filled], "end": offsets[1:][filled] - 1}
        if "unknown" in self.marker_names:
            where["unknown"] = emission.empty_tokens()
        emission = rescaled(emission, None, self.scaling)
        for number, kind in enumerate(self.marker_names):
            emission.mark(len(self.attributes) + number, where[kind])
        edge = None
        if self.edge_layout is not None:
            edge = TokenMap.compile(self.edge_layout, X.values, self.edge_columns)
            edge = rescaled(edge, None, self.edge_scaling(self.scaling))
        return ChainBatch(self, offsets, emission, edge, gold, allowed, n_jobs)

    @property
    def measured(self) -> bool:
        """Whether tokens are measurements with a covariance: rows of arrays with not too many columns.

        First labels and transitions need weights for what is the same at all tokens.
        """
        few = len(self.attributes) <= self.structure.limits.gram_attributes
        return self.dense and few and self.takes_up_means

    def attribute_features(self) -> np.ndarray:
        """Pairs of an attribute and a label."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[: self.n_emissions] = self.emission_layout.positions()[0] < len(self.attributes)
        return mask

    @property
    def takes_up_means(self) -> bool:
        """Whether weights of first labels and transitions take up what is subtracted from columns."""
        return bool(self.structure.start) and self.emission_layout.flat is None

    @property
    def moment_margin(self) -> float | None:
        """None where tokens are measurements: their law is right about how sure it is."""
        return None if self.measured else super().moment_margin

    def with_scaling(self, scaling: Scaling | None) -> ChainSpace:
        """The same space with other scales of its columns; new columns stay as they are."""
        space = copy.copy(self)
        n = len(self.attributes)
        space.scaling = None if scaling is None else scaling.at(np.arange(scaling.scale.size), n)
        return space

    def edge_scaling(self, scaling: Scaling | None) -> Scaling | None:
        """Scales of the attributes that are joined with label n-grams, of those of all attributes."""
        if scaling is None:
            return None
        chosen = np.array([self.columns[a] for a in self.edge_columns], dtype=np.int64)
        return Scaling(scaling.center[chosen], scaling.scale[chosen])

    def _check_width(self, table: TokenTable) -> None:
        check_width(table, self.width, self.columns, len(self.attributes), "tokens")

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> ChainBatch:
        """Batch from its state."""
        return store.restored(self, state, n_jobs)

    def grown(self, X: Any, y: Any) -> ChainSpace:
        """Space with the labels, attributes and observed pairs of more data as well."""
        X = self.structure.prepare(X)
        self._check_width(X.values)
        return self.merged(self.structure.bind(X, y))

    def merged(self, other: Space) -> ChainSpace:
        """Space with the labels, attributes and observed pairs of both."""
        from trelliswork.structures.chain import growth

        return growth.merged(self, cast("ChainSpace", other))

    @property
    def outputs_fixed(self) -> bool:
        """Whether labels, transitions and the features of old samples cannot change when the space grows."""
        if self.scaling is not None or (self.dense and self.structure.scale is not None):
            return False
        limits = self.structure.transitions
        seen_only = isinstance(limits, str) and limits == "observed"
        seen_only = seen_only or self.structure.emissions == "observed" or self.sparse_joins
        seen_only = seen_only or self.sparse is not None
        return self.structure.labels is not None and not seen_only

    def observed(self, batch: Batch, symbols: str | Sequence[str] | None = "auto") -> ChainSpace:
        """Space that forbids transitions and (symbol, label) pairs that a batch has not.

        Parameters
        ----------
        batch : ChainBatch
            Sequences with their labels.
        symbols : "auto", None or list of str
            Attributes that are symbols: those that start with one of the prefixes; None for
            transitions only. "auto": all of them if no token has two, else none. A token may have
            the labels that all its symbols were seen with; symbols that were not seen do not limit.

        Notes
        -----
        A label that nothing was seen to follow may be followed by any, and a sequence for which
        nothing would be left is not limited by its symbols, so that every input has an output.
        """
        from trelliswork.structures.chain import growth

        return growth.observed(self, cast("ChainBatch", batch), symbols)

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether every label is one of those that are possible at its token."""
        possible = choices(known, self.labels, 0)
        return all(choice is None or label in choice for choice, label in zip(possible, y, strict=True))

    def hidden(self, x: Any, y: Any, share: float, rng: np.random.Generator) -> list[Any]:
        """Labels made unknown one by one, every third of them only in part."""
        out: list[Any] = list(y)
        for t in np.flatnonzero(rng.random(len(out)) < share):
            other = self.labels[int(rng.integers(self.n_labels))]
            out[t] = {out[t], other} if rng.random() < 1 / 3 and share < 1 else None
        return out

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Every allowed label sequence of one input, in lexicographic order."""
        n_steps = x.shape[0] if hasattr(x, "shape") else len(x)
        limits = None if self.symbol_mask is None else self.pack([x]).allowed
        for codes in itertools.product(range(self.n_labels), repeat=n_steps):
            if n_steps and self.start_mask is not None and not self.start_mask[codes[0]]:
                continue
            if n_steps and self.end_mask is not None and not self.end_mask[codes[-1]]:
                continue
            if limits is not None and not limits[np.arange(n_steps), codes].all():
                continue
            if all(self.context_mask[a, b] for a, b in itertools.pairwise(codes)):
                yield [self.labels[c] for c in codes]

    def advice(self) -> str:
        """What to do about an output that breaks the constraints."""
        if isinstance(self.structure.transitions, str):
            strict = self.structure.scheme is not None and self.structure.invalid == "strict"
            return "use invalid='repair', or drop the scheme" if strict else super().advice()
        named = {label for pair in self.structure.transitions for label in pair}
        strange = sorted_labels(named - set(self.labels))
        hint = f" (transitions has {listed(strange)}, not in the data)" if strange else ""
        return super().advice() + hint

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Top attributes per label and the table of transitions, for reading."""
        emission, _, grams = self.split(weights)
        table = self.emission_layout.table(emission)
        names = [*self.attributes, *(f"<{kind}>" for kind in self.marker_names)]
        logs = not (table > 0).any()  # log-probabilities: none is above 0
        best = {}
        for b, label in enumerate(self.labels):
            order = np.argsort(-table[:, b], kind="stable")[:top]
            best[label] = [(names[a], float(table[a, b])) for a in order if logs or table[a, b] > 0]
        bigrams = np.full((self.n_labels, self.n_labels), -np.inf)
        for gram, value in zip(self.ngrams, grams, strict=True):
            if len(gram) == 2:
                bigrams[gram] = value
        return {"labels": self.labels, "top": best, "transitions": bigrams}

    # -- persistence -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Alphabets and masks."""
        out: dict[str, Any] = {"labels": self.labels, "attributes": self.attributes, "allowed": self.allowed}
        if self.width is not None:
            out["width"] = self.width
        if self.emission_layout.flat is not None:
            out["emission_flat"] = self.emission_layout.flat
        if self.edge_layout is not None and self.edge_layout.flat is not None:
            out["edge_flat"] = self.edge_layout.flat
        if self.symbol_mask is not None:
            out["symbol_mask"] = self.symbol_mask
        if self.sparse is not None:
            rows = Ragged.from_list(self.ngrams, np.int64)
            out["grams"], out["gram_lengths"] = rows.values, rows.lengths
        if self.dense:
            out["dense"] = True
        return out if self.scaling is None else out | self.scaling.state()

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> ChainSpace:
        """Build the space again."""
        structure = cast("Chain", structure)
        structure.check()
        labels, attributes = list(state["labels"]), list(state["attributes"])
        allowed = np.asarray(state["allowed"], dtype=bool)
        # A model file is not trusted: whatever the recursions index with is checked here.
        if allowed.shape != (len(labels), len(labels)) or not labels:
            raise InputError("the table of allowed transitions does not fit the labels")
        if len(set(labels)) != len(labels) or len(set(attributes)) != len(attributes):
            raise InputError("labels or attributes occur twice")
        width = state.get("width")
        grams: list[tuple[int, ...]] = []
        if structure.keeps_observed(len(labels)):
            stored = fitting(state, _STORED_GRAMS, "label n-grams", labels=len(labels))
            rows = Ragged(stored["grams"], offsets_of(stored["gram_lengths"]))
            if rows.lengths.max(initial=0) > structure.order + 1:
                raise InputError("the label n-grams are longer than the order allows")
            grams = [tuple(row.tolist()) for row in rows]
        space = cls(structure, labels, attributes, allowed, None if width is None else int(width), grams)
        if "emission_flat" in state:
            space.emission_layout = space.emission_layout.limited(state["emission_flat"])
        if "edge_flat" in state and space.edge_layout is not None:
            space.edge_layout = space.edge_layout.limited(state["edge_flat"])
        if "symbol_mask" in state:
            space.symbol_mask = np.asarray(state["symbol_mask"], dtype=bool)
            if space.symbol_mask.shape != (len(attributes), len(labels)):
                raise InputError("the table of observed symbols does not fit the labels")
        space.dense = bool(state.get("dense", False))
        return space.with_scaling(Scaling.from_state(state, len(attributes)))
