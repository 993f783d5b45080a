"""Do deep models learn when they are small? Dev perplexity with right and wrong sources, beside torch's own LSTMs.

    python bench/depth.py ../shared/data/multi30k-en-de-cs --out FOLDER
    python bench/depth.py ../shared/data/multi30k-en-de-cs --out FOLDER --only luong2015-base --seeds 1

A row is a model (a preset, or `library`: a plain encoder-decoder of torch.nn.LSTM of the same sizes), a scale, a law of
initial values and a recipe; all rows see the same batches for the same number of updates, one thread each. Measured
are the perplexity of the dev set, and that of the same target sentences beside sources that are not theirs: a model
whose figures agree has learnt the target language alone. Further the training perplexity along the way, and how far
the hidden states of each encoder layer vary at initialisation. Results go to bench/results/depth.json after every run;
runs that are there are not repeated. A table goes to standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from translation import machine

import dragoman
from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.config.schema import Config
from dragoman.data.batches import Batch, sorted_batches
from dragoman.data.preparation import build_store, store_pairs
from dragoman.data.store import Store
from dragoman.model.assembly import build
from dragoman.model.devices import seed_weights
from dragoman.model.encoder import Encoder
from dragoman.model.output_layer import OutputLayer
from dragoman.model.trainable import Loss, Trainable
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.text.corpus import Cleaner, Pair, read_pairs
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, PAD
from dragoman.training.log import read_log
from dragoman.training.loop import train
from dragoman.training.validation import Validators
from dragoman.workflows.training_steps import DEV_BUDGET, dev_perplexity, training_batches

RESULTS = Path(__file__).parent / "results" / "depth.json"
UPDATES = 725
SHIFT = 100
"""The wrong source of a dev sentence is that of the sentence so many lines later."""
TEXT = (
    "text.joint=true",
    "text.source.language=en",
    "text.source.segmentation=bpe",
    "text.source.vocabulary=4000",
    "text.target.language=de",
    "text.target.segmentation=bpe",
    "text.target.vocabulary=4000",
    "cleaning.max_length=50",
)
SAME_FOR_ALL = (
    *TEXT,
    f"training.updates={UPDATES}",
    "training.precision=fp32",
    "training.batch.unit=sentences",
    "training.batch.size=32",
    "training.batch.pool=20",
    "training.log_every=25",
    "training.validation.every=1000000",  # once, after the last update
    "training.validation.metric=perplexity",
)
ADAM = (
    "training.loss_normalisation=tokens",
    "training.optimiser.name=adam",
    "training.optimiser.learning_rate=0.002",
    "training.optimiser.max_gradient_norm=1.0",
    "training.schedule.name=cosine",
    "training.schedule.warmup=50",
)
RECIPES: dict[str, tuple[str, ...]] = {"adam": ADAM, "own": ()}
LECUN = ("model.initialisation=lecun", "model.init_scale=0.05")
WIDE_EMBEDDINGS = ("model.embedding.init_scale=1",)  # as torch's own, where presets under U(-a, a) have a / sqrt(3)
NARROW_EMBEDDINGS = ("model.embedding.init_scale=0.1141",)  # of the presets at 0.256, for torch's stack
FORGET_BIAS = ("model.biases=true", "model.forget_bias=1")
Direction = Literal["forward", "reversed"]


@dataclass(frozen=True)
class Row:
    """One training."""

    model: str
    """A preset, or library-forward, library-reversed, library-reversed-dot."""
    scale: float
    recipe: str
    seed: int
    settings: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "_")

    @property
    def name(self) -> str:
        return " ".join((self.model, f"{self.scale:g}", self.recipe, *self.settings, f"seed {self.seed}"))


class LibraryStack(Trainable):
    """What one writes first: two stacks of torch.nn.LSTM with torch's initial values; optionally attention (dot)."""

    def __init__(self, vocabulary: int, size: int, layers: int, direction: Direction, *, attention: bool) -> None:
        super().__init__()
        self.source = nn.Embedding(vocabulary, size, padding_idx=PAD)
        self.target = nn.Embedding(vocabulary, size, padding_idx=PAD)
        self.encoder = nn.LSTM(size, size, layers, batch_first=True)
        self.decoder = nn.LSTM(size, size, layers, batch_first=True)
        self.combine = nn.Linear(2 * size, size) if attention else None
        projection = nn.Linear(size, vocabulary)
        self.output = OutputLayer(size, vocabulary, bias=True)
        self.output.weight, self.output.bias = projection.weight, projection.bias
        self.direction = direction

    def loss(
        self,
        batch: Batch,
        label_smoothing: float = 0.0,
        *,
        guided_alignment: float = 0.0,
        previous: Tensor | None = None,
    ) -> Loss:
        annotations, state = self.encode(self.source, batch)
        target, counts = torch.from_numpy(batch.target), torch.from_numpy(batch.target_lengths)
        read = torch.cat((torch.full((len(batch), 1), BOS), target[:, :-1]), dim=1)  # [B, T]
        states, _ = self.decoder(self.target(read), state)  # [B, T, H]
        if self.combine is not None:
            energies = states @ annotations.mT  # [B, T, S]
            hidden = torch.arange(annotations.shape[1]) >= torch.from_numpy(batch.source_lengths)[:, None]
            weights = energies.masked_fill(hidden[:, None], -math.inf).softmax(-1)
            states = torch.tanh(self.combine(torch.cat((weights @ annotations, states), dim=-1)))
        real = torch.arange(target.shape[1]) < counts[:, None]  # [B, T]
        losses = self.output.loss(states[real], target[real], label_smoothing)
        return Loss(losses.smoothed, losses.nll, int(counts.sum()), len(batch))

    def encode(self, embedding: nn.Embedding, batch: Batch) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Annotations in reading order [B, S, H], and the last states."""
        words, lengths = batch.source, batch.source_lengths
        if self.direction == "reversed":
            words = words.copy()
            for row, length in enumerate(lengths):
                words[row, :length] = words[row, :length][::-1]
        packed = pack_padded_sequence(
            embedding(torch.from_numpy(words)), torch.from_numpy(lengths), batch_first=True, enforce_sorted=False
        )
        outputs, state = self.encoder(packed)
        return pad_packed_sequence(outputs, batch_first=True)[0], state


@dataclass(frozen=True)
class Corpus:
    """The stored text of all runs."""

    train: Store
    right: Store
    """The dev set."""
    wrong: Store
    """The dev set beside the sources of other lines."""
    vocabulary: int


def prepare(data: Path, folder: Path) -> Corpus:
    """Store the corpus in `folder`, unless it is there."""
    if not (folder / "done").exists():
        config = override(Config(), TEXT)
        files, dev_files = ([[data / f"{part}.{name}.gz" for name in ("en", "de")]] for part in ("train", "val"))

        def lines() -> Iterator[str]:
            for pair in read_pairs(files):
                yield from (pair.source, pair.target)

        segmentation = train_segmentation(config.text.source, lines())
        cleaner = Cleaner(config.cleaning, None)
        made = build_store(folder / "train", read_pairs(files), (segmentation,) * 2, config.text, cleaner, workers=1)
        dev = list(read_pairs(dev_files))
        moved = dev[SHIFT:] + dev[:SHIFT]
        wrong = [Pair(other.source, pair.target, pair.origin) for pair, other in zip(dev, moved, strict=True)]
        store_pairs(folder / "right", dev, made.source, made.target)
        store_pairs(folder / "wrong", wrong, made.source, made.target)
        made.source.save(folder, "source")
        (folder / "done").touch()
    words = TextSide.load(folder, "source").vocabulary
    stores = (Store.open(folder / name, (words, words)) for name in ("train", "right", "wrong"))
    return Corpus(*stores, len(words))


def unigram_perplexity(corpus: Corpus) -> float:
    """The dev perplexity of the words' shares in the training text: what a model knows that reads nothing."""
    counts = np.bincount(corpus.train.target.ids, minlength=corpus.vocabulary) + 1.0
    shares = np.append(counts, len(corpus.train))  # and EOS
    logs = np.log(shares / shares.sum())
    dev = corpus.right
    total = logs[dev.target.ids].sum() + len(dev) * logs[-1]
    return math.exp(-total / (len(dev.target.ids) + len(dev)))


