"""Window features against one plain function per token, as tutorials write them."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from trelliswork import Ragged
from trelliswork._errors import InputError
from trelliswork.features import TokenWindow, parse_template

X_ES = [
    [("La", "DA"), ("Coruña", "NC"), (",", "Fc"), ("23", "Z"), ("may", "NC"), ("(", "Fpa"), ("EFE", "NC")],
    [],
    [("Sí", "RG")],
    [("la", "DA"), ("casa", "NC")],
]


def tutorial_reference(sentence, i):
    """word2features of the python-crfsuite tutorial."""
    word, postag = sentence[i][:2]
    features = [
        "bias",
        "word.lower=" + word.lower(),
        "word[-3:]=" + word[-3:],
        "word[-2:]=" + word[-2:],
        f"word.isupper={word.isupper()}",
        f"word.istitle={word.istitle()}",
        f"word.isdigit={word.isdigit()}",
        "postag=" + postag,
        "postag[:2]=" + postag[:2],
    ]
    for offset, border in ((-1, "BOS"), (1, "EOS")):
        if 0 <= i + offset < len(sentence):
            word, postag = sentence[i + offset][:2]
            features += [
                f"{offset:+d}:word.lower={word.lower()}",
                f"{offset:+d}:word.istitle={word.istitle()}",
                f"{offset:+d}:word.isupper={word.isupper()}",
                f"{offset:+d}:postag={postag}",
                f"{offset:+d}:postag[:2]={postag[:2]}",
            ]
        else:
            features.append(border)
    return features


def wide_reference(sentence, i):
    """Everything that is not in the tutorial, offsets -2, 0 and 3."""
    features = []
    for offset in (-2, 0, 3):
        if 0 <= i + offset < len(sentence):
            prefix = f"{offset:+d}:" if offset else ""
            word, last = sentence[i + offset]
            features += [
                f"{prefix}word={word}",
                f"{prefix}word[:1]={word[:1]}",
                f"{prefix}last[-1:]={last[-1:]}",
            ]
            features += [f"{prefix}word.isalpha=True"] * word.isalpha() + [f"{prefix}n={len(last)}"]
    return features


WIDE = TokenWindow(
    offsets=(3, 0, -2),
    lower=False,
    word=True,
    prefixes=(1,),
    suffixes=(),
    flags=("alpha",),
    columns={"last[-1:]": 1},
    extra=lambda columns: [f"n={len(columns[1])}"],
    bias=False,
    boundaries=False,
)


def rows_of(table):
    """Names of the features of every token, with their values."""
    out = [{} for _ in range(len(table))]
    for names, matrix, index in table.blocks:
        assert matrix.shape == (matrix.shape[0], len(names))
        assert len(set(names)) == len(names)
        for token, row in enumerate(index):
            if row >= 0:
                dense = matrix[row].toarray()[0]
                out[token].update({names[j]: dense[j] for j in np.flatnonzero(dense)})
    return out


def check(window, X, reference):
    out = window.transform(X)
    assert isinstance(out, Ragged)
    assert out.lengths.tolist() == [len(s) for s in X]
    for sentence, table in zip(X, out):
        expected = [dict.fromkeys(reference(sentence, i), 1.0) for i in range(len(sentence))]
        assert rows_of(table) == expected
    names = [name for block in out.values.blocks for name in block.names if name not in ("BOS", "EOS")]
    seen = {f for s in X for i in range(len(s)) for f in reference(s, i)} - {"BOS", "EOS"}
    assert sorted(names) == sorted(seen)


text = st.text(alphabet="aAbBñÑ1² -ßd", max_size=4)
sentences = st.lists(st.lists(st.tuples(text, text), max_size=5), max_size=5)


@settings(deadline=None)
@given(X=sentences)
def test_tutorial_equals_plain_function(X):
    check(TokenWindow.tutorial(), X, tutorial_reference)
    check(TokenWindow.from_template("tutorial"), X, tutorial_reference)


@settings(deadline=None)
@given(X=sentences)
def test_other_features_equal_plain_function(X):
    check(WIDE, X, wide_reference)


@settings(deadline=None, max_examples=30)
@given(X=sentences.filter(bool), data=st.data())
def test_subsets_keep_their_features(X, data):
    chosen = data.draw(st.lists(st.integers(0, len(X) - 1)))
    out = TokenWindow.tutorial().transform(X)[chosen]
    assert len(out) == len(chosen)
    for i, table in zip(chosen, out):
        assert [set(r) for r in rows_of(table)] == [
            set(tutorial_reference(X[i], j)) for j in range(len(X[i]))
        ]


def test_slices():
    out = TokenWindow.tutorial().transform(X_ES)[[2, 0]]
    assert [set(r) for r in rows_of(out[0])] == [set(tutorial_reference(X_ES[2], 0))]
    assert [set(r) for r in rows_of(out[1])] == [set(tutorial_reference(X_ES[0], i)) for i in range(7)]


def test_named_templates_are_the_constructors():
    assert parse_template("default") == TokenWindow()._window()
    assert parse_template(" tutorial ") == TokenWindow.tutorial()._window()
    both = parse_template("default; word @ 2")
    assert [f.stem for f in both[2]] == ["word="]
    assert both[0] == TokenWindow()._window()[0]


def test_strings_and_one_column_are_the_same():
    words = [["La", "casa"], ["la"]]
    assert TokenWindow().describe(words[0]) == TokenWindow().describe([(w,) for w in words[0]])
    assert TokenWindow().describe(words[0]) == TokenWindow().describe(np.array(words[0]))
    assert TokenWindow.tutorial().describe([list(t) for t in X_ES[0]]) == TokenWindow.tutorial().describe(
        X_ES[0]
    )


def test_no_sentence_and_no_token():
    for X in ([], [[]], [[], []]):
        out = TokenWindow.tutorial().fit_transform(X)
        assert len(out) == len(X)
        assert len(out.values) == 0


def test_one_token_has_both_borders():
    assert TokenWindow(offsets=(), bias=False).describe(["a"]) == [["BOS", "EOS"]]
    assert TokenWindow(offsets=(), bias=False).describe(["a", "b", "c"]) == [["BOS"], [], ["EOS"]]


def test_columns_that_nothing_reads_share_rows():
    out = TokenWindow(columns={"pos": 2}).transform([[("a", str(i), "N") for i in range(9)]])
    assert all(block.matrix.shape[0] == 1 for block in out.values.blocks[:3])


def test_extra_is_called_once_per_distinct_token():
    calls = []

    def extra(columns):
        calls.append(columns)
        return {"length": len(columns[0]), "caps": columns[0].isupper(), "kind": ["p", "q"]}

    window = TokenWindow(
        offsets=(-1, 0), lower=False, suffixes=(), flags=(), bias=False, boundaries=False, extra=extra
    )
    table = window.transform([["a", "BB", "a"], ["a"]])[0]
    assert calls == [("a",), ("BB",)]
    kinds = {"kind:p": 1.0, "kind:q": 1.0}
    before = {f"-1:{k}": v for k, v in kinds.items()}
    assert rows_of(table) == [
        {"length": 1.0, **kinds},
        {"length": 2.0, "caps": 1.0, **kinds, "-1:length": 1.0, **before},
        {"length": 1.0, **kinds, "-1:length": 2.0, "-1:caps": 1.0, **before},
    ]
    own = window.set_params(neighbours={"extra": None, "word": True}, extra=lambda c: ["x", "x"]).transform(
        [["a", "b"]]
    )
    assert rows_of(own[0]) == [{"x": 2.0}, {"x": 2.0, "-1:word=a": 1.0}]


def test_equal_names_are_one_feature():
    window = TokenWindow(offsets=(0,), suffixes=(), flags=(), extra=lambda c: ["bias", "word.lower=a"])
    assert rows_of(window.transform([["A", "b"]])[0]) == [
        {"bias": 2.0, "word.lower=a": 2.0, "BOS": 1.0},
        {"bias": 2.0, "word.lower=a": 1.0, "word.lower=b": 1.0, "EOS": 1.0},
    ]


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("Casa12", "Xxdd"),
        ("USA", "X"),
        ("1234567", "dddd"),
        ("d'Or...", "x'Xx."),
        ("", ""),
        ("Ñandú-5", "Xx-d"),
    ],
)
def test_shape(word, shape):
    assert TokenWindow.from_template("shape").describe([word]) == [[f"word.shape={shape}"]]


class Sizes(BaseEstimator):
    def fit(self, X, y=None):
        self.sizes_ = [len(x) for x in X]
        return self

    def predict(self, X):
        return [len(x) for x in X]


def test_scikit_learn():
    window = TokenWindow.tutorial(shape=True)
    assert clone(window).get_params() == window.get_params()
    columns = {"pos": 1}
    assert TokenWindow(columns=columns).fit([[("a", "b")]]).columns is columns
    assert not get_tags(window).requires_fit
    model = make_pipeline(window, Sizes()).fit(X_ES)
    assert model.predict(X_ES[:2]) == [7, 0]
    again = pickle.loads(pickle.dumps(window))
    assert again.describe(X_ES[0]) == window.describe(X_ES[0])


def test_template():
    window = TokenWindow.from_template(
        "bias, boundary\nword, prefix:1-2, bool:upper, flag:digit; p=col:1[-1:], col:1 @ -2, +1..2"
    )
    assert window.describe([("Ab", "xy"), ("7", "z")]) == [
        [
            "bias",
            "word=Ab",
            "word[:1]=A",
            "word[:2]=Ab",
            "word.isupper=False",
            "+1:p[-1:]=z",
            "+1:col1=z",
            "BOS",
        ],
        ["bias", "word=7", "word[:1]=7", "word[:2]=7", "word.isupper=False", "word.isdigit=True", "EOS"],
    ]
    assert clone(window).describe([("a", "b")]) == window.describe([("a", "b")])


@pytest.mark.parametrize(
    ("template", "piece"),
    [
        ("", "no features"),
        (" ; ", "no features"),
        ("lower, wrod", "'wrod'"),
        ("lower,", "''"),
        ("lower @ x", "'x'"),
        ("lower @", "''"),
        ("lower @ 0 @ 1", "'0 @ 1'"),
        ("lower @ 2..1", "'2..1'"),
        ("lower @ 0..1000000000000", "at most 100"),
        ("suffix:3-2", "'suffix:3-2'"),
        ("suffix:0", "from 1, got 0"),
        ("flag:loud", "'loud'"),
        ("col:1[2]", "'col1[2]'"),
        ("col:1[:]", "'col1[:]'"),
        ("col:1[:0]", "'col1[:0]'"),
        ("col:-1", "'col:-1'"),
        ("boundary @ -1..1", "boundary goes with offset 0"),
        (3, "expected a string, got int"),
    ],
)
def test_template_errors(template, piece):
    with pytest.raises(InputError, match=re.escape(piece)):
        TokenWindow.from_template(template)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"offsets": (0.5,)}, "offsets must be whole numbers, got 0.5"),
        ({"offsets": 1}, "offsets must be a list"),
        ({"suffixes": 3}, "suffixes must be a list"),
        ({"prefixes": (0,)}, "prefix lengths"),
        ({"flags": "upper"}, "flags must be a list, got 'upper'"),
        ({"flags": ("loud",)}, "unknown flag 'loud'"),
        ({"columns": {"pos": "1"}}, "column 'pos'"),
        ({"columns": (1,)}, "columns must map"),
        ({"neighbours": {"sufixes": ()}}, "unknown key 'sufixes'"),
        ({"neighbours": None}, "'same' or a mapping"),
        ({"extra": "f"}, "extra must be a function"),
        ({"offsets": (), "bias": False, "boundaries": False}, "no features"),
    ],
)
def test_parameter_errors(params, message):
    with pytest.raises(InputError, match=re.escape(message)):
        TokenWindow(**params).fit([["a"]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("La casa", "X must be a list of sentences, got str"),
        (7, "got int"),
        (["La casa"], "sample 0: expected a list of tokens, got the string 'La casa'"),
        ([["a"], None], "sample 1: expected a list of tokens, got NoneType"),
        ([["a"], {"a": 1}], "sample 1: expected a list of tokens, got dict"),
        ([[], ["a", 3]], "sample 1: token 1 must be a string or a tuple of strings, got 3"),
        ([["a"], [("b", 1)]], "sample 1: token 0 must be a string"),
        ([["a"], [()]], "sample 1: token 0 must be a string"),
        ([["a"], [{"w": 1}]], "sample 1: token 0 must be a string or a tuple of strings, got dict"),
        ([["a"], [("b", ["c"])]], "sample 1: token 0 must be a string or a tuple of strings, got tuple"),
        ([["a"], [], ["a", ("b", "N")]], "sample 2: token 1 ('b', 'N') has 2 columns, the first token"),
        ([np.eye(2)], "sample 0: token 0 must be"),
    ],
)
def test_input_errors(X, message):
    with pytest.raises(InputError, match=re.escape(message)):
        TokenWindow().transform(X)


def test_missing_column():
    with pytest.raises(InputError, match=r"sample 1: token 0 .* has 1 column; 'postag=' needs column 1"):
        TokenWindow.tutorial().transform([[], ["a"]])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("x", "list of strings or a dict, got str"),
        ([1], "expected strings"),
        ({"v": np.nan}, "must be a finite number"),
    ],
)
def test_extra_errors(result, message):
    with pytest.raises(InputError, match=f"sample 2: .*{message}"):
        TokenWindow(extra=lambda c: result if c == ("b",) else []).transform([["a"], [], ["a", "b"]])
