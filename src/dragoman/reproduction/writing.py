"""Writes the result of an experiment: result.json, index.html, result.md, and a file for each figure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.reproduction.page import html_page, markdown_page
from dragoman.text.lines import replace_file

_AXES = {
    "learning-curves": ("updates", "ln(dev perplexity)"),
    "source-length": ("source length in words", "BLEU"),
    "reference-length": ("reference length in words", "BLEU"),
    "rarity": ("mean frequency rank of source words", "BLEU"),
    "states": ("first principal component", "second principal component"),
    "phrase-scores": ("ln p(target | source), network", "ln p(target | source), phrase table"),
}
_SCATTERED = ("states", "phrase-scores")


def write_result(result: Mapping[str, Any], folder: Path, *, heat_maps: Path) -> None:
    """Write the result of an experiment; the paths of its heat maps are relative to `heat_maps`.

    Raises:
        InputError: a file cannot be written.
    """
    from dragoman.report.pictures import draw_beside, draw_labelled

    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, bytes] = {}
    for name, figure in result["figures"].items():
        if not any(figure["ours"].values()):
            continue
        if "labels" in figure:
            picture = draw_labelled(figure["ours"]["points"], figure["labels"])
        else:
            across, upwards = _AXES[figure["kind"]]
            joined = figure["kind"] not in _SCATTERED
            picture = draw_beside(figure["paper"], figure["ours"], across=across, upwards=upwards, joined=joined)
        pictures[name] = picture
    for maps in result["heat maps"].values():
        for path in maps:
            pictures[path] = (heat_maps / path).read_bytes()
    files = {name: f"{name.replace('/', '-').removesuffix('.svg')}.svg" for name in pictures}
    for name, picture_bytes in pictures.items():
        with replace_file(folder / files[name], binary=True) as file:
            file.write(picture_bytes)
    pages = {
        "result.json": json.dumps(result, indent=1, ensure_ascii=False) + "\n",
        "result.md": markdown_page(result, files),
        "index.html": html_page(result, {name: _data_url(picture) for name, picture in pictures.items()}),
    }
    for name, text in pages.items():
        with replace_file(folder / name) as file:
            file.write(text)


def _data_url(picture: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"
