"""`dragoman presets`: the list of presets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.installation import PresetsRequest

SUMMARY = "list the presets"
DESCRIPTION = (
    "Lists the presets with one line each. The general ones come first, then those of each paper. A\n"
    "variant follows the preset that it is based on."
)
EXAMPLES = ("dragoman presets", "dragoman describe bahdanau2015", "dragoman config standard > mine.yaml")

REQUEST = "dragoman.requests.installation.PresetsRequest"


def run(request: PresetsRequest) -> None:
    """Print one line per preset, with a blank line between papers."""
    from dragoman.config.presets import families, preset_title

    listed = families()
    width = max(len(name) for family in listed for name in family)
    print("\n\n".join("\n".join(f"{name:<{width}}  {preset_title(name)}" for name in family) for family in listed))
