"""The functions of the plain model that have a faster form, and the gain of each.

Each file of this folder has the faster forms of the functions in the file of the same name in `model`. The plain model
defines such a function in its file, and the module that calls it has it as a static method. `use` replaces these
methods in one model: `assembly` does so with the table below for every model, and with an empty table any model is the
plain one. Both forms compute the same results and gradients; the tests compare them row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import nn

from dragoman.model import attention, cells, dropout, encoder, linear, output_layer, scores
from dragoman.model.fast import attention as fast_attention
from dragoman.model.fast import cells as fast_cells
from dragoman.model.fast import dropout as fast_dropout
from dragoman.model.fast import encoder as fast_encoder
from dragoman.model.fast import linear as fast_linear
from dragoman.model.fast import output_layer as fast_output_layer
from dragoman.model.fast import scores as fast_scores

Function = Callable[..., Any]


class Replacement(NamedTuple):
    """The faster form of a function, the source of its speed, the measured gain (docs/lab-book/2026-11-speed.md)."""

    fast: Function
    source: str
    gain: str


FAST: dict[Function, Replacement] = {
    linear.multiply: Replacement(
        fast_linear.multiply,
        "oneDNN instead of MKL on processors that are not Intel's; padded numbers of rows in bfloat16",
        "1.4 to 1.6 times as fast a product in float32; 3,600 to 6,000 tokens/s in bfloat16",
    ),
    linear.fuse_linear: Replacement(
        fast_linear.fuse_linear,
        "weight gradients of all steps as one product; the layers of a sum as one layer",
        "28 % of an update for one query layer; 3.5 % of one for the layers of a sum",
    ),
    cells.unroll: Replacement(
        fast_cells.unroll,
        "the run of a GRU as one operation with its own gradient, in memory that all steps share",
        "from 58.5 to 53.6 ms an update of 16 sentences, from 171 to 165 ms of 70",
    ),
    cells.gru_gates: Replacement(
        fast_cells.gru_gates,
        "one operation with its own gradient instead of a dozen",
        "within the noise on a CPU",
    ),
    cells.gru_state: Replacement(
        fast_cells.gru_state,
        "one operation with its own gradient; tanh computed by sigmoid",
        "within the noise on a CPU; tanh from 2.6 to 0.5 ns per element",
    ),
    cells.lstm_state: Replacement(
        fast_cells.lstm_state,
        "the three gates as one sigmoid; tanh computed by sigmoid",
        "a step with its backward pass from 515 to 375 us",
    ),
    encoder.run_layer: Replacement(
        fast_encoder.run_layer,
        "a whole layer in one call of torch's kernel, for the cells whose names end in -fused",
        "one call of cuDNN per layer and direction; not measured on a GPU",
    ),
    encoder.permute_rows: Replacement(
        fast_encoder.permute_rows,
        "the gradient is a selection of rows, not a sum into rows",
        "from 2.4 to 0.3 ms with the gradient, for 70 sentences of 20 positions of 512 units",
    ),
    scores.dot_energies: Replacement(
        fast_scores.dot_energies,
        "the gradient of the keys as one product per unrolling",
        "within the noise",
    ),
    scores.additive_energies: Replacement(
        fast_scores.additive_energies,
        "gradients of the keys summed in place; tanh computed by sigmoid",
        "tanh from 2.6 to 0.5 ns per element",
    ),
    attention.weighted_sums: Replacement(
        fast_attention.weighted_sums,
        "the gradient of the annotations as one product per unrolling",
        "4,100 to 4,490 tokens/s, with gate inputs added inside products",
    ),
    dropout.dropout: Replacement(
        fast_dropout.dropout,
        "a random byte per unit instead of a random float",
        "from 9.3 to 1.2 ms for a million units",
    ),
    output_layer.token_losses: Replacement(
        fast_output_layer.token_losses,
        "logits in blocks, in reused memory; softmax and gradient while they are in the cache",
        "3,780 to 4,100 tokens/s; then the output layer from 119 to 68 ms of an update",
    ),
    output_layer.logits_of: Replacement(
        fast_output_layer.logits_of,
        "rows of logits begin at cache lines; the bias is added in place",
        "from 38 to 28 ms for 320 rows with their softmax",
    ),
    output_layer.word_log_probabilities: Replacement(
        fast_output_layer.word_log_probabilities,
        "logits in blocks that stay in the cache; of the whole vocabulary only log sum exp",
        "from 74 to 32 ms for 2,000 words of a vocabulary of 8,000",
    ),
}
"""Each function of the plain model that has a faster form."""


def use(model: nn.Module, replacements: Mapping[Function, Replacement]) -> None:
    """Make every module of a model call the faster forms of these functions, and the plain forms of all others."""
    for module in model.modules():
        for name, member in vars(type(module)).items():
            if isinstance(member, staticmethod):
                plain = member.__func__
                setattr(module, name, replacements[plain].fast if plain in replacements else plain)
