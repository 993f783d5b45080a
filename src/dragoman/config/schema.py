"""The configuration of a run: one frozen tree.

Every default is written here and nowhere else; presets are YAML files over these defaults, and the complete tree is
saved beside the weights. Descriptions of keys are printed in configuration files and in `--help`; section and equation
numbers refer to the papers. `fitting` checks which parts can be combined.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dragoman.config.section import LARGEST, Beam, Count, Layers, Natural, NonNegative, Positive, Section, Share, doc

FORMAT = 2
"""Version of the configuration and of the run folder around it; a reader refuses any other."""

LANGUAGE_CODE = "^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}$"

ItemKind = Literal[
    "list", "url", "email", "tag", "variable", "entity", "path", "handle", "date", "code", "emoji", "number", "name"
]
"""Kinds of text that a translation must contain as its source does; text/items.py has examples."""


class SideConfig(Section):
    """Segmentation and vocabulary of one language."""

    language: Annotated[
        Annotated[str, Meta(pattern=LANGUAGE_CODE)] | None,
        doc(
            "ISO 639 code, such as de or pt-BR: chooses Moses rules, tokenizer of BLEU and fonts; null: that of the "
            "training file's name (train.de), or unknown"
        ),
    ] = None
    segmentation: Annotated[
        Literal["bpe", "unigram", "words", "characters", "letters", "whitespace"],
        doc(
            "bpe, unigram: SentencePiece models trained on the training text; words: Moses tokeniser; "
            "characters; letters: characters of single words, Hangul decomposed, and tags after a tab (V;PST); "
            "whitespace: pretokenised text"
        ),
    ] = "bpe"
    vocabulary: Annotated[
        int, Meta(ge=8, le=LARGEST), doc("maximum number of vocabulary entries, the four special symbols included")
    ] = 8000
    min_frequency: Annotated[Count, doc("segments that are rarer in the training text are unknown")] = 1
    model: Annotated[str | None, doc("existing SentencePiece model file to use instead of training one")] = None


class TextConfig(Section):
    """Segmentation and vocabularies of both sides."""

    source: SideConfig = SideConfig()
    target: SideConfig = SideConfig()
    joint: Annotated[
        bool, doc("one segmentation model and one vocabulary for both sides, with the settings of source")
    ] = False
    normal_form: Annotated[
        bool,
        doc(
            "both sides composed (NFC), without invisible characters; sources with plain spaces, and with characters "
            "of the training sources in place of others that stand for the same (quotation marks, full width)"
        ),
    ] = False
    spelling: Annotated[
        bool,
        doc(
            "with normal_form: words that the training sources never had are read as words that they had, where one "
            "typing error or missing diacritics explain them; not the end of a word, and not protected items"
        ),
    ] = False
    case_marks: Annotated[
        bool,
        doc(
            "bpe, unigram: words in lower case behind marks for capitals, so that a model reads a word alike however "
            "it is written"
        ),
    ] = False
    protected: Annotated[
        tuple[ItemKind, ...],
        doc(
            "kinds of items that come out as they went in, each once: list | url | email | tag | variable | entity | "
            "path | handle | date | code | emoji | number | name; a model reads and writes a placeholder. Numbers have "
            "two digits or more, and the separators of the target language; names are words with letters or, inside a "
            "line, with a capital that the training sources never had"
        ),
    ] = ()
    patterns: Annotated[
        tuple[str, ...],
        doc("further protected items, as regular expressions, preferred to the kinds where they overlap"),
    ] = ()

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The codes of the source and the target language; None where it is unknown."""
        return self.source.language, self.target.language


class CleaningConfig(Section):
    """Filters of the training corpus; removed pairs are counted by reason and listed by `train --dropped FILE`."""

    max_length: Annotated[Count, doc("maximum length of either side, in segments without EOS")] = 100
    max_ratio: Annotated[
        Annotated[float, Meta(gt=1)] | None,
        doc("maximum ratio of the longer to the shorter side, in segments; null: no limit"),
    ] = None
    duplicates: Annotated[Literal["keep", "drop"], doc("exact repetitions of a sentence pair")] = "drop"


