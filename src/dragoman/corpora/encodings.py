"""Encodings of text that is not UTF-8: recognised from the beginning of a file, by charset-normalizer."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from dragoman.errors import ConfigError, InputError
from dragoman.text.lines import UndecodableLine, opened, wide_encoding

HEAD = 1 << 20
"""Bytes of a file that are looked at."""

_LATIN = {
    "cp1252": "English German French Spanish Portuguese Italian Dutch Danish Swedish Norwegian Finnish Indonesian",
    "cp1250": "Polish Czech Slovak Hungarian Slovene Croatian Romanian",
    "cp1254": "Turkish",
    "cp1257": "Estonian Latvian Lithuanian",
    "cp1258": "Vietnamese",
}
"""The Windows code page of each language. Most text reads as letters in several of them, so the language decides."""

_LANGUAGE_PAGE = {language: page for page, languages in _LATIN.items() for language in languages.split()}
_OTHERS = (
    *("cp949", "cp932", "euc_jp", "gb18030", "big5", "cp1251", "cp1253", "cp1255", "cp1256"),
    *("koi8_r", "iso8859_5", "cp866"),
)
CANDIDATES = (*_OTHERS, *_LATIN)
"""The names of Python; cp949 and cp932 hold EUC-KR and Shift_JIS, each cp125x nearly the whole of an ISO 8859."""

_SYMBOL_IN_WORD = re.compile(r"(?<=[^\W\d_])[\xa1-\xbf](?=[^\W\d_])(?<![\xaa\xad\xb5\xb7\xba\xbb])")
"""What letters of another encoding become within words, such as letters of ISO 8859-2 in cp1250."""
_TEXT = 0.9
"""Part of the characters of wide text that are letters, digits, spaces and marks of ASCII."""
_SYMBOLS = 0.01
"""Part of the bytes beyond ASCII that may be symbols within words."""

_DIRECTION = re.compile("[\u061c\u200c-\u200f]")
"""Marks of the direction of text, which nobody sees."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip

_FEWEST = 60
"""Bytes beyond ASCII that the beginning of a file needs."""

_CLEAR = 5.0
"""Percent of disorder, or coherence, by which other readings of the text must be worse."""

_ORDERLY = 10.0
"""Percent of disorder that text in other scripts may have."""

_COHERENT, _COHERENT_ALONE = 70.0, 40.0
"""Percent of coherence with a language that Latin text needs; the second where no other code page reads other
letters."""


_TONE = re.compile("(?<=[aeiouyAEIOUYăâêôơưĂÂÊÔƠƯ])[\u0300\u0301\u0303\u0309\u0323]")
_MARK = re.compile("[\u0300\u0301\u0303\u0309\u0323]")
"""The tones of Vietnamese, which in cp1258 are characters of their own behind their vowel."""

_FEWEST_TONES, _TONES_OF_MARKS, _TONES_OF_BYTES = 20, 0.95, 0.2
"""Text is Vietnamese from so many tones on, if they are these parts of all marks and of the bytes beyond ASCII."""


class Encoding(NamedTuple):
    """The encoding of a file."""

    name: str
    """Python's name of it."""
    evidence: str | None = None
    """How it was recognised, for messages; None where a byte order mark or the user says it."""


def require_encoding(name: str) -> str:
    """Return a name of an encoding of text as Python spells it.

    Raises:
        ConfigError: no encoding has this name.
    """
    try:
        "a".encode(name)
        return codecs.lookup(name).name
    except (LookupError, UnicodeError):
        raise ConfigError(f"--encoding {name}: not a known encoding; such are utf-16, cp949, windows-1252") from None


def find_encoding(path: Path, given: str | None) -> Encoding | None:
    """Return the encoding of a file, as a byte order mark, the user or its bytes say; None for UTF-8, or if unsure.

    Args:
        given: the encoding of files that are not UTF-8, as the user says.

    Raises:
        InputError: the file cannot be read.
    """
    with opened(path) as file:
        head = file.read(HEAD)
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return None if marked == "utf-8-sig" else Encoding(marked)
    if head.isascii():
        escaped = _escaped(head)
        if escaped is not None:
            return Encoding(given) if given else Encoding(escaped, "by its escapes")
        wide = wide_encoding(head[: 1 << 12])
        return Encoding(given) if given else None if wide is None else Encoding(wide, "by its zero bytes")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < HEAD)
        return None
    except UnicodeDecodeError:
        pass
    if given is not None:
        return Encoding(given)
    wide = wide_encoding(head[: 1 << 12])
    if wide is not None:
        return Encoding(wide, "by its zero bytes")
    if _is_mostly_utf8(head):
        return None
    return _wide_without_ascii(head) or _recognised(head)


def _escaped(head: bytes) -> str | None:
    """The encoding of text that switches between ASCII and another set of characters by escapes."""
    if b"\x1b$" not in head:
        return None
    for name in ("iso2022_kr" if b"\x1b$)C" in head else "iso2022_jp", "iso2022_jp_2"):
        try:
            codecs.getincrementaldecoder(name)().decode(head, len(head) < HEAD)
        except UnicodeDecodeError:
            continue
        return name
    return None


