"""Assembly of translation and language models from their configurations, and the initialisation of their parameters.

The parts take plain parameters and other parts, and do not depend on the configuration. They are written in plain
torch; `use` replaces some of their functions with the faster equivalents listed in `fast/table.py`. Parameters are
initialised by the schemes of the papers.
"""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
from torch import nn

from dragoman.config.language_model import LanguageModelConfig
from dragoman.config.schema import (
    CellConfig,
    DecoderConfig,
    DropoutConfig,
    EmbeddingConfig,
    ModelConfig,
    ReadoutConfig,
)
from dragoman.config.section import keys_of
from dragoman.model.attention import Attention, AttentionScope, FixedContext, Global, Monotonic, Predictive
from dragoman.model.cells import GRU, LSTM, Cell, TanhCell
from dragoman.model.decoder import Decoder, DecoderDropouts
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Bridge, Encoder, RecurrentLayer
from dragoman.model.fast.table import FAST, use
from dragoman.model.language_model import Body, FeedForward, LanguageModel, Recurrent
from dragoman.model.linear import Linear
from dragoman.model.output_layer import AttentionalReadout, MaxoutReadout, OutputLayer, Readout, StateReadout
from dragoman.model.scores import Additive, AttentionScore, Dot, General, Location
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import PAD


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """Build a translation model for vocabularies of the given sizes and initialise its parameters."""
    model = assemble(config, source_vocabulary, target_vocabulary)
    initialise(
        model,
        config.initialisation,
        config.init_scale,
        embedding_scale=config.embedding.init_scale,
        forget_bias=config.forget_bias,
    )
    return model


def build_language_model(config: LanguageModelConfig, vocabulary: int) -> LanguageModel:
    """Build a language model for a vocabulary of the given size and initialise its parameters."""
    model = assemble_language_model(config, vocabulary)
    initialise(model, config.initialisation, config.init_scale)
    return model


def assemble_language_model(config: LanguageModelConfig, vocabulary: int) -> LanguageModel:
    """Build a language model with uninitialised parameters, for example to load trained weights into."""
    body: Body = _recurrent(config) if config.network == "recurrent" else _feed_forward(config)
    model = LanguageModel(
        _embedding(vocabulary, config.embedding),
        body,
        OutputLayer(body.size, vocabulary, bias=True),
        embedding_dropout=Dropout(config.dropout.embedding),
    )
    use(model, FAST)
    return model


def _feed_forward(config: LanguageModelConfig) -> FeedForward:
    settings, dropout = config.feed_forward, config.dropout
    return FeedForward(
        config.embedding,
        settings.order,
        settings.layers,
        dropout=Dropout(dropout.layers),
        readout_dropout=Dropout(dropout.readout),
    )


def _recurrent(config: LanguageModelConfig) -> Recurrent:
    """A language model whose body is the decoder of a translation model without a source context."""
    settings = config.recurrent
    cell = {name: getattr(settings, name) for name in keys_of(CellConfig)}
    parts = ModelConfig(
        embedding=EmbeddingConfig(target=config.embedding),
        decoder=DecoderConfig(**cell, context="none", order="update-then-look"),
        readout=ReadoutConfig(kind=settings.readout, size=settings.maxout),
        dropout=DropoutConfig(**config.dropout.values()),
    )
    return Recurrent(_decoder(parts, annotation=0))


