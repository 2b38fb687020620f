"""Kernels on parts in their contexts: alignments, grammars and RNA."""

import itertools
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.kernels import RBF, Linear, Polynomial
from trelliswork.learners.svm.fit import fit_svm
from trelliswork.learners.svm.rounds import model_scores
from trelliswork.losses import as_loss
from trelliswork.losses.forms import check_form
from trelliswork.structures.contexts import InContext, distinct_codes, one_hot, windows

CASES = {
    "rna": (
        tw.RNA("g6"),
        ["GGAAACC", "GCAAAGC", "GGGAAACC", "GCGAAAAC"],
        ["((...))", "((...))", "(.(...))", "(......)"],
    ),
    "loops": (
        tw.RNA("nearest-neighbour"),
        ["GGAAACC", "GCAAAGC", "GGGAAACC", "GCGAAAAC"],
        ["((...))", "((...))", ".((...))", "(......)"],
    ),
    "grammar": (
        tw.Grammar(["S -> S S | T S | 'a' | 'b'", "T -> 'a' | 'b'"], unknown=None),
        [["a", "b"], ["b", "a", "a"], ["a", "a", "b"]],
        ["(S (T a) (S b))", "(S (S b) (S (T a) (S a)))", "(S (S (S a) (S a)) (S b))"],
    ),
    "rules": (
        tw.Grammar(["S -> S S | T S | 'a' | 'b'", "T -> 'a' | 'b'"], unknown=None, compared="rules"),
        [["a", "b"], ["b", "a", "a"], ["a", "a", "b"]],
        ["(S (T a) (S b))", "(S (S b) (S (T a) (S a)))", "(S (S (S a) (S a)) (S b))"],
    ),
    "alignment": (
        tw.Alignment("linear", context=1),
        [("abc", "ac"), ("ab", "abb"), ("cab", "ba")],
        [("abc", "a-c"), ("ab-", "abb"), ("cab-", "--ba")],
    ),
    "local": (
        tw.Alignment("affine", mode="local", context=0),
        [("abc", "ac"), ("ab", "abb")],
        [tw.AlignPath.from_cigar("1M"), tw.AlignPath.from_cigar("2M")],
    ),
}


class Explicit:
    """A batch whose contexts are explicit features, for each type, instead of rows of a kernel."""

    def __init__(self, view):
        self.view, self.inner = view, view.batch
        self.n_types, self.shape = view.n_columns, (view.rows.shape[1], view.n_columns)
        self.stop = self.shape[0] * self.shape[1]
        self.rows = view.rows.toarray()

    @property
    def n_features(self):
        return self.stop + self.inner.plain.n_features

    def down(self, w):
        """Weights of the features of the view."""
        table = self.rows @ w[: self.stop].reshape(self.shape)
        return np.concatenate([table.ravel(), w[self.stop :]])

    def up(self, values):
        """The adjoint, row by row."""
        n_rows = self.rows.shape[0]
        dense = values.toarray()
        table = dense[:, : n_rows * self.n_types].reshape(len(dense), n_rows, self.n_types)
        return np.hstack(
            [
                np.einsum("inc,nf->ifc", table, self.rows).reshape(len(dense), -1),
                dense[:, n_rows * self.n_types :],
            ]
        )


