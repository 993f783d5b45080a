"""What is an item, and what stands for it."""

from __future__ import annotations

import html
import pickle
import time

import pytest

from dragoman.text import changes
from dragoman.text.items import KINDS, MOST, NAMES, NO_QUOTATION, PLACEHOLDERS, Items, restore, stand_apart
from dragoman.text.segmentation.normal_form import NormalForm

ALL = Items([kind.pattern for kind in KINDS.values()])
ONE, TWO, THREE = PLACEHOLDERS[:3]


def found(line: str, items: Items = ALL) -> list[str]:
    return [line[start:end] for start, end in items.find(line)]


@pytest.mark.parametrize(
    ("kind", "example"), [(name, one) for name, kind in KINDS.items() if name != "list" for one in kind.examples]
)
def test_examples_are_found_whatever_stands_around_them(kind: str, example: str) -> None:
    for items in (Items([KINDS[kind].pattern]), ALL):
        for line in ("{}", "see {} now", "({}).", "see {}, or", "das „{}“", "보세요 {}를"):
            assert found(line.format(example), items) == [example], line


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("&lt;b&gt;dog&lt;/b&gt;", ["&lt;b&gt;", "&lt;/b&gt;"]),
        ("a&lt;br/&gt;b <b>c</b>d", ["&lt;br/&gt;", "<b>", "</b>"]),
        ("x&lt;img src=&quot;a&amp;b&quot; alt='&quot;'&gt;y", ["&lt;img src=&quot;a&amp;b&quot; alt='&quot;'&gt;"]),
        ("&lt;y and z&gt;", ["&lt;", "&gt;"]),
        ("two&nbsp;dogs AT&amp;T &quot;dog&quot;s don&#39;t", ["&nbsp;", "&amp;", "&quot;", "&quot;", "&#39;"]),
        ("{name}s v{0} ${HOME}dir", ["{name}", "{0}", "${HOME}"]),
        ("%sdog v%s %dpx", ["%s", "%s", "%d"]),
        ("%dx%d %s%s", ["%d", "%d", "%s", "%s"]),
        ("%1$sdog a%(name)sb %02dh %.1fMB", ["%1$s", "%(name)s", "%02d", "%.1f"]),
    ],
)
def test_items_that_words_touch_are_found_and_stay_where_they_are(line: str, items: list[str]) -> None:
    masked = ALL.mask(line)
    assert list(masked.items) == items
    assert restore(masked.text, masked.items, stand_apart(line, ALL.find(line))) == line


@pytest.mark.parametrize("mark", KINDS["list"].examples)
def test_the_mark_of_a_list_is_found_where_a_line_begins(mark: str) -> None:
    assert found(f"{mark} A dog.") == [mark]
    assert found(f"  {mark} A dog.") == [f"  {mark}"]
    assert mark not in found(f"A dog {mark} cat.")
    assert found(f"{mark}dog") == []
    assert ALL.mask(f"\u3000\u200b{mark}\u00a0A dog.").items == (f" {mark}",)


@pytest.mark.parametrize(
    "item", [example for name, item in changes.ITEMS.items() if "name" not in name for example in item.examples]
)
def test_the_items_that_robustness_inserts_are_found(item: str) -> None:
    assert found(f"A man sees {item} in the park.") == [item]


@pytest.mark.parametrize(
    "line",
    [
        "A dog and/or his/her cat run at 5 km/h, 3 times, well-known as No. 7.",
        "It's the dogs' turn; a < b > c, the 1990s, 21st, 3D, B2B, x/y, e.g. this.",
        "Ein 5-jähriger Junge (a) fährt U-Bahn: 5%ig sicher & froh!",
        "그는 3 번째 줄에 있다.",
        "5 %ige L&ouml;sung, 3 %des %complete a%20dog %hello, B&Bs",
    ],
)
def test_usual_text_has_none(line: str) -> None:
    assert not found(line)


