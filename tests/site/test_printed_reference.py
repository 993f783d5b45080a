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
from dragoman.config.presets import preset_names
from dragoman.config.schema import Config
from dragoman.config.section import Section
from dragoman.errors import DragomanError
from dragoman.runs.opening import Run
from dragoman.scoring.scorer import Scorer


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    return pages()


def test_every_command_has_a_page_with_every_option_and_example(printed: dict[str, str]) -> None:
    for verb in VERBS:
        page = printed[page_of_command(verb)]
        assert f"{page_of_command(verb)}.md" in printed["commands"], verb
        options = [option for action in parser_of(verb)._actions for option in action.option_strings]
        assert not [option for option in options if option not in page.partition("\n## ")[2]], verb
        assert all(example in page for example in VERBS[verb].EXAMPLES), verb


def test_every_key_has_its_default(printed: dict[str, str]) -> None:
    def check(section: Section, prefix: str = "") -> None:
        for name in section.__struct_fields__:
            value, key = getattr(section, name), f"{prefix}{name}"
            if isinstance(value, Section):
                check(value, f"{key}.")
                continue
            entry = printed["configuration"].partition(f"\n`{key}`\n: ")[2].partition("\n")[0]
            default = entry.rpartition("; default `")[2].removesuffix("`)")
            assert default, key
            if value is not None and key not in ("format", "preset"):
                assert override(Config(), [f"{key}={default}"]) == Config(), key

    check(Config())


def test_every_preset_route_extra_and_error_is_listed(printed: dict[str, str]) -> None:
    from dragoman.serving.openapi import describe

    routes = [f"{method.upper()} {path}" for path, methods in describe([])["paths"].items() for method in methods]
    for page, heading in [("presets", name) for name in preset_names()] + [("http", route) for route in routes]:
        assert f"\n## {heading}\n" in printed[page], heading
    assert all(f"| `{extra}` |" in printed["exit-codes"] for extra in EXTRAS)
    for family in DragomanError.__subclasses__():
        [row] = re.findall(rf"^\| `{family.__name__}` \|(.*)\|$", printed["exit-codes"], flags=re.MULTILINE)
        assert row.split("|")[2].strip().endswith("."), family


def test_what_public_names_take_and_return_is_documented(printed: dict[str, str]) -> None:
    page, names = printed["python"], public_names()
    assert set(names) == set(dragoman.__all__) - {"__version__"}
    assert all(f":: dragoman.{name}\n" in page for name in names)
    assert all(f":: {path}()\n" in page for path in RESULTS)
    values = [getattr(dragoman, name) for name in names]
    methods = [
        method for value in values if inspect.isclass(value) for name, method in vars(value).items() if name[0] != "_"
    ]
    functions = filter(inspect.isfunction, [*values, *methods, Run.scorer, Run.translator, Scorer.score])
    named = {
        word for one in functions for kind in one.__annotations__.values() for word in re.findall(r"\w+", str(kind))
    }
    modules = [importlib.import_module(path.rpartition(".")[0]) for path in ("dragoman.Config", *RESULTS)]
    met = [vars(module)[name] for module in modules for name in named & set(vars(module))]
    ours = {one.__name__ for one in met if inspect.isclass(one) and one.__module__.startswith("dragoman.")}
    assert {"Run", "Pair", "TrainedRun"} <= ours <= {path.rpartition(".")[2] for path in RESULTS} | set(names)


def test_pages_that_are_no_longer_printed_are_removed(tmp_path: Path, printed: dict[str, str]) -> None:
    (tmp_path / "old.md").write_text("a page of a command that was removed")
    written = write(tmp_path)
    assert sorted(path.relative_to(tmp_path).with_suffix("").as_posix() for path in written) == sorted(printed)
    assert sorted(tmp_path.rglob("*.md")) == sorted(written)