def assemble(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """Build a translation model with uninitialised parameters; on the device `meta` they take no memory."""
    annotation = config.encoder.size * _directions(config)
    source = _embedding(source_vocabulary, config.embedding.source)
    target = _embedding(target_vocabulary, config.embedding.target)
    decoder = _decoder(config, annotation)
    model = TranslationModel(
        source,
        target,
        _encoder(config),
        _bridge(config, annotation, [layer.cell for layer in decoder.layers]),
        decoder,
        OutputLayer(decoder.readout.size, target_vocabulary, bias=config.biases, rank=config.readout.rank),
        zero_first=config.decoder.first_input == "zero",
        source_eos=config.source_eos,
        attention_shift=int(config.attention.aligned_word == "read"),
        embedding_dropout=_dropout(config, config.dropout.embedding),
        word_dropout=config.dropout.words,
        annotation_dropout=_dropout(config, config.dropout.annotations),
    )
    if config.embedding.tied != "none":
        model.output.weight = cast(nn.Parameter, target.weight)
    if config.embedding.tied == "all":
        model.source = target
    use(model, FAST)
    return model


def _embedding(vocabulary: int, size: int) -> nn.Embedding:
    """A vector for each word of a vocabulary; its values do not matter."""
    if torch.get_default_device().type == "meta":
        # Drawing them there would import torch's compiler, which takes seconds.
        weight = torch.empty(vocabulary, size)
        return cast(nn.Embedding, nn.Embedding.from_pretrained(weight, freeze=False, padding_idx=PAD))
    return nn.Embedding(vocabulary, size, padding_idx=PAD)


def _directions(config: ModelConfig) -> int:
    return 2 if config.encoder.direction == "both" else 1


def _encoder(config: ModelConfig) -> Encoder:
    settings, directions = config.encoder, _directions(config)
    layers, n_in = [], config.embedding.source
    for _ in range(settings.layers):
        layers.append(_layer(config, settings, n_in, directions, fused=settings.cell.endswith("fused")))
        n_in = settings.size * directions
    return Encoder(
        layers,
        settings.direction,
        source_eos=config.source_eos,
        residual=settings.first_residual_layer,
        dropout=_dropout(config, config.dropout.layers),
        recurrent_dropout=_recurrent_dropout(config),
    )


def _bridge(config: ModelConfig, annotation: int, cells: list[Cell]) -> Bridge:
    settings = config.bridge
    summed = settings.kind == "tanh-last" or config.decoder.context == "fixed"
    return Bridge(
        settings.kind,
        cells,
        config.encoder.size if settings.kind == "tanh-backward" else annotation,
        compressed=Linear(annotation, annotation, bias=config.biases)
        if summed and settings.summary == "tanh"
        else None,
        copy_to_cell_state=settings.cell_state == "hidden",
        biases=config.biases,
    )


def _decoder(config: ModelConfig, annotation: int) -> Decoder:
    settings = config.decoder
    layers, n_in = [], config.embedding.target
    for _ in range(settings.layers):
        layers.append(_layer(config, settings, n_in))
        n_in = settings.size
    source = _source(config, annotation)
    second = None
    if source and settings.order == "two-step":
        second = _layer(config, settings, annotation)
    return Decoder(
        layers,
        source,
        annotation,
        _readout(config, annotation if source else 0),
        order=settings.order,
        reads_previous=settings.readout_state == "prev",
        context_in_reset=settings.context_in_reset,
        second=second,
        input_feeding=settings.input_feeding,
        coverage=config.attention.coverage,
        residual=settings.first_residual_layer,
        dropouts=DecoderDropouts(
            layers=_dropout(config, config.dropout.layers),
            recurrent=_recurrent_dropout(config),
            feed=_dropout(config, config.dropout.input_feed),
            readout=_dropout(config, config.dropout.readout),
        ),
    )


def _readout(config: ModelConfig, context: int) -> Readout:
    settings, state = config.readout, config.decoder.size
    if settings.kind == "linear":
        return StateReadout(state)
    if settings.kind == "maxout":
        return MaxoutReadout(state, config.embedding.target, context, settings.size, config.biases)
    return AttentionalReadout(state, context, settings.size, config.biases, affine=settings.kind == "affine")


def _layer(
    config: ModelConfig, settings: CellConfig, n_in: int, directions: int = 1, *, fused: bool = False
) -> RecurrentLayer:
    cell = _cell(settings, config.biases, directions)
    unbiased = 0 if config.gate_biases else 2 * settings.size  # r and z stand before the candidate
    return RecurrentLayer(n_in, cell, directions, config.biases, unbiased=unbiased, fused=fused)


def _cell(settings: CellConfig, biases: bool, directions: int = 1) -> Cell:
    if settings.cell == "tanh":
        return TanhCell(settings.size, directions=directions)
    if settings.cell.startswith("lstm"):
        return LSTM(settings.size, peepholes=settings.peepholes, directions=directions)
    inner_bias = biases and settings.cell == "gru-fused"
    return GRU(settings.size, settings.reset, settings.update, inner_bias=inner_bias, directions=directions)


def _source(config: ModelConfig, annotation: int) -> Attention | FixedContext | None:
    if config.decoder.context == "attended":
        return Attention(_score(config, annotation), _scope(config), config.attention.heads)
    return FixedContext() if config.decoder.context == "fixed" else None


def _score(config: ModelConfig, annotation: int) -> AttentionScore:
    settings, query = config.attention, config.decoder.size
    if settings.score in ("additive", "normed-additive"):
        normed = settings.score == "normed-additive"
        return Additive(query, annotation, settings.size, normed=normed, coverage=settings.coverage)
    if settings.score == "concat":
        return Additive(query, annotation, query, coverage=settings.coverage)
    if settings.score == "concat-identity":
        return Additive(query, annotation, annotation, identity=True, coverage=settings.coverage)
    if settings.score == "location":
        backwards = config.encoder.direction == "reversed"
        return Location(query, settings.max_positions, masked=settings.masked, reads_backwards=backwards)
    if settings.score == "general":
        return General(query, annotation)
    return Dot(query // settings.heads, scaled=settings.score == "scaled-dot")


def _scope(config: ModelConfig) -> AttentionScope:
    settings = config.attention
    if settings.scope == "local-m":
        return Monotonic(settings.window)
    if settings.scope == "local-p":
        return Predictive(config.decoder.size, settings.window)
    return Global(normalised=settings.score == "location" and not settings.masked)


def _dropout(config: ModelConfig, probability: float) -> Dropout:
    return Dropout(probability, variational=config.dropout.variational)


def _recurrent_dropout(config: ModelConfig) -> Dropout:
    return Dropout(config.dropout.recurrent, variational=True)


LSTM_GAIN = 2.5
"""Gain of an LSTM's input layer that keeps the deviation of h from layer to layer, under `lecun`.

For small inputs the gates are 1/2 and the tanh are the identity: c' = c / 2 + (W x + U h) / 2, h = c / 2. With U
orthogonal and g the gain of W, h deviates 0.30 g times as far as x if the inputs of different steps are independent,
and about 0.5 g times as far if they are all the same; in a stack they are in between. With a gain of 1 four layers
divide the signal by more than ten, and as many decoder layers do so again.
"""


def initialise(
    model: nn.Module,
    scheme: Literal["orthogonal", "gaussian", "uniform", "lecun"],
    scale: float,
    *,
    embedding_scale: float | None = None,
    forget_bias: float = 0.0,
) -> None:
    """Initialise every parameter; biases are zero, but `forget_bias` in the forget gates of LSTM layers.

    uniform:    U(-scale, scale) (Sutskever et al. 2014, section 3.4; Luong et al. 2015, section 4.1)
    gaussian:   N(0, scale^2)
    orthogonal: N(0, scale^2), recurrent matrices orthogonal, W_a and U_a N(0, (scale / 10)^2), v_a zero, so that
                attention starts exactly uniform (Cho et al. 2014, section 4.1; Bahdanau et al. 2015, B.1: 0.01, 0.001)
    lecun:      linear layers U(+-g sqrt(3 / n_in)) with a gain g of 1, which keeps the variance of activations, or of
                `LSTM_GAIN` for the inputs of LSTM layers; recurrent matrices orthogonal, everything else N(0, scale^2)

    With `embedding_scale`, embeddings are N(0, embedding_scale^2) under every scheme, and so is an output matrix that
    is theirs. The trained length of v_a in the normed score starts at 1 / sqrt(A).
    """
    recurrent = {
        linear for cell in model.modules() if isinstance(cell, GRU | LSTM | TanhCell) for linear in cell.children()
    }
    layers = [module for module in model.modules() if isinstance(module, RecurrentLayer)]
    lstm_inputs = {layer.inputs for layer in layers if isinstance(layer.cell, LSTM)}
    with torch.no_grad():
        for parameter in model.parameters():
            if scheme == "uniform":
                parameter.uniform_(-scale, scale)
            else:
                parameter.normal_(0, scale)
        for module in model.modules():
            if isinstance(module, nn.Embedding) and embedding_scale is not None:
                module.weight.normal_(0, embedding_scale)
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
            if isinstance(module, Linear) and scheme in ("orthogonal", "lecun"):
                gain = LSTM_GAIN if module in lstm_inputs else 1.0
                _fill(module, orthogonal=module in recurrent, gain=gain if scheme == "lecun" else None)
            if isinstance(module, Additive):
                _fill_additive(module, scale if scheme == "orthogonal" else None)
        for name, parameter in model.named_parameters():
            if name.rpartition(".")[2] == "bias":
                parameter.zero_()
        for layer in layers:
            if isinstance(layer.cell, LSTM) and layer.inputs.bias is not None:
                layer.inputs.bias[..., layer.cell.size : 2 * layer.cell.size] = forget_bias  # [.., 4H]: i, f, o, g


def _fill_additive(score: Additive, scale: float | None) -> None:
    """Initialise a score as the papers say for their scale; without one, the filled projections and v_a stay."""
    if scale is not None:
        for projection in (score.query, score.annotation):
            if projection is not None:
                projection.weight.normal_(0, scale / 10)
        if score.length is None:  # a normed v needs a direction, which zero has not
            score.v.zero_()
    if score.length is not None:
        score.length.fill_(1 / math.sqrt(len(score.v)))


def _fill(module: Linear, *, orthogonal: bool, gain: float | None) -> None:
    """Initialise a linear layer; recurrent matrices block by block, so that each gate's [H, H] is orthogonal.

    Other matrices stay as they are, or with a gain keep the variance of their inputs times its square.
    """
    n_in = module.weight.shape[-1]
    for matrix in module.weight.view(-1, *module.weight.shape[-2:]):
        if orthogonal:
            for block in matrix.split(n_in):
                nn.init.orthogonal_(block)
        elif gain is not None:
            bound = gain * math.sqrt(3 / n_in)
            matrix.uniform_(-bound, bound)
