"""The page: whole, self-contained, safe with any text."""

import base64
import hashlib
import json
import random
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.evaluation.evaluate import Evaluation, ReferencePerplexity, evaluate
from dragoman.evaluation.significance import Comparisons, MetricComparison
from dragoman.evaluation.slices import by_length, by_length_groups
from dragoman.report.differences import OovCounts, OovToken
from dragoman.report.page import Report, ReportedSystem, write_report
from dragoman.report.samples import Sample
from dragoman.text.words import raw_words

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
    def write(samples=(), evaluation=None, **parts) -> Page:
        path = tmp_path / "report.html"
        systems = [ReportedSystem("one", samples, evaluation)] if samples or evaluation else []
        write_report(path, Report(**{"title": "A run", "systems": systems, **parts}))
        return Page(path.read_text(encoding="utf-8"))

    return write


def records() -> list[dict]:
    return [
        {"kind": "train", "update": update, "seconds": update, "loss": 1 / update, "perplexity": 3.0}
        for update in (1, 2, 3)
    ]


def measured(samples: list[Sample]) -> Evaluation:
    return evaluate(
        [sample.translation for sample in samples],
        [sample.reference for sample in samples],
        slicings=[by_length([sample.source for sample in samples], "source")],
        perplexity=ReferencePerplexity(10.0, 5, 2),
    )


def full(written) -> Page:
    samples = make_samples(("the red house", "das rote Haus", "das rote Haus"), (HOSTILE, HOSTILE, HOSTILE))
    return written(
        title=f"Run {HOSTILE}",
        facts={"Machine": HOSTILE},
        text_facts={"Pairs": HOSTILE},
        advice=[HOSTILE],
        test_set=HOSTILE,
        records=records(),
        evaluation=measured(samples),
        samples=samples,
        unknown_source=OovCounts(4, 2, (OovToken(HOSTILE, (0, 1)),)),
        unknown_target=OovCounts(4, 0, ()),
        notes=[HOSTILE],
        source_language="en",
        target_language="pt_BR",
    )


def test_every_sentence_is_in_the_page_letter_for_letter(written):
    page = full(written)
    (texts,) = (element["text"] for element in page.all("script") if element.get("id") == "texts")
    found = [(one["s"], one["t"][0]["x"], one["r"]) for one in json.loads(texts)["sentences"]]
    assert found == [("the red house", "das rote Haus", "das rote Haus"), (HOSTILE, HOSTILE, HOSTILE)]


def test_nothing_from_a_user_becomes_markup(written):
    page = full(written)
    assert [element.get("type") for element in page.all("script")] == ["application/json", "text/plain", None]
    assert not page.all("img")
    assert not any(name.startswith("on") for element in page.elements for name in element)
    assert HOSTILE not in page.html
    assert page.all("h1")[0]["text"] == f"Run {HOSTILE}"


