"""`dragoman describe`: the parts of a model, their shapes, and how many parameters they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config, TextConfig
    from dragoman.model.description import Description
    from dragoman.requests.training import DescriptionRequest

SUMMARY = "show the parts of a model, their shapes and parameter counts"
DESCRIPTION = (
    "Lists the parts of a model with the shapes and counts of their parameters, and outlines one\n"
    "decoder step. It allocates no parameters and describes models of any size. Vocabulary sizes are\n"
    "those of the run, or the maximum that the configuration allows."
)
EXAMPLES = (
    "dragoman describe bahdanau2015",
    "dragoman describe luong2015-global-dot --scale 0.25 --vocabulary 8000 8000",
    "dragoman describe RUN --json",
)


class DescribedModel(NamedTuple):
    """A configuration, and the vocabulary sizes of its run; None for the maximum that it allows."""

    config: Config
    vocabularies: tuple[int, int] | None


REQUEST = "dragoman.requests.training.DescriptionRequest"


def run(request: DescriptionRequest) -> None:
    """Print the description."""
    from dragoman.model.description import describe
    from dragoman.workflows.configuration import changed

    described = _find(request.what)
    config = changed(described.config, request.changes)
    source, target = request.vocabulary or described.vocabularies or _largest(config.text)
    description = describe(config.model, source, target)
    print(_as_json(description, config, source, target) if request.json else _as_table(description))


def _find(what: str) -> DescribedModel:
    """Find a preset of that name, else a run folder or configuration file at that path.

    Raises:
        ConfigError, RunError: there is none, or it cannot be read.
    """
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset, preset_names
    from dragoman.runs.layout import RunFolder

    path = Path(what)
    if what not in preset_names() and path.is_dir():
        folder = RunFolder(path)
        config = folder.load_config()
        return DescribedModel(config, (len(folder.source_side().vocabulary), len(folder.target_side().vocabulary)))
    if what not in preset_names() and (path.exists() or path.suffix in (".yaml", ".yml")):
        return DescribedModel(load_config(path), None)
    try:
        return DescribedModel(load_preset(what), None)
    except ConfigError as error:
        raise ConfigError(f"no file or folder {what}, and {error}") from None


def _largest(text: TextConfig) -> tuple[int, int]:
    return text.source.vocabulary, (text.source if text.joint else text.target).vocabulary


def _as_table(description: Description) -> str:
    names = max(len(parameter.name) for part in description.parts for parameter in part.parameters)
    rows = []
    for part in description.parts:
        rows.append((part.name, part.words, f"{part.count:,}"))
        for parameter in part.parameters:
            shape = " x ".join(map(str, parameter.shape)) or "1"
            rows.append(("", f"{parameter.name:<{names}}  {shape}", f"{parameter.count:,}"))
    rows.append(("total", "", f"{description.count:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{name:<{widths[0]}}  {text:<{widths[1]}}  {count:>{widths[2]}}" for name, text, count in rows]
    return "\n".join([*lines, "", f"state  {description.state:,} numbers", f"step   {description.step}"])


def _as_json(description: Description, config: Config, source: int, target: int) -> str:
    parts = [
        {
            "name": part.name,
            "words": part.words,
            "count": part.count,
            "parameters": [{"name": p.name, "shape": p.shape, "count": p.count} for p in part.parameters],
        }
        for part in description.parts
    ]
    return json.dumps(
        {
            "preset": config.preset,
            "vocabulary": {"source": source, "target": target},
            "parts": parts,
            "count": description.count,
            "state": description.state,
            "step": description.step,
        },
        ensure_ascii=False,
        indent=2,
    )
