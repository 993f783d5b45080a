from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model.readout import AttentionalReadout, MaxoutReadout, Readout, StateReadout
from tests.model.gradients import assert_gradients
from tests.model.naming import array, readout_weights
from tests.model.reference import attention as reference


def test_maxout_takes_the_larger_of_adjacent_units_as_computed_by_hand() -> None:
    maxout = MaxoutReadout(state=6, word=1, context=0, size=3, biases=False).double()
    with torch.no_grad():
        maxout.state.weight.copy_(torch.eye(6))
    state = torch.tensor([[1, 3, -2, -5, 0.5, 0.5]], dtype=torch.float64)
    read = maxout.prepare()(state, torch.zeros(1, 6, dtype=torch.float64), None)
    assert read.tolist() == [[3, -2, 0.5]]


@pytest.mark.parametrize("context", [0, 5])
def test_maxout_follows_the_equations_with_and_without_a_context(context: int) -> None:
    maxout = _random(MaxoutReadout(state=4, word=3, context=context, size=2, biases=True))
    state, word, c = (torch.randn(2, size, dtype=torch.float64) for size in (4, 3, context))
    read = maxout.prepare()(state, maxout.words(word), c if context else None)
    w = readout_weights(maxout)
    for row in range(2):
        t = w["U_o"] @ array(state[row]) + w["V_o"] @ array(word[row]) + w["b_o"]
        if context:
            t = t + w["C_o"] @ array(c[row])
        np.testing.assert_allclose(array(read[row]), reference.maxout(t), atol=1e-10, rtol=0)


def test_attentional_puts_the_context_first() -> None:
    attentional = _random(AttentionalReadout(state=2, context=3, size=4, biases=True))
    state, context = torch.randn(2, 2, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    read = attentional.prepare()(state, attentional.words(context), context)
    w = readout_weights(attentional)
    for row in range(2):
        expected = reference.attentional(array(context[row]), array(state[row]), w["W_c"], w["b_c"])
        np.testing.assert_allclose(array(read[row]), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaxoutReadout(3, 2, 4, 2, biases=True),
        lambda: AttentionalReadout(3, 4, 2, biases=True),
        lambda: AttentionalReadout(3, 4, 2, biases=True, affine=True),
    ],
    ids=["maxout", "attentional", "affine"],
)
def test_gradients_of_parameters_state_word_and_context_over_two_steps(make: Callable[[], Readout]) -> None:
    readout = _random(make())
    inputs = {name: torch.randn(2, size, dtype=torch.float64) for name, size in (("state", 3), ("c", 4), ("word", 2))}

    word = inputs["word"]

    def run() -> torch.Tensor:
        read, words = readout.prepare(), readout.words(word)
        first = read(inputs["state"], words, inputs["c"])
        return torch.cat((first, read(torch.tanh(inputs["state"]), words, 2 * inputs["c"])))

    if isinstance(readout, AttentionalReadout):
        inputs.pop("word")  # it does not look at it
    assert_gradients(run, {**dict(readout.named_parameters()), **inputs})


def test_affine_is_attentional_before_the_tanh() -> None:
    affine, attentional = (_random(AttentionalReadout(2, 3, 4, biases=True, affine=affine)) for affine in (True, False))
    state, context = torch.randn(2, 2, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    words = affine.words(context)
    torch.testing.assert_close(
        torch.tanh(affine.prepare()(state, words, context)), attentional.prepare()(state, words, context)
    )


def test_linear_is_the_state_itself() -> None:
    state = torch.randn(2, 4)
    assert StateReadout(4).prepare()(state, state[:, :0], None) is state


def _random(module: Any) -> Any:
    torch.manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()
