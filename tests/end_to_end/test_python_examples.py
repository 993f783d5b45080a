"""The examples in the docstrings of the public names, run on the small model: RUN writes letters in upper case."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType

import pytest

import dragoman

from .conftest import SMALL, Corpus

NAMES = [name for name in dragoman.__all__ if name != "__version__"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(dragoman, name))]
MEMBERS = [
    f"{name}.{member}"
    for name in CLASSES
    for member, value in vars(getattr(dragoman, name)).items()
    if not member.startswith("_") and isinstance(value, FunctionType | classmethod | property | cached_property)
]
METHODS = [name for name in MEMBERS if callable(attrgetter(name)(dragoman))]
EXAMPLES = [*NAMES, *(name for name in METHODS if not name.startswith("TrainingCallback."))]  # its class has one
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(dragoman, name))]


def _documented(name: str) -> str:
    return inspect.getdoc(attrgetter(name)(dragoman) if name else dragoman) or ""


@pytest.fixture(scope="module")
def folder(run_folder: Path, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples name: RUN, its texts, and the configuration of a smaller training."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "RUN").symlink_to(run_folder)
    for path in (*corpus.train, *corpus.dev, *corpus.test):
        shutil.copy(path, folder)
    settings = [*SMALL, "training.validation.metric=perplexity", "search.beam=5"]
    config = dragoman.override(dragoman.load_preset("demo"), settings)
    (folder / "small.yaml").write_text(_yaml(config.values()), encoding="utf-8")
    return folder


def _yaml(values: dict[str, object]) -> str:
    import yaml

    return yaml.safe_dump(values)


@pytest.mark.parametrize("name", ["", *EXAMPLES])
def test_the_example_of_a_public_name_does_what_it_says(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text = _documented(name)
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{name} has no example"
    said: list[str] = []
    test = doctest.DocTest(examples, {"dragoman": dragoman}, name, None, None, text)
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_function_says_what_it_takes_returns_and_raises() -> None:
    silent = {"Translation.links_between", *(f"TrainingCallback.{name}" for name in vars(dragoman.TrainingCallback))}
    for name in [*FUNCTIONS, *METHODS]:
        text = _documented(name)
        for argument in inspect.signature(attrgetter(name)(dragoman)).parameters:
            assert argument in ("self", *re.findall(r"\w+", text)), (name, argument)
        assert ("Raises:" in text) != (name in silent), name


def test_every_member_of_a_public_class_is_documented() -> None:
    assert {"Translation.alignment", "Translator.complete", "TrainingCallback.on_update"} <= set(MEMBERS)
    for name in MEMBERS:
        assert _documented(name), name
