"""A trained model whose vocabularies gain what other text has."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.config.schema import SideConfig, TextConfig
from dragoman.corpora.pairs import Pair
from dragoman.model.weights import extended_rows
from dragoman.text.segmentation import train_segmentation
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import SPECIALS, UNK, Vocabulary
from dragoman.workflows import fine_tuning
from dragoman.workflows.fine_tuning import TrainedModel, parts_of

LINES = ["the small dog sees a cat", "a big cat sleeps here", "the cat and the dog eat", "resume the work"] * 10
NEW = ["the 한국 dog", "résumé of a dog", "한 dog"]


def side(lines: list[str], segmentation: str) -> TextSide:
    trained = train_segmentation(SideConfig(segmentation=segmentation, vocabulary=60), lines)
    counts = Counter(piece for line in lines for piece in trained.segment(line).pieces)
    return TextSide(trained, Vocabulary.from_counts(counts, 60))


def model(segmentation: str, *, joint: bool = False) -> TrainedModel:
    source = side(LINES, segmentation)
    target = TextSide(source.segmentation, source.vocabulary) if joint else side(LINES, segmentation)
    return TrainedModel(SimpleNamespace(), source, target)  # type: ignore[arg-type]


def extended(trained: TrainedModel, config: TextConfig | None = None) -> TrainedModel:
    return trained.extended(lambda: [Pair(line, LINES[0], "x") for line in NEW], config or TextConfig())


@pytest.mark.parametrize("segmentation", ["bpe", "unigram", "words", "characters", "whitespace"])
def test_nothing_is_unknown_and_no_id_changes(segmentation: str) -> None:
    before = model(segmentation)
    after = extended(before)
    assert any(UNK in before.source.encode(line).ids for line in NEW)
    for line in NEW:
        encoded = after.source.encode(line)
        assert UNK not in encoded.ids
        assert after.source.decode(encoded.ids) == line
    for line in LINES:
        assert after.source.encode(line) == before.source.encode(line)
    assert len(after.source.vocabulary) == len(before.source.vocabulary) + len(after.parts[0])
    assert (len(after.target.vocabulary), after.parts[1]) == (len(before.target.vocabulary), [])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_subword_model_with_more_characters_segments_many_lines_as_one(kind: str, tmp_path: Any) -> None:
    after = extended(model(kind)).source
    segmentation = after.segmentation
    assert isinstance(segmentation, SubwordSegmentation)
    many = segmentation.segment_lines([*NEW, *LINES[:4]])
    pieces = iter(many.ids.tolist())
    for line, length in zip([*NEW, *LINES[:4]], many.lengths.tolist(), strict=True):
        assert [many.pieces[next(pieces)] for _ in range(length)] == segmentation.segment(line).pieces
    assert segmentation.segment("한국").pieces[-2:] == ["한", "국"]
    after.save(tmp_path, "source")
    loaded = TextSide.load(tmp_path, "source")
    assert [loaded.encode(line) for line in NEW] == [after.encode(line) for line in NEW]


def test_a_joint_vocabulary_stays_one() -> None:
    after = extended(model("bpe", joint=True))
    assert after.source.vocabulary is after.target.vocabulary
    assert after.parts[0] == after.parts[1] != []


def test_rare_segments_and_more_than_the_most_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    frequent = TextConfig(source=SideConfig(min_frequency=2))
    after = extended(model("characters"), frequent)
    assert after.source.vocabulary.pieces(range(len(after.source.vocabulary)))[-2:] == ["é", "한"]
    monkeypatch.setattr(fine_tuning, "MOST_NEW", 1)
    assert len(extended(model("characters")).parts[0]) == 1


def test_new_rows_are_the_mean_of_their_parts() -> None:
    random = torch.Generator().manual_seed(1)
    shapes = {"source.weight": (7, 3), "target.weight": (6, 3), "output.weight": (6, 2), "output.bias": (6,)}
    weights = {name: torch.rand(shape, generator=random) for name, shape in shapes.items()}
    weights["encoder"] = torch.ones(2)
    found = extended_rows(weights, ([[4, 5], []], [[5]]))
    for name, rows in weights.items():
        assert torch.equal(found[name][: len(rows)], rows)
    assert torch.allclose(found["source.weight"][7], weights["source.weight"][[4, 5]].mean(0))
    assert torch.allclose(found["source.weight"][8], weights["source.weight"][len(SPECIALS) :].mean(0))
    assert [len(found[name]) for name in shapes] == [9, 7, 7, 7]
    for name in ("target.weight", "output.weight", "output.bias"):
        assert torch.equal(found[name][6], weights[name][5])
    assert extended_rows(weights, ([], [])) == weights


KNOWN = ["hund", "Hunde", "Hütte", "e", "A", "\u0301", "der", "Haus"]


@pytest.mark.parametrize(
    ("segment", "parts"),
    [
        ("Hund", ["hund"]),
        ("HAUS", ["Haus"]),
        ("Hundehütte", ["Hunde", "Hütte"]),
        ("xxHaus", ["Haus"]),
        ("é", ["e", "\u0301"]),
        ("Ａ", ["A"]),
        ("中", []),
        ("qqqq", []),
        ("Ae", []),  # letters of a longer segment say nothing
    ],
)
def test_parts_are_other_cases_decompositions_and_known_words(segment: str, parts: list[str]) -> None:
    vocabulary = Vocabulary(KNOWN)
    assert parts_of(segment, vocabulary) == vocabulary.ids(parts)
