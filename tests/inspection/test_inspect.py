"""A whole inspection: every kind of finding in its place, figures, advice, and what is printed."""

from __future__ import annotations

import io
import json
import math

import pytest

from dragoman.errors import InputError
from dragoman.inspection.advice import advice
from dragoman.inspection.corpus_reader import CHUNK
from dragoman.inspection.findings import FINDING_KINDS, NOT_UTF8
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.presentation import text, to_json
from dragoman.inspection.summary import summarise

SPOILT = {
    3: ("empty side", "target", lambda s, t: (s, " ")),
    20: ("copied", "both", lambda s, t: ("Zoe 5", "Zoe 5")),
    31: ("too long", "both", lambda s, t: ("ko " * 101, "üw " * 101)),
    42: ("unlikely lengths", "both", lambda s, t: (s, " ".join([t] * 6))),
    53: ("wrong way round", "both", lambda s, t: (t, s)),
    64: ("other side's language", "target", lambda s, t: (s, s + "k")),
    75: ("other script", "source", lambda s, t: ("Привет, как дела", t)),
    86: ("unusual", "source", lambda s, t: ("zugluft zebu xylem quux mum buzz jump jugs vex dumb nymph", t)),
    97: ("mojibake", "target", lambda s, t: (s, t + " fÃ¼r")),
    108: ("replacement character", "source", lambda s, t: (s + "\ufffd", t)),
    119: ("control character", "both", lambda s, t: (s + "\x07", t + "\x07")),
    130: ("invisible character", "source", lambda s, t: (s + "\u200b", t)),
    141: ("decomposed letter", "target", lambda s, t: (s, t + " u\u0308")),
    152: ("markup", "target", lambda s, t: (s, t + " &amp;")),
}


@pytest.fixture
def spoilt(pairs, write):
    """The corpus with one of each trouble, and one pair twice."""
    for place, (_, _, change) in SPOILT.items():
        pairs[place] = change(*pairs[place])
    pairs[163] = pairs[2]
    return write(pairs)


def test_every_kind_of_finding_is_found_at_its_line(spoilt):
    listing = io.StringIO()
    inspection = inspect_corpus([spoilt], listing=listing)
    listed = {tuple(line.split("\t")[:3]) for line in listing.getvalue().splitlines()}
    expected = {(f"{spoilt[0]}:{place + 1}", kind, side) for place, (kind, side, _) in SPOILT.items()}
    expected.add((f"{spoilt[0]}:164", "repeated pair", "both"))
    assert listed == expected
    assert {kind for _, kind, _ in listed} == set(FINDING_KINDS) - {NOT_UTF8}  # see test_reading.py
    assert [finding.kind for finding in inspection.findings] == list(FINDING_KINDS)[1:]
    assert all(finding.pairs == 1 for finding in inspection.findings)


def test_examples_have_details(spoilt):
    examples = {finding.kind: finding.examples[0] for finding in inspect_corpus([spoilt]).findings}
    assert examples["repeated pair"].detail == "first as pair 3"
    assert "fÃ¼r" in examples["mojibake"].detail
    assert examples["too long"].detail == "101 words"
    assert not any(finding.examples for finding in inspect_corpus([spoilt], examples=0).findings)


def test_a_clean_corpus_has_no_findings(pairs, write):
    files = write(pairs)
    inspection = inspect_corpus([files])
    assert inspection.findings == []
    assert summarise([files], []).facts["Findings"] == "none"
    assert inspection.sides_told_apart
    assert inspection.pairs == 400
    assert not any("No problems" in sentence for sentence in advice(inspection))  # 400 pairs are few
    assert advice(inspection)[0].startswith("400 pairs are few")


def test_mixed_normal_forms_are_reported(pairs, write):
    pairs[3] = (pairs[3][0], "u\u0308 " + pairs[3][1])
    (told,) = (each for each in advice(inspect_corpus([write(pairs)])) if each.startswith("decomposed letter"))
    composed = sum("ü" in target for _, target in pairs)
    assert f"Normal forms are mixed: {composed} lines have composed letters." in told


def test_shuffled_sides_are_detected_by_their_lengths(pairs, write):
    files = write([(source * (1 + place % 3), pairs[place - 1][1]) for place, (source, _) in enumerate(pairs)])
    assert any("hardly correlate" in sentence for sentence in advice(inspect_corpus([files])))


def test_held_out_lines_seen_in_training_are_reported(pairs, write):
    held = write([pairs[0], (pairs[1][0].upper() + " !", "wesh"), ("kot ari", pairs[2][1]), ("irati", "shel")], "dev")
    inspection = inspect_corpus([write(pairs)], {"dev": held})
    found = to_json(inspection)["held_out"]["dev"]
    assert (found["pairs"], found["seen"]) == (4, 3)
    assert (found["source"]["exact"], found["source"]["near"], found["target"]["exact"]) == (1, 1, 2)
    assert [line["train_pair"] for line in found["source"]["lines"]] == [1, 2]
    assert any(sentence.startswith("dev: 3 of 4 pairs") for sentence in advice(inspection))
    assert "same as training pair 3" in text(inspection)
    assert inspection.source.words.held_out["dev"][-1].share < 1


def test_the_limit_selects_the_beginning(spoilt):
    inspection = inspect_corpus([spoilt], limit=50)
    assert inspection.pairs == 50
    assert [finding.kind for finding in inspection.findings] == ["empty side", "copied", "too long", "unlikely lengths"]


def test_findings_do_not_depend_on_where_chunks_end(pairs, write, monkeypatch):
    for place, (_, _, change) in SPOILT.items():
        pairs[place] = change(*pairs[place])
    files = write(pairs)
    whole = inspect_corpus([files])
    assert len(pairs) < CHUNK
    monkeypatch.setattr("dragoman.inspection.corpus_reader.CHUNK", 100)
    assert inspect_corpus([files]).findings == whole.findings


def test_subwords_are_counted(pairs, write):
    subwords = inspect_corpus([write(pairs)], subwords=100).subwords
    assert subwords.pairs == 400
    assert subwords.source.different <= 100
    assert subwords.mean_source == subwords.source.running / 400
    assert subwords.too_long == 0


def test_json_is_standard_and_text_is_complete(spoilt, write):
    inspection = inspect_corpus([spoilt], {"dev": write([("a", "b")], "dev")}, subwords=150)
    written = json.loads(json.dumps(to_json(inspection), allow_nan=False))
    assert written["pairs"] == 400
    assert written["source"]["words"]["curve"][-1]["share"] == 1
    assert {finding["kind"] for finding in written["findings"]} == set(FINDING_KINDS) - {NOT_UTF8}
    printed = text(inspection)
    assert all(f"\n{kind}: 1 pair; " in printed for kind in FINDING_KINDS if kind != NOT_UTF8)
    assert "subwords (in 400 pairs)" in printed
    assert max(map(len, printed.splitlines())) <= 130


@pytest.mark.parametrize("pairs", [[("", "")], [("a", "b")], [("a", "b")] * 3, [("", "x")] * 200])
def test_any_corpus_however_small_can_be_inspected(pairs, write):
    inspection = inspect_corpus([write(pairs)], {"dev": write(pairs, "dev")})
    assert math.isnan(inspection.length_correlation)
    assert to_json(inspection)["length_correlation"] is None
    assert text(inspection)


def test_files_of_different_lengths_are_an_error(pairs, write):
    files = write(pairs)
    files[1].write_text("x\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has 400 lines but .* has 1; line k"):
        inspect_corpus([files])
