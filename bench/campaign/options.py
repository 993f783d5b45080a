"""Random command lines: every verb with random options, values and paths.

A command ends with exit code 0, or with 2 and one line of printable text on standard error; never with a traceback, and
never with its error on standard output.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from campaign.children import Ended, run_command
from campaign.materials import small_export, small_run, small_text
from campaign.result import Result, Settings
from dragoman.errors import abridged

TRIALS = 2000
SECONDS = 60
LEFT_OUT = ("demo", "reproduce")
"""Verbs that take minutes with no option at all."""

ETERNAL = "1000000000"
"""A number that an option may allow although nobody can wait for it; what then exceeds the time is no failure."""

NUMBERS = ("0", "1", "2", "-1", "0.5", "nan", "inf", "1e999", "x", "", "9" * 30, "9" * 5000, "0x10", "１", ETERNAL)
WORDS = (
    "de",
    "../../x",
    "a\nb",
    "\x1b[31m",
    "\u202e",
    "\udce9",
    "\0",
    "y" * 5000,
    "-",
    "--",
    "=",
    "bleu",
    "mert",
    "mean",
)
SETTINGS = (
    "training.seed=2026-13-45",
    "training.seed=!!int x",
    "training.epochs=.inf",
    "training.epochs=" + "[" * 5000,
    "training.batch.size=" + "9" * 5000,
    "model.encoder.size=1000000000",
    "model.encoder.layers=100",
    "text.source.language=../../x",
    "text.source.vocabulary=1000000000",
    "text.source.model=\\0",
    "search.beam=1000000000",
    "nothing=1",
    "=",
    "training.epochs=1",
)


def run(settings: Settings) -> list[Result]:
    """Try random command lines."""
    result = Result("options", "Any command line is run, or refused in one line.", "command lines")
    text = small_text(settings)
    prepared = settings.scratch / "inputs"
    _prepare(prepared, small_run(settings), small_export(settings), [*text.train, *text.dev])
    draw = random.Random(settings.seed)
    for number in range(settings.trials or TRIALS):
        if settings.is_over():
            break
        arguments = _command_line(draw)
        folder = settings.scratch / "trial"
        shutil.copytree(prepared, folder, symlinks=True)
        try:
            ended = run_command(arguments, stdin=b"ab c\n\xff\n", folder=folder, seconds=SECONDS)
        finally:
            shutil.rmtree(folder)
        result.trials += 1
        wrong = _wrong(ended, arguments)
        if wrong:
            shown = [ascii(abridged(word, 100)) for word in arguments]
            result.fail(wrong, seed=settings.seed, number=number, arguments=shown)
    return [result]


def _prepare(folder: Path, run_folder: Path, export: Path, text: list[Path]) -> None:
    """The folder in which every command line runs: names that a command line may contain."""
    folder.mkdir()
    shutil.copytree(run_folder, folder / "run")
    shutil.copytree(export, folder / "export")
    for path in text:
        shutil.copy(path, folder / path.name)
    contents = {
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
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")


def _paths(draw: random.Random) -> str:
    names = [
        *("run", "export", "folder", "loop", "missing", "missing/below", "empty/below", "x" * 300, "-", ".", "/"),
        *("empty", "blank", "bytes", "latin", "long", "links", "list.nbest", "table", "mine.yaml", "bad.yaml"),
        *("damaged.gz", "pairs.tsv", "pairs.jsonl", "weights", "moses.ini", "odd\n\x1b[31m\u202ename", "caf\udce9"),
        *("train.low", "train.up", "dev.low", "dev.up", "run/model.safetensors", "run/config.yaml", "export/step.onnx"),
        *("new", "new.html", "new.png", "new.gz", "a\0b"),
    ]
    return draw.choice(names)


def _command_line(draw: random.Random) -> list[str]:
    """A verb with some of its options; most values fit, some are anything."""
    from dragoman.cli.main import VERBS
    from dragoman.cli.shared.parsing import Parser

    name = draw.choice([verb for verb in VERBS if verb not in LEFT_OUT])
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
    words += [word for action in optional if action.required for word in (action.option_strings[-1], _paths(draw))]
    if draw.random() < 0.1:
        words.insert(draw.randint(1, len(words)), draw.choice(WORDS))
    return words


def _values(draw: random.Random, action: argparse.Action) -> Iterator[str]:
    """Values for an option, in the number that it takes."""
    if action.nargs == 0:
        return
    count = action.nargs if isinstance(action.nargs, int) else 1 if action.nargs is None else draw.randint(1, 3)
    for _ in range(count):
        kind = draw.random()
        if kind < 0.1:
            yield draw.choice(WORDS)
        elif action.choices and kind < 0.9:
            yield str(draw.choice(list(action.choices)))
        elif action.dest == "set":
            yield draw.choice(SETTINGS)
        elif action.metavar in ("N", "X", "F", "T", "W", "K", "P"):
            yield draw.choice(NUMBERS)
        else:
            yield _paths(draw)


def _wrong(ended: Ended, arguments: list[str]) -> str | None:
    """What a command did that it must not do, as text; None if nothing."""
    if ended.code == -9 and ETERNAL in arguments:
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
