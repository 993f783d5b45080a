from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, torch
from dragoman.model.devices import keep_freed_memory
keep_freed_memory()

def update():
    for tensor in [torch.empty(5_000_000) for _ in range(8)]:
        tensor.fill_(1)

for _ in range(12):  # the first few find their places
    update()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    update()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_memory_that_is_freed_and_taken_again_needs_no_fresh_pages() -> None:
    """20 MB are 4,883 pages of the usual size; pieces that are the system's affair need fresh ones every time."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert int(done.stdout) < 1000
