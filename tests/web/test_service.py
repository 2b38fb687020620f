"""What the service answers, compared with the library."""

import asyncio

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.web.app import create_app
from trelliswork.web.demos import sentences
from trelliswork.web.quick import QuickTagger

from .conftest import Service
from .inputs import INPUTS


def test_page_and_its_files(service):
    page = service.ask("GET", "/")
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]
    for path in ("/static/app.js", "/static/draw/chain.js", "/static/draw/base.css"):
        found = service.ask("GET", path)
        assert found.status_code == 200, path
        assert found.headers["x-content-type-options"] == "nosniff"
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/nothing.js", "/nothing"):
        assert service.ask("GET", path).status_code == 404


def test_modules_import_only_what_is_served(service):
    import re

    from trelliswork.web.app import _static_files

    files = _static_files()
    for name, data in files.items():
        if name.endswith(".js"):
            folder = name.rpartition("/")[0]
            for target in re.findall(r'from "\./([^"]+)"', data.decode()):
                assert (f"{folder}/{target}" if folder else target) in files, f"{name} imports {target}"
            assert not re.search(
                r"innerHTML|outerHTML|document\.write|eval\(|https?://(?!www\.w3)", data.decode()
            ), name


@pytest.mark.parametrize("name", INPUTS)
def test_models_and_cards(service, models, name):
    assert name in [row["name"] for row in service.ask("GET", "/models").json()["models"]]
    card = service.ask("GET", f"/models/{name}").json()
    assert card["structure"] == type(models[name].opened.learner.structure).__name__
    assert {"kbest", "marginals", "mea", "sample", "why"} <= set(card["abilities"])
    assert card["card"]["facts"]
    assert card["card"]["tables"] or name == "dna"


@pytest.mark.parametrize("name", INPUTS)
def test_answers_are_those_of_the_library(service, models, name):
    got = service.result(name, input=INPUTS[name], k=3, marginals=True, mea=True, sample=2, seed=1, draw=True)
    opened, view = models[name].opened, models[name].view
    x = view.read(INPUTS[name])
    candidates = opened.model.predict_kbest([x], k=3)[0]
    assert [c["output"] for c in got["candidates"]] == [view.output(x, c.output) for c in candidates]
    assert np.allclose([c["probability"] for c in got["candidates"]], [c.probability for c in candidates])
    alone = service.result(name, input=INPUTS[name], k=1)["candidates"]  # found in another way
    assert len(alone) == 1
    assert alone[0]["output"] == got["candidates"][0]["output"]
    assert alone[0]["probability"] == pytest.approx(got["candidates"][0]["probability"])
    assert (
        got["output"] == service.result(name, input=INPUTS[name])["output"] == got["candidates"][0]["output"]
    )
    assert got["mea"]["output"] == view.output(x, opened.model.predict_mea([x])[0])
    draws = opened.model.sample([x], 2, random_state=1)[0]
    assert [s["output"] for s in got["samples"]] == [view.output(x, y) for y in draws]
    assert got["marginals"]


def test_drawings_have_what_they_need(service):
    fold = service.result("rna", input=INPUTS["rna"], k=2, draw=True)["candidates"][0]
    assert len(fold["places"]) == len(INPUTS["rna"])
    assert all(fold["output"][i] == "(" and fold["output"][j] == ")" for i, j in fold["pairs"])
    tree = service.result("trees", input=INPUTS["trees"], draw=True)["tree"]
    assert tree[0] == "S"
    columns = service.result("dna", input=INPUTS["dna"], draw=True)["columns"]
    assert [i for i, _ in columns if i is not None] == list(range(10))
    assert "".join(a for a, _ in service.result("greek", input="ποταμος", draw=True)["pieces"]) == "ποταμος"
    strings = service.result("greek", input="ποταμος", k=3, mea=True, sample=2, draw=True)
    for shown in (*strings["candidates"], *strings["samples"], strings["mea"]):
        assert "".join(a for a, _ in shown["pieces"]) == "ποταμος"
        assert "".join(b for _, b in shown["pieces"]) == shown["output"]
    assert service.ask("GET", "/models/animals").json()["taxonomy"][0] == ["animal", "vertebrate"]


def test_what_is_known_is_kept(service):
    tokens = INPUTS["names"].split()
    known = [None] * len(tokens)
    known[0] = "B-LOC"
    assert service.result("names", input=tokens, known=known)["output"][0] == "B-LOC"
    known[0] = ["B-ORG", "B-DATE"]
    assert service.result("names", input=tokens, known=known)["output"][0] in known[0]
    assert service.result("rna", input="GGGGAAAACCCC", known="xxxxxxxxxxxx")["output"] == "." * 12
    attached = service.result("trees", input=INPUTS["trees"], known=[["NP", 3, 8]])["output"]
    assert "(NP (NP (D the) (N bird)) (PP" in attached
    assert service.result("animals", input="fur legs=4", known="bird")["output"] in (
        "eagle",
        "owl",
        "penguin",
        "duck",
    )
    for text in ("potams", "pohtamos"):
        assert service.result("greek", input="ποταμος", known=text, draw=True)["output"] == text
    both = service.result("greek", input="ποταμος", known=["potams", "pohtamos"], k=3)
    assert sorted(c["output"] for c in both["candidates"]) == ["pohtamos", "potams"]
    columns = service.result("dna", input=["GATTACA", "GATACA"], known=[[2, None]], draw=True)["columns"]
    assert [2, None] in columns