def test_no_pattern_is_slow_on_any_line() -> None:
    """Twice the length takes about twice the time: a quadratic pattern would take minutes here."""
    text = "a a@ @ a/ /a http:// {{ { % &a # 1 1. 1, A- A - v1. www. \\ C:\\a\\ a@a. 12: 2026- 0a 😀 ⟦ vnd.a: %( ~/a"
    parts = text.split()
    began = time.perf_counter()
    for part in (*parts, "<a ", '<a b="', "&lt;a b=&quot;", "&lt;a b='&", " /a", "1'000", "%0"):
        ALL.find((part * 100_000)[:100_000])
    assert time.perf_counter() - began < 60


def test_a_source_is_masked_in_order_and_restored() -> None:
    line = "Open {name} at http://a.org, 12:45 😀"
    masked = ALL.mask(line)
    assert masked.text == f"Open {ONE} at {TWO}, {THREE} {PLACEHOLDERS[3]}"
    assert masked.items == ("{name}", "http://a.org", "12:45", "😀")
    assert masked.spans is not None
    assert [line[start:end] for start, end in masked.spans if end - start > 1] == ["{name}", "http://a.org", "12:45"]
    assert restore(masked.text, masked.items) == line
    assert restore(f"{TWO} {ONE}", ["{x}"]) == "⟦2⟧ {x}"


@pytest.mark.parametrize(
    ("text", "items", "restored"),
    [
        (f"einem{ONE}bild", ["http://a.org/b"], "einem http://a.org/b bild"),
        (f"{ONE}{TWO}ém", ["12", "@kim"], "12 @kim ém"),
        (f"({ONE}), „{TWO}“.", ["3.14", "a@b.org"], "(3.14), „a@b.org“."),
        (f"{ONE}Hund{TWO}", ["<b>", "</b>"], "<b>Hund</b>"),
        (f"{ONE}px {TWO}x", ["%d", "%PRODUCTNAME"], "%dpx %PRODUCTNAME x"),
        (f"{ONE}이 {TWO}と", ["{x}", "AB-12"], "{x}이 AB-12と"),
    ],
)
def test_letters_do_not_go_on_with_an_item(text: str, items: list[str], restored: str) -> None:
    assert restore(text, items) == restored


def test_a_line_without_items_stays_as_it_is() -> None:
    assert ALL.mask("a dog") == ("a dog", None, (), NO_QUOTATION)


def test_an_item_that_stands_apart_in_the_source_stands_apart() -> None:
    line = "a {x} <b>dog</b> {y}s"
    masked = ALL.mask(line)
    spans = [span for span in masked.spans or () if span[1] - span[0] > 1]
    apart = stand_apart(line, spans)
    assert apart == [(True, True), (True, False), (False, True), (True, False)]
    one, two, three, four = PLACEHOLDERS[:4]
    assert restore(f"{two} {three} {four} {one}", masked.items, apart) == "<b></b> {y} {x}"
    assert restore(f"ein{one}er {two}Hund{three}e{four}s", masked.items, apart) == "ein {x} er <b>Hund</b> e {y}s"


def test_no_space_comes_between_a_tag_and_what_it_holds() -> None:
    line = "<b>A dog</b> sees <i> cats </i><br/>"
    one, two, three, four, five = PLACEHOLDERS[:5]
    written = f"{one} Ein Hund {two} sieht {three} Katzen {four} {five}"
    for escape in (str, html.escape):
        masked = ALL.mask(escape(line))
        apart = stand_apart(escape(line), ALL.find(escape(line)))
        assert restore(written, masked.items, apart) == escape("<b>Ein Hund</b> sieht <i> Katzen </i><br/>")


@pytest.mark.parametrize(
    ("line", "inside", "quotation"),
    [
        ('"A dog."', "A dog.", ('"', '"')),
        (" „A {x}“ ", f"A {ONE}", ("„", "“")),
        ("«\u00a0A dog\u00a0»", "\u00a0A dog\u00a0", ("«", "»")),
        ("“It’s a dog,” she said.", None, NO_QUOTATION),
        ('"a" and "b"', None, NO_QUOTATION),
        ('"  "', None, NO_QUOTATION),
    ],
)
def test_quotation_marks_around_a_line_are_no_part_of_it(
    line: str, inside: str | None, quotation: tuple[str, str]
) -> None:
    masked = ALL.mask(line)
    assert (masked.text, masked.quotation) == (line if inside is None else inside, quotation)
    if inside is not None:
        assert masked.spans is not None
        assert line[masked.spans[0][0] : masked.spans[-1][1]] == inside.replace(ONE, "{x}")


