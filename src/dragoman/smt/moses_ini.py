"""The configuration file of Moses, moses.ini: feature functions with their files, weights, and the distortion limit.

Supported features: exactly one phrase table, one language model, distortion, and the word, phrase and unknown word
penalties; at most one lexicalised reordering model, of the type described in smt/reordering.py. Paths are relative to
the folder of the file, as for a Moses that is started there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import InputError
from dragoman.requests.smt import DISTORTION_LIMIT
from dragoman.smt.features import TRANSLATION_SCORES, FeatureNames, Features
from dragoman.text.lines import parse_count, read_lines, replace_file, write_lines
from dragoman.tuning.feature_weights import Weights, format_weights, read_weights

log = logging.getLogger(__name__)

FILE = "moses.ini"
PHRASE_TABLE = "phrase-table.gz"
REORDERING_TYPE = "wbe-msd-bidirectional-fe-allff"
REORDERING_TABLE = "reordering-table.wbe-msd-bidirectional-fe.gz"
LANGUAGE_MODEL = "lm.arpa"
"""Files of a system trained with `smt train`."""

TABLE_LIMIT = 20
"""Maximum number of translations of a source phrase, as in Moses."""

_ROLES = {
    "PhraseDictionaryMemory": "translation",
    "LexicalReordering": "reordering",
    "KENLM": "language_model",
    "Distortion": "distortion",
    "WordPenalty": "word_penalty",
    "PhrasePenalty": "phrase_penalty",
    "UnknownWordPenalty": "unknown_penalty",
}
"""Moses' feature classes, and the fields of `FeatureNames` that they belong to."""
_READ = ("feature", "weight", "distortion-limit", "ttable-limit")
_WITHOUT_EFFECT = ("input-factors", "mapping", "threads", "verbose")
"""Sections that are ignored without a warning."""


@dataclass(frozen=True)
class MosesConfiguration:
    """The contents of a moses.ini."""

    path: Path
    phrase_table: Path
    reordering_table: Path | None
    language_model: Path
    features: Features
    weights: Weights
    distortion_limit: int = DISTORTION_LIMIT
    """Unlimited if negative."""
    table_limit: int = TABLE_LIMIT
    """Unlimited if 0."""


def read_configuration(system: str | Path) -> MosesConfiguration:
    """Read the configuration of a system: a folder with a moses.ini, or such a file.

    Raises:
        InputError: the file cannot be read, or uses something that is not supported.
    """
    path = Path(system)
    if path.is_dir():
        path = path / FILE
    sections = _sections(path)
    features = dict(_features(path, sections.get("feature", [])))
    missing = [kind for kind, role in _ROLES.items() if role not in features and role != "reordering"]
    if missing:
        raise InputError(f"{path}: its section [feature] lacks {', '.join(missing)}")
    table, reordering = features["translation"], features.get("reordering")
    names = FeatureNames(**{role: options["name"] for role, options in features.items()})
    described = Features(
        names, _whole(table, "num-features", TRANSLATION_SCORES, path), reordering=reordering is not None
    )
    limits = {name: _limit(path, sections[name]) for name in ("distortion-limit", "ttable-limit") if sections.get(name)}
    weights = read_weights(path)
    described.feature_weights(weights, str(path))  # raises an error if they do not match the features
    return MosesConfiguration(
        path,
        _file(table, path),
        None if reordering is None else _file(reordering, path),
        _file(features["language_model"], path),
        described,
        weights,
        limits.get("distortion-limit", DISTORTION_LIMIT),
        _whole(table, "table-limit", limits.get("ttable-limit", TABLE_LIMIT), path),
    )


_NumberedLine = tuple[int, str]
"""A line number from 1, and the line."""


