"""The processor time of one update of a training, by batch size, on one thread.

    python bench/updates.py ../shared/data/multi30k-en-de-cs --scratch DIR --label before
    python bench/updates.py ../shared/data/multi30k-en-de-cs --scratch DIR --profile 16

An update is `Trainer.update` on batches of Multi30k English-German: rate, loss, gradients, clipping, Adam, running
average. Measured is the processor time of the training thread, so that other programs on the machine disturb little:
they take no processor time of this thread, but share its caches and clock rate, which can cost some ten percent. All
batch sizes take turns; reported are the median of the rounds and the lowest. Rows of one label replace those of the
same label in bench/results/updates.json; `--profile` prints the operations of one update instead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.data.preparation import build_store
from dragoman.data.store import Store
from dragoman.model.assembly import build
from dragoman.model.devices import choose_precision, seed_weights
from dragoman.progress import Console
from dragoman.report.facts import machine_name
from dragoman.runs.layout import RunFolder
from dragoman.text.corpus import Cleaner, read_pairs
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.training.counters import Counters
from dragoman.training.interruption import Interruption
from dragoman.training.log import TrainingLog
from dragoman.training.loop import Trainer
from dragoman.training.schedules import PlateauCounter
from dragoman.training.updater import Updater
from dragoman.training.validation import Validators
from dragoman.workflows.training_steps import training_batches

RESULTS = Path(__file__).parent / "results" / "updates.json"
LANGUAGES = ("en", "de")
SENTENCES = (16, 35, 70, 140)
WARM_UP = 5
ROUND = 10
"""Updates of a round."""


def corpus_files(data: Path, part: str) -> list[Path]:
    """The files of `train` or `val`, source and target."""
    return [data / f"{part}.{language}.gz" for language in LANGUAGES]


def stored_corpus(data: Path, scratch: Path, config: Config) -> tuple[Store, int]:
    """The training text as ids with a joint segmentation of this configuration, and the size of its vocabulary."""
    folder = scratch / f"text-{config.text.source.segmentation}-{config.text.source.vocabulary}"
    if not (folder / "done").exists():
        files = [corpus_files(data, "train")]

        def lines() -> Iterator[str]:
            for pair in read_pairs(files):
                yield from (pair.source, pair.target)

        segmentation = train_segmentation(config.text.source, lines())
        cleaner = Cleaner(config.cleaning, None)
        made = build_store(folder / "train", read_pairs(files), (segmentation,) * 2, config.text, cleaner, workers=1)
        made.source.save(folder, "source")
        (folder / "done").touch()
    words = TextSide.load(folder, "source").vocabulary
    return Store.open(folder / "train", (words, words)), len(words)


class Updates:
    """The updates of a training, without validations and saved states."""

    def __init__(self, config: Config, store: Store, vocabulary: int, folder: Path) -> None:
        """`folder`: for the log and the first training state."""
        config = override(config, ["training.updates=1000000", "training.validation.metric=perplexity"])
        seed_weights(config.training.seed)
        model = build(config.model, vocabulary, vocabulary)
        model.set_precision(choose_precision(config.training.precision, model.device))
        folder.mkdir(parents=True, exist_ok=True)
        log = TrainingLog(folder / "log.jsonl", folder / "tensorboard", Console(quiet=True))
        batches = training_batches(config.training, store, None, source_eos=config.model.source_eos)
        counters = Counters(PlateauCounter(config.training.schedule.patience))
        self._trainer = Trainer(
            Updater(model, batches, config.training, counters, Interruption()),
            counters,
            batches,
            config.training,
            RunFolder(folder),
            Validators(lambda _: 1.0),
            log,
            time.monotonic,
            None,
            (),
        )
        self._trainer.begin()
        self.seconds(WARM_UP)

    def seconds(self, count: int, clock: Callable[[], float] = time.thread_time) -> float:
        """Update `count` times; return the seconds by this clock, by default the processor time of this thread."""
        began = clock()
        for _ in range(count):
            self._trainer.update(self._trainer.settings())
        return clock() - began


def rounds_in_turn(
    several: dict[str, Updates], rounds: int, clock: Callable[[], float] = time.thread_time
) -> dict[str, list[float]]:
    """Seconds of an update in each round; all take turns, every other round in reverse order."""
    found: dict[str, list[float]] = {key: [] for key in several}
    for number in range(rounds):
        for key in list(several)[:: 1 if number % 2 == 0 else -1]:
            found[key].append(several[key].seconds(ROUND, clock) / ROUND)
    return found


def main() -> None:
    """Measure, or profile, and write."""
    options = parse()
    torch.set_num_threads(1)
    config = override(load_preset("standard"), [f"training.precision={options.precision}", *options.set])
    store, vocabulary = stored_corpus(options.data, options.scratch, config)
    sizes = (options.profile,) if options.profile else SENTENCES
    several = {
        str(size): Updates(
            override(config, ["training.batch.unit=sentences", f"training.batch.size={size}"]),
            store,
            vocabulary,
            options.scratch / f"updates-{size}",
        )
        for size in sizes
    }
    if options.profile:
        print(profiled(several[str(options.profile)]))
        return
    before = others_seconds()
    began = time.monotonic()
    found = rounds_in_turn(several, options.rounds)
    others = (others_seconds() - before) / (time.monotonic() - began)
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results[options.label] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python bench/updates.py DATA --scratch DIR --rounds {options.rounds} --label {options.label}",
        "configuration": ["standard", f"training.precision={options.precision}", *options.set],
        "machine": {"processor": machine_name(), "threads": 1, "torch": torch.__version__},
        "cores_used_by_others": round(others, 2),
        "processor_ms_an_update": {
            size: {"median": round(1000 * statistics.median(rounds), 1), "lowest": round(1000 * min(rounds), 1)}
            for size, rounds in found.items()
        },
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results[options.label], indent=1))


def others_seconds() -> float:
    """Processor seconds of the machine so far that are not of this process (Linux)."""
    fields = [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
    busy = sum(fields) - fields[3] - fields[4]  # without idle and waiting for disks
    return busy / 100 - time.process_time()


def profiled(updates: Updates, count: int = 5) -> str:
    """The operations of an update: their number, their processor time, and those that take most of it."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        updates.seconds(count)
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for event in profiler.events() or ():
        calls[event.name] += 1
        times[event.name] += event.self_cpu_time_total
    lines = [
        f"{calls.total() / count:.0f} operations an update, {times.total() / count / 1000:.1f} ms (profiled)",
        f"{'operation':60}{'calls':>8}{'ms':>8}{'us a call':>11}",
    ]
    for name, microseconds in times.most_common(45):
        lines.append(
            f"{name[:59]:60}{calls[name] / count:8.1f}{microseconds / count / 1000:8.2f}"
            f"{microseconds / calls[name]:11.1f}"
        )
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for the stored text")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--label", default="now", help="name of the row in the results (default: %(default)s)")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--profile", type=int, metavar="SENTENCES", help="print the operations of such a batch instead")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
