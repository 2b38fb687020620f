"""Look at the site that was built: links inside lead somewhere, examples are short, quick and have pictures.

``python docs/check_site.py docs/_build/html`` ends with status 1 and a line for each mistake.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parent.parent
LEAST_EXAMPLES, MOST_LINES, MOST_SECONDS = 16, 60, 30.0
_LOADED = {"script", "img", "link", "iframe"}


class Page(HTMLParser):
    """Names within a page, links out of it, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes of an element."""
        given = dict(attrs)
        self.names.update(value for key in ("id", "name") if (value := given.get(key)))
        target = given.get("href") or given.get("src")
        if not target or given.get("rel") in ("canonical", "author"):
            return
        self.links.append(target)
        if tag in _LOADED:
            self.loads.append(target)


def broken_links(site: Path) -> list[str]:
    """A line for each link that leads nowhere, and for each file that is loaded from elsewhere."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]  # no templates
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    found.append(f"{path.relative_to(site)}: loads {link} from elsewhere")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(site)}: {link} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{path.relative_to(site)}: {link} has no such place")
    return found


def bad_examples(site: Path) -> list[str]:
    """A line for each example that is too long, too slow or without a picture."""
    examples = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    found = [] if len(examples) >= LEAST_EXAMPLES else [f"the gallery has {len(examples)} examples only"]
    times = (ROOT / "docs" / "gallery" / "sg_execution_times.rst").read_text(encoding="utf-8")
    for path in examples:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MOST_LINES:
            found.append(f"{path.name} has {lines} lines")
        if not list((site / "_images").glob(f"sphx_glr_{path.stem}_0*")):
            found.append(f"{path.name} has no picture")
        taken = re.search(rf"{path.name}``\)\s+- (\d+):(\d+\.\d+)", times)
        if taken is None:
            found.append(f"{path.name} was not run")
        elif 60 * int(taken[1]) + float(taken[2]) > MOST_SECONDS:
            found.append(f"{path.name} took {taken[0].split()[-1]}")
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    mistakes = broken_links(folder) + bad_examples(folder)
    for mistake in mistakes:
        print(mistake)
    print(f"{len(list(folder.rglob('*.html')))} pages, {len(mistakes)} mistakes")
    sys.exit(bool(mistakes))
