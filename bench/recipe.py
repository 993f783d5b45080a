"""The recipe, one factor at a time: variations of the preset `standard` for equal processor time, on the dev set.

    python bench/recipe.py ../shared/data/multi30k-en-de-cs --scratch DIR
    python bench/recipe.py ../shared/data/multi30k-en-de-cs --scratch DIR --only base batch-512 --seeds 1 2 3
    python bench/recipe.py ../shared/data/multi30k-en-de-cs --scratch DIR --costs
    python bench/recipe.py ../shared/data/multi30k-en-de-cs --scratch DIR --table

`recipe_variations.py` has the variations. Each trains on Multi30k English-German for as many updates as cost the
processor time of `--updates` updates of the preset as it was before (1,200: about five minutes of two cores), on one
thread; its schedule ends with the last of them. What an update costs is measured once for each variation, in turn with
that preset, as processor time of the training thread, because other programs may run beside it. So a row does not
depend on the machine's load, and only the final choice needs wall clock; `--costs` measures them all at once, best
while nothing else runs. Aligning the text for guided alignment is part of its budget. Products are in bfloat16.

Measured is the dev set (1,014 sentences): BLEU and chrF by beam 5 and greedily, and perplexity by token and by word
(spaces), of which only the latter compares between vocabularies. Newer rows also have BLEU by beam 5 and perplexity of
two further dev sets, captions of 2017 and 2018 (2,071 sentences, on which no newer result is reported), because one set
tells variations apart by chance. test_2016_flickr is not read. `p` is the paired approximate randomisation of BLEU
against the base with the same seed, for variations of the fourth and fifth round against these. A row is a file in
bench/results/recipe; rows that are there are not repeated, and an interrupted training is resumed.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from recipe_variations import BASE, OLD_STANDARD, SEARCH, STANDARD, VARIATIONS, Settings, same_cost
from updates import Updates, corpus_files, others_seconds, rounds_in_turn, stored_corpus

import dragoman
from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.evaluation.metrics import bleu_metric
from dragoman.evaluation.significance import compare
from dragoman.progress import Console
from dragoman.report.facts import machine_name
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.lines import read_lines, write_lines
from dragoman.workflows.training import resume_training

RESULTS = Path(__file__).parent / "results" / "recipe"
COSTS = RESULTS / "costs.json"
ROUNDS = 5
BEAMS = (1, 5)
ROUNDS_WITH_A_BASE = ("fourth", "fifth")
"""The variation of this name is what those whose names begin with it are compared with."""
FURTHER_DEV_SETS = ("test_2017_flickr", "test_2018_flickr")


def main() -> None:
    """Train the rows that are missing, and print the table."""
    options = parse()
    torch.set_num_threads(1)
    RESULTS.mkdir(parents=True, exist_ok=True)
    dev = list(read_pairs([corpus_files(options.data, "val")]))
    if options.costs:
        for name in options.only or (*VARIATIONS, STANDARD):
            cost(options, name)
    elif not options.table:
        for seed in options.seeds:
            for name in options.only or (*VARIATIONS, STANDARD):
                path = RESULTS / f"{name}.{options.updates}.{seed}.json"
                if not path.exists():
                    write(path, row(options, name, seed, dev))
    for path in rows():
        add_comparison(path, options.scratch, dev)
        add_further_dev_sets(path, options.scratch, options.data)
    print(table(options.updates))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for the stored text, runs and translations")
    parser.add_argument("--only", nargs="+", choices=(*VARIATIONS, STANDARD), metavar="NAME", help="these variations")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument(
        "--updates", type=int, default=1200, help="the budget, in updates of the preset (default: %(default)s)"
    )
    parser.add_argument("--costs", action="store_true", help="only measure what an update costs")
    parser.add_argument("--table", action="store_true", help="only compare and print the rows that are there")
    return parser.parse_args()


def settings(name: str) -> Settings:
    """The settings of a variation over the preset."""
    return OLD_STANDARD if name == STANDARD else (*BASE, *VARIATIONS[name])


def configuration(name: str) -> Config:
    """The configuration of a variation, but for the length of the training and its seed."""
    return override(load_preset(STANDARD), ["training.precision=bf16", *SEARCH, *settings(name)])


def cost(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """The processor time of an update of a variation and of the preset, measured in turn once, then read."""
    known: dict[str, Any] = json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}
    name = same_cost(name)
    if name not in known:
        several = {
            one: Updates(
                configuration(one),
                *stored_corpus(options.data, options.scratch, configuration(one)),
                options.scratch / "cost" / one,
            )
            for one in {name, STANDARD}
        }
        began, before = time.monotonic(), others_seconds()
        rounds = rounds_in_turn(several, ROUNDS)
        seconds = {one: statistics.median(found) for one, found in rounds.items()}
        known[name] = {
            "processor_ms_an_update": round(1000 * seconds[name], 1),
            "preset_ms_an_update": round(1000 * seconds[STANDARD], 1),
            "cores_used_by_others": round((others_seconds() - before) / (time.monotonic() - began), 2),
            "date": time.strftime("%Y-%m-%d"),
            "processor": machine_name(),
            "threads": 1,
        }
        write(COSTS, known)
    paid: dict[str, Any] = known[name]
    return paid


def relative_cost(name: str, other: str) -> float:
    """The processor time of an update of one variation as a multiple of another's; both must have been measured."""
    known = json.loads(COSTS.read_text(encoding="utf-8"))
    one, two = (known[same_cost(variation)] for variation in (name, other))
    return float(
        one["processor_ms_an_update"]
        / one["preset_ms_an_update"]
        / (two["processor_ms_an_update"] / two["preset_ms_an_update"])
    )


