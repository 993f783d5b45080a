"""Recurrent neural machine translation with attention: training, translation and word alignment.

This is the public API: read parallel text (`read_pairs`, `reading_corpora`, `write_demo_corpus`), configure and train a
model (`load_preset`, `load_config`, `override`, `train`), open what was trained (`load`, `open_run`), translate
(`Translator`, `Translation`, `translate_file`), learn from corrections (`Learner`), measure (`read_test_set`,
`measure`). Each name is imported when it is first used, so that importing the package is fast. Errors that the user can
fix are `DragomanError`.

>>> import dragoman
>>> translator = dragoman.load("RUN")  # a run folder or an exported folder
>>> best = translator.translate("ab c")
>>> best.text, best.alignment
('AB C', [(0, 0), (1, 1)])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.config.building import override
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset
    from dragoman.config.schema import Config, SearchConfig
    from dragoman.corpora.corpus import read_pairs, read_test_set
    from dragoman.corpora.reading import reading_corpora
    from dragoman.errors import DragomanError
    from dragoman.learning.learner import Learner
    from dragoman.runs.opening import open_run
    from dragoman.training.callbacks import StopTraining, TrainingCallback
    from dragoman.translation.result import Translation
    from dragoman.translation.translator import Translator
    from dragoman.workflows.demo import write_demo_corpus
    from dragoman.workflows.documents import translate_file
    from dragoman.workflows.evaluation import measure
    from dragoman.workflows.loading import load
    from dragoman.workflows.training import train

__version__ = "0.1.0"

__all__ = [
    "Config",
    "DragomanError",
    "Learner",
    "SearchConfig",
    "StopTraining",
    "TrainingCallback",
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
    "read_test_set",
    "reading_corpora",
    "train",
    "translate_file",
    "write_demo_corpus",
]

_HOME = {
    "Config": "dragoman.config.schema",
    "DragomanError": "dragoman.errors",
    "Learner": "dragoman.learning.learner",
    "SearchConfig": "dragoman.config.schema",
    "StopTraining": "dragoman.training.callbacks",
    "TrainingCallback": "dragoman.training.callbacks",
    "Translation": "dragoman.translation.result",
    "Translator": "dragoman.translation.translator",
    "load": "dragoman.workflows.loading",
    "load_config": "dragoman.config.files",
    "load_preset": "dragoman.config.presets",
    "measure": "dragoman.workflows.evaluation",
    "open_run": "dragoman.runs.opening",
    "override": "dragoman.config.building",
    "read_pairs": "dragoman.corpora.corpus",
    "reading_corpora": "dragoman.corpora.reading",
    "read_test_set": "dragoman.corpora.corpus",
    "train": "dragoman.workflows.training",
    "translate_file": "dragoman.workflows.documents",
    "write_demo_corpus": "dragoman.workflows.demo",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
