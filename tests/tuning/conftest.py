"""Real files of Moses, where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real n-best lists and phrase tables."""
    if not SHARED.is_dir():
        pytest.skip(f"real data is not at {SHARED}")
    return SHARED
