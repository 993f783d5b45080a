"""`dragoman check`: every question has its answer, and the answer changes with the model."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.presets import preset_names
from dragoman.config.schema import Config
from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.engines.protocol import ForcedScores
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import InputError
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run
from dragoman.text.changes import wrong_sources
from dragoman.text.segmentation.characters import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import SPECIALS, Vocabulary
from dragoman.workflows import checking
from dragoman.workflows.checking import Check, check_run
from tests.compositions import VOCABULARY, random_model, small_preset

WORDS = [f"w{number}" for number in range(VOCABULARY - len(SPECIALS))]
SIDE = TextSide(WhitespaceSegmentation(), Vocabulary(WORDS))


def _pairs(count: int = 12) -> list[Pair]:
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(2, 6))) for _ in range(count)]
    return [Pair(line, line, f"line {number}") for number, line in enumerate(lines, 1)]


def _run(config: Config, engine: object, tmp_path) -> Run:
    return Run(RunFolder(tmp_path), config, SIDE, SIDE, engine, 0)


def _by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_checked(preset: str, tmp_path) -> None:
    config = small_preset(preset)
    checks = _by_name(check_run(_run(config, TorchEngine(random_model(config.model)), tmp_path), _pairs()))
    assert list(checks) == ["source", "order", "padding", "gradient", "uniform"]
    assert checks["padding"].verdict == "yes"
    for name in ("source", "order"):
        assert checks[name].figures["ratio"] > 0
    for name in ("gradient", "uniform"):
        if config.model.decoder.context != "attended":
            assert checks[name].verdict == "-"
            assert checks[name].explanation == (
                f"the model has no attention (model.decoder.context: {config.model.decoder.context})"
            )
    if config.model.decoder.context == "attended":
        location = config.model.attention.score == "location"
        assert (checks["gradient"].figures["change"] == 0) == location
        assert (checks["gradient"].verdict == "no") == location
        assert ("location score" in checks["gradient"].explanation) == location


class _Forced:
    """An engine that only scores: the log-probability of a token is what `answer(source, position)` gives."""

    source_eos, attention_shift, attends, vocabulary_size = False, 0, True, VOCABULARY

    def __init__(self, answer, *, attention=None) -> None:
        self._answer, self._attention = answer, attention

    def force(self, source, source_lengths, target, target_lengths):
        found = np.zeros(target.shape, np.float32)
        for row, (words, length) in enumerate(zip(source, target_lengths, strict=True)):
            for step in range(length):
                found[row, step] = self._answer(words, int(source_lengths[row]), target[row], step)
        weights = None
        if self._attention is not None:
            weights = np.stack(
                [
                    self._attention(row, length, target.shape[1])
                    for row, length in zip(source, source_lengths, strict=True)
                ]
            )
        return ForcedScores(found, weights)


def _answers(engine: _Forced, tmp_path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Check]:
    from dragoman.workflows import checking

    nothing = Check("gradient", "", "-", "", {})
    monkeypatch.setattr(checking, "_weights_depend_on_annotations", lambda run, pairs: nothing)  # it has no model
    return _by_name(check_run(_run(Config(), engine, tmp_path), _pairs()))


def test_a_model_is_judged_by_what_it_reads(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copies(words, length, target, step):
        return -0.1 if step >= length or words[step] == target[step] else -3.0

    def reads_a_set(words, length, target, step):
        return -0.1 if step >= length or target[step] in words[:length] else -3.0

    def reads_nothing(words, length, target, step):
        return -2.0

    def reads_padding(words, length, target, step):
        return -0.01 * len(words)

    for answer, source, order, padding in (
        (copies, "yes", "yes", "yes"),
        (reads_a_set, "yes", "no", "yes"),
        (reads_nothing, "no", "no", "yes"),
        (reads_padding, "no", "no", "no"),
    ):
        checks = _answers(_Forced(answer), tmp_path, monkeypatch)
        verdicts = tuple(checks[name].verdict for name in ("source", "order", "padding"))
        assert verdicts == (source, order, padding), answer.__name__
    assert checks["uniform"].verdict == "-"


def test_uniform_weights_are_found_also_within_a_window(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    def uniform(row, length, steps):
        return np.tile((np.arange(len(row)) < length) / length, (steps, 1)).astype(np.float32)

    def window(row, length, steps):
        return np.tile((np.arange(len(row)) < 2) / 2, (steps, 1)).astype(np.float32)

    def sharp(row, length, steps):
        return np.tile(
            np.where(np.arange(len(row)) == 0, 0.97, 0.03 / (length - 1)) * (np.arange(len(row)) < length), (steps, 1)
        ).astype(np.float32)

    for attention, verdict, attended in ((uniform, "no", None), (window, "no", 2.0), (sharp, "yes", None)):
        check = _answers(_Forced(lambda *_: -1.0, attention=attention), tmp_path, monkeypatch)["uniform"]
        assert check.verdict == verdict, attention.__name__
        if attended:
            assert check.figures["positions"] == check.figures["positions_attended"] == pytest.approx(attended)


def test_pairs_that_cannot_be_compared_are_refused_or_left_out(tmp_path) -> None:
    config = small_preset("bahdanau2015")
    run = _run(config, TorchEngine(random_model(config.model)), tmp_path)
    for pairs in ([], _pairs(1), [*_pairs(1), Pair("", "w1", "x"), Pair(" ", "w2", "y")], _pairs(1) * 3):
        with pytest.raises(InputError, match="two or more pairs with different sources"):
            check_run(run, pairs)
    order = _by_name(check_run(run, [Pair("w1", "w1", "x"), Pair("w2 w3 w2", "w2", "y")]))["order"]
    assert (order.verdict, order.explanation) == ("-", "no source has two different words")
    long = " ".join(WORDS[:2] * 60)
    checks = _by_name(check_run(run, [Pair(long, "w1", "x"), Pair(f"w3 {long}", "w2", "y")]))
    assert {checks[name].verdict for name in ("padding", "gradient")} == {"-"}


def test_of_single_words_the_letters_are_reversed_and_the_tags_stay(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    reversed_ones: list[str] = []
    config = override(small_preset("bahdanau2015"), ["text.source.segmentation=letters"])
    run = _run(config, TorchEngine(random_model(config.model)), tmp_path)
    scored = checking._nats_with

    def noting(run: Run, sources: list[str], pairs: list[Pair]) -> float:
        reversed_ones[:] = sources
        return scored(run, sources, pairs)

    monkeypatch.setattr(checking, "_nats_with", noting)
    pairs = [Pair("sagen\tV;PST", "w1", "x"), Pair("machen\tV;PRS", "w2", "y"), Pair("aa\tV", "w3", "z")]
    order = _by_name(check_run(run, pairs))["order"]
    assert order.question == "does the order of the source characters matter?"
    assert reversed_ones == ["negas\tV;PST", "nehcam\tV;PRS"]


def test_an_encoder_that_reads_nothing_changes_the_verdicts(tmp_path) -> None:
    """A model trained to copy reads its source until its source embeddings are zero."""
    config = small_preset("bahdanau2015")
    model = random_model(config.model)
    with torch.no_grad():
        model.source.weight.zero_()
    pairs = [pair for pair in _pairs(40) if len(pair.source.split()) == 4]
    checks = _by_name(check_run(_run(config, TorchEngine(model), tmp_path), pairs))
    for name in ("source", "order"):
        assert checks[name].figures["ratio"] == pytest.approx(1)
        assert checks[name].verdict == "no"


def test_wrong_sources_are_all_others_and_samples_are_spread() -> None:
    assert wrong_sources(["a", "b", "c", "d", "e"]) == ["c", "d", "e", "a", "b"]
    assert wrong_sources(["a"]) == ["a"]
    pairs = _pairs(10)
    assert evenly_spaced(pairs, 20) == pairs
    assert [pairs.index(pair) for pair in evenly_spaced(pairs, 4)] == [0, 2, 5, 7]
