from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from dragoman.data.batches import Budget, batch_ids
from dragoman.training.validation import perplexity, perplexity_of

SOURCES, TARGETS = [[5, 6, 7], [8, 9], [10]], [[7, 6], [9, 8, 10, 11], []]


def batches(size: int) -> Any:
    return batch_ids(SOURCES, TARGETS, Budget("sentences", size), source_eos=True)


def test_perplexity_is_the_same_in_any_batches(tiny: Callable[..., Any]) -> None:
    model = tiny(dropout=0.0)
    assert perplexity(model, batches(1)) == pytest.approx(perplexity(model, batches(3)), rel=1e-5)


def test_perplexity_counts_the_end_of_sentence(tiny: Callable[..., Any]) -> None:
    model = tiny(dropout=0.0)
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.zero_()
    assert perplexity(model, batches(2)) == pytest.approx(16)  # the size of the vocabulary
    with torch.no_grad():
        model.output.bias[3] = 50.0  # end of sentence for sure: 3 of the 9 tokens cost nothing, the others 50 nats
    assert math.log(perplexity(model, batches(2))) == pytest.approx(50 * 6 / 9)


@pytest.mark.parametrize(
    ("nll", "expected"), [(0.0, 1.0), (math.log(31), 31.0), (701.0, math.inf), (math.inf, math.inf)]
)
def test_perplexity_of_nats_per_token(nll: float, expected: float) -> None:
    assert perplexity_of(nll) == pytest.approx(expected)


def test_perplexity_of_what_is_no_number_is_no_number() -> None:
    assert math.isnan(perplexity_of(math.nan))
