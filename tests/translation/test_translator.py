from __future__ import annotations

import logging
from contextlib import contextmanager

import numpy as np
import pytest

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError, InputError
from dragoman.text.items import KINDS, MOST, NAMES, PLACEHOLDERS, Items
from dragoman.text.segmentation import Segments
from dragoman.text.segmentation.case_marks import MARKS
from dragoman.text.segmentation.characters import WhitespaceSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation
from dragoman.text.segmentation.subwords import train_case_marks
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS, UNK, Vocabulary
from dragoman.translation import length_batching, source_encoding
from dragoman.translation.completion import next_word
from dragoman.translation.prepared_lines import TextConstraints
from dragoman.translation.translator import Translator
from tests.streams import EndlessStream, assert_read_by_windows


class Letters:
    """A segmentation for tests: every visible character is a segment, and begins with "▁" if a blank is before it."""

    def segment(self, line):
        pieces, offsets = [], []
        for index, character in enumerate(line):
            if not character.isspace():
                first = index == 0 or line[index - 1].isspace()
                pieces.append("▁" * first + character)
                offsets.append((index, index + 1))
        return Segments(pieces, offsets)

    def join(self, pieces):
        return "".join(pieces).replace("▁", " ").strip()

    def save(self, path):
        raise NotImplementedError


SIDE = TextSide(Letters(), Vocabulary([*"abcdefgh", *(f"▁{letter}" for letter in "abcdefgh")]))
SIZE = len(SIDE.vocabulary)


def copy(source, prefix):
    """The next symbol of the source, the last one being EOS."""
    return {source[min(len(prefix), len(source)) - 1]: 0.9, UNK: 0.1}


@pytest.fixture
def copier(toy_engine):
    return Translator(toy_engine(SIZE, answer=copy), SIDE, SIDE, SearchConfig(beam=3, normalisation="none"))


@pytest.fixture
def babbler(toy_engine):
    """Random translations."""
    return Translator(toy_engine(SIZE, 4), SIDE, SIDE, SearchConfig(beam=3, max_length_factor=1.5, max_length_extra=2))


STRANGE = ["", " ", "\t", "a\x00b", "a b\r", "\ufeffab", "😀", "x" * 300, "\u2028", "a\u2028b", "a\nb", "\ud800", "▁"]


def test_the_copy_of_a_line_is_the_line(copier):
    lines = ["abc", "ab cd ef", "h", "aaaa b"]
    assert [best.text for [best] in copier.translate_lines(lines)] == lines


def test_translations_come_in_the_order_of_the_lines_whatever_these_hold(babbler, monkeypatch):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 7)
    lines = [*STRANGE, "abc", "ab cd", *STRANGE[::-1]]
    found = list(babbler.translate_lines(lines))
    assert [best.source for [best] in found] == lines
    for [best] in found:
        assert len(best.text.splitlines()) <= 1
        [[alone]] = babbler.translate_lines([best.source])
        assert (alone.text, alone.score, alone.alignment) == (best.text, best.score, best.alignment)


def test_a_blank_line_has_a_blank_translation_without_the_model():
    class Silent:
        vocabulary_size, source_eos, attention_shift, attends = SIZE, True, 0, True

    [[blank], [other]] = Translator(Silent(), SIDE, SIDE, SearchConfig()).translate_lines(["", " \t "])
    assert (blank.source, other.source) == ("", " \t ")
    for translation in (blank, other):
        assert translation.text == ""
        assert translation.tokens == translation.source_tokens == translation.alignment == []
        assert translation.attention is None
        assert (translation.score, translation.log_probability, translation.finished) == (0.0, 0.0, True)


def test_lines_are_read_a_window_at_a_time(copier, monkeypatch):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 5)
    stream = EndlessStream("ab")
    assert_read_by_windows(stream, copier.translate_lines(stream), window=5, count=12)


