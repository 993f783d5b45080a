"""The plain form of everything the package computes in a faster one: what automatic differentiation would be given.

Each function here stands in for one of the package's; nothing is deferred, written by hand or cut into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model import attention, cells, encoder, maps, output, scores


def use_plain_operations(patch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone, models compute with the operations below."""
    patch.setattr(maps, "bind_sum", _bind_sum)
    patch.setattr(cells, "bind_sum", _bind_sum)
    patch.setattr(cells, "reset_and_update", _reset_and_update)
    patch.setattr(cells, "new_state", _new_state)
    patch.setattr(cells, "new_lstm_state", _new_lstm_state)
    patch.setattr(encoder._Reversal, "__call__", _reverse)
    patch.setattr(scores, "_products", _products)
    patch.setattr(scores.Additive, "bind", _bind_additive)
    patch.setattr(attention.Attention, "bind", _bind_attention)
    patch.setattr(output.Output, "loss", _loss)


def _bind_sum(summed: Sequence[maps.Map]) -> maps.BoundSum:
    def product(inputs: Sequence[Tensor], plus: Tensor | None = None) -> Tensor:
        for one, part in zip(summed, inputs, strict=True):
            y = part @ one.weight.mT
            if one.bias is not None:
                y = y + (one.bias if one.weight.dim() == 2 else one.bias[:, None])
            plus = y if plus is None else y + plus
        assert plus is not None, "there is a map"
        return plus

    return product


def _reset_and_update(a: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    r, z = torch.sigmoid(a).chunk(2, dim=-1)
    return r * h, z


def _new_state(a: Tensor, h: Tensor, z: Tensor, *, keep: bool) -> Tensor:
    new = torch.tanh(a)
    return z * h + (1 - z) * new if keep else (1 - z) * h + z * new


def _new_lstm_state(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, o, g = a.chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _reverse(self: encoder._Reversal, x: Tensor) -> Tensor:
    return x.flatten(0, 1)[self.rows].view(x.shape)


def _products(keys: Tensor) -> scores.Energies:
    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        return torch.einsum("bqh,bsh->bqs", queries, keys)

    return energies


def _bind_additive(self: scores.Additive, keys: Tensor) -> scores.Energies:
    query, v = self.query.bind(), self.v if self.length is None else self.length * self.v / self.v.norm()

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        inner = keys[:, None] + query(queries)[:, :, None]
        if coverage is not None and self.coverage is not None:
            inner = inner + coverage[..., None] * self.coverage
        return (torch.tanh(inner) * v).sum(-1)

    return energies


def _bind_attention(self: attention.Attention, memory: attention.Memory) -> attention.Look:
    energies, weigh = self.score.bind(memory.keys), self.scope.bind(memory.mask)

    def look(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> attention.Seen:
        grouped = queries.view(len(memory.mask), -1, queries.shape[-1])
        covered = None if coverage is None else coverage.view(*grouped.shape[:2], -1)
        weights, centres = weigh(energies(grouped, covered), grouped, times)
        contexts = torch.einsum("bqs,bsw->bqw", weights, memory.vectors)
        return attention.Seen(
            contexts.flatten(0, 1), weights.flatten(0, 1), None if centres is None else centres.flatten()
        )

    return look


def _loss(self: output.Output, readout: Tensor, words: Tensor, smoothing: float) -> output.TokenLosses:
    logits = functional.linear(readout if self.narrow is None else self.narrow(readout), self.weight, self.bias)
    nll = functional.cross_entropy(logits, words, reduction="sum")
    smoothed = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
    return output.TokenLosses(smoothed, nll.detach())
