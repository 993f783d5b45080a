"""Both networks against their equations in plain float64 numpy, and their gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.config.language_model import LanguageModelConfig, build_language_config
from dragoman.data.batches import Batch
from dragoman.model.assembly import build_language_model
from dragoman.model.language_model import LanguageModel
from dragoman.text.padding import pad
from dragoman.text.vocabulary import BOS, EOS

VOCABULARY = 9
ROWS = [[4, 5, 6, 4, 7], [8], [], [5, 5, 4], [5, 5, 8]]


def settings(**model) -> LanguageModelConfig:
    values = {"embedding": 3, "initialisation": "gaussian", "init_scale": 0.5, **model}
    return build_language_config({"model": values}, "test").model


NETWORKS = {
    "feed-forward": settings(network="feed-forward", feed_forward={"order": 4, "layers": (6, 5)}),
    "bigram": settings(network="feed-forward", feed_forward={"order": 2, "layers": (4,)}),
    "gru": settings(recurrent={"size": 5}),
    "lstm-maxout": settings(recurrent={"cell": "lstm", "size": 4, "layers": 2, "readout": "maxout", "maxout": 3}),
    "tanh": settings(recurrent={"cell": "tanh", "size": 4}),
}


def build(name: str) -> LanguageModel:
    torch.manual_seed(3)
    model = build_language_model(NETWORKS[name], VOCABULARY).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases too, which begin at zero
            parameter.normal_(0, 0.5)
    return model


def batch(rows) -> Batch:
    padded = *pad([[] for _ in rows]), *pad(rows, eos=True)
    return Batch(*padded, np.arange(len(rows)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(name: str, model: LanguageModel, words: list[int]) -> list[float]:
    """Log-probabilities of the words and the end of sentence, equation by equation."""
    p = {key: value.detach().numpy() for key, value in model.named_parameters()}
    layers = 2 if name == "lstm-maxout" else 1
    states = [(np.zeros(5 if name == "gru" else 4),) * 2 for _ in range(layers)]
    history, result = [BOS] * 10, []
    for word in [*words, EOS]:
        if name in ("feed-forward", "bigram"):
            order = NETWORKS[name].feed_forward.order
            hidden = np.concatenate([p["embedding.weight"][h] for h in history[-(order - 1) :]])
            for number in range(len(NETWORKS[name].feed_forward.layers)):
                weights = p[f"body.layers.{number}.weight"], p[f"body.layers.{number}.bias"]
                hidden = np.maximum(0, weights[0] @ hidden + weights[1])
        else:
            vector = hidden = p["embedding.weight"][history[-1]]
            for number in range(layers):
                states[number] = step(name, p, f"body.decoder.layers.{number}", hidden, states[number])
                hidden = states[number][0]
            if name == "lstm-maxout":
                of_word = p["body.decoder.readout.word.weight"] @ vector + p["body.decoder.readout.word.bias"]
                pairs = p["body.decoder.readout.state.weight"] @ hidden + of_word
                hidden = pairs.reshape(-1, 2).max(axis=1)
        logits = p["output.weight"] @ hidden + p["output.bias"]
        result.append(logits[word] - np.log(np.exp(logits).sum()))
        history.append(word)
    return result


def step(name, p, layer, x, state):
    """One step of a cell: Bahdanau's GRU (z writes), Zaremba's LSTM (gates i, f, o, g), or tanh."""
    h, c = state
    a = p[f"{layer}.inputs.weight"] @ x + p[f"{layer}.inputs.bias"]
    if name == "tanh":
        return (np.tanh(a + p[f"{layer}.cell.recurrent.weight"] @ h),) * 2
    gates = p[f"{layer}.cell.recurrent_gates.weight"] @ h
    if name == "gru":
        r, z = np.split(sigmoid(a[:10] + gates), 2)
        new = np.tanh(a[10:] + p[f"{layer}.cell.recurrent.weight"] @ (r * h))
        return ((1 - z) * h + z * new,) * 2
    i, f, o, g = np.split(a + gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@pytest.mark.parametrize("name", NETWORKS)
def test_the_network_is_its_equations_and_a_row_the_same_in_any_batch(name):
    model, data = build(name), batch(ROWS)
    found = model.force(data.target, data.target_lengths)
    total = 0.0
    for number, row in enumerate(ROWS):
        expected = by_hand(name, model, row)
        total += sum(expected)
        assert found[number, : len(row) + 1] == pytest.approx(expected, abs=1e-6)
        assert not found[number, len(row) + 1 :].any()
        alone = batch([row])
        assert model.force(alone.target, alone.target_lengths)[0] == pytest.approx(expected, abs=1e-6)
    loss = model.loss(data)
    assert float(loss.nll.detach()) == pytest.approx(-total, abs=1e-9)
    assert (loss.tokens, loss.sentences) == (sum(len(row) + 1 for row in ROWS), len(ROWS))


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_differences(name):
    model, data = build(name), batch(ROWS)
    model.loss(data).objective.backward()
    random = np.random.default_rng(1)
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for place in random.choice(len(flat), size=min(3, len(flat)), replace=False):
            kept, losses = float(flat[place]), []
            for moved in (kept + 1e-6, kept - 1e-6):
                flat[place] = moved
                losses.append(float(model.loss(data).objective.detach()))
            flat[place] = kept
            if not (key == "embedding.weight" and place < 3):  # padding has no gradient, and no effect
                assert float(gradient[place]) == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-5), key


@pytest.mark.parametrize("name", ["bigram", "gru"])
def test_probabilities_of_all_that_may_follow_sum_to_one(name):
    model = build(name)
    rows = [[4, word] for word in range(VOCABULARY) if word != EOS]
    data = batch(rows)
    first = [row[1] for row in model.force(data.target, data.target_lengths)]
    ended = model.force(*pad([[4]], eos=True))[0, 1]
    assert np.exp([*first, ended]).sum() == pytest.approx(1, abs=1e-5)


def test_only_the_last_words_count_in_an_n_gram_network():
    data = batch([[4, 5, 6, 7], [8, 5, 6, 7]])
    found = build("feed-forward").force(data.target, data.target_lengths)
    assert found[0, 4] == pytest.approx(found[1, 4], abs=1e-7)  # 5 6 7 before the end
    assert abs(found[0, 3] - found[1, 3]) > 1e-3  # 4 5 6 or 8 5 6 before 7


@pytest.mark.parametrize("name", ["feed-forward", "gru"])
def test_what_stands_after_the_same_words_is_computed_once(name, monkeypatch):
    model, data = build(name), batch(ROWS)
    rows = []
    of_words = model.output.word_log_probabilities
    monkeypatch.setattr(
        model.output, "word_log_probabilities", lambda r, *more: (rows.append(len(r)), of_words(r, *more))[1]
    )
    model.force(data.target, data.target_lengths)
    starts = [tuple([BOS] * 3 + row[:end]) for row in ROWS for end in range(len(row) + 1)]
    assert rows == [len({start[-3:] for start in starts} if name == "feed-forward" else set(starts))]
