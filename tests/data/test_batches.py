from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data import batches as batches_module
from dragoman.data.batches import BEGINNING, Batch, Batches, Budget, Position, batch_ids, sorted_batches
from dragoman.data.preparation import build_store
from dragoman.data.store import Store
from dragoman.text.segmentation import train_segmentation
from dragoman.text.vocabulary import EOS, PAD

PAIRS = 500


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    random = np.random.default_rng(7)
    letters = np.array(list("abcdefghij"))

    def line(mean: int) -> str:
        return "".join(random.choice(letters, 1 + random.poisson(mean)))

    pairs = [Pair(line(6), line(8), f"test:{number}") for number in range(PAIRS)]
    side = SideConfig(segmentation="characters", vocabulary=50)
    characters = train_segmentation(side, [])
    folder = tmp_path_factory.mktemp("store")
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    return build_store(folder, pairs, (characters, characters), TextConfig(source=side, target=side), cleaner).store


def batches(store: Store, budget: Budget = Budget("tokens", 120), seed: int = 1, pool: int = 4) -> Batches:  # noqa: B008
    return Batches(store, budget, pool=pool, seed=seed, source_eos=True)


def epoch(made: Batches, number: int = 0) -> list[Batch]:
    found = []
    for batch, position in made.from_position(Position(number, 0, 0)):
        found.append(batch)
        if position.epoch > number:
            return found
    raise AssertionError


def same(one: Batch, other: Batch) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("source", "source_lengths", "target", "target_lengths", "indices")
    )


@pytest.mark.parametrize("unit", ["tokens", "sentences"])
def test_every_pair_once_an_epoch(store: Store, unit: Literal["tokens", "sentences"]) -> None:
    found = batches(store, Budget(unit, 32))
    for number in (0, 1):
        rows = np.concatenate([batch.indices for batch in epoch(found, number)])
        assert sorted(rows.tolist()) == list(range(PAIRS))


@pytest.mark.parametrize("source_eos", [True, False])
def test_rows_are_the_stored_lines(store: Store, source_eos: bool) -> None:
    made = Batches(store, Budget("tokens", 200), pool=3, seed=2, source_eos=source_eos)
    for batch in epoch(made):
        assert batch.source.dtype == batch.target.dtype == batch.indices.dtype == np.int64
        assert batch.source.shape == (len(batch), batch.source_lengths.max())
        assert batch.target.shape == (len(batch), batch.target_lengths.max())
        for row, index in enumerate(batch.indices.tolist()):
            source = store.source.line(index) + [EOS] * source_eos
            target = [*store.target.line(index), EOS]
            assert batch.source_lengths[row] == len(source)
            assert batch.target_lengths[row] == len(target)
            assert batch.source[row].tolist() == source + [PAD] * (batch.source.shape[1] - len(source))
            assert batch.target[row].tolist() == target + [PAD] * (batch.target.shape[1] - len(target))


def test_token_budget_holds_on_both_sides(store: Store) -> None:
    made = epoch(batches(store, Budget("tokens", 120), pool=20))
    assert all(batch.target.size <= 120 and batch.source.size <= 120 for batch in made)
    assert len(made) < 1.3 * sum(max(b.source_lengths.sum(), b.target_lengths.sum()) for b in made) / 120


def test_sentence_budget_is_a_count(store: Store) -> None:
    sizes = [len(batch) for batch in epoch(batches(store, Budget("sentences", 32)))]
    assert max(sizes) == 32
    assert sum(size < 32 for size in sizes) <= 1


def test_pair_over_the_budget_is_a_batch_of_its_own(store: Store) -> None:
    made = epoch(batches(store, Budget("tokens", 1)))
    assert [len(batch) for batch in made] == [1] * PAIRS


def test_like_lengths_go_together(store: Store) -> None:
    made = epoch(batches(store, Budget("tokens", 120), pool=10))
    padding = 1 - sum(batch.target_lengths.sum() for batch in made) / sum(batch.target.size for batch in made)
    assert padding < 0.08


