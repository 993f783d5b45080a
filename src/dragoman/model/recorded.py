"""The unrolling of a decoder, recorded once for each shape and then replayed.

An unrolling is thousands of small operations, and a GPU waits for each of them to be started. A CUDA graph starts all
that it has recorded at once, in the memory that they had in the recording. So what an unrolling begins with is copied
into memory that belongs to its shapes, and the way there and the way back are one graph each. All graphs share the
memory in between: what a replay has left is good until the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.model.attention import Memory
from dragoman.model.decoder import Decoder, DecoderState, Output

AFTER = 2
"""Shapes are recorded when they come once more: a recording takes as long as several updates."""

MOST = 64
"""Shapes that are recorded; a graph of thousands of operations takes some MB."""

WIDTH = 8
"""Batches are filled up to multiples of so many positions, so that there are few shapes."""

_WARM_UPS = 3

Result = TypeVar("Result")


class Recorder(Protocol):
    """Records operations, and does them again in the same memory."""

    def warm_up(self, work: Callable[[], object]) -> None:
        """Do what will be recorded, so that libraries have chosen their kernels; random numbers go on as if not."""
        ...

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        """What does the work, and where its result will be; there may be nothing yet."""
        ...


class CudaGraphs:
    """Records work of the current GPU as CUDA graphs with one pool of memory."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def warm_up(self, work: Callable[[], object]) -> None:
        before, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(before)
        with torch.cuda.stream(aside), torch.random.fork_rng([torch.cuda.current_device()]):
            for _ in range(_WARM_UPS):
                work()
        before.wait_stream(aside)

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            result = work()
        return graph.replay, result


class _Given(NamedTuple):
    """The tensors that an unrolling begins with, in a row, and how to put them together again."""

    tensors: list[Tensor]
    has_memory: bool
    has_feed: bool
    layers: tuple[int, ...]
    """Tensors of each layer's state."""

    @classmethod
    def of(cls, words: Tensor, memory: Memory | None, state: DecoderState) -> _Given:
        assert (state.time, state.context, state.coverage) == (0, None, None), "the beginning of a sentence"
        feed = [] if state.feed is None else [state.feed]
        tensors: list[Tensor] = [words, *(memory or ()), *feed, *chain(*state.layers)]
        return cls(tensors, memory is not None, state.feed is not None, tuple(len(layer) for layer in state.layers))

    def shapes(self) -> Hashable:
        """What a recording is good for."""
        return tuple((tensor.shape, tensor.requires_grad) for tensor in self.tensors)

    def copied(self) -> _Given:
        """The same in memory of its own."""
        return self._replace(
            tensors=[tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in self.tensors]
        )

    def together(self) -> tuple[Tensor, Memory | None, DecoderState]:
        rest = iter(self.tensors)
        words = next(rest)
        memory = Memory(next(rest), next(rest), next(rest)) if self.has_memory else None
        feed = next(rest) if self.has_feed else None
        layers = tuple(tuple(next(rest) for _ in range(count)) for count in self.layers)
        return words, memory, DecoderState(layers, 0, feed)


class RecordedUnrolling:
    """`Decoder.unroll_from` in training, from the first word on: the same values and gradients, replayed."""

    def __init__(self, decoder: Decoder, recorder: Recorder) -> None:
        """`decoder` keeps its device, the memory of its weights, and the precision of its products."""
        self._decoder, self._recorder = decoder, recorder
        self._weights: list[Tensor] = list(decoder.parameters())
        self._of_weights = [torch.zeros_like(weight) for weight in self._weights]
        self._seen: Counter[Hashable] = Counter()
        self._recordings: dict[Hashable, _Recording] = {}
        self.replays = 0  # that have begun: what one has left is good until the next

    def __call__(self, words: Tensor, memory: Memory | None, state: DecoderState, sentences: int) -> Output:
        """Readouts [B*T, O] and what was seen, for known previous words [B, T, E].

        The loss must have gone back (`backward`), and be forgotten with all that led to it, before the next call: its
        gradients' nodes belong to a stream that is not recorded.
        """
        given = _Given.of(words, memory, state)
        recording = self._recording(given, sentences) if self._decoder.training and torch.is_grad_enabled() else None
        if recording is None:
            return self._decoder.unroll_from(words, memory, state, sentences)
        self.replays += 1
        return recording.output_of(_Replayed.apply(self, recording, *given.tensors, *self._weights))

    def _recording(self, given: _Given, sentences: int) -> _Recording | None:
        key = given.shapes()
        if key not in self._recordings:
            self._seen[key] += 1
            if self._seen[key] <= AFTER or len(self._recordings) == MOST:
                return None
            work = _Work(self._decoder, given, sentences, self._weights, self._of_weights)
            self._recordings[key] = _Recording(work, self._recorder)
        return self._recordings[key]


