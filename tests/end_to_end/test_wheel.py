"""The wheel that a release consists of: built, installed in a clean environment, and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import EXTRAS

ROOT = Path(__file__).parents[2]


def _run(*command: object, stdin: str = "", **variables: str) -> str:
    """Run a command in an environment that does not know this checkout, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        input=stdin,
        env={**environment, **variables},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(shared_folder: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    def fill(folder: Path) -> None:
        # pip asks no index: the build backend is installed, and the packages that dragoman needs are left out.
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        _run(*pip, "wheel", ROOT, "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder)

    [path] = shared_folder("wheel", fill).glob("*.whl")
    return path


@pytest.mark.processes
def test_the_wheel_holds_every_file_of_the_package_and_says_what_it_is(wheel: Path) -> None:
    assert wheel.name == f"dragoman-{dragoman.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        described = f"dragoman-{dragoman.__version__}.dist-info"
        facts = Parser().parsestr(archive.read(f"{described}/METADATA").decode())
        assert "dragoman = dragoman.cli.main:main" in archive.read(f"{described}/entry_points.txt").decode()
    source = ROOT / "src"
    tracked = _run("git", "-C", ROOT, "ls-files", "src") if (ROOT / ".git").exists() else None
    files = (
        {name.removeprefix("src/") for name in tracked.splitlines()}
        if tracked is not None
        else {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    )
    assert files <= names
    assert {"dragoman/py.typed", "dragoman/presets/demo.yaml", f"{described}/licenses/LICENSE"} <= names
    assert (facts["Name"], facts["Version"]) == ("dragoman", dragoman.__version__)
    assert set(EXTRAS) <= set(facts.get_all("Provides-Extra") or [])


@pytest.mark.processes
def test_the_wheel_works_in_a_clean_environment(wheel: Path, light: Path, tmp_path: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python, command = tmp_path / "env" / "bin" / "python", tmp_path / "env" / "bin" / "dragoman"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    # What the wheel needs is already here. A path file adds its folder, but not the path files in it, so that this
    # checkout, which is installed by one, cannot be taken for the wheel.
    [packages] = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    home = _run(python, "-c", "import dragoman; print(dragoman.__file__)")
    assert Path(home).parents[1] == packages
    assert _run(command, "--version").startswith(f"dragoman {dragoman.__version__}\n")
    assert _run(command, "translate", light, "--threads", 1, "--quiet", stdin="ab c\n", OMP_NUM_THREADS="1") == "AB C\n"
