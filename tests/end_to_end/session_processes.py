"""The processes of a session, for tests that nothing is left of a command."""

from __future__ import annotations

import os
from pathlib import Path


def session_processes(group: int) -> dict[int, str]:
    """The processes of a session, with their names."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == group:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().decode().replace("\0", " ").strip()
        except (OSError, ValueError):
            continue
    return {process: name for process, name in found.items() if name}
