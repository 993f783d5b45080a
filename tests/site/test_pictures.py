"""Pictures of pages show what the pages say of them."""

from __future__ import annotations

import numpy as np
from PIL import Image

from tests.cli.test_documented_commands import ROOT

IMAGES = ROOT / "docs" / "images"


def test_the_moving_picture_begins_with_a_translation_and_its_links() -> None:
    """Many readers, and programs, show its first frame alone."""
    with Image.open(IMAGES / "serving-page.webp") as picture:
        first = picture.convert("RGB").crop((27, 125, 442, 333))  # the pane of the source, where a word is marked
    red, green, blue = np.moveaxis(np.asarray(first), -1, 0)
    assert ((red > 220) & (green > 180) & (blue < 150)).sum() > 500
