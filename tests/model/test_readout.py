from __future__ import annotations

import numpy as np
import torch

from dragoman.model.readout import Attentional, Linear, Maxout


def test_maxout_takes_the_larger_of_adjacent_units_as_computed_by_hand() -> None:
    maxout = Maxout(state=6, word=1, context=0, size=3, biases=False).double()
    with torch.no_grad():
        maxout.state.weight.copy_(torch.eye(6))
    state = torch.tensor([[1, 3, -2, -5, 0.5, 0.5]], dtype=torch.float64)
    read = maxout.bind()(state, torch.zeros(1, 6, dtype=torch.float64), None)
    assert read.tolist() == [[3, -2, 0.5]]


def test_maxout_sums_state_previous_word_and_context() -> None:
    maxout = _random(Maxout(state=4, word=3, context=5, size=2, biases=True))
    state, word, context = (torch.randn(2, size, dtype=torch.float64) for size in (4, 3, 5))
    t = (
        state @ maxout.state.weight.T
        + word @ maxout.word.weight.T
        + maxout.word.bias
        + context @ maxout.context.weight.T
    )
    expected = np.maximum(t.detach().numpy()[:, 0::2], t.detach().numpy()[:, 1::2])
    read = maxout.bind()(state, maxout.words(word), context)
    np.testing.assert_allclose(read.detach().numpy(), expected, atol=1e-12)


def test_attentional_puts_the_context_first() -> None:
    attentional = _random(Attentional(state=2, context=3, size=4, biases=True))
    state, context = torch.randn(1, 2, dtype=torch.float64), torch.randn(1, 3, dtype=torch.float64)
    weight, bias = attentional.combine.weight, attentional.bias
    assert bias is not None
    expected = torch.tanh(context @ weight[:, :3].T + state @ weight[:, 3:].T + bias)
    torch.testing.assert_close(attentional.bind()(state, attentional.words(context), context), expected)


def test_linear_is_the_state_itself() -> None:
    state = torch.randn(2, 4)
    assert Linear(4).bind()(state, state[:, :0], None) is state


def _random(module: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()
