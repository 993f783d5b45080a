from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.config.building import override
from dragoman.config.schema import Config, OptimiserConfig
from dragoman.config.section import keys_of
from dragoman.errors import ConfigError
from dragoman.training.optimisers import (
    Optimiser,
    build_optimiser,
    clip_gradients,
    global_norm,
    measured_parameters,
    set_rate,
    set_weight_decay,
    weight_decay,
)

Rule = Callable[[NDArray[np.float64], list[NDArray[np.float64]]], NDArray[np.float64]]


def adadelta(start: NDArray[np.float64], gradients: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """GroundHog's SGD_adadelta.py in float64 (rho 0.95, epsilon 1e-6, rate 1)."""
    theta, mean_gradient, mean_delta = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for gradient in gradients:
        mean_gradient = 0.95 * mean_gradient + 0.05 * gradient**2
        delta = -np.sqrt(mean_delta + 1e-6) / np.sqrt(mean_gradient + 1e-6) * gradient
        theta += delta
        mean_delta = 0.95 * mean_delta + 0.05 * delta**2
    return theta


def adam(start: NDArray[np.float64], gradients: list[NDArray[np.float64]], decay: float = 0.0) -> NDArray[np.float64]:
    """Kingma and Ba 2015, algorithm 1, rate 0.01; decoupled weight decay as in Loshchilov and Hutter 2019."""
    theta, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step, gradient in enumerate(gradients, 1):
        theta -= 0.01 * decay * theta
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        theta -= 0.01 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.98**step)) + 1e-9)
    return theta


