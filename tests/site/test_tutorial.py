"""The first tutorial shows what it says. Building the site runs it, from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = "train-and-look.ipynb"
EXECUTED = DOCS / "_build" / "jupyter_execute" / "tutorials"
"""Where the build leaves the notebooks with their outputs."""


@pytest.fixture(scope="module")
def executed() -> NotebookNode:
    """The notebook after all its cells."""
    if not (DOCS / "_build" / "html").exists():
        pytest.skip("the site is not built: make docs")
    return nbformat.read(EXECUTED / TUTORIAL, as_version=4)


def shown(notebook: NotebookNode, beginning: str) -> dict[str, str]:
    """What the cell whose code holds `beginning` has shown, by MIME type; its prints as text/plain."""
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and beginning in cell.source)
    data = {"text/plain": "".join(out.text for out in cell.outputs if out.output_type == "stream")}
    for out in cell.outputs:
        data.update(out.get("data", {}))
    return data


TUTORIALS = sorted([*DOCS.glob("tutorials/*.ipynb"), *DOCS.glob("ko/tutorials/*.ipynb")])


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.site
def test_it_shows_no_progress_bars_and_leaves_nothing_behind(executed: NotebookNode) -> None:
    printed = [out.text for cell in executed.cells for out in cell.get("outputs", []) if out.output_type == "stream"]
    assert not [text for text in printed if "%|" in text or "\r" in text.replace("\r\n", "") or "\x1b" in text]
    beside = [path.name for path in (DOCS / "tutorials").iterdir() if not path.name.startswith(".")]
    assert [name for name in beside if not name.endswith(".ipynb")] == []


@pytest.mark.site
def test_the_corpus_is_inspected(executed: NotebookNode) -> None:
    assert "8,000 pairs" in shown(executed, "dragoman inspect")["text/plain"]


@pytest.mark.site
def test_a_translation_shows_its_heat_map(executed: NotebookNode) -> None:
    assert "<table" in shown(executed, "translator = dragoman.load")["text/html"]


@pytest.mark.site
def test_the_model_has_learnt_something(executed: NotebookNode) -> None:
    table = shown(executed, "dragoman.measure")["text/plain"]
    assert float(table.split()[1]) > 20, table  # BLEU
    right, turned = (float(line.split()[0]) for line in shown(executed, "turned =")["text/plain"].splitlines())
    assert right > turned


@pytest.mark.site
def test_slices_are_drawn(executed: NotebookNode) -> None:
    assert "image/png" in shown(executed, "pyplot")
