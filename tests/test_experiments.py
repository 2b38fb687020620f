"""The overview of the experiments: tables are read, claims are judged, commands are those that there are."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("experiments")

from experiments._claims import ENTRIES, number, row, tables_of


def test_tables_are_read():
    first = "| a | b | b |\n| --- | --- | --- |\n| x | **1.5** (2) | -3 |\n"
    text = f"# T\n\n{first}\ntext\n\n| c |\n| --- |\n| 7 |\n"
    tables = tables_of(text)
    assert tables == [[{"a": "x", "b": "1.5** (2)", "b 2": "-3"}], [{"c": "7"}]]
    assert number(tables[0][0]["b"]) == 1.5
    assert row(tables[0], "x", "-3") is tables[0][0]


def test_every_entry_names_an_experiment():
    for entry in ENTRIES:
        paper, table = entry.arguments.split()[:2]
        assert table in importlib.import_module(f"experiments.{paper}").TABLES
        assert entry.result.startswith(f"{paper}/")
