"""Training speed of the same model in Dragoman and in its peers, measured in turn on one machine.

    python bench/training.py ../shared/data/multi30k-en-de-cs --scratch DIR \
        --joeynmt PYTHON --opennmt PYTHON --yoyodyne PYTHON

PYTHON is the interpreter of a virtual environment with that toolkit (JoeyNMT 2.3.0, OpenNMT-py 3.5.1, yoyodyne 0.5.27;
requirements: docs/lab-book/2026-11-speed.md). All train on Multi30k English-German, segmented with a joint BPE of
10,000 pieces. Throughput is updates per second in steady state times the mean number of real target tokens, EOS
included, of a batch of 64 sentences. Two models, float32, Adam, 64 sentences a batch, dropout 0.2, input feeding:

    B  bidirectional GRU 2 x 256, GRU 512, embeddings 256, additive attention
    L  2 layers of bidirectional LSTM 2 x 256, 2 layers of LSTM 512, embeddings 512, general attention

(256 per direction, because one peer supports nothing else; yoyodyne has neither L nor input feeding.) Dragoman also
runs with bfloat16 matrix products. All toolkits run in every round, one after the other; reported are medians, and the
ratio to the fastest peer of the same round. The peak speed of matrix products is measured for the shapes that occur,
before and after each model; with the counted operations of real batches it gives the share of the peak. Results go to
bench/results/training.json. The machine must otherwise be idle.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import sentencepiece
import torch
from counting import product_counter
from peers import ONLY_TRAINED, PEERS, PYTHONPATH_OF_DRAGOMAN, dragoman_command, dragoman_values
from torch import Tensor
from torch.nn import functional
from watching import Watched, watch

from dragoman.config.building import build_config
from dragoman.data.batches import Budget, batch_ids
from dragoman.model.assembly import build
from dragoman.model.fast.linear import matmul
from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "training.json"
ALL_PEERS = PEERS | ONLY_TRAINED
RATE = "target_tokens_per_second"
PEAK_SECONDS = 0.4
"""Duration of each measurement of a matrix product."""
SKIP = 10
"""Updates ignored at the start: start-up, first allocations."""


def main() -> None:
    """Prepare, run all toolkits in turn, count, print and write."""
    options = parse()
    scratch = Path(options.scratch).resolve()
    text = prepare(Path(options.data), scratch / "text")
    tokens_per_batch = 64 * text["mean_target_tokens"]
    peaks = product_peaks()
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": "python bench/training.py DATA --scratch DIR --joeynmt PYTHON --opennmt PYTHON --yoyodyne PYTHON "
        f"--seconds {options.seconds:g} --rounds {options.rounds}",
        "machine": {
            "processor": machine_name(),
            "threads": options.threads,
            "torch": torch.__version__,
            "product_peaks_gflops": peaks,
        },
        "text": text,
        "models": {},
    }
    for model in options.models:
        rounds: list[dict[str, dict[str, float]]] = []
        for number in range(options.rounds):
            rounds.append({})
            for name, command, pattern in list(_runs(options, model, scratch))[:: 1 if number % 2 == 0 else -1]:
                print(f"{model}, round {number + 1}: {name} ...", file=sys.stderr, flush=True)
                watched = watch(command, options.seconds, folder=scratch, environment=_environment(options, name))
                rounds[-1][name] = _row(watched, pattern, tokens_per_batch)
        rows = _rows(rounds)
        peaks.update(
            {shape: max(rate, peaks[shape]) for shape, rate in product_peaks().items()}
        )  # the machine's speed varies
        megaflops = flops_per_token(model, scratch / "text") / 1e6
        _add_shares(rows, megaflops, peaks)
        result["models"][model] = {"megaflops_per_target_token": megaflops, "runs": rows}
        print(_table(model, megaflops, rows), flush=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(RESULTS)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", help="folder with Multi30k: train.en.gz, train.de.gz, val...")
    parser.add_argument("--scratch", required=True, help="folder for text and runs")
    for peer in ALL_PEERS:
        parser.add_argument(
            f"--{peer}", metavar="PYTHON", help=f"interpreter of {peer}'s environment; left out if absent"
        )
    parser.add_argument("--models", nargs="+", choices=("B", "L"), default=["B", "L"])
    parser.add_argument("--seconds", type=float, default=90, help="time of each run, start-up included")
    parser.add_argument("--rounds", type=int, default=2, help="rounds, every other one in reverse order")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def prepare(
    data: Path, out: Path, pieces: int = 10_000, train: str = "train.{}.gz", dev: str = "val.{}.gz"
) -> dict[str, float]:
    """Write segmented text, with spaces between pieces, and one vocabulary for all toolkits; `{}` is the language."""
    out.mkdir(parents=True, exist_ok=True)
    raw = {
        (part, language): list(read_lines(data / name.format(language)))
        for part, name in (("train", train), ("val", dev))
        for language in ("en", "de")
    }
    joint = out / "joint.txt"
    joint.write_text("\n".join(raw["train", "en"] + raw["train", "de"]) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(joint), model_prefix=str(out / "bpe"), vocab_size=pieces, model_type="bpe", minloglevel=2
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(out / "bpe.model"))
    seen: dict[str, int] = {}
    length = 0
    for (part, language), lines in raw.items():
        pieces = [model.encode(line, out_type=str) for line in lines]
        (out / f"{part}.{language}").write_text("\n".join(" ".join(row) for row in pieces) + "\n", encoding="utf-8")
        if part == "train":
            for row in pieces:
                for piece in row:
                    seen[piece] = seen.get(piece, 0) + 1
            length = sum(map(len, pieces)) if language == "de" else length
    vocabulary = sorted(seen, key=lambda piece: (-seen[piece], piece))
    (out / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    count = len(raw["train", "de"])
    return {"pairs": count, "vocabulary": len(vocabulary), "mean_target_tokens": length / count + 1}


def _runs(options: argparse.Namespace, model: str, scratch: Path) -> Iterator[tuple[str, list[str], str]]:
    """(name, command, pattern of the update number in its log) of each toolkit."""
    for name, peer in ALL_PEERS.items():
        if (python := getattr(options, name)) and model in peer.models:
            yield name, peer.command(python, model, scratch, options.threads), peer.pattern
    for precision in ("fp32", "bf16"):
        command = dragoman_command(model, scratch, options.threads, precision)
        yield f"dragoman {precision}", command, r"update (\d+)"


def _environment(options: argparse.Namespace, name: str) -> dict[str, str]:
    own = {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN} if name.startswith("dragoman") else {}
    return {"OMP_NUM_THREADS": str(options.threads), **own}


def _row(watched: Watched, pattern: str, tokens_per_batch: float) -> dict[str, float]:
    updates = watched.rate(pattern, skip=SKIP)
    return {
        RATE: updates * tokens_per_batch,
        "updates_per_second": updates,
        "peak_memory_mb": watched.peak_mb,
        "cores_used_by_others": watched.others,
    }


def _rows(rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Medians over the rounds, with median and range of the ratios to the fastest peer of the same round."""
    rows: dict[str, Any] = {
        name: {figure: median(one[name][figure] for one in rounds) for figure in row}
        | {"rounds_tokens_per_second": [one[name][RATE] for one in rounds]}
        for name, row in rounds[0].items()
    }
    peers = rows.keys() & ALL_PEERS.keys()
    for name in rows.keys() - peers if peers else ():
        ratios = [one[name][RATE] / max(one[peer][RATE] for peer in peers) for one in rounds]
        rows[name] |= {"ratio_to_fastest_peer": median(ratios), "ratio_range": [min(ratios), max(ratios)]}
    return rows


