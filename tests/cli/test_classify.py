"""Rows of svmlight, CSV and JSON lines: train, predict, evaluate, inspect."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.cli.tasks.classify import _read_for_training, samples
from trelliswork.cli.tasks.classify import train as command
from trelliswork.io import read_rows
from trelliswork.persist import read_info

LABELS = ["cat", "dog", "elm", "oak"]
TREE = "root\tanimal\nroot\tplant\nanimal\tcat\nanimal\tdog\n# trees\nplant\telm\n\nplant\toak\n"


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, n)
    counts = rng.poisson(1.0, (n, 4)) + 8 * np.eye(4, dtype=int)[codes]
    return counts, [LABELS[c] for c in codes]


def svmlight(n, seed=0):
    rows, y = table(n, seed)
    return "".join(
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "  # a note\n"
        for row, label in zip(rows, y, strict=True)
    )


def comma(n, seed=0, label=True):
    rows, y = table(n, seed)
    lines = ["label,a,b,c,d,colour" if label else "a,b,c,d,colour"]
    for row, name in zip(rows, y, strict=True):
        cells = [*map(str, row), "red" if name == "cat" else ""]
        lines.append(",".join([name, *cells] if label else cells))
    return "\n".join(lines) + "\n"


def jsonl(n, seed=0):
    rows, y = table(n, seed)
    words = ["mew", "bark", "leaf", "acorn"]
    lines = []
    for row, label in zip(rows, y, strict=True):
        text = " ".join(w for w, k in zip(words, row, strict=True) for _ in range(k))
        lines.append(json.dumps({"id": len(lines), "label": label, "body": text.upper()}))
    return "\n".join(lines) + "\n"


MAKE = {"svmlight": svmlight, "csv": comma, "jsonl": jsonl}


@pytest.fixture
def files(tmp_path):
    for name, make in MAKE.items():
        for seed, part in enumerate(["train", "dev", "test"]):
            (tmp_path / f"{part}.{name}").write_text(make(40, seed), encoding="utf-8")
    (tmp_path / "tree.tsv").write_text(TREE, encoding="utf-8")
    return tmp_path


def options(name):
    return ("--text", "body", "--columns", "body") if name == "jsonl" else ()


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("learner", command.table)
def test_round_trip(run, files, name, learner):
    more = ("--smoothing", 0.01)
    if learner != "bayes":
        more = ("--taxonomy", "tree.tsv", "--ancestor-weight", 0.5)
    done = run(
        "train", "classify", f"train.{name}", "-o", "m.tw", "--learner", learner, *options(name), *more,
        "--dev", f"dev.{name}",
    )  # fmt: skip
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(f"{learner}: 40 rows, ")
    assert "; 4 labels, " in done.stderr
    assert "dev accuracy" in done.stderr
    assert done.stderr.count("\n") == 1

    done = run("evaluate", "m.tw", f"test.{name}", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == 40
    assert found["accuracy"] >= 0.9
    if learner == "bayes":
        assert found["tree_loss"] is None
    else:
        assert found["tree_loss"] <= 2 * (1 - found["accuracy"]) + 1e-9
    assert set(found["labels"]) == set(LABELS)
    shown = run("evaluate", "m.tw", f"test.{name}").stdout
    assert f"{found['accuracy']:.2%}" in shown
    assert ("tree loss" in shown) == (learner != "bayes")

    done = run("inspect", "m.tw")
    assert done.exit_code == 0
    assert "classify" in done.stdout
    assert "largest weights" in done.stdout
    assert read_info("m.tw")["rows"]["format"] == name
    rows = read_rows(f"test.{name}", text=["body"] if name == "jsonl" else ())
    assert tw.load("m.tw").score(rows.X, rows.y) == pytest.approx(found["accuracy"])


def test_predictions_of_each_format(run, files):
    for name in MAKE:
        run("train", "classify", f"train.{name}", "-o", f"{name}.tw", *options(name), "-q")
    done = run("predict", "svmlight.tw", "test.svmlight")
    assert done.exit_code == 0, done.stderr
    assert set(done.stdout.split()) == set(LABELS)
    assert len(done.stdout.splitlines()) == 40
    done = run("predict", "svmlight.tw", "test.svmlight", "--kbest", 5, "--probabilities")
    fields = [line.split("\t") for line in done.stdout.splitlines()]
    assert {len(row) for row in fields} == {10}
    assert {row[8] for row in fields} == {"_"}  # there are four labels
    assert all(abs(sum(map(float, row[1::2])) - 1) < 1e-4 for row in fields)

    done = run("predict", "csv.tw", "test.csv", "--probabilities", "-o", "out.csv.gz")
    assert (done.exit_code, done.stdout) == (0, "")
    rows = list(csv.DictReader(io.StringIO(gzip.decompress((files / "out.csv.gz").read_bytes()).decode())))
    assert np.mean([row["label"] == row["predicted"] for row in rows]) > 0.9
    assert all(0.25 <= float(row["probability"]) <= 1 for row in rows)
    (files / "bare.csv").write_text(comma(40, 2, label=False), encoding="utf-8")
    bare = list(csv.DictReader(io.StringIO(run("predict", "csv.tw", "bare.csv").stdout)))
    assert [row["predicted"] for row in bare] == [row["predicted"] for row in rows]

    done = run("predict", "jsonl.tw", "-", stdin='{"body": "MEW mew"}\n{"body": null}\n')
    assert done.exit_code == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {"body": "MEW mew", "predicted": "cat"}
    assert second["predicted"] in LABELS


@pytest.mark.parametrize("text", ["# made by hand\n\n1 1:3\n+1 2:4\n", "1\n+1 1:3 # no feature above\n"])
def test_rows_of_svmlight_may_start_late(text):
    rows = read_rows(io.StringIO(text))
    assert (rows.format, rows.y) == ("svmlight", ["1", "1"])


def test_other_cells_and_columns(run, tmp_path):
    (tmp_path / "a.tsv").write_text("size\tcolour\tkind\n1\tred\tx\n\tblue\ty\n2\tred\tx\n", encoding="utf-8")
    done = run("train", "classify", "a.tsv", "-o", "m.tw", "--columns", "colour")
    assert done.exit_code == 0, done.stderr
    assert "2 attributes" in done.stderr
    assert tw.load("m.tw").predict([{"colour": "blue"}, {"colour": "red"}]) == ["y", "x"]
    done = run("predict", "m.tw", "a.tsv")
    assert done.stdout.splitlines()[:2] == ["size\tcolour\tkind\tpredicted", "1\tred\tx\tx"]


def test_kernel_models_from_python(run, files):
    rows = read_rows("train.svmlight")
    tw.save(tw.StructuredSVM(tw.Classes(), 100, kernel="rbf").fit(rows.X, rows.y), "k.tw")
    done = run("evaluate", "k.tw", "train.svmlight", "--json")
    assert json.loads(done.stdout)["accuracy"] == 1.0
    done = run("inspect", "k.tw")
    assert done.exit_code == 0
    assert "training inputs" in done.stdout


FILES = {
    "empty.csv": "",
    "header.csv": "a,label\n",
    "ragged.csv": "a,b,label\n1,2,x\n1,x\n",
    "twice.csv": "a,a,label\n1,2,x\n",
    "nan.csv": "a,label\nnan,x\n",
    "quote.csv": 'a,label\n"1"2,x\n',
    "alone.csv": "label\nx\n",
    "nolabel.csv": "a,label\n1,\n",
    "bad.svm": "x 1:2\ny 1:two\n",
    "bad2.svm": "x 1:2\ny 2\n",
    "bad3.svm": "x 1:2 1:3\n",
    "bad4.svm": "1:2 3:4\n",
    "broken.jsonl": '{"label": "x", "a": 1}\n{"label": \n',
    "list.jsonl": '{"label": "x", "a": 1}\n[1]\n',
    "nokey.jsonl": '{"label": "x", "a": 1}\n{"a": 1}\n',
    "deep.jsonl": '{"label": "x", "a": {"b": [1]}}\n',
    "label.jsonl": '{"label": [1], "a": 1}\n',
    "number.jsonl": '{"label": "x", "body": 3}\n',
    "good.csv": "a,label\n1,cat\n2,oak\n",
    "cycle.tsv": "root\ta\na\tb\nb\ta\n",
    "roots.tsv": "r\tcat\ns\toak\n",
    "other.tsv": "root\tcat\nroot\tdog\n",
    "inner.tsv": "root\tcat\nroot\toak\noak\tsessile\n",
    "columns.tsv": "root cat\n",
    "text.tw": "not a model",
}
MISTAKES = [
    ("missing.csv", "missing.csv: no such file; expected the path of a text or gzip file"),
    ("empty.csv", "empty.csv:1: no row in the file"),
    ("header.csv", "header.csv:1: no row below the header"),
    ("ragged.csv", "ragged.csv:3: 2 columns; expected 3, as in the header"),
    ("twice.csv", "twice.csv:1: column 'a' occurs twice"),
    ("nan.csv", "nan.csv:2: column 'a': nan is not a finite number"),
    ("quote.csv", "quote.csv:2: broken CSV (',' expected after '\"')"),
    ("alone.csv", "alone.csv:1: no column beside the label"),
    ("nolabel.csv", "nolabel.csv:2: the label must be a text or a whole number, got ''"),
    ("good.csv --label kind", "good.csv:1: no column 'kind'; there are 'a', 'label'"),
    ("good.csv --columns b", "good.csv:1: no column 'b'; there are 'a', 'label'"),
    ("good.csv --text b", "good.csv:1: no column 'b'; there are 'a', 'label'"),
    ("good.csv --format xml", "unknown format 'xml'; expected one of svmlight, csv, jsonl, arff"),
    ("bad.svm", "bad.svm:2: index 1: cannot read 'two'; expected a number"),
    ("bad2.svm", "bad2.svm:2: cannot read '2'; expected index:value"),
    ("bad3.svm", "bad3.svm:1: index 1 occurs twice"),
    ("bad4.svm --format svmlight", "bad4.svm:1: starts with '1:2'; expected a label"),
    ("broken.jsonl", "broken.jsonl:2: cannot read JSON (Expecting value)"),
    ("list.jsonl", "list.jsonl:2: expected a JSON object, got list"),
    ("nokey.jsonl", "nokey.jsonl:2: no key 'label'; there are 'a'"),
    ("deep.jsonl", "deep.jsonl:1: key 'a': expected a number, a text or a list of texts, got {'b': [1]}"),
    ("label.jsonl", "label.jsonl:1: the label must be a text or a whole number, got [1]"),
    ("number.jsonl --text body", "number.jsonl:1: key 'body': expected text, got 3"),
    ("good.csv --taxonomy none.tsv", "none.tsv: no such file; expected the path of a text or gzip file"),
    ("good.csv --taxonomy cycle.tsv", "the taxonomy has a cycle: 'a' -> 'b' -> 'a'"),
    ("good.csv --taxonomy roots.tsv", "the taxonomy has 2 roots ('r', 's'); join them under one node"),
    ("good.csv --taxonomy columns.tsv", "columns.tsv:1: 1 columns; expected parent TAB child"),
    ("good.csv --taxonomy other.tsv", "good.csv: class 'oak' is not in the taxonomy"),
    ("good.csv --loss tree", "--loss tree needs --taxonomy FILE"),
    ("good.csv --ancestor-weight 0.5", "--ancestor-weight needs --taxonomy FILE"),
    (
        "good.csv --taxonomy cycle.tsv --ancestor-weight nan",
        "--ancestor-weight must be a finite number >= 0, got nan",
    ),
    ("good.csv --loss hinge", "--loss: unknown loss 'hinge'; expected one of edit, f1, hamming, zero-one"),
    ("good.csv --C 0", "--C must be a finite number > 0, got 0.0"),
    (
        "good.csv --learner crf --C 2",
        "--C does not go with --learner crf; its own options: --l1, --l2, --max-iter, --patience, --scoring",
    ),
    (
        "good.csv --learner hmm",
        "--learner: unknown learner 'hmm'; expected one of crf, bayes, klrso, perceptron, soda, structboost, "
        "svm, vcrf, zscore",
    ),
    ("- --dev -", "--dev: the training data and --dev cannot both be standard input"),
]


@pytest.fixture
def bad(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_in_training(run, bad, arguments, message):
    done = run("train", "classify", *arguments.split(), "-o", "m.tw")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"trelliswork: {message}\n"
    assert not (bad / "m.tw").exists()


def test_inner_nodes_stand_for_the_leaves_below(run, bad):
    done = run("train", "classify", "good.csv", "-o", "m.tw", "--taxonomy", "inner.tsv")
    assert done.exit_code == 0, done.stderr
    assert "sessile" in run("predict", "m.tw", "good.csv").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict text.tw good.csv", "text.tw: "),
        ("predict m.tw ragged.csv", "ragged.csv:3: 2 columns; expected 3, as in the header"),
        ("predict m.tw good.csv --columns 0", "--columns is for models of sentences"),
        ("predict m.tw good.csv --comment #", "--comment is for models of sentences"),
        ("evaluate m.tw good.csv --label 1", "--label is for models of sentences"),
        ("evaluate m.tw bare.csv", "bare.csv:1: no column 'label'; there are 'a', 'b'"),
    ],
)
def test_mistakes_with_a_model(run, bad, arguments, message):
    assert run("train", "classify", "good.csv", "-o", "m.tw", "--label", "label", "-q").exit_code == 0
    (bad / "bare.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = run(*arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_interrupt_keeps_the_weights(run, files, monkeypatch):
    from trelliswork.learners.optimize.progress import Progress

    def step(self, **values):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "step", step)
    done = run("train", "classify", "train.csv", "-o", "m.tw")
    assert done.exit_code == 130
    assert done.stderr.startswith("trelliswork: interrupted; the best weights so far are kept: svm: ")
    assert tw.load("m.tw")[-1].n_iter_ == 1


def test_text_reads_no_other_column(run, tmp_path):
    rng = random.Random(0)
    lines = [
        json.dumps(
            {"id": rng.randrange(10**6), "label": label, "body": f"{word} and so on {rng.choice('xyz')}"}
        )
        for label, word in (("cat", "miaow"), ("dog", "woof"), ("dog", "bark")) * 10
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    done = run("train", "classify", "t.jsonl", "-o", "m.tw", "--text", "body", "--C", 100, "-q")
    assert done.exit_code == 0
    scaler, learner = (step for _, step in tw.load("m.tw").steps)
    assert {name.partition(":")[0] for name in learner.space_.attributes} - {"bias"} == {"body"}
    assert scaler.idf_[scaler.words_.index("body:miaow")] > scaler.idf_[scaler.words_.index("body:and")]
    done = run("evaluate", "m.tw", "t.jsonl", "--json")
    assert json.loads(done.stdout)["accuracy"] == 1.0
    more = ["--text", "body", "--columns", "id"]
    assert run("train", "classify", "t.jsonl", "-o", "m.tw", *more, "-q").exit_code == 0
    assert "id" in tw.load("m.tw")[-1].space_.attributes


ARFF = """% two levels
@RELATION test
@ATTRIBUTE size NUMERIC
@ATTRIBUTE 'a colour' {red, blue}
@ATTRIBUTE class hierarchical 1,1/1,1/2,2
@DATA
1000,red,1/1
1001,red,1/1@2
2000,blue,1/2
2003,blue,1
3000,red,2
3002,?,2
"""


def test_arff(run, tmp_path):
    (tmp_path / "t.arff").write_text(ARFF)
    done = run("train", "classify", "t.arff", "-o", "m.tw", "--learner", "crf", "--l2", "1e-3")
    assert done.exit_code == 0
    model = tw.load("m.tw")
    assert model.classes_.tolist() == ["1/1", "1/2", "2"]  # the label 1 stands for what is below it
    assert ("1", "1/1") in model[-1].structure.taxonomy
    assert "size" in model[-1].space_.attributes
    done = run("evaluate", "m.tw", "t.arff", "--json")
    scores = json.loads(done.stdout)
    predicted = [row.split(",")[-1] for row in run("predict", "m.tw", "t.arff").stdout.splitlines()[1:]]
    assert predicted[1] in ("1/1", "2")
    assert predicted[3] in ("1/1", "1/2")
    truth, tree = ["1/1", predicted[1], "1/2", predicted[3], "2", "2"], model[-1].structure.taxonomy
    assert scores["hierarchical_f1"] == tw.metrics.hierarchical_f1(truth, predicted, tree)
    assert "hier. F1" in run("evaluate", "m.tw", "t.arff").stdout
    (tmp_path / "new.arff").write_text(ARFF.replace("1/1@2", "?"))
    done = run("predict", "m.tw", "new.arff")
    assert done.stdout.splitlines()[0] == "size,a colour,class,predicted"
    assert done.stdout.splitlines()[2] == f"1001,red,,{predicted[1]}"
    (tmp_path / "bad.arff").write_text(ARFF.replace("2003,blue,1", "2003,blue,7"))
    done = run("train", "classify", "bad.arff", "-o", "n.tw")
    assert done.stderr == "trelliswork: bad.arff:10: the class '7' is not in the declared hierarchy\n"
    (tmp_path / "sparse.arff").write_text(ARFF.replace("2003,blue,1\n", "{0 5, 2 1}\n"))
    assert run("train", "classify", "sparse.arff", "-o", "n.tw", "-q").exit_code == 0


def test_scaling_is_optional(run, tmp_path):
    (tmp_path / "t.csv").write_text("size,flag,label\n1000,0,a\n2000,1,a\n3000,0,b\n4000,1,b\n")
    assert run("train", "classify", "t.csv", "-o", "m.tw", "-q").exit_code == 0
    scaler = tw.load("m.tw")[0]
    assert (scaler.numbers_, scaler.center_.tolist()) == (["size"], [2500.0])
    assert run("train", "classify", "t.csv", "-o", "m.tw", "-q", "--no-scale").exit_code == 0
    assert not hasattr(tw.load("m.tw"), "steps")


def european(n, seed=0, separator=";", comma=","):
    """Numbers with decimal commas, the second one of no use."""
    rng = np.random.default_rng(seed)
    lines = [separator.join(["size", "noise", "kind"])]
    for k in range(n):
        numbers = (f"{v:.2f}".replace(".", comma) for v in (k % 2 + rng.normal(0, 0.1), rng.normal()))
        lines.append(separator.join([*numbers, "ab"[k % 2]]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(run, tmp_path, separator):
    (tmp_path / "train.csv").write_text(european(40, 0, separator), encoding="utf-8-sig")
    (tmp_path / "dev.csv").write_text(european(20, 1, separator), encoding="utf-8")
    done = run("train", "classify", "train.csv", "-o", "m.tw", "--dev", "dev.csv")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert "dev accuracy 100.00%" in done.stderr
    assert tw.load("m.tw")[0].numbers_ == ["noise", "size"]
    assert read_info("m.tw")["rows"]["numbers"] == ["size", "noise"]
    assert "numbers" not in run("inspect", "m.tw").stdout.partition("largest weights")[0]

    # Files that are written in another way are read as the same numbers.
    (tmp_path / "points.csv").write_text(european(20, 1, ",", "."), encoding="utf-8")
    (tmp_path / "quoted.csv").write_text(european(20, 1, ";").replace("size", '"size"'), encoding="utf-8")
    (tmp_path / "whole.csv").write_text(f"noise{separator}size\n0{separator}0\n0{separator}1\n")
    (tmp_path / "alone.csv").write_text("size\n0,1\n1,1\n")
    for name in ("dev.csv", "points.csv", "quoted.csv"):
        done = run("evaluate", "m.tw", name, "--json")
        assert (json.loads(done.stdout)["accuracy"], done.stderr) == (1.0, "")
    for name, between in (("whole.csv", separator), ("alone.csv", ";")):
        done = run("predict", "m.tw", name)
        assert [line.split(between)[-1] for line in done.stdout.splitlines()] == ["predicted", "a", "b"]
    (tmp_path / "bad.csv").write_text("size;noise\n1.000,5;0\n")
    done = run("predict", "m.tw", "bad.csv")
    assert done.exit_code == 0
    assert done.stderr.startswith(
        "trelliswork: warning: bad.csv: column 'size': '1.000,5' is no number, unlike"
    )


def test_columns_of_points_may_have_commas_later(run, tmp_path):
    (tmp_path / "train.csv").write_text(european(40, 0, ",", "."))
    (tmp_path / "test.csv").write_text(european(20, 1, ";"))
    assert run("train", "classify", "train.csv", "-o", "m.tw", "-q").exit_code == 0
    assert json.loads(run("evaluate", "m.tw", "test.csv", "--json").stdout)["accuracy"] == 1.0


def test_separators_of_thousands_are_told(run, tmp_path):
    (tmp_path / "t.csv").write_text("price;kind\n1.234,5;a\n12,5;b\n13,5;b\n")
    done = run("train", "classify", "t.csv", "-o", "m.tw")
    assert done.exit_code == 0
    first, second = done.stderr.splitlines()
    assert first.startswith("trelliswork: warning: t.csv: column 'price': '1.234,5' is no number, so that")
    assert second.startswith("svm: 3 rows")
    assert run("predict", "m.tw", "t.csv").stderr == ""  # read as text, as in training
    assert run("train", "classify", "t.csv", "-o", "m.tw", "-q").stderr == ""


def with_layout(source, target, change):
    """Copy of a model file with another note on how rows are read."""
    info = read_info(source)
    change(info["rows"])
    tw.save(tw.load(source), target, info=info)


def test_model_files_without_the_newer_entries(run, tmp_path):
    (tmp_path / "t.csv").write_text("id;size;kind\n1;a;x\n2;1,5;y\n3;a;x\n4;1,5;y\n")
    assert run("train", "classify", "t.csv", "-o", "m.tw", "--columns", "id,size", "-q").exit_code == 0

    def older(rows):
        for name in ("numbers", "left_out"):
            rows.pop(name, None)

    with_layout("m.tw", "old.tw", older)
    (tmp_path / "new.csv").write_text("id;size\n2;1,5\n3;1,5\n")  # a text then, and a text now
    done = run("predict", "old.tw", "new.csv")
    assert done.stdout == "id;size;predicted\n2;1,5;y\n3;1,5;y\n"
    assert done.stderr == ""
    assert run("predict", "m.tw", "new.csv").stdout == done.stdout


@pytest.mark.parametrize(
    "change", [{"numbers": 5}, {"numbers": [1]}, {"left_out": "id"}, {"others": []}], ids=str
)
def test_damaged_layouts(run, tmp_path, change):
    (tmp_path / "t.csv").write_text("size,kind\n1,x\n2,y\n")
    assert run("train", "classify", "t.csv", "-o", "m.tw", "-q").exit_code == 0
    with_layout("m.tw", "bad.tw", lambda rows: rows.update(change))
    done = run("predict", "bad.tw", "t.csv")
    assert done.exit_code == 2
    assert done.stderr == "trelliswork: bad.tw: the model file is damaged (how rows are read)\n"


def numbered(name, n=20):
    rng = np.random.default_rng(0)
    rows = (f"{k},{k % 2 + rng.normal(0, 0.1):.3f},{'ab'[k % 2]}" for k in range(n))
    return "\n".join([f"{name},size,kind", *rows]) + "\n"


@pytest.mark.parametrize("name", ["id", "", "Unnamed: 0", "PassengerId"])
def test_row_numbers_are_left_out(run, tmp_path, name):
    (tmp_path / "t.csv").write_text(numbered(name))
    done = run("train", "classify", "t.csv", "-o", "m.tw", "--dev", "t.csv")
    assert done.exit_code == 0, done.stderr
    first, second = done.stderr.splitlines()
    assert first == (
        f"trelliswork: warning: t.csv: row numbers (column {name!r}) are left out; to keep them, name them "
        "with the others in --columns"
    )
    assert "dev accuracy 100.00%" in second
    assert tw.load("m.tw")[0].numbers_ == ["size"]
    assert read_info("m.tw")["rows"]["left_out"] == [name]
    assert f"left_out [{name!r}]" in " ".join(run("inspect", "m.tw").stdout.split())
    done = run("evaluate", "m.tw", "t.csv", "--json")
    assert (json.loads(done.stdout)["accuracy"], done.stderr) == (1.0, "")
    (tmp_path / "new.csv").write_text("size\n0.1\n0.9\n")
    assert run("predict", "m.tw", "new.csv").stdout == "size,predicted\n0.1,a\n0.9,b\n"
    (tmp_path / "same.csv").write_text(f"{name},size\n7,0.1\n7,0.9\n")  # numbers of rows all the same
    assert run("predict", "m.tw", "same.csv").stdout == f"{name},size,predicted\n7,0.1,a\n7,0.9,b\n"
    assert run("train", "classify", "t.csv", "-o", "m.tw", "-q").stderr == ""


def test_row_numbers_that_are_asked_for(run, tmp_path):
    (tmp_path / "t.csv").write_text(numbered("id"))
    done = run("train", "classify", "t.csv", "-o", "m.tw", "--columns", "id,size")
    assert done.stderr.count("\n") == 1
    assert tw.load("m.tw")[0].numbers_ == ["id", "size"]
    (tmp_path / "bare.csv").write_text("id,label\n1,a\n2,b\n")
    done = run("train", "classify", "bare.csv", "-o", "n.tw")
    assert (done.exit_code, done.stderr) == (
        2,
        "trelliswork: bare.csv: nothing but row numbers (column 'id') beside the label; "
        "--columns reads them, too\n",
    )
    assert run("train", "classify", "bare.csv", "-o", "n.tw", "--columns", "id").exit_code == 0


def test_comparisons_leave_row_numbers_out(tmp_path):
    (tmp_path / "t.csv").write_text(numbered("id"))
    found = samples(str(tmp_path / "t.csv"))
    assert set(found.X[0]) == {"size"}
    assert "row numbers (column 'id') are left out" in found.notes[0]


def test_row_numbers_of_files_on_several_workers(tmp_path):
    (tmp_path / "t.csv").write_text(numbered("id"))
    layout = {"columns": None, "text": []}
    rows = _read_for_training(str(tmp_path / "t.csv"), layout, in_parts=True)
    assert set(rows.X[0]) == {"id", "size"}  # another file might have the same number twice
    assert "row numbers (column 'id') are taken as features; name the other columns" in rows.notes[0]
    assert "left_out" not in layout