class EmbeddingConfig(Section):
    """Word embeddings."""

    source: Annotated[Count, doc("size of source embeddings")] = 512
    target: Annotated[Count, doc("size of target embeddings")] = 512
    tied: Annotated[
        Literal["none", "output", "all"],
        doc(
            "weight tying; output: target embedding and output matrix; all: source embedding too (requires text.joint)"
        ),
    ] = "none"
    init_scale: Annotated[
        Positive | None,
        doc(
            "standard deviation of the initial embeddings, which are normal; null: as model.initialisation says. 1 "
            "lets small models learn sooner with SGD"
        ),
    ] = None


class CellConfig(Section):
    """A stack of recurrent layers; encoder and decoder have one each."""

    cell: Annotated[
        Literal["gru", "lstm", "tanh", "gru-fused", "lstm-fused"],
        doc(
            "recurrent cell; the fused cells compute an encoder layer with the kernels of torch "
            "(gru-fused: reset: after, update: keep, and an additional bias that the reset gate scales)"
        ),
    ] = "gru"
    reset: Annotated[
        Literal["before", "after"],
        doc("GRU: apply the reset gate before (Cho 2014 eq. 8, Bahdanau 2015 A.1.1) or after the recurrent matrix U"),
    ] = "before"
    update: Annotated[
        Literal["keep", "write"],
        doc("GRU: the update gate z weights the old state (Cho 2014) or the candidate state (Bahdanau 2015)"),
    ] = "write"
    peepholes: Annotated[bool, doc("LSTM: diagonal weights from the cell state to the gates (Graves 2013)")] = False
    layers: Annotated[Layers, doc("number of layers")] = 1
    size: Annotated[Count, doc("units per layer and direction")] = 512
    first_residual_layer: Annotated[
        Natural, doc("residual connections from this layer on, counted from 1; 0: none")
    ] = 0


class EncoderConfig(CellConfig):
    """Source words to annotations."""

    direction: Annotated[
        Literal["forward", "reversed", "both"], doc("reading direction; reversed: from the end; both: bidirectional")
    ] = "both"


class BridgeConfig(Section):
    """The initial state of the decoder."""

    kind: Annotated[
        Literal["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"],
        doc(
            "zero; copy: final state of every encoder layer (Sutskever 2014, Luong 2015); last: final state of the top "
            "layer for every decoder layer, of the forward direction only if the sizes require it (JoeyNMT); "
            "tanh-last: tanh(V' c) of the summary c (Cho 2014); tanh-backward: tanh(W_s h_1) of the backward direction "
            "(Bahdanau 2015 A.2.2); mean: tanh(W mean annotation) (dl4mt)"
        ),
    ] = "tanh-backward"
    summary: Annotated[
        Literal["last", "tanh"],
        doc(
            "summary vector c of the source, for bridge tanh-last and decoder context fixed; last: final state h_N "
            "(RNNencdec of Bahdanau 2015); tanh: tanh(V h_N) (Cho 2014, appendix)"
        ),
    ] = "last"
    cell_state: Annotated[
        Literal["zero", "hidden"],
        doc("initial LSTM cell state under bridge last, tanh-* or mean: zero, or equal to the hidden state"),
    ] = "zero"


class DecoderConfig(CellConfig):
    """The recurrent network that generates the target."""

    context_in_reset: Annotated[
        bool, doc("GRU, reset after: the reset gate scales the context term too (Cho 2014, appendix)")
    ] = False
    context: Annotated[
        Literal["none", "fixed", "attended"],
        doc(
            "source information at each step; none: initial state only (Sutskever 2014); fixed: the summary vector "
            "(Cho 2014); attended: a context vector from attention (Bahdanau 2015)"
        ),
    ] = "attended"
    order: Annotated[
        Literal["look-then-update", "update-then-look", "groundhog", "two-step"],
        doc(
            "order of one step; look-then-update: attend with the previous state, then update (Bahdanau 2015); "
            "update-then-look: update, then attend with the current state (Luong 2015); groundhog: attend, emit, then "
            "update with the emitted word and its context (code of Cho 2014 and Bahdanau 2015); two-step: update with "
            "the word, attend, update with the context (dl4mt, Nematus)"
        ),
    ] = "look-then-update"
    readout_state: Annotated[
        Literal["current", "prev"],
        doc("look-then-update: state that the readout reads, s_i (Bahdanau 2015 eq. 4) or s_{i-1} (A.2.2)"),
    ] = "current"
    input_feeding: Annotated[
        bool, doc("concatenate the previous readout (attentional vector) to the input (Luong 2015 section 3.3)")
    ] = False
    first_input: Annotated[
        Literal["zero", "bos"],
        doc("input of the first step: a zero vector (Cho 2014, Bahdanau 2015) or the embedding of BOS"),
    ] = "bos"


