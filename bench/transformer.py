"""A small Transformer of OpenNMT-py 3.5.1 as a rival in time to quality: its recipe, chosen on the dev set.

    python bench/transformer.py ../shared/data/multi30k-en-de-cs --scratch DIR --opennmt PYTHON --minutes 20
    python bench/transformer.py ../shared/data/multi30k-en-de-cs --scratch DIR --opennmt PYTHON --minutes 20 --table

The shape is the one with the best published text-only result on Multi30k (41.02 BLEU, lower-cased and tokenised, by
Wu et al. 2021 on GPUs): 4 + 4 layers of 128 units, 256 inner units, 4 heads, dropout 0.3, one joint vocabulary and one
matrix for embeddings and output, Adam with warm-up, averaged weights. For a budget of minutes on a CPU its recipe must
be another; `VARIATIONS` are its size of vocabulary, batch, rate, warm-up and dropout. What an update of each costs is
measured once, with the threads of the machine, best while nothing else runs; then each trains for the updates that fit
into the budget, on one thread, which may be beside other programs. Measured is BLEU of the dev set (1,014 sentences,
beam 5), without and with division of log-probability by length; no test set is read. A row is a file in
bench/results/transformer; rows that are there are not repeated. `bench/quality.py` trains the best row's recipe by the
clock.

The rival gets all that helps it: products of float32 in bfloat16 (oneDNN's default mode for them), a moving average of
the weights (0.999) from the first update on, label smoothing 0.1, and a schedule that ends with the budget: Adam's rate
rises linearly, falls with the square root of the update, and from half of the updates on also exponentially.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu
import sentencepiece
from decoders import peer_decoder
from training import prepare
from watching import Watched, watch

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "transformer"
COSTS = RESULTS / "costs.json"
NAME = "transformer"
SIZE = 128
BEAM = 5
UPDATES_OF_COST = 150
"""Updates whose rate is measured, after as many to warm up."""
FAST_PRODUCTS = {"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"}
LENGTH_PENALTIES = ("none", "avg")


@dataclass(frozen=True)
class Recipe:
    """What is chosen on the dev set."""

    pieces: int = 5000
    """Size of the joint vocabulary of BPE."""
    tokens: int = 512
    """Target tokens of a batch, with padding."""
    rate: float = 0.004
    """The highest learning rate."""
    warm_up: float = 0.15
    """Share of the updates in which the rate rises."""
    dropout: float = 0.3
    """Rate of dropout outside attention; in it at most 0.1."""

    @property
    def shape(self) -> str:
        """What the cost of an update depends on."""
        return f"{self.pieces} pieces, {self.tokens} tokens"


VARIATIONS: Mapping[str, Recipe] = {
    "base": Recipe(),
    "pieces-3000": Recipe(pieces=3000),
    "tokens-256": Recipe(tokens=256),
    "tokens-1024": Recipe(tokens=1024),
    "tokens-2048": Recipe(tokens=2048),
    "rate-0.0025": Recipe(rate=0.0025),
    "rate-0.008": Recipe(rate=0.008),
    "warm-up-0.05": Recipe(warm_up=0.05),
    "dropout-0.1": Recipe(dropout=0.1),
    "dropout-0": Recipe(dropout=0.0),
    "dropout-0-rate-0.0025": Recipe(dropout=0.0, rate=0.0025),
    "dropout-0-rate-0.0012": Recipe(dropout=0.0, rate=0.0012),
    "dropout-0-tokens-256": Recipe(dropout=0.0, tokens=256),
    "dropout-0-rate-0.0017": Recipe(dropout=0.0, rate=0.0017),
    "dropout-0.1-rate-0.0017": Recipe(dropout=0.1, rate=0.0017),
    "dropout-0.3-rate-0.0017": Recipe(rate=0.0017),
    "dropout-0.1-rate-0.0017-tokens-1024": Recipe(dropout=0.1, rate=0.0017, tokens=1024),
}


def main() -> None:
    """Measure the cost and the dev BLEU of the variations that are missing, and print the table."""
    options = parse()
    scratch = options.scratch.resolve()
    RESULTS.mkdir(parents=True, exist_ok=True)
    if not options.table:
        for name in options.only or VARIATIONS:
            cost(options, name, scratch)
        for name in options.only or VARIATIONS if not options.costs else ():
            path = RESULTS / f"{name}.{options.minutes}.json"
            if not path.exists():
                write(path, dev_row(options, name, scratch))
    print(table(options.minutes))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for text and models")
    parser.add_argument("--opennmt", required=True, metavar="PYTHON", help="interpreter of OpenNMT-py's environment")
    parser.add_argument("--minutes", type=int, default=20, help="the budget (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of the budget")
    parser.add_argument("--only", nargs="+", choices=tuple(VARIATIONS), metavar="NAME", help="these variations")
    parser.add_argument("--costs", action="store_true", help="only measure what an update of each variation costs")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    return parser.parse_args()


def text_folder(data: Path, scratch: Path, recipe: Recipe) -> Path:
    """The segmented text of a recipe and its vocabulary, made once."""
    folder = scratch / f"text-{recipe.pieces}"
    if not (folder / "vocabulary.txt").exists():
        prepare(data, folder, recipe.pieces)
    return folder


def training_command(python: str, recipe: Recipe, updates: int, text: Path, out: Path, seed: int = 1) -> list[str]:
    """The command that trains for `updates`; twenty checkpoints go to OUT/opennmt.transformer."""
    out.mkdir(parents=True, exist_ok=True)
    warm_up, half = max(1, round(recipe.warm_up * updates)), updates // 2

    def files(part: str) -> dict[str, Any]:
        return {"path_src": str(text / f"{part}.en"), "path_tgt": str(text / f"{part}.de"), "transforms": []}

    config = {
        "save_data": str(out / "data"),
        "src_vocab": str(text / "vocabulary.txt"),
        "tgt_vocab": str(text / "vocabulary.txt"),
        "share_vocab": True,
        "data": {"corpus": {**files("train"), "weight": 1}, "valid": files("val")},
        "save_model": str(out / f"opennmt.{NAME}" / "m"),
        "seed": seed,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "enc_layers": 4,
        "dec_layers": 4,
        "word_vec_size": SIZE,
        "hidden_size": SIZE,
        "transformer_ff": 2 * SIZE,
        "heads": 4,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "dropout": [recipe.dropout],
        "attention_dropout": [min(0.1, recipe.dropout)],
        "param_init": 0.0,
        "param_init_glorot": True,
        "label_smoothing": 0.1,
        "optim": "adam",
        "adam_beta2": 0.98,
        "decay_method": "noamwd",
        # the method's rate after the warm-up is learning_rate / sqrt(size * warm_up)
        "learning_rate": recipe.rate * math.sqrt(SIZE * warm_up),
        "warmup_steps": warm_up,
        "start_decay_steps": half,
        "decay_steps": max(1, updates // 12),
        "learning_rate_decay": 0.6,
        "max_grad_norm": 1.0,
        "average_decay": 0.001,
        "batch_type": "tokens",
        "batch_size": recipe.tokens,
        "normalization": "tokens",
        "bucket_size": 29_000,
        "num_workers": 0,
        "train_steps": updates,
        "valid_steps": updates + 1,
        "save_checkpoint_steps": max(1, updates // 20),
        "keep_checkpoint": -1,
        "report_every": 10,
        "world_size": 1,
        "gpu_ranks": [],
    }
    path = out / f"opennmt.{NAME}.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return [str(Path(python).parent / "onmt_train"), "-config", str(path)]


def run(command: list[str], seconds: float, folder: Path, threads: int) -> Watched:
    """Run a training with so many threads."""
    print(" ".join(command), file=sys.stderr, flush=True)
    return watch(command, seconds, folder=folder, environment={"OMP_NUM_THREADS": str(threads), **FAST_PRODUCTS})


def cost(options: argparse.Namespace, name: str, scratch: Path) -> dict[str, Any]:
    """Updates a second of a variation with all threads, measured once, then read."""
    known: dict[str, Any] = json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}
    recipe = VARIATIONS[name]
    if recipe.shape not in known:
        text, out = text_folder(options.data, scratch, recipe), scratch / "cost"
        command = training_command(options.opennmt, recipe, 2 * UPDATES_OF_COST, text, out)
        watched = run(command, 600, scratch, options.threads)
        known[recipe.shape] = {
            "updates_a_second": round(watched.rate(r"Step (\d+)/", skip=UPDATES_OF_COST), 3),
            "seconds_before_the_first_update": round(_start(watched), 1),
            "threads": options.threads,
            "processor": machine_name(),
            "cores_used_by_others": round(watched.others, 2),
            "peak_memory_mb": round(watched.peak_mb),
            "date": time.strftime("%Y-%m-%d"),
        }
        write(COSTS, known)
    return known_cost(recipe)


def known_cost(recipe: Recipe) -> dict[str, Any]:
    """The measured cost of a recipe's update."""
    found: dict[str, Any] = json.loads(COSTS.read_text(encoding="utf-8"))[recipe.shape]
    return found


