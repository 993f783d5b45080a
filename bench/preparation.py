"""Rate and memory of preparing a corpus: cleaning, segmentation, vocabularies, storing; and of opening what is stored.

    python bench/preparation.py SOURCE TARGET --scratch DIR --pairs 200000 [--workers 1]
    python bench/preparation.py SOURCE TARGET --scratch DIR --pairs 20000000 --workers 2 --stages store open_and_order
    python bench/preparation.py SOURCE TARGET --scratch DIR --pairs 20000000 --stages train resume
    python bench/preparation.py SOURCE TARGET --scratch DIR --pairs 20000 --stages train repeat resume

The pairs of SOURCE and TARGET are repeated with noise: a number after a random word of both sides makes most of them
different, every tenth is an exact repetition. A joint BPE model of 8,000 pieces is trained on the first 100,000. Each
measurement is a process of its own. The unit is processor seconds of it and its workers, so that other programs may
run; the share of SentencePiece is that of encoding the same lines in batches and nothing else. Results go to
bench/results/preparation.json.

`train` is the command itself, from the files to the second update: the SentencePiece model, trained on a sample, the
stored corpus, the model `standard`. `resume` starts it again, and measures the time until its first update is in the
log, by the clock and in processor seconds, Python and torch included. `repeat` writes the pairs of the stored corpus
again and again, until there are 20 million: enough to measure resuming without preparing as many.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.corpus import read_pairs
from dragoman.data.batches import BEGINNING, Batches, Budget, Position
from dragoman.data.block_digests import DigestingWriter
from dragoman.data.preparation import build_store
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.store import Store
from dragoman.stored_files import dump_json
from dragoman.text.lines import read_lines
from dragoman.text.segmentation.subwords import SubwordSegmentation, train_model
from dragoman.text.vocabulary import Vocabulary

RESULTS = Path(__file__).parent / "results" / "preparation.json"
VOCABULARY = 8000
SIDE = SideConfig(segmentation="bpe", vocabulary=VOCABULARY)
REPEATED = 20_000_000
"""Pairs of the store that `repeat` makes."""
TRAINING = (
    "training.log_every=1",
    "training.validation.metric=perplexity",
    "training.validation.at_least=0",
    "training.validation.every=1000000",
    "training.precision=fp32",
    f"text.source.vocabulary={VOCABULARY}",
)


def make_corpus(source: Path, target: Path, folder: Path, pairs: int) -> None:
    """Write the made pairs as made.source and made.target."""
    draw, real = random.Random(1), list(zip(read_lines(source), read_lines(target), strict=True))
    before = real[0]
    with (folder / "made.source").open("w") as first, (folder / "made.target").open("w") as second:
        for number, pair in enumerate(islice(cycle(real), pairs)):
            if number % 10 != 9:
                noise = str(draw.randrange(10**6))
                before = (inserted(pair[0], noise, draw), inserted(pair[1], noise, draw))
            first.write(before[0] + "\n")
            second.write(before[1] + "\n")


def inserted(line: str, word: str, draw: random.Random) -> str:
    """The line with a word more."""
    words = line.split(" ")
    words.insert(draw.randint(0, len(words)), word)
    return " ".join(words)


def lines(folder: Path, count: int) -> Iterator[str]:
    """The first lines of both sides."""
    for side in ("source", "target"):
        yield from islice(read_lines(folder / f"made.{side}"), count)


def store(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Clean, segment and store; a journal of a process that was killed is gone on with."""
    journal = SegmentJournal(folder / "segments")
    segmentation = SubwordSegmentation((folder / "bpe.model").read_bytes())
    text = TextConfig(source=SIDE, target=SIDE, joint=True)
    prepared = build_store(
        folder / "store",
        read_pairs([[folder / "made.source", folder / "made.target"]]),
        (segmentation, segmentation),
        text,
        Cleaner(CleaningConfig()),
        workers=workers,
        journal=journal,
    )
    prepared.source.vocabulary.save(folder / "vocabulary")
    kept = folder / "segments"
    sizes = {"journal": kept.stat().st_size if kept.exists() else 0, "store": stored_bytes(folder / "store")}
    kept.unlink(missing_ok=True)
    return {f"{name}_mb": round(size / 1e6) for name, size in sizes.items()} | {
        "stored": len(prepared.store),
        "left_out": prepared.store.left_out,
        "taken_from_the_journal": journal.taken,
    }


def stored_bytes(folder: Path) -> int:
    """The size of the files of a store."""
    return sum(path.stat().st_size for path in folder.iterdir())


