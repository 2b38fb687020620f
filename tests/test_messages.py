"""Inputs of the wrong form: each message says what to do."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.features import TokenWindow

X, Y = [["the", "old", "man"], ["cats"]], [["D", "A", "N"], ["N"]]


class Frame:
    """What is used of data frames."""

    def __init__(self, **columns):
        self.values, self.columns = columns, list(columns)
        self.shape = len(self), len(columns)

    def __len__(self):
        return len(next(iter(self.values.values())))

    def __iter__(self):
        return iter(self.columns)

    def to_numpy(self):
        return np.array(list(self.values.values()), dtype=object).T


TABLE = Frame(word=["the", "old", "man"])
LEARNERS = [tw.CRF(tw.Chain(), l2=0.1), tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain(), l2=0.1))]


@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (TABLE, r"X is one table of 3 rows; expected a list of sequences, .*groupby"),
        ([TABLE, TABLE, TABLE], r"sample 0: expected a list of tokens, got a table; .*to_dict"),
        (["the", "old", "man"], r"sample 0: .* got the string 'the'; split it first, or, .* wrap it: \[X\]"),
    ],
)
def test_sentences(model, samples, message):
    with pytest.raises(tw.InputError, match=message):
        model.fit(samples, ["D", "A", "N"])
    with pytest.raises(tw.InputError, match=message):
        model.fit(X, Y).predict(samples)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_what_messages_about_tables_say_works(library):
    frames = pytest.importorskip(library)
    df = frames.DataFrame({"sentence": [0, 0, 0, 1], "word": [*X[0], *X[1]], "tag": [*Y[0], *Y[1]]})
    with pytest.raises(tw.InputError, match="such as sentences: ") as caught:
        LEARNERS[0].fit(df[["word"]], df["tag"])
    said = str(caught.value).split("sentences: ")[1].removesuffix(", and y alike")
    rows = eval(said, {"df": df})  # the tag is not among the columns of X
    assert rows == [[{"word": word} for word in x] for x in X]
    assert LEARNERS[0].fit(rows, Y).predict(rows) == Y
    with pytest.raises(
        tw.InputError, match=f"sample 0: .* rows are df.{'to_dicts' if library == 'polars' else 'to_dict'}"
    ):
        LEARNERS[0].fit([df[["word"]]], [df["tag"]])


@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
def test_iterators_are_read_once(model):
    model.fit(iter(X), (y for y in Y))
    assert model.predict(x for x in X) == Y
    assert model.score(iter(X), iter(Y)) == 1.0
    assert model.predict_kbest(iter(X), k=1)[1][0].output == ["N"]
    assert model.log_prob(iter(X), y=iter(Y)).shape == (2,)
    assert len(model.sample(map(list, X), 2, random_state=0)) == 2


@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
def test_samples_that_are_iterators(model):
    model.fit(((token for token in x) for x in X), [iter(y) for y in Y])
    assert model.predict([iter(x) for x in X]) == Y
    assert model.predict(map(str.split, ["the old man", "cats"])) == Y
    assert model.score((iter(x) for x in X), (iter(y) for y in Y)) == 1.0


def test_iterators_of_other_structures():
    folds = tw.CRF(tw.RNA("g6")).fit(iter(["GGAAACC", "GAAAC"]), iter(["((...))", "(...)"]))
    assert folds.predict(iter(["GGAAACC"])) == ["((...))"]
    stream = tw.Perceptron(tw.Chain()).partial_fit(iter(X), iter(Y))
    assert stream.predict(X) == Y


@pytest.mark.parametrize("rows", [np.eye(3), np.eye(3).tolist()])
def test_one_hot_rows_of_tokens(rows):
    with pytest.raises(tw.InputError, match=r"sample 0: labels must be hashable .* y.argmax\(axis=-1\)"):
        tw.CRF(tw.Chain()).fit(X[:1], [rows])


def test_text_in_a_table_of_numbers():
    with pytest.raises(tw.InputError, match=r"X must hold numbers .* OneHotEncoder, or give rows as dicts"):
        tw.CRF(tw.Classes()).fit(TABLE, ["a", "b", "a"])
    with pytest.raises(tw.InputError, match="Complex data not supported"):
        tw.CRF(tw.Classes()).fit(np.eye(2) * 1j, ["a", "b"])


@pytest.mark.parametrize(
    ("structure", "weights", "message"),
    [
        (
            tw.Chain(),
            {("emission", 3, "N"): 1.0},
            r"attributes are strings, .* write \('emission', '3', 'N'\)",
        ),
        (tw.Classes(), {("feature", 0, "a"): 1.0}, r"write \('feature', '0', 'a'\)"),
        (tw.Chain(), {0: 1.0, 1: 0.5}, r"the name 0 is a number; .* Weights by position are an array"),
    ],
)
def test_numbers_as_names_of_weights(structure, weights, message):
    with pytest.raises(tw.InputError, match=message):
        tw.Fixed(structure, weights).predict([["3"]])


def test_numbers_as_names_of_known_weights():
    with pytest.raises(tw.InputError, match=r"attributes are strings: \('emission', '1', 'N'\)"):
        tw.Fixed(tw.Chain(), {("emission", 1, "N"): 1.0}).fit([np.eye(3)], Y[:1])


def test_sequences_of_biopython():
    Seq = pytest.importorskip("Bio.Seq").Seq
    model = tw.CRF(tw.Transducer(min_context=1)).fit([Seq("ab"), Seq("ba")], [Seq("AB"), Seq("BA")])
    assert model.predict([Seq("ab")]) == ["AB"]
    regression = tw.KernelRegression().fit([Seq("ab"), Seq("ba")], ["AB", "BA"])
    assert regression.predict([Seq("ab")]) == ["AB"]


class Column(list):
    """What is used of a column of a data frame: rows have names, which are no places."""

    def __getitem__(self, key):
        raise KeyError(key)

    def to_numpy(self):
        out = np.empty(len(self), dtype=object)
        out[:] = list(self)
        return out


def test_columns_are_read_by_place():
    trees = ["(S (NP (D the) (N cat)) (VP (V sat)))", "(S (NP (N cats)) (VP (V sleep)))"]
    words = [["the", "cat", "sat"], ["cats", "sleep"]]
    model = tw.Generative(tw.Grammar(min_count=1)).fit(Column(words), Column(trees))
    assert [str(tree) for tree in model.predict(Column(words))] == trees
    rows = tw.CRF(tw.Classes()).fit(Column([{"a": 1}, {"b": 1}]), Column("xy"))
    assert list(rows.predict(Column([{"b": 1}]))) == ["y"]
