"""Every scope against its equation, the numbers worked out by hand, and the gradient of the predicted position."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dragoman.model.attention import AttentionScope, Global, Monotonic, Predictive
from tests.model.gradients import assert_gradients
from tests.model.naming import array
from tests.model.reference import attention as reference

B, Q, S, H = 3, 4, 6, 4
LENGTHS = torch.tensor([6, 1, 3])
MASK = torch.arange(S) < LENGTHS[:, None]
TIMES = torch.tensor([0, 1, 4, 9])

SCOPES = {
    "global": lambda: Global(),
    "local-m": lambda: Monotonic(1),
    "local-m, a wider window": lambda: Monotonic(3),
    "local-p": lambda: Predictive(H, 1),
    "local-p, a wider window": lambda: Predictive(H, 3),
}
every_scope = pytest.mark.parametrize("name", SCOPES)


@every_scope
def test_weights_follow_the_equations(name: str) -> None:
    scope, energies, queries = _make(name), *_inputs()
    weights, centres = scope.prepare(MASK)(energies, queries, TIMES)
    for b in range(B):
        for q in range(Q):
            real = int(LENGTHS[b])
            e, h = array(energies[b, q, :real]), array(queries[b, q])
            if isinstance(scope, Monotonic):
                expected = reference.local_m_weights(e, int(TIMES[q]), scope.window)
                assert centres is not None
                assert centres[b, q] == min(TIMES[q], real - 1)
            elif isinstance(scope, Predictive):
                w_p, v_p = array(scope.position.weight), array(scope.v)
                expected = reference.local_p_weights(e, h, w_p, v_p, scope.window)
                assert centres is not None
                p = real / (1 + math.exp(-v_p @ np.tanh(w_p @ h)))
                assert centres[b, q].item() == pytest.approx(p, abs=1e-10)
            else:
                expected = reference.global_weights(e)
                assert centres is None
            np.testing.assert_allclose(array(weights[b, q, :real]), expected, atol=1e-10, rtol=0)
            assert (weights[b, q, real:] == 0).all()


@every_scope
def test_gradients_of_energies_states_and_parameters(name: str) -> None:
    """p_t's W_p and v_p among them; no p_t is so near to an integer that a difference would move its window."""
    scope, energies, queries = _make(name), *_inputs()
    _, centres = scope.prepare(MASK)(energies, queries, TIMES)
    if isinstance(scope, Predictive):
        assert centres is not None
        assert ((centres - centres.round()).abs() > 0.001).all()
    tensors = {"energies": energies, **dict(scope.named_parameters())}  # type: ignore[attr-defined]
    if isinstance(scope, Predictive):
        tensors["queries"] = queries
    assert_gradients(lambda: scope.prepare(MASK)(energies, queries, TIMES).weights, tensors)


def test_p_t_learns_through_the_gaussian_alone() -> None:
    """d a(s) / d p_t = a(s) (s - p_t) / sigma^2, whatever the window does, at its edge too."""
    scope, energies, queries = _make("local-p"), *_inputs()
    assert isinstance(scope, Predictive)
    weights, centres = scope.prepare(MASK)(energies, queries, TIMES)
    assert centres is not None
    (ours,) = torch.autograd.grad(weights[0, 0, :].sum(), centres)
    slope = weights[0, 0] * (torch.arange(S) - centres[0, 0]) / (scope.window / 2) ** 2
    assert ours[0, 0].item() == pytest.approx(slope.sum().item(), abs=1e-12)


def test_gaussian_factors_are_those_computed_by_hand() -> None:
    """p_t = 7.3, sigma = 5, s = 0 to 10; equal energies and a window over all positions make the softmax 1 / 11."""
    scope = _predicting(7.3 / 11, window=10)
    weights, centres = scope.prepare(torch.ones(1, 11, dtype=torch.bool))(*_flat(11), TIMES[:1])
    assert centres is not None
    assert centres.item() == pytest.approx(7.3)
    factors = [0.3445, 0.4521, 0.5702, 0.6909, 0.8043, 0.8996, 0.9668, 0.9982, 0.9902, 0.9438, 0.8643]
    np.testing.assert_allclose(11 * array(weights[0, 0]), factors, atol=5e-5)


def test_window_at_the_beginning_of_a_sentence_is_cut_and_weights_sum_to_less_than_one() -> None:
    """S = 6, D = 2, p_t = 0.4: positions 0, 1 and 2."""
    scope = _predicting(0.4 / 6, window=2)
    weights, _ = scope.prepare(torch.ones(1, 6, dtype=torch.bool))(*_flat(6), TIMES[:1])
    assert torch.nonzero(weights[0, 0]).flatten().tolist() == [0, 1, 2]
    assert weights.sum().item() == pytest.approx(sum(math.exp(-2 * ((s - 0.4) / 2) ** 2) for s in range(3)) / 3)
    assert weights.sum().item() < 1


@pytest.mark.parametrize(("share", "position"), [(-100.0, 0), (100.0, 5)])
def test_a_predicted_position_at_either_end_of_the_sentence_leaves_words_to_see(share: float, position: int) -> None:
    scope = Predictive(1, 1).double()
    torch.nn.init.ones_(scope.position.weight)
    torch.nn.init.constant_(scope.v, share)
    energies = torch.zeros(1, 1, 6, dtype=torch.float64)
    weights, _ = scope.prepare(torch.ones(1, 6, dtype=torch.bool))(
        energies, torch.ones(1, 1, 1).double() * 5, TIMES[:1]
    )
    near = [s for s in range(6) if abs(s - position) <= 1]
    assert torch.nonzero(weights[0, 0]).flatten().tolist() == near


def test_local_m_with_a_window_as_wide_as_the_source_is_global() -> None:
    energies, queries = _inputs()
    ours = Monotonic(S).prepare(MASK)(energies, queries, TIMES).weights
    torch.testing.assert_close(ours, Global().prepare(MASK)(energies, queries, TIMES).weights, atol=1e-15, rtol=0)


def test_local_p_with_a_window_far_wider_than_the_source_is_global() -> None:
    """sigma = D / 2 grows with the window, so the Gaussian tends to 1."""
    energies, queries = _inputs()
    scope = _make("local-p")
    assert isinstance(scope, Predictive)
    scope.window = 10**7
    ours = scope.prepare(MASK)(energies, queries, TIMES).weights
    torch.testing.assert_close(ours, Global().prepare(MASK)(energies, queries, TIMES).weights, atol=1e-12, rtol=0)


def _make(name: str) -> AttentionScope:
    torch.manual_seed(1)
    scope = SCOPES[name]()
    for parameter in scope.parameters():
        torch.nn.init.normal_(parameter)
    return scope.double()


def _inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Energies and states."""
    torch.manual_seed(2)
    return torch.randn(B, Q, S, dtype=torch.float64), torch.randn(B, Q, H, dtype=torch.float64)


def _predicting(share: float, window: int) -> Predictive:
    """p_t is that share of the source for the state (1)."""
    scope = Predictive(1, window).double()
    torch.nn.init.ones_(scope.position.weight)
    torch.nn.init.constant_(scope.v, math.log(share / (1 - share)) / math.tanh(1))
    return scope


def _flat(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(1, 1, length, dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64)
