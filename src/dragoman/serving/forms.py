"""Bodies of requests: the fields of `a=b&c=d`, the fields and files of `multipart/form-data`, the size of JSON."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from dragoman.errors import InputError

MAX_FIELDS = 2000
MAX_FILES = 10

Fields = dict[str, str | list[str]]
"""A field that comes several times is a list."""


class Form(NamedTuple):
    """What a form brings."""

    fields: Fields
    files: dict[str, tuple[str, bytes]]
    """Name and content of each."""


def read_form(kind: str, body: bytes) -> Form:
    """A form; its media type is given as in a header Content-Type.

    Raises:
        InputError: it has too many fields, is damaged, or a field is not UTF-8.
    """
    media_type, options = parse_options_header(kind)
    if media_type != b"multipart/form-data":
        return Form(read_fields(body, "body"), {})
    values: dict[str, list[str]] = {}
    files: dict[str, tuple[str, bytes]] = {}
    count = 0

    def add_field(field: Field) -> None:
        nonlocal count
        count += 1
        if count > MAX_FIELDS:
            raise InputError(f"more than {MAX_FIELDS} fields")
        values.setdefault(_decoded(field.field_name), []).append(_decoded(field.value))

    def add_file(file: File) -> None:
        if len(files) >= MAX_FILES:
            raise InputError(f"more than {MAX_FILES} files")
        file.file_object.seek(0)
        files[_decoded(file.field_name)] = _decoded(file.file_name), file.file_object.read()
        file.close()

    try:
        parser = FormParser(
            "multipart/form-data",
            add_field,
            add_file,
            boundary=options[b"boundary"],
            config={"MAX_MEMORY_FILE_SIZE": len(body) + 1},
        )
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError, KeyError) as error:
        raise InputError("the form cannot be read") from error
    return Form(_single(values), files)


def read_fields(encoded: bytes, part: str) -> Fields:
    """The fields of a part of a request, in the form `a=b&c=d`.

    Raises:
        InputError: they are too many, or not UTF-8.
    """
    try:
        text = encoded.decode("utf-8")
        if text.count("&") >= MAX_FIELDS:
            raise InputError(f"more than {MAX_FIELDS} fields")
        return _single(parse_qs(text, keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise InputError(f"the {part} is not UTF-8") from None


def _single(values: dict[str, list[str]]) -> Fields:
    return {name: given[0] if len(given) == 1 else given for name, given in values.items()}


def _decoded(value: bytes | None) -> str:
    try:
        return (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the body is not UTF-8") from None


def require_few_values(body: bytes, most: int) -> None:
    """Refuse a JSON body of many small values before it is read; what is wrong otherwise is found where it is read.

    Raises:
        InputError: it has more than `most` strings, numbers, lists and objects.
    """
    try:
        waiting = [msgspec.json.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    count = 0
    while waiting and count <= most:
        value = waiting.pop()
        count += 1
        if isinstance(value, (list, dict)):
            count += len(value) if isinstance(value, dict) else 0
            waiting += value.values() if isinstance(value, dict) else value
    if count > most:
        raise InputError(f"request has more than {most} values")