class AttentionConfig(Section):
    """Alignment weights over the annotations."""

    score: Annotated[
        Literal["additive", "normed-additive", "dot", "scaled-dot", "general", "concat", "concat-identity", "location"],
        doc(
            "additive: v^T tanh(W s + U h) (Bahdanau 2015); normed-additive: the same with v of trained norm; "
            "dot: h_t^T h_s; scaled-dot: the same divided by sqrt(size); general: h_t^T W h_s; "
            "concat: v^T tanh(W [h_t; h_s]) (Luong 2015 section 3.1); concat-identity: v^T tanh(W h_t + h_s) (their "
            "code); location: W h_t (Luong 2015 eq. 8)"
        ),
    ] = "additive"
    size: Annotated[Count, doc("hidden size of additive scores (n' in Bahdanau 2015 A.2.2)")] = 512
    heads: Annotated[
        Count,
        doc(
            "dot, scaled-dot and general scores: heads, each with a slice of query, keys and annotations and weights "
            "of its own (Vaswani et al. 2017 section 3.2.2, without its projections); alignments are their mean"
        ),
    ] = 1
    scope: Annotated[
        Literal["global", "local-m", "local-p"],
        doc("global: all positions; local-m, local-p: a window around position t or a predicted one (Luong 2015)"),
    ] = "global"
    window: Annotated[Count, doc("local scopes: half width D of the window, in positions")] = 10
    reference_length: Annotated[
        Positive | None,
        doc(
            "local scopes: mean source length, in segments, that the window is stated for; training multiplies the "
            "window by the mean of its text over this number; null: the window stays"
        ),
    ] = None
    max_positions: Annotated[
        Count, doc("location: number of source positions that have weights (maximum source length)")
    ] = 50
    masked: Annotated[
        bool, doc("location: normalise over the positions of the sentence only, not over all max_positions")
    ] = True
    coverage: Annotated[
        bool, doc("additive and concat scores: add the accumulated weights of a position as input (Tu et al. 2016)")
    ] = False
    aligned_word: Annotated[
        Literal["predicted", "read", "measured"],
        doc(
            "target word that the weights of a step align: the predicted one (Bahdanau 2015), or the one just read "
            "(a footnote of Luong 2015, for content-based scores); measured: found on the dev set when training ends"
        ),
    ] = "predicted"


class ReadoutConfig(Section):
    """The vector that the softmax layer reads."""

    kind: Annotated[
        Literal["linear", "maxout", "attentional", "affine"],
        doc(
            "linear: the decoder state; maxout: deep output over state, previous word and context (Bahdanau 2015 "
            "A.2.2); attentional: tanh(W_c [c; h]) (Luong 2015 eq. 5); affine: the same without tanh (OpenNMT-py)"
        ),
    ] = "maxout"
    size: Annotated[Count, doc("number of maxout units, or size of the attentional vector")] = 256
    rank: Annotated[
        Count | None, doc("factorise the output matrix with this rank (Cho 2014: 100); null: full matrix")
    ] = None


class DropoutConfig(Section):
    """Dropout probabilities by place (non-recurrent: Zaremba et al. 2014)."""

    embedding: Annotated[Share, doc("word embeddings of both sides")] = 0.0
    layers: Annotated[Share, doc("input of each recurrent layer above the first")] = 0.0
    input_feed: Annotated[Share, doc("the fed readout of input_feeding")] = 0.0
    annotations: Annotated[Share, doc("encoder output")] = 0.0
    readout: Annotated[Share, doc("input of the softmax layer")] = 0.0
    words: Annotated[Share, doc("word dropout: whole embeddings of both sides become zero")] = 0.0
    recurrent: Annotated[Share, doc("previous state of the cells, with the same mask at every step")] = 0.0
    variational: Annotated[
        bool, doc("use the same mask at every step of a sentence everywhere (Gal and Ghahramani 2016)")
    ] = False


