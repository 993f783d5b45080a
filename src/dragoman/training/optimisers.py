"""Update rules: how a gradient changes the weights, and the clipping that comes before.

All gradients are dense and every parameter takes part, embeddings included. The norm that is clipped is that of all
gradients together, or of all but those of the embeddings. The learning rate of an update is written
into the optimiser by `set_rate`; where it comes from is the business of `schedules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from dragoman.config.schema import OptimiserConfig


def build_optimiser(parameters: Iterable[Tensor], config: OptimiserConfig) -> Optimizer:
    """The update rule named by the configuration, over all `parameters`.

    The library's fused kernels read and write every weight once, also on a CPU: with 15 million weights and two cores
    Adam took 32 ms an update instead of 111 ms.
    """
    parameters = list(parameters)
    if config.name == "adam":
        return Adam(parameters, config.rate, config.betas, config.epsilon, fused=True)
    if config.name == "adamw":
        return AdamW(
            _decayed_matrices(parameters, config.weight_decay), config.rate, config.betas, config.epsilon, fused=True
        )
    if config.name == "adadelta":
        return Adadelta(parameters, config.rate, config.rho, config.epsilon)
    return SGD(parameters, config.rate, fused=True)


class Adadelta(Optimizer):
    """Zeiler 2012 in the order of the authors' code of Cho et al. 2014 and Bahdanau et al. 2015 (GroundHog).

        E_g <- rho E_g + (1 - rho) g^2
        delta = - sqrt(E_delta + epsilon) / sqrt(E_g + epsilon) * g
        theta <- theta + rate * delta
        E_delta <- rho E_delta + (1 - rho) delta^2

    Both averages start at zero. The papers have no learning rate, which is a rate of 1. `epsilon` stands under both
    roots and decides the size of the first updates: 1e-6 there.
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float, rho: float, epsilon: float) -> None:
        super().__init__(parameters, {"lr": rate, "rho": rho, "epsilon": epsilon})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        assert closure is None, "the gradient is computed before the update"
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, rho, epsilon = self.state[parameter], group["rho"], group["epsilon"]
        if not state:
            state["mean_square_gradient"] = torch.zeros_like(parameter)
            state["mean_square_delta"] = torch.zeros_like(parameter)
        mean_square_gradient, mean_square_delta = state["mean_square_gradient"], state["mean_square_delta"]
        mean_square_gradient.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        delta = (mean_square_delta + epsilon).div_(mean_square_gradient + epsilon).sqrt_().mul_(gradient).neg_()
        parameter.add_(delta, alpha=group["lr"])
        mean_square_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """The learning rate of the next update."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def measured_parameters(model: nn.Module, norm: Literal["all", "without-embeddings"]) -> list[Tensor]:
    """The parameters whose gradients make up the norm that decides about clipping.

    nmt.matlab, the code of Luong et al. 2015, leaves out the embeddings; the paper does not say so. A matrix that is
    embedding and output in one is an embedding here.
    """
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    return [parameter for parameter in model.parameters() if norm == "all" or parameter not in embeddings]


@torch.no_grad()
def clip_gradients(
    parameters: Iterable[Tensor], limit: float | None, measured: Iterable[Tensor] | None = None
) -> Tensor:
    """Scale all gradients by limit / norm if the norm is above `limit`; None leaves them alone.

    The norm is the global one of all parameters' gradients, or of those of `measured`.

    Sutskever et al. 2014 section 3.4, Luong et al. 2015 section 4.1 (limit 5); Bahdanau et al. 2015 B.2 (limit 1).
    GroundHog replaces a non-finite gradient by a tenth of the weights; here training stops instead (see `loop`).

    Returns:
        the norm before clipping, a scalar on the parameters' device: reading it is left to the caller, because on a
        GPU it waits for all work so far.
    """
    gradients = _gradients(parameters)
    norm = global_norm(gradients) if measured is None else global_norm(_gradients(measured))
    if limit is not None:
        on_cpu = norm.device.type == "cpu"
        if not (on_cpu and norm <= limit):  # on a CPU looking is free, and multiplying by one is not
            torch._foreach_mul_(gradients, limit / norm.clamp(min=limit))
    return norm


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def global_norm(tensors: Iterable[Tensor]) -> Tensor:
    """The Euclidean norm of all tensors together, a scalar on their device; not finite if any element is not."""
    norms = torch.stack(torch._foreach_norm(list(tensors)))
    return norms.square().sum().sqrt()


def _decayed_matrices(parameters: Iterable[Tensor], decay: float) -> list[dict[str, Any]]:
    """Matrices decay; biases, and vectors such as v_a, do not: they are few, and pulling them to zero helps nothing."""
    matrices = [parameter for parameter in parameters if parameter.dim() > 1]
    vectors = [parameter for parameter in parameters if parameter.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
