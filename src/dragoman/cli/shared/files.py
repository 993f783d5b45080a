"""Checks on the files that a command line names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.text.corpus import Corpora


def require_corpora(option: str, corpora: Corpora) -> None:
    """Refuse a corpus of more than two files.

    Raises:
        ConfigError: a corpus has more.
    """
    for files in corpora:
        if len(files) > 2:
            raise ConfigError(
                f"{option}: expected one or two files (source and target), not {len(files)}: "
                f"{' '.join(map(str, files))}; repeat {option} for each further corpus"
            )
