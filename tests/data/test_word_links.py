"""Words that translate each other are linked, and others are not."""

from __future__ import annotations

import random

import pytest

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data.changed_pairs import FREQUENT, WordLinks
from dragoman.data.preparation import PreparedCorpus, build_store
from dragoman.text.segmentation import train_segmentation

NOUNS = [
    f"{first}{second}"
    for first in ("bal", "dor", "fim", "gat", "hur", "kel")
    for second in ("amo", "eki", "uto", "ose")
]
FILLERS = [f"of{letter}" for letter in "abcdefghijklmnopqrstuvwxyzäöüßéèêáàâîïôû"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    """Nouns become themselves backwards, in another order; frequent words are not translated."""
    draw, pairs = random.Random(1), []
    for number in range(400):
        words = draw.sample(NOUNS, 4)
        target = [word[::-1] for word in words[::-1]]
        pairs.append(
            Pair(" ".join([*words, *draw.sample(FILLERS, 8)]) + ".", " ".join(target).capitalize() + "!", str(number))
        )
    side = SideConfig(segmentation="characters", vocabulary=80)
    characters = train_segmentation(side, [])
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    text = TextConfig(source=side, target=side, protected=("url",))
    return build_store(tmp_path_factory.mktemp("store"), pairs, (characters, characters), text, cleaner)


def test_words_that_translate_each_other_are_linked(corpus: PreparedCorpus) -> None:
    links = WordLinks(corpus.store, corpus.source, corpus.target)
    source, target = "Balamo ofa, dorose.", "Esorod (omalab)!"
    found = [(source[a:b], target[c:d]) for (a, b), (c, d) in links.of_pair(source, target)]
    assert found == [("Balamo", "omalab"), ("dorose", "Esorod")]


def test_a_word_that_occurs_twice_has_no_link(corpus: PreparedCorpus) -> None:
    links = WordLinks(corpus.store, corpus.source, corpus.target)
    assert links.of_pair("balamo balamo dorose", "omalab esorod") == [((14, 20), (7, 13))]
    assert links.of_pair("balamo unknown", "esorod") == []


def test_the_most_frequent_words_have_no_link(corpus: PreparedCorpus) -> None:
    assert len(FILLERS) == FREQUENT
    links = WordLinks(corpus.store, corpus.source, corpus.target)
    assert all(links.of_pair(filler, noun[::-1]) == [] for filler in FILLERS for noun in NOUNS)


def test_new_words_are_of_parts_of_words_and_follow_from_the_random_numbers(corpus: PreparedCorpus) -> None:
    links = WordLinks(corpus.store, corpus.source, corpus.target)
    words = [links.new_word(random.Random(seed)) for seed in range(100)]
    assert words == [links.new_word(random.Random(seed)) for seed in range(100)]
    assert len(set(words)) > 90
    assert all(word.isalpha() and 4 <= len(word) <= 12 for word in words)
    assert 60 < sum(word.istitle() for word in words) < 95
