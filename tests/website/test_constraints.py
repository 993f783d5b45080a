"""Constraints in JavaScript: the word boundaries and the progress of phrases of the Python classes."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from dragoman.search import phrase_constraints
from dragoman.search.phrase_constraints import PhraseConstraints
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from tests.website.conftest import RunScript

PIECES = [
    "▁",
    "▁a",
    "b",
    ".",
    "犬",
    "ป",
    "\u0301",
    "é",
    "5",
    "▁.",
    "x▁",
    "한",
    "ᄒ",
    "😀",
    "_",
    "\U00020000",
    "ー",
    "ⅷ",
]
OUTCOMES = """
async ({ kind, phrases, lines }) => {
    const { TextSide } = await import("./text_side.js");
    const { PhraseConstraints } = await import("./phrase_constraints.js");
    const side = new TextSide({ kind }, null, await (await fetch("./files/vocabulary")).text());
    const boundaries = side.wordBoundaries;
    const found = phrases.map((ids) => {
        const constraints = new PhraseConstraints(ids, boundaries);
        return lines.map((line) => {
            const state = constraints.state(line);
            const { own, others } = constraints.outcomes(state);
            const all = [...Array(side.size).keys()].map((id) => own.get(id) ?? others[constraints.kind(id)]);
            return [state, [constraints.progress(state), ...all].map(({ met, missing }) => [met, missing])];
        });
    });
    return [boundaries && [boundaries.begins, boundaries.ends, boundaries.space], found];
}
"""


@pytest.mark.parametrize(
    ("kind", "segmentation"), [("characters", CharacterSegmentation()), ("whitespace", WhitespaceSegmentation())]
)
def test_phrases_are_met_as_in_python(
    kind: str, segmentation: CharacterSegmentation | WhitespaceSegmentation, run_script: RunScript, tmp_path: Path
) -> None:
    side = TextSide(segmentation, Vocabulary(PIECES))
    side.vocabulary.save(tmp_path / "vocabulary")
    draw = random.Random(4)
    ids = range(4, 4 + len(PIECES))
    phrases = [[draw.choices(ids, k=draw.randint(1, 3)) for _ in range(draw.randint(1, 3))] for _ in range(40)]
    phrases += [[[5, 6]], [[6], [6, 6]], [[11]], [[8]]]
    lines = [draw.choices([*ids, 1, *itertools.chain(*phrases[0])], k=draw.randint(0, 6)) for _ in range(200)]

    boundaries, found = run_script(OUTCOMES, {"kind": kind, "phrases": phrases, "lines": lines})

    ours = side.word_boundaries
    assert (ours is None) == (kind == "whitespace")
    assert boundaries == (ours and [ours.begins.tolist(), ours.ends.tolist(), ours.space])
    kinds = phrase_constraints.kinds(ours, len(side.vocabulary))
    for given, states in zip(phrases, found, strict=True):
        required = PhraseConstraints(given, ours)
        outcomes: dict[object, list[list[int]]] = {}  # many lines lead to the same state
        for line, (state, progress) in zip(lines, states, strict=True):
            expected = required.state(line)
            assert tuple(state) == expected
            if expected not in outcomes:
                own, others = required.outcomes(expected)
                after = [own.get(index, others[kind]) for index, kind in enumerate(kinds)]
                outcomes[expected] = [list(each) for each in (required.progress(expected), *after)]
            assert progress == outcomes[expected]
