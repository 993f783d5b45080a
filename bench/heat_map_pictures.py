"""Draw docs/images/bahdanau2015-figure-3-N.png: the weights of RNNsearch for sentences of our own.

    python bench/heat_map_pictures.py DIR/bahdanau2015-table1/runs/search-50-seed1

DIR is the folder of bench/reproduce_papers.sh. The text of its corpora is not ours to publish.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dragoman.cli.main import main as run_command

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SENTENCES = (
    "A young woman in a red jacket is reading a book on a park bench.",
    "Two children are playing with a ball in the snow.",
    "Click the cell whose contents you want to change.",
    "If you select this option, the text is displayed in a new window.",
)


def main(run: str) -> None:
    """Translate the sentences and draw them."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "lines")
        lines.write_text("\n".join([*SENTENCES, ""]), encoding="utf-8")
        code = run_command(
            ["heatmap", run, str(lines), "--out", f"{folder}/drawn", "--format", "png", "--threads", "1"]
        )
        if code:
            sys.exit(code)
        for drawn in sorted(Path(folder, "drawn").glob("*.png")):
            (IMAGES / f"bahdanau2015-figure-3-{drawn.name}").write_bytes(drawn.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
