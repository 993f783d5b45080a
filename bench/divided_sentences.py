"""Divides English-French sentences of learners into a training, a development and a test set.

    python bench/divided_sentences.py FOLDER OUT

FOLDER has all.en.xz and all.fr.xz, in which an English sentence may stand several times, with several translations. The
digest of the English sentence decides about its set, so that none is in two. Sentences of fewer than six words are left
out, and half of the others, so that this text is as large as the manual's; of dev and test sentences the first
translation is kept.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
from pathlib import Path

SHARES = {"test": 2, "dev": 1, "train": 42}
"""Percent of the English sentences."""


def main(folder: Path, out: Path) -> None:
    """Write OUT/SET.en and OUT/SET.fr."""
    files = (folder / f"all.{language}.xz" for language in ("en", "fr"))
    sides = [lzma.decompress(file.read_bytes()).decode().rstrip("\n").split("\n") for file in files]
    out.mkdir(exist_ok=True)
    sets: dict[str, list[tuple[str, str]]] = {name: [] for name in SHARES}
    seen = set()
    for english, french in zip(*sides, strict=True):
        name = set_of(english)
        if name == "train" or (name and english not in seen):
            sets[name].append((english, french))
            seen.add(english)
    for name, pairs in sets.items():
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            (out / f"{name}.{language}").write_text("\n".join([*lines, ""]), encoding="utf-8")


def set_of(english: str) -> str | None:
    """The set of an English sentence; None: it is left out."""
    if len(english.split()) < 6:
        return None
    place = int.from_bytes(hashlib.sha256(english.encode()).digest()[:4]) % 100
    for name, share in SHARES.items():
        place -= share
        if place < 0:
            return name
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
