"""Drawings for browsers: the page of ``trelliswork serve`` and pages without a server use the same.

Each ``.js`` file is a module that draws one kind of output from JSON, without any other resource;
``base.css`` has the colours, light and dark.
"""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

__all__ = ["document", "drawing_files"]


@functools.cache
def drawing_files() -> dict[str, bytes]:
    """Modules and style by the names of their files.

    Examples
    --------
    >>> from trelliswork.plots.drawing import drawing_files
    >>> "chain.js" in drawing_files(), "base.css" in drawing_files()
    (True, True)
    """
    folder = files("trelliswork.plots").joinpath("drawing")
    return {f.name: f.read_bytes() for f in folder.iterdir() if f.name.endswith((".js", ".css"))}


def document(
    title: str, body: str, *, modules: Sequence[str] = (), script: str = "", data: Any = None
) -> str:
    """A page that needs no other file: the drawing modules and their data are written into it.

    Parameters
    ----------
    title : str
        Title of the page.
    body : str
        HTML.
    modules : sequence of str
        Modules that the script uses, such as ``"chain"``, each after those that it imports.
    script : str
        What draws; ``data`` is the JSON below, and the names that modules export are known.
    data : object
        JSON.

    Examples
    --------
    >>> from trelliswork.plots.drawing import document
    >>> page = document("A page", "<p>", modules=["dom"], script="console.log(data)", data=["</script>"])
    >>> page.count("</script>")
    1
    """
    code = ""
    if modules or script:
        text = "\n".join(_inlined(drawing_files()[f"{name}.js"].decode()) for name in modules)
        written = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
        code = f'<script type="module">\n{text}\nconst data = {written};\n{script}\n</script>'
    style = drawing_files()["base.css"].decode()
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{style}</style></head>\n<body>{body}{code}</body></html>"
    )


def _inlined(text: str) -> str:
    """A module without its imports and exports."""
    text = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?=function|const|class)", "", text, flags=re.MULTILINE)
