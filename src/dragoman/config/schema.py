"""The configuration of a run: one frozen tree.

Every default is written here and nowhere else; presets are YAML files over these defaults, and what is saved beside
the weights is the complete tree. Section and equation numbers name the paper a value is from. Which parts fit together
is said in `fitting`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = 1
"""Version of the configuration and of the run folder around it; a reader refuses a newer one."""


class Section(BaseModel):
    """A part of the configuration: immutable, unknown keys refused, numbers not taken from strings."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class SideConfig(Section):
    """How the lines of one language become segments."""

    language: str = Field("en", description="ISO 639-1 code; word segmentation needs it to tokenise and detokenise")
    segmentation: Literal["bpe", "unigram", "words", "characters", "blanks"] = Field(
        "bpe",
        description="bpe and unigram are SentencePiece models trained on the training text; blanks: text that is "
        "segmented already",
    )
    vocabulary: int = Field(8000, ge=8, description="largest number of entries, the four special symbols included")
    minimum_count: int = Field(1, ge=1, description="a segment seen less often in training is unknown")
    model: str | None = Field(None, description="a SentencePiece model file to use instead of training one")


class TextConfig(Section):
    """Both sides of the text."""

    source: SideConfig = Field(default_factory=SideConfig)
    target: SideConfig = Field(default_factory=SideConfig)
    joint: bool = Field(
        False, description="one segmentation model and one vocabulary for both sides (source's settings)"
    )


class CleaningConfig(Section):
    """Which training pairs are left out; each reason is counted, and `--dropped FILE` lists the pairs."""

    max_length: int = Field(100, ge=1, description="segments, end of sentence not counted, on either side")
    max_ratio: float | None = Field(None, gt=1, description="longer side over shorter side, in segments")
    duplicates: Literal["keep", "drop"] = Field("drop", description="exact repetitions of a pair")


class EmbeddingConfig(Section):
    """Word vectors."""

    source: int = Field(512, ge=1, description="size of a source embedding")
    target: int = Field(512, ge=1, description="size of a target embedding")
    tied: Literal["none", "output", "all"] = Field(
        "none", description="output: target embedding = output matrix; all: source embedding too (needs text.joint)"
    )


class CellConfig(Section):
    """The recurrent cell, the same for encoder and decoder; each has its own."""

    cell: Literal["gru", "lstm", "tanh", "gru-fused", "lstm-fused"] = Field(
        "gru",
        description="gru and lstm are written out; the fused ones run an encoder layer in the library's kernel "
        "(gru-fused is reset: after, update: keep, with a further bias inside the reset gate's bracket)",
    )
    reset: Literal["before", "after"] = Field(
        "before", description="GRU: reset gate before U (Cho 2014 eq. 8, Bahdanau 2015 A.1.1) or after"
    )
    update: Literal["keep", "write"] = Field(
        "write", description="GRU: z keeps the old state (Cho 2014) or writes the new one (Bahdanau 2015)"
    )
    peepholes: bool = Field(False, description="LSTM: gates see the memory through diagonal weights (Graves 2013)")
    layers: int = Field(1, ge=1)
    size: int = Field(512, ge=1, description="units of each direction in each layer")
    residual: int = Field(
        0, ge=0, description="from this layer on, counted from 1, a layer's input is added to its output; 0: nowhere"
    )


class EncoderConfig(CellConfig):
    """Source words to annotations."""

    direction: Literal["forward", "reversed", "both"] = "both"


class BridgeConfig(Section):
    """The first decoder state."""

    kind: Literal["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"] = Field(
        "tanh-backward",
        description="zero; copy every layer's last state (Sutskever 2014, Luong 2015); last: the top layer's last "
        "state in every layer, of two directions the forward one where it alone fits (JoeyNMT); tanh(V' c) with c the "
        "summary below (Cho 2014); tanh(W_s backward h_1) (Bahdanau 2015 A.2.2); tanh(W mean annotation) (dl4mt)",
    )
    summary: Literal["last", "tanh"] = Field(
        "last",
        description="the one vector c of a sentence, for tanh-last and for a fixed context: the last state h_N "
        "(RNNencdec of Bahdanau 2015), or tanh(V h_N) (Cho 2014, appendix)",
    )
    memory: Literal["zero", "hidden"] = Field(
        "zero",
        description="what an LSTM's memory starts from under a last, tanh or mean bridge: zero, or the hidden state",
    )