def configuration(row: Row) -> Config:
    """The configuration of a row; for a library stack, its training and sizes."""
    library = row.model.startswith("library")
    base = scale(load_preset("luong2015-base" if library else row.model), row.scale)
    return override(base, [*SAME_FOR_ALL, *RECIPES[row.recipe], *row.settings, f"training.seed={row.seed}"])


def build_row(row: Row, config: Config, corpus: Corpus) -> Trainable:
    """The model of a row with its initial values."""
    seed_weights(row.seed)
    if not row.model.startswith("library"):
        return build(config.model, corpus.vocabulary, corpus.vocabulary)
    _, direction, *attention = row.model.split("-")
    size, layers = config.model.encoder.size, config.model.encoder.layers
    assert direction in ("forward", "reversed")
    stack = LibraryStack(corpus.vocabulary, size, layers, direction, attention=bool(attention))  # type: ignore[arg-type]
    if (embedding_scale := config.model.embedding.init_scale) is not None:
        with torch.no_grad():
            for embedding in (stack.source, stack.target):
                embedding.weight.normal_(0, embedding_scale)[PAD] = 0
    return stack


@torch.no_grad()
def deviations(model: Trainable, config: Config, corpus: Corpus) -> list[float]:
    """The standard deviation of h in each encoder layer, from the first, over the real positions of some dev lines."""
    batch = next(sorted_batches(corpus.right, DEV_BUDGET, source_eos=config.model.source_eos))
    lengths = torch.from_numpy(batch.source_lengths)
    real = torch.arange(batch.source.shape[1]) < lengths[:, None]  # [B, S]
    found = []
    if isinstance(model, LibraryStack):
        whole = model.encoder
        for count in range(1, whole.num_layers + 1):
            part = nn.LSTM(whole.input_size, whole.hidden_size, count, batch_first=True)
            part.load_state_dict({name: whole.get_parameter(name) for name, _ in part.named_parameters()})
            model.encoder = part
            found.append(float(model.encode(model.source, batch)[0][real].std()))
        model.encoder = whole
        return found
    assert isinstance(model, TranslationModel)
    full = model.encoder
    for count in range(1, len(full.layers) + 1):
        part = Encoder(
            list(full.layers[:count]),
            full.direction,
            source_eos=model.source_eos,
            residual=full.residual,
            dropout=full.dropout,
            recurrent_dropout=full.recurrent_dropout,
        ).eval()
        found.append(float(part(model.source(torch.from_numpy(batch.source)), lengths).vectors[real].std()))
    return found


