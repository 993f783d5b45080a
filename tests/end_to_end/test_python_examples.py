"""The examples in the docstrings of the public names, run on the small model: RUN writes letters in upper case."""

from __future__ import annotations

import doctest
import inspect
import shutil
from pathlib import Path

import pytest

import dragoman

from .conftest import SMALL, Corpus

NAMES = [name for name in dragoman.__all__ if name != "__version__"]
METHODS = ("Translator.translate", "Translator.translate_lines", "Translator.complete", "Translator.with_options")
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(dragoman, name))]


def _documented(name: str) -> str:
    value: object = dragoman
    for part in name.split("."):
        value = getattr(value, part)
    return inspect.getdoc(value) or ""


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


@pytest.mark.parametrize("name", [*NAMES, *METHODS])
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
    for name in [*FUNCTIONS, *METHODS]:
        text = _documented(name)
        value = dragoman
        for part in name.split("."):
            value = getattr(value, part)
        arguments = [argument for argument in inspect.signature(value).parameters if argument != "self"]
        for argument in arguments:
            assert argument in text, (name, argument)
        assert "Raises:" in text, name
