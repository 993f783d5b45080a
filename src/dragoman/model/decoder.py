"""The decoder: single steps, and the unrolling over a given target.

Training, scoring, alignment and search all use `_advance`, which updates the state and attends to the source in the
order of the paper. Where attention does not feed back into the state, the unrolling attends once for all steps.

Letters: B sentences, N rows grouped by sentence, T steps, S positions of a source, H units of a state, G gate inputs,
P units of a word projected for the readout, W units of a context, O units of a readout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.model.attention import Attend, Attention, AttentionMemory, AttentionResult, FixedContext
from dragoman.model.cells import CellState, CellStep
from dragoman.model.dropout import Dropout, DropUnits
from dragoman.model.encoder import Annotations, InitialState, RecurrentLayer
from dragoman.model.linear import Linear, LinearStep
from dragoman.model.output_layer import Readout, ReadoutStep

StepOrder = Literal["look-then-update", "update-then-look", "groundhog", "two-step"]


class DecoderState(NamedTuple):
    """The decoder state between two steps; rows are grouped by source sentence.

    layers:     the state of each layer, tensors [N, H]
    time:       the number of steps taken
    input_feed: with input feeding, the previous readout, [N, O]
    context:    for the order groundhog, the previous context, [N, W]; None before the first step
    coverage:   where the score depends on it, the sum of the previous weights, [N, S]; None before the first step
    """

    layers: tuple[CellState, ...]
    time: int
    input_feed: Tensor | None = None
    context: Tensor | None = None
    coverage: Tensor | None = None

    def select(self, rows: Tensor) -> DecoderState:
        """Reorder, repeat or drop rows: the state of the rows with indices `rows` [N'], [N, ..] -> [N', ..]."""
        layers = tuple(tuple(part.index_select(0, rows) for part in state) for state in self.layers)
        others = (None if part is None else part.index_select(0, rows) for part in self[2:])
        return DecoderState(layers, self.time, *others)


class ProjectedWords(NamedTuple):
    """Previous target words projected for the gates, [..., G], and for the readout, [..., P]."""

    gates: Tensor
    readout: Tensor


class DecoderOutput(NamedTuple):
    """Readouts [N, O]; with attention its weights [N, S], with local attention its window centres p_t [N]."""

    readout: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class PreparedDecoder(NamedTuple):
    """A decoder prepared for one unrolling over a batch of sources.

    A cell is prepared with the linear layer of the input that it gets step by step: the fed readout, the output of the
    layer below, or the context (second cell of the order two-step). There are none where each layer runs over all
    steps before the next layer.
    """

    cells: tuple[CellStep, ...]
    context: LinearStep | None
    second: CellStep | None
    attend: Attend | None
    read: ReadoutStep
    drop_feed: DropUnits
    drop_layers: tuple[DropUnits, ...]
    drop_readout: DropUnits


class AdvancedState(NamedTuple):
    """The result of an update: the next state, the hidden state for the readout, [N, H], and the attention."""

    state: DecoderState
    hidden: Tensor
    attention: AttentionResult | None


class DecoderDropouts(NamedTuple):
    """Dropout between layers, in recurrent connections, on the fed readout, and on every readout."""

    layers: Dropout
    recurrent: Dropout
    feed: Dropout
    readout: Dropout


class Decoder(nn.Module):
    """A stack of recurrent layers over previous target words and `source`: attention, a fixed context, or None.

    look-then-update: c_i from s_{i-1}; s_i = f(s_{i-1}, y_{i-1}, c_i); readout of (s_i, y_{i-1}, c_i) (Bahdanau et al.
                      2015, main text, eq. 4), or with `reads_previous` of (s_{i-1}, y_{i-1}, c_i) (appendix A.2.2)
    update-then-look: h_t = f(h_{t-1}, y_{t-1}); c_t from h_t; readout of (h_t, c_t) (Luong et al. 2015, section 3)
    groundhog:        s = f(s', y_{i-1}, c_{i-1}), left out at the first step; c_i from s; readout of (s, y_{i-1}, c_i)
                      (the code of Cho et al. 2014 and Bahdanau et al. 2015, which updates after emission)
    two-step:         s' = f(s_{j-1}, y_{j-1}); c_j from s'; s_j = f'(s', c_j); readout of (s_j, y_{j-1}, c_j) (the
                      conditional GRU of dl4mt); f' is the cell of `second`
    input feeding:    the previous readout joins the first layer's input (Luong et al. 2015, section 3.3)

    With `context_in_reset` the reset gate multiplies the context's term in a GRU's candidate (Cho et al. 2014,
    appendix). From layer `residual` on (counted from 1; 0: never) a layer's input is added to its output.
    """

    def __init__(
        self,
        layers: list[RecurrentLayer],
        source: Attention | FixedContext | None,
        annotation: int,
        readout: Readout,
        *,
        order: StepOrder,
        reads_previous: bool,
        context_in_reset: bool,
        second: RecurrentLayer | None,
        input_feeding: bool,
        coverage: bool,
        residual: int,
        dropouts: DecoderDropouts,
    ) -> None:
        super().__init__()
        gates = layers[0].cell.gates
        self.layers = cast("list[RecurrentLayer]", nn.ModuleList(layers))
        self.attention = source
        self.order, self.reads_previous, self.context_in_reset = order, reads_previous, context_in_reset
        self.context = Linear(annotation, gates) if source and order in ("look-then-update", "groundhog") else None
        self.second = second
        self.feed = Linear(readout.size, gates) if input_feeding else None
        self.coverage = coverage
        self.residual = residual
        self.readout = readout
        self.dropout, self.recurrent_dropout, self.feed_dropout, self.readout_dropout = dropouts

    @property
    def alignment(self) -> Attention | None:
        """The attention; None for a fixed context or no context."""
        return self.attention if isinstance(self.attention, Attention) else None

    @property
    def has_fixed_context(self) -> bool:
        """Whether every step reads the summary of the source."""
        return isinstance(self.attention, FixedContext)

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory | None:
        """The memory that the steps attend to; None for a decoder without a context."""
        return self.attention.precompute(annotations, initial) if self.attention else None

    def initial_state(self, initial: InitialState) -> DecoderState:
        """The decoder state before the first word, of N rows; the fed readout is zero."""
        hidden = initial.layers[0][0]
        feed = hidden.new_zeros(hidden.shape[0], self.readout.size) if self.feed else None  # [N, O]
        return DecoderState(initial.layers, 0, feed)

    def prepare(self, memory: AttentionMemory | None, sentences: int) -> PreparedDecoder:
        """Prepare the decoder for single steps over a batch of `sentences` sentences."""
        below = [self.feed, *(layer.inputs for layer in self.layers[1:])]
        cells = (self._prepare_cell(layer, sentences, linear) for layer, linear in zip(self.layers, below, strict=True))
        return self._prepare(memory, sentences, tuple(cells))

    def _prepare(self, memory: AttentionMemory | None, sentences: int, cells: tuple[CellStep, ...]) -> PreparedDecoder:
        return PreparedDecoder(
            cells=cells,
            context=self._prepare_context(memory),
            second=self._prepare_cell(self.second, sentences, self.second.inputs) if self.second else None,
            attend=self.attention.prepare(memory) if self.attention and memory else None,
            read=self.readout.prepare(),
            drop_feed=self.feed_dropout.prepare(sentences),
            drop_layers=tuple(self.dropout.prepare(sentences) for _ in self.layers[1:]),
            drop_readout=self.readout_dropout.prepare(sentences),
        )

    def with_memory(self, prepared: PreparedDecoder, memory: AttentionMemory) -> PreparedDecoder:
        """A prepared decoder with another memory; outside training only, where no dropout masks depend on the batch."""
        attend = self.attention.prepare(memory) if self.attention else None
        return prepared._replace(context=self._prepare_context(memory), attend=attend)

    def _prepare_cell(self, layer: RecurrentLayer, sentences: int, below: Linear | None) -> CellStep:
        return layer.cell.prepare(self.recurrent_dropout.prepare(sentences), below)

    def _prepare_context(self, memory: AttentionMemory | None) -> LinearStep | None:
        """Prepare the projection of the context, [N, W] -> [N, G]; a fixed context is projected once per sentence."""
        if self.context is None or memory is None:
            return None
        if not self.has_fixed_context:
            return self.context.prepare()
        once: Tensor = self.context(memory.vectors[:, 0])  # [B, 1, W] -> [B, G]

        def project(*inputs: Tensor, plus: Tensor | None = None) -> Tensor:
            (contexts,) = inputs
            rows = once.repeat_interleave(len(contexts) // len(once), dim=0)  # [B, G] -> [N, G]
            return rows if plus is None else rows + plus

        return project

    def words(self, words: Tensor) -> ProjectedWords:
        """Project previous target words: [N, E] -> [N, G] and [N, P], or [N, T, E] -> [N, T, G] and [N, T, P]."""
        return ProjectedWords(self.layers[0].inputs(words), self.readout.words(words))

    def step(
        self, words: ProjectedWords, state: DecoderState, prepared: PreparedDecoder
    ) -> tuple[DecoderOutput, DecoderState]:
        """One step of N rows, grouped by source sentence; `words` [N, G] and [N, P]."""
        advanced = self._advance(words.gates, state, prepared)
        readout = self._read(advanced.hidden, words.readout, advanced.attention, prepared)
        state = advanced.state._replace(input_feed=readout) if self.feed else advanced.state
        return _output(readout, advanced.attention), state

    def unroll_from(
        self, words: Tensor, memory: AttentionMemory | None, state: DecoderState, sentences: int
    ) -> DecoderOutput:
        """Unroll all steps over given previous words [N, T, E]: readouts [N*T, O] and weights [N*T, S].

        Rows are grouped by source sentence, equally many for each, and start from states [N, H].
        """
        projected = self.words(words)
        if self.feed:
            return self._unroll_fed(projected, state, self.prepare(memory, sentences))
        feeds_back = self.order != "update-then-look" or self.coverage
        if self.attention and feeds_back:
            return self._unroll_attending(projected, state, self.prepare(memory, sentences))
        # without cells, because each layer runs over all steps
        return self._unroll_layer_by_layer(projected, state.layers, self._prepare(memory, sentences, ()), sentences)

    def _unroll_fed(self, words: ProjectedWords, state: DecoderState, prepared: PreparedDecoder) -> DecoderOutput:
        """Unroll with input feeding: each readout is an input of the next step, so every computation is in the loop."""
        outputs = []
        # [N, T, G] -> T of [N, G], [N, T, P] -> T of [N, P]
        for gates, word in zip(words.gates.unbind(1), words.readout.unbind(1), strict=True):
            output, state = self.step(ProjectedWords(gates, word), state, prepared)
            outputs.append(output)
        readouts, weights, centres = zip(*outputs, strict=True)
        return DecoderOutput(_rows(readouts), _rows_present(weights), _rows_present(centres))

    def _unroll_attending(self, words: ProjectedWords, state: DecoderState, prepared: PreparedDecoder) -> DecoderOutput:
        """Unroll where each state depends on the previous attention; readouts are computed together after the loop."""
        hidden, results = [], []
        for gates in words.gates.unbind(1):  # [N, T, G] -> T of [N, G]
            state, read, result = self._advance(gates, state, prepared)
            assert result is not None
            hidden.append(read)
            results.append(result)
        contexts, weights, centres = zip(*results, strict=True)
        attention = AttentionResult(_rows(contexts), None)
        readout = self._read(_rows(hidden), words.readout.flatten(0, 1), attention, prepared)  # [N, T, P] -> [N*T, P]
        return DecoderOutput(readout, _rows_present(weights), _rows_present(centres))

    def _unroll_layer_by_layer(
        self, words: ProjectedWords, layers: tuple[CellState, ...], prepared: PreparedDecoder, sentences: int
    ) -> DecoderOutput:
        """Unroll where states do not depend on attention: layer by layer, then attend once for all steps."""
        gates, below = words.gates, None
        for number, (layer, state) in enumerate(zip(self.layers, layers, strict=True), 1):
            if below is not None:
                dropped = prepared.drop_layers[number - 2](below.flatten(0, 1))  # [N, T, H] -> [N*T, H]
                gates = layer.inputs(dropped.view(below.shape))  # [N*T, H] -> [N, T, G]
            drop = self.recurrent_dropout.prepare(sentences)
            hidden, _ = layer.unroll(layer.cell, gates.transpose(0, 1), state, drop)  # [N, T, G] -> [T, N, H]
            below = self._join_residual(hidden.transpose(0, 1), below, number)  # [T, N, H] -> [N, T, H]
        assert below is not None, "there is a layer"
        rows = below.flatten(0, 1)  # [N, T, H] -> [N*T, H]
        # [T] -> [Q] of each source sentence
        times = torch.arange(below.shape[1], device=rows.device).repeat(len(below) // sentences)
        attention = prepared.attend(rows, times) if prepared.attend else None
        readout = self._read(rows, words.readout.flatten(0, 1), attention, prepared)  # [N, T, P] -> [N*T, P]
        return _output(readout, attention)

    def _advance(self, gates: Tensor, state: DecoderState, prepared: PreparedDecoder) -> AdvancedState:
        """Update the state and attend once, in the decoder's order; `gates` [N, G] are the projected previous words."""
        if prepared.attend is None:
            layers, hidden = self._update(gates, state, None, prepared)
            return AdvancedState(DecoderState(layers, state.time + 1), hidden, None)
        times = torch.full((1,), state.time, device=gates.device)
        layers, context = state.layers, None
        if self.order == "look-then-update":
            before = layers[-1][0]
            attention = prepared.attend(before, times, state.coverage)
            layers, hidden = self._update(gates, state, attention.context, prepared)
            hidden = before if self.reads_previous else hidden
        elif self.order == "groundhog":
            hidden = layers[-1][0]
            if state.context is not None:  # no word has been emitted before the first step
                layers, hidden = self._update(gates, state, state.context, prepared)
            attention = prepared.attend(hidden, times, state.coverage)
            context = attention.context
        else:
            layers, hidden = self._update(gates, state, None, prepared)
            attention = prepared.attend(hidden, times, state.coverage)
            if prepared.second:
                layers = (prepared.second(None, layers[0], below=attention.context),)
                hidden = layers[0][0]
        coverage = self._add_coverage(state.coverage, attention.weights)
        return AdvancedState(DecoderState(layers, state.time + 1, None, context, coverage), hidden, attention)

    def _update(
        self, gates: Tensor, state: DecoderState, context: Tensor | None, prepared: PreparedDecoder
    ) -> tuple[tuple[CellState, ...], Tensor]:
        """The next state of every layer, and the top layer's output [N, H]."""
        reset_gated_input = None
        if prepared.context and context is not None:
            if self.context_in_reset:
                size = self.layers[0].cell.size
                # [N, W] -> [N, 3H] -> [N, 2H], [N, H]
                to_gates, reset_gated_input = prepared.context(context).split((2 * size, size), dim=-1)
                gates = torch.cat((gates[..., : 2 * size] + to_gates, gates[..., 2 * size :]), dim=-1)  # [N, 3H]
            else:
                gates = prepared.context(context, plus=gates)  # [N, W] -> [N, G]
        feed = None if state.input_feed is None else prepared.drop_feed(state.input_feed)
        layers = [prepared.cells[0](gates, state.layers[0], below=feed, reset_gated_input=reset_gated_input)]
        output = layers[0][0]
        upper = zip(prepared.cells[1:], prepared.drop_layers, state.layers[1:], strict=True)
        for number, (cell, drop, old) in enumerate(upper, 2):
            layers.append(cell(None, old, below=drop(output)))
            output = self._join_residual(layers[-1][0], output, number)
        return tuple(layers), output

    def _join_residual(self, above: Tensor, below: Tensor | None, number: int) -> Tensor:
        """The output of layer `number`, [N, H] or [N, T, H]: its hidden state, plus its input if it is residual."""
        return above if below is None or not 0 < self.residual <= number else above + below

    def _add_coverage(self, before: Tensor | None, weights: Tensor | None) -> Tensor | None:
        """The sum of all weights so far, [N, S]; `before` is wider if the longest sentences have left the batch."""
        if not self.coverage or weights is None:
            return None
        return weights if before is None else before[:, : weights.shape[1]] + weights

    def _read(
        self, hidden: Tensor, words: Tensor, attention: AttentionResult | None, prepared: PreparedDecoder
    ) -> Tensor:
        """The readout [N, O] of hidden states [N, H], projected words [N, P] and contexts [N, W]."""
        return prepared.drop_readout(prepared.read(hidden, words, attention.context if attention else None))


def _output(readout: Tensor, attention: AttentionResult | None) -> DecoderOutput:
    """Readouts [N, O] with the alignment weights [N, S] and window centres [N] of their attention."""
    return DecoderOutput(readout, attention.weights, attention.centres) if attention else DecoderOutput(readout, None)


def _rows(steps: Sequence[Tensor]) -> Tensor:
    """Stack the T steps [N, ...] of each row: [N*T, ...], the steps of a row side by side."""
    return torch.stack(tuple(steps), 1).flatten(0, 1)


def _rows_present(steps: Sequence[Tensor | None]) -> Tensor | None:
    """`_rows` of results that exist at every step, [N, ...] -> [N*T, ...]; None if they exist at none."""
    present = [step for step in steps if step is not None]
    return _rows(present) if present else None
