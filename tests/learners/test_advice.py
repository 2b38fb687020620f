"""Warnings after a fit, and about inputs: they come where they should, and nowhere else."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import trelliswork as tw

WORDS = [["the", "cat", "sat"], ["a", "dog", "ran"], ["cats", "sleep"]] * 5
TAGS = [["O", "N", "V"], ["O", "N", "V"], ["N", "V"]] * 5
ROWS, CLASSES = np.tile(np.eye(3), (5, 1)), ["a", "b", "c"] * 5
BASES, FOLDS = ["GGAAACC", "GAAAC", "GGGAAACCC"], ["((...))", "(...)", "(((...)))"]
TREES = ["(S (NP (D the) (N cat)) (VP (V sat)))", "(S (NP (N cats)) (VP (V sleep)))"]
PAIRS = [("ACGT", "ACT"), ("GATT", "GAT"), ("ACCA", "ACA")]
ALIGNED = [("ACGT", "AC-T"), ("GATT", "GA-T"), ("ACCA", "A-CA")]


class Flat(tw.CRF):
    """Predicts what weights of its choice predict."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.coef_ = np.zeros_like(self.coef_)
        for i, name in enumerate(self.space_.feature_names):
            self.coef_[i] = self.prefer(name)
        return self


def flat(structure, X, y, prefer):
    model = Flat(structure)
    model.prefer = prefer
    return model.fit(X, y)


def test_one_label_for_everything():
    with pytest.warns(
        tw.FitWarning, match=r"^Flat predicts the label 'O' for every token on its own .* lower l2"
    ):
        flat(tw.Chain(), WORDS, TAGS, lambda name: 9.0 * (name[0] == "start") - 9.0 * (name[-1] != "O"))
    with pytest.warns(tw.FitWarning, match="predicts the label 'b' for every sample"):
        flat(tw.Classes(), ROWS, CLASSES, lambda name: float(name[-1] == "b"))


def test_nothing_at_all():
    with pytest.warns(tw.FitWarning, match="predicts no base pair at all"):
        flat(tw.RNA("g6"), BASES, FOLDS, lambda name: -9.0 * ("F" in name[1].split("->")[1]))
    with pytest.warns(tw.FitWarning, match="predicts no aligned pair at all"):
        flat(tw.Alignment(), PAIRS, ALIGNED, lambda name: -9.0 * (name[0] == "pair"))


def test_no_pairs_of_a_margin_and_what_helps():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGU"), 60)) for _ in range(6)]
    y = tw.pretrained("rna").predict_mea(X)

    def pairs(**settings):
        model = tw.StructuredSVM(tw.RNA("g6"), loss="base-pairs", max_iter=50, **settings)
        return sum(text.count("(") for text in model.fit(X, y).predict(X))

    with pytest.warns(tw.FitWarning, match=r"no base pair at all .* raise C \(now 1.0\) or use prior='auto'"):
        assert pairs(prior=None) == 0
    assert pairs() > 30
    far = "no base pair at all .* lower C .* or lower prior_margin"
    with pytest.warns(tw.FitWarning, match=far):
        assert pairs(prior_margin=3.0) == 0
    assert pairs(C=1e-4, prior_margin=3.0) > 30


def test_brackets():
    X = [["the", "cat", "sat"], ["cats", "sleep"]]
    batch = tw.Grammar(min_count=1).bind(X, TREES).pack(X, TREES)
    assert batch.sameness(batch.gold_codes) is None
    rows, flat_trees = [["the", "cat"], ["a"]], ["(S (D the) (N cat))", "(S (D a))"]
    batch = tw.Grammar(min_count=1).bind(rows, flat_trees).pack(rows, flat_trees)
    assert batch.sameness(batch.gold_codes) == "no bracket below the root"


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (tw.CRF(tw.Chain(), l1=1e3), r"lower l1 \(now 1000.0\)"),
        (tw.VotedCRF(tw.Chain(), beta=10.0, penalty_mode="absolute"), r"lower beta \(now 10.0\)"),
    ],
)
def test_no_weights(model, advice):
    with pytest.warns(tw.FitWarning, match=f"has no weight other than zero; .*{advice}"):
        model.fit(WORDS, TAGS)


def test_a_rare_label():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), ["yes"] * 97 + ["no"] * 3
    with pytest.warns(tw.FitWarning, match="predicts the label 'yes' .* set class_weight='balanced'"):
        tw.StructuredSVM(tw.Classes()).fit(X, y)


def test_one_label_only():
    with pytest.warns(tw.FitWarning, match="CRF saw one label only, 'A'"):
        tw.CRF(tw.Chain()).fit([["a"], ["b"]], [["A"], ["A"]])
    with pytest.warns(tw.FitWarning, match="saw one label only"):
        tw.ZScore(tw.Classes()).fit(np.eye(2), ["A", "A"])


def test_a_search_that_was_cut_short():
    with pytest.warns(ConvergenceWarning, match="CRF ended at max_iter=2 before tol=0.0001 was met"):
        tw.CRF(tw.Chain(), l2=0.01, max_iter=2).fit(WORDS, TAGS)
    with pytest.warns(tw.FitWarning, match="relative gap of .* raise max_iter"):
        tw.StructuredSVM(tw.Chain(), C=1e3, max_iter=1, solver="bcfw").fit(WORDS, TAGS)