def test_threads_are_those_of_a_translation_only_while_it_is_computed(toy_engine):
    class Threaded(toy_engine):
        given = None

        @contextmanager
        def threads(self, count):
            self.given = count
            yield
            self.given = None

        def start(self, source, source_lengths):
            assert self.given == 2
            return super().start(source, source_lengths)

    engine = Threaded(SIZE, answer=copy)
    stream = Translator(engine, SIDE, SIDE, SearchConfig()).with_options(threads=2).translate_lines(["ab", "c"])
    assert [(best.text, engine.given) for [best] in stream] == [("ab", None), ("c", None)]


def test_a_translation_has_tokens_attention_and_scores(copier):
    [[best]] = copier.translate_lines(["ab c"])
    assert best.tokens == best.source_tokens == ["▁a", "b", "▁c"]
    assert best.attention.shape == (3 + 1, 3 + 1)
    assert best.log_probability == best.score == pytest.approx(4 * np.log(0.9), abs=1e-5)  # the source ends with EOS
    assert best.finished


def test_links_are_between_the_words_of_the_raw_lines(toy_engine):
    class Diagonal(toy_engine):
        """Looks at the word it copies, or one step later."""

        def distribution(self, source, prefix):
            attention = np.zeros(len(source), dtype=np.float32)
            attention[max(0, len(prefix) - 1 - self.attention_shift) % len(source)] = 1.0
            return super().distribution(source, prefix)[0], attention

    for shift in (0, 1):
        engine = Diagonal(SIZE, answer=copy, attention_shift=shift)
        [[best]] = Translator(engine, SIDE, SIDE, SearchConfig()).translate_lines(["  abc   d  ef "])
        assert best.text == "abc d ef"
        assert best.alignment == [(0, 0), (1, 1), (2, 2)]


def test_a_model_without_attention_aligns_nothing(toy_engine):
    best = Translator(toy_engine(SIZE, answer=copy, attends=False), SIDE, SIDE, SearchConfig()).translate("ab")
    assert (best.text, best.attention, best.alignment) == ("ab", None, [])


def test_the_n_best_are_ranked_and_the_first_is_the_best(babbler):
    lines = ["abc", "", "ab cd"]
    for [best], several in zip(babbler.translate_lines(lines), babbler.translate_lines(lines, n_best=3), strict=True):
        assert several[0].text == best.text
        assert [other.score for other in several] == sorted((other.score for other in several), reverse=True)
        assert len({other.text for other in several}) == len(several)
        assert 1 <= len(several) <= 3


def test_of_equal_texts_a_list_has_the_best_and_different_samples_have_no_other(toy_engine):
    """ "▁a" and "a" are the same text where a translation begins."""
    a, blank_a, b = SIDE.vocabulary.ids(["a", "▁a", "b"])

    def answer(source, prefix):
        return {EOS: 1.0} if len(prefix) > 1 else {blank_a: 0.5, a: 0.3, b: 0.2}

    def translated(sampling=None):
        engine, search = toy_engine(SIZE, answer=answer), SearchConfig(beam=3)
        [n_best] = Translator(engine, SIDE, SIDE, search, sampling).translate_lines(["ab"], n_best=3)
        return [(one.text, one.tokens) for one in n_best]

    assert translated() == [("a", ["▁a"]), ("b", ["b"])]
    assert sorted(text for text, _ in translated(Sampling(distinct=True))) == ["a", "b"]
    assert [text for text, _ in translated(Sampling(seed=2))].count("a") > 1


@pytest.mark.parametrize(
    ("n_best", "message"),
    [
        (0, "n-best is 0, but must be from 1 to 1,000"),
        (4, "n-best is 4, but a beam of 3 keeps no more than 3 translations; set the beam to 4 or more"),
    ],
)
def test_an_n_best_that_the_beam_cannot_give_is_refused_at_once(babbler, n_best, message):
    with pytest.raises(ConfigError, match=message):
        babbler.translate_lines(["a"], n_best)


