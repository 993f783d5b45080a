"""Rules by which pairs are refused before they are logged as corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.config.schema import Config
from dragoman.errors import InputError
from dragoman.text.raw_lines import as_read, has_letter, is_blank
from dragoman.text.side import Encoded
from dragoman.text.vocabulary import UNK
from dragoman.text.words import words_in

RATIO, SLACK = 3, 10
"""A side has at most `RATIO` times the segments of the other plus `SLACK`."""
SAME = 3
"""A source of at least so many words may not be its own translation; names and codes have fewer."""
_WORD = re.compile(r"[\W_]*[^\W\d_]+[\W_]*")
"""Letters, with the punctuation before and after them."""


class RefusedCorrection(InputError):
    """A pair that is not learnt, with the reason."""


def require_learnable(source: str, target: str, encoded: Sequence[Encoded], config: Config) -> None:
    """Refuse a pair that cannot be a correction; `encoded` has both sides as the model reads them.

    Raises:
        RefusedCorrection: the pair breaks one of the rules.
    """
    reason = _why_refused(source, target, encoded, config)
    if reason is not None:
        raise RefusedCorrection(f"{source[:60]!r} is not learnt: {reason}")


def _why_refused(source: str, target: str, encoded: Sequence[Encoded], config: Config) -> str | None:
    if is_blank(source) or is_blank(target) or not all(side.ids for side in encoded):
        return "one side is empty"
    if not (has_letter(source) and has_letter(target)):
        return "one side has no letter"
    lengths = sorted(len(side.ids) for side in encoded)
    if lengths[1] > config.cleaning.max_length:
        return f"{lengths[1]} segments are more than cleaning.max_length, {config.cleaning.max_length}"
    if lengths[1] > RATIO * lengths[0] + SLACK:
        return f"one side has {lengths[1]} segments, the other {lengths[0]}"
    languages = set(config.text.languages)
    words = [word for word in words_in(source) if _WORD.fullmatch(word)]
    if None not in languages and len(languages) == 2 and len(words) >= SAME and as_read(source) == as_read(target):
        return "the translation is the source itself"
    for name, side in zip(("source", "translation"), encoded, strict=True):
        letters = [(sum(map(str.isalpha, piece)), index) for piece, index in zip(side.pieces, side.ids, strict=True)]
        if 2 * sum(count for count, index in letters if index == UNK) > sum(count for count, _ in letters):
            return f"the model knows less than half of the {name}'s letters"
    return None
