from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from dragoman.config.schema import SideConfig
from dragoman.errors import RunError
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

TEXT = ["A little dog runs.", "Two dogs run, a cat doesn't."]


def side_of(kind: str) -> TextSide:
    segmentation = train_segmentation(SideConfig(segmentation=kind, vocabulary=80), TEXT)
    counts = Counter(piece for line in TEXT for piece in segmentation.segment(line).pieces)
    return TextSide(segmentation, Vocabulary.from_counts(counts, size=None))


@pytest.fixture(params=["words", "characters", "bpe", "unigram"])
def side(request: pytest.FixtureRequest) -> TextSide:
    return side_of(request.param)


def test_text_becomes_ids_and_ids_text(side: TextSide) -> None:
    for line in TEXT:
        encoded = side.encode(line)
        assert len(encoded.ids) == len(encoded.pieces) == len(encoded.offsets)
        assert side.vocabulary.pieces(encoded.ids) == encoded.pieces
        assert EOS not in encoded.ids
        assert side.decode(encoded.ids) == line


def test_decoding_stops_at_the_end_of_the_sentence_and_skips_padding(side: TextSide) -> None:
    ids = side.encode(TEXT[0]).ids
    assert side.decode([BOS, *ids, EOS, PAD, *ids]) == TEXT[0]
    assert side.decode([PAD, *ids, PAD]) == TEXT[0]
    assert side.decode([]) == side.decode([EOS]) == ""


def test_an_unknown_segment_is_shown(side: TextSide) -> None:
    encoded = side.encode("日")
    assert encoded.ids[-1] == UNK
    assert side.decode(encoded.ids[-1:]) == "<unk>"


def test_text_that_spells_a_special_symbol_does_not_become_one(side: TextSide) -> None:
    assert not {PAD, BOS, EOS} & set(side.encode("<s> </s> <pad>").ids)


@pytest.mark.parametrize("copy", ["folder", "pickle"])
def test_a_copy_is_the_same(tmp_path: Path, side: TextSide, copy: str) -> None:
    if copy == "folder":
        side.save(tmp_path, "target")
        again = TextSide.load(tmp_path, "target")
    else:
        again = pickle.loads(pickle.dumps(side))
    assert [again.encode(line) for line in TEXT] == [side.encode(line) for line in TEXT]
    assert again.decode(side.encode(TEXT[1]).ids) == TEXT[1]
    assert again.vocabulary.digest == side.vocabulary.digest


def test_both_sides_lie_in_one_folder(tmp_path: Path) -> None:
    side_of("bpe").save(tmp_path, "source")
    side_of("words").save(tmp_path, "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "source.model",
        "source.segmentation.json",
        "source.vocabulary",
        "target.segmentation.json",
        "target.vocabulary",
    ]
    assert TextSide.load(tmp_path, "target").encode(TEXT[0]).pieces[-1] == "."


def test_a_folder_without_the_side_is_refused(tmp_path: Path) -> None:
    side_of("words").save(tmp_path, "target")
    with pytest.raises(RunError, match=r"source\.segmentation\.json: missing; the run folder is not complete"):
        TextSide.load(tmp_path, "source")
