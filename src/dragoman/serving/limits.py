"""API keys and rates: who may use the server, and how often."""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from dragoman.serving.key_file import KeyRights
from dragoman.serving.responses import Refusal

MAX_CLIENTS = 10_000
"""Clients whose rates are remembered."""


@dataclass
class _Bucket:
    """What a client may still use: fills up again with time."""

    left: float
    updated: float


class Limits:
    """Decides whether a request is let in."""

    def __init__(
        self,
        keys: Mapping[str, KeyRights] | None,
        per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keys` is None if none is needed; `per_minute` is the limit of those without one of their own."""
        self._keys: dict[bytes, KeyRights] | None = None
        if keys is not None:
            self.set_keys(keys)
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[object, _Bucket] = OrderedDict()

    @property
    def key_required(self) -> bool:
        """Whether a request needs an API key."""
        return self._keys is not None

    def set_keys(self, keys: Mapping[str, KeyRights]) -> None:
        """Require one of these keys from now on; what clients have used is remembered."""
        self._keys = {_digest(key): rights for key, rights in keys.items()}

    def require_learning(self, key: str | None) -> None:
        """Refuse who may not correct translations, after `admit`.

        Raises:
            Refusal: keys are needed, and this one has not the right.
        """
        if self._keys is not None and (key is None or not self._keys.get(_digest(key), KeyRights()).learn):
            raise Refusal(403, "This API key may not correct translations")

    def admit(self, key: str | None, address: str, texts: int) -> None:
        """Let a request of `texts` texts in.

        Raises:
            Refusal: the key is missing (400) or unknown (403), or its client has sent too much (429).
        """
        client, limit = self._client(key, address)
        if limit is None:
            return
        bucket = self._bucket(client, limit)
        wanted = min(texts, limit)  # a request of more texts than the limit waits for a full bucket
        if bucket.left < wanted:
            seconds = math.ceil((wanted - bucket.left) * 60 / limit)
            raise Refusal(429, f"Slowdown: {limit} per 1 minute", retry_after=max(seconds, 1))
        bucket.left -= texts

    def charge(self, key: str | None, address: str, texts: int) -> None:
        """Count more texts of a request that was let in before it was known how many it has.

        Raises:
            Refusal: the key is no longer known (403).
        """
        client, limit = self._client(key, address)
        if limit is not None:
            self._bucket(client, limit).left -= texts

    def _client(self, key: str | None, address: str) -> tuple[object, int | None]:
        """Who sends a request, and how many texts a minute."""
        if self._keys is None:
            return address, self._per_minute
        if not key:
            raise Refusal(400, "Please contact the server operator to get an API key")
        digest = _digest(key)
        if not [known for known in self._keys if hmac.compare_digest(known, digest)]:
            raise Refusal(403, "Invalid API key")
        return digest, self._keys[digest].per_minute or self._per_minute

    def _bucket(self, client: object, limit: int) -> _Bucket:
        """What a client may use now."""
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(limit, now))
        bucket.left = min(limit, bucket.left + (now - bucket.updated) * limit / 60)
        bucket.updated = now
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return bucket


def _digest(key: str) -> bytes:
    """A digest of a key: all have one length, and comparing them takes the same time."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
