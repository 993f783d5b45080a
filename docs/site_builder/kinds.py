"""The kind of each page, written below its title: a tutorial, a how-to, a reference, an explanation, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

KINDS = {
    ("start/", "install", "first-translator", "my-data"): ("Start", "시작"),
    ("tutorials/",): ("Tutorial", "실습"),
    ("learn/",): ("Tutorial: a question answered by a program", "실습: 프로그램으로 답하는 질문"),
    ("how-to/", "serving", "browser", "scale", "reproduction"): ("How-to", "사용법"),
    ("reference/", "terms"): ("Reference", "참고 자료"),
    ("papers/results", "recipe", "performance", "reliability"): ("Results", "결과"),
    ("papers/",): ("Explanation: a paper and its model", "해설: 논문과 그 모델"),
    ("lab-book/",): ("Lab book: measurements, dated", "실험 기록"),
    ("contributing/",): ("For contributors", "기여 안내"),
    ("comparison",): ("Explanation", "해설"),
    ("faq", "errors"): ("Questions and answers", "질문과 답"),
}
"""Kind in English and in Korean by beginnings of pages' names below docs/, or below docs/ko/."""


def kind_of(page: str) -> str | None:
    """The kind of a page by its name below docs/ without the suffix; None for the first page of a language."""
    name = page.removeprefix("ko/")
    return next((kinds[page != name] for places, kinds in KINDS.items() if name.startswith(places)), None)


def add_kind(app: Sphinx, doctree: document) -> None:
    """Put the kind of a page below its title."""
    from docutils import nodes  # here, as the tests of pages run without the packages that build the site

    kind = kind_of(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    if kind is not None and title is not None:
        title.parent.insert(title.parent.index(title) + 1, nodes.paragraph("", kind, classes=["kind"]))
