"""The last part of the step graph: finding the k best, and several models answering together."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from dragoman.engines.shortlist import CHUNK
from dragoman.export.graph import Graph
from dragoman.export.output_layer import EnsembleCombination, StepQuery, declare_outputs

ROWS = 7


def _answers(
    logits: list[np.ndarray], ensemble: EnsembleCombination, targets: np.ndarray, best: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the graph makes of logits [R, V] of each model."""
    g = Graph("answer")
    given = [g.input(f"logits{number}", "float", ["R", "V"]) for number in range(len(logits))]
    rows, wanted, k = g.input("rows", "int64", ["R"]), g.input("targets", "int64", ["R"]), g.input("k", "int64", [1])
    declare_outputs(g, given, ensemble, StepQuery(rows, wanted, k, None))
    session = onnxruntime.InferenceSession(g.serialise({}), providers=["CPUExecutionProvider"])
    feed = {f"logits{number}": own for number, own in enumerate(logits)}
    others = {"rows": np.arange(ROWS), "targets": targets, "k": np.array([best])}
    outputs = ["log_probabilities", "words", "target_log_probabilities"]
    values, words, of_targets = session.run(outputs, feed | others)
    return values, words, of_targets


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    exact = logits.astype(np.float64)
    return exact - np.log(np.exp(exact).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("best", [1, 2, 11, 9 * CHUNK // 2, 9 * CHUNK])
def test_the_best_of_many_words_are_found_in_two_rounds(best: int) -> None:
    draw = np.random.default_rng(3)
    logits = draw.normal(size=(ROWS, 9 * CHUNK)).astype(np.float32)
    logits[0] = np.sort(logits[0])[::-1]  # the best all in one chunk
    logits[1, :40] = -np.inf
    targets = draw.integers(50, 9 * CHUNK, ROWS)
    values, words, of_targets = _answers([logits], EnsembleCombination("probabilities", [1.0]), targets, best)
    expected = _log_softmax(logits)
    np.testing.assert_allclose(values, -np.sort(-expected, axis=1)[:, :best], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(expected, words, axis=1), values, atol=1e-5)
    assert all(len(set(row)) == best for row in words.tolist())
    np.testing.assert_allclose(of_targets, expected[np.arange(ROWS), targets], atol=1e-5)


@pytest.mark.parametrize("combination", ["probabilities", "log-probabilities", "logits"])
def test_models_answer_together_as_their_formulas_say(combination: str) -> None:
    """engines/ensemble_engine.py has the formulas; here they are worked out once more, with whole distributions."""
    draw = np.random.default_rng(4)
    logits = [draw.normal(size=(ROWS, 2 * CHUNK), scale=scale).astype(np.float32) for scale in (1, 30)]
    for own in logits:
        own[2, 5:] = -np.inf  # words that are not listed
    weights, targets = [0.7, 0.3], draw.integers(0, 5, ROWS)
    own = [_log_softmax(one) for one in logits]
    if combination == "probabilities":
        with np.errstate(divide="ignore"):
            expected = np.log(sum(w * np.exp(each) for w, each in zip(weights, own, strict=True)))
    else:
        expected = sum(w * each for w, each in zip(weights, own, strict=True))
    if combination == "logits":
        expected = _log_softmax(expected)
    ensemble = EnsembleCombination(combination, weights)  # type: ignore[arg-type]
    values, words, of_targets = _answers(logits, ensemble, targets, 2 * CHUNK)
    assert not np.isnan(values).any()
    np.testing.assert_allclose(values, -np.sort(-expected, axis=1), atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(expected, words, axis=1), values, atol=1e-4)
    np.testing.assert_allclose(of_targets, expected[np.arange(ROWS), targets], atol=1e-4)