def primal_optimum(structure, X, y, C):
    """Objective of a margin-rescaled SVM with explicit features, over all outputs of tiny inputs."""
    from scipy.optimize import minimize

    space = structure.bind(X, y)
    batch = space.pack(X, y)
    explicit = Explicit(batch.row_view())
    loss = as_loss("hamming")
    planes = []
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        several = space.pack([x] * len(outputs), outputs)
        copies = explicit.inner.subset(np.full(len(outputs), i))
        features = explicit.up(copies.features(several.gold_codes))
        gold = explicit.up(explicit.inner.subset([i]).gold())
        costs = loss.evaluate(batch.subset(np.full(len(outputs), i)), several.gold_codes)
        planes.append((gold - features, costs))
    d, n = explicit.n_features, len(X)
    # min |w|^2 / 2 + C / n sum xi, xi >= cost - w.plane: by its dual, projected coordinate by coordinate.
    stacked = np.concatenate([rows for rows, _ in planes])
    costs = np.concatenate([c for _, c in planes])
    owner = np.repeat(np.arange(n), [len(c) for _, c in planes])
    gram = stacked @ stacked.T
    constraint = {
        "type": "ineq",
        "fun": lambda a: C / n - np.bincount(owner, a, n),
        "jac": lambda a: -(owner == np.arange(n)[:, None]).astype(float),
    }
    found = minimize(
        lambda a: 0.5 * a @ gram @ a - costs @ a,
        np.zeros(len(costs)),
        jac=lambda a: gram @ a - costs,
        bounds=[(0, None)] * len(costs),
        constraints=[constraint],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    w = stacked.T @ found.x
    slack = [max(0.0, float((c - rows @ w).max())) for rows, c in planes]
    assert w.size == d
    return 0.5 * w @ w + C / n * sum(slack), -found.fun, explicit.down(w)


@pytest.mark.parametrize("case", CASES)
def test_features_are_scores(case):
    structure, X, y = CASES[case]
    batch = structure.bind(X, y).pack(X, y)
    view = batch.row_view().batch
    assert isinstance(view, InContext)
    rng = np.random.default_rng(0)
    w = rng.normal(size=view.n_features)
    for i, x in enumerate(X):
        outputs = list(batch.space.enumerate(x))
        several = batch.space.pack([x] * len(outputs), outputs)
        copies = view.subset(np.full(len(outputs), i))
        scores = copies.scores(w)
        values = copies.features(several.gold_codes) @ w
        assert np.allclose(copies.evaluate(several.gold_codes, scores), values)
        one = view.subset([i])
        assert np.isclose(one.argmax(one.scores(w)).values[0], values.max())
        assert np.isclose(one.log_partition(one.scores(w))[0], np.logaddexp.reduce(values))
    assert np.allclose(view.gold().T @ np.ones(len(X)), view.gold_sum())


@pytest.mark.parametrize("case", ["rna", "grammar", "rules", "alignment"])
def test_pull_is_the_adjoint_of_scores(case):
    structure, X, y = CASES[case]
    view = structure.bind(X, y).pack(X, y).row_view().batch
    rng = np.random.default_rng(1)
    w = rng.normal(size=view.n_features)
    scores = view.scores(w)
    expected = view.marginals(scores, each=True)
    summed = view.pull_each(expected).sum(axis=0)
    assert np.allclose(np.asarray(summed).ravel(), view.pull(view.marginals(scores)))
    step = rng.normal(size=w.size)
    up, down = (view.log_partition(view.scores(w + t * step)).sum() for t in (1e-5, -1e-5))
    assert np.isclose((up - down) / 2e-5, view.pull(view.marginals(scores)) @ step, rtol=1e-5)
    assert np.allclose(view.expect(w)[1], view.pull(view.marginals(scores)))


@pytest.mark.parametrize("solver", ["auto", "working-set"])
@pytest.mark.parametrize("case", CASES)
def test_the_linear_kernel_is_the_primal_with_explicit_contexts(case, solver):
    structure, X, y = CASES[case]
    model = tw.StructuredSVM(
        structure, 2.0, C_mode="absolute", kernel="linear", solver=solver, tol=1e-7, prior=None
    ).fit(X, y)
    primal, dual, w = primal_optimum(structure, X, y, 2.0)
    assert np.isclose(primal, dual, rtol=1e-4)  # of the oracle
    assert np.isclose(model.primal_, primal, rtol=1e-4)
    assert model.dual_ <= model.primal_ * (1 + 1e-12)
    assert model.gap_ <= 1e-7
    batch = model.space_.pack(X, y)
    view = batch.row_view().batch
    expected = batch.gold_values(view.scores(w))
    assert np.allclose(batch.gold_values(model.part_scores(batch, X)), expected, atol=2e-2)


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(2)], ids=["rbf", "poly"])
@pytest.mark.parametrize("case", ["rna", "grammar", "rules", "alignment"])
def test_strong_duality_in_the_space_of_the_kernel(case, kernel):
    structure, X, y = CASES[case]
    C, loss = 5.0, as_loss("hamming")
    model = tw.StructuredSVM(structure, C, C_mode="absolute", kernel=kernel, tol=1e-7, prior=None).fit(X, y)
    batch = model.space_.pack(X, y)
    view = batch.row_view()
    # The objective by enumeration: the norm from the expansion, the slacks from all outputs.
    norm = np.einsum(
        "ic,ij,jc->", model.dual_coef_, kernel(model.support_rows_, model.support_rows_), model.dual_coef_
    )
    norm += model.linear_coef_ @ model.linear_coef_
    slacks = []
    for i, x in enumerate(X):
        outputs = list(model.space_.enumerate(x))
        several = model.space_.pack([x] * len(outputs), outputs)
        scores = several.evaluate(several.gold_codes, model.part_scores(several, [x] * len(outputs)))
        one = batch.subset([i])
        true = one.gold_values(model.part_scores(one, [x]))[0]
        cost = loss.evaluate(batch.subset(np.full(len(outputs), i)), several.gold_codes)
        slacks.append(max(0.0, float((cost + scores - true).max())))
        best = one.argmax(model.part_scores(one, [x]))
        assert np.isclose(best.values[0], scores.max())
    assert np.isclose(model.primal_, 0.5 * norm + C / len(X) * sum(slacks), rtol=1e-6)
    assert model.gap_ <= 1e-7
    assert view.rows.shape[0] >= model.support_rows_.shape[0]