def _start(watched: Watched) -> float:
    """Seconds until about the first update: the line of update 10, less ten updates."""
    return next(second for second, line in watched.lines if "Step 10/" in line)


def updates_within(paid: Mapping[str, Any], minutes: float) -> int:
    """The updates that fit into a budget."""
    return int((60 * minutes - paid["seconds_before_the_first_update"]) * paid["updates_a_second"])


def dev_row(options: argparse.Namespace, name: str, scratch: Path) -> dict[str, Any]:
    """Train a variation for the updates of the budget on one thread, and measure it on the dev set."""
    recipe, paid = VARIATIONS[name], cost(options, name, scratch)
    updates = updates_within(paid, options.minutes)
    text, out = text_folder(options.data, scratch, recipe), scratch / f"{name}.{options.minutes}"
    watched = run(training_command(options.opennmt, recipe, updates, text, out), 6 * 3600, scratch, 1)
    if watched.exit_code:
        sys.exit("the training failed:\n" + "\n".join(line for _, line in watched.lines[-20:]))
    source = list(read_lines(options.data / "val.en.gz"))
    references = list(read_lines(options.data / "val.de.gz"))
    found = {
        penalty: round(
            sacrebleu.corpus_bleu(
                peer_translations(options.opennmt, NAME, text, out, source, penalty), [references]
            ).score,
            2,
        )
        for penalty in LENGTH_PENALTIES
    }
    return {
        "name": name,
        "recipe": recipe.__dict__,
        "minutes": options.minutes,
        "updates": updates,
        "dev_bleu_by_length_penalty": found,
        "processor_seconds_of_training": round(watched.processor_seconds),
        "cost": paid,
        "date": time.strftime("%Y-%m-%d"),
    }


