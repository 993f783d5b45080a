from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer, MosesTokenizer

import dragoman.text.segmentation.subwords as subwords
from dragoman.config.schema import SideConfig
from dragoman.errors import ConfigError, InputError, RunError
from dragoman.text.lines import read_lines
from dragoman.text.raw_lines import as_read, is_blank
from dragoman.text.segmentation import Segmentation, load_segmentation, train_segmentation
from dragoman.text.segmentation.base import index_pieces
from dragoman.text.segmentation.words import WordSegmentation

TEXT = [
    "The quick brown fox jumps over the lazy dog.",
    "Pack my box with five dozen liquor jugs, please!",
    "“Ça va?” – Où est l’école… là-bas; n’est-ce pas ?",
    "Über 1 250 Züge fahren um 12:45 Uhr.",
    "Don't you know (or care) that U.S. prices, e.g. $1,299.50, rose 7 %?",
] * 4

KINDS = (
    "words en",
    "words de",
    "words fr",
    "words cs",
    "words ja",
    "characters",
    "letters",
    "whitespace",
    "bpe",
    "unigram",
    "given",
)


@cache
def segmentation_of(kind: str) -> Segmentation:
    """One of KINDS; "given" is a model as spm_train makes them by default, with NFKC and byte pieces."""
    if kind == "given":
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT),
            model_writer=model,
            vocab_size=500,
            byte_fallback=True,
            hard_vocab_limit=False,
            minloglevel=4,
        )
        return subwords.SubwordSegmentation(model.getvalue())
    name, _, language = kind.partition(" ")
    config = {"segmentation": name, "vocabulary": 200} | ({"language": language} if language else {})
    return train_segmentation(SideConfig(**config), TEXT)


AWKWARD = [
    "",
    " \t\u2028\0 ",
    "\0",
    "a\0b\tc\nd\re\x85f\u2028g",
    "  two  blanks  ",
    "▁ ▁▁a▁",
    "<s> </s> <unk> <pad> ⁇ ▅",
    "😀👩‍👩‍👧 🇩🇪",
    "\ud800 half",
    "e\u0301 ﬁ ² … ½ ｆｕｌｌ",
    "''quoted'' ``so'' „hm“, “er.” « oui »",
    '" " " ",".". ,"',
    "DOTMULTI ... .... @-@ x@-@y &amp; &#124; THISISPROTECTED000",
    "x' - mail",
    "1\xa0000\xa0000 % ( a ) [b] {c}",
    "مرحبا بالعالم שלום नमस्ते こんにちは世界。 안녕하세요 สวัสดี",
    "\u200b\ufeff\u00ad\u202e",
    "日本 語",
]

TOKENS = [
    "The",
    "fox",
    "don't",
    "U.S.",
    "e.g.",
    ",",
    ".",
    "…",
    "„",
    "“",
    "”",
    "''",
    "``",
    "(",
    ")",
    "%",
    "1",
    "—",
    "x@y",
]

lines = st.one_of(
    st.text(),
    st.text(st.sampled_from("ab,.'\"„“”…-–—()%:; \xa0\t1█é日")),
    st.sampled_from(AWKWARD),
    st.lists(st.sampled_from(TOKENS)).map(" ".join),
)


def keeps_the_promises(segmentation: Segmentation, line: str) -> bool:
    pieces, offsets = segmentation.segment(line)
    starts = [start for start, _ in offsets]
    return (
        len(pieces) == len(offsets)
        and all(0 <= start <= end <= len(line) for start, end in offsets)
        and starts == sorted(starts)
        and all(piece and not re.search(r"[\n\t\r\0 ]", piece) for piece in pieces)
        and "\n" not in segmentation.join(pieces)
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80)
@given(line=lines)
def test_every_line_has_pieces_with_spans_in_order_and_can_be_joined(kind: str, line: str) -> None:
    assert keeps_the_promises(segmentation_of(kind), line)


