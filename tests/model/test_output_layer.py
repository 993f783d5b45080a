from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional

from dragoman.model.fast.output_layer import BLOCK, ROWS
from dragoman.model.output_layer import AttentionalReadout, MaxoutReadout, OutputLayer, Readout, StateReadout
from tests.model.forms import both_forms, in_form, randomised
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
    maxout = randomised(MaxoutReadout(state=4, word=3, context=context, size=2, biases=True))
    state, word, c = (torch.randn(2, size, dtype=torch.float64) for size in (4, 3, context))
    read = maxout.prepare()(state, maxout.words(word), c if context else None)
    w = readout_weights(maxout)
    for row in range(2):
        t = w["U_o"] @ array(state[row]) + w["V_o"] @ array(word[row]) + w["b_o"]
        if context:
            t = t + w["C_o"] @ array(c[row])
        np.testing.assert_allclose(array(read[row]), reference.maxout(t), atol=1e-10, rtol=0)


def test_attentional_puts_the_context_first() -> None:
    attentional = randomised(AttentionalReadout(state=2, context=3, size=4, biases=True))
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
    readout = randomised(make())
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
    affine, attentional = (
        randomised(AttentionalReadout(2, 3, 4, biases=True, affine=affine)) for affine in (True, False)
    )
    state, context = torch.randn(2, 2, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    words = affine.words(context)
    torch.testing.assert_close(
        torch.tanh(affine.prepare()(state, words, context)), attentional.prepare()(state, words, context)
    )


def test_linear_is_the_state_itself() -> None:
    state = torch.randn(2, 4)
    assert StateReadout(4).prepare()(state, state[:, :0], None) is state


@pytest.mark.parametrize("rows", [1, 7, BLOCK // 8, BLOCK // 8 + 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
@both_forms
def test_loss_and_gradients_are_those_of_the_softmax(rows: int, smoothing: float, bias: bool, fast: bool) -> None:
    output, readout, words = _make(rows, bias, fast=fast)
    losses = output.loss(readout, words, smoothing)
    logits = functional.linear(readout, output.weight, output.bias)
    expected = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(losses.smoothed, expected)
    torch.testing.assert_close(losses.nll, functional.cross_entropy(logits, words, reduction="sum"))
    wanted = [readout, *output.parameters()]
    ours, theirs = torch.autograd.grad(losses.smoothed * 0.5, wanted), torch.autograd.grad(expected * 0.5, wanted)
    for mine, plain in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, plain)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_low_rank_output_is_the_product_of_its_two_matrices(smoothing: float) -> None:
    """Cho et al. 2014: G = G_l G_r, nothing but linear in between; and the gradients of both."""
    torch.manual_seed(1)
    low, whole = (in_form(OutputLayer(4, 9, bias=True, rank=rank).double(), fast=True) for rank in (2, None))
    for parameter in low.parameters():
        torch.nn.init.normal_(parameter)
    assert low.narrow is not None
    with torch.no_grad():
        whole.weight.copy_(low.weight @ low.narrow.weight)
        assert whole.bias is not None
        whole.bias.copy_(low.bias)
    readout, words = torch.randn(5, 4, dtype=torch.float64), torch.randint(0, 9, (5,))
    ours, expected = (output.log_probabilities(readout) for output in (low, whole))
    torch.testing.assert_close(ours, expected, atol=1e-12, rtol=0)
    for mine, wanted in zip(low.loss(readout, words, smoothing), whole.loss(readout, words, smoothing), strict=True):
        torch.testing.assert_close(mine, wanted)
    assert_gradients(
        lambda: low.loss(readout, words, smoothing).smoothed, {**dict(low.named_parameters()), "readout": readout}
    )


@both_forms
def test_log_probabilities_sum_to_one_and_match_the_loss(fast: bool) -> None:
    output, readout, words = _make(5, bias=True, fast=fast)
    logs = output.log_probabilities(readout)
    torch.testing.assert_close(logs.exp().sum(1), torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(-logs.gather(1, words[:, None]).sum(), output.loss(readout, words, 0.1).nll)


@pytest.mark.parametrize("readouts", [1, ROWS - 1, 2 * ROWS + 3])
@both_forms
def test_given_words_have_the_log_probabilities_of_all_words(readouts: int, fast: bool) -> None:
    """In any order of the readouts, some of which are wanted several times and others never."""
    output, readout, _ = _make(readouts, bias=True, fast=fast)
    rows, words = torch.randint(0, readouts, (50,)), torch.randint(0, 9, (50,))
    expected = output.log_probabilities(readout)[rows, words]
    torch.testing.assert_close(output.word_log_probabilities(readout, words, rows), expected, atol=1e-12, rtol=0)


def test_two_batches_do_not_disturb_each_other() -> None:
    """Both use the same memory for their logits; the first must have what it needs by then."""
    output, readout, words = _make(6, bias=True)
    first = output.loss(readout, words, 0.0)
    output.loss(2 * readout.detach(), words.flip(0), 0.0)
    (ours,) = torch.autograd.grad(first.smoothed, readout)
    logits = functional.linear(readout, output.weight, output.bias)
    (plain,) = torch.autograd.grad(functional.cross_entropy(logits, words, reduction="sum"), readout)
    torch.testing.assert_close(ours, plain)


def test_nothing_is_differentiated_without_need() -> None:
    output, readout, words = _make(3, bias=True)
    with torch.no_grad():
        assert not output.loss(readout, words, 0.0).smoothed.requires_grad


def test_certain_words_have_no_loss_and_hopeless_ones_a_finite_one() -> None:
    output = in_form(OutputLayer(1, 2, bias=False), fast=True)
    torch.nn.init.constant_(output.weight, 0)
    with torch.no_grad():
        output.weight[1] = 1
    readout = torch.tensor([[500.0], [500.0]])
    assert output.loss(readout[:1], torch.tensor([1]), 0.0).nll.item() == 0
    assert output.loss(readout[:1], torch.tensor([0]), 0.0).nll.item() == 500


def _make(rows: int, bias: bool, *, fast: bool = True) -> tuple[OutputLayer, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    output = OutputLayer(4, 9, bias=bias).double()
    for parameter in output.parameters():
        torch.nn.init.normal_(parameter)
    return (
        in_form(output, fast),
        torch.randn(rows, 4, dtype=torch.float64, requires_grad=True),
        torch.randint(0, 9, (rows,)),
    )
