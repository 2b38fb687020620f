"""CSV files as spreadsheets write them: separators, decimal commas, row numbers."""

from __future__ import annotations

import io

import pytest

from trelliswork import InputError
from trelliswork.io import read_rows
from trelliswork.io._cells import found_separator, names_rows, spoilt_number


def read(content, **options):
    return read_rows(io.StringIO(content), "csv", **options)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b,label\n1,2,x\n", ","),
        ("a;b;label\n1,5;2,25;x\n", ";"),
        ("a\tb\tlabel\n1,5\t2,25\tx\n", "\t"),
        ("a, cm;b, kg;label\n1,5;2,25;x\n", ";"),  # the header has as many commas as the rows
        ('"a;b;c",label\n1,x\n', ","),
        ('"a,b";label\n"1,5";x\n', ";"),
        ('text,label\n"so; it; goes",x\nhere; and there,y\n', ","),
        ('text;label\n"one, two\nthree; four";x\n', ";"),
        ("\n\na;label\n\n1,5;x\n", ";"),
        ("a;b;label\n1,5;2;x\n1;x\n", ";"),  # a row is too short
        ("a;b\n", ";"),
        ("a\n1\n", ","),
        ("a\n1,5\n2,5\n", ";"),  # a single column
        ("", ","),
        ('a;label\n"1;x\n', ";"),  # a quote is left open
    ],
)
def test_separators(text, separator):
    assert found_separator(text) == separator


def test_decimal_commas():
    rows = read("a;b;c;label\n1,5;2;red;x\n-,25;;1,5;y\n3;1,5e-1;;x\n")
    assert rows.X == [{"a": 1.5, "b": 2.0, "c": "red"}, {"a": -0.25, "c": "1,5"}, {"a": 3.0, "b": 0.15}]
    assert (rows.separator, rows.numbers, rows.notes) == (";", ["a", "b"], ())
    assert rows.records[0] == ["1,5", "2", "red", "x"]


def test_commas_that_separate_cells_are_not_decimal():
    rows = read('a,b,label\n"1,5",2.5,x\n"2,5",1,y\n')
    assert rows.X == [{"a": "1,5", "b": 2.5}, {"a": "2,5", "b": 1.0}]
    assert (rows.numbers, rows.notes) == (["b"], ())


def test_labels_and_texts_keep_their_commas():
    rows = read("a;t;label\n1,5;2,5;0,5\n2,5;3,5;1,5\n", text=["t"], columns=["a"])
    assert rows.y == ["0,5", "1,5"]
    assert set(rows.X[0]) == {"a", "t:2", "t:5"}
    assert rows.numbers == ["a"]


def test_known_columns_are_read_as_before():
    text = "a;b\n1;1,5\n2;2,5\n"
    assert read(text, unlabelled=True, numbers=["a"]).X == [{"a": 1.0, "b": "1,5"}, {"a": 2.0, "b": "2,5"}]
    assert read(text, unlabelled=True, numbers=["b", "c"]).X == [{"a": 1.0, "b": 1.5}, {"a": 2.0, "b": 2.5}]
    rows = read("a;b\n1;n/a\n2;2.5\n", unlabelled=True, numbers=["a", "b"])
    assert rows.X[0] == {"a": 1.0, "b": "n/a"}
    assert rows.notes == (
        "<stream>: column 'b': 'n/a' is no number, unlike in training, and is read as text; write numbers "
        "without separators of thousands, and leave cells of missing ones empty",
    )


@pytest.mark.parametrize("cell", ["1.234,5", "1 234,5", "1\u202f234,5", "1'234,5", "1.234", "NA", "2.5"])
def test_columns_that_are_nearly_numbers(cell):
    text = f"a;b;label\n12,5;1,5;x\n{cell};{cell};x\n3,5;4,5;y\n"
    rows = read(text)
    assert rows.X[0] == {"a": "12,5", "b": "1,5"}
    assert rows.notes == (
        f"<stream>: column 'a' (also 'b'): {cell!r} is no number, so that the whole column is read as text; "
        "write numbers without separators of thousands, and leave cells of missing ones empty",
    )


@pytest.mark.parametrize("column", [["red", "1,5", "blue"], ["1.5", "2"], ["1,5", "2"], ["12.03.2024"], []])
def test_other_columns_are_not_worth_a_word(column):
    assert spoilt_number(column) is None


def test_byte_order_mark():
    rows = read_rows(io.BytesIO("größe;label\r\n1,5;x\r\n2;y\r\n".encode("utf-8-sig")))
    assert rows.X == [{"größe": 1.5}, {"größe": 2.0}]


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "user_id", "Sample ID", "PassengerId", "customerID", "index", "No.", "nr", "row", "#", ""]
    + ["Unnamed: 0", "row_number", "x.id", "rowid"],
)
def test_names_of_row_numbers(name):
    assert names_rows(name)


@pytest.mark.parametrize(
    "name", ["acid", "paid", "refractive index", "width", "number", "rows", "idea", "note"]
)
def test_names_of_measurements(name):
    assert not names_rows(name)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["3", "1", "2"], ["id"]),
        (["1.0", "2.0", "3.0"], ["id"]),
        (["9007199254740992", "9007199254740993", "9007199254740994"], ["id"]),  # floats would be equal
        (["1", "2", "2"], []),
        (["1", "", "2"], []),
        (["1.5", "2", "3"], []),
        (["a", "b", "c"], []),
    ],
)
def test_row_numbers(cells, found):
    text = "id,size,label\n" + "".join(f"{cell},{k},x\n" for k, cell in enumerate(cells))
    assert read(text).identifiers() == found
    assert read(text, columns=["size"]).identifiers() == []
    assert "id" not in read(text, left_out=["id", "nothing"]).X[0]


def test_row_numbers_of_other_formats():
    lines = '{"id": 1, "a": 2, "label": "x"}\n{"id": 2, "a": 2, "label": "y"}\n'
    assert read_rows(io.StringIO(lines)).identifiers() == ["id"]
    assert read_rows(io.StringIO(lines + '{"a": 2, "label": "y"}\n')).identifiers() == []
    arff = (
        "@relation r\n@attribute id numeric\n@attribute u real\n@attribute class {x,y}\n@data\n1,2,x\n2,2,y\n"
    )
    assert read_rows(io.StringIO(arff)).identifiers() == ["id"]
    assert read_rows(io.StringIO("a 1:2\nb 1:3\n")).identifiers() == []


def test_separators_of_several_characters_are_refused():
    with pytest.raises(InputError, match="a separator of one character, got '::'"):
        read("a::b\n1::x\n", separator="::")
