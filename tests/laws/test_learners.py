"""Every learner keeps the laws on every structure; the run ends with a table of what was checked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import trelliswork as tw
from trelliswork._trees import leaves, parse_tree
from trelliswork.learners import LEARNERS
from trelliswork.testing import check_learner


def tagged(rng, n=12, kind="words"):
    """Short noisy tag sequences in BIO; every label occurs in every stretch of samples."""
    labels = ["B-X", "I-X", "O"]
    X, y = [], []
    for i in range(n):
        tags = ["O", "B-X", "I-X"] if i % 2 else ["B-X", "I-X", "O"]
        tags += ["B-X", "I-X", "I-X", "O", "O"][: int(rng.integers(0, 6))]
        seen = [t if rng.random() < 0.8 else labels[rng.integers(3)] for t in tags]
        if kind == "words":
            x = [f"{t}{rng.integers(2)}" for t in seen]
        elif kind == "dicts":
            x = [
                {"tag": t, "size": float(rng.integers(1, 4)) / 2, "flag": bool(rng.integers(2))} for t in seen
            ]
        else:
            x = np.array([[float(t == a) for a in labels] + [1.0] for t in seen])
        X.append(x)
        y.append(tags)
    return X, y


CHAINS = {
    "plain": (tw.Chain(), "words"),
    "scheme": (tw.Chain(scheme="BIO", emissions="observed"), "dicts"),
    "order2": (tw.Chain(2, transitions="observed"), "words"),
    "edges": (tw.Chain(edge_features="all", start=False, end=False), "words"),
    "arrays": (tw.Chain(unknown=False), "arrays"),
}
FIXED = {("transition", "B-X", "I-X"): 1.0, ("transition", "I-X", "O"): -0.25}
MAKE = {
    "CRF": lambda s: tw.CRF(s, l2=0.5, tol=1e-6),
    "Perceptron": lambda s: tw.Perceptron(s, max_iter=4),
    "StructuredSVM": lambda s: tw.StructuredSVM(s, tol=1e-8, C_mode="absolute", C=1.0),
    # Without a quadratic term there are several minima.
    "VotedCRF": lambda s: tw.VotedCRF(s, 1e-3, 0.1, l2=0.05, tol=1e-6, penalty_mode="absolute"),
    "StructBoost": lambda s: tw.StructBoost(s, 1e-3, 0.2, l2=0.5, tol=1e-6, penalty_mode="absolute"),
    "Fixed": lambda s: tw.Fixed(s, FIXED),
    "KLRSO": lambda s: tw.KLRSO(s, min_count=1),
}
# Samples left out tell the margin on one configuration of every structure, which is most of such a fit.
GIVEN = {
    "SODA": lambda s: tw.SODA(s, 1e-2, total_margin=1.0),
    "ZScore": lambda s: tw.ZScore(s, 1e-2, total_margin=1.0),
}


def made(name, structure, first):
    """A learner, with its margin given unless the configuration is the first of its structure."""
    table = MAKE if first else MAKE | GIVEN
    return table.get(name, LEARNERS[name])(structure)


@pytest.fixture
def check(record_property):
    """``check_learner`` whose result goes into the table at the end of the run (see ``conftest.py``)."""

    def checked(model, X, y):
        done = check_learner(model, X, y)
        record_property("checked", [type(model).__name__, type(model.structure).__name__, *map(list, done)])
        return done

    return checked


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", LEARNERS)
def test_laws(name, chain, check):
    structure, kind = CHAINS[chain]
    X, y = tagged(np.random.default_rng(1), n=6, kind=kind)
    check(made(name, clone(structure), chain == "plain"), X, y)


def label_graph(tokens):
    """Labels of a sentence as derivations; parts carry no position."""
    n = len(tokens)
    yield tw.Edge(n)
    for t in reversed(range(n)):
        for label in ("B-X", "I-X", "O"):
            yield tw.Edge(t, [t + 1], [(tokens[t], label), label], label)


@pytest.mark.parametrize("name", LEARNERS)
def test_laws_on_derivations(name, check):
    X, y = tagged(np.random.default_rng(1), n=6)
    make = MAKE.get(name, LEARNERS[name])
    if name == "Fixed":
        model = tw.Fixed(tw.Derivations(label_graph), {("feature", "O"): 1.0})
    else:
        model = make(tw.Derivations(label_graph))
    check(model, X, y)


def treebank(rng, n=2):
    """Sentences of cats and dogs; every rule occurs in both halves."""
    nouns = ["(NP (D the) (N cat))", "(NP (N cats))", "(NP (D a) (A big) (N dog))"]
    y = [
        f"(S {nouns[0]} (VP (V see) (NP {nouns[2]} (PP (P with) {nouns[1]}))))",
        f"(S {nouns[1]} (VP (V see) {nouns[0]} (PP (P with) {nouns[2]})))",
        f"(S {nouns[1]} (VP (V sleep)))",
        f"(S {nouns[1]} (VP (V see) {nouns[1]}))",
    ]
    drawn = [y[rng.integers(4)].replace(nouns[1], nouns[rng.integers(3)]) for _ in range(n)]
    y = y + drawn + y
    return [leaves(parse_tree(tree)) for tree in y], y


@pytest.mark.parametrize("name", LEARNERS)
def test_laws_on_grammars(name, check):
    X, y = treebank(np.random.default_rng(1))
    if name == "Fixed":
        model = tw.Fixed(tw.Grammar(min_count=1, vertical=1), {("binary", "S", "NP", "VP"): 1.0})
    else:
        model = MAKE.get(name, LEARNERS[name])(tw.Grammar(min_count=1))
    check(model, X, y)


def aligned(rng, n=6):
    """Noisy alignments of short strings of A, B and C; every symbol in every sample."""
    X, y = [], []
    for _ in range(n):
        columns = []
        for k in range(int(rng.integers(3, 6))):
            a, b = (str(s) for s in rng.choice(list("ABC"), 2))
            u = rng.random()
            columns.append(
                (a, "-") if k and u < 0.15 else ("-", b) if k and u < 0.3 else (a, a if u < 0.8 else b)
            )
        columns += [("A", "A"), ("B", "B"), ("C", "C")]
        y.append(tuple("".join(row) for row in zip(*columns, strict=True)))
        X.append(tuple(row.replace("-", "") for row in y[-1]))
    return X, y


ALIGNMENTS = {
    "affine": tw.Alignment("affine"),
    "substitution": tw.Alignment("substitution", alphabet="ABC"),
    "semiglobal": tw.Alignment(mode="semiglobal", canonical=True),
    "local": tw.Alignment("ordered", mode="local", output="path"),
}


@pytest.mark.parametrize("kind", ALIGNMENTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_laws_on_alignments(name, kind, check):
    structure = ALIGNMENTS[kind]
    X, y = aligned(np.random.default_rng(1))
    batch = structure.bind(X, y).pack(X, y)
    y = batch.unpack(batch.gold_codes)  # as the structure writes them
    if name == "Fixed":
        gap = {("gap",): -1.0} if "affine" not in structure.model else {("open",): -1.0, ("extend",): -0.5}
        check(tw.Fixed(structure, gap), X, y)
    else:
        check(made(name, structure, kind == "affine"), X, y)


BASES = ["GGAAUCC", "ACGUUAU", "GNGAAACUC", "GCAAAGC", "CCAAAGGA", "AGGAACCU"]
FOLDS = ["((...))", "(...)..", "(.(...).)", "((...))", "((...)).", "(.(..).)"]
FOLDERS = {
    **{name: MAKE.get(name, LEARNERS[name]) for name in LEARNERS},
    "Fixed": lambda s: tw.Fixed(s, {s.bind().feature_names[0]: 0.25}),
    "ZScore-slack": lambda s: tw.ZScore(s, constraints="slack", reference="uniform", reg=1e-6),
    "ZScore-generative": lambda s: tw.ZScore(s, 1.0, reg_mode="absolute", reference="generative"),
    "SVM-zero-one": lambda s: tw.StructuredSVM(
        s, loss="zero-one", rescale=None, tol=1e-8, C_mode="absolute", C=1.0
    ),
    "SVM-slack": lambda s: tw.StructuredSVM(s, rescale="slack", tol=1e-8, C_mode="absolute", C=1.0),
    "SVM-f1": lambda s: tw.StructuredSVM(s, loss="f1", tol=1e-8, C_mode="absolute", C=1.0),
    "SVM-f1-slack": lambda s: tw.StructuredSVM(
        s, loss="f1", rescale="slack", slack="l2", tol=1e-8, C_mode="absolute", C=1.0
    ),
}


# What takes long with hundreds of features is checked with the other grammars alone.
LOOP_FOLDERS = [
    name for name in FOLDERS if name not in ("SODA", "SVM-slack") and not name.startswith("ZScore-")
]
GRAMMARS = {"g6": FOLDERS, "nested": FOLDERS, "nearest-neighbour": LOOP_FOLDERS}


@pytest.mark.parametrize(("grammar", "name"), [(g, name) for g, names in GRAMMARS.items() for name in names])
def test_laws_on_rna(grammar, name, check):
    make = FOLDERS[name] if grammar == "g6" else (FOLDERS | GIVEN)[name]
    check(make(tw.RNA(grammar, min_hairpin=2)), BASES, FOLDS)


SPELLED = ["cat", "act", "tic", "cit", "ta", "ica", "kit", "tak"]
SPOKEN = ["kat", "akt", "tik", "sit", "ta", "ika", "kit", "tak"]
GROWN = [("e" if len(word) > 2 else "") + word + "s" for word in SPELLED]
HIDDEN = {"CRF-hidden": "CRF", "CRF-hidden-ends": "CRF", "Perceptron-hidden": "Perceptron"}
WRITERS = {name: name for name in LEARNERS} | HIDDEN


@pytest.mark.parametrize("name", WRITERS)
def test_laws_on_transducers(name, check):
    hidden = name in HIDDEN
    structure = tw.Transducer(window=1, longest=2, min_context=1, output="symbols" if hidden else "pieces")
    y = SPOKEN if hidden else [list(zip(a, b, strict=True)) for a, b in zip(SPELLED, SPOKEN, strict=True)]
    y = GROWN if name.endswith("ends") else y
    name = WRITERS[name]
    if name == "Fixed":
        model = tw.Fixed(structure, {("ngram", "", "", "c", "k"): 1.0, ("ngram", "", "", "a", "a"): 0.5})
    else:
        model = MAKE.get(name, LEARNERS[name])(structure)
    check(model, SPELLED, y)


def noisy_rows(rng, kind, n=8):
    """Rows of three classes that overlap; every class in both halves."""
    y = ["cat", "oak", "dog", "cat"] * (n // 4)
    X = np.array([[float(label == other) for other in ("cat", "oak", "dog")] + [1.0] for label in y])
    X = np.abs(X + 0.5 * rng.random(X.shape))
    if kind == "sparse":
        return sp.csr_matrix(X), y
    if kind == "dicts":
        return [{f"f{k}": float(v) for k, v in enumerate(row)} for row in X], y
    return X, y


CLASSES = {
    "flat": (tw.Classes(), "dense"),
    "sparse": (tw.Classes(bias=False), "sparse"),
    "tree": (tw.Classes({"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}}}), "dicts"),
}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", LEARNERS)
def test_laws_on_classes(name, kind, check):
    structure, rows = CLASSES[kind]
    X, y = noisy_rows(np.random.default_rng(1), rows)
    if name == "Fixed":
        model = tw.Fixed(structure, {structure.bind(X, y).feature_names[0]: 1.0})
    else:
        model = made(name, structure, kind == "flat")
    done = check(model, X, y)
    assert {"fitting", "deterministic", "threads", "alone", "model files", "pipeline"} <= set(done.laws)


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_laws_of_other_crfs(l1):
    X, y = tagged(np.random.default_rng(2))
    check_learner(tw.CRF(tw.Chain(), l1, 0.1, tol=1e-7, class_weight={"O": 2.0}), X, y)
    if not l1:
        check_learner(tw.CRF(tw.Chain(), l2=0.1, solver="newton-cg", tol=1e-8), X, y)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("chain", ["plain", "order2", "arrays"])
def test_many_chunks_give_the_same_bits_on_two_threads(name, chain):
    structure, kind = CHAINS[chain]
    structure = structure.with_limits(tokens_per_chunk=9, rows_per_chunk=2)
    X, y = tagged(np.random.default_rng(3), n=14, kind=kind)  # seven chunks or more
    model = made(name, structure, chain == "plain")
    one, two = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert one.predict(X) == two.predict(X)
    for a, b in zip(one.predict_marginals(X), two.predict_marginals(X), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(one.log_prob(X, y), two.log_prob(X, y))


def test_check_learner_names_the_broken_law():
    class Drunk(tw.Perceptron):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.coef_ = self.coef_ + np.random.default_rng().random(self.coef_.size)
            return self

    X, y = tagged(np.random.default_rng(4))
    with pytest.raises(AssertionError, match="Two fits give the same bits"):
        check_learner(Drunk(tw.Chain()), X, y)


def test_check_learner_finds_forgotten_weights():
    class Deaf(tw.Generative):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y)

    X, y = tagged(np.random.default_rng(4))
    with pytest.raises(AssertionError, match="Weight 2 is the same"):
        check_learner(Deaf(tw.Chain()), X, y)
    with pytest.raises(ValueError, match="at least 4 samples"):
        check_learner(Deaf(tw.Chain()), X[:3], y[:3])


class Late(tw.Generative):
    def fit(self, X, y):
        n = len(X)
        return super().fit(X, y, sample_weight=np.arange(1, n + 1))


def test_order_of_samples_is_checked_unless_waived():
    X, y = tagged(np.random.default_rng(5))
    with pytest.raises(AssertionError, match="order of the samples"):
        check_learner(Late(tw.Chain()), X, y)
    check_learner(Late(tw.Chain()), X, y, sequential=True)
