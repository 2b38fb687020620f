"""People at the page: every view, with mouse and keyboard, light and dark, on large and small screens."""

import json
import re
from pathlib import Path

import pytest

from .conftest import SHOTS, at, running

VIEWS = {
    "names": ".chain .token",
    "rna": "svg[aria-label^='drawing'], svg[aria-label='arc diagram'], svg[aria-label^='dot plot']",
    "trees": "svg[aria-label='parse tree'] g",
    "dna": ".rows span, canvas.heat",
    "greek": ".piece",
    "animals": ".tree-list .bar",
}
SMALL = {"viewport": {"width": 375, "height": 800}}
DARK = {"color_scheme": "dark"}
WINDOWS = {"light": {}, "dark": DARK, "small-light": SMALL, "small-dark": SMALL | DARK}
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"

FAINT = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
NAMELESS = (Path(__file__).parent / "nameless.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", VIEWS)
def test_every_view(browser, server, name, window):
    with at(browser, server[0], **WINDOWS[window]) as page:
        page.open(name)
        assert page.page.evaluate(BACKGROUND) == PAPER["dark" if "dark" in window else "light"]
        assert page.count(VIEWS[name]) >= 3
        page.page.fill("#k", "3")
        page.page.check("#mea")
        page.click("#sample")
        assert page.count("ol.candidates:not(.samples) > li") == (2 if name == "trees" else 3)
        assert page.count("ol.samples > li") == 5
        assert page.count(".mea") == 1
        if name == "names":
            page.page.locator(".token").first.hover()
        page.page.locator("button.why").first.click()
        page.page.wait_for_selector("table.why")
        assert "difference of the scores" in page.text("table.why")
        assert page.fits()
        assert page.page.evaluate(FAINT) == []
        page.shot(f"{name}-{window}")


def test_colours_can_be_chosen(page):
    page.open("names")
    assert page.page.evaluate(BACKGROUND) == PAPER["light"]
    page.page.click("#theme")
    assert page.page.evaluate(BACKGROUND) == PAPER["dark"]
    page.page.reload()
    page.result("names")
    assert page.page.evaluate(BACKGROUND) == PAPER["dark"]
    page.page.click("#theme")
    assert page.page.evaluate(BACKGROUND) == PAPER["light"]


def test_constrain_a_token(page):
    page.open("names")
    page.type("names", "Ana Chen left Oslo .")
    token = page.page.locator(".token").first
    token.hover()
    assert "B-PER" in page.text(".panel .bars")
    token.click()
    with page.answered():
        page.page.select_option(".panel select", "B-LOC")
    assert page.count(".token.fixed") == 1
    assert page.page.locator(".token").first.get_attribute("aria-label") == "Ana: B-LOC, 100%, fixed"
    assert "PER" not in page.page.locator(".token").nth(1).inner_text()  # decoded again around it
    page.shot("names-fixed")
    page.click("#reset")
    assert "B-PER" in page.page.locator(".token").first.get_attribute("aria-label")


def test_opacity_is_the_probability(page):
    page.open("names")
    page.type("names", "Ana Chen left Okafor with Lima .")
    found = page.page.evaluate(
        """() => [...document.querySelectorAll(".token")].map((node) => [
          parseFloat((node.querySelector(".share").textContent.match(/[\\d.]+/) || [0])[0]),
          parseFloat((node.style.backgroundColor.match(/[\\d.]+(?=\\))/) || [NaN])[0])])"""
    )
    coloured = sorted((p, alpha) for p, alpha in found if alpha == alpha)
    assert len(coloured) >= 3
    assert [alpha for _, alpha in coloured] == sorted(alpha for _, alpha in coloured)
    assert coloured[0][1] < coloured[-1][1]


def test_constrain_a_tree(page):
    page.open("trees")
    text = "section[aria-label='result of trees'] p.text"
    before = page.text(text)
    page.page.locator("button.show").nth(1).click()
    other = page.page.locator("ol.candidates > li").nth(1).inner_text()
    assert page.count("svg .differs") >= 1
    assert page.count(f"{text} mark") >= 1
    page.shot("trees-second")
    page.click("svg g[aria-label^='NP over words 4 to 8']")
    after = page.text(text)
    assert after != before
    assert after in other.replace("‸", "")
    assert page.page.locator("svg g[aria-pressed='true']").count() == 1
    page.type("trees", "bird the saw")
    assert "no tree for the sentence" in page.text("#results .error")


