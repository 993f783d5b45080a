"""Scopes of attention: global or local normalisation of energies to alignment weights.

Positions count from 0 in the order of the source text, whichever direction the encoder reads in; S is the number
of real positions of a sentence, EOS included if the encoder reads it.

Letters: B sentences, Q queries of a sentence, S positions, H units of a query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear


class Weighed(NamedTuple):
    """Alignment weights [B, Q, S], and for local attention the window centres p_t, [B, Q]."""

    weights: Tensor
    centres: Tensor | None


Weigh = Callable[[Tensor, Tensor, Tensor], Weighed]
"""Maps energies [B, Q, S], queries [B, Q, H] and their target positions [Q] or [1] (from 0) to weights."""


class AttentionScope(Protocol):
    """The interface of a scope: it maps energies to alignment weights."""

    kind: str
    """global, monotonic or predictive; the ONNX export selects its operators by it."""

    def prepare(self, mask: Tensor) -> Weigh:
        """Prepare the scope for one unrolling; `mask` [B, S] is True on real positions."""
        ...


class Global(nn.Module):
    """Global attention: a softmax over all real positions (Bahdanau et al. 2015, eq. 6; Luong et al. 2015, 3.1).

    normalised: the energies are already logarithms of weights
    """

    kind = "global"

    def __init__(self, *, normalised: bool = False) -> None:
        super().__init__()
        self.normalised = normalised

    def prepare(self, mask: Tensor) -> Weigh:
        padding = None

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            nonlocal padding
            if padding is None:
                # -inf, not a large number: the weight of padding is exactly zero whatever the energies are
                addend = torch.zeros_like(mask, dtype=energies.dtype).masked_fill_(~mask, -torch.inf)
                padding = addend[:, None]  # [B, S] -> [B, 1, S]
            masked = energies + padding  # [B, Q, S]
            return Weighed(masked.exp() if self.normalised else torch.softmax(masked, dim=-1), None)

        return weigh


class Monotonic(nn.Module):
    """Local monotonic attention, local-m (Luong et al. 2015, section 3.2): a softmax over [p_t - D, p_t + D], p_t = t.

    Beyond the end of the source p_t stays at its last position, as in the authors' code.
    """

    kind = "monotonic"

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def prepare(self, mask: Tensor) -> Weigh:
        last = mask.sum(dim=1, keepdim=True) - 1  # [B, 1]
        inside = _windows(mask, self.window)

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            centres = torch.minimum(times, last)  # [B, Q] or [B, 1]
            return Weighed(_softmax_inside(energies, inside(centres)), centres.expand(energies.shape[:2]))

        return weigh


class Predictive(nn.Module):
    """Local predictive attention, local-p (Luong et al. 2015, eqs. 9, 10).

    p_t = S sigmoid(v_p^T tanh(W_p h_t)), W_p [H, H], v_p [H]

    The window is [floor(p_t) - D, floor(p_t) + D]; weights are a softmax inside it times
    exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2, not normalised again. Only that factor has a gradient to p_t.
    """

    kind = "predictive"

    def __init__(self, query: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.position = Linear(query, query)
        self.v = nn.Parameter(torch.empty(query))

    def prepare(self, mask: Tensor) -> Weigh:
        count = mask.sum(dim=1, keepdim=True)  # [B, 1]
        inside = _windows(mask, self.window)
        positions = torch.arange(mask.shape[1], device=mask.device)
        position = self.position.prepare()

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            hidden = torch.tanh(position(queries).to(queries.dtype))  # [B, Q, H] -> [B, Q, H]
            centres = count * torch.sigmoid(hidden @ self.v)  # [B, Q, H] -> [B, Q]
            # rounding may give p_t = S, which is no position
            whole = torch.minimum(centres.detach().floor(), count - 1)
            weights = _softmax_inside(energies, inside(whole))
            distances = positions - centres.unsqueeze(-1)  # [S] - [B, Q, 1] -> [B, Q, S]
            return Weighed(weights * torch.exp(-2 * (distances / self.window).square()), centres)

        return weigh


def _windows(mask: Tensor, reach: int) -> Callable[[Tensor], Tensor]:
    """Windows around whole centres: [B, Q] -> mask [B, Q, S], True on real positions within `reach` of the centre."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    real = mask[:, None]  # [B, S] -> [B, 1, S]
    return lambda centres: ((positions - centres.unsqueeze(-1)).abs() <= reach) & real


def _softmax_inside(energies: Tensor, inside: Tensor) -> Tensor:
    """A softmax over the positions where `inside` [B, Q, S] is True; exactly zero elsewhere."""
    return torch.softmax(energies.masked_fill(~inside, -torch.inf), dim=-1)
