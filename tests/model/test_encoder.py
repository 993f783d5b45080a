from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from dragoman.model.cells import GRU, LSTM, Cell, TanhCell
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Encoder, RecurrentLayer
from dragoman.text.vocabulary import EOS
from tests.compositions import PAIRS, make_batch, model_config, random_model
from tests.model.forms import in_form
from tests.model.gradients import assert_gradients
from tests.model.naming import array, paper_weights
from tests.model.reference import parts

LENGTHS = torch.tensor([3, 6, 1])
DIRECTIONS = ("forward", "reversed", "both")


@pytest.fixture(params=DIRECTIONS)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return _encoder(request.param, source_eos=True)


@pytest.mark.parametrize("source_eos", [True, False])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "cell",
    [
        ["encoder.cell=gru"],
        ["encoder.cell=gru", "encoder.layers=3", "encoder.first_residual_layer=2"],
        ["encoder.cell=lstm", "encoder.layers=3", "encoder.first_residual_layer=3", "encoder.peepholes=true"],
        ["encoder.cell=tanh", "encoder.layers=2"],
        ["encoder.cell=gru-fused", "encoder.reset=after", "encoder.update=keep", "encoder.layers=2"],
        ["encoder.cell=lstm-fused", "encoder.layers=3", "encoder.first_residual_layer=2"],
    ],
    ids=lambda settings: ", ".join(setting.partition(".")[2] for setting in settings),
)
def test_annotations_and_states_follow_the_equations(cell: list[str], direction: str, source_eos: bool) -> None:
    settings = [f"encoder.direction={direction}", f"source_eos={str(source_eos).lower()}", "bridge.kind=zero"]
    config = model_config([*cell, *settings])
    model = random_model(config)
    w, batch = paper_weights(model), make_batch(model, PAIRS)
    found = model.encoder(model.source(torch.from_numpy(batch.source)), torch.from_numpy(batch.source_lengths))
    for row, (source, _) in enumerate(PAIRS):
        expected = parts.encode(config, w, [*source, EOS] if source_eos else source)
        length = len(source) + source_eos
        _assert_near(found.vectors[row, :length], expected.annotations)
        _assert_near(found.backward_first[row], expected.backward_first)
        for state, wanted in zip(found.last, expected.last, strict=True):
            for part, numbers in zip(state, wanted, strict=True):
                _assert_near(part[row], numbers)


@pytest.mark.parametrize(
    ("cell", "direction", "residual"),
    [
        ("gru", "both", 0),
        ("gru", "forward", 2),
        ("lstm", "reversed", 0),
        ("tanh", "both", 2),
        ("gru-fused", "both", 0),
        ("lstm-fused", "reversed", 2),
    ],
)
def test_gradients_of_parameters_and_words(cell: str, direction: str, residual: int) -> None:
    encoder = _encoder(direction, source_eos=True, cell=cell, size=2, residual=residual)
    words, lengths = torch.randn(2, 3, 4, dtype=torch.float64), torch.tensor([2, 3])

    def run() -> torch.Tensor:
        annotations = encoder(words, lengths)
        last = [part for state in annotations.last for part in state]
        return torch.cat([annotations.vectors[annotations.mask].flatten(), *(part.flatten() for part in last)])

    assert_gradients(run, {**dict(encoder.named_parameters()), "words": words})


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_kernel_has_the_outputs_and_gradients_of_the_cell_written_out(cell: str, direction: str) -> None:
    """In a padded batch; what stands on padding is nobody's business."""
    fused = _encoder(direction, source_eos=True, cell=f"{cell}-fused")
    plain = copy.deepcopy(fused)
    for layer in plain.layers:
        layer.fused = False
    found = []
    for encoder in (fused, plain):
        words = torch.randn(3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
        annotations = encoder(words, LENGTHS)
        last = [part for state in annotations.last for part in state]
        outputs = [annotations.vectors[annotations.mask], annotations.backward_first, *last]
        sum((output * torch.arange(output.numel()).view(output.shape)).sum() for output in outputs).backward()
        found.append([*outputs, words.grad, *(parameter.grad for parameter in encoder.parameters())])
    assert len(found[0]) > 5
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-10, rtol=1e-10)


