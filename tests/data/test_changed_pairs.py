from __future__ import annotations

import random
import re
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from dragoman.config.building import override
from dragoman.config.schema import ChangesConfig, CleaningConfig, Config, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data.batches import BEGINNING, Batch, Batches, Budget
from dragoman.data.changed_pairs import PairChanges
from dragoman.data.preparation import PreparedCorpus, build_store
from dragoman.errors import ConfigError
from dragoman.text.changes import add_typing_errors, title_case
from dragoman.text.items import KINDS, Items
from dragoman.text.segmentation import train_segmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation
from tests.data.test_word_links import FILLERS, NOUNS

LETTERS = "abcdefgh"
CONFIG = ChangesConfig(capitals=0.1, title_case=0.2, lower_case=0.3, typing_errors=0.2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    draw = random.Random(3)

    def line() -> str:
        return " ".join("".join(draw.choices(LETTERS, k=draw.randint(3, 9))) for _ in range(8)).capitalize()

    pairs = [Pair(line(), line(), f"test:{number}", links=[(0, 0), (1, 1)]) for number in range(600)]
    pairs.append(Pair(LETTERS + LETTERS.upper(), LETTERS + LETTERS.upper(), "test:600", links=[(0, 0)]))
    side = SideConfig(segmentation="characters", vocabulary=50)
    characters = train_segmentation(side, [])
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    folder = tmp_path_factory.mktemp("store")
    return build_store(folder, pairs, (characters, characters), TextConfig(source=side, target=side), cleaner)


def batches(corpus: PreparedCorpus, config: ChangesConfig = CONFIG) -> Batches:
    changes = PairChanges(config, corpus.source, corpus.target, seed=1)
    return Batches(corpus.store, Budget("tokens", 800), pool=4, seed=1, source_eos=True, changes=changes)


def epoch(made: Batches, number: int = 0) -> list[Batch]:
    found = []
    for batch, position in made.from_position(BEGINNING._replace(epoch=number)):
        found.append(batch)
        if position.epoch > number:
            break
    return found


def lines(corpus: PreparedCorpus, found: list[Batch]) -> dict[int, tuple[str, str]]:
    """By the number of the pair."""
    return {
        int(index): (corpus.source.decode(source), corpus.target.decode(target))
        for batch in found
        for index, source, target in zip(batch.indices, batch.source, batch.target, strict=True)
    }


def kind(before: tuple[str, str], after: tuple[str, str]) -> str | None:
    if after == before:
        return None
    for name, change in (("capitals", str.upper), ("title_case", title_case), ("lower_case", str.lower)):
        if after == (change(before[0]), change(before[1])):
            return name
    assert after[1] == before[1]
    return "typing_errors"


def test_pairs_are_changed_as_often_as_wanted_and_differently_in_each_epoch(corpus: PreparedCorpus) -> None:
    made, store = batches(corpus), corpus.store
    plain = {
        row: (corpus.source.decode(store.source.line(row)), corpus.target.decode(store.target.line(row)))
        for row in range(len(store))
    }
    changes = []
    for number in (0, 1):
        after = lines(corpus, epoch(made, number))
        assert after.keys() == plain.keys()
        changes.append({row: kind(plain[row], after[row]) for row in plain})
        counts = Counter(changes[-1].values())
        for name, share in CONFIG.values().items():
            assert counts[name] == pytest.approx(share * len(store), abs=40), name
    assert made.changes is not None
    drawn = made.changes.count(len(store), made.pool_rows)
    first = Counter(changes[0].values())
    assert all(0 <= drawn[name] - first[name] <= 60 for name in drawn), "typing errors spare some lines"
    assert changes[0] != changes[1]


def test_training_goes_on_from_any_position(corpus: PreparedCorpus) -> None:
    whole = list(islice(batches(corpus).from_position(BEGINNING), 30))
    for place in (0, 5, 17):
        resumed = islice(batches(corpus).from_position(whole[place][1]), 3)
        for (batch, position), (other, expected) in zip(resumed, whole[place + 1 :], strict=False):
            assert position == expected
            assert np.array_equal(batch.source, other.source)
            assert np.array_equal(batch.target, other.target)


def test_a_changed_pair_has_no_links(corpus: PreparedCorpus) -> None:
    """They count segments, and a changed line has others."""
    for batch in epoch(batches(corpus)):
        assert batch.links is not None
        linked = set(batch.links.rows.tolist())
        for row, index in enumerate(batch.indices.tolist()):
            source = batch.source[row, : batch.source_lengths[row] - 1].tolist()
            target = batch.target[row, : batch.target_lengths[row] - 1].tolist()
            same = (source, target) == (corpus.store.source.line(index), corpus.store.target.line(index))
            assert (row in linked) == same


def test_a_pair_stays_where_the_model_does_not_know_the_change(tmp_path: Path) -> None:
    side = SideConfig(segmentation="characters", vocabulary=50)
    characters = train_segmentation(side, [])
    pairs = [Pair("abc abc", "abc", "test:1"), Pair("bca", "cab", "test:2")]
    sides = TextConfig(source=side, target=side)
    corpus = build_store(tmp_path / "store", pairs, (characters, characters), sides, Cleaner(CleaningConfig()))
    found = lines(corpus, epoch(batches(corpus, ChangesConfig(capitals=0.99))))
    assert found == {0: ("abc abc", "abc"), 1: ("bca", "cab")}


def test_typing_errors() -> None:
    line = "Two young people walk along the street."
    seen = set()
    for seed in range(200):
        typed = add_typing_errors(line, random.Random(seed))
        words = list(zip(line.split(), typed.split(), strict=True))
        wrong = [(word, other) for word, other in words if word != other]
        for word, other in wrong:
            assert word[0] == other[0]
            assert abs(len(word) - len(other)) <= 1
            exchanged = sorted(word) == sorted(other)
            seen.add("exchanged" if exchanged else "left out" if len(other) < len(word) else "doubled")
    assert seen == {"exchanged", "left out", "doubled"}


def test_title_case() -> None:
    assert title_case("the dog's (old) house, l'été über-all 3rd") == "The Dog's (Old) House, L'été Über-All 3rd"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["training.changes.capitals=0.6", "training.changes.lower_case=0.4"], "the shares are 1 or more in sum"),
        (["training.changes.capitals=0.1", "text.source.segmentation=words"], "unknown to segmentation: words"),
    ],
)
def test_what_cannot_be_changed_is_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override(Config(), settings)


