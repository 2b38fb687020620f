"""Column files: what is read, what is written, and the one line each mistake gets."""

from __future__ import annotations

import gzip
import io
import sys
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trelliswork._errors import InputError
from trelliswork.io import read_conll, read_conllu, write_conll

TEXT = "Ana NP B-PER\nduerme V O\n\nSí I O\n"
X = [[("Ana", "NP"), ("duerme", "V")], [("Sí", "I")]]
Y = [["B-PER", "O"], ["O"]]


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.txt", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.rstrip("\n"),
        "\n\n" + TEXT.replace("\n\n", "\n \t\n\n") + "\n\n",
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", "  \t").replace("Ana  \t", "Ana  ").replace("NP  \t", "NP "),
        "\ufeff" + TEXT,
        "-DOCSTART- -X- O\n\n" + TEXT,
        "-DOCSTART-\n" + TEXT.replace("\n\n", "\n-DOCSTART- a b c d\n"),
    ],
    ids=["plain", "no-newline", "blank-lines", "crlf", "tabs", "runs", "bom", "docstart", "docstart-only"],
)
def test_the_same_sentences_in_every_dress(write, content):
    data = read_conll(write(content))
    assert (data.X, data.y, data.n_columns) == (X, Y, 3)
    zipped = read_conll(write(gzip.compress(content.encode()), "no_suffix"))
    assert (zipped.X, zipped.y) == (X, Y)


def test_sources(write, monkeypatch):
    path = write(TEXT)
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    for source in [str(path), path, io.StringIO(TEXT), io.BytesIO(TEXT.encode()), "-"]:
        assert read_conll(source).y == Y
    with path.open("rb") as file:
        assert read_conll(file).y == Y
    assert read_conll(write(TEXT, encoding="latin-1"), encoding="latin-1").X == X


def test_columns_and_labels(write):
    path = write(TEXT)
    words, tags = [["Ana", "duerme"], ["Sí"]], [["NP", "V"], ["I"]]
    for label in (1, -2):
        assert read_conll(path, label=label).y == tags
    assert words == read_conll(path, columns=[0]).X
    assert read_conll(path, columns=[-2, 0]).X[1] == [("I", "Sí")]
    nothing = read_conll(path, label=None)
    assert nothing.y is None
    assert nothing.X[1] == [("Sí", "I", "O")]
    both = read_conll(path, columns=[2], label=2)
    assert both.y == both.X
    assert both.X[0] is not both.y[0]
    single = read_conll(write("a\nb\n\nc\n"), label=None)
    assert (single.X, single.n_columns) == ([["a", "b"], ["c"]], 1)
    assert repr(single) == "ConllData(2 sentences, 3 tokens, 1 columns)"


def test_comments_and_docstart_are_choices(write):
    path = write("# text\na X\n# b\n# Y\n\n-DOCSTART- O\n")
    data = read_conll(path, docstart=False)
    assert data.X == [["#", "a", "#", "#"], ["-DOCSTART-"]]
    assert read_conll(path, comment="#").X == [["a"]]
    assert read_conll(write("# a comment\there\nNew York X\n"), comment="#").n_columns == 3


def test_separators(write):
    spaced = write("New York\tB-LOC\nSan\u00a0Juan\tB-LOC\n\tO\n")
    assert read_conll(spaced).X == [["New York", "San\u00a0Juan", ""]]
    assert read_conll(write("a|b|X\n\n||Y\n"), separator="|").X == [[("a", "b")], [("", "")]]
    # Only spaces and tabs separate, and only line feeds end a line.
    odd = write("San\u00a0Juan B-LOC\nx\u2028y O\n a\x85b \x1c O\n\n".replace(" \x1c", "\x1c"))
    assert read_conll(odd).X == [["San\u00a0Juan", "x\u2028y", "a\x85b\x1c"]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a X\n\nb Y Z\n", {}, "{}:3: 3 columns; expected 2, as in line 1"),
        ("\na b X\n-DOCSTART-\nc\n", {}, "{}:4: 1 column; expected 3, as in line 2"),
        ("a\tX\nb Y\n", {}, "{}:2: 1 column; expected 2, as in line 1"),
        ("", {}, "{}:1: no token in the file; expected one token per line"),
        ("\n \n-DOCSTART- O\n", {}, "{}:1: no token in the file; expected one token per line"),
        (
            "\na X\n",
            {"label": 2},
            "{}:2: label column 2 asked for; expected 0 to 1 or -2 to -1, as the file has 2 columns",
        ),
        (
            "a X\n",
            {"columns": [0, -3]},
            "{}:1: input column -3 asked for; expected 0 to 1 or -2 to -1, as the file has 2 columns",
        ),
        (
            "a\n",
            {},
            "{}:1: no input column beside the label; expected at least 2 columns, or label=None "
            "(the file has 1 column)",
        ),
        (
            b"a X\nma\xf1ana Y\n",
            {},
            "{}:2: byte 0xf1 at offset 6 is not valid utf-8; expected utf-8 text (try --encoding latin-1)",
        ),
        (
            "a X\n".encode("utf-16"),
            {},
            "{}:1: byte 0xff at offset 0 is not valid utf-8; expected utf-8 text (try --encoding utf-16)",
        ),
        (
            "a X\n",
            {"encoding": "klingon"},
            "{}: unknown encoding 'klingon'; expected a name such as utf-8 or latin-1",
        ),
    ],
)
def test_mistakes_are_one_line(write, content, options, message):
    path = write(content)
    with pytest.raises(InputError) as caught:
        read_conll(path, **options)
    assert str(caught.value) == message.format(path)


