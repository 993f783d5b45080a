"""The page: whole, self-contained, safe with any text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.evaluation.evaluate import Perplexity, evaluate
from dragoman.evaluation.slices import by_source_length
from dragoman.report.page import LARGEST_HEAT_MAP, write_report
from dragoman.report.samples import Sample
from dragoman.text.side import raw_words

VOID = {"meta", "br", "hr", "img", "input", "link"}
HOSTILE = "<script>alert(\"1\")</script> & 'x' <img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The page as a browser reads it: elements in order, with their own and their inner text; nesting is checked."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[dict] = []
        self._open: list[dict] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag: str, kind: str | None = None) -> list[dict]:
        return [
            element
            for element in self.elements
            if element["tag"] == tag and (kind is None or kind in element.get("class", "").split())
        ]


def make_samples(*pairs: tuple[str, str, str | None]) -> list[Sample]:
    samples = []
    for source, translation, reference in pairs:
        source_words, target_words = raw_words(source), raw_words(translation)
        weights = np.zeros((len(target_words), len(source_words)))
        weights[:, :1] = 0.75
        weights[:, -1:] += 0.25
        samples.append(Sample(source, translation, reference, source_words, target_words, weights))
    return samples


@pytest.fixture
def written(tmp_path):
    def write(**parts) -> Page:
        path = tmp_path / "report.html"
        write_report(path, **{"title": "A run", "facts": {}, **parts})
        return Page(path.read_text(encoding="utf-8"))

    return write


def records() -> list[dict]:
    return [
        {"kind": "train", "update": update, "seconds": update, "loss": 1 / update, "perplexity": 3.0}
        for update in (1, 2, 3)
    ]


def full(written) -> Page:
    samples = make_samples(("the red house", "das rote Haus", "das rote Haus"), (HOSTILE, HOSTILE, HOSTILE))
    hypotheses = [sample.translation for sample in samples]
    evaluation = evaluate(
        hypotheses,
        hypotheses,
        slicings=[by_source_length([sample.source for sample in samples])],
        perplexity=Perplexity(10.0, 5, 2),
    )
    return written(
        title=f"Run {HOSTILE}",
        facts={"Machine": HOSTILE},
        records=records(),
        evaluation=evaluation,
        samples=samples,
        source_language="en",
        target_language="pt_BR",
    )


def test_every_sentence_is_on_the_page_letter_for_letter(written):
    page = full(written)
    lines = [element["text"] for element in page.all("p", "line")]
    assert lines == ["the red house", "das rote Haus", "das rote Haus", HOSTILE, HOSTILE, HOSTILE]


def test_nothing_from_a_user_becomes_markup(written):
    page = full(written)
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert not any(name.startswith("on") for element in page.elements for name in element)
    assert HOSTILE not in page.html
    assert page.all("h1")[0]["text"] == f"Run {HOSTILE}"


def test_the_page_fetches_nothing(written):
    page = full(written)
    assert not page.all("link")
    for element in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            assert element.get(name, "#").startswith("#"), element
    assert not re.search(r"@import|url\((?!#)", page.html)
    (policy,) = (element for element in page.all("meta") if element.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].startswith("default-src 'none';")


def test_ids_are_unique_and_labels_point_at_them(written):
    page = full(written)
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    assert {element["aria-labelledby"] for element in page.elements if "aria-labelledby" in element} <= set(ids)


def test_target_words_carry_their_links_for_pointing(written):
    page = full(written)
    words = [element for element in page.all("span", "word") if "data-links" in element][:3]
    assert [(word["text"], word["data-links"]) for word in words] == [
        ("das", "0:0.75 2:0.25"),
        ("rote", "0:0.75 2:0.25"),
        ("Haus", "0:0.75 2:0.25"),
    ]


def test_each_sample_has_its_heat_map_behind_a_click_and_the_first_is_open(written):
    page = full(written)
    assert len(page.all("svg", "heat-map")) == 2
    assert ["open" in element for element in page.all("details")] == [False, True, False]  # signatures, two samples
    cells = [element for element in page.all("rect") if element.get("fill-opacity") == "0.750"]
    assert len(cells) == 3 + len(HOSTILE.split())


def test_scores_come_with_signatures_and_slices(written):
    page = full(written)
    shown = [element["text"] for element in page.all("dd")]
    assert {"100.0", "7.39"} <= set(shown)
    signatures = [element["text"] for element in page.all("code")]
    assert len(signatures) == 4
    assert any("tok:13a" in signature for signature in signatures)
    rows = [element["text"] for element in page.all("tr")]
    assert [element["text"] for element in page.all("th") if element.get("scope") == "row"] == ["0–4", "5–9"]
    assert len(rows) == 3


def test_languages_are_named_and_marked(written):
    page = full(written)
    assert page.all("p", "languages")[0]["text"] == "English to Portuguese (Brazil)"
    assert [element["lang"] for element in page.all("p", "line")][:3] == ["en", "pt-BR", "pt-BR"]


@pytest.mark.parametrize("languages", [{}, {"source_language": "en", "target_language": "en"}])
def test_languages_that_nobody_named_are_not_claimed(written, languages):
    page = written(samples=make_samples(("a b", "c d", None)), **languages)
    assert not page.all("p", "languages")
    assert not any("lang" in element for element in page.all("p", "line"))


def test_every_line_finds_its_own_direction(written):
    page = written(samples=make_samples(("hello!", "مرحبا!", "مرحبا!")))
    assert {element["dir"] for element in page.all("p", "line")} == {"auto"}


def test_a_page_of_nothing_but_a_title_is_a_page(written):
    page = written()
    assert page.all("h1")[0]["text"] == "A run"
    assert not page.all("section")


def test_a_sample_without_reference_has_no_score(written):
    page = written(samples=make_samples(("a", "b", None)))
    assert [element["text"] for element in page.all("h3")] == ["Source", "Translation"]


def test_without_attention_lines_are_plain(written):
    page = written(samples=[Sample("a b", "c d", "c d")])
    assert [element["text"] for element in page.all("p", "line")] == ["a b", "c d", "c d"]
    assert not page.all("span", "word")
    assert not page.all("svg")


def test_blank_lines_and_lines_of_anything_are_shown(written):
    lines = ["", "   ", "a\x00b", "tab\there", "x" * 100_000, "👩‍🚀 🎉"]
    page = written(samples=make_samples(*((line, line, line) for line in lines)))
    shown = [element["text"] for element in page.all("p", "source")]
    assert shown == ["", "   ", "a␀b", "tab␉here", "x" * 100_000, "👩‍🚀 🎉"]


def test_a_sentence_too_long_for_a_heat_map_says_so_and_can_be_pointed_at(written):
    line = " ".join(["word"] * (LARGEST_HEAT_MAP + 1))
    page = written(samples=make_samples((line, "kurz", None)))
    assert not page.all("svg")
    assert "Too long for a heat map." in [element["text"] for element in page.all("p", "note")]
    assert len(page.all("span", "word")) == LARGEST_HEAT_MAP + 2


def test_a_folder_that_does_not_exist_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(InputError, match=re.escape(str(path))):
        write_report(path, title="A run", facts={})


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        write_report(
            tmp_path / name, title="A run", facts={"a": "b"}, records=records(), samples=make_samples(("a b", "c", "c"))
        )
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
