"""All sizes of a model together: a paper's composition, made small enough for the machine at hand."""

from __future__ import annotations

from typing import Any

from dragoman.config.building import build_config
from dragoman.config.schema import Config

SIZES = (
    ("embedding", "source"),
    ("embedding", "target"),
    ("encoder", "size"),
    ("decoder", "size"),
    ("attention", "size"),
    ("readout", "size"),
    ("readout", "rank"),
)
"""Keys below `model` that grow and shrink together; vocabularies, windows and slots count words and stay."""


def scale(config: Config, factor: float) -> Config:
    """The configuration with the sizes of its model multiplied, rounded to whole numbers from 1 on.

    So the ratios of a paper stay: 500 maxout units are half of 1000 at any scale, but for the rounding.

    Raises:
        ConfigError: rounding breaks a relation that the parts need.
    """
    values: dict[str, Any] = config.values()
    for section, key in SIZES:
        size = values["model"][section][key]
        if size is not None:
            values["model"][section][key] = max(1, round(size * factor))
    return build_config(values, f"--scale {factor:g}")
