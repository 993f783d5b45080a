"""The page of `dragoman serve` in a real browser, on a real server: what people do on it, and what may go wrong.

Needs Chromium or Chrome on the system, which Playwright drives; the tests are skipped without. Whatever a test does, no
request may leave the server, and nothing may be written on the console, as violations of the security policy are.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.page.files import page_files
from tests.end_to_end.server_process import Server, end_server, start_server
from tests.web import open_browser, watched_pages

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `dev`)")
expect = playwright.expect

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
LIMIT = 300
"""Characters that the server takes."""
Open = Callable[..., "playwright.Page"]


@pytest.fixture(scope="module")
def server(light: Path) -> Iterator[Server]:
    server = start_server(f"de:en={light}", f"en:de={light}", f"he:en={light}", "--max-characters", str(LIMIT))
    yield server
    assert end_server(server) == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with open_browser() as opened:
        expect.set_options(timeout=30_000)
        yield opened


@pytest.fixture
def show(browser: playwright.Browser, server: Server) -> Iterator[Open]:
    """`show()`: the page, ready for text, from German into English."""
    german = 'localStorage.setItem("dragoman.pair", JSON.stringify(["de", "en"]))'
    with watched_pages(browser) as opened:
        yield lambda **settings: opened(server.url, prepare=lambda page: page.add_init_script(german), **settings)


def write(page: playwright.Page, text: str, translation: str | None = None) -> None:
    page.fill("#source", text)
    if translation is not None:
        expect(page.locator("#target")).to_have_text(translation)
    expect(page.locator("#target")).not_to_have_class(re.compile("stale"))


def words(page: playwright.Page) -> playwright.Locator:
    return page.locator("#target .word")


def lit(page: playwright.Page) -> list[str]:
    """The counterparts that are lit up."""
    return page.locator(".lit").all_text_contents()


def source_word(page: playwright.Page, number: int) -> tuple[float, float]:
    """The middle of a word of the source."""
    box = page.locator("#mirror .word").nth(number).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def answer_with(page: playwright.Page, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the server answers to /v1/translate."""

    def answer(route: playwright.Route) -> None:
        response = route.fetch()
        found = response.json()
        change(found)
        route.fulfill(response=response, json=found)

    page.route("**/v1/translate", answer)


def crafted(
    text: str, translation: str, segments: tuple[list[str], list[str]], links: list[list[int]]
) -> dict[str, Any]:
    """A result whose two sides are one sentence each; `segments` are cut from the two texts."""

    def spans(whole: str, parts: list[str]) -> list[list[int]]:
        places, place = [], 0
        for part in parts:
            place = whole.index(part, place)
            places.append([place, place + len(part)])
            place += len(part)
        return places

    def raw(whole: str) -> list[list[int]]:
        return [list(found.span()) for found in re.finditer(r"\S+", whole)]

    source, target = segments
    one = {
        "text": translation, "score": -0.1, "log_probability": -0.1, "finished": True, "segments": target,
        "segment_spans": spans(translation, target), "segment_log_probabilities": [0.0] * (len(target) + 1),
        "segment_alignment": links, "words": raw(translation), "alignment": links,
    }  # fmt: skip
    sentence = {
        "source_span": [0, len(text)], "words": raw(text), "segments": source, "segment_spans": spans(text, source),
        "translations": [one],
    }  # fmt: skip
    return {"text": translation, "source": "de", "target": "en", "sentences": [sentence]}


