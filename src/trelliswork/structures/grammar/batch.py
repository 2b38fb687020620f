"""Packed sentences of a grammar and their verbs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.abilities import CountedParts, Factored, LossProfiles
from trelliswork.structures.base import Decoded, Parts, Unsupported
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.derivations import graph as derivations_graph
from trelliswork.structures.factors import Factors, RuleFactors
from trelliswork.structures.grammar.forest import Forest
from trelliswork.structures.grammar.parts import GrammarParts

__all__ = ["GrammarBatch"]


class GrammarBatch(GrammarParts, LossProfiles, CountedParts, Factored):
    """Sentences with the trees that a grammar gives them, and every question about these."""

    def listing_work(self) -> float:
        """Within 1 the forests of all sentences are made anyway."""
        work = sum(self.store.words[i].size ** 3 for i in self.index.tolist())
        return work / self.limits.listed_work

    def factors(self) -> Factors:
        """One factor per symbol and stretch of words; its values are rules with their splits."""
        d = self.space.n_features
        if len(self.space.spans):
            raise Unsupported(
                "a Grammar with span_features does not tell its factors; use span_features=None"
            )

        def edges(i: int) -> tuple[int, int, np.ndarray]:
            forest = self.forest(i)
            feature = self.grammar.feature[forest.rule] % (d + 1)
            used = np.bincount(feature, minlength=d + 1)[:d].astype(np.float64)
            return int(np.count_nonzero(np.diff(forest.graph.node_ptr))), feature.size, used

        return RuleFactors((edges(i) for i in range(len(self))), d)

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best tree of every sample; no codes and the value -inf where there is none."""
        if self.store.everything and (costs is None or costs.node is None) and _of_rules_alone(scores):
            return self._best(self._rows(scores if costs is None else scores + costs))
        return self._from_forests(scores, costs)

    def _best(self, rows: np.ndarray) -> Decoded:
        from trelliswork.dp.grammar import viterbi

        t = self.grammar
        words = Ragged.from_list([self.store.words[i] for i in self.index], np.int64)
        beam = self.space.beam

        def chunk(a: int, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return viterbi.viterbi(
                t.arrays, t.context, t.word_class, rows, words.offsets, words.values, beam, a, b
            )

        chunks = self._run(chunk)
        values = np.concatenate([np.zeros(0), *(v for v, _, _ in chunks)])
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(ptr) for _, ptr, _ in chunks)])
        codes = np.concatenate([np.zeros(0, dtype=np.int64), *(rules for _, _, rules in chunks)])
        return Decoded(Ragged(codes, offsets_of(lengths)), values)

    def _from_forests(self, scores: Parts, costs: Parts | None) -> Decoded:
        from trelliswork.dp.derivations import hypergraph

        def task(i: int, forest: Forest, edge: np.ndarray) -> tuple[np.ndarray, float]:
            best = np.empty(forest.n_nodes)
            back = np.empty(forest.n_nodes, dtype=np.int64)
            g = forest.graph
            hypergraph.viterbi(*g, edge, 0, 1, best, back)
            _, edges = hypergraph.derivations(g.graph_ptr, g.tail_ptr, g.tails, 0, 1, back)
            return forest.rule[edges], float(best[-1])

        trees = self._map(scores, costs, task)
        codes = Ragged.from_list([row for row, _ in trees], np.int64)
        return Decoded(codes, np.array([value for _, value in trees], dtype=np.float64))

    def mea(self, scores: Parts) -> Decoded:
        """Tree with most expected brackets and tags of every sample, and their number (max-recall)."""
        expected = self.marginals(scores, each=True)
        offsets = self.node_ptr
        node = np.zeros(int(offsets[-1]))
        for i in range(len(self)):
            forest, nodes = self.forest(i), slice(offsets[i], offsets[i + 1])
            node[nodes] = self.space.brackets.expected(forest, expected.node[nodes])
        return self._from_forests(Parts(rule=None, node=node), None)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best trees; a sentence without trees has one entry without codes, of value -inf."""
        if k == 1:  # needs no list of all trees, which are many where words are unknown
            best = self.argmax(scores, costs)
            return [
                Decoded(Ragged(codes, [0, codes.size]), best.values[i : i + 1])
                for i, codes in enumerate(best.codes)
            ]
        from trelliswork.dp.derivations import hypergraph
        from trelliswork.dp.derivations import kbest as derivations_kbest

        def task(i: int, forest: Forest, edge: np.ndarray) -> Decoded:
            best = np.empty(forest.n_nodes)
            back = np.empty(forest.n_nodes, dtype=np.int64)
            hypergraph.viterbi(*forest.graph, edge, 0, 1, best, back)
            if best[-1] == -np.inf:
                return Decoded(Ragged(np.zeros(0, dtype=np.int64), [0, 0]), np.array([-np.inf]))
            _, totals, ptr, edges = derivations_kbest.kbest(*forest.graph, edge, 0, 1, k, best, back)
            n = totals.size
            return Decoded(Ragged(forest.rule[edges[: ptr[n]]], ptr[: n + 1]), totals)

        return self._map(scores, costs, task)

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all trees; -inf where there is none."""
        from trelliswork.dp.derivations import hypergraph
        from trelliswork.dp.grammar import inside

        augmented = scores if costs is None else scores + costs
        rows, t = self._rows(augmented), self.grammar
        walk = self._walk(augmented, None)

        def chunk(a: int, b: int) -> list[float]:
            out = []
            for i in range(a, b):
                if _of_rules_alone(augmented) and self.store.everything:  # a forest costs more than one sum
                    row, words = rows[min(i, rows.shape[0] - 1)], self.store.words[self.index[i]]
                    out.append(inside.inside(t.arrays, t.context, t.word_class, row, words)[0])
                    continue
                [(_, forest, edge)] = walk(i, i + 1)
                log_beta = np.empty(forest.n_nodes)
                hypergraph.inside(*forest.graph, edge, 0, 1, log_beta)
                out.append(float(log_beta[-1]))
            return out

        return np.array([value for part in self._run(chunk) for value in part], dtype=np.float64)

    def _is_long(self, i: int) -> bool:
        """Whether sums over the trees of a sample are taken without its forest."""
        return not self.store.listed[self.index[i]]

    def _sum_long(self, i: int, row: np.ndarray, weight: float, total: np.ndarray) -> float:
        """Log partition of a sample; adds its weighted expected rule counts to ``total``."""
        from trelliswork.dp.grammar import inside

        t, words = self.grammar, self.store.words[self.index[i]]
        chart = inside.inside(t.arrays, t.context, t.word_class, row, words)
        expected = np.zeros(row.size)
        inside.outside(t.arrays, row, words, *chart, expected)
        d = self.space.n_features
        total += np.bincount(t.feature % (d + 1), expected * weight, minlength=d + 1)[:d]
        return chart[0]

    def _expected(
        self,
        scores: Parts,
        costs: Parts | None,
        weights: np.ndarray | None,
        along: Parts | None = None,
        *,
        each: bool = False,
        nodes: bool = True,
    ) -> tuple[np.ndarray, Parts]:
        """Log partition, and the marginals or, along a direction, their derivative."""
        from trelliswork.dp.derivations import hypergraph

        n, d = len(self), self.space.n_features
        if each:
            _check_rows(n, d, self.limits.row_bytes)
        weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        augmented = scores if costs is None else scores + costs
        walk, rows = self._walk(augmented, None), self._rows(augmented)
        summed = not nodes and along is None and _of_rules_alone(augmented)
        sites = any(
            parts is not None and parts.__dict__.get("site") is not None for parts in (augmented, along)
        )
        shift = None if along is None else self._rows(along)
        offsets = None if along is None or along.node is None else self.node_ptr
        shifted = None if along is None else along.__dict__.get("site")
        site_ptr = None if shifted is None else self.site_ptr
        log_z = np.empty(n)

        def chunk(a: int, b: int) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
            total, by_node, by_site = np.zeros((b - a if each else 1, d)), [], []
            for i in range(a, b):
                counts = total[i - a if each else 0]
                if summed and self._is_long(i):
                    log_z[i] = self._sum_long(i, rows[min(i, rows.shape[0] - 1)], weight[i], counts)
                    continue
                [(_, forest, edge)] = walk(i, i + 1)
                g, size = forest.graph, forest.n_nodes
                log_beta, rho_node, rho = np.empty(size), np.empty(size), np.empty(edge.size)
                hypergraph.inside(*g, edge, 0, 1, log_beta)
                hypergraph.marginals(*g, edge, 0, 1, log_beta, rho_node, rho)
                log_z[i] = log_beta[-1]
                if along is not None and shift is not None:
                    direction = shift[min(i, shift.shape[0] - 1)][forest.rule]
                    if offsets is not None:
                        direction = direction + forest.node_scores(along.node[offsets[i] : offsets[i + 1]])
                    if shifted is not None and site_ptr is not None:
                        direction = direction + shifted[site_ptr[i] : site_ptr[i + 1]][self.sites(i).edge]
                    slope, moved = np.empty(1), np.empty(edge.size)
                    hypergraph.tangent(*g, edge, 0, 1, log_beta, rho, direction, slope, moved)
                    rho = moved
                rho = rho * weight[i]
                # The last place collects rules that stand for no rule of the grammar.
                feature = self.grammar.feature[forest.rule] % (d + 1)
                counts += np.bincount(feature, rho, minlength=d + 1)[:d]
                if nodes:
                    by_node.append(forest.per_node(rho))
                if sites:
                    place = self.sites(i)
                    by_site.append(np.bincount(place.edge, rho, minlength=place.node.size))
            return total, by_node, by_site

        chunks = self._run(chunk)
        node = np.concatenate([np.zeros(0), *(values for _, part, _ in chunks for values in part)])
        rule = np.concatenate([np.zeros((0, d)), *(total for total, _, _ in chunks)])
        expected = {"rule": rule if each else rule.sum(axis=0), "node": node if nodes else None}
        if sites:
            expected["site"] = np.concatenate([np.zeros(0), *(v for *_, part in chunks for v in part)])
        return log_z, Parts(**expected)

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Expected number of uses of every rule and of every node."""
        return self._expected(scores, costs, weights, each=each)[1]

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected rule counts, in one pass."""
        spans = len(self.space.spans) > 0
        log_z, expected = self._expected(self.scores(w), costs, weights, nodes=spans)
        return log_z, self.pull(expected)

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction in rule and node scores."""
        return self._expected(scores, costs, weights, direction, each=each)[1]

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent trees from the Gibbs law of the scores; no codes where there is no tree."""
        from trelliswork.dp.derivations import hypergraph

        seeds = rng.integers(-(2**63), 2**63 - 1, size=len(self)).tolist()

        def task(i: int, forest: Forest, edge: np.ndarray) -> list[np.ndarray]:
            log_beta = np.empty(forest.n_nodes)
            hypergraph.inside(*forest.graph, edge, 0, 1, log_beta)
            ptr, edges = hypergraph.sample(*forest.graph, edge, 0, 1, log_beta, n, seeds[i])
            rules = forest.rule[edges]
            return [rules[ptr[r] : ptr[r + 1]] for r in range(n)]

        draws = self._map(scores, None, task)
        return [Ragged.from_list([drawn[r] for drawn in draws], np.int64) for r in range(n)]

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs, shape (n_samples, max_loss + 1)."""
        whole = self._integer(costs)

        def task(i: int, forest: Forest, edge: np.ndarray) -> np.ndarray:
            return derivations_graph.loss_profile(forest.graph, edge, whole(i, forest), max_loss)

        return np.concatenate([np.zeros((0, max_loss + 1)), *self._map(scores, None, task)])

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best tree of every sample among those with the given total cost."""
        whole, losses = self._integer(costs), np.asarray(losses, dtype=np.int64)

        def task(i: int, forest: Forest, edge: np.ndarray) -> tuple[np.ndarray, float]:
            edges, value = derivations_graph.argmax_at_loss(
                forest.graph, edge, whole(i, forest), losses[i : i + 1], i
            )
            return forest.rule[edges[0]], float(value[0])

        trees = self._map(scores, None, task)
        codes = Ragged.from_list([row for row, _ in trees], np.int64)
        return Decoded(codes, np.array([value for _, value in trees], dtype=np.float64))

    def argmax_by_counts(
        self, scores: Parts, choose: Callable[[int, int, np.ndarray], tuple[int, int]]
    ) -> tuple[Decoded, np.ndarray]:
        """Best tree with certain numbers of brackets and of right brackets (tags left out)."""
        from trelliswork.dp.derivations import counts as derivations_counts

        if self.space.brackets.repeat:
            raise Unsupported(
                "unary rules may repeat a label over the same words, so that right brackets cannot be "
                "counted node by node; use unary='collapse'"
            )
        chosen = np.zeros((len(self), 2), dtype=np.int64)

        def task(i: int, forest: Forest, edge: np.ndarray) -> tuple[np.ndarray, float]:
            n_true, *counts = self._bracket_counts(i)
            graph = forest.graph[1:]
            tables = derivations_counts.count_profile(*graph, edge, *counts)
            height, width, start, values = tables
            root = values[start[-2] :].reshape(height[-1], width[-1])
            chosen[i] = row, column = choose(i, n_true, root)
            edges = derivations_counts.count_derivation(*graph, edge, *counts, *tables, row, column)
            return forest.rule[edges], float(root[row, column])

        decoded = self._map(scores, None, task)
        codes = Ragged.from_list([row for row, _ in decoded], np.int64)
        return Decoded(codes, np.array([value for _, value in decoded], dtype=np.float64)), chosen

    def _integer(self, costs: Parts) -> Callable[[int, Forest], np.ndarray]:
        """Function that gives the integer costs of the edges of a sample."""
        if costs.rule is not None and np.any(costs.rule):
            raise InputError("a loss profile takes costs of nodes, not of rules")
        offsets = self.node_ptr
        node = derivations_graph.integer_costs(
            np.zeros(int(offsets[-1])) if costs.node is None else costs.node
        )
        return lambda i, forest: forest.node_scores(node[offsets[i] : offsets[i + 1]])

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments of the rule counts."""
        return _RuleCovariance(self, scores, weights, about)

    def count(self) -> list[int]:
        """Exact number of trees of every sample."""
        from trelliswork.dp.derivations import hypergraph

        zeros = self.scores(np.zeros(self.space.n_features))
        return self._map(zeros, None, lambda i, forest, edge: hypergraph.count(*forest.graph)[0])


class _RuleCovariance(Covariance):
    """Second moments of rule counts."""

    batch: GrammarBatch

    def _covariance(self) -> np.ndarray:
        from trelliswork.dp.derivations import hypergraph

        batch, d = self.batch, self.n_features
        if d > batch.limits.increment_features or len(batch.space.spans):
            return super()._covariance()
        weight = np.ones(len(batch)) if self.weights is None else self.weights

        walk = batch._walk(self.law, None)

        def chunk(a: int, b: int) -> np.ndarray:
            total = np.zeros((d, d))
            for i, forest, edge in walk(a, b):
                log_beta = np.empty(forest.n_nodes)
                feature = batch.grammar.feature[forest.rule]
                ptr, fired = offsets_of(feature >= 0), feature[feature >= 0]
                features = (ptr, fired, np.ones(fired.size))
                sums = (weight[i : i + 1], total, np.empty((1, d)))
                hypergraph.inside(*forest.graph, edge, 0, 1, log_beta)
                hypergraph.moments_dense(*forest.graph, edge, features, 0, 1, log_beta, *sums)
            return total

        return sum(batch._run(chunk), np.zeros((d, d)))


def _of_rules_alone(scores: Parts) -> bool:
    """Whether scores are those of rules, wherever these are."""
    return scores.node is None and scores.__dict__.get("site") is None


def _check_rows(n: int, d: int, max_bytes: int) -> None:
    if 8 * n * d > max_bytes:
        raise InputError(
            f"one value per sample and rule ({n:,} x {d:,}) takes {8 * n * d / 2**30:,.0f} GiB; take fewer"
        )
