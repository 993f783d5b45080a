"""The first decoder state and the summary, each kind against its equation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model.cells import GRU, LSTM, Cell
from dragoman.model.encoder import Annotations, Bridge
from dragoman.model.linear import Linear
from tests.model.gradients import assert_gradients
from tests.model.naming import array

B, S, W, N = 3, 5, 4, 3
LENGTHS = [5, 1, 3]
KINDS = ["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"]


@pytest.mark.parametrize("lstm", [False, True])
@pytest.mark.parametrize("summary", ["last", "tanh"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_states_and_summary_follow_the_equations(kind: str, summary: str, lstm: bool) -> None:
    bridge, annotations = _bridge(kind, summary, lstm=lstm), _annotations(lstm=lstm)
    initial = bridge(annotations)
    for row in range(B):
        last = array(annotations.last[-1][0][row])
        c = last
        if summary == "tanh":
            assert bridge.compressed is not None
            assert bridge.compressed.bias is not None
            c = np.tanh(array(bridge.compressed.weight) @ last + array(bridge.compressed.bias))
        np.testing.assert_allclose(array(initial.summary[row]), c, atol=1e-10, rtol=0)
        for layer in range(2):
            if kind == "zero":
                expected = np.zeros(N)
            elif kind == "copy":
                expected = array(annotations.last[layer][0][row])
            elif kind == "last":
                expected = last[:N]  # the units of the forward direction, where a decoder is as narrow as that
            else:
                mean = array(annotations.vectors[row, : LENGTHS[row]]).mean(axis=0)
                backward = array(annotations.backward_first[row])
                seed = {"tanh-last": c, "tanh-backward": backward, "mean": mean}[kind]
                map = bridge.maps[layer]
                expected = np.tanh(array(map.weight) @ seed + array(map.bias))  # type: ignore[arg-type]
            np.testing.assert_allclose(array(initial.layers[layer][0][row]), expected, atol=1e-10, rtol=0)
            if lstm:
                memory = array(annotations.last[layer][1][row]) if kind == "copy" else np.zeros(N)
                np.testing.assert_allclose(array(initial.layers[layer][1][row]), memory, atol=1e-10, rtol=0)
        assert len(initial.layers) == 2


@pytest.mark.parametrize("kind", ["last", "tanh-last", "tanh-backward", "mean"])
def test_the_cell_state_is_a_copy_of_the_hidden_state_where_that_is_configured(kind: str) -> None:
    initial = _bridge(kind, "last", lstm=True, copy_to_cell_state=True)(_annotations(lstm=True))
    for hidden, cell_state in initial.layers:
        assert torch.equal(hidden, cell_state)


@pytest.mark.parametrize("summary", ["last", "tanh"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_parameters_and_of_all_results_of_the_encoder(kind: str, summary: str) -> None:
    bridge, annotations = _bridge(kind, summary), _annotations()
    tensors = dict(bridge.named_parameters())
    if kind == "mean":
        tensors["vectors"] = annotations.vectors
    if kind == "tanh-backward":
        tensors["backward"] = annotations.backward_first
    tensors["last"] = annotations.last[-1][0]

    def run() -> torch.Tensor:
        initial = bridge(annotations)
        return torch.cat((*(part for state in initial.layers for part in state), initial.summary), dim=1)

    assert_gradients(run, tensors)


def _bridge(kind: str, summary: str, *, lstm: bool = False, copy_to_cell_state: bool = False) -> Any:
    torch.manual_seed(1)
    cells: list[Cell] = [LSTM(N) if lstm else GRU(N, "before", "write") for _ in range(2)]
    n_in = N if kind == "tanh-backward" else W
    compressed = Linear(W, W, bias=True) if summary == "tanh" else None
    bridge = Bridge(kind, cells, n_in, compressed=compressed, copy_to_cell_state=copy_to_cell_state, biases=True)  # type: ignore[arg-type]
    for parameter in bridge.parameters():
        torch.nn.init.normal_(parameter)
    return bridge.double()


def _annotations(*, lstm: bool = False) -> Annotations:
    """As an encoder of two layers hands them on."""
    torch.manual_seed(2)
    vectors = torch.randn(B, S, W, dtype=torch.float64)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    last = tuple(tuple(torch.randn(B, W, dtype=torch.float64) for _ in range(1 + lstm)) for _ in range(2))
    return Annotations(vectors, mask, last, torch.randn(B, N, dtype=torch.float64))
