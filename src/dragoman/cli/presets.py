"""`dragoman presets`: which presets there are."""

from __future__ import annotations

import argparse

from dragoman.cli.parsing import Parser, add_general_options

SUMMARY = "list the presets"
DESCRIPTION = "Lists the presets, a name and what it is on each line, separated by a tab."
EXAMPLES = ("dragoman presets", "dragoman config standard > mine.yaml")


def add_options(parser: Parser) -> None:
    """Declare the options of `presets`."""
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print a line for each preset; what it is stands in the comment that its file begins with."""
    from dragoman.config.presets import preset_names, preset_text

    for name in preset_names():
        first = preset_text(name).partition("\n")[0]
        print(f"{name}\t{first.removeprefix('#').strip()}")
