"""The command `dragoman VERB ...`: finds the verb, lets it run, and turns the errors a user can meet into one line.

Exit codes: 0 done; 1 a bug of ours, with its traceback; 2 something the user can put right; 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import cast

import dragoman
from dragoman.cli import (
    aer,
    align,
    config,
    curves,
    demo,
    describe,
    dictionary,
    evaluate,
    export,
    heatmap,
    import_model,
    inspect,
    map_points,
    phrase_table,
    presets,
    rescore,
    score,
    select,
    symmetrize,
    train,
    translate,
    tree,
    tune,
)
from dragoman.cli.lm import perplexity as lm_perplexity
from dragoman.cli.lm import score as lm_score
from dragoman.cli.lm import train as lm_train
from dragoman.cli.parsing import Parser, Verb, did_you_mean
from dragoman.cli.smt import nbest as smt_nbest
from dragoman.cli.smt import train as smt_train
from dragoman.cli.smt import translate as smt_translate
from dragoman.cli.smt import tune as smt_tune
from dragoman.errors import ConfigError, DragomanError

VERBS = {
    "demo": cast(Verb, demo),
    "inspect": cast(Verb, inspect),
    "train": cast(Verb, train),
    "translate": cast(Verb, translate),
    "score": cast(Verb, score),
    "align": cast(Verb, align),
    "symmetrize": cast(Verb, symmetrize),
    "dictionary": cast(Verb, dictionary),
    "aer": cast(Verb, aer),
    "evaluate": cast(Verb, evaluate),
    "heatmap": cast(Verb, heatmap),
    "rescore": cast(Verb, rescore),
    "phrase-table": cast(Verb, phrase_table),
    "select": cast(Verb, select),
    "tune": cast(Verb, tune),
    "lm train": cast(Verb, lm_train),
    "lm score": cast(Verb, lm_score),
    "lm perplexity": cast(Verb, lm_perplexity),
    "curves": cast(Verb, curves),
    "tree": cast(Verb, tree),
    "map": cast(Verb, map_points),
    "smt train": cast(Verb, smt_train),
    "smt tune": cast(Verb, smt_tune),
    "smt translate": cast(Verb, smt_translate),
    "smt nbest": cast(Verb, smt_nbest),
    "export": cast(Verb, export),
    "import": cast(Verb, import_model),
    "presets": cast(Verb, presets),
    "describe": cast(Verb, describe),
    "config": cast(Verb, config),
}
"""In the order of the help; each is one file. Some have two words, of which the first stands for all that it begins."""

EXTRAS = {
    "train": ("babel", "jinja2", "matplotlib", "onnx", "sacrebleu", "safetensors", "tensorboard", "torch", "tqdm"),
    "maps": ("altair", "sklearn", "vl_convert"),
    "smt": ("kenlm", "thot"),
}
"""Packages that come with an extra only."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except DragomanError as error:
        return _complain(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
        if extra is None:
            raise
        return _complain(f"this needs {error.name}, which is not installed; pip install 'dragoman[{extra}]'", 2)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # The reader has had enough. What is still buffered must go somewhere when the interpreter flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _run(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        _general_parser().parse(arguments or ["--help"])
        return
    name, rest = find_verb(arguments)
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


def _complain(message: str, code: int) -> int:
    print(f"dragoman: error: {message}" if code == 2 else f"dragoman: {message}", file=sys.stderr)
    return code
