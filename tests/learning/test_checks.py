"""Which pairs are refused as corrections."""

from __future__ import annotations

import pytest

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.learning.checks import RefusedCorrection, require_learnable
from dragoman.text.side import Encoded


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("Click here now", True),
        ("Click here now.", True),
        ("»Click« (here), now!", True),
        ("Click here.", False),
        ("Calc 7.2, A1 and B2", False),
    ],
)
def test_a_sentence_is_not_its_own_translation(text: str, is_refused: bool) -> None:
    config = override(load_preset("standard"), ["text.source.language=en", "text.target.language=de"])
    words = text.split()
    side = Encoded(list(range(4, 4 + len(words))), words, [])
    if is_refused:
        with pytest.raises(RefusedCorrection, match="is not learnt: the translation is the source itself"):
            require_learnable(text, text, [side, side], config)
    else:
        require_learnable(text, text, [side, side], config)
