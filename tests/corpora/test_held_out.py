"""The part of a training text that is held out as dev set."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from dragoman.corpora import held_out
from dragoman.corpora.held_out import HeldOut, hold_out
from dragoman.corpora.pairs import Pair
from dragoman.errors import InputError


def text(*lines: str) -> list[Pair]:
    return [Pair(line, line.upper(), f"train:{number}") for number, line in enumerate(lines, 1)]


def lines_of(pairs: Iterable[Pair]) -> list[str]:
    return [pair.source for pair in pairs]


def usable(pair: Pair) -> bool:
    return bool(pair.source)


def test_a_twentieth_is_held_out_and_the_rest_is_left() -> None:
    pairs = text(*(f"line {number}" for number in range(200)))
    held = hold_out(iter(pairs), usable)
    rest = list(held.without(pairs))
    assert len(held.pairs) == 10
    assert len(rest) == 190
    assert sorted([*held.pairs, *rest], key=lambda pair: pair.origin) == sorted(pairs, key=lambda pair: pair.origin)
    assert held.pairs == [pair for pair in pairs if pair in held.pairs]  # in the order of the text


def test_a_large_text_gives_no_more_than_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "MOST", 50)
    for size, least, greatest in ((5000, 50, 50), (400, 14, 28)):  # of 400 the number is an estimate, about 20
        held = hold_out(text(*map(str, range(size))), usable)
        assert least <= len(held.pairs) <= greatest


def test_order_and_files_do_not_matter_and_seeds_do_not_either() -> None:
    pairs = text(*(f"line {number}" for number in range(300)))
    shuffled = random.Random(5).sample(pairs, len(pairs))
    assert set(lines_of(hold_out(pairs, usable).pairs)) == set(lines_of(hold_out(shuffled, usable).pairs))


def test_repetitions_of_a_held_out_pair_do_not_stay() -> None:
    pairs = text(*(f"line {number}" for number in range(100)), *(f"line {number}" for number in range(100)))
    held = hold_out(pairs, usable)
    assert len(held.pairs) == 5  # of the 100 different ones
    rest = Counter(lines_of(held.without(pairs)))
    assert len(rest) == 95
    assert set(rest.values()) == {2}
    # The same source with another target is another pair.
    other = Pair(held.pairs[0].source, "else", "train:300")
    assert list(held.without([other])) == [other]


def test_what_is_not_usable_is_not_held_out() -> None:
    held = hold_out(text("", "a", "", "b", ""), usable)
    assert len(held.pairs) == 1
    assert held.pairs[0].source in ("a", "b")


@pytest.mark.parametrize(("lines", "found"), [(["", ""], "no usable lines"), (["a", "a"], "1 usable line,")])
def test_one_pair_is_too_few(lines: list[str], found: str) -> None:
    with pytest.raises(InputError, match=f"the training text has {found}"):
        hold_out(text(*lines), usable)


def test_pairs_of_a_given_dev_set_are_counted_where_they_are_seen() -> None:
    given = HeldOut(text("a", "b", "b", "c"))
    training = [*text("a", "d", "b", "a"), Pair("c", "another", "train:9")]
    assert list(given.observed(training)) == training
    assert given.seen == 3  # a, and b twice
