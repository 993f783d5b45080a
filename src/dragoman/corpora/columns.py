"""Which two columns of a table are source and target: as given, by their names, or by their text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.corpora.reading import Reading
from dragoman.errors import InputError
from dragoman.text.languages import base_language, known_language
from dragoman.text.raw_lines import has_letter

SOURCE, TARGET = "source", "target"

_SIDES = {
    SOURCE: "source src original 원문 원본 출발어 원어 quelle ausgangstext quelltext origen",
    TARGET: "target tgt trg translation translated 번역문 번역 번역본 도착어 reference ref ziel zieltext übersetzung "
    "traduction cible traducción destino",
}
_LANGUAGES = {
    "ar": "arabic 아랍어 아랍 arabisch arabe árabe",
    "cs": "czech 체코어 tschechisch tchèque checo",
    "da": "danish 덴마크어 dänisch danois danés",
    "de": "german deutsch 독일어 독어 allemand alemán",
    "el": "greek 그리스어 griechisch grec griego",
    "en": "english 영어 영문 englisch anglais inglés",
    "es": "spanish español 스페인어 spanisch espagnol",
    "fi": "finnish 핀란드어 finnisch finnois finés",
    "fr": "french français 프랑스어 불어 französisch francés",
    "he": "hebrew 히브리어 hebräisch hébreu hebreo",
    "hi": "hindi 힌디어",
    "hu": "hungarian 헝가리어 ungarisch hongrois húngaro",
    "id": "indonesian 인도네시아어 indonesisch indonésien indonesio",
    "it": "italian italiano 이탈리아어 italienisch italien",
    "ja": "japanese 日本語 일본어 일어 japanisch japonais japonés",
    "ko": "korean 한국어 한국말 국어 국문 한글 koreanisch coréen coreano",
    "ms": "malay 말레이어 malaiisch malais malayo",
    "nl": "dutch 네덜란드어 niederländisch néerlandais neerlandés",
    "no": "norwegian 노르웨이어 norwegisch norvégien noruego",
    "pl": "polish 폴란드어 polnisch polonais polaco",
    "pt": "portuguese 포르투갈어 portugiesisch portugais portugués",
    "ro": "romanian 루마니아어 rumänisch roumain rumano",
    "ru": "russian русский 러시아어 russisch russe ruso",
    "sv": "swedish 스웨덴어 schwedisch suédois sueco",
    "th": "thai 태국어 thailändisch thaï tailandés",
    "tr": "turkish 튀르키예어 터키어 türkisch turc turco",
    "uk": "ukrainian українська 우크라이나어 ukrainisch ukrainien ucraniano",
    "vi": "vietnamese 베트남어 vietnamesisch vietnamien vietnamita",
    "zh": "chinese 中文 중국어 중문 chinesisch chinois chino",
}
_NAMES = {name: role for role, names in (_SIDES | _LANGUAGES).items() for name in names.split()}
_NO_LANGUAGES = ("id", "no")
"""Codes of languages that mostly stand for an identifier or a number where they name a column, as do nr, sn and
others."""

_LONGEST_NAME = 40
_TEXT = 0.8
"""A column is text if at least this share of its cells has a letter."""


Record = Mapping[str, Any] | str
"""Names of columns, keys or languages -> values; or the reason why the record is left out."""


@dataclass
class Table:
    """The records of a file: values by column, key or language."""

    path: Path
    names: Sequence[str]
    """The names of the columns, in their order."""
    records: Iterator[tuple[str, Record]]
    """Each with its origin, such as "train.csv:17"."""
    sample: Sequence[Mapping[str, Any]]
    """The first records, again."""
    what: str = "columns"
    """What `names` are called in messages: "columns", "keys" or "languages"."""
    named: bool = True
    """Whether the file names its columns; if not, `names` are their numbers."""


class Columns(NamedTuple):
    """The names of the columns of source and target."""

    source: str
    target: str

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The languages that the columns are named after."""
        source, target = (_language(role_of(name)) for name in self)
        return source, target


