"""Settings of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.requests.serving import ServerLimits
from dragoman.serving.key_file import KeyFile, KeyRights

MAX_ALTERNATIVES = 10
"""Alternatives or completions of a text, and the largest n-best list."""
MAX_BEAM = 50
GRACE_SECONDS = 30.0
"""Time for what neither receiving a request nor answering it counts."""

_LIMITS = ServerLimits()


@dataclass(frozen=True)
class Settings:
    """What the operator decides."""

    threads: int = 1
    """Batches that are computed at once."""
    budget: int | None = None
    """Bytes of models, as their files have them, that are kept loaded; None for no limit."""
    max_waiting: int = _LIMITS.max_waiting
    """Sentences that wait, of each request at most 100 counted; a request that finds as many is refused with 503."""
    max_characters: int = _LIMITS.max_characters
    """Characters of one text."""
    max_texts: int = _LIMITS.max_texts
    """Texts of one request."""
    max_body: int = _LIMITS.max_body
    """Bytes of a request."""
    body_seconds: float = _LIMITS.body_seconds
    """The longest time in which a client sends its request."""
    request_seconds: float = _LIMITS.request_seconds
    """The longest time in which a request is answered."""
    requests_per_minute: int | None = None
    """Texts a minute for each address; None for no limit."""
    keys: Mapping[str, KeyRights] | None = field(default=None, repr=False)
    """API keys; None where no key is needed."""
    key_file: KeyFile | None = field(default=None, repr=False)
    """The file that `keys` come from, if they are to change with it."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may use the server, besides its own; `*` for all."""
    host_names: tuple[str, ...] = ()
    """Names of this server in the header Host. Without any, all names are taken except on a loopback address."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For is believed."""
    file_bytes: int = 64 << 20
    """Bytes of translated files that are kept for their download."""

    @property
    def answer_seconds(self) -> float:
        """The longest time from the head of a request to its answer."""
        return self.body_seconds + self.request_seconds + GRACE_SECONDS
