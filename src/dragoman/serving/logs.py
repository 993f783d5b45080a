"""The log: lines of JSON on standard error. Texts, keys and query strings are never written to it."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from contextlib import suppress

log = logging.getLogger("dragoman.serving")


def event(name: str, *, level: int = logging.INFO, exc_info: BaseException | None = None, **facts: object) -> None:
    """Log an event, its facts, and an exception that is a fault of ours."""
    log.log(level, name, extra={"facts": facts}, exc_info=exc_info)


class JsonLines(logging.Formatter):
    """Formats a record as an object: `time` (UTC), `level`, `event`, and its facts."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {"time": f"{seconds}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        line |= {"event": record.getMessage(), **getattr(record, "facts", {})}
        if record.exc_info is not None and record.exc_info[1] is not None:
            line |= _cause(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, default=str)


def _cause(error: BaseException) -> dict[str, object]:
    """The type of an exception and where it was raised; its message may repeat what a client has sent."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "trace": [f"{frame.filename}:{frame.lineno}" for frame in frames]}


class _StandardError(logging.StreamHandler):  # type: ignore[type-arg]  # generic in typeshed only
    """Loses what cannot be written."""

    def handleError(self, record: logging.LogRecord) -> None:
        with suppress(Exception):
            self.flush()


def configure(*, quiet: bool) -> None:
    """Let all loggers write lines of JSON; with `quiet` errors only.

    Warnings of translation repeat texts, so only its errors are written.
    """
    handler = _StandardError(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.ERROR if quiet else logging.WARNING, force=True)
    log.setLevel(logging.ERROR if quiet else logging.INFO)
    for name in ("dragoman.translation", "dragoman.search", "dragoman.text"):
        logging.getLogger(name).setLevel(logging.ERROR)
