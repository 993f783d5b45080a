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
from functools import cache
from pathlib import Path

from campaign.children import Ended, run_command
from campaign.materials import TINY
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
    lines = Result(
        "text", "every line of any text gives one line of UTF-8, an empty one for a line without text", "lines"
    )
    links = Result("text", "alignment links lie within the words that are separated by spaces and tabs", "links")
    alone = Result("text", "a line has the same translation alone as in a batch", "lines")
    bad = Result(
        "text", "a line that is not UTF-8 is refused with file and line; the output file is not touched", "files"
    )
    draw = random.Random(settings.seed)
    size = LINES if settings.seconds is None else 300
    combinations = list(itertools.product(SEGMENTATIONS, ENGINES, BEAMS))
    draw.shuffle(combinations)
    lines.facts["lines by combination"] = {}
    for number, combination in enumerate(itertools.cycle(combinations)):
        wanted = (TRIALS if settings.trials is None else settings.trials) - lines.trials
        if wanted <= 0 or settings.is_over():
            break
        seed = draw.randrange(1 << 32)
        folder = settings.scratch / str(number)
        folder.mkdir()
        source = fuzzed_lines(random.Random(seed), min(size, wanted))
        _try(settings, folder, combination, seed, source, (lines, links, alone))
        _try_undecodable(settings, folder, combination, seed, source, bad)
        for file in folder.iterdir():
            file.unlink()
    return [lines, links, alone, bad]


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
    "<unk>",
    "</s>",
    "<s>",
    "<pad>",
    "|||",
    "▁",
    "&#124;",
    "@@",
    "\ufffe",
    "\uffff",
    "\U0010ffff",
    "\U0010ff80",
    "...",
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


# Models --------------------------------------------------------------------------------------------------------------


def _engine(settings: Settings, segmentation: str, engine: str) -> list[Path]:
    """The runs or the exported folder of an engine."""
    if engine == "torch":
        return [_run(settings, segmentation, 1)]
    if engine == "ensemble":
        return [_run(settings, segmentation, 1), _run(settings, segmentation, 2)]
    folder = settings.shared / f"text-{segmentation}-{engine.replace(' ', '-')}"
    if not folder.exists():
        runs = _engine(settings, segmentation, "ensemble" if engine == "exported ensemble" else "torch")
        options = {"int8": ["--int8"], "shortlist": ["--shortlist", "12"]}.get(engine, [])
        _must(run_command(["export", *runs, "--out", folder, "--quiet", *options]))
    return [folder]


def _run(settings: Settings, segmentation: str, seed: int) -> Path:
    folder = settings.shared / f"text-{segmentation}-{seed}"
    if not folder.exists():
        files = [settings.shared / name for name in ("text.source", "text.target")]
        if not files[1].exists():
            draw = random.Random(5)
            lines = [" ".join(_word(draw) for _ in range(draw.randint(1, 3))).replace("\r", "") for _ in range(300)]
            files[0].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
            files[1].write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8", newline="")
        text = ["--train", *files, "--dev", *files, "--out", folder, "--threads", "1", "--quiet"]
        sides = [
            setting
            for side in ("source", "target")
            for setting in (f"text.{side}.segmentation={segmentation}", f"text.{side}.vocabulary=1500")
        ]
        _must(
            run_command(
                ["train", "--preset", "demo", *text, "--set", *TINY, *sides, f"training.seed={seed}"], seconds=600
            )
        )
    return folder


def _must(ended: Ended) -> None:
    if ended.code:
        raise RuntimeError(f"the models of the campaign cannot be made: {ended.message}")


# Trials --------------------------------------------------------------------------------------------------------------


def _translate(
    settings: Settings, combination: tuple[str, str, int], source: Path, out: Path, *more: str | Path
) -> Ended:
    segmentation, engine, beam = combination
    search = ["--beam", str(beam), "--max-length-factor", "1", "--max-length-extra", "3", "--threads", "1"]
    runs = _engine(settings, segmentation, engine)
    return run_command(["translate", *runs, "-i", source, "-o", out, *search, *more], seconds=1200)


