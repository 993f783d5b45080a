"""Attention scores: the energies of a query and each annotation, in the forms of the papers.

From queries [B, Q, H] and keys [B, S, A], which are computed once per sentence, a score gives energies [B, Q, S].

Letters: B sentences, Q queries of a sentence, S positions, H units of a query, W units of an annotation, A alignment
size.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear, LinearStep


class Energies(Protocol):
    """A score prepared with keys: maps queries [B, Q, H] to energies [B, Q, S].

    `coverage` [B, Q, S] is the sum of the previous weights of each position, for a score that depends on it.
    """

    def __call__(self, queries: Tensor, coverage: Tensor | None = None) -> Tensor: ...


def dot_energies(keys: Tensor) -> Energies:
    """Dot-product energies e = q^T k: queries [B, Q, A] and keys [B, S, A] -> [B, Q, S]."""

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        return torch.bmm(queries, keys.mT)  # [B, Q, A], [B, A, S] -> [B, Q, S]

    return energies


def additive_energies(query: LinearStep, keys: Tensor, v: Tensor, w: Tensor | None) -> Energies:
    """Additive energies e = v^T tanh(query(q) + k + w c): queries [B, Q, H] and keys [B, S, A] -> [B, Q, S].

    v and w are [A], c is the coverage; w is None for a score that does not depend on it.
    """

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        # [B, 1, S, A] + [B, Q, 1, A] -> [B, Q, S, A]
        inner = keys[:, None] + query(queries).to(keys.dtype)[:, :, None]
        if coverage is not None and w is not None:
            inner = inner + coverage.unsqueeze(-1) * w  # [B, Q, S, 1] * [A] -> [B, Q, S, A]
        return torch.tanh(inner) @ v  # [B, Q, S, A] -> [B, Q, S]

    return energies


class AttentionScore(Protocol):
    """The interface of an attention score."""

    kind: str
    """additive, dot, general or location; the ONNX export selects its operators by it."""
    keys_are_annotations: bool
    """Whether the keys are the annotations themselves."""

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """The keys of a batch, computed once: annotations [B, S, W] and mask [B, S] -> [B, S, A]."""
        ...

    def prepare(self, keys: Tensor) -> Energies:
        """Prepare the energies against `keys` [B, S, A] for one unrolling."""
        ...


class Additive(nn.Module):
    """The additive score e = v_a^T tanh(W_a s + U_a h), W_a [A, H], U_a [A, W] (Bahdanau et al. 2015, A.1.2).

    The concat score of Luong et al. 2015, section 3.1, v_a^T tanh(W_a [h_t; h_s]), is the same with W_a in two blocks.

    identity: U_a is fixed to the identity, so A = W (what the authors of Luong et al. 2015 ran as concat)
    normed:   e = g v_a^T / |v_a| tanh(W_a s + U_a h + b), g, the length of v_a, a parameter of its own
    coverage: U_a h_j + w_c k_j in place of U_a h_j, k_j the sum of the previous weights of position j (Tu et al. 2016)
    """

    kind = "additive"
    energies = staticmethod(additive_energies)

    def __init__(
        self,
        query: int,
        annotation: int,
        size: int,
        *,
        identity: bool = False,
        normed: bool = False,
        coverage: bool = False,
    ) -> None:
        super().__init__()
        assert not identity or size == annotation, "with the identity, the alignment size is that of an annotation"
        self.keys_are_annotations = identity
        self.query = Linear(query, size, bias=normed)
        self.annotation = None if identity else Linear(annotation, size)
        self.v = nn.Parameter(torch.empty(size))
        self.length = nn.Parameter(torch.empty(())) if normed else None
        self.coverage = nn.Parameter(torch.empty(size)) if coverage else None

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        if self.annotation is None:
            return annotations
        keys: Tensor = self.annotation(annotations)  # [B, S, W] -> [B, S, A]
        return keys.to(annotations.dtype)

    def prepare(self, keys: Tensor) -> Energies:
        v = self.v if self.length is None else self.length * self.v / self.v.norm()
        return self.energies(self.query.prepare(), keys, v, self.coverage)


class Dot(nn.Module):
    """The dot score e = h_t^T h_s (Luong et al. 2015, section 3.1).

    scaled: divided by the square root of the size (Vaswani et al. 2017)
    """

    kind = "dot"
    energies = staticmethod(dot_energies)

    def __init__(self, size: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(size) if scaled else 1.0
        self.keys_are_annotations = not scaled

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        return annotations if self.keys_are_annotations else annotations * self.scale  # [B, S, A]

    def prepare(self, keys: Tensor) -> Energies:
        return self.energies(keys)


class General(nn.Module):
    """The general score e = h_t^T W_a h_s, W_a [H, W] (Luong et al. 2015, section 3.1).

    The keys W_a h_s are computed once per sentence.
    """

    kind, keys_are_annotations = "general", False
    energies = staticmethod(dot_energies)

    def __init__(self, query: int, annotation: int) -> None:
        super().__init__()
        self.annotation = Linear(annotation, query)

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        keys: Tensor = self.annotation(annotations)  # [B, S, W] -> [B, S, A]
        return keys.to(annotations.dtype)

    def prepare(self, keys: Tensor) -> Energies:
        return self.energies(keys)


class Location(nn.Module):
    """The location score a_t = softmax(W_a h_t), W_a [S_max, H] (Luong et al. 2015, eq. 8), which ignores annotations.

    W_a has one row (a slot) for each source position. Slots are aligned to the end of the encoder's input: the last
    slot belongs to the last word read, which is the first word of the source for a reversed encoder. In a source longer
    than S_max only the first S_max words have a slot. Unmasked, the softmax runs over all slots, so that the weights of
    a short sentence sum to less than 1 (the authors' code of June 2015); the energies are then logarithms of weights.
    """

    kind, keys_are_annotations = "location", False

    def __init__(self, query: int, slots: int, *, masked: bool, reads_backwards: bool) -> None:
        super().__init__()
        self.slots, self.masked, self.reads_backwards = slots, masked, reads_backwards
        self.query = Linear(query, slots)

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """The slot of each position, int64 [B, S]; -1 where there is none."""
        position = torch.arange(mask.shape[1], device=mask.device)
        length = mask.sum(dim=1, keepdim=True).clamp(max=self.slots)  # [B, S] -> [B, 1]
        slot = self.slots - 1 - position if self.reads_backwards else self.slots - length + position
        return torch.where(position < length, slot, -1)

    def prepare(self, keys: Tensor) -> Energies:
        query = self.query.prepare()
        without_slot = (keys < 0).unsqueeze(1)  # [B, S] -> [B, 1, S]
        slot = keys.clamp(min=0).unsqueeze(1)  # [B, S] -> [B, 1, S]

        def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
            by_slot = query(queries).to(queries.dtype)  # [B, Q, H] -> [B, Q, slots]
            if not self.masked:
                by_slot = torch.log_softmax(by_slot, dim=-1)
            by_position = by_slot.gather(2, slot.expand(-1, queries.shape[1], -1))  # [B, Q, slots] -> [B, Q, S]
            return by_position.masked_fill(without_slot, -torch.inf)

        return energies