# Not words: the punctuation normalisation of sacremoses sees a space at the end of a line.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("words")])
@settings(max_examples=60)
@given(line=lines)
@example(line="\x00 a\u2028b\x85")
def test_lines_that_count_as_read_alike_have_the_same_pieces(kind: str, line: str) -> None:
    segment = segmentation_of(kind).segment
    assert segment(line).pieces == segment(as_read(line)).pieces


@pytest.mark.parametrize("kind", KINDS)
def test_awkward_lines_have_them_too(kind: str) -> None:
    for line in AWKWARD:
        assert keeps_the_promises(segmentation_of(kind), line), ascii(line)


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_of_spaces_has_no_pieces(kind: str) -> None:
    for line in (
        "",
        " ",
        "    ",
        "\t",
        "\0",
        " \t\r\v\f\x1c\x85\u2028\n ",
        "\xa0",
        "\u3000\u3000 ",
        "\u200b",
        "\ufeff",
    ):
        assert segmentation_of(kind).segment(line) == ([], []), ascii(line)
    assert segmentation_of(kind).join([]) == ""


def spelled(piece: str, line: str, span: tuple[int, int]) -> bool:
    return line[slice(*span)] == piece.replace("▁", " ") or line[slice(*span)] == piece.removeprefix("▁")


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram"])
@settings(max_examples=120)
@given(line=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="▁")))
@example(line="日本 語 unknown   blanks ")
def test_a_span_spells_its_piece(kind: str, line: str) -> None:
    pieces, offsets = segmentation_of(kind).segment(line)
    assert all(spelled(piece, line, span) for piece, span in zip(pieces, offsets, strict=True))


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram"])
@settings(max_examples=120)
@given(words=st.lists(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="▁"), min_size=1)))
@example(words=["2²", "ﬁn…", "ｆｕｌｌ", "½", "e\u0301"])
def test_text_with_single_spaces_comes_back_as_it_was(kind: str, words: list[str]) -> None:
    line = " ".join(words)
    assert segmentation_of(kind).join(segmentation_of(kind).segment(line).pieces) == line


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_no_break_space_comes_back_as_it_was(kind: str) -> None:
    line = "Où ça\xa0? 1\u202f250"
    assert segmentation_of(kind).join(segmentation_of(kind).segment(line).pieces) == line


@pytest.mark.parametrize("kind", ["bpe", "unigram", "given", "words en"])
@settings(max_examples=100)
@given(words=st.lists(st.sampled_from(["The", "quick", "brown", "fox", "dog", "dogs", "box"])))
def test_no_span_of_plain_text_leaves_its_word(kind: str, words: list[str]) -> None:
    line = "  ".join(words)
    covered = [line[start:end] for start, end in segmentation_of(kind).segment(line).offsets]
    assert "".join(covered) == "".join(words)
    assert not any(" " in text for text in covered)


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        ("words en", 20_000),
        ("words de", 10_000),
        ("words ja", 10_000),
        ("characters", 100_000),
        ("letters", 100_000),
        ("bpe", 100_000),
        ("unigram", 100_000),
    ],
)
def test_a_very_long_line_is_segmented(kind: str, length: int) -> None:
    for unit in ("x", "word ", ".", ". ", "'", '" ', '",', "😀", "\0", "日", "(", "\xa01", "U.S. "):
        line = (unit * length)[:length]
        pieces, offsets = segmentation_of(kind).segment(line)
        assert bool(pieces) == (unit != "\0"), ascii(unit)
        assert offsets == sorted(offsets), ascii(unit)
        assert not offsets or (offsets[0][0] <= 1 and length - 10 <= offsets[-1][1] <= length), ascii(unit)