def run_row(row: Row, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Train and measure."""
    config = configuration(row)
    model = build_row(row, config, corpus)
    found = {"deviations": [round(value, 5) for value in deviations(model, config, corpus)]}
    eos = config.model.source_eos
    run = RunFolder(folder / row.folder)
    run.path.mkdir(parents=True, exist_ok=True)
    validators: Validators[Trainable] = Validators(dev_perplexity(corpus.right, source_eos=eos))
    batches = training_batches(config.training, corpus.train, None, source_eos=eos)
    result = train(model, batches, config.training, run, validators, console=Console(quiet=True))
    model.eval()
    with torch.no_grad():
        wrong = dev_perplexity(corpus.wrong, source_eos=eos)(model)
    log = [record for record in read_log(run.log) if record["kind"] == "train"]
    return {
        "model": row.model,
        "scale": row.scale,
        "recipe": row.recipe,
        "settings": list(row.settings),
        "seed": row.seed,
        **found,
        "perplexity": round(result.best, 2),
        "perplexity with wrong sources": round(wrong, 2),
        "training perplexity": {str(r["update"]): round(r["perplexity"], 1) for r in log if r["update"] % 100 == 0},
        "gradient norm": {str(r["update"]): round(r["gradient_norm"], 3) for r in log if r["update"] % 100 == 0},
        "seconds": round(result.seconds),
    }


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """All rows, the most important first."""
    for seed in range(1, options.seeds + 1):
        for recipe in ("adam", "own"):
            for name in ("luong2015-base", "luong2015-reverse", "library-forward", "library-reversed"):
                yield Row(name, 0.128, recipe, seed)
            for name in ("luong2015-global-dot", "library-reversed-dot", "sutskever2014"):
                yield Row(name, 0.128, recipe, seed)
        yield Row("luong2015-base", 0.128, "adam", seed, LECUN)
        yield Row("luong2015-base", 0.128, "adam", seed, FORGET_BIAS)
    for seed in range(1, options.seeds + 1):
        for recipe in ("adam", "own"):
            for name in ("luong2015-base", "library-forward", "luong2015-global-dot", "library-reversed-dot"):
                yield Row(name, 0.256, recipe, seed)
        for size in (0.256, 0.128):
            for name in ("luong2015-base", "luong2015-global-dot"):
                yield Row(name, size, "own", seed, WIDE_EMBEDDINGS)
        yield Row("library-forward", 0.256, "own", seed, NARROW_EMBEDDINGS)
    for name in ("bahdanau2015", "rnnencdec"):
        for recipe in ("adam", "own"):
            yield Row(name, 0.128, recipe, 1)


def main() -> None:
    """Train what is missing, one run after the other, and print the table."""
    options = parse()
    corpus = prepare(options.data, options.out)
    for row in rows(options):
        if (options.only and row.model not in options.only) or row.name in load(corpus)["runs"]:
            continue
        with contextlib.suppress(BlockingIOError), claim(options.out, row):
            found = run_row(row, corpus, options.out)
            with exclusive(options.out):
                result = load(corpus)  # another process may have added rows meanwhile
                result["runs"][row.name] = found
                RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            print(f"{row.name}: {found['perplexity']} ({found['perplexity with wrong sources']})", flush=True)
    print(table(load(corpus)["runs"]))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--out", type=Path, required=True, help="folder for the stored text and the runs")
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="only these presets and library stacks")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


@contextlib.contextmanager
def claim(folder: Path, row: Row) -> Iterator[None]:
    """Keep a second process beside this one from training the same row; BlockingIOError if one does."""
    with (folder / f"{row.folder}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a process that is killed holds no lock
        yield


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the lock on the results."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def load(corpus: Corpus) -> dict[str, Any]:
    """The results so far."""
    if RESULTS.exists():
        result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
        return result
    return {
        "command": "python bench/depth.py ../shared/data/multi30k-en-de-cs --out FOLDER",
        "date": time.strftime("%Y-%m-%d"),
        "dragoman": dragoman.__version__,
        "machine": machine(),
        "updates": UPDATES,
        "dev perplexity of the words' shares in the training text": round(unigram_perplexity(corpus), 1),
        "same for all": list(SAME_FOR_ALL),
        "recipes": {name: list(settings) for name, settings in RECIPES.items()},
        "runs": {},
    }


def table(runs: dict[str, dict[str, Any]]) -> str:
    """A Markdown table: means over the seeds, and in brackets the lowest and the highest."""
    lines = [
        "| model | scale | recipe | seeds | h, layers 1 and last | dev perplexity | with wrong sources | ratio |",
        "| --- | --: | --- | --: | --- | --: | --: | --: |",
    ]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in runs.values():
        key = (run["model"], run["scale"], " ".join((run["recipe"], *run["settings"])))
        groups.setdefault(key, []).append(run)
    for (model, factor, recipe), several in sorted(groups.items(), key=lambda item: (item[0][2], *item[0][:2])):
        right, wrong = ([run[key] for run in several] for key in ("perplexity", "perplexity with wrong sources"))
        ratios = [one / other for one, other in zip(wrong, right, strict=True)]
        h = several[0]["deviations"]
        cells = (
            *(f"`{model}`", f"{factor:g}", recipe, str(len(several)), f"{h[0]:.3f}, {h[-1]:.4f}"),
            *(spread(values, digits) for values, digits in ((right, 0), (wrong, 0), (ratios, 2))),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spread(values: list[float], digits: int) -> str:
    """The mean, and the range where there are several."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