def test_a_text_is_translated_while_one_types(show: Open) -> None:
    page = show()
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request.post_data_json) if request.method == "POST" else None)
    page.clock.install(time=datetime(2026, 1, 1, 8))
    page.clock.pause_at(datetime(2026, 1, 1, 9))
    for typed, translation in (("ab c", "AB C"), ("\n\ncab", "AB C\n\nCAB")):
        before = len(requests)
        page.locator("#source").press_sequentially(typed)
        assert len(requests) == before
        page.clock.fast_forward(300)  # the pause after the last key
        expect(page.locator("#target")).to_have_text(translation)
    page.clock.fast_forward(2000)
    assert [request["text"] for request in requests] == [["ab c"], ["cab"]]  # the first line is known
    expect(page.locator("#count")).to_have_text(f"9 / {LIMIT}")
    expect(page.locator("#announcement")).to_have_text("Translation: AB C\n\nCAB")
    page.click("#clear")
    expect(page.locator("#target")).to_have_text("")
    assert page.evaluate("() => document.activeElement.id") == "source"


def test_a_later_text_takes_the_place_of_an_earlier_request(show: Open, server: Server) -> None:
    page = show()
    aborted: list[str] = []
    page.on("requestfailed", lambda request: aborted.append(request.failure))
    server.process.send_signal(signal.SIGSTOP)
    try:
        with page.expect_request("**/v1/translate"):
            page.fill("#source", "ab")
        expect(page.locator("#progress")).to_have_text("Translating …")
        with page.expect_request("**/v1/translate"):
            page.fill("#source", "cab")
    finally:
        server.process.send_signal(signal.SIGCONT)
    expect(page.locator("#target")).to_have_text("CAB")
    expect(page.locator("#progress")).to_be_hidden()
    assert aborted == ["net::ERR_ABORTED"]


def test_pointing_at_a_word_lights_up_its_counterpart(show: Open) -> None:
    page = show()
    write(page, "ab c\nfed", "AB C\nFED")
    words(page).nth(1).hover()
    assert lit(page) == ["c"]
    expect(page.locator("#detail")).to_contain_text("c")
    page.mouse.move(*source_word(page, 0))
    assert lit(page) == ["AB"]
    page.mouse.move(*source_word(page, 2))
    assert lit(page) == ["FED"]
    page.mouse.move(5, 5)
    assert lit(page) == []
    page.focus("#source")  # the caret points, too
    page.keyboard.press("Control+Home")
    expect(page.locator(".lit")).to_have_text("AB")
    page.keyboard.press("Control+End")
    expect(page.locator(".lit")).to_have_text("FED")
    words(page).first.focus()
    assert lit(page) == ["ab"]
    for key, expected in (("ArrowRight", "c"), ("End", "fed"), ("ArrowLeft", "c"), ("Home", "ab")):
        page.keyboard.press(key)
        assert lit(page) == [expected], key
    assert page.locator('#target [tabindex="0"]').count() == 1


