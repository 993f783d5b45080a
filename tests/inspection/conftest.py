"""A small corpus of two made-up languages, and what writes files of pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Pairs = list[tuple[str, str]]


@pytest.fixture
def pairs() -> Pairs:
    """400 pairs; source words are made of "kotari", target words of "üwelsh", so that letters tell the sides apart."""
    draw = random.Random(1)

    def line(letters: str, length: int) -> str:
        return " ".join("".join(draw.choices(letters, k=draw.randint(3, 6))) for _ in range(length))

    lengths = [draw.randint(5, 9) for _ in range(400)]
    return [(line("kotari", length), line("üwelsh", length)) for length in lengths]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., list[Path]]:
    """`write(pairs, name)`: two files, source and target."""

    def run(pairs: Sequence[tuple[str, str]], name: str = "train") -> list[Path]:
        files = [tmp_path / f"{name}.{side}" for side in ("source", "target")]
        for side, path in enumerate(files):
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline="\n")
        return files

    return run
