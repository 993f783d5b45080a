"""Checks on the files that a command line names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError
from dragoman.text.lines import STANDARD_STREAM, is_standard_output

if TYPE_CHECKING:
    from dragoman.text.corpus import Corpora


def require_outputs_apart(outputs: Sequence[str | None], inputs: Sequence[str | None] = ()) -> None:
    """Refuse outputs that are the same file as another output or an input, by whatever names.

    Raises:
        ConfigError: two of the files are the same; the message names it.
    """
    places: list[str] = []
    for name in filter(None, outputs):
        if name != STANDARD_STREAM and any(is_same_file(name, other) for other in filter(None, inputs)):
            raise ConfigError(f"{name}: is both an input and an output, so it would be destroyed; give another file")
        place = STANDARD_STREAM if is_standard_output(name) else os.path.realpath(name)
        if place in places:
            raise ConfigError(f"{name}: is given for two outputs; each needs a file of its own")
        places.append(place)


def is_same_file(one: str, other: str) -> bool:
    """Whether both names exist and refer to the same file."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


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