def _add_shares(rows: dict[str, Any], megaflops: float, peaks: dict[str, float]) -> None:
    for name in rows.keys() - ALL_PEERS.keys():
        best = max(rate for shape, rate in peaks.items() if shape.endswith(name.split()[1]))
        rows[name]["share_of_product_peak"] = rows[name][RATE] * megaflops / 1000 / best


def _table(model: str, megaflops: float, rows: dict[str, Any]) -> str:
    lines = [f"{model}: {megaflops:.1f} MFLOP a target token", f"{'':16}{'tok/s':>8}{'GB':>7}{'peak':>7}{'ratio':>7}"]
    for name, row in rows.items():
        share, ratio = row.get("share_of_product_peak"), row.get("ratio_to_fastest_peer")
        lines.append(
            f"{name:16}{row[RATE]:8.0f}{row['peak_memory_mb'] / 1024:7.2f}"
            f"{'' if share is None else f'{share:6.0%}':>7}{'' if ratio is None else f'{ratio:6.2f}':>7}"
        )
    return "\n".join(lines)


def product_peaks() -> dict[str, float]:
    """GFLOP/s of matrix products by shape and precision, for one step of a batch and for all steps at once.

    The faster of torch's and Dragoman's product counts.
    """
    peaks = {}
    for rows, n_in, n_out in (
        (64, 512, 1536),
        (64, 512, 2048),
        (64, 1024, 512),
        (1024, 512, 2048),
        (1024, 512, 10_000),
    ):
        for name, precision in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            x, w = torch.randn(rows, n_in).to(precision), torch.randn(n_out, n_in).to(precision)
            fastest = max(_products_per_second(multiply, x, w) for multiply in (matmul, functional.linear))
            peaks[f"{rows} x {n_in} to {n_out}, {name}"] = 2 * rows * n_in * n_out * fastest / 1e9
    return peaks


def _products_per_second(multiply: Callable[[Tensor, Tensor], Tensor], x: Tensor, w: Tensor) -> float:
    for _ in range(5):
        multiply(x, w)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < PEAK_SECONDS:
        multiply(x, w)
        count += 1
    return count / (time.perf_counter() - began)


def flops_per_token(model: str, text: Path) -> float:
    """Floating-point operations of matrix products, forward and backward, per real target token of ten batches.

    The batches are cut from all pairs sorted by length, as in training.
    """
    config = build_config(dragoman_values(model), "bench").model
    vocabulary = {piece: number for number, piece in enumerate(read_lines(text / "vocabulary.txt"), 4)}
    sides = [
        [[vocabulary[piece] for piece in line.split()] for line in read_lines(text / f"train.{side}")]
        for side in ("en", "de")
    ]
    translator = build(config, len(vocabulary) + 4, len(vocabulary) + 4)
    counter, tokens = product_counter(), 0
    with counter:
        batches = list(batch_ids(*sides, Budget("sentences", 64), source_eos=config.source_eos))
        for batch in batches[:: len(batches) // 10]:
            loss = translator.loss(batch)
            loss.objective.backward()
            tokens += loss.tokens
    return counter.get_total_flops() / tokens


if __name__ == "__main__":
    main()
