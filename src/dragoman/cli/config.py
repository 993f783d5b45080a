"""`dragoman config`: the complete configuration behind a preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.training import ConfigurationRequest

SUMMARY = "print the complete configuration of a preset"
DESCRIPTION = (
    "Prints a preset as a complete configuration file: all defaults written out, every key explained,\n"
    "and in brackets the section of the paper that a value comes from, or what --scale made of it.\n"
    "With --train it prints what `dragoman train` chooses for that text, and why, and how long it trains."
)
EXAMPLES = (
    "dragoman config standard > mine.yaml",
    "dragoman config bahdanau2015 --scale 0.25 --set training.epochs=5",
    "dragoman config --train corpus.zh corpus.en --minutes 20",
)

REQUEST = "dragoman.requests.training.ConfigurationRequest"


def run(request: ConfigurationRequest) -> None:
    """Print the configuration."""
    from dragoman.workflows.configuration import configuration_file

    print(configuration_file(request), end="")
