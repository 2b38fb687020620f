"""People at the page: every view, with mouse and keyboard, light and dark, on large and small screens."""

import json
import re
from pathlib import Path

import pytest

from .conftest import Page, running

VIEWS = {
    "names": ".chain .token",
    "rna": "svg[aria-label^='drawing'], svg[aria-label='arc diagram'], svg[aria-label^='dot plot']",
    "trees": "svg[aria-label='parse tree']",
    "dna": ".rows span, canvas.heat",
    "greek": ".piece",
    "animals": ".tree-list .bar",
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_view(page, name):
    page.open(name)
    assert page.page.locator(VIEWS[name]).count() >= 3 or name in ("trees",)
    page.page.fill("#k", "3")
    page.page.check("#mea")
    page.click("#sample")
    assert page.page.locator("ol.candidates:not(.samples) > li").count() == 3 or name == "trees"
    assert page.page.locator("ol.samples > li").count() == 5
    assert page.page.locator(".mea").count() == 1
    page.page.locator("button.why").first.click()
    page.page.wait_for_selector("table.why")
    assert "difference of the scores" in page.page.inner_text("table.why")
    page.shot(f"{name}-light")


@pytest.mark.parametrize("name", VIEWS)
def test_dark_and_small(browser, server, name):
    made = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = Page(made, server[0])
    page.open(name)
    assert made.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 28)"
    wide = made.evaluate("document.documentElement.scrollWidth")
    assert wide <= 392, f"the page is {wide} wide"
    page.shot(f"{name}-dark-small")
    made.close()
    assert not page.errors


def test_colours_can_be_chosen(page):
    page.open("names")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.page.evaluate(background) == "rgb(255, 255, 255)"
    page.page.click("#theme")
    assert page.page.evaluate(background) == "rgb(22, 24, 28)"
    page.shot("names-dark")
    page.page.reload()
    page.result("names")
    assert page.page.evaluate(background) == "rgb(22, 24, 28)"


def test_constrain_a_token(page):
    page.open("names")
    page.type("names", "Ana Chen left Oslo .")
    token = page.page.locator(".token").first
    token.hover()
    assert "B-PER" in page.page.inner_text(".panel .bars")
    token.click()
    with page.page.expect_response(lambda r: r.url.endswith("/predict")):
        page.page.select_option(".panel select", "B-LOC")
    page.quiet()
    assert page.page.locator(".token.fixed").count() == 1
    assert "B-LOC" in page.page.locator(".token").first.get_attribute("aria-label")
    page.click("#reset")
    assert "B-PER" in page.page.locator(".token").first.get_attribute("aria-label")


def test_constrain_trees_folds_alignments_and_classes(page):
    page.open("trees")
    before = page.page.inner_text("section[aria-label='result of trees'] p.mono")
    page.page.locator("button.show").nth(1).click()
    other = page.page.inner_text("section[aria-label='result of trees'] p.mono")
    assert other != before
    assert page.page.locator("svg .differs").count() >= 1
    key = (
        "NP over words 4 to 8"
        if "NP over words 4 to 8" in str(page.page.content())
        else "VP over words 3 to 5"
    )
    page.click(f"svg g[aria-label^='{key}']")
    assert page.page.inner_text("section[aria-label='result of trees'] p.mono") == other

    page.choose("rna")
    page.type("rna", "GGGGAAAACCCC")
    assert "((((....))))" in page.page.inner_text("section[aria-label='result of rna'] pre")
    page.page.fill("#constraint", "xxxxxxxxxxxx")
    page.click("#predict")
    assert "............" in page.page.inner_text("section[aria-label='result of rna'] pre")

    page.choose("dna")
    page.click("canvas.heat")
    assert page.page.is_visible("#reset")

    page.choose("animals")
    page.click(".tree-list button[title='only insect']")
    assert page.page.inner_text("section[aria-label='result of animals'] > div > p b") in (
        "ant",
        "bee",
        "moth",
    )


def test_compare_two_models(page):
    page.open("names")
    with page.page.expect_response(lambda r: r.url.endswith("/predict")):
        page.page.select_option("#other", "names")
    page.page.wait_for_selector("#results > section:nth-child(2)")
    assert page.page.locator(".token.differs").count() == 0
    page.shot("names-compared")


def test_mistakes_are_told(page):
    page.open("dna")
    page.page.fill("#input", "ACGT")
    page.page.click("#predict")
    page.page.wait_for_selector("#status.error")
    assert "two sequences" in page.page.inner_text("#status")
    page.errors.clear()  # the browser's console lists the 422 itself


HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(2)> "><svg/onload=alert(3)> javascript:alert(4)'


def test_scripts_are_shown_and_do_not_run(page, tmp_path):
    page.open("names")
    page.type("names", HOSTILE)
    assert page.page.locator(".token").count() > 5
    assert page.page.locator("#results script, #results img").count() == 0
    assert "<" in page.page.locator(".token").first.inner_text()
    file = tmp_path / "<b>x.txt"
    file.write_text("<script>alert(5)</script>\nAna\n", encoding="utf-8")
    page.page.set_input_files("#file", file)
    page.page.wait_for_selector("#download")
    assert "<script>alert(5)</script>" in page.page.inner_text("#file-result table")
    page.choose("greek")
    page.type("greek", "<script>alert(6)</script>")
    assert page.page.locator("#results script").count() == 0


def test_inline_scripts_are_blocked(page):
    page.open("names")
    ran = page.page.evaluate(
        """() => { const s = document.createElement("div");
        try { s.innerHTML = "<img src=x onerror='window.ran = 1'>"; } catch { return "refused"; }
        document.body.append(s); return "added"; }"""
    )
    assert ran == "refused"
    page.errors.clear()  # the report of the policy


