"""Tuned models in files."""

from __future__ import annotations

from sklearn.pipeline import make_pipeline

import trelliswork as tw
from trelliswork.features import TokenWindow

X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 2
Y = [["D", "N"]] * 8


def test_saved_with_its_table(tmp_path):
    file = tmp_path / "model.tw"
    model = tw.Tuned(tw.CRF(tw.Chain()), n_values=3, cv=2, tune={"l2": [1, 0.1], "structure__order": [1, 2]})
    tw.save(model, file)
    assert not hasattr(tw.load(file), "best_estimator_")
    model.fit(X, Y)
    tw.save(model, file)
    again = tw.load(file)
    assert again.results_ == model.results_
    assert again.best_params_ == model.best_params_
    assert again.predict(X) == model.predict(X)
    assert again.get_params()["tune"] == model.tune


def test_around_and_in_pipelines(tmp_path):
    for number, model in enumerate(
        (
            tw.Tuned(make_pipeline(TokenWindow(), tw.CRF(tw.Chain())), n_values=2, cv=2),
            make_pipeline(TokenWindow(), tw.Tuned(tw.CRF(tw.Chain()), n_values=2, cv=2)),
        )
    ):
        tw.save(model.fit(X, Y), tmp_path / str(number))
        assert tw.load(tmp_path / str(number)).predict(X) == model.predict(X)
