"""End-to-end benchmark: train the preset `standard` for a fixed time, then measure quality and speed.

    python bench/translation.py multi30k ../shared/data/multi30k-en-de-cs --from en --to de --out RUN
    python bench/translation.py tatoeba ../shared/data/tatoeba-en-fr --from en --to fr --out RUN

Multi30k has its own development and test sets; Tatoeba is split by a hash of the English sentence, so that all
translations of a sentence are in one part. Results go to bench/results/NAME-FROM-TO.json, with the machine, the
command, the sacreBLEU signatures and the learning curve. The machine must otherwise be idle.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

import dragoman
from dragoman.report.facts import machine_name
from dragoman.runs.opening import Run, open_run
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.lines import read_lines, write_lines
from dragoman.training.log import read_log
from dragoman.workflows.evaluation import measure

RESULTS = Path(__file__).parent / "results"
BEAMS = (1, 5)


def main() -> None:
    """Train, measure, write the results."""
    options = parse()
    out = Path(options.out)
    prepare = {"multi30k": multi30k, "tatoeba": tatoeba}[options.corpus]
    train_files, dev_files, tests = prepare(Path(options.data), options.source, options.target, out.parent)
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--preset", "standard"),
        *("--train", *map(str, train_files), "--dev", *map(str, dev_files)),
        *("--out", str(out), "--minutes", str(options.minutes)),
        *("--set", f"text.source.language={options.source}", f"text.target.language={options.target}"),
        *("training.epochs=60", *options.set),
    ]
    started = time.monotonic()
    if not options.reuse:
        subprocess.run([*command, "--overwrite"], check=True)
    wall = time.monotonic() - started
    run = open_run(out)
    result: dict[str, Any] = {
        "command": f"python bench/translation.py {options.corpus} {options.data} "
        f"--from {options.source} --to {options.target} --minutes {options.minutes} --out RUN",
        "date": time.strftime("%Y-%m-%d"),
        "dragoman": dragoman.__version__,
        "machine": machine(),
        "configuration": run.config.values(),
        "training": training(run, None if options.reuse else wall),
        "tests": {name: quality(run, files) for name, files in tests.items()},
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{options.corpus}-{options.source}-{options.target}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, test in result["tests"].items():
        for beam, row in test.items():
            scores = f"BLEU {row['BLEU']:.2f}  chrF {row['chrF']:.2f}"
            print(f"{name:<20} {beam}  {scores}  {row['sentences_per_second']:.0f} sentences/s")
    print(path)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", choices=("multi30k", "tatoeba"))
    parser.add_argument("data", help="folder of the corpus")
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    parser.add_argument("--out", required=True, help="the run folder")
    parser.add_argument(
        "--minutes",
        type=float,
        default=19.4,
        help="training time; start-up and report take the rest of 20 minutes (default: %(default)s)",
    )
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--reuse", action="store_true", help="measure the existing run of this command without training"
    )
    return parser.parse_args()


def multi30k(data: Path, source: str, target: str, _: Path) -> tuple[list[Path], list[Path], dict[str, list[Path]]]:
    """Training, development and test files of Multi30k."""

    def files(name: str) -> list[Path]:
        return [data / f"{name}.{language}.gz" for language in (source, target)]

    names = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    return files("train"), files("val"), {name: files(name) for name in names}


def tatoeba(
    data: Path, source: str, target: str, scratch: Path
) -> tuple[list[Path], list[Path], dict[str, list[Path]]]:
    """Split Tatoeba into 98 % training, 1 % development and 1 % test text by the SHA-256 of the English sentence."""
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "dev": [], "test": []}
    sides = {language: read_lines(data / f"all.{language}.xz") for language in ("en", "fr")}
    for english, french in zip(sides["en"], sides["fr"], strict=True):
        percent = int.from_bytes(hashlib.sha256(english.encode()).digest()[:8], "big") % 100
        part = {0: "dev", 1: "test"}.get(percent, "train")
        parts[part].append((english, french) if source == "en" else (french, english))
    files: dict[str, list[Path]] = {}
    for part, pairs in parts.items():
        files[part] = [scratch / f"tatoeba.{part}.{language}" for language in (source, target)]
        for side, path in enumerate(files[part]):
            write_lines(path, (pair[side] for pair in pairs))
    return files["train"], files["dev"], {"test": files["test"]}


def machine() -> dict[str, str]:
    """The environment of the measurement."""
    return {
        "processor": machine_name(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
    }


def training(run: Run, wall: float | None) -> dict[str, Any]:
    """Training figures from the log, and the peak memory of the child processes."""
    records = read_log(run.folder.log)
    rates = [record["tokens_per_second"] for record in records if record["kind"] == "train"]
    return {
        "wall_seconds": wall,
        "peak_memory_mb": None if wall is None else resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "parameters": run.parameters,
        "updates": records[-1]["update"],
        "target_tokens_per_second": sorted(rates)[len(rates) // 2],
        "curve": [
            {key: record[key] for key in ("seconds", "update", "epoch", "perplexity", "bleu", "chrf")}
            for record in records
            if record["kind"] == "validation"
        ],
    }


def quality(run: Run, files: list[Path]) -> dict[str, dict[str, Any]]:
    """Scores with signatures and translation speed for greedy and beam search."""
    pairs = list(read_pairs([files]))
    result = {}
    for beam in BEAMS:
        measured = measure(run, pairs, search=run.config.search.replaced(beam=beam)).evaluation
        rows = {
            "BLEU": measured.score("BLEU"),
            "chrF": measured.score("chrF"),
            "signatures": [score.signature for score in measured.scores],
        }
        result[f"beam {beam}"] = {**rows, **speed(run, pairs, beam), "sentences": len(pairs)}
    return result


def speed(run: Run, pairs: list[Pair], beam: int) -> dict[str, float]:
    """Translation speed of the loaded run."""
    search = run.config.search.replaced(beam=beam)
    started = time.monotonic()
    found = [best for best, *_ in run.translator(search).translate_lines(pair.source for pair in pairs)]
    seconds = time.monotonic() - started
    segments = sum(len(translation.tokens) + 1 for translation in found)
    return {"sentences_per_second": len(pairs) / seconds, "output_segments_per_second": segments / seconds}


if __name__ == "__main__":
    main()
