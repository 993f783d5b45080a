"""What do initial values and the forget bias do to four layers of LSTMs? Perplexity, and the use of the source."""

from __future__ import annotations

from small import phrases, table, train

import dragoman
from dragoman.workflows.checking import check_run

COMMON = (
    "text.source.segmentation=bpe",
    "text.target.segmentation=bpe",
    "text.source.vocabulary=600",
    "text.target.vocabulary=600",
    "model.biases=true",
    "training.batch.unit=sentences",
    "training.batch.size=32",
    "training.loss_normalisation=tokens",
    "training.optimiser.name=adam",
    "training.optimiser.learning_rate=0.003",
    "training.optimiser.max_gradient_norm=1",
    "training.schedule.name=cosine",
    "training.schedule.warmup=50",
    "training.validation.every=100000",
    "training.validation.at_least=0",
    "training.validation.metric=perplexity",
)
LAWS: dict[str, tuple[str, ...]] = {
    "U(-0.1, 0.1) as in the paper": ("model.init_scale=0.1",),
    "U(-0.4, 0.4) for 64 units": ("model.init_scale=0.4",),
    "lecun": ("model.initialisation=lecun", "model.init_scale=0.05"),
}


def main(updates: int = 400, laws: tuple[str, ...] = tuple(LAWS), biases: tuple[int, ...] = (0, 1)) -> None:
    """Train each law with each forget bias and print the table."""
    files, rows = phrases(), []
    pairs = list(dragoman.read_pairs([files["test"]]))[:200]
    for law in laws:
        for bias in biases:
            given = (*COMMON, *LAWS[law], f"model.forget_bias={bias}")
            name = f"deep/{law.replace(' ', '-')}-{bias}"
            folder = train(name, files, updates, given, preset="luong2015-base", scale=0.064)
            run = dragoman.open_run(folder, threads=1)
            found = {check.name: check.figures for check in check_run(run, pairs)}
            rows.append(
                [
                    f"{law}, forget bias {bias}",
                    f"{found['source']['perplexity']:.2f}",
                    f"{found['source']['ratio']:.2f}",
                    f"{found['order']['ratio']:.2f}",
                ]
            )
    table(("initial values", "perplexity", "other sources", "other order"), rows)


if __name__ == "__main__":
    main()
