"""Which texts are single words, by what the lines look like; no text of single words is taken for sentences."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from dragoman.config.presets import load_preset
from dragoman.corpora.corpus import read_pairs
from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.requests.training import ConfigChanges, ModelConfiguration, TrainingCorpora, TrainingRequest, TrainingRun
from dragoman.workflows.configuration import resolve
from dragoman.workflows.preset_choice import (
    CHARACTERS,
    FEW,
    LARGER_VOCABULARY,
    MANY_WORDS,
    MOST_EPOCHS,
    PresetChoice,
    choose_preset,
    side_of,
)


@pytest.mark.parametrize(
    ("lines", "side"),
    [
        (["abate", "aber", "aberdâr"], "word"),
        (["あいかわらず", "가가", "ខ្មែរ"], "word"),
        (["a b a t i", "ɑː b ɛ r", "t͡ɕʰ a"], "symbols"),
        (["AH0 T R IH2", "EY1", "B AA1"], "symbols"),
        (["A dog runs.", "It is red.", "No"], None),
        (["a man in a blue shirt", "two dogs run"], None),
        (["犬が走っている。", "これは赤い。", "はい。"], None),
        (["日本国民は正当に選挙された国会における代表者を通じて行動し"], None),
        (["i am so on my own", "we go to it"], "symbols"),  # without long words no rule can tell
        (["word"] * 19 + ["two words"], "word"),
        (["word"] * 8 + ["two words"] * 2, None),
        (["", " "], None),
    ],
)
def test_a_side_is_words_symbols_or_neither(lines: list[str], side: str | None) -> None:
    assert side_of(lines) == side


def test_what_has_a_pronunciation_may_be_a_phrase() -> None:
    assert side_of(["thương mại", "nghiêng", "ca cao"]) is None
    assert side_of(["thương mại", "nghiêng", "ca cao"], 3.0) == "word"


def corpus(folder: Path, name: str, *lines: str) -> list[list[Path]]:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [[path]]


def test_pronunciations_get_the_preset_for_words_with_phones_between_spaces(tmp_path: Path) -> None:
    choice = choose_preset(corpus(tmp_path, "train.tsv", "aber\ta b ɛ r", "alban\ta l b a n"))
    assert (choice.preset, choice.settings) == ("characters", ["text.target.segmentation=whitespace"])
    assert choice.line == (
        "preset: characters, because the text has single words (source: letters, target: symbols between spaces); "
        "--preset standard is for sentences"
    )


def test_inflections_are_words_with_tags(tmp_path: Path) -> None:
    choice = choose_preset(corpus(tmp_path, "x.trn", "süd\tsüdü\tN;ACC;SG", "alət\talətlər\tN;PL"))
    assert (choice.preset, choice.settings) == ("characters", [])
    assert "source: letters and tags, target: letters" in choice.line


def test_letters_set_apart_on_both_sides(tmp_path: Path) -> None:
    choice = choose_preset(corpus(tmp_path, "x.tsv", "s v u d\ts ʋ u d", "u b i t i\tu b i t i"))
    assert choice.settings == [f"text.{side}.segmentation=whitespace" for side in ("source", "target")]


@pytest.mark.parametrize(
    ("pairs", "epochs", "reason"),
    [
        (1, None, "--preset standard is for sentences"),
        (2000, None, "--preset standard is for sentences"),
        (2001, 59, "; 59 epochs, because there are 2,001 pairs"),
        (4000, 30, "; 30 epochs, because there are 4,000 pairs"),
        (7499, 16, "; 16 epochs, because there are 7,499 pairs"),
        (MANY_WORDS, 16, "; 16 epochs, because there are 7,500 pairs or more"),
        (MANY_WORDS + 1, 16, "; 16 epochs, because there are 7,500 pairs or more"),
    ],
)
def test_thousands_of_single_words_get_fewer_epochs(
    tmp_path: Path, pairs: int, epochs: int | None, reason: str
) -> None:
    choice = choose_preset(corpus(tmp_path, "x.tsv", *["aber\ta b ɛ r"] * pairs))
    fewer = [] if epochs is None else [f"training.epochs={epochs}"]
    assert choice.settings == ["text.target.segmentation=whitespace", *fewer]
    assert choice.line.endswith(reason)


def test_the_most_epochs_of_single_words_are_those_of_the_preset() -> None:
    assert load_preset("characters").training.epochs == MOST_EPOCHS


def test_sentences_and_unreadable_files_get_the_standard_preset(tmp_path: Path) -> None:
    many = corpus(tmp_path, "x.tsv", *["Ein Hund läuft.\tA dog runs."] * (FEW + 1))
    assert choose_preset(many) == PresetChoice("standard")
    assert choose_preset([[tmp_path / "missing.tsv"]]) == PresetChoice("standard")
    with pytest.raises(InputError, match=r"x\.tsv:1: 1 tab-separated column"):
        choose_preset(corpus(tmp_path, "x.tsv", "a"))


def test_sentences_of_very_many_characters_get_a_larger_vocabulary(tmp_path: Path) -> None:
    characters = "".join(map(chr, range(0x4E00, 0x4E00 + CHARACTERS - 1)))
    assert choose_preset(corpus(tmp_path, "x.tsv", f"{characters}\tA")).settings == [
        f"text.{side}.vocabulary={LARGER_VOCABULARY}" for side in ("source", "target")
    ]
    assert choose_preset(corpus(tmp_path, "x.tsv", f"{characters[1:]}\tA")).settings[0] == "text.source.vocabulary=3000"
    choice = choose_preset(corpus(tmp_path, "x.tsv", *[f"{characters}\tA"] * 2001))
    assert choice.line == (
        "vocabulary: 8,000, because the first 2,000 pairs have 1,500 different characters; "
        "--preset standard has its own"
    )


def test_the_command_that_began_a_run_has_the_same_sizes_when_it_resumes(tmp_path: Path) -> None:
    [[text]] = corpus(tmp_path, "x.tsv", "Ein Hund läuft.\tA dog runs.")
    request = TrainingRequest(
        model=ModelConfiguration(changes=ConfigChanges(scale=0.5)),
        text=TrainingCorpora(train=((str(text),),)),
        run=TrainingRun(out=str(tmp_path / "RUN")),
    )
    begun, resumed = (resolve(request, Console(quiet=True), resume=resume) for resume in (False, True))
    assert resumed == begun


@pytest.mark.parametrize(("pairs", "few"), [(1, True), (FEW, True), (FEW + 1, False)])
def test_texts_of_few_pairs_get_a_smaller_vocabulary(tmp_path: Path, pairs: int, few: bool) -> None:
    choice = choose_preset(corpus(tmp_path, "x.tsv", *["Ein Hund läuft.\tA dog runs."] * pairs))
    assert choice == choose_preset([[tmp_path]]) == choose_preset([[tmp_path / "*.tsv"]])
    assert choice.preset == "standard"
    assert choice.settings == ([f"text.{side}.vocabulary=3000" for side in ("source", "target")] if few else ())
    assert choice.line == (
        "vocabulary: 3,000, because the text has no more than 10,000 pairs; --preset standard has its own"
        if few
        else ""
    )


def test_every_set_of_words_is_recognised_and_no_set_of_sentences(shared_data: Path) -> None:
    words = [[path] for path in sorted((shared_data / "g2p-sigmorphon2021").glob("*_train.tsv.xz"))]
    words += [[path] for path in sorted((shared_data / "inflection-sigmorphon2020").glob("*.trn.xz"))]
    assert len(words) == 27
    assert {choose_preset([files]).preset for files in words} == {"characters"}
    folder = shared_data / "multi30k-en-de-cs"
    assert choose_preset([[folder / "train.en.gz", folder / "train.de.gz"]]).preset == "standard"


def test_inflection_tables_are_read_as_lemma_and_tags(shared_data: Path) -> None:
    path = shared_data / "inflection-sigmorphon2020" / "aze.dev.xz"
    pairs = list(read_pairs([[path]]))
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    assert [(pair.source, pair.target) for pair in pairs] == [(f"{lemma}\t{tags}", form) for lemma, form, tags in rows]