def adamw(start: NDArray[np.float64], gradients: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return adam(start, gradients, decay=0.1)


def sgd(start: NDArray[np.float64], gradients: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return start - 0.7 * np.sum(gradients, axis=0)


CASES: list[tuple[OptimiserConfig, Rule]] = [
    (OptimiserConfig(name="adadelta", learning_rate=1.0, rho=0.95, epsilon=1e-6), adadelta),
    (OptimiserConfig(name="adam", learning_rate=0.01, betas=(0.9, 0.98), epsilon=1e-9), adam),
    (OptimiserConfig(name="adamw", learning_rate=0.01, betas=(0.9, 0.98), epsilon=1e-9, weight_decay=0.1), adamw),
    (OptimiserConfig(name="sgd", learning_rate=0.7), sgd),
]


def test_every_optimiser_of_the_configuration_has_a_reference_here() -> None:
    names = keys_of(OptimiserConfig)["name"].choices
    assert sorted(names) == sorted(config.name for config, _ in CASES)


@pytest.mark.parametrize(("config", "reference"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_twenty_updates_equal_the_numpy_reference(config: OptimiserConfig, reference: Rule) -> None:
    rng = np.random.default_rng(0)
    start = rng.normal(size=(7, 5))
    gradients = [rng.normal(size=(7, 5)) * 10.0 ** rng.integers(-3, 3) for _ in range(20)]
    weight = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    optimiser = build_optimiser([weight], config)
    for gradient in gradients:
        weight.grad = torch.tensor(gradient)
        optimiser.step()
    np.testing.assert_allclose(weight.detach().numpy(), reference(start, gradients), rtol=1e-10, atol=1e-12)


def test_the_first_adadelta_step_of_a_unit_gradient() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = build_optimiser([weight], OptimiserConfig(name="adadelta", learning_rate=1.0, epsilon=1e-6))
    weight.grad = torch.ones(1)
    optimiser.step()
    assert weight.item() == pytest.approx(-0.0044721, abs=1e-7)


def test_adadelta_remembers_its_step_before_the_rate_is_applied() -> None:
    def after_two(rate: float) -> float:
        weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        optimiser = build_optimiser([weight], OptimiserConfig(name="adadelta", learning_rate=rate, epsilon=1e-6))
        for _ in range(2):
            weight.grad = torch.ones(1, dtype=torch.float64)
            optimiser.step()
        return weight.item()

    assert after_two(0.25) == pytest.approx(after_two(1.0) / 4)


def test_adamw_decays_matrices_but_not_vectors() -> None:
    matrix, vector = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
    optimiser = build_optimiser([matrix, vector], OptimiserConfig(name="adamw", learning_rate=0.1, weight_decay=0.5))
    matrix.grad, vector.grad = torch.zeros(2, 2), torch.zeros(2)
    optimiser.step()
    torch.testing.assert_close(matrix.detach(), torch.full((2, 2), 0.95))
    assert torch.equal(vector.detach(), torch.ones(2))


def test_weight_decay_in_epochs_shrinks_a_matrix_without_gradients_to_1_by_e_in_so_many() -> None:
    matrix, vector = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
    config = OptimiserConfig(name="adamw", learning_rate=0.01, weight_decay_epochs=3.0)
    optimiser = build_optimiser([matrix, vector], config)
    for _ in range(3 * 100):
        set_weight_decay(optimiser, weight_decay(config, updates_per_epoch=100))
        matrix.grad, vector.grad = torch.zeros(2, 2), torch.zeros(2)
        optimiser.step()
    torch.testing.assert_close(matrix.detach(), torch.full((2, 2), math.exp(-1)), rtol=3e-3, atol=0)
    assert torch.equal(vector.detach(), torch.ones(2))


def test_weight_decay_in_epochs_takes_no_fewer_updates_than_can_learn() -> None:
    config = OptimiserConfig(name="adamw", learning_rate=0.01, weight_decay_epochs=3.0)
    assert weight_decay(config, updates_per_epoch=4) == weight_decay(config, updates_per_epoch=50) == 1 / (0.01 * 150)
    assert weight_decay(config, updates_per_epoch=51) < 1 / (0.01 * 150)


def test_weight_decay_is_the_one_of_the_configuration_without_epochs() -> None:
    assert weight_decay(OptimiserConfig(name="adamw", weight_decay=0.25), updates_per_epoch=7) == 0.25


@pytest.mark.parametrize("name", ["adam", "adamw", "adadelta", "sgd"])
def test_the_rate_of_an_update_is_the_one_set_before_it(name: Literal["adam", "adamw", "adadelta", "sgd"]) -> None:
    matrix, vector = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
    optimiser = build_optimiser([matrix, vector], OptimiserConfig(name=name))
    set_rate(optimiser, 0.0)
    matrix.grad, vector.grad = torch.ones(2, 2), torch.ones(2)
    optimiser.step()
    assert torch.equal(matrix.detach(), torch.ones(2, 2))
    assert torch.equal(vector.detach(), torch.ones(2))


@pytest.mark.parametrize("config", [config for config, _ in CASES], ids=lambda config: config.name)
def test_one_goes_on_where_another_stopped(config: OptimiserConfig) -> None:
    def stepped(optimiser: Optimiser, parameters: list[torch.nn.Parameter], gradient: float) -> None:
        for parameter in parameters[:2]:
            parameter.grad = torch.full_like(parameter, gradient)
        optimiser.step()
        optimiser.clear_gradients()
        assert all(parameter.grad is None for parameter in parameters)

    vector, matrix, unused = (torch.nn.Parameter(torch.ones(size)) for size in ((3,), (2, 3), (2,)))
    optimiser = build_optimiser([vector, matrix, unused], config)
    stepped(optimiser, [vector, matrix], 0.5)
    others = [torch.nn.Parameter(weight.detach().clone()) for weight in (vector, matrix, unused)]
    successor = build_optimiser(others, config)
    kept = {name: tensor.clone() for name, tensor in optimiser.tensors().items()}
    successor.restore(kept)
    assert successor.tensors().keys() == kept.keys()
    stepped(optimiser, [vector, matrix, unused], -0.2)
    stepped(successor, others, -0.2)
    assert torch.equal(vector, others[0])
    assert torch.equal(matrix, others[1])
    assert torch.equal(unused, torch.ones(2))


def test_states_are_kept_by_the_names_that_they_have_in_runs() -> None:
    """Of AdamW the matrices come first."""
    vector, matrix = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2, 3))
    kept = {}
    for config, _ in CASES:
        optimiser = build_optimiser([vector, matrix], config)
        vector.grad, matrix.grad = torch.ones(3), torch.ones(2, 3)
        optimiser.step()
        kept[config.name] = {name: tuple(tensor.shape) for name, tensor in optimiser.tensors().items()}
    assert kept == {
        "adam": {
            **{"0.exp_avg": (3,), "0.exp_avg_sq": (3,), "0.step": ()},
            **{"1.exp_avg": (2, 3), "1.exp_avg_sq": (2, 3), "1.step": ()},
        },
        "adamw": {
            **{"0.exp_avg": (2, 3), "0.exp_avg_sq": (2, 3), "0.step": ()},
            **{"1.exp_avg": (3,), "1.exp_avg_sq": (3,), "1.step": ()},
        },
        "adadelta": {
            **{"0.square_avg": (3,), "0.acc_delta": (3,), "0.step": ()},
            **{"1.square_avg": (2, 3), "1.acc_delta": (2, 3), "1.step": ()},
        },
        "sgd": {},
    }


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "training.optimiser.weight_decay=0.1",
            "training.optimiser.weight_decay: adam does not support it; use training.optimiser.",
        ),
        (
            "training.optimiser.weight_decay_epochs=3",
            "training.optimiser.weight_decay_epochs: adam does not support it; use training.optimiser.name: adamw, or",
        ),
        ("training.optimiser.betas=[0.9, 1.0]", "training.optimiser.betas[1]: expected a number < 1.0, not 1.0"),
    ],
)
def test_settings_without_effect_or_sense_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        override(Config(), [assignment])


def test_weight_decay_is_given_once() -> None:
    settings = [f"training.optimiser.{value}" for value in ("name=adamw", "weight_decay=0.1", "weight_decay_epochs=3")]
    with pytest.raises(ConfigError, match=r"weight_decay: has no effect with training\.optimiser\.weight_decay_epochs"):
        override(Config(), settings)


def test_a_norm_that_decides_nothing_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"without-embeddings has no effect without training\.optimiser\.max_gradient_norm"
    ):
        override(
            Config(),
            ["training.optimiser.max_gradient_norm=null", "training.optimiser.gradient_norm=without-embeddings"],
        )


