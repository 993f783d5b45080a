"""Subtitles (.srt, .vtt): cues of a time and lines of text, which are translated together.

A cue of .srt ends where the next one begins, whether an empty line stands there or not. A sentence that goes on in the
next cue is one text. Lines of a dialogue, which begin with dashes, lines of a song, and lines behind the end of a
sentence are texts of their own; dashes and notes stay. Tags, times and codes such as {\\an8} are elements of the
sentence, and a line is never cut inside of one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from dragoman.documents.document import Document, Languages, decoded, line_places, texts_alone
from dragoman.documents.html_text import unescaped
from dragoman.text.sentences import Span, sentence_spans

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SIGN = re.compile(r"[-–—♪♫#]")
_BEFORE, _AFTER = re.compile(r"[-–—♪♫#\s]+"), "♪♫# "
_CODE = re.compile(r"\{(\\[^{}<>'\r\n]*)\}|<(\d[\d:.]*)>")
"""A code, or the time from which a word of WebVTT is shown."""
_CODE_TAG = re.compile(r"<(code|time) c='([^'<>]*)'/>")
_TAG = re.compile(r"<(/?)([^\s<>./\d]+)[^<>]*>")
_TAG_OR_CODE = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_END = re.compile(r"[.!?…。！？؟][\"'”’»)\]]*$")
_TAG_OR_SPACE = re.compile(r"<[^<>]*>|(?P<space>\s+)")
_MOST_CUES = 4
"""Cues of one sentence."""

_Slot = list[Span]
"""The lines of a cue that have text, without the spaces around it."""
_Unit = list[_Slot]
"""The cues of a text; in a dialogue or song a single line."""


def read_srt(content: bytes, languages: Languages) -> Document:
    """Read subtitles in the form of SubRip, which has a few tags and no entities.

    Raises:
        InputError: they are neither UTF-8 nor UTF-16.
    """
    text, encoding = decoded(content)

    def write(translations: list[str]) -> bytes:
        return replace_cue_texts(text, list(map(unescaped, translations)), languages.source).encode(encoding)

    texts = [cue.replace("&", "&amp;") for cue in cue_texts(text, languages.source)]
    return Document(texts, texts_alone(write), _places(text, languages.source, vtt=False))


def read_vtt(content: bytes, languages: Languages) -> Document:
    """Read subtitles in the form of WebVTT, with its tags and entities.

    Raises:
        InputError: they are neither UTF-8 nor UTF-16.
    """
    text, encoding = decoded(content)

    def write(translations: list[str]) -> bytes:
        return replace_cue_texts(text, translations, languages.source, vtt=True).encode(encoding)

    texts = cue_texts(text, languages.source, vtt=True)
    return Document(texts, texts_alone(write), _places(text, languages.source, vtt=True))


def cue_texts(text: str, language: str = "", *, vtt: bool = False) -> list[str]:
    """The texts of the cues as HTML, except for entities: each on one line, without dashes and notes around it."""
    return [_inner(_joined(text, unit))[1] for unit in _units(text, language, vtt)]


def _places(text: str, language: str, *, vtt: bool) -> list[str]:
    return line_places(text, (unit[0][0][0] for unit in _units(text, language, vtt)))


def replace_cue_texts(text: str, translations: Sequence[str], language: str = "", *, vtt: bool = False) -> str:
    """The file with `translations` in the place of `cue_texts`. Each cue has at most as many lines as before, and their
    lengths are in the same proportion.
    """
    result: list[str] = []
    position = 0
    for unit, translated in zip(_units(text, language, vtt), translations, strict=True):
        before, _, after = _inner(_joined(text, unit))
        whole = before + _CODE_TAG.sub(_code, translated) + after
        weights = [[_length(text[slice(*line)]) for line in slot] for slot in unit]
        cues = _divided(whole, [sum(of_lines) for of_lines in weights])
        for slot, of_lines, own in zip(unit, weights, [*cues, *[""] * (len(unit) - len(cues))], strict=True):
            lines = _divided(own, of_lines)
            for number, (start, end) in enumerate(slot):
                if number < len(lines):
                    result += [text[position:start], lines[number]]
                position = end  # a line that is left over goes with the line break before it
    return "".join([*result, text[position:]])


def _units(text: str, language: str, vtt: bool) -> list[_Unit]:
    """The lines of each text."""
    units: list[_Unit] = []
    goes_on = False
    for cue in _cues(text, vtt):
        if len(cue) > 1 and all(_SIGN.match(text, start) for start, _ in cue):
            units += [[[line]] for line in cue]
            goes_on = False
            continue
        for slot in _parted(text, cue, language):
            first, last, own = text[slot[0][0]], text[slot[-1][1] - 1], text[slot[0][0] : slot[-1][1]]
            plain = "<" not in own and "{" not in own
            if goes_on and plain and first.islower() and len(units[-1]) < _MOST_CUES:
                units[-1].append(slot)
            else:
                units.append([slot])
            goes_on = plain and (last.isalpha() or last in ",;")
    return units


def _parted(text: str, cue: _Slot, language: str) -> Iterator[_Slot]:
    """The lines of a cue, divided where a sentence and its tags end with a line."""
    lines = [_TAG_OR_CODE.sub("", text[slice(*line)]) for line in cue]
    if not any(map(_END.search, lines[:-1])):
        yield cue
        return
    begins = {start for start, _ in sentence_spans(" ".join(lines), language)}
    part: _Slot = []
    opened: Counter[str] = Counter()
    position = 0
    for line, shown in zip(cue, lines, strict=True):
        if part and position in begins and not any(opened.values()):
            yield part
            part = []
        part.append(line)
        for tag in _TAG.finditer(text, *line):
            opened[tag[2]] += -1 if tag[1] else 1
        position += len(shown) + 1
    yield part


def _cues(text: str, vtt: bool) -> Iterator[_Slot]:
    """The lines of each cue that has text."""
    lines = [match.span() for match in _LINE.finditer(text)]
    times = [number for number, line in enumerate(lines) if "-->" in text[slice(*line)]]
    for time, following in zip(times, [*times[1:], len(lines)], strict=False):
        own = [_stripped(text, *line) for line in lines[time + 1 : following]]
        if following < len(lines) and own and text[slice(*own[-1])].isdecimal():
            own.pop()  # the number of the next cue
        if vtt:  # whose cues end at an empty line
            own = own[: [*(start < end for start, end in own), False].index(False)]
        slot = [line for line in own if line[0] < line[1]]
        if slot:
            yield slot


def _stripped(text: str, start: int, end: int) -> Span:
    line = text[start:end]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _joined(text: str, unit: _Unit) -> str:
    """The text of cues in one line; codes are tags."""
    joined = " ".join(text[slice(*line)] for slot in unit for line in slot)
    return _CODE.sub(lambda match: f"<{'code' if match[1] else 'time'} c='{match[1] or match[2]}'/>", joined)


def _code(tag: re.Match[str]) -> str:
    return f"{{{tag[2]}}}" if tag[1] == "code" else f"<{tag[2]}>"


def _length(line: str) -> int:
    """The characters of a line without tags; at least one."""
    return len(_TAG_OR_SPACE.sub(lambda match: match["space"] or "", line)) or 1


def _inner(text: str) -> tuple[str, str, str]:
    """The dashes and notes before a text, the text itself, and the dashes and notes behind it."""
    signs = _BEFORE.match(text)
    before = signs[0] if signs else ""
    inner = text[len(before) :].rstrip(_AFTER)
    return before, inner, text[len(before) + len(inner) :]


def _divided(text: str, weights: Sequence[int]) -> list[str]:
    """A text cut at spaces into parts, at most one for each weight, with lengths in proportion to the weights.

    Tags have no length.
    """
    seen, position = 0, 0
    cuts: list[tuple[int, int, int]] = []
    """For each space, the visible characters before it, its start and its end."""
    for match in _TAG_OR_SPACE.finditer(text):
        seen += match.start() - position
        if match["space"]:
            cuts.append((seen, *match.span()))
            seen += match.end() - match.start()
        position = match.end()
    seen += len(text) - position
    parts: list[str] = []
    start = begun = number = 0
    left = list(accumulate(reversed(weights)))[::-1]
    for weight, rest in zip(weights[:-1], left[:-1], strict=True):
        ideal = begun + (seen - begun) * weight / rest
        number = max(bisect_left(cuts, (int(ideal), 0, 0)), number)
        after = cuts[number] if number < len(cuts) else None
        before = cuts[number - 1] if number and cuts[number - 1][1] >= start else None
        if after is None and before is None:
            break
        cut = after if before is None or (after is not None and after[0] - ideal < ideal - before[0]) else before
        assert cut is not None
        parts.append(text[start : cut[1]])
        begun, start = cut[0] + cut[2] - cut[1], cut[2]
    return [*parts, text[start:]]