def test_only_the_pages_own_script_may_run_and_nothing_may_be_fetched(written):
    page = full(written)
    assert not page.all("link")
    for element in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            assert element.get(name, "#").startswith("#"), element
    assert not re.search(r"@import|url\((?!#)", page.html)
    (policy,) = (element for element in page.all("meta") if element.get("http-equiv") == "Content-Security-Policy")
    script = page.all("script")[-1]["text"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["content"] == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_ids_are_unique_and_labels_and_links_point_at_them(written):
    page = full(written)
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    assert {element["aria-labelledby"] for element in page.elements if "aria-labelledby" in element} <= set(ids)
    assert {element["href"][1:] for element in page.all("a")} <= set(ids)


def test_scores_come_with_signatures_and_slices(written):
    page = full(written)
    shown = [element["text"] for element in page.all("dd")]
    assert {"100.0", "7.39"} <= set(shown)
    signatures = [element["text"] for element in page.all("code")]
    assert len(signatures) == 4
    assert any("tok:13a" in signature for signature in signatures)
    assert [element["text"] for element in page.all("th") if element.get("scope") == "row"][:2] == ["0–4", "5–9"]


def test_the_training_text_is_described_with_advice(written):
    page = written(text_facts={"Pairs": "7"}, advice=["Find more."])
    assert page.all("dd")[0]["text"] == "7"
    assert page.all("li")[-1]["text"] == "Find more."
    assert [folded.get("open", "no") for folded in page.all("details", "folded")] == ["no"]


def test_words_that_are_confused_missing_or_unknown_lead_to_their_sentences(written):
    samples = make_samples(("x", "the cat", "the dog"), ("y", "a cat", "a dog"), ("z", "sun", "sun"))
    unknown = OovCounts(100, 1, (OovToken("z", (2,)),))
    page = written(samples=samples, unknown_source=unknown, unknown_target=OovCounts(7, 0, ()))
    buttons = [(button["data-sentences"], button["data-what"]) for button in page.all("button", "shown-in")]
    assert buttons == [
        ("0 1", "“cat” instead of “dog”"),
        ("0 1", "“dog” in the reference but not in the translation"),
        ("2", "“z”, which is not in the vocabulary"),
    ]
    notes = [element["text"] for element in page.all("p", "note")]
    assert "1 of 100 tokens of the sources are unknown (1.00 %)." in notes
    assert "None of the 7 tokens of the references is unknown." in notes


@pytest.mark.parametrize(
    ("name", "p", "score", "words"),
    [("BLEU", 0.01, 60, "better"), ("BLEU", 0.2, 60, "no clear difference"), ("TER", 0.01, 60, "worse")],
)
def test_a_difference_is_significant_if_both_tests_agree(written, name, p, score, words):
    samples = make_samples(("x", "the cat", "the dog"))
    comparison = MetricComparison(name, score, 50.0, 1.0, 1.0, 0.01, p, "signature")
    systems = [ReportedSystem(name, samples, measured(samples)) for name in ("one", "other")]
    page = written(systems=systems, comparisons=[Comparisons("/path/to/other", (comparison,))])
    assert [element["text"] for element in page.all("td", "verdict")] == [words]
    assert "against other" in [element["text"] for element in page.all("th")]


def test_slices_show_the_bleu_of_other_systems(written):
    texts = (("x", "a b c d e", "a b c d e"), ("y " * 7, "a b", "c d"), ("z " * 12, "e f", "e f"))
    samples = make_samples(*texts * 10)  # enough in each slice for a line
    page = written(systems=[ReportedSystem(name, samples, measured(samples)) for name in ("one", "other")])
    assert "BLEU of other" in [element["text"] for element in page.all("th")]
    assert len(page.all("figure", "chart")) == 2


def test_slices_of_the_same_label_have_each_its_own_bleu_of_other_systems(written):
    def system(name, hypotheses):
        samples = make_samples(*(("x", hypothesis, "a b c d e") for hypothesis in hypotheses))
        return ReportedSystem(
            name,
            samples,
            evaluate(
                hypotheses,
                ["a b c d e"] * 4,
                slicings=[by_length_groups(["a b c d e"] * 4, "reference", 2)],
            ),
        )

    right, wrong = "a b c d e", "f g h i j"
    page = written(systems=[system("one", [right] * 4), system("other", [wrong, wrong, right, right])])
    rows = [row for row in page.html.split("<tr>") if row.startswith('<th scope="row">5</th>')]
    assert [re.findall(r"<td>([\d.]+)</td>", row)[-1] for row in rows] == ["0.0", "100.0"]


def test_languages_are_named_and_marked(written):
    page = full(written)
    assert page.all("p", "languages")[0]["text"] == "English to Portuguese (Brazil)"
    assert '"languages":["en","pt-BR"]' in page.html


def test_unknown_languages_are_not_shown(written):
    page = written(samples=make_samples(("a b", "c d", None)))
    assert not page.all("p", "languages")
    assert '"languages":[null,null]' in page.html


def test_a_page_may_have_only_a_title(written):
    page = written()
    assert page.all("h1")[0]["text"] == "A run"
    assert not page.all("section")
    assert [element.get("id") for element in page.all("script")] == [None]


def test_empty_lines_and_lines_of_any_characters_are_shown(written):
    lines = ["", "   ", "a\x00b", "tab\there", "x" * 100_000, "👩‍🚀 🎉", "\u2028"]
    page = written(samples=make_samples(*((line, line, line) for line in lines)))
    (texts,) = (element["text"] for element in page.all("script") if element.get("id") == "texts")
    shown = [one["s"] for one in json.loads(texts)["sentences"]]
    assert shown == ["", "   ", "a␀b", "tab␉here", "x" * 100_000, "👩‍🚀 🎉", "\u2028"]


def test_a_folder_that_does_not_exist_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(InputError, match=re.escape(str(path))):
        write_report(path, Report(title="A run"))


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        systems = [ReportedSystem("one", make_samples(("a b", "c", "c")))]
        write_report(tmp_path / name, Report(title="A run", facts={"a": "b"}, records=records(), systems=systems))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def sentence(draw: random.Random, words: int) -> str:
    return " ".join("".join(draw.choices("abcdefghijklmno", k=draw.randint(2, 9))) for _ in range(words)) + "."


@pytest.mark.slow
def test_a_thousand_long_sentences_of_two_systems_take_less_than_three_megabytes(tmp_path):
    """25 words on a side, and weights as real ones are: most near a diagonal, the others small and all different."""
    draw, noise = random.Random(1), np.random.default_rng(1)
    systems = []
    sources, references = ([sentence(draw, 25) for _ in range(1000)] for _ in range(2))
    for name in ("one", "other"):
        samples = []
        for source, reference in zip(sources, references, strict=True):
            translation = sentence(draw, 25)
            energies = 2 * noise.standard_normal((25, 25)) - np.abs(np.subtract.outer(np.arange(25), np.arange(25)))
            weights = np.exp(energies) / np.exp(energies).sum(axis=1, keepdims=True)
            spans = raw_words(source), raw_words(translation)
            samples.append(Sample(source, translation, reference, *spans, weights))
        systems.append(ReportedSystem(name, samples))
    path = tmp_path / "report.html"
    write_report(path, Report(title="A run", systems=systems))
    assert path.stat().st_size < 3_000_000


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance and contrast ratio."""
    luminance = []
    for colour in (one, other):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(written, theme):
    style = written().all("style")[0]["text"]
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", blocks[theme]))
    grounds = [colours["paper"], colours["sheet"]]
    for ink in ("ink", "faded", "first", "good", "bad"):
        assert min(contrast(colours[ink], ground) for ground in grounds) >= 4.5, ink
    for ground in ("glow", "differs"):
        assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
    for line in ("first", "second", "third", "fourth", "edge"):  # lines and the borders of fields
        assert min(contrast(colours[line], ground) for ground in grounds) >= 3, line
