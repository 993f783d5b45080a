"""Error rates of single words beside published baselines: pronunciation and inflection.

    python bench/tasks.py ../shared/data --scratch DIR --rows low --seeds 5
    python bench/tasks.py ../shared/data --scratch DIR --rows medium inflection
    python bench/tasks.py --table

Each row trains the preset that `dragoman train` chooses for its text, a model for each of `--seeds`, and measures them
and their ensemble with a beam of 5: the dev set, and the test set, which chose nothing. Finished trainings and rows are
kept: the command may be stopped and started again, and several may run with rows of their own. A row is a file in
bench/results/tasks.

    low, medium, high   pronunciation, SIGMORPHON 2021 task 1: 10 languages of 800 words, 10 of 8,000, English of 33,344
    inflection          SIGMORPHON 2020 task 0: six languages
    cmudict             CMU pronouncing dictionary 0.7a without stress, a split of our own: every 20th word is for
                        dev, every 10th for testing (of words sorted by their SHA-256)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.corpora.corpus import read_test_set
from dragoman.corpora.pairs import Pair
from dragoman.model.devices import set_threads
from dragoman.report.facts import machine_name
from dragoman.runs.opening import OpenedModels, Run, open_run
from dragoman.training.log import read_log
from dragoman.workflows.evaluation import MeasureOptions, measure_given, symbols_for
from dragoman.workflows.preset_choice import choose_preset
from dragoman.workflows.training import train

RESULTS = Path(__file__).parent / "results" / "tasks"
BEAM = 5
LEVELS = {
    "low": ("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw"),
    "medium": ("arm_e", "bul", "dut", "fre", "geo", "hbs_latn", "hun", "jpn_hira", "kor", "vie_hanoi"),
    "high": ("eng_us",),
}
INFLECTED = ("aze", "dan", "deu", "eng", "est", "nld")

BASELINE = {
    "low": (22.40, 25.10),
    "low.ady": (22, 22),
    "low.gre": (5, 21),
    "low.ice": (11, 12),
    "low.ita": (22, 19),
    "low.khm": (34, 34),
    "low.lav": (41, 55),
    "low.mlt_latn": (20, 19),
    "low.rum": (10, 10),
    "low.slv": (43, 49),
    "low.wel_sw": (16, 10),
    "medium": (9.35, 10.64),
    "medium.arm_e": (4.5, 7),
    "medium.bul": (8.3, 18.3),
    "medium.dut": (10.8, 14.7),
    "medium.fre": (7.4, 8.5),
    "medium.geo": (0, 0),
    "medium.hbs_latn": (34.7, 32.1),
    "medium.hun": (1.5, 1.8),
    "medium.jpn_hira": (6.2, 5.2),
    "medium.kor": (18.4, 16.3),
    "medium.vie_hanoi": (1.3, 2.5),
    "high.eng_us": (45.13, 41.94),
}
"""WER of dev and test set of the shared task's baseline, an ensemble of transition systems (README of the repository
sigmorphon/2021-task1, commit 821bcde)."""


class Row(NamedTuple):
    """A text to train on and to measure."""

    name: str
    level: str
    train: Path
    dev: Path
    test: Path


def main() -> None:
    """Train and measure every row that is not finished; print the table."""
    options = parse()
    set_threads(1)
    RESULTS.mkdir(exist_ok=True)
    for row in rows(options.data, options.scratch, options.rows) if not options.table else ():
        seeds = list(range(1, options.seeds + 1))
        path = RESULTS / f"{row.name}.json"
        if path.exists() and set(seeds) <= set(json.loads(path.read_text(encoding="utf-8"))["seeds"]):
            continue
        found = {
            **measured(row, seeds, options.scratch),
            "processor": machine_name(),
            "date": time.strftime("%Y-%m-%d"),
        }
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(row.name, json.dumps(found), flush=True)
    print(table())


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "data", type=Path, nargs="?", help="folder with g2p-sigmorphon2021, inflection-sigmorphon2020 and g2p-cmudict"
    )
    parser.add_argument("--scratch", type=Path, help="folder for runs")
    parser.add_argument("--rows", nargs="+", default=["low"], help="levels, or single rows such as low.ice")
    parser.add_argument("--seeds", type=int, default=1, help="models of a row; several are also measured together")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and not (options.data and options.scratch):
        parser.error("missing: data or --scratch")
    return options


def rows(data: Path, scratch: Path, wanted: list[str]) -> Iterator[Row]:
    """Yield the rows whose name or level is wanted, in the order in which they are wanted."""
    folder, tables = data / "g2p-sigmorphon2021", data / "inflection-sigmorphon2020"
    known = [
        Row(f"{level}.{name}", level, *(folder / f"{level}.{name}_{part}.tsv.xz" for part in ("train", "dev", "test")))
        for level, names in LEVELS.items()
        for name in names
    ]
    known += [
        Row(f"inflection.{name}", "inflection", *(tables / f"{name}.{part}.xz" for part in ("trn", "dev", "tst")))
        for name in INFLECTED
    ]
    for name in wanted:
        if name == "cmudict":
            yield Row("cmudict", "cmudict", *cmudict(data / "g2p-cmudict" / "cmudict.xz", scratch))
        yield from (row for row in known if name in (row.name, row.level))


def cmudict(path: Path, scratch: Path) -> list[Path]:
    """Write train, dev and test as .tsv: a line for each pronunciation to train on, a word with all of them to test."""
    pronunciations: dict[str, list[str]] = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, _, *phones = line.split()
            spoken = " ".join(phone.rstrip("012") for phone in phones)
            if spoken not in pronunciations[word]:
                pronunciations[word].append(spoken)
    words = sorted(pronunciations, key=lambda word: hashlib.sha256(word.encode()).digest())
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, word in enumerate(words):
        part = "test" if number % 10 == 0 else "dev" if number % 20 == 1 else "train"
        spoken_ways = pronunciations[word]
        parts[part] += (
            [f"{word}\t{way}" for way in spoken_ways] if part == "train" else ["\t".join([word, *spoken_ways])]
        )
    files = [scratch / f"cmudict.{part}.tsv" for part in parts]
    for file, lines_of_part in zip(files, parts.values(), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines_of_part), encoding="utf-8")
    return files


def measured(row: Row, seeds: list[int], scratch: Path) -> dict[str, Any]:
    """Train the models of a row and measure them."""
    folders = [scratch / f"{row.name}.{seed}" for seed in seeds]
    seconds = [train_row(row, settings(row, seed), folder) for seed, folder in zip(seeds, folders, strict=True)]
    runs = [open_run(folder, device="cpu", threads=1) for folder in folders]
    found: dict[str, Any] = {"seeds": seeds, "seconds": seconds}
    found["updates"] = read_log(runs[0].folder.log)[-1]["update"]
    found["epochs"] = runs[0].config.training.epochs
    for part, path in (("dev", row.dev), ("test", row.test)):
        pairs = list(read_test_set([path]))
        found[part] = {
            "words": len(pairs),
            "single": [rates([run], [folder], pairs) for run, folder in zip(runs, folders, strict=True)],
        }
        if len(runs) > 1:
            found[part]["ensemble"] = rates(runs, folders, pairs)
    return found


def train_row(row: Row, config: Config, folder: Path) -> float:
    """Train a model, or go on where it was stopped; return the processor time of this process, in seconds."""
    done = folder / "seconds"
    if not done.exists():
        began = time.process_time()
        stopped = (folder / "checkpoints").is_dir()
        train(
            config,
            [[row.train]],
            [[dev_of(row)]],
            folder,
            overwrite=not stopped,
            resume=stopped,
            device="cpu",
        )
        done.write_text(str(round(time.process_time() - began)), encoding="utf-8")
    return float(done.read_text(encoding="utf-8"))


def dev_of(row: Row) -> Path:
    """Return a dev set with one reference a line, as training takes it."""
    if row.level != "cmudict":
        return row.dev
    single = row.dev.with_suffix(".single.tsv")
    lines = row.dev.read_text(encoding="utf-8").splitlines()
    single.write_text("".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines), encoding="utf-8")
    return single


def settings(row: Row, seed: int) -> Config:
    """Return the configuration that `dragoman train --set training.seed=...` would choose."""
    choice = choose_preset([[row.train]])
    return override(load_preset(choice.preset), [*choice.settings, f"training.seed={seed}"])


def rates(runs: list[Run], folders: list[Path], pairs: list[Pair]) -> dict[str, float]:
    """Return the error rates of one model or of an ensemble."""
    translator = OpenedModels([str(folder) for folder in folders], runs).translator({"beam": BEAM})
    hypotheses = [best.text for best, *_ in translator.translate_lines(pair.source for pair in pairs)]
    symbols = symbols_for(runs[0].config)
    scores = measure_given(hypotheses, pairs, None, MeasureOptions(slices=(), symbols=symbols), warn=False).scores
    return {score.name: round(score.value, 2) for score in scores if score.name in ("WER", "PER", "CER")}


def table() -> str:
    """A Markdown table of the rows and of complete levels: the mean of the models, in brackets their ensemble."""
    lines = [
        "| row | models | dev WER | dev PER or CER | test WER | test PER or CER | baseline, dev WER | test WER |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    for level, languages in {**LEVELS, "inflection": INFLECTED, "cmudict": ()}.items():
        of_level = {name: row for name, row in found.items() if name.partition(".")[0] == level}
        lines += [_line(name, [row]) for name, row in of_level.items()]
        if len(of_level) == len(languages) > 1:
            lines.append(_line(level, list(of_level.values())))
    return "\n".join(lines)


def _line(name: str, found: list[dict[str, Any]]) -> str:
    """A line of the table: the means over rows."""
    cells = []
    for part in ("dev", "test"):
        for rate in ("WER", "PER") if "PER" in found[0]["test"]["single"][0] else ("WER", "CER"):
            single = mean(mean(model[rate] for model in row[part]["single"]) for row in found)
            together = [row[part]["ensemble"][rate] for row in found if "ensemble" in row[part]]
            cells.append(f"{single:.1f}" + (f" ({mean(together):.1f})" if len(together) == len(found) else ""))
    cells += [f"{rate:g}" for rate in BASELINE.get(name, ())] or ["", ""]
    return f"| {name} | {len(found[0]['seeds'])} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