def peer_translations(
    python: str, model: str, text: Path, folder: Path, lines: list[str], length_penalty: str
) -> list[str]:
    """Raw translations of raw lines, beam 5, by the last checkpoint of a model of OpenNMT-py in a folder."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    source, output = folder / "source", folder / "output"
    write_lines(source, (" ".join(pieces.encode(line, out_type=str)) for line in lines))
    decoder = peer_decoder("opennmt", python, model, folder)
    command = decoder.command(source, output, BEAM, False)
    command[command.index("-length_penalty") + 1] = length_penalty
    command += ["-alpha", "1"]  # without it "avg" divides by 1
    watched = watch(command, 1800, folder=folder, environment=dict(decoder.environment))
    if watched.exit_code:
        sys.exit("the peer did not translate:\n" + "\n".join(line for _, line in watched.lines[-20:]))
    return [pieces.decode(line.split()) for line in read_lines(output)]


def best(minutes: int) -> tuple[Recipe, str]:
    """The recipe and the length penalty that are best on the dev set, of the budget nearest to so many minutes.

    Raises:
        SystemExit: no row has been measured.
    """
    known = rows()
    if not known:
        sys.exit("no recipe of the Transformer has been chosen: run bench/transformer.py first")
    nearest = min((row["minutes"] for row in known), key=lambda other: abs(math.log(other / minutes)))
    found = [row for row in known if row["minutes"] == nearest]
    top = max(found, key=lambda row: max(row["dev_bleu_by_length_penalty"].values()))
    scores = top["dev_bleu_by_length_penalty"]
    return Recipe(**top["recipe"]), max(scores, key=scores.__getitem__)


def rows() -> list[dict[str, Any]]:
    """The rows that are there."""
    paths = sorted(path for path in RESULTS.glob("*.json") if path != COSTS)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def table(minutes: int) -> str:
    """A Markdown table of the rows of one budget, the best first."""
    lines = [
        "| variation | updates a second | updates | dev BLEU | divided by length |",
        "| --- | --: | --: | --: | --: |",
    ]
    found = [row for row in rows() if row["minutes"] == minutes]
    for row in sorted(found, key=lambda row: -max(row["dev_bleu_by_length_penalty"].values())):
        scores = [f"{row['dev_bleu_by_length_penalty'][penalty]:.1f}" for penalty in LENGTH_PENALTIES]
        lines.append(
            f"| {row['name']} | {row['cost']['updates_a_second']} | {row['updates']:,} | {' | '.join(scores)} |"
        )
    return "\n".join(lines)


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a file of results."""
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
