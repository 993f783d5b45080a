"""Looks at the source: weights and contexts of many queries, over several steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model.attention import Attention, FixedContext, Look
from dragoman.model.bridge import Opening
from dragoman.model.encoder import Annotations
from dragoman.model.scopes import Global, Monotonic, Predictive, Scope
from dragoman.model.scores import Additive, Dot, General, Score
from tests.model.gradients import assert_gradients
from tests.model.naming import array, score_weights
from tests.model.reference import attention as reference

B, Q, S, W, H = 3, 2, 5, 4, 4
LENGTHS = [5, 1, 3]
NOW = torch.zeros(1, dtype=torch.int64)


@pytest.fixture(params=["additive", "dot", "general"])
def score(request: pytest.FixtureRequest) -> Score:
    return _random({"additive": Additive(H, W, 3), "dot": Dot(H), "general": General(H, W)}[request.param])


@pytest.fixture(params=["global", "local-m", "local-p"])
def scope(request: pytest.FixtureRequest) -> Scope:
    return _random({"global": Global(), "local-m": Monotonic(1), "local-p": Predictive(H, 1)}[request.param])


def test_a_context_is_the_sum_of_annotations_by_weight(score: Score, scope: Scope) -> None:
    annotations, queries = _annotations(), torch.randn(B * Q, H, dtype=torch.float64)
    context, weights, _ = _bind(score, annotations, scope)(queries, NOW)
    assert weights is not None
    for row in range(B * Q):
        length = LENGTHS[row // Q]
        a, h = array(weights[row, :length]), array(annotations.vectors[row // Q, :length])
        np.testing.assert_allclose(array(context[row]), sum(a[s] * h[s] for s in range(length)), atol=1e-12)


def test_queries_of_a_sentence_see_that_sentence(score: Score) -> None:
    """Rows are grouped by sentence: the first Q belong to the first."""
    annotations, queries = _annotations(), torch.randn(B * Q, H, dtype=torch.float64)
    together = _bind(score, annotations)(queries, NOW)
    for row in range(B * Q):
        sentence = row // Q
        length = LENGTHS[sentence]
        vectors = annotations.vectors[sentence : sentence + 1, :length]
        alone = Annotations(vectors, torch.ones(1, length, dtype=torch.bool), (), vectors[:, 0])
        seen = _bind(score, alone)(queries[row : row + 1], NOW)
        torch.testing.assert_close(seen.context[0], together.context[row], atol=1e-12, rtol=0)


def test_padding_has_exactly_no_weight(score: Score, scope: Scope) -> None:
    weights = _bind(score, _annotations(), scope)(100 * torch.randn(B * Q, H, dtype=torch.float64), NOW).weights
    assert weights is not None
    for row in range(B * Q):
        assert (weights[row, LENGTHS[row // Q] :] == 0).all()
    if not isinstance(scope, Predictive):
        torch.testing.assert_close(weights.sum(1), torch.ones(B * Q, dtype=torch.float64))
    else:
        assert (weights.sum(1) <= 1).all()


def test_gradients_of_everything_over_looks_that_depend_on_each_other(score: Score, scope: Scope) -> None:
    annotations, queries = _annotations(), torch.randn(B, H, dtype=torch.float64)

    def run() -> torch.Tensor:
        look = _bind(score, annotations, scope)
        first = look(queries, NOW)
        second = look(torch.tanh(first.context), NOW + 1)
        assert first.weights is not None
        return torch.cat((second.context + first.weights.square().sum(1, keepdim=True), first.context))

    parameters = {**dict(score.named_parameters()), **dict(scope.named_parameters())}  # type: ignore[attr-defined]
    assert_gradients(run, {**parameters, "annotations": annotations.vectors, "queries": queries})


def test_coverage_is_the_sum_of_the_weights_before_even_where_the_batch_has_become_narrower() -> None:
    score, annotations = _random(Additive(H, W, 3, coverage=True)), _annotations()
    queries = torch.randn(3, 1, H, dtype=torch.float64)
    w, h = score_weights(score), array(annotations.vectors[2, :3])
    attention = Attention(score, Global())
    whole = attention.remember(annotations, _opening(annotations))
    look, narrow = attention.bind(whole), attention.bind(whole.select(torch.tensor([2])))
    covered, expected_coverage = None, np.zeros(3)
    for step in range(3):
        if step < 2:
            seen = look(queries[step].expand(B, H), NOW, covered)
            assert seen.weights is not None
            covered = seen.weights if covered is None else covered + seen.weights
            found = seen.weights[2, :3]
        else:  # the longer sentences have left
            assert covered is not None
            only = narrow(queries[step], NOW, covered[2:])
            assert only.weights is not None
            found = only.weights[0]
        energies = reference.covered_additive(
            array(queries[step, 0]), h, w["W_a"], w["U_a"], w["v_a"], w["w_c"], expected_coverage
        )
        expected = reference.softmax(energies)
        np.testing.assert_allclose(array(found), expected, atol=1e-10, rtol=0)
        expected_coverage = expected_coverage + expected


def test_a_fixed_context_is_the_summary_at_every_step() -> None:
    annotations, summary = _annotations(), torch.randn(B, W, dtype=torch.float64)
    source = FixedContext()
    seen = source.bind(source.remember(annotations, Opening((), summary)))(torch.zeros(B * Q, H), NOW)
    assert seen.weights is None
    assert torch.equal(seen.context, summary.repeat_interleave(Q, dim=0))


def test_attention_is_uniform_while_v_is_zero() -> None:
    score = _random(Additive(H, W, 4))
    torch.nn.init.zeros_(score.v)
    weights = _bind(score, _annotations())(torch.randn(B, H, dtype=torch.float64), NOW).weights
    assert weights is not None
    torch.testing.assert_close(weights[0], torch.full((S,), 1 / S, dtype=torch.float64))


def test_keys_computed_once_are_those_computed_at_every_step(score: Score) -> None:
    annotations, queries = _annotations(), torch.randn(2, B, H, dtype=torch.float64)
    once = _bind(score, annotations)
    for query in queries:
        ours, anew = once(query, NOW), _bind(score, annotations)(query, NOW)
        assert torch.equal(ours.context, anew.context)


def test_selected_sentences_keep_what_they_see_and_are_cut_to_the_longest(score: Score) -> None:
    attention, annotations = Attention(score, Global()), _annotations()
    memory = attention.remember(annotations, _opening(annotations))
    some = memory.select(torch.tensor([1, 2]))
    assert some.vectors.shape[1] == max(LENGTHS[1:])
    queries = torch.randn(B, H, dtype=torch.float64)
    every, selected = attention.bind(memory)(queries, NOW), attention.bind(some)(queries[1:], NOW)
    torch.testing.assert_close(selected.context, every.context[1:])
    assert every.weights is not None
    torch.testing.assert_close(selected.weights, every.weights[1:, : max(LENGTHS[1:])])


def _bind(score: Score, annotations: Annotations, scope: Scope | None = None) -> Look:
    attention = Attention(score, scope or Global())
    return attention.bind(attention.remember(annotations, _opening(annotations)))


def _opening(annotations: Annotations) -> Opening:
    return Opening((), annotations.vectors[:, 0])


def _annotations() -> Annotations:
    torch.manual_seed(2)
    vectors = torch.randn(B, S, W, dtype=torch.float64)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    return Annotations(vectors, mask, (), vectors[:, 0].clone())


def _random(module: Any) -> Any:
    torch.manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()
