"""Pages of the reference, printed from the code: commands, configuration, presets, Python, HTTP, exit codes.

Each function returns one page as Markdown (MyST); `write` puts all of them into a folder that git ignores. Nothing is
written here that the code states: a new option, key, preset, public name or route appears with the next build.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import dragoman
from dragoman.cli.main import EXTRAS, VERBS
from dragoman.cli.shared.parsing import Parser
from dragoman.config.files import value_at
from dragoman.config.language_model import LanguageConfig
from dragoman.config.presets import families, lineage, load_preset, preset_comments, preset_title
from dragoman.config.schema import Config
from dragoman.config.section import Key, Section, keys_of
from dragoman.errors import DragomanError

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#$~^{}])")
_KIND = "Printed from the code."


def write(folder: Path) -> list[Path]:
    """Write all pages below `folder`, leaving those that have not changed, and return their paths.

    Pages that are no longer printed are removed.
    """
    paths = []
    for name, text in pages().items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        paths.append(path)
    for old in set(folder.rglob("*.md")) - set(paths):
        old.unlink()
    return paths


def pages() -> dict[str, str]:
    """All pages by name."""
    commands = {page_of_command(verb): command_page(verb) for verb in VERBS}
    return {
        "commands": commands_page(),
        **commands,
        "configuration": configuration_page(Config, "Configuration", "of a translation model"),
        "language-model-configuration": configuration_page(
            LanguageConfig, "Configuration of language models", "of a language model (`dragoman lm train`)"
        ),
        "presets": presets_page(),
        "python": python_page(),
        "http": http_page(),
        "json": json_page(),
        "exit-codes": exit_codes_page(),
    }


def commands_page() -> str:
    """All commands with their summaries, in the groups of `dragoman --help`."""
    lines = ["# Commands", "", _KIND, ""]
    for heading, verbs in VERBS.groups.items():
        lines += [f"## {heading[0].upper()}{heading[1:]}", "", "| command | |", "| --- | --- |"]
        lines += [f"| [`{verb}`]({page_of_command(verb)}.md) | {_escaped(VERBS[verb].SUMMARY)} |" for verb in verbs]
        lines += [
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *(f"{verb} <{page_of_command(verb)}>" for verb in verbs),
            "```",
            "",
        ]
    return "\n".join(lines)


def page_of_command(verb: str) -> str:
    """The name of the page of a verb."""
    return f"commands/{verb.replace(' ', '-')}"


def parser_of(verb: str) -> Parser:
    """The parser of a verb, as the command makes it."""
    module = VERBS[verb]
    parser = Parser(prog=f"dragoman {verb}", description=module.DESCRIPTION, examples=module.EXAMPLES)
    module.add_options(parser)
    return parser


def command_page(verb: str) -> str:
    """One command: usage, description, every option with its default, examples."""
    parser, module = parser_of(verb), VERBS[verb]
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    lines = [
        f"# dragoman {verb}",
        "",
        _KIND,
        "",
        _escaped(_sentence(module.SUMMARY.capitalize() if module.SUMMARY.islower() else module.SUMMARY)),
        "",
        "```text",
        *textwrap.wrap(usage, 96, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False),
        "```",
        "",
    ]
    lines += [*_paragraphs(module.DESCRIPTION), ""]
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if actions:
            title = (group.title or "options").removesuffix(":")
            lines += [f"## {title[0].upper()}{title[1:]}", ""]
            lines += [_escaped(group.description), ""] if group.description else []
            lines += [line for action in actions for line in _option(parser, action)]
    lines += ["## Examples", "", "```sh", *module.EXAMPLES, "```", ""]
    return "\n".join(lines)


def _option(parser: Parser, action: argparse.Action) -> Iterator[str]:
    """An option as an entry of a definition list."""
    formatter = parser._get_formatter()
    names = formatter._format_action_invocation(action)
    text = formatter._expand_help(action) if action.help else ""
    yield from (f"`{names}`", f": {_escaped(_sentence(text))}", "")


def configuration_page(schema: type[Section], title: str, what: str) -> str:
    """Every key of a configuration: type, range, default, meaning and source."""
    lines = [f"# {title}", "", _KIND, ""]
    lines += [
        f"Every key of the configuration {what}, with its default. Sections and equations are those of the papers.",
        "A key is set in a YAML file, or by `--set` with its dotted name: `--set training.epochs=5`.",
        "",
    ]
    lines += _section(schema, schema(), "")
    return "\n".join(lines)


def _section(schema: type[Section], values: Section, prefix: str) -> list[str]:
    lines: list[str] = []
    keys = keys_of(schema)
    for name, key in keys.items():
        if key.section is None:
            lines += [f"`{prefix}{name}`", f": {_key_line(key, getattr(values, name))}", ""]
    for name, key in keys.items():
        if key.section is not None:
            level = "#" * min(prefix.count(".") + 2, 4)
            lines += [f"{level} {prefix}{name}", "", _escaped((inspect.getdoc(key.section) or "").partition("\n")[0])]
            lines += ["", *_section(key.section, getattr(values, name), f"{prefix}{name}.")]
    return lines


def _key_line(key: Key, default: object) -> str:
    kind = " or ".join(_type_name(kind) for kind in key.types)
    if key.choices:
        kind = ", ".join(f"`{choice}`" for choice in key.choices)
        kind += " or `null`" if len(key.types) > 1 else ""
    limits = [
        f"from {key.minimum:g}" if key.minimum is not None else "",
        f"above {key.above:g}" if key.above is not None else "",
        f"to {key.maximum:,.0f}" if key.maximum is not None else "",
    ]
    allowed = ", ".join([kind, *filter(None, limits)])
    meaning = f"{_escaped(_sentence(key.description))} " if key.description else ""
    return f"{meaning}({allowed}; default `{_yaml(default)}`)"


def _type_name(kind: Any) -> str:
    names = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "null"}
    return names.get(kind) or _escaped(str(kind).replace("dragoman.config.", ""))


def _yaml(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if value == "":
        return '""'
    return f"{value:g}" if isinstance(value, float) else str(list(value) if isinstance(value, tuple) else value)


def presets_page() -> str:
    """Every preset: its model, and each value that differs from the defaults, with its place in the paper."""
    lines = ["# Presets", "", _KIND, ""]
    lines += ["Values that differ from the defaults of the [configuration](configuration.md). The last column is the"]
    lines += ["comment of the preset: the section of its paper, the released code, or a choice.", ""]
    defaults = _flat(Config().values())
    for family in families():
        for name in family:
            config, comments = load_preset(name), preset_comments(name)
            based = lineage(name)[1:2]
            lines += [f"## {name}", "", _escaped(preset_title(name)), ""]
            if based:
                lines += [f"Based on [{based[0]}](#{based[0]}).", ""]
            lines += ["| key | value | source |", "| --- | --- | --- |"]
            for key, default in defaults.items():
                value = value_at(config, key)
                if key != "preset" and _yaml(value) != _yaml(default):
                    lines.append(f"| `{key}` | `{_yaml(value)}` | {_escaped(comments.get(key, ''))} |")
            lines.append("")
    return "\n".join(lines)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = tuple(value) if isinstance(value, list) else value
    return flat


def public_names() -> list[str]:
    """The names that `import dragoman` offers."""
    return [name for name in dragoman.__all__ if name != "__version__"]


RESULTS = (
    "dragoman.workflows.loading.LoadedTranslator",
    "dragoman.corpora.pairs.Pair",
    "dragoman.runs.opening.Run",
    "dragoman.scoring.scorer.Scorer",
    "dragoman.scoring.scorer.ScoredPair",
    "dragoman.workflows.training.TrainedRun",
    "dragoman.training.loop.TrainingResult",
    "dragoman.training.callbacks.UpdateEvent",
    "dragoman.training.callbacks.ValidationEvent",
    "dragoman.training.callbacks.CheckpointEvent",
    "dragoman.workflows.evaluation.MeasureOptions",
    "dragoman.workflows.evaluation.RunEvaluation",
    "dragoman.evaluation.evaluate.Evaluation",
    "dragoman.evaluation.evaluate.MetricScore",
    "dragoman.config.sampling.Sampling",
    "dragoman.progress.Console",
)
"""Classes that are not imported by name but met as arguments and results of the public ones."""

_FIELDS_ELSEWHERE = ("Config", "SearchConfig")  # their keys are the page of the configuration


def python_page() -> str:
    """Every public name of the package, documented by autodoc."""
    functions = [name for name in public_names() if inspect.isfunction(getattr(dragoman, name))]
    classes = [name for name in public_names() if name not in functions]
    lines = ["# Python", "", _KIND, "", "`import dragoman` loads neither torch nor numpy; each name is imported when"]
    lines += ["it is first used. `dragoman.__version__` is the version.", "", "## Functions", ""]
    for name in functions:
        lines += ["```{eval-rst}", f".. autofunction:: dragoman.{name}", "```", ""]
    lines += ["## Classes", ""]
    for name in classes:
        members = [] if name in _FIELDS_ELSEWHERE else ["   :members:"]
        lines += ["```{eval-rst}", f".. autoclass:: dragoman.{name}", *members, "```", ""]
        if not members:
            lines += ["Its keys are on the page [Configuration](configuration.md).", ""]
    lines += ["## Arguments and results", "", "What the functions above take and return besides; made by them.", ""]
    for path in RESULTS:
        lines += ["```{eval-rst}", f".. autoclass:: {path}()", "   :members:", "   :undoc-members:", "```", ""]
    return "\n".join(lines)


def http_page() -> str:
    """Every route of the server with the fields of requests and answers, from its OpenAPI description."""
    from dragoman.serving.models import LanguagePair
    from dragoman.serving.openapi import describe

    description = describe([LanguagePair("de", "en")])
    lines = ["# HTTP", "", _KIND, ""]
    lines += [
        "The routes of `dragoman serve`, as `/spec` of a server describes them (OpenAPI 3.1). Languages are those"
    ]
    lines += ["of the models that are served, here German to English. [Serving](../../serving.md) explains them.", ""]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            lines += [f"## {method.upper()} {path}", "", f"{_escaped(operation['summary'])}.", ""]
            body = operation.get("requestBody", {}).get("content", {})
            if body:
                lines += [f"Request, as {' or '.join(f'`{kind}`' for kind in body)}:", ""]
                lines += _schema_lines(next(iter(body.values()))["schema"])
            answers = operation["responses"]
            content = answers["200"].get("content", {})
            schema = next(iter(content.values()), {}).get("schema", {})
            if schema:
                lines += [f"Answer, as `{next(iter(content))}`:", "", *_schema_lines(schema)]
            lines += ["| status | |", "| --- | --- |"]
            lines += [f"| {status} | {_escaped(answer['description'])} |" for status, answer in answers.items()]
            lines.append("")
    lines += ["## Types", ""]
    for name, schema in sorted(description["components"]["schemas"].items()):
        lines += [f"### {name}", "", _escaped(schema.get("description", "")), "", *_schema_lines(schema)]
    return "\n".join(lines)


def _schema_lines(schema: Mapping[str, Any]) -> list[str]:
    if "properties" not in schema:
        return [f"- {_schema_type(schema)}", ""]
    required = set(schema.get("required", ()))
    lines = ["| field | type | default |", "| --- | --- | --- |"]
    for name, field in schema["properties"].items():
        default = "required" if name in required else f"`{_yaml(field['default'])}`" if "default" in field else ""
        about = f"; {_escaped(field['description'])}" if "description" in field else ""
        lines.append(f"| `{name}` | {_schema_type(field)}{about} | {default} |")
    return [*lines, ""]


def _schema_type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_schema_type(option) for option in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{_yaml(value)}`" for value in schema["enum"])
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"list of {', '.join(_schema_type(item) for item in schema['prefixItems'])}"
        return f"list of {_schema_type(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_schema_type(schema['additionalProperties'])}"
    limits = {"minimum": "from", "maximum": "to", "minLength": "length from", "exclusiveMinimum": "above"}
    shown = [f"{word} {schema[key]}" for key, word in limits.items() if key in schema]
    return ", ".join([str(schema.get("type", "any")), *shown])


SCHEMAS = Path(__file__).parents[1] / "reference" / "schemas"
"""JSON Schemas of what commands print and write; a test holds real outputs against them."""


def json_page() -> str:
    """Every JSON output and file that users read, with its fields, from its schema."""
    lines = ["# JSON outputs", "", _KIND, ""]
    lines += [
        "What commands print and write as JSON, in UTF-8. A schema (JSON Schema 2020-12) names every field; tests"
    ]
    lines += ["hold real outputs against it. `.*` stands for any name, `[]` for the entries of a list. Requests to a"]
    lines += ["server and their answers are on the page [HTTP](http.md), whose schemas are at its route `/spec`.", ""]
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        lines += [f"## {schema['title']}", "", _escaped(schema["description"]), ""]
        lines += [f"Schema: {{download}}`{path.name} <../schemas/{path.name}>`", ""]
        lines += ["| field | type | |", "| --- | --- | --- |", *_field_rows(schema, ""), ""]
    return "\n".join(lines)


def _field_rows(schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """A row for each field of a schema, those of its parts after it."""
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _place_rows(schema["additionalProperties"], f"{place}.*")
    if isinstance(schema.get("items"), Mapping):
        yield from _place_rows(schema["items"], f"{place}[]")
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield from _place_rows(field, f"{place}.{name}".removeprefix("."), optional=name not in required)


def _place_rows(field: Mapping[str, Any], place: str, *, optional: bool = False) -> Iterator[str]:
    kinds = field.get("type", "any")
    shown = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    words = [field.get("description", ""), "may be missing" if optional else ""]
    yield f"| `{place}` | {shown} | {_escaped('; '.join(filter(None, words)))} |"
    yield from _field_rows(field, place)


def exit_codes_page() -> str:
    """The exit codes, the families of errors, and the extras that commands ask for."""
    lines = ["# Exit codes and errors", "", _KIND, ""]
    lines += ["| code | meaning |", "| --: | --- |", "| 0 | done |"]
    lines += ["| 1 | a bug of Dragoman; its traceback is printed |"]
    lines += ["| 2 | an error that the user can fix; one line on standard error says what to do |"]
    lines += ["| 130 | stopped by Ctrl-C, SIGTERM or SIGHUP; what was done so far is kept |", ""]
    lines += ["A reader that closes the pipe (`| head`) ends a command with 0. Messages begin with `dragoman: error:`,"]
    lines += ["name the file, line or key, and say what to do. In Python they are exceptions:", ""]
    lines += ["| exception | exit code | when | what to do |", "| --- | --: | --- | --- |"]
    for error in [DragomanError, *DragomanError.__subclasses__()]:
        meaning, _, remedy = (_escaped(part) for part in (inspect.getdoc(error) or "").partition("\n\n"))
        remedy = "what the message says" if error is DragomanError else remedy
        code = error.exit_code if error.__name__ != "OtherRankError" else "that of the rank"
        lines.append(f"| `{error.__name__}` | {code} | {meaning} | {remedy} |")
    lines += ["", "## Extras", "", "A command that needs a package which is not installed names the extra to install:"]
    lines += ["`pip install 'dragoman[train]'`.", "", "| extra | packages |", "| --- | --- |"]
    lines += [
        f"| `{extra}` | {', '.join(f'`{package}`' for package in packages)} |" for extra, packages in EXTRAS.items()
    ]
    return "\n".join([*lines, ""])


def _paragraphs(description: str) -> list[str]:
    """The description of a command: text, and blocks of indented lines as they are."""
    if not re.search(r"^ ", description, flags=re.MULTILINE):
        return [line for part in description.split("\n\n") for line in (_escaped(part), "")]
    lines: list[str] = []
    for indented, group in groupby(description.splitlines(), lambda line: line.startswith(" ")):
        shown = list(group)
        lines += ["```text", *textwrap.dedent("\n".join(shown)).splitlines(), "```"] if indented else [""]
        lines += [] if indented else [line for part in "\n".join(shown).split("\n\n") for line in (_escaped(part), "")]
    return lines


def _escaped(text: str) -> str:
    """A line of plain text as Markdown; what stands between backticks is code there too."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def _sentence(text: str) -> str:
    text = text.strip()
    return text + ("" if text.endswith((".", ")", ":")) or not text else ".")