class ModelConfig(Section):
    """The five parts of a model: embedding, encoder, bridge, decoder with attention, readout."""

    source_eos: Annotated[bool, doc("append EOS to the source, visible to encoder and attention")] = True
    embedding: EmbeddingConfig = EmbeddingConfig()
    encoder: EncoderConfig = EncoderConfig()
    bridge: BridgeConfig = BridgeConfig()
    decoder: DecoderConfig = DecoderConfig()
    attention: AttentionConfig = AttentionConfig()
    readout: ReadoutConfig = ReadoutConfig()
    dropout: DropoutConfig = DropoutConfig()
    biases: Annotated[
        bool, doc("biases in gates, bridge, readout and output layer; the equations of the papers have none")
    ] = True
    gate_biases: Annotated[
        bool, doc("GRU: false leaves biases in the candidate state only, none in the gates (GroundHog)")
    ] = True
    initialisation: Annotated[
        Literal["orthogonal", "gaussian", "uniform", "lecun"],
        doc(
            "orthogonal: orthogonal recurrent matrices, W_a and U_a N(0, (init_scale / 10)^2), v_a zero, "
            "N(0, init_scale^2) elsewhere (Cho 2014, Bahdanau 2015 B.1); gaussian: N(0, init_scale^2); uniform: "
            "U(-init_scale, init_scale) (Sutskever 2014, Luong 2015); lecun: orthogonal recurrent matrices, "
            "U(+-sqrt(3 / fan_in)) in other matrices (2.5 times as wide into LSTMs), embeddings N(0, init_scale^2)"
        ),
    ] = "orthogonal"
    init_scale: Annotated[
        Positive, doc("range of the uniform, standard deviation of the normal distributions above")
    ] = 0.01
    forget_bias: Annotated[
        float,
        doc("LSTM: initial bias of the forget gates; 1 lets cells remember from the start (Jozefowicz et al. 2015)"),
    ] = 0.0


class OptimiserConfig(Section):
    """The optimiser."""

    name: Literal["adam", "adamw", "adadelta", "sgd"] = "adam"
    learning_rate: Annotated[Positive, doc("initial or peak learning rate (papers: 1.0 with adadelta)")] = 1e-3
    betas: Annotated[tuple[Share, Share], doc("adam, adamw")] = (0.9, 0.999)
    rho: Annotated[float, Meta(gt=0, lt=1), doc("adadelta: decay of the running averages")] = 0.95
    epsilon: Annotated[Positive, doc("adam, adamw, adadelta (papers: 1e-6 with adadelta)")] = 1e-8
    weight_decay: Annotated[NonNegative, doc("adamw: of matrices, multiplied by the learning rate of the update")] = 0.0
    weight_decay_epochs: Annotated[
        Positive | None,
        doc(
            "adamw, in place of weight_decay: passes over the text in which, at the highest rate, a matrix without "
            "gradients would shrink to 1/e, but 150 updates at least (Wang and Aitchison 2024)"
        ),
    ] = None
    max_gradient_norm: Annotated[Positive | None, doc("clip gradients to this global norm; null: no clipping")] = 1.0
    gradient_norm: Annotated[
        Literal["all", "without-embeddings"],
        doc(
            "parameters whose gradients the norm is computed over; all gradients are scaled in either case "
            "(without-embeddings: nmt.matlab, code of Luong 2015)"
        ),
    ] = "all"


class ScheduleConfig(Section):
    """The learning rate schedule."""

    name: Literal["constant", "halving", "inverse-sqrt", "cosine", "plateau"] = "constant"
    warmup: Annotated[Natural, doc("updates of linear warm-up, with any schedule")] = 0
    start: Annotated[NonNegative, doc("halving: epochs before the first halving")] = 5.0
    every: Annotated[Positive, doc("halving: epochs between halvings")] = 1.0
    patience: Annotated[Count, doc("plateau: validations without improvement before the rate is reduced")] = 2
    factor: Annotated[float, Meta(gt=0, lt=1), doc("plateau: factor that reduces the rate")] = 0.5
    min_learning_rate: Annotated[NonNegative, doc("cosine, plateau: lower bound of the learning rate")] = 0.0


class BatchConfig(Section):
    """Batching of the training corpus."""

    unit: Annotated[Literal["tokens", "sentences"], doc("unit of size; tokens: target tokens with padding")] = "tokens"
    size: Annotated[Count, doc("maximum batch size")] = 2048
    pool: Annotated[Count, doc("batches that are sorted by length together and then shuffled")] = 100
    sort: Annotated[
        Literal["target", "longer"],
        doc("sort by the target length (nmt.matlab, code of Luong 2015) or by that of the longer side (GroundHog)"),
    ] = "target"
    accumulate: Annotated[Count, doc("batches per update (gradient accumulation)")] = 1


