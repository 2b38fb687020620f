"""Smoothed relative frequencies of a label chain: the hidden Markov model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, gather_ranges_of, match_rows, ngram_windows
from trelliswork.structures.base import Parts
from trelliswork.structures.chain.contexts import context_before
from trelliswork.structures.tokens import Layout, TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["hmm_choices", "hmm_log_probabilities", "hmm_scores", "hmm_weights", "scores_each"]


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
    for i, own in enumerate(space.labels):
        out[("emission", own)] = np.flatnonzero(symbol & (label == i))
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
        at = np.minimum(np.searchsorted(layout.flat, flat), layout.flat.size - 1)
        values = np.where(layout.flat[at] == flat, W[sequence[:, None], at], 0.0)
    gather = sp.csr_matrix((entries.data, (entries.row, np.arange(entries.nnz))), (owner.size, entries.nnz))
    return np.asarray(gather @ values)


def hmm_log_probabilities(
    batch: ChainBatch, smoothing: float, weights: np.ndarray | None, *, any_values: bool = False
) -> np.ndarray:
    """Log-probabilities of a hidden Markov model of the chain's order.

    Emissions of a label are one multinomial over all attributes and the unknown symbol.
    With end weights, "stop" is one more outcome of each transition, so that the model is a
    distribution over sequences of every length. Of an n-gram it is the probability of its last
    label after the others, in longer n-grams among those that do not stop. Attributes with negative
    values are no counts: with ``any_values`` a model of the labels alone comes out, else an error.
    """
    space = batch.space
    a = smoothing
    k = space.n_labels
    parts = batch.indicators(batch.gold_codes, weights)
    gold = space.emission_layout.table(batch.pull(parts)[: space.n_emissions])
    n_real = len(space.attributes)
    markers = dict(zip(space.marker_names, range(n_real, n_real + space.n_markers), strict=True))
    counts = gold[:n_real]
    countable = not (counts.size and counts.min() < 0)
    if not countable and not any_values:
        raise InputError("Generative needs counts: the features must not be negative; use CRF or Perceptron")
    table = np.zeros_like(gold)
    unknown_counts = gold[markers["unknown"]] if "unknown" in markers else np.zeros(k)
    total = counts.sum(axis=0) + unknown_counts + a * (n_real + 1)
    if countable:
        table[:n_real] = np.log((counts + a) / total)
    if countable and "unknown" in markers:
        table[markers["unknown"]] = np.log((unknown_counts + a) / total)
    codes = batch.gold_codes.values
    tokens = np.ones(codes.size) if weights is None else np.repeat(weights, np.diff(batch.offsets))
    filled = np.diff(batch.offsets) > 0
    first, last = batch.offsets[:-1][filled], batch.offsets[1:][filled] - 1
    if "start" in markers:
        starts = np.bincount(codes[first], weights=tokens[first], minlength=k)
        allowed = np.ones(k, bool) if space.start_mask is None else space.start_mask
        table[markers["start"]] = np.log((starts + a) / (starts.sum() + a * allowed.sum()))

    grams = _ngram_log_probabilities(
        batch, codes, tokens, last if "end" in markers else None, a, table, markers
    )
    edges = np.zeros(space.n_edges)
    return np.concatenate([space.emission_layout.gather(table), edges, grams])


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
    batch: ChainBatch,
    codes: np.ndarray,
    tokens: np.ndarray,
    last: np.ndarray | None,
    a: float,
    table: np.ndarray,
    markers: dict[str, int],
) -> np.ndarray:
    space = batch.space
    k = space.n_labels
    if space.sparse is not None:
        return _sparse_log_probabilities(batch, codes, tokens, last, a, table, markers)
    grams = np.zeros(len(space.ngrams))
    for j in range(1, space.order + 1):
        before = context_before(codes, batch.offsets, k, j)
        base = int(space.level_ptr[j - 1])
        full = before >= base  # contexts of length j exactly
        context = before[full] - base
        n_contexts = k**j
        pair = np.bincount(context * k + codes[full], weights=tokens[full], minlength=n_contexts * k)
        pair = pair.reshape(n_contexts, k)
        allowed = space.context_mask[base : base + n_contexts]
        outcomes = allowed.sum(axis=1).astype(np.float64)
        seen = pair.sum(axis=1)
        if last is not None and j == 1:
            seen, outcomes, table[markers["end"]] = _with_stops(
                batch, codes[last], tokens[last], a, seen, outcomes
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log((pair + a) / (seen + a * outcomes)[:, None])
        for number, gram in enumerate(space.ngrams):
            if len(gram) == j + 1:
                context_code = 0
                for label in gram[:-1]:
                    context_code = context_code * k + label
                grams[number] = log_p[context_code, gram[-1]]
    return grams


def _with_stops(
    batch: ChainBatch, codes: np.ndarray, tokens: np.ndarray, a: float, seen: np.ndarray, outcomes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and numbers of outcomes after each label with stopping as one more, and its log-probability,
    which is of no account where the scheme forbids an end.
    """
    space = batch.space
    stops = np.bincount(codes, weights=tokens, minlength=space.n_labels)
    may_stop = np.ones(space.n_labels, dtype=bool) if space.end_mask is None else space.end_mask
    seen, outcomes = seen + stops, outcomes + may_stop
    return seen, outcomes, np.log((stops + a) / np.maximum(seen + a * outcomes, a))


def _sparse_log_probabilities(
    batch: ChainBatch,
    codes: np.ndarray,
    tokens: np.ndarray,
    last: np.ndarray | None,
    a: float,
    table: np.ndarray,
    markers: dict[str, int],
) -> np.ndarray:
    """The same for n-grams that are kept as observed."""
    space = batch.space
    coded = Coded(codes, batch.offsets)
    out = np.zeros(len(space.ngrams))
    lengths = np.array([len(gram) for gram in space.ngrams], dtype=np.int64)
    for n in range(2, int(lengths.max(initial=1)) + 1):
        wanted = np.flatnonzero(lengths == n)
        grams = np.array([space.ngrams[i] for i in wanted], dtype=np.int64).reshape(-1, n)
        rows, _ = ngram_windows(coded, n)
        ends = gather_ranges_of(batch.offsets[:-1] + n - 1, np.maximum(coded.lengths - n + 1, 0))
        place = match_rows(grams, rows)
        counts = np.bincount(place[place >= 0], tokens[ends[place >= 0]], minlength=len(grams))
        contexts, group = np.unique(grams[:, :-1], axis=0, return_inverse=True)
        before = match_rows(contexts, rows[:, :-1])
        seen = np.bincount(before[before >= 0], tokens[ends[before >= 0]], minlength=len(contexts))
        outcomes = space.context_mask[contexts[:, -1]].sum(axis=1).astype(np.float64)
        if last is not None and n == 2:
            every = [np.zeros(space.n_labels), space.context_mask[: space.n_labels].sum(axis=1)]
            every[0][contexts[:, 0]] = seen
            all_seen, all_outcomes, table[markers["end"]] = _with_stops(
                batch, codes[last], tokens[last], a, every[0], every[1].astype(np.float64)
            )
            seen, outcomes = all_seen[contexts[:, 0]], all_outcomes[contexts[:, 0]]
        out[wanted] = np.log((counts + a) / (seen + a * outcomes)[group.ravel()])
    return out
