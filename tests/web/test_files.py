"""Whole files, as the command line reads and writes them."""

import pytest

from trelliswork.web.demos import sentences

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
    scores = upload(service, name, "evaluate", gold.encode())
    assert scores.status_code == 200, scores.text
    assert scores.json()["scores"]


def test_the_download_is_what_predict_writes(service, models, tmp_path):
    from trelliswork.cli._models import Request

    text = "".join("".join(f"{token}\n" for token in x) + "\n" for x in sentences(5, seed=4)[0])
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(text, encoding="utf-8")
    models["names"].opened.run("predict", Request(str(source), output=str(target), probabilities=True))
    answer = upload(service, "names", "file", text.encode(), probabilities="1")
    assert answer.json()["text"] == target.read_text(encoding="utf-8")


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
    import trelliswork as tw
    from trelliswork.web.app import create_app
    from trelliswork.web.models import Models

    from .conftest import Service

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
