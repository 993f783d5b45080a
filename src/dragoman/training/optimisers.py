"""Optimisers and gradient clipping.

All gradients are dense, and every parameter is updated, embeddings included. The norm that is clipped is the global
norm of all gradients, or of all but those of the embeddings. `set_rate` sets the learning rate of an update, which
`schedules` computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim.adadelta import adadelta
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from dragoman.config.schema import OptimiserConfig

QUANTITIES = {
    "adam": ("exp_avg", "exp_avg_sq", "step"),
    "adamw": ("exp_avg", "exp_avg_sq", "step"),
    "adadelta": ("square_avg", "acc_delta", "step"),
    "sgd": (),
}
"""What an optimiser keeps of each parameter, by the names that training states have."""

FEWEST_UPDATES = 150.0
"""Fewer updates are too few to learn in what weight decay takes away: of 300 pairs chrF is 16 with 14, 24 without."""


@dataclass
class ParameterGroup:
    """Parameters with the same settings."""

    parameters: list[Tensor]
    rate: float
    weight_decay: float = 0.0


class Optimiser:
    """Updates parameters by their gradients.

    Adadelta (Zeiler 2012) takes its step in the order of GroundHog, the authors' code of Cho et al. 2014 and Bahdanau
    et al. 2015; with both averages starting at zero,

        E_g <- rho E_g + (1 - rho) g^2
        delta = sqrt(E_delta + epsilon) / sqrt(E_g + epsilon) * g
        theta <- theta - rate * delta
        E_delta <- rho E_delta + (1 - rho) delta^2

    The papers have no learning rate, which is a rate of 1. `epsilon` stands under both roots and decides the size of
    the first updates: 1e-6 in GroundHog.

    The others use the library's fused kernels, which read and write every weight once, also on a CPU: with 15 million
    weights and two cores Adam took 32 ms an update instead of 111 ms.

    These are the library's functions, not its classes: the first object of a class imports the library's compiler,
    which takes as long as importing all the rest of the library, and is not used.
    """

    def __init__(self, groups: list[ParameterGroup], config: OptimiserConfig) -> None:
        self.groups = groups
        self._config = config
        self._quantities = QUANTITIES[config.name]
        self._state: dict[Tensor, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.groups:
            parameters = [parameter for parameter in group.parameters if parameter.grad is not None]
            if parameters:
                states = [self._state_of(parameter) for parameter in parameters]
                quantities = [[state[name] for state in states] for name in self._quantities]
                self._update(group, parameters, _gradients(parameters), quantities)

    def clear_gradients(self) -> None:
        """Release the gradients of all parameters."""
        for parameter in self._parameters():
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The state, as `<number of the parameter>.<quantity>`; parameters that were never updated have none."""
        return {
            f"{number}.{quantity}": tensor
            for number, parameter in enumerate(self._parameters())
            for quantity, tensor in self._state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the state of an optimiser over the same parameters."""
        parameters = self._parameters()
        self._state = {}
        for key, tensor in tensors.items():
            number, quantity = key.split(".")
            parameter = parameters[int(number)]
            empty = _empty(quantity, parameter)
            self._state.setdefault(parameter, {})[quantity] = tensor.to(empty.device, empty.dtype)

    def _update(
        self, group: ParameterGroup, parameters: list[Tensor], gradients: list[Tensor], quantities: list[list[Tensor]]
    ) -> None:
        config = self._config
        if config.name == "sgd":
            sgd(
                parameters,
                gradients,
                [None] * len(parameters),
                fused=True,
                lr=group.rate,
                weight_decay=0.0,
                momentum=0.0,
                dampening=0.0,
                nesterov=False,
                maximize=False,
            )
        elif config.name == "adadelta":
            squares, deltas, counts = quantities
            adadelta(
                parameters,
                gradients,
                squares,
                deltas,
                counts,
                lr=group.rate,
                rho=config.rho,
                eps=config.epsilon,
                weight_decay=0.0,
                maximize=False,
            )
        else:
            means, squares, counts = quantities
            rule = adam if config.name == "adam" else adamw
            rule(
                parameters,
                gradients,
                means,
                squares,
                [],
                counts,
                fused=True,
                amsgrad=False,
                lr=group.rate,
                beta1=config.betas[0],
                beta2=config.betas[1],
                weight_decay=group.weight_decay,
                eps=config.epsilon,
                maximize=False,
            )

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.groups for parameter in group.parameters]

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        if parameter not in self._state:
            self._state[parameter] = {name: _empty(name, parameter) for name in self._quantities}
        return self._state[parameter]


def build_optimiser(parameters: Iterable[Tensor], config: OptimiserConfig) -> Optimiser:
    """The optimiser that the configuration names, over all `parameters`."""
    parameters = list(parameters)
    rate = config.learning_rate
    if config.name != "adamw":
        return Optimiser([ParameterGroup(parameters, rate)], config)
    matrices = [parameter for parameter in parameters if _decays(parameter)]
    vectors = [parameter for parameter in parameters if not _decays(parameter)]
    return Optimiser([ParameterGroup(matrices, rate, config.weight_decay), ParameterGroup(vectors, rate)], config)


def set_rate(optimiser: Optimiser, rate: float) -> None:
    """Set the learning rate of the next update."""
    for group in optimiser.groups:
        group.rate = rate


def weight_decay(config: OptimiserConfig, updates_per_epoch: float) -> float:
    """The weight decay of matrices in AdamW.

    With `weight_decay_epochs` E and the highest rate r it is 1 / (r E U) for U updates an epoch, so that the product
    of 1 - r decay over E epochs is 1/e: the weights are an average of what the gradients of the last E epochs made of
    them. E can stay when text or batches become larger, decay itself cannot (Wang and Aitchison 2024). For E U there
    are at least `FEWEST_UPDATES`.
    """
    if config.weight_decay_epochs is None:
        return config.weight_decay
    return 1 / (config.learning_rate * max(FEWEST_UPDATES, config.weight_decay_epochs * updates_per_epoch))


def set_weight_decay(optimiser: Optimiser, decay: float) -> None:
    """Set the weight decay of matrices for the next update of AdamW."""
    matrices, _ = optimiser.groups
    matrices.weight_decay = decay


def measured_parameters(model: nn.Module, norm: Literal["all", "without-embeddings"]) -> list[Tensor]:
    """The parameters whose gradients the norm for clipping is computed from.

    nmt.matlab, the code of Luong et al. 2015, leaves out the embeddings; the paper does not say so. A matrix that
    embedding and output layer share counts as an embedding.
    """
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    return [parameter for parameter in model.parameters() if norm == "all" or parameter not in embeddings]


@torch.no_grad()
def clip_gradients(
    parameters: Iterable[Tensor], limit: float | None, measured: Iterable[Tensor] | None = None
) -> Tensor:
    """Scale all gradients by limit / norm if the norm is above `limit`; with None only compute the norm.

    The norm is the global norm of all gradients, or of the gradients of `measured`.

    Sutskever et al. 2014 section 3.4, Luong et al. 2015 section 4.1 (limit 5); Bahdanau et al. 2015 B.2 (limit 1).
    GroundHog replaces a non-finite gradient by a tenth of the weights; here training stops instead (see `loop`).

    Returns:
        the norm before clipping, a scalar on the parameters' device: reading it on a GPU waits for all
        work so far, so it is left to the caller.
    """
    gradients = _gradients(parameters)
    norm = global_norm(gradients) if measured is None else global_norm(_gradients(measured))
    if limit is not None:
        on_cpu = norm.device.type == "cpu"
        if not (on_cpu and norm <= limit):  # on a CPU the comparison is free, and multiplying by one is not
            torch._foreach_mul_(gradients, limit / norm.clamp(min=limit))
    return norm


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def global_norm(tensors: Iterable[Tensor]) -> Tensor:
    """The Euclidean norm of all tensors together, a scalar on their device; not finite if any element is not."""
    norms = torch.stack(torch._foreach_norm(list(tensors)))
    return norms.square().sum().sqrt()


def _empty(quantity: str, parameter: Tensor) -> Tensor:
    """What a quantity starts with; the updates are counted in a number on the device of the parameter."""
    if quantity == "step":
        return torch.zeros((), dtype=torch.float32, device=parameter.device)
    return torch.zeros_like(parameter, memory_format=torch.preserve_format)


def _decays(parameter: Tensor) -> bool:
    """Matrices decay; biases and vectors such as v_a do not."""
    return parameter.dim() > 1
