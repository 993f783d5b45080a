from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, torch
from dragoman.model.devices import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()

def update():
    for tensor in [torch.empty(5_000_000) for _ in range(3)]:
        tensor.fill_(1)

for _ in range(12):  # the first few find their places
    update()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    update()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux with glibc can be told")
def test_memory_that_is_freed_and_taken_again_needs_no_fresh_pages() -> None:
    """20 MB are 4,883 pages of the usual size; the library's own ways need fresh ones every time."""
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, check=True).stdout)
        for how in ("keep", "leave")
    )
    assert kept < 100
    assert given_back > 10 * kept
