"""Train, predict, evaluate: what goes in, what comes out."""

from __future__ import annotations

import gzip
import json
import re

import pytest

import trelliswork as tw
from trelliswork.cli._columns import Document
from trelliswork.cli.tasks import tag
from trelliswork.io import read_conll
from trelliswork.learners.optimize.progress import Progress
from trelliswork.persist import read_info

from .conftest import conll

SUMMARY = re.compile(
    r"(\w+): 30 sentences, \d+ tokens; 4 labels, [\d,]+ weights; \d+ iterations? in \d+\.\d s"
    r"(, converged|, not converged|, stopped by dev)?; "
    r"(dev accuracy [\d.]+%, entity F1 [\d.]+%; )?saved \S+ \([\d.]+ kB\)\n"
)


def last_column(text):
    return [[line.split()[-1] for line in block.split("\n")] for block in text.strip("\n").split("\n\n")]


# Thirty sentences ask for weak penalties.
SETTINGS = {
    "hmm": ("--smoothing", 0.01),
    "klrso": ("--smoothing", 0.01),
    "svm": ("--C", 1000),
    "zscore": ("--reference", "generative", "--reg", 0.1),
    "soda": ("--reference", "generative", "--reg", 0.1),
}


@pytest.mark.parametrize("learner", tag.train.table)
def test_round_trip(run, files, learner):
    more = SETTINGS.get(learner, ())
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--learner", learner, "--dev", "dev.txt", *more)
    assert (done.exit_code, done.stdout) == (0, "")
    said = SUMMARY.fullmatch(done.stderr)  # one line, no progress bar
    assert said
    assert said[1] == learner
    assert "dev accuracy 100.00%" in done.stderr

    done = run("predict", "m.tw", "test.txt")
    assert (done.exit_code, done.stderr) == (0, "")
    gold = read_conll("test.txt", label=-1)
    assert last_column(done.stdout) == gold.y
    assert [line.rpartition(" ")[0] for line in done.stdout.split("\n")] == conll(30, 2).split("\n")

    done = run("evaluate", "m.tw", "test.txt", "--json")
    found = json.loads(done.stdout)
    assert found["token_accuracy"] == found["sentence_accuracy"] == found["entities"]["f1"] == 1.0
    assert found["tokens"] == sum(map(len, gold.X))
    assert set(found["entities"]["by_type"]) == {"LOC", "PER"}

    model = tw.load("m.tw")  # an ordinary pipeline
    assert model.predict([["Ana", "Ruiz"]]) == [["B-PER", "I-PER"]]
    assert read_info("m.tw")["learner"] == learner


@pytest.mark.parametrize("learner", ["vcrf", "structboost"])
def test_losses_and_orders(run, files, learner):
    done = run(
        "train", "tag", "train.txt", "-o", "m.tw", "--learner", learner, "--order", 2, "--loss", "edit"
    )
    assert done.exit_code == 0, done.stderr
    learnt = tw.load("m.tw").steps[-1][1]
    assert learnt.loss == "edit"
    assert learnt.families_ == ["order 1", "order 2", "order 3"]


def test_same_seed_same_weights(run, files):
    for name in ("a.tw", "b.tw"):
        run("train", "tag", "train.txt", "-o", name, "--learner", "perceptron", "--seed", 3, "--max-iter", 2)
    a, b = (tw.load(name).steps[-1][1].coef_ for name in ("a.tw", "b.tw"))
    assert (a == b).all()


def test_options_reach_the_model(run, files):
    done = run(
        *(
            "train",
            "tag",
            "train.txt",
            "-o",
            "m.tw",
            "--l1",
            0.01,
            "--l2",
            0.5,
            "--max-iter",
            7,
            "--order",
            2,
        ),
        *("--scheme", "bio", "--min-count", 2, "--observed", "--jobs", 2, "--template", "lower; col:1"),
    )
    assert done.exit_code == 0
    window, crf = (step for _, step in tw.load("m.tw").steps)
    assert (crf.l1, crf.l2, crf.max_iter, crf.n_jobs, crf.verbose) == (0.01, 0.5, 7, 2, 0)
    chain = crf.structure
    assert (chain.order, chain.scheme, chain.min_count, chain.emissions) == (2, "BIO", 2, "observed")
    assert window.template == "lower; col:1"


def test_template_from_file_and_default_of_hmm(run, files):
    (files / "t.txt").write_text("word\nlower @ -1\n")
    assert run("train", "tag", "train.txt", "-o", "m.tw", "--template", "@t.txt").exit_code == 0
    assert tw.load("m.tw").steps[0][1].template == "word\nlower @ -1\n"
    run("train", "tag", "train.txt", "-o", "m.tw", "--learner", "hmm")
    assert tw.load("m.tw").steps[0][1].template == "word"
    run("train", "tag", "train.txt", "-o", "m.tw", "--learner", "hmm", "--template", "default")
    assert tw.load("m.tw").steps[0][1].template == "default"


