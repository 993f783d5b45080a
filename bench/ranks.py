"""How much of an update several ranks spend on the sum of their gradients, over loopback and over a slow link.

    python bench/ranks.py                        # loopback
    python bench/ranks.py --mbits 1000 --ms 10   # two network namespaces and a slowed link between them; needs root

Two processes of one thread, pinned to a core each, sum a vector of as many numbers as a model has parameters, as in a
training. The sum is timed by the clock, and the shortest of several is given, because other programs lengthen it. The
part of an update that a rank computes, half a batch of the preset `standard` in two sizes, is timed in one process, as
processor time, which other programs change little.

The link is made of two tun devices, one in each namespace, and this process, which passes on packets after the delay
and at the rate. Namespaces and devices end with it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

SIZES = {5: 1.0, 30: 2.7}
"""Millions of parameters, about, and the factor of the sizes of the preset `standard` that gives them."""
VECTORS = (5, 30, 200)
"""Millions of numbers that are summed."""
WORDS = 8000
"""Of both vocabularies."""
BATCH, LENGTH = 64, 25
"""Sentences of a batch, and words of a sentence."""
REPEATS = 8
ADDRESSES = ("10.77.0.1", "10.77.0.2")
NAMESPACES = ("dragoman-rank-0", "dragoman-rank-1")
MTU = 65000
TUNSETIFF, TUN, WITHOUT_HEADER = 0x400454CA, 1, 0x1000


def main() -> None:
    """Measure, print and write."""
    options = parse()
    if options.rank is not None:
        print(json.dumps(rank(options.vectors)), flush=True)
        return
    slow = options.mbits is not None
    with link(options.mbits * 1e6 / 8, options.ms / 1000) if slow else nullcontext():
        sums = two_ranks(options.vectors, slow=slow)
    contents = {
        "command": f"python bench/ranks.py {' '.join(sys.argv[1:])}".strip(),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "sums": sums,
        "updates": [] if options.no_updates else [update(scale) for scale in SIZES.values()],
    }
    text = json.dumps(contents, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbits", type=float, help="megabits a second of the link (default: loopback)")
    parser.add_argument("--ms", type=float, default=0.0, help="milliseconds from one rank to the other and back")
    parser.add_argument("--vectors", type=int, nargs="+", default=VECTORS, help="millions of numbers to sum")
    parser.add_argument("--no-updates", action="store_true", help="time sums only")
    parser.add_argument("--out", type=Path, help="file for the results")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def machine() -> str:
    """The processor and the number of cores."""
    from dragoman.report.facts import machine_name

    return machine_name()


# Sums ----------------------------------------------------------------------------------------------------------------


def two_ranks(vectors: Sequence[int], *, slow: bool) -> list[dict[str, float]]:
    """Start two ranks, in the namespaces or not, and give what rank 0 measured."""
    cores = sorted(os.sched_getaffinity(0))
    processes = []
    for number in range(2):
        place = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": 2, "MASTER_PORT": 29544, "OMP_NUM_THREADS": 1}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        environment["MASTER_ADDR"] = ADDRESSES[0] if slow else "127.0.0.1"
        environment["GLOO_SOCKET_IFNAME"] = "link" if slow else "lo"
        inside = ["ip", "netns", "exec", NAMESPACES[number]] if slow else []
        pinned = ["taskset", "-c", str(cores[number % len(cores)])]
        command = [*inside, *pinned, sys.executable, __file__, "--rank", str(number), "--vectors", *map(str, vectors)]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in processes]
    measured: list[dict[str, float]] = json.loads(outputs[0])
    return measured


def rank(vectors: Sequence[int]) -> list[dict[str, float]]:
    """Sum vectors together with the other rank."""
    import torch

    from dragoman.training.joining import joined_ranks

    rows = []
    with joined_ranks(10) as ranks:
        for millions in vectors:
            vector, word = torch.ones(millions * 1_000_000), torch.zeros(3)
            times: dict[str, list[float]] = {"there and back": [], "sum": []}
            processor = []
            for _ in range(REPEATS):
                ranks.sum(word, "the beginning")  # both begin at once
                began = time.perf_counter()
                ranks.broadcast(word, "a word")
                ranks.sum(word, "its receipt")
                times["there and back"].append(time.perf_counter() - began)
                began, spent = time.perf_counter(), time.process_time()
                ranks.sum(vector, "the sum")
                times["sum"].append(time.perf_counter() - began)
                processor.append(time.process_time() - spent)
            row = {f"{name} ms": round(1000 * min(values), 1) for name, values in times.items()}
            rows.append(
                {"million parameters": millions, **row, "processor ms of the sum": round(1000 * min(processor), 1)}
            )
    return rows


# Updates -------------------------------------------------------------------------------------------------------------


def update(scale: float) -> dict[str, float]:
    """The processor time of a rank's part of an update: a whole batch for one rank, half of it for two."""
    import numpy as np
    import torch

    from dragoman.config.presets import load_preset
    from dragoman.config.scaling import scale as scaled
    from dragoman.data.batches import Batch
    from dragoman.model.assembly import build
    from dragoman.model.size import parameter_count
    from dragoman.text.padding import pad
    from dragoman.training.objective import TrainingObjective, accumulate_gradients
    from dragoman.training.optimisers import build_optimiser, clip_gradients

    torch.set_num_threads(1)
    config = scaled(load_preset("standard"), scale)
    model = build(config.model, WORDS, WORDS).train()
    optimiser = build_optimiser(model.parameters(), config.training.optimiser)
    draw = np.random.default_rng(1)
    source, target = (draw.integers(4, WORDS, (BATCH, LENGTH)).tolist() for _ in range(2))
    batch = Batch(*pad(source, eos=True), *pad(target, eos=True), np.arange(BATCH))
    row: dict[str, float] = {"million parameters": round(parameter_count(model) / 1e6, 1)}
    for ranks in (1, 2):
        part, times = batch.part(0, ranks), []
        for _ in range(REPEATS):
            began = time.process_time()
            accumulate_gradients(model, [part], TrainingObjective())
            middle = time.process_time()
            clip_gradients(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            times.append((middle - began, time.process_time() - middle))
        row[f"gradient ms with {ranks} ranks"] = round(1000 * min(time[0] for time in times))
        row["step ms"] = round(1000 * min(time[1] for time in times))
    return row


# The slow link -------------------------------------------------------------------------------------------------------


@contextmanager
def link(rate: float, delay: float) -> Iterator[None]:
    """Two namespaces with a link between them of `rate` bytes a second, and `delay` seconds there and back."""
    for name in NAMESPACES:
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        ends = [_tun(name, address) for name, address in zip(NAMESPACES, ADDRESSES, strict=True)]
        for one, other in (ends, ends[::-1]):
            threading.Thread(target=_pass_on, args=(one, other, rate, delay / 2), daemon=True).start()
        yield
    finally:
        for name in NAMESPACES:
            subprocess.run(["ip", "netns", "del", name], check=False)


def _tun(namespace: str, address: str) -> int:
    """A tun device `link` in a namespace; its packets are read from and written to the descriptor."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", namespace[-15:].encode(), TUN | WITHOUT_HEADER))
    subprocess.run(["ip", "link", "set", namespace[-15:], "netns", namespace, "name", "link"], check=True)
    for words in (
        f"addr add {address}/24 dev link",
        f"link set dev link up mtu {MTU} txqueuelen 1000",
        "link set dev lo up",
    ):
        subprocess.run(["ip", "-n", namespace, *words.split()], check=True)
    return end


def _pass_on(one: int, other: int, rate: float, delay: float) -> None:
    """Pass on packets, each `delay` seconds after its last byte has left at this rate, until the device is removed."""
    with suppress(OSError):  # the device has gone with its namespace
        _pass_on_all(one, other, rate, delay)


def _pass_on_all(one: int, other: int, rate: float, delay: float) -> None:
    waiting: deque[tuple[float, bytes]] = deque()
    free = 0.0
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            os.write(other, waiting.popleft()[1])
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([one], [], [], timeout)[0]:
            packet = os.read(one, MTU + 100)
            free = max(free, time.monotonic()) + len(packet) / rate
            waiting.append((free + delay, packet))


if __name__ == "__main__":
    main()