class DecoderConfig(CellConfig):
    """The recurrent part that writes the target."""

    context_in_reset: bool = Field(
        False, description="GRU, reset after: the context stands inside the reset gate's bracket (Cho 2014, appendix)"
    )
    context: Literal["none", "fixed", "attended"] = Field(
        "attended",
        description="what of the source each step sees: nothing but the first state (Sutskever 2014), one vector "
        "(Cho 2014), a context vector of its own (Bahdanau 2015)",
    )
    order: Literal["look-then-update", "update-then-look", "groundhog", "two-step"] = Field(
        "look-then-update",
        description="attend with the previous state, then update (Bahdanau 2015); update, then attend with the "
        "current state (Luong 2015); update with the word just emitted and the context it came from, then attend "
        "(GroundHog, the code of Cho 2014 and Bahdanau 2015); update with the word, attend, update with the context "
        "(dl4mt)",
    )
    readout_state: Literal["current", "prev"] = Field(
        "current",
        description="look-then-update: the readout sees s_i (Bahdanau 2015 eq. 4) or s_{i-1} (appendix A.2.2)",
    )
    input_feeding: bool = Field(False, description="the previous readout joins the input (Luong 2015 section 3.3)")
    first_word: Literal["zero", "symbol"] = Field(
        "symbol", description="what the first step reads: a zero vector (Cho 2014, Bahdanau 2015) or a learnt symbol"
    )


class AttentionConfig(Section):
    """Alignment weights over the annotations."""

    score: Literal[
        "additive", "normed-additive", "dot", "scaled-dot", "general", "concat", "concat-identity", "location"
    ] = Field(
        "additive",
        description="v^T tanh(W s + U h) (Bahdanau 2015); the same with v of trained length; h_t^T h_s, the same over "
        "the root of the size, h_t^T W h_s, v^T tanh(W [h_t; h_s]), v^T tanh(W h_t + h_s) (Luong 2015 section 3.1 and "
        "the authors' code); W h_t (Luong 2015 eq. 8)",
    )
    size: int = Field(512, ge=1, description="rows of W_a and U_a in the additive scores (n' in Bahdanau 2015 A.2.2)")
    scope: Literal["global", "local-m", "local-p"] = Field(
        "global", description="the whole source, or a window: around position t, or around a predicted one (Luong 2015)"
    )
    window: int = Field(10, ge=1, description="D of the local scopes: positions on either side of the centre")
    slots: int = Field(50, ge=1, description="location: S_max, the longest source it has weights for")
    masked: bool = Field(
        True, description="location: the softmax runs over the words of the sentence, not over all the slots"
    )
    coverage: bool = Field(
        False, description="additive scores see the sum of a position's weights so far (Tu et al. 2016)"
    )
    aligned_word: Literal["predicted", "read"] = Field(
        "predicted",
        description="which target word a step's weights align: the one it predicts (Bahdanau 2015), or the one it has "
        "just read (a footnote of Luong 2015, for content-based scores)",
    )


class ReadoutConfig(Section):
    """What feeds the softmax."""

    kind: Literal["linear", "maxout", "attentional", "affine"] = Field(
        "maxout",
        description="linear: the state itself; maxout: deep output over state, previous word and context (Bahdanau "
        "2015 A.2.2); attentional: tanh(W_c [c; h]) (Luong 2015 eq. 5); affine: the same without the tanh (OpenNMT-py)",
    )
    size: int = Field(256, ge=1, description="maxout units, or size of the attentional vector")
    rank: int | None = Field(
        None, ge=1, description="the output matrix is a product of two, this wide in between (Cho 2014: 100)"
    )


