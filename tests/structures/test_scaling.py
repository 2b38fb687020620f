"""Columns of numbers are brought to one scale by learners, and weights belong to scaled columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import trelliswork as tw
from trelliswork.structures.scaling import rescaled

RNG = np.random.default_rng(3)
LABELS = np.array(["a", "b", "c"])
X = RNG.normal(size=(60, 4))
X[:, 3] = X[:, 3] > 0.3  # a column of 0 and 1 stays as it is
Y = LABELS[np.argmax(X[:, :3] + 0.2 * RNG.normal(size=(60, 3)), axis=1)].tolist()
UNITS, ORIGIN = np.array([1e3, 1e-4, 20.0, 1.0]), np.array([5e5, 3.0, -40.0, 0.0])
OTHER = X * UNITS + ORIGIN
LENGTHS = [7, 3, 10, 4, 6, 12, 8, 5, 5]
LEARNERS = [
    tw.CRF,
    tw.StructuredSVM,
    tw.VotedCRF,
    tw.StructBoost,
    tw.Perceptron,
    tw.ZScore,
    tw.SODA,
]


def sequences(rows):
    return list(np.split(rows, np.cumsum(LENGTHS)))[: len(LENGTHS)]


def labels():
    return [part.tolist() for part in sequences(np.array(Y, dtype=object))]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda c: c.__name__)
def test_units_and_origins_of_columns_do_not_matter(learner):
    more = {"tol": 1e-6} if learner is tw.StructuredSVM else {}
    one, other = (learner(tw.Classes(), **more).fit(rows, Y) for rows in (X, OTHER))
    assert one.predict(X) == other.predict(OTHER)
    assert one.score(X, Y) > 0.85
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3 * np.abs(one.coef_).max())


@pytest.mark.parametrize("learner", [tw.CRF, tw.ZScore, tw.SODA, tw.Perceptron], ids=lambda c: c.__name__)
@pytest.mark.parametrize("structure", [tw.Chain(), tw.Chain(edge_features="all")], ids=["plain", "edges"])
def test_nor_do_those_of_tokens(learner, structure):
    one, other = (learner(structure).fit(sequences(rows), labels()) for rows in (X, OTHER))
    assert one.predict(sequences(X)) == other.predict(sequences(OTHER))
    assert one.score(sequences(X), labels()) > 0.85


def test_what_columns_are_less_and_divided_by():
    few = np.r_[1.0, np.zeros(59)] * 300.0 + 0.5  # one value is far from the others
    counts = (np.arange(60) % 4 == 0) * np.arange(60.0)
    rows = np.c_[OTHER, np.zeros(60), np.full(60, 7.0), (np.arange(60) % 4 == 0) * 5.0, few, counts]
    center, scale = tw.CRF(tw.Classes()).fit(rows, Y).space_.scaling
    np.testing.assert_allclose(center[:3], rows[:, :3].mean(axis=0))
    spread = np.minimum(np.ptp(rows[:, :3], axis=0), 4.0 * rows[:, :3].std(axis=0))
    np.testing.assert_allclose(scale[:3], spread)
    assert center[3:7].tolist() == [0.0, 0.0, 7.0, 0.0]  # 0 and 1, nothing, one value, mostly 0
    assert scale[3:7].tolist() == [1.0, 1.0, 7.0, 5.0]
    assert scale[7] == pytest.approx(4.0 * few.std())
    assert (center[8], scale[8]) == (0.0, 56.0)
    center, scale = tw.CRF(tw.Classes(bias=False)).fit(rows, Y).space_.scaling
    assert not center.any()
    root = np.sqrt(np.mean(rows[:, :3] ** 2, axis=0))
    np.testing.assert_allclose(scale[:3], np.minimum(np.abs(rows[:, :3]).max(axis=0), 4.0 * root))


def test_pixels_of_an_image_stay_on_one_scale():
    """Those at its rim vary little, and are not made larger than the others."""
    depth = np.array([0.1, 0.3, 0.9, 1.0])
    inked = RNG.random((400, 4)) < depth
    pixels = np.where(inked, RNG.integers(1, 17, size=(400, 4)), 0.0)
    pixels[0] = 0.0
    pixels[:40, 3] = 0.0
    _, scale = tw.CRF(tw.Classes()).fit(pixels, LABELS[np.arange(400) % 3]).space_.scaling
    np.testing.assert_array_equal(scale, 16.0)


def test_indicators_stay_to_the_bit():
    words = [["the", "cat"], ["a", "dog"]]
    space, batch = tw.Chain().compile(words, [["D", "N"], ["D", "N"]])
    assert batch.on_one_scale() is batch
    assert space.scaling is None
    binary = sp.csr_matrix(X > 0.5).astype(float)
    for rows in (binary, binary.toarray()):
        _, batch = tw.Classes().compile(rows, Y)
        assert batch.on_one_scale() is batch


def test_numbers_with_names_do_not_dwarf_indicators():
    rows = [{"price": 3000.0 + i, "colour": "red" if i % 2 else "blue", "share": 0.25} for i in range(6)]
    model = tw.CRF(tw.Classes()).fit(rows, list("ababab"))
    scales = dict(zip(model.space_.attributes, model.space_.scaling.scale.tolist(), strict=True))
    assert scales["colour:red"] == scales["share"] == 1.0  # only large numbers are divided
    assert scales["price"] == pytest.approx(3002.5, rel=1e-3)
    assert model.predict(rows) == list("ababab")


@pytest.mark.filterwarnings("ignore::trelliswork.FitWarning")
@pytest.mark.parametrize("structure", [tw.Classes(scale=None), tw.Chain(scale=None)])
def test_none_takes_them_as_they_are(structure):
    chain = isinstance(structure, tw.Chain)
    data = (sequences(OTHER), labels()) if chain else (OTHER, Y)
    with pytest.warns(UserWarning, match="dwarfs"):
        assert tw.Perceptron(structure).fit(*data).space_.scaling is None
    with pytest.raises(tw.InputError, match="scale must be 'auto' or None"):
        tw.CRF(structure.with_params(scale="yes")).fit(*data)


def test_counts_and_given_weights_are_never_scaled():
    counts = np.floor(3.0 * np.abs(X))
    assert tw.Generative(tw.Classes()).fit(counts, Y).space_.scaling is None
    given = tw.Fixed(tw.Classes(), {("feature", "0", "a"): 1.0, ("bias", "b"): 6e5}).fit()
    assert given.predict(OTHER[:1]) == ["b"]
    assert given.space_.scaling is None


@pytest.mark.parametrize("learner", [tw.CRF, tw.SODA], ids=lambda c: c.__name__)
def test_a_sample_of_weight_two_is_there_twice(learner):
    weights = RNG.integers(0, 3, size=60)
    weighted = learner(tw.Classes()).fit(OTHER, Y, sample_weight=weights)
    repeated = np.repeat(np.arange(60), weights)
    twice = learner(tw.Classes()).fit(OTHER[repeated], [Y[i] for i in repeated])
    for one, other in zip(weighted.space_.scaling, twice.space_.scaling, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=2e-4 * np.abs(twice.coef_).max())


@pytest.mark.parametrize("structure", [tw.Classes(), tw.Classes(labels=list("abc")), tw.Chain()])
def test_shards_end_on_the_scale_of_all_samples(structure):
    chain = isinstance(structure, tw.Chain)
    rows, y = (sequences(OTHER), labels()) if chain else (OTHER, Y)
    n = len(rows) // 3
    whole = tw.SODA(structure).fit(rows, y)
    parts = tw.SODA(structure).partial_fit(rows[:n], y[:n]).partial_fit(rows[n:], y[n:])
    merged = tw.SODA(structure).fit(rows[:n], y[:n]).merge(tw.SODA(structure).fit(rows[n:], y[n:]))
    for model in (parts, merged):
        np.testing.assert_allclose(model.space_.scaling.center, whole.space_.scaling.center, rtol=1e-9)
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-3 * np.abs(whole.coef_).max())


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.VotedCRF], ids=lambda c: c.__name__)
def test_a_stream_keeps_the_scale_of_its_first_part(learner):
    model = learner(tw.Classes()).partial_fit(OTHER[:20], Y[:20], classes=LABELS.tolist())
    scaling = model.space_.scaling
    for _ in range(24):  # steps are small beside weights of columns that vary by 1
        model.partial_fit(OTHER[20:], Y[20:])
    np.testing.assert_array_equal(model.space_.scaling.scale, scaling.scale)
    assert model.score(OTHER, Y) > 0.7
    model.partial_fit(OTHER[:1], Y[:1])  # one row has no spread


def test_zeros_that_are_not_stored_are_numbers_too():
    model = tw.CRF(tw.Classes()).fit(OTHER, Y)
    some = OTHER[:9].copy()
    some[::2, 1] = 0.0
    for same in (sp.csr_matrix(some), [{str(j): v for j, v in enumerate(row) if v} for row in some.tolist()]):
        np.testing.assert_allclose(model.predict_proba(same), model.predict_proba(some), rtol=1e-9)
    chain = tw.CRF(tw.Chain()).fit(sequences(OTHER), labels())
    sparse = [sp.csr_matrix(some)]
    np.testing.assert_allclose(
        chain.predict_marginals(sparse)[0], chain.predict_marginals([some])[0], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("structure", [tw.Classes(), tw.Chain(edge_features=["1"])])
def test_files_know_the_scale(structure, tmp_path):
    chain = isinstance(structure, tw.Chain)
    data = (sequences(OTHER), labels()) if chain else (OTHER, Y)
    model = tw.SODA(structure).fit(*data)
    tw.save(model, tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert again.predict(data[0]) == model.predict(data[0])
    np.testing.assert_array_equal(again.space_.scaling.center, model.space_.scaling.center)
    assert again.resolve(reg=0.5).reference_ == "generative"
    why = tw.explain(again, data[0][0])
    assert sum(c.value for c in why.contributions) == pytest.approx(why.difference)


def test_kernels_compare_scaled_rows():
    one, other = (tw.StructuredSVM(tw.Classes(), kernel="rbf").fit(rows, Y) for rows in (X, OTHER))
    assert one.predict(X) == other.predict(OTHER)


def test_tuning_sees_the_scale():
    tuned = tw.Tuned(tw.CRF(tw.Classes()), cv=3).fit(OTHER, Y)
    assert tuned.best_estimator_.space_.scaling is not None
    assert clone(tuned.best_estimator_).fit(OTHER, Y).predict(OTHER) == tuned.predict(OTHER)


def test_there_and_back():
    _, batch = tw.Classes().compile(OTHER, Y)
    scaled = batch.on_one_scale()
    back = rescaled(scaled.emission, scaled.space.scaling, None)
    np.testing.assert_allclose(back.dense_rows(4), OTHER, rtol=1e-12)
    assert scaled.on_one_scale().emission.dense_rows(4) == pytest.approx(scaled.emission.dense_rows(4))
