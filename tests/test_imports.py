"""Imports follow the tables of docs/contributing/architecture.md: one direction, and heavy libraries in few places."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dragoman

PACKAGE = Path(dragoman.__file__).parent

ARCHITECTURE = Path(__file__).parents[1] / "docs" / "contributing" / "architecture.md"


def _table(first_column: str) -> dict[str, list[str]]:
    """Rows of the architecture page's table with that head: first cell -> names in its last cell."""
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    cells = [row.strip("|").split("|") for row in rows]
    return {first.strip().strip("`"): re.findall(r"`([\w.]+)`", last) for first, *_, last in cells}


FOLDERS = _table("folder")
"""Folders and top-level modules in order, each with those that it imports."""

HEAVY = _table("library")
"""Libraries, and the only modules or packages that may import them."""


def _modules() -> dict[str, Path]:
    """Dotted names below the package, the package itself as "", and their files."""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(part for part in parts if part != "__init__")] = path
    return names


@functools.cache
def _imported(path: Path) -> list[tuple[int, str]]:
    """(line, full dotted name) of everything a file imports, also inside functions and for type checking.

    So are the requests and functions that verbs name.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif (
            isinstance(node, ast.Constant)
            and re.fullmatch(r"dragoman(\.\w+)+", str(node.value))
            and "cli" in path.parts
        ):
            found.append((node.lineno, str(node.value)))
    return found


def _own_imports(path: Path, modules: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, module below the package) of what a file imports from the package itself."""
    for line, name in sorted(set(_imported(path))):
        if name == "dragoman" or name.startswith("dragoman."):
            below = name.removeprefix("dragoman").removeprefix(".")
            while below not in modules:  # names imported from a module
                below = below.rpartition(".")[0]
            yield line, below


def _folder(module: str) -> str:
    """The row of the table that a module belongs to; the package itself is its __init__."""
    return module.partition(".")[0] or "__init__"


def _lies_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_the_table_of_folders_is_the_package() -> None:
    assert sorted(FOLDERS) == sorted({_folder(module) for module in _modules()})


def test_a_folder_imports_what_the_table_says() -> None:
    modules = _modules()
    imported: dict[str, set[str]] = {folder: set() for folder in FOLDERS}
    for module, path in modules.items():
        imported[_folder(module)] |= {_folder(name) for _, name in _own_imports(path, modules)} - {_folder(module)}
    assert {folder: sorted(names) for folder, names in FOLDERS.items()} == {
        folder: sorted(names) for folder, names in imported.items()
    }


def test_a_folder_imports_only_from_rows_above_its_own() -> None:
    rows = list(FOLDERS)
    wrong = [
        f"{folder} imports {name}"
        for folder, names in FOLDERS.items()
        for name in names
        if rows.index(name) > rows.index(folder)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_modules_import_each_other_in_no_circle() -> None:
    modules = _modules()
    # A package's empty __init__ is imported with each of its files, and imports nothing itself.
    above = {module: {name for _, name in _own_imports(path, modules)} for module, path in modules.items() if module}
    above[""] = set()  # its imports are made when a name is asked for
    while above:
        free = [module for module, imported in above.items() if not imported & above.keys() - {module}]
        assert free, f"a circle among {sorted(above)}"
        for module in free:
            del above[module]


def test_no_module_imports_from_the_init_of_its_own_package() -> None:
    modules = _modules()
    for module, path in modules.items():
        package = module.rpartition(".")[0]
        if package:
            assert package not in {name for _, name in _own_imports(path, modules)}, module


def test_only_the_assembly_of_a_model_imports_its_faster_forms() -> None:
    modules = _modules()
    importing = {
        module
        for module, path in modules.items()
        for _, name in _own_imports(path, modules)
        if _lies_in(name, "model.fast") and not _lies_in(module, "model.fast")
    }
    assert importing == {"model.assembly"}


def test_export_and_the_faster_forms_mirror_the_files_of_the_model() -> None:
    """A reader lays two files of the same name side by side; what is left over is a helper of one folder."""
    model, fast, export = (
        {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
        for folder in ("model", "model/fast", "export")
    )
    parts = {"linear", "cells", "encoder", "scores", "attention", "decoder"}
    assert model & export == parts | {"output_layer", "translation"}
    assert export - model == {"graph", "quantisation", "shortlist", "writing"}
    assert model & fast == {"linear", "cells", "encoder", "scores", "attention", "output_layer", "dropout"}
    assert fast - model == {"table"}


def test_heavy_libraries_are_imported_only_where_they_belong() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for module, path in _modules().items()
        for line, name in _imported(path)
        for library, allowed in HEAVY.items()
        if _lies_in(name, library) and not any(_lies_in(module, package) for package in allowed)
    ]
    assert not wrong, "\n".join(wrong)


def _loaded_by(program: str) -> set[str]:
    """Top-level names in sys.modules after a program has run in a fresh interpreter."""
    report = "\nimport sys; print('|'.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program + report], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split("|"))


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = _loaded_by("import dragoman")
    assert "dragoman" in loaded
    assert not loaded & {"torch", "numpy", "msgspec", "yaml", *HEAVY}


def test_help_of_the_command_and_of_every_verb_loads_nothing_heavy() -> None:
    """The search options of a few verbs are generated from the schema, which is made of msgspec's structures."""
    command, verbs = (
        _loaded_by(
            "from dragoman.cli.main import VERBS, main\n"
            f"for words in {words}:\n"
            "    try: main([*words, '--help'])\n"
            "    except SystemExit as end: assert end.code == 0\n"
        )
        for words in ("[[]]", "[[verb] for verb in VERBS]")
    )
    assert not command & {"torch", "numpy", "msgspec", "yaml", *HEAVY}
    assert not verbs & ({"torch", "numpy", "yaml", *HEAVY} - {"msgspec"})


def test_reading_text_and_configurations_needs_no_extra() -> None:
    loaded = _loaded_by("import dragoman.text.side, dragoman.corpora.corpus, dragoman.runs.layout, dragoman.data.store")
    assert not loaded & {"torch", "sacrebleu", "babel", "matplotlib", "jinja2", "tqdm"}


def test_choosing_and_tuning_by_bleu_need_no_extra() -> None:
    loaded = _loaded_by("import dragoman.tuning.reranking, dragoman.tuning.mert, dragoman.tuning.multi_run_tests")
    assert not loaded & {"torch", "sacrebleu"}


def test_search_is_numpy_alone_and_imports_no_engine_but_the_protocol() -> None:
    files = sorted((PACKAGE / "search").glob("*.py"))
    assert len(files) >= 8
    for path in files:
        own = {name for _, name in _own_imports(path, _modules()) if name.startswith("engines")}
        assert own <= {"engines.protocol"}, path
    loaded = _loaded_by("import " + ", ".join(f"dragoman.search.{path.stem}" for path in files if path.stem[0] != "_"))
    assert not loaded & (HEAVY.keys() - {"msgspec"})
