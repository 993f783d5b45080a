"""Warnings of text that BLEU is not made for: tokenised or decomposed, or on one side only; without spaces.

Text counts as tokenised where full stops and commas stand alone between spaces more often than at the end of a word.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Sequence

from dragoman.evaluation.tokenizers import WITHOUT_SPACES, Tokenizer

log = logging.getLogger(__name__)

_MARKS = (".", ",")
"""Not "?" or "!", which French separates by a space, too."""
_FEWEST = 0.2
"""Marks that stand alone, by lines, from which on they are no accident."""


def looks_tokenised(lines: Iterable[str]) -> bool:
    """Return whether full stops and commas are separated from words."""
    count = alone = attached = 0
    for line in lines:
        count += 1
        for word in line.split():
            if word in _MARKS:
                alone += 1
            elif word.endswith(_MARKS):
                attached += 1
    return alone > attached and alone >= _FEWEST * count


def warn_of_tokenised_text(
    hypotheses: Sequence[str], references: Sequence[str], tokenizer: Tokenizer, name: str = "the translations"
) -> None:
    """Warn where one side is tokenised and the other is not, or both are and the tokenizer tokenises them again.

    Args:
        references: one of each sentence.
        tokenizer: that of BLEU.
        name: what the message calls the translations.
    """
    if tokenizer in WITHOUT_SPACES:
        return
    tokenised, expected = looks_tokenised(hypotheses), looks_tokenised(references)
    if tokenised != expected:
        one, other = (name, "the references") if tokenised else ("the references", name)
        log.warning(
            "%s look tokenised (spaces before full stops and commas), and %s do not, so chrF, TER and exact match "
            "compare different texts; detokenise them",
            one,
            other,
        )
    elif tokenised and tokenizer != "none":
        log.warning(
            "%s and the references look tokenised (spaces before full stops and commas), and BLEU with tokenizer %s "
            "is for detokenised text; give --tokenizer none, or detokenise both",
            name,
            tokenizer,
        )


_MOST_DECOMPOSED = 0.01
"""Decomposed lines, by lines, that make no difference."""


def warn_of_decomposed_text(
    hypotheses: Sequence[str], references: Sequence[str], name: str = "the translations"
) -> None:
    """Warn where more lines of one side than of the other have letters that NFC has as one character.

    Arguments are as for `warn_of_tokenised_text`.
    """
    counts = [sum(map(_is_decomposed, lines)) for lines in (hypotheses, references)]
    if max(counts) - min(counts) > _MOST_DECOMPOSED * len(references):
        one, other = (name, "the references") if counts[0] > counts[1] else ("the references", name)
        log.warning(
            "%s have accents, or the parts of Hangul syllables, as characters of their own (Unicode NFD), and %s do "
            "not, so that all scores count equal words as different; write both in NFC",
            one,
            other,
        )


def _is_decomposed(line: str) -> bool:
    return not line.isascii() and len(unicodedata.normalize("NFC", line)) < len(line)


def warn_of_lines_without_spaces(what: str, bleu: str, advice: str) -> None:
    """Warn that BLEU takes lines for words.

    Args:
        what: the lines, such as `references`.
        bleu: the metric with its tokenizer, such as `BLEU with tokenizer 13a`.
        advice: what to do.
    """
    log.warning("the %s have no spaces between words, so %s takes whole lines for words; %s", what, bleu, advice)
