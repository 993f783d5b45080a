"""`dragoman presets`: which presets there are."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.parsing import Parser, add_general_options

SUMMARY = "list the presets"
DESCRIPTION = (
    "Lists the presets, a name and what it is on each line: first those of our own, then paper by paper,\n"
    "each after the one that it changes."
)
EXAMPLES = ("dragoman presets", "dragoman describe bahdanau2015", "dragoman config standard > mine.yaml")


def add_options(parser: Parser) -> None:
    """Declare the options of `presets`."""
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Print a line for each preset, families apart; what it is stands in the comment that its file begins with."""
    from dragoman.config.presets import families, preset_title

    listed = families()
    width = max(len(name) for family in listed for name in family)
    print("\n\n".join("\n".join(f"{name:<{width}}  {preset_title(name)}" for name in family) for family in listed))