SILENT = [
    (tw.Chain(), WORDS, TAGS),
    (tw.Classes(), ROWS, CLASSES),
    (tw.RNA("g6"), BASES, FOLDS),
    (tw.Alignment(), PAIRS, ALIGNED),
]


@pytest.mark.parametrize(("structure", "X", "y"), SILENT, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("learner", [tw.CRF, tw.Perceptron, tw.StructuredSVM, tw.SODA, tw.Generative])
def test_silence(learner, structure, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(structure).fit(X, y).predict(X)


def test_silence_about_given_weights():
    crf = tw.CRF(tw.Alignment()).fit(PAIRS, ALIGNED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tw.Fixed(tw.Alignment(), {("pair", "A", "A"): 4.0, ("open",): -11.0}).predict([("A", "AA")])
        tw.Fixed(tw.Alignment(), crf.coef_).fit(PAIRS, ALIGNED).predict(PAIRS)


def test_a_column_of_labels_is_told_of_once():
    with pytest.warns(DataConversionWarning) as caught:
        tw.CRF(tw.Classes()).fit(ROWS, np.array(CLASSES)[:, None])
    assert len(caught) == 1


def test_one_line_at_most():
    with pytest.warns(tw.FitWarning) as caught:
        tw.CRF(tw.Chain(), l1=1e3, max_iter=1).fit(WORDS, TAGS)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_one_line_about_all_rounds_of_completions():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    y = [{"a", "b"} if rng.random() < 0.5 else "abc"[int(row.argmax())] for row in rows]
    with pytest.warns(tw.FitWarning, match="relative gap") as caught:
        model = tw.StructuredSVM(tw.Classes(labels=list("abc")), kernel="rbf", C=1e3, max_iter=1).fit(rows, y)
    assert len(model.rounds_) > 1
    assert [warning.filename for warning in caught] == [__file__]


def test_unknown_attributes():
    model = tw.CRF(tw.Chain()).fit(WORDS, TAGS)
    message = r"none of the 3 attributes of these inputs, such as 'word:the'"
    with pytest.warns(tw.InputWarning, match=message) as caught:
        model.predict([[{"word": "the"}, {"word": "cat"}, {"word": "sat"}]])
    assert caught[0].filename == __file__
    model.predict([["zebra"], ["unseen"]])
    model.predict([["the"], ["unseen"], ["zebra"], ["gnu"]])


def test_unknown_symbols_of_strings():
    model = tw.CRF(tw.Transducer(min_context=1)).fit(["ab", "ba"], ["xy", "yx"])
    with pytest.warns(tw.InputWarning, match="none of the 3 symbols of these inputs, such as 'X'") as caught:
        model.predict(["XYZ"])
    assert caught[0].filename == __file__
    model.predict(["XYZ", "a"])


def test_a_model_that_measures_in_deviations_says_nothing_of_units():
    rows = np.random.default_rng(0).normal(size=(40, 5)) * [1, 1, 1, 1, 1e5]
    names = ["a", "b"] * 20
    with warnings.catch_warnings():
        warnings.simplefilter("error", tw.InputWarning)
        model = tw.Generative(tw.Classes()).fit(rows, names)
    assert model.predict(rows) == tw.Generative(tw.Classes()).fit(rows / 64, names).predict(rows / 64)


def test_a_column_that_dwarfs_the_others():
    rows = np.hstack([ROWS, 1e5 * np.arange(15.0)[:, None]])
    with pytest.warns(tw.InputWarning, match="the attribute '3' has values of about .* dwarfs"):
        model = tw.ZScore(tw.Classes(scale=None)).fit(rows, CLASSES)
    assert "the attribute 'income' has" in model.pack(rows).cautions(["a", "b", "c", "income"])[0]
    dicts = [[{"word": word, "id": 1e6 + t} for t, word in enumerate(x)] for x in WORDS]
    with pytest.warns(tw.InputWarning, match="the attribute 'id' has"):
        tw.Perceptron(tw.Chain(scale=None)).fit(dicts, TAGS)


def test_alignments():
    words = [("JOb", "job"), ("Oba", "obA")]  # J and O: no residues, whose case would be folded
    with pytest.warns(tw.InputWarning, match="'[ajo]' and '[AJO]' are different symbols"):
        tw.SODA(tw.Alignment()).fit(words, words)
    weights = {("pair", "A", "A"): 4.0, ("open",): 11.0, ("extend",): -1.0}
    with pytest.warns(tw.InputWarning, match="the score of 'open' is 11: .* negative score"):
        tw.Fixed(tw.Alignment(), weights).predict([("A", "A")])


def test_the_look_is_short(monkeypatch):
    """A model that is of use shows it on a few samples: the others are not decoded."""
    decoded = []
    batch_class = tw.Chain.batch_class
    argmax = batch_class.argmax

    def counted(self, scores, costs=None):
        decoded.append(len(self))
        return argmax(self, scores, costs)

    monkeypatch.setattr(batch_class, "argmax", counted)
    tw.CRF(tw.Chain()).fit(WORDS * 100, TAGS * 100)
    assert decoded == [8]