def test_a_tap_points_and_opens_the_dialog(show: Open) -> None:
    page = show(viewport=PHONE, has_touch=True, is_mobile=True)
    write(page, "ab c", "AB C")
    words(page).nth(1).tap()
    expect(page.locator("#word-dialog")).to_be_visible()
    assert lit(page) == ["c"]
    expect(page.locator("#word-options li").first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    page.tap("#word-close")
    x, y = source_word(page, 0)
    page.touchscreen.tap(x, y)
    expect(page.locator(".lit")).to_have_text("AB")


def test_an_alternative_can_be_shown_and_taken_back(show: Open) -> None:
    page = show()
    write(page, "ab c", "AB C")
    others = page.locator("#alternatives button")
    expect(others).to_have_count(3)
    texts = others.all_text_contents()
    assert "AB C" not in texts
    others.nth(1).click()
    expect(page.locator("#target")).to_have_text(texts[1])
    expect(others.first).to_have_text("AB C")
    page.click("#undo")
    expect(page.locator("#target")).to_have_text("AB C")
    expect(page.locator("#undo")).to_be_hidden()


def test_a_word_can_be_replaced_and_the_rest_is_completed(show: Open) -> None:
    page = show()
    write(page, "ab c\nfed", "AB C\nFED")
    words(page).nth(0).click()
    options = page.locator("#word-options li")
    expect(options.first).to_have_text("AB")
    second = options.nth(1).text_content()
    assert second not in (None, "AB")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator('#word-options [aria-selected="true"]').text_content() == second
    page.keyboard.press("Enter")
    expect(words(page).first).to_have_text(second)
    expect(page.locator("#word-dialog")).to_be_hidden()
    expect(words(page).last).to_have_text("FED")  # the other sentence stays
    expect(words(page).first).to_be_focused()
    assert "chosen" in words(page).first.get_attribute("class")
    page.keyboard.press("D")  # typing over it
    field = page.locator("#word-field")
    expect(field).to_have_value("D")
    field.fill("DA")
    expect(options.first).to_contain_text(re.compile("^DA"))
    page.keyboard.press("Enter")
    expect(words(page).first).to_have_text("DA")
    assert words(page).count() >= 2
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(words(page).first).to_be_focused()
    page.fill("#source", "ab c\nde")  # the choice lasts while its sentence does
    expect(words(page).last).to_have_text("DE")
    expect(words(page).first).to_have_text("DA")


def test_constraints_and_bans_come_from_the_menu_of_a_word(show: Open) -> None:
    page = show()
    write(page, "ab c", "AB C")
    words(page).nth(0).click(button="right")
    items = page.locator("#word-menu li")
    assert items.all_text_contents() == ["Keep “AB” in this sentence", "Never write “AB”", "Other words"]
    items.nth(1).click()
    chips = page.locator("#constraints li")
    expect(chips).to_have_text(["never: AB×"])
    expect(page.locator("#target")).not_to_contain_text("AB")
    page.click('#constraints button[aria-label="Remove: never: AB"]')
    expect(page.locator("#target")).to_have_text("AB C")
    page.fill("#source", "abc")
    expect(page.locator("#target")).to_have_text("ABC")
    words(page).first.focus()
    page.keyboard.press("ContextMenu")
    expect(items.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(chips).to_have_text(["always: ABC×"])
    expect(page.locator("#target")).to_contain_text("ABC")
    expect(words(page).first).to_be_focused()


def test_a_ban_takes_back_what_was_chosen(show: Open) -> None:
    page = show()
    write(page, "ab c", "AB C")
    words(page).first.click()
    page.locator("#word-field").fill("DA")
    page.keyboard.press("Enter")
    expect(words(page).first).to_have_text("DA")
    words(page).first.click(button="right")
    page.locator("#word-menu li").nth(1).click()
    expect(page.locator("#constraints li")).to_have_text(["never: DA×"])
    expect(page.locator("#target")).to_have_text("AB C")
    page.click("#undo")
    expect(words(page).first).to_have_text("DA")
    expect(page.locator("#constraints")).to_be_hidden()
    write(page, "fed", "FED")
    words(page).first.click(button="right")
    page.locator("#word-menu li").nth(1).click()
    expect(page.locator("#target")).not_to_contain_text("FED")
    page.locator("#alternatives button").first.click()
    page.click("#constraints button")
    expect(page.locator("#target")).to_have_text("FED")  # not the second of the new list


def test_the_source_language_is_detected(show: Open) -> None:
    page = show()
    page.select_option("#source-language", "auto")
    assert page.is_disabled("#swap")
    write(page, "Das ist ein deutscher Satz.\nUnd das ist noch einer.")
    expect(page.locator("#source-language option").first).to_have_text("Detected: German")
    assert page.locator("#target .sentence").count() == 2
    page.locator("#target .sentence").nth(1).locator(".word").first.focus()
    expect(page.locator("#target .active")).to_have_text(page.locator("#target .sentence").nth(1).text_content())
    page.click("#swap")
    assert (page.input_value("#source-language"), page.input_value("#target-language")) == ("en", "de")


def test_a_choice_that_is_refused_is_taken_back(show: Open) -> None:
    page = show(expected="Failed to load resource")
    write(page, "ab c", "AB C")

    def refuse(route: playwright.Route) -> None:
        banned = "ban" in route.request.post_data_json
        if banned:
            route.fulfill(status=400, json={"detail": "Invalid request: banned word 'AB'"})
        else:
            route.continue_()

    page.route("**/v1/translate", refuse)
    words(page).nth(0).click(button="right")
    page.locator("#word-menu li").nth(1).click()
    expect(page.locator("#problem")).to_have_text("Invalid request: banned word 'AB'")
    expect(page.locator("#target")).to_have_text("AB C")
    expect(page.locator("#constraints")).to_be_hidden()
    page.fill("#source", "ab")
    expect(page.locator("#target")).to_have_text("AB")
    expect(page.locator("#problem")).to_be_hidden()


def test_uncertain_words_are_tinted_and_explained(show: Open) -> None:
    page = show()

    def make_uncertain(found: dict[str, Any]) -> None:
        for result in found["results"]:
            for one in result["sentences"][0]["translations"]:
                one["segment_log_probabilities"] = [-1.2 if part == "C" else -0.1 for part in one["segments"]] + [0.0]

    answer_with(page, make_uncertain)
    write(page, "ab c", "AB C")
    expect(page.locator("#target .uncertain")).to_have_text("C")
    expect(page.locator("#certainty")).to_contain_text("a probability below 50%")
    words(page).nth(1).hover()
    expect(page.locator("#detail")).to_contain_text("probability 27%")  # exp(-1.2 - 0.1): the space counts
    write(page, "ab", "AB")
    expect(page.locator("#target .uncertain")).to_have_count(0)
    expect(page.locator("#certainty")).to_have_text("No word of this translation is uncertain.")


def test_a_translation_that_is_in_doubt_has_one_sentence_that_says_why(show: Open) -> None:
    page = show()

    def doubt(found: dict[str, Any]) -> None:
        for result in found["results"]:
            for one in result["sentences"][0]["translations"]:
                one["segment_log_probabilities"] = [0.0] * (len(one["segments"]) + 1)
                one |= {"confidence": 0.2, "doubt": "unknown words"} if "C" in one["text"] else {"confidence": 0.9}

    answer_with(page, doubt)
    write(page, "ab c", "AB C")
    expect(page.locator("#certainty")).to_have_text(
        "Do not trust this translation: the source has words that the model hardly knows."
    )
    write(page, "ab", "AB")
    expect(page.locator("#certainty")).to_have_text("No word of this translation is uncertain.")


def test_the_page_says_which_sentences_are_from_the_memory(show: Open) -> None:
    page = show()

    def remember(found: dict[str, Any]) -> None:
        for result in found["results"]:
            for sentence in result["sentences"]:
                for one in sentence["translations"]:
                    known = one["text"] == "AB"
                    values = {"segment_log_probabilities": [0.0] * (len(one["segments"]) + 1), "confidence": 0.9}
                    one |= {"from_memory": known, "doubt": None} | ({} if known else values)

    answer_with(page, remember)
    write(page, "ab", "AB")
    expect(page.locator("#certainty")).to_have_text("This translation is from the memory.")
    write(page, "ab\nab c", "AB\nAB C")
    expect(page.locator("#certainty")).to_contain_text("Some of the sentences are from the memory.")


def test_the_page_says_how_a_mistyped_word_was_read(show: Open) -> None:
    page = show()

    def mistyped(found: dict[str, Any]) -> None:
        for result in found["results"]:
            result["sentences"][0]["typing_errors"] = [{"start": 3, "end": 4, "read_as": "d"}]

    answer_with(page, mistyped)
    write(page, "ab c", "AB C")
    expect(page.locator("#certainty")).to_contain_text("“\u2068c\u2069” was read as “\u2068d\u2069”.")


def test_right_to_left_text_runs_and_is_walked_from_right_to_left(show: Open) -> None:
    page = show()
    text = "שלום עולם"
    page.select_option("#source-language", "he")
    with page.expect_response("**/v1/translate"):
        page.fill("#source", text)
    expect(words(page).first).to_be_visible()
    for name in ("#source", "#mirror"):
        assert page.locator(name).get_attribute("dir") == "rtl"
    boxes = [page.locator("#mirror .word").nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0]["x"] > boxes[1]["x"]
    page.mouse.move(*source_word(page, 1))
    assert page.locator("#mirror .pointed").text_content() == "עולם"
    segments = (["ab", "cd"], ["שלום", "עולם"])
    answer_with(page, lambda found: found.update(results=[crafted("ab cd", text, segments, [[0, 0], [1, 1]])]))
    write(page, "ab cd", text)
    assert page.locator("#target").get_attribute("dir") == "rtl"
    words(page).first.focus()
    page.keyboard.press("ArrowLeft")
    assert lit(page) == ["cd"]
    page.set_viewport_size(PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]


def test_text_without_spaces_is_pointed_at_by_segments(show: Open) -> None:
    page = show()
    source, target = "😀我爱你。", "I love you."
    segments = (["😀", "我", "爱你", "。"], ["I", "love", "you", "."])
    answer_with(
        page, lambda found: found.update(results=[crafted(source, target, segments, [[1, 0], [2, 1], [2, 2], [3, 3]])])
    )
    write(page, source, target)
    assert page.locator("#mirror .word").all_text_contents() == ["😀", "我", "爱你", "。"]
    page.mouse.move(*source_word(page, 2))
    assert lit(page) == ["love", "you."]
    words(page).nth(0).hover()
    assert lit(page) == ["我"]


MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>&lt;b&gt;"


def test_markup_is_text_everywhere(show: Open) -> None:
    page = show(expected="Failed to load resource")
    answer_with(
        page,
        lambda found: found.update(results=[crafted(MARKUP, MARKUP, ([MARKUP], [MARKUP]), [[0, 0], [1, 1], [2, 2]])]),
    )
    write(page, MARKUP, MARKUP)
    expect(page.locator("#detail")).to_have_text("")
    words(page).first.hover()
    expect(page.locator("#detail")).to_contain_text("<img")
    page.unroute("**/v1/translate")
    completion = {"word": MARKUP, "text": MARKUP, "score": -1, "log_probability": -1}
    page.route(
        "**/v1/complete",
        lambda route: route.fulfill(json={"source": "de", "target": "en", "completions": [completion]}),
    )
    words(page).first.click()
    expect(page.locator("#word-options li")).to_contain_text("<img")
    page.keyboard.press("Escape")
    page.route("**/v1/translate", lambda route: route.fulfill(status=400, json={"detail": MARKUP}))
    page.fill("#source", f"{MARKUP} ab")
    expect(page.locator("#problem")).to_contain_text("<img")
    assert page.locator("img:not(header img)").count() == page.locator("body script").count() == 0


def test_a_server_that_is_gone_is_tried_again(show: Open) -> None:
    page = show(expected="Failed to load resource")
    write(page, "ab", "AB")
    page.clock.install()
    page.route("**/v1/translate", lambda route: route.abort("connectionrefused"))
    page.fill("#source", "ab c")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("cannot be reached. Your text is kept")
    assert page.input_value("#source") == "ab c"
    page.unroute("**/v1/translate")
    page.clock.fast_forward(3000)
    expect(page.locator("#target")).to_have_text("AB C")
    expect(problem).to_be_hidden()
    busy = {"status": 503, "headers": {"Retry-After": "7"}, "json": {"detail": "The server is busy; try again later"}}
    page.route("**/v1/translate", lambda route: route.fulfill(**busy))
    page.fill("#source", "fed")
    expect(problem).to_contain_text("The next attempt is in 7 s")
    page.unroute("**/v1/translate")
    page.click("#problem button")
    expect(page.locator("#target")).to_have_text("FED")


def test_a_slow_server_is_waited_for(show: Open, server: Server) -> None:
    page = show()
    page.clock.install()
    server.process.send_signal(signal.SIGSTOP)
    try:
        with page.expect_request("**/v1/translate"):
            page.fill("#source", "de f")
            page.clock.fast_forward(300)
        page.clock.fast_forward(9000)
        expect(page.locator("#progress")).to_have_text("The translator is slow; please wait.")
    finally:
        server.process.send_signal(signal.SIGCONT)
    expect(page.locator("#target")).to_have_text("DE F")
    expect(page.locator("#progress")).to_be_hidden()


def test_of_a_very_long_text_the_beginning_is_translated(show: Open) -> None:
    page = show()
    text = "ab\n" * 100 + "c" * 100_000
    page.fill("#source", text)
    expect(page.locator("#problem")).to_contain_text(f"Only the first {LIMIT - 1} of 100,300 characters")
    expect(page.locator("#target")).to_have_text("\n".join(["AB"] * 100))
    expect(page.locator("#count")).to_have_class(re.compile("over"))
    assert page.evaluate("() => document.querySelector('#source').value.length") == len(text)
    page.fill("#source", "ab")
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#target")).to_have_text("AB")


def test_files_are_read_or_translated(show: Open, tmp_path: Path) -> None:
    page = show()
    files = {"text.txt": b"ab\nc", "page.html": b"<p>ab <b>c</b></p>", "other.txt": b"\xff\xfe", "some.pdf": b"%PDF"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    page.set_input_files("#file", tmp_path / "text.txt")
    expect(page.locator("#target")).to_have_text("AB\nC")
    page.set_input_files("#file", tmp_path / "other.txt")
    told = "other.txt is not a text in UTF-8. If it is text, save it again as UTF-8 in an editor."
    expect(page.locator("#problem")).to_have_text(told)
    page.set_input_files("#file", tmp_path / "some.pdf")
    expect(page.locator("#problem")).to_contain_text("some.pdf: this kind of file cannot be translated")
    page.set_input_files("#file", tmp_path / "page.html")
    expect(page.locator("#download")).to_be_visible()
    with page.expect_download() as download:
        page.click("#download")
    assert Path(download.value.path()).read_bytes() == b"<p>AB <b>C</b></p>"
    transfer = page.evaluate_handle(
        """() => {
          const all = new DataTransfer();
          all.items.add(new File(["fed"], "x.txt", { type: "text/plain" }));
          return all;
        }"""
    )
    page.dispatch_event("#source-pane", "drop", {"dataTransfer": transfer})
    expect(page.locator("#target")).to_have_text("FED")


def test_heat_map_copy_and_swap(show: Open) -> None:
    page = show(permissions=["clipboard-read", "clipboard-write"])
    write(page, "ab c", "AB C")
    page.click("#show-map")
    rows = page.locator("#map tbody tr")
    expect(rows.first).to_be_visible()
    assert rows.locator("th").all_text_contents()[:2] == ["A", "B"]
    assert page.locator("#map thead th").all_text_contents()[:2] == ["a", "b"]
    weights = rows.first.locator("td").all_text_contents()
    assert sum(map(float, weights)) == pytest.approx(1, abs=0.1)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "AB C"
    page.click("#swap")
    assert page.input_value("#source") == "AB C"
    assert (page.input_value("#source-language"), page.input_value("#target-language")) == ("en", "de")


def test_the_history_stays_in_the_browser(show: Open) -> None:
    page = show()
    write(page, "ab", "AB")
    expect(page.locator("#announcement")).to_have_text("Translation: AB")
    write(page, "ab c", "AB C")  # goes on with the same text
    expect(page.locator("#announcement")).to_have_text("Translation: AB C")
    page.click("#clear")
    write(page, "fed", "FED")
    expect(page.locator("#announcement")).to_have_text("Translation: FED")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.click("#open-history")
    entries = page.locator("#history-list li")
    expect(entries).to_have_count(2)
    assert sent == []
    entries.nth(1).locator("button").first.click()
    expect(page.locator("#target")).to_have_text("AB C")
    page.click("#open-history")
    page.click("#clear-history")
    expect(entries).to_have_count(0)
    page.uncheck("#keep-history")
    page.click("#close-history")
    write(page, "cab", "CAB")
    expect(page.locator("#announcement")).to_have_text("Translation: CAB")
    assert page.evaluate("() => localStorage.getItem('dragoman.history')") is None


def test_the_page_speaks_three_languages(show: Open) -> None:
    page = show(locale="de-AT")
    assert page.locator("html").get_attribute("lang") == "de"
    expect(page.locator("#copy")).to_have_text("Kopieren")
    expect(page.locator("#source-language option")).to_have_text(
        ["Sprache erkennen", "Deutsch", "Englisch", "Hebräisch"]
    )
    write(page, "ab", "AB")
    page.select_option("#page-language", "ko")
    expect(page.locator("#copy")).to_have_text("복사")
    expect(page.locator("#certainty")).not_to_be_empty()
    expect(page.locator("#target")).to_have_text("AB")
    names = page.evaluate(
        """async () => {
          const found = await Promise.all(["en", "de", "ko"].map((code) => import(`/messages_${code}.js`)));
          const texts = found.map((module) => Object.entries(Object.values(module)[0]));
          return texts.map((all) => all.map(([name, text]) => [name, typeof text, text.length]));
        }"""
    )
    kinds = [[(name, kind, size if kind == "function" else None) for name, kind, size in one] for one in names]
    assert kinds[0] == kinds[1] == kinds[2]
    assert len(kinds[0]) > 50
    used = set(re.findall(r'(?:message\(|data-(?:text|label|placeholder)=)"(\w+)"', "".join(
        content.decode() for name, content in page_files().items() if name.endswith((".js", ".html"))
    )))  # fmt: skip
    assert used <= {name for name, *_ in kinds[0]}


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESK), ("dark", PHONE)])
def test_axe_finds_nothing_to_object_to(show: Open, scheme: str, viewport: dict[str, int]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra `dev`)")
    page = show(color_scheme=scheme, viewport=viewport, bypass_csp=True)  # axe itself needs what the policy forbids

    def check() -> None:
        page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))")
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()

    def doubtful(found: dict[str, Any]) -> None:
        for one in found["results"][0]["sentences"][0]["translations"]:
            one["segment_log_probabilities"] = [-9.0, *one["segment_log_probabilities"][1:]]

    answer_with(page, doubtful)
    write(page, "ab c", "AB C")
    page.click("#show-map")
    expect(page.locator("#map table")).to_be_visible()
    words(page).nth(0).click()
    expect(page.locator("#word-options li").first).to_be_visible()
    check()
    page.keyboard.press("Escape")
    words(page).nth(1).click(button="right")
    check()
    page.locator("#word-menu li").nth(1).click()
    expect(page.locator("#constraints li")).to_have_count(1)
    entry = {"time": 1, "source": "de", "target": "en", "text": "ab", "translation": "AB"}
    page.evaluate("entry => localStorage.setItem('dragoman.history', JSON.stringify([entry]))", entry)
    page.click("#open-history")
    expect(page.locator("#history-list li")).to_have_count(1)
    check()


def test_a_key_is_asked_for(show: Open) -> None:
    page = show(expected="Failed to load resource", ready=False)
    keys: list[str | None] = []

    def answer(route: playwright.Route) -> None:
        keys.append(route.request.headers.get("authorization"))
        if keys[-1] == "Bearer secret":
            route.continue_()
        else:
            route.fulfill(status=403, json={"detail": "Invalid API key"})

    page.route("**/v1/translate", answer)
    page.locator("body[data-ready]").wait_for()
    page.fill("#source", "ab")
    expect(page.locator("#problem")).to_have_text("This translator needs an API key.")
    page.fill("#key", "secret")
    page.keyboard.press("Enter")
    expect(page.locator("#target")).to_have_text("AB")
    expect(page.locator("#key-form")).to_be_hidden()
    assert keys == [None, "Bearer secret"]
