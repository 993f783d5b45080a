"""The decoder: one step, and its unrolling over known words.

Training, scoring, alignment and search all go through `update` and `look`; the two orders are the two ways to
compose them. Where what is seen does not feed back into the state, the unrolling looks once for all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.model.attention import Attention, Look, Memory
from dragoman.model.cells import CellStep, State
from dragoman.model.dropout import dropout
from dragoman.model.encoder import Annotations, Layer
from dragoman.model.maps import BoundMap, Map
from dragoman.model.readout import Read, Readout


class DecoderState(NamedTuple):
    """What one step hands to the next: the state of each layer, and the fed vector h~ (None without input feeding)."""

    layers: tuple[State, ...]
    feed: Tensor | None

    def select(self, rows: Tensor) -> DecoderState:
        """The state with its rows reordered, repeated or dropped."""
        layers = tuple(tuple(part.index_select(0, rows) for part in state) for state in self.layers)
        return DecoderState(layers, None if self.feed is None else self.feed.index_select(0, rows))


class Words(NamedTuple):
    """Previous target words after every projection that does not depend on the step: [..., G] and [..., P]."""

    gates: Tensor
    readout: Tensor


class Output(NamedTuple):
    """Readout [N, O], and alignment weights [N, S] where there is attention."""

    readout: Tensor
    weights: Tensor | None


class Bound(NamedTuple):
    """Everything one source batch needs at every step: maps in their precision, the look at the source."""

    cells: tuple[CellStep, ...]
    inputs: tuple[BoundMap, ...]
    context: BoundMap | None
    feed: BoundMap | None
    look: Callable[[Tensor], Look] | None
    read: Read


class Decoder(nn.Module):
    """A stack of recurrent layers that attends.

    look-then-update: c_i from s_{i-1}; s_i = f(s_{i-1}, y_{i-1}, c_i); readout of (s_i, y_{i-1}, c_i)
                      (Bahdanau et al. 2015, main text, eq. 4)
    update-then-look: h_t = f(h_{t-1}, y_{t-1}); c_t from h_t; readout of (h_t, c_t) (Luong et al. 2015, section 3)
    input feeding:    the previous readout joins the first layer's input (Luong et al. 2015, section 3.3)

    `attention` is None for a decoder that sees the source in its first state only (Sutskever et al. 2014).
    """

    def __init__(
        self,
        layers: list[Layer],
        attention: Attention | None,
        annotation: int,
        readout: Readout,
        *,
        order: Literal["look-then-update", "update-then-look"],
        input_feeding: bool,
        dropout: float,
        readout_dropout: float,
    ) -> None:
        super().__init__()
        gates = layers[0].cell.gates
        self.layers = cast("list[Layer]", nn.ModuleList(layers))
        self.attention = attention
        self.looks_first = attention is not None and order == "look-then-update"
        self.context = Map(annotation, gates) if self.looks_first else None
        self.feed = Map(readout.size, gates) if input_feeding else None
        self.readout = readout
        self.dropout, self.readout_dropout = dropout, readout_dropout

    def remember(self, annotations: Annotations) -> Memory | None:
        """What steps will look at; None for a decoder that does not look."""
        return self.attention.remember(annotations) if self.attention else None

    def bind(self, memory: Memory | None) -> Bound:
        """The functions of one unrolling."""
        return Bound(
            cells=tuple(layer.cell.bind() for layer in self.layers),
            inputs=tuple(layer.inputs.bind() for layer in self.layers[1:]),
            context=self.context.bind() if self.context else None,
            feed=self.feed.bind() if self.feed else None,
            look=self.attention.bind(memory) if self.attention and memory else None,
            read=self.readout.bind(),
        )

    def begin(self, layers: tuple[State, ...]) -> DecoderState:
        """The state before the first word; the fed vector starts at zero."""
        hidden = layers[0][0]
        return DecoderState(layers, hidden.new_zeros(hidden.shape[0], self.readout.size) if self.feed else None)

    def words(self, words: Tensor) -> Words:
        """Project previous target words [..., E], for one step or for all."""
        return Words(self.layers[0].inputs(words), self.readout.words(words))

    def step(self, words: Words, state: DecoderState, bound: Bound) -> tuple[Output, DecoderState]:
        """One step of N rows, grouped by source sentence: words [N, G] and [N, P]."""
        layers, seen = self._advance(words.gates, state, bound)
        readout = self._read(layers[-1][0], words.readout, seen.context if seen else None, bound)
        return Output(readout, seen.weights if seen else None), DecoderState(layers, readout if self.feed else None)

    def unroll(self, words: Tensor, layers: tuple[State, ...], annotations: Annotations) -> Output:
        """All steps over known previous words [B, T, E]: readouts [B*T, O] and weights [B*T, S]."""
        bound = self.bind(self.remember(annotations))
        projected = self.words(words)
        if self.feed:
            return self._unroll_fed(projected, self.begin(layers), bound)
        if self.looks_first:
            return self._unroll_looking(projected, self.begin(layers), bound)
        return self._unroll_layer_by_layer(projected, layers, bound)

    def _unroll_fed(self, words: Words, state: DecoderState, bound: Bound) -> Output:
        """Each readout enters the next step, so everything stays in the loop."""
        readouts, weights = [], []
        for gates, word in zip(words.gates.unbind(1), words.readout.unbind(1), strict=True):
            output, state = self.step(Words(gates, word), state, bound)
            readouts.append(output.readout)
            if output.weights is not None:
                weights.append(output.weights)
        return Output(_rows(readouts), _rows(weights) if weights else None)

    def _unroll_looking(self, words: Words, state: DecoderState, bound: Bound) -> Output:
        """Each state depends on what the one before it saw; readouts wait and are computed together."""
        hidden, contexts, weights = [], [], []
        for gates in words.gates.unbind(1):
            layers, seen = self._advance(gates, state, bound)
            assert seen is not None
            state = DecoderState(layers, None)
            hidden.append(layers[-1][0])
            contexts.append(seen.context)
            weights.append(seen.weights)
        readout = self._read(_rows(hidden), words.readout.flatten(0, 1), _rows(contexts), bound)
        return Output(readout, _rows(weights))

    def _unroll_layer_by_layer(self, words: Words, layers: tuple[State, ...], bound: Bound) -> Output:
        """What is seen does not reach the states: one layer after the other, then one look for all steps."""
        gates = words.gates
        for number, (cell, state) in enumerate(zip(bound.cells, layers, strict=True)):
            hidden = []
            for step in gates.unbind(1):
                state = cell(step, state)
                hidden.append(state[0])
            stacked = torch.stack(hidden, 1)  # [B, T, H]
            if number < len(bound.inputs):
                gates = bound.inputs[number](dropout(stacked, self.dropout, self.training))
        rows = stacked.flatten(0, 1)
        seen = bound.look(rows) if bound.look else None
        readout = self._read(rows, words.readout.flatten(0, 1), seen.context if seen else None, bound)
        return Output(readout, seen.weights if seen else None)

    def _advance(self, gates: Tensor, state: DecoderState, bound: Bound) -> tuple[tuple[State, ...], Look | None]:
        """The next state of every layer and what was seen on the way, in this decoder's order."""
        if bound.look is None:
            return self._update(gates, state, None, bound), None
        if self.looks_first:
            seen = bound.look(state.layers[-1][0])
            return self._update(gates, state, seen, bound), seen
        layers = self._update(gates, state, None, bound)
        return layers, bound.look(layers[-1][0])

    def _update(self, gates: Tensor, state: DecoderState, seen: Look | None, bound: Bound) -> tuple[State, ...]:
        """The next state of every layer."""
        if bound.context and seen:
            gates = bound.context(seen.context, gates)
        if bound.feed and state.feed is not None:
            gates = bound.feed(state.feed, gates)
        layers = [bound.cells[0](gates, state.layers[0])]
        for cell, inputs, old in zip(bound.cells[1:], bound.inputs, state.layers[1:], strict=True):
            below = dropout(layers[-1][0], self.dropout, self.training)
            layers.append(cell(inputs(below), old))
        return tuple(layers)

    def _read(self, hidden: Tensor, words: Tensor, context: Tensor | None, bound: Bound) -> Tensor:
        return dropout(bound.read(hidden, words, context), self.readout_dropout, self.training)


def _rows(steps: list[Tensor]) -> Tensor:
    """T tensors [B, n] -> [B*T, n], sentence by sentence."""
    return torch.stack(steps, 1).flatten(0, 1)
