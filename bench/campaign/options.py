"""Random command lines: every verb with random options, values and paths.

A command ends with exit code 0, or with 2 and one line of printable text on standard error; never with a traceback, and
never with its error on standard output.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
from pathlib import Path

from campaign.children import Ended, run_command
from campaign.materials import small_export, small_language_model, small_run, small_system, small_text
from campaign.result import Result, Settings
from dragoman.errors import abridged

TRIALS = 2000
SECONDS = 60
SLOW = {
    "demo": ["--minutes", "0.001"],
    "reproduce": [
        *("--updates", "1", "--train", "train.low", "train.up"),
        *("--dev", "dev.low", "dev.up", "--test", "dev.low", "dev.up"),
    ],
}
"""Verbs that may take minutes, with the options that they are always given. They are drawn less often; SIGTERM, which
also ends the processes that they have started, stops them after `SLOW_SECONDS`."""
SLOW_SECONDS = 15
INTERRUPTED = 130
"""The exit code of a command that a signal stopped."""

ETERNAL = "1000000000"
"""A number that an option may allow although nobody can wait for it; what then exceeds the time is no failure."""

NUMBERS = ("0", "1", "2", "-1", "0.5", "nan", "inf", "1e999", "x", "", "9" * 30, "9" * 5000, "0x10", "１", ETERNAL)
WORDS = (
    *("de", "../../x", "a\nb", "\x1b[31m", "\u202e", "\udce9", "\0", "y" * 5000, "-", "--", "="),
    *("bleu", "mert", "mean"),
)
LANGUAGES = ("de", "en", "ja")
SOURCES, TARGETS = ("train.low", "dev.low", "blank"), ("train.up", "dev.up")
FITTING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("N", "K", "LINE"), ("1", "2", "3", "5")),
    **dict.fromkeys(("X", "F", "T", "W", "P"), ("0.5", "1", "0.1", "2")),
    **dict.fromkeys(("('SRC', 'TGT')", "LANG", "LOCALE"), LANGUAGES),
    **dict.fromkeys(("RUN", "RUN2", "RUN2|FILE", "PRESET|CONFIG.yaml|RUN"), ("run", "run", "export")),
    **dict.fromkeys(("LINKS", "GOLD", "HYP", "FORWARD", "BACKWARD"), ("links", "train.links")),
    **dict.fromkeys(("FILE", "SRC"), (*SOURCES, *TARGETS, "pairs.tsv", "pairs.jsonl", "links")),
    **dict.fromkeys(("TGT", "REF"), TARGETS),
    "LM": ("lm",),
    "SYSTEM": ("system",),
    "NBEST": ("list.nbest",),
    "TABLE": ("table",),
    "CONFIG.yaml": ("mine.yaml",),
    "PRESET": ("demo",),
    "LIST": ("1,2", "1-3"),
    "WORDS": ("A B", "C"),
    "EXPERIMENT": ("list", "luong2015-table1", "bahdanau2015-table1", "sutskever2014-table1", "luong2015-table6"),
}
"""Values that fit an option, by the name of the value in its help."""

OUTPUTS = ("new", "new.html", "new.png", "new.gz", "new.npz", "new/below", "blank")

SETTINGS = (
    *("training.seed=2026-13-45", "training.seed=!!int x", "training.epochs=.inf", "training.epochs=" + "[" * 5000),
    *("training.batch.size=" + "9" * 5000, "model.encoder.size=1000000000", "model.encoder.layers=100"),
    *("text.source.language=../../x", "text.source.vocabulary=1000000000", "text.source.model=\\0"),
    *("search.beam=1000000000", "nothing=1", "=", "training.epochs=1"),
)


def run(settings: Settings) -> list[Result]:
    """Try random command lines."""
    result = Result("options", "Any command line is run, or refused in one line.", "command lines")
    prepared = settings.scratch / "inputs"
    _prepare(prepared, settings)
    draw = random.Random(settings.seed)
    for number in range(settings.trials or TRIALS):
        if settings.is_over():
            break
        words = _command_line(draw)
        folder = settings.scratch / "trial"
        shutil.copytree(prepared, folder, symlinks=True)
        slow = words[0] in SLOW
        seconds, stop = (SLOW_SECONDS, signal.SIGTERM) if slow else (SECONDS, signal.SIGKILL)
        ended = run_command(words, stdin=b"ab c\n\xff\n", folder=folder, seconds=seconds, stop=stop)
        shutil.rmtree(folder)
        result.count(words[0])
        if wrong := _wrong(ended, words):
            shown = [ascii(abridged(word, 100)) for word in words]
            result.fail(wrong, seed=settings.seed, number=number, arguments=shown)
    return [result]


FILES = {
    "empty": b"",
    "blank": b"\n \n\n",
    "bytes": bytes(range(256)),
    "latin": b"k\xe4se\n",
    "long": b"a " * 5000 + b"\n",
    "links": b"0-0 1-1\n\n0-1\n",
    "list.nbest": b"0 ||| a b ||| f= 1 ||| -1\n0 ||| a ||| f= 2 ||| -2\n",
    "table": b"a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\n",
    "mine.yaml": b"training: {epochs: 1}\n",
    "bad.yaml": b"training:\n\t- [\n",
    "damaged.gz": b"not gzip",
    "pairs.tsv": b"a\tb\nc\n",
    "pairs.jsonl": b'{"source": "a", "target": "b"}\n{}\n',
    "weights": b"f= 1\n",
    "moses.ini": b"[feature]\n[weight]\n",
    "odd\n\x1b[31m\u202ename": b"a\n",
    os.fsdecode(b"caf\xe9"): b"a\n",
}


def _prepare(folder: Path, settings: Settings) -> None:
    """The folder in which every command line runs: names that a command line may contain."""
    folder.mkdir()
    models = {"run": small_run, "export": small_export, "lm": small_language_model, "system": small_system}
    for name, make in models.items():
        shutil.copytree(make(settings), folder / name)
    text = small_text(settings)
    for path in (*text.train, *text.dev, settings.shared / "train.links"):
        shutil.copy(path, folder)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")


def _paths(draw: random.Random) -> str:
    names = [
        *("/proc/self/mem", "folder", "loop", "missing", "missing/below", "empty/below", "x" * 300, "-", ".", "/"),
        *("run", "export", "lm", "system", "run/model.safetensors", "run/config.yaml", "export/step.onnx"),
        *("train.low", "train.up", "dev.low", "dev.up", "train.links", "a\0b", *OUTPUTS, *FILES),
    ]
    return draw.choice(names)


def _command_line(draw: random.Random) -> list[str]:
    """A verb with some of its options; most values fit, some are anything."""
    from dragoman.cli.main import VERBS
    from dragoman.cli.shared.parsing import Parser

    name = draw.choice(list(VERBS))
    if name in SLOW and draw.random() < 0.75:
        name = draw.choice([verb for verb in VERBS if verb not in SLOW])
    parser = Parser(prog="dragoman", description="")
    VERBS[name].add_options(parser)
    positional = [action for action in parser._actions if not action.option_strings]
    optional = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    words = [*name.split()]
    for action in positional:
        words += _values(draw, action)
    for action in draw.sample(optional, min(len(optional), draw.choice((0, 1, 1, 2, 3, 5)))):
        words.append(draw.choice(action.option_strings))
        words += _values(draw, action)
    for action in optional:
        if action.required and not set(action.option_strings) & set(words):
            words += [action.option_strings[-1], *_values(draw, action)]
    if draw.random() < 0.05:
        words.insert(draw.randint(1, len(words)), draw.choice(WORDS))
    return [*words, *SLOW.get(name, ())]


def _values(draw: random.Random, action: argparse.Action) -> list[str]:
    """Values for an option, in the number that it takes."""
    if action.nargs == 0:
        return []
    if action.dest in ("train", "dev", "test") and draw.random() < 0.7:
        return draw.choice((["train.low", "train.up"], ["dev.low", "dev.up"], ["pairs.tsv"]))
    count = action.nargs if isinstance(action.nargs, int) else 1 if action.nargs is None else draw.randint(1, 3)
    return [_value(draw, action) for _ in range(count)]


def _value(draw: random.Random, action: argparse.Action) -> str:
    """A value for an option: most fit, some are anything."""
    kind, name = draw.random(), str(action.metavar)
    if kind < 0.05:
        return draw.choice(WORDS)
    if action.dest == "set":
        return draw.choice(SETTINGS)
    if action.choices and kind < 0.95:
        return str(draw.choice(list(action.choices)))
    if action.dest in ("output", "out") and kind < 0.7:
        return draw.choice(OUTPUTS)
    if name in FITTING and kind < 0.8:
        return draw.choice(FITTING[name])
    return draw.choice(NUMBERS) if FITTING.get(name, ("",))[0][:1].isdigit() else _paths(draw)


def _wrong(ended: Ended, arguments: list[str]) -> str | None:
    """What a command did that it must not do, as text; None if nothing."""
    if (ended.code == -9 and ETERNAL in arguments) or (ended.code == INTERRUPTED and arguments[0] in SLOW):
        return None
    if ended.code not in (0, 2):
        return f"exit code {ended.code}: {ended.message[-300:]}"
    if b"Traceback" in ended.err:
        return f"a traceback: {ended.message[-300:]}"
    if b"dragoman: error" in ended.out:
        return "an error on standard output"
    lines = ended.err.decode("utf-8", "replace").split("\n")
    errors = [line for line in lines if line.startswith("dragoman: error: ")]
    if len(errors) != (1 if ended.code == 2 else 0):
        return f"exit code {ended.code} with {len(errors)} errors: {ended.message[-300:]}"
    if not all(character.isprintable() or character in "\u200c\u200d" for line in lines for character in line):
        return f"unprintable characters in a message: {ended.message[-300:]!a}"
    return None
