"""The file of API keys, which is read again when it has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import InputError
from dragoman.serving.logs import event
from dragoman.stored_files import stamp_of
from dragoman.text.lines import read_lines

REFRESH_SECONDS = 2.0
"""The time between two looks at the file."""


class KeyRights(NamedTuple):
    """What a key may do besides translating."""

    per_minute: int | None = None
    """Its texts a minute, if it has a limit of its own."""
    learn: bool = False
    """Whether it may correct translations."""


def read_keys(path: str | Path) -> dict[str, KeyRights]:
    """The API keys of a file: one a line, and after a space each, its texts a minute, if it has a limit of its own, and
    `learn`, if it may correct translations.

    Empty lines and lines that begin with `#` are skipped.

    Raises:
        InputError: the file cannot be read, or a line of it has another form; the message does not repeat the line.
    """
    keys: dict[str, KeyRights] = {}
    for number, line in enumerate(read_lines(str(path)), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        key, *others = words
        learn = others[-1:] == ["learn"]
        limit = others[:-1] if learn else others
        if len(limit) > 1 or (limit and not (limit[0].isascii() and limit[0].isdigit() and int(limit[0]))):
            raise InputError(
                f"{path}: line {number}: is not a key, alone or with its texts a minute and learn: KEY 60 learn"
            )
        keys[key] = KeyRights(int(limit[0]) if limit else None, learn)
    if not keys:
        raise InputError(f"{path}: has no API key; write one a line")
    return keys


class KeyFile:
    """A file of API keys."""

    def __init__(self, path: str | Path) -> None:
        """Read the file.

        Raises:
            InputError: as `read_keys`.
        """
        self._path = Path(path)
        self._stamp = stamp_of(self._path)
        self.keys: Mapping[str, KeyRights] = read_keys(path)
        """As they were last read."""

    def refresh(self) -> bool:
        """Read the file again if it has changed; returns whether `keys` are new.

        Where the file is gone or damaged, the log says so once, and the keys stay as they were.
        """
        now = stamp_of(self._path)
        if now == self._stamp:
            return False
        self._stamp = now
        try:
            self.keys = read_keys(self._path)
        except InputError as error:
            event("API keys not read again", level=logging.ERROR, reason=str(error))
            return False
        event("API keys read again", keys=len(self.keys))
        return True

    async def keep_fresh(self, on_change: Callable[[Mapping[str, KeyRights]], None]) -> None:
        """Look for changes until cancelled, and give the new keys to `on_change`."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            if await asyncio.to_thread(self.refresh):
                on_change(self.keys)
