"""Learners on single labels are scikit-learn classifiers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

import trelliswork as tw
from trelliswork.testing import expected_failed_checks

IRIS = load_iris()
X, Y = IRIS.data - IRIS.data.mean(axis=0), IRIS.target
NAMES = IRIS.target_names[Y]

# The checks use data of pure noise, and few samples.
noise = pytest.mark.filterwarnings(
    "ignore::trelliswork.FitWarning",
    "ignore::trelliswork.InputWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.SkipTestWarning",
)


@noise
@parametrize_with_checks(
    [
        tw.CRF(tw.Classes()),
        tw.ZScore(tw.Classes()),
        tw.StructuredSVM(tw.Classes()),
        tw.Generative(tw.Classes()),
        tw.Tuned(tw.CRF(tw.Classes()), n_values=2, cv=2),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


class AsArrays(tw.CRF):
    def predict(self, X, **constraints):
        return np.asarray(super().predict(X, **constraints))


@noise
def test_the_list_is_all_that_the_training_check_finds():
    check_classifiers_train("AsArrays", AsArrays(tw.Classes()))


@noise
@pytest.mark.parametrize("learner", [tw.CRF, tw.StructuredSVM, tw.SODA, tw.VotedCRF])
def test_folds_are_stratified(learner):
    assert is_classifier(learner(tw.Classes()))
    assert not is_classifier(learner(tw.Chain()))
    # The samples are sorted by class: without stratification every fold misses one.
    assert cross_val_score(learner(tw.Classes()), X, Y, cv=3).min() > 0.6


@pytest.mark.parametrize("labels", [Y, NAMES, NAMES.tolist(), NAMES.astype(object)])
def test_predictions_are_of_the_kind_of_the_labels(labels, tmp_path):
    model = tw.CRF(tw.Classes()).fit(X, labels)
    tw.save(model, tmp_path / "model.tw")
    for fitted in (model, tw.load(tmp_path / "model.tw")):
        for found in (fitted.predict(X), fitted.predict_mea(X)):
            assert isinstance(found, list if isinstance(labels, list) else np.ndarray)
            assert np.mean(np.asarray(found) == np.asarray(labels)) > 0.9
        assert isinstance(fitted.classes_, np.ndarray)
        assert fitted.n_features_in_ == 4
        assert fitted.predict(X[:1])[0] in list(labels)


def test_labels_that_numpy_cannot_hold():
    y = np.empty(4, dtype=object)
    y[:] = [("a", 1), ("b", 2)] * 2
    model = tw.CRF(tw.Classes()).fit(np.eye(4), y)
    assert model.predict(np.eye(4)).tolist() == y.tolist()
    assert model.predict(np.zeros((0, 4))).shape == (0,)


def test_probabilities_and_scores():
    model = tw.CRF(tw.Classes()).fit(X, NAMES)
    p, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    two = tw.CRF(tw.Classes()).fit(X[:100], NAMES[:100])
    assert two.decision_function(X).shape == (150,)
    assert np.array_equal(two.classes_[(two.decision_function(X) > 0).astype(int)], two.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    for verb in ("predict_proba", "predict_log_proba", "decision_function"):
        assert not hasattr(tw.CRF(tw.Chain()), verb)


@noise
@pytest.mark.parametrize(
    "around",
    [
        lambda model: VotingClassifier([("ours", model), ("bayes", GaussianNB())], voting="soft"),
        lambda model: VotingClassifier([("ours", model), ("bayes", GaussianNB())]),
        lambda model: CalibratedClassifierCV(model, cv=3),
        lambda model: OneVsRestClassifier(model),
    ],
)
def test_inside_other_estimators(around):
    model = around(tw.StructuredSVM(tw.Classes(), C=10.0)).fit(X, NAMES)
    assert model.score(X, NAMES) > 0.85
    clone(model)


def test_folds_of_probabilities():
    p = cross_val_predict(tw.CRF(tw.Classes()), X, NAMES, cv=3, method="predict_proba")
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_scorers_of_probabilities_take_lists_of_labels():
    rows, names = X[:100].tolist(), NAMES[:100].tolist()
    for scoring in ("neg_log_loss", "roc_auc"):
        found = cross_val_score(tw.CRF(tw.Classes()), rows, names, cv=3, scoring=scoring)
        np.testing.assert_array_equal(
            found, cross_val_score(tw.CRF(tw.Classes()), X[:100], NAMES[:100], cv=3, scoring=scoring)
        )
    calibrated = CalibratedClassifierCV(FrozenEstimator(tw.StructuredSVM(tw.Classes()).fit(rows, names)))
    assert calibrated.fit(rows, names).score(rows, names) > 0.9


def test_folds_of_sequences():
    words = [["the", "cat"], ["a", "dog", "barks"], ["it"]] * 4
    tags = [["D", "N"], ["D", "N", "V"], ["P"]] * 4
    found = cross_val_predict(tw.CRF(tw.Chain(), l2=0.1), words, tags, cv=3)
    assert found.shape == (12,)
    assert found.tolist() == tags
    outputs = tw.CRF(tw.Chain(), l2=0.1).fit(words, tags).predict(words)
    assert np.array_equal(np.array(outputs[:2:2]), [["D", "N"]])  # all else as with any list
    assert len(np.concatenate(outputs)) == 24


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    columns = ["a", "b", "c", "d"]
    frame = frames.DataFrame(dict(zip(columns, X.T)))
    model = tw.CRF(tw.Classes()).fit(frame, frames.Series(NAMES.tolist()))
    assert model.feature_names_in_.tolist() == columns
    assert np.array_equal(model.predict(frame), tw.CRF(tw.Classes()).fit(X, NAMES).predict(X))
    with pytest.raises(tw.InputError, match="Feature names must be in the same order"):
        model.predict(frame[columns[::-1]])
    with pytest.raises(tw.InputError, match="feature names should match"):
        model.predict(frame[columns[:3]])


def test_columns_are_those_of_fit():
    stream = tw.Perceptron(tw.Classes(), max_iter=2).partial_fit(X[:50], Y[:50], classes=[0, 1, 2])
    assert stream.classes_.tolist() == [0, 1, 2]
    moments = tw.ZScore(tw.Classes()).partial_fit(X, Y)
    for model in (stream, moments, tw.CRF(tw.Classes()).fit(sp.csr_matrix(X), Y)):
        with pytest.raises(tw.InputError, match=r"X has 3 features, but \w+ is expecting 4 features"):
            model.predict(X[:, 1:])
        if hasattr(model, "partial_fit"):
            with pytest.raises(tw.InputError, match="X has 3 features"):
                model.partial_fit(X[:, 1:], Y)
    with pytest.raises(tw.InputError, match="classes= is for single labels"):
        tw.Perceptron(tw.Chain()).partial_fit([["a"]], [["A"]], classes=["A"])


def test_labels_in_columns():
    with pytest.warns(DataConversionWarning):
        model = tw.CRF(tw.Classes()).fit(X, Y[:, None])
    assert model.predict(X).shape == Y.shape
    with pytest.raises(tw.InputError, match=r"y has the shape \(150, 3\); .* one-hot rows y.argmax"):
        tw.CRF(tw.Classes()).fit(X, np.eye(3)[Y])
    with pytest.raises(tw.InputError, match=r"sample 0: labels must be hashable .* one-hot rows"):
        tw.CRF(tw.Classes()).fit(X, np.eye(3)[Y].tolist())
    with pytest.raises(tw.InputError, match="Unknown label type: continuous"):
        tw.CRF(tw.Classes()).fit(X, X[:, 0])
