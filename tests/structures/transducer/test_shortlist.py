"""Which pieces are proposed, against the rule written out, and the Kneser-Ney model of pieces."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import CRF, Generative, InputError, Transducer
from trelliswork.structures.transducer.shortlist import COMMON, WIDTH

WORDS = ["ab", "ba", "abb", "aab", "b", "a"] * 20 + ["abab", "baab"]


def spoken(word, i):
    """``a`` is x, before ``b`` mostly y; ``b`` is z, silent at the end of the second half."""
    return "".join(
        ("y" if word[t : t + 2] == "ab" and i % 5 else "x")
        if s == "a"
        else "z" * (i < 70 or t + 1 < len(word))
        for t, s in enumerate(word)
    )


X, Y = WORDS, [spoken(word, i) for i, word in enumerate(WORDS)]


def context(word, i, k):
    marked = f"^{word}$"
    first = max(i + 1 - k, 0)
    return first - i, marked[first : i + 2 + k]


def test_proposed_pieces_follow_the_rule():
    space = Transducer(1, prune=0.2).bind(X, Y)
    counts: dict = {}
    batch = space.pack(X, Y)
    for word, pairs in zip(X, batch.alignments(batch.gold_codes), strict=True):
        for i, (_, written) in enumerate(pairs):
            for where in dict.fromkeys(context(word, i, k) for k in range(WIDTH + 1)):
                row = counts.setdefault(where, {})
                row[written] = row.get(written, 0) + 1
    everything = Transducer(1, prune=0.0).bind(X, Y)
    pruned = 0
    for word in ["ab", "bba", "abab", "aaa"]:
        for i in range(len(word)):
            full, listed = (
                [
                    s.writing_of(p)
                    for p in s.pack([word]).arcs.piece[slice(*s.pack([word]).arcs.ptr[i : i + 2])]
                ]
                for s in (everything, space)
            )
            p, last = dict.fromkeys(full, 1.0 / len(full)), {}
            for where in dict.fromkeys(context(word, i, k) for k in range(WIDTH + 1)):
                row = counts.get(where, {})
                n = sum(row.values())
                if n < COMMON:
                    break
                p = {o: (row.get(o, 0) + len(row) * q) / (n + len(row)) for o, q in p.items()}
                last = row
            wanted = [o for o in full if o in last or p[o] >= 0.2 * max(p.values())]
            assert listed == wanted
            pruned += len(full) - len(listed)
    assert pruned > 0


def test_pruned_lattices_are_lattices():
    space = Transducer(1, prune=0.2).bind(X, Y)
    w = np.random.default_rng(1).normal(size=space.n_features)
    model = CRF(Transducer(1, prune=0.2)).fit(X, Y)
    for x in ("abb", "baba"):
        batch = space.pack([x])
        outputs = list(space.enumerate(x))
        assert len(outputs) < len(list(Transducer(1, prune=0.0).bind(X, Y).enumerate(x)))
        listed = batch.unpack_sample(0, batch.candidates(batch.scores(w), 100)[0].codes)
        assert sorted(listed) == sorted(outputs)
        assert np.exp(model.log_prob([x] * len(outputs), outputs)).sum() == pytest.approx(1.0)
    assert model.log_prob(["bb"], ["xx"]).tolist() == [-np.inf]


def test_kneser_ney_model_is_a_law():
    space = Transducer(2, min_context=1).bind(X, Y)
    n = len(space.pieces)
    states = np.arange(len(space.grams.contexts.contexts))
    joins = np.stack(np.meshgrid(states, np.arange(n), indexing="ij"), axis=-1).reshape(-1, 2)
    p = np.exp(space.law.log_p(joins)).reshape(states.size, n)
    assert np.all(p > 0)
    assert np.all(p.sum(axis=1) <= 1.0 + 1e-12)  # the rest is for pieces that were never seen
    assert np.all(p.sum(axis=1) > 0.9)


def test_generative_model_of_pieces():
    model = Generative(Transducer(1)).fit(X, Y)
    assert model.predict(["ba", "a", ""]) == ["zx", "x", ""]
    listed = model.predict_kbest(["abab"], 5)[0]
    assert sum(c.probability for c in listed) <= 1.0 + 1e-9
    assert np.allclose(
        [c.probability for c in listed],
        np.exp(model.log_prob(["abab"] * len(listed), [c.output for c in listed])),
    )
    batch = model.pack(["ab"])
    best = batch.argmax(batch.law_scores())
    names = batch.alignments(best.codes)[0]
    assert best.values[0] == pytest.approx(_by_hand(model.space_, names))


def _by_hand(space, pairs):
    """Log-probability of an alignment, from the n-gram models themselves."""
    number = {
        (space.input_of(tuple(space.input_symbols[c] for c in a)), space.writing_of(p)): p
        for p, a in enumerate(space.pieces.inputs[:-2])
    }
    codes, total = [len(space.pieces)], 0.0
    known = set(space.grams.contexts.contexts)
    for piece in [*(number[pair] for pair in pairs), space.pieces.end]:
        context = next(tuple(codes[k:]) for k in range(len(codes) + 1) if tuple(codes[k:]) in known)
        total += np.log(space.law.models[len(context)].after(context)[piece])
        codes.append(piece)
    return total


def test_law_of_a_space_from_names():
    space = Transducer(1).bind(X, Y)
    named = Transducer(1).bind_names(space.feature_names)
    batch = named.pack(["ab"])
    assert batch.law_weight == 0.0
    with pytest.raises(InputError, match="pieces were not counted"):
        batch.law_scores()