@pytest.mark.parametrize("name", INPUTS)
def test_why_adds_up(service, name):
    why = service.result(name, input=INPUTS[name], why=[0, 1])["why"]
    total = sum(c["value"] for c in why["contributions"]) + why["others"]["value"]
    assert total == pytest.approx(why["difference"], abs=1e-6)


def test_other_structures_as_text():
    graph = tw.Derivations(lambda x: [tw.Edge("root", part=a, features=[(len(x), a)]) for a in "ab"])
    from trelliswork.kernels import Normalized, Spectrum

    models = {
        "mine": tw.CRF(graph).fit(["x", "xx", "y"], [["a"], ["b"], ["a"]]),
        "relatives": tw.Fixed(tw.Retrieval(tw.Alignment("linear", alphabet="ACGT")), {("match",): 1.0}).fit(),
        "regression": tw.KernelRegression(Normalized(Spectrum(1, 2, boundary=True)), tw.NGrams(2)).fit(
            ["kat", "dok", "kok"], ["cat", "doc", "coc"]
        ),
        "rows": tw.CRF(tw.Classes()).fit([[0.0, 1.0], [1.0, 0.0], [0.5, 2.0]], ["a", "b", "a"]),
        "pixels": tw.CRF(tw.Chain()).fit([np.eye(2)], [["A", "B"]]),
    }
    service = Service(create_app(models))
    assert " at 0x" not in service.ask("GET", "/models/mine").text  # no addresses of this process
    assert service.result("mine", input="xx", k=2, marginals=True, why=True)["output"] == "['b']"
    found = service.result("relatives", input="ACGT\nTTTT\nACGT", k=2, marginals=True)
    assert found["output"].startswith("candidate 2: ")
    assert service.result("regression", input="kat", k=2)["output"] == "cat"
    assert service.predict("regression", input="kat", marginals=True).status_code == 422
    assert service.result("rows", input="0 1")["output"] == "a"
    assert service.result("pixels", input=[[1, 0], [0, 1]], k=2, marginals=True)["output"] == ["A", "B"]
    assert service.predict("pixels", input="text").status_code == 422


def test_the_demonstration_tells_of_the_page(monkeypatch):
    from trelliswork import demo

    open_it = "serve, and open http://127.0.0.1:8000/"
    told = demo.how_to_open_the_page(".venv/bin/trelliswork")
    assert told == f"To try models of all kinds in a browser: .venv/bin/trelliswork {open_it}"
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    told = demo.how_to_open_the_page("/usr/bin/python")
    assert (
        told == f"To try models of all kinds in a browser: pip install '.[web]', then trelliswork {open_it}"
    )


def test_two_hundred_at_once(service):
    tokens = sentences(200, seed=3)[0]

    async def all_of_them():
        async with service.client() as client:
            asked = [client.post("/models/names/predict", json={"input": x}) for x in tokens]
            return await asyncio.gather(*asked)

    answers = asyncio.run(all_of_them())
    assert {answer.status_code for answer in answers} == {200}
    for x, answer in zip(tokens, answers, strict=True):
        assert answer.json()["results"][0]["input"] == x  # nobody gets the answer of another
        assert len(answer.json()["results"][0]["output"]) == len(x)


def test_one_bad_request_of_many_is_told_alone(service):
    async def both():
        async with service.client() as client:
            bad = [client.post("/models/names/predict", json={"input": [{"w": "a"}]}) for _ in range(3)]
            good = [client.post("/models/names/predict", json={"input": ["Ana"]}) for _ in range(9)]
            return await asyncio.gather(*bad, *good)

    codes = [answer.status_code for answer in asyncio.run(both())]
    assert codes == [422] * 3 + [200] * 9


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("chain", [tw.Chain(), tw.Chain(scheme="BIO", emissions="observed", start=False)])
def test_remembered_words_give_the_labels_of_predict(bias, chain):
    from trelliswork.cli._models import opened_model

    X, y = sentences(40)
    window = TokenWindow(offsets=(-2, 0, 1), bias=bias, boundaries=bias)
    model = tw.make_pipeline(window, tw.Perceptron(clone(chain), max_iter=2))
    model.fit(X, y)
    quick = QuickTagger.of(opened_model("model", model))
    assert quick is not None
    quick._capacity = 70  # so that some words are forgotten
    new = [*sentences(60, seed=9)[0], [], ["nie", "gehört"], ["?"]]
    assert quick.labels(new) == model.predict(new)
    assert [quick.labels([x])[0] for x in new] == model.predict(new)
    assert quick.labels([["Ana"]], most=0) is None
    assert quick.labels([["Ana", "a" * 101]]) is None  # would fill the memory
    assert quick.labels([["never", "seen", "before"]], most=9) is None
    assert quick.labels(new[-1:], most=9) == model.predict(new[-1:])


def test_models_for_which_nothing_is_remembered():
    from trelliswork.cli._models import opened_model

    X, y = sentences(5)
    order_2 = tw.make_pipeline(TokenWindow(), tw.Perceptron(tw.Chain(2), max_iter=1)).fit(X, y)
    plain = tw.Perceptron(tw.Chain(), max_iter=1).fit(X, y)
    assert QuickTagger.of(opened_model("model", order_2)) is None
    assert QuickTagger.of(opened_model("model", plain)) is None
