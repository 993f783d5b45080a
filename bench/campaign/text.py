"""Fuzzed lines of all Unicode planes through every engine: as many lines out as in, links within words, nothing raised.

Each combination of segmentation, engine and beam translates files of `LINES` drawn lines in a forked child, with
alignments. Some lines of each file are then translated again one at a time, and must not differ.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from campaign.children import Ended, run_command
from campaign.materials import TINY, made, write_pair
from campaign.result import Result, Settings

SEGMENTATIONS = ("characters", "words", "bpe", "unigram", "whitespace")
ENGINES = ("torch", "onnx", "int8", "shortlist", "ensemble", "exported ensemble")
BEAMS = (1, 5)
TRIALS = 1_000_000
LINES = 2_500
"""Lines of a file; the parent makes them while no child runs."""
ALONE = 40
"""Lines of a file that are translated again, one at a time."""
SAME = 1e-3
"""Largest difference of the log-probability of a line, alone and in a batch, that is taken for rounding: where the best
two hypotheses are that close, either may be returned."""
UNDECODABLE = 20
"""Files with a line that is not UTF-8, for each thousand lines translated."""


def run(settings: Settings) -> list[Result]:
    """Try all combinations in turn until the lines or the time are used up."""
    promises = {
        "every line of any text gives one line of UTF-8, an empty one for a line without text": "lines",
        "alignment links lie within the words that are separated by spaces and tabs": "links",
        "a line has the same translation alone as in a batch": "lines",
        "a line that is not UTF-8 is refused with file and line; the output file is not touched": "files",
    }
    lines, links, alone, bad = results = [Result("text", promise, unit) for promise, unit in promises.items()]
    draw = random.Random(settings.seed)
    size = LINES if settings.seconds is None else 300
    combinations = [Combination(*parts) for parts in itertools.product(SEGMENTATIONS, ENGINES, BEAMS)]
    draw.shuffle(combinations)
    for combination in itertools.cycle(combinations):
        wanted = (settings.trials or TRIALS) - lines.trials
        if wanted <= 0 or settings.is_over():
            break
        seed = draw.randrange(1 << 32)
        source = fuzzed_lines(random.Random(seed), min(size, wanted))
        attempt = Attempt(settings, combination, seed, source)
        attempt.translate(lines, links, alone)
        attempt.translate_undecodable(bad)
    return results


# Lines ---------------------------------------------------------------------------------------------------------------


@cache
def _characters(kind: str) -> str:
    """The characters of a kind; line feeds and surrogates are never among them."""
    codes = itertools.chain(range(0xD800), range(0xE000, 0x110000))
    if kind == "spaces":
        return "".join(chr(code) for code in codes if chr(code).isspace() and code != 10) + "\u200b\ufeff\u00ad\u2060"
    if kind == "control":
        return "".join(chr(code) for code in (*range(10), *range(11, 32), *range(127, 160), 0x2028, 0x2029))
    category = {"marks": ("Mn", "Me", "Mc"), "formats": ("Cf",)}.get(kind)
    if category:
        return "".join(chr(code) for code in codes if unicodedata.category(chr(code)) in category)
    return "".join(chr(code) for code in codes if unicodedata.bidirectional(chr(code)) in ("R", "AL"))  # right to left


KNOWN = "abcdef"
SPECIAL = (
    *("<unk>", "</s>", "<s>", "<pad>", "|||", "▁", "&#124;", "@@", "..."),
    *("\ufffe", "\uffff", "\U0010ffff", "\U0010ff80"),
)


def _word(draw: random.Random) -> str:
    kind = draw.randrange(12)
    if kind < 4:
        return "".join(draw.choices(KNOWN, k=draw.randint(1, 4)))
    if kind < 6:  # all planes
        return "".join(_any(draw) for _ in range(draw.randint(1, 4)))
    if kind == 6:  # letters with many marks
        return draw.choice(KNOWN) + "".join(draw.choices(_characters("marks"), k=draw.randint(1, 6)))
    if kind == 7:
        return "".join(draw.choices(_characters("right to left"), k=draw.randint(1, 5)))
    if kind == 8:  # numbers and words around other spaces
        return draw.choice(_characters("spaces")).join("".join(draw.choices("abc019", k=2)) for _ in range(2))
    if kind == 9:
        return draw.choice(KNOWN) + draw.choice(_characters("control")) + draw.choice(KNOWN)
    if kind == 10:
        return draw.choice(SPECIAL)
    return draw.choice(KNOWN) + draw.choice(_characters("formats"))


def _any(draw: random.Random) -> str:
    """A character of any plane; each plane is as likely as the first one's blocks together."""
    code = draw.randrange(0x20, 0xD800) if draw.random() < 0.5 else draw.randrange(0xE000, 0x110000)
    return chr(code)


