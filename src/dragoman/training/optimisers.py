"""Optimisers and gradient clipping.

All gradients are dense, and every parameter is updated, embeddings included. The norm that is clipped is the global
norm of all gradients, or of all but those of the embeddings. `set_rate` sets the learning rate of an update, which
`schedules` computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adadelta, Adam, AdamW, Optimizer

from dragoman.config.schema import OptimiserConfig

FEWEST_UPDATES = 150.0
"""Fewer updates are too few to learn in what weight decay takes away: of 300 pairs chrF is 16 with 14, 24 without."""


def build_optimiser(parameters: Iterable[Tensor], config: OptimiserConfig) -> Optimizer:
    """The optimiser that the configuration names, over all `parameters`.

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
    """
    parameters = list(parameters)
    if config.name == "adam":
        return Adam(parameters, config.learning_rate, config.betas, config.epsilon, fused=True)
    if config.name == "adamw":
        return AdamW(
            _decayed_matrices(parameters, config.weight_decay),
            config.learning_rate,
            config.betas,
            config.epsilon,
            fused=True,
        )
    if config.name == "adadelta":
        return Adadelta(parameters, config.learning_rate, rho=config.rho, eps=config.epsilon)
    return SGD(parameters, config.learning_rate, fused=True)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """Set the learning rate of the next update."""
    for group in optimiser.param_groups:
        group["lr"] = rate


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


def set_weight_decay(optimiser: Optimizer, decay: float) -> None:
    """Set the weight decay of matrices for the next update of AdamW."""
    for group in optimiser.param_groups:
        if _decays(group["params"][0]):
            group["weight_decay"] = decay


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


def _decayed_matrices(parameters: Iterable[Tensor], decay: float) -> list[dict[str, Any]]:
    """Parameter groups: those that decay, and the others."""
    matrices = [parameter for parameter in parameters if _decays(parameter)]
    vectors = [parameter for parameter in parameters if not _decays(parameter)]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def _decays(parameter: Tensor) -> bool:
    """Matrices decay; biases and vectors such as v_a do not."""
    return parameter.dim() > 1
