"""Scoring and evaluating through a loaded translator."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest

import dragoman
from dragoman.errors import InputError

from .conftest import Corpus


def test_scores_are_those_of_forced_decoding(run_folder: Path, corpus: Corpus) -> None:
    sources, targets = (path.read_text().splitlines() for path in corpus.test)
    translator = dragoman.load(run_folder, device="cpu", threads=1)
    expected = [
        one.log_probability for one in dragoman.open_run(run_folder).scorer().score(zip(sources, targets, strict=True))
    ]
    assert translator.score(sources, targets) == pytest.approx(expected)
    assert translator.score(sources[0], targets[0]) == pytest.approx(expected[0], abs=1e-4)
    best = translator.translate(sources[0])
    assert translator.score(sources[0], best.text) == pytest.approx(best.log_probability, abs=1e-3)
    two = dragoman.load(run_folder, run_folder, device="cpu", threads=1)
    assert two.score(sources, targets) == pytest.approx(expected, abs=1e-3)


def test_an_evaluation_is_that_of_measure(run_folder: Path, light: Path, corpus: Corpus) -> None:
    pairs = list(dragoman.read_test_set(corpus.test))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    expected = dragoman.measure(dragoman.open_run(run_folder), pairs).evaluation
    for folders in ([run_folder], [light], [run_folder, run_folder]):
        found = dragoman.load(*folders, device="cpu", threads=1).evaluate(sources, references)
        assert found.scores == expected.scores, folders
        assert (found.perplexity is None) == (len(folders) > 1)
    assert found.sentences == 20
    several = dragoman.load(run_folder).with_options(beam=1).evaluate(sources, [["x", one] for one in references])
    assert several.references == (2, 2)
    assert several.score("exact match") == found.score("exact match")
    assert math.isfinite(several.score("BLEU"))


def test_wrong_numbers_and_types_are_refused(light: Path) -> None:
    translator = dragoman.load(light)
    with pytest.raises(TypeError, match="source and target must both be a string, or both several"):
        translator.score("ab", ["AB"])  # type: ignore[call-overload]
    with pytest.raises(InputError, match="2 sources cannot be scored with 1 targets; give one for each"):
        translator.score(["ab", "c"], ["AB"])
    with pytest.raises(InputError, match="1 lines cannot be evaluated with references of 2; give one for each"):
        translator.evaluate(["ab"], ["AB", "C"])
    with pytest.raises(InputError, match="line 1 has no reference"):
        translator.evaluate(["ab"], [[]])
    with pytest.raises(TypeError, match="sources or references are one string"):
        translator.evaluate("ab", "AB")


def test_translators_and_translations_may_go_to_other_processes(run_folder: Path, light: Path) -> None:
    for folder in (run_folder, light):
        translator = dragoman.load(folder, device="cpu", threads=1).with_options(memory={"fed": "F"})
        translations = translator.translate(["ab c", "", "fed"])
        copied, copies = pickle.loads(pickle.dumps((translator, translations)))
        for one in (copies, copied.translate(["ab c", "", "fed"])):
            assert [(best.text, best.alignment) for best in one] == [
                (best.text, best.alignment) for best in translations
            ]
