"""What the commands ask of the files that they are given."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dragoman.errors import ConfigError
from dragoman.text.lines import STANDARD_STREAM, is_standard_output


def require_outputs_apart(outputs: Sequence[str | None], inputs: Sequence[str | None] = ()) -> None:
    """Refuse outputs of which two would be written to one file, whatever its names, or one over an input.

    Raises:
        ConfigError: two are one; the message names it.
    """
    places: list[str] = []
    for name in filter(None, outputs):
        if name != STANDARD_STREAM and any(is_same_file(name, other) for other in filter(None, inputs)):
            raise ConfigError(f"{name}: is the input as well as an output, which would destroy it; give another file")
        place = STANDARD_STREAM if is_standard_output(name) else os.path.realpath(name)
        if place in places:
            raise ConfigError(f"{name}: is given for two outputs; each needs a file of its own")
        places.append(place)


def is_same_file(one: str, other: str) -> bool:
    """Whether both names exist and lead to one file."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