def fuzzed_line(draw: random.Random) -> str:
    """A line of any kind."""
    kind = draw.randrange(40)
    if kind == 0:
        return ""
    if kind == 1:  # without text
        return "".join(draw.choices(_characters("spaces"), k=draw.randint(1, 5)))
    if kind == 2:
        return "".join(draw.choices(_characters("control"), k=draw.randint(1, 5)))
    if kind == 3:
        return "".join(_any(draw) for _ in range(draw.randint(1, 20)))
    separator = draw.choice(_characters("spaces")) if kind < 8 else " "
    line = separator.join(_word(draw) for _ in range(draw.randint(1, 5)))
    return draw.choice((" ", "\t", "\u3000")) + line + draw.choice(("", " ")) if kind < 12 else line


def fuzzed_lines(draw: random.Random, count: int) -> list[str]:
    """`count` lines, the first of them plain, so that its NULs are not taken for UTF-16; one of them very long."""
    lines = ["ab c", *(fuzzed_line(draw) for _ in range(count - 1))]
    if count > 1:
        longest = " ".join(_word(draw) for _ in range(draw.choice((*[100] * 19, 2_000))))
        lines[draw.randrange(1, count)] = longest.replace(" ", draw.choice((" ", "", "\u00a0")))
    return lines


def is_without_text(line: str) -> bool:
    """Whether a line has nothing but spaces, control characters and characters of zero width."""
    return not set(line) - _invisible()


@cache
def _invisible() -> frozenset[str]:
    marks = map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)))
    return frozenset((*_characters("spaces"), *_characters("control"), *marks))


def _words(line: bytes) -> int:
    """The number of words as Moses and fast_align count them."""
    return len(re.findall(rb"[^ \t]+", line))


# Models and trials ----------------------------------------------------------------------------------------------------


class Combination(NamedTuple):
    """What translates."""

    segmentation: str
    engine: str
    beam: int

    def models(self, settings: Settings) -> list[Path]:
        """The runs or the exported folder of the engine."""
        runs = [self._run(settings, seed) for seed in ((1, 2) if "ensemble" in self.engine else (1,))]
        if self.engine in ("torch", "ensemble"):
            return runs
        options = {"int8": ["--int8"], "shortlist": ["--shortlist", "12"]}.get(self.engine, [])
        name = f"text-{self.segmentation}-{self.engine.replace(' ', '-')}"
        return [made(settings.shared / name, ["export", *runs, *options])]

    def _run(self, settings: Settings, seed: int) -> Path:
        draw = random.Random(5)
        lines = [" ".join(_word(draw) for _ in range(draw.randint(1, 3))).replace("\r", "") for _ in range(300)]
        files = write_pair(settings.shared / "text", "source", "target", lines)
        command = ["train", "--preset", "demo", "--train", *files, "--dev", *files, "--threads", "1"]
        keys = (f"segmentation={self.segmentation}", "vocabulary=1500")
        sides = [f"text.{side}.{key}" for side in ("source", "target") for key in keys]
        folder = settings.shared / f"text-{self.segmentation}-{seed}"
        return made(folder, command, *TINY, *sides, f"training.seed={seed}", seconds=600)


