"""Which pairs are trained on: the cleaner counts every pair that it leaves out by its reason, and can list them."""

from __future__ import annotations

import logging
import re
from typing import TextIO

from dragoman.config.schema import CleaningConfig
from dragoman.corpora.digest_set import MAX_DIGESTS, DigestSet
from dragoman.corpora.pairs import Pair, digest

log = logging.getLogger(__name__)

REASONS = ("empty side", "too long", "length ratio", "duplicate")
"""The reasons for which a pair is left out, in the order in which the cleaner tests them."""


class Cleaner:
    """Decides which pairs are trained on, and counts the others by reason.

    Duplicates are found by 64 bits of a digest of the pair as models read it (`text.raw_lines.as_read`). Memory is
    bounded (`DigestSet`): after `MAX_DIGESTS` different pairs no more are remembered, and a warning says so once.
    """

    def __init__(self, config: CleaningConfig, dropped: TextIO | None = None) -> None:
        """`dropped` receives a line "origin TAB reason TAB source TAB target" for every pair that is left out."""
        self.counts = dict.fromkeys(REASONS, 0)
        self._config = config
        self._dropped = dropped
        self._digests = DigestSet()
        self._warned = False

    def check(self, pair: Pair, source_segments: int, target_segments: int) -> str | None:
        """Return the reason why a pair is left out (one of REASONS), or None to keep it.

        Args:
            source_segments, target_segments: lengths in segments, without EOS.
        """
        reason = self._reason(pair, source_segments, target_segments)
        if reason is not None:
            self.counts[reason] += 1
            if self._dropped is not None:
                columns = (pair.origin, reason, pair.source, pair.target)
                self._dropped.write("\t".join(re.sub("[\t\n]", " ", column) for column in columns) + "\n")
        return reason

    def _reason(self, pair: Pair, source_segments: int, target_segments: int) -> str | None:
        config = self._config
        shorter, longer = source_segments, target_segments
        if shorter > longer:
            shorter, longer = longer, shorter
        if shorter == 0:
            return "empty side"
        if longer > config.max_length:
            return "too long"
        if config.max_ratio is not None and longer > config.max_ratio * shorter:
            return "length ratio"
        if config.duplicates == "drop":
            if not self._digests.add(digest(pair)[:8]):
                return "duplicate"
            if self._digests.full and not self._warned:
                self._warned = True
                log.warning(
                    "the corpus has more than %s different pairs; repetitions of those after %s are not found",
                    f"{MAX_DIGESTS:,}",
                    pair.origin,
                )
        return None
