"""Writing pairs of which a model wrote one side, with counts of what was left out."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.workflows.synthetic_pairs import SyntheticPair

log = logging.getLogger(__name__)


def write_synthetic_pairs(pairs: Iterable[SyntheticPair], path: str, *, quiet: bool) -> None:
    """Write the pairs that have text on both sides, and say how many there are, and how many were left out.

    Raises:
        InputError: there is none, or the file cannot be written.
    """
    from dragoman.progress import Console
    from dragoman.text.pair_writing import write_pairs

    console = Console(quiet=quiet)
    written = truncated = read = 0
    with write_pairs(path) as write, console.counter("pairs") as progress:
        for read, pair in enumerate(pairs, 1):
            if pair.is_usable:
                write(pair.source, pair.target)
                written, truncated = written + 1, truncated + pair.truncated
            progress(read)
        if not written:
            raise InputError(f"{path}: there is no pair to write: no line has text on both sides")
    left_out = f"; left out {read - written:,} with an empty side" if read > written else ""
    console.info(f"{path}: {written:,} pairs{left_out}")
    if truncated:
        log.warning(
            "%d of %d translations (%.1f %%) were truncated at the maximum length; raise --max-length-factor or "
            "--max-length-extra, or leave such pairs out by cleaning.max_ratio",
            truncated,
            written,
            100 * truncated / written,
        )
