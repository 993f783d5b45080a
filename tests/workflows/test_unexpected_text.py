"""Warnings of files and text in other languages than a run translates."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.config.building import override
from dragoman.config.schema import Config, SideConfig
from dragoman.corpora.pairs import Pair
from dragoman.text.items import KINDS, Items
from dragoman.text.names import WordFilter
from dragoman.text.segmentation import train_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.workflows.demo_corpus import make_corpus
from dragoman.workflows.unexpected_text import checked_lines, checked_pairs, warn_of_declared


def side(lines, segmentation):
    trained = train_segmentation(SideConfig(segmentation=segmentation, vocabulary=600), lines)
    counts = Counter(piece for line in lines for piece in trained.segment(line).pieces)
    return TextSide(trained, Vocabulary.from_counts(counts, 600))


@pytest.fixture(scope="module")
def demo():
    return make_corpus("de", "en")


@pytest.fixture(scope="module", params=["bpe", "words"])
def run(request, demo):
    sides = [side(lines, request.param) for lines in zip(*demo.train[:2000], strict=True)]
    return SimpleNamespace(config=override(Config(), []), source=sides[0], target=sides[1])


def named(run, source="de", target="en"):
    config = override(run.config, [f'text.source.language="{source}"', f'text.target.language="{target}"'])
    return SimpleNamespace(config=config, source=run.source, target=run.target)


def told(caplog, check, *arguments):
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        given = list(check(*arguments))
    return given, [record.getMessage() for record in caplog.records]


END = "; check that this is the run for these files, and that they are in order"


def test_text_of_the_other_side_and_of_another_script_is_told(run, demo, caplog):
    german, english = zip(*demo.test[:40], strict=True)
    korean = [target for _, target in make_corpus("en", "ko").test[:40]]
    other = "text is like the other side of its training text"
    assert told(caplog, checked_lines, german, "-", "RUN", run) == (list(german), [])
    assert told(caplog, checked_lines, english, "-", "RUN", run) == (list(english), [f"RUN: the source {other}{END}"])
    (message,) = told(caplog, checked_lines, korean, "-", "RUN", run)[1]
    assert " % letters in segments that its vocabulary lacks" in message
    swapped = [Pair(source, target, "x") for source, target in zip(english, german, strict=True)]
    given, messages = told(caplog, checked_pairs, swapped, ["a.tsv"], "RUN", named(run))
    assert given == swapped
    assert messages == [f"RUN translates de to en, but the source {other}, and the target {other}{END}"]


def test_another_language_is_told_by_its_words(run, demo, caplog):
    english = [target for _, target in demo.test[:40]]
    german = [
        "Ein Hund läuft über die grüne Wiese,",
        "springt in den See und sieht dort Enten,",
        "die vor ihm fliehen.",
    ] * 2
    form = NormalForm.of_sources(english).with_spelling([target for _, target in demo.train[:2000]])
    both = TextSide(NormalisedSegmentation(run.target.segmentation, form), run.target.vocabulary)
    joint = SimpleNamespace(config=run.config, source=both, target=both)  # one vocabulary does not tell its sides apart
    assert told(caplog, checked_lines, english, "-", "RUN", joint)[1] == []
    (message,) = told(caplog, checked_lines, german, "-", "RUN", joint)[1]
    assert "the source text shares only " in message


def test_words_that_a_side_protects_as_names_are_not_taken_for_its_language(run, demo, caplog):
    german, english = zip(*demo.test[:40], strict=True)
    items = Items(
        [KINDS["number"].pattern], (), WordFilter.of(word.lower() for line in english for word in line.split())
    )
    sides = [
        TextSide(ProtectedSegmentation(run.target.segmentation, items, source=source), run.target.vocabulary)
        for source in (True, False)
    ]
    joint = SimpleNamespace(config=run.config, source=sides[0], target=sides[1])
    pairs = [Pair(source, target.title(), "x") for source, target in zip(english, german, strict=True)]
    messages = told(caplog, checked_pairs, pairs, ["a.tsv"], "RUN", joint)[1]
    assert not any("like the other side" in message for message in messages)


def test_names_of_files_are_told_before_the_text(run, demo, caplog):
    german, english = zip(*demo.test[:40], strict=True)
    wrong = [Pair(source, target, "x") for source, target in zip(english, german, strict=True)]
    assert told(caplog, checked_pairs, wrong, ["five.en", "five.de.gz"], "RUN", named(run))[1] == [
        "RUN translates de to en, but the name of the source five.en says en, and the name of the target five.de.gz "
        f"says de{END}"
    ]
    assert told(caplog, checked_lines, german, "new.fr", "RUN", named(run))[1] == [
        f"RUN translates de to en, but the name of the source new.fr says fr{END}"
    ]
    for name, languages in (("new.de", ("de", "en")), ("new.txt", ("de", "en")), ("a.nb", ("no", "en"))):
        assert told(caplog, checked_lines, german, name, "RUN", named(run, *languages))[1] == []


def test_languages_that_a_document_declares_are_told(run, caplog):
    config = named(run).config
    warn_of_declared(Path("a.xlf"), {"source": "de-AT", "target": ""}, "RUN", config)
    assert caplog.messages == []
    warn_of_declared(Path("a.xlf"), {"source": "de", "target": "fr-FR"}, "RUN", config)
    assert caplog.messages == [f"RUN translates de to en, but a.xlf says that its target is fr-FR{END}"]


def test_a_few_words_are_not_judged(run, caplog):
    assert told(caplog, checked_lines, ["hello", "two words"], "-", "RUN", run)[1] == []


def test_one_vocabulary_for_both_sides_tells_nothing_apart(run, demo, caplog):
    joint = SimpleNamespace(config=run.config, source=run.source, target=run.source)
    german = [source for source, _ in demo.test[:40]]
    assert told(caplog, checked_lines, german, "-", "RUN", joint)[1] == []