def test_samples_follow_from_seed_and_line_number_alone(toy_engine, monkeypatch):
    def texts(lines, seed):
        translator = Translator(toy_engine(SIZE, 4), SIDE, SIDE, SearchConfig(beam=1), Sampling(seed=seed))
        return [[sample.text for sample in samples] for samples in translator.translate_lines(lines, n_best=4)]

    lines = ["abc", "", "abc", "abcdefgh"]
    drawn = texts(lines, 1)
    assert [len(samples) for samples in drawn] == [4, 1, 4, 4]
    assert drawn[0] != drawn[2]
    assert texts(lines, 2) != drawn
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 1)
    assert texts(lines, 1) == drawn


def test_a_line_that_is_too_long_is_truncated_with_one_warning(copier, caplog, monkeypatch):
    monkeypatch.setattr(source_encoding, "MAX_SEGMENTS", 50)
    line = "ab " * 33_334
    with caplog.at_level(logging.WARNING):
        found = list(copier.translate_lines(["ab", line, line, "cd"]))
    assert [len(best.text) for [best] in found] == [2, 74, 74, 2]
    assert found[1][0].source == line
    assert [target for _, target in sorted(found[1][0].alignment, key=lambda link: link[1])] == list(range(25))
    assert [record.getMessage() for record in caplog.records] == [
        "line 2 has 66668 segments; such a line is truncated to its first 50 (reported once)"
    ]


def test_a_notebook_shows_text_and_heat_map_with_everything_escaped(toy_engine):
    side = TextSide(Letters(), Vocabulary(["▁<", "&", "▁a"]))
    translator = Translator(
        toy_engine(len(side.vocabulary), answer=copy), side, side, SearchConfig(normalisation="none")
    )
    [[best]] = translator.translate_lines(["<& a"])
    page = best._repr_html_()
    assert best.text == "<& a"
    assert "&lt;&amp; a</p>" in page
    assert "▁&lt;</th>" in page
    assert "<&" not in page
    assert page.count("<td") == 4 * 4
    assert page.count("&lt;/s&gt;") == 2
    [[blank]] = translator.translate_lines([""])
    assert "<table" not in blank._repr_html_()
    [[long]] = translator.translate_lines(["& " * 61])
    assert "<table" not in long._repr_html_()


def test_one_line_has_one_translation(copier):
    assert copier.translate("ab c").text == "ab c"


def test_with_a_window_of_one_line_each_is_translated_at_once(copier):
    read = []

    def lines():
        for line in ("ab", "cd", "ef"):
            read.append(line)
            yield line

    answers = copier.translate_lines(lines(), read_ahead=1)
    assert next(answers)[0].text == "ab"
    assert read == ["ab"]


def constrained(toy_engine, lines, constraints, **options):
    """Translations of a copier, of words between blanks."""
    side = TextSide(WhitespaceSegmentation(), Vocabulary(["a", "b", "c", "d"]))
    engine = toy_engine(len(side.vocabulary), answer=lambda s, p: {s[min(len(p), len(s)) - 1]: 0.9, 4: 0.05, 7: 0.05})
    translator = Translator(engine, side, side, SearchConfig(beam=3, normalisation="none"), **options)
    return [best for [best] in translator.translate_lines(lines, constraints=constraints)]


def test_constraints_are_met_line_by_line(toy_engine):
    constraints = [
        TextConstraints(),
        TextConstraints(prefix="b"),
        TextConstraints(phrases=["c d", " a "]),
        TextConstraints(prefix="X c", phrases=["a"]),
        TextConstraints(prefix="b"),
    ]
    found = constrained(toy_engine, ["a b", "a b", "b b", "b b b", ""], constraints)
    assert found[0].text == "a b"
    assert found[1].text.startswith("b ")
    assert "c d" in found[2].text
    assert "a" in found[2].text.split()
    assert found[3].text.startswith("X c ")  # the model knows no X, but we do
    assert found[3].tokens[0] == "<unk>"
    assert found[4].text == ""
    [alone] = constrained(toy_engine, ["b b"], constraints[2:3])
    assert alone.text == found[2].text


