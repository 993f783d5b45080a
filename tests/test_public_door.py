"""What `import dragoman` offers."""

from __future__ import annotations

from importlib.metadata import version

import pytest

import dragoman


def test_the_door_offers_these_names_and_no_others() -> None:
    assert dragoman.__all__ == [
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
    assert dragoman.__all__ == sorted(dragoman.__all__)
    assert dir(dragoman) == dragoman.__all__


def test_every_name_of_the_door_is_there_and_documented() -> None:
    for name in dragoman.__all__:
        value = getattr(dragoman, name)
        assert name == "__version__" or value.__doc__, name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dragoman' has no attribute 'laod'"):
        dragoman.laod  # noqa: B018


def test_the_version_is_that_of_the_installed_package() -> None:
    assert dragoman.__version__ == version("dragoman")
