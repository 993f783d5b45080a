"""The command `dragoman VERB ...`: finds the verb, lets it run, and turns the errors a user can meet into one line.

Exit codes: 0 done; 1 a bug of ours, with its traceback; 2 something the user can put right; 130 interrupted.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import dragoman
from dragoman.cli.shared.parsing import Parser, Verb, did_you_mean
from dragoman.errors import ConfigError, DragomanError


class Verbs(Mapping[str, Verb]):
    """Verbs by name. Each is imported when it is asked for: a command needs one, and all together take time."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> Verb:
        return cast(Verb, importlib.import_module(f"dragoman.cli.{self._modules[name]}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


VERBS = Verbs(
    {
        "demo": "demo",
        "inspect": "inspect",
        "train": "train",
        "translate": "translate",
        "score": "score",
        "align": "align",
        "symmetrize": "symmetrize",
        "dictionary": "dictionary",
        "aer": "aer",
        "evaluate": "evaluate",
        "heatmap": "heatmap",
        "rescore": "rescore",
        "phrase-table": "phrase_table",
        "select": "select",
        "tune": "tune",
        "lm train": "lm.train",
        "lm score": "lm.score",
        "lm perplexity": "lm.perplexity",
        "curves": "curves",
        "tree": "tree",
        "map": "map_points",
        "smt train": "smt.train",
        "smt tune": "smt.tune",
        "smt translate": "smt.translate",
        "smt nbest": "smt.nbest",
        "export": "export",
        "import": "import_model",
        "presets": "presets",
        "describe": "describe",
        "config": "config",
    }
)
"""In the order of the help; each is one file. Some have two words, of which the first stands for all that it begins."""

EXTRAS = {
    "train": ("babel", "jinja2", "matplotlib", "onnx", "sacrebleu", "safetensors", "tensorboard", "torch", "tqdm"),
    "maps": ("altair", "sklearn", "vl_convert"),
    "smt": ("kenlm", "thot"),
}
"""Packages that come with an extra only."""

KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}
"""Compiled kernels that torch keeps, one for each shape it has seen, up to a MB each; without a word from us 1024, and
again as many. Text brings ever new shapes, few of which come back soon (docs/performance.md)."""

TRAINING = ("demo", "train", "lm train")
"""Commands that come back to all their shapes, many in number, and would compile kernels anew."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        with _terminated_as_interrupted():
            _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except DragomanError as error:
        return _complain(error, str(error), error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
        if extra is None:
            raise
        return _complain(error, f"this needs {error.name}, which is not installed; pip install 'dragoman[{extra}]'", 2)
    except KeyboardInterrupt as error:
        return _complain(error, "interrupted", 130)
    except BrokenPipeError as error:
        for note in getattr(error, "__notes__", ()):
            print(f"dragoman: {note}", file=sys.stderr)
        # The reader has had enough. What is still buffered must go somewhere when the interpreter flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _run(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        _general_parser().parse(arguments or ["--help"])
        return
    name, rest = find_verb(arguments)
    if name not in TRAINING:
        for limit, most in KERNELS.items():
            os.environ.setdefault(limit, most)  # read by torch at its first product
    verb = VERBS[name]
    parser = Parser(prog=f"dragoman {name}", description=verb.DESCRIPTION, examples=verb.EXAMPLES)
    verb.add_options(parser)
    options = parser.parse(rest)
    logging.basicConfig(
        format="dragoman: warning: %(message)s", level=logging.ERROR if options.quiet else logging.WARNING, force=True
    )
    verb.run(options)


def find_verb(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The verb that a command line begins with, one word or two, and what follows it.

    Raises:
        ConfigError: there is none; for `smt --help` alike, with the verbs that begin so.
    """
    for length in (2, 1):
        name = " ".join(arguments[:length])
        if name in VERBS:
            return name, arguments[length:]
    first = arguments[0]
    family = [name for name in VERBS if name.startswith(f"{first} ")]
    if family:
        raise ConfigError(f"{first} is the first word of a command: {', '.join(family)}; add --help to one of them")
    raise ConfigError(f"unknown command {first}{did_you_mean(first, VERBS)}; commands: {', '.join(VERBS)}")


def _general_parser() -> Parser:
    width = max(map(len, VERBS))
    commands = "\n".join(f"  {name:<{width}}  {verb.SUMMARY}" for name, verb in VERBS.items())
    parser = Parser(
        prog="dragoman",
        description=f"Trains translators from parallel text, translates, shows alignments.\n\ncommands:\n{commands}",
        examples=(
            "dragoman demo",
            "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
            "dragoman translate RUN < new.de > new.en",
        ),
    )
    parser.usage = "dragoman COMMAND ...        dragoman COMMAND --help explains one"
    parser.add_argument("--version", action="version", version=f"dragoman {dragoman.__version__}")
    return parser


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM stops a command as Ctrl-C does, so that it too leaves nothing unfinished behind without a word."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can have signal handlers
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _complain(error: BaseException, message: str, code: int) -> int:
    """Print the one line of an error, with the notes that were added to it on its way."""
    message = "; ".join([message, *getattr(error, "__notes__", ())])
    print(f"dragoman: error: {message}" if code == 2 else f"dragoman: {message}", file=sys.stderr)
    return code
