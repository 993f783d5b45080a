"""The desk of `dragoman serve` in a real browser, on a real server: a document is translated there from end to end.

Needs Chromium or Chrome on the system, which Playwright drives; the tests are skipped without. Whatever a test does, no
request may leave the server, and nothing may be written on the console, as violations of the security policy are.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.end_to_end.server_process import Server, end_server, start_server
from tests.web import open_browser, watched_pages

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `dev`)")
expect = playwright.expect

SCREEN, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
PAGE_OF = '<title>{}</title><p class="x">{}</p><p>{}</p><p>{}</p>'
PAGE = PAGE_OF.format("ab c", "fed", "ab c", "cab <b>de</b>")
TEXT = "ab c\nfed\nab c\ncab de\n"
Open = Callable[..., "playwright.Page"]


@pytest.fixture(scope="module")
def server(light: Path) -> Iterator[Server]:
    server = start_server(f"de:en={light}")
    yield server
    assert end_server(server) == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with open_browser() as opened:
        expect.set_options(timeout=30_000)
        yield opened


@pytest.fixture
def show(browser: playwright.Browser, server: Server) -> Iterator[Open]:
    """`show()`: the desk, ready for a document, from German into English."""
    with watched_pages(browser) as opened:
        yield lambda *, at=server.url, **settings: opened(f"{at}/desk.html", **settings)


def begin(page: playwright.Page, text: str = TEXT) -> None:
    """Begin with a text, and wait until all of it is translated."""
    page.fill("#pasted", text)
    page.click("#begin")
    translated(page)


def translated(page: playwright.Page) -> None:
    expect(page.locator("#desk")).to_be_visible()
    expect(page.locator(".row .origin", has_text="…")).to_have_count(0)


def targets(page: playwright.Page) -> list[str]:
    """The targets of all rows; that of the active one is in the field."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".row-target")].map(
             (cell) => cell.querySelector("textarea")?.value ?? cell.textContent)"""
    )
    return found


def active(page: playwright.Page) -> int:
    """The number of the row that is worked on."""
    return int(page.locator(".row[aria-current] .number").text_content())


def finished(page: playwright.Page, form: str) -> tuple[str, str]:
    """The name and the content of the document, finished in a form."""
    page.click("#finish")
    with page.expect_download() as download:
        page.click(f'[data-form="{form}"]')
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def test_a_document_is_translated_from_end_to_end(show: Open, tmp_path: Path) -> None:
    page = show()
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    page.set_input_files("#file", tmp_path / "page.html")
    translated(page)
    assert targets(page) == ["AB C", "FED", "AB C", "CAB DE"]
    field = page.locator("#target-field")
    expect(field).to_be_focused()
    expect(page.locator("#undo")).to_be_disabled()

    # Typing: the model offers the rest, and Tab takes it.
    field.press("Control+a")
    field.press_sequentially("DA")
    rest = page.locator("#offers .rest")
    expect(rest).to_contain_text("Tab")
    offered = f"DA{rest.locator('bdi').text_content()}"
    page.keyboard.press("Tab")
    expect(field).to_have_value(offered)
    expect(field).to_be_focused()

    # Confirming fills the repetition, and goes on.
    page.keyboard.press("Control+Enter")
    assert active(page) == 2
    assert targets(page)[2] == offered
    expect(page.locator(".row").nth(2).locator(".origin")).to_have_text("repetition")
    expect(page.locator("#confirmed-text")).to_have_text("29% · 1 of 4 segments · 2 of 7 words")

    # A click on a word offers others.
    page.locator(".row-target").nth(3).click(position={"x": 5, "y": 10})
    assert active(page) == 4
    other = page.locator("#offers button").first
    word = other.text_content()
    assert word.strip() not in ("", "CAB")
    other.click()
    expect(field).to_have_value(re.compile(f"^{re.escape(word)}"))
    changed = field.input_value()

    # Undo takes back one thing after the other; redo takes them again.
    page.keyboard.press("Control+z")
    assert targets(page)[3] == "CAB DE"
    page.keyboard.press("Control+z")  # the confirmation with its repetition
    assert targets(page)[2] == "AB C"
    expect(page.locator(".row.confirmed")).to_have_count(0)
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("Control+y")
    assert targets(page) == [offered, "FED", offered, changed]

    # A reload loses nothing.
    page.reload()
    page.locator("body[data-ready]").wait_for()
    assert targets(page) == [offered, "FED", offered, changed]
    assert active(page) == 4
    expect(page.locator(".row.confirmed")).to_have_count(1)

    for _ in range(3):
        page.locator("#target-field").press("Control+Enter")
    expect(page.locator("#announcement")).to_have_text("All segments are confirmed.")
    expect(page.locator("#confirmed-text")).to_have_text("100% · 4 of 4 segments · 7 of 7 words")
    name, content = finished(page, "document")
    assert name == "page_en.html"
    assert re.sub("</?b>", "", content) == PAGE_OF.format(offered, "FED", offered, changed)
    assert "<b>" in content

    page.click("#leave")
    page.click("#leave-now")
    expect(page.locator("#opening")).to_be_visible()
    page.reload()
    expect(page.locator("#opening")).to_be_visible()


def test_terms_and_items_are_marked_and_missing_ones_told(show: Open) -> None:
    page = show()
    begin(page, "ab c 27\nfed {x}\ncab")
    assert page.locator("mark.item").all_text_contents() == ["27", "{x}"]
    field = page.locator("#target-field")
    field.fill("AB C 2.7")
    expect(page.locator(".row").first.locator(".missing")).to_have_count(0)  # languages write numbers in other ways
    field.fill("AB C 72")
    expect(page.locator(".row").first.locator(".missing")).to_have_text("Missing: 27")
    page.click("#open-glossary")
    page.fill("#glossary-text", "cab = DEAD\nf\tF\nno entry")
    page.click("#use-glossary")
    assert page.locator("mark.term").all_text_contents() == ["cab"]  # not the beginning of "fed"
    expect(page.locator(".row-target").nth(2)).to_contain_text("DEAD")  # translated anew
    expect(page.locator(".row").nth(2).locator(".missing")).to_have_count(0)
    expect(field).to_have_value("AB C 72")  # what a person has written stays
    page.reload()
    page.locator("body[data-ready]").wait_for()
    assert page.locator("mark.term").all_text_contents() == ["cab"]


def test_texts_are_found_and_replaced_in_one_step(show: Open) -> None:
    page = show()
    begin(page)
    page.keyboard.press("Control+f")
    page.locator("#search-text").press_sequentially("ab")
    expect(page.locator("#search-count")).to_have_text("6 found")
    page.keyboard.press("Enter")
    assert active(page) == 3
    assert page.evaluate("() => getSelection().toString()") == "AB"
    page.check("#search-case")
    page.fill("#search-text", "AB")
    expect(page.locator("#search-count")).to_have_text("3 found")
    page.fill("#search-replacement", "$&<b>")
    page.click("#replace-all")
    assert targets(page) == ["$&<b> C", "FED", "$&<b> C", "C$&<b> DE"]
    expect(page.locator("#search-count")).to_have_text("0 found")
    page.click("#undo")
    assert targets(page) == ["AB C", "FED", "AB C", "CAB DE"]


TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="de"/><body>
<tu><tuv xml:lang="de-DE"><seg>fed&#160;</seg></tuv>
<tuv xml:lang="EN"><seg>A &lt;<bpt i="1">&lt;b&gt;</bpt>B&#33;</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>cab df</seg></tuv><tuv xml:lang="en"><seg>near</seg></tuv></tu>
<!-- <tu><tuv xml:lang="de"><seg>ab c</seg></tuv><tuv xml:lang="en"><seg>no</seg></tuv></tu> -->
<tu><tuv xml:lang="fr"><seg>ab c</seg></tuv><tuv xml:lang="en"><seg>no</seg></tuv></tu>
</body></tmx>"""


