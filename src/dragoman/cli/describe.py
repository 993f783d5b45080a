"""`dragoman describe`: the parts of a model, their shapes, and how many parameters they have."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.cli.config import add_change_options, changed
from dragoman.cli.shared.parsing import Parser, add_general_options, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config, TextConfig
    from dragoman.model.description import Description

SUMMARY = "show the parts of a model, their shapes and parameter counts"
DESCRIPTION = (
    "Shows the parts of a model, the shapes of their parameters, how many there are, and how a step goes.\n"
    "Nothing is trained and no memory is used, so a paper's full size is no trouble. Vocabularies are a run's own, or\n"
    "the largest that the configuration allows."
)
EXAMPLES = (
    "dragoman describe bahdanau2015",
    "dragoman describe luong2015-global-dot --scale 0.25 --vocabulary 8000 8000",
    "dragoman describe RUN --json",
)


class Described(NamedTuple):
    """What is described: its configuration, and the vocabularies of a run, or of None its largest."""

    config: Config
    vocabularies: tuple[int, int] | None


def add_options(parser: Parser) -> None:
    """Declare the options of `describe`."""
    parser.add_argument(
        "what",
        metavar="PRESET|CONFIG.yaml|RUN",
        help="a name that `dragoman presets` lists, a configuration file, or a run folder",
    )
    add_change_options(parser)
    parser.add_argument(
        "--vocabulary",
        nargs=2,
        type=positive_int,
        metavar=("SRC", "TGT"),
        help="entries of both vocabularies, the four special symbols included",
    )
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print the description."""
    found = _find(options.what)
    config = changed(found.config, options)

    from dragoman.model.description import describe

    source, target = options.vocabulary or found.vocabularies or _largest(config.text)
    description = describe(config.model, source, target)
    print(_as_json(description, config, source, target) if options.json else _as_table(description))


def _find(what: str) -> Described:
    """A preset of that name, else the run or the file of that path.

    Raises:
        ConfigError, RunError: there is none, or it is not what it should be.
    """
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset, preset_names
    from dragoman.runs.layout import RunFolder

    path = Path(what)
    if what not in preset_names() and path.is_dir():
        folder = RunFolder(path)
        config = folder.load_config()
        return Described(config, (len(folder.source_side().vocabulary), len(folder.target_side().vocabulary)))
    if what not in preset_names() and (path.exists() or path.suffix in (".yaml", ".yml")):
        return Described(load_config(path), None)
    try:
        return Described(load_preset(what), None)
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
            rows.append(("", f"{parameter.name:<{names}}  {_shape(parameter.shape)}", f"{parameter.count:,}"))
    rows.append(("total", "", f"{description.count:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{name:<{widths[0]}}  {text:<{widths[1]}}  {count:>{widths[2]}}" for name, text, count in rows]
    return "\n".join([*lines, "", f"state  {description.state:,} numbers", f"step   {description.step}"])


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


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
