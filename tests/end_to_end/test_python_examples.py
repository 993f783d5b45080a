"""The examples in the docstrings of the public names, run on the small model: RUN writes letters in upper case."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
import shutil
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType

import pytest

import dragoman
from docs.site_builder.printed import RESULTS as MADE

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
RESULTS = [*MADE, *(f"{path}.{name}" for path in MADE for name in ("scorer", "translator") if path.endswith(".Run"))]
"""Classes that are met as arguments and results of the public names, and the methods of a run."""

FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(dragoman, name))]


def _documented(name: str) -> str:
    if name.startswith("dragoman."):
        return inspect.getdoc(pkgutil.resolve_name(name)) or ""
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


@pytest.mark.parametrize("name", ["", *EXAMPLES, *RESULTS])
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


def test_help_shows_keys_with_their_defaults_and_no_annotations() -> None:
    assert str(inspect.signature(dragoman.SearchConfig)).startswith("(*, beam=5, normalisation='mean', alpha=0.6,")
    assert str(inspect.signature(dragoman.Config)).endswith(
        "text=TextConfig(), cleaning=CleaningConfig(), model=ModelConfig(), training=TrainingConfig(), "
        "search=SearchConfig())"
    )
    given = inspect.signature(dragoman.SearchConfig).bind(beam=7)
    assert dragoman.SearchConfig(**given.kwargs).beam == 7
