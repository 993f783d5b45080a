"""Runs the commands and programs of pages, made small, in forked children of a process with all imports.

python -m tests.site.page_server SOCKET BIN     serves until its standard input ends
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.reproduction.command_server import NEEDED, _end_with_input, serve

SIZES = (
    *("model.embedding.source=16", "model.embedding.target=16", "model.encoder.size=16", "model.decoder.size=16"),
    *("model.attention.size=16", "model.readout.size=16", "text.source.vocabulary=300", "text.target.vocabulary=300"),
)
SMALL = (*SIZES, "training.precision=fp32", "training.validation.at_least=0")
"""Settings of a training that takes a second."""

TEXT = ("--train", "train.de", "train.en", "--dev", "dev.de", "dev.en")
"""What `...` stands for in the commands of pages."""

UPDATES = 80
"""A command that asks for more makes two."""

SECONDS = 200
"""A command that takes longer is one that waits for something."""


def shortened(words: list[str]) -> list[str]:
    """The words of a command, so that it takes about a second: two updates of a small model, one seed, one round."""
    name = " ".join(words[:2]) if words[0] in ("lm", "smt") else words[0]
    words = list(words)
    if name in ("train", "lm train"):
        return _shortened_training(words, sentences=name == "train")
    if name in ("export", "import"):
        words.append("--overwrite")
    if name == "export" and "--shortlist" in words:
        words[words.index("--shortlist") + 1] = "50"  # shorter than the vocabulary here
    if name == "smt train":
        words += ["--aligner", "ibm1", "--order", "3"]
    if name == "smt tune":
        words += ["--iterations", "1", "--restarts", "0", "--nbest", "10"]
    if name == "reproduce" and "list" not in words:
        _drop(words, "--seeds")
        words += ["--scale", "0.012", "--updates", "2", "--seeds", "1", "--jobs", "1", "--set", *SMALL[-4:]]
    if name == "demo":
        words += ["--from", "de", "--to", "en", "--minutes", "0.02", "--overwrite"]
    return words


def _shortened_training(words: list[str], *, sentences: bool) -> list[str]:
    _drop(words, "--minutes")
    if "..." in words and "--train" in words:  # --train ... --dev ... --out RUN
        _drop(words, "--train")
        _drop(words, "--dev")
        words += TEXT
    elif "..." in words:
        words[words.index("...") : words.index("...") + 1] = [*TEXT, "--out", "RUN"]
    resumed, configured = "--resume" in words, "--from" in words or (len(words) > 1 and words[1].endswith(".yaml"))
    if "--updates" not in words:
        words += ["--updates", "4" if resumed else "2"]
    else:
        place = words.index("--updates") + 1
        words[place] = words[place] if int(words[place]) <= UPDATES else "2"
    if sentences and not (resumed or configured or "--preset" in words):
        words += ["--preset", "demo"]
    settings = () if resumed or not sentences else SMALL[len(SIZES) :] if "--from" in words else SMALL
    if "--set" in words:
        place = words.index("--set") + 1
        words[place:place] = settings
    elif settings:
        words += ["--set", *settings]
    return words if resumed else [*words, "--overwrite"]


def _drop(words: list[str], option: str) -> None:
    if option in words:
        del words[words.index(option) : words.index(option) + 2]


def run(program: str, words: list[str]) -> int:
    """Run a command, a Python program of a page, or what stands for a program that installs something."""
    name, *words = words
    signal.alarm(SECONDS)
    _make_small(program)
    if name == "pip":
        return _require_extras(words)
    if name == "python":
        return _run_program(words)
    if words[:1] == ["serve"]:
        return _serve_in_background(words)
    from dragoman.cli.main import main

    return main(shortened(words) if words else words)


def _make_small(program: str) -> None:
    """Replace what takes long and is no part of a page, in this child alone."""
    import dragoman.cluster.command as command
    import dragoman.reproduction.steps as steps
    import dragoman.workflows.demo_corpus as demo_corpus
    import dragoman.workflows.training as training

    demo_corpus.TRAIN, demo_corpus.HELD_OUT, demo_corpus.FAMILIAR = 300, 20, 0
    training.write_run_report = lambda *_: None  # type: ignore[assignment]
    command.workers_of_ray = lambda: _worker_in_this_process
    steps.PROGRAM = (program,)  # type: ignore[assignment]


@contextmanager
def _worker_in_this_process(opener: Any, address: Any, workers: Any) -> Iterator[Any]:
    from tests.cluster.local_pool import LocalPool

    yield LocalPool(opener())


def _require_extras(words: list[str]) -> int:
    """What stands for pip: the extras that a page names exist."""
    import tomllib

    known = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    named = re.findall(r"\[(.*?)\]", " ".join(words))
    extras = {extra for names in named for extra in names.split(",")}
    return int(not extras or not extras <= set(known["project"]["optional-dependencies"]))


def _run_program(words: list[str]) -> int:
    """`python FILE` or `python -c PROGRAM`; trainings of the program are made small."""
    import dragoman

    trained = dragoman.train

    def train(config: Any, train: Any, dev: Any, out: Any, **others: Any) -> Any:
        resumed = others.get("resume", False)
        others |= {"minutes": None, "overwrite": not resumed}
        config = dragoman.override(config, [*SMALL, f"training.updates={4 if resumed else 2}"])
        return trained(config, train, dev, out, **others)

    dragoman.train = train
    text = words[1] if words[0] == "-c" else Path(words[0]).read_text(encoding="utf-8")
    exec(compile(text, words[0], "exec"), {"__name__": "__main__"})
    return 0


def _serve_in_background(words: list[str]) -> int:
    """Start the server on a free port, which `.port` names, and return once it answers; `.servers` has its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = os.fork()
    if child == 0:
        signal.alarm(0)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(3, 64)  # the socket of the client, which would wait for its end
        from dragoman.cli.main import main

        os._exit(main([*words, "--port", str(port)]))
    Path(".servers").write_text(str(child))
    Path(".port").write_text(str(port))
    for _ in range(300):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return 0
        time.sleep(0.1)
    return 1


if __name__ == "__main__":
    for module in (*NEEDED, "dragoman.cluster.worker", "dragoman.reproduction.reproduce", "dragoman.workflows.demo"):
        importlib.import_module(module)
    threading.Thread(target=_end_with_input, daemon=True).start()
    serve(sys.argv[1], partial(run, sys.argv[2]))
