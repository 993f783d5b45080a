from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.alignment.formats import format_alignments, read_alignments
from dragoman.errors import InputError
from dragoman.text.links import LinkFormat


@pytest.fixture
def read(tmp_path: Path):
    """What is read from a text as [(sure, only possible)], and the format."""

    def read_text(text: str, *arguments, **options):
        path = tmp_path / "links"
        path.write_text(text, encoding="utf-8")
        found = read_alignments(path, *arguments, **options)
        pairs = [(sorted(marked.sure), sorted(marked.possible - marked.sure)) for marked in found.sentences]
        return pairs, found.format

    return read_text


@pytest.mark.parametrize("link", ["1p2", "1?2", "1P2"])
def test_a_possible_link_is_not_sure(read, link):
    assert read(f"0-0 {link} 2s3 4S4") == ([([(0, 0), (2, 3), (4, 4)], [(1, 2)])], "pharaoh")


def test_a_link_that_is_sure_and_possible_is_sure(read):
    assert read("0-0 0p0") == ([([(0, 0)], [])], "pharaoh")


def test_a_word_0_shows_that_words_count_from_0(read):
    assert read("1-1\n\n3-0\n") == ([([(1, 1)], []), ([], []), ([(3, 0)], [])], "pharaoh")
    assert read("1-1\n3-0\n", one_based=True)[1] == "pharaoh"


def test_without_a_word_0_the_format_must_be_given(read):
    assert read("1-1 2p3\n", one_based=True) == ([([(0, 0)], [(1, 2)])], "talp")
    assert read("1-1 2p3\n", "talp") == ([([(0, 0)], [(1, 2)])], "talp")
    assert read("1-1 2p3\n", "pharaoh") == ([([(1, 1)], [(2, 3)])], "pharaoh")


def test_empty_lines_are_sentences_without_links(read):
    assert read("\n\n") == ([([], []), ([], [])], "pharaoh")
    assert read("") == ([], "pharaoh")


def test_naacl_lines_come_in_any_order_and_leave_sentences_out(read):
    text = "0003 2 1 P\n1 1 1 S\n 3\t1 1\n1 2 2 P 0.7\n1 3 3 S 1e-2\n"
    assert read(text) == ([([(0, 0), (2, 2)], [(1, 1)]), ([], []), ([(0, 0)], [(1, 0)])], "naacl")


def test_links_to_the_empty_word_are_none_but_name_their_sentence(read):
    assert read("1 1 1 S\n2 0 3 S\n2 4 0 P\n") == ([([(0, 0)], []), ([], [])], "naacl")


LINKS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5)


@pytest.mark.parametrize("form", get_args(LinkFormat))
@given(sentences=st.lists(LINKS, max_size=4).map(lambda lines: [*lines, [(7, 0)]]))
def test_what_is_written_is_read_again(tmp_path_factory, form, sentences):
    path = tmp_path_factory.mktemp("links") / "file"
    path.write_text("".join(f"{line}\n" for line in format_alignments(sentences, form)), encoding="utf-8")
    found = read_alignments(path, form)
    assert [sorted(marked.sure) for marked in found.sentences] == [sorted(set(links)) for links in sentences]


def test_the_formats_as_they_are_written():
    sentences = [[(1, 0), (0, 0)], [], [(2, 3)]]
    assert list(format_alignments(sentences, "pharaoh")) == ["0-0 1-0", "", "2-3"]
    assert list(format_alignments(sentences, "pharaoh", one_based=True)) == ["1-1 2-1", "", "3-4"]
    assert list(format_alignments(sentences, "talp")) == ["1-1 2-1", "", "3-4"]
    assert list(format_alignments(sentences, "naacl")) == ["1 1 1 S", "1 2 1 S", "3 3 4 S"]


def test_a_naacl_sentence_number_beyond_any_corpus_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gold.naacl"
    path.write_text("1 1 1 S\n999999999 1 1 S\n")
    with pytest.raises(InputError, match=f"{path}:2: sentence 999999999; the NAACL format counts"):
        read_alignments(path)
