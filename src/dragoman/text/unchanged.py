"""Files that are read more than once, and must stay what they are meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import InputError
from dragoman.text.lines import not_found


@contextmanager
def unchanged(paths: Iterable[Path]) -> Iterator[None]:
    """Require that files are at the end of a block what they were at its start.

    A second reading of a file that another program writes to gives other lines than the first, and errors that name
    only what follows from that, such as sides of different length. So this is looked at first where the block fails
    with an InputError, too, or an error of the operating system, such as that of a file that has disappeared.

    Raises:
        InputError: a file does not exist at the start, has disappeared, or has another size or time of modification.
    """
    before = {path: _state(path) for path in paths}
    for path, state in before.items():
        if state is None:
            raise not_found(path)
    try:
        yield
    except (InputError, OSError):
        _require(before)
        raise
    _require(before)


def _state(path: Path) -> tuple[int, int] | None:
    """Size in bytes and time of modification in nanoseconds; None for a file that does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _require(before: dict[Path, tuple[int, int] | None]) -> None:
    for path, state in before.items():
        now = _state(path)
        if now is None:
            raise InputError(f"{path}: has disappeared while it was read; put it back and give the command again")
        if now != state:
            raise InputError(f"{path}: has changed while it was read; give the command again when nobody writes to it")
