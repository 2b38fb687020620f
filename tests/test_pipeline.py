"""Pipelines have the verbs of their learner, and are saved with the transformers of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_union
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.persist import _sklearn

X = [["the", "cat"], ["a", "dog", "barks"], ["the", "dog"], ["it", "barks"]]
Y = [["D", "N"], ["D", "N", "V"], ["D", "N"], ["P", "V"]]


@pytest.fixture(scope="module")
def tagger():
    return tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain(), l2=0.1)).fit(X, Y)


def test_verbs_are_those_of_the_learner(tagger):
    rows = tagger[0].transform(X)
    crf = tagger[-1]
    assert tagger.predict(X) == Y
    assert tagger.predict_kbest(X, k=2) == crf.predict_kbest(rows, k=2)
    assert tagger.predict_mea(X) == crf.predict_mea(rows)
    assert tagger.predict_min_risk(X, "hamming", k=3) == crf.predict_min_risk(rows, "hamming", k=3)
    assert np.array_equal(tagger.log_prob(X, Y), crf.log_prob(rows, Y))
    assert tagger.sample(X, 3, random_state=0) == crf.sample(rows, 3, random_state=0)
    for ours, theirs in zip(tagger.predict_marginals(X), crf.predict_marginals(rows), strict=True):
        assert np.array_equal(ours, theirs)
    assert tagger.predict(X[:1], allowed=[[["N"], None]])[0][0] == "N"
    assert tagger.predict(iter(X)) == Y
    assert tagger.predict_mea(x for x in X) == Y


def test_verbs_are_there_only_where_the_learner_has_them():
    assert not hasattr(tw.make_pipeline(StandardScaler()), "predict_kbest")
    alone = tw.make_pipeline(tw.CRF(tw.Chain(), l2=0.1)).fit(X, Y, X_dev=X, y_dev=Y)
    assert alone.predict_kbest(X, k=1)[0][0].output == Y[0]
    assert is_classifier(tw.make_pipeline(StandardScaler(), tw.CRF(tw.Classes())))


def test_a_development_set_passes_through_the_transformers(tmp_path):
    learner = tw.CRF(tw.Chain(), l2=0.1)
    window = TokenWindow()
    by_hand = clone(learner).fit(window.transform(X), Y, X_dev=window.transform(X[:2]), y_dev=Y[:2])
    for memory in (None, str(tmp_path)):
        for names in (("X_dev", "y_dev"), ("crf__X_dev", "crf__y_dev")):
            model = tw.make_pipeline(TokenWindow(), clone(learner), memory=memory)
            model.fit(X, Y, **dict(zip(names, (X[:2], Y[:2]))), crf__sample_weight=[1.0] * 4)
            assert np.array_equal(model[-1].coef_, by_hand.coef_)
            assert model[-1].history_[0]["dev"] == by_hand.history_[0]["dev"]
    with pytest.raises(tw.InputError, match="needs both X_dev and y_dev"):
        model.fit(X, Y, X_dev=X)


def test_in_grids():
    model = tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain()))
    search = GridSearchCV(model, {"crf__l2": [0.1, 1.0], "tokenwindow__offsets": [(0,), (-1, 0, 1)]}, cv=2)
    best = search.fit(X * 2, Y * 2).best_estimator_
    assert isinstance(best, tw.Pipeline)
    assert best.predict_kbest(X, k=1)


def test_set_output_of_a_pipeline_with_tokens(tagger):
    assert clone(tagger).set_output(transform="pandas").fit(X, Y).predict(X) == Y


RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(12, 3))
TEXTS = ["the cat sat", "a dog ran", "birds fly high"] * 4
DICTS = [{"word": text.split()[0], "length": len(text)} for text in TEXTS]
WORDS = np.array([text.split()[:2] for text in TEXTS], dtype=object)
LABELS = np.array(["a", "b", "c"] * 4)
TRANSFORMERS = [
    (ROWS, StandardScaler()),
    (ROWS, StandardScaler(with_mean=False)),
    (ROWS, MinMaxScaler((-1, 1))),
    (ROWS, MaxAbsScaler()),
    (ROWS, RobustScaler()),
    (ROWS, Normalizer("l1")),
    (ROWS, Binarizer()),
    (ROWS, PCA(2)),
    (ROWS, TruncatedSVD(2)),
    (DICTS, DictVectorizer()),
    (DICTS, FeatureHasher(16)),
    (TEXTS, CountVectorizer(stop_words="english", ngram_range=(1, 2))),
    (TEXTS, HashingVectorizer(n_features=16)),
    (TEXTS, TfidfVectorizer(sublinear_tf=True)),
    (TEXTS, TfidfVectorizer(use_idf=False)),
    (TEXTS, make_union(TfidfVectorizer(dtype=np.float32), CountVectorizer(analyzer="char"))),
    (WORDS, OneHotEncoder(handle_unknown="ignore")),
    (WORDS, OneHotEncoder(drop="first", sparse_output=False)),
]


@pytest.mark.filterwarnings("ignore::trelliswork.FitWarning")
@pytest.mark.parametrize(("rows", "transformer"), TRANSFORMERS, ids=lambda v: type(v).__name__)
def test_saved_with_transformers(rows, transformer, tmp_path):
    model = tw.make_pipeline(clone(transformer), tw.CRF(tw.Classes())).fit(rows, LABELS)
    tw.save(model, tmp_path / "model.tw")
    back = tw.load(tmp_path / "model.tw")
    assert isinstance(back, tw.Pipeline)
    assert np.array_equal(back.predict_proba(rows), model.predict_proba(rows))
    assert repr(back) == repr(model)
    tw.save(back, tmp_path / "again.tw")
    assert (tmp_path / "again.tw").read_bytes() == (tmp_path / "model.tw").read_bytes()
    tw.save(clone(model), tmp_path / "new.tw")  # not fitted
    assert tw.load(tmp_path / "new.tw").fit(rows, LABELS).score(rows, LABELS) == model.score(rows, LABELS)


def test_all_transformers_are_tried():
    tried = {type(transformer).__name__ for _, transformer in TRANSFORMERS}
    assert tried | {"Pipeline", "TfidfTransformer"} == set(_sklearn.NAMES)


def test_counts_then_weights(tmp_path):
    model = tw.make_pipeline(CountVectorizer(), TfidfTransformer(), tw.CRF(tw.Classes())).fit(TEXTS, LABELS)
    tw.save(model, tmp_path / "model.tw")
    assert np.array_equal(tw.load(tmp_path / "model.tw").predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_rare_categories_are_not_saved(tmp_path):
    model = tw.make_pipeline(OneHotEncoder(min_frequency=2), tw.CRF(tw.Classes())).fit(WORDS, LABELS)
    with pytest.raises(tw.InputError, match="min_frequency or max_categories cannot be saved"):
        tw.save(model, tmp_path / "model.tw")


def test_numbers_of_columns_in_files_are_checked():
    vectoriser = CountVectorizer().fit(TEXTS)
    state = _sklearn.state_of(vectoriser)
    broken = {**state, "vocabulary_": {word: place + 7 for word, place in state["vocabulary_"].items()}}
    with pytest.raises(ValueError, match="does not number its words"):
        _sklearn.restore(CountVectorizer(), broken)
    weighted = TfidfVectorizer().fit(TEXTS)
    with pytest.raises(ValueError, match="one number per word"):
        _sklearn.restore(TfidfVectorizer(), {**_sklearn.state_of(weighted), "idf_": np.ones(3)})
    encoder = OneHotEncoder(drop="first").fit(WORDS)
    with pytest.raises(ValueError, match="categories that are not there"):
        _sklearn.restore(
            OneHotEncoder(drop="first"), {**_sklearn.state_of(encoder), "drop_idx_": np.array([9, 9])}
        )
    with pytest.raises(ValueError, match="not a fitted attribute"):
        _sklearn.restore(StandardScaler(), {"fit": 3})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_scaled_frames_are_saved(library, tmp_path):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(dict(zip("xyz", ROWS.T)))
    model = tw.make_pipeline(StandardScaler(), tw.CRF(tw.Classes())).set_output(transform=library)
    model.fit(frame, LABELS)
    tw.save(model, tmp_path / "model.tw")
    back = tw.load(tmp_path / "model.tw")
    assert back[-1].feature_names_in_.tolist() == ["x", "y", "z"]
    assert np.array_equal(back.predict(frame), model.predict(frame))
