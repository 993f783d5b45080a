"""Sphinx builds the site from these pages: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from site_builder.kinds import add_kind
from site_builder.korean import word
from site_builder.printed import write
from site_builder.search import KoreanBeginnings

import dragoman

project = "Dragoman"
author = "the Dragoman authors"
copyright = author
version = release = dragoman.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
highlight_language = "none"  # blocks without a name are output, not Python
suppress_warnings = ["misc.highlighting_failure"]  # requests without a version of HTTP, cells with a line for the shell
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
default_role = "literal"  # docstrings write names in single backticks, as in Markdown
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False

# The notebooks are run while the site is built, and fail it when they raise. NOTEBOOKS=off leaves them unrun.
nb_execution_mode = os.environ.get("NOTEBOOKS", "cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

html_theme = "furo"
html_title = "Dragoman"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp"


def name_language(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Pages below ko/ say that they are Korean: browsers, screen readers, pages.css and the theme's words go by it."""
    if pagename.startswith("ko/"):
        context["language"] = "ko"
        context["_"] = context["gettext"] = word


def part_notebooks(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Put notebooks, which run for a minute each, far apart: neighbours are read by the same process."""
    notebooks = [name for name in docnames if env.doc2path(name).suffix == ".ipynb"]
    docnames[:] = [name for name in docnames if name not in notebooks]
    for place, name in enumerate(notebooks):
        docnames.insert(place * (len(docnames) // len(notebooks) + 1), name)


def setup(app: Sphinx) -> None:
    """Print the reference before Sphinx looks for pages."""
    app.connect("env-before-read-docs", part_notebooks)
    app.connect("doctree-read", add_kind)
    app.connect("html-page-context", name_language)
    app.add_search_language(KoreanBeginnings)
    write(HERE / "reference" / "printed")
