"""Subtitles keep their numbers, times and line counts."""

from __future__ import annotations

import re

from dragoman.documents.subtitles import cue_texts, replace_cue_texts
from tests.documents.translators import same, translated

TEXT = (
    "1\r\n00:00:01,000 --> 00:00:02,000\r\nThis is one sentence\r\non two lines.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Who is it?\r\n- Me.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
    "4\r\n00:00:07,000 --> 00:00:08,000\r\n<i>Last</i>"
)


def test_cues_are_texts_and_dialogues_several() -> None:
    assert cue_texts(TEXT) == ["This is one sentence on two lines.", "Who is it?", "Me.", "<i>Last</i>"]


def test_everything_but_the_text_stays_as_it_is() -> None:
    assert replace_cue_texts(TEXT, cue_texts(TEXT)).splitlines()[4:] == TEXT.splitlines()[4:]
    translated = replace_cue_texts(TEXT, ["Das ist ein Satz auf zwei Zeilen.", "Wer?", "Ich.", "<i>Ende</i>"])
    assert translated == (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nDas ist ein Satz auf\r\nzwei Zeilen.\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Wer?\r\n- Ich.\r\n\r\n"
        "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
        "4\r\n00:00:07,000 --> 00:00:08,000\r\n<i>Ende</i>"
    )
    assert replace_cue_texts("no subtitles\n", []) == "no subtitles\n"
    spaces = "1\n00:00:01 --> 00:00:02\na" + " " * 300_000 + "b"  # in quadratic time: minutes
    assert len(cue_texts(spaces)) == 1


def test_no_cue_is_lost() -> None:
    for source, expected in (
        # empty lines inside of a cue, cues without one between them, CR alone
        ("1\n00:01 --> 00:02\nab\n\ncd.\n\n2\n00:03 --> 00:04\n\n ef\n", "AB|CD.|EF"),
        ("1\n00:01 --> 00:02\nab.\n2\n00:03 --> 00:04\ncd.", "AB.|CD."),
        ("1\r00:01 --> 00:02\rab.\r\r2\r00:03 --> 00:04\rcd\r", "AB.|CD"),
        # signs and codes
        ("1\n00:01 --> 00:02\n{\\an8}ab {\\i1}cd{\\i0}.\n", "{\\an8}AB {\\i1}CD{\\i0}."),
        ("1\n00:01 --> 00:02\n♪ ab cd ♪\n♪ ef ♪\n", "♪ AB CD ♪|♪ EF ♪"),
        ("1\n00:01 --> 00:02\n- ab?\n-cd!\n", "- AB?|-CD!"),
        ("1\n00:01 --> 00:02\na & b &lt; <i>c</i>\n", "A & B &LT; <i>C</i>"),
    ):
        found = translated(".srt", source.encode()).decode()
        lines = [line.strip() for line in found.splitlines() if re.search("[A-Z]", line)]
        assert "|".join(lines) == expected
        assert translated(".srt", source.encode(), same).decode() == source
        assert not re.search("[a-z]", re.sub(r"\\\w+|<.*?>", "", found))


def test_a_sentence_of_two_cues_is_one_text() -> None:
    source = "1\n00:01 --> 00:02\nDer Hund sitzt,\n\n2\n00:03 --> 00:04\nund der Mann\nläuft weg.\n"
    assert cue_texts(source) == ["Der Hund sitzt, und der Mann läuft weg."]
    assert replace_cue_texts(source, ["ab cd ef gh ij kl mn."]) == (
        "1\n00:01 --> 00:02\nab cd ef\n\n2\n00:03 --> 00:04\ngh ij kl\nmn.\n"
    )
    assert replace_cue_texts(source, ["ab"]) == "1\n00:01 --> 00:02\nab\n\n2\n00:03 --> 00:04\n\n"


def test_lines_keep_their_lengths_and_end_where_sentences_do() -> None:
    cue = "1\n00:01 --> 00:02\n{}\n"
    for lines in (
        "I don't think so.\nYou?",
        "A line of quite some length\nand a word.",
        "<i>First, and</i>\n<i>then a second line.</i>",
        "[ Music ]\nOh!\nIt is Dr.\nMiller of the ward.",
    ):
        assert translated(".srt", cue.format(lines).encode(), same, "en").decode() == cue.format(lines)
    source = cue.format("I don't think so.\n<i>You?</i>\nHe and\nshe.")
    assert cue_texts(source, "en") == ["I don't think so.", "<i>You?</i>", "He and she."]
    found = replace_cue_texts(source, ["No.", "<i>And what is it that you want?</i>", "They."], "en")
    assert found == cue.format("No.\n<i>And what is it that you want?</i>\nThey.")
    assert cue_texts(cue.format("<i>One.\nTwo.</i>"), "en") == ["<i>One. Two.</i>"]


def test_no_line_is_cut_inside_of_a_tag() -> None:
    source = '1\n00:01 --> 00:02\n<font color="red" face="Arial" size="12">Ein Hund</font>\nläuft.\n'
    text = '<font color="red" face="Arial" size="12">The dog</font> is running.'
    found = replace_cue_texts(source, [text])
    assert found.splitlines()[2:] == ['<font color="red" face="Arial" size="12">The dog</font> is', "running."]


def test_web_subtitles_keep_their_notes_names_and_entities() -> None:
    source = (
        "WEBVTT - ab\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Bob>ab &amp; cd\n"
        "\nNOTE\nab\n\nend\n00:03.000 --> 00:04.000\n<c.loud>ef</c>\n"
    )
    spoken = "WEBVTT\n\n00:01.000 --> 00:02.000\nab <00:00:01.250><c>cd</c><00:00:01.500><c.x> ef</c>\n"
    assert translated(".vtt", spoken.encode(), same).decode() == spoken
    assert "<00:00:01.250><c>CD</c><00:00:01.500><c.x> EF</c>" in translated(".vtt", spoken.encode()).decode()
    expected = source.replace(">ab &amp; cd", ">AB &amp; CD").replace(">ef<", ">EF<")
    assert translated(".vtt", source.encode()).decode() == expected