def row(options: argparse.Namespace, name: str, seed: int, dev: list[Pair]) -> dict[str, Any]:
    """Train a variation for its updates, or finish that, and measure it."""
    config = configuration(name)
    guided = config.training.guided_alignment > 0
    paid = cost(options, name)
    links, aligning = aligned(options) if guided else (None, 0.0)
    budget = options.updates * paid["preset_ms_an_update"] - 1000 * aligning
    updates = round(budget / paid["processor_ms_an_update"])
    config = override(config, [f"training.updates={updates}", f"training.seed={seed}"])
    out = options.scratch / f"{name}.{options.updates}.{seed}"
    print(f"{out.name}: {updates} updates of {paid['processor_ms_an_update']:.0f} ms", flush=True)
    console = Console(quiet=True)
    began = time.thread_time()
    if (out / "run.json").exists():
        resume_training(out, config, console=console)
    else:
        train, val = ([corpus_files(options.data, part)] for part in ("train", "val"))
        alignments = [links] if links else []
        dragoman.train(config, train, val, out, alignments=alignments, overwrite=True, console=console)
    seconds = time.thread_time() - began
    run = dragoman.open_run(out)
    found: dict[str, Any] = {}
    for beam in BEAMS:
        measured = dragoman.measure(run, dev, search=run.config.search.replaced(beam=beam), console=console)
        scores = {score.name: round(score.value, 2) for score in measured.evaluation.scores}
        found[f"beam {beam}"] = {metric: scores[metric] for metric in ("BLEU", "chrF")}
        write_lines(out / f"dev.beam{beam}", (translation.text for translation in measured.translations))
    perplexity = measured.evaluation.perplexity
    assert perplexity is not None
    return {
        "name": name,
        "seed": seed,
        "settings": list(settings(name)),
        "budget_in_updates_of_the_preset": options.updates,
        "updates": updates,
        "parameters": run.parameters,
        "dev": found,
        "dev_perplexity_by_token": round(perplexity.per_token, 3),
        "dev_perplexity_by_word": perplexity_by_word(perplexity.nll, dev),
        "processor_seconds_of_training": round(seconds),
        "processor_seconds_of_alignment": round(aligning, 1),
        "cost": paid,
        "date": time.strftime("%Y-%m-%d"),
    }


