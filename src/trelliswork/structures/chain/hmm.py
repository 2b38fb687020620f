"""Smoothed relative frequencies of a label chain: the hidden Markov model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.base import Parts
from trelliswork.structures.normal import normal_law_of
from trelliswork.structures.tokens import Layout, TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.space import ChainSpace

__all__ = [
    "count_tokens",
    "hmm_choices",
    "hmm_log_probabilities",
    "hmm_scores",
    "hmm_weights",
    "normal_weights",
    "scores_each",
    "unknown_tokens",
]


def hmm_weights(batch: ChainBatch, log_p: np.ndarray) -> np.ndarray:
    """Weights that score label sequences by log-probabilities; ``log_p`` may have several rows.

    Orders above 1 telescope: the weight of an n-gram is the log-ratio of its conditional
    probability to that of the shorter one, so that a context scores exactly log p(label given
    context). Stopping depends on the last label alone, whatever the order; longer contexts
    share out what it leaves.
    """
    space = batch.space
    if space.order == 1:
        return log_p
    out = np.array(log_p, dtype=np.float64)
    first = space.n_emissions + space.n_edges
    go_on = np.zeros((*out.shape[:-1], space.n_labels))
    if "end" in space.marker_names:
        marker = len(space.attributes) + space.marker_names.index("end")
        attribute, label = space.emission_layout.positions()
        stop = np.flatnonzero(attribute == marker)
        may_stop = np.ones(space.n_labels, dtype=bool) if space.end_mask is None else space.end_mask
        with np.errstate(divide="ignore"):
            go_on[..., label[stop]] = np.where(
                may_stop[label[stop]], np.log1p(-np.exp(log_p[..., stop])), 0.0
            )
    place = {gram: first + number for number, gram in enumerate(space.ngrams)}
    for gram, number in place.items():
        if len(gram) > 2:
            out[..., number] -= log_p[..., place[gram[1:]]] if gram[1:] in place else 0.0
        if len(gram) == 3:
            out[..., number] += go_on[..., gram[1]]
    return out


def hmm_choices(batch: ChainBatch) -> dict[Any, np.ndarray]:
    """Features of each choice of a hidden Markov model: first labels, what follows, emissions."""
    space = batch.space
    names = space.marker_names
    attribute, label = space.emission_layout.positions()
    kind = np.maximum(attribute - len(space.attributes), -1)  # number of the marker, -1 for attributes
    free = np.ones(space.n_labels, dtype=bool)
    out: dict[Any, np.ndarray] = {}
    if "start" in names:
        allowed = free if space.start_mask is None else space.start_mask
        out[("start",)] = np.flatnonzero((kind == names.index("start")) & allowed[label])
    after: dict[tuple[int, ...], list[int]] = {}
    for number, gram in enumerate(space.ngrams, space.n_emissions + space.n_edges):
        after.setdefault(gram[:-1], []).append(number)
    if "end" in names:
        allowed = free if space.end_mask is None else space.end_mask
        for feature in np.flatnonzero((kind == names.index("end")) & allowed[label]).tolist():
            after.setdefault((int(label[feature]),), []).append(feature)
    for context, features in sorted(after.items()):
        out[("transition", *(space.labels[i] for i in context))] = np.array(features, dtype=np.int64)
    symbol = (kind < 0) | (kind == names.index("unknown")) if "unknown" in names else kind < 0
    for i, name in enumerate(space.labels):
        out[("emission", name)] = np.flatnonzero(symbol & (label == i))
    return out


def scores_each(batch: ChainBatch, W: np.ndarray) -> Parts:
    """Part scores of one weight vector per sequence."""
    space, k = batch.space, batch.space.n_labels
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    grams = W[:, space.n_emissions + space.n_edges :]
    trans = np.asarray((space.ngram_matrix @ grams.T).T).reshape(len(batch), space.successor.shape[0], k)
    pairs = None
    if batch.joint is not None:
        entries = batch.joint.matrix.tocoo()
        edges = W[owner[batch.joint.token[entries.row]], space.n_emissions + entries.col]
        pairs = np.bincount(entries.row, entries.data * edges, minlength=entries.shape[0])
    elif batch.edge is not None and space.edge_layout is not None:
        edges = W[:, space.n_emissions : space.n_emissions + space.n_edges]
        pairs = _token_scores(batch.edge, edges, space.edge_layout, owner).reshape(-1, k, k)
    unary = _token_scores(batch.emission, W[:, : space.n_emissions], space.emission_layout, owner)
    return Parts(unary=unary, trans=np.ascontiguousarray(trans), edge=pairs)


def _token_scores(tokens: TokenMap, W: np.ndarray, layout: Layout, owner: np.ndarray) -> np.ndarray:
    """Sums of the weights of the attributes of every token, each with the weights of its owner."""
    entries = tokens.token_matrix().tocoo()
    sequence, columns = owner[entries.row], np.arange(layout.n_columns)
    flat = entries.col[:, None].astype(np.int64) * layout.n_columns + columns
    if layout.flat is None:
        values = W[sequence[:, None], flat]
    else:
        place = np.minimum(np.searchsorted(layout.flat, flat), layout.flat.size - 1)
        values = np.where(layout.flat[place] == flat, W[sequence[:, None], place], 0.0)
    gather = sp.csr_matrix((entries.data, (entries.row, np.arange(entries.nnz))), (owner.size, entries.nnz))
    return np.asarray(gather @ values)


def hmm_log_probabilities(
    batch: ChainBatch,
    smoothing: float,
    weights: np.ndarray | None,
    counts: np.ndarray | None = None,
    *,
    any_values: bool = False,
) -> np.ndarray:
    """Log-probabilities of a hidden Markov model of the chain's order.

    Emissions of a label are one multinomial over all attributes and the unknown symbol. Where a token is
    one symbol and none was unknown, unknown ones count as often as those that were seen once: smoothing
    alone would give them to the rarest labels.
    With end weights, "stop" is one more outcome of each transition, so that the model is a
    distribution over sequences of every length. Of an n-gram it is the probability of its last
    label after the others, in longer n-grams among those that do not stop. Attributes with negative
    values are no counts: with ``any_values`` a model of the labels alone comes out, else an error.
    ``counts`` are those of all features, where they are expectations; by default those of the true labels.
    """
    space = batch.space
    a = smoothing
    k = space.n_labels
    emitted, _, grams = space.split(batch.gold_sum(weights) if counts is None else counts)
    gold = space.emission_layout.table(emitted)
    n_real = len(space.attributes)
    markers = dict(zip(space.marker_names, range(n_real, n_real + space.n_markers), strict=True))
    seen = gold[:n_real]
    countable = not (seen.size and seen.min() < 0)
    if not countable and not any_values:
        raise InputError("Generative needs counts: the features must not be negative; use CRF or Perceptron")
    table = np.zeros_like(gold)
    unknown_counts = gold[markers["unknown"]] if "unknown" in markers else np.zeros(k)
    if "unknown" in markers and countable and counts is None and not unknown_counts.any():
        tokens = batch.summed(count_tokens, weights=weights)
        if seen.sum() <= tokens:  # a token is one symbol
            unknown_counts = seen[seen.sum(axis=1) == 1.0].sum(axis=0)
    total = seen.sum(axis=0) + unknown_counts + a * (n_real + 1)
    if countable:
        table[:n_real] = np.log((seen + a) / total)
    if countable and "unknown" in markers:
        table[markers["unknown"]] = np.log((unknown_counts + a) / total)
    if "start" in markers:
        starts = gold[markers["start"]]
        allowed = np.ones(k, bool) if space.start_mask is None else space.start_mask
        table[markers["start"]] = np.log((starts + a) / (starts.sum() + a * allowed.sum()))
    stops = gold[markers["end"]] if "end" in markers else None
    log_grams, log_stops = _ngram_log_probabilities(batch, grams, stops, a)
    if stops is not None:
        table[markers["end"]] = log_stops
    edges = np.zeros(space.n_edges)
    return np.concatenate([space.emission_layout.gather(table), edges, log_grams])


def normal_weights(batch: ChainBatch, smoothing: float, weights: np.ndarray | None) -> np.ndarray:
    """Weights of a hidden Markov model whose labels emit normal distributions with one covariance.

    What a distribution adds at every token is in the weights of first labels and transitions.
    """
    space = batch.space
    n_real = len(space.attributes)
    log_p = hmm_log_probabilities(batch, smoothing, weights, any_values=True)
    emitted, edges, grams = space.split(hmm_weights(batch, log_p))
    law = normal_law_of(batch, weights)
    table = space.emission_layout.table(emitted).copy()
    table[:n_real] = law.weights
    table[n_real + space.marker_names.index("start")] += law.bias
    if "unknown" in space.marker_names:
        table[n_real + space.marker_names.index("unknown")] = 0.0
    grams = grams.copy()
    for number, gram in enumerate(space.ngrams):
        if len(gram) == 2:
            grams[number] += law.bias[gram[1]]
    return np.concatenate([space.emission_layout.gather(table), edges, grams])


def count_tokens(batch: ChainBatch, weights: np.ndarray | None) -> float:
    """Number of tokens, times the weights of their sequences."""
    return float(batch.n_tokens if weights is None else weights @ np.diff(batch.offsets))


def unknown_tokens(batch: ChainBatch, weights: np.ndarray | None) -> int:
    """Number of tokens without a known attribute; their marker is the last attribute of all."""
    return int(np.count_nonzero(batch.emission.blocks[-1].index >= 0))


def hmm_scores(batch: ChainBatch, w: np.ndarray) -> Parts:
    """Part scores in which the log-probabilities of the attributes of a token are averaged.

    Overlapping attributes say the same thing several times; their sum would be far too sure.
    """
    space = batch.space
    k, n_real = space.n_labels, len(space.attributes)
    table = space.emission_layout.table(space.split(w)[0])
    tokens = batch.emission.token_matrix()
    real_columns = tokens[:, :n_real]
    total = np.asarray(real_columns.sum(axis=1)).ravel()
    unary = np.asarray(real_columns @ table[:n_real]) / np.where(total > 1.0, total, 1.0)[:, None]
    unary += tokens[:, n_real:] @ table[n_real:]
    grams = (space.ngram_matrix @ space.split(w)[2]).reshape(-1, k)
    return Parts(unary=unary, trans=grams, edge=batch._no_edges())


def _ngram_log_probabilities(
    batch: ChainBatch, counts: np.ndarray, stops: np.ndarray | None, a: float
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the last labels of n-grams, and of stopping after each label."""
    space = batch.space
    k = space.n_labels
    if space.sparse is not None:
        return _sparse_log_probabilities(batch, counts, stops, a)
    grams, log_stops = np.zeros(len(space.ngrams)), np.zeros(k)
    for j in range(1, space.order + 1):
        base, n_contexts = int(space.level_ptr[j - 1]), k**j
        place = {
            number: (sum(label * k**power for power, label in enumerate(gram[-2::-1])), gram[-1])
            for number, gram in enumerate(space.ngrams)
            if len(gram) == j + 1
        }
        numbers = np.array(list(place), dtype=np.int64)
        context, last = np.array(list(place.values()), dtype=np.int64).reshape(-1, 2).T
        pair = np.zeros((n_contexts, k))
        pair[context, last] = counts[numbers]
        outcomes = space.context_mask[base : base + n_contexts].sum(axis=1).astype(np.float64)
        seen = pair.sum(axis=1)
        if stops is not None and j == 1:
            seen, outcomes, log_stops = _with_stops(space, stops, a, seen, outcomes)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log((pair + a) / (seen + a * outcomes)[:, None])
        grams[numbers] = log_p[context, last]
    return grams, log_stops