def test_with_case_marks_the_target_keeps_its_segments_between_marks(tmp_path: Path) -> None:
    side = SideConfig(segmentation="bpe", vocabulary=60)
    lines = ["Der Hund bellt nachts", "Nachts bellt ein Hund", "ein Hund", "Der Hund"] * 30
    subwords = train_segmentation(side, lines, case_marks=True)
    sides = TextConfig(source=side, target=side, case_marks=True)
    pairs = [Pair(line, line, f"test:{number}") for number, line in enumerate(lines)]
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    corpus = build_store(tmp_path / "store", pairs, (subwords, subwords), sides, cleaner)
    for name, marks in (("capitals", "⟪⟫"), ("title_case", "⤊⟫"), ("lower_case", "⤋")):
        for batch in epoch(batches(corpus, ChangesConfig(**{name: 0.9}))):
            for row, index in enumerate(batch.indices.tolist()):
                ids = batch.target[row, : batch.target_lengths[row] - 1].tolist()
                pieces, plain = corpus.target.vocabulary.pieces(ids), corpus.store.target.line(index)
                if ids != plain:
                    expected = corpus.target.vocabulary.pieces(plain)
                    assert pieces == [marks[0], *expected, *marks[1:]]
                    source = corpus.source.decode(batch.source[row])
                    assert source == corpus.target.decode(ids)


@pytest.fixture(scope="module")
def translations(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    """Nouns, which become themselves backwards, among words that have no translation."""
    draw, pairs = random.Random(1), []
    for number in range(300):
        words = draw.sample(NOUNS, 4)
        source, target = " ".join([*words, *draw.sample(FILLERS, 9)]), " ".join(word[::-1] for word in words)
        if number % 10 == 0:  # so that capitals are known
            source, target = source.upper(), target.upper()
        pairs.append(Pair(source, target, f"test:{number}"))
    side = SideConfig(segmentation="characters", vocabulary=200)
    items = Items([KINDS["url"].pattern])
    sides = [ProtectedSegmentation(train_segmentation(side, []), items, source=source) for source in (True, False)]
    text = TextConfig(source=side, target=side, protected=("url",))
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    return build_store(tmp_path_factory.mktemp("store"), pairs, (sides[0], sides[1]), text, cleaner)


def changed(corpus: PreparedCorpus, config: ChangesConfig, epoch: int = 0) -> list[tuple[str, str]]:
    rows = np.arange(len(corpus.store))
    found = PairChanges(config, corpus.source, corpus.target, seed=1).change(corpus.store, rows, epoch, 0)
    return [
        tuple(
            side.decode(ids.ids[start:end])
            for side, ids in ((corpus.source, found.source), (corpus.target, found.target))
            for start, end in [(ids.offsets[row], ids.offsets[row + 1])]
        )
        for row in rows
        if found.changed[row]
    ]


def test_placeholders_stand_at_words_that_translate_each_other(translations: PreparedCorpus) -> None:
    pairs = changed(translations, ChangesConfig(placeholders=0.9))
    assert len(pairs) > 200
    seen = Counter()
    for source, target in pairs:
        numbers = re.findall("⟦[1-9]⟧", source)
        assert sorted(numbers) == numbers == sorted(re.findall("⟦[1-9]⟧", target))
        seen.update(numbers)
        # Without the placeholders and what they replaced on one side, both have the same words.
        words = {word[::-1] for word in target.lower().split() if "⟦" not in word}
        assert words == {word for word in source.lower().split() if word in NOUNS}
        places = [source.split().index(number) for number in numbers]
        assert places == sorted(places)
    assert len(seen) == 9, "all placeholders are learnt"
    marked = [source for source, target in pairs if source.startswith("⟦1⟧ ") and target.startswith("⟦1⟧ ")]
    assert len(marked) > 0.1 * len(pairs), "the mark of a list stands before all words"
    assert changed(translations, ChangesConfig(placeholders=0.9)) == pairs
    assert changed(translations, ChangesConfig(placeholders=0.9), epoch=1) != pairs


def test_new_names_are_the_same_on_both_sides(translations: PreparedCorpus) -> None:
    pairs = changed(translations, ChangesConfig(names=0.9))
    assert len(pairs) > 200
    for source, target in pairs:
        new = {word for word in target.split() if word.lower()[::-1] not in NOUNS}
        assert 1 <= len(new) <= 2
        assert new <= set(source.split())