def test_banned_words_are_not_produced(toy_engine):
    [found] = constrained(toy_engine, ["a b c"], None, banned=["b", "a c", " "])
    assert "b" not in found.text.split()
    assert "a c" not in found.text
    assert found.finished


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [TextConstraints()],
            "prefixes or constraints end at line 1, but the input goes on; give a line, blank or not",
        ),
        ([TextConstraints()] * 3, "prefixes and constraints go on after the input has ended at line 2"),
        (
            [TextConstraints(), TextConstraints(phrases=["a X"])],
            "line 2: 'a X' cannot appear in a translation: the model does not know 'X'",
        ),
        (
            [TextConstraints(), TextConstraints(phrases=["a c b"])],
            "line 2: 'a c b' must appear in a translation, but is banned as well",
        ),
    ],
)
def test_constraints_that_cannot_be_met_are_refused(toy_engine, constraints, message):
    with pytest.raises(InputError, match=message):
        constrained(toy_engine, ["a", "b"], constraints, banned=["c b"])


def test_a_banned_word_that_the_model_does_not_know_is_refused(toy_engine):
    with pytest.raises(ConfigError, match="banned word 'X': the model does not know 'X', so it never writes that"):
        constrained(toy_engine, ["a"], None, banned=["X"])


def test_a_phrase_does_not_appear_inside_a_longer_word(copier):
    found = list(copier.translate_lines(["abc", "b ab", "b a"], constraints=[TextConstraints(phrases=["a"])] * 3))
    assert all("a" in best.text.split() for [best] in found)
    assert found[2][0].text == "b a"


def test_distinct_samples_are_all_different(toy_engine):
    sampling = Sampling(seed=3, distinct=True)
    translator = Translator(toy_engine(SIZE, 4), SIDE, SIDE, SearchConfig(beam=1, max_length_extra=2), sampling)
    for samples in translator.translate_lines(["ab", "", "c"], n_best=6):
        assert len({sample.text for sample in samples}) == len(samples) in (1, 6)


def test_too_few_distinct_samples_give_one_warning(toy_engine, caplog):
    engine = toy_engine(SIZE, answer=lambda source, prefix: {EOS: 1.0})
    translator = Translator(engine, SIDE, SIDE, SearchConfig(beam=1), Sampling(distinct=True))
    with caplog.at_level(logging.WARNING):
        found = list(translator.translate_lines(["", "a", "b"], n_best=3))
    assert [len(samples) for samples in found] == [1, 1, 1]
    assert [record.getMessage() for record in caplog.records] == [
        "line 2 has 1 of 3 different translations after 60 draws (reported once)"
    ]


def test_a_prefix_without_its_constraints_is_refused(copier):
    with pytest.raises(InputError, match="prefix and constraints differ in length"):
        copier.translate(["a", "b"], prefix=["a", "b"], constraints=[["c"]])


def test_completions_go_on_from_a_beginning_with_different_words(babbler):
    for prefix in ("", "a", "ab ", "ab c", "ab ch"):
        found = babbler.complete("ab cde f", prefix, 4)
        assert 1 <= len(found) <= 4
        assert all(one.text.startswith(prefix) for one in found), prefix
        words = [next_word(one.text, prefix) for one in found]
        assert len(set(words)) == len(words), prefix
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
    assert babbler.complete(" ", "a") == []
    with pytest.raises(ConfigError, match="count is 0, but must be at least 1"):
        babbler.complete("ab", "a", 0)


def test_the_best_completion_is_the_best_translation(copier):
    assert copier.complete("ab cd", "", 1)[0].text == "ab cd"
    assert copier.complete("ab cd", "ab", 1)[0].text == "ab cd"
    banned = copier.with_options(ban=["b"]).complete("ab cd", "a", 20)
    assert banned
    assert not any(word.startswith("b") for one in banned for word in one.text.split())