def test_a_memory_translates_what_is_equal_and_offers_what_is_near(show: Open, tmp_path: Path) -> None:
    page = show()
    begin(page)
    (tmp_path / "memory.tmx").write_text(TMX, encoding="utf-8")
    page.set_input_files("#memory-file", tmp_path / "memory.tmx")
    expect(page.locator("#notice-text")).to_have_text("2 pairs from memory.tmx are in the memory.")
    expect(page.locator(".row-target").nth(1)).to_have_text("A <B!")
    expect(page.locator(".row").nth(1).locator(".origin")).to_have_text("memory")
    page.locator(".row-target").nth(3).click()
    match = page.locator("#matches button")
    expect(match).to_have_text(re.compile("^83%nearcab df$"))
    assert match.locator("em").all_text_contents() == ["df"]
    match.click()
    page.keyboard.press("Control+Enter")
    assert active(page) == 1
    name, content = finished(page, "tmx")
    assert name == "text_en.tmx"
    assert re.findall("<seg>(.*?)</seg>", content) == ["cab de", "near"]
    name, content = finished(page, "xliff")
    assert name == "text_en.xlf"
    assert content.count("<trans-unit") == 4
    assert ">A &lt;B!</target>" in content


def test_what_is_confirmed_is_taught_and_the_rest_translated_anew(show: Open) -> None:
    lessons: list[Any] = []

    def learning(page: playwright.Page) -> None:
        """A server that learns: what it translates from then on ends with the number of lessons."""

        def settings(route: playwright.Route) -> None:
            route.fulfill(json=route.fetch().json() | {"suggestions": True})

        def correct(route: playwright.Route) -> None:
            if route.request.method == "POST":
                lessons.append(route.request.post_data_json)
                route.fulfill(json={"number": len(lessons), "waiting": 1})
            else:
                state = {"source": "de", "target": "en", "revision": len(lessons), "waiting": 0, "corrections": []}
                route.fulfill(json=state)

        def translate(route: playwright.Route) -> None:
            found = route.fetch().json()
            if lessons:
                for result in found["results"]:
                    result["text"] += f" {len(lessons)}"
            route.fulfill(json=found)

        page.route("**/frontend/settings", settings)
        page.route("**/v1/corrections*", correct)
        page.route("**/v1/translate", translate)

    page = show(prepare=learning)
    begin(page)
    page.locator("#target-field").fill("X")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".row-target").nth(3)).to_have_text("CAB DE 1")
    assert targets(page) == ["X", "FED 1", "X", "CAB DE 1"]
    assert lessons == [{"source": "de", "target": "en", "text": "ab c", "translation": "X"}]
    page.reload()
    page.locator("body[data-ready]").wait_for()
    assert targets(page) == ["X", "FED 1", "X", "CAB DE 1"]
    assert len(lessons) == 1


PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "ab c"
msgstr "done"

#, fuzzy
#| msgid "ed"
msgid "de"
msgstr "draft"

#, fuzzy
msgid "ab\\ncab"
msgstr "AB\\nC"

#, fuzzy
msgid "ace"
msgstr "left"

msgid "fed"
msgstr ""

msgid "cab"
msgstr ""
"""


def test_what_a_file_has_translated_already_stays(show: Open, tmp_path: Path) -> None:
    page = show()
    (tmp_path / "some.po").write_text(PO, encoding="utf-8")
    page.set_input_files("#file", tmp_path / "some.po")
    translated(page)
    assert targets(page) == ["done", "draft", "AB\nC", "left", "FED", "CAB"]
    expect(page.locator(".row.confirmed")).to_have_count(1)  # what is fuzzy is not
    reviewed = page.locator(".origin", has_text="to be reviewed")
    expect(reviewed).to_have_count(3)
    assert active(page) == 2
    page.locator(".row-target").first.click()
    page.keyboard.press("Alt+ArrowUp")
    assert active(page) == 2
    field = page.locator("#target-field")
    field.press("Control+Enter")
    expect(reviewed).to_have_count(2)
    assert active(page) == 3
    field.press("End")
    field.press("Enter")  # a message of several lines has them in its translation
    page.keyboard.type("D")
    page.keyboard.press("Control+Enter")
    page.locator(".row-target").nth(4).click()
    field.press("Control+Enter")
    _, content = finished(page, "document")
    assert re.findall(r'((?:#.*\n)*)msgid "(\w.*)"\nmsgstr "(.+)"', content) == [
        ("", "ab c", "done"),
        ("", "de", "draft"),
        ("#, fuzzy\n", "ace", "left"),
        ("", "fed", "FED"),
        ("#, fuzzy\n", "cab", "CAB"),
    ]
    assert 'msgid "ab\\ncab"\nmsgstr ""\n"AB\\n"\n"D\\n"\n"C"' in content
    _, memory = finished(page, "tmx")
    assert re.findall('(?s)"en"><seg>(.*?)</seg>', memory) == ["done", "draft", "AB\nD\nC", "FED"]
    page.get_by_role("button", name="Segment 2 is right").click()
    expect(reviewed).to_have_count(2)
    assert '#, fuzzy\n#| msgid "ed"\nmsgid "de"\nmsgstr "draft"' in finished(page, "document")[1]


def test_a_confirmation_is_taken_back_by_the_same_button(show: Open) -> None:
    page = show()
    begin(page)
    confirm = page.get_by_role("button", name="Segment 4 is right")
    confirm.click()
    assert active(page) == 1
    expect(confirm).to_have_attribute("aria-pressed", "true")
    confirm.click()
    expect(page.locator(".row.confirmed")).to_have_count(0)


def test_what_is_no_longer_confirmed_is_no_longer_offered(show: Open) -> None:
    page = show()
    begin(page)
    for take_back in ("#undo", ".row:first-child .confirm"):
        page.locator(".row-target").first.click()
        page.locator("#target-field").fill("X")
        page.keyboard.press("Control+Enter")
        page.locator(".row-target").nth(2).click()
        page.locator("#target-field").fill("Y")
        expect(page.locator("#matches button")).to_have_text("100%Xab c")
        page.keyboard.press("Control+z")
        page.click(take_back)
        page.locator(".row-target").nth(2).click()
        page.locator("#target-field").fill("Y")
        expect(page.locator("#matches")).to_be_hidden()


def test_a_document_is_translated_by_keys_alone(show: Open) -> None:
    page = show()
    keys, field = page.keyboard, page.locator("#target-field")

    def go_to(selector: str, step: str = "Tab") -> None:
        for _ in range(30):
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
            keys.press(step)
        raise AssertionError(selector)

    keys.type("cab de\nfed\ncab df")
    go_to("#begin")
    keys.press("Enter")
    translated(page)
    expect(field).to_be_focused()
    keys.press("Control+Space")  # other words
    expect(page.locator("#offers button").first).to_be_visible()
    go_to("#offers button")
    word = page.locator("#offers button").first.text_content()
    keys.press("Enter")
    expect(field).to_have_value(re.compile(f"^{re.escape(word)}"))
    keys.press("Control+Enter")
    keys.press("Alt+ArrowDown")
    assert active(page) == 3
    go_to("#matches button")  # what was confirmed is like this one
    keys.press("Enter")
    expect(field).to_be_focused()
    confirmed = targets(page)
    assert confirmed[2] == confirmed[0]
    keys.press("Control+Enter")
    keys.press("Control+f")
    keys.type("fed")
    keys.press("Enter")
    assert active(page) == 2
    keys.press("Control+f")
    keys.press("Escape")
    expect(field).to_be_focused()
    keys.press("Control+Enter")
    go_to("#finish", "Shift+Tab")
    keys.press("Enter")
    go_to('[data-form="document"]')
    with page.expect_download() as download:
        keys.press("Enter")
    assert Path(download.value.path()).read_text(encoding="utf-8") == "\n".join(confirmed)


def test_rows_say_how_sure_the_model_is(show: Open) -> None:
    def doubting(page: playwright.Page) -> None:
        def translate(route: playwright.Route) -> None:
            found = route.fetch().json()
            for result in found["results"]:
                for one in result["sentences"][0]["translations"]:
                    one["segment_log_probabilities"] = [-1.2 if part == "C" else -0.1 for part in one["segments"]] + [
                        0.0
                    ]
                    one |= {"confidence": 0.27, "doubt": "low probability"}
            route.fulfill(json=found)

        page.route("**/v1/translate", translate)

    page = show(prepare=doubting)
    transfer = page.evaluate_handle(
        """() => {
          const all = new DataTransfer();
          all.items.add(new File(["fed\\nab c"], "x.txt", { type: "text/plain" }));
          return all;
        }"""
    )
    page.dispatch_event("#opening", "drop", {"dataTransfer": transfer})
    translated(page)
    expect(page.locator(".row-target .uncertain")).to_have_text("C")
    assert page.locator(".origin").all_text_contents() == ["model 27%", "model 27%"]
    page.locator(".row-target").nth(1).click()
    expect(page.locator("#target-mirror .uncertain")).to_have_text("C")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".row-target .uncertain")).to_have_count(0)
    assert page.locator(".origin").all_text_contents() == ["model 27%", "model"]


def test_a_segment_that_is_refused_holds_up_no_other(show: Open) -> None:
    def refusing(page: playwright.Page) -> None:
        def translate(route: playwright.Route) -> None:
            if "fed" in route.request.post_data_json["text"]:
                route.fulfill(status=400, json={"detail": "not fed"})
            else:
                route.continue_()

        page.route("**/v1/translate", translate)

    page = show(prepare=refusing, expected="Failed to load resource")
    page.fill("#pasted", TEXT)
    page.click("#begin")
    expect(page.locator(".row-target").nth(3)).to_have_text("CAB DE")
    assert targets(page) == ["AB C", "", "AB C", "CAB DE"]
    expect(page.locator("#notice-text")).to_have_text("not fed")


def test_a_document_that_is_left_is_gone(show: Open) -> None:
    page = show()
    begin(page)
    page.route("**/v1/translate", lambda route: None)  # it is never answered
    page.click("#open-glossary")
    page.fill("#glossary-text", "fed = DE")
    page.click("#use-glossary")
    page.click("#leave")
    page.click("#leave-now")
    expect(page.locator("#pasted")).to_be_focused()
    page.unroute("**/v1/translate")
    begin(page, "de")
    assert targets(page) == ["DE"]
    assert page.input_value("#glossary-text") == ""
    page.reload()
    page.locator("body[data-ready]").wait_for()
    assert targets(page) == ["DE"]


def _corrections(server: Server) -> list[dict[str, Any]]:
    with urlopen(f"{server.url}/v1/corrections?source=de&target=en", timeout=60) as answer:
        return list(json.load(answer)["corrections"])


def _changes_corrections(method: str) -> Callable[[playwright.Response], bool]:
    """Tell the answer to a change of the corrections from the translations asked for meanwhile."""
    return lambda response: response.request.method == method and "/v1/corrections" in response.url


def test_a_server_learns_from_the_desk(show: Open, run_folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(run_folder, tmp_path / "run")
    learning = start_server(f"de:en={run}", "--learn")
    try:
        page = show(at=learning.url, expected="Failed to load resource")
        begin(page, "ab c\nfed\nab cd")
        page.locator("#target-field").fill("DEAF")
        with page.expect_request("**/v1/translate"):  # the weights have changed
            page.keyboard.press("Control+Enter")
        page.locator(".row-target").nth(2).click()
        expect(page.locator("#matches button")).to_have_count(1)
        [correction] = _corrections(learning)
        assert correction == {"number": 1, "text": "ab c", "translation": "DEAF", "state": "learnt"}
        with page.expect_response(_changes_corrections("DELETE")):
            page.click("#undo")
        assert _corrections(learning) == []
        with page.expect_response(_changes_corrections("POST")):
            page.click("#redo")
        assert len(_corrections(learning)) == 1
        page.locator(".row-target").nth(2).click()
        page.locator(".row-target").nth(1).click()
        page.locator("#target-field").fill("fed is not understood")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#notice-text")).to_contain_text("does not learn segment 2")
    finally:
        end_server(learning)


MARKUP = "<img src=x onerror=alert(1)> <b>ab</b> &lt;"


def test_markup_is_text_everywhere(show: Open) -> None:
    page = show(expected="Failed to load resource")  # the model cannot write such a term
    begin(page, f"{MARKUP}\nfed")
    expect(page.locator(".row-source").first).to_have_text(MARKUP)
    page.locator("#target-field").fill(MARKUP)
    page.click("#open-glossary")
    page.fill("#glossary-text", f"fed = {MARKUP.replace('=', '')}")
    page.click("#use-glossary")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".row-target").first).to_have_text(MARKUP)
    expect(page.locator(".row").nth(1).locator("mark")).to_have_attribute("title", re.compile("<img"))
    assert page.locator("img:not(header img), main b").count() == 0
    _, content = finished(page, "tmx")
    assert "&lt;img" in content
    assert "<img" not in content


def test_a_server_that_is_gone_costs_nothing(show: Open) -> None:
    page = show(expected="Failed to load resource")
    page.route("**/v1/translate", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}))
    page.fill("#pasted", TEXT)
    page.click("#begin")
    expect(page.locator("#problem")).to_contain_text("busy")
    page.locator("#target-field").fill("mine")
    page.unroute("**/v1/translate")
    translated(page)
    assert targets(page) == ["mine", "FED", "AB C", "CAB DE"]
    expect(page.locator("#problem")).to_be_hidden()


def test_two_windows_do_not_write_over_each_other(show: Open) -> None:
    page = show()
    begin(page)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#notice")).to_contain_text("open in another window")
    expect(other.locator("#desk")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "viewport"), [("light", SCREEN), ("dark", PHONE)])
def test_axe_finds_nothing_to_object_to(show: Open, scheme: str, viewport: dict[str, int], tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra `dev`)")
    page = show(color_scheme=scheme, viewport=viewport, bypass_csp=True)  # axe itself needs what the policy forbids

    def check() -> None:
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= viewport["width"]

    check()
    begin(page, "ab c 27\nfed\ncab de")
    (tmp_path / "memory.tmx").write_text(TMX, encoding="utf-8")
    page.set_input_files("#memory-file", tmp_path / "memory.tmx")
    page.locator("#target-field").fill("AB")
    page.keyboard.press("Control+Enter")
    page.click("#open-search")
    page.locator(".row-target").nth(2).click(position={"x": 5, "y": 10})
    expect(page.locator("#matches button")).to_be_visible()
    expect(page.locator("#offers button").first).to_be_visible()
    expect(page.locator(".missing")).to_have_count(1)
    check()
    for name in ("glossary", "finish", "leave"):
        page.click("#finish" if name == "finish" else "#leave" if name == "leave" else "#open-glossary")
        check()
        page.locator(f"#{name}-dialog .close").click()
