"""The kind of each page, written below its title: a tutorial, a how-to, a reference, an explanation, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

KINDS = {
    "start/": "Start",
    "tutorials/": "Tutorial",
    "learn/": "Tutorial: a question answered by a program",
    "how-to/": "How-to",
    "reference/": "Reference",
    "papers/results": "Results",
    "papers/": "Explanation: a paper and its model",
    "lab-book/": "Lab book: measurements, dated",
    "contributing/": "For contributors",
    "serving": "How-to",
    "browser": "How-to",
    "scale": "How-to",
    "reproduction": "How-to",
    "recipe": "Results",
    "performance": "Results",
    "reliability": "Results",
    "comparison": "Explanation",
    "faq": "Questions and answers",
}
"""Kind by page, or by the folder of pages."""

KOREAN_KINDS = {
    "install": "시작",
    "first-translator": "시작",
    "tutorials/": "실습",
    "learn/": "실습: 프로그램으로 답하는 질문",
    "how-to/": "사용법",
    "papers/": "해설: 논문과 그 모델",
    "serving": "사용법",
    "browser": "사용법",
    "terms": "참고 자료",
}
"""The same for the pages below ko/."""


def kind_of(page: str) -> str | None:
    """The kind of a page by its name below docs/ without the suffix; None for the first page of a language."""
    kinds = KOREAN_KINDS if page.startswith("ko/") else KINDS
    page = page.removeprefix("ko/")
    return next((kind for place, kind in kinds.items() if page == place or page.startswith(place)), None)


def add_kind(app: Sphinx, doctree: document) -> None:
    """Put the kind of a page below its title."""
    from docutils import nodes  # here, as the tests of pages run without the packages that build the site

    kind = kind_of(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    if kind is not None and title is not None:
        title.parent.insert(title.parent.index(title) + 1, nodes.paragraph("", kind, classes=["kind"]))