def test_a_word_in_capitals_behind_an_item_is_completed(toy_engine):
    def copy_or_end(source, prefix):
        begun = list(prefix[1:])
        going_on = begun == list(source[: len(begun)]) and len(begun) < len(source)
        return {source[len(begun)] if going_on else EOS: 0.9, UNK: 0.1}

    lines = ["in Monaten", "in Tagen", "monaten und tagen"] * 10
    segmentation = train_case_marks(lines, "bpe", 30).extended(PLACEHOLDERS)
    pieces = {piece for line in [*lines, "a m o n t"] for piece in segmentation.segment(line).pieces}
    vocabulary = Vocabulary([*MARKS, *NAMES, *sorted(pieces - {*MARKS, "<unk>"})])
    items = Items([KINDS["number"].pattern])
    sides = [TextSide(ProtectedSegmentation(segmentation, items, source=own), vocabulary) for own in (True, False)]
    translator = Translator(
        toy_engine(len(vocabulary), answer=copy_or_end), *sides, SearchConfig(beam=3, normalisation="none")
    )
    for prefix in ("in 27 M", "in 27 Mo", "in 27 "):
        assert translator.complete("in 27 Monaten", prefix, 3)[0].text == "in 27 Monaten", prefix


def test_the_next_word_is_that_of_the_place_where_a_prefix_ends():
    for text, prefix, word in (
        ("the cat sat", "", "the"),
        ("the cat sat", "the", "cat"),
        ("the cat sat", "the ", "cat"),
        ("the cat sat", "the c", "cat"),
        ("the cat", "the cat", ""),
        ("other", "the", "other"),
    ):
        assert next_word(text, prefix) == word, (text, prefix)


def test_segments_have_their_places_in_both_lines(copier):
    best = copier.translate(" ab  c")
    assert best.source_spans == [(1, 2), (2, 3), (5, 6)]
    assert best.text == "ab c"
    assert best.target_spans == [(0, 1), (1, 2), (3, 4)]
    assert len(best.links_between(best.source_spans, best.target_spans)) == 3
    blank = copier.translate(" ")
    assert (blank.source_spans, blank.target_spans, blank.links_between([], [])) == ([], [], [])


ITEMS = Items([KINDS["variable"].pattern, KINDS["number"].pattern], [(".", False, ",")])
PROTECTED = [
    TextSide(ProtectedSegmentation(WhitespaceSegmentation(), ITEMS, source=source), Vocabulary([*NAMES, "a", "b", "c"]))
    for source in (True, False)
]


@pytest.fixture
def protecting(toy_engine):
    """Copies words in reverse order, so that placeholders stand in another order, too."""

    def backwards(source, prefix):
        words = source[-2::-1]
        return {(*words, EOS)[min(len(prefix) - 1, len(words))]: 0.9, UNK: 0.1}

    search = SearchConfig(beam=2, normalisation="none")
    return Translator(toy_engine(len(PROTECTED[0].vocabulary), answer=backwards), *PROTECTED, search)


def test_items_come_out_as_they_went_in(protecting):
    best = protecting.translate("a {x} b {yy} 3.14 c")
    assert best.text == "c 3,14 {yy} b {x} a"
    assert best.tokens == ["c", "⟦3⟧", "⟦2⟧", "b", "⟦1⟧", "a"]
    assert best.source_tokens == ["a", "⟦1⟧", "b", "⟦2⟧", "⟦3⟧", "c"]
    assert [best.source[start:end] for start, end in best.source_spans] == ["a", "{x}", "b", "{yy}", "3.14", "c"]
    assert [best.text[start:end] for start, end in best.target_spans] == best.text.split()


def test_a_number_alone_stays_but_for_its_separators(protecting):
    best = protecting.translate("3.14 – 15")
    assert best.text == "3,14 – 15"
    assert best.alignment == [(0, 0), (1, 1), (2, 2)]


def test_a_line_of_items_alone_stays(protecting):
    assert protecting.translate("{x}: {yy}").text == "{x}: {yy}"
    assert protecting.translate("5{x}", constraints=["a"]).text != "5{x}"


def test_quotation_marks_around_a_line_are_around_its_translation(protecting):
    best = protecting.translate(' "a {x} b" ')
    assert best.text == '"b {x} a"'
    assert [best.source[start:end] for start, end in best.source_spans] == ["a", "{x}", "b"]
    assert [best.text[start:end] for start, end in best.target_spans] == ["b", "{x}", "a"]
    assert protecting.translate("“3.14”").text == "“3,14”"
    assert [one.text[:2] + one.text[-1] for one in protecting.translate('"a b"', n_best=2)] == ['"b"', '"b"']


