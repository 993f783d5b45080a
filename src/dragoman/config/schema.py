"""The configuration of a run: one frozen tree.

Every default is written here and nowhere else; presets are YAML files over these defaults, and what is saved beside
the weights is the complete tree. Section and equation numbers name the paper a value is from. Which parts fit together
is said in `fitting`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dragoman.config.section import Count, Natural, NonNegative, Positive, Section, Share, says

FORMAT = 2
"""Version of the configuration and of the run folder around it; a reader refuses any other."""


class SideConfig(Section):
    """How the lines of one language become segments."""

    language: Annotated[str, says("ISO 639-1 code; word segmentation needs it to tokenise and detokenise")] = "en"
    segmentation: Annotated[
        Literal["bpe", "unigram", "words", "characters", "whitespace"],
        says(
            "bpe and unigram are SentencePiece models trained on the training text; whitespace: text that is "
            "segmented already"
        ),
    ] = "bpe"
    vocabulary: Annotated[int, Meta(ge=8), says("largest number of entries, the four special symbols included")] = 8000
    min_frequency: Annotated[Count, says("a segment seen less often in training is unknown")] = 1
    model: Annotated[str | None, says("a SentencePiece model file to use instead of training one")] = None


class TextConfig(Section):
    """Both sides of the text."""

    source: SideConfig = SideConfig()
    target: SideConfig = SideConfig()
    joint: Annotated[bool, says("one segmentation model and one vocabulary for both sides (source's settings)")] = False


class CleaningConfig(Section):
    """Which training pairs are left out; each reason is counted, and `--dropped FILE` lists the pairs."""

    max_length: Annotated[Count, says("segments, end of sentence not counted, on either side")] = 100
    max_ratio: Annotated[Annotated[float, Meta(gt=1)] | None, says("longer side over shorter side, in segments")] = None
    duplicates: Annotated[Literal["keep", "drop"], says("exact repetitions of a pair")] = "drop"


class EmbeddingConfig(Section):
    """Word vectors."""

    source: Annotated[Count, says("size of a source embedding")] = 512
    target: Annotated[Count, says("size of a target embedding")] = 512
    tied: Annotated[
        Literal["none", "output", "all"],
        says("output: target embedding = output matrix; all: source embedding too (needs text.joint)"),
    ] = "none"


class CellConfig(Section):
    """The recurrent cell, the same for encoder and decoder; each has its own."""

    cell: Annotated[
        Literal["gru", "lstm", "tanh", "gru-fused", "lstm-fused"],
        says(
            "gru and lstm are written out; the fused ones run an encoder layer in the library's kernel "
            "(gru-fused is reset: after, update: keep, with a further bias inside the reset gate's bracket)"
        ),
    ] = "gru"
    reset: Annotated[
        Literal["before", "after"], says("GRU: reset gate before U (Cho 2014 eq. 8, Bahdanau 2015 A.1.1) or after")
    ] = "before"
    update: Annotated[
        Literal["keep", "write"], says("GRU: z keeps the old state (Cho 2014) or writes the new one (Bahdanau 2015)")
    ] = "write"
    peepholes: Annotated[bool, says("LSTM: gates see the memory through diagonal weights (Graves 2013)")] = False
    layers: Count = 1
    size: Annotated[Count, says("units of each direction in each layer")] = 512
    first_residual_layer: Annotated[
        Natural, says("from this layer on, counted from 1, a layer's input is added to its output; 0: nowhere")
    ] = 0


class EncoderConfig(CellConfig):
    """Source words to annotations."""

    direction: Literal["forward", "reversed", "both"] = "both"


class BridgeConfig(Section):
    """The first decoder state."""

    kind: Annotated[
        Literal["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"],
        says(
            "zero; copy every layer's last state (Sutskever 2014, Luong 2015); last: the top layer's last "
            "state in every layer, of two directions the forward one where it alone fits (JoeyNMT); tanh(V' c) with c "
            "the summary below (Cho 2014); tanh(W_s backward h_1) (Bahdanau 2015 A.2.2); tanh(W mean annotation) "
            "(dl4mt)"
        ),
    ] = "tanh-backward"
    summary: Annotated[
        Literal["last", "tanh"],
        says(
            "the one vector c of a sentence, for tanh-last and for a fixed context: the last state h_N "
            "(RNNencdec of Bahdanau 2015), or tanh(V h_N) (Cho 2014, appendix)"
        ),
    ] = "last"
    cell_state: Annotated[
        Literal["zero", "hidden"],
        says("what an LSTM's memory starts from under a last, tanh or mean bridge: zero, or the hidden state"),
    ] = "zero"


class DecoderConfig(CellConfig):
    """The recurrent part that writes the target."""

    context_in_reset: Annotated[
        bool, says("GRU, reset after: the context stands inside the reset gate's bracket (Cho 2014, appendix)")
    ] = False
    context: Annotated[
        Literal["none", "fixed", "attended"],
        says(
            "what of the source each step sees: nothing but the first state (Sutskever 2014), one vector "
            "(Cho 2014), a context vector of its own (Bahdanau 2015)"
        ),
    ] = "attended"
    order: Annotated[
        Literal["look-then-update", "update-then-look", "groundhog", "two-step"],
        says(
            "attend with the previous state, then update (Bahdanau 2015); update, then attend with the "
            "current state (Luong 2015); update with the word just emitted and the context it came from, then attend "
            "(GroundHog, the code of Cho 2014 and Bahdanau 2015); update with the word, attend, update with the "
            "context (dl4mt)"
        ),
    ] = "look-then-update"
    readout_state: Annotated[
        Literal["current", "prev"],
        says("look-then-update: the readout sees s_i (Bahdanau 2015 eq. 4) or s_{i-1} (appendix A.2.2)"),
    ] = "current"
    input_feeding: Annotated[bool, says("the previous readout joins the input (Luong 2015 section 3.3)")] = False
    first_input: Annotated[
        Literal["zero", "bos"],
        says("what the first step reads: a zero vector (Cho 2014, Bahdanau 2015) or a learnt symbol"),
    ] = "bos"


class AttentionConfig(Section):
    """Alignment weights over the annotations."""

    score: Annotated[
        Literal["additive", "normed-additive", "dot", "scaled-dot", "general", "concat", "concat-identity", "location"],
        says(
            "v^T tanh(W s + U h) (Bahdanau 2015); the same with v of trained length; h_t^T h_s, the same over "
            "the root of the size, h_t^T W h_s, v^T tanh(W [h_t; h_s]), v^T tanh(W h_t + h_s) (Luong 2015 section 3.1 "
            "and the authors' code); W h_t (Luong 2015 eq. 8)"
        ),
    ] = "additive"
    size: Annotated[Count, says("rows of W_a and U_a in the additive scores (n' in Bahdanau 2015 A.2.2)")] = 512
    scope: Annotated[
        Literal["global", "local-m", "local-p"],
        says("the whole source, or a window: around position t, or around a predicted one (Luong 2015)"),
    ] = "global"
    window: Annotated[Count, says("D of the local scopes: positions on either side of the centre")] = 10
    max_positions: Annotated[Count, says("location: S_max, the longest source it has weights for")] = 50
    masked: Annotated[
        bool, says("location: the softmax runs over the words of the sentence, not over all the slots")
    ] = True
    coverage: Annotated[bool, says("additive scores see the sum of a position's weights so far (Tu et al. 2016)")] = (
        False
    )
    aligned_word: Annotated[
        Literal["predicted", "read"],
        says(
            "which target word a step's weights align: the one it predicts (Bahdanau 2015), or the one it has "
            "just read (a footnote of Luong 2015, for content-based scores)"
        ),
    ] = "predicted"


class ReadoutConfig(Section):
    """What feeds the softmax."""

    kind: Annotated[
        Literal["linear", "maxout", "attentional", "affine"],
        says(
            "linear: the state itself; maxout: deep output over state, previous word and context (Bahdanau "
            "2015 A.2.2); attentional: tanh(W_c [c; h]) (Luong 2015 eq. 5); affine: the same without the tanh "
            "(OpenNMT-py)"
        ),
    ] = "maxout"
    size: Annotated[Count, says("maxout units, or size of the attentional vector")] = 256
    rank: Annotated[
        Count | None, says("the output matrix is a product of two, this wide in between (Cho 2014: 100)")
    ] = None


class DropoutConfig(Section):
    """Probability of zeroing a unit, by place; vertical connections (Zaremba et al. 2014) and a recurrent one."""

    embedding: Annotated[Share, says("word vectors, both sides")] = 0.0
    layers: Annotated[Share, says("what enters each recurrent layer above the first")] = 0.0
    input_feed: Annotated[Share, says("the fed readout, where it joins the input")] = 0.0
    annotations: Annotated[Share, says("encoder output")] = 0.0
    readout: Annotated[Share, says("what enters the softmax")] = 0.0
    words: Annotated[Share, says("whole words: the vector of a word becomes zero, both sides")] = 0.0
    recurrent: Annotated[
        Share, says("the previous state where it enters a cell's maps, the same units at every step")
    ] = 0.0
    variational: Annotated[
        bool, says("the same units are dropped at every step of a sentence (Gal and Ghahramani 2016)")
    ] = False


class ModelConfig(Section):
    """The five parts."""

    source_eos: Annotated[bool, says("the encoder reads the end of sentence, and attention may look at it")] = True
    embedding: EmbeddingConfig = EmbeddingConfig()
    encoder: EncoderConfig = EncoderConfig()
    bridge: BridgeConfig = BridgeConfig()
    decoder: DecoderConfig = DecoderConfig()
    attention: AttentionConfig = AttentionConfig()
    readout: ReadoutConfig = ReadoutConfig()
    dropout: DropoutConfig = DropoutConfig()
    biases: Annotated[bool, says("in gates, bridge, readout and output; the papers' equations have none")] = True
    gate_biases: Annotated[
        bool, says("GRU: false leaves biases out of the gates and in the candidate, as GroundHog has it")
    ] = True
    initialisation: Annotated[
        Literal["orthogonal", "gaussian", "uniform", "lecun"],
        says(
            "orthogonal recurrent matrices and N(0, init_scale^2) elsewhere, W_a and U_a N(0, 0.001^2), v_a zero "
            "(Cho 2014, Bahdanau 2015 B.1); N(0, init_scale^2) everywhere; U(-init_scale, init_scale) "
            "everywhere (Sutskever 2014, Luong 2015); lecun: U(+-sqrt(3 / n_in)) "
            "with orthogonal recurrent matrices and embeddings N(0, init_scale^2)"
        ),
    ] = "orthogonal"
    init_scale: Positive = 0.01


class OptimiserConfig(Section):
    """The update rule."""

    name: Literal["adam", "adamw", "adadelta", "sgd"] = "adam"
    learning_rate: Annotated[Positive, says("learning rate (1.0 for adadelta as the papers have it)")] = 1e-3
    betas: Annotated[tuple[Share, Share], says("adam, adamw")] = (0.9, 0.999)
    rho: Annotated[float, Meta(gt=0, lt=1), says("adadelta")] = 0.95
    epsilon: Annotated[Positive, says("adam, adamw; adadelta in the papers has 1e-6")] = 1e-8
    weight_decay: Annotated[NonNegative, says("adamw")] = 0.0
    max_gradient_norm: Annotated[Positive | None, says("global norm to which a larger gradient is scaled down")] = 1.0
    gradient_norm: Annotated[
        Literal["all", "without-embeddings"],
        says(
            "which gradients the norm is of; all are scaled in any case (without-embeddings: nmt.matlab, the "
            "code of Luong 2015)"
        ),
    ] = "all"


class ScheduleConfig(Section):
    """How the learning rate changes."""

    name: Literal["constant", "halving", "inverse-sqrt", "cosine", "plateau"] = "constant"
    warmup: Annotated[Natural, says("updates of linear growth from 0, before any of the schedules")] = 0
    start: Annotated[NonNegative, says("halving: epochs before the first halving")] = 5.0
    every: Annotated[Positive, says("halving: epochs between halvings")] = 1.0
    patience: Annotated[Count, says("plateau: validations without improvement before the rate falls")] = 2
    factor: Annotated[float, Meta(gt=0, lt=1), says("plateau: what the rate is multiplied by")] = 0.5
    min_learning_rate: Annotated[NonNegative, says("cosine, plateau: the rate never falls below")] = 0.0


class BatchConfig(Section):
    """What one update sees."""

    unit: Literal["tokens", "sentences"] = "tokens"
    size: Annotated[Count, says("target tokens (padding counted) or sentences in a batch")] = 2048
    pool: Annotated[Count, says("batches that are sorted by length together, then shuffled")] = 100
    sort: Annotated[
        Literal["target", "longer"],
        says(
            "the length that pools are sorted by: the target's (nmt.matlab, the code of Luong 2015), or that "
            "of the longer side (GroundHog, the code of Bahdanau 2015)"
        ),
    ] = "target"
    accumulate: Annotated[Count, says("batches whose gradients make one update")] = 1


class ValidationConfig(Section):
    """How often the dev set is looked at, and what decides."""

    every: Annotated[Natural, says("updates between validations; 0: once an epoch")] = 0
    metric: Literal["bleu", "chrf", "perplexity"] = "bleu"
    beam: Annotated[Count, says("beam of the translations that are scored")] = 1
    sentences: Annotated[Natural, says("how many dev sentences are translated; 0: all")] = 0
    patience: Annotated[Natural, says("validations without improvement before training stops; 0: never")] = 0


class TrainingConfig(Section):
    """The recipe."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1  # up to what every generator takes
    epochs: Positive = 20.0
    minutes: Annotated[Positive | None, says("wall-clock budget; the best weights so far are kept")] = None
    loss_normalisation: Annotated[
        Literal["tokens", "sentences", "none"],
        says(
            "what the summed loss is divided by; the papers' SGD divides by sentences, GroundHog (the code of "
            "Bahdanau 2015) by nothing"
        ),
    ] = "tokens"
    label_smoothing: Share = 0.0
    guided_alignment: Annotated[
        NonNegative,
        says("weight of a loss that pulls the attention towards given links (Chen et al. 2016); needs --alignments"),
    ] = 0.0
    scheduled_sampling: Annotated[
        float,
        Meta(ge=0, le=1),
        says(
            "share of previous target words that are the model's own samples at the end of training, growing "
            "from none (Bengio et al. 2015)"
        ),
    ] = 0.0
    precision: Annotated[
        Literal["fp32", "bf16", "auto"],
        says(
            "bf16: products in bfloat16, master weights and softmax in float32; auto: the faster one, "
            "tried out before training"
        ),
    ] = "auto"
    average_decay: Annotated[Share, says("decay of the running average of weights; 0: none")] = 0.0
    average_best: Annotated[
        Natural,
        says(
            "the mean of the weights of so many best validations becomes the result, if it does better on the "
            "dev set than the best of them; 0: not tried"
        ),
    ] = 0
    optimiser: OptimiserConfig = OptimiserConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    batch: BatchConfig = BatchConfig()
    validation: ValidationConfig = ValidationConfig()
    log_every: Annotated[Count, says("updates between lines of the log")] = 50
    checkpoint_minutes: Annotated[Positive, says("minutes between saved training states")] = 5.0