class MixConfig(Section):
    """How often pairs of several training corpora are drawn."""

    weights: Annotated[
        tuple[Positive, ...],
        doc("share of each training corpus in the pairs of an epoch, up to a factor ([2, 1]); []: every pair once"),
    ] = ()
    temperature: Annotated[
        float,
        Meta(ge=1, le=1000),
        doc(
            "T, without weights: shares are proportional to (pairs of the corpus)^(1/T); 1: every pair once; 5: small "
            "corpora more often (Arivazhagan et al. 2019)"
        ),
    ] = 1.0


class ChangesConfig(Section):
    """Shares of the pairs that are changed, drawn anew in each epoch: they teach text as people write it."""

    capitals: Annotated[Share, doc("both sides in CAPITALS")] = 0.0
    title_case: Annotated[Share, doc("both sides in Title Case")] = 0.0
    lower_case: Annotated[Share, doc("both sides in lower case")] = 0.0
    typing_errors: Annotated[
        Share, doc("letters of the source exchanged, left out or doubled in 15 % of its words")
    ] = 0.0
    placeholders: Annotated[
        Share, doc("placeholders of text.protected in place of words that translate each other, on both sides")
    ] = 0.0
    names: Annotated[
        Share, doc("invented names in place of words that translate each other, the same on both sides")
    ] = 0.0


class ValidationConfig(Section):
    """Validation on the dev set during training."""

    every: Annotated[
        Natural,
        doc("updates between validations; 0: once per epoch, with a time limit only where that takes little of it"),
    ] = 0
    at_least: Annotated[
        Natural,
        doc(
            "minimum number of validations in a training: where `every` gives fewer, they come at equal shares of its "
            "epochs or minutes; 0: no minimum"
        ),
    ] = 5
    metric: Annotated[
        Literal["bleu", "chrf", "accuracy", "perplexity"],
        doc(
            "metric that selects the best weights and stops training; accuracy: percentage of translations that equal "
            "their reference"
        ),
    ] = "bleu"
    tolerance: Annotated[
        NonNegative,
        doc(
            "keep later weights that are worse by the metric than the best by no more than this: where the learning "
            "rate falls to zero they are usually better, but few dev sentences do not show it; not for average_best"
        ),
    ] = 0.0
    tokenizer: Annotated[
        Literal["auto", "13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"],
        doc("tokenizer of BLEU, by sacreBLEU's names; auto: the one that fits the target language"),
    ] = "auto"
    beam: Annotated[Beam, doc("beam size for bleu, chrf and accuracy")] = 1
    sentences: Annotated[Natural, doc("number of dev sentences to translate; 0: all")] = 0
    patience: Annotated[Natural, doc("early stopping: validations without improvement; 0: never")] = 0


