"""Packed sentences of a grammar: parts, features and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork._trees import Node, brackets
from trelliswork.structures.abilities import Multinomials, PartlyKnown, Storable
from trelliswork.structures.base import Batch, Parts, Space
from trelliswork.structures.contexts import Contextual, PartContexts
from trelliswork.structures.grammar.contexts import span_contexts
from trelliswork.structures.grammar.forest import Forest, ForestStore, Sites
from trelliswork.structures.grammar.known import RestrictedStore, forbidden_nodes
from trelliswork.structures.grammar.sizes import forest_sizes
from trelliswork.structures.known import joined_known

if TYPE_CHECKING:
    from trelliswork.structures.grammar.space import GrammarSpace
    from trelliswork.structures.limits import GrammarLimits

__all__ = ["GrammarParts"]

_BYTES_KEPT, _BYTES_OF_NODE = 34, 32  # of a forest, per edge and per node
_BYTES_MADE = 100  # per edge, while a forest is made and asked
_BYTES_OF_CHART = 24  # per symbol and square of the length


class GrammarParts(Storable, Multinomials, Contextual, PartlyKnown):
    """Sentences with the trees that a grammar gives them.

    Part arrays: ``rule``, a value per rule (n_features,), or per sample and rule
    (n_samples, n_features) with ``each=True``; ``node``, a value per node of the packed
    forests, a node being a symbol over some words; and, where kernels compare rules, ``site``, a value per
    rule at a node. Codes of an output are its rules in
    pre-order. Forests are made when a verb needs them; the best tree without costs does not.

    Parameters
    ----------
    space : GrammarSpace
        Rules.
    inputs : list of list
        Sentences as they were given.
    store : ForestStore
        Forests of these and perhaps of other sentences.
    index : ndarray
        Place of each sample in the store.
    gold : Ragged or None
        Codes of the true trees; none where a tree is not of this grammar.
    n_jobs : int or None
        Threads.
    """

    shared_parts: ClassVar[Mapping[str, int]] = {"rule": 1}

    space: GrammarSpace

    def __init__(
        self,
        space: GrammarSpace,
        inputs: list[Any],
        store: ForestStore,
        index: np.ndarray,
        gold: Ragged | None,
        n_jobs: int | None,
    ):
        super().__init__(space, gold, n_jobs)
        self.grammar = space.grammar
        self.inputs = inputs
        self.store = store
        self.index = index
        self._restricted: GrammarParts | None = None
        self._lengths = np.array([store.words[i].size for i in index], dtype=np.int64)

    def sameness(self, codes: Ragged) -> str | None:
        """Trees without a phrase below the root."""
        flat = all(len(brackets(tree)) < 2 for tree in self._trees(codes))
        return "no bracket below the root" if flat else None

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def limits(self) -> GrammarLimits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    def _take(self, index: np.ndarray, gold: Ragged | None) -> Self:
        inputs = [self.inputs[i] for i in index.tolist()]  # forests are shared
        return type(self)(self.space, inputs, self.store, self.index[index], gold, self.n_jobs)

    def into(self, space: Space) -> Self:
        """The same sentences and trees with the rules of a larger space."""
        gold = self.unpack(self.gold_codes) if self.has_gold else None
        moved = cast("Self", cast("GrammarSpace", space).pack(self.inputs, gold, n_jobs=self.n_jobs))
        moved.known = self.known
        return moved

    def joined(self, other: Batch) -> Self:
        """Sentences of two batches of one space."""
        assert isinstance(other, GrammarParts)
        gold = None
        if self.has_gold and other.has_gold:
            gold = Ragged.from_list([*self.gold_codes, *other.gold_codes], np.int64)
        words = [batch.store.words[i] for batch in (self, other) for i in batch.index]
        store = ForestStore(self.grammar, words, self.limits)
        inputs = self.inputs + other.inputs
        both = type(self)(self.space, inputs, store, np.arange(len(inputs)), gold, self.n_jobs)
        both.known = joined_known(self, other)
        return both

    def state(self) -> dict[str, Any]:
        """Sentences and rules of the true trees."""
        state: dict[str, Any] = {
            "inputs": [[list(t) if isinstance(t, tuple) else t for t in x] for x in self.inputs],
            "gold": self.gold_codes.values,
            "gold_lengths": self.gold_codes.lengths,
        }
        if self.known is not None:
            state["known"] = [None if entry is None else [list(b) for b in entry] for entry in self.known]
        return state

    # -- trees of which some brackets are known ---------------------------------------------------

    def restricted(self) -> tuple[Batch, None]:
        """The same sentences with only the trees that have the known brackets."""
        if self._restricted is None:
            assert self.known is not None
            store = RestrictedStore(self.store, self.index, self.known, self.space.brackets)
            self._restricted = type(self)(
                self.space, self.inputs, store, np.arange(len(self)), self._gold, self.n_jobs
            )
        return self._restricted, None

    def restricted_scores(self, scores: Parts) -> Parts:
        """The same scores for the copies of nodes that restricted forests have."""
        site = scores.__dict__.get("site")
        if scores.node is None and site is None:
            return scores
        batch = cast("GrammarParts", self.restricted()[0])
        store = cast("RestrictedStore", batch.store)
        moved: dict[str, Any] = {"rule": scores.rule, "node": None}
        if scores.node is not None:
            offsets = self.node_ptr
            node = [scores.node[offsets[i] + store.origins(i)] for i in range(len(self))]
            moved["node"] = np.concatenate([np.zeros(0), *node])
        if site is not None:
            offsets, found = self.site_ptr, [np.zeros(0)]
            for i in range(len(self)):
                copies = batch.sites(i)
                place = self.sites(i).find(
                    store.origins(i)[copies.node], copies.rule, self.grammar.feature.size
                )
                found.append(site[offsets[i] + place])
            moved["site"] = np.concatenate(found)
        return Parts(**moved)

    def _forbidden(self) -> Parts:
        offsets = self.node_ptr
        node = np.zeros(int(offsets[-1]))
        for i in self.open_samples:
            entry = self.known[i]  # type: ignore[index]
            bad = forbidden_nodes(self.forest(int(i)), entry, self.space.brackets)
            node[offsets[i] : offsets[i + 1]][bad] = -np.inf
        return Parts(rule=None, node=node)

    # -- parts ------------------------------------------------------------------------------------

    @property
    def node_ptr(self) -> np.ndarray:
        """Where the nodes of each sample start in the part array ``node``."""
        missing = np.flatnonzero(self.store.n_nodes[self.index] < 0)
        if missing.size:
            self._run(lambda a, b: [self.forest(i) for i in range(a, b)] and None)
        return offsets_of(self.store.n_nodes[self.index])

    def forest(self, i: int) -> Forest:
        """Packed forest of sample ``i``."""
        return self.store.get(int(self.index[i]), i)

    @property
    def compares_rules(self) -> bool:
        """Whether kernels compare rules at nodes instead of nodes."""
        return self.space.structure.compared == "rules"

    @property
    def site_ptr(self) -> np.ndarray:
        """Where the sites of each sample start in the part array ``site``."""
        return offsets_of([self.sites(i).node.size for i in range(len(self))])

    def sites(self, i: int) -> Sites:
        """Rules at the nodes of sample ``i``."""
        key = int(self.index[i])
        if key not in self.store.sites:
            self.store.sites[key] = Sites.of(self.forest(i), self.grammar.feature.size)
        return self.store.sites[key]

    def span_rows(self, i: int) -> sp.csr_matrix:
        """Span features of the nodes of sample ``i``, kept while there is room."""
        key = int(self.index[i])
        rows = self.store.spans.get(key)
        if rows is None:
            forest = self.forest(i)
            rows = self.space.spans.rows(self.inputs[i], forest.symbol, forest.start, forest.end)
            if sum(kept.nnz for kept in self.store.spans.values()) + rows.nnz <= self.limits.kept_edges:
                self.store.spans[key] = rows
        return rows

    def scores(self, w: np.ndarray) -> Parts:
        """Rule scores of a weight vector, the weights; and scores of nodes by their span features."""
        rule = np.array(w, dtype=np.float64)
        if not len(self.space.spans):
            return Parts(rule=rule, node=None)
        of_spans = rule[len(self.space.rules) :]
        node = [self.span_rows(i) @ of_spans for i in range(len(self))]
        return Parts(rule=rule, node=np.concatenate([np.zeros(0), *node]))

    def scores_each(self, W: np.ndarray) -> Parts:
        """The same for one weight vector per sample."""
        rule = np.array(W, dtype=np.float64)
        if not len(self.space.spans):
            return Parts(rule=rule, node=None)
        of_spans = rule[:, len(self.space.rules) :]
        node = [self.span_rows(i) @ of_spans[i] for i in range(len(self))]
        return Parts(rule=rule, node=np.concatenate([np.zeros(0), *node]))

    def pull(self, parts: Parts) -> np.ndarray:
        """Values of rules and nodes to features, summed over samples."""
        zeros = np.zeros(self.space.n_features)
        rule = zeros if parts.rule is None else parts.rule
        out = np.array(rule if rule.ndim == 1 else rule.sum(axis=0))
        if len(self.space.spans) and parts.node is not None:
            offsets, first = self.node_ptr, len(self.space.rules)
            for i in range(len(self)):
                out[first:] += self.span_rows(i).T @ parts.node[offsets[i] : offsets[i + 1]]
        return out

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Values of rules and nodes to features, one row per sample."""
        if not len(self.space.spans) or parts.node is None:
            return sp.csr_matrix(parts.rule)
        out, offsets, first = np.array(parts.rule), self.node_ptr, len(self.space.rules)
        for i in range(len(self)):
            out[i, first:] += self.span_rows(i).T @ parts.node[offsets[i] : offsets[i + 1]]
        return sp.csr_matrix(out)

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """How often each rule and each node occurs in given trees."""
        rows = self._rule_counts(codes)
        if weights is not None:
            rows = sp.csr_matrix(sp.diags_array(np.asarray(weights, dtype=np.float64)) @ rows)
        nodes, offsets = self._nodes(codes), self.node_ptr
        scale = None if weights is None else np.repeat(np.asarray(weights, dtype=np.float64), codes.lengths)
        places = nodes + np.repeat(offsets[:-1], codes.lengths)
        counted = np.bincount(places, scale, minlength=int(offsets[-1])).astype(np.float64)
        rule = rows.toarray() if each else np.asarray(rows.sum(axis=0)).ravel()
        if not self.compares_rules:
            return Parts(rule=rule, node=counted)
        sites = np.bincount(self._site_places(codes), scale, minlength=int(self.site_ptr[-1]))
        return Parts(rule=rule, node=counted, site=sites.astype(np.float64))

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Rule counts and span features of one given tree per sample."""
        rules = self._rule_counts(codes)
        if not len(self.space.spans):
            return rules
        rows = []
        for i, row in enumerate(codes):
            used = self._nodes_of(i, row) if row.size else np.zeros(0, dtype=np.int64)
            rows.append(sp.csr_matrix(self.span_rows(i)[used].sum(axis=0)))
        spans = sp.vstack(rows) if rows else sp.csr_matrix((0, len(self.space.spans)))
        return sp.csr_matrix(sp.hstack([rules[:, : len(self.space.rules)], spans]))

    def _rule_counts(self, codes: Ragged) -> sp.csr_matrix:
        """Rule counts of one given tree per sample."""
        rule = self.grammar.feature[codes.values]
        owner = np.repeat(np.arange(len(codes)), codes.lengths)[rule >= 0]
        rule = rule[rule >= 0]
        shape = (len(codes), self.space.n_features)
        return sp.coo_matrix((np.ones(rule.size), (owner, rule)), shape).tocsr()

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Rule counts of the true trees, times a weight per sample."""
        weight = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        return self.gold().T @ weight

    def _nodes(self, codes: Ragged) -> np.ndarray:
        """Node (within its forest) that each rule of given trees derives."""
        out = np.empty(codes.values.size, dtype=np.int64)
        for i, row in enumerate(codes):
            if row.size:
                out[codes.offsets[i] : codes.offsets[i + 1]] = self._nodes_of(i, row)
        return out

    def _nodes_of(self, i: int, row: np.ndarray) -> np.ndarray:
        start, end = self._spans(row)
        symbol = self.space.rule_head[row]
        nodes = self.forest(i).find(np.where(self.space.rule_kind[row] == 0, -1, symbol), start, end)
        if nodes.min() < 0:
            raise InputError("the codes are no tree of this sentence", sample=i)
        return nodes

    def _site_places(self, codes: Ragged) -> np.ndarray:
        """Place in the array ``site`` of each rule of given trees."""
        nodes, offsets = self._nodes(codes), self.site_ptr
        out = np.empty(codes.values.size, dtype=np.int64)
        for i, row in enumerate(codes):
            here = slice(codes.offsets[i], codes.offsets[i + 1])
            out[here] = offsets[i] + self.sites(i).find(nodes[here], row, self.grammar.feature.size)
        return out

    def _spans(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from trelliswork.dp.grammar import forest as grammar_forest

        start, end = np.empty(row.size, dtype=np.int64), np.empty(row.size, dtype=np.int64)
        if not grammar_forest.spans(self.space.rule_kind, np.ascontiguousarray(row), start, end):
            raise InputError("the codes are no tree")
        return start, end

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Nodes of every forest, and rules at them where kernels compare these."""
        if self.compares_rules:
            return {"node": self.node_ptr, "site": self.site_ptr}
        return {"node": self.node_ptr}

    def rough_part_offsets(self, question: str, *, costs: bool = False) -> Mapping[str, np.ndarray]:
        """The same, estimated from the forests of a few sentences; none where no forest is needed."""
        if question in ("viterbi", "generative") and not (costs or len(self.space.spans)):
            return {}
        return {"node": offsets_of(np.ceil(self._sizes()[0]).astype(np.int64))}

    def working_bytes(self, question: str, *, costs: bool = False) -> int:
        """Bytes of the forests that are kept, and of what is made of the largest ones.

        Parameters
        ----------
        question : {"viterbi", "generative", "expect", "tangent"}
            What the recursions are asked for.
        costs : bool
            Whether parts have costs.
        """
        busy = n_threads(self.n_jobs)
        longest = np.sort(self._lengths)[-busy:].astype(np.float64)
        chart = _BYTES_OF_CHART * self.grammar.context.shape[1] * (longest**2).sum()
        if question in ("viterbi", "generative") and not (costs or len(self.space.spans)):
            return int(chart)
        nodes, edges = self._sizes()
        if question == "expect" and not len(self.space.spans):  # sums over the trees of others need no forest
            edges = edges * self.store.listed[self.index]
        kept = min(float(edges.sum()), self.limits.kept_edges) / max(float(edges.sum()), 1.0)
        held = kept * (_BYTES_KEPT * edges.sum() + _BYTES_OF_NODE * nodes.sum())
        return int(chart + held + _BYTES_MADE * np.sort(edges)[-busy:].sum())

    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and edges of every forest, about."""
        return self.remembered("sizes", lambda: forest_sizes(self.store, self.index))

    def part_contexts(self) -> PartContexts:
        """Symbols or rules with the words that they span and those around."""
        return span_contexts(self)

    def context_places(self, codes: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that the rules of given trees derive, or these rules there."""
        owner = np.repeat(np.arange(len(codes)), codes.lengths)
        if self.compares_rules:
            return owner, self._site_places(codes)
        return owner, self._nodes(codes) + self.node_ptr[owner]

    def _run(self, task: Callable[[int, int], Any]) -> list[Any]:
        work = offsets_of(self._lengths**3 + 100)
        return run(task, balanced_chunks(work, self.limits.work_per_chunk), n_threads(self.n_jobs))

    def _rows(self, scores: Parts) -> np.ndarray:
        """Scores of the rules of the recursions, shape (1 or n_samples, n_dp_rules)."""
        rule = np.atleast_2d(np.zeros(self.space.n_features) if scores.rule is None else scores.rule)
        padded = np.concatenate([rule, np.zeros((rule.shape[0], 1))], axis=1)
        return np.ascontiguousarray(padded[:, self.grammar.feature], dtype=np.float64)

    def _walk(
        self, scores: Parts, costs: Parts | None
    ) -> Callable[[int, int], Iterator[tuple[int, Forest, np.ndarray]]]:
        """Function that gives number, forest and edge scores of a range of samples."""
        total = scores if costs is None else scores + costs
        rows = self._rows(total)
        offsets = None if total.node is None else self.node_ptr
        site = total.__dict__.get("site")
        site_ptr = None if site is None else self.site_ptr

        def walk(a: int, b: int) -> Iterator[tuple[int, Forest, np.ndarray]]:
            for i in range(a, b):
                forest = self.forest(i)
                edge = rows[min(i, rows.shape[0] - 1)][forest.rule]
                if offsets is not None:
                    edge = edge + forest.node_scores(total.node[offsets[i] : offsets[i + 1]])
                if site is not None and site_ptr is not None:
                    edge = edge + site[site_ptr[i] : site_ptr[i + 1]][self.sites(i).edge]
                yield i, forest, edge

        return walk

    def _map(
        self, scores: Parts, costs: Parts | None, task: Callable[[int, Forest, np.ndarray], Any]
    ) -> list[Any]:
        """``task(i, forest, edge scores)`` of every sample, in order."""
        walk = self._walk(scores, costs)
        return [item for part in self._run(lambda a, b: [task(*one) for one in walk(a, b)]) for item in part]

    # -- outputs -----------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given trees; -inf where there are no codes."""
        rows = self._rows(scores)
        owner = np.repeat(np.arange(len(codes)), codes.lengths)
        values = rows[np.minimum(owner, rows.shape[0] - 1), codes.values]
        if scores.node is not None:
            values = values + scores.node[self._nodes(codes) + np.repeat(self.node_ptr[:-1], codes.lengths)]
        if scores.__dict__.get("site") is not None:
            values = values + scores.site[self._site_places(codes)]
        total = np.bincount(owner, values, minlength=len(codes))
        return np.where(codes.lengths > 0, total, -np.inf)

    def unpack(self, codes: Ragged) -> list[Any]:
        """Codes to trees; row ``i`` belongs to sample ``i``."""
        if len(codes) != len(self):
            raise ValueError(f"{len(codes)} outputs for {len(self)} samples; see unpack_sample")
        rows = enumerate(zip(self.inputs, codes, strict=True))
        return [self.space.output(x, row, i) for i, (x, row) in rows]

    def items(self, codes: Ragged) -> list[Any]:
        """Labelled brackets of given trees, tags left out."""
        return [brackets(tree) for tree in self._trees(codes)]

    def _trees(self, codes: Ragged) -> Iterator[Node]:
        for x, row in zip(self.inputs, codes, strict=True):
            yield self.space.tree(x, row)

    def unpack_sample(self, i: int, codes: Ragged) -> list[Any]:
        """Several trees of sample ``i``."""
        return [self.space.output(self.inputs[i], row, i) for row in codes]

    def unpack_marginals(self, parts: Parts) -> list[dict[tuple[str, int, int], float]]:
        """Per sample, how often each label is expected over words start to end - 1: ``(label, start, end)``.

        A probability, unless trees may repeat the label over the same words.
        """
        offsets = self.node_ptr
        return [
            self.space.brackets.totals(self.forest(i), parts.node[offsets[i] : offsets[i + 1]])
            for i in range(len(self))
        ]

    def check_gold(self) -> None:
        """Refuse true trees that were packed with ``unknown="mark"`` and are not of this grammar."""
        bad = np.flatnonzero(self.gold_codes.lengths == 0)
        if bad.size:
            raise InputError("the given tree is not one of this grammar", sample=int(bad[0]))

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the label) for every bracket or tag that the true tree lacks."""
        costs = []
        for i, row in enumerate(self.gold_codes):
            forest = self.forest(i)
            gold = self.space.brackets.of_nodes(forest, self._nodes_of(i, row)) if row.size else set()
            costs.append(self.space.brackets.missing(forest, gold, label_weight))
        costs_of_nodes = Parts(rule=None, node=np.concatenate([np.zeros(0), *costs]))
        return self.known_costs(costs_of_nodes, np.zeros(len(self)))

    def gold_sizes(self) -> np.ndarray:
        """Brackets and tags of each true tree."""
        sizes = [
            self.space.brackets.sizes(self.forest(i))[self._nodes_of(i, row)].sum()
            for i, row in enumerate(self.gold_codes)
        ]
        return np.array(sizes, dtype=np.int64)

    def bracket_costs(self) -> tuple[Parts, np.ndarray] | None:
        """Cost 1 for every bracket or tag that the true tree lacks, -1 for the others; how many it has.

        None where chains of unary rules may repeat a label: the costs of nodes do not tell how often.
        """
        if self.space.brackets.repeat:
            return None
        node, constant = [np.zeros(0)], np.zeros(len(self))
        for i, row in enumerate(self.gold_codes):
            forest, gold = self.forest(i), self._nodes_of(i, row)
            size = self.space.brackets.sizes(forest)
            node.append(size - 2 * self.space.brackets.right(forest, gold))
            constant[i] = size[gold].sum()
        return Parts(rule=None, node=np.concatenate(node)), constant

    def _bracket_counts(self, i: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Brackets of the true tree; per edge, its brackets and how many of them are right."""
        row = self.gold_codes[i]
        key = (int(self.index[i]), row.tobytes())
        counts = self.store.counts.get(key)
        if counts is None:
            counts = self.space.brackets.phrase_counts(self.forest(i), self._nodes_of(i, row), row)
            self.store.counts[key] = counts
        return counts

    @property
    def is_generative(self) -> bool:
        """Whether weights are log-probabilities: those of rules."""
        return True

    def generative_weights(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Log-probabilities of the rules given their heads, smoothed: a probabilistic grammar."""
        return self.log_probabilities(smoothing, weights, counts)

    def multinomials(self) -> dict[str, np.ndarray]:
        """Rules of every symbol; the choice of the whole tree's symbol is under ``""``."""
        heads: dict[str, list[int]] = {}
        for number, rule in enumerate(self.space.rules):
            heads.setdefault("" if rule[0] == "root" else rule[1], []).append(number)
        return {head: np.array(rules, dtype=np.int64) for head, rules in heads.items()}
