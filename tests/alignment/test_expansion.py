from __future__ import annotations

from dragoman.alignment.expansion import expand_links
from dragoman.config.schema import SideConfig
from dragoman.text.links import Link
from dragoman.text.segmentation import train_segmentation
from dragoman.text.words import raw_words


def spread(links: list[Link], source: str, target: str, kind: str = "characters") -> list[Link]:
    segmentation = train_segmentation(SideConfig(segmentation=kind), [])  # type: ignore[arg-type]
    spans = [segmentation.segment(line).offsets for line in (source, target)]
    return expand_links(links, spans[0], raw_words(source), spans[1], raw_words(target))


def test_a_link_joins_all_segments_of_its_words() -> None:
    # a blank belongs to the word after it: segments are a, b, _, c and X, _, Y, Z
    assert spread([(0, 0), (1, 1)], "ab c", "X YZ") == [(0, 0), (1, 0), *((s, t) for s in (2, 3) for t in (1, 2, 3))]


def test_links_are_unchanged_where_words_are_segments() -> None:
    assert spread([(0, 1), (1, 0), (1, 2)], "a b", "x y z", "words") == [(0, 1), (1, 0), (1, 2)]


def test_a_word_of_several_tokens_is_linked_with_all_of_them() -> None:
    # the tokeniser takes the comma off: ab | , | c
    assert spread([(0, 0), (1, 1)], "ab, c", "x y", "words") == [(0, 0), (1, 0), (2, 1)]


def test_no_links_expand_to_none() -> None:
    assert spread([], "a b", "x") == []
    assert spread([], "", "") == []