def test_shards_of_kernels_reach_the_same_optimum():
    structure, X, y = CASES["rna"]
    batch = structure.bind(X, y).pack(X, y)
    options = {"kernel": Linear(), "tol": 1e-6, "solver": "working-set"}
    one, _ = fit_svm(batch, 3.0, as_loss("hamming"), check_form("l1", "margin"), **options)
    several, model = fit_svm(
        batch,
        3.0,
        as_loss("hamming"),
        check_form("l1", "margin"),
        cache_mb=1e-3,
        rows_per_shard=10,
        **options,
    )
    assert np.isclose(one.primal, several.primal, rtol=1e-5)
    assert (
        batch.argmax(model_scores(batch, model, Linear())).codes.values.size == batch.gold_codes.values.size
    )


# -- what a linear model of contexts cannot say ---------------------------------------------------


def exclusive_pairs(n, seed=0):
    """A hairpin forms only if the bases before and after its outermost pair are of different kinds."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for k in range(n):
        before, after = "AC"[k % 2], "AC"[k // 2 % 2]
        loop = "".join(rng.choice(list("A"), 4))
        X.append(before + "G" + loop + "C" + after)
        y.append(".(....)." if before != after else "........")
    return X, y


def exclusive_words(n, seed=0):
    """x and y over two words: X if exactly one of them is capital, otherwise Y."""
    X, y = [], []
    for a, b in itertools.islice(itertools.cycle(itertools.product("aA", "bB")), n):
        symbol = "X" if a.isupper() != b.isupper() else "Y"
        X.append([a, b])
        y.append(f"(S ({symbol} (P {a}) (Q {b})))")
    return X, y


def exclusive_matches(n, seed=0):
    """x and its neighbour go with the mark p of the other sequence, z with q: no letter says so alone."""
    X, y = [], []
    for k in range(n):
        first, marks = "xz"[k % 2] + "m", ("pq", "qp")[k // 2 % 2]
        second = f"{marks[0]}m{marks[1]}m"
        X.append((first, second))
        ahead = {"x": "p", "z": "q"}[first[0]] == marks[0]
        y.append((f"{first}--" if ahead else f"--{first}", second))
    return X, y


XOR = {
    "rna": (tw.RNA("g6"), exclusive_pairs(8)),
    "grammar": (
        tw.Grammar(
            ["S -> X | Y", "X -> P Q", "Y -> P Q", "P -> 'a' | 'A'", "Q -> 'b' | 'B'"],
            unary="keep",
            unknown=None,
        ),
        exclusive_words(8),
    ),
    "alignment": (tw.Alignment("linear"), exclusive_matches(8)),
}


@pytest.mark.parametrize("learner", ["svm", "perceptron"])
@pytest.mark.parametrize("case", XOR)
def test_an_exclusive_or_of_the_context_needs_a_kernel(case, learner):
    structure, (X, y) = XOR[case]

    def fitted(kernel):
        if learner == "svm":
            return tw.StructuredSVM(structure, 100.0, kernel=kernel, prior=None).fit(X, y)
        return tw.Perceptron(structure, kernel=kernel, max_iter=40).fit(X, y)

    def right(model):
        return np.mean(
            [a == b for a, b in zip(model.predict(X), structure_outputs(structure, X, y), strict=True)]
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a model that is as bad as it should be
        linear = right(fitted("linear"))
    assert linear < 1.0
    assert right(fitted("poly")) == 1.0
    assert right(fitted(RBF(0.3))) == 1.0


@pytest.mark.parametrize("learner", ["svm", "perceptron"])
def test_rules_see_words_that_their_symbols_do_not(learner):
    """Two halves are A and B if exactly one outer word is capital, otherwise C and D: no half sees both."""
    X = [[a, "x", "x", b] for a, b in itertools.product("aA", "bB")] * 2
    y = []
    for a, *_, b in X:
        first, second = "AB" if a.isupper() != b.isupper() else "CD"
        y.append(f"(S ({first} (P {a}) (P x)) ({second} (P x) (P {b})))")
    rules = ["S -> A B | C D", *(f"{half} -> P P" for half in "ABCD"), "P -> 'a' | 'A' | 'b' | 'B' | 'x'"]
    right = {}
    for compared in ("symbols", "rules"):
        structure = tw.Grammar(rules, unknown=None, compared=compared)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a model that is as bad as it should be
            if learner == "svm":
                model = tw.StructuredSVM(structure, 100.0, kernel="poly", prior=None).fit(X, y)
            else:
                model = tw.Perceptron(structure, kernel="poly", max_iter=50).fit(X, y)
            right[compared] = np.mean([a == b for a, b in zip(model.predict(X), y, strict=True)])
    assert right["rules"] == 1.0 > right["symbols"]
    with pytest.raises(tw.InputError, match="compared must be one of 'symbols', 'rules', got 'words'"):
        tw.Grammar(rules, compared="words").check()


def structure_outputs(structure, X, y):
    """Outputs as predictions write them."""
    batch = structure.bind(X, y).pack(X, y)
    return batch.unpack(batch.gold_codes)


# -- models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_model_files_threads_and_samples_alone(case, tmp_path):
    structure, X, y = CASES[case]
    model = tw.StructuredSVM(structure, 10.0, kernel="rbf", tol=1e-6, prior=None).fit(X, y)
    two = tw.StructuredSVM(structure, 10.0, kernel="rbf", tol=1e-6, prior=None, n_jobs=2).fit(X, y)
    assert np.array_equal(model.dual_coef_, two.dual_coef_)
    tw.save(model, tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert np.array_equal(again.log_prob(X, y), model.log_prob(X, y))
    assert [model.predict([x])[0] for x in X] == model.predict(X) == again.predict(X)
    assert [len(found) for found in model.predict_kbest(X, 2)] == [2] * len(X) or case in ("grammar", "rules")
    with pytest.raises(tw.InputError, match="a kernel model has no weights by name"):
        model.weights_by_name()


def test_refusals():
    with pytest.raises(tw.InputError, match="context must be a whole number from 0 to 20, got -1"):
        tw.StructuredSVM(tw.RNA("g6", context=-1), kernel="rbf").fit(["GAAAC"], ["(...)"])
    with pytest.raises(tw.Unsupported, match=r"Retrieval does not offer kernels on .*Grammar"):
        tw.StructuredSVM(tw.Retrieval(), kernel="rbf").fit([("ab", ["b", "a"])], [(0, ("ab", "-b"))])


def test_windows_and_codes():
    around = windows(np.array([0, 1, 2, 0]), np.array([0, 3, 4]), 2, 3)
    assert around.tolist() == [[3, 3, 0, 1, 2], [3, 0, 1, 2, 3], [0, 1, 2, 3, 3], [3, 3, 0, 3, 3]]
    codes = np.random.default_rng(0).integers(-1, 3, (50, 4))
    for n_codes in (3, 1 << 20):  # as one number each, and row by row
        found, first, place = distinct_codes(codes, n_codes)
        assert np.array_equal(found[place], codes)
        assert np.array_equal(codes[first], found)
        assert len(np.unique(found, axis=0)) == len(found)
    rows = one_hot(codes, 3).toarray()
    assert rows.shape == (50, 12)
    assert np.array_equal(rows.sum(axis=1), (codes >= 0).sum(axis=1))


PARTLY = {
    "rna": None,
    "grammar": {("S", 0, 3), ("S", 1, 3)},
    "rules": {("S", 0, 3), ("S", 1, 3)},
    "alignment": {(0, 0)},
}


@pytest.mark.parametrize("case", PARTLY)
def test_outputs_known_in_part(case):
    structure, X, y = CASES[case]
    some = [PARTLY[case] if i == 1 else output for i, output in enumerate(y)]
    model = tw.StructuredSVM(structure, 5.0, kernel="rbf", prior=None).fit(X, some)
    objectives = [record["objective"] for record in model.rounds_]
    assert all(b <= a * (1 + 1e-3) for a, b in itertools.pairwise(objectives))
    known = None if PARTLY[case] is None else [PARTLY[case]]
    if known is not None:
        assert model.space_.agrees(X[1], known[0], model.predict([X[1]], known=known)[0])


def drawn(model, rng):
    """The model with random coefficients, which know no ties."""
    for name in ("coef_", "dual_coef_", "linear_coef_"):
        if hasattr(model, name):
            setattr(model, name, rng.normal(size=getattr(model, name).shape))
    return model


@pytest.mark.parametrize("kind", ["spans", "kernel"])
def test_known_brackets_and_scores_of_nodes(kind):
    rules = ["S -> S S | T | U", "T -> 'a' | 'b' | S S", "U -> 'a'"]
    options = {"unknown": None, "unary": "keep", "max_unary": 1}
    X = [["a", "b"], ["b", "a"]]
    y = ["(S (S (T a)) (S (T b)))", "(S (T (S (T b)) (S (U a))))"]
    if kind == "spans":
        model = tw.CRF(tw.Grammar(rules, span_features=True, **options)).fit(X, y)
    else:
        model = tw.StructuredSVM(tw.Grammar(rules, **options), 5.0, kernel="rbf").fit(X, y)
    drawn(model, np.random.default_rng(0))
    for x in (["a", "b"], ["a", "b", "a"]):
        outputs = list(model.space_.enumerate(x))
        several = model.space_.pack([x] * len(outputs), outputs)
        values = several.gold_values(model.part_scores(several, [x] * len(outputs)))
        for label, span in itertools.product(("S", "T", None), ((0, 2), (0, 1))):
            known = {(label, *span)}
            fine = [i for i, output in enumerate(outputs) if model.space_.agrees(x, known, output)]
            batch = model.space_.pack([x], [known])
            scores = model.part_scores(batch, [x])
            assert np.isclose(batch.gold_values(scores)[0], np.logaddexp.reduce(values[fine]))
            assert np.isclose(batch.completion(scores).values[0], values[fine].max())
