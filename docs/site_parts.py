"""Small parts of the site that no extension has: formulas as MathML, a cheat sheet, a first page.

Formulas need neither LaTeX nor a script from elsewhere: browsers draw MathML themselves.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/gallery/(plot_\w+)\.py\)")
HOME = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html">'


def mathml(text: str, display: str) -> str:
    """A formula; a command that the converter does not know is a warning, which ends the build."""
    made = convert(text, display=display)
    if "\\" in made:
        logging.getLogger(__name__).warning("formula %r has an unknown command", text)
    return made


def inline_formula(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block_formula(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def to_gallery(app: Any, name: str, source: list[str]) -> None:
    """Lead links to examples, which are files of the repository, to the pages that show them."""
    source[0] = EXAMPLE.sub(r"](/docs/gallery/\1.rst)", source[0]).replace(
        "](../../examples/gallery/README.rst)", "](/docs/gallery/index.rst)"
    )


def fresh_figures(_: Any, name: str) -> None:
    """Give every example the same size and letters, legible in a column of 700 pixels."""
    import matplotlib

    matplotlib.rcParams.update({"figure.figsize": (6.4, 4.0), "figure.dpi": 120, "font.size": 10})
    matplotlib.rcParams.update({"figure.constrained_layout.use": True, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False})


def checked_figures(block: Any, values: Any, settings: Any) -> str:
    """Take the pictures of an example; a line that lies wholly outside of its axes ends the build."""
    from matplotlib import pyplot
    from sphinx_gallery.scrapers import matplotlib_scraper

    for axes in (axes for number in pyplot.get_fignums() for axes in pyplot.figure(number).axes):
        if out_of_sight(axes):
            raise ValueError(f"nothing of a line can be seen: {values['src_file']}")
    return matplotlib_scraper(block, values, settings)


def out_of_sight(axes: Any) -> list[Any]:
    """Lines of which no point lies within the limits of the axes."""
    low, high = zip(sorted(axes.get_xlim()), sorted(axes.get_ylim()))
    found = []
    for line in axes.lines:
        points = line.get_xydata()
        inside = ((points >= low) & (points <= high)).all(axis=1)
        if line.get_transform() == axes.transData and len(points) and not inside.any():
            found.append(line)
    return found


def not_ours(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that scikit-learn documents itself, and classes that are attributes."""
    owner = inspect.unwrap(getattr(member, "fn", member)) if not inspect.isclass(member) else member
    if what == "class" and (
        inspect.isclass(member) or str(getattr(owner, "__module__", "")).startswith("sklearn")
    ):
        return True
    return None


def compiled(app: Any, config: Any) -> None:
    """Compile everything on an empty cache, so that the times of examples are their own."""
    from trelliswork.cli._warmup import warm_up
    from trelliswork.dp import rows

    if not any(Path(rows.times.stats.cache_path).glob("*.nbi")):
        warm_up()


def drawings(app: Any) -> None:
    """Make the cheat sheet and the picture at the top of the README; drop pages of old examples."""
    from cheatsheet import draw
    from pictures import overview

    here = Path(__file__).parent
    for page in (here / "gallery").glob("plot_*.rst"):  # of examples that were renamed
        if not (here.parent / "examples" / "gallery" / f"{page.stem}.py").exists():
            page.unlink()
    draw(here / "_build" / "cheatsheet")
    overview(here / "images" / "overview.svg")


def first_page(app: Any, exception: Exception | None) -> None:
    """Lead from the folder of the site to its first page."""
    if exception is None and app.builder.format == "html":
        Path(app.outdir, "index.html").write_text(HOME, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("config-inited", compiled)
    app.connect("builder-inited", drawings)
    app.connect("source-read", to_gallery)
    app.connect("autodoc-skip-member", not_ours)
    app.connect("build-finished", first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
