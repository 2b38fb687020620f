"""Labels of a chain are any hashable values and come back as they were."""

import pickle

import pytest

import trelliswork as tw


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], [0, 1], [True, False], [(1, 2), (3, 4)], [None, "x"], [1.5, "y"], [frozenset("a"), "b"]],
    ids=str,
)
def test_any_hashable_label_comes_back(labels):
    X = [["u", "v"], ["v"], ["u"]]
    y = [[labels[0], labels[1]], [labels[1]], [labels[0]]]
    model = tw.CRF(tw.Chain(), l2=0.01).fit(X, y)
    found = model.predict(X)
    assert found == y
    assert all(type(a) is type(b) for row, truth in zip(found, y) for a, b in zip(row, truth))


def test_prepared_features_serve_several_models_and_pickles():
    X = tw.Chain().prepare([["u", "v"], ["v", "w"]])
    y = [["a", "b"], ["b", "b"]]
    first = tw.CRF(tw.Chain(), l2=0.01).fit(X, y)
    second = tw.CRF(tw.Chain(), l2=0.01).fit(X[[1]], y[1:])
    assert first.predict(X) == y
    assert second.predict(X[[1]]) == y[1:]
    assert first.predict(X) == first.predict(pickle.loads(pickle.dumps(X)))


def test_an_order_that_would_fill_the_memory_is_refused_at_once():
    X, y = [["u", "v", "w"]], [["a", "b", "c"]]
    with pytest.raises(tw.InputError, match="order 12 with 3 labels means over"):
        tw.CRF(tw.Chain(order=12)).fit(X, y)
    with pytest.raises(tw.InputError, match="lower the order"):
        tw.CRF(tw.Chain(order=10**9)).fit(X, y)