def _sections(path: Path) -> dict[str, list[_NumberedLine]]:
    """The lines of each section, without comments."""
    sections: dict[str, list[_NumberedLine]] = {}
    inside: list[_NumberedLine] | None = None
    for number, raw in enumerate(read_lines(path), 1):
        line = raw.partition("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1]
            if name not in _READ + _WITHOUT_EFFECT:
                log.warning("%s:%d: the section %s has no effect here", path, number, line)
            inside = sections.setdefault(name, [])
        elif line and inside is None:
            raise InputError(f"{path}:{number}: {line!r} stands in no section; a moses.ini begins with a [section]")
        elif line and inside is not None:
            inside.append((number, line))
    return sections


def _features(path: Path, lines: Sequence[_NumberedLine]) -> Iterator[tuple[str, dict[str, str]]]:
    """(field of `FeatureNames`, options) for each line of the section; each gets the options `name` and `line`."""
    seen: set[str] = set()
    for number, line in lines:
        kind, *words = line.split()
        options = dict(word.partition("=")[::2] for word in words)
        if kind not in _ROLES:
            raise InputError(f"{path}:{number}: {kind} is no feature that is here; there are {', '.join(_ROLES)}")
        role = _ROLES[kind]
        if role in seen:
            raise InputError(f"{path}:{number}: a second feature {kind}; there can be one of each here")
        seen.add(role)
        if role == "reordering" and options.get("type") != REORDERING_TYPE:
            raise InputError(f"{path}:{number}: reordering of type {options.get('type')}; here is {REORDERING_TYPE}")
        for key in ("factor", "input-factor", "output-factor"):
            if options.get(key, "0") != "0":
                raise InputError(f"{path}:{number}: {key}={options[key]}; here is factor 0 alone, the words themselves")
        options.setdefault("name", f"{kind}0")
        options["line"] = str(number)
        yield role, options


def _file(options: Mapping[str, str], path: Path) -> Path:
    if "path" not in options:
        raise InputError(f"{path}:{options['line']}: no path=FILE for {options['name']}")
    if "\0" in options["path"]:
        raise InputError(f"{path}:{options['line']}: the path of {options['name']} has a NUL character")
    return path.parent / options["path"]


def _whole(options: Mapping[str, str], key: str, default: int, path: Path) -> int:
    text = options.get(key)
    if text is None:
        return default
    number = parse_count(text)
    if number is None:
        raise InputError(f"{path}:{options['line']}: {key}={text} is not a whole number from 0 on")
    return number


def _limit(path: Path, lines: Sequence[_NumberedLine]) -> int:
    """The integer of a section."""
    number, text = lines[0]
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{path}:{number}: {text!r} is not a whole number") from None


def write_configuration(folder: Path, *, order: int, distortion_limit: int = DISTORTION_LIMIT) -> None:
    """Write the moses.ini of a system of `smt train`, with the initial weights; `order` is the language model's."""
    names = FeatureNames()
    weights = Features(names, TRANSLATION_SCORES, reordering=True).initial_weights()
    factors = "input-factor=0 output-factor=0"
    write_lines(
        folder / FILE,
        (
            "# A phrase-based system for Moses; start it in this folder, because paths are relative to it.",
            *("", "[input-factors]", "0"),
            *("", "[mapping]", "0 T 0"),
            *("", "[distortion-limit]", str(distortion_limit)),
            *("", "[feature]", "UnknownWordPenalty", "WordPenalty", "PhrasePenalty", "Distortion"),
            f"PhraseDictionaryMemory name={names.translation} num-features={TRANSLATION_SCORES} "
            f"path={PHRASE_TABLE} {factors} table-limit={TABLE_LIMIT}",
            f"LexicalReordering name={names.reordering} num-features=6 type={REORDERING_TYPE} {factors} "
            f"path={REORDERING_TABLE}",
            f"KENLM name={names.language_model} factor=0 path={LANGUAGE_MODEL} order={order}",
            *("", "[weight]", *(format_weights(name, values) for name, values in weights.items())),
        ),
    )


@contextmanager
def replaced_weights(path: Path) -> Iterator[Callable[[Weights], None]]:
    """A function that replaces the weights in a moses.ini and leaves the rest unchanged.

    The file is opened first, so that tuning, which takes long, is not lost where it cannot be written.

    Raises:
        InputError: the file cannot be read or written.
    """
    with replace_file(path, edits=True) as file:
        yield lambda weights: file.writelines(f"{line}\n" for line in _with_weights(read_lines(path), weights))


def extend_configuration(configuration: MosesConfiguration, folder: Path, added: Sequence[float]) -> None:
    """Write into `folder` the moses.ini of a system whose phrase table has more scores, and which else is the same.

    Paths are relative to the new folder, whose phrase table is called `PHRASE_TABLE`.

    Args:
        added: the weights of the further scores.

    Raises:
        InputError: the file cannot be read or written.
    """
    name = configuration.features.names.translation
    weights = {**configuration.weights, name: (*configuration.weights[name], *added)}
    scores = configuration.features.translation_scores + len(added)
    lines = [_extended(line, configuration.path.parent, folder, scores) for line in read_lines(configuration.path)]
    write_lines(folder / FILE, _with_weights(lines, weights))


def _extended(line: str, before: Path, folder: Path, scores: int) -> str:
    """A line of the section of features with the paths and, if it is that of the table, its number of scores."""
    kind, *words = line.partition("#")[0].split() or [""]
    if kind not in _ROLES or not words:
        return line
    options = dict(word.partition("=")[::2] for word in words)
    if kind == "PhraseDictionaryMemory":
        options |= {"num-features": str(scores), "path": PHRASE_TABLE}
    elif "path" in options:
        # Without symbolic links: `..` leads out of the folder that one points to.
        options["path"] = os.path.relpath(os.path.realpath(before / options["path"]), os.path.realpath(folder))
    return " ".join((kind, *(f"{key}={value}" for key, value in options.items())))


def _with_weights(old: Iterable[str], weights: Weights) -> list[str]:
    """The lines of a moses.ini with other weights, all in its first section of weights."""
    lines: list[str] = []
    inside = False
    for line in old:
        heading = line.strip().startswith("[")
        if inside and not heading:
            continue
        inside = line.partition("#")[0].strip() == "[weight]"
        lines.append(line)
        if inside:
            lines.extend((*(format_weights(name, values) for name, values in weights.items()), ""))
            weights = {}
    return lines
