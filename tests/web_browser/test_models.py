"""Models of the structures that the small models do not show, and two models side by side."""

import json

import numpy as np
import pytest
from tests.web.serving import serving

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.kernels import Normalized, Spectrum
from trelliswork.web.demos import sentences
from trelliswork.web.limits import Limits

from .conftest import at, running
from .test_page import FAINT, WINDOWS

EVIL = "<img src=x onerror=alert(1)>"


def tagger(n, **options):
    X, y = sentences(n)
    return tw.make_pipeline(TokenWindow(), tw.Perceptron(tw.Chain(**options), max_iter=2)).fit(X, y)


@pytest.fixture(scope="module")
def trained():
    X, y = sentences(30)
    pairs = [[(word, "up" if word[0].isupper() else "low") for word in x] for x in X]
    links = [("all", EVIL), ("all", "good"), (EVIL, "<b>bad</b>"), ("good", "fine")]
    local = {("match",): 1.0, ("mismatch",): -1.0, ("gap",): -1.0}
    derivations = tw.Derivations(lambda x: [tw.Edge("root", part=a, features=[(len(x), a)]) for a in "ab"])
    return {
        "columns": tw.make_pipeline(
            TokenWindow(template="word; col:1 @ -1..1"), tw.Perceptron(tw.Chain(), max_iter=2)
        ).fit(pairs, y),
        "numbers": tw.CRF(tw.Chain()).fit([np.eye(3)], [["A", "B", "C"]]),
        "deep": tagger(60, order=2),
        "relatives": tw.Fixed(tw.Retrieval(tw.Alignment("linear", alphabet="ACGT")), local).fit(),
        "local": tw.Fixed(tw.Alignment("linear", alphabet="ACGT", mode="local"), local).fit(),
        "strings": tw.KernelRegression(Normalized(Spectrum(1, 2, boundary=True)), tw.NGrams(2)).fit(
            ["kat", "dok", "kok"], ["cat", "doc", "coc"]
        ),
        "phonemes": tw.CRF(tw.Transducer()).fit(
            ["cat", "cot", "dog"], [["K", "AE", "T"], ["K", "AA", "T"], ["D", "AO", "G"]]
        ),
        "derivations": tw.CRF(derivations).fit(["x", "xx", "y"], [["a"], ["b"], ["a"]]),
        "g6": tw.Generative(tw.RNA("g6")).fit(["GGGAAACCC"], ["(((...)))"]),
        "evil": tw.CRF(tw.Chain()).fit([[EVIL, "b"]], [[f"B-{EVIL}", "<script>alert(2)</script>"]]),
        "evil-classes": tw.CRF(tw.Classes(links)).fit([{EVIL: 1.0}, {"a": 1.0}], ["<b>bad</b>", "fine"]),
    }  # fmt: skip


INPUTS = {
    "columns": ("Ana up\nChen up\nleft low\nOslo up", ".token"),
    "numbers": ("1 0 0\n0 1 0\n0 0 1", ".token"),
    "deep": ("Ana Chen left Oslo .", ".token"),
    "relatives": ("ACGTACGT\nTTTT\nACGTTCGT\nGGGG", ".drawing"),
    "local": ("TTTTACGTACGTTTTT\nGGGACGTACCTGG", "canvas.heat"),
    "strings": ("kat", ".drawing"),
    "phonemes": ("cat", ".piece"),
    "derivations": ("xx", ".drawing"),
    "g6": ("GGGGAAAACCCC", "svg[aria-label^='drawing']"),
    "evil": (json.dumps([[EVIL], ["b"]]), ".token"),
    "evil-classes": (json.dumps({EVIL: 1.0}), ".tree-list"),
}


@pytest.fixture(scope="module")
def address(trained):
    with serving(trained, Limits(patience=600.0)) as (_, port):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("window", WINDOWS)
def test_every_other_model(browser, address, window):
    with at(browser, address, **WINDOWS[window]) as page:
        for name, (text, drawn) in INPUTS.items():
            page.open(name, text)
            assert page.count(f"section[aria-label='result of {name}'] {drawn}") >= 1, name
            assert page.page.is_visible("#card dl")
            assert page.fits(), name
            assert page.page.evaluate(FAINT) == [], name
            assert page.count("#results script, #results img, #card img, #card script") == 0
            page.shot(f"{name}-{window}")


def test_labels_of_models_are_shown_and_do_not_run(browser, address):
    with at(browser, address) as page:
        page.open("evil", INPUTS["evil"][0])
        assert EVIL in page.page.locator(".token small").first.inner_text()
        page.page.locator(".token").first.click()
        page.page.locator("button.why").first.click()
        page.page.wait_for_selector("table.why")
        assert EVIL in page.text("table.why")
        page.choose("evil-classes", INPUTS["evil-classes"][0])
        assert "<b>bad</b>" in page.text("p.class")
        page.page.locator("#card summary").last.click()
        assert EVIL in page.text("#card")


def test_compare_two_models(browser, tmp_path):
    """Model files, as ``trelliswork serve weak.tw strong.tw`` takes them."""
    paths = []
    for name, n in (("weak", 3), ("strong", 200)):
        paths.append(str(tmp_path / f"{name}.tw"))
        tw.save(tagger(n, scheme="BIO"), paths[-1])
    paths.append(str(tmp_path / "fold.tw"))
    tw.save(tw.Generative(tw.RNA("g6")).fit(["GGGAAACCC"], ["(((...)))"]), paths[-1])
    with running(*paths) as (address, _), at(browser, address) as page:
        text = "Mei Petrov left Vega Labs on 12 May ."
        page.open("weak", text)
        with page.answered():
            page.page.select_option("#other", "strong")
        page.page.wait_for_selector("section[aria-label='result of strong'] .token")
        assert "different outputs" in page.text(".compared")
        marked = [
            page.page.locator(f"section[aria-label='result of {name}'] .token.differs").count()
            for name in ("weak", "strong")
        ]
        assert marked[0] == marked[1] >= 1
        sections = [
            page.page.locator(f"section[aria-label='result of {name}']") for name in ("weak", "strong")
        ]
        boxes = [section.bounding_box() for section in sections]
        assert boxes[0]["y"] == boxes[1]["y"]  # side by side
        page.shot("compared")
        page.type("weak", "left")
        page.page.wait_for_selector("section[aria-label='result of strong'] .token")
        assert "the same output" in page.text(".compared")
        assert page.count(".token.differs") == 0
        with page.answered():
            page.page.select_option("#other", "fold")  # which cannot take a sentence
        page.page.wait_for_selector("section[aria-label='result of fold'] .error")
        assert page.count("section[aria-label='result of weak'] .token") == 1
        page.errors.clear()  # the browser's console lists the 422 itself
