"""The overview of the experiments: tables are read, claims are judged, commands are those that there are."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("experiments")

from experiments import _report
from experiments._claims import ENTRIES, number, row, tables_of
from experiments._overview import _modules, overview
from experiments._picks import Picks


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
        shown, found = entry.ours(tables_of(head + rows.format(end, loss)))
        assert found is holds
        assert "with weight 1 as in the paper lowest of its four forms in 1 of 1" in shown


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
    assert _report.command_of("paper/table") == "paper table"
    _report.write(
        "paper/table", "Title", "body", kept=_report.Made("2020-01-02", ""), command="paper table --all 1"
    )
    assert "--all 1 --data DIR`, 2020-01-02\n" in _report.written("paper/table")
    assert _report.made("paper/table") == ("2020-01-02", "")
    path.write_text(
        "`python -m experiments a b --data DIR`, 2020-01-02\n\nWhole table: 7 s.", encoding="utf-8"
    )
    assert _report.made("paper/table") == ("2020-01-02", "7")
    assert "Title" in capsys.readouterr().out


def test_results_depend_on_the_modules_that_make_them():
    found = _modules("experiments.svm_isos.taxonomies")
    assert "experiments/svm_isos/taxonomy_protocol.py" in found
    assert not any(path.endswith(("ner.py", "_report.py")) for path in found)


def test_choices_at_the_end_of_a_grid_are_named():
    class Candidate:
        def __init__(self, reg, C=1.0):
            self.reg, self.C = reg, C

    picks, others = Picks(), Picks()
    candidates = [Candidate(reg) for reg in (10.0, 0.1, 1.0)]
    picks.model("KLRSO", candidates[2], candidates)  # C is the same for all: nothing was chosen
    others.model("KLRSO", candidates[0], candidates)
    others.note("w", 2, (1, 2, 3))
    picks.add(others)
    picks.add(others)
    assert picks.text().endswith("KLRSO reg of 0.1, 1, 10: 1 (1), 10 (2, end); w of 1, 2, 3: 2 (2).")


def test_voted_penalties_at_the_end_of_a_path_leave_a_case_open():
    entry = next(e for e in ENTRIES if e.arguments == "factor_graph tagging")
    head = "| treebank | training sentences (tokens) | learner | token error % (sd) |\n"
    head += "| --- | --- | --- | --- |\n"
    rows = "| a | 2 (9) | L1-CRF | 5.0 |\n| a | 2 (9) | VCRF | {} |\n| b | 2 (9) | L1-CRF | 5.0 |\n"
    rows += "| b | 2 (9) | VCRF | {} |\n\ntext\n\n"
    ends = "| learner | at an end |\n| --- | --- |\n| L1-CRF | {} of 5 |\n| VCRF | {} of 5 |\n"
    ends += "| L1-CRF | 0 of 5 |\n| VCRF | 0 of 5 |\n"
    for a, b, l1, voted, holds in (
        (4, 5, 0, 0, True),
        (6, 5, 0, 0, False),
        (6, 5, 1, 0, None),
        (4, 6, 0, 1, False),
    ):
        text = head + rows.format(a, b) + ends.format(l1, voted)
        assert entry.ours(tables_of(text))[1] is holds


def test_the_rules_of_verb_phrases_are_one_choice():
    """Whatever the grammar's defaults are: Table 4 of KLRSO predicts the rules of VP."""
    grammar = pytest.importorskip("experiments.klrso.trees").GRAMMAR
    X, y = [["D", "N", "V"]], ["(S (NP (D D) (N N)) (VP (V V)))"]
    assert {"S", "NP", "VP"} <= set(grammar.bind(X, y).pack(X, y).multinomials())
