"""``RNA()``: loops with the weights of the package, rules for models of counts that ask for them."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import RNA, InputError
from trelliswork.learners.optimize.ridge import Ridge
from trelliswork.learners.pull import chosen_pull
from trelliswork.structures.held_out import most_accurate_of
from trelliswork.structures.rna.shipped import shipped_loops

X = ["GGGAAACCC", "GCGCAAAGCGC", "GGAUAACGCC", "AAGGGUUUUCCC", "GGCAAAGCC", "GCCUUUUGGC"]
Y = ["(((...)))", "((((...))))", "((......))", "..(((....)))", "((.....))", "(((....)))"]
FEW = X[:3], Y[:3]


def test_weights_are_those_of_the_model_of_the_package():
    shipped = tw.pretrained("rna")
    known = RNA().known_weights()
    names = shipped.space_.feature_names
    assert known == dict(zip(names, shipped.coef_.tolist(), strict=True))
    assert RNA("nearest-neighbour").known_weights() is None
    assert tw.Chain().known_weights() is None
    assert shipped_loops()[0] == tuple(shipped.structure.groups)


@pytest.mark.parametrize(
    "learner", [tw.CRF, tw.StructuredSVM, tw.Perceptron, tw.VotedCRF], ids=lambda learner: learner.__name__
)
def test_searches_begin_with_them(learner, tmp_path):
    model = learner(RNA()).fit(*FEW)
    assert model.space_.grammar == "nearest-neighbour"
    known = np.array(list(RNA().known_weights().values()))
    scale = 30.0 if learner is tw.Perceptron else 1.0
    rare = np.asarray(abs(model.pack(*FEW).gold()).sum(axis=0)).ravel() == 0
    assert np.corrcoef(model.coef_[rare], known[rare])[0, 1] > 0.9
    assert np.abs(model.coef_ - scale * known).max() > 0
    tw.save(model, tmp_path / "model.tw")
    again = tw.load(tmp_path / "model.tw")
    assert again.space_.feature_names == model.space_.feature_names
    assert again.predict(X) == model.predict(X)


def test_models_of_counts_have_rules():
    for model in (tw.Generative(RNA("nested")), tw.KLRSO(RNA("nested")), tw.ZScore(RNA("nested"))):
        assert model.fit(*FEW).space_.grammar == "nested"
    with pytest.raises(tw.Unsupported, match="not a generative grammar"):
        tw.KLRSO(RNA("nearest-neighbour")).fit(*FEW)
    weights = tw.Generative(RNA("g6")).fit(*FEW).weights_by_name()
    assert tw.Fixed(RNA(), weights).predict(X[:1]) == tw.Generative(RNA("g6")).fit(*FEW).predict(X[:1])
    weights = tw.Generative(RNA("nested")).fit(*FEW).weights_by_name()
    assert tw.Fixed(RNA(), weights).predict(X) == tw.Generative(RNA("nested")).fit(*FEW).predict(X)


def test_moments_and_shares_correct_the_counts():
    counts = tw.Generative(RNA()).fit(X, Y).coef_
    for learner in (tw.ZScore, tw.SODA):
        model = learner(RNA(), smoothing=1.0).fit(X, Y)
        assert model.space_.grammar == "nearest-neighbour"
        np.testing.assert_array_equal(model.reference_coef_, counts)
        assert np.abs(model.coef_).max() > 0
    model = tw.KLRSO(RNA(), min_count=1).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, counts)
    assert "stacking" in model.heads_
    assert not set(model.heads_) & {"hairpin length", "multiloop"}
    batch = model.pack(X, Y)
    assert (model.weights_of_input(batch.subset([0]), X[:1]) != counts).any()
    strong = tw.KLRSO(RNA(), reg=1e9, min_count=1).fit(X, Y)
    np.testing.assert_allclose(strong.weights_of_input(batch.subset([0]), X[:1]), counts, atol=1e-6)


def test_counts_move_the_weights_of_the_package_as_far_as_the_likelihood_says():
    known = np.array(list(RNA().known_weights().values()))
    model = tw.Generative(RNA()).fit(X, Y)
    assert model.space_.grammar == "nearest-neighbour"
    batch = model.pack(X, Y)
    gold, expected = batch.gold_sum(), batch.pull(batch.marginals(batch.scores(known)))
    odds = np.log((gold + model.smoothing_) / (expected + model.smoothing_))
    told = np.abs(odds) > 1e-3
    steps = (model.coef_ - known)[told] / odds[told]
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)

    def likelihood(step):
        w = known + step * odds
        return gold @ w - batch.log_partition(batch.scores(w)).sum()

    assert -1e-9 <= steps[0] <= 1 + 1e-9
    assert likelihood(steps[0]) >= -1e-9 + max(
        map(likelihood, (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0))
    )
    strong = tw.Generative(RNA(), smoothing=1e9).fit(X, Y)
    np.testing.assert_allclose(strong.coef_, known, atol=1e-6)
    more = tw.Generative(RNA(groups=("triples",))).fit(X, Y)
    assert more.space_.n_features > known.size


def test_structures_that_are_held_out_tell_the_step():
    known = np.array(list(RNA().known_weights().values()))
    model, batch = tw.Generative(RNA()).fit(X * 6, Y * 6), RNA().bind(X, Y).pack(X * 6, Y * 6)

    def moved(part, weights=None):
        gold, expected = part.gold_sum(), part.pull(part.marginals(part.scores(known)))
        odds = np.log((gold + model.smoothing_) / (expected + model.smoothing_))
        return [known + step * odds for step in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)]

    best = most_accurate_of(batch, None, moved)
    np.testing.assert_allclose(model.coef_, moved(batch)[best], rtol=1e-9, atol=1e-12)


def test_held_out_samples_tell_which_weights_are_better():
    batch = RNA().bind(X, Y).pack(X * 3, Y * 3)
    known = np.array(list(RNA().known_weights().values()))
    seen = []

    def candidates(some, weights):
        seen.append((len(some), weights.sum()))
        return [-known, known, 2.0 * known, 0.0 * known]

    assert most_accurate_of(batch, np.arange(18.0), candidates) == 1  # the first of equally good ones
    assert [n for n, _ in seen] == [12] * 3
    assert sum(total for _, total in seen) == 2 * np.arange(18.0).sum()


def test_perceptrons_begin_so_far_from_zero_as_held_out_structures_say():
    known = np.array(list(RNA().known_weights().values()))
    rare = np.asarray(abs(RNA().bind().pack(X, Y).gold()).sum(axis=0)).ravel() == 0
    steps = [
        np.median(tw.Perceptron(RNA(), max_iter=1).fit(X * n, Y * n).coef_[rare] / known[rare]).round()
        for n in (1, 3)
    ]
    assert steps[0] == 30.0
    assert steps[1] in (30.0, 100.0, 300.0, 1000.0)


def test_the_pull_falls_until_held_out_samples_say_no():
    batch = RNA().bind(X, Y).pack(X, Y)
    prior = np.array(list(RNA().known_weights().values()))
    asked = []

    def stay(samples, start, pull):
        asked.append((len(samples), pull.strength, pull.prior is not None))
        return start + 0.01 * len(asked) * (batch.gold_sum() != 0)

    strength, kept = chosen_pull(batch, prior, 2.0, stay, None)
    assert asked[:3] == [(4, 512.0, True)] * 3  # few samples: every third is held out in turn
    assert asked[-3:] == [(4, 2.0, False)] * 3
    assert strength in [s for _, s, _ in asked]
    assert kept is prior
    assert chosen_pull(batch.subset(np.arange(2)), prior, 2.0, stay, None) == (512.0, prior)
    model = tw.CRF(RNA()).fit(X, Y)
    unit = tw.CRF(RNA(), prior=None, max_iter=1)
    with pytest.warns(Warning, match="max_iter"):
        unit.fit(X, Y)
    assert np.log2(model.l2_ / unit.l2_) % 2 == pytest.approx(0, abs=1e-9)


def test_samples_that_the_prior_is_wrong_about_are_learnt_from_nothing():
    bases = ["GGGGAAAACCCC", "GGGCAAAAGCCC", "GGCGAAAACGCC"]
    for inside, kept in (("(((" + "." * 4 + ")))", True), ("." * 10, False)):
        y = [f"({inside})"] * 3
        model = tw.CRF(RNA()).fit(bases, y)
        assert (model.prior_coef_ is not None) is kept
        assert model.predict(bases) == y


def test_a_file_with_other_groups():
    space = RNA().bind()
    assert space.state() == {"groups": ["hairpin loops"]}
    old = type(space).from_state(RNA(), {"groups": []})
    assert old.n_features == 739
    with pytest.raises(InputError, match="groups"):
        type(space).from_state(RNA(), {"groups": ["nothing"]})


@pytest.mark.parametrize("about", ["mean", "gold"])
def test_random_structures_make_a_preconditioner(about):
    batch = RNA().bind(X, Y).pack(X, Y)
    known = np.array(list(RNA().known_weights().values()))
    law = batch.covariance(batch.scores(known), np.arange(1.0, 7.0), about=about)
    b = law.deviation()
    exact = Ridge(law, 0.1, solver="cholesky").solve(b)
    by_steps = Ridge(law, 0.1, solver="cg", tol=1e-8)
    np.testing.assert_allclose(by_steps.solve(b), exact, atol=1e-5)
    assert by_steps.said["cg_iterations"] <= 30
    halves = [batch.subset(part) for part in (np.arange(3), np.arange(3, 6))]
    told = [part.covariance(part.scores(known)).frequencies() for part in (batch, *halves)]
    np.testing.assert_allclose(told[0], told[1] + told[2], atol=1e-9)


def test_a_law_that_knows_much_is_corrected_as_little_as_all_thirds_say():
    model = tw.ZScore(RNA()).fit(X * 3, Y * 3)  # six outputs are too few to tell
    assert (model.loss_, model.length_) == (None, 1.0)
    X2 = [
        x.replace("A", "U", k)
        for k in range(3)
        for x in ("GGGAAAACCC", "GGCAAAAGCC", "GCGAAAACGC", "GGAAAAACC")
    ]
    Y2 = [s for _ in range(3) for s in ("(((....)))", "(((....)))", "(((....)))", "((.....))")]
    Y2 = ["." * len(s) if i % 5 == 4 else s for i, s in enumerate(Y2)]
    more = tw.ZScore(RNA()).fit(
        [x + "A" * i for i, x in enumerate(X2)], [s + "." * i for i, s in enumerate(Y2)]
    )
    assert more.loss_ is None
    assert more.length_ in [2.0**k for k in (3, 2, 1, 0, -1, -2, -3, -4, -6)]