def test_a_sentence_has_the_same_annotations_alone_and_in_any_batch(encoder: Encoder) -> None:
    words = torch.randn(3, 6, 4, dtype=torch.float64)
    together = encoder(words, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(words[row : row + 1, :length], LENGTHS[row : row + 1])
        _assert_same(alone, together, row, length)


def test_what_stands_on_padding_does_not_matter(encoder: Encoder) -> None:
    words = torch.randn(3, 6, 4, dtype=torch.float64)
    other = words.clone()
    for row, length in enumerate(LENGTHS.tolist()):
        other[row, length:] = 100
    together = encoder(words, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        _assert_same(encoder(other, LENGTHS), together, row, length, other_row=row)


def test_reversed_is_forward_over_words_reversed_by_hand_with_the_end_mark_kept_last() -> None:
    backward, forward = _encoder("reversed", source_eos=True), _encoder("forward", source_eos=True)
    words = torch.randn(1, 5, 4, dtype=torch.float64)
    turned = torch.cat((words[:, :4].flip(1), words[:, 4:]), dim=1)
    length = torch.tensor([5])
    ours, plain = backward(words, length), forward(turned, length)
    torch.testing.assert_close(ours.vectors[:, :4].flip(1), plain.vectors[:, :4])
    torch.testing.assert_close(ours.vectors[:, 4], plain.vectors[:, 4])
    torch.testing.assert_close(ours.last[-1][0], plain.last[-1][0])


def test_reversed_without_an_end_mark_turns_every_word() -> None:
    backward, forward = _encoder("reversed", source_eos=False), _encoder("forward", source_eos=False)
    words, length = torch.randn(1, 5, 4, dtype=torch.float64), torch.tensor([5])
    torch.testing.assert_close(backward(words, length).vectors.flip(1), forward(words.flip(1), length).vectors)


def test_the_backward_state_at_the_first_word_has_read_every_word() -> None:
    encoder, words = _encoder("both", source_eos=True), torch.randn(1, 4, 4, dtype=torch.float64)
    words.requires_grad_()
    encoder(words, torch.tensor([4])).backward_first.sum().backward()
    assert words.grad is not None
    assert (words.grad.abs().sum(-1) > 0).all()


def test_the_last_states_of_every_layer_are_handed_on() -> None:
    encoder = _encoder("both", source_eos=True, cell="lstm")
    last = encoder(torch.randn(3, 6, 4, dtype=torch.float64), LENGTHS).last
    assert [[part.shape for part in state] for state in last] == [[(3, 6), (3, 6)]] * 2


def _assert_same(one: Annotations, together: Annotations, row: int, length: int, other_row: int = 0) -> None:
    def close(a: torch.Tensor, b: torch.Tensor) -> None:
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0)

    close(one.vectors[other_row, :length], together.vectors[row, :length])
    close(one.backward_first[other_row], together.backward_first[row])
    for state, expected in zip(one.last, together.last, strict=True):
        for part, wanted in zip(state, expected, strict=True):
            close(part[other_row], wanted[row])


def _assert_near(ours: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(array(ours), expected, atol=1e-10, rtol=0)


def _encoder(direction: str, source_eos: bool, cell: str = "gru", size: int = 3, residual: int = 0) -> Encoder:
    """Two layers over word vectors of 4."""
    torch.manual_seed(1)
    directions, layers, n_in = 2 if direction == "both" else 1, [], 4
    for _ in range(2):
        made: Cell = {
            "gru": lambda: GRU(size, "before", "write", directions=directions),
            "gru-fused": lambda: GRU(size, "after", "keep", inner_bias=True, directions=directions),
            "lstm": lambda: LSTM(size, directions=directions),
            "lstm-fused": lambda: LSTM(size, directions=directions),
            "tanh": lambda: TanhCell(size, directions=directions),
        }[cell]()
        layers.append(RecurrentLayer(n_in, made, directions, biases=True, fused=cell.endswith("fused")))
        n_in = size * directions
    none = Dropout(0.0)
    encoder = Encoder(
        layers,
        direction,  # type: ignore[arg-type]
        source_eos=source_eos,
        residual=residual,
        dropout=none,
        recurrent_dropout=none,
    ).double()
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter)
    return in_form(encoder, fast=True)