class _Work:
    """What is recorded, on tensors of its own: the way there, and the way back."""

    def __init__(
        self, decoder: Decoder, given: _Given, sentences: int, weights: list[Tensor], of_weights: list[Tensor]
    ) -> None:
        """`of_weights` is where the weights' gradients go: one place for all recordings."""
        self._decoder, self._sentences = decoder, sentences
        self._given = given.copied()
        self._weights, self._of_weights = weights, of_weights

    @property
    def inputs(self) -> list[Tensor]:
        """What the unrolling begins with."""
        return self._given.tensors

    def there(self) -> Output:
        return self._decoder.unroll_from(*self._given.together(), self._sentences)

    def back(self, output: Output, of_output: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients of all inputs and weights, None for those that have none."""
        takers = [tensor for tensor in (*self.inputs, *self._weights) if tensor.requires_grad]
        found = torch.autograd.grad(_differentiable(output), takers, of_output, allow_unused=True)
        gradients = dict(zip(takers, found, strict=True))
        of_weights: list[Tensor | None] = []
        for weight, kept in zip(self._weights, self._of_weights, strict=True):
            gradient = gradients.get(weight)
            of_weights.append(None if gradient is None else kept.copy_(gradient))
        return [*(gradients.get(tensor) for tensor in self.inputs), *of_weights]


class _Recording:
    """The two graphs of some work, and the memory that they read and write."""

    def __init__(self, work: _Work, recorder: Recorder) -> None:
        def once() -> None:
            output = work.there()
            work.back(output, [torch.zeros_like(part) for part in _differentiable(output)])

        recorder.warm_up(once)
        self._inputs = work.inputs
        self._there, output = recorder.record(work.there)
        self._of_output = [torch.zeros_like(part) for part in _differentiable(output)]
        self._back, self._gradients = recorder.record(lambda: work.back(output, self._of_output))
        parts = [part for part in output if part is not None]
        self.differentiable = [part.requires_grad for part in parts]  # the others are constants
        # Detached, or they would hold what led there, whose memory is the other recordings' too.
        self._parts = [part.detach() for part in parts]
        self._present = [part is not None for part in output[1:]]

    def go(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Inputs, and weights, which are where they were, to the parts of the output that there are."""
        _copy(self._inputs, tensors[: len(self._inputs)])
        self._there()
        return tuple(part.detach() for part in self._parts)

    def go_back(self, of_parts: Sequence[Tensor]) -> list[Tensor | None]:
        """Their gradients to those of inputs and weights."""
        wanted = zip(of_parts, self.differentiable, strict=True)
        _copy(self._of_output, [gradient for gradient, is_wanted in wanted if is_wanted])
        self._back()
        return self._gradients

    def output_of(self, parts: Sequence[Tensor]) -> Output:
        """The parts in their places."""
        readout, *others = parts
        rest = iter(others)
        return Output(readout, *(next(rest) if is_there else None for is_there in self._present))


class _Replayed(torch.autograd.Function):
    """Inputs and weights -> the parts of the output."""

    @staticmethod
    def forward(ctx: Any, unrolling: RecordedUnrolling, recording: _Recording, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.unrolling, ctx.recording, ctx.replay = unrolling, recording, unrolling.replays
        parts = recording.go(tensors)
        ctx.mark_non_differentiable(
            *(part for part, wanted in zip(parts, recording.differentiable, strict=True) if not wanted)
        )
        return parts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *of_parts: Tensor) -> tuple[Tensor | None, ...]:
        assert ctx.replay == ctx.unrolling.replays, "another batch has overwritten what this one's gradients need"
        return None, None, *ctx.recording.go_back(of_parts)


def _differentiable(output: Output) -> list[Tensor]:
    return [part for part in output if part is not None and part.requires_grad]


def _copy(kept: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    for ours, theirs in zip(kept, new, strict=True):
        ours.copy_(theirs)
