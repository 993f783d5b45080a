"""What is kept of a loaded model."""

from __future__ import annotations

from typing import Any

from dragoman.serving.models import MAX_VARIANTS, LanguagePair, LoadedModel
from dragoman.serving.scheduler import Lane


class Translator:
    """Remembers its options."""

    def __init__(self, **options: object) -> None:
        self.options = options

    def with_options(self, **options: object) -> Translator:
        return Translator(**options)


def test_the_options_that_were_used_last_are_kept() -> None:
    translator: Any = Translator()
    scorer: Any = None
    model = LoadedModel(LanguagePair("de", "en"), translator, scorer, Lane(1), beam=3, bytes=0, fingerprint=None)
    assert model.variant({}) is translator
    first, second = model.variant({"beam": 1, "ban": ["a"]}), model.variant({"beam": 2})
    for beam in range(3, MAX_VARIANTS + 1):
        model.variant({"beam": beam})
    assert model.variant({"ban": ["a"], "beam": 1}) is first  # used again, so that the second is now the oldest
    model.variant({"beam": MAX_VARIANTS + 1})
    assert len(model._variants) == MAX_VARIANTS
    assert model.variant({"beam": 1, "ban": ["a"]}) is first
    again = model.variant({"beam": 2})
    assert again is not second
    assert again.options == {"beam": 2}  # type: ignore[attr-defined]
