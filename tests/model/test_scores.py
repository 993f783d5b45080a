"""Every score against its equation, query by query, and its gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dragoman.model.scores import Additive, AttentionScore, Dot, General, Location
from tests.model.forms import in_form
from tests.model.gradients import assert_gradients
from tests.model.naming import array, score_weights
from tests.model.reference import attention as reference
from tests.model.reference.cells import Array

B, Q, S, H, W, A = 3, 2, 5, 4, 4, 3
LENGTHS = torch.tensor([5, 1, 3])
MASK = torch.arange(S) < LENGTHS[:, None]

SCORES = {
    "additive": lambda: Additive(H, W, A),
    "additive, annotations wider than states": lambda: Additive(H, 2 * W, A),
    "normed-additive": lambda: Additive(H, W, A, normed=True),
    "additive, covered": lambda: Additive(H, W, A, coverage=True),
    "dot": lambda: Dot(H),
    "scaled-dot": lambda: Dot(H, scaled=True),
    "general": lambda: General(H, W),
    "general, annotations wider than states": lambda: General(H, 2 * W),
    "concat": lambda: Additive(H, W, H),
    "concat-identity": lambda: Additive(H, W, W, identity=True),
}


def expected_energies(name: str, w: dict[str, Array], s: Array, annotations: Array, coverage: Array) -> Array:
    if name.startswith("general"):
        return reference.general(s, annotations, w["W_a"])
    if name == "normed-additive":
        return reference.normed_additive(s, annotations, w["W_a"], w["U_a"], w["v_a"], w["g_a"], w["b_a"])
    if name == "additive, covered":
        return reference.covered_additive(s, annotations, w["W_a"], w["U_a"], w["v_a"], w["w_c"], coverage)
    if name == "concat":
        return reference.concat(s, annotations, w["W_a of both"], w["v_a"])
    if name == "concat-identity":
        return reference.concat_identity(s, annotations, w["W_a"], w["v_a"])
    if name.startswith("additive"):
        return reference.additive(s, annotations, w["W_a"], w["U_a"], w["v_a"])
    return reference.scaled_dot(s, annotations) if name == "scaled-dot" else reference.dot(s, annotations)


every_score = pytest.mark.parametrize("name", SCORES)


@every_score
def test_energies_follow_the_equations(name: str) -> None:
    score, (annotations, queries, coverage) = _make(name), _inputs(name)
    energies = score.prepare(score.keys(annotations, MASK))(queries, coverage)
    for b in range(B):
        for q in range(Q):
            real = int(LENGTHS[b])
            h, k = array(annotations[b, :real]), array(coverage[b, q, :real])
            expected = expected_energies(name, score_weights(score), array(queries[b, q]), h, k)
            np.testing.assert_allclose(array(energies[b, q, :real]), expected, atol=1e-10, rtol=0)


@every_score
def test_gradients_of_parameters_annotations_states_and_coverage_over_two_steps(name: str) -> None:
    score, (annotations, queries, coverage) = _make(name), _inputs(name)
    later = torch.randn_like(queries)

    def run() -> torch.Tensor:
        energies = score.prepare(score.keys(annotations, MASK))
        return torch.cat((energies(queries, coverage), energies(later, 2 * coverage), energies(later)))

    inputs = {"annotations": annotations, "queries": queries, "later queries": later}
    if "covered" in name:
        inputs["coverage"] = coverage
    assert_gradients(run, {**dict(score.named_parameters()), **inputs})  # type: ignore[attr-defined]


def test_the_length_of_a_normed_v_is_a_parameter_of_its_own() -> None:
    score, (annotations, queries, _) = _make("normed-additive"), _inputs("normed-additive")
    assert isinstance(score, Additive)
    assert score.length is not None
    before = score.prepare(score.keys(annotations, MASK))(queries)
    with torch.no_grad():
        score.v *= 7
    torch.testing.assert_close(score.prepare(score.keys(annotations, MASK))(queries), before)
    with torch.no_grad():
        score.length *= 2
    torch.testing.assert_close(score.prepare(score.keys(annotations, MASK))(queries), 2 * before)


def test_dot_is_general_with_the_identity_and_scaled_dot_with_that_over_the_root_of_the_size() -> None:
    annotations, queries, _ = _inputs("general")
    general = _make("general")
    assert isinstance(general, General)
    for name, factor in (("dot", 1.0), ("scaled-dot", 1 / math.sqrt(H))):
        with torch.no_grad():
            general.annotation.weight.copy_(factor * torch.eye(H))
        other = _make(name)
        ours, theirs = (score.prepare(score.keys(annotations, MASK))(queries) for score in (other, general))
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_concat_is_additive_with_the_two_blocks_of_its_matrix_and_concat_identity_the_one_with_the_identity() -> None:
    annotations, queries, _ = _inputs("concat")
    whole, v = torch.randn(H, H + W, dtype=torch.float64), torch.randn(H, dtype=torch.float64)
    for identity in (False, True):
        if identity:
            whole[:, H:] = torch.eye(H)
        score = in_form(Additive(H, W, H, identity=identity).double(), fast=True)
        with torch.no_grad():
            score.query.weight.copy_(whole[:, :H])
            score.v.copy_(v)
            if score.annotation is not None:
                score.annotation.weight.copy_(whole[:, H:])
        energies = score.prepare(score.keys(annotations, MASK))(queries)
        both = torch.cat(
            (queries[:, :, None].expand(-1, -1, S, -1), annotations[:, None].expand(-1, Q, -1, -1)), dim=-1
        )  # [h_t; h_s] of every pair
        torch.testing.assert_close(energies, torch.tanh(both @ whole.T) @ v, atol=1e-12, rtol=0)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("slots", [3, 5, 8])
def test_location_gives_each_position_its_slot(slots: int, backwards: bool, masked: bool) -> None:
    """Longer and shorter sources than there are slots; what is not masked need not sum to 1."""
    score, (annotations, queries, _) = _location(slots, backwards, masked), _inputs("location")
    energies = score.prepare(score.keys(annotations, MASK))(queries)
    for b in range(B):
        for q in range(Q):
            real, s = int(LENGTHS[b]), array(queries[b, q])
            expected = reference.location_weights(
                s, real, array(score.query.weight), masked=masked, reads_backwards=backwards
            )
            found = array(energies[b, q, :real])
            weights = reference.softmax(found) if masked else np.exp(found)
            np.testing.assert_allclose(weights, expected, atol=1e-10, rtol=0)
            if not masked and real < slots:
                assert expected.sum() < 0.999


def test_location_has_its_last_slot_at_the_first_word_of_a_source_read_backwards() -> None:
    for backwards, slots_of_three_words in ((True, [3, 2, 1]), (False, [1, 2, 3])):
        keys = _location(4, backwards, True).keys(torch.zeros(B, S, W), MASK)
        assert keys[2].tolist() == [*slots_of_three_words, -1, -1]
        assert keys[0].tolist() == ([3, 2, 1, 0, -1] if backwards else [0, 1, 2, 3, -1])  # the fifth word is cut


def test_location_does_not_look_at_the_words() -> None:
    score, (annotations, queries, _) = _location(5, True, True), _inputs("location")
    ours, theirs = (score.prepare(score.keys(x, MASK))(queries) for x in (annotations, 3 * annotations + 1))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("masked", [True, False])
def test_location_gradients_of_its_matrix_and_of_the_states(masked: bool) -> None:
    score, (annotations, queries, _) = _location(4, True, masked), _inputs("location")

    def run() -> torch.Tensor:
        energies = score.prepare(score.keys(annotations, MASK))
        return torch.cat((energies(queries), energies(torch.tanh(queries)))).exp()  # -inf is no number to sum

    assert_gradients(run, {**dict(score.named_parameters()), "queries": queries})


def _make(name: str) -> AttentionScore:
    torch.manual_seed(1)
    score = SCORES[name]()
    for parameter in score.parameters():
        torch.nn.init.normal_(parameter)
    return in_form(score.double(), fast=True)


def _location(slots: int, backwards: bool, masked: bool) -> Location:
    torch.manual_seed(1)
    score = Location(H, slots, masked=masked, reads_backwards=backwards).double()
    torch.nn.init.normal_(score.query.weight)
    return score


def _inputs(name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Annotations, states, and sums of weights."""
    torch.manual_seed(2)
    width = 2 * W if "wider" in name else W
    shapes = (B, S, width), (B, Q, H), (B, Q, S)
    annotations, queries, coverage = (torch.randn(shape, dtype=torch.float64) for shape in shapes)
    return annotations, queries, coverage.abs()
