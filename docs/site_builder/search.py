"""The words that the search of the site finds: English stems, and Korean words also without their particles.

Sphinx divides text at spaces and punctuation. A Korean word carries its particles with it (번역기를, 번역기는), so a
query without them (번역기) would find nothing. Every beginning of a Korean word of two syllables or more is therefore
an entry of the index as well, and so is the syllable before a particle of one syllable (빔이, 빔은).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sphinx.search.en import SearchEnglish

_HANGUL = re.compile("[가-힣]{3,}")
_SYLLABLE_AND_PARTICLE = re.compile("[가-힣][이가은는을를의에도로와과만]")


class KoreanBeginnings(SearchEnglish):
    """English search whose index also has the beginnings of Korean words."""

    def split(self, input: str) -> list[str]:
        """Words of a text."""
        return [part for word in super().split(input) for part in _with_beginnings(word)]


def _with_beginnings(word: str) -> Iterator[str]:
    yield word
    if _HANGUL.fullmatch(word):
        yield from (word[:length] for length in range(2, len(word)))
    elif _SYLLABLE_AND_PARTICLE.fullmatch(word):
        yield word[0]