class DropoutConfig(Section):
    """Probability of zeroing a unit, by place; vertical connections (Zaremba et al. 2014) and a recurrent one."""

    embedding: float = Field(0.0, ge=0, lt=1, description="word vectors, both sides")
    layers: float = Field(0.0, ge=0, lt=1, description="what enters each recurrent layer above the first")
    feed: float = Field(0.0, ge=0, lt=1, description="the fed readout, where it joins the input")
    annotations: float = Field(0.0, ge=0, lt=1, description="encoder output")
    readout: float = Field(0.0, ge=0, lt=1, description="what enters the softmax")
    words: float = Field(0.0, ge=0, lt=1, description="whole words: the vector of a word becomes zero, both sides")
    recurrent: float = Field(
        0.0, ge=0, lt=1, description="the previous state where it enters a cell's maps, the same units at every step"
    )
    variational: bool = Field(
        False, description="the same units are dropped at every step of a sentence (Gal and Ghahramani 2016)"
    )


class ModelConfig(Section):
    """The five parts."""

    source_eos: bool = Field(True, description="the encoder reads the end of sentence, and attention may look at it")
    embedding: EmbeddingConfig = Field(default_factory=EmbeddingConfig)
    encoder: EncoderConfig = Field(default_factory=EncoderConfig)
    bridge: BridgeConfig = Field(default_factory=BridgeConfig)
    decoder: DecoderConfig = Field(default_factory=DecoderConfig)
    attention: AttentionConfig = Field(default_factory=AttentionConfig)
    readout: ReadoutConfig = Field(default_factory=ReadoutConfig)
    dropout: DropoutConfig = Field(default_factory=DropoutConfig)
    biases: bool = Field(True, description="in gates, bridge, readout and output; the papers' equations have none")
    gate_biases: bool = Field(
        True, description="GRU: false leaves biases out of the gates and in the candidate, as GroundHog has it"
    )
    initial: Literal["orthogonal", "gaussian", "uniform", "scaled"] = Field(
        "orthogonal",
        description="orthogonal recurrent matrices and N(0, spread^2) elsewhere, W_a and U_a N(0, 0.001^2), v_a zero "
        "(Cho 2014, Bahdanau 2015 B.1); N(0, spread^2) everywhere; U(-spread, spread) everywhere (Sutskever 2014, "
        "Luong 2015); scaled: U(+-sqrt(3 / n_in)) "
        "with orthogonal recurrent matrices and embeddings N(0, spread^2)",
    )
    spread: float = Field(0.01, gt=0)


Share = Annotated[float, Field(ge=0, lt=1)]


class OptimiserConfig(Section):
    """The update rule."""

    name: Literal["adam", "adamw", "adadelta", "sgd"] = "adam"
    rate: float = Field(1e-3, gt=0, description="learning rate (1.0 for adadelta as the papers have it)")
    betas: tuple[Share, Share] = Field((0.9, 0.999), description="adam, adamw")
    rho: float = Field(0.95, gt=0, lt=1, description="adadelta")
    epsilon: float = Field(1e-8, gt=0, description="adam, adamw; adadelta in the papers has 1e-6")
    weight_decay: float = Field(0.0, ge=0, description="adamw")
    clip: float | None = Field(1.0, gt=0, description="global norm to which a larger gradient is scaled down")
    clip_norm: Literal["all", "without-embeddings"] = Field(
        "all",
        description="which gradients the norm is of; all are scaled in any case (without-embeddings: nmt.matlab, the "
        "code of Luong 2015)",
    )


class ScheduleConfig(Section):
    """How the learning rate changes."""

    name: Literal["constant", "halving", "inverse-sqrt", "cosine", "plateau"] = "constant"
    warmup: int = Field(0, ge=0, description="updates of linear growth from 0, before any of the schedules")
    start: float = Field(5.0, ge=0, description="halving: epochs before the first halving")
    every: float = Field(1.0, gt=0, description="halving: epochs between halvings")
    patience: int = Field(2, ge=1, description="plateau: validations without improvement before the rate falls")
    factor: float = Field(0.5, gt=0, lt=1, description="plateau: what the rate is multiplied by")
    minimum: float = Field(0.0, ge=0, description="cosine, plateau: the rate never falls below")


class BatchConfig(Section):
    """What one update sees."""

    unit: Literal["tokens", "sentences"] = "tokens"
    size: int = Field(2048, ge=1, description="target tokens (padding counted) or sentences in a batch")
    pool: int = Field(100, ge=1, description="batches that are sorted by length together, then shuffled")
    sort: Literal["target", "longer"] = Field(
        "target",
        description="the length that pools are sorted by: the target's (nmt.matlab, the code of Luong 2015), or that "
        "of the longer side (GroundHog, the code of Bahdanau 2015)",
    )
    accumulate: int = Field(1, ge=1, description="batches whose gradients make one update")


