"""Which word do the weights of a step align, in models that translate a made-up language without an error?

    python bench/toy_alignment.py

The language has 12 words in random order, each with one translation, so that the right links are known and no word can
be guessed from those before it. For each composition of the papers: the share of test sentences that are right, and of
the links that are right if the weights of a step are taken for the word that it predicts, or for the one just read; and
which of these the training has chosen (`model.attention.aligned_word: measured`). Ten seconds of one core each.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import dragoman
from dragoman.progress import Console

LETTERS = "abcdefghijkl"
SETTINGS = (
    *(f"text.{side}.segmentation=whitespace" for side in ("source", "target")),
    *(f"model.{part}.size=48" for part in ("encoder", "decoder", "attention", "readout")),
    *(f"model.embedding.{side}=24" for side in ("source", "target")),
    "model.attention.window=2",
    "model.attention.aligned_word=measured",
    "model.bridge.kind=mean",
    "training.batch.size=300",
    "training.average_decay=0",
    "training.optimiser.learning_rate=0.01",
    "training.schedule.warmup=30",
    "training.validation.every=100000",
    "training.validation.metric=perplexity",
)
UPDATE_FIRST = ("decoder.order=update-then-look", "readout.kind=attentional")
FED = ("decoder.input_feeding=true",)
SCORES = [("dot", "global"), ("general", "global"), ("concat", "global"), ("location", "global")]
LOCAL = [("general", "local-m"), ("general", "local-p"), ("dot", "local-p")]
COMPOSITIONS: dict[str, Sequence[str]] = {
    **{
        f"Luong, {direction}, {score}, {scope}{', fed' if fed else ''}": (
            *(*UPDATE_FIRST, *fed, f"encoder.direction={direction}"),
            *(f"attention.score={score}", f"attention.scope={scope}"),
        )
        for direction, fed in (("reversed", ()), ("reversed", FED), ("forward", FED))
        for score, scope in (*SCORES, *LOCAL)
    },
    **{
        f"Bahdanau, both, additive, {scope}": (f"attention.scope={scope}",)
        for scope in ("global", "local-m", "local-p")
    },
    "Bahdanau, reversed, dot, global": ("encoder.direction=reversed", "attention.score=dot"),
}
"""Name -> settings of the model."""


def main() -> None:
    """Train and measure every composition."""
    with tempfile.TemporaryDirectory() as folder:
        sentences = write_language(Path(folder))
        width = max(map(len, COMPOSITIONS))
        print(f"{'':{width}}  right  predicted  read  chosen")
        for name in COMPOSITIONS:
            right, shares, chosen = measured(Path(folder), name, sentences, updates=900)
            print(
                f"{name:{width}}  {right:5.2f}  {shares['predicted']:9.2f}  {shares['read']:4.2f}  {chosen}", flush=True
            )


def write_language(folder: Path) -> list[str]:
    """Write training and dev text; return the sources of the test sentences, whose targets are in upper case."""
    draw = random.Random(1)
    sets = {}
    for name, count in (("train", 1500), ("dev", 50), ("test", 60)):
        sets[name] = [" ".join(draw.choices(LETTERS, k=draw.randint(2, 7))) for _ in range(count)]
        for side, lines in (("en", sets[name]), ("de", map(str.upper, sets[name]))):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return sets["test"]


def measured(folder: Path, name: str, sentences: Sequence[str], *, updates: int) -> tuple[float, dict[str, float], str]:
    """The share of right sentences, the share of right links by each reading, and the reading that was chosen."""
    settings = (*SETTINGS, f"training.updates={updates}", *(f"model.{one}" for one in COMPOSITIONS[name]))
    train, dev = ([folder / f"{which}.{side}" for side in ("en", "de")] for which in ("train", "dev"))
    config = dragoman.override(dragoman.load_preset("demo"), settings)
    dragoman.train(config, [train], [dev], folder / name, console=Console(quiet=True))
    run = dragoman.open_run(folder / name, threads=1)
    pairs = [(line, line.upper()) for line in sentences]
    lists = run.translator().translate_lines(sentences)
    right = [n_best[0].text == target for n_best, (_, target) in zip(lists, pairs, strict=True)]
    shares = {}
    for shift, reading in enumerate(("predicted", "read")):
        run.model().attention_shift = shift
        links = [link for scored in run.scorer().score(pairs) for link in scored.alignment or ()]
        shares[reading] = sum(i == j for i, j in links) / len(links)
    return sum(right) / len(right), shares, run.config.model.attention.aligned_word


if __name__ == "__main__":
    main()
