"""The contents of a folder in a form in which two runs of the same command are equal.

What depends on the clock or on the process is left out: times in logs and training states, names of TensorBoard's
files, times inside archives.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

State = Mapping[str, str]
"""Path inside the folder -> digest of the contents; "folder" for a folder."""

_EVENTS = re.compile(r"events\.out\.tfevents\..*")
_TIMES = ("time", "seconds", "tokens_per_second")
PARTIAL = re.compile(r"\.partial\d*(\.gz|\.xz|\.zst|\.npz)?$")
"""Names under which commands keep unfinished output."""


def state_of(folder: Path) -> dict[str, str]:
    """The contents of all files and folders below `folder`."""
    state = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if _EVENTS.fullmatch(path.name):
            state[f"{path.parent.relative_to(folder).as_posix()}/events"] = "events"
        else:
            state[name] = "folder" if path.is_dir() else _contents(path)
    return state


def _contents(path: Path) -> str:
    """A digest of the contents of a file; "damaged" and the reason for one that cannot be read in its own format."""
    data = path.read_bytes()
    reader = _READERS.get(path.name) or _READERS.get(path.suffix, bytes)
    try:
        return hashlib.sha256(reader(data)).hexdigest()[:16]
    except (OSError, ValueError, KeyError, EOFError, struct.error, zipfile.BadZipFile) as error:
        return f"damaged: {error!r}"


def _log(data: bytes) -> bytes:
    """Its records without times and without the remark that a training was resumed."""
    if data and not data.endswith(b"\n"):
        raise ValueError("the last line has no end")
    records = [json.loads(line) for line in data.splitlines()]
    kept = [
        {key: value for key, value in record.items() if key not in _TIMES}
        for record in records
        if record.get("name") != "resumed"
    ]
    return json.dumps(kept).encode()


def _training_state(data: bytes) -> bytes:
    """Its tensors, and its values without times."""
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    values = json.loads(header["__metadata__"]["dragoman"])["values"]
    values.pop("log_size")  # times have more or fewer digits
    for name in [name for name in values["counters"] if name.endswith("seconds")]:
        values["counters"].pop(name)
    values["interval"] = {key: value for key, value in values["interval"].items() if key != "since"}
    tensors = {name: facts for name, facts in header.items() if name != "__metadata__"}
    return json.dumps([values, tensors], sort_keys=True).encode() + data[8 + length :]


def _archive(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return b"".join(name.encode() + archive.read(name) for name in sorted(archive.namelist()))


def _page(data: bytes) -> bytes:
    """Pages contain times, so that only whether they are complete can be compared."""
    if not data.rstrip().endswith(b"</html>"):
        raise ValueError("it is incomplete")
    return b"page"


_READERS = {
    "log.jsonl": _log,
    "latest.safetensors": _training_state,
    ".gz": gzip.decompress,
    ".npz": _archive,
    ".html": _page,
}
