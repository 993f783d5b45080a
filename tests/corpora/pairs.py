"""What a file of pairs gives as a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.reading import reading_corpora
from dragoman.errors import InputError


def read(
    path: Path, columns: Sequence[str] | None = None, languages: Sequence[str] | None = None
) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs of a file, and what is said about it."""
    said: list[str] = []
    with reading_corpora(columns, languages=languages, say=said.append):
        pairs = [(pair.source, pair.target) for pair in read_pairs([[path]])]
        assert len(list(read_pairs([[path]]))) == len(pairs)  # a second time nothing is said
    return pairs, said


def error_of(path: Path, columns: Sequence[str] | None = None) -> str:
    with pytest.raises(InputError) as caught, reading_corpora(columns):
        list(read_pairs([[path]]))
    return str(caught.value)