def test_pieces_beyond_the_first_stretch_of_a_long_line_have_the_right_spans() -> None:
    line = "The quick brown fox, it jumps " * 100
    pieces, offsets = segmentation_of("words en").segment(line)
    assert [line[start:end] for start, end in offsets] == pieces
    assert pieces == ["The", "quick", "brown", "fox", ",", "it", "jumps"] * 100


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "„Hallo“ sagte er…",
            [('"', "„"), ("Hallo", "Hallo"), ('"', "“"), ("sagte", "sagte"), ("er", "er"), ("...", "…")],
        ),
        ("a–b — c", [("a-b", "a–b"), ("-", "—"), ("c", "c")]),
        ("x ''y'' z", [("x", "x"), ('"', "''"), ("y", "y"), ('"', "''"), ("z", "z")]),
        ("I don't. ", [("I", "I"), ("don", "don"), ("'t", "'t"), (".", ".")]),
        ("1\xa0000 men", [("1.000", "1\xa0000"), ("men", "men")]),
        ("a\tb\0c", [("a", "a"), ("b", "b"), ("c", "c")]),
        ("“yes”, he", [('"', "“"), ("yes", "yes"), (",", ""), ('"', "”"), ("he", "he")]),
        ("… … a", [("...", "…"), ("...", "…"), ("a", "a")]),
    ],
)
def test_words_that_normalisation_changed_have_the_span_they_came_from(
    line: str, expected: list[tuple[str, str]]
) -> None:
    pieces, offsets = segmentation_of("words en").segment(line)
    assert [(piece, line[start:end]) for piece, (start, end) in zip(pieces, offsets, strict=True)] == expected


