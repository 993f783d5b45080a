"""Subtitles keep their numbers, times and line counts."""

from __future__ import annotations

from dragoman.documents.subtitles import cue_texts, replace_cue_texts

TEXT = (
    "1\r\n00:00:01,000 --> 00:00:02,000\r\nThis is one sentence\r\non two lines.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Who is it?\r\n- Me.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
    "4\r\n00:00:07,000 --> 00:00:08,000\r\n<i>Last</i>"
)


def test_cues_are_texts_and_dialogues_several() -> None:
    assert cue_texts(TEXT) == ["This is one sentence on two lines.", "- Who is it?", "- Me.", "<i>Last</i>"]


def test_everything_but_the_text_stays_as_it_is() -> None:
    assert replace_cue_texts(TEXT, cue_texts(TEXT)).splitlines()[4:] == TEXT.splitlines()[4:]
    translated = replace_cue_texts(TEXT, ["Das ist ein Satz auf zwei Zeilen.", "- Wer?", "- Ich.", "<i>Ende</i>"])
    assert translated == (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nDas ist ein Satz\r\nauf zwei Zeilen.\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Wer?\r\n- Ich.\r\n\r\n"
        "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
        "4\r\n00:00:07,000 --> 00:00:08,000\r\n<i>Ende</i>"
    )
    assert replace_cue_texts("no subtitles\n", []) == "no subtitles\n"
    spaces = "1\n00:00:01 --> 00:00:02\na" + " " * 300_000 + "b"  # in quadratic time: minutes
    assert len(cue_texts(spaces)) == 1
