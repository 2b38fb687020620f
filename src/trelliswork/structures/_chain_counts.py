"""Smoothed relative frequencies of a label chain: the hidden Markov model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._errors import InputError
from trelliswork.structures._contexts import context_before
from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures._chain_batch import ChainBatch

__all__ = ["hmm_scores", "hmm_weights"]


def hmm_weights(batch: ChainBatch, smoothing: float, weights: np.ndarray | None) -> np.ndarray:
    """Log-probabilities of a hidden Markov model of the chain's order.

    Emissions of a label are one multinomial over all attributes and the unknown symbol.
    With end weights, "stop" is one more outcome of each transition, so that the model is a
    distribution over sequences of every length. Orders above 1 telescope: the weight of an
    n-gram is the log-ratio of its conditional probability to that of the shorter one, so
    that a context scores exactly log p(label given context). Stopping depends on the last
    label alone, whatever the order; longer contexts share out what it leaves.
    """
    space = batch.space
    a = smoothing
    k = space.n_labels
    parts = batch.indicators(batch.gold_codes, weights)
    gold = space.emission_layout.table(batch.pull(parts)[: space.n_emissions])
    n_real = len(space.attributes)
    markers = dict(zip(space.marker_names, range(n_real, n_real + space.n_markers), strict=True))
    counts = gold[:n_real]
    if counts.size and counts.min() < 0:
        raise InputError("Generative needs counts: the features must not be negative; use CRF or Perceptron")
    table = np.zeros_like(gold)
    unknown_counts = gold[markers["unknown"]] if "unknown" in markers else np.zeros(k)
    total = counts.sum(axis=0) + unknown_counts + a * (n_real + 1)
    table[:n_real] = np.log((counts + a) / total)
    if "unknown" in markers:
        table[markers["unknown"]] = np.log((unknown_counts + a) / total)
    codes = batch.gold_codes.values
    tokens = np.ones(codes.size) if weights is None else np.repeat(weights, np.diff(batch.offsets))
    filled = np.diff(batch.offsets) > 0
    first, last = batch.offsets[:-1][filled], batch.offsets[1:][filled] - 1
    if "start" in markers:
        starts = np.bincount(codes[first], weights=tokens[first], minlength=k)
        allowed = np.ones(k, bool) if space.start_mask is None else space.start_mask
        table[markers["start"]] = np.log((starts + a) / (starts.sum() + a * allowed.sum()))

    grams = _ngram_weights(batch, codes, tokens, last if "end" in markers else None, a, table, markers)
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
    own = tokens[:, :n_real]
    total = np.asarray(own.sum(axis=1)).ravel()
    unary = np.asarray(own @ table[:n_real]) / np.where(total > 1.0, total, 1.0)[:, None]
    unary += tokens[:, n_real:] @ table[n_real:]
    grams = (space.ngram_matrix @ space.split(w)[2]).reshape(-1, k)
    edge = None if batch.edge is None else np.zeros((batch.n_tokens, k, k))
    return Parts(unary=unary, trans=grams, edge=edge)


def _ngram_weights(
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
    conditional: dict[tuple[int, ...], float] = {}
    grams = np.zeros(len(space.ngrams))
    log_go_on = np.zeros(k)
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
            stops = np.bincount(codes[last], weights=tokens[last], minlength=k)
            may_stop = np.ones(k, dtype=bool) if space.end_mask is None else space.end_mask
            seen = seen + stops
            outcomes = outcomes + may_stop
            p_stop = (stops + a) / np.maximum(seen + a * outcomes, a)
            table[markers["end"]] = np.log(p_stop)  # of no account where the scheme forbids an end
            with np.errstate(divide="ignore"):
                log_go_on = np.where(may_stop, np.log1p(-p_stop), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log((pair + a) / (seen + a * outcomes)[:, None])
            if j > 1:
                log_p += log_go_on[np.arange(n_contexts) % k, None]
        for number, gram in enumerate(space.ngrams):
            if len(gram) == j + 1:
                context_code = 0
                for label in gram[:-1]:
                    context_code = context_code * k + label
                conditional[gram] = float(log_p[context_code, gram[-1]])
                grams[number] = conditional[gram] - (conditional[gram[1:]] if j > 1 else 0.0)
    return grams
