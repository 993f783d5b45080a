"""Alignment error rates of attention, with and without guided alignment, and of statistical aligners.

    python bench/alignment.py ../shared/data --scratch DIR --minutes 5

Two language pairs: French-English, trained on ten thousand pairs of Europarl, with the gold links of the Hansards (447
pairs); German-English, trained on Multi30k and the demo text of OpenNMT, with those of the RWTH (508 pairs of Europarl,
out of domain). All text is tokenised and lower-cased. The aligners (extra `align`) are trained on training text and
gold pairs together, in both directions. For each direction two models of the preset `standard` are trained, at half
its sizes because the corpora are small, for `--minutes` on one thread: one without and one with
`training.guided_alignment` 0.5 towards the links of `fast-align` (grow-diag-final-and) on the training text. No setting
was chosen on the gold links. The results include the training progress of each model. They go to
bench/results/alignment.json, a table to stdout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sacremoses import MosesTokenizer

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "alignment.json"
GUIDE = "fast-align"
"""The aligner whose links guide attention."""
ALIGNERS = ("fast-align", "eflomal")
METHODS = ("intersection", "grow-diag-final-and")
DEV = 300
"""Pairs held out of the training text for validation."""
SCALE = "0.5"
"""Factor on the sizes of the preset."""
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Task:
    """A language pair with its training text and gold alignment."""

    source: str
    target: str
    train: Pairs
    gold_pairs: Pairs
    gold: Path
    """Links from 1, source word first, in the direction of `gold_pairs`."""

    @property
    def name(self) -> str:
        return f"{self.source}-{self.target}"


def main() -> None:
    """Prepare, align statistically, train, align, print and write."""
    options = parse()
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python bench/alignment.py DATA --scratch DIR --minutes {options.minutes}",
        "machine": machine_name(),
        "aer": {},
        "trained": {},
    }
    tasks = [
        task for task in (english_french(options.data), german_english(options.data)) if task.name in options.pairs
    ]
    folders = {task.name: prepare(task, options.scratch / task.name) for task in tasks}
    for task in tasks:
        result["aer"][task.name] = {"pairs": len(task.train)} | statistical(task, folders[task.name])
        write(result)
    trainings = [
        (task, folders[task.name], source, target, guided)
        for task in tasks
        for source, target in ((task.source, task.target), (task.target, task.source))
        for guided in (False, True)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda training: train(*training, minutes=options.minutes), trainings))
    for task in tasks:
        for guided in (False, True):
            result["aer"][task.name]["guided attention" if guided else "attention"] = neural(
                task, folders[task.name], guided
            )
    for task, folder, *direction in trainings:
        run = run_folder(folder, *direction)
        result["trained"][f"{task.name}: {run.name}"] = progress(run)
    write(result)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path, help="folder with europarl-fr-en-10k-aligned, align-en-fr-hansards ...")
    parser.add_argument("--scratch", required=True, type=Path, help="folder for text and runs")
    parser.add_argument("--minutes", type=float, default=5, help="time of each training (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="parallel trainings of one thread (default: %(default)s)")
    parser.add_argument("--pairs", nargs="+", choices=("en-fr", "de-en"), default=["en-fr", "de-en"])
    return parser.parse_args()


def english_french(data: Path) -> Task:
    """Europarl for training, and the gold links of the Hansards."""
    europarl = data / "europarl-fr-en-10k-aligned"
    train = list(zip(read_lines(europarl / "train.en.xz"), read_lines(europarl / "train.fr.xz"), strict=True))
    hansards = data / "align-en-fr-hansards"
    return Task("en", "fr", _distinct(train), _bars(hansards / "enfr.src-tgt.xz"), hansards / "enfr.gold.xz")


def german_english(data: Path) -> Task:
    """Multi30k and OpenNMT's demo text for training, and the gold links of the RWTH."""
    multi30k, demo, rwth = data / "multi30k-en-de-cs", data / "opennmt-demo-en-de", data / "align-de-en-rwth"
    raw = [_tokenised(multi30k / f"train.{language}.gz", language) for language in ("de", "en")]
    cut = [map(str.lower, read_lines(demo / f"train.{language}.xz")) for language in ("de", "en")]
    train = [*zip(*raw, strict=True), *zip(*cut, strict=True)]
    return Task("de", "en", _distinct(train), _bars(rwth / "deen.src-tgt.xz"), rwth / "deen.gold.xz")


def _tokenised(path: Path, language: str) -> Iterator[str]:
    tokenizer = MosesTokenizer(language)
    return (tokenizer.tokenize(line, return_str=True, escape=False).lower() for line in read_lines(path))


def _bars(path: Path) -> Pairs:
    halves = (line.lower().split("|||") for line in read_lines(path))
    return [(source.strip(), target.strip()) for source, target in halves]


def _distinct(pairs: Pairs) -> Pairs:
    return [pair for pair in dict.fromkeys(pairs) if all(side.strip() for side in pair)]


