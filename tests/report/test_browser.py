"""The page in a real browser: it opens from disk, says nothing wrong, asks for nothing, and lights up the right words.

Needs Chromium or Chrome on the system, which Playwright drives; the tests are skipped without.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.slices import by_length
from dragoman.report.page import Report, ReportedSystem, write_report
from dragoman.report.samples import Sample, given_sample
from dragoman.text.words import raw_words

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `dev`)")

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
Open = Callable[..., "playwright.Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on this system: none of {', '.join(BROWSERS)} (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: playwright.Browser, tmp_path: Path) -> Iterator[Open]:
    """`show(report)`: the page, opened from disk, a script run `before`; in the end nothing must have been said on the
    console, and nothing fetched."""
    contexts, said = [], []

    def opened(report: Report, before: str = "", **settings) -> playwright.Page:
        path = tmp_path / f"{len(contexts)}.html"
        write_report(path, report)
        context = browser.new_context(**{"viewport": DESK, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if request.url != path.as_uri() else None)
        if before:
            page.add_init_script(before)
        page.goto(path.as_uri())
        if not before:
            page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def sample(source: str, translation: str, reference: str | None, weights) -> Sample:
    return Sample(source, translation, reference, raw_words(source), raw_words(translation), np.array(weights))


def house(**more) -> Report:
    """Two sentences; "rote" looks at "red" (0.9) and a little at "house" (0.1)."""
    samples = [
        sample(
            "the red 🏠 house", "das rote Haus", "das rote Haus", [[1, 0, 0, 0], [0, 0.9, 0, 0.1], [0, 0, 0.25, 0.75]]
        ),
        sample("a dog", "ein Hund läuft", "ein Hund", [[1, 0], [0, 1], [0.005, 0.005]]),
    ]
    return Report(title="A run", systems=[ReportedSystem("one", samples)], **more)


def lit(page: playwright.Page, article: int = 0) -> dict[str, float]:
    """The words of a sentence that are lit up, with how much."""
    return (
        page.locator("#list .sample")
        .nth(article)
        .evaluate(
            """sample => Object.fromEntries([...sample.querySelectorAll(".word")]
        .filter(word => word.style.getPropertyValue("--weight"))
        .map(word => [word.dataset.text, Number(word.style.getPropertyValue("--weight"))]))"""
        )
    )


def word(page: playwright.Page, text: str) -> playwright.Locator:
    return page.locator(f'#list .word[data-text="{text}"]').first


def background(locator: playwright.Locator) -> str:
    return locator.evaluate("word => getComputedStyle(word).backgroundColor")


def test_hovering_over_a_target_word_highlights_its_source_words_by_weight(show: Open) -> None:
    page = show(house())
    assert lit(page) == {}
    word(page, "rote").hover()
    assert lit(page) == {"red": 0.902, "house": 0.102}
    assert background(word(page, "red")) != background(word(page, "house")) != background(word(page, "the"))
    assert "pointed" in word(page, "rote").get_attribute("class")
    said = page.locator("#list .aligned").first.text_content()
    assert said.replace("\u2068", "").replace("\u2069", "") == "rote – red 0.90 · house 0.10"
    page.mouse.move(0, 0)
    assert lit(page) == {}


def test_hovering_over_a_source_word_highlights_its_target_words(show: Open) -> None:
    page = show(house())
    word(page, "house").hover()
    assert lit(page) == {"rote": 0.102, "Haus": 0.749}
    assert lit(page, 1) == {}


def test_a_word_without_weights_is_shown_as_not_aligned(show: Open) -> None:
    page = show(house())
    word(page, "läuft").hover()
    assert lit(page, 1) == {}
    assert "not aligned" in page.locator("#list .aligned").nth(1).text_content()


def test_below_each_word_is_the_source_word_with_the_highest_weight(show: Open) -> None:
    glosses = show(house()).locator("#list .gloss").all_text_contents()
    assert glosses == ["the", "red", "house", "a", "dog", "\u00a0"]


def test_the_keyboard_selects_words_like_the_pointer(show: Open) -> None:
    page = show(house())
    page.locator("#list .target .word").first.focus()
    page.keyboard.press("ArrowRight")
    assert lit(page) == {"red": 0.902, "house": 0.102}
    page.keyboard.press("End")
    assert set(lit(page)) == {"🏠", "house"}
    page.keyboard.press("Home")
    assert lit(page) == {"the": 1}
    assert page.evaluate("document.activeElement.dataset.text") == "das"
    page.keyboard.press("Shift+Tab")  # one stop a line: the one before is the source
    assert page.evaluate("document.activeElement.dataset.text") == "the"


def test_a_tap_selects_a_word_and_a_tap_elsewhere_clears_it(show: Open) -> None:
    page = show(house(), viewport=PHONE, has_touch=True, is_mobile=True)
    word(page, "rote").tap()
    assert lit(page) == {"red": 0.902, "house": 0.102}
    word(page, "ein").tap()
    assert lit(page) == {}
    assert lit(page, 1) == {"a": 1}


def test_a_click_shows_the_heat_map_in_grey_or_viridis_and_hovering_highlights_its_words(
    show: Open,
) -> None:
    page = show(house())
    button = page.locator("#list .below button").first
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    cells = page.locator("#list .heat-map .cell")
    fills = [(cell.get_attribute("data-weight"), cell.get_attribute("fill")) for cell in cells.all()]
    assert fills == [(str(w), f"rgb({w} {w} {w})") for w in (255, 230, 26, 64, 191)]
    page.locator("#scale").select_option("modern")
    assert cells.first.get_attribute("fill") == "rgb(253 231 37)"
    cells.nth(1).hover()
    assert lit(page) == {"red": 0.902, "house": 0.102}
    assert page.locator(".heat-map text.pointed").all_text_contents() == ["\u2068red\u2069", "\u2068rote\u2069"]
    button.click()
    assert not page.locator("#list .heat-map").first.is_visible()


def test_windows_and_centres_of_local_attention_are_drawn_at_their_places(show: Open) -> None:
    one = sample("a b c", "x", None, [[0, 0.5, 0.5]])
    one = replace(one, windows=np.array([[1.5, 0.5, 2.5]]))
    page = show(Report(title="A run", systems=[ReportedSystem("one", [one])], heat_maps_open=True))
    window, centre = page.locator(".heat-map .window"), page.locator(".heat-map .centre")
    cell = page.locator(".heat-map .cell").first  # of b, column 1
    left = float(cell.get_attribute("x"))
    assert (float(window.get_attribute("x")), float(window.get_attribute("width"))) == (left, 2 * 22)
    assert float(centre.get_attribute("cx")) == left + 22
    caption = page.locator("#list figcaption").text_content()
    assert caption == "Frame: the attention window of each row. Dot: its centre p_t."


def test_a_source_from_right_to_left_has_its_first_word_at_the_right(show: Open) -> None:
    one = sample("مرحبا بكم", "hello you", None, [[1, 0], [0, 0.5]])
    page = show(Report(title="A run", systems=[ReportedSystem("one", [one])], heat_maps_open=True))
    first, second = (float(cell.get_attribute("x")) for cell in page.locator(".heat-map .cell").all())
    assert first == second + 22
    words = page.locator("#list .source .word")
    assert words.nth(0).bounding_box()["x"] > words.nth(1).bounding_box()["x"]
    words.nth(0).focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.text") == "بكم"


def test_differences_of_two_systems_are_marked_side_by_side(show: Open) -> None:
    texts = [("a big dog", "ein großer Hund"), ("a cat", "eine Katze")]
    others = ["ein kleiner Hund", "eine Katze"]
    systems = [
        ReportedSystem("one", [given_sample(source, text, text) for source, text in texts]),
        ReportedSystem(
            "other", [given_sample(source, other, text) for (source, text), other in zip(texts, others, strict=True)]
        ),
    ]
    page = show(Report(title="A run", systems=systems))
    assert page.locator("#list .differs").all_text_contents() == ["großer", "kleiner"]
    boxes = [line.bounding_box() for line in page.locator("#list .sample").first.locator(".target").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    page.locator("#order").select_option(label="better than other first")
    assert page.locator("#list .source").first.text_content() == "a big dog"


def test_without_weights_no_word_can_be_selected(show: Open) -> None:
    page = show(Report(title="A run", systems=[ReportedSystem("one", [given_sample("a b", "c d", "c d")])]))
    assert page.locator("#list .target").text_content() == "c d"
    assert page.locator("#list button, .gloss, [tabindex]").count() == 0
    assert not page.locator(".pointing").is_visible()


@cache
def many() -> Report:
    count = 50
    samples = [
        sample(f"s{n} x", f"t{n} {'cat' if n in (3, 4) else 'dog'}", f"t{n} dog" if n != 7 else "zzz", np.eye(2))
        for n in range(count)
    ]
    lengths = [" ".join("a" * (1 + n // 3)) for n in range(count)]
    evaluation = evaluate(
        [one.translation for one in samples],
        [one.reference for one in samples],
        slicings=[by_length(lengths, "source")],
    )
    records = [{"kind": "train", "update": n, "seconds": n, "loss": 9 / n, "perplexity": 9 / n} for n in (1, 2, 3)]
    return Report(title="A run", systems=[ReportedSystem("one", samples, evaluation)], records=records)


def test_a_long_list_is_shown_in_pages_ordered_and_searched(show: Open) -> None:
    page = show(many())
    articles, sources = page.locator("#list .sample"), page.locator("#list .source")
    previous, place, following = page.locator("#previous"), page.locator("#place"), page.locator("#next")
    assert (articles.count(), place.text_content()) == (20, "1–20 of 50")
    assert previous.is_disabled()
    following.click()
    assert (articles.count(), place.text_content()) == (20, "21–40 of 50")
    assert sources.first.text_content() == "s20 x"
    following.click()
    assert (articles.count(), place.text_content()) == (10, "41–50 of 50")
    assert following.is_disabled()
    previous.click()
    assert place.text_content() == "21–40 of 50"
    page.locator("#order").select_option(label="worst first")
    assert place.text_content() == "1–20 of 50"
    assert page.locator("#list .source").first.text_content() == "s7 x"
    page.locator("#find").fill("T41")
    assert page.locator("#list .source").all_text_contents() == ["s41 x"]
    assert not page.locator("#pager").is_visible()
    page.locator("#all").click()
    assert page.locator("#found").text_content() == "50 sentences"


def test_the_worst_and_the_best_sentences_are_shown_first(show: Open) -> None:
    page = show(many())
    assert page.locator("#worst .source").first.text_content() == "s7 x"
    assert "chrF 100" in page.locator("#best .label").nth(1).text_content()


def test_a_confusion_leads_to_its_sentences(show: Open) -> None:
    page = show(many())
    page.get_by_role("button", name="show the sentences: “cat” instead of “dog”").click()
    assert page.locator("#list .source").all_text_contents() == ["s3 x", "s4 x"]
    assert page.locator("#found").text_content() == "2 sentences: “cat” instead of “dog”"


def test_a_chart_shows_values_on_hover_and_by_arrow_keys(show: Open) -> None:
    page = show(many())
    chart = page.locator(".chart").first
    chart.locator(".column rect").nth(1).hover()
    assert chart.locator("output").text_content() == "updates 2 · training 4.50"
    chart.locator("svg").focus()
    page.keyboard.press("End")
    assert chart.locator("output").text_content() == "updates 3 · training 3.00"
    page.keyboard.press("ArrowLeft")
    assert chart.locator("output").text_content() == "updates 2 · training 4.50"
    assert chart.locator(".column.pointed circle").evaluate("dot => getComputedStyle(dot).opacity") == "1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_follows_the_theme(show: Open, scheme: str) -> None:
    page = show(many(), viewport=PHONE, color_scheme=scheme)
    page.locator("#list .below button").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shade == {"light": "rgb(251, 250, 247)", "dark": "rgb(23, 25, 29)"}[scheme]


def test_every_control_has_a_name_and_headings_skip_no_level(show: Open) -> None:
    page = show(many())
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, select, input, svg[role=img], [role=group], nav")].filter(
        one => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.closest("label")
        || one.textContent.trim())).length"""
    )
    assert nameless == 0
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_a_browser_that_is_too_old_gets_a_message(show: Open) -> None:
    page = show(house(), before="delete window.DecompressionStream")
    assert page.locator("#found").text_content().startswith("This browser is too old to decompress the sentences")
