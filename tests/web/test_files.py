"""Whole files, as the command line reads and writes them."""

import pytest

import trelliswork as tw

from .conftest import Service
from .test_limits import upload

FILES = {
    "names": ("Ana\nleft\nOslo\n\nTom\n", "Ana\tB-PER\nleft\tO\nOslo\tB-LOC\n\nTom\tB-PER\n"),
    "rna": (">one\nGGGGAAAACCCC\n>two\nAAAA\n", ">one\nGGGGAAAACCCC\n((((....))))\n>two\nAAAA\n....\n"),
    "trees": ("the cat saw a bird\nAna sleeps\n", "(S (NP (N Ana)) (VP (V sleeps)))\n"),
    "dna": (">a\nGATTACA\n>b\nGATACA\n", ">a\nGATTACA\n>b\nGA-TACA\n"),
    "greek": ("ποταμος\nφιλος\n", "ποταμος\tpotamos\nφιλος\tfylos\n"),
    "animals": ("fur,legs\n1,4\n1,2\n", "fur,legs,label\n1,4,dog\n1,2,bat\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_predict_and_evaluate(service, name):
    inputs, gold = FILES[name]
    answer = upload(service, name, "file", inputs.encode())
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["inputs"] == len(found["rows"]) >= 1
    assert found["text"]
    assert found["name"].startswith("some.predicted")
    assert found["gold"] is False
    if name != "trees":  # a file of trees has no sentences of its own
        assert upload(service, name, "file", gold.encode()).json()["gold"] is True
    scores = upload(service, name, "evaluate", gold.encode())
    assert scores.status_code == 200, scores.text
    assert scores.json()["scores"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("options", [{}, {"probabilities": "1"}, {"k": "3"}])
def test_the_download_is_what_predict_writes(service, models, tmp_path, name, options):
    from trelliswork.cli._models import Request

    source, target = tmp_path / "some.txt", tmp_path / "out.txt"
    source.write_text(FILES[name][0], encoding="utf-8")
    more = {"probabilities": "probabilities" in options, "kbest": int(options.get("k", "1"))}
    models[name].opened.run("predict", Request(str(source), output=str(target), **more))
    answer = upload(service, name, "file", FILES[name][0].encode(), **options).json()
    assert answer["text"] == target.read_text(encoding="utf-8")
    for row in answer["rows"]:  # the table has the same outputs
        assert all(word in answer["text"] for word in row["output"].split()), row


def test_files_of_tagged_sentences():
    from trelliswork.web.app import create_app

    model = tw.Generative(tw.Grammar(min_count=1, input="tags")).fit(
        [[("Ana", "N"), ("sleeps", "V")]], ["(S (NP (N Ana)) (VP (V sleeps)))"]
    )
    service = Service(create_app({"tagged": model}))
    answer = upload(service, "tagged", "file", b"Ana/N sleeps/V\n\nsleeps/V Ana/N\n").json()
    assert [row["input"] for row in answer["rows"]] == ["Ana sleeps", "sleeps Ana"]
    assert answer["text"].splitlines()[0] == answer["rows"][0]["output"] == "(S (NP (N Ana)) (VP (V sleeps)))"
    assert answer["notes"] == ["1 of 2 sentences have no tree in this grammar"]


def test_confusions(service):
    scores = upload(service, "names", "evaluate", FILES["names"][1].replace("B-LOC", "B-ORG").encode()).json()
    assert ["B-ORG", "B-LOC", 1] in scores["confusions"]


def test_plain_text(service):
    answer = upload(service, "names", "file", b"Ana Chen left Oslo.\nTom too.\n", raw="1")
    assert [row["input"] for row in answer.json()["rows"]] == ["Ana Chen left Oslo .", "Tom too ."]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", ["file", "evaluate"])
@pytest.mark.parametrize(
    "data", [b"", b"\x00\xff\xfe", b"\n\n", b"(((", b">\n>\n", b"a\tb\tc\n", b'{"a": [}\n']
)
def test_bad_files_are_told_without_paths(service, name, what, data):
    answer = upload(service, name, what, data)
    assert answer.status_code in (200, 422)
    for word in ("/tmp", "trelliswork-", "Traceback", "site-packages"):
        assert word not in answer.text


def test_names_of_files_are_only_names(service):
    answer = service.ask(
        "POST",
        "/models/names/file",
        params={"name": "../../etc/passwd\x00<script>"},
        content=b"Ana\n",
        headers={"content-type": "application/octet-stream"},
    )
    assert answer.status_code == 200
    assert "/" not in answer.json()["name"]
    assert "<" not in answer.json()["name"]


def test_model_files_are_not_named_by_their_folders(tmp_path):
    from trelliswork.web.app import create_app
    from trelliswork.web.models import Models

    tw.save(
        tw.Fixed(tw.Alignment("linear", alphabet="ACGT"), {("match",): 1.0}).fit(), tmp_path / "my align.tw"
    )
    service = Service(create_app(Models.of_files([str(tmp_path / "my align.tw")])))
    assert [m["name"] for m in service.ask("GET", "/models").json()["models"]] == ["my-align"]
    for answer in (
        service.ask("GET", "/models/my-align"),
        upload(service, "my-align", "file", b"x", raw="1"),
        service.predict("my-align", input=["AX", "CX"]),
        service.predict("../my-align", input=1),
    ):
        assert str(tmp_path) not in answer.text