def test_lengths_are_mixed_over_the_epoch(store: Store) -> None:
    widths = [batch.target.shape[1] for batch in epoch(batches(store, pool=1000))]
    assert widths != sorted(widths)


def test_order_follows_from_seed_and_epoch(store: Store) -> None:
    first = epoch(batches(store))
    again = epoch(batches(store))
    assert len(first) == len(again)
    assert all(map(same, first, again))
    for other in (epoch(batches(store, seed=2)), epoch(batches(store), number=1)):
        assert [batch.indices.tolist() for batch in other] != [batch.indices.tolist() for batch in first]


def test_resuming_anywhere_gives_the_same_batches(store: Store) -> None:
    made = batches(store)
    count = len(epoch(made))
    run = list(islice(made.from_position(BEGINNING), 2 * count + 3))
    assert len({position.pool for _, position in run}) > 2
    for stop in (0, 1, 5, count - 2, count - 1, count + 4):
        resumed = list(islice(batches(store).from_position(run[stop][1]), len(run) - stop - 1))
        assert len(resumed) == len(run) - stop - 1
        for (batch, position), (expected, expected_position) in zip(resumed, run[stop + 1 :], strict=True):
            assert same(batch, expected)
            assert position == expected_position


def test_resuming_sorts_no_pool_but_its_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[int] = []
    cut_sorted = batches_module._cut_sorted

    def counting(source: Any, target: Any, rows: Any, *arguments: Any, **options: Any) -> Any:
        pools.append(len(rows))
        return cut_sorted(source, target, rows, *arguments, **options)

    monkeypatch.setattr(batches_module, "_cut_sorted", counting)
    last = list(islice(batches(store).from_position(BEGINNING), len(epoch(batches(store))) - 1))[-1][1]
    assert last.pool > 1
    pools.clear()
    made = batches(store)
    next(made.from_position(last))
    assert made.epochs_before(last) > 0.9
    assert len(pools) == 1


def test_epochs_grow_with_every_batch_and_count_pairs_at_the_ends_of_pools(store: Store) -> None:
    made = batches(store)
    positions = [BEGINNING]
    while positions[-1].epoch < 2:
        positions.append(next(made.from_position(positions[-1]))[1])
    epochs = [made.epochs_before(position) for position in positions]
    assert epochs[0] == 0
    assert epochs[-1] == 2
    assert (np.diff(epochs) > 0).all()
    assert made.epochs_before(Position(0, 1, 0)) == made.pool_rows / PAIRS
    count = len(epoch(made))
    estimates = [made.batches_of_epoch(position) for position in positions[:count]]
    assert sum(estimates) / count == pytest.approx(count, rel=0.1)
    sentences = batches(store, Budget("sentences", 8))
    assert sentences.batches_of_epoch(BEGINNING) == pytest.approx(PAIRS / 8)


@pytest.mark.parametrize("seed", [1, 2])
def test_orders_of_epochs_and_pools_are_random(store: Store, seed: int) -> None:
    """Pairs that are neighbours in the store are far apart in the epoch, and batches of a length anywhere in a pool."""
    made = batches(store, Budget("sentences", 1), seed=seed, pool=PAIRS)
    orders = [np.concatenate([batch.indices for batch in epoch(made, number)]) for number in (0, 1)]
    for other in (np.arange(PAIRS), np.roll(orders[0], 1), orders[1]):
        assert abs(np.corrcoef(orders[0], other)[0, 1]) < 4 / PAIRS**0.5


def test_position_after_the_last_batch_is_the_next_epoch(store: Store) -> None:
    made = batches(store)
    positions = [position for _, position in islice(made.from_position(BEGINNING), len(epoch(made)) + 1)]
    assert [position.epoch for position in positions[:-2]] == [0] * (len(positions) - 2)
    assert positions[-2:] == [Position(1, 0, 0), Position(1, 0, 1)]


