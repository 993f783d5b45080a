from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from dragoman.model.attention import Attention, Seen
from dragoman.model.bridge import Opening
from dragoman.model.encoder import Annotations
from dragoman.model.scopes import Global
from dragoman.model.scores import Additive, Dot, General, Score
from tests.model import reference

B, Q, S, W, H = 3, 2, 5, 6, 6
LENGTHS = [5, 1, 3]
NOW = torch.zeros(1, dtype=torch.int64)


@pytest.fixture(params=["additive", "dot", "general"])
def score(request: pytest.FixtureRequest) -> Score:
    torch.manual_seed(1)
    made = {"additive": Additive(H, W, 4), "dot": Dot(H), "general": General(H, W)}[request.param]
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made.double()


def test_weights_and_context_follow_the_equations_query_by_query(score: Score) -> None:
    annotations, queries = _annotations(), torch.randn(B * Q, H, dtype=torch.float64)
    context, weights, _ = _bind(score, annotations)(queries)
    for row in range(B * Q):
        length = LENGTHS[row // Q]
        h, s = annotations.vectors[row // Q, :length].numpy(), queries[row].numpy()
        expected = reference.softmax(_energies(score, s, h))
        np.testing.assert_allclose(weights[row, :length].detach().numpy(), expected, atol=1e-10)
        np.testing.assert_allclose(context[row].detach().numpy(), expected @ h, atol=1e-10)


def test_padding_has_exactly_no_weight(score: Score) -> None:
    weights = _bind(score, _annotations())(100 * torch.randn(B * Q, H, dtype=torch.float64)).weights
    for row in range(B * Q):
        assert (weights[row, LENGTHS[row // Q] :] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(B * Q, dtype=torch.float64))


def test_gradients_over_several_looks_agree_with_finite_differences(score: Score) -> None:
    mask = _annotations().mask
    parameters = list(score.parameters())

    def looked(vectors: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        look = _bind(score, Annotations(vectors, mask, (), vectors[:, 0]))
        first = look(queries)
        second = look(torch.tanh(first.context))
        return second.context + first.weights.sum(1, keepdim=True) * first.weights.max()

    vectors, queries = _annotations().vectors, torch.randn(B, H, dtype=torch.float64)
    inputs = (vectors.requires_grad_(), queries.requires_grad_(), *parameters)
    looked(vectors, queries).sum().backward()
    for x in inputs:
        direction, losses = torch.randn_like(x), []
        for sign in (1, -1):
            with torch.no_grad():
                x += sign * 1e-6 * direction
                losses.append(looked(vectors, queries).sum().item())
                x -= sign * 1e-6 * direction
        assert x.grad is not None
        assert (x.grad * direction).sum().item() == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_dot_is_general_with_the_identity() -> None:
    general = General(H, W).double()
    with torch.no_grad():
        general.annotation.weight.copy_(torch.eye(H))
    annotations, queries = _annotations(), torch.randn(B, H, dtype=torch.float64)
    by_dot, by_general = (_bind(s, annotations)(queries).weights for s in (Dot(H), general))
    torch.testing.assert_close(by_dot, by_general)


def test_attention_is_uniform_while_v_is_zero() -> None:
    score = Additive(H, W, 4).double()
    torch.nn.init.zeros_(score.v)
    weights = _bind(score, _annotations())(torch.randn(B, H, dtype=torch.float64)).weights
    torch.testing.assert_close(weights[0], torch.full((S,), 1 / S, dtype=torch.float64))


def test_selected_sentences_keep_what_they_see_and_are_cut_to_the_longest(score: Score) -> None:
    attention, annotations = Attention(score, Global()), _annotations()
    memory = attention.remember(annotations, _opening(annotations))
    some = memory.select(torch.tensor([1, 2]))
    assert some.vectors.shape[1] == max(LENGTHS[1:])
    queries = torch.randn(B, H, dtype=torch.float64)
    every, selected = attention.bind(memory)(queries, NOW), attention.bind(some)(queries[1:], NOW)
    torch.testing.assert_close(selected.context, every.context[1:])
    torch.testing.assert_close(selected.weights, every.weights[1:, : max(LENGTHS[1:])])


def _bind(score: Score, annotations: Annotations) -> Callable[[torch.Tensor], Seen]:
    attention = Attention(score, Global())
    look = attention.bind(attention.remember(annotations, _opening(annotations)))
    return lambda queries: look(queries, NOW)


def _opening(annotations: Annotations) -> Opening:
    return Opening((), annotations.vectors[:, 0])


def _annotations() -> Annotations:
    torch.manual_seed(2)
    vectors = torch.randn(B, S, W, dtype=torch.float64)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    return Annotations(vectors, mask, (), vectors[:, 0])


def _energies(score: Score, s: np.ndarray, h: np.ndarray) -> np.ndarray:
    if isinstance(score, Additive):
        w, u, v = (x.detach().numpy() for x in (score.query.weight, score.annotation.weight, score.v))
        return reference.additive(s, h, w, u, v)
    matrix = score.annotation.weight.detach().numpy() if isinstance(score, General) else np.eye(H)
    return np.array([s @ matrix @ annotation for annotation in h])