class SearchConfig(Section):
    """How a translation is looked for; the defaults of `translate`."""

    beam: Count = 5
    normalisation: Annotated[
        Literal["none", "mean", "gnmt", "power"],
        says("none; log-probability / length (Cho 2014b); Wu et al. 2016 eq. 14; length ^ alpha"),
    ] = "mean"
    alpha: Annotated[NonNegative, says("gnmt and power: exponent of the length")] = 0.6
    word_penalty: Annotated[
        float, says("taken off the score for each segment (Jean 2015, code); below 0 it rewards length")
    ] = 0.0
    coverage_penalty: Annotated[
        NonNegative, says("weight of the coverage penalty (Wu et al. 2016 eq. 14, beta); needs attention")
    ] = 0.0
    finish: Annotated[
        Literal["refill", "shrink"],
        says("refill keeps K live hypotheses; shrink gives up the slot of a finished one (GroundHog)"),
    ] = "refill"
    max_length_factor: Annotated[Positive, says("longest output, as a multiple of the source length")] = 3.0
    max_length_extra: Annotated[Natural, says("segments added to that limit")] = 10
    min_length_factor: Annotated[
        NonNegative, says("shortest output, as a multiple of the source length (GroundHog: 0.5)")
    ] = 0.0
    block_unknown: Annotated[bool, says("the unknown word is never produced")] = False
    no_repeat_ngram: Annotated[Natural, says("no so many segments in a row come twice in an output; 0: they may")] = 0
    diversity: Annotated[
        NonNegative, says("taken off a candidate in pruning for each better one of the same parent (Li et al. 2016)")
    ] = 0.0


class Config(Section):
    """Everything a run is made of."""

    format: int = FORMAT
    preset: Annotated[str, says("the preset this configuration began with")] = ""
    text: TextConfig = TextConfig()
    cleaning: CleaningConfig = CleaningConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
