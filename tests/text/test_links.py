from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.links import format_links, parse_links, read_links, write_links

LINKS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=8)


@given(LINKS)
def test_links_written_and_read_again_are_the_same_set(links):
    assert parse_links(format_links(links), "here") == sorted(set(links))


def test_a_file_keeps_its_lines_the_blank_ones_too(tmp_path):
    sentences = [[(0, 0), (1, 2)], [], [(10, 3)], []]
    write_links(tmp_path / "a.pharaoh", sentences)
    assert (tmp_path / "a.pharaoh").read_bytes() == b"0-0 1-2\n\n10-3\n\n"
    assert list(read_links(tmp_path / "a.pharaoh")) == sentences


def test_links_are_written_in_ascending_order_each_once():
    assert format_links([(2, 0), (0, 1), (2, 0), (0, 0)]) == "0-0 0-1 2-0"


def test_any_blanks_stand_between_links():
    assert parse_links("  1-0\t0-0 \r", "here") == [(0, 0), (1, 0)]


@pytest.mark.parametrize("word", ["1", "1-", "-1", "1--2", "1:2", "1-2-3", "a-b", "1p2", "1.0-2", "١-٢"])
def test_what_is_not_a_link_is_named_with_file_and_line(tmp_path, word):
    path = tmp_path / "gold.pharaoh"
    path.write_text(f"0-0\n1-1 {word} 2-2\n")
    with pytest.raises(InputError) as caught:
        list(read_links(path))
    assert str(caught.value) == (
        f"{path}:2: {word!r} is not an alignment link; Pharaoh lines hold SOURCE-TARGET word numbers from 0, "
        "such as 0-0 1-2"
    )


def test_lines_are_read_one_at_a_time(tmp_path):
    path = tmp_path / "links"
    path.write_text("0-0\nnonsense\n")
    links = read_links(path)
    assert next(links) == [(0, 0)]
    with pytest.raises(InputError, match="links:2: 'nonsense'"):
        next(links)


def test_a_number_of_thousands_of_digits_is_no_link() -> None:
    with pytest.raises(InputError, match="links:1"):
        parse_links(f"0-0 1-{'9' * 5000}", "links:1")
