"""What a release states in several files agrees: version, date, Python versions, licence, the files of its checks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import dragoman

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def declared_versions() -> list[str]:
    """The versions of Python that pyproject.toml declares."""
    return [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", line)]


def test_the_version_has_its_date_and_its_list_of_changes() -> None:
    citation = _yaml("CITATION.cff")
    assert citation["version"] == dragoman.__version__
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    [(newest, date), *_] = re.findall(r"^## (\S+) \((.*)\)$", text, flags=re.MULTILINE)
    assert newest == dragoman.__version__
    assert date in (str(citation["date-released"]), "not released")
    assert citation["license"] == PROJECT["license"]


def test_the_changes_of_a_version_are_read_in_minutes() -> None:
    [_, *versions] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")
    assert all(len(version.split()) <= 900 for version in versions)


def test_declared_versions_of_python_are_those_that_are_checked() -> None:
    declared = declared_versions()
    assert declared == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={declared[0]}"
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["ruff"]["target-version"] == f"py{declared[0].replace('.', '')}"
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in declared
    jobs = _yaml(".github/workflows/ci.yml")["jobs"]
    assert jobs["short"]["strategy"]["matrix"]["python"] == declared
    assert {"run": ".ci/run", "env": {"CI": "true"}} in jobs["linux"]["steps"]


def test_tests_and_extras_that_the_workflow_names_exist() -> None:
    steps = [step.get("run", "") for job in _yaml(".github/workflows/ci.yml")["jobs"].values() for step in job["steps"]]
    tests = re.findall(r"tests/[\w/.]+", "\n".join(steps))
    assert tests
    assert not [name for name in tests if not (ROOT / name).exists()]
    extras = {name for group in re.findall(r'"\.\[([\w,]+)\]"', "\n".join(steps)) for name in group.split(",")}
    assert {"train", "serve"} <= extras <= set(PROJECT["optional-dependencies"])


def test_issue_templates_ask_for_what_is_needed() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.name == "config.yml":
            continue
        assert {"name", "description", "body"} <= set(form)
        assert all(
            set(field) == {"type", "id", "attributes", "validations"} or field["id"] == "idea" for field in form["body"]
        )
    assert "dragoman doctor --json" in (ROOT / ".github/ISSUE_TEMPLATE/fault.yml").read_text(encoding="utf-8")


def test_the_containerfile_has_no_fault_that_its_linter_knows() -> None:
    if shutil.which("hadolint") is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run(["hadolint", ROOT / "Containerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
