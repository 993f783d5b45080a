"""The variations of the recipe that `bench/recipe.py` compares: their names and settings, in the order they run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Settings = tuple[str, ...]
"""Settings over another configuration, KEY=VALUE."""


def vocabulary(size: int) -> Settings:
    """A joint vocabulary of this size."""
    return f"text.source.vocabulary={size}", f"text.target.vocabulary={size}"


def sizes(encoder: int, decoder: int) -> Settings:
    """Units of each direction of the encoder, and of the decoder."""
    return f"model.encoder.size={encoder}", f"model.decoder.size={decoder}"


def rate(peak: float) -> Settings:
    """The highest learning rate."""
    return (f"training.optimiser.learning_rate={peak}",)


def batch(tokens: int) -> Settings:
    """Target tokens of a batch, with padding."""
    return (f"training.batch.size={tokens}",)


def pool(batches: int) -> Settings:
    """Batches whose pairs are sorted by length together."""
    return (f"training.batch.pool={batches}",)


def embedding(size: int) -> Settings:
    """Units of both embeddings, and of the readout, whose output matrix is theirs."""
    return f"model.embedding.source={size}", f"model.embedding.target={size}", f"model.readout.size={size}"


def dropout(**places: float) -> Settings:
    """Dropout probabilities by place."""
    return tuple(f"model.dropout.{place}={probability}" for place, probability in places.items())


def weight_decay(share: float) -> Settings:
    """Decoupled weight decay of matrices, which is multiplied by the learning rate; 0: Adam."""
    name = "adamw" if share else "adam"
    epochs = "training.optimiser.weight_decay_epochs=null"
    return f"training.optimiser.name={name}", f"training.optimiser.weight_decay={share}", epochs


LOW_DROPOUT = dropout(embedding=0.1, annotations=0.1, readout=0.1)
HIGH_DROPOUT = dropout(embedding=0.3, annotations=0.3, readout=0.4)
OLD_DROPOUT = dropout(embedding=0.2, annotations=0.2, readout=0.3)

NO_WARMUP = "training.dropout_warmup=0"
ONE_HEAD = "model.attention.heads=1"

SEARCH: Settings = ("search.normalisation=mean", "search.word_penalty=0")
"""The search of the preset before it rewarded length: that of the rows that are kept, so that new ones compare."""

EARLIER_PRESET: Settings = (
    *vocabulary(3000),
    *batch(768),
    *pool(100),
    *rate(0.005),
    *weight_decay(0),
    "training.validation.tolerance=0",
)
"""What the preset had when the kept rows of other programs were measured, whose budget is a number of updates."""

STANDARD = "standard"
"""The preset as it was before these experiments; its updates are the currency of budgets."""
OLD_STANDARD: Settings = (
    *vocabulary(5000),
    *rate(0.0015),
    *batch(1024),
    *pool(100),
    *sizes(320, 512),
    *OLD_DROPOUT,
    *weight_decay(0),
    NO_WARMUP,
    ONE_HEAD,
)

BASE: Settings = (
    *vocabulary(3000),
    *rate(0.0025),
    *batch(768),
    *pool(100),
    *sizes(256, 384),
    *OLD_DROPOUT,
    *weight_decay(0),
    NO_WARMUP,
    ONE_HEAD,
)
"""What all variations change."""

SECOND: Settings = (*rate(0.005), *sizes(192, 256), "training.dropout_warmup=8")
"""What the second round changes: the best of the first, with dropout that grows."""

THIRD: Settings = (*SECOND, "model.attention.heads=4")
"""From which longer budgets go: the best of the second round, with four heads."""

FOURTH: Settings = (*THIRD, *batch(1536), *pool(400), *rate(0.007))
"""The third with batches that are larger, which two threads make faster (bench/batch_size.py)."""

FIFTH: Settings = (
    *FOURTH,
    *vocabulary(5000),
    "training.optimiser.name=adamw",
    "training.optimiser.weight_decay_epochs=3.5",
)
"""The preset as it is."""

VARIATIONS: Mapping[str, Settings] = MappingProxyType(
    {
        "base": (),
        # the parts of the base, each back to its value in the preset
        "vocabulary-5000": vocabulary(5000),
        "rate-0.0015": rate(0.0015),
        "batch-1024": batch(1024),
        "sizes-320-512": sizes(320, 512),
        # and further away from it
        "vocabulary-2000": vocabulary(2000),
        "vocabulary-8000": vocabulary(8000),
        "rate-0.0035": rate(0.0035),
        "rate-0.005": rate(0.005),
        "batch-512": batch(512),
        "batch-384": batch(384),
        "sizes-192-256": sizes(192, 256),
        "sizes-256-512": sizes(256, 512),
        "embedding-192": embedding(192),
        "embedding-384": embedding(384),
        # the schedule
        "warmup-100": ("training.schedule.warmup=100",),
        "warmup-400": ("training.schedule.warmup=400",),
        "inverse-sqrt": ("training.schedule.name=inverse-sqrt",),
        "average-0.99": ("training.average_decay=0.99",),
        "average-0.998": ("training.average_decay=0.998",),
        # regularisation
        "no-smoothing": ("training.label_smoothing=0.0",),
        "dropout-low": LOW_DROPOUT,
        "dropout-none": dropout(embedding=0.0, annotations=0.0, readout=0.0),
        "dropout-high": HIGH_DROPOUT,
        "word-dropout-0.1": dropout(words=0.1),
        "locked-masks": ("model.dropout.variational=true",),
        # the words that our aligner links, as a second goal of the attention
        "guided-0.2": ("training.guided_alignment=0.2",),
        "guided-0.5": ("training.guided_alignment=0.5",),
        "guided-1": ("training.guided_alignment=1.0",),
        # parts that were better alone, together
        "fast": (*rate(0.0035), *LOW_DROPOUT),
        "fast-192-256": (*rate(0.0035), *LOW_DROPOUT, *sizes(192, 256)),
        "fast-192-256-dropout": (*rate(0.0035), *sizes(192, 256)),
        "fast-128-192": (*rate(0.0035), *LOW_DROPOUT, *sizes(128, 192)),
        "faster-192-256": (*rate(0.005), *LOW_DROPOUT, *sizes(192, 256)),
        "faster": (*rate(0.005), *LOW_DROPOUT),
        "fast-dropout-none": (*rate(0.0035), *dropout(embedding=0.0, annotations=0.0, readout=0.0)),
        # the model
        "input-feeding": ("model.decoder.input_feeding=true",),
        "look-then-update": ("model.decoder.order=look-then-update", "model.attention.score=additive"),
        "additive": ("model.attention.score=additive", "model.attention.size=256"),
        "encoder-2-layers": ("model.encoder.layers=2",),
        "decoder-2-layers": ("model.decoder.layers=2",),
        "reset-after": ("model.encoder.reset=after", "model.decoder.reset=after"),
        "encoder-3-layers-residual": ("model.encoder.layers=3", "model.encoder.first_residual_layer=2"),
        "beta-0.999": ("training.optimiser.betas=[0.9, 0.999]",),
        "attentional-readout": ("model.readout.kind=attentional",),
        # the second round, around the best of the first
        "second": SECOND,
        "second-rate-0.007": (*SECOND, *rate(0.007)),
        "second-dropout-high": (*SECOND, *HIGH_DROPOUT, "training.dropout_warmup=16"),
        "second-dropout-low": (*SECOND, *LOW_DROPOUT),
        "second-dropout-later": (*SECOND, "training.dropout_warmup=16"),
        "second-no-smoothing": (*SECOND, "training.label_smoothing=0.0"),
        "second-embedding-192": (*SECOND, *embedding(192)),
        "second-vocabulary-2000": (*SECOND, *vocabulary(2000)),
        "second-vocabulary-4000": (*SECOND, *vocabulary(4000)),
        "second-batch-512": (*SECOND, *batch(512)),
        "second-batch-1024": (*SECOND, *batch(1024)),
        "second-256-384": (*SECOND, *sizes(256, 384)),
        "second-128-192": (*SECOND, *sizes(128, 192)),
        "second-average-0.998": (*SECOND, "training.average_decay=0.998"),
        "second-warmup-400": (*SECOND, "training.schedule.warmup=400"),
        "second-deep": (*SECOND, "model.encoder.layers=2"),
        "second-guided": (*SECOND, "training.guided_alignment=0.2"),
        # heads of the attention
        "second-heads-2": (*SECOND, "model.attention.heads=2"),
        "second-heads-4": THIRD,
        "second-heads-8": (*SECOND, "model.attention.heads=8"),
        # longer budgets: more capacity, and what keeps it from overfitting
        "third-256-384": (*THIRD, *sizes(256, 384)),
        "third-dropout-high": (*THIRD, *HIGH_DROPOUT),
        "third-256-384-dropout-high": (*THIRD, *sizes(256, 384), *HIGH_DROPOUT),
        "third-256-384-vocabulary-5000": (*THIRD, *sizes(256, 384), *vocabulary(5000)),
        "third-word-dropout-0.1": (*THIRD, *dropout(words=0.1)),
        "third-deep": (*THIRD, "model.encoder.layers=2"),
        "third-vocabulary-5000": (*THIRD, *vocabulary(5000)),
        "third-embedding-384": (*THIRD, *embedding(384)),
        "third-locked-masks": (*THIRD, "model.dropout.variational=true"),
        "third-rate-0.0035": (*THIRD, *rate(0.0035)),
        "third-batch-1536": (*THIRD, *batch(1536)),
        # and with larger batches
        "fourth": FOURTH,
        "fourth-vocabulary-5000": (*FOURTH, *vocabulary(5000)),
        "fourth-vocabulary-8000": (*FOURTH, *vocabulary(8000)),
        "fourth-256-384": (*FOURTH, *sizes(256, 384)),
        "fourth-256-384-vocabulary-5000": (*FOURTH, *sizes(256, 384), *vocabulary(5000)),
        "fourth-encoder-2-layers": (*FOURTH, "model.encoder.layers=2"),
        "fourth-weight-decay-0.03": (*FOURTH, *weight_decay(0.03)),
        "fourth-weight-decay-0.1": (*FOURTH, *weight_decay(0.1)),
        "fourth-weight-decay-0.3": (*FOURTH, *weight_decay(0.3)),
        "fourth-vocabulary-5000-weight-decay-0.1": (*FOURTH, *vocabulary(5000), *weight_decay(0.1)),
        "fourth-256-384-vocabulary-5000-weight-decay-0.1": (
            *FOURTH,
            *sizes(256, 384),
            *vocabulary(5000),
            *weight_decay(0.1),
        ),
        # what was better, together, and each factor once more
        "fifth": FIFTH,
        "fifth-vocabulary-3000": (*FIFTH, *vocabulary(3000)),
        "fifth-vocabulary-8000": (*FIFTH, *vocabulary(8000)),
        "fifth-embedding-192": (*FIFTH, *embedding(192)),
        "fifth-embedding-384": (*FIFTH, *embedding(384)),
        "fifth-128-192": (*FIFTH, *sizes(128, 192)),
        "fifth-256-384": (*FIFTH, *sizes(256, 384)),
        "fifth-encoder-2-layers": (*FIFTH, "model.encoder.layers=2"),
        "fifth-decoder-2-layers": (*FIFTH, "model.decoder.layers=2"),
        "fifth-residual": (*FIFTH, "model.encoder.layers=3", "model.encoder.first_residual_layer=2"),
        "fifth-input-feeding": (*FIFTH, "model.decoder.input_feeding=true"),
        "fifth-look-then-update": (
            *FIFTH,
            ONE_HEAD,
            "model.decoder.order=look-then-update",
            "model.attention.score=additive",
        ),
        "fifth-two-step": (*FIFTH, "model.decoder.order=two-step"),
        "fifth-heads-2": (*FIFTH, "model.attention.heads=2"),
        "fifth-heads-8": (*FIFTH, "model.attention.heads=8"),
        "fifth-attentional-readout": (*FIFTH, "model.readout.kind=attentional"),
        "fifth-lstm": (*FIFTH, "model.encoder.cell=lstm", "model.decoder.cell=lstm"),
        "fifth-batch-768": (*FIFTH, *batch(768), *rate(0.005)),
        "fifth-rate-0.005": (*FIFTH, *rate(0.005)),
        "fifth-rate-0.01": (*FIFTH, *rate(0.01)),
        "fifth-warmup-100": (*FIFTH, "training.schedule.warmup=100"),
        "fifth-warmup-400": (*FIFTH, "training.schedule.warmup=400"),
        "fifth-inverse-sqrt": (*FIFTH, "training.schedule.name=inverse-sqrt"),
        "fifth-beta-0.999": (*FIFTH, "training.optimiser.betas=[0.9, 0.999]"),
        "fifth-average-0.998": (*FIFTH, "training.average_decay=0.998"),
        "fifth-average-0.9995": (*FIFTH, "training.average_decay=0.9995"),
        "fifth-average-best-5": (*FIFTH, "training.average_decay=0", "training.average_best=5"),
        "fifth-decay-2-epochs": (*FIFTH, "training.optimiser.weight_decay_epochs=2"),
        "fifth-decay-5-epochs": (*FIFTH, "training.optimiser.weight_decay_epochs=5"),
        "fifth-no-smoothing": (*FIFTH, "training.label_smoothing=0.0"),
        "fifth-dropout-none": (*FIFTH, *dropout(embedding=0.0, annotations=0.0, readout=0.0)),
        "fifth-dropout-low": (*FIFTH, *LOW_DROPOUT),
        "fifth-dropout-high": (*FIFTH, *HIGH_DROPOUT),
        "fifth-dropout-at-once": (*FIFTH, NO_WARMUP),
        "fifth-word-dropout-0.1": (*FIFTH, *dropout(words=0.1)),
        "fifth-locked-masks": (*FIFTH, "model.dropout.variational=true"),
        "fifth-guided-0.2": (*FIFTH, "training.guided_alignment=0.2"),
        # larger models for larger text, for bench/recipe_elsewhere.py
        "fourth-256-384-vocabulary-8000": (*FOURTH, *sizes(256, 384), *vocabulary(8000)),
        "fourth-384-640-vocabulary-8000": (*FOURTH, *sizes(384, 640), *vocabulary(8000)),
    }
)
"""Settings over `BASE`, by name."""

COST_NOTHING = (
    "training.optimiser.",
    "training.schedule.",
    "training.label_smoothing",
    "training.guided_alignment",
    "training.dropout_warmup",
    "training.average_decay",
    "model.dropout.",
)
"""Beginnings of the keys that change the time of an update by 2 % at most, which is less than measuring it errs."""


def same_cost(name: str) -> str:
    """The first variation of which an update takes as long: measured once, so that noise divides no rows."""
    if name not in VARIATIONS:
        return name
    return next(other for other in VARIATIONS if _costly(other) == _costly(name))


def _costly(name: str) -> dict[str, str]:
    """The settings that the time of an update depends on."""
    settings = dict(setting.split("=", 1) for setting in (*BASE, *VARIATIONS[name]))
    return {key: value for key, value in settings.items() if not key.startswith(COST_NOTHING)}