def test_standard_input_gzip_and_encoding(run, files):
    data = conll(30).replace("casa", "caña").encode("latin-1")
    done = run("train", "tag", "-", "-o", "m.tw", "--encoding", "latin-1", stdin=data)
    assert done.exit_code == 0
    (files / "z").write_bytes(gzip.compress(data))
    plain = run("predict", "m.tw", "-", stdin=data)
    zipped = run("predict", "m.tw", "z")  # the encoding is kept with the model
    assert plain.stdout_bytes == zipped.stdout_bytes
    assert plain.stdout_bytes.startswith(data[:4])
    assert run("predict", "m.tw", "z", "-o", "out.gz").exit_code == 0
    assert gzip.decompress((files / "out.gz").read_bytes()) == plain.stdout_bytes
    assert run("predict", "m.tw", "-o", "out.txt", stdin=data).output == ""  # INPUT is - by default
    assert (files / "out.txt").read_bytes() == plain.stdout_bytes


def test_any_column_may_be_the_label(run, files):
    text = conll(30, columns=(2, 0, 1))  # label, word, part of speech
    done = run("train", "tag", "-", "-o", "m.tw", "--label", 0, "--template", "tutorial", stdin=text)
    assert done.exit_code == 0
    assert read_info("m.tw")["layout"]["inputs"] == [1, 2]
    with_label = run("predict", "m.tw", stdin=text).stdout
    without = run("predict", "m.tw", stdin=conll(30, columns=(0, 1))).stdout
    assert last_column(with_label) == last_column(without)
    shuffled = run("predict", "m.tw", "--columns", "1,-2", stdin=conll(30, columns=(0, 0, 1, 2))).stdout
    assert last_column(shuffled) == last_column(without)
    pos = run("train", "tag", "-", "-o", "pos.tw", "--label", -1, "--columns", "1", stdin=text)
    assert pos.exit_code == 0
    assert last_column(run("predict", "pos.tw", stdin="the\ndog\n").stdout) == [["D", "N"]]


def test_unused_columns_are_not_needed(run, files):
    run("train", "tag", "train.txt", "-o", "m.tw")  # the default template reads words only
    done = run("predict", "m.tw", stdin="Ana\nRuiz\n")
    assert done.stdout == "Ana B-PER\nRuiz I-PER\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("-DOCSTART- -X- O\n\nAna P\n\n\nLima  P \n", "-DOCSTART- -X- O\n\nAna P B-PER\n\n\nLima  P B-LOC\n"),
        ("Ana\tP\r\n\r\n", "Ana\tP\tB-PER\n\n"),
        ("Ana P", "Ana P B-PER\n"),
        ("\ufeffAna P\n \nLima P\n", "Ana P B-PER\n \nLima P B-LOC\n"),
    ],
)
def test_lines_stay_as_they_are(run, model, before, after):
    assert run("predict", model, stdin=before.encode()).stdout_bytes == after.encode()


def test_comments_and_separator(run, model):
    done = run("predict", model, "--comment", "#", "--separator", ",", stdin="# x\nAna,P\nno break,\n")
    assert done.stdout.split("\n")[:2] == ["# x", "Ana,P,B-PER"]
    assert done.stdout.split("\n")[2].startswith("no break,,")


def test_kbest_and_probabilities(run, model):
    rows = [
        line.split(" ")
        for line in run("predict", model, "--probabilities", stdin="Ana P\n").stdout.split("\n")
    ]
    assert rows[0][:3] == ["Ana", "P", "B-PER"]
    assert 0.5 < float(rows[0][3]) <= 1
    done = run("predict", model, "--kbest", 6, "--probabilities", stdin="Ana P\n\nthe D\ndog N\n")
    rows = [line.split(" ") for line in done.stdout.split("\n") if line]
    assert {len(row) for row in rows} == {2 + 12}
    one, *two = ([float(p) for p in row[3::2]] for row in rows)
    assert one == sorted(one, reverse=True)
    assert sum(one) == pytest.approx(1, abs=1e-5)
    assert rows[0][10::2] == ["_", "_"]  # one token has four labels only
    assert two[0] == two[1]  # probability of the whole candidate
    best = tw.load(model)
    features = best[:-1].transform([[("the", "D"), ("dog", "N")]])
    wanted = best[-1].predict_kbest(features, 6)[0]
    assert [list(c.output) for c in wanted] == [list(pair) for pair in zip(rows[1][2::2], rows[2][2::2])]