def test_constrain_a_fold(page):
    page.open("rna")
    page.type("rna", "GGGGAAAACCCC")
    assert "((((....))))" in page.text("section[aria-label='result of rna'] pre")
    assert page.text("#sequence") == "GGGGAAAACCCC"
    page.page.fill("#constraint", "x")
    page.click("#predict")
    assert page.text("section[aria-label='result of rna'] pre").split("\n")[1][0] == "."
    page.page.fill("#constraint", "xxxxxxxxxxxx")
    page.click("#predict")
    assert "............" in page.text("section[aria-label='result of rna'] pre")
    page.shot("rna-fixed")


def test_constrain_an_alignment_and_a_class(page):
    page.open("dna")
    page.click("canvas.heat")
    assert page.page.is_visible("#reset")
    page.shot("dna-fixed")
    page.choose("animals")
    assert not page.page.is_visible("#reset")
    page.click(".tree-list button[title='only insect']")
    assert page.text("p.class") in ("ant", "bee", "moth")
    page.click(".tree-list button[title='not only insect']")
    assert page.text("p.class") == "cat"


def test_outputs_can_be_drawn(page):
    page.open("greek")
    page.page.locator("button.show").nth(1).click()
    second = page.page.locator("ol.candidates > li .mono").nth(1).inner_text()
    assert page.text(".drawing .mono") == second
    assert "".join(page.page.locator(".piece b").all_inner_texts()).replace("–", "") == second
    page.page.check("#mea")
    page.choose("rna")
    page.click("#sample")
    page.page.locator("ol.samples button.show").nth(2).click()
    drawn = page.page.locator("ol.samples > li .mono").nth(2).inner_text()
    assert page.text("section[aria-label='result of rna'] pre").split("\n")[1] == drawn


def test_mistakes_are_told(page):
    page.open("dna")
    page.page.fill("#input", "ACGT")
    page.page.click("#predict")
    page.page.wait_for_selector("#status.error")
    assert "two sequences" in page.text("#status")
    page.choose("rna")
    page.page.fill("#input", "GC" * 2500)
    page.page.click("#predict")
    page.page.wait_for_selector("#status.error")
    assert "would take about" in page.text("#status")
    page.errors.clear()  # the browser's console lists every 422 itself


HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(2)> "><svg/onload=alert(3)> javascript:alert(4)'


def test_scripts_are_shown_and_do_not_run(page, tmp_path):
    page.open("names")
    page.type("names", HOSTILE)
    assert page.count(".token") > 5
    assert page.count("#results script, #results img") == 0
    assert "<" in page.page.locator(".token").first.inner_text()
    page.shot("names-hostile")
    file = tmp_path / "<b>x.txt"
    file.write_text("<script>alert(5)</script>\nAna\n", encoding="utf-8")
    page.page.set_input_files("#file", file)
    page.page.wait_for_selector("#download")
    assert "<script>alert(5)</script>" in page.text("#file-result table")
    for name, text in (
        ("greek", "<script>alert(6)</script>"),
        ("animals", "<img/src=x/onerror=alert(7)>=1"),
        ("trees", "the <script>alert(8)</script> saw the cat"),
    ):
        page.choose(name)
        page.type(name, text)
        assert page.count("#results script, #results img") == 0


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
    assert page.count("#file-result tbody tr") == 2
    with page.page.expect_download() as loading:
        page.page.click("#download")
    text = Path(loading.value.path()).read_text(encoding="utf-8")
    assert loading.value.suggested_filename == "some.predicted.txt"
    assert text.splitlines()[0].split()[-1] == "B-PER"
    page.shot("names-file")
    gold = tmp_path / "gold.txt"
    gold.write_text("Ana B-LOC\nleft O\nOslo B-LOC\n", encoding="utf-8")
    page.page.set_input_files("#file", gold)
    page.page.wait_for_selector("text=What is taken for what")  # beside the table of predictions
    assert page.count("#download") == 1
    assert "token accuracy" in page.text("#file-result")
    page.shot("names-evaluated")
    page.page.click("#file-evaluate")
    page.page.wait_for_selector("#file-result:not(:has(#download)) h3")
    assert "B-LOC" in page.text("#file-result")
    page.choose("trees")
    page.page.fill("#pasted", "(S (NP (N Ana)) (VP (V sleeps)))\n")
    page.page.click("#file-predict")
    page.page.wait_for_selector("text=No mistakes.")


