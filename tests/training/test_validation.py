from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from dragoman.data.batches import Budget, batch_ids
from dragoman.training.validation import DevTranslations, perplexity, perplexity_of, signs_of_collapse

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


REFERENCES = [f"ein Satz über das Thema {number}" for number in range(40)]


def signs(hypotheses: list[str], references: list[str] = REFERENCES, unfinished: int = 0) -> list[str]:
    return signs_of_collapse(DevTranslations(hypotheses, references, unfinished=unfinished))


def test_good_translations_give_no_sign() -> None:
    assert signs([reference.replace("Satz", "Text") for reference in REFERENCES], unfinished=3) == []


@pytest.mark.parametrize(
    ("hypotheses", "unfinished", "message"),
    [
        (
            ["ein Mann mit einem roten Hut"] * 40,
            0,
            "nearly the same translation for every sentence: 1 different translations, but 40 different references",
        ),
        ([f"ein Mann {number % 3} mit rotem Hut" for number in range(40)], 0, "3 different translations"),
        ([f"{number} " + "der " * 40 for number in range(40)], 0, "6.3 times as long as the references"),
        ([f"{number}" for number in range(40)], 0, "only 7 % of the length"),
        (REFERENCES, 21, "21 of 40 translations ran into the length limit"),
    ],
)
def test_each_kind_of_collapse_is_named_with_its_figures(hypotheses: list[str], unfinished: int, message: str) -> None:
    (sign,) = signs(hypotheses, unfinished=unfinished)
    assert message in sign


def test_four_different_answers_to_forty_sentences_are_not_yet_alarming() -> None:
    assert signs([f"ein Mann {number % 4} mit rotem Hut" for number in range(40)]) == []


def test_nothing_but_blank_lines_is_both_alike_and_short() -> None:
    assert len(signs([""] * 40)) == 2


def test_references_that_are_alike_themselves_raise_no_alarm() -> None:
    assert signs(["ja"] * 40, ["ja", "nein"] * 20) == []
    assert signs(["ja"] * 9, [f"ja{number}" for number in range(9)]) == []


def test_half_of_the_translations_may_be_unfinished() -> None:
    assert signs(REFERENCES, unfinished=20) == []
