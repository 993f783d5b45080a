"""The functions of the plain model that have a faster form, a kernel, and the gain of each.

Each file of this folder has the faster forms of the functions in the file of the same name in `model`. The plain model
defines such a function in its file, and the module that calls it has it as a static method. `use` gives a model the
kernels that it calls in their place: `assembly` gives every model those below; a model with none is the plain one. Both
forms compute the same results and gradients; the tests compare them one by one. Measurements are those of
docs/lab-book/2026-11-speed.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
Kernels = Mapping[Function, Function]
"""The function of the plain model -> its faster form."""

FAST: Kernels = {
    # oneDNN in place of MKL on processors that are not Intel's: 1.4 to 1.6 times as fast in float32; padded numbers of
    # rows in bfloat16: from 3,600 to 6,000 tokens/s
    linear.multiply: fast_linear.multiply,
    # weight gradients of all steps as one product: 28 % of an update for one query layer; the layers of a sum as one
    linear.fuse_linear: fast_linear.fuse_linear,
    # the run of a GRU as one operation, in memory that all steps share: from 58.5 to 53.6 ms an update
    cells.unroll: fast_cells.unroll,
    # tanh computed by sigmoid, from 2.6 to 0.5 ns an element; a fifth fewer elements read and written
    cells.gru_state: fast_cells.gru_state,
    # the three gates as one sigmoid, tanh by sigmoid: a step with its backward pass from 515 to 375 us
    cells.lstm_state: fast_cells.lstm_state,
    # a whole layer in one call of torch's own kernel, for the cells whose names end in -fused; not measured on a GPU
    encoder.run_layer: fast_encoder.run_layer,
    # the gradient is a selection of rows, not a sum into rows: from 2.4 to 0.3 ms
    encoder.permute_rows: fast_encoder.permute_rows,
    # the gradient of the keys as one product an unrolling: two thirds of the operations
    scores.dot_energies: fast_scores.dot_energies,
    # gradients of the keys summed in place, tanh by sigmoid
    scores.additive_energies: fast_scores.additive_energies,
    # the gradient of the annotations as one product an unrolling: from 4,100 to 4,490 tokens/s
    attention.weighted_sums: fast_attention.weighted_sums,
    # a random byte for each unit in place of a float: from 9.3 to 1.2 ms for a million units
    dropout.dropout: fast_dropout.dropout,
    # logits in blocks, softmax and gradient while these are in the cache: from 3,780 to 4,100 tokens/s
    output_layer.token_losses: fast_output_layer.token_losses,
    # rows of logits begin at cache lines: from 38 to 28 ms for 320 rows with their softmax
    output_layer.logits_of: fast_output_layer.logits_of,
    # logits in blocks that stay in the cache: from 74 to 32 ms for 2,000 words of a vocabulary of 8,000
    output_layer.word_log_probabilities: fast_output_layer.word_log_probabilities,
}


def use(model: nn.Module, kernels: Kernels) -> None:
    """Make every module of a model call these kernels, and the plain forms of all other functions."""
    for module in model.modules():
        for name, member in vars(type(module)).items():
            if isinstance(member, staticmethod):
                setattr(module, name, kernels.get(member.__func__, member.__func__))
