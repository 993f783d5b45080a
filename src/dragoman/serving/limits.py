"""API keys and rates: who may use the server, and how often."""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dragoman.errors import InputError
from dragoman.serving.refusals import Refusal
from dragoman.text.lines import read_lines

MAX_CLIENTS = 10_000
"""Clients whose rates are remembered."""


def read_keys(path: str | Path) -> dict[str, int | None]:
    """The API keys of a file: one a line, and after a space, if it has a limit of its own, its texts a minute.

    Empty lines and lines that begin with `#` are skipped.

    Raises:
        InputError: the file cannot be read, or a line of it has another form; the message does not repeat the line.
    """
    keys: dict[str, int | None] = {}
    for number, line in enumerate(read_lines(str(path)), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) > 2 or (len(words) == 2 and not (words[1].isascii() and words[1].isdigit() and int(words[1]))):
            raise InputError(f"{path}: line {number}: is not a key, alone or with its texts a minute: KEY 60")
        keys[words[0]] = int(words[1]) if len(words) == 2 else None
    if not keys:
        raise InputError(f"{path}: has no API key; write one a line")
    return keys


@dataclass
class _Bucket:
    """What a client may still use: fills up again with time."""

    left: float
    updated: float


class Limits:
    """Decides whether a request is let in."""

    def __init__(
        self,
        keys: Mapping[str, int | None] | None,
        per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keys` with their texts a minute, None if none is needed; `per_minute` is the limit of all others."""
        self._keys = None if keys is None else {_digest(key): limit for key, limit in keys.items()}
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[object, _Bucket] = OrderedDict()

    @property
    def key_required(self) -> bool:
        """Whether a request needs an API key."""
        return self._keys is not None

    def admit(self, key: str | None, address: str, texts: int) -> None:
        """Let a request of `texts` texts in.

        Raises:
            Refusal: the key is missing (400) or unknown (403), or its client has sent too much (429).
        """
        client: object = address
        limit = self._per_minute
        if self._keys is not None:
            if not key:
                raise Refusal(400, "Please contact the server operator to get an API key")
            digest = _digest(key)
            found = [known for known in self._keys if hmac.compare_digest(known, digest)]
            if not found:
                raise Refusal(403, "Invalid API key")
            client, limit = digest, self._keys[digest] or self._per_minute
        if limit is not None:
            self._count(client, limit, texts)

    def _count(self, client: object, limit: int, texts: int) -> None:
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(limit, now))
        bucket.left = min(limit, bucket.left + (now - bucket.updated) * limit / 60)
        bucket.updated = now
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        wanted = min(texts, limit)  # a request of more texts than the limit waits for a full bucket
        if bucket.left < wanted:
            seconds = math.ceil((wanted - bucket.left) * 60 / limit)
            raise Refusal(429, f"Slowdown: {limit} per 1 minute", retry_after=max(seconds, 1))
        bucket.left -= texts


def _digest(key: str) -> bytes:
    """Of one length for all keys, so that comparing them takes the same time."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
