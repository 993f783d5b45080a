from __future__ import annotations

import pickle
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.config.schema import SideConfig
from dragoman.data.segmenting import ChunkText, segment_text
from dragoman.text.segmentation import load_segmentation, train_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

TRAINING = ["The café's \"dog\" - it's 1,234 m².", "Ein Öl (über) 56789 kg", "나는 집에", "می\u200cخواهم"]
FORM = NormalForm.of_sources(TRAINING)

LINES = [
    ("cafe\u0301", "café"),
    ("O\u0308l u\u0308ber", "Öl über"),
    ("a\u00a0b\u202fc\u3000d", "a b c d"),
    ("d\u00adog d\u200bog \ufeffdog d\u200dog", "dog dog dog dog"),
    ("\u1102\u1161\u1102\u1173\u11ab", "나는"),
    ("„dog“ «dog»", '"dog" "dog"'),
    ("it’s ‘so’ —–", "it's 'so' --"),
    ("ｄｏｇ １２３４", "dog 1234"),
    ("ｅ\u0301", "é"),
    ("٣٤ ३", "34 3"),
    ("m² m³", "m² m3"),
    ("it´s", "it's"),
    ("𝟡𝟙", "91"),
    ("ﬁn", "fin"),
    ("می\u200cخواهم", "می\u200cخواهم"),
    ("👩\u200d👩\u200d👧 x", "👩\u200d👩\u200d👧 x"),
    ("字 \u0301", "字 \u0301"),
    ("e\u00ad\u0301", "é"),
    ("\u200b", ""),
    ("", ""),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_sources_are_written_as_those_of_the_training(line: str, expected: str) -> None:
    assert FORM.text(line) == expected
    assert FORM.apply(line).text == expected


def test_a_stray_character_of_a_large_text_is_none_that_a_model_has_learnt() -> None:
    form = NormalForm.of_sources(['a "dog"'] * 20_000 + ["a “dog”", "字"])
    assert form.text("“dog” 字") == '"dog" 字'


def test_training_text_stays() -> None:
    assert [FORM.apply(line) for line in TRAINING[:3]] == [(line, None) for line in TRAINING[:3]]


def test_targets_keep_their_spaces_and_marks() -> None:
    form = NormalForm()
    assert form.text("«\u00a0cafe\u0301\u202f» „x“ ｄ…\u3000\u200b\u00ad") == "«\u00a0café\u202f» „x“ ｄ…\u3000"


@given(
    st.text(
        st.sampled_from("aeE\u0301\u0308\u00ad\u200b\u200c\u00a0 ｅ“„一\u1102\u1161\u11ab가क\u093c\u09c7\u09be😀"),
        max_size=20,
    )
)
@example("\u0301a\u0301")
@example("\u200d")
@example("\u0301\u093c\u200c")
@example("\u093c\u00ad\u0301\u200c\u0301\u093c")
def test_spans_cover_the_raw_line(line: str) -> None:
    for form in (FORM, NormalForm()):
        text, spans = form.apply(line)
        if spans is None:
            assert text == line
            continue
        assert len(spans) == len(text)
        assert all(0 <= start < stop <= len(line) for start, stop in spans)
        assert all(one[0] <= other[0] for one, other in pairwise(spans))
        assert form.text(text) == text, "it is in normal form"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_composed_and_decomposed_letters_are_the_same(line: str) -> None:
    for form in (FORM, NormalForm()):
        composed = unicodedata.normalize("NFC", line)
        assert form.text(unicodedata.normalize("NFD", composed)) == form.text(composed)


def test_segments_have_the_spans_of_the_raw_line(tmp_path: Path) -> None:
    lines = [line for line in TRAINING for _ in range(30)]
    inner = train_segmentation(SideConfig(vocabulary=90), lines)
    side = TextSide(NormalisedSegmentation(inner, FORM), Vocabulary([]))
    raw = "\ufeff„The\u00a0cafe\u0301“ d\u00adog"
    pieces, offsets = side.segmentation.segment(raw)
    assert pieces == inner.segment('"The café" dog').pieces
    covered = [raw[start:stop] for start, stop in offsets]
    assert "".join(covered) == "„Thecafe\u0301“d\u00adog"
    assert side.formed(raw) == '"The café" dog'
    side.save(tmp_path, "source")
    loaded = load_segmentation(tmp_path / "source.segmentation.json")
    for other in (loaded, pickle.loads(pickle.dumps(side.segmentation))):
        assert other.segment(raw) == (pieces, offsets)
    assert isinstance(loaded, NormalisedSegmentation)
    text = ChunkText([raw, "", "dog"], [raw, "", "dog"], None)
    for found in segment_text((loaded, loaded), text)[:2]:
        assert [found.pieces[number] for number in found.ids[: len(pieces)]] == pieces
        assert found.lengths[1] == 0


def test_a_line_of_a_hundred_thousand_marks_is_quick() -> None:
    line = "a" + "\u0301" * 100_000
    assert len(FORM.text(line)) == 100_000