def test_sorted_batches_hold_every_pair_once(store: Store) -> None:
    made = list(sorted_batches(store, Budget("tokens", 300), source_eos=False))
    assert sorted(np.concatenate([batch.indices for batch in made]).tolist()) == list(range(PAIRS))
    lengths = np.concatenate([batch.target_lengths for batch in made])
    assert (np.diff(lengths) >= 0).all()
    for batch in made:
        assert batch.source[0, : batch.source_lengths[0]].tolist() == store.source.line(int(batch.indices[0]))


@given(
    pairs=st.lists(
        st.tuples(st.lists(st.integers(4, 99), max_size=9), st.lists(st.integers(4, 99), max_size=9)), max_size=20
    ),
    budget=st.builds(Budget, st.sampled_from(["tokens", "sentences"]), st.integers(1, 40)),
    source_eos=st.booleans(),
)
def test_lists_are_batched_whole(pairs: list[tuple[list[int], list[int]]], budget: Budget, source_eos: bool) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    seen = []
    for batch in batch_ids(sources, targets, budget, source_eos=source_eos):
        longest = max(batch.source.shape[1], batch.target.shape[1])
        assert len(batch) == 1 or len(batch) * (longest if budget.unit == "tokens" else 1) <= budget.size
        for row, index in enumerate(batch.indices.tolist()):
            assert batch.source[row, : batch.source_lengths[row]].tolist() == sources[index] + [EOS] * source_eos
            assert batch.target[row, : batch.target_lengths[row]].tolist() == [*targets[index], EOS]
            assert (batch.source[row, batch.source_lengths[row] :] == PAD).all()
            assert (batch.target[row, batch.target_lengths[row] :] == PAD).all()
            seen.append(index)
    assert sorted(seen) == list(range(len(pairs)))


def test_links_of_a_batch_are_those_of_its_pairs(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    side = SideConfig(segmentation="characters", vocabulary=50)
    characters = train_segmentation(side, [])

    def some_links(source: int, target: int) -> list[tuple[int, int]]:
        return [(s, t) for s in range(source) for t in range(target) if random.random() < 0.2]

    lengths = random.integers(1, 6, (40, 2)).tolist()
    given = [some_links(*pair) for pair in lengths]
    pairs = [
        Pair(" ".join("a" * source), " ".join("b" * target), "test", links)
        for (source, target), links in zip(lengths, given, strict=True)
    ]
    cleaner = Cleaner(CleaningConfig(duplicates="keep"))
    store = build_store(tmp_path, pairs, (characters, characters), TextConfig(source=side, target=side), cleaner).store
    assert store.links is not None
    found = 0
    for batch in epoch(batches(store, Budget("sentences", 7))):
        assert batch.links is not None
        for row, index in enumerate(batch.indices.tolist()):
            here = batch.links.rows == row
            links = list(zip(batch.links.source[here].tolist(), batch.links.target[here].tolist(), strict=True))
            assert links == store.links.of(index)
            words = {((s + 1) // 2, (t + 1) // 2) for s, t in links}  # a, then " a": two segments from the second on
            assert sorted(words) == given[index]
            found += len(links)
    assert found == len(store.links.links) > 100


def test_without_an_alignment_a_batch_has_no_links(store: Store) -> None:
    assert all(batch.links is None for batch in epoch(batches(store)))


@pytest.mark.parametrize("sort", ["target", "longer"])
def test_a_pool_is_sorted_by_the_length_that_is_asked_for(store: Store, sort: str) -> None:
    # 1600 pairs into 20 batches of 80 is Bahdanau et al. 2015, B.2; here a pool is the whole epoch
    pooled = Batches(store, Budget("sentences", 25), pool=20, seed=1, source_eos=True, sort=sort)  # type: ignore[arg-type]

    def lengths(batch: Batch) -> list[int]:
        longer = np.maximum(batch.source_lengths, batch.target_lengths)
        return (batch.target_lengths if sort == "target" else longer).tolist()

    found = [lengths(batch) for batch in epoch(pooled)]
    assert len(found) == 20
    assert all(batch == sorted(batch) for batch in found)
    in_order = sorted(found)
    assert found != in_order  # the batches are shuffled
    assert all(one[-1] <= other[0] for one, other in pairwise(in_order))
