from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.scoring.phrases import PhrasesOfText, by_source, distinct_pairs, parse_row, read_table
from dragoman.text.lines import read_lines, write_lines

LINES = (
    "! als beweis ||| as proof ||| 0.2 1.87536e-07 1 0.0685886 2.718 ||| 3-0 2-1 ||| 5 1 1",
    "! als beweis ||| proof |||  0.25 1 1 0.5 2.718  |||  ||| 4 1 1 |||",
    "! als beweis ||| as proof ||| 1 1 1 1 2.718",
    "? ||| ? ||| 1 1 1 1 1|||0-0",
)


@pytest.mark.parametrize("line", LINES)
def test_scores_are_added_and_the_rest_stays_byte_for_byte(line):
    row = parse_row(line, "table:1")
    assert row.line == line
    assert len(row.scores) == 5
    added = row.adding([0.125, 1e-20])
    assert added.line.replace(" 0.125 1e-20", "", 1) == line
    assert parse_row(added.line, "table:1").scores == (*row.scores, 0.125, 1e-20)


PHRASES = st.text(st.characters(exclude_characters="\n\r|&", exclude_categories=["Cs"]))
SCORES = st.lists(st.floats(0, 1e9), min_size=1, max_size=6)


@given(PHRASES, PHRASES, SCORES, st.lists(PHRASES, max_size=4), st.tuples(*[st.sampled_from(["", " ", "  "])] * 2))
def test_any_row_is_read_as_it_was_written(source, target, scores, more, blanks):
    line = "|||".join([source, target, f"{blanks[0]}{' '.join(map(repr, scores))}{blanks[1]}", *more])
    row = parse_row(line, "table:1")
    assert row.line == line
    assert (row.source, row.target, row.scores) == (source.strip(" \t"), target.strip(" \t"), tuple(scores))
    added = parse_row(row.adding([0.5]).line, "table:1")
    assert (added.source, added.target, added.scores) == (row.source, row.target, (*scores, 0.5))
    assert added.fields[3:] == tuple(more)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_sources_are_grouped_and_pairs_distinct(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_lines(path, LINES)
    groups = [(source, [row.line for row in rows]) for source, rows in by_source(read_table(path))]
    assert groups == [("! als beweis", list(LINES[:3])), ("?", [LINES[3]])]
    assert list(distinct_pairs(read_table(path))) == [
        ("! als beweis", "as proof"),
        ("! als beweis", "proof"),
        ("?", "?"),
    ]


@pytest.mark.parametrize("text", ["a &#124; b &#91;X&#93; &amp; &#91; c", "a | b [X] &amp; &#91; c"])
def test_phrases_are_found_in_text_with_the_escapes_of_moses_and_without(tmp_path, text):
    lines = [f"{source} ||| x ||| 1" for source in ("&#124; b", "&#91;X&#93;", "&amp; &#91;", "b a")]
    write_lines(tmp_path / "table", lines)
    assert [row.line for row in read_table(tmp_path / "table", PhrasesOfText([text]))] == lines[:3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a ||| b", "2 of at least 3 fields between triple bars; expected `source ||| target ||| scores`"),
        ("a ||| b ||| 1 x 1 1 1", "a score is 'x', not a finite number"),
        ("a ||| b |||  ||| 0-0", "no scores in the third field"),
        ("a ||| b ||| 1 1", "2 scores, where the first line has 5"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, said):
    path = tmp_path / "table"
    write_lines(path, [LINES[0], line])
    with pytest.raises(InputError) as caught:
        list(read_table(path))
    assert str(caught.value).startswith(f"{path}:2: {said}")


@pytest.mark.parametrize(("name", "scores"), [("de-en.model2", 4), ("fr-en.lexreo", 5)])
def test_real_tables_are_copied_unchanged(shared_data, name, scores):
    path = shared_data / "moses-phrase-tables" / f"{name}.phrase-table.xz"
    count = 0
    for row, line in zip(read_table(path), read_lines(path), strict=True):
        assert row.line == line
        assert row.adding([0.5]).line.replace(" 0.5", "", 1) == line or " 0.5" in line
        assert len(row.scores) == scores
        count += 1
    assert count > 10_000
