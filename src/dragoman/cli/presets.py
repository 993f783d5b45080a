"""`dragoman presets`: the list of presets."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser

SUMMARY = "list the presets"
DESCRIPTION = (
    "Lists the presets with one line each. The general ones come first, then those of each paper. A\n"
    "variant follows the preset that it is based on."
)
EXAMPLES = ("dragoman presets", "dragoman describe bahdanau2015", "dragoman config standard > mine.yaml")


def add_options(parser: Parser) -> None:
    """Declare the options of `presets`."""
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print one line per preset, with a blank line between papers."""
    from dragoman.config.presets import families, preset_title

    listed = families()
    width = max(len(name) for family in listed for name in family)
    print("\n\n".join("\n".join(f"{name:<{width}}  {preset_title(name)}" for name in family) for family in listed))
