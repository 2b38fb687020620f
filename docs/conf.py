"""How the site is built: ``make docs``, or at the root ``sphinx-build -c docs . docs/_build/html``.

The root is the source folder, so that a link of a page works in the repository and on the site alike.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

import trelliswork  # noqa: E402

project = "Trelliswork"
author = "Trelliswork developers"
version = release = trelliswork.__version__

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/results/*.md",
    "experiments/RESULTS.md",
    "experiments/results/**.md",
]
exclude_patterns = [
    ".*",
    "docs/_build",
    "docs/_templates",
    "src",
    "tests",
    "examples",
    "demo-output",
    "**sg_execution_times.rst",
]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "site_parts",
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = ["docs/_templates"]
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!trelliswork).*")]  # names of other packages; ours must exist

# Other projects' inventories are fetched only when asked for: a build needs no network.
intersphinx_mapping = (
    {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }
    if os.environ.get("TRELLISWORK_INTERSPHINX")
    else {}
)

sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples" / "gallery"),
    "gallery_dirs": "docs/gallery",
    "filename_pattern": "/plot_",
    "backreferences_dir": "docs/api/backreferences",
    "doc_module": ("trelliswork",),
    "reference_url": {"trelliswork": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "image_scrapers": ("site_parts.checked_figures",),
    "min_reported_time": 0,
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "site_parts.fresh_figures"),
}
# An example that warns is a bad example.
warnings.filterwarnings("error", category=UserWarning, module="trelliswork")

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"Trelliswork {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Trelliswork", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"docs/index": []}
