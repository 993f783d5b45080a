"""Loops in JavaScript: found where Python finds them."""

from __future__ import annotations

import random

from dragoman.text.loops import has_loop
from dragoman.text.segmentation.characters import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.translation.second_search import repetition_orders
from tests.website.conftest import RunScript

PARTS = [
    "very", "Very,", " ", "a", "...", "-", "&amp;", "好", "我们", "ー", "1,000", "5", "e\u0301", "É", "İ", "\u00a0",
    "คำ", "कुत्ता", "한", "_", "😀", "²", "ǅ", "Σ", ".", "!",
]  # fmt: skip
FOUND = """
async ([pairs, vocabularies]) => {
    const { hasLoop } = await import("./loops.js");
    const { repetitionOrders } = await import("./second_search.js");
    return [pairs.map(([source, text]) => hasLoop(source, text)), vocabularies.map(repetitionOrders)];
}
"""


def test_loops_are_those_of_python(run_script: RunScript) -> None:
    draw = random.Random(5)

    def text() -> str:
        return "".join(
            "".join(draw.choices(PARTS, k=draw.randint(1, 3))) * draw.choice((1, 1, 2, 3, 4, 13)) for _ in "ab"
        )

    pairs = [[text(), text()] for _ in range(3000)]
    vocabularies = [["▁a", "b"], ["▁", "a", "漢", "😀"], [*"abcdefghijklm", "ab"]]
    found, orders = run_script(FOUND, [pairs, vocabularies])
    expected = [has_loop(*pair) for pair in pairs]
    assert 300 < sum(expected) < 2700
    for pair, ours, theirs in zip(pairs, expected, found, strict=True):
        assert ours == theirs, pair
    sides = [TextSide(WhitespaceSegmentation(), Vocabulary(pieces)) for pieces in vocabularies]
    assert orders == [list(repetition_orders(side.vocabulary)) for side in sides]
