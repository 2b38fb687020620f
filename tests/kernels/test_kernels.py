"""Kernels of strings, sequences of vectors, and kernels made of kernels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from trelliswork import InputError, kernels
from trelliswork._ngrams import Coded, distinct_rows, match_rows
from trelliswork.kernels import KERNELS, as_kernel


def slow_ngram(a, b, n, boundary=False):
    if boundary:
        a, b = (["^"] * (n - 1) + list(s) + ["$"] * (n - 1) for s in (a, b))
    grams = [[tuple(s[i : i + n]) for i in range(len(s) - n + 1)] for s in (a, b)]
    return float(sum(grams[0].count(u) * grams[1].count(u) for u in set(grams[0])))


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(12)]


@pytest.mark.parametrize("boundary", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_ngrams_against_a_double_loop(words, n, boundary):
    slow = [[slow_ngram(a, b, n, boundary) for b in words] for a in words]
    kernel = kernels.NGram(n, boundary=boundary)
    assert np.array_equal(kernel(words, words), slow)
    assert np.array_equal(kernel(words[:5], words[3:]), np.array(slow)[:5, 3:])
    assert np.array_equal(kernel.diagonal(words), np.diag(slow))
    explicit = kernel.map(words)
    F = explicit.transform(words).toarray()
    assert np.array_equal(F @ F.T, slow)
    assert len(explicit.names) == explicit.n_features == F.shape[1]


def test_spectrum_is_a_sum_and_takes_any_symbols(words):
    K = kernels.Spectrum(1, 3)(words, words)
    parts = [kernels.NGram(n) for n in (1, 2, 3)]
    assert np.array_equal(K, kernels.Sum(parts)(words, words))
    lists = [list(w) for w in words]
    assert np.array_equal(kernels.Spectrum(1, 3)(lists, lists), K)
    numbers = [["abc".index(c) for c in w] for w in words]
    assert np.array_equal(kernels.Spectrum(1, 3)(numbers, numbers), K)
    mixed = [[1, "a", None], ["a", None]]
    assert kernels.NGram(2)(mixed, mixed).tolist() == [[2.0, 1.0], [1.0, 1.0]]


def test_large_alphabets_and_long_ngrams_do_not_collide():
    rng = np.random.default_rng(1)
    texts = ["".join(map(chr, rng.integers(0x4E00, 0x9FFF, 30))) for _ in range(4)]
    texts.append(texts[0][3:] + texts[1][:9])
    kernel = kernels.NGram(8)
    assert np.array_equal(kernel(texts, texts), [[slow_ngram(a, b, 8) for b in texts] for a in texts])
    rows = rng.integers(0, 2**40, (20, 3))
    table = distinct_rows(rows)
    assert np.array_equal(table[match_rows(table, rows)], rows)
    assert match_rows(table, np.array([[-1, 0, 0], [7, 7, 7]])).tolist() == [-1, -1]
    assert len(Coded(np.zeros(0, dtype=np.int64), [0])) == 0


def test_many_ngrams_go_through_sparse_products():
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("abcdefghijkl"), 60)) for _ in range(40)]
    kernel = kernels.NGram(4)
    assert kernel.map(texts).n_features > 1024
    some = kernel(texts[:6], texts)
    assert np.array_equal(some, [[slow_ngram(a, b, 4) for b in texts] for a in texts[:6]])


@pytest.mark.parametrize("width", [None, 0.8])
@pytest.mark.parametrize("n", [1, 2])
def test_vector_ngrams_against_a_double_loop(n, width):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(k, 2)) for k in (3, 0, 1, 4)]
    base = kernels.RBF(0.3)

    def slow(a, b):
        pairs = [
            base(a[i : i + n].reshape(1, -1), b[j : j + n].reshape(1, -1))[0, 0]
            * (1.0 if width is None else np.exp(-((i - j) ** 2) / (2 * width**2)))
            for i in range(len(a) - n + 1)
            for j in range(len(b) - n + 1)
        ]
        return float(sum(pairs))

    expected = [[slow(a, b) for b in X] for a in X]
    kernel = kernels.VectorNGrams(n, base, width=width)
    assert np.allclose(kernel(X, X), expected)
    assert np.allclose(kernel.diagonal(X), np.diag(expected))
    assert np.allclose(kernel._sums(X, X, max_pairs=3), expected)  # one sequence at a time


def test_compositions(words):
    inner = kernels.NGram(2, boundary=True)
    K = inner(words, words)
    assert np.allclose(kernels.Composed(inner, kernels.Polynomial(3))(words, words), (1 + K) ** 3)
    d = np.diag(K)
    rbf = np.exp(-0.2 * (d[:, None] + d - 2 * K))
    assert np.allclose(kernels.Composed(inner, kernels.RBF(0.2))(words, words), rbf)
    assert np.allclose(kernels.Composed(inner, kernels.RBF(0.2)).diagonal(words), 1)
    cosine = K / np.sqrt(np.outer(d, d))
    assert np.allclose(kernels.Normalized(inner)(words, words), cosine)
    assert np.allclose(kernels.Normalized(inner)(words[:3], words), cosine[:3])
    product = kernels.Product([inner, kernels.Normalized(inner)])
    assert np.allclose(product(words, words), K * cosine)
    assert np.allclose(product.diagonal(words), np.diag(K * cosine))
    weighted = kernels.Sum([inner, product], [0.5, 2.0])
    assert np.allclose(weighted(words, words), 0.5 * K + 2 * K * cosine)
    assert np.allclose(weighted.diagonal(words), np.diag(0.5 * K + 2 * K * cosine))


def test_polynomial_and_rbf_diagonals():
    X = np.random.default_rng(4).normal(size=(6, 3))
    for kernel in (kernels.Linear(), kernels.Polynomial(3), kernels.RBF(0.5)):
        assert np.allclose(kernel.diagonal(X), np.diag(kernel(X, X)))
        assert np.allclose(super(type(kernel), kernel).diagonal(X), np.diag(kernel(X, X)))


def test_names_and_mistakes(words):
    for name in KERNELS:
        assert isinstance(as_kernel(name), KERNELS[name])
    with pytest.raises(InputError, match="n must be a whole number >= 1, got 0"):
        kernels.NGram(0)(words, words)
    with pytest.raises(InputError, match="longest must be >= shortest"):
        kernels.Spectrum(3, 2)(words, words)
    with pytest.raises(InputError, match="sample 1: X is int; expected a string or a list of symbols"):
        kernels.NGram(1)(["a", 3], ["a"])
    with pytest.raises(InputError, match=r"sample 1: vectors of 3 numbers; expected 2"):
        kernels.VectorNGrams()([np.ones((1, 2)), np.ones((2, 3))], [np.ones((1, 2))])
    with pytest.raises(InputError, match="sample 1: a vector holds NaN"):
        kernels.VectorNGrams()([np.ones((1, 2)), np.array([[np.nan, 1.0]])], [np.ones((1, 2))])
    with pytest.raises(InputError, match="kernels is empty"):
        kernels.Sum()(words, words)
    with pytest.raises(InputError, match="outer must be a Polynomial or RBF"):
        kernels.Composed(kernels.NGram(1), kernels.NGram(1))(words, words)
    with pytest.raises(InputError, match="weights must be 1 finite numbers"):
        kernels.Sum([kernels.NGram(1)], [-1.0])(words, words)


def test_the_width_of_a_gaussian_is_that_of_the_training_rows():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    kernel = kernels.RBF().fitted(A)
    assert kernel.gamma == pytest.approx(1 / (3 * A.var()))
    assert kernels.RBF().fitted(100 * A)(100 * A, 100 * B) == pytest.approx(kernel(A, B))
    assert kernels.RBF().fitted(sp.csr_matrix(A)).gamma == pytest.approx(kernel.gamma)
    assert kernels.RBF()(A, B) == pytest.approx(rbf_kernel(A, B))
    assert kernels.RBF().fitted(np.full((3, 2), 0.1)).gamma == 0.5
    assert kernels.RBF(2.0).fitted(A).gamma == 2.0
    for outer in (kernels.Sum([kernels.RBF(), kernels.Linear()]), kernels.Product([kernels.RBF()])):
        assert outer.fitted(A).kernels[0].gamma == kernel.gamma
    assert kernels.Normalized(kernels.RBF()).fitted(A).kernel.gamma == kernel.gamma
    with pytest.raises(InputError, match="'auto' or a number"):
        kernels.RBF("wide")(A, B)
