"""A process of tests with several ranks: computes cases that it reads from standard input, one a line.

Starting Python and importing torch takes seconds, so the processes of a test session compute many cases. They end when
their standard input does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from dragoman.cli.main import main as command_main
from dragoman.config.building import build_config
from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batches, Budget, sorted_batches
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.training import joining, loop, objective
from dragoman.training.joining import joined_ranks
from dragoman.training.log import read_log
from dragoman.training.validation import Validators, perplexity
from tests.training.conftest import copying_store, tiny_model


def training(
    folder: str,
    recipe: dict[str, Any],
    *,
    dtype: str = "float64",
    dropout: float = 0.0,
    sentences: int = 4,
    resume: bool = False,
    disturbance: str = "",
    at: Sequence[int] = (),
    busy: float = 0.0,
    minutes: float = 1.0,
) -> dict[str, Any]:
    """Train the tiny model; gives its last weights, and on rank 0 the losses.

    Args:
        disturbance: "hang", "kill" or "stop" (by SIGTERM) ...
        at: ... the rank, before the batch of this number from 1.
        busy: seconds that the other ranks with an even number take for that batch.
    """
    config: TrainingConfig = build_config({"training": recipe}, "recipe").training
    model, store = tiny_model(dropout).to(getattr(torch, dtype)), copying_store()
    rank = int(os.environ.get("RANK", "0"))

    disturb = {
        "hang": lambda: time.sleep(1.5 * 60 * minutes + 1),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "stop": lambda: os.kill(os.getpid(), signal.SIGTERM),
    }

    class Disturbed(Batches):
        def from_position(self, position: Any) -> Any:
            for number, item in enumerate(super().from_position(position), 1):
                if [rank, number] == list(at):
                    disturb[disturbance]()
                elif rank % 2 == 0 and at and number == at[1]:
                    time.sleep(busy)
                yield item

    batches = Disturbed(store, Budget("sentences", sentences), pool=3, seed=1, source_eos=True)
    dev = list(sorted_batches(store, Budget("sentences", 20), source_eos=True))
    run = RunFolder(Path(folder))
    with joined_ranks(minutes) as ranks:
        if ranks.leads:
            run.path.mkdir(exist_ok=True)
            task = loop.TrainingTask(model, batches, config, Validators(lambda model: perplexity(model, dev)))
            execution = loop.Execution(console=Console(quiet=True), ranks=ranks)
            result = loop.train(task, run, execution, None if resume else loop.Beginning())
        else:
            result = loop.follow(model, batches, config, ranks)
    answer = {"weights": [parameter.flatten().tolist() for parameter in model.parameters()], "update": result.update}
    if rank == 0:
        answer["losses"] = [record["loss"] for record in read_log(run.log) if record["kind"] == "train"]
    return answer


def greedy_training(**arguments: Any) -> dict[str, Any]:
    """`training` with the most probable word in place of a sample, for every previous word."""
    drawn, objective._draw = objective._draw, lambda scores: scores.argmax(dim=1)
    rand, torch.rand = torch.rand, lambda shape, **options: torch.zeros(shape, **options)
    try:
        return training(**arguments)
    finally:
        objective._draw, torch.rand = drawn, rand


def join(minutes: float) -> None:
    """Join the other ranks, and leave them."""
    with joined_ranks(minutes):
        pass


def join_with_another_version(minutes: float) -> None:
    """Join the other ranks, rank 1 with other files of dragoman."""
    found = joining._code
    if os.environ["RANK"] == "1":
        joining._code = lambda: {**found(), "dragoman (SHA-256 of its files)": "0123456789abcdef"}
    try:
        join(minutes)
    finally:
        joining._code = found


def training_in_a_group(**arguments: Any) -> dict[str, Any]:
    """`training` where another library, such as Ray Train, has connected the ranks."""
    dist.init_process_group("gloo", init_method="env://")
    try:
        return training(**arguments)
    finally:
        dist.destroy_process_group()


def command(folders: Sequence[str], *arguments: str, more: Sequence[Sequence[str]] = ((), ())) -> int:
    """Run a command, each rank in a folder of its own and with more arguments of its own; gives the exit code."""
    rank = int(os.environ["RANK"])
    os.chdir(folders[rank])
    return command_main([*arguments, *more[rank]])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (training, greedy_training, training_in_a_group, join, join_with_another_version, command)
}


def main() -> None:
    """Answer cases until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        os.environ.update(case["environment"])
        try:
            answer = {"value": FUNCTIONS[case["function"]](*case["words"], **case["arguments"])}
        except BaseException as error:
            answer = {"error": type(error).__name__, "message": str(error), "code": getattr(error, "exit_code", 1)}
        print(json.dumps(answer), file=answers, flush=True)


class Answer(dict[str, Any]):
    """What a rank answered: "value", or "error" and "message"; and "said", what it wrote to standard error."""


class RankProcess:
    """A process that computes cases."""

    def __init__(self, folder: Path, number: int) -> None:
        self._said = folder / f"rank-process-{number}-{time.monotonic_ns()}.txt"
        root = Path(__file__).parents[2]
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.training.rank_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                cwd=root,
                env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
            )
        self._read = 0
        self._waits = True

    def wait(self) -> None:
        """Wait until the process can compute, so that starting does not count in the time limits of cases."""
        if self._waits:
            assert self.process.stdout is not None
            self.process.stdout.readline()
            self._waits = False

    def ask(
        self, function: str, words: Sequence[object], arguments: dict[str, Any], environment: dict[str, str]
    ) -> None:
        assert self.process.stdin is not None
        case = {"function": function, "words": words, "arguments": arguments, "environment": environment}
        print(json.dumps(case), file=self.process.stdin, flush=True)

    def answer(self) -> Answer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        said = self._said.read_text()[self._read :]
        self._read += len(said)
        if line:
            return Answer(json.loads(line), said=said)
        return Answer(ended=self.process.wait(), said=said)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class RankProcesses:
    """Up to three processes, started when they are first used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[RankProcess] = []

    def __call__(
        self,
        size: int,
        function: str,
        *words: object,
        environment: Sequence[dict[str, str]] = ({}, {}, {}),
        **arguments: Any,
    ) -> list[Answer]:
        """Compute a case on so many ranks; gives their answers. `environment`: what differs for each of them."""
        for process in [process for process in self._processes if process.process.poll() is not None]:
            process.end()
            self._processes.remove(process)
        while len(self._processes) < size:
            self._processes.append(RankProcess(self._folder, len(self._processes)))
        for process in self._processes[:size]:
            process.wait()
        port = free_port()
        for rank, (process, own) in enumerate(zip(self._processes[:size], environment, strict=False)):
            place = {
                "RANK": rank,
                "LOCAL_RANK": rank,
                "WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            process.ask(function, words, arguments, {**{name: str(value) for name, value in place.items()}, **own})
        return [process.answer() for process in self._processes[:size]]

    def end(self) -> None:
        for process in self._processes:
            process.end()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