def test_upload_download_and_evaluate(page, tmp_path):
    page.open("names")
    file = tmp_path / "some.txt"
    file.write_text("Ana\nChen\nleft\nOslo\n.\n\nTom\nsleeps\n", encoding="utf-8")
    page.page.set_input_files("#file", file)
    page.page.wait_for_selector("#download")
    assert page.page.locator("#file-result tbody tr").count() == 2
    with page.page.expect_download() as loading:
        page.page.click("#download")
    text = Path(loading.value.path()).read_text(encoding="utf-8")
    assert loading.value.suggested_filename == "some.predicted.txt"
    assert text.splitlines()[0].split()[-1] == "B-PER"
    gold = tmp_path / "gold.txt"
    gold.write_text("Ana B-LOC\nleft O\nOslo B-LOC\n", encoding="utf-8")
    page.page.set_input_files("#file", gold)
    page.page.wait_for_selector("#download, #file-result .error")
    page.page.click("#file-evaluate")
    page.page.wait_for_selector("text=What is taken for what")
    assert "token accuracy" in page.page.inner_text("#file-result")
    page.shot("names-evaluated")


def test_drop_a_file(page):
    page.open("rna")
    page.page.evaluate(
        """() => { const data = new DataTransfer();
        data.items.add(new File([">x\\nGGGGAAAACCCC\\n"], "x.fa"));
        const event = new DragEvent("drop", {dataTransfer: data, bubbles: true});
        document.getElementById("drop").dispatchEvent(event); }"""
    )
    page.page.wait_for_selector("#download")
    assert "((((....))))" in page.page.inner_text("#file-result table")


def test_the_card(page):
    page.open("names")
    assert "CRF" in page.page.inner_text("#card")
    assert page.page.locator("#card figure svg").count() >= 1
    page.page.locator("#card summary", has_text="transitions").click()
    table = page.page.locator("#card table").last
    table.locator("th button", has_text="weight").click()
    cells = [float(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert cells == sorted(cells, reverse=True)
    table.locator("th button", has_text="weight").click()
    cells = [float(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert cells == sorted(cells)


def test_keyboard_alone(page):
    page.open("names")
    keys = page.page.keyboard
    page.page.focus("#input")
    keys.press("Control+A")
    keys.type("Ana Chen left Oslo .")
    with page.page.expect_response(lambda r: r.url.endswith("/predict")):
        keys.press("Enter")
    page.quiet()
    reached = set()
    for _ in range(60):
        keys.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.className || document.activeElement.id"))
        if page.page.evaluate("document.activeElement.classList.contains('token')"):
            break
    assert page.page.evaluate("document.activeElement.dataset.token") == "0"
    assert "B-PER" in page.page.inner_text(".panel .bars")  # the focus shows what a hover shows
    keys.press("Enter")
    assert page.page.evaluate("document.activeElement.tagName") == "SELECT"
    with page.page.expect_response(lambda r: r.url.endswith("/predict")):
        keys.press("ArrowDown")
    page.quiet()
    assert page.page.locator(".token.fixed").count() == 1
    for name, selector in (("trees", "svg g[role='button']"), ("dna", "canvas.heat")):
        page.choose(name)
        page.page.locator(selector).first.focus()
        if name == "dna":
            keys.press("ArrowDown")
            keys.press("ArrowRight")
        with page.page.expect_response(lambda r: r.url.endswith("/predict")):
            keys.press("Enter")
        page.quiet()
        assert page.page.is_visible("#reset")


def test_everything_has_a_name(page):
    """Controls have labels, pictures have texts, and no two elements share an id."""
    for name in VIEWS:
        page.open(name)
        found = page.page.evaluate(
            """() => { const bad = [];
            for (const node of document.querySelectorAll("input, select, textarea, button")) {
              const named = node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length;
              if (!named) bad.push(node.outerHTML.slice(0, 80)); }
            for (const node of document.querySelectorAll("svg, canvas")) {
              if (!node.getAttribute("aria-label")) bad.push(node.tagName); }
            const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
            if (new Set(ids).size < ids.length) bad.push("ids"); return bad; }"""
        )
        assert not found, name


def test_the_static_page_of_the_demonstration(browser, tmp_path):
    import trelliswork as tw
    from trelliswork.demo import Row, _page, handwritten_dates

    train, test = handwritten_dates(n_train=15, n_test=12)
    path = tmp_path / "index.html"
    row = Row("CRF", 0.9, 0.5, tw.CRF(tw.Chain()).fit(*train))
    path.write_text(_page([row], test), encoding="utf-8")
    made = browser.new_page()
    errors = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.goto(path.as_uri())
    made.wait_for_selector(".token")
    assert made.locator(".chain").count() == 12
    assert not errors
    made.screenshot(path=Path("web-screenshots") / "demo.png", full_page=True)
    made.close()


def test_json_of_the_page_is_the_services(page):
    """What the page shows comes from one request that anybody can send."""
    page.open("greek")
    with page.page.expect_request(lambda r: r.url.endswith("/predict")) as asked:
        page.page.click("#predict")
    body = json.loads(asked.value.post_data)
    assert body["draw"] is True
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/models/greek/predict", asked.value.url)


def test_the_page_asks_for_the_token(browser):
    secret = "a secret of some length"
    with running("--token", secret) as (address, _):
        made = browser.new_page()
        made.goto(address)
        made.wait_for_selector("#token-form:not([hidden])")
        made.fill("#token", secret)
        made.press("#token", "Enter")
        made.wait_for_selector("section[aria-label='result of names']", timeout=60_000)
        assert not made.is_visible("#token-form")
        made.close()
