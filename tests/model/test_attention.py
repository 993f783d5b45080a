"""Attention: weights and contexts of many queries, over several steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.model.attention import Attend, Attention, AttentionScope, FixedContext, Global, Monotonic, Predictive
from dragoman.model.encoder import Annotations, InitialState
from dragoman.model.scores import Additive, AttentionScore, Dot, General
from tests.model.forms import in_form, randomised
from tests.model.gradients import assert_gradients
from tests.model.naming import array, score_weights
from tests.model.reference import attention as reference

B, Q, S, W, H = 3, 2, 5, 4, 4
LENGTHS = [5, 1, 3]
NOW = torch.zeros(1, dtype=torch.int64)


@pytest.fixture(params=["additive", "dot", "general"])
def score(request: pytest.FixtureRequest) -> AttentionScore:
    return randomised({"additive": Additive(H, W, 3), "dot": Dot(H), "general": General(H, W)}[request.param])


@pytest.fixture(params=["global", "local-m", "local-p"])
def scope(request: pytest.FixtureRequest) -> AttentionScope:
    return randomised({"global": Global(), "local-m": Monotonic(1), "local-p": Predictive(H, 1)}[request.param])


def test_a_context_is_the_sum_of_annotations_by_weight(score: AttentionScore, scope: AttentionScope) -> None:
    annotations, queries = _annotations(), torch.randn(B * Q, H, dtype=torch.float64)
    context, weights, _ = _prepare(score, annotations, scope)(queries, NOW)
    assert weights is not None
    for row in range(B * Q):
        length = LENGTHS[row // Q]
        a, h = array(weights[row, :length]), array(annotations.vectors[row // Q, :length])
        np.testing.assert_allclose(array(context[row]), sum(a[s] * h[s] for s in range(length)), atol=1e-12)


def test_queries_of_a_sentence_see_that_sentence(score: AttentionScore) -> None:
    """Rows are grouped by sentence: the first Q belong to the first."""
    annotations, queries = _annotations(), torch.randn(B * Q, H, dtype=torch.float64)
    together = _prepare(score, annotations)(queries, NOW)
    for row in range(B * Q):
        sentence = row // Q
        length = LENGTHS[sentence]
        vectors = annotations.vectors[sentence : sentence + 1, :length]
        alone = Annotations(vectors, torch.ones(1, length, dtype=torch.bool), (), vectors[:, 0])
        result = _prepare(score, alone)(queries[row : row + 1], NOW)
        torch.testing.assert_close(result.context[0], together.context[row], atol=1e-12, rtol=0)


def test_padding_has_exactly_no_weight(score: AttentionScore, scope: AttentionScope) -> None:
    weights = _prepare(score, _annotations(), scope)(100 * torch.randn(B * Q, H, dtype=torch.float64), NOW).weights
    assert weights is not None
    for row in range(B * Q):
        assert (weights[row, LENGTHS[row // Q] :] == 0).all()
    if not isinstance(scope, Predictive):
        torch.testing.assert_close(weights.sum(1), torch.ones(B * Q, dtype=torch.float64))
    else:
        assert (weights.sum(1) <= 1).all()


def test_gradients_over_steps_that_depend_on_each_other(score: AttentionScore, scope: AttentionScope) -> None:
    annotations, queries = _annotations(), torch.randn(B, H, dtype=torch.float64)

    def run() -> torch.Tensor:
        attend = _prepare(score, annotations, scope)
        first = attend(queries, NOW)
        second = attend(torch.tanh(first.context), NOW + 1)
        assert first.weights is not None
        return torch.cat((second.context + first.weights.square().sum(1, keepdim=True), first.context))

    parameters = {**dict(score.named_parameters()), **dict(scope.named_parameters())}  # type: ignore[attr-defined]
    assert_gradients(run, {**parameters, "annotations": annotations.vectors, "queries": queries})


def test_coverage_is_the_sum_of_the_weights_before_even_where_the_batch_has_become_narrower() -> None:
    score, annotations = randomised(Additive(H, W, 3, coverage=True)), _annotations()
    queries = torch.randn(3, 1, H, dtype=torch.float64)
    w, h = score_weights(score), array(annotations.vectors[2, :3])
    attention = in_form(Attention(score, Global()), fast=True)
    whole = attention.precompute(annotations, _initial(annotations))
    attend, narrow = attention.prepare(whole), attention.prepare(whole.select(torch.tensor([2])))
    covered, expected_coverage = None, np.zeros(3)
    for step in range(3):
        if step < 2:
            result = attend(queries[step].expand(B, H), NOW, covered)
            assert result.weights is not None
            covered = result.weights if covered is None else covered + result.weights
            found = result.weights[2, :3]
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
    result = source.prepare(source.precompute(annotations, InitialState((), summary)))(torch.zeros(B * Q, H), NOW)
    assert result.weights is None
    assert torch.equal(result.context, summary.repeat_interleave(Q, dim=0))


def test_attention_is_uniform_while_v_is_zero() -> None:
    score = randomised(Additive(H, W, 4))
    torch.nn.init.zeros_(score.v)
    weights = _prepare(score, _annotations())(torch.randn(B, H, dtype=torch.float64), NOW).weights
    assert weights is not None
    torch.testing.assert_close(weights[0], torch.full((S,), 1 / S, dtype=torch.float64))


def test_keys_computed_once_are_those_computed_at_every_step(score: AttentionScore) -> None:
    annotations, queries = _annotations(), torch.randn(2, B, H, dtype=torch.float64)
    once = _prepare(score, annotations)
    for query in queries:
        ours, anew = once(query, NOW), _prepare(score, annotations)(query, NOW)
        assert torch.equal(ours.context, anew.context)


def test_selected_sentences_keep_what_they_see_and_are_cut_to_the_longest(score: AttentionScore) -> None:
    attention, annotations = in_form(Attention(score, Global()), fast=True), _annotations()
    memory = attention.precompute(annotations, _initial(annotations))
    some = memory.select(torch.tensor([1, 2]))
    assert some.vectors.shape[1] == max(LENGTHS[1:])
    queries = torch.randn(B, H, dtype=torch.float64)
    every, selected = attention.prepare(memory)(queries, NOW), attention.prepare(some)(queries[1:], NOW)
    torch.testing.assert_close(selected.context, every.context[1:])
    assert every.weights is not None
    torch.testing.assert_close(selected.weights, every.weights[1:, : max(LENGTHS[1:])])


def _prepare(score: AttentionScore, annotations: Annotations, scope: AttentionScope | None = None) -> Attend:
    attention = Attention(score, scope or Global())
    return attention.prepare(attention.precompute(annotations, _initial(annotations)))


def _initial(annotations: Annotations) -> InitialState:
    return InitialState((), annotations.vectors[:, 0])


def _annotations() -> Annotations:
    torch.manual_seed(2)
    vectors = torch.randn(B, S, W, dtype=torch.float64)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    return Annotations(vectors, mask, (), vectors[:, 0].clone())