def test_paste_a_file(page):
    page.open("names")
    page.page.fill("#pasted", "Ana Chen left Oslo.\nTom sleeps.\n")
    page.page.check("#raw")
    page.page.check("#shares")
    page.page.click("#file-predict")
    page.page.wait_for_selector("#download")
    assert page.count("#file-result tbody tr") == 2
    with page.page.expect_download() as loading:
        page.page.click("#download")
    lines = Path(loading.value.path()).read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"Ana\s+B-PER\s+0\.\d+|Ana\s+B-PER\s+1\.0*", lines[0])
    page.page.locator("#file-result th button", has_text="probability").click()
    shares = page.page.locator("#file-result td:last-child").all_inner_texts()
    assert float(shares[0].rstrip("%")) >= float(shares[1].rstrip("%"))


DROP = """(where) => { const data = new DataTransfer();
    data.items.add(new File([">x\\nGGGGAAAACCCC\\n"], "x.fa"));
    const event = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
    return document.querySelector(where).dispatchEvent(event); }"""


@pytest.mark.parametrize("where", ["#drop", "#results"])
def test_drop_a_file(page, where):
    page.open("rna")
    assert page.page.evaluate(DROP, where) is False  # otherwise the browser would leave the page for it
    page.page.wait_for_selector("#download")
    assert "((((....))))" in page.text("#file-result table")


def test_a_file_that_is_too_large(page, tmp_path):
    file = tmp_path / "large.txt"
    file.write_bytes(b"Ana\n" * (9 << 18))
    page.open("names")
    page.page.set_input_files("#file", file)
    page.page.wait_for_selector("#file-result .error")
    assert "9,437,184 bytes; at most 8,388,608" in page.text("#file-result")
    # The server says the same to a page that does not look.
    told = page.page.evaluate(
        """async () => { const answer = await fetch("/models/names/file?name=x",
          {method: "POST", headers: {"Content-Type": "application/octet-stream"},
           body: "Ana\\n".repeat(9 << 18)});
          return [answer.status, (await answer.json()).error]; }"""
    )
    assert told == [413, "the request has 9,437,184 bytes; at most 8,388,608 are read"]
    page.errors.clear()  # the browser's console lists the 413 itself