def _wide_without_ascii(head: bytes) -> Encoding | None:
    """UTF-16 without a mark whose text has few letters of ASCII, as in Korean: its spaces and line ends are ASCII."""
    encodings = []
    for name, lines in (("UTF-16LE", b"\n\0"), ("UTF-16BE", b"\0\n")):
        try:
            text = head[: len(head) // 2 * 2].decode(name)
        except UnicodeDecodeError:
            continue
        if lines in head and "\0" not in text and sum(map(_is_text, text)) > _TEXT * len(text):
            encodings.append(name)
    return Encoding(encodings[0], "by its line ends") if len(encodings) == 1 else None


def _is_text(letter: str) -> bool:
    return letter.isalnum() or letter in " \t\r\n" or (letter.isprintable() and letter.isascii())


def _is_mostly_utf8(text: bytes) -> bool:
    """Whether most of what is not ASCII is valid UTF-8, which is rare in other encodings."""
    decoded = text.decode("utf-8", "replace")
    return sum(not letter.isascii() for letter in decoded) >= 2 * decoded.count("\ufffd")


def _recognised(head: bytes) -> Encoding | None:
    """The encoding that the bytes have, if it is clear."""
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        return None
    if len(head) == HEAD:
        head = head[: head.rfind(b"\n") + 1]
    if len(re.sub(rb"[\x00-\x7f]", b"", head)) < _FEWEST:
        return None
    tones = _tones(head)
    if tones is not None and tones.number >= _FEWEST_TONES:
        return Encoding("cp1258", f"Vietnamese, {100 * tones.part:.0f} % sure")
    readings = list(from_bytes(head, cp_isolation=list(CANDIDATES)))
    if not readings:
        return None
    best = max(
        readings[:1] + [one for one in readings if one.encoding in _LATIN], key=lambda one: one.percent_coherence
    )
    if readings[0].encoding in _LATIN:
        page = _LANGUAGE_PAGE.get(best.language)
        right = next((one for one in readings if page in (one.encoding, *one.could_be_from_charset)), None)
        if right is None:
            return None
        alone = all(one.encoding not in _LATIN or str(one) == str(right) for one in readings)
        if best.percent_coherence < (_COHERENT_ALONE if alone else _COHERENT):
            return None
        if right.percent_coherence < best.percent_coherence - _CLEAR or right.percent_chaos > best.percent_chaos + 1:
            return None
        if len(_SYMBOL_IN_WORD.findall(str(right))) > _SYMBOLS * sum(byte > 0x7F for byte in head):
            return None
        return Encoding(str(page), f"{best.language}, {best.percent_coherence:.0f} % sure")
    best = readings[0]
    if best.percent_chaos > _ORDERLY:
        return None
    for other in readings[1:]:
        clear = other.percent_chaos > best.percent_chaos + _CLEAR
        if not clear and other.percent_coherence > best.percent_coherence - _CLEAR and str(other) != str(best):
            return None
    return Encoding(best.encoding, f"{best.language}, {100 - best.percent_chaos:.0f} % sure")


class _Tones(NamedTuple):
    number: int
    part: float
    """The part of all marks that are tones."""


def _tones(text: bytes) -> _Tones | None:
    """The tones of a text in cp1258; None where it is in another encoding."""
    try:
        decoded = text.decode("cp1258")
    except UnicodeDecodeError:
        return None
    tones, marks = len(_TONE.findall(decoded)), len(_MARK.findall(decoded))
    beyond = sum(byte > 0x7F for byte in text)
    if not tones or tones < _TONES_OF_MARKS * marks or tones < _TONES_OF_BYTES * beyond:
        return None
    return _Tones(tones, tones / marks)


class AsUtf8:
    """A file whose bytes are read as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._reader = codecs.getreader(encoding)(file)

    def read(self, size: int) -> bytes:
        """Read about so many bytes; none at the end of the file.

        Raises:
            UnicodeDecodeError: the text is not in the encoding.
        """
        return self._reader.read(size).encode()


def refuse_undecodable(line: UndecodableLine) -> NoReturn:
    """Raise the error for a line that is not UTF-8, with how it reads in other encodings.

    Raises:
        InputError: always.
    """
    if line.korean() is not None:
        raise line.error("give --encoding cp949, or ")
    shown: list[str] = []
    beyond = len(re.sub(rb"[\x00-\x7f]", b"", line.raw))
    names = (*_LATIN, "iso8859_2", *_OTHERS) if beyond < len(line.raw) / 4 else CANDIDATES
    if _tones(line.raw) is not None:
        names = ("cp1258", *names)
    for name in () if _is_mostly_utf8(line.raw) else names:
        try:
            text = line.raw.decode(name)
        except UnicodeDecodeError:
            continue
        start = max(0, len(line.raw[: line.first].decode(name, "replace")) - 10)
        part = " ".join(_DIRECTION.sub("", text[start : start + 20]).split())
        if part.isprintable() and not _SYMBOL_IN_WORD.search(part) and not any(f"({part})" in other for other in shown):
            shown.append(f"{name} ({part})")
    hint = f"; give --encoding NAME: {', '.join(shown[:6])}" if shown else "; convert the file, for example with iconv"
    raise InputError(f"{line.error()}".partition(";")[0] + hint)
