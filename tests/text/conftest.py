"""What several of the text tests need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder of the Multi30k corpus, which may not be published with this project."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data" / "multi30k-en-de-cs"
    if not folder.is_dir():
        pytest.skip(f"Multi30k is not at {folder}")
    return folder
