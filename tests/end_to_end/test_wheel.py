"""The wheel and the source archive of a release: built, checked, installed in a clean environment, and used there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from email.parser import Parser
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import EXTRAS
from tests.test_release import declared_versions

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
        infos = archive.infolist()
        names = {info.filename for info in infos}
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
    runtime = {name for name in names if name.startswith("dragoman/website/onnxruntime-web/")}
    assert {name.partition("/")[0] for name in names} == {"dragoman", described}
    assert {name for name in names - runtime if name.startswith("dragoman/")} == files  # no tests, no measurements
    assert sum(info.compress_size for info in infos if info.filename not in runtime) < 1_500_000
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
    needed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "needed.pth").write_text("\n".join(needed), encoding="utf-8")
    home = _run(python, "-c", "import dragoman; print(dragoman.__file__)")
    assert Path(home).parents[1] == packages
    assert _run(command, "--version").startswith(f"dragoman {dragoman.__version__}\n")
    assert _run(command, "translate", light, "--threads", 1, "--quiet", stdin="ab c\n", OMP_NUM_THREADS="1") == "AB C\n"


@pytest.mark.processes
def test_a_wheel_built_from_the_source_archive_is_the_same(wheel: Path, tmp_path: Path) -> None:
    backend = (sys.executable, "-m", "hatchling", "build")
    subprocess.run([*backend, "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True, capture_output=True)
    [source] = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    kept = {path.name for path in unpacked.iterdir()}
    assert {"src", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "pyproject.toml"} <= kept
    assert not {"tests", "bench", "docs"} & kept
    subprocess.run([*backend, "-t", "wheel", "-d", tmp_path], cwd=unpacked, check=True, capture_output=True)
    with zipfile.ZipFile(wheel) as built, zipfile.ZipFile(tmp_path / wheel.name) as rebuilt:
        assert {info.filename: info.CRC for info in rebuilt.infolist()} == {
            info.filename: info.CRC for info in built.infolist()
        }
    if importlib.util.find_spec("twine"):
        _run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)


def _pythons() -> Iterator[str]:
    """The interpreters of the declared versions that this machine has, but for the one that runs the tests."""
    for version in declared_versions():
        if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
            continue
        places = [*map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin")), os.environ["PATH"]]
        found = shutil.which(f"python{version}", path=os.pathsep.join(places))
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            yield found


@pytest.mark.processes
def test_the_command_starts_on_every_declared_python(wheel: Path, tmp_path: Path) -> None:
    pythons = list(_pythons())
    if not pythons:
        pytest.skip("no other declared Python is installed")
    for number, base in enumerate(pythons):
        env = tmp_path / str(number)
        _run(base, "-m", "venv", "--without-pip", env)
        _run(
            sys.executable, "-m", "pip", "--python", env / "bin" / "python", "install", "--no-deps", "--no-index", wheel
        )
        _run(env / "bin" / "python", "-W", "error", "-c", "import dragoman; assert dragoman.__version__")
        assert _run(env / "bin" / "dragoman", "--version").startswith(f"dragoman {dragoman.__version__}\n")
        assert "completion" in _run(env / "bin" / "dragoman", "--help")
        [package] = (env / "lib").glob("python*/site-packages/dragoman")
        _run(env / "bin" / "python", "-W", "error", "-m", "compileall", "-qf", package)


CONTAINED = """
mount -o remount,ro,bind / / && mount -t tmpfs tmpfs /var/tmp && cd / &&
exec setpriv --bounding-set -all --inh-caps -all --no-new-privs "$@"
"""
"""A shell program that runs a command as a container does: nothing to write to but one folder, no rights of root."""


@pytest.mark.processes
def test_the_commands_of_the_containerfile_serve_where_nothing_can_be_written(light: Path) -> None:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    words = dict(line.partition(" ")[::2] for line in text.splitlines())  # of each instruction the last
    assert int(words["USER"].partition(":")[0])
    container = ["unshare", "--mount", "--propagation", "private", "sh", "-c", CONTAINED, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*container, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    assert subprocess.run([*container, "touch", light / "new"], check=False, capture_output=True).returncode
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": "/var/tmp",
        "TMPDIR": "/var/tmp",
    }
    start = [*json.loads(words["ENTRYPOINT"]), f"de:en={light}", "--port", str(port), "--threads", "1", "--preload"]
    check = [word.replace(":5000/", f":{port}/") for word in json.loads(words["HEALTHCHECK"].partition("CMD ")[2])]
    with subprocess.Popen([*container, *start], stderr=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stderr is not None
            assert json.loads(server.stderr.readline())["url"].endswith(f":{port}")
            subprocess.run(check, check=True, timeout=60, env=environment)
        finally:
            server.terminate()
        assert server.wait(60) == 0
    assert subprocess.run(check, check=False, capture_output=True, env=environment).returncode
