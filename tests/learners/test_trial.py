"""What held-out samples tell learners: in any order the same, and a weight of two is the sample twice."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.learners.trial import least_wrong, row_trials, trial
from trelliswork.metrics import token_error

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(90, 4))
LABELS = np.array(["a", "b", "c"])[np.argmax(ROWS[:, :3] + RNG.normal(size=(90, 3)), axis=1)]
WORDS = [[[f"w{i}", f"s{i % 7}", "all"] for i in RNG.integers(30, size=6)] for _ in range(60)]
TAGS = [[f"L{int(token[0][1:]) % 3}" for token in x] for x in WORDS]


def sides(model, X, y, weights=None):
    """Labels or tags on either side, sorted."""
    split = trial(model.pack(X, y), weights, least=12, most=500, samples=1000)
    return [sorted(map(str, part.unpack(part.gold_codes))) for part in (split.known, split.new)]


@pytest.mark.parametrize(
    ("structure", "X", "y"), [(tw.Classes(), ROWS, LABELS), (tw.Chain(), WORDS, TAGS)], ids=["rows", "chains"]
)
def test_sides_do_not_depend_on_the_order_or_on_copies(structure, X, y):
    model = tw.Perceptron(structure, max_iter=1).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = X[order] if isinstance(X, np.ndarray) else [X[i] for i in order]
    assert sides(model, shuffled, [y[i] for i in order]) == sides(model, X, y)
    known, new = sides(model, X, y)
    assert 2 * len(new) - 2 <= len(known) <= 2 * len(new) + 2
    twice = list(X) + list(X)
    twice = np.array(twice) if isinstance(X, np.ndarray) else twice
    assert sides(model, twice, [*y, *y]) == [sorted(2 * part) for part in (known, new)]


def test_rows_times_ten_are_on_the_same_sides():
    one, ten = (tw.Perceptron(tw.Classes(scale=None), max_iter=1).fit(f * ROWS, LABELS) for f in (1.0, 10.0))
    assert sides(one, ROWS, LABELS) == sides(ten, 10.0 * ROWS, LABELS)


def test_few_rows_are_held_out_in_turn():
    model = tw.Perceptron(tw.Classes(), max_iter=1).fit(ROWS, LABELS)
    splits = row_trials(model.pack(ROWS, LABELS), None)
    assert sum(len(split.new) for split in splits) == len(ROWS)
    assert row_trials(model.pack(ROWS[:9], LABELS[:9]), None) == []
    assert least_wrong([10.0, 1.0], []) == 1.0


@pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
def test_the_ridge_of_classes_is_told(learner):
    """One of six multiples of its unit, the same in any order; a ridge that is given stays."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 40))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "a", "b")
    model = learner(tw.Classes()).fit(X, y)
    unit = learner(tw.Classes(), constraints="slack").fit(X, y).lam_
    assert any(model.lam_ == pytest.approx(f * unit) for f in (100.0, 30.0, 10.0, 3.0, 1.0, 0.3))
    order = rng.permutation(120)
    assert learner(tw.Classes()).fit(X[order], y[order]).lam_ == pytest.approx(model.lam_)
    weighted = learner(tw.Classes()).fit(X, y, sample_weight=np.full(120, 2.0))
    doubled = learner(tw.Classes()).fit(np.vstack([X, X]), [*y, *y])
    assert weighted.lam_ == pytest.approx(doubled.lam_)
    assert learner(tw.Classes(), reg=0.5, reg_mode="absolute").fit(X, y).lam_ == 0.5


def noisy(rng, n, length=30, k=4):
    """Sequences of a hidden Markov model, their labels, and labels of which a tenth is wrong."""
    follows, emits = rng.dirichlet(np.full(k, 0.5), size=k), rng.dirichlet(np.full(12, 0.3), size=k)
    X, y, wrong = [], [], []
    for _ in range(n):
        states = [int(rng.integers(k))]
        while len(states) < length:
            states.append(int(rng.choice(k, p=follows[states[-1]])))
        X.append([f"w{rng.choice(12, p=emits[i])}" for i in states])
        y.append([f"L{i}" for i in states])
        wrong.append([label if rng.random() > 0.1 else f"L{rng.integers(k)}" for label in y[-1]])
    return X, y, wrong


@pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
def test_five_noisy_sequences_are_enough(learner):
    """Once error 0.40 on average for SODA, where a uniform reference gave 0.29."""
    errors = {"auto": [], "uniform": []}
    for seed in range(4):
        X, y, wrong = noisy(np.random.default_rng(seed), 45)
        for reference, found in errors.items():
            model = learner(tw.Chain(), reference=reference).fit(X[:5], wrong[:5])
            found.append(token_error(y[5:], model.predict(X[5:])))
    assert np.mean(errors["auto"]) < 0.32
    assert np.mean(errors["auto"]) < np.mean(errors["uniform"]) + 0.03


def test_overlapping_attributes_are_held_back():
    """Ten copies of a weak attribute: naive Bayes is too sure of them, transitions know better."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(80):
        state, tags = 0, []
        for _ in range(10):
            state = state if rng.random() < 0.9 else 1 - state
            tags.append("AB"[state])
        seen = [tag if rng.random() < 0.7 else "AB"["BA".index(tag)] for tag in tags]
        X.append([[f"{j}={w}" for j in range(10)] for w in seen])
        y.append(tags)
    model, plain = (tw.Generative(tw.Chain(), evidence=e).fit(X[:50], y[:50]) for e in ("auto", 1.0))
    assert model.evidence_ < 1.0
    assert plain.evidence_ == 1.0
    assert model.score(X[50:], y[50:]) > plain.score(X[50:], y[50:])
    words = [[token[0] for token in x] for x in X]
    assert tw.Generative(tw.Chain()).fit(words, y).evidence_ == 1.0  # a hidden Markov model
    with pytest.raises(tw.InputError, match="evidence"):
        tw.Generative(tw.Chain(), evidence=-1.0).fit(X, y)
