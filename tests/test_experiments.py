"""The overview of the experiments: tables are read, claims are judged, commands are those that there are."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("experiments")

from experiments import _report
from experiments._claims import ENTRIES, number, row, tables_of
from experiments._overview import _modules, overview


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


def test_every_result_is_read():
    for entry in ENTRIES:
        path = _report.RESULTS / f"{entry.result}.md"
        if path.exists():
            ours, holds = entry.ours(tables_of(path.read_text(encoding="utf-8")))
            assert ours, entry.arguments
            assert holds in (True, False, None), entry.arguments
            assert _report.made(entry.result) is not None, entry.arguments
    assert "not read" not in overview()


def test_taxonomies_have_no_verdict_from_the_end_of_a_grid():
    entry = next(e for e in ENTRIES if e.arguments.startswith("svm_isos taxonomies"))
    head = "| per class | method | C / n | tree loss over samples |\n| --- | --- | --- | --- |\n"
    rows = "| 2 | flat 0/1 | 1 | 1.5 |\n| 2 | taxonomy + tree loss | 3{} | {} |\n"
    rows += "| 2 | taxonomy + tree loss, weight 1 | 3 (end) | 1.0 |\n"
    for end, loss, holds in (("", 1.4, True), ("", 1.6, False), (" (end)", 1.4, None)):
        assert entry.ours(tables_of(head + rows.format(end, loss)))[1] is holds


def test_head_of_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_report, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["experiments", "paper", "table", "--data", "somewhere"])
    assert _report.made("paper/table") is None
    path = _report.write("paper/table", "Title", "body")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\n`python -m experiments paper table --data DIR`, 20")
    assert _report.made("paper/table").seconds.isdigit()
    _report.write("paper/table", "Title", "body", kept=_report.Made("2020-01-02", "345"))
    assert _report.made("paper/table") == ("2020-01-02", "345")
    path.write_text(
        "`python -m experiments a b --data DIR`, 2020-01-02\n\nWhole table: 7 s.", encoding="utf-8"
    )
    assert _report.made("paper/table") == ("2020-01-02", "7")
    assert "Title" in capsys.readouterr().out


def test_results_depend_on_the_modules_that_make_them():
    found = _modules("experiments.svm_isos.taxonomies")
    assert "experiments/svm_isos/taxonomy_protocol.py" in found
    assert not any(path.endswith(("ner.py", "_report.py")) for path in found)
