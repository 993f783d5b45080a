"""A warning where BLEU counts words between spaces and lines of a script without spaces have none."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def warn_of_lines_without_spaces(what: str, bleu: str, advice: str) -> None:
    """Warn that BLEU takes lines for words.

    Args:
        what: the lines, such as `references`.
        bleu: the metric with its tokenizer, such as `BLEU with tokenizer 13a`.
        advice: what to do.
    """
    log.warning("the %s have no spaces between words, so %s takes whole lines for words; %s", what, bleu, advice)
