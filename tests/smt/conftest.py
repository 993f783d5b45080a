"""Small phrase-based systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dragoman.smt.arpa import write_arpa
from dragoman.smt.kneser_ney import estimate
from dragoman.smt.system import PhraseSystem
from dragoman.text.lines import read_lines, write_lines

PHRASES = (
    "a ||| A ||| 0.5 0.4 0.6 0.7 ||| 0-0",
    "a ||| X Y ||| 0.2 0.3 0.1 0.2 ||| 0-0 0-1",
    "a b ||| A B ||| 0.9 0.2 0.5 0.3 ||| 0-0 1-1",
    "a b ||| B A ||| 0.3 0.2 0.4 0.3 ||| 0-1 1-0",
    "b ||| B ||| 0.8 0.6 0.6 0.5 ||| 0-0",
    "b ||| Y ||| 0.1 0.2 0.3 0.2 ||| 0-0",
    "b c ||| C B ||| 0.7 0.6 0.3 0.4 ||| 0-1 1-0",
    "c ||| C ||| 0.8 0.7 0.9 0.6 ||| 0-0",
    "c ||| X ||| 0.2 0.1 0.3 0.1 ||| 0-0",
    "d e ||| D ||| 0.8 0.7 0.9 0.6 ||| 0-0",
)
REORDERING = (
    "a ||| A ||| 0.6 0.3 0.1 0.5 0.3 0.2",
    "a ||| X Y ||| 0.2 0.3 0.5 0.4 0.3 0.3",
    "a b ||| A B ||| 0.7 0.2 0.1 0.8 0.1 0.1",
    "a b ||| B A ||| 0.3 0.4 0.3 0.4 0.3 0.3",
    "b ||| B ||| 0.1 0.6 0.3 0.2 0.7 0.1",
    "b ||| Y ||| 0.2 0.4 0.4 0.6 0.2 0.2",
    "b c ||| C B ||| 0.5 0.3 0.2 0.3 0.3 0.4",
    "c ||| C ||| 0.2 0.5 0.3 0.1 0.3 0.6",
    "c ||| X ||| 0.2 0.2 0.6 0.6 0.2 0.2",
)
"""The pair of d e is not there."""
CONFIGURATION = """\
[distortion-limit]
3

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
Distortion
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table.gz
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=reordering-table.gz
KENLM name=LM0 factor=0 path=lm.arpa order=3

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.7
PhrasePenalty0= 0.4
Distortion0= 0.2
TranslationModel0= 0.3 0.2 0.5 0.1
LexicalReordering0= 0.5 0.2 0.3 0.1 0.6 0.4
LM0= 0.8
"""
MONOLINGUAL = ("A B C", "B A C A", "X Y B C", "C B A", "A C C B", "B C A B", "D A B", "A B D C", "X X Y", "Y B")

MakeSystem = Callable[..., Path]


@pytest.fixture
def make_system(tmp_path: Path) -> MakeSystem:
    def make(
        phrases: Sequence[str] = PHRASES,
        reordering: Sequence[str] = REORDERING,
        configuration: str = CONFIGURATION,
    ) -> Path:
        folder = tmp_path / "system"
        folder.mkdir()
        write_lines(folder / "phrase-table.gz", phrases)
        write_lines(folder / "reordering-table.gz", reordering)
        (folder / "moses.ini").write_text(configuration)
        write_arpa(folder / "lm.arpa", estimate([line.split() for line in MONOLINGUAL], 3))
        return folder

    return make


@pytest.fixture
def system(make_system: MakeSystem) -> PhraseSystem:
    return PhraseSystem.open(make_system())


def lines_of(path: Path) -> list[str]:
    return list(read_lines(path))
