from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.scoring.nbest import by_sentence, escape_bars, parse_entry, read_nbest
from dragoman.text.lines import read_lines, write_lines

LINES = (
    "0 ||| a b c ||| LM= -1.50 TM= -1 -2e-3 0 ||| -3.5",
    "0||| a  b ||| d= 0 -4.36081 lm= -96.4993  ||| 0.514045 ||| 0-0 1-1 ||| 7",
    "2 |||  ||| LM= -1 TM= 0 0 0 ||| -0",
    "10|||a|||d: 1 w: -2|||5|||",
)


def test_an_entry_knows_its_parts():
    entry = parse_entry(LINES[0], "list:1")
    assert (entry.sentence, entry.text, entry.total) == (0, "a b c", -3.5)
    assert entry.features == {"LM": (-1.5,), "TM": (-1, -0.002, 0)}
    assert parse_entry(LINES[3], "list:4").features == {"d": (1,), "w": (-2,)}
    assert parse_entry(LINES[2], "list:3").text == ""


def test_the_triple_bars_of_a_hypothesis_are_undone():
    line = f"0 ||| {escape_bars('||| a ||| b|||c | &#124;')} ||| LM= -1 ||| -1"
    assert line == "0 ||| &#124;&#124;&#124; a &#124;&#124;&#124; b&#124;&#124;&#124;c | &#124; ||| LM= -1 ||| -1"
    entry = parse_entry(line, "list:1")
    assert (entry.text, entry.line) == ("||| a ||| b|||c | &#124;", line)


@pytest.mark.parametrize("line", LINES)
def test_unchanged_fields_stay_byte_for_byte(line):
    entry = parse_entry(line, "list:1")
    assert entry.line == line
    added = entry.adding("Net", [-0.25, 3]).line
    assert added.replace(" Net= -0.25 3", "", 1) == line
    assert parse_entry(added, "list:1").features == {**entry.features, "Net": (-0.25, 3)}


def test_a_feature_can_be_added_where_there_is_none():
    assert parse_entry("0 ||| a ||| ||| 1", "list:1").adding("N", [2]).line == "0 ||| a ||| N= 2 ||| 1"
    assert parse_entry("0|||a||||||1", "list:1").adding("N", [2]).line == "0|||a||| N= 2 |||1"


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}", fullmatch=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_characters="\n\r|&", exclude_categories=["Cs"]))


@given(
    sentence=st.integers(0, 10**6),
    text=TEXTS,
    features=st.dictionaries(NAMES, st.lists(FINITE, min_size=1, max_size=4), max_size=4),
    total=FINITE,
    more=st.lists(TEXTS, max_size=2),
    blanks=st.tuples(*[st.sampled_from(["", " ", "  "])] * 4),
)
def test_any_entry_is_read_as_it_was_written(sentence, text, features, total, more, blanks):
    shown = " ".join(f"{name}= {' '.join(map(repr, values))}" for name, values in features.items())
    fields = [f"{sentence}{blanks[0]}", f" {text} ", f" {shown}{blanks[1]}", f"{blanks[2]}{total!r}{blanks[3]}", *more]
    line = "|||".join(fields)
    entry = parse_entry(line, "list:1")
    assert entry.line == line
    assert (entry.sentence, entry.total, entry.text) == (sentence, total, text.strip(" \t"))
    assert entry.features == {name: tuple(values) for name, values in features.items()}
    if "Added9" not in features:
        assert parse_entry(entry.adding("Added9", [1.5]).line, "list:1").features["Added9"] == (1.5,)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_lists_are_read_and_written_compressed_too(tmp_path, ending):
    path, copy = tmp_path / f"list{ending}", tmp_path / f"copy{ending}"
    write_lines(path, LINES)
    groups = list(by_sentence(read_nbest(path)))
    assert [[entry.sentence for entry in group] for group in groups] == [[0, 0], [2], [10]]
    write_lines(copy, (entry.line for group in groups for entry in group))
    assert list(read_lines(copy)) == list(LINES)


def test_a_list_is_read_as_a_stream(tmp_path):
    path = tmp_path / "list"
    write_lines(path, [*LINES[:2], "broken"])
    entries = read_nbest(path)
    assert [next(entries).sentence, next(entries).sentence] == [0, 0]
    with pytest.raises(InputError):
        next(entries)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 ||| a ||| 1", "3 of at least 4 fields between triple bars; expected `id ||| text ||| Name= value ... "),
        ("", "1 of at least 4 fields"),
        ("9" * 5000 + " ||| a ||| A= 1 ||| 1", "the id '99999"),
        ("-1 ||| a ||| A= 1 ||| 1", "the id '-1' is not a whole number from 0 on"),
        ("x ||| a ||| A= 1 ||| 1", "the id 'x' is not a whole number"),
        ("1 ||| a ||| A= 1 ||| one", "the total is 'one', not a finite number"),
        ("1 ||| a ||| A= 1 ||| nan", "the total is 'nan', not a finite number"),
        ("1 ||| a ||| A= 1 b ||| 1", "a value of the feature A is 'b', not a finite number"),
        ("1 ||| a ||| 1 A= 1 ||| 1", "features begin with '1', not with a name"),
        ("1 ||| a ||| A= B= 1 ||| 1", "the feature A has no value"),
        ("1 ||| a ||| A= 1 A= 1 ||| 1", "two features are called A"),
        ("0 ||| a ||| A= 1 ||| 1", "the id 0 comes after 1; the hypotheses of a sentence must stand together"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, said):
    path = tmp_path / "list"
    write_lines(path, ["1 ||| a ||| A= 1 ||| 1", line])
    with pytest.raises(InputError) as caught:
        list(read_nbest(path))
    assert str(caught.value).startswith(f"{path}:2: {said}")


def test_an_empty_list_is_reported(tmp_path):
    (tmp_path / "list").write_text("")
    with pytest.raises(InputError, match=r"list: no hypotheses in it"):
        list(read_nbest(tmp_path / "list"))


@pytest.mark.parametrize("number", range(1, 6))
def test_real_lists_are_copied_unchanged(shared_data, number):
    path = shared_data / "moses-nbest-fr-en" / f"nbest.{number}.xz"
    entries = list(read_nbest(path))
    assert [entry.line for entry in entries] == list(read_lines(path))
    assert [len(group) for group in by_sentence(entries)] == [100] * 10
    assert {tuple(map(len, entry.features.values())) for entry in entries} == {(7, 1, 5, 1)}
