"""A paper's model made small enough for the machine at hand: its sizes together, and what depends on them.

What a paper states in absolute numbers either follows the sizes or stays; `docs/papers/small-sizes.md` says
why for each.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

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
"""Keys below `model` that grow and shrink together; vocabularies, lengths and slots count words and stay."""

ABSOLUTE_LAWS = ("uniform", "gaussian", "orthogonal")
"""Initial values whose range or deviation is a number; those of `lecun` depend on the sizes by themselves."""

LUONG_SOURCE_LENGTH = 25.8
"""Mean source length of the text that D = 10 was chosen for (Luong et al. 2015, section 4.1: 116M English words in 4.5M
sentences)."""


class ScaledValue(NamedTuple):
    """A value that `scale` changed, and why."""

    key: str
    """Dotted, such as `model.encoder.size`."""
    note: str


def scale(config: Config, factor: float, *, sizes_only: bool = False) -> Config:
    """The configuration of a model whose sizes are `factor` times as large, rounded to whole numbers from 1 on.

    So the ratios of a paper stay: 500 maxout units are half of 1000 at any scale, but for the rounding. Encoder and
    decoder stay multiples of the heads of the attention, which divide their states. Unless `sizes_only`, three things
    follow:

    - Initial values with a stated range or deviation are divided by sqrt(factor). The gain of a layer of n units with
      U(-a, a) is a sqrt(n / 3): 1.8 for the 0.1 and 1,000 units of Luong et al. 2015, but 0.65 for 128 units with the
      same 0.1, and in a stack the gains of all layers multiply. `lecun` needs no change.
    - With plain SGD the clipping norm is multiplied by sqrt(factor), as is the norm of the gradient of a matrix: so it
      clips as often, and an update is as large beside the weights. The rate stays. (Adam and Adadelta divide by the
      size of gradients themselves.)
    - The window of local-m follows the sentences of the training text (`model.attention.reference_length`). That of
      local-p keeps the paper's D: its Gaussian, of deviation D / 2, is all that moves p_t.

    Raises:
        ConfigError: rounding breaks a relation that the parts need.
    """
    values: dict[str, Any] = config.values()
    model = values["model"]
    for section, key in SIZES:
        size = model[section][key]
        if size is not None:
            step = model["attention"]["heads"] if section in ("encoder", "decoder") else 1
            model[section][key] = step * max(1, round(size * factor / step))
    if not sizes_only:
        if model["initialisation"] in ABSOLUTE_LAWS:
            model["init_scale"] = _rounded(model["init_scale"] / math.sqrt(factor))
        optimiser = values["training"]["optimiser"]
        if optimiser["name"] == "sgd" and optimiser["max_gradient_norm"] is not None:
            optimiser["max_gradient_norm"] = _rounded(optimiser["max_gradient_norm"] * math.sqrt(factor))
        if model["attention"]["scope"] == "local-m" and model["decoder"]["context"] == "attended":
            model["attention"]["reference_length"] = LUONG_SOURCE_LENGTH
    return build_config(values, f"--scale {factor:g}")


def _rounded(number: float) -> float:
    """Four significant digits, which a configuration file shows well."""
    return float(f"{number:.4g}")


def scaled_values(before: Config, after: Config, factor: float) -> list[ScaledValue]:
    """What `scale` changed, with notes for `dragoman config`."""
    changes = []
    for section, key in SIZES:
        old, new = (getattr(getattr(config.model, section), key) for config in (before, after))
        if old != new:
            changes.append(ScaledValue(f"model.{section}.{key}", f"--scale {factor:g}: {old} units x {factor:g}"))
    if before.model.init_scale != after.model.init_scale:
        note = f"--scale {factor:g}: {before.model.init_scale:g} / sqrt({factor:g}); --sizes-only keeps it"
        changes.append(ScaledValue("model.init_scale", note))
    norm, scaled_norm = (config.training.optimiser.max_gradient_norm for config in (before, after))
    if norm != scaled_norm:
        note = f"--scale {factor:g}: {norm:g} x sqrt({factor:g}); --sizes-only keeps it"
        changes.append(ScaledValue("training.optimiser.max_gradient_norm", note))
    if before.model.attention.reference_length != after.model.attention.reference_length:
        note = f"--scale {factor:g}: the mean source length of Luong et al. 2015; --sizes-only leaves the window"
        changes.append(ScaledValue("model.attention.reference_length", note))
    return changes
