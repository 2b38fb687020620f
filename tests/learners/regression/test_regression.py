"""Kernel regression: solvers against dense linear algebra, and what a user sees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import trelliswork as tw
from trelliswork import kernels
from trelliswork.learners.optimize.lowrank import greedy_basis, nystrom, pivoted_cholesky, random_basis
from trelliswork.learners.regression.constraints import (
    power_bound,
    solve_cg,
    solve_closed,
    solve_constraints,
    solve_iteration,
    solve_masks,
)
from trelliswork.learners.regression.solvers import solve_dual, spectral_dual, spectral_primal


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# -- solvers ---------------------------------------------------------------------------------


def test_primal_is_dual(rng):
    F, Y = rng.normal(size=(9, 5)), rng.normal(size=(9, 3))
    W = np.linalg.solve(F.T @ F + 0.3 * np.eye(5), F.T @ Y)
    dual = solve_dual(F @ F.T, Y, 0.3)
    assert np.allclose(F.T @ dual, W, atol=1e-10)
    assert np.allclose(spectral_primal(F, Y, np.array([0.3])).solve(0), W, atol=1e-10)
    assert np.allclose(spectral_dual(F @ F.T, Y, np.array([2.0, 0.3])).solve(1), dual, atol=1e-10)


def test_same_as_kernel_ridge(rng):
    X, Y, new = rng.normal(size=(40, 4)), rng.normal(size=(40, 6)), rng.normal(size=(7, 4))
    ours = tw.KernelRegression(kernels.Polynomial(3), tw.Values(), ridge=0.5).fit(X, Y)
    theirs = KernelRidge(alpha=0.5, kernel="poly", degree=3, gamma=1.0, coef0=1.0).fit(X, Y)
    assert np.allclose(ours.predict(new), theirs.predict(new), atol=1e-8)


def test_singular_matrix_without_ridge_gives_the_least_norm(rng):
    F = rng.normal(size=(8, 3))
    Y = F @ rng.normal(size=(3, 2))
    expected = np.linalg.pinv(F @ F.T) @ Y
    assert np.allclose(solve_dual(F @ F.T, Y, 0.0), expected, atol=1e-8)
    twice = tw.KernelRegression("linear", tw.Values(), ridge=0.0, solver="dual").fit(F, Y)
    assert np.allclose(twice.predict(F), Y, atol=1e-8)


def test_leave_one_out(rng):
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    K = kernels.RBF(0.4)(X, X)
    F = rng.normal(size=(12, 4))
    for path, gram in (
        (spectral_dual(K, Y, np.array([0.2])), K),
        (spectral_primal(F, Y, np.array([0.2])), F @ F.T),
    ):
        for i in range(12):
            rest = np.arange(12) != i
            alpha = np.linalg.solve(gram[np.ix_(rest, rest)] + 0.2 * np.eye(11), Y[rest])
            assert np.allclose(path.loo(0)[i], Y[i] - gram[i, rest] @ alpha, atol=1e-9)


def test_ridge_with_the_least_leave_one_out_error_is_taken(rng):
    X = rng.normal(size=(30, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(30, 2))
    grid = [1e-4, 1e-2, 1.0, 100.0]
    model = tw.KernelRegression("rbf", tw.Values(), ridge=grid).fit(X, Y)
    errors = []
    for ridge in grid:
        left = [
            tw.KernelRegression(model.kernel_, tw.Values(), ridge=ridge)  # of the width for all rows
            .fit(np.delete(X, i, 0), np.delete(Y, i, 0))
            .predict(X[i : i + 1])[0]
            for i in range(30)
        ]
        errors.append(((Y - left) ** 2).sum() / 30)
    assert np.allclose(model.loo_error_, errors, atol=1e-9)
    assert model.ridge_ == grid[int(np.argmin(errors))]
    assert tw.KernelRegression("rbf", tw.Values(), ridge="loo").fit(X, Y).ridge_ > 0


# -- constraints ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [12, 4])
def test_constraints_equal_the_dense_kronecker_solution(rng, n):
    p, q, c = 6, 4, 9
    F, Y = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    A = sp.random(c, p * q, 0.3, random_state=1, format="csr")
    U, D = F.T @ F + 0.1 * np.eye(p), A.toarray()
    W = np.linalg.solve(np.kron(np.eye(q), U) + D.T @ D, (Y.T @ F).ravel()).reshape(q, p)
    assert np.allclose(solve_closed(F, Y, 0.1, A).W, W, atol=1e-10)
    found = solve_cg(F, Y, 0.1, A)
    assert np.allclose(found.W, W, atol=1e-9)
    assert found.n_iter <= c + 1
    assert np.allclose(solve_iteration(F, Y, 0.1, A).W, W, atol=1e-8)
    assert np.allclose(solve_constraints(F, Y, 0.1, A).W, W, atol=1e-10)


def test_iteration_converges_exactly_below_its_step_bound(rng):
    F, Y = rng.normal(size=(10, 4)), rng.normal(size=(10, 3))
    A = 3.0 * sp.random(6, 12, 0.5, random_state=2, format="csr")
    U = F.T @ F + 0.1 * np.eye(4)

    def apply(x):
        return np.linalg.solve(U, (A.T @ (A @ x.ravel())).reshape(3, 4).T).T

    top = power_bound(apply, U, rng.normal(size=(3, 4)))
    dense = np.linalg.eigvals(np.kron(np.eye(3), np.linalg.inv(U)) @ (A.T @ A).toarray())
    assert top == pytest.approx(dense.real.max(), rel=1e-3)
    limit = 2.0 / (1.0 + dense.real.max())
    W = solve_closed(F, Y, 0.1, A).W
    assert np.allclose(solve_iteration(F, Y, 0.1, A, step=0.95 * limit).W, W, atol=1e-7)
    with pytest.raises(tw.InputError, match="diverges"):
        solve_iteration(F, Y, 0.1, A, step=1.05 * limit)


@pytest.mark.parametrize("n", [15, 5])
@pytest.mark.parametrize("eta", [0.0, 2.0, np.inf])
def test_masks_row_by_row(rng, n, eta):
    p, q = 7, 5
    F, Y = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    masks = rng.random((q, p)) < 0.4
    masks[1] = masks[0]
    W = solve_masks(F, Y, 0.1, masks, eta)
    U, M = F.T @ F + 0.1 * np.eye(p), Y.T @ F
    for r in range(q):
        free = ~masks[r]
        expected = np.zeros(p)
        if np.isinf(eta):
            expected[free] = np.linalg.solve(U[np.ix_(free, free)], M[r, free])
        else:
            expected = np.linalg.solve(U + eta * np.diag(masks[r]), M[r])
        assert np.allclose(W[r], expected, atol=1e-9)


def test_mask_of_the_learner_is_a_set_of_constraints():
    X, y = ["ab", "ba", "aab", "bba", "b"], ["xy", "yx", "xxy", "yyx", "y"]
    names = tw.KernelRegression(kernels.NGram(1), tw.NGrams(1), ridge=0.1).fit(X, y).feature_names_out_
    assert names == [("x",), ("y",)]
    by_mask = tw.KernelRegression(
        kernels.NGram(1),
        tw.NGrams(1),
        ridge=0.1,
        eta=5.0,
        mask=lambda out, into: out == ("x",) and into == "b",
    ).fit(X, y)
    rule = [{(("x",), "b"): 1.0}]
    for solver in ("closed", "cg", "iteration"):
        other = tw.KernelRegression(
            kernels.NGram(1), tw.NGrams(1), ridge=0.1, eta=5.0, constraints=rule, constraint_solver=solver
        ).fit(X, y)
        assert np.allclose(other.coef_, by_mask.coef_, atol=1e-7)
    free = tw.KernelRegression(kernels.NGram(1), tw.NGrams(1), ridge=0.1, solver="primal").fit(X, y)
    assert abs(by_mask.coef_[0, 1]) < abs(free.coef_[0, 1])
    equal = [{(("x",), "a"): 1.0, (("y",), "b"): -1.0}]  # x per a as y per b
    tied = clone(free).set_params(constraints=equal, eta=1e8).fit(X, y)
    assert tied.coef_[0, 0] == pytest.approx(tied.coef_[1, 1], abs=1e-6)


# -- low rank --------------------------------------------------------------------------------


def gram(rng, n=25, p=6):
    X = rng.normal(size=(n, p))
    return kernels.RBF(0.1)(X, X)


def test_pivoted_cholesky(rng):
    K = gram(rng)
    basis, factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), 25)
    assert np.allclose(factor @ factor.T, K, atol=1e-8)
    basis, factor = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), 8)
    assert np.array_equal(basis.columns, K[:, basis.chosen])
    part = K[:, basis.chosen] @ np.linalg.solve(K[np.ix_(basis.chosen, basis.chosen)], K[basis.chosen])
    assert np.allclose(factor @ factor.T, part, atol=1e-8)
    assert np.allclose(nystrom(basis).features @ nystrom(basis).features.T, part, atol=1e-8)
    low = K[:, :3] @ K[:3]  # rank 3: stops there
    assert pivoted_cholesky(lambda j: low[:, j], low.diagonal(), 20)[1].shape[1] == 3
    stopped = pivoted_cholesky(lambda j: K[:, j], K.diagonal(), 25, tol=0.1)[1]
    assert 0 < stopped.shape[1] < 25
    assert np.trace(K - stopped @ stopped.T) <= 0.1 * np.trace(K)
    ridge = (np.eye(25) - factor @ np.linalg.solve(0.3 * np.eye(8) + factor.T @ factor, factor.T)) / 0.3
    assert np.allclose(ridge, np.linalg.inv(0.3 * np.eye(25) + factor @ factor.T), atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_greedy_refits_exactly_and_takes_the_largest_residual(rng, ridge):
    K, Y = gram(rng), rng.normal(size=(25, 3))
    basis = greedy_basis(lambda j: K[:, j], Y, 7, ridge)
    for k in range(7):
        S = basis.chosen[:k]
        fitted = np.zeros_like(Y)
        if k:
            alpha = np.linalg.lstsq(K[S] @ K[:, S] + ridge * K[np.ix_(S, S)], K[S] @ Y, rcond=None)[0]
            fitted = K[:, S] @ alpha
        size = ((Y - fitted) ** 2).sum(axis=1)
        size[S] = -1
        assert basis.chosen[k] == np.argmax(size)


def test_bordering_update(rng):
    K = gram(rng)
    S, j, ridge = np.array([3, 8, 11]), 5, 0.4
    k = K[:, j]
    A = K[S] @ K[:, S] + ridge * K[np.ix_(S, S)]
    inverse = np.linalg.inv(A)
    c, d = K[S] @ k + ridge * K[S, j], k @ k + ridge * K[j, j]
    u = inverse @ c
    sg = d - c @ u
    grown = np.block(
        [[inverse + np.outer(u, u) / sg, -u[:, None] / sg], [-u[None] / sg, np.array([[1 / sg]])]]
    )
    T = np.append(S, j)
    assert np.allclose(grown, np.linalg.inv(K[T] @ K[:, T] + ridge * K[np.ix_(T, T)]), rtol=1e-6)


def test_duplicates_are_not_chosen_twice(rng):
    K = gram(rng)
    K = np.block([[K, K], [K, K]])
    Y = np.vstack([rng.normal(size=(25, 2))] * 2)
    chosen = greedy_basis(lambda j: K[:, j], Y, 50, 0.0).chosen % 25
    assert len(set(chosen)) == len(chosen)
    assert len(set(random_basis(lambda j: K[:, j], 50, 10, rng).chosen)) == 10


@pytest.mark.parametrize("method", ["greedy", "cholesky", "random"])
def test_a_full_basis_is_the_whole_regression(rng, method):
    X, Y, new = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.normal(size=(5, 3))
    whole = tw.KernelRegression("rbf", tw.Values(), ridge=[0.1, 10.0]).fit(X, Y)
    part = tw.KernelRegression(
        "rbf", tw.Values(), ridge=[0.1, 10.0], basis=20, basis_method=method, random_state=0
    ).fit(X, Y)
    assert np.allclose(part.predict(new), whole.predict(new), atol=1e-7)
    assert np.allclose(part.loo_error_, whole.loo_error_, atol=1e-7)
    few = clone(part).set_params(basis=6).fit(X, Y)
    assert few.dual_coef_.shape == (6, 2)
    assert few.X_fit_.shape == (6, 3)


# -- strings and positions -------------------------------------------------------------------


def doubled(rng, n=40, longest=6):
    X = ["".join(rng.choice(list("abc"), rng.integers(0, longest))) for _ in range(n)]
    return X, [x.upper() for x in X]


def test_random_strings_are_learnt(rng):
    X, y = doubled(rng, 120)
    model = tw.KernelRegression(kernels.Spectrum(1, 3, boundary=True), tw.NGrams(3), ridge=1e-3).fit(X, y)
    assert model.score(X, y) > 0.99
    new, truth = doubled(rng, 30)
    assert model.score(new, truth) > 0.95


def test_several_lengths_of_ngrams(rng):
    X, y = doubled(rng, 60)
    model = tw.KernelRegression(kernels.Spectrum(1, 3, boundary=True), tw.NGrams([2, 3]), ridge=1e-3).fit(
        X, y
    )
    assert model.score(X, y) > 0.98
    lengths = [len(name) for name in model.feature_names_out_]
    assert lengths == sorted(lengths, reverse=True)
    assert model.decision_function(X[:2]).shape == (2, len(lengths))
    same = tw.KernelRegression(kernels.Spectrum(1, 3, boundary=True), [2, 3], ridge=1e-3).fit(X, y)
    assert same.predict(X[:5]) == model.predict(X[:5])


def test_thresholds_count_right_on_the_training_strings(rng):
    X, y = doubled(rng, 50)
    model = tw.KernelRegression(
        kernels.NGram(2, boundary=True), tw.NGrams(2, preimage="euler", thresholds="train"), ridge=0.1
    ).fit(X, y)
    T = model.code_.targets(y).toarray()
    assert np.array_equal((model.predict_counts(X) >= 1).sum(axis=0), (T >= 1).sum(axis=0))
    assert np.array_equal(model.predict_counts(X).sum(axis=0), T.sum(axis=0))
    assert model.score(X, y) > 0.8


def test_rounding_before_the_repair(rng):
    X, y = doubled(rng, 60)
    weak = tw.KernelRegression(kernels.NGram(2, boundary=True), tw.NGrams(2), ridge=20.0).fit(X, y)
    model = clone(weak).set_params(output__rounded=True).fit(X, y)
    assert model.score(X, y) > weak.score(X, y)
    assert model.predict(X) == model.code_.decode_counts(model.predict_counts(X))
    assert [found[0] for found in model.predict_candidates(X)] == model.predict(X)


def test_majority_vote(rng):
    X, y = doubled(rng, 60)
    one = tw.KernelRegression(kernels.NGram(1), tw.NGrams(2, preimage="euler"), ridge=1.0)
    others = [
        tw.KernelRegression(kernels.NGram(2, boundary=True), tw.NGrams(2), ridge=0.1),
        tw.KernelRegression(kernels.Spectrum(1, 3, boundary=True), tw.NGrams(3), ridge=0.1),
    ]
    model = clone(one).set_params(vote=others).fit(X, y)
    votes = [model.code_.counts(model.decision_function(X))]
    for voter in model.voters_:
        own = voter.code_.counts(voter.decision_function(X))
        table = model.code_.tables[0]
        votes.append(voter.code_.shortened(own, 2, table, model.code_.symbols))
    assert np.array_equal(model.predict_counts(X), np.median(votes, axis=0))
    assert model.score(X, y) >= one.fit(X, y).score(X, y)
    fixed = clone(model).set_params(output=tw.NGrams(2)).fit(X, y)  # the voted counts repaired
    assert fixed.score(X, y) > 0.8


def letters(rng, n=25):
    """Words whose letters are noisy vectors."""
    centres = np.eye(3)
    words = ["abc", "cab", "bca", "ab", "c", ""]
    y = [words[rng.integers(len(words))] for _ in range(n)]
    X = [
        centres[["abc".index(c) for c in w]].reshape(len(w), 3) + 0.3 * rng.normal(size=(len(w), 3))
        for w in y
    ]
    return X, y


def test_shared_positions_are_one_regressor(rng):
    X, y = letters(rng)
    model = tw.KernelRegression(kernels.Polynomial(3), tw.Positions(), ridge=0.1).fit(X, y)
    rows = np.concatenate(X)
    targets = np.eye(3)[["abc".index(c) for c in "".join(y)]]
    plain = tw.KernelRegression(kernels.Polynomial(3), tw.Values(), ridge=0.1).fit(rows, targets)
    assert np.allclose(np.concatenate(model.decision_function(X)), plain.predict(rows), atol=1e-10)
    assert model.predict(X)[:1] == ["".join("abc"[k] for k in plain.predict(X[0]).argmax(axis=1))]
    assert model.predict([]) == []


def test_positions_by_the_empirical_kernel_map(rng):
    X, y = letters(rng)
    kernel = kernels.Polynomial(2)
    for eta in (0.0, 0.7, np.inf):
        model = tw.KernelRegression(kernel, tw.Positions(shared=False), ridge=0.2, eta=eta).fit(X, y)
        items = [(x[p], p, i) for i, x in enumerate(X) for p in range(len(x))]
        F = np.array(
            [[kernel(v[None], x[p][None])[0, 0] if p < len(x) else 0.0 for v, p, _ in items] for x in X]
        )
        for p in range(3):
            T = np.array([[float(len(w) > p and w[p] == s) for s in "abc"] for w in y])
            other = np.array([q != p for _, q, _ in items])
            if np.isinf(eta):
                w = np.zeros((3, len(items)))
                U = F[:, ~other].T @ F[:, ~other] + 0.2 * np.eye((~other).sum())
                w[:, ~other] = np.linalg.solve(U, F[:, ~other].T @ T).T
            else:
                w = np.linalg.solve(F.T @ F + 0.2 * np.eye(len(items)) + eta * np.diag(other), F.T @ T).T
            assert np.allclose(model.coef_[3 * p : 3 * p + 3], w, atol=1e-8)
    with pytest.raises(tw.InputError, match=r"sample 1: 4 positions; the longest training sample has 3"):
        model.predict([np.zeros((1, 3)), np.zeros((4, 3))])


def test_viterbi_with_a_language_model_is_the_best_string(rng):
    import itertools

    X, y = letters(rng, 40)
    for n in (1, 2, 3):
        output = tw.Positions(language_model=tw.NGramModel(n), lm_weight=0.4)
        model = tw.KernelRegression("linear", output, ridge=1.0).fit(X, y)
        G = model.decision_function(X[:8])
        lm = tw.NGramModel(n).fit(y)
        for g, found in zip(G, model.predict(X[:8]), strict=True):
            scores = {
                "".join("abc"[k] for k in s): sum(g[t, k] for t, k in enumerate(s))
                + 0.4 * lm.log_prob(["".join("abc"[k] for k in s)])[0]
                for s in itertools.product(range(3), repeat=len(g))
            }
            assert scores[found] == pytest.approx(max(scores.values()), abs=1e-9)


def test_language_model_may_have_its_own_corpus(rng):
    X, y = letters(rng, 40)
    free = tw.KernelRegression("linear", tw.Positions(), ridge=1.0).fit(X, y)
    noisy = [x + rng.normal(size=x.shape) for x in X]
    output = tw.Positions(language_model=tw.NGramModel(3), corpus=["abc", "cab", "bca", "ab", "c", ""] * 5)
    helped = tw.KernelRegression("linear", output, ridge=1.0).fit(X, y)
    assert helped.score(noisy, y) > free.score(noisy, y)


def test_windows_of_symbols():
    X, y = ["aab", "abb", "bab", "baa"] * 3, ["112", "121", "112", "121"] * 3
    model = tw.KernelRegression("rbf", tw.Positions(window=2), ridge=1e-3).fit(X, y)
    assert model.predict(X) == y
    alone = tw.KernelRegression("rbf", tw.Positions(), ridge=1e-3).fit(X, y)
    assert alone.score(X, y) < 1
    assert len(model.predict(["azb"])[0]) == 3  # a symbol never seen has no features


# -- kernels as inputs -----------------------------------------------------------------------


def test_precomputed_gram_matrix_and_functions_are_the_kernel(rng):
    X, y = doubled(rng, 30)
    kernel = kernels.Normalized(kernels.Spectrum(1, 3, boundary=True))
    direct = tw.KernelRegression(kernel, tw.NGrams(2), ridge=0.01).fit(X[:20], y[:20])
    K = kernel(X, X[:20])
    given = tw.KernelRegression("precomputed", tw.NGrams(2), ridge=0.01).fit(K[:20], y[:20])
    called = tw.KernelRegression(lambda a, b: kernel(a, b), tw.NGrams(2), ridge=0.01).fit(X[:20], y[:20])
    expected = direct.decision_function(X[20:])
    assert np.allclose(given.decision_function(K[20:]), expected, atol=1e-9)
    assert np.allclose(called.decision_function(X[20:]), expected, atol=1e-9)
    few = tw.KernelRegression("precomputed", tw.NGrams(2), ridge=0.01, basis=6).fit(K[:20], y[:20])
    assert few.X_fit_.shape == (6,)
    assert few.decision_function(K[20:]).shape == expected.shape


def test_precomputed_goes_through_cross_validation(rng):
    from sklearn.model_selection import cross_val_score

    X, y = doubled(rng, 24)
    kernel = kernels.Spectrum(1, 2, boundary=True)
    scores = cross_val_score(
        tw.KernelRegression("precomputed", ridge=0.1), kernel(X, X), y, cv=3, error_score="raise"
    )
    same = cross_val_score(
        tw.KernelRegression(kernel, ridge=0.1, solver="dual"), X, y, cv=3, error_score="raise"
    )
    assert np.allclose(scores, same)


def test_weights_are_repetition_and_zero_is_absence(rng):
    X, y = doubled(rng, 16)
    w = np.array([0, 2] + [1] * 14)
    for solver in ("primal", "dual"):
        model = tw.KernelRegression(kernels.NGram(2), tw.NGrams(2), ridge=0.3, solver=solver)
        weighted = clone(model).fit(X, y, sample_weight=w).decision_function(X)
        repeated = clone(model).fit([X[1], *X[1:]], [y[1], *y[1:]]).decision_function(X)
        assert np.allclose(weighted, repeated, atol=1e-9)


def test_an_ngram_kernel_on_outputs_ranks_like_ngrams(rng):
    X = ["".join(rng.choice(list("ab"), 5)) for _ in range(25)]
    y = [x.replace("a", "xy").replace("b", "z") for x in X]
    kernel = tw.kernels.Spectrum(1, 3, boundary=True)
    some = ["".join(rng.choice(list("xyz"), rng.integers(3, 9))) for _ in range(40)]
    output = tw.Candidates(tw.kernels.NGram(2, boundary=True), candidates=some)
    ours = tw.KernelRegression(kernel, output, ridge=0.3).fit(X, y)
    counts = tw.KernelRegression(kernel, tw.NGrams(2), ridge=0.3).fit(X, y)
    new = ["ababa", "bbbba", "aab"]
    names = ["".join(map(str, name)) for name in counts.feature_names_out_]
    for x, ranked, predicted in zip(
        new, ours.code_.ranked(ours.decision_function(new), new), counts.decision_function(new)
    ):
        distance = []
        for s in ranked[0]:
            own = tw.ngram_counts(s, 2)
            gap = sum((own.pop(name, 0) - g) ** 2 for name, g in zip(names, predicted))
            distance.append(gap + sum(v**2 for v in own.values()))
        assert np.allclose(distance, ranked[1]), x
    assert ours.predict_candidates(new)[0][0] == ours.predict(new)[0]


def test_candidates_of_any_kind(rng, tmp_path):
    X = rng.normal(size=(30, 2))
    y = [(bool(a > 0), bool(b > 0)) for a, b in X]

    def same(A, B):
        return np.array([[float(sum(p == q for p, q in zip(a, b))) for b in B] for a in A])

    model = tw.KernelRegression("rbf", tw.Candidates(same), ridge=0.1).fit(X, y)
    assert set(model.predict(X)) <= set(y)
    assert np.mean([a == b for a, b in zip(model.predict(X), y)]) > 0.9
    # A generator sees the input.
    only = tw.KernelRegression("rbf", tw.Candidates(same, lambda x: [(bool(x[0] > 0), True)]), ridge=0.1)
    assert only.fit(X, y).predict(X) == [(bool(a > 0), True) for a, _ in X]
    words = tw.KernelRegression("ngram", tw.Candidates("ngram"), ridge="loo").fit(
        ["abc", "bcd"], ["xyz", "yzw"]
    )
    tw.save(words, tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").predict(["abc"]) == words.predict(["abc"]) == ["xyz"]
    with pytest.raises(tw.InputError, match="sample 0: candidates must be a list of outputs"):
        only.set_params(output=tw.Candidates(same, lambda x: [])).fit(X, y).predict(X)
