"""What can be said of the site without building it; ``make docs`` builds it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import trelliswork as tw

ROOT = Path(__file__).parent.parent
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gallery_is_short_and_has_pictures():
    assert len(GALLERY) >= 16
    for path in GALLERY:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 60, path.name
        assert "plt.show()" in text, path.name


def test_lines_outside_of_their_axes_are_found():
    figure = pytest.importorskip("matplotlib.figure")
    for package in ("docutils", "latex2mathml", "sphinx"):
        pytest.importorskip(package)
    axes = figure.Figure().subplots()
    [seen, lost] = axes.plot([0.0, 1.0], [0.5, 0.5]) + axes.plot([3.0, 4.0], [0.5, 0.5])
    axes.axvline(7.0)  # marks a place, whether it is in sight or not
    axes.set(xlim=(0.0, 2.0), ylim=(0.0, 1.0))
    assert script("site_parts").out_of_sight(axes) == [lost]
    assert seen not in script("site_parts").out_of_sight(axes)


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><img src="https://elsewhere.org/x.png">')
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html">a</a><a href="c.html">c</a>')
    found = script("check_site").broken_links(tmp_path)
    assert [line.split(": ")[1] for line in found] == [
        "b.html#there has no such place",
        "loads https://elsewhere.org/x.png from elsewhere",
        "c.html does not exist",
    ]


def test_cheat_sheet_is_one_page(tmp_path):
    pytest.importorskip("matplotlib")
    pdf, picture = script("cheatsheet").draw(tmp_path)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_cheat_sheet_has_the_defaults_of_the_learners():
    boxes = {heading: rows for column in script("cheatsheet").COLUMNS for heading, rows in column}
    for code, _ in boxes["What holds weights back"]:
        call = ast.parse(code, mode="eval").body
        parameters = inspect.signature(getattr(tw, call.func.id)).parameters
        for keyword in call.keywords:
            assert parameters[keyword.arg].default == ast.literal_eval(keyword.value), code


def test_first_screen_of_the_readme():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]
    screen = "\n".join(lines)
    assert re.search(r"!\[.+\]\(docs/images/overview\.svg\)", screen)
    commands, code = re.findall(r"```(?:sh|python)\n(.*?)```", screen, re.DOTALL)
    assert len(commands.strip().splitlines()) == 2
    assert code.count(">>> ") == 4


def test_every_link_of_the_readme_leads_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link
