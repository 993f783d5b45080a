"""The reference of the site, printed from the code, has all that there is."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import dragoman
from docs.site_builder.printed import RESULTS, page_of_command, pages, parser_of, public_names, write
from dragoman.cli.main import EXTRAS, VERBS
from dragoman.config.building import override
from dragoman.config.presets import load_preset, preset_comments, preset_names
from dragoman.config.schema import Config
from dragoman.config.section import Section
from dragoman.runs.opening import Run
from dragoman.scoring.scorer import Scorer

_MODULES = ("dragoman", *(path.rpartition(".")[0] for path in RESULTS))
"""The modules of classes that a user of the public names meets."""


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    return pages()


def test_every_command_has_a_page_with_every_option_and_example(printed: dict[str, str]) -> None:
    for verb in VERBS:
        page = printed[page_of_command(verb)]
        assert f"{page_of_command(verb)}.md" in printed["commands"], verb
        options = [option for action in parser_of(verb)._actions for option in action.option_strings]
        assert "--help" in options
        missing = [option for option in options if f"{option}" not in page.partition("\n## ")[2]]
        assert not missing, verb
        assert all(example in page for example in VERBS[verb].EXAMPLES), verb


def test_every_key_has_its_default(printed: dict[str, str]) -> None:
    page = printed["configuration"]

    def keys(section: Section, prefix: str = "") -> int:
        count = 0
        for name in section.__struct_fields__:
            value = getattr(section, name)
            if isinstance(value, Section):
                count += keys(value, f"{prefix}{name}.")
                continue
            entry = page.partition(f"\n`{prefix}{name}`\n: ")[2].partition("\n")[0]
            default = entry.rpartition("; default `")[2].removesuffix("`)")
            assert default, f"{prefix}{name}"
            if value is not None and prefix + name not in ("format", "preset"):
                assert override(Config(), [f"{prefix}{name}={default}"]) == Config(), f"{prefix}{name}"
            count += 1
        return count

    assert keys(Config()) > 100


def test_every_preset_has_the_values_and_comments_of_its_file(printed: dict[str, str]) -> None:
    page = printed["presets"]
    for name in preset_names():
        part = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert part, name
        for key, comment in preset_comments(name).items():
            if f"| `{key}` |" in part:  # a preset may name a value that is the default
                assert comment.split()[0][:5] in part, (name, key)
    assert f"`{load_preset('bahdanau2015').model.encoder.size}`" in page


def test_every_public_name_is_documented(printed: dict[str, str]) -> None:
    page = printed["python"]
    assert set(public_names()) == set(dragoman.__all__) - {"__version__"}
    missing = [name for name in public_names() if f":: dragoman.{name}\n" not in page]
    assert not missing
    assert "dragoman.__version__" in page


def test_classes_that_public_names_take_and_return_are_documented_too(printed: dict[str, str]) -> None:
    page = printed["python"]
    assert all(f":: {path}()\n" in page for path in RESULTS)
    documented = {path.rpartition(".")[2] for path in RESULTS} | set(public_names())
    callables = [getattr(dragoman, name) for name in public_names()]
    for value in list(callables):
        if inspect.isclass(value):
            callables += [member for name, member in vars(value).items() if not name.startswith("_")]
    callables += [Run.scorer, Run.translator, Scorer.score]
    named: set[str] = set()
    for value in filter(inspect.isfunction, callables):
        named |= set(re.findall(r"\w+", " ".join(map(str, value.__annotations__.values()))))
    modules = [importlib.import_module(name) for name in _MODULES]
    found = [vars(module)[name] for module in modules for name in named & set(vars(module))]
    ours = {one.__name__ for one in found if inspect.isclass(one) and one.__module__.startswith("dragoman.")}
    assert ours >= {"Run", "Pair", "TrainedRun", "RunEvaluation", "UpdateEvent", "ScoredPair"}
    assert ours <= documented


def test_every_family_of_errors_has_its_remedy(printed: dict[str, str]) -> None:
    families = set()
    for path in Path(dragoman.__file__).parent.rglob("*.py"):
        families |= set(re.findall(r"^class (\w+)\(DragomanError\)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert families >= {"ConfigError", "InputError", "RunError", "TrainingError", "Interrupted"}
    for family in families:
        [row] = re.findall(rf"^\| `{family}` \|(.*)\|$", printed["exit-codes"], flags=re.MULTILINE)
        assert row.split("|")[2].strip().endswith("."), family


def test_every_route_and_extra_is_listed(printed: dict[str, str]) -> None:
    from dragoman.serving.openapi import describe

    for path, operations in describe([])["paths"].items():
        for method in operations:
            assert f"\n## {method.upper()} {path}\n" in printed["http"]
    assert all(f"| `{extra}` |" in printed["exit-codes"] for extra in EXTRAS)


def test_pages_are_written_once_and_removed_when_no_longer_printed(tmp_path: Path, printed: dict[str, str]) -> None:
    (tmp_path / "old.md").write_text("a page of a command that was removed")
    written = write(tmp_path)
    assert sorted(path.relative_to(tmp_path).with_suffix("").as_posix() for path in written) == sorted(printed)
    assert not (tmp_path / "old.md").exists()
    before = [path.stat().st_mtime_ns for path in written]
    assert [path.stat().st_mtime_ns for path in write(tmp_path)] == before