def sentencepiece_alone(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Encode the same lines in batches, and throw the ids away."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=(folder / "bpe.model").read_bytes())
    every = lines(folder, pairs)
    while batch := list(islice(every, 1000)):
        processor.encode(batch, num_threads=1)
    return {}


def reading_alone(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Read the pairs, and nothing else."""
    return {"read": sum(1 for _ in read_pairs([[folder / "made.source", folder / "made.target"]]))}


def open_and_order(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Seconds of opening the store, and of the first batch at the start and in the middle of an epoch."""
    vocabulary = Vocabulary.load(folder / "vocabulary")
    began = time.process_time()
    opened = Store.open(folder / "store", (vocabulary, vocabulary))
    found = {"open_seconds": time.process_time() - began}
    batches = Batches(opened, Budget("tokens", 4000), pool=100, seed=1, source_eos=True)
    pools = len(opened) // batches.pool_rows
    positions = ("first_batch_seconds", BEGINNING), ("resumed_seconds", Position(0, pools * 9 // 10, 0))
    for name, position in positions:
        batches = Batches(opened, Budget("tokens", 4000), pool=100, seed=1, source_eos=True)
        began = time.process_time()
        next(batches.from_position(position))
        found[name] = time.process_time() - began
    return {name: round(seconds, 3) for name, seconds in found.items()}


def train(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Train two updates from the text; the dev set is a part of it."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([*train_command(folder), "--updates", "2", "--set", *TRAINING], check=True)
    return {"stored": json.loads((out / "data" / "train" / "meta.json").read_text())["pairs"]}


def repeat(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Repeat the stored corpus of the run of `train`."""
    data = folder / "run" / "data" / "train"
    meta = json.loads((data / "meta.json").read_text(encoding="utf-8"))
    times = REPEATED // meta["pairs"]
    for side in ("source", "target"):
        ids = np.fromfile(data / f"{side}.ids", meta[side]["dtype"])
        lengths = np.diff(np.fromfile(data / f"{side}.offsets", np.int64))
        for name, block in (("ids", ids), ("offsets", lengths)):
            with open(data / f"{side}.{name}", "wb") as file:
                writer, end = DigestingWriter(file), 0
                if name == "offsets":
                    writer.write(np.zeros(1, np.int64).tobytes())
                for _ in range(times):
                    writer.write((block if name == "ids" else end + np.cumsum(block)).tobytes())
                    end += len(ids)
                meta[side][name] = writer.digests()
        meta[side]["segments"] = len(ids) * times
    meta |= {"pairs": meta["pairs"] * times, "corpora": [meta["pairs"] * times]}
    meta.pop("digest")
    (data / "meta.json").write_text(dump_json(meta, indent=2), encoding="utf-8")
    return {"stored": meta["pairs"], "store_mb": round(stored_bytes(data) / 1e6)}


def train_command(folder: Path) -> list[str]:
    """The same command begins a training and goes on with it."""
    text = [str(folder / f"made.{side}") for side in ("source", "target")]
    command = [sys.executable, "-m", "dragoman", "train", "--preset", "standard", "--train", *text]
    return [*command, "--out", str(folder / "run"), "--resume", "--threads", "1", "--quiet"]


def resume(folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Start a training again, and end it after its first update."""
    log = folder / "run" / "log.jsonl"
    before = updates_in(log)
    began = time.monotonic()
    process = subprocess.Popen([*train_command(folder), "--updates", "1000", "--set", *TRAINING])
    while updates_in(log) <= before:
        if process.poll() is not None:
            sys.exit(f"the training ended with {process.returncode}")
        time.sleep(0.02)
    seconds, used = time.monotonic() - began, processor_seconds(process.pid)
    process.terminate()
    process.wait()
    return {"first_update_seconds": round(seconds, 2), "first_update_processor_seconds": used}


def updates_in(log: Path) -> int:
    """The number of the last update of a log; its last line may be incomplete."""
    *lines, _ = log.read_text(encoding="utf-8").split("\n")
    records = map(json.loads, lines)
    return max((record["update"] for record in records if record["kind"] == "train"), default=0)


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


STAGES: dict[str, Callable[[Path, int, int], dict[str, Any]]] = {
    "store": store,
    "sentencepiece_alone": sentencepiece_alone,
    "reading_alone": reading_alone,
    "open_and_order": open_and_order,
    "train": train,
    "repeat": repeat,
    "resume": resume,
}
USUAL = ("store", "sentencepiece_alone", "reading_alone", "open_and_order")


def measured(stage: str, folder: Path, pairs: int, workers: int) -> dict[str, Any]:
    """Run one stage in this process; processor seconds, rate and peak memory."""
    began, sampled = time.monotonic(), SampledMemory()
    sampled.start()
    found = STAGES[stage](folder, pairs, workers)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return found | {
        "processor_seconds": round(seconds, 2),
        "pairs_per_processor_second": round(pairs / seconds),
        "wall_seconds": round(time.monotonic() - began, 2),
        "peak_mb": peak_mb(),
        "peak_with_workers_mb": sampled.peak_mb,
    }


class SampledMemory(threading.Thread):
    """The largest sum of the memory of this process and its workers, from one sample a second.

    Pages that several processes share are divided among them (PSS), so that they count once.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0

    def run(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, round(sum(map(shared_kb, [os.getpid(), *descendants()])) / 1024))
            time.sleep(1)


def descendants() -> list[int]:
    """The processes that this one has started, and those that they have started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, new = list[int](), [os.getpid()]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def shared_kb(process: int) -> int:
    """The proportional memory of a process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def peak_mb() -> int:
    """The peak memory of this process; getrusage counts that of its parent, too."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024)


def main() -> None:
    """Make the corpus, and run each stage in a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--label", default="now", help="name of the results")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=USUAL, help="what to measure")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.scratch / f"preparation-{options.pairs}"
    if options.stage:
        print(json.dumps(measured(options.stage, folder, options.pairs, options.workers)))
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "bpe.model").exists():
        make_corpus(options.source, options.target, folder, options.pairs)
        (folder / "bpe.model").write_bytes(train_model(lines(folder, 50_000), "bpe", VOCABULARY))
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    name = f"{options.label}, {options.pairs} pairs, {options.workers} workers"
    mine: dict[str, Any] = results.get(name, {})
    mine |= {"pairs": options.pairs, "workers": options.workers, "numpy": np.__version__}
    for stage in options.stages:
        command = [sys.executable, __file__, *sys.argv[1:], "--stage", stage]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        mine[stage] = json.loads(done.stdout)
        print(stage, mine[stage], flush=True)
        results[name] = mine
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
