"""Dragoman trains a translator from parallel text, translates, and shows which source word every target word came from.

The public door. Importing it costs nothing, because each name is fetched when it is first used:

    import dragoman

    translator = dragoman.load("RUN")
    translation = translator.translate("Ein Hund läuft.")
    print(translation.text, translation.alignment)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.config.building import override
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset
    from dragoman.config.schema import Config
    from dragoman.demo import write_demo_corpus
    from dragoman.errors import DragomanError
    from dragoman.pipeline import train
    from dragoman.quality import measure
    from dragoman.run import load, open_run
    from dragoman.search.translator import Translation, Translator
    from dragoman.text.corpus import read_pairs

__version__ = "0.1.0"

__all__ = [
    "Config",
    "DragomanError",
    "Translation",
    "Translator",
    "__version__",
    "load",
    "load_config",
    "load_preset",
    "measure",
    "open_run",
    "override",
    "read_pairs",
    "train",
    "write_demo_corpus",
]

_HOME = {
    "Config": "dragoman.config.schema",
    "DragomanError": "dragoman.errors",
    "Translation": "dragoman.search.translator",
    "Translator": "dragoman.search.translator",
    "load": "dragoman.run",
    "load_config": "dragoman.config.files",
    "load_preset": "dragoman.config.presets",
    "measure": "dragoman.quality",
    "open_run": "dragoman.run",
    "override": "dragoman.config.building",
    "read_pairs": "dragoman.text.corpus",
    "train": "dragoman.pipeline",
    "write_demo_corpus": "dragoman.demo",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
