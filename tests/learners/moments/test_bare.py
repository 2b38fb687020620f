"""Moment learners on a structure that has what is asked of all and no ability beyond."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork import Ragged
from trelliswork._ragged import offsets_of
from trelliswork.structures import STRUCTURES, Batch, Decoded, Parts, Space, Structure
from trelliswork.testing import check_learner, check_structure


class PickBatch(Batch):
    """Part array ``item``: the items of all samples one after the other."""

    def __init__(self, space, X, gold, n_jobs=None):
        super().__init__(space, gold, n_jobs)
        self.X = X
        self.offsets = offsets_of([len(x) for x in X])
        rows = [[space.columns[f] for f in item if f in space.columns] for x in X for item in x]
        ones = np.ones(sum(map(len, rows)))
        indices = np.array([c for row in rows for c in row], dtype=np.int64)
        shape = (len(rows), space.n_features)
        self.phi = sp.csr_matrix((ones, indices, offsets_of([len(r) for r in rows])), shape=shape)

    def __len__(self):
        return len(self.X)

    def _take(self, index, gold):
        return PickBatch(self.space, [self.X[i] for i in index], gold, self.n_jobs)

    def part_offsets(self):
        return {"item": self.offsets}

    def scores(self, w):
        return Parts(item=self.phi @ w)

    def pull(self, parts):
        return self.phi.T @ parts.item

    def pull_each(self, parts):
        each = sp.csr_matrix((parts.item, np.arange(parts.item.size), self.offsets))
        return sp.csr_matrix(each @ self.phi)

    def indicators(self, codes, weights=None, *, each=False):
        out = np.zeros(self.offsets[-1])
        out[self.offsets[:-1] + codes.values] = 1.0 if weights is None else weights
        return Parts(item=out)

    def _rows(self, scores, costs=None):
        both = scores if costs is None else scores + costs
        return np.split(both.item, self.offsets[1:-1])

    def argmax(self, scores, costs=None):
        rows = self._rows(scores, costs) if len(self) else []
        best = np.array([int(r.argmax()) for r in rows], dtype=np.int64)
        return Decoded(picked(best), np.array([r.max() for r in rows]))

    def kbest(self, scores, k, costs=None):
        orders = [np.argsort(-r, kind="stable")[:k] for r in self._rows(scores, costs)]
        rows = self._rows(scores, costs)
        return [Decoded(picked(order), r[order]) for order, r in zip(orders, rows)]

    def log_partition(self, scores, costs=None):
        return np.array([logsumexp(r) for r in self._rows(scores, costs)])

    def _weighted(self, rows, weights):
        own = np.ones(len(self)) if weights is None else weights
        return Parts(item=np.concatenate([w * r for w, r in zip(own, rows)]))

    def marginals(self, scores, costs=None, *, weights=None, each=False):
        return self._weighted([np.exp(r - logsumexp(r)) for r in self._rows(scores, costs)], weights)

    def tangent(self, scores, direction, costs=None, *, weights=None, each=False):
        p = [np.exp(r - logsumexp(r)) for r in self._rows(scores, costs)]
        return self._weighted([q * (h - q @ h) for q, h in zip(p, self._rows(direction))], weights)

    def sample(self, scores, n, rng):
        p = [np.exp(r - logsumexp(r)) for r in self._rows(scores)]
        draws = [np.array([rng.choice(q.size, p=q) for q in p]) for _ in range(n)]
        return [picked(codes) for codes in draws]

    def evaluate(self, codes, scores):
        return scores.item[self.offsets[:-1] + codes.values]

    def mismatch(self, label_weight=None):
        return self.indicators(self.gold_codes) * -1.0, np.ones(len(self))

    def unpack(self, codes):
        return codes.values.tolist()

    def unpack_marginals(self, parts):
        return self._rows(parts)


def picked(codes):
    """Outputs of one code each."""
    return Ragged(codes, np.arange(codes.size + 1))


class PickSpace(Space):
    def __init__(self, structure, names):
        self.structure, self.names = structure, list(names)
        self.columns = {name: i for i, name in enumerate(self.names)}

    @property
    def n_features(self):
        return len(self.names)

    @property
    def feature_names(self):
        return [("feature", name) for name in self.names]

    def pack(self, X, y=None, *, n_jobs=None, unknown="error"):
        return PickBatch(self, list(X), None if y is None else picked(np.array(y, dtype=np.int64)), n_jobs)

    def enumerate(self, x):
        return iter(range(len(x)))

    def state(self):
        return {"names": self.names}

    @classmethod
    def from_state(cls, structure, state):
        return cls(structure, state["names"])


class Pick(Structure):
    """The number of one item of a list; an item is a list of features."""

    space_class: ClassVar = PickSpace
    batch_class: ClassVar = PickBatch

    def bind(self, X, y):
        return PickSpace(self, dict.fromkeys(f for x in X for item in x for f in item))


class PickFixedSpace(PickSpace):
    outputs_fixed = True


class PickFixed(Pick):
    """The same with features that are known beforehand, so that sums are enough."""

    space_class: ClassVar = PickFixedSpace

    def bind(self, X, y):
        return PickFixedSpace(self, "abcde")


X = [["a b", "c", "d"], ["b", "a e"], ["c d", "a", "b e", "e"], ["d", "c a"], ["a"], ["e", "b c"]]
X = [[item.split() for item in x] for x in X]
Y = [0, 1, 1, 1, 0, 0]
BOTH = pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
VARIANTS = pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "hamming"},
        {"reference": "generative", "reg": 1.0},
        {"reference": "generative", "reg": 1.0, "constraints": "slack"},
        {"constraints": "slack"},
        {"moments": "sampled"},
        {"n_steps": 3},
    ],
    ids=lambda p: ",".join(map(str, p.values())) or "plain",
)


@pytest.mark.parametrize("structure", [Pick(), PickFixed()])
def test_laws(structure):
    done = check_structure(structure, X, Y)
    assert "per sample" in done.laws
    assert [s.split(":")[0] for s in done.skipped] == ["loss_profile", "store", "partly known"]


@BOTH
@VARIANTS
@pytest.mark.parametrize("structure", [Pick(), PickFixed()])
def test_shards_and_files(learner, params, structure, tmp_path, monkeypatch):
    monkeypatch.setitem(STRUCTURES, "Pick", Pick)
    monkeypatch.setitem(STRUCTURES, "PickFixed", PickFixed)
    params = {"reg": 1e-2, "tol": 1e-12, **params}
    weights = np.arange(len(X)) + 0.5
    whole = learner(structure, **params).fit(X, Y, weights)
    parts = [learner(structure, **params).fit(X[s], Y[s], weights[s]) for s in (slice(3, 6), slice(0, 3))]
    for i, part in enumerate(parts):
        tw.save(part, tmp_path / f"{i}.tw")
    loaded = [tw.load(tmp_path / f"{i}.tw", structure=structure) for i in range(2)]
    merged = loaded[0].merge(loaded[1])
    streamed = learner(structure, **params)
    for s in (slice(4, 6), slice(2, 4), slice(0, 2)):
        streamed.partial_fit(X[s], Y[s], weights[s], solve=s.start == 0)
    if params.get("moments") == "sampled":
        return
    expected = whole.weights_by_name()
    for model in (merged, streamed):
        found = model.weights_by_name()
        gap = max(abs(found.get(n, 0.0) - expected.get(n, 0.0)) for n in {**found, **expected})
        assert gap <= 1e-6 * max(1.0, np.abs(whole.coef_).max())
        assert model.moments_.n_samples == len(X)


def test_relative_rank():
    model = tw.SODA(Pick(), 1e-2, reference="uniform").fit(X, Y)
    ranks, exact = tw.metrics.relative_rank(model, X, Y, return_exact=True)
    assert exact.all()
    batch = model.space_.pack(X, Y)
    rows = np.split(batch.scores(model.coef_).item, batch.offsets[1:-1])
    np.testing.assert_allclose(ranks, [np.mean(r >= r[g] - 1e-9) for r, g in zip(rows, Y)])


def test_what_is_kept():
    assert "samples, 5 features, samples" in repr(
        tw.ZScore(Pick(), reference="uniform", reg=1e-6).fit(X, Y).moments_
    )
    assert "sums" in repr(tw.ZScore(PickFixed(), reference="uniform", reg=1e-6).fit(X, Y).moments_)


@BOTH
def test_learner_laws(learner, monkeypatch):
    monkeypatch.setitem(STRUCTURES, "Pick", Pick)
    check_learner(learner(Pick(), 1e-2), X, Y)
