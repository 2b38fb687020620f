"""Classes and taxonomies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB

import trelliswork as tw
from trelliswork import CRF, Classes, Fixed, Generative, InputError, Perceptron
from trelliswork.structures.classes.taxonomy import Taxonomy

TREE = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}}
PAIRS = [("<root>", "animal"), ("<root>", "plant"), ("animal", "cat"), ("animal", "dog")]
PAIRS += [("plant", "oak"), ("plant", "elm")]


def blobs(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["cat", "dog", "elm", "oak"], n)
    centres = {"cat": 0, "dog": 1, "elm": 2, "oak": 3}
    return rng.normal(size=(n, p)) + 1.5 * np.eye(4)[[centres[c] for c in y]], y


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, list, lambda X: X.tolist()])
def test_crf_is_multinomial_logistic_regression(make):
    X, y = blobs()
    ours = CRF(Classes(bias=False, scale=None), l2=0.5, tol=1e-9, max_iter=1000).fit(make(X), y)
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(ours.coef_.reshape(4, 4).T, theirs.coef_, atol=1e-5)
    p = ours.predict_marginals(make(X))
    assert p.shape == (60, 4)
    np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-6)
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert np.array_equal(ours.predict(make(X)), theirs.predict(X))
    assert ours.score(make(X), y) == pytest.approx(theirs.score(X, y))


def test_generative_is_naive_bayes():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 5, (40, 6)).astype(float), rng.integers(0, 3, 40)
    ours, theirs = Generative(Classes(), 1.0).fit(X, y), MultinomialNB().fit(X, y)
    np.testing.assert_allclose(ours.coef_.reshape(7, 3)[:6].T, theirs.feature_log_prob_)
    with pytest.raises(InputError, match="must not be negative"):
        Generative(Classes()).fit([{"a": -1.0}, {"a": 2.0}], ["x", "y"])


def test_counts_of_classes_need_no_ancestors():
    X, y = [["cat", "fur"], ["dog", "fur"], ["dog"], ["oak", "leaf"], ["elm", "leaf"]], ["cat", "dog", "dog"]
    y += ["oak", "elm"]
    flat, shared = (Generative(Classes(taxonomy)).fit(X, y) for taxonomy in (None, TREE))
    new = [["fur"], ["leaf"], ["fur", "leaf"], ["cat", "leaf"]]
    np.testing.assert_allclose(shared.predict_proba(new), flat.predict_proba(new))
    named = shared.weights_by_name()
    assert not any(value for name, value in named.items() if name[-1] in ("animal", "plant"))


def test_sharing_through_the_taxonomy():
    X, y = blobs()
    model = CRF(Classes(TREE), l2=0.1).fit(X, y)
    assert ("feature", "0", "animal") in model.space_.feature_names
    assert ("feature", "0", "<root>") not in model.space_.feature_names
    assert model.score(X, y) > 0.6
    assert set(model.tables()["top"]) == {"cat", "dog", "elm", "oak"}


def test_large_sparse_rows():
    rng = np.random.default_rng(0)
    X = sp.random(200, 100_000, density=2e-4, format="csr", random_state=0)
    y = rng.integers(0, 5, 200)
    model = Perceptron(Classes(), max_iter=3).fit(X, y)
    assert len(model.predict(X)) == 200


def test_scikit_learn_tools():
    X, y = blobs()
    assert cross_val_score(CRF(Classes()), X, y, cv=3).mean() > 0.5
    search = GridSearchCV(CRF(Classes()), {"l2": [0.1, 1.0], "structure__bias": [True, False]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.5
    assert clone(Classes(TREE)).taxonomy == TREE


def test_partial_fit_meets_new_classes():
    X, y = blobs()
    model = Perceptron(Classes())
    order = np.argsort(y)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part])
    assert model.classes_.tolist() == ["cat", "dog", "elm", "oak"]


def test_fixed_weights():
    model = Fixed(Classes(), {("feature", "fur", "cat"): 1.0, ("bias", "oak"): 0.5})
    assert model.predict([["fur"], ["leaf"]]) == ["cat", "oak"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((2, 2)), ["a"], "X has 2 samples but y has 1"),
        (np.array([[1.0, 2.0], [np.nan, 0.0]]), ["a", "b"], "sample 1: the row holds NaN"),
        (sp.csr_matrix([[1.0], [np.inf]]), ["a", "b"], "sample 1: the row holds NaN or infinity"),
        (np.ones(3), ["a", "b", "c"], "one row per sample"),
        (["abc", "d"], ["a", "b"], "sample 0: expected a row, a list of strings or a dict"),
        ([[1.0, 2.0], [1.0]], ["a", "b"], "sample 1: expected a row like"),
        (np.array([["x"], ["y"]]), ["a", "b"], "X must hold numbers"),
        (np.ones((2, 2)), [["a"], "b"], "sample 0: labels must be hashable"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(InputError, match=message):
        CRF(Classes()).fit(X, y)


def test_unknown_labels_and_columns_at_prediction():
    X, y = blobs()
    model = CRF(Classes()).fit(X, y)
    assert model.log_prob(X[:1], ["eel"])[0] == -np.inf
    with pytest.raises(InputError, match="label 'eel' is not one of the 4 classes"):
        model.space_.pack(X[:1], ["eel"])
    assert len(model.predict([{"0": 1.0, "new": 3.0}])) == 1
    assert model.predict(np.zeros((0, 4))).shape == (0,)


# -- taxonomies ---------------------------------------------------------------------------------


class Graph:
    """What is used of networkx.DiGraph."""

    def __init__(self, edges, directed=True):
        self.edges, self._directed = edges, directed

    def is_directed(self):
        return self._directed


def test_matrices_keep_their_width(tmp_path):
    X, y = blobs()
    model = CRF(Classes()).fit(X, y)
    tw.save(model, tmp_path / "m.tw")
    for fitted in (model, tw.load(tmp_path / "m.tw")):
        with pytest.raises(InputError, match="X has 3 features, but CRF is expecting 4 features"):
            fitted.predict(X[:, 1:])
        with pytest.raises(InputError, match="expected arrays with 4 columns as in fit, got rows with names"):
            fitted.predict([["a"], ["b"]])
    with pytest.raises(InputError, match="X has 3 features, but Perceptron is expecting 4"):
        Perceptron(Classes()).fit(X, y).partial_fit(X[:, 1:], y)
    named = CRF(Classes()).fit([{"u": 1.0}, {"v": 2.0}], ["a", "b"])
    with pytest.raises(InputError, match="expected rows with names as in fit, got arrays with 2 columns"):
        named.predict(np.eye(2))


def test_taxonomies_that_almost_work():
    with pytest.raises(InputError, match="must be a list of"):  # a second fit would find nothing left
        Taxonomy.read(iter(PAIRS))
    assert Taxonomy.read({"a": ["<root>", "x"], "b": ["y"]}).root == "<root>'"
    with pytest.raises(InputError, match="class 1 is not in the taxonomy; it has the text '1'"):
        Taxonomy([("r", "0"), ("r", "1")]).check_classes(["0", 1])


def test_sources_of_taxonomies(tmp_path):
    path = tmp_path / "taxonomy.tsv"
    path.write_text("# a comment\n" + "\n".join(f"{a}\t{b}" for a, b in PAIRS) + "\n\n")
    tables = []
    for source in (PAIRS, TREE, {"<root>": TREE}, Graph(PAIRS), path, str(path)):
        tree = Taxonomy.read(source)
        assert set(tree.edges) == set(PAIRS)
        tables.append(tree.meeting_heights(["cat", "dog", "oak"]))
    for table in tables:
        np.testing.assert_array_equal(table, [[0, 1, 2], [1, 0, 2], [2, 2, 0]])


def test_dag_takes_the_lowest_meeting():
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y"), ("a", "c"), ("c", "z")])
    assert tree.height_of_meeting("x", "y") == 1
    assert tree.height_of_meeting("x", "z") == 2
    nodes, above = tree.nodes_above(["x", "y"])
    assert nodes == ["x", "y", "a", "b"]
    np.testing.assert_array_equal(above.toarray(), [[1, 0, 1, 1], [0, 1, 0, 1]])


# -- how much is shared ---------------------------------------------------------------------------


def test_ancestor_weights_are_the_kernel_of_classes():
    deep = {"r": {"a": {"b": {"x": {}, "y": {}}, "z": {}}, "t": {}}}
    X = np.array([[2.0, 1.0]] * 4)
    labels = ["x", "y", "z", "t"]
    for weight, a, b in (
        (1.0, 1.0, 1.0),
        (0.5, 0.5, 0.5),
        ({"a": 0.2, "b": 3.0}, 0.2, 3.0),
        ({"b": 2}, 1.0, 2.0),
    ):
        space = Classes(deep, ancestor_weight=weight, labels=labels).bind(X, labels)
        phi = space.pack(X, labels).gold().toarray()
        wanted = np.array(
            [
                [1 + a * a + b * b, a * a + b * b, a * a, 0],
                [a * a + b * b, 1 + a * a + b * b, a * a, 0],
                [a * a, a * a, 1 + a * a, 0],
                [0, 0, 0, 1],
            ]
        )
        np.testing.assert_allclose(phi @ phi.T, 6.0 * wanted)  # 2^2 + 1 and the bias


@pytest.mark.parametrize(
    "learner", [CRF(Classes()), Perceptron(Classes()), tw.StructuredSVM(Classes(), 10, C_mode="absolute")]
)
def test_without_ancestors_a_taxonomy_is_flat(learner):
    X, y = blobs()
    flat = clone(learner).fit(X, y)
    none = clone(learner).set_params(structure=Classes(TREE, ancestor_weight=0.0)).fit(X, y)
    np.testing.assert_array_equal(none.coef_, flat.coef_)
    assert none.space_.feature_names == flat.space_.feature_names
    half = clone(learner).set_params(structure=Classes(TREE, ancestor_weight={"plant": 0})).fit(X, y)
    assert {name[-1] for name in half.space_.feature_names} == {"cat", "dog", "elm", "oak", "animal"}


def test_a_small_weight_shares_little():
    X, y = blobs()
    flat, *shared = (
        CRF(Classes(TREE, ancestor_weight=weight), l2=1.0, tol=1e-8).fit(X, y).predict_marginals(X)
        for weight in (0.0, 1e-3, 0.3, 3.0)
    )
    apart = [np.abs(p - flat).max() for p in shared]
    assert apart[0] < 1e-5
    assert apart == sorted(apart)
    assert apart[1] > 1e-3


def test_ancestor_weights_are_saved(tmp_path):
    X, y = blobs()
    for weight in (0.3, {"animal": 0.2, "plant": 0.0}):
        model = tw.StructuredSVM(
            Classes(TREE, ancestor_weight=weight), 10, loss="tree", C_mode="absolute"
        ).fit(X, y)
        tw.save(model, tmp_path / "model.tw")
        again = tw.load(tmp_path / "model.tw")
        assert again.structure.ancestor_weight == again.space_.structure.ancestor_weight == weight
        assert again.space_.feature_names == model.space_.feature_names
        np.testing.assert_array_equal(
            [c.score for row in again.predict_kbest(X, 4) for c in row],
            [c.score for row in model.predict_kbest(X, 4) for c in row],
        )


def test_ancestor_weight_in_a_search():
    X, y = blobs()
    grid = {"structure__ancestor_weight": [1.0, 0.5, 0.0]}
    assert GridSearchCV(CRF(Classes(TREE)), grid, cv=2).fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "ancestor_weight must be a finite number >= 0, got -1.0"),
        (np.inf, "must be a finite number >= 0, got inf"),
        (np.nan, "must be a finite number >= 0, got nan"),
        ("half", "must be a finite number >= 0, got 'half'"),
        (True, "must be a finite number >= 0, got True"),
        ({"animal": -2}, "must be a finite number >= 0 for 'animal', got -2"),
        ({"mineral": 1}, "'mineral' is not in the taxonomy; name inner nodes"),
        ({"cat": 1}, "'cat' is a class, and classes have 1; name inner nodes"),
    ],
)
def test_bad_ancestor_weights(weight, message):
    X, y = blobs()
    with pytest.raises(InputError, match=message):
        CRF(Classes(TREE, ancestor_weight=weight)).fit(X, y)


@pytest.mark.parametrize(
    ("taxonomy", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "b")], "cycle: 'b' -> 'c' -> 'b'"),
        ([("a", "a")], "cycle: 'a' -> 'a'"),
        ([("a", "cat"), ("b", "dog"), ("b", "elm"), ("b", "oak")], "2 roots"),
        ([("r", "cat"), ("r", "dog"), ("r", "elm")], "class 'oak' is not in the taxonomy"),
        ([], "taxonomy is empty"),
        ([("a", "b", "c")], "item 0 must be a"),
        ([("a", ["b"])], "item 0: nodes must be hashable"),
        ({"a": "b"}, "expected a dict or a list of children"),
        (Graph(PAIRS, directed=False), "must be directed"),
        (7, "taxonomy must be"),
        ("no-such-file.tsv", "no such file"),
    ],
)
def test_bad_taxonomies(taxonomy, message):
    X, y = blobs()
    with pytest.raises(InputError, match=message):
        CRF(Classes(taxonomy)).fit(X, y)


def test_given_classes_are_leaves():
    X, y = blobs()
    with pytest.raises(InputError, match="class 'oak' is an inner node"):
        CRF(Classes([*PAIRS, ("oak", "acorn")], labels=sorted(set(y)))).fit(X, y)


def test_bad_lines(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("a\tb\nc\n")
    with pytest.raises(InputError, match=r"bad\.tsv:2: 1 columns; expected parent TAB child"):
        Taxonomy.read(path)


def test_save_and_load(tmp_path):
    X, y = blobs()
    for structure in (Classes(), Classes(TREE), Classes(PAIRS, bias=False)):
        model = CRF(structure).fit(sp.csr_matrix(X), y)
        tw.save(model, tmp_path / "model.tw")
        again = tw.load(tmp_path / "model.tw")
        np.testing.assert_array_equal(again.predict_marginals(X), model.predict_marginals(X))


def test_a_taxonomy_file_is_not_needed_again(tmp_path):
    path = tmp_path / "taxonomy.tsv"
    path.write_text("\n".join(f"{a}\t{b}" for a, b in PAIRS))
    X, y = blobs()
    model = CRF(Classes(str(path))).fit(X, y)
    tw.save(model, tmp_path / "model.tw")
    path.unlink()
    assert np.array_equal(tw.load(tmp_path / "model.tw").predict(X), model.predict(X))


def test_too_many_weights_are_refused():
    X, y = blobs()
    with pytest.raises(InputError, match="weights; hash or select"):
        CRF(Classes().with_limits(weights=10)).fit(X, y)


def test_networkx_graphs(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(PAIRS)
    X, y = blobs(20)
    wanted = CRF(Classes(PAIRS)).fit(X, y)
    model = CRF(Classes(graph)).fit(X, y)
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    tw.save(model, tmp_path / "model.tw")
    assert np.array_equal(tw.load(tmp_path / "model.tw").predict(X), model.predict(X))
    graph.add_edge("plant", "cat")  # a child of two parents
    assert Taxonomy.read(graph).height_of_meeting("cat", "oak") == 1.0
    parallel = networkx.MultiDiGraph([*PAIRS, PAIRS[0]])
    assert Taxonomy.read(parallel).edges == Taxonomy(PAIRS).edges
    with pytest.raises(InputError, match="must be directed"):
        Taxonomy.read(networkx.Graph(PAIRS))
    graph.add_edge("cat", "plant")
    with pytest.raises(InputError, match="has a cycle"):
        Taxonomy.read(graph)
    with pytest.raises(InputError, match="the taxonomy is empty"):
        Taxonomy.read(networkx.DiGraph())
