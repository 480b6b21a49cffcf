"""The documentation as a site: ``scripts/docs`` builds it from a copy, so that nothing is written here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("TALLYBAYES_ROOT", Path(__file__).resolve().parent.parent))

project = "tallybayes"
author = "the tallybayes developers"
copyright = author
root_doc = "site"  # holds the tree of contents; index.md is the front page, and reads the same without a site
html_theme = "pydata_sphinx_theme"
html_title = "tallybayes"
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "logo": {"text": "tallybayes", "link": "index.html"},
}
html_show_sourcelink = False
html_sidebars = {"index": []}  # the front page has the doors in its text
html_static_path = ["_static"]
html_css_files = ["site.css"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
suppress_warnings = ["config.cache", "misc.highlighting_failure"]  # a language without colours is none the worse
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "capture_repr": (),
    "abort_on_example_error": True,
    "remove_config_comments": True,
}


def shown_alone(app: Any, name: str, source: list[str]) -> None:
    """Links that leave the documentation (to scripts, to the README) are shown as text: the site is on its own."""
    if name == "benchmarks":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        source[0] += "\n## Measured comparison\n" + readme.split("## Measured comparison")[1].split("\n## ")[0]
        source[0] = re.sub(r"\(\[more\]\([^)]*\)\)", "", source[0])
    source[0] = source[0].replace("\n\n```\n", "\n```\n")  # the blank line ends a doctest; nobody has to see it
    depth = name.count("/") + 1
    source[0] = re.sub(rf"\[([^\]]*)\]\((?:\.\./){{{depth}}}[^)]*\)", r"\1", source[0])


def not_ours(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives every estimator: it is documented there, with links that lead nowhere here."""
    home = getattr(member, "__module__", None) or ""
    return True if home.startswith("sklearn") or re.fullmatch(r"set_\w+_request", name) else None


def fitted_names(app: Any, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """A name such as classes_ is no link, whatever reStructuredText thinks of its last letter."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(?<![\\`*\w.])([A-Za-z]\w*_)(?![\w`*])", lambda found: found[1][:-1] + r"\_", line)


def as_mathml(self: Any, node: Any) -> None:
    """Formulas as MathML, which browsers draw by themselves: no script, and nothing from the network."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    display = "block" if node.tagname == "math_block" else "inline"
    self.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", shown_alone)
    app.connect("autodoc-skip-member", not_ours)
    app.connect("autodoc-process-docstring", fitted_names, priority=900)  # after numpydoc
    app.add_html_math_renderer("mathml", (as_mathml, None), (as_mathml, None))


html_math_renderer = "mathml"