@cache
def sacremoses_of(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    return MosesPunctNormalizer(language), MosesTokenizer(language)


@pytest.mark.parametrize("language", ["en", "de", "fr", "cs", "ja", "ko"])
@settings(max_examples=150)
@given(line=lines.map(lambda line: re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", line)))
def test_words_are_those_of_sacremoses_whether_or_not_a_short_cut_was_taken(language: str, line: str) -> None:
    normaliser, tokeniser = sacremoses_of(language)
    expected = [] if is_blank(line) else tokeniser.tokenize(normaliser.normalize(line), escape=False)
    assert segmentation_of(f"words {language}").segment(line).pieces == expected


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_agree_with_the_published_tokenised_text(multi30k: Path, language: str) -> None:
    """The publishers used the Perl scripts, lower-cased and escaped; en agrees in 1000 lines of 1000, de in 999."""
    raw = read_lines(multi30k / f"test_2016_flickr.{language}.gz")
    published = read_lines(multi30k / "tok" / f"test_2016_flickr.lc.norm.tok.{language}.xz")
    words = segmentation_of(f"words {language}")
    agree = [
        " ".join(words.segment(line).pieces).lower() == gold.replace("&apos;", "'").replace("&quot;", '"')
        for line, gold in zip(raw, published, strict=True)
    ]
    assert len(agree) == 1000
    assert sum(agree) >= 998


@pytest.mark.parametrize(("language", "least"), [("en", 998), ("de", 996)])
def test_published_text_comes_back_from_its_words(multi30k: Path, language: str, least: int) -> None:
    """But for doubled spaces, which are mistakes; measured: en 999 lines of 1000, de 997."""
    words = segmentation_of(f"words {language}")
    normaliser = MosesPunctNormalizer(language)
    raw = [normaliser.normalize(line) for line in read_lines(multi30k / f"test_2016_flickr.{language}.gz")]
    assert sum(words.join(words.segment(line).pieces) == line for line in raw) >= least


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_published_text_comes_back_from_subwords(multi30k: Path, kind: str) -> None:
    text = [" ".join(line.split(" ")) for line in read_lines(multi30k / "test_2016_flickr.de.gz")]
    text = [re.sub(" +", " ", line).strip() for line in text]
    model = train_segmentation(SideConfig(segmentation=kind, vocabulary=2000), text)
    assert [model.join(model.segment(line).pieces) for line in text] == text


def test_join_detokenises_words() -> None:
    pieces = ['"', "I", "don", "'t", "know", ",", '"', "she", "said", "(", "twice", ")", ".", "<unk>"]
    assert segmentation_of("words en").join(pieces) == '"I don\'t know," she said (twice). <unk>'
    assert segmentation_of("words fr").join(["l'", "école", "!"]) == "l'école !"


def test_detokenising_undoes_what_the_tokeniser_of_moses_escapes() -> None:
    words = ["don", "&apos;t", ",", "&quot;", "A", "&amp;", "B", "&quot;", "&#91;", "&lt;", "&#124;", "&#93;"]
    assert WordSegmentation("en").detokenise(words) == 'don\'t, "A & B" [< |]'
    assert segmentation_of("words en").join(["don", "&apos;t"]) == "don &apos;t"


def test_join_survives_the_czech_pieces_that_sacremoses_does_not() -> None:
    assert segmentation_of("words cs").join(["x'", "-", "mail"]) == "x' - mail"


def test_join_of_subwords_shows_the_unknown_piece() -> None:
    assert segmentation_of("bpe").join(["▁The", "<unk>", "▁", "日本", "▁dog"]) == "The<unk> 日本 dog"


def test_blanks_keep_what_stands_between_spaces_as_it_is() -> None:
    segments = segmentation_of("whitespace").segment(" un@@ known  10\xa0000 ▁x ")
    assert segments.pieces == ["un@@", "known", "10\xa0000", "▁x"]
    assert segments.offsets == [(1, 5), (6, 11), (13, 19), (20, 22)]
    assert segmentation_of("whitespace").join(segments.pieces) == "un@@ known 10\xa0000 ▁x"


def test_a_run_of_unknown_characters_is_one_raw_piece() -> None:
    pieces, offsets = segmentation_of("bpe").segment("the 日本語.")
    assert (pieces[-2:], offsets[-2:]) == (["日本語", "."], [(4, 7), (7, 8)])


def test_numbers_are_written_digit_by_digit() -> None:
    model = train_segmentation(SideConfig(vocabulary=100), ["in 2014", "of 2014", "2014"] * 10)
    assert model.segment("2014").pieces[-4:] == ["2", "0", "1", "4"]


def saved(segmentation: Segmentation, folder: Path) -> Path:
    path = folder / "source.segmentation.json"
    segmentation.save(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_segments_the_same(tmp_path: Path, kind: str) -> None:
    original = segmentation_of(kind)
    pieces = original.segment(TEXT[4]).pieces
    from_file, from_pickle = load_segmentation(saved(original, tmp_path)), pickle.loads(pickle.dumps(original))
    for name, copy in (("file", from_file), ("pickle", from_pickle)):
        for line in [*TEXT, *AWKWARD]:
            assert copy.segment(line) == original.segment(line), (name, ascii(line))
        assert copy.join(pieces) == original.join(pieces), name


def test_the_model_in_the_folder_is_a_plain_sentencepiece_model(tmp_path: Path) -> None:
    saved(segmentation_of("bpe"), tmp_path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "source.model"))
    assert processor.encode(TEXT[0], out_type=str) == segmentation_of("bpe").segment(TEXT[0]).pieces


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_twice_gives_the_same_bytes(kind: str) -> None:
    first, second = (subwords.train_model(iter(TEXT), kind, 150) for _ in range(2))  # type: ignore[arg-type]
    assert first == second


def test_a_sample_of_a_large_corpus_is_bounded_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "_SAMPLE", 20)
    numbered = [f"line {number}" for number in range(1000)]
    samples = [subwords._sample(numbered) for _ in range(2)]
    assert samples[0] == samples[1]
    assert len(set(samples[0])) == 20
    assert len({int(line.split()[1]) // 250 for line in samples[0]}) == 4  # from all over the corpus


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_tiny_corpus_gives_a_small_model(kind: str) -> None:
    for text in (
        ["a"],
        ["ab cd"],
        ["a", " ", ""],
        ["x" * 100_000],
        ["\0a\0", "\t", "<s> ▅ ⁇ ▁"],
        [chr(0x4E00 + n) for n in range(100)],
    ):
        model = train_segmentation(SideConfig(segmentation=kind, vocabulary=8000), text)
        again = model.join(model.segment(text[0]).pieces).replace("\0", "")
        assert again in (text[0].strip("\0"), " ".join(text[0].split())), ascii(text[0][:20])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@settings(max_examples=60)
@given(text=st.lists(lines, max_size=5))
def test_any_text_with_a_letter_in_it_can_be_trained_on(kind: str, text: list[str]) -> None:
    train_segmentation(SideConfig(segmentation=kind, vocabulary=1000), [*text, "a"])


def test_the_vocabulary_bounds_the_number_of_different_pieces(multi30k: Path) -> None:
    text = list(read_lines(multi30k / "test_2016_flickr.en.gz"))
    for kind in ("bpe", "unigram"):
        model = train_segmentation(SideConfig(segmentation=kind, vocabulary=300), text)
        pieces = {piece for line in text for piece in model.segment(line).pieces}
        assert 250 < len(pieces) <= 296


def test_many_characters_leave_out_the_rarest() -> None:
    text = ["ab" * 500] * 100 + [chr(0x4E00 + number) for number in range(20)]
    model = train_segmentation(SideConfig(vocabulary=30), text)
    assert len(model._processor) <= 27  # type: ignore[attr-defined]


def test_training_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for kind in ("bpe", "unigram"):
        train_segmentation(SideConfig(segmentation=kind), ["too little text", "\0"])
    with pytest.raises(ConfigError):
        train_segmentation(SideConfig(vocabulary=8), TEXT)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", [[], ["", " "], ["\0\t"]])
def test_nothing_to_train_on_is_refused(text: list[str]) -> None:
    for kind in ("bpe", "unigram"):
        with pytest.raises(InputError, match="every line of the training text is blank, so no segmentation"):
            train_segmentation(SideConfig(segmentation=kind), text)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_too_small_for_the_characters_is_refused(kind: str) -> None:
    text = ["".join(chr(0x4E00 + number) for number in range(1000))]
    for size in (20, 3):  # 3: no more than the special symbols
        with pytest.raises(ConfigError) as caught:
            train_segmentation(SideConfig(segmentation=kind, vocabulary=size), text)
        assert str(caught.value) == (
            f"vocabulary: {size} is too small for text of 1,000 different characters; give at least 1,005"
        )
    train_segmentation(SideConfig(segmentation=kind, vocabulary=1005), text)


def test_words_characters_and_blanks_do_not_read_the_training_text() -> None:
    for kind in ("words", "characters", "letters", "whitespace"):
        lines_left = iter(TEXT)
        train_segmentation(SideConfig(segmentation=kind), lines_left)
        assert len(list(lines_left)) == len(TEXT)


def test_a_given_model_is_used_as_it_is(tmp_path: Path) -> None:
    saved(segmentation_of("given"), tmp_path)
    config = SideConfig(model=str(tmp_path / "source.model"))
    assert train_segmentation(config, []).segment(TEXT[2]) == segmentation_of("given").segment(TEXT[2])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.mode", "missing.mode: does not exist; did you mean {folder}/missing.model?"),
        ("missing.model", "missing.model: not a SentencePiece model; give the .model file that spm_train wrote"),
        ("folder", "folder: cannot be read: Is a directory"),
    ],
)
def test_a_given_model_that_cannot_be_used_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "missing.model").write_bytes(b"not a model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as caught:
        train_segmentation(SideConfig(model=str(tmp_path / name)), TEXT)
    assert str(caught.value) == f"{tmp_path}/" + message.format(folder=tmp_path)


def test_a_model_for_a_kind_without_one_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        train_segmentation(SideConfig(segmentation="words", model="x.model"), [])
    assert str(caught.value) == (
        "model: x.model is for segmentation: bpe or unigram, but segmentation is words; leave one of the two out"
    )


def test_a_damaged_description_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "source.segmentation.json"
    for data in (
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"format": 2}',
        b'{"format": 2, "kind": "morphemes"}',
        b'{"format": 2, "kind": "words"}',
    ):
        path.write_bytes(data)
        with pytest.raises(RunError) as caught:
            load_segmentation(path)
        assert str(caught.value).startswith(f"{path}: is damaged: "), data


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "source.segmentation.json"
    path.write_text(json.dumps({"format": 3, "kind": "words", "language": "en"}))
    with pytest.raises(RunError, match=r"json: format 3 is newer than this version of dragoman reads \(2\); upgrade"):
        load_segmentation(path)


def test_an_older_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "source.segmentation.json"
    path.write_text(json.dumps({"format": 1, "kind": "blanks"}))
    with pytest.raises(RunError, match="json: format 1 is from an earlier version of dragoman; take the file from"):
        load_segmentation(path)


def remove_model(folder: Path) -> None:
    (folder / "source.model").unlink()


def cut_model(folder: Path) -> None:
    path = folder / "source.model"
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_model, "source.model: missing; the run folder is not complete"),
        (cut_model, "source.model: damaged, or another run's model; take the file from a copy of the run folder"),
        (
            lambda folder: (folder / "source.segmentation.json").unlink(),
            "json: missing; the run folder is not complete",
        ),
    ],
)
def test_a_folder_with_missing_or_damaged_files_is_refused(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    path = saved(segmentation_of("bpe"), tmp_path)
    damage(tmp_path)
    with pytest.raises(RunError) as caught:
        load_segmentation(path)
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize(
    ("line", "pieces", "spans"),
    [
        ("né", ["n", "é"], [(0, 1), (1, 2)]),
        ("ne\u0301", ["n", "e", "\u0301"], [(0, 1), (1, 2), (2, 3)]),
        ("각", ["ᄀ", "ᅡ", "ᆨ"], [(0, 1)] * 3),
        (" a b ", ["a", "▁", "b"], [(1, 2), (2, 3), (3, 4)]),
        ("V;\tV;PST", ["V", ";", ";V", ";PST"], [(0, 1), (1, 2), (3, 4), (5, 8)]),
        ("ab\t; N ;;pl \t", ["a", "b", ";N", ";pl"], [(0, 1), (1, 2), (5, 6), (9, 11)]),
        ("\tN", [";N"], [(1, 2)]),
    ],
)
def test_hangul_is_decomposed_and_tags_are_whole(line: str, pieces: list[str], spans: list[tuple[int, int]]) -> None:
    assert segmentation_of("letters").segment(line) == (pieces, spans)


@settings(max_examples=100)
@given(word=st.text("aé\u0301각ｶﾞố;", max_size=6), tags=st.lists(st.sampled_from(["V", "PST", "3"]), max_size=3))
def test_letters_and_tags_come_back_as_they_were(word: str, tags: list[str]) -> None:
    line = word + (f"\t{';'.join(tags)}" if tags else "")
    found = segmentation_of("letters")
    if not is_blank(line):
        assert found.join(found.segment(line).pieces) == line


@pytest.mark.parametrize("kind", ["bpe", "unigram", "given"])
def test_many_lines_have_the_pieces_that_each_has(kind: str) -> None:
    segmentation = segmentation_of(kind)
    assert isinstance(segmentation, subwords.SubwordSegmentation)
    lines = [*AWKWARD, *TEXT, "☃☃ x ☂", *AWKWARD]
    found, expected = (
        segmentation.segment_lines(lines),
        index_pieces(segmentation.segment(line).pieces for line in lines),
    )
    assert found.pieces == expected.pieces
    assert found.ids.tolist() == expected.ids.tolist()
    assert (found.ids.dtype, found.lengths.dtype) == (expected.ids.dtype, expected.lengths.dtype)
    assert found.lengths.tolist() == expected.lengths.tolist()
    assert segmentation.segment_lines([]).pieces == []
