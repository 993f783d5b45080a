"""How the user's shell can run this program again, for commands that are printed as hints."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def this_command() -> str:
    """`dragoman` where the shell finds this program by that name, else the path of it, quoted for the shell."""
    script = sys.argv[0]
    found = shutil.which("dragoman")
    if Path(script).name != "dragoman":  # python -m dragoman
        beside = Path(sys.executable).with_name("dragoman")
        if found is not None and beside.exists() and os.path.samefile(found, beside):
            return "dragoman"
        return f"{shlex.quote(_short(sys.executable))} -m dragoman"
    if found is not None and os.path.exists(script) and os.path.samefile(found, script):
        return "dragoman"
    return shlex.quote(_short(script))


def _short(path: str) -> str:
    """The path from the current folder if it lies below, else as it is."""
    below = os.path.relpath(path)
    return path if below.startswith("..") else below if os.sep in below else os.path.join(".", below)