def _with_stops(
    space: ChainSpace, stops: np.ndarray, a: float, seen: np.ndarray, outcomes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and numbers of outcomes after each label with stopping as one more, and its log-probability,
    which is of no account where the scheme forbids an end.
    """
    may_stop = np.ones(space.n_labels, dtype=bool) if space.end_mask is None else space.end_mask
    seen, outcomes = seen + stops, outcomes + may_stop
    return seen, outcomes, np.log((stops + a) / np.maximum(seen + a * outcomes, a))


def _sparse_log_probabilities(
    batch: ChainBatch, counts: np.ndarray, stops: np.ndarray | None, a: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same for n-grams that are kept as observed."""
    space = batch.space
    out, log_stops = np.zeros(len(space.ngrams)), np.zeros(space.n_labels)
    lengths = np.array([len(gram) for gram in space.ngrams], dtype=np.int64)
    for n in range(2, int(lengths.max(initial=1)) + 1):
        wanted = np.flatnonzero(lengths == n)
        grams = np.array([space.ngrams[i] for i in wanted], dtype=np.int64).reshape(-1, n)
        contexts, group = np.unique(grams[:, :-1], axis=0, return_inverse=True)
        seen: np.ndarray = np.bincount(group.ravel(), counts[wanted], minlength=len(contexts))
        outcomes = space.context_mask[contexts[:, -1]].sum(axis=1).astype(np.float64)
        if stops is not None and n == 2:
            after = np.zeros(space.n_labels)
            after[contexts[:, 0]] = seen
            choices = space.context_mask[: space.n_labels].sum(axis=1).astype(np.float64)
            totals, choices, log_stops = _with_stops(space, stops, a, after, choices)
            seen, outcomes = totals[contexts[:, 0]], choices[contexts[:, 0]]
        out[wanted] = np.log((counts[wanted] + a) / (seen + a * outcomes)[group.ravel()])
    return out, log_stops
