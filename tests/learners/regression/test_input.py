"""Unusual and bad input of kernel regression: each has a stated behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import kernels
from trelliswork.kernels import RBF, Composed, Kernel, Normalized

X, Y = ["ab", "ba", "", "abb"], ["xy", "yx", "", "xyy"]
KERNEL = kernels.Spectrum(1, 3, boundary=True)


def model(**more):
    return tw.KernelRegression(KERNEL, tw.NGrams(2), ridge=0.01).set_params(**more)


def test_empty_strings_are_strings():
    fitted = model().fit(X, Y)
    assert fitted.predict(["", "ab"]) == ["", "xy"]
    assert fitted.predict([]) == []
    nothing = model().fit(["a", "b"], ["", ""])
    assert nothing.predict(["a", "c"]) == ["", ""]


def test_symbols_never_seen_have_no_features():
    fitted = model(kernel=kernels.NGram(1)).fit(X, Y)
    assert np.allclose(fitted.decision_function(["ab"]), fitted.decision_function(["a?b?"]))
    assert fitted.score(["ab"], ["zz"]) == 0.0  # unknown in the truth: errors, not a failure


def test_duplicates_and_contradictions_are_averaged():
    twice = model().fit([*X, *X], [*Y, *Y])
    assert twice.predict(X) == Y
    torn = model(kernel="linear", output=tw.Values()).fit(np.array([[1.0], [1.0]]), [0.0, 1.0])
    assert torn.predict(np.array([[1.0]]))[0] == pytest.approx(0.5, abs=0.01)
    both = model(kernel=kernels.NGram(1, boundary=True), ridge=1e-6).fit(["a", "a", "b"], ["x", "y", "z"])
    assert both.decision_function(["a"]).max() == pytest.approx(0.5, abs=0.01)
    assert both.predict(["a"])[0] in ("x", "y", "")


def test_ngrams_longer_than_the_strings():
    fitted = model(output=tw.NGrams(5)).fit(X, Y)
    assert fitted.predict(X) == Y
    none = kernels.NGram(9)(X, X)
    assert not none.any()
    flat = model(kernel=kernels.NGram(9)).fit(X, Y)  # no features at all: predicts the empty counts
    assert not flat.decision_function(X).any()
    assert isinstance(flat.predict(["ab"])[0], str)


def test_counts_without_a_preimage_are_repaired_or_refused():
    counts = {"^x": 1.0, "xy": 1.0, "y$": 0.0}
    with pytest.raises(tw.InputError, match="no string has these counts: 'y' is entered 1 and left 0 times"):
        tw.preimage(counts, 2, method="exact")
    assert tw.preimage(counts, 2).output == "xy"


def test_gram_matrices_are_checked():
    K = KERNEL(X, X)
    given = tw.KernelRegression("precomputed", tw.NGrams(2), ridge=0.01)
    skew = K.copy()
    skew[0, 1] += 1.0
    with pytest.raises(tw.InputError, match="sample 0: the Gram matrix is not symmetric"):
        given.fit(skew, Y)
    with pytest.raises(tw.InputError, match="must be square, got shape"):
        given.fit(K[:, :3], Y)
    hole = K.copy()
    hole[2, 2] = np.nan
    with pytest.raises(tw.InputError, match="sample 2: its row of the Gram matrix holds NaN"):
        given.fit(hole, Y)
    with pytest.raises(tw.InputError, match="not positive semi-definite: its least eigenvalue is -"):
        given.fit(-K, Y)
    with pytest.raises(tw.InputError, match="not positive semi-definite"):
        tw.KernelRegression("precomputed", ridge=[0.01, 0.1]).fit(-K, Y)
    slightly = K - 0.1 * np.eye(4) * 0  # a ridge above the negative eigenvalue makes it solvable
    low = np.linalg.eigvalsh(slightly - 5 * np.eye(4))[0]
    solvable = given.set_params(ridge=-low + 1.0).fit(slightly - 5 * np.eye(4), Y)
    assert np.isfinite(solvable.dual_coef_).all()
    with pytest.raises(tw.InputError, match="rows of 2 similarities; the model was fitted to 4"):
        given.set_params(ridge=0.01).fit(K, Y).predict(K[:, :2])


def test_no_ridge_on_a_singular_matrix_is_the_least_norm_solution():
    double = model(ridge=0.0, solver="dual").fit(["ab", "ab", "ba"], ["xy", "xy", "yx"])
    assert double.predict(["ab", "ba"]) == ["xy", "yx"]
    assert np.allclose(double.dual_coef_[0], double.dual_coef_[1])
    primal = model(ridge=0.0, solver="primal").fit(["ab", "ab", "ba"], ["xy", "xy", "yx"])
    assert np.allclose(primal.decision_function(["ab"]), double.decision_function(["ab"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": -1.0}, "ridge must be a finite number >= 0, got -1.0"),
        ({"ridge": "best"}, "ridge must be a number, a list of numbers or 'loo'"),
        ({"ridge": []}, "ridge is an empty list"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"output": "trees"}, "output must be Positions"),
        ({"output": tw.NGrams(0)}, "n must be a whole number >= 1"),
        ({"output": tw.NGrams(2, preimage="no")}, "preimage must be one of"),
        ({"output": tw.NGrams(2, thresholds="no")}, "thresholds must be one of"),
        ({"output": tw.NGrams(2, loss="cubic")}, "loss must be one of"),
        ({"output": tw.NGrams(2, language_model="lm")}, "language_model must be an NGramModel"),
        ({"kernel": "magic"}, "kernel must be one of"),
        ({"kernel": kernels.RBF(), "mask": lambda r, s: True}, "kernel with explicit features"),
        ({"basis": 0}, "basis must be a whole number >= 1"),
        ({"basis_method": "best"}, "basis_method must be one of"),
        ({"basis": 2, "solver": "primal"}, "basis=.* but solver='primal' has weights of features"),
        ({"basis": 2, "mask": lambda r, s: r == s}, "but a mask has weights of features"),
        ({"eta": -1.0}, "eta must be a number >= 0"),
        ({"cache_mb": 1e-5, "solver": "dual"}, "takes 0 MB, more than cache_mb=1e-05; use basis"),
        ({"vote": [3]}, "vote must hold KernelRegression"),
        ({"output": tw.Positions(), "vote": [model()]}, "vote needs output=NGrams"),
        ({"constraints": [{("x", "a"): 1.0}], "eta": 1.0}, "there is no output feature 'x'"),
        ({"constraints": [3], "eta": 1.0}, "constraint 0: expected a mapping"),
        ({"constraints": [{"x": 1.0}], "eta": 1.0}, "expected pairs"),
        ({"constraints": [{}], "eta": 1.0, "ridge": "loo"}, "need one ridge > 0"),
        ({"constraints": [{}], "eta": np.inf}, "eta must be finite for constraints"),
        ({"constraints": [{}], "eta": 1.0, "constraint_solver": "no"}, "constraint_solver must be"),
    ],
)
def test_parameters_are_checked(change, message):
    with pytest.raises(tw.InputError, match=message):
        model(**change).fit(X, Y)


def test_data_are_checked():
    for data, outputs, message in (
        ("ab", Y, "X must be a list of samples"),
        (X, "xy", "y must be a list of outputs"),
        (X, Y[:2], "X has 4 samples but y has 2"),
        ([], [], "X is empty"),
        (["a", 3], ["x", "y"], "sample 1: X is int"),
        (["a", "b"], ["x", None], "sample 1: y is NoneType"),
        ([["a"], [["b"]]], ["x", "y"], "sample 1: a symbol of X is not hashable"),
    ):
        with pytest.raises(tw.InputError, match=message):
            model().fit(data, outputs)
    with pytest.raises(tw.InputError, match="sample 1: 1 symbols for 2 positions"):
        tw.KernelRegression("linear", tw.Positions()).fit(["a", "bb"], ["x", "y"])
    with pytest.raises(tw.InputError, match="sample 1: y holds NaN"):
        tw.KernelRegression("linear", tw.Values()).fit(np.eye(2), [0.0, np.nan])
    with pytest.raises(tw.InputError, match="every output is empty"):
        tw.KernelRegression("linear", tw.Positions()).fit(["", ""], ["", ""])
    with pytest.raises(tw.InputError, match="sample 0: the kernel gives inf"):
        tw.KernelRegression(lambda a, b: np.full((len(a), len(b)), np.inf), tw.NGrams(1)).fit(X, Y)
    with pytest.raises(tw.InputError, match="predict_counts needs"):
        model().fit(X, Y).predict_counts(X)
    fitted = tw.KernelRegression("linear", tw.Positions(language_model=tw.NGramModel(2), lm_weight=-1))
    fitted.fit(["a"], ["x"])
    with pytest.raises(tw.InputError, match="lm_weight must be"):
        fitted.predict(["a"])


def test_kinds_of_outputs_are_kept():
    lists = model().fit(X, [list(y) for y in Y])
    assert lists.predict(["ab"]) == [["x", "y"]]
    tuples = model().fit([tuple(x) for x in X], [tuple(y) for y in Y])
    assert tuples.predict([("a", "b")]) == [("x", "y")]
    numbers = model().fit(X, [[ord(c) for c in y] for y in Y])
    assert numbers.predict(["ab"]) == [[120, 121]]
    assert model().fit(X, Y).predict_candidates(["ab"])[0][0] == "xy"


def test_rows_and_similarities_are_checked():
    rows = tw.KernelRegression("poly", tw.Values(), ridge=0.1)
    assert rows.fit([[1, 2], [2, 3]], [1, 2]).predict([[1, 2]]) == pytest.approx([1.0], abs=0.1)
    with pytest.raises(tw.InputError, match="rows of 3 numbers cannot be compared with rows of 2"):
        rows.predict(np.eye(3))
    with pytest.raises(tw.InputError, match="sample 1: the kernel gives nan"):
        rows.predict([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(tw.InputError, match="take rows of numbers"):
        rows.fit(X, [1, 2, 3, 4])
    gram = KERNEL(X, X)
    given = model(kernel="precomputed").fit(gram, Y)
    with pytest.raises(tw.InputError, match="rows of 8 similarities; the model was fitted to 4 samples"):
        given.predict(np.hstack([gram, gram]))
    with pytest.raises(tw.InputError, match="sample 0: the kernel gives nan"):
        given.predict(np.full((1, 4), np.nan))
    weighed = model(kernel="precomputed").fit(gram, Y, sample_weight=[1, 1, 1, 0])
    assert weighed.predict(gram[:3]) == Y[:3]
    with pytest.raises(tw.InputError, match="the Gram matrix is not symmetric"):
        model(kernel=lambda A, B: np.array([[len(a) + 2.0 * len(b) for b in B] for a in A])).fit(X, Y)
    with pytest.raises(tw.InputError, match="the kernel must give an array of real numbers"):
        model(kernel=lambda A, B: "similar").fit(X, Y)
    with pytest.raises(tw.InputError, match="vote must be a list"):
        model(vote=model()).fit(X, Y)
    with pytest.raises(tw.InputError, match="n must be a whole number"):
        model(output=tw.NGrams(None)).fit(X, Y)
    with pytest.raises(tw.InputError, match="sample 1: y is NoneType"):
        model().fit(X, Y).score(X[:2], [Y[0], None])


@pytest.mark.parametrize("ridge", [0.1, [0.1, 1.0]])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0]])
def test_what_a_kernel_gave_is_left_alone(ridge, weights):
    X = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
    gram = X @ X.T

    class Keeper(Kernel):
        def __call__(self, A, B):
            return gram

    def kept(A, B):
        return gram

    for kernel in (kept, Keeper(), Normalized(Keeper()), Composed(kept, RBF(1.0))):
        model = tw.KernelRegression(kernel, tw.Values(), ridge=ridge)
        model.fit(X, [1.0, 2.0, 3.0], sample_weight=weights)
        np.testing.assert_array_equal(gram, X @ X.T)


def test_values_of_kernels_are_checked_at_prediction():
    ragged = tw.KernelRegression(lambda A, B: [[1.0] * (1 + i) for i in range(len(A))], tw.NGrams(1))
    with pytest.raises(tw.InputError, match="must give an array of real numbers"):
        ragged.fit(["x", "y", "xy"], ["ab", "ba", "aa"])
    shapes = [lambda A, B: A @ B.T, lambda A, B: np.ones(len(B))]
    model = tw.KernelRegression(lambda A, B: shapes[0](A, B), tw.Values(), ridge=0.1)
    model.fit(np.eye(3), [1.0, 2.0, 3.0])
    shapes.reverse()
    with pytest.raises(tw.InputError, match=r"gave an array of shape \(3,\) for 2 and 3 inputs"):
        model.predict(np.eye(3)[:2])