def test_evaluate_for_people(run, model):
    done = run("evaluate", model, "test.txt")
    assert done.exit_code == 0
    assert "token accuracy     100.00%" in done.stdout
    assert re.search(r"│ PER +│ +100.00%", done.stdout)
    done = run("evaluate", model, "-", "--label", 1, stdin=conll(3))  # labels that the model does not know
    assert "token accuracy       0.00%" in done.stdout
    assert "entity" not in done.stdout


def test_inspect(run, model):
    done = run("inspect", model, "--top", 2)
    assert done.exit_code == 0
    for text in ("kind", "tag", "CRF()", "template='tutorial'", "input 0, 1; label 2", "from \\ to"):
        assert text in done.stdout
    assert done.stdout.count("I-PER") == 3  # its attributes, a row and a column of transitions
    assert run("inspect", model, "--top", 0).stdout in done.stdout
    run("train", "tag", "train.txt", "-o", "h.tw", "--learner", "hmm")
    assert "word=Ruiz" in run("inspect", "h.tw").stdout


def test_inspect_many_labels(run, files):
    text = "\n".join(f"w{i} L{i}" for i in range(12)) + "\n"
    run("train", "tag", "-", "-o", "m.tw", "--max-iter", 3, stdin=text)
    assert "strongest and weakest" in run("inspect", "m.tw").stdout


def test_models_from_python(run, tmp_path):
    X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    tw.save(tw.CRF(tw.Chain()).fit(X, y), tmp_path / "py.tw")
    assert run("predict", "py.tw", stdin="the x\ndog y\n").stdout == "the x D\ndog y N\n"
    assert '"token_accuracy": 1.0' in run("evaluate", "py.tw", "-", "--json", stdin="the D\ndog N\n").stdout
    assert run("inspect", "py.tw").exit_code == 0


def test_quiet_says_nothing(run, files):
    assert run("train", "tag", "train.txt", "-o", "m.tw", "--quiet", "--dev", "dev.txt").output == ""


@pytest.mark.parametrize(("learner", "steps"), [("crf", 3), ("perceptron", 1)])
def test_interrupt_saves_the_best_weights(run, files, monkeypatch, learner, steps):
    step = Progress.step

    def interrupted(self, **values):
        step(self, **values)
        if len(self.history) == steps:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "step", interrupted)
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--learner", learner)
    assert done.exit_code == 130
    assert done.stderr.startswith("trelliswork: interrupted; the best weights so far are kept: ")
    assert done.stderr.count("\n") == 1
    assert tw.load("m.tw").steps[-1][1].n_iter_ == steps