def test_quotation_marks_stay_in_a_pair_of_which_one_side_has_them() -> None:
    source, target = ALL.mask_pair('"A dog."', "“Ein Hund.”")
    assert (source.text, target.text) == ("A dog.", "Ein Hund.")
    source, target = ALL.mask_pair('"A dog."', "Ein Hund.")
    assert (source.text, target.text) == ('"A dog."', "Ein Hund.")
    assert ALL.mask_target("“Ein Hund.”", (), ('"', '"')).text == "Ein Hund."
    assert ALL.mask_target("“Ein Hund.”", ()).text == "“Ein Hund.”"


def test_words_are_written_in_normal_form_and_found_in_either() -> None:
    form = NormalForm("AZaz dehinostu.")
    items = Items([], foreign_words=form.foreign_words)
    assert items.mask("a man sees O\u0308do\u0308gh").items == ("Ödögh",)
    for written in ("Ödögh", "O\u0308do\u0308gh"):
        assert Items([]).mask_target(f"{written} und Ödöghs", ("Ödögh",)).text == f"{ONE} und Ödöghs"


def test_items_are_found_without_invisible_characters() -> None:
    line = "\u2060- see \u200bhttps://a.b/\u200bcd\u00ade, {x\ufeff}\u200b{y}"
    masked = ALL.mask(line)
    assert masked.items == ("-", "https://a.b/cde", "{x}", "{y}")
    assert found(line) == ["-", "https://a.b/\u200bcd\u00ade", "{x\ufeff}", "{y}"]
    assert stand_apart(line, ALL.find(line)) == [(True, True), (True, False), (True, False), (False, True)]


def test_a_pattern_that_takes_too_long_on_a_line_finds_nothing_in_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dragoman.text.items.SECONDS", 0.05)
    items = Items(["(?:o|or|r|rd|d|e|er)+[PQ]", KINDS["variable"].pattern], anywhere=True)
    assert found("orderQ {x}", items) == ["orderQ", "{x}"]
    for variable in ("{x}", "{y}"):
        assert found(f"{variable} " + "order" * 60, items) == [variable]
    [record] = caplog.records
    assert record.message.startswith(
        "a pattern of text.patterns takes more than 0.05 s on a line, in which none of them"
    )


def test_own_patterns_are_preferred_and_need_none_of_the_usual_signs() -> None:
    pairs = [("ab cd", "ab")]
    items = Items.of_kinds(["number", "variable"], lambda: pairs, own_patterns=["no [a-z]+", "[{]x[}]!"])
    assert found("say no more, {x}! {x} 42", items) == ["no more", "{x}!", "{x}", "42"]
    assert found("say no more", pickle.loads(pickle.dumps(items))) == ["no more"]


def test_items_beyond_the_ninth_stay_text() -> None:
    line = " ".join(f"{{x{number}}}" for number in range(MOST + 2))
    masked = ALL.mask(line)
    assert masked.text == " ".join((*PLACEHOLDERS, "{x9}", "{x10}"))
    assert restore(masked.text, masked.items) == line


def test_text_that_is_spelled_like_a_placeholder_is_an_item() -> None:
    line = f"a ⟦1⟧ b {TWO} c"
    masked = ALL.mask(line)
    assert masked.items == ("⟦1⟧", TWO)
    assert restore(masked.text, masked.items) == line
    assert TWO not in ALL.mask_target(line, ()).text
    swapped = ALL.mask(f"{TWO} {ONE}")
    assert swapped.items == (TWO, ONE)
    assert restore(swapped.text, swapped.items) == f"{TWO} {ONE}"