def parameters_with_norm(norm: float) -> list[torch.nn.Parameter]:
    """Two parameters whose gradients have norms in the proportion 3 to 4."""
    parameters = [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(2, 2))]
    parameters[0].grad = torch.tensor([0.6, 0.0, 0.0]) * norm
    parameters[1].grad = torch.tensor([[0.0, 0.8], [0.0, 0.0]]) * norm
    return parameters


def test_a_gradient_of_norm_ten_is_clipped_to_five() -> None:
    parameters = parameters_with_norm(10.0)
    assert clip_gradients(parameters, 5.0).item() == 10.0
    assert parameters[0].grad is not None
    assert parameters[1].grad is not None
    assert parameters[0].grad.tolist() == [3.0, 0.0, 0.0]
    assert parameters[1].grad.tolist() == [[0.0, 4.0], [0.0, 0.0]]


def test_a_gradient_below_the_limit_is_untouched() -> None:
    parameters, before = parameters_with_norm(4.9), parameters_with_norm(4.9)
    assert clip_gradients(parameters, 5.0).item() == pytest.approx(4.9)
    for parameter, untouched in zip(parameters, before, strict=True):
        assert parameter.grad is not None
        assert untouched.grad is not None
        assert torch.equal(parameter.grad, untouched.grad)


def test_without_a_limit_the_norm_is_only_measured() -> None:
    parameters = parameters_with_norm(1000.0)
    assert clip_gradients(parameters, None).item() == pytest.approx(1000.0)
    assert global_norm([parameter.grad for parameter in parameters if parameter.grad is not None]) == 1000.0


def test_a_parameter_without_gradient_does_not_count() -> None:
    parameters = [*parameters_with_norm(10.0), torch.nn.Parameter(torch.ones(4))]
    assert clip_gradients(parameters, 5.0).item() == 10.0


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_gradient_that_is_not_finite_shows_in_the_norm(bad: float) -> None:
    parameters = parameters_with_norm(1.0)
    assert parameters[0].grad is not None
    parameters[0].grad[1] = bad
    assert not math.isfinite(clip_gradients(parameters, 1.0).item())


class Embedded(torch.nn.Module):
    """Two embeddings, and a map with a gradient of its own."""

    def __init__(self, norm: float, of_embeddings: float = 1000.0) -> None:
        super().__init__()
        self.source, self.target = torch.nn.Embedding(3, 1), torch.nn.Embedding(2, 1)
        self.maps = torch.nn.ParameterList(parameters_with_norm(norm))
        for part, own in zip(self.maps, parameters_with_norm(norm), strict=True):
            part.grad = own.grad
        for embedding in (self.source, self.target):
            embedding.weight.grad = torch.full_like(embedding.weight, of_embeddings)

    def clip(self) -> float:
        return clip_gradients(self.parameters(), 5.0, measured_parameters(self, "without-embeddings")).item()

    def gradients(self) -> dict[str, list[float]]:
        return {name: parameter.grad.flatten().tolist() for name, parameter in self.named_parameters()}  # type: ignore[union-attr]


def test_without_embeddings_the_norm_of_the_others_decides_and_all_are_scaled() -> None:
    model = Embedded(norm=10.0)
    assert model.clip() == 10.0
    assert model.gradients() == {
        "source.weight": [500.0] * 3,
        "target.weight": [500.0] * 2,
        "maps.0": [3.0, 0.0, 0.0],
        "maps.1": [0.0, 4.0, 0.0, 0.0],
    }


def test_without_embeddings_a_smaller_norm_of_the_others_leaves_all_untouched() -> None:
    model = Embedded(norm=4.9)
    before = model.gradients()
    assert model.clip() == pytest.approx(4.9)
    assert model.gradients() == before


def test_all_parameters_are_measured_unless_embeddings_are_left_out() -> None:
    model = Embedded(norm=1.0)
    assert len(measured_parameters(model, "all")) == 4
    assert [parameter.dim() for parameter in measured_parameters(model, "without-embeddings")] == [1, 2]


@pytest.mark.parametrize(("gradient_norm", "clipped"), [("all", True), ("without-embeddings", False)])
def test_the_loop_measures_what_the_configuration_says(
    harness: Callable[..., Any], recipe: Callable[..., Any], gradient_norm: str, clipped: bool
) -> None:
    """A first update whose gradient is nearly all in the embeddings: the rate and the limit show in the step."""
    run = harness()
    before = {name: parameter.detach().clone() for name, parameter in run.model.named_parameters()}
    for parameter in (run.model.source.weight, run.model.target.weight):
        parameter.register_hook(lambda gradient: gradient + 100.0)
    run.run(recipe(epochs=0.1, optimiser__name="sgd", optimiser__learning_rate=1.0, optimiser__max_gradient_norm=10.0,
                   optimiser__gradient_norm=gradient_norm, average_decay=0.0))  # fmt: skip
    moved = sum((parameter - before[name]).square().sum().item() for name, parameter in run.model.named_parameters())
    assert math.sqrt(moved) == pytest.approx(10.0, rel=1e-3) if clipped else math.sqrt(moved) > 1000