def test_unreadable_paths(tmp_path, write):
    with pytest.raises(InputError, match=r"nowhere\.txt: no such file; expected"):
        read_conll(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match=r": is a directory; expected a text or gzip file$"):
        read_conll(tmp_path)
    with pytest.raises(InputError, match=r": broken gzip data \(.*\); expected a whole gzip file$"):
        read_conll(write(gzip.compress(TEXT.encode())[:-9]))
    with pytest.raises(InputError, match=r"^<stream>:2: 1 column"):
        read_conll(io.StringIO("a X\nb"))
    with pytest.raises(ValueError, match="must not be empty"):
        read_conll(write(TEXT), separator="")


# --------------------------------------------------------------------------------------


def test_write_gives_the_input_of_conlleval(tmp_path, capsysbinary):
    expected = "Ana NP B-PER O\nduerme V O O\n\nSí I O O\n\n"
    predicted = [["O", "O"], ["O"]]
    plain, zipped, binary = tmp_path / "out.txt", tmp_path / "out.gz", io.BytesIO()
    for target in (plain, str(zipped), binary, "-"):
        write_conll(target, X, Y, predicted)
    assert plain.read_text(encoding="utf-8") == expected
    assert gzip.decompress(zipped.read_bytes()).decode() == expected
    assert binary.getvalue().decode() == expected
    assert capsysbinary.readouterr().out.decode() == expected


FIELD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff"), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from([" ", "\t"]),
)
def test_what_is_written_is_read_back(sentences, separator):
    X = [[row[:2] for row in s] for s in sentences]
    y = [[row[2] for row in s] for s in sentences]
    file = io.BytesIO()
    write_conll(file, X, y, separator=separator)
    file.seek(0)
    data = read_conll(file)
    assert (data.X, data.y) == (X, y)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([["a"], ["b"]], [["X"]]), "X has 2 sentences, label column 0 has 1"),
        (
            ([["a"], ["b"]], [["X"], ["X"]], [["X"], []]),
            "sample 1: 1 tokens, but label column 1 has 0 labels",
        ),
        (([["New York"]], [["X"]]), "sample 0: 'New York' cannot be a column; expected text without ' '"),
        (([["a"]], [[""]]), "sample 0: '' cannot be a column"),
        (([[("a", "b\n")]],), r"sample 0: 'b\\n' cannot be a column"),
    ],
)
def test_write_refuses_what_could_not_be_read(tmp_path, args, message):
    with pytest.raises(ValueError, match=message):
        write_conll(tmp_path / "out", *args)
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------------------


def row(number, form, upos, feats="_"):
    return f"{number}\t{form}\t{form.lower()}\t{upos}\t_\t{feats}\t0\troot\t_\t_\n"


UD = (
    "# sent_id = 1\n# text = Vamos al mar\n"
    + row(1, "Vamos", "VERB", "Mood=Ind|Number=Plur")
    + row("2-3", "al", "_")
    + row(2, "a", "ADP")
    + row(3, "el", "DET")
    + row(4, "mar", "NOUN")
    + row("4.1", "azul", "ADJ")
    + "\n# sent_id = 2\n"
    + row(1, "#", "SYM")
    + "\n"
)


def test_conllu(write):
    pytest.importorskip("conllu")
    path = write(UD)
    data = read_conllu(path)
    assert data.X == [["Vamos", "a", "el", "mar"], ["#"]]
    assert data.y == [["VERB", "ADP", "DET", "NOUN"], ["SYM"]]
    assert data.n_columns == 10
    more = read_conllu(
        write(gzip.compress(UD.replace("\n", "\r\n").encode())), columns=["id", "lemma"], label="feats"
    )
    assert more.X[0][:2] == [("1", "vamos"), ("2", "a")]
    assert more.y == [["Mood=Ind|Number=Plur", "_", "_", "_"], ["_"]]
    assert read_conllu(path, columns="form", label=None).y is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# x\na b c\n", r":2: 1 column; expected the 10 tab-separated ones of CoNLL-U$"),
        ("# only\n\n", r":1: no token in the file; expected CoNLL-U sentences$"),
        (row(1, "a", "X") + "\n" + row("x", "a", "X"), r":3: .*'x' is not a valid ID\. Expected"),
        (row(1, "a  b", "X"), r":1: two spaces in a row; expected at most one within a field$"),
    ],
)
def test_conllu_mistakes(write, content, message):
    pytest.importorskip("conllu")
    with pytest.raises(InputError, match=message):
        read_conllu(write(content))


def test_conllu_fields_and_missing_library(write, monkeypatch):
    pytest.importorskip("conllu")
    with pytest.raises(ValueError, match="no CoNLL-U field 'pos'; expected one of id, form, lemma"):
        read_conllu(write(UD), label="pos")
    with pytest.raises(ValueError, match="at least one"):
        read_conllu(write(UD), columns=[])
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(ImportError, match=r'pip install "trelliswork\[text\]"'):
        read_conllu(write(UD))


def test_a_line_of_blanks_ends_a_sentence_with_any_separator(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("a\n \nb\n", encoding="utf-8")
    for separator in (None, "\t", ","):
        assert read_conll(path, label=None, separator=separator).X == [["a"], ["b"]]
