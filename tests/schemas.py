"""The JSON Schemas of the documentation, which real outputs are held against."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

SCHEMAS = Path(__file__).parents[1] / "docs" / "reference" / "schemas"


def require_fits(name: str, value: object) -> None:
    """Compare a JSON value with docs/reference/schemas/NAME.json.

    Raises:
        jsonschema.ValidationError: it does not fit.
    """
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(value)