class ValidationConfig(Section):
    """How often the dev set is looked at, and what decides."""

    every: int = Field(0, ge=0, description="updates between validations; 0: once an epoch")
    metric: Literal["bleu", "chrf", "perplexity"] = "bleu"
    beam: int = Field(1, ge=1, description="beam of the translations that are scored")
    sentences: int = Field(0, ge=0, description="how many dev sentences are translated; 0: all")
    patience: int = Field(0, ge=0, description="validations without improvement before training stops; 0: never")


class TrainingConfig(Section):
    """The recipe."""

    seed: int = 1
    epochs: float = Field(20.0, gt=0)
    minutes: float | None = Field(None, gt=0, description="wall-clock budget; the best weights so far are kept")
    loss: Literal["token", "sentence", "sum"] = Field(
        "token",
        description="what the summed loss is divided by; the papers' SGD divides by sentences, GroundHog (the code of "
        "Bahdanau 2015) by nothing",
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    guided_attention: float = Field(
        0.0,
        ge=0,
        description="weight of a loss that pulls the attention towards given links (Chen et al. 2016); needs "
        "--alignments",
    )
    scheduled_sampling: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of previous target words that are the model's own samples at the end of training, growing "
        "from none (Bengio et al. 2015)",
    )
    precision: Literal["fp32", "bf16", "auto"] = Field(
        "auto",
        description="bf16: products in bfloat16, master weights and softmax in float32; auto: the faster one, "
        "tried out before training",
    )
    average: float = Field(0.0, ge=0, lt=1, description="decay of the running average of weights; 0: none")
    average_best: int = Field(
        0,
        ge=0,
        description="the mean of the weights of so many best validations becomes the result, if it does better on the "
        "dev set than the best of them; 0: not tried",
    )
    optimiser: OptimiserConfig = Field(default_factory=OptimiserConfig)
    schedule: ScheduleConfig = Field(default_factory=ScheduleConfig)
    batch: BatchConfig = Field(default_factory=BatchConfig)
    validation: ValidationConfig = Field(default_factory=ValidationConfig)
    log_every: int = Field(50, ge=1, description="updates between lines of the log")
    checkpoint_minutes: float = Field(5.0, gt=0, description="minutes between saved training states")


class SearchConfig(Section):
    """How a translation is looked for; the defaults of `translate`."""

    beam: int = Field(5, ge=1)
    normalisation: Literal["none", "mean", "gnmt", "power"] = Field(
        "mean", description="none; log-probability / length (Cho 2014b); Wu et al. 2016 eq. 14; length ^ alpha"
    )
    alpha: float = Field(0.6, ge=0, description="gnmt and power: exponent of the length")
    length_weight: float = Field(
        0.0, description="taken off the score for each segment (Jean 2015, code); below 0 it rewards length"
    )
    coverage: float = Field(
        0.0, ge=0, description="weight of the coverage penalty (Wu et al. 2016 eq. 14, beta); needs attention"
    )
    finish: Literal["refill", "shrink"] = Field(
        "refill",
        description="refill keeps K live hypotheses; shrink gives up the slot of a finished one (GroundHog)",
    )
    max_factor: float = Field(3.0, gt=0, description="longest output, as a multiple of the source length")
    max_extra: int = Field(10, ge=0, description="segments added to that limit")
    min_factor: float = Field(
        0.0, ge=0, description="shortest output, as a multiple of the source length (GroundHog: 0.5)"
    )
    block_unknown: bool = Field(False, description="the unknown word is never produced")
    no_repeat_ngram: int = Field(
        0, ge=0, description="no so many segments in a row come twice in an output; 0: they may"
    )
    diversity: float = Field(
        0.0,
        ge=0,
        description="taken off a candidate in pruning for each better one of the same parent (Li et al. 2016)",
    )


class Config(Section):
    """Everything a run is made of."""

    format: int = FORMAT
    preset: str = Field("", description="the preset this configuration began with")
    text: TextConfig = Field(default_factory=TextConfig)
    cleaning: CleaningConfig = Field(default_factory=CleaningConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    search: SearchConfig = Field(default_factory=SearchConfig)