def aligned(options: argparse.Namespace) -> tuple[Path, float]:
    """Links of the training text by eflomal, both directions symmetrised, and the processor seconds they took."""
    folder = options.scratch / "links"
    links, seconds = folder / "train.links", folder / "seconds"
    if not seconds.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "dragoman", "align", "--quiet", "--aligner", "eflomal", "-o", str(links)]
        command += ["--symmetrize", "grow-diag-final-and", *map(str, corpus_files(options.data, "train"))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.write_text(str(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), encoding="utf-8")
    return links, float(seconds.read_text(encoding="utf-8"))


def rows() -> list[Path]:
    """The files of the rows."""
    return sorted(path for path in RESULTS.glob("*.json") if path != COSTS)


def add_comparison(path: Path, scratch: Path, dev: list[Pair]) -> None:
    """Add to a row its difference from the base of the same seed and budget, where the translations of both exist."""
    found = json.loads(path.read_text(encoding="utf-8"))
    base = next((name for name in ROUNDS_WITH_A_BASE if found["name"].startswith(f"{name}-")), "base")
    other = f"{base}.{found['budget_in_updates_of_the_preset']}.{found['seed']}"
    own, others = (scratch / stem / "dev.beam5" for stem in (path.stem, other))
    if found["name"] == base or "against_base" in found or not (own.exists() and others.exists()):
        return
    result = compare(
        list(read_lines(own)), list(read_lines(others)), [(pair.target,) for pair in dev], [bleu_metric("13a")], other
    ).metrics[0]
    found["against_base"] = {
        "BLEU": round(result.score - result.other_score, 2),
        "p": round(result.randomisation_p, 4),
    }
    write(path, found)


def add_further_dev_sets(path: Path, scratch: Path, data: Path) -> None:
    """Add to a row BLEU and perplexity of the further dev sets, where its model exists."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if "further_dev_sets" in found or not (scratch / path.stem / "model.safetensors").exists():
        return
    run, scores = dragoman.open_run(scratch / path.stem), {}
    for part in FURTHER_DEV_SETS:
        pairs = list(read_pairs([corpus_files(data, part)]))
        search = run.config.search.replaced(beam=BEAMS[-1])
        measured = dragoman.measure(run, pairs, search=search, console=Console(quiet=True)).evaluation
        assert measured.perplexity is not None
        scores[part] = {
            "BLEU": next(round(score.value, 2) for score in measured.scores if score.name == "BLEU"),
            "perplexity_by_word": perplexity_by_word(measured.perplexity.nll, pairs),
        }
    write(path, {**found, "further_dev_sets": scores})


def perplexity_by_word(nll: float, pairs: Sequence[Pair]) -> float:
    """Perplexity of references in words between spaces, each with the end of its sentence."""
    return round(math.exp(nll / sum(len(pair.target.split()) + 1 for pair in pairs)), 3)


def table(updates: int) -> str:
    """A Markdown table of the rows of one budget, the best first."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in rows():
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["budget_in_updates_of_the_preset"] == updates:
            groups[found["name"]].append(found)
    lines = [
        "| variation | seeds | ms an update, preset | updates | dev BLEU, beam 5 | greedy | perplexity by word "
        "| against base (p) | 2017 and 2018: BLEU, perplexity |",
        "| --- | --: | --: | --: | --: | --: | --: | --- | --: |",
    ]
    for name, several in sorted(
        groups.items(), key=lambda item: -_mean(one["dev"]["beam 5"]["BLEU"] for one in item[1])
    ):
        paid = several[0]["cost"]
        against = ", ".join(
            f"{one['against_base']['BLEU']:+.1f} ({one['against_base']['p']:.3f})"
            for one in several
            if "against_base" in one
        )
        cells = (
            name,
            str(len(several)),
            f"{paid['processor_ms_an_update']:.0f}, {paid['preset_ms_an_update']:.0f}",
            f"{several[0]['updates']:,}",
            f"{_mean(one['dev']['beam 5']['BLEU'] for one in several):.1f}",
            f"{_mean(one['dev']['beam 1']['BLEU'] for one in several):.1f}",
            f"{_mean(one['dev_perplexity_by_word'] for one in several):.2f}",
            against,
            _further(several),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _further(several: Sequence[dict[str, Any]]) -> str:
    """BLEU and perplexity of the further dev sets, means over sets and rows; empty where a row lacks them."""
    if not all("further_dev_sets" in one for one in several):
        return ""
    sets = [scores for one in several for scores in one["further_dev_sets"].values()]
    return ", ".join(f"{_mean(scores[key] for scores in sets):.2f}" for key in ("BLEU", "perplexity_by_word"))


def _mean(values: Iterable[float]) -> float:
    return statistics.mean(values)


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON to a file, whole or not at all."""
    temporary = path.with_suffix(".partial")
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    main()
