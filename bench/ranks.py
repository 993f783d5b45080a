"""How much of an update several ranks spend on the sum of their gradients, over loopback and over a slow link.

    python bench/ranks.py alone                          # one process, first
    python bench/ranks.py updates                        # loopback
    python bench/ranks.py updates --mbits 1000 --ms 10   # two network namespaces and a slowed link; needs root
    python bench/ranks.py sums --ranks 2 3 4 --mbits 100 --ms 10

`updates` has two processes of one thread, pinned to a core each, make updates of the preset `standard` in three sizes,
by the code of a training, with batches of different sizes. Two clocks run: the processor seconds of computing, which
other programs change little, and the time of the sum by the clock, of which the shortest of several is given, because
other programs lengthen it. Before the sum the ranks wait for each other, so that its time is that of the sum alone.
`alone` computes the same updates, and halves of them, in one process. From a half and from the rate of the link comes
the time that a model on paper expects, which is set beside what was measured.

`sums` times the sum of a vector for several numbers of ranks, to check how the paper's time grows with them: a slow
link needs little of the processor, so that more ranks than cores can be tried.

The link is made of tun devices, one in each namespace, and this process, which passes on packets after the delay and
at the rate of the sender. Namespaces and devices end with it. Results go to bench/results/ranks.json, beside those of
other sizes (`--sizes`).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.training.ranks import Ranks

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

Row = dict[str, Any]

SIZES = {5: 1.25, 30: 3.8, 200: 10.8}
"""Millions of parameters, about, and the factor of the sizes of the preset `standard` that gives them."""
BATCHES = {5: {16: 4, 64: 4, 256: 4}, 30: {16: 3, 64: 3, 256: 1}, 200: {16: 2, 64: 1}}
"""For each size, the sentences of a batch, of all ranks together, and how often an update of it is measured."""
VECTOR = 5
"""Millions of numbers that `sums` sums."""
WORDS = 8000
"""Of both vocabularies."""
LENGTH = 25
"""Words of a sentence."""
SMALL = 64
"""Sentences that are computed before one sum, at most; larger batches are computed in several parts."""
PORT = 29544
MTU = 65000
TUNSETIFF, TUN, WITHOUT_HEADER = 0x400454CA, 1, 0x1000
RESULTS = ROOT / "bench" / "results" / "ranks.json"


def main() -> None:
    """Measure, print and write."""
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # namespaces are removed on the way
    if options.rank is not None:
        work = {"sums": rank_sums, "updates": rank_updates}[options.stage]
        print(json.dumps(work(options.sizes)), flush=True)
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    name = options.stage
    if name != "alone":
        name += f", {options.mbits:g} Mbit/s, {options.ms:g} ms" if options.mbits else ", loopback"
    mine = results.setdefault(name, {"machine": machine(), "rows": {}})
    measure = {"alone": measure_alone, "updates": measure_updates, "sums": measure_sums}[options.stage]
    for row_name, row in measure(options, results):
        mine["rows"][row_name] = row | {"load": round(os.getloadavg()[0], 1)}
        print(row_name, mine["rows"][row_name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("alone", "updates", "sums"))
    parser.add_argument("--mbits", type=float, help="megabits a second of the link (default: loopback)")
    parser.add_argument("--ms", type=float, default=0.0, help="milliseconds from one rank to the other and back")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), choices=SIZES, help="millions")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4], help="of `sums`")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def machine() -> str:
    """The processor and the number of cores."""
    from dragoman.report.facts import machine_name

    return machine_name()


# Processes -----------------------------------------------------------------------------------------------------------


def run_ranks(stage: str, count: int, sizes: Sequence[int], options: argparse.Namespace) -> list[list[Row]]:
    """Start ranks pinned to cores, in namespaces of their own if the link is slow; what each of them measured."""
    cores = sorted(os.sched_getaffinity(0))
    slow = options.mbits is not None
    with link(count, options.mbits * 1e6 / 8, options.ms / 1000) if slow else nullcontext():
        processes = []
        for number in range(count):
            place = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "MASTER_PORT": PORT}
            environment = {**os.environ, **{name: str(value) for name, value in place.items()}, "OMP_NUM_THREADS": "1"}
            environment["MASTER_ADDR"] = address(0) if slow else "127.0.0.1"
            environment["GLOO_SOCKET_IFNAME"] = "link" if slow else "lo"
            inside = ["ip", "netns", "exec", namespace(number)] if slow else []
            pinned = ["taskset", "-c", str(cores[number % len(cores)])]
            command = [*inside, *pinned, sys.executable, __file__, stage, "--rank", str(number), "--sizes"]
            processes.append(
                subprocess.Popen([*command, *map(str, sizes)], env=environment, stdout=subprocess.PIPE, text=True)
            )
        outputs = [process.communicate()[0] for process in processes]
    return [json.loads(output) for output in outputs]


# Sums ----------------------------------------------------------------------------------------------------------------


def measure_sums(options: argparse.Namespace, results: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """Times of the sum of a vector, by the number of ranks, and those of the paper."""
    for count in options.ranks:
        [row] = run_ranks("sums", count, [VECTOR], options)[0]
        if options.mbits is not None:
            row["sum on paper"] = round(sum_on_paper(count, VECTOR * 1e6, options), 3)
        yield f"{count} ranks", row


def rank_sums(sizes: Sequence[int]) -> list[Row]:
    """Sum vectors together with the other ranks."""
    import torch

    from dragoman.training.joining import joined_ranks

    rows = []
    with joined_ranks(10) as ranks:
        for millions in sizes:
            vector, word = torch.ones(millions * 1_000_000), torch.zeros(3)
            words, sums = list[float](), list[float]()
            for _ in range(8):
                ranks.sum(word, "the beginning")  # all begin at once
                began = time.perf_counter()
                ranks.broadcast(word, "a word")
                ranks.sum(word, "its receipt")
                words.append(time.perf_counter() - began)
                began = time.perf_counter()
                ranks.sum(vector, "the sum")
                sums.append(time.perf_counter() - began)
            rows.append({"millions": millions, "word": round(min(words), 4), "sum": round(min(sums), 4)})
    return rows


def sum_on_paper(ranks: int, numbers: float, options: argparse.Namespace) -> float:
    """Seconds of a sum as a ring: every rank sends and receives 2 (N - 1) pieces of an N-th, one after the other."""
    steps = 2 * (ranks - 1)
    seconds: float = steps / ranks * 4 * numbers / (options.mbits * 1e6 / 8) + steps * options.ms / 2000
    return seconds


# Updates -------------------------------------------------------------------------------------------------------------


def measure_alone(options: argparse.Namespace, results: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """Times of updates of one process, and of their first halves."""
    for size in options.sizes:
        for whole, half in zip(one_process(size, 1), one_process(size, 2), strict=True):
            yield row_name(whole), {"gradient": whole["gradient"], "half": half["gradient"], "step": whole["step"]}


def measure_updates(options: argparse.Namespace, results: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """Times of updates of two ranks, and those of the paper."""
    alone = results["alone"]["rows"]
    for size in options.sizes:
        for ranks in zip(*run_ranks("updates", 2, [size], options), strict=True):
            name, parameters = row_name(ranks[0]), ranks[0]["million parameters"]
            row = {part: round(max(rank[part] for rank in ranks), 4) for part in ("gradient", "step", "sum", "sum cpu")}
            computed, whole = row["gradient"] + row["step"], alone[name]["gradient"] + alone[name]["step"]
            row["share of the sum"] = round(row["sum"] / (computed + row["sum"]), 3)
            row["efficiency"] = round(whole / (2 * (computed + row["sum"])), 3)  # of two ranks
            row["update"] = round(computed + row["sum"], 3)
            if options.mbits is not None:
                expected = alone[name]["half"] + alone[name]["step"] + sum_on_paper(2, parameters * 1e6, options)
                row["update on paper"] = round(expected, 3)
            yield name, row


def row_name(row: Row) -> str:
    """The size of the model and of the batch."""
    return f"{row['million parameters']} million, {row['sentences']} sentences"


def rank_updates(sizes: Sequence[int]) -> list[Row]:
    """The updates of this rank, together with the other one."""
    from dragoman.training.joining import joined_ranks

    with joined_ranks(30) as ranks:
        return [row for size in sizes for row in updates_of(size, ranks)]


def one_process(size: int, parts: int) -> list[Row]:
    """The updates of a process that is alone and computes one of `parts` parts of each batch; a process of its own."""
    code = f"import json, ranks; from dragoman.training.ranks import ALONE; print(json.dumps(ranks.updates_of({size}, "
    code += f"ALONE, {parts})))"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    done = subprocess.run([*pinned, sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
    found: list[Row] = json.loads(done.stdout)
    return found


def updates_of(size: int, ranks: Ranks, parts: int | None = None) -> list[Row]:
    """Seconds of the parts of an update, for each size of the batch; the shortest of several.

    Args:
        parts: into how many parts the batch is cut, where there is one rank that computes the first of them.
    """
    import numpy as np
    import torch

    from dragoman.config.presets import load_preset
    from dragoman.config.scaling import scale
    from dragoman.data.batches import Batch
    from dragoman.model.assembly import build
    from dragoman.model.size import parameter_count
    from dragoman.text.padding import pad
    from dragoman.training.objective import TrainingObjective, accumulate_gradients
    from dragoman.training.optimisers import build_optimiser, clip_gradients

    torch.set_num_threads(1)
    torch.manual_seed(1)
    config = scale(load_preset("standard"), SIZES[size])
    model = build(config.model, WORDS, WORDS).train()
    optimiser = build_optimiser(model.parameters(), config.training.optimiser)
    draw = np.random.default_rng(1)
    rows = []
    for sentences, repeats in BATCHES[size].items():
        batches = []
        for _ in range(max(1, sentences // SMALL)):
            source, target = (draw.integers(4, WORDS, (min(sentences, SMALL), LENGTH)).tolist() for _ in range(2))
            batch = Batch(*pad(source, eos=True), *pad(target, eos=True), np.arange(min(sentences, SMALL)))
            batches.append(batch.part(ranks.rank, parts or ranks.size))
        seconds: dict[str, list[float]] = {"gradient": [], "step": [], "sum": [], "sum cpu": []}
        for _ in range(repeats):
            began = time.process_time()
            accumulate_gradients(model, batches, TrainingObjective(), sentences * LENGTH)
            seconds["gradient"].append(time.process_time() - began)
            if ranks.size > 1:
                ranks.sum(torch.zeros(1), "the end of the gradients")  # not counted: the other rank may be later
                clock, began = time.perf_counter(), time.process_time()
                flat = torch.cat([each.grad.reshape(-1) for each in model.parameters() if each.grad is not None])
                ranks.sum(flat, "the sum")
                seconds["sum"].append(time.perf_counter() - clock)
                seconds["sum cpu"].append(time.process_time() - began)
                del flat
            began = time.process_time()
            clip_gradients(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            seconds["step"].append(time.process_time() - began)
        shortest = {name: round(min(values), 4) for name, values in seconds.items() if values}
        rows.append({"million parameters": round(parameter_count(model) / 1e6, 1), "sentences": sentences} | shortest)
    return rows


# The slow link -------------------------------------------------------------------------------------------------------


def namespace(number: int) -> str:
    """The network namespace of a rank."""
    return f"dragoman-rank-{number}"


def address(number: int) -> str:
    """The address of a rank on the link."""
    return f"10.77.0.{number + 1}"


@contextmanager
def link(count: int, rate: float, delay: float) -> Iterator[None]:
    """Namespaces with a link between them on which each sends `rate` bytes a second; `delay` seconds there and back."""
    for number in range(count):
        subprocess.run(["ip", "netns", "add", namespace(number)], check=True)
    try:
        ends = {socket.inet_aton(address(number)): _tun(number) for number in range(count)}
        for end in ends.values():
            threading.Thread(target=_pass_on, args=(end, ends, rate, delay / 2), daemon=True).start()
        yield
    finally:
        for number in range(count):
            subprocess.run(["ip", "netns", "del", namespace(number)], check=False)


def _tun(number: int) -> int:
    """A tun device `link` in the namespace of a rank; its packets are read from and written to the descriptor."""
    name, short = namespace(number), f"dragoman-{number}"
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", short.encode(), TUN | WITHOUT_HEADER))
    subprocess.run(["ip", "link", "set", short, "netns", name, "name", "link"], check=True)
    for words in (
        f"addr add {address(number)}/24 dev link",
        f"link set dev link up mtu {MTU} txqueuelen 1000",
        "link set dev lo up",
    ):
        subprocess.run(["ip", "-n", name, *words.split()], check=True)
    return end


def _pass_on(end: int, ends: dict[bytes, int], rate: float, delay: float) -> None:
    """Pass on the packets of a sender, each `delay` seconds after its last byte has left at this rate."""
    with suppress(OSError):  # the device has gone with its namespace
        _pass_on_all(end, ends, rate, delay)


def _pass_on_all(end: int, ends: dict[bytes, int], rate: float, delay: float) -> None:
    waiting: deque[tuple[float, bytes]] = deque()
    free = 0.0
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            packet = waiting.popleft()[1]
            if (receiver := ends.get(packet[16:20])) is not None:  # the address that an IPv4 packet goes to
                os.write(receiver, packet)
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([end], [], [], timeout)[0]:
            packet = os.read(end, MTU + 100)
            free = max(free, time.monotonic()) + len(packet) / rate
            waiting.append((free + delay, packet))


if __name__ == "__main__":
    main()
