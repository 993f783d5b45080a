"""The decoder: one step, and its unrolling over known words.

Training, scoring, alignment and search all go through `_advance`, which updates the state and looks at the source in
the order of the paper. Where what is seen does not feed back into the state, the unrolling looks once for all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.model.attention import Attention, FixedContext, Look, Memory, Seen
from dragoman.model.bridge import Opening
from dragoman.model.cells import CellStep, State
from dragoman.model.dropout import Drop, Dropout
from dragoman.model.encoder import Annotations, Layer
from dragoman.model.maps import BoundMap, Map
from dragoman.model.readout import Read, Readout

Order = Literal["look-then-update", "update-then-look", "groundhog", "two-step"]


class DecoderState(NamedTuple):
    """What one step hands to the next; rows are grouped by source sentence.

    layers:   the state of each layer, tensors [N, H]
    time:     how many steps have been done
    feed:     the readout of the step before, [N, O], with input feeding
    context:  what the step before saw, [N, W], where the next update takes it in (groundhog); None before the first
    coverage: sums of the weights so far, [N, S], where the score looks at them; None before the first step
    """

    layers: tuple[State, ...]
    time: int
    feed: Tensor | None = None
    context: Tensor | None = None
    coverage: Tensor | None = None

    def select(self, rows: Tensor) -> DecoderState:
        """The state with its rows reordered, repeated or dropped."""
        layers = tuple(tuple(part.index_select(0, rows) for part in state) for state in self.layers)
        others = (None if part is None else part.index_select(0, rows) for part in self[2:])
        return DecoderState(layers, self.time, *others)


class Words(NamedTuple):
    """Previous target words after every projection that does not depend on the step: [..., G] and [..., P]."""

    gates: Tensor
    readout: Tensor


class Output(NamedTuple):
    """Readout [N, O]; alignment weights [N, S] where there is attention, p_t [N] where its scope is local."""

    readout: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class Bound(NamedTuple):
    """Everything one source batch needs at every step: maps in their precision, the look at the source.

    Cells are bound with the maps of what reaches them step by step: the fed readout, the layer below, and in a two-step
    order the context. Where a layer is run over all steps before the next one, its cell is bound with none.
    """

    cells: tuple[CellStep, ...]
    context: BoundMap | None
    second: CellStep | None
    look: Look | None
    read: Read
    drop_feed: Drop
    drop_layers: tuple[Drop, ...]
    drop_readout: Drop


class Advanced(NamedTuple):
    """One move of the state: what is handed on, the hidden state that is read out [N, H], what was seen."""

    state: DecoderState
    hidden: Tensor
    seen: Seen | None


class Dropouts(NamedTuple):
    """Where a decoder drops units: between its layers, in its recurrent maps, of the fed readout, of every readout."""

    layers: Dropout
    recurrent: Dropout
    feed: Dropout
    readout: Dropout


class Decoder(nn.Module):
    """A stack of recurrent layers that sees the source through `source`: attention, a fixed context, or None.

    look-then-update: c_i from s_{i-1}; s_i = f(s_{i-1}, y_{i-1}, c_i); readout of (s_i, y_{i-1}, c_i) (Bahdanau et al.
                      2015, main text, eq. 4), or with `reads_previous` of (s_{i-1}, y_{i-1}, c_i) (appendix A.2.2)
    update-then-look: h_t = f(h_{t-1}, y_{t-1}); c_t from h_t; readout of (h_t, c_t) (Luong et al. 2015, section 3)
    groundhog:        s = f(s', y_{i-1}, c_{i-1}), left out at the first step; c_i from s; readout of (s, y_{i-1}, c_i)
                      (the code of Cho et al. 2014 and Bahdanau et al. 2015, which updates after emission)
    two-step:         s' = f(s_{j-1}, y_{j-1}); c_j from s'; s_j = f'(s', c_j); readout of (s_j, y_{j-1}, c_j) (the
                      conditional GRU of dl4mt); f' is the cell of `second`
    input feeding:    the previous readout joins the first layer's input (Luong et al. 2015, section 3.3)

    With `context_in_reset` the context's part in a GRU's candidate stands inside the reset gate's bracket (Cho et al.
    2014, appendix). From layer `residual` on (counted from 1; 0: never) a layer's input is added to its output.
    """

    def __init__(
        self,
        layers: list[Layer],
        source: Attention | FixedContext | None,
        annotation: int,
        readout: Readout,
        *,
        order: Order,
        reads_previous: bool,
        context_in_reset: bool,
        second: Layer | None,
        input_feeding: bool,
        coverage: bool,
        residual: int,
        dropouts: Dropouts,
    ) -> None:
        super().__init__()
        gates = layers[0].cell.gates
        self.layers = cast("list[Layer]", nn.ModuleList(layers))
        self.attention = source
        self.order, self.reads_previous, self.context_in_reset = order, reads_previous, context_in_reset
        self.context = Map(annotation, gates) if source and order in ("look-then-update", "groundhog") else None
        self.second = second
        self.feed = Map(readout.size, gates) if input_feeding else None
        self.coverage = coverage
        self.residual = residual
        self.readout = readout
        self.dropout, self.recurrent_dropout, self.feed_dropout, self.readout_dropout = dropouts

    def remember(self, annotations: Annotations, opening: Opening) -> Memory | None:
        """What steps will look at; None for a decoder that does not look."""
        return self.attention.remember(annotations, opening) if self.attention else None

    def begin(self, opening: Opening) -> DecoderState:
        """The state before the first word; the fed vector starts at zero."""
        hidden = opening.layers[0][0]
        feed = hidden.new_zeros(hidden.shape[0], self.readout.size) if self.feed else None
        return DecoderState(opening.layers, 0, feed)

    def bind(self, memory: Memory | None, sentences: int) -> Bound:
        """The functions of one unrolling over so many sentences, step by step."""
        below = [self.feed, *(layer.inputs for layer in self.layers[1:])]
        cells = (self._bind_cell(layer, sentences, read) for layer, read in zip(self.layers, below, strict=True))
        return self._bind(memory, sentences, tuple(cells))

    def _bind(self, memory: Memory | None, sentences: int, cells: tuple[CellStep, ...]) -> Bound:
        return Bound(
            cells=cells,
            context=self._bind_context(memory),
            second=self._bind_cell(self.second, sentences, self.second.inputs) if self.second else None,
            look=self.attention.bind(memory) if self.attention and memory else None,
            read=self.readout.bind(),
            drop_feed=self.feed_dropout.bind(sentences),
            drop_layers=tuple(self.dropout.bind(sentences) for _ in self.layers[1:]),
            drop_readout=self.readout_dropout.bind(sentences),
        )

    def rebind(self, bound: Bound, memory: Memory) -> Bound:
        """The same functions for another memory; outside training, where nothing else depends on the sentences."""
        look = self.attention.bind(memory) if self.attention else None
        return bound._replace(context=self._bind_context(memory), look=look)

    def _bind_cell(self, layer: Layer, sentences: int, below: Map | None = None) -> CellStep:
        return layer.cell.bind(self.recurrent_dropout.bind(sentences), [below] if below else [])

    def _bind_context(self, memory: Memory | None) -> BoundMap | None:
        """The context on its way into the gates; a fixed one is projected once."""
        if self.context is None or memory is None:
            return None
        if not isinstance(self.attention, FixedContext):
            return self.context.bind()
        once: Tensor = self.context(memory.vectors[:, 0])

        def projected(x: Tensor, plus: Tensor | None = None) -> Tensor:
            rows = once.repeat_interleave(len(x) // len(once), dim=0)
            return rows if plus is None else rows + plus

        return projected

    def words(self, words: Tensor) -> Words:
        """Project previous target words [..., E], for one step or for all."""
        return Words(self.layers[0].inputs(words), self.readout.words(words))

    def step(self, words: Words, state: DecoderState, bound: Bound) -> tuple[Output, DecoderState]:
        """One step of N rows, grouped by source sentence: words [N, G] and [N, P]."""
        moved = self._advance(words.gates, state, bound)
        readout = self._read(moved.hidden, words.readout, moved.seen, bound)
        state = moved.state._replace(feed=readout) if self.feed else moved.state
        return _output(readout, moved.seen), state

    def unroll_from(self, words: Tensor, memory: Memory | None, state: DecoderState, sentences: int) -> Output:
        """All steps over known previous words [N, T, E]: readouts [N*T, O] and weights [N*T, S].

        Rows are grouped by source sentence, equally many of each, and begin from states [N, H].
        """
        projected = self.words(words)
        if self.feed:
            return self._unroll_fed(projected, state, self.bind(memory, sentences))
        looks_back = self.order != "update-then-look" or self.coverage
        if self.attention and looks_back:
            return self._unroll_looking(projected, state, self.bind(memory, sentences))
        cells = tuple(self._bind_cell(layer, sentences) for layer in self.layers)  # what is below comes all at once
        bound = self._bind(memory, sentences, cells)
        return self._unroll_layer_by_layer(projected, state.layers, bound, len(words) // sentences)

    def _unroll_fed(self, words: Words, state: DecoderState, bound: Bound) -> Output:
        """Each readout enters the next step, so everything stays in the loop."""
        outputs = []
        for gates, word in zip(words.gates.unbind(1), words.readout.unbind(1), strict=True):
            output, state = self.step(Words(gates, word), state, bound)
            outputs.append(output)
        readouts, weights, centres = zip(*outputs, strict=True)
        return Output(_rows(readouts), _rows_seen(weights), _rows_seen(centres))

    def _unroll_looking(self, words: Words, state: DecoderState, bound: Bound) -> Output:
        """Each state depends on what the one before it saw; readouts wait and are computed together."""
        hidden, looks = [], []
        for gates in words.gates.unbind(1):
            state, read, seen = self._advance(gates, state, bound)
            assert seen is not None
            hidden.append(read)
            looks.append(seen)
        contexts, weights, centres = zip(*looks, strict=True)
        readout = self._read(_rows(hidden), words.readout.flatten(0, 1), Seen(_rows(contexts), None), bound)
        return Output(readout, _rows_seen(weights), _rows_seen(centres))

    def _unroll_layer_by_layer(self, words: Words, layers: tuple[State, ...], bound: Bound, targets: int) -> Output:
        """What is seen does not reach the states: one layer after the other, then one look for all steps."""
        gates, below = words.gates, None
        for number, (layer, cell, state) in enumerate(zip(self.layers, bound.cells, layers, strict=True), 1):
            if below is not None:
                gates = layer.inputs(bound.drop_layers[number - 2](below.flatten(0, 1)).view(below.shape))
            hidden = []
            for step in gates.unbind(1):
                state = cell(step, state)
                hidden.append(state[0])
            above = torch.stack(hidden, 1)  # [B, T, H]
            below = self._joined(above, below, number)
        assert below is not None, "there is a layer"
        rows = below.flatten(0, 1)
        times = torch.arange(below.shape[1], device=rows.device).repeat(targets)  # of each source sentence
        seen = bound.look(rows, times) if bound.look else None
        readout = self._read(rows, words.readout.flatten(0, 1), seen, bound)
        return _output(readout, seen)

    def _advance(self, gates: Tensor, state: DecoderState, bound: Bound) -> Advanced:
        """Update and look once, in this decoder's order; gates [N, G] hold the previous word."""
        if bound.look is None:
            layers, hidden = self._update(gates, state, None, bound)
            return Advanced(DecoderState(layers, state.time + 1), hidden, None)
        times = torch.full((1,), state.time, device=gates.device)
        layers, context = state.layers, None
        if self.order == "look-then-update":
            before = layers[-1][0]
            seen = bound.look(before, times, state.coverage)
            layers, hidden = self._update(gates, state, seen.context, bound)
            hidden = before if self.reads_previous else hidden
        elif self.order == "groundhog":
            first = state.context is None  # nothing has been emitted that the state could take in
            hidden = layers[-1][0]
            if not first:
                layers, hidden = self._update(gates, state, state.context, bound)
            seen = bound.look(hidden, times, state.coverage)
            context = seen.context
        else:
            layers, hidden = self._update(gates, state, None, bound)
            seen = bound.look(hidden, times, state.coverage)
            if bound.second:
                layers = (bound.second(None, layers[0], below=[seen.context]),)
                hidden = layers[0][0]
        coverage = self._covered(state.coverage, seen.weights)
        return Advanced(DecoderState(layers, state.time + 1, None, context, coverage), hidden, seen)

    def _update(
        self, gates: Tensor, state: DecoderState, context: Tensor | None, bound: Bound
    ) -> tuple[tuple[State, ...], Tensor]:
        """The next state of every layer, and the top layer's output."""
        bracket = None
        if bound.context and context is not None:
            if self.context_in_reset:
                size = self.layers[0].cell.size
                outside, bracket = bound.context(context).split((2 * size, size), dim=-1)
                gates = torch.cat((gates[..., : 2 * size] + outside, gates[..., 2 * size :]), dim=-1)
            else:
                gates = bound.context(context, gates)
        fed = [] if state.feed is None else [bound.drop_feed(state.feed)]
        layers = [bound.cells[0](gates, state.layers[0], below=fed, bracket=bracket)]
        output = layers[0][0]
        upper = zip(bound.cells[1:], bound.drop_layers, state.layers[1:], strict=True)
        for number, (cell, drop, old) in enumerate(upper, 2):
            layers.append(cell(None, old, below=[drop(output)]))
            output = self._joined(layers[-1][0], output, number)
        return tuple(layers), output

    def _joined(self, above: Tensor, below: Tensor | None, number: int) -> Tensor:
        """The output of a layer: its hidden state, with its input where the connection is residual."""
        return above if below is None or not 0 < self.residual <= number else above + below

    def _covered(self, before: Tensor | None, weights: Tensor | None) -> Tensor | None:
        if not self.coverage or weights is None:
            return None
        return weights if before is None else before[:, : weights.shape[1]] + weights

    def _read(self, hidden: Tensor, words: Tensor, seen: Seen | None, bound: Bound) -> Tensor:
        return bound.drop_readout(bound.read(hidden, words, seen.context if seen else None))


def _output(readout: Tensor, seen: Seen | None) -> Output:
    return Output(readout, seen.weights, seen.centres) if seen else Output(readout, None)


def _rows(steps: Sequence[Tensor]) -> Tensor:
    """T tensors [B, ...] -> [B*T, ...], sentence by sentence."""
    return torch.stack(tuple(steps), 1).flatten(0, 1)


def _rows_seen(steps: Sequence[Tensor | None]) -> Tensor | None:
    """The same of what there is at every step or at none."""
    present = [step for step in steps if step is not None]
    return _rows(present) if present else None