def choose_columns(table: Table, reading: Reading) -> Columns:
    """Return the columns of source and target, and report them if the user gave none.

    Raises:
        InputError: a given column is not there, or the columns cannot be found.
    """
    if reading.columns is not None:
        sides = zip(reading.columns, (SOURCE, TARGET), strict=True)
        return Columns(*(_given(table, wanted, side) for wanted, side in sides))
    indices = _by_names(table, reading.languages) or _by_text(table)
    if indices is None:
        raise InputError(
            f"{table.path}: which {table.what} are source and target? give --columns SOURCE TARGET; there are "
            f"{_listed(table)}"
        )
    columns = Columns(*(table.names[index] for index in indices))
    other = reading.conflict(table.path, columns.languages)
    if other is not None:
        raise InputError(
            f"{table.path}: {columns.source} to {columns.target}, but {other}; choose with --columns SOURCE TARGET"
        )
    if columns != (SOURCE, TARGET):
        header = "" if table.named else "no header; "
        reading.say(
            f"{table.path}: {header}source {columns.source}, target {columns.target}, of the {table.what} "
            f"{_names(table)}; --columns SOURCE TARGET chooses others"
        )
    return columns


def keys_in(record: Mapping[str, Any], columns: Columns) -> Columns:
    """Return the keys of a record for two languages: these languages, or the only variant of each."""
    if columns.source in record and columns.target in record:
        return columns
    return Columns(*(_variant(record, name, columns) for name in columns))


def _variant(record: Mapping[str, Any], name: str, columns: Columns) -> str:
    same = [key for key in record if base_language(key) == base_language(name) and key not in columns]
    return same[0] if name not in record and len(same) == 1 else name


def _names(table: Table) -> str:
    return ", ".join(table.names)


def _listed(table: Table) -> str:
    """The columns, each with the beginning of its first value."""
    first = table.sample[0] if table.sample else {}
    values = [str(first.get(name) or "")[:20] for name in table.names]
    return "; ".join(f"{name} ({value!r})" for name, value in zip(table.names, values, strict=True)) or "none"


