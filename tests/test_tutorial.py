"""The first tutorial runs from its first cell to its last and shows what it says; building the site runs them all."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

pytestmark = pytest.mark.docs

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorials" / "train-and-look.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook after all its cells, in a folder of its own, on one thread."""
    folder = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "OMP_NUM_THREADS", "1")
        patch.setitem(os.environ, "IPYTHONDIR", str(folder / "ipython"))
        notebook = nbformat.read(TUTORIAL, as_version=4)
        notebook = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
        notebook.metadata["left behind"] = sorted(path.name for path in folder.iterdir() if path.name != "ipython")
        return notebook


def shown(notebook: NotebookNode, beginning: str) -> dict[str, str]:
    """What the cell whose code holds `beginning` has shown, by MIME type; its prints as text/plain."""
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and beginning in cell.source)
    data = {"text/plain": "".join(out.text for out in cell.outputs if out.output_type == "stream")}
    for out in cell.outputs:
        data.update(out.get("data", {}))
    return data


TUTORIALS = sorted([*TUTORIAL.parent.glob("*.ipynb"), *TUTORIAL.parents[1].glob("ko/tutorials/*.ipynb")])


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


def test_it_shows_no_progress_bars_and_leaves_nothing_behind(executed: NotebookNode) -> None:
    printed = [out.text for cell in executed.cells for out in cell.get("outputs", []) if out.output_type == "stream"]
    assert not [text for text in printed if "%|" in text or "\r" in text.replace("\r\n", "") or "\x1b" in text]
    assert executed.metadata["left behind"] == []


def test_the_corpus_is_inspected(executed: NotebookNode) -> None:
    assert "8,000 pairs" in shown(executed, "dragoman inspect")["text/plain"]


def test_a_translation_shows_its_heat_map(executed: NotebookNode) -> None:
    assert "<table" in shown(executed, "translator = dragoman.load")["text/html"]


def test_the_model_has_learnt_something(executed: NotebookNode) -> None:
    table = shown(executed, "dragoman.measure")["text/plain"]
    assert float(table.split()[1]) > 20, table  # BLEU
    right, turned = (float(line.split()[0]) for line in shown(executed, "turned =")["text/plain"].splitlines())
    assert right > turned


def test_slices_are_drawn(executed: NotebookNode) -> None:
    assert "image/png" in shown(executed, "pyplot")
