"""What several of the text tests need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def multi30k(shared_data: Path) -> Path:
    """The folder of the Multi30k corpus."""
    return shared_data / "multi30k-en-de-cs"