def test_interrupt_too_early_saves_nothing(run, files, monkeypatch):
    def interrupted(self, *args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("trelliswork.structures.chain.batch.ChainBatch.expect", interrupted)
    done = run("train", "tag", "train.txt", "-o", "m.tw")
    assert (done.exit_code, done.stderr) == (
        130,
        "trelliswork: interrupted before the first iteration was complete; no model was saved\n",
    )
    assert not (files / "m.tw").exists()


@pytest.mark.parametrize(
    "text",
    [
        "-DOCSTART-x y\na b\n",
        "a b\n-DOCSTART-\n\n-DOCSTART- z\nc d\n",
        "a\tb\n\tc\n\t\nd\te\n",
        "a\u00a0b c\n  \nd e\n",
    ],
)
def test_token_lines_are_those_of_the_reader(tmp_path, text):
    (tmp_path / "x").write_text(text, encoding="utf-8")
    document = Document(str(tmp_path / "x"))
    assert document.n_tokens == sum(map(document._is_token, text.split("\n")))


def test_early_stopping_is_not_called_a_failure(run, files):
    (files / "flat.txt").write_text("the D new\n")  # its score never rises
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--dev", "flat.txt", "--patience", 3)
    assert done.exit_code == 0
    assert ", stopped by dev; dev accuracy 0.00%" in done.stderr
    assert "converged" not in done.stderr


def test_labels_that_break_the_scheme_are_repaired(run, tmp_path):
    (tmp_path / "t.txt").write_text("a O\nAna I-PER\n\nAna B-PER\n", encoding="utf-8")
    done = run("train", "tag", "t.txt", "-o", "m.tw", "--scheme", "bio")
    assert (done.exit_code, "2 sentences (1 repaired to BIO), 3 tokens" in done.stderr) == (0, True)
    assert tw.load("m.tw").classes_ == ["B-PER", "O"]
    done = run("train", "tag", "t.txt", "-o", "m.tw", "--scheme", "bio", "--invalid", "strict")
    assert done.stderr.startswith("trelliswork: t.txt:1: the output ['O', 'I-PER'] breaks the constraints")
    assert done.stderr.endswith("; use invalid='repair', or drop the scheme\n")
    done = run("train", "tag", "t.txt", "-o", "m.tw", "--invalid", "strict")
    assert "--invalid strict needs a scheme that labels can break; give --scheme" in done.stderr
    done = run("train", "tag", "t.txt", "-o", "m.tw", "--invalid", "drop")
    assert done.stderr == "trelliswork: --invalid must be repair or strict, got 'drop'\n"


def test_columns_are_used_or_refused(run, files):
    assert run("train", "tag", "train.txt", "-o", "m.tw", "--columns", "0,1", "-q").exit_code == 0
    attributes = tw.load("m.tw")[-1].space_.attributes
    assert {"col1=P", "-1:col1=P", "+1:col1=V"} <= set(attributes)
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--columns", "0,1", "--template", "lower")
    assert (done.exit_code, done.stderr) == (
        2,
        "trelliswork: --columns: the template does not use column 1; leave it out, or name it in the "
        "template (col:1 is the second of --columns)\n",
    )


CONLLU = """# text = la casa
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tla\t_\tDET\tD\t_\t2\tdet\t_\tX=1
2\tcasa\t_\tNOUN\tN\t_\t0\troot\t_\t_
2.1\tno\t_\tVERB\tV\t_\t_\t_\t_\t_

1\tla\t_\tDET\tD\t_\t0\tdet\t_\t_
"""


def test_conllu(run, tmp_path):
    (tmp_path / "t.conllu").write_text(CONLLU, encoding="utf-8")
    done = run("train", "tag", "t.conllu", "-o", "m.tw", "--l2", "0.01")
    assert (done.exit_code, "crf: 2 sentences, 3 tokens; 2 labels" in done.stderr) == (0, True)
    (tmp_path / "blank.conllu").write_text(CONLLU.replace("DET", "_").replace("NOUN", "_"), encoding="utf-8")
    done = run("predict", "m.tw", "blank.conllu")
    assert (done.exit_code, done.stdout) == (0, CONLLU)
    done = run("predict", "m.tw", "blank.conllu", "--probabilities", "--kbest", 2)
    fields = done.stdout.split("\n")[2].split("\t")
    assert fields[3] == "DET"
    assert re.fullmatch(r"X=1\|Probability=0\.\d+\|Label2=\w+\|Probability2=[0-9.e-]+", fields[9])
    done = run("evaluate", "m.tw", "t.conllu", "--json")
    assert json.loads(done.stdout)["token_accuracy"] == 1.0
    assert (
        run("train", "tag", "t.conllu", "-o", "x.tw", "--label", 4, "--columns", "1,3", "-q").exit_code == 0
    )
    assert tw.load("x.tw").classes_ == ["D", "N"]
    # A model of plain columns takes the form.
    (tmp_path / "plain.txt").write_text("la DET\ncasa NOUN\n", encoding="utf-8")
    assert run("train", "tag", "plain.txt", "-o", "p.tw", "--l2", "0.01", "-q").exit_code == 0
    assert run("predict", "p.tw", "blank.conllu").stdout == CONLLU


def test_raw_text_and_json_lines(run, model, files):
    assert run("train", "tag", "train.txt", "-o", "w.tw", "-q").exit_code == 0
    done = run("predict", "w.tw", "--raw", stdin="Ana Ruiz sleeps\n\n  the dog\n")
    assert (done.exit_code, done.stdout) == (
        0,
        "Ana B-PER\nRuiz I-PER\nsleeps O\n\nthe O\ndog O\n\n".replace(" ", "\t"),
    )
    done = run("predict", "w.tw", "--raw", "--format", "jsonl", stdin="Ana Ruiz\n")
    assert json.loads(done.stdout) == {"tokens": ["Ana", "Ruiz"], "labels": ["B-PER", "I-PER"]}
    done = run("predict", "w.tw", "test.txt", "--format", "jsonl", "--probabilities")
    first = json.loads(done.stdout.split("\n")[0])
    assert set(first) == {"tokens", "labels", "probabilities"}
    assert all(0.5 < p <= 1 for p in first["probabilities"])
    done = run(
        "predict", "w.tw", "--raw", "--format", "jsonl", "--kbest", 9, "--probabilities", stdin="dog\n"
    )
    best, *others = json.loads(done.stdout)["candidates"]
    assert best["labels"] == ["O"]
    assert [len(others), sum(c["probability"] for c in (best, *others))] == [3, pytest.approx(1.0, abs=1e-5)]
    done = run("predict", model, "--raw", stdin="Ana\n")
    assert done.stderr == "trelliswork: --raw: m.tw takes 2 columns, not words alone\n"
    done = run("predict", "w.tw", "--raw", stdin="\n \n")
    assert done.stderr == "trelliswork: <stdin>:1: no word in the file; expected text, one sentence a line\n"
