from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dragoman.errors import RunError
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

COUNTS = {"b": 3, "a": 3, "▁the": 9, "rare": 1, "é": 3}


def test_special_symbols_come_first_then_frequent_pieces_then_code_point_order() -> None:
    vocabulary = Vocabulary.from_counts(COUNTS, size=None)
    assert vocabulary.pieces(range(len(vocabulary))) == [*SPECIALS, "▁the", "a", "b", "é", "rare"]
    assert [SPECIALS[index] for index in (PAD, UNK, BOS, EOS)] == ["<pad>", "<unk>", "<s>", "</s>"]


def test_the_order_of_counting_does_not_matter() -> None:
    reverse = dict(reversed(COUNTS.items()))
    assert Vocabulary.from_counts(COUNTS, 7).digest == Vocabulary.from_counts(reverse, 7).digest


def test_size_counts_the_special_symbols_and_minimum_leaves_out_the_rare() -> None:
    assert len(Vocabulary.from_counts(COUNTS, size=6)) == 6
    assert "rare" not in Vocabulary.from_counts(COUNTS, size=None, minimum=2)
    assert "rare" in Vocabulary.from_counts(COUNTS, size=None, minimum=1)
    assert len(Vocabulary.from_counts({}, size=100)) == 4


def test_pieces_become_ids_and_ids_pieces() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.ids(["b", "never seen", "a"]) == [5, UNK, 4]
    assert vocabulary.pieces(np.array([5, 1, 4])) == ["b", "<unk>", "a"]


def test_text_spelled_like_a_special_symbol_is_unknown() -> None:
    vocabulary = Vocabulary.from_counts(Counter([*SPECIALS, "a"]), size=None)
    assert len(vocabulary) == 5
    assert vocabulary.ids(SPECIALS) == [UNK] * 4
    assert "</s>" not in vocabulary


def test_a_saved_vocabulary_is_the_same_when_loaded(tmp_path: Path) -> None:
    pieces = ["a", "", "\u2028", "x\r", "\ufeff", "#", "\x85", "😀", " "]
    vocabulary = Vocabulary(pieces)
    vocabulary.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert loaded.pieces(range(len(loaded))) == [*SPECIALS, *pieces]
    assert loaded.digest == vocabulary.digest != Vocabulary(pieces[1:]).digest
    assert (tmp_path / "v").read_bytes().startswith(b"#dragoman-vocabulary 1 13\n<pad>\n<unk>\n<s>\n</s>\na\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ":1: not a vocabulary: the first line must be '#dragoman-vocabulary 1 ENTRIES'"),
        (b"<pad>\n<unk>\n", ":1: not a vocabulary: the first line must be '#dragoman-vocabulary 1 ENTRIES'"),
        (b"#dragoman-vocabulary 2 1\n", ": format 2 is newer than this program, which reads up to 1; update it"),
        (b"#dragoman-vocabulary 1 6\n<pad>\n<unk>\n<s>\n</s>\na\n", "DAMAGED it should have 6 entries but has 5"),
        (b"#dragoman-vocabulary 1 5\n<pad>\n<unk>\n<s>\n</s>\na", "DAMAGED it should have 5 entries but has 4"),
        (b"#dragoman-vocabulary 1 4\n<pad>\n<unk>\n<s>\na\n", "DAMAGED its first entries must be <pad> <unk> <s> </s>"),
        (b"#dragoman-vocabulary 1 6\n<pad>\n<unk>\n<s>\n</s>\na\na\n", "DAMAGED an entry occurs twice"),
        (b"#dragoman-vocabulary 1 5\n<pad>\n<unk>\n<s>\n</s>\n\xff\n", "DAMAGED 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(RunError) as caught:
        Vocabulary.load(tmp_path / "v")
    assert str(caught.value).startswith(f"{tmp_path}/v" + message.replace("DAMAGED", ": damaged:"))
    if "DAMAGED" in message:
        assert str(caught.value).endswith("; take the file from a copy of the run folder")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="v: missing; the run folder is not complete"):
        Vocabulary.load(tmp_path / "v")