def prepare(task: Task, folder: Path) -> Path:
    """Write training, development and gold text of both languages, and links for guidance in both directions."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": task.train[:-DEV], "dev": task.train[-DEV:], "gold": task.gold_pairs}
    for part, pairs in parts.items():
        for side, language in enumerate((task.source, task.target)):
            write_lines(folder / f"{part}.{language}", (pair[side] for pair in pairs))
    sides = [str(folder / f"train.{language}") for language in (task.source, task.target)]
    links = folder / f"train.{task.source}-{task.target}"
    if not links.exists():
        dragoman("align", *sides, "--aligner", GUIDE, "--symmetrize", METHODS[1], "-o", str(links))
        write_lines(folder / f"train.{task.target}-{task.source}", map(_turned, read_lines(links)))
    return folder


def statistical(task: Task, folder: Path) -> dict[str, dict[str, float]]:
    """Error rates of the aligners, trained on the training text and the gold pairs."""
    gold, train = (
        [str(folder / f"{part}.{side}") for side in (task.source, task.target)] for part in ("gold", "train")
    )
    rows = {}
    for aligner in ALIGNERS:
        forward, backward = (folder / f"gold.{aligner}.{direction}" for direction in ("forward", "backward"))
        if not backward.exists():
            dragoman("align", *gold, "--aligner", aligner, "--train", *train, "-o", str(forward))
            turned = gold[::-1], train[::-1]
            dragoman("align", *turned[0], "--aligner", aligner, "--train", *turned[1], "-o", str(backward))
        rows[aligner] = joined(task, forward, backward)
    return rows


def run_folder(folder: Path, source: str, target: str, guided: bool) -> Path:
    """The run folder of a direction."""
    return folder / f"{source}-{target}{'.guided' if guided else ''}"


def train(task: Task, folder: Path, source: str, target: str, guided: bool, *, minutes: float) -> None:
    """Train one model unless it exists."""
    out = run_folder(folder, source, target, guided)
    if (out / "report.html").exists():
        return
    files = {part: [str(folder / f"{part}.{language}") for language in (source, target)] for part in ("train", "dev")}
    links = ["--alignments", str(folder / f"train.{source}-{target}")] if guided else []
    settings = [f"text.source.language={source}", f"text.target.language={target}", "training.epochs=100"]
    dragoman(
        *("train", "--preset", "standard", "--scale", SCALE, *links),
        *("--train", *files["train"], "--dev", *files["dev"]),
        *("--out", str(out), "--minutes", str(minutes), "--threads", "1", "--overwrite", "--quiet"),
        *("--set", *settings, f"training.guided_alignment={0.5 if guided else 0}"),
    )


def progress(run: Path) -> dict[str, float]:
    """Progress of a training: updates, epochs, last perplexity and BLEU on dev, and target tokens per second."""
    lines = list(map(json.loads, read_lines(run / "log.jsonl")))
    last = next(line for line in reversed(lines) if line["kind"] == "validation")
    rates = [line["tokens_per_second"] for line in lines if line["kind"] == "train"]
    kept = {key: last[key] for key in ("update", "epoch", "perplexity", "bleu")}
    return kept | {"median_tokens_per_second": statistics.median(rates)}


def neural(task: Task, folder: Path, guided: bool) -> dict[str, float]:
    """Error rates of the models in both directions and symmetrised."""
    forward = run_folder(folder, task.source, task.target, guided)
    backward = run_folder(folder, task.target, task.source, guided)
    ahead = [str(folder / f"gold.{language}") for language in (task.source, task.target)]
    links = {run: folder / f"gold.{run.name}.links" for run in (forward, backward)}
    dragoman("align", str(forward), *ahead, "-o", str(links[forward]))
    dragoman("align", str(backward), *reversed(ahead), "-o", str(links[backward]))
    return joined(task, links[forward], links[backward])


def joined(task: Task, forward: Path, backward: Path) -> dict[str, float]:
    """AER of the links of each direction and of their symmetrisations."""
    turned = backward.with_name(f"{backward.name}.turned")
    write_lines(turned, map(_turned, read_lines(backward)))
    rows = {f"{task.name}": error_rate(task, forward), f"{task.target}-{task.source}": error_rate(task, turned)}
    for method in METHODS:
        out = forward.with_name(f"{forward.name}.{method}")
        dragoman("symmetrize", str(forward), str(turned), "--symmetrize", method, "--quiet", "-o", str(out))
        rows[method] = error_rate(task, out)
    return rows


def _turned(line: str) -> str:
    """Links with the other side's word first."""
    return " ".join("-".join(reversed(link.split("-"))) for link in line.split())


def error_rate(task: Task, links: Path) -> float:
    """AER against the gold links."""
    command = [sys.executable, "-m", "dragoman", "aer", str(task.gold), str(links), "--json"]
    command += ["--gold-format", "talp", "--hyp-format", "pharaoh"]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["aer"]


def dragoman(*arguments: str) -> None:
    """Run a `dragoman` command."""
    print("dragoman", *arguments[:4], "...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "dragoman", *arguments], check=True)


def write(result: dict[str, Any]) -> None:
    """Write the results so far to the file, and print them as a table."""
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, rows in result["aer"].items():
        print(f"{name}: {rows['pairs']:,} pairs")
        for row, columns in rows.items():
            if row != "pairs":
                print(f"  {row:18}" + "".join(f"{method} {rate:.3f}  " for method, rate in columns.items()), flush=True)


if __name__ == "__main__":
    main()
