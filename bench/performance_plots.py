"""Draw the plots of docs/performance.md and of the lab book from the figures in bench/results, as SVG into docs/images.

    python bench/performance_plots.py

Four pictures: BLEU over minutes of training, translation (tokens a second, and milliseconds for a sentence that comes
alone) beside OpenNMT-py with the same weights, memory, and what is left to edit of a document whose corrections are
learnt. Nothing is measured here.
tests/site/test_performance.py compares page and results.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
IMAGES = ROOT / "docs" / "images"
DECODERS = {
    "opennmt": "OpenNMT-py",
    "dragoman torch fp32": "run folder",
    "dragoman onnx fp32": "exported",
    "dragoman onnx int8": "exported, int8",
    "dragoman onnx int8 shortlist": "int8, shortlist",
}
"""Names of decoders in the results, and on the page."""

SYSTEMS = (
    (("dragoman-by-updates",), "Dragoman, standard", "o-"),
    (("opennmt-recurrent",), "OpenNMT-py, recurrent", "o-"),
    (("opennmt-transformer", "opennmt-transformer-by-updates"), "OpenNMT-py, Transformer", "s--"),
)
"""Names in the results of what makes one line, its name in the picture, and how it is drawn."""
OURS, PEER = "#2a6f97", "#a7a7a7"


def read(name: str) -> dict[str, Any]:
    """The results of one program, bench/results/NAME.json."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return results


def quality(metric: str = "bleu", text: str = "captions") -> dict[str, list[tuple[int, float]]]:
    """Minutes and BLEU, the mean of the seeds, by system.

    Args:
        metric: "bleu" or "bleu_lowercased_tokenised".
        text: "captions" or "manual".
    """
    scores: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((RESULTS / "quality").glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        if row.get("text", "captions") == text:
            scores[row["system"]][row["minutes"]].append(row[metric])
    if (metric, text) == ("bleu", "captions"):  # measured before a row was a file of its own
        for minutes, kits in read("quality")["minutes"].items():
            scores["opennmt-recurrent"][int(minutes)].append(kits["opennmt"]["bleu"])
    return {system: [(minutes, mean(found[minutes])) for minutes in sorted(found)] for system, found in scores.items()}


def translation() -> dict[str, dict[str, float]]:
    """Tokens a second, milliseconds for a sentence alone, and megabytes by decoder, beam 5."""
    decoders = read("decoding")["weights"]["opennmt"]["decoders"]
    return {
        label: {
            "tokens a second": decoders[name]["multi30k beam 5"]["tokens_per_second"],
            "milliseconds": 1000 / decoders[name]["multi30k beam 5 one at a time"]["sentences_per_second"],
            "memory": decoders[name]["multi30k beam 5"]["peak_memory_mb"],
        }
        for name, label in DECODERS.items()
    }


def main() -> None:
    """Draw all pictures."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "dragoman", "font.size": 9})
    mpl.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot as plt

    def save(figure: Any, name: str) -> None:
        figure.tight_layout()
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)

    figure, axes = plt.subplots(figsize=(5, 3))
    points = quality()
    for systems, label, style in SYSTEMS:
        line = sorted(point for system in systems for point in points[system])
        axes.plot(*zip(*line, strict=True), style, label=label, color=OURS if "Dragoman" in label else PEER)
    axes.set(xlabel="minutes of training, two cores", ylabel="BLEU, test_2016_flickr", ylim=(0, 45))
    axes.legend(frameon=False, loc="lower right")
    save(figure, "performance-quality")

    rows = translation()
    colours = [PEER if label == "OpenNMT-py" else OURS for label in rows]

    def bars(axes: Any, measure: str, title: str) -> None:
        values = [row[measure] for row in rows.values()]
        drawn = axes.barh(list(rows), values, color=colours)
        axes.bar_label(drawn, [f"{value:,.0f}" for value in values], padding=3)
        axes.set(title=title, xticks=[], xlim=(0, max(values) * 1.25))
        axes.spines["bottom"].set_visible(False)
        axes.invert_yaxis()

    figure, both = plt.subplots(1, 2, figsize=(8, 2.4), sharey=True)
    bars(both[0], "tokens a second", "output tokens a second")
    bars(both[1], "milliseconds", "ms for a sentence that comes alone")
    save(figure, "performance-translation")
    figure, axes = plt.subplots(figsize=(5, 2.4))
    bars(axes, "memory", "memory at most, MB")
    save(figure, "performance-memory")

    figure, axes = plt.subplots(figsize=(7, 3))
    for name, colour, style in (
        ("static", PEER, "-"),
        ("memory", PEER, "--"),
        ("learning", OURS, "--"),
        ("both", OURS, "-"),
    ):
        curve = read("learning-1000")["shown"][name]["TER of each 50"]
        axes.plot(range(50, 50 * len(curve) + 1, 50), curve, style, label=name, color=colour)
    axes.set(xlabel="segments corrected so far", ylabel="TER of the last 50")
    axes.legend(frameon=False, ncols=4, loc="upper left")
    save(figure, "learning")


if __name__ == "__main__":
    main()
