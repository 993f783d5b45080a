from __future__ import annotations

from collections import Counter
from itertools import islice, takewhile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.config.building import build_config, override
from dragoman.config.schema import CleaningConfig, Config, MixConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair
from dragoman.data.batches import BEGINNING, Batches, Budget
from dragoman.data.mixing import Mix, choose_mix
from dragoman.data.preparation import build_store
from dragoman.data.store import Store
from dragoman.errors import ConfigError
from dragoman.text.segmentation import train_segmentation

SIZES = (30, 5, 12)


def drawn(mix: Mix, epochs: int, seed: int = 1) -> np.ndarray:
    return np.concatenate([mix.epoch(seed, epoch) for epoch in range(epochs)])


@example(sizes=[1, 1, 16, 40], weights=[1.0] * 4, epochs=2)  # epochs of 56 and of 60 pairs
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.lists(st.floats(0.1, 10), min_size=4, max_size=4),
    st.integers(1, 7),
)
def test_pairs_of_a_corpus_are_drawn_equally_often(sizes: list[int], weights: list[float], epochs: int) -> None:
    mix = Mix(sizes, weights[: len(sizes)])
    counts = Counter(drawn(mix, epochs).tolist())
    start = 0
    for size, share in zip(sizes, mix.shares, strict=True):
        of_corpus = [counts[row] for row in range(start, start + size)]
        assert max(of_corpus) - min(of_corpus) <= 1
        assert abs(sum(of_corpus) - share * sum(sizes) * epochs) <= 0.5001
        start += size
    assert sum(counts.values()) == sum(counts[row] for row in range(start))


def test_an_epoch_depends_on_seed_and_number_alone() -> None:
    mix = Mix(SIZES, (2, 2, 1))
    assert np.array_equal(mix.epoch(1, 3), Mix(SIZES, (4, 4, 2)).epoch(1, 3))
    assert not np.array_equal(mix.epoch(1, 3), mix.epoch(1, 2))
    assert not np.array_equal(mix.epoch(1, 3), mix.epoch(2, 3))


def test_shares_come_from_weights_or_from_sizes_and_temperature() -> None:
    assert choose_mix(MixConfig(), SIZES) is None
    assert choose_mix(MixConfig(temperature=5), (30,)) is None
    weighted = choose_mix(MixConfig(weights=(1, 1, 2)), SIZES)
    assert weighted is not None
    assert weighted.shares.tolist() == [0.25, 0.25, 0.5]
    assert weighted.repetitions.tolist() == pytest.approx([0.25 * 47 / 30, 0.25 * 47 / 5, 0.5 * 47 / 12])
    tempered = choose_mix(MixConfig(temperature=2), (16, 1, 4))
    assert tempered is not None
    assert tempered.shares.tolist() == pytest.approx([4 / 7, 1 / 7, 2 / 7])
    assert "corpus 2: 1 pairs, 14.3% of an epoch, each 3 times" in str(tempered)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"training\.mix\.weights: 2 for 3 training corpora"):
        choose_mix(MixConfig(weights=(1, 1)), SIZES)
    with pytest.raises(ConfigError, match="training corpus 2 has no pairs left"):
        choose_mix(MixConfig(weights=(1, 1)), (5, 0))
    with pytest.raises(ConfigError, match="temperature: has no effect"):
        override(Config(), ["training.mix.weights=[2, 1]", "training.mix.temperature=3"])
    with pytest.raises(ConfigError, match=r"training\.mix\.weights"):
        override(Config(), ["training.mix.weights=[2, 0]"])
    assert build_config({"training": {"mix": {"weights": [2, 1]}}}, "test").training.mix.weights == (2, 1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three corpora; line k has k letters or so, and two lines are dropped."""
    folder = tmp_path_factory.mktemp("mixed")
    corpora = []
    for number, size in enumerate(SIZES):
        path = folder / f"{number}.tsv"
        lines = [f"{'a' * (1 + row % 9)}\t{'b' * (1 + row % 7)}\n" for row in range(size)]
        path.write_text("".join(lines) + ("\t\n" if number < 2 else ""), encoding="utf-8")
        corpora.append([path])
    side = SideConfig(segmentation="characters", vocabulary=50)
    characters = train_segmentation(side, [])
    pairs: list[Pair] = list(read_pairs(corpora))
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    text = TextConfig(source=side, target=side)
    return build_store(folder / "store", pairs, (characters, characters), text, cleaner).store


def test_a_store_counts_the_kept_pairs_of_each_corpus(store: Store, tmp_path: Path) -> None:
    assert store.corpora == SIZES
    assert store.left_out == {"empty side": 2}


def test_batches_of_a_mix_resume_anywhere(store: Store) -> None:
    mix = Mix(store.corpora, (1, 1, 1))
    batches = Batches(store, Budget("tokens", 40), pool=3, seed=4, source_eos=True, mix=mix)
    stream = list(takewhile(lambda item: item[1].epoch < 2, batches.from_position(BEGINNING)))
    first = np.concatenate([batch.indices for batch, _ in stream])
    pairs = len(mix.epoch(4, 0))
    assert sorted(first[:pairs].tolist()) == sorted(mix.epoch(4, 0).tolist())
    for middle in (2, len(stream) // 2 + 2):
        again = [batch.indices.tolist() for batch, _ in islice(batches.from_position(stream[middle - 1][1]), 3)]
        assert again == [batch.indices.tolist() for batch, _ in stream[middle : middle + 3]]


def test_the_tokens_of_an_epoch_are_counted(store: Store) -> None:
    mix = Mix(store.corpora, (3, 1, 2))
    epochs = 30  # in 30 epochs whole numbers of passes
    lengths = store.target.lengths + 1
    total = sum(int(lengths[row]) for row in drawn(mix, epochs))
    assert mix.tokens(store.target) == pytest.approx(total / epochs, rel=0.01)
