"""The packed sentences of a page, unpacked again."""

import base64
import json
import zlib
from dataclasses import replace

import numpy as np

from dragoman.report.samples import Sample, given_sample
from dragoman.report.sentences import FAINTEST, LARGEST, pack
from dragoman.text.words import raw_words


def sample(source: str, translation: str, reference: str | None = None, **more) -> Sample:
    source_words, target_words = raw_words(source), raw_words(translation)
    shape = len(target_words), len(source_words)
    weights = np.linspace(0, 1, shape[0] * shape[1]).reshape(shape)
    return replace(Sample(source, translation, reference, source_words, target_words, weights), **more)


def unpacked(*systems, numbers=None):
    names = [f"system {number}" for number in range(len(systems))]
    packed = pack(names, systems, numbers or range(1, len(systems[0]) + 1), {"more": True})
    weights = zlib.decompress(base64.b64decode(packed.weights))
    return json.loads(packed.texts), np.frombuffer(weights, np.uint8), packed


def test_texts_scores_and_numbers_are_there():
    texts, _, _ = unpacked([sample("a b", "c d", "c d"), sample("e", "f", None)], numbers=[3, 9])
    assert texts["systems"] == ["system 0"]
    assert texts["more"] is True
    first, second = texts["sentences"]
    assert (first["n"], first["s"], first["r"], first["t"][0]["x"]) == (3, "a b", "c d", "c d")
    assert first["t"][0]["c"] == 100
    assert (second["n"], second["r"], second["t"][0]["c"]) == (9, None, None)


def test_weights_are_bytes_row_by_row():
    samples = [sample("a b", "c d e"), sample("f", "g")]
    _, weights, _ = unpacked(samples)
    expected = np.concatenate([one.weights.ravel() for one in samples])
    np.testing.assert_allclose(weights / 255, expected, atol=0.5 / 255)


def test_tiny_weights_become_0_and_weights_rounded_above_1_become_1():
    weights = np.array([[FAINTEST * 0.99, 1.0000001]])
    assert unpacked([sample("a b", "c", weights=weights)])[1].tolist() == [0, 255]


def test_no_text_can_end_the_element_it_stands_in():
    hostile = "</script><!--<script>"
    texts, _, packed = unpacked([sample(hostile, hostile, hostile)])
    assert "<" not in packed.texts
    assert texts["sentences"][0]["s"] == hostile


def test_words_are_stored_only_where_single_spaces_do_not_separate_them():
    plain, tab = sample("a b", "c d"), sample("a\tb", "c  d")
    split = sample("ab", "cd", target_words=[(0, 1), (1, 2)], weights=np.ones((2, 1)))
    texts, _, _ = unpacked([plain, tab, split])
    assert [(one["i"], one["t"][0]["j"]) for one in texts["sentences"]] == [
        (None, None),
        ([0, 1, 2, 3], None),
        (None, [0, 1, 1, 2]),
    ]


def test_differences_of_two_systems_are_marked_in_both():
    texts, _, _ = unpacked([sample("x", "a big dog.")], [sample("x", "a small, dog.")])
    one, other = texts["sentences"][0]["t"]
    assert (other["d"], other["f"]) == ([1], [1])
    assert "d" not in one


def test_weights_between_other_words_of_the_source_are_left_out():
    """Two models may cut a line without blanks into different words, and the page shows the line once."""
    one = sample("ab", "c", source_words=[(0, 1), (1, 2)], weights=np.ones((1, 2)))
    other = sample("ab", "c")
    texts, weights, _ = unpacked([one], [other])
    assert [translation["a"] for translation in texts["sentences"][0]["t"]] == [True, False]
    assert weights.tolist() == [255, 255]


def test_without_weights_or_with_too_many_there_are_none():
    long = " ".join("a" * (LARGEST + 1))
    texts, weights, _ = unpacked([given_sample("a b", "c", None), sample(long, "b"), sample("", "")])
    assert [one["t"][0]["a"] for one in texts["sentences"]] == [False] * 3
    assert weights.size == 0


def test_windows_are_rounded_and_null_without_a_position():
    windows = np.array([[0.123456, -0.5, 1.5], [np.nan] * 3])
    texts, _, _ = unpacked([sample("a b", "c d", windows=windows)])
    assert texts["sentences"][0]["t"][0]["p"] == [[0.12, -0.5, 1.5], None]


def test_the_direction_of_the_source_is_stored():
    texts, _, _ = unpacked([sample("مرحبا بكم", "hello"), sample("hello", "مرحبا")])
    assert [one["rtl"] for one in texts["sentences"]] == [True, False]