def _try(
    settings: Settings,
    folder: Path,
    combination: tuple[str, str, int],
    seed: int,
    source: list[str],
    results: tuple[Result, Result, Result],
) -> None:
    """Translate a file with alignments, and some of its lines alone."""
    lines, links, alone = results
    trial = {"combination": list(combination), "seed": seed, "lines": len(source)}
    given, out, pharaoh = (folder / name for name in ("given", "out", "links"))
    given.write_bytes(b"".join(line.encode() + b"\n" for line in source))
    ended = _translate(settings, combination, given, out, "--alignments", pharaoh)
    lines.trials += len(source)
    by_combination = lines.facts["lines by combination"]
    name = " ".join(map(str, combination))
    by_combination[name] = by_combination.get(name, 0) + len(source)
    if ended.code or "Traceback" in ended.message:
        lines.fail(f"exit {ended.code}: {ended.message[-600:]}", **trial)
        return
    found, linked = _lines(out), _lines(pharaoh)
    if not len(found) == len(linked) == len(source):
        lines.fail(f"{len(found)} translations and {len(linked)} lines of links", **trial)
        return
    for number, (line, text, pairs) in enumerate(zip(source, found, linked, strict=True)):
        if b"\r" in text or (text and is_without_text(line)):
            lines.fail(f"line {number + 1}, {line!r}: {text!r}", **trial)
        counts = _words(line.removesuffix("\r").encode()), _words(text)
        for i, j in (map(int, pair.split(b"-")) for pair in pairs.split()):
            links.trials += 1
            if i >= counts[0] or j >= counts[1]:
                links.fail(f"line {number + 1}, {line!r}: {i}-{j} with {counts} words", **trial)
    draw = random.Random(seed)
    chosen = [0, *draw.sample(range(1, len(source)), min(ALONE, len(source) - 1))]
    own = folder / "own"
    own.write_bytes(b"".join(source[number].encode() + b"\n" for number in chosen))
    ended = _translate(settings, combination, own, out, "--chunk-size", "1")
    alone.trials += len(chosen)
    if ended.code:
        alone.fail(f"exit {ended.code}: {ended.message[-600:]}", **trial)
        return
    for place, (number, text) in enumerate(zip(chosen, _lines(out), strict=True)):
        if text != found[number] and _differ(settings, folder, combination, (own, place), (given, number)):
            alone.fail(f"line {number + 1}, {source[number]!r}: {text!r}, not {found[number]!r}", **trial)


def _differ(
    settings: Settings,
    folder: Path,
    combination: tuple[str, str, int],
    alone: tuple[Path, int],
    batched: tuple[Path, int],
) -> bool:
    """Whether a line has other scores alone than in a batch, so that no rounding explains another translation."""
    scores = []
    for (file, number), options in ((alone, ["--chunk-size", "1"]), (batched, [])):
        out = folder / "scores"
        _must(_translate(settings, combination, file, out, "--format", "jsonl", *options))
        scores.append(json.loads(_lines(out)[number])["translations"][0]["score"])
    return bool(abs(scores[0] - scores[1]) > SAME)


def _try_undecodable(
    settings: Settings, folder: Path, combination: tuple[str, str, int], seed: int, source: list[str], bad: Result
) -> None:
    """Replace bytes of some lines, one at a time, by bytes that UTF-8 does not allow there."""
    draw = random.Random(seed + 1)
    wrong = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xe4\xb8", b"\xf4\x90\x80\x80", b"\x80")
    for _ in range(max(1, UNDECODABLE * len(source) // 20_000)):
        number = draw.randrange(1, min(len(source), 60))
        encoded = [line.encode() for line in source[:60]]
        encoded[number] = b"ab " + draw.choice(wrong) + encoded[number]
        given, out = folder / "given", folder / "kept"
        given.write_bytes(b"".join(line + b"\n" for line in encoded))
        out.write_bytes(b"before\n")
        ended = _translate(settings, combination, given, out)
        bad.trials += 1
        told = f"{given}:{number + 1}:" in ended.message and len(ended.message.splitlines()) <= 2
        if ended.code != 2 or not told or out.read_bytes() != b"before\n":
            bad.fail(
                f"exit {ended.code}: {ended.message[-600:]}", seed=seed, combination=list(combination), line=number
            )


def _lines(path: Path) -> list[bytes]:
    """The lines of an output; raises if it is not UTF-8."""
    contents = path.read_bytes()
    contents.decode()
    return contents.split(b"\n")[:-1]