def _given(table: Table, wanted: str, side: str) -> str:
    """The name of a column that the user gives by name, number or language."""
    for key in (str, str.casefold):
        same = [name for name in table.names if key(name) == key(wanted)]
        if len(same) == 1:
            return same[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(table.names):
        return table.names[int(wanted) - 1]
    role = role_of(wanted)
    same = [table.names[index] for index in _columns_of(table, [role_of(name) for name in table.names], role)]
    if len(same) == 1:
        return same[0]
    unknown = [name for name in table.names if name in (SOURCE, TARGET)]
    if table.what == "languages" and unknown and _language(role) and not same:
        return unknown[0] if len(unknown) == 1 else side  # a file that does not say which languages it has
    why = f"{', '.join(same)} are all of that language" if same else "is not there"
    raise InputError(f"{table.path}: --columns {wanted}: {why}; the {table.what} are {_names(table) or 'none'}")


def role_of(name: str, *, part: bool = False) -> str | None:
    """Return what the name of a column says: source, target, or the code of a language; None if nothing.

    Args:
        part: one word of several may say it, such as en in sentence_en.
    """
    name = name.strip()
    if len(name) > _LONGEST_NAME:
        return None
    known = _NAMES.get(name.casefold()) or known_language(name)
    if known is not None or not part or re.search(r"\s", name):
        return known
    roles = {
        role for word in re.split(r"[\W_]+", name) if (role := _NAMES.get(word.casefold()) or known_language(word))
    }
    languages = {role for role in roles if _language(role)}
    roles = languages or roles  # source_en is a column of English
    return roles.pop() if len(roles) == 1 else None


def _is_common(name: str, role: str | None) -> bool:
    """Whether the name of a column is that of a common language."""
    return base_language(role or "") in _LANGUAGES and name.casefold() not in _NO_LANGUAGES


def _column_role(table: Table, name: str, *, part: bool) -> str | None:
    """What the name of a column says; nothing if it is a rare code such as nr and the column has no letter."""
    role = role_of(name, part=part)
    has_text = any(has_letter(str(record.get(name) or "")) for record in table.sample)
    return role if has_text or _is_common(name, role) or not _language(role) else None


def _language(role: str | None) -> str | None:
    return None if role in (SOURCE, TARGET) else role


def _by_names(table: Table, languages: Sequence[str] | None) -> tuple[int, int] | None:
    """The indices of the source and target columns according to their names, if only one choice is possible."""
    names = table.names
    for part in (False, True):
        roles = [_column_role(table, name, part=part) for name in names]
        if roles.count(SOURCE) == roles.count(TARGET) == 1:
            return roles.index(SOURCE), roles.index(TARGET)
        indices = [index for index, role in enumerate(roles) if _language(role)]
        if len(indices) > 2:
            indices = [index for index in indices if _is_common(names[index], roles[index])]
        if languages is not None:
            named = [role if index in indices else None for index, role in enumerate(roles)]
            wanted = [_columns_of(table, named, one) for one in languages]
            if all(len(same) == 1 for same in wanted) and wanted[0] != wanted[1]:
                return wanted[0][0], wanted[1][0]
        if table.what == "languages":  # a unit has the one or the other variant of a language
            indices = list({base_language(roles[index] or ""): index for index in reversed(indices)}.values())[::-1]
        if len(indices) == 2 and roles[indices[0]] != roles[indices[1]]:
            return indices[0], indices[1]
    return None


def _columns_of(table: Table, roles: Sequence[str | None], role: str | None) -> list[int]:
    """The index of the only column with a role, else of all in variants of this language; of the first of these where a
    unit has the one or the other variant.
    """
    same = [index for index, own in enumerate(roles) if own is not None and own == role]
    if len(same) != 1 and _language(role):
        same = [index for index, own in enumerate(roles) if base_language(own or "") == base_language(str(role))]
    return same[:1] if table.what == "languages" else same


def is_header(cells: Sequence[str]) -> bool:
    """Return whether the first line of a table names its columns: two of them by their side, or by different languages.

    A pair does not: it can only name one language, on both sides (German, Deutsch).
    """
    for part in (False, True):
        roles = {role_of(cell, part=part) for cell in cells} - {None}
        if len(roles) >= 2:
            return True
    return False


def differs_in_script(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first line is a header because a cell is in a script that the column does not have below it.

    Names in Latin letters may stand above any text. Other cells are a header only if all are in one script, and differ;
    otherwise the line is a pair with an untranslated side.
    """
    filled = [cell.strip() for cell in first if cell.strip()]
    alike = len({*map(script_of, filled)}) == 1 and len({*filled}) == len(filled) > 1
    for index, cell in enumerate(first):
        scripts = [script_of(row[index]) for row in rows if index < len(row)]
        known = [script for script in scripts if script is not None]
        own = script_of(cell)
        if own is None or (own != "latin" and not alike):
            continue
        if len(known) >= 2 and own not in known and re.fullmatch(r"[\w .()/-]+", cell.strip()):
            return True
    return False


def script_of(text: str) -> str | None:
    """Return the script of most letters, such as "latin" or "hangul"; None where there is none."""
    counts = Counter(unicodedata.name(letter, "?").split()[0].lower() for letter in text[:200] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


def _by_text(table: Table) -> tuple[int, int] | None:
    """The indices of the only two columns, or of the only two that hold text; by script if more hold text."""
    if len(table.names) == 2:
        return 0, 1
    if sum(_is_common(name, role_of(name)) for name in table.names) > 2:
        return None  # their text does not say which languages are meant
    indices = [index for index, name in enumerate(table.names) if _is_text([row.get(name) for row in table.sample])]
    if len(indices) > 2:
        indices = _longest_of_each_script(table, indices)
    return (indices[0], indices[1]) if len(indices) == 2 else None


def _is_text(values: Sequence[Any]) -> bool:
    """Whether values are different texts."""
    if not values or not all(value is None or isinstance(value, str) for value in values):
        return False
    texts = [value for value in values if value and has_letter(value)]
    return len(texts) >= _TEXT * len(values) and len(set(texts)) > len(texts) / 2


def _longest_of_each_script(table: Table, indices: Sequence[int]) -> list[int]:
    """The index of the column with the longest text of each script."""
    longest: dict[str, tuple[int, int]] = {}
    for index in indices:
        text = " ".join(row.get(table.names[index]) or "" for row in table.sample)
        script = Counter(script_of(row.get(table.names[index]) or "") for row in table.sample).most_common(1)[0][0]
        if script is not None:
            longest[script] = max(longest.get(script, (-1, 0)), (len(text), index))
    return sorted(index for _, index in longest.values())