def test_the_card(page):
    page.open("names")
    assert "CRF" in page.text("#card")
    assert page.count("#card figure svg") >= 1
    page.page.locator("#card summary", has_text="transitions").click()
    table = page.page.locator("#card table").last
    table.locator("th button", has_text="weight").click()
    cells = [float(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert cells == sorted(cells, reverse=True)
    assert table.locator("th").last.get_attribute("aria-sort") == "descending"
    table.locator("th button", has_text="weight").click()
    cells = [float(cell) for cell in table.locator("tbody tr td:last-child").all_inner_texts()]
    assert cells == sorted(cells)
    page.page.locator("#card summary", has_text="Settings").click()
    assert "max_iter" in page.text("#card")
    page.shot("names-card")


def tab_to(page, selector, most=80):
    """Press Tab until an element has the focus."""
    for _ in range(most):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("(s) => document.activeElement.matches(s)", selector):
            outlined = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outlined != "none", selector  # people see where they are
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_keyboard_alone(page):
    page.open("names")
    keys = page.page.keyboard
    tab_to(page, ".skip")
    keys.press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "input"
    keys.press("Control+A")
    keys.type("Ana Chen left Oslo .")
    with page.answered():
        keys.press("Enter")
    tab_to(page, ".token")
    assert page.page.evaluate("document.activeElement.dataset.token") == "0"
    assert "B-PER" in page.text(".panel .bars")  # the focus shows what a hover shows
    keys.press("Enter")
    assert page.page.evaluate("document.activeElement.tagName") == "SELECT"
    with page.answered():
        keys.press("ArrowDown")
    assert page.count(".token.fixed") == 1
    assert page.page.evaluate("document.activeElement.dataset.token") == "0"  # still there
    tab_to(page, "button.why")
    keys.press("Enter")
    page.page.wait_for_selector("table.why")
    tab_to(page, "#pasted")
    keys.type("Ana\nleft\n")
    tab_to(page, "#file-predict")
    keys.press("Enter")
    page.page.wait_for_selector("#download")
    tab_to(page, "#card summary")
    keys.press("Enter")
    assert page.count("#card details[open]") == 1


def test_keyboard_alone_in_drawings(page):
    keys = page.page.keyboard
    for name, selector, steps, there in (
        ("trees", "svg g[role='button']", [], "[aria-pressed='true']"),
        ("dna", "canvas.heat", ["ArrowDown", "ArrowRight"], "canvas.heat"),
        ("animals", ".tree-list button", [], "[aria-pressed='true']"),
    ):
        page.open(name)
        tab_to(page, selector)
        for step in steps:
            keys.press(step)
        if name == "dna":
            assert page.page.is_visible(".heat-map .cell")
            assert re.match(r"A2 with A2: \d+", page.text(".heat-map + p"))
        with page.answered():
            keys.press("Enter")
        assert page.page.is_visible("#reset")
        assert page.page.evaluate("(s) => document.activeElement.matches(s)", there), name  # still there


def test_everything_has_a_name(page):
    """Controls have labels, pictures have texts, and no two elements share an id."""
    for name in VIEWS:
        page.open(name)
        if name == "names":
            page.page.locator(".token").first.focus()  # opens a panel
        assert page.page.evaluate(NAMELESS) == [], name


def test_json_of_the_page_is_the_services(page):
    """What the page shows comes from one request that anybody can send."""
    page.open("greek")
    with page.page.expect_request(lambda r: r.url.endswith("/predict")) as asked:
        page.page.click("#predict")
    body = json.loads(asked.value.post_data)
    assert body["draw"] is True
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/models/greek/predict", asked.value.url)
    page.quiet()


def test_the_page_asks_for_the_token(browser):
    secret = "a secret of some length"
    with running("--token", secret) as (address, _), at(browser, address) as page:
        page.page.goto(address)
        page.page.wait_for_selector("#token-form")
        assert not page.page.is_visible("#ask")
        page.shot("token")
        page.page.keyboard.type("wrong")  # the field has the focus
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector("text=That is not the token of this server.")
        page.page.fill("#token", secret)
        page.page.press("#token", "Enter")
        page.result("names")
        assert not page.page.is_visible("#token-form")
        assert secret not in page.page.url
        page.errors.clear()  # the browser's console lists every 401 itself
        with at(browser, address) as other:
            other.page.goto(f"{address}/#token=a%20secret%20of%20some%20length")
            other.result("names")
            assert "token" not in other.page.url


def test_pages_without_a_server(browser, tmp_path):
    """The pages of the demonstration draw with the modules of this page, and need nothing else."""
    import trelliswork as tw
    from trelliswork.demo import Row, _page, handwritten_dates
    from trelliswork.plots.drawing import document, drawing_files

    train, test = handwritten_dates(n_train=15, n_test=12)
    row = Row("CRF", 0.9, 0.5, tw.CRF(tw.Chain()).fit(*train))
    (tmp_path / "index.html").write_text(_page([row], test), encoding="utf-8")
    found = tw.compare(*train, tw.Chain(), {"CRF": tw.CRF(tw.Chain())}, budget=5)
    found.to_html(tmp_path / "learners.html", title="Learners")
    modules = [name.removesuffix(".js") for name in drawing_files() if name.endswith(".js")]
    everything = document(
        "All", "<p>all</p>", modules=["dom", *sorted(set(modules) - {"dom"})], script="el('p')"
    )
    (tmp_path / "all.html").write_text(everything, encoding="utf-8")  # no name is used twice
    for name, selector, options in (
        ("index", ".chain", {}),
        ("index", ".chain", SMALL | DARK),
        ("learners", "#curves svg polyline, #mistakes td", {}),
        ("learners", "#curves svg polyline, #mistakes td", SMALL | DARK),
        ("all", "p", {}),
    ):
        with at(browser, tmp_path.as_uri(), **options) as page:
            page.page.goto((tmp_path / f"{name}.html").as_uri())
            page.page.wait_for_selector(selector)
            assert page.page.evaluate(FAINT) == []
            assert page.fits()
            if name == "index":
                assert page.count(".chain") == 12
            SHOTS.mkdir(exist_ok=True)
            page.shot(f"demo-{name}{'-small-dark' if options else ''}")