@dataclass(frozen=True)
class Attempt:
    """Lines, and what translates them."""

    settings: Settings
    combination: Combination
    seed: int
    source: list[str]

    @property
    def _trial(self) -> dict[str, Any]:
        return {"combination": list(self.combination), "seed": self.seed}

    def _translate(self, lines: Iterable[bytes], *more: str | Path) -> tuple[Ended, Path, Path]:
        """The end of the command, its input and its output."""
        given, out = (self.settings.scratch / name for name in ("given", "out"))
        given.write_bytes(b"".join(line + b"\n" for line in lines))
        out.write_bytes(b"before\n")
        search = ["--beam", str(self.combination.beam), "--max-length-factor", "1", "--max-length-extra", "3"]
        models = self.combination.models(self.settings)
        command = ["translate", *models, "-i", given, "-o", out, *search, "--threads", "1", *more]
        return run_command(command, seconds=1200), given, out

    def translate(self, lines: Result, links: Result, alone: Result) -> None:
        """Translate a file with alignments, and some of its lines alone."""
        source, pharaoh = self.source, self.settings.scratch / "links"
        ended, _, out = self._translate(map(str.encode, source), "--alignments", pharaoh)
        lines.count(" ".join(map(str, self.combination)), len(source))
        if ended.code or "Traceback" in ended.message:
            lines.fail(f"exit {ended.code}: {ended.message[-600:]}", **self._trial)
            return
        found, linked = _lines(out), _lines(pharaoh)
        if not len(found) == len(linked) == len(source):
            lines.fail(f"{len(found)} translations and {len(linked)} lines of links", **self._trial)
            return
        for number, (line, text, pairs) in enumerate(zip(source, found, linked, strict=True), start=1):
            if b"\r" in text or (text and is_without_text(line)):
                lines.fail(f"line {number}, {line!r}: {text!r}", **self._trial)
            counts = _words(line.removesuffix("\r").encode()), _words(text)
            for i, j in (map(int, pair.split(b"-")) for pair in pairs.split()):
                links.trials += 1
                if i >= counts[0] or j >= counts[1]:
                    links.fail(f"line {number}, {line!r}: {i}-{j} with {counts} words", **self._trial)
        self._translate_alone(found, alone)

    def _translate_alone(self, found: list[bytes], alone: Result) -> None:
        chosen = [0, *random.Random(self.seed).sample(range(1, len(self.source)), min(ALONE, len(self.source) - 1))]
        own = [self.source[number].encode() for number in chosen]
        ended, _, out = self._translate(own, "--chunk-size", "1")
        alone.trials += len(chosen)
        if ended.code:
            alone.fail(f"exit {ended.code}: {ended.message[-600:]}", **self._trial)
            return
        other = [(number, text) for number, text in zip(chosen, _lines(out), strict=True) if text != found[number]]
        batched = self._scores(map(str.encode, self.source)) if other else {}
        single = dict(zip(chosen, self._scores(own, "--chunk-size", "1").values(), strict=True)) if other else {}
        for number, text in other:
            if abs(batched[number] - single[number]) > SAME:  # so that no rounding explains another translation
                line = self.source[number]
                alone.fail(f"line {number + 1}, {line!r}: {text!r}, not {found[number]!r}", **self._trial)

    def _scores(self, lines: Iterable[bytes], *more: str) -> dict[int, float]:
        ended, _, out = self._translate(lines, "--format", "jsonl", *more)
        ended.require("scores")
        return {number: json.loads(line)["translations"][0]["score"] for number, line in enumerate(_lines(out))}

    def translate_undecodable(self, bad: Result) -> None:
        """Replace bytes of some lines, one at a time, by bytes that UTF-8 does not allow there."""
        draw = random.Random(self.seed + 1)
        wrong = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xe4\xb8", b"\xf4\x90\x80\x80", b"\x80")
        for _ in range(max(1, UNDECODABLE * len(self.source) // 20_000)):
            number = draw.randrange(1, min(len(self.source), 60))
            encoded = [line.encode() for line in self.source[:60]]
            encoded[number] = b"ab " + draw.choice(wrong) + encoded[number]
            ended, given, out = self._translate(encoded)
            bad.trials += 1
            named = f"{given}:{number + 1}:" in ended.message and len(ended.message.splitlines()) <= 2
            if ended.code != 2 or not named or out.read_bytes() != b"before\n":
                bad.fail(f"exit {ended.code}: {ended.message[-600:]}", line=number, **self._trial)


def _lines(path: Path) -> list[bytes]:
    """The lines of an output; raises if it is not UTF-8."""
    contents = path.read_bytes()
    contents.decode()
    return contents.split(b"\n")[:-1]
