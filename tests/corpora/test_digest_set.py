"""The set of digests that finds repetitions."""

from __future__ import annotations

import hashlib
import random

from dragoman.corpora.digest_set import DigestSet


def test_it_answers_as_a_set_does() -> None:
    draw, known, digests = random.Random(1), set(), DigestSet()
    for _ in range(30_000):
        digest = hashlib.blake2b(str(draw.randrange(12_000)).encode(), digest_size=8).digest()
        assert digests.add(digest) == (digest not in known)
        known.add(digest)
    assert not digests.full


def test_digests_that_share_their_low_bits_are_told_apart() -> None:
    digests = DigestSet()
    values = [(number << 40).to_bytes(8, "little") for number in range(1, 2000)]
    assert all(digests.add(value) for value in values)
    assert not any(digests.add(value) for value in values)
    assert digests.add(bytes(8))
    assert not digests.add(bytes(8))


def test_a_full_set_finds_what_it_knows_and_says_that_it_is_full() -> None:
    digests = DigestSet(most=3)
    for number in range(3):
        assert digests.add(bytes([number + 1] * 8))
    assert not digests.full
    assert digests.add(b"a" * 8)
    assert digests.full
    assert digests.add(b"a" * 8)
    assert not digests.add(bytes([1] * 8))
