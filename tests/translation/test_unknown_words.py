from __future__ import annotations

import numpy as np
import pytest

from dragoman.config.schema import SearchConfig
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS, UNK, Vocabulary
from dragoman.translation.ensemble import Ensemble
from dragoman.translation.translator import Translator
from dragoman.translation.unknown_words import Replacement, UnknownWordReplacer

WORDS = TextSide(WhitespaceSegmentation(), Vocabulary(["the", "dog", "runs"]))
LETTERS = TextSide(CharacterSegmentation(), Vocabulary([*"▁abcdefgh"]))
DICTIONARY = {"hund": "hound", "Otto": "Otho"}


@pytest.fixture
def writer(toy_engine):
    """Writes what it is told, and looks at what it is told: `writer(script, looks)`."""

    class Writer(toy_engine):
        def __init__(self, script, looks, shift=0):
            super().__init__(
                len(WORDS.vocabulary),
                answer=lambda _, prefix: {[*script, EOS][len(prefix) - 1]: 1.0},
                attention_shift=shift,
            )
            self.looks = looks

        def distribution(self, source, prefix):
            attention = np.full(len(source), 0.01, dtype=np.float32)
            step = len(prefix) - 1 - self.attention_shift
            if 0 <= step < len(self.looks):
                attention[self.looks[step]] = 1.0
            attention[-1] = 5.0  # an end of sentence never counts
            return super().distribution(source, prefix)[0], attention

    return Writer


def translate(engine, text, unknown, source=WORDS):
    return Translator(engine, source, WORDS, SearchConfig(normalisation="none"), unknown=unknown).translate(text)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("copy", "the hund runs Otto x"),
        ("dictionary", "the hound runs Otho x"),
        ("lowercase-dictionary", "the hound runs Otto x"),
    ],
)
def test_an_unknown_word_is_replaced_by_the_rule(writer, rule, text, shift):
    engine = writer([4, UNK, 6, UNK, UNK], looks=[0, 2, 0, 1, 3], shift=shift)
    best = translate(engine, "der Otto hund x", UnknownWordReplacer(rule, DICTIONARY))
    assert best.text == text
    assert best.tokens == ["the", "<unk>", "runs", "<unk>", "<unk>"]
    assert [replacement.segment for replacement in best.replacements] == [1, 3, 4]
    assert best.replacements[2] == Replacement(4, "x", "x", "copy")
    assert best.replacements[0].how == ("copy" if rule == "copy" else "dictionary")
    assert best.alignment == [(0, 0), (0, 2), (1, 3), (2, 1), (3, 4)]


def test_without_a_rule_the_unknown_word_stays(writer):
    best = translate(writer([4, UNK], looks=[0, 1]), "der hund", None)
    assert (best.text, best.replacements) == ("the <unk>", [])


def test_a_translation_of_several_words_counts_as_such_in_the_alignment(writer):
    unknown = UnknownWordReplacer("dictionary", {"Fluss": "big river"})
    best = translate(writer([UNK, 5], looks=[1, 0]), "ein Fluss", unknown)
    assert best.text == "big river dog"
    assert best.alignment == [(0, 2), (1, 0), (1, 1)]


def test_character_models_copy_whole_words_without_punctuation(writer):
    # "ab, (cd)": a b , ▁ ( c d ) are segments 0 to 7.
    best = translate(writer([UNK, 4, UNK], looks=[5, 0, 1]), "ab, (cd)", UnknownWordReplacer("copy"), LETTERS)
    assert best.text == "cd the ab"


def test_an_ensemble_copies_the_word_with_most_attention(writer):
    engines = [writer([UNK], looks=[0]), writer([UNK], looks=[3])]
    ensemble = Ensemble([(engines[0], WORDS), (engines[1], LETTERS)], weights=[1, 2])
    unknown = UnknownWordReplacer("dictionary", {"b": "bee"})
    best = Translator.of_ensemble(ensemble, WORDS, SearchConfig(), unknown=unknown).translate("a, b.")
    assert best.text == "bee"


def test_a_model_without_attention_replaces_nothing(toy_engine):
    engine = toy_engine(
        len(WORDS.vocabulary), answer=lambda _, prefix: {UNK if len(prefix) == 1 else EOS: 1.0}, attends=False
    )
    assert translate(engine, "a", UnknownWordReplacer("copy")).text == "<unk>"
