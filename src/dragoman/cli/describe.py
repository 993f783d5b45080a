"""`dragoman describe`: the parts of a model, their shapes, and how many parameters they have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.training import DescriptionRequest
    from dragoman.workflows.configuration import DescribedModel

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

REQUEST = "dragoman.requests.training.DescriptionRequest"


def run(request: DescriptionRequest) -> None:
    """Print the description."""
    from dragoman.workflows.configuration import describe_model

    described = describe_model(request)
    print(_as_json(described) if request.json else _as_table(described))


def _as_table(described: DescribedModel) -> str:
    description = described.description
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


def _as_json(described: DescribedModel) -> str:
    description, (source, target) = described.description, described.vocabularies
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
            "preset": described.config.preset,
            "vocabulary": {"source": source, "target": target},
            "parts": parts,
            "count": description.count,
            "state": description.state,
            "step": description.step,
        },
        ensure_ascii=False,
        indent=2,
    )