def test_only_items_of_both_sides_are_masked_in_a_pair() -> None:
    source, target = ALL.mask_pair("{a} and %s and {b} or {a}", "{b} oder {a} und {c}")
    assert source.text == f"{ONE} and %s and {TWO} or {{a}}"
    assert target.text == f"{TWO} oder {ONE} und {{c}}"
    assert source.items == ("{a}", "{b}")


def test_each_item_of_a_source_has_one_placeholder_in_its_target() -> None:
    assert ALL.mask_target("{a} {a} {a}", ("{a}", "{a}")).text == f"{ONE} {TWO} {{a}}"


def test_numbers_are_written_as_the_targets_write_them() -> None:
    pairs = [("It has 3.14 m.", "Es hat 3,14 m.")] * 3 + [("1,234 dogs", "1.234 Hunde")] * 3
    items = Items.of_kinds(["number"], lambda: [*pairs, ("10.55", "10.55")])
    assert {number: items.written(number) for number in ("2.5", "12,345.67", "1,234", "2018", "27.11.2026")} == {
        "2.5": "2,5", "12,345.67": "12.345,67", "1,234": "1.234", "2018": "2018", "27.11.2026": "27.11.2026",
    }  # fmt: skip
    source, target = items.mask_pair("From 2.5 to 1,234.", "1.234 bis 2,5")
    assert source == (f"From {ONE} to {TWO}.", source.spans, ("2,5", "1.234"), NO_QUOTATION)
    assert target.text == f"{TWO} bis {ONE}"


def test_numbers_stay_as_they_are_where_the_text_does_not_show_how_to_write_them() -> None:
    items = Items.of_kinds(["number"], lambda: [("3.14", "3,14"), ("3.15", "3,15")])
    assert items.written("3.14") == "3.14"


def test_words_with_letters_that_the_sources_lack_are_items() -> None:
    form = NormalForm.of_sources(["Der Hund läuft, ein Öl"] * 3)
    items = Items([], foreign_words=form.foreign_words)
    assert found("Ödögh und Šťávěk, Ærn-Müller in ŠKODA", items) == ["Šťávěk", "Ærn-Müller", "ŠKODA"]
    assert found("Ḧund LÄUFT ｌäuft l\u0061\u0308uft", items) == ["Ḧund"]


def test_words_of_other_scripts_are_items_where_the_sources_have_european_letters_only() -> None:
    items = Items([], foreign_words=NormalForm.of_sources(["Der Hund läuft"] * 3).foreign_words)
    line = "Hund, שָׁלוֹם, 日本、한국 und می\u200cخ"
    assert found(line, items) == ["שָׁלוֹם", "日本", "한국", "می\u200cخ"]
    source, target = items.mask_pair("Hund 日本", "日本 dog")
    assert (source.text, target.text) == (f"Hund {ONE}", f"{ONE} dog")
    for own in (items, Items([])):
        assert own.mask_target("日本의 개", ("日本",)).text == f"{ONE}의 개"
    korean = Items([], foreign_words=NormalForm.of_sources(["개가 달린다"] * 3).foreign_words)
    assert found("고양이 日本", korean) == []


def test_the_names_of_placeholders_are_those_that_people_see() -> None:
    assert NAMES == ("⟦1⟧", "⟦2⟧", "⟦3⟧", "⟦4⟧", "⟦5⟧", "⟦6⟧", "⟦7⟧", "⟦8⟧", "⟦9⟧")


def test_lines_without_letters_stay_unless_the_text_shows_that_they_change() -> None:
    date, number, words = ("04.09.2040", "9/4/2040"), ("12.50", "12.50"), ("no change", "keine")
    for pairs, stay in (([words], True), ([number, date, words], True), ([date, date, number, words], False)):
        assert Items.of_kinds(["url"], lambda pairs=pairs: pairs).letterless_stay is stay
        assert Items.of_kinds(["url", "name"], lambda pairs=pairs: pairs).with_text(["a"]).letterless_stay is stay
