from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.writing import write_pairs
from dragoman.errors import InputError
from dragoman.workflows.synthetic_pairs import DISTANCE, DROPPED, add_noise


@given(st.integers(0, 40), st.integers(0, 1000))
def test_noise_drops_words_and_moves_the_others_a_little(count: int, seed: int) -> None:
    words = [str(number) for number in range(count)]
    noised = add_noise(words, random.Random(seed))
    assert add_noise(words, random.Random(seed)) == noised
    assert bool(noised) == bool(words)
    kept = sorted(noised, key=int)
    assert set(kept) <= set(words)
    assert all(abs(kept.index(word) - place) <= DISTANCE for place, word in enumerate(noised))


def test_noise_drops_a_tenth() -> None:
    draw = random.Random(1)
    lengths = [len(add_noise(["a"] * 20, draw)) for _ in range(500)]
    assert sum(lengths) / (20 * 500) == pytest.approx(1 - DROPPED, abs=0.01)
    moved = Counter(tuple(add_noise("abc", draw)) == ("a", "b", "c") for _ in range(200))
    assert min(moved[True], moved[False]) > 20


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl.gz"])
def test_written_pairs_are_read_again(tmp_path: Path, name: str) -> None:
    with write_pairs(tmp_path / name) as write:
        write("a b", "c\u2028d")
        write("x\ty", "z")
    tab = " " if "tsv" in name else "\t"
    found = [(pair.source, pair.target) for pair in read_pairs([[tmp_path / name]])]
    assert found == [("a b", "c\u2028d"), (f"x{tab}y", "z")]


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.tsv or \.jsonl"), write_pairs(tmp_path / "pairs.txt"):
        raise AssertionError