@pytest.mark.parametrize(
    ("prefix", "text"), [('"b', '"b a"'), ('"', '"b a"'), ("b", "b a"), ('"b a"', '"b a"'), ("", '"b a"')]
)
def test_a_prefix_may_have_the_quotation_mark_before_the_line(protecting, prefix, text):
    assert protecting.translate('"a b"', prefix=prefix).text == text


def test_items_appear_once_in_every_translation_of_a_list(protecting):
    for n_best in protecting.translate_lines(["a {x} {y} b", "{z}", "a", "", "{x} {x} a"], n_best=2):
        for one in n_best:
            for item in ("{x}", "{y}", "{z}"):
                assert one.text.count(item) == one.source.count(item)


def test_a_prefix_and_constraints_may_have_items(protecting):
    best = protecting.translate("a {x} b {y}", prefix="{x} a")
    assert best.text.startswith("{x} a")
    assert (best.text.count("{x}"), best.text.count("{y}")) == (1, 1)
    assert "{y} b" in protecting.translate("a {x} b {y}", constraints=["{y} b"]).text


def test_a_translation_without_an_item_is_searched_again(toy_engine):
    placeholders = PROTECTED[0].placeholders
    a, b = PROTECTED[0].vocabulary.ids(["a", "b"])

    def forgets(source, prefix):
        words = sum(token not in placeholders for token in prefix[1:])
        return {(a, b, EOS)[min(words, 2)]: 0.98, placeholders[0]: 0.02 if words == 1 else 0.01}

    engine = toy_engine(len(PROTECTED[0].vocabulary), answer=forgets)
    translator = Translator(engine, *PROTECTED, SearchConfig(beam=1, normalisation="none"))
    assert [one.text for one in translator.translate(["a {x} b", "a b"])] == ["a {x} b", "a b"]


def test_items_without_a_placeholder_are_told_once(protecting, caplog):
    many = "{x} " * (MOST + 2)
    with caplog.at_level(logging.WARNING):
        list(protecting.translate_lines(["a " + "{x} " * MOST, many, many]))
    assert [record.getMessage() for record in caplog.records] == [
        "line 2 has 11 items such as links or numbers; those after number 9 are translated as text (reported once)"
    ]


def test_messages_name_a_line_as_it_is_told(protecting, caplog):
    origins = iter(["a.txt:3", "a.txt:7", "a.txt:7"])
    list(protecting.translate_lines(["a", "b", "{x} " * (MOST + 1)], origins=origins, read_ahead=1))
    assert [record.getMessage().split(" has ")[0] for record in caplog.records] == ["a.txt:7"]


def test_samples_have_the_items(protecting):
    for one in protecting.translate("a {x} b {y}", n_best=5, sample=True, temperature=3.0, seed=1):
        assert (one.text.count("{x}"), one.text.count("{y}")) == (1, 1)


def test_what_a_memory_has_is_not_searched_for(copier):
    kept = copier.with_options(memory={"ab c": "hh", "ab cd": "gg"})
    lines = ["ab c", "ab e", "", "ab cd"]
    found = [best for [best] in kept.translate_lines(lines)]
    assert [(best.text, best.from_memory) for best in found] == [
        ("hh", True),
        ("ab e", False),
        ("", False),
        ("gg", True),
    ]
    assert found[0].tokens == found[0].alignment == []
    assert found[0].attention is None
    assert [match.score for match in found[0].memory_matches] == [1.0, 0.8]
    assert [match.source for match in found[1].memory_matches] == ["ab c"]
    assert found[2].memory_matches == []
    assert copier.translate("ab c").text == "ab c"
    # The model is asked where the line has to contain something.
    assert kept.translate("ab c", prefix="d").text.startswith("d")
    assert kept.translate("ab c", constraints=["f"]).from_memory is False
    assert [best.text for best in kept.translate("ab c", n_best=2)] == ["hh"]
