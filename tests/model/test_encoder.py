from __future__ import annotations

import pytest
import torch

from dragoman.model.cells import GRU, LSTM
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Encoder, Layer

LENGTHS = torch.tensor([3, 6, 1])


@pytest.fixture(params=["forward", "reversed", "both"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return _encoder(request.param, source_eos=True)


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


def _encoder(direction: str, source_eos: bool, cell: str = "gru") -> Encoder:
    torch.manual_seed(1)
    directions, layers, n_in = 2 if direction == "both" else 1, [], 4
    for _ in range(2):
        made = LSTM(3, directions=directions) if cell == "lstm" else GRU(3, "before", "write", directions=directions)
        layers.append(Layer(n_in, made, directions, biases=True))
        n_in = 3 * directions
    none = Dropout(0.0)
    encoder = Encoder(
        layers,
        direction,  # type: ignore[arg-type]
        source_eos=source_eos,
        residual=0,
        dropout=none,
        recurrent_dropout=none,
    ).double()
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter)
    return encoder