class TrainingConfig(Section):
    """How a model is trained."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1), doc("seed of all random generators")] = 1
    epochs: Annotated[Positive, doc("maximum number of passes over the training corpus")] = 20.0
    updates: Annotated[
        Count | None,
        doc(
            "length of the training in updates, in place of epochs; a halving schedule, stated in epochs, is then "
            "spread over the updates as it is over the epochs above (5 of 10: half of them)"
        ),
    ] = None
    minutes: Annotated[Positive | None, doc("time limit in minutes; the best weights so far are kept")] = None
    loss_normalisation: Annotated[
        Literal["tokens", "sentences", "none"],
        doc(
            "divide the summed loss of an update by its target tokens, by its sentences (SGD in the papers) or not at "
            "all (GroundHog)"
        ),
    ] = "tokens"
    label_smoothing: Annotated[Share, doc("probability mass spread uniformly over the vocabulary")] = 0.0
    guided_alignment: Annotated[
        NonNegative,
        doc("weight of the guided alignment loss (Chen et al. 2016); requires train --alignments"),
    ] = 0.0
    dropout_warmup: Annotated[
        NonNegative,
        doc(
            "epochs over which all dropout probabilities grow linearly from 0 to those of the model (Morerio et al. "
            "2017); 0: full from the start"
        ),
    ] = 0.0
    scheduled_sampling: Annotated[
        float,
        Meta(ge=0, le=1),
        doc("share of sampled previous words at the end of training, growing linearly from 0 (Bengio et al. 2015)"),
    ] = 0.0
    precision: Annotated[
        Literal["fp32", "bf16", "auto"],
        doc(
            "fp32 (float32), or bf16: matrix products in bfloat16, master weights and softmax in float32; auto: bf16 "
            "where it is 10 % faster, measured before training"
        ),
    ] = "auto"
    average_decay: Annotated[Share, doc("decay of the exponential moving average of the weights; 0: no averaging")] = (
        0.0
    )
    average_best: Annotated[
        Natural,
        doc(
            "average the weights of this many best validations and keep the mean if it is better on the dev set; 0: off"
        ),
    ] = 0
    optimiser: OptimiserConfig = OptimiserConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    batch: BatchConfig = BatchConfig()
    mix: MixConfig = MixConfig()
    changes: ChangesConfig = ChangesConfig()
    validation: ValidationConfig = ValidationConfig()
    log_every: Annotated[Count, doc("updates between log entries")] = 50
    checkpoint_minutes: Annotated[Positive, doc("minutes between checkpoints of the training state")] = 5.0


LengthNormalisation = Literal["none", "mean", "gnmt", "power"]
BeamFinish = Literal["refill", "shrink"]
Combination = Literal["probabilities", "log-probabilities", "logits"]
"""What is averaged over the models of an ensemble."""


class SearchConfig(Section):
    """Decoding; the defaults of `translate`, `evaluate` and `tree`.

    Beam search (Sutskever et al. 2014, section 3.2), with the length normalisation and coverage penalty of Wu et al.
    2016, eq. 14. Penalties are in nats, lengths in tokens. `dragoman config` prints what each key means.

    Raises:
        ConfigError: from `override` and `load_config`, which check types and ranges; a value given here is not checked.

    >>> dragoman.SearchConfig(beam=10).normalisation
    'mean'
    """

    beam: Annotated[Beam, doc("beam size; 1: greedy search")] = 5
    normalisation: Annotated[
        LengthNormalisation,
        doc(
            "length normalisation of scores: divide by nothing, by the length (Cho 2014b), by ((5 + length) / 6)^alpha "
            "(Wu et al. 2016 eq. 14) or by length^alpha"
        ),
    ] = "mean"
    alpha: Annotated[NonNegative, doc("gnmt, power: exponent of the length normalisation")] = 0.6
    word_penalty: Annotated[
        float, doc("penalty per output token, subtracted from the score; negative: reward (Jean et al. 2015)")
    ] = 0.0
    coverage_penalty: Annotated[
        NonNegative,
        doc("weight beta of the coverage penalty (Wu et al. 2016 eq. 14); requires attention"),
    ] = 0.0
    finish: Annotated[
        BeamFinish,
        doc(
            "refill: keep a full beam of unfinished hypotheses; shrink: each finished one makes it smaller (GroundHog)"
        ),
    ] = "refill"
    max_length_factor: Annotated[
        Positive, doc("maximum output length as a multiple of the source length, in tokens")
    ] = 3.0
    max_length_extra: Annotated[Natural, doc("tokens added to the maximum output length")] = 10
    min_length_factor: Annotated[
        NonNegative,
        doc("minimum output length as a multiple of the source length, in tokens (GroundHog: 0.5)"),
    ] = 0.0
    block_unknown: Annotated[bool, doc("never produce the unknown word")] = False
    no_repeat_ngram: Annotated[Natural, doc("block n-grams of this order from repeating in an output; 0: off")] = 0
    search_again: Annotated[
        bool,
        doc(
            "if a translation loops or is truncated at the maximum length, search again with blocked n-grams and a "
            "coverage penalty"
        ),
    ] = False
    diversity: Annotated[
        NonNegative, doc("rank penalty among hypotheses with the same parent, gamma (Li et al. 2016); 0: off")
    ] = 0.0


class Config(Section):
    """The complete configuration of a translation model: immutable sections with typed keys.

    `dragoman config PRESET` prints every key with its meaning, range and source; `load_preset` and `load_config` make
    one, and `override` another one from it. Sizes are units, lengths and batches segments or pairs, times minutes.

    Raises:
        ConfigError: from these functions, which check types and ranges; a value given here is not checked.

    >>> dragoman.Config().search.beam
    5
    """

    format: int = FORMAT
    preset: Annotated[str, doc("preset that this configuration is based on")] = ""
    text: TextConfig = TextConfig()
    cleaning: CleaningConfig = CleaningConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
