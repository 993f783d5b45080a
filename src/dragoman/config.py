"""The configuration of a run: one frozen tree, checked whole before anything is built.

Every default is written here and nowhere else; presets are YAML files over these defaults, and what is
saved beside the weights is the complete tree. Section and equation numbers name the paper a value is from.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dragoman.errors import ConfigError

FORMAT = 1
"""Version of the configuration and of the run folder around it; a reader refuses a newer one."""


class Section(BaseModel):
    """A part of the configuration: immutable, unknown keys refused, numbers not taken from strings."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SideConfig(Section):
    """How the lines of one language become segments."""

    language: str = Field("en", description="ISO 639-1 code; word segmentation needs it to tokenise and detokenise")
    segmentation: Literal["bpe", "unigram", "words", "characters"] = Field(
        "bpe", description="bpe and unigram are SentencePiece models trained on the training text"
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


class EncoderConfig(Section):
    """Source words to annotations."""

    cell: Literal["gru", "lstm"] = "gru"
    reset: Literal["before", "after"] = Field(
        "before", description="GRU: reset gate before U (Cho 2014 eq. 8, Bahdanau 2015 A.1.1) or after"
    )
    update: Literal["keep", "write"] = Field(
        "write", description="GRU: z keeps the old state (Cho 2014) or writes the new one (Bahdanau 2015)"
    )
    layers: int = Field(1, ge=1)
    size: int = Field(512, ge=1, description="units of each direction in each layer")
    direction: Literal["forward", "reversed", "both"] = "both"


class BridgeConfig(Section):
    """The first decoder state."""

    kind: Literal["zero", "copy", "tanh-last", "tanh-backward", "mean"] = Field(
        "tanh-backward",
        description="zero; copy every layer's last state (Sutskever 2014, Luong 2015); tanh(W h_last); "
        "tanh(W_s backward h_1) (Bahdanau 2015 A.2.2); tanh(W mean annotation)",
    )


class DecoderConfig(Section):
    """The recurrent part that writes the target."""

    cell: Literal["gru", "lstm"] = "gru"
    reset: Literal["before", "after"] = "before"
    update: Literal["keep", "write"] = "write"
    layers: int = Field(1, ge=1)
    size: int = Field(512, ge=1)
    context: Literal["none", "attended"] = "attended"
    order: Literal["look-then-update", "update-then-look"] = Field(
        "look-then-update",
        description="attend with the previous state, then update (Bahdanau 2015); or update, then attend with the "
        "current state (Luong 2015)",
    )
    input_feeding: bool = Field(False, description="the previous readout joins the input (Luong 2015 section 3.3)")
    first_word: Literal["zero", "symbol"] = Field(
        "symbol", description="what the first step reads: a zero vector (Cho 2014, Bahdanau 2015) or a learnt symbol"
    )


class AttentionConfig(Section):
    """Alignment weights over the annotations."""

    score: Literal["additive", "dot", "general"] = "additive"
    size: int = Field(512, ge=1, description="rows of W_a and U_a in the additive score (n' in Bahdanau 2015 A.2.2)")
    aligned_word: Literal["predicted", "read"] = Field(
        "predicted",
        description="which target word a step's weights align: the one it predicts (Bahdanau 2015), or the one it has "
        "just read (Luong 2015 section 4.4, footnote, for content-based scores)",
    )


class ReadoutConfig(Section):
    """What feeds the softmax."""

    kind: Literal["linear", "maxout", "attentional"] = Field(
        "maxout",
        description="linear: the state itself; maxout: deep output over state, previous word and context (Bahdanau "
        "2015 A.2.2); attentional: tanh(W_c [c; h]) (Luong 2015 eq. 5)",
    )
    size: int = Field(256, ge=1, description="maxout units, or size of the attentional vector")


class DropoutConfig(Section):
    """Probability of zeroing a unit, by place; only vertical connections (Zaremba et al. 2014)."""

    embedding: float = Field(0.0, ge=0, lt=1, description="word vectors, both sides")
    layers: float = Field(0.0, ge=0, lt=1, description="what enters each recurrent layer above the first")
    annotations: float = Field(0.0, ge=0, lt=1, description="encoder output")
    readout: float = Field(0.0, ge=0, lt=1, description="what enters the softmax")
    words: float = Field(0.0, ge=0, lt=1, description="whole words: the vector of a word becomes zero, both sides")


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
    initial: Literal["orthogonal", "uniform", "scaled"] = Field(
        "orthogonal",
        description="orthogonal recurrent matrices and N(0, spread^2) elsewhere, W_a and U_a N(0, 0.001^2), v_a zero "
        "(Bahdanau 2015 B.1); U(-spread, spread) everywhere (Sutskever 2014, Luong 2015); scaled: U(+-sqrt(3 / n_in)) "
        "with orthogonal recurrent matrices and embeddings N(0, spread^2)",
    )
    spread: float = Field(0.01, gt=0)

    @model_validator(mode="after")
    def _parts_fit(self) -> ModelConfig:
        check_parts(self)
        return self


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

    @model_validator(mode="after")
    def _decay_has_a_use(self) -> OptimiserConfig:
        if self.weight_decay and self.name != "adamw":
            raise ValueError(
                f"training.optimiser.weight_decay: {self.name} has none; use training.optimiser.name: adamw, or 0"
            )
        return self


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
    loss: Literal["token", "sentence"] = Field(
        "token", description="what the summed loss is divided by; the papers' SGD divides by sentences"
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    precision: Literal["fp32", "bf16", "auto"] = Field(
        "auto", description="bf16: products in bfloat16, master weights and softmax in float32; auto: bf16 where faster"
    )
    average: float = Field(0.0, ge=0, lt=1, description="decay of the running average of weights; 0: none")
    optimiser: OptimiserConfig = Field(default_factory=OptimiserConfig)
    schedule: ScheduleConfig = Field(default_factory=ScheduleConfig)
    batch: BatchConfig = Field(default_factory=BatchConfig)
    validation: ValidationConfig = Field(default_factory=ValidationConfig)
    log_every: int = Field(50, ge=1, description="updates between lines of the log")
    checkpoint_minutes: float = Field(5.0, gt=0, description="minutes between saved training states")


class SearchConfig(Section):
    """How a translation is looked for; the defaults of `translate`."""

    beam: int = Field(5, ge=1)
    normalisation: Literal["none", "mean", "gnmt"] = Field(
        "mean", description="none; log-probability / length (Cho 2014b); Wu et al. 2016 eq. 14"
    )
    alpha: float = Field(0.6, ge=0, description="gnmt: exponent of the length")
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


class Config(Section):
    """Everything a run is made of."""

    format: int = FORMAT
    preset: str = Field("", description="the preset this configuration began with")
    text: TextConfig = Field(default_factory=TextConfig)
    cleaning: CleaningConfig = Field(default_factory=CleaningConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    search: SearchConfig = Field(default_factory=SearchConfig)

    @model_validator(mode="after")
    def _text_fits(self) -> Config:
        if self.model.embedding.tied == "all" and not self.text.joint:
            raise ValueError("model.embedding.tied: all needs text.joint: true, because one matrix serves both sides")
        return self


def check_parts(model: ModelConfig) -> None:
    """Refuse combinations of parts that cannot be built; each message names the keys and the way out.

    Raises:
        ValueError: pydantic turns it into a ConfigError through `_readable`.
    """
    decoder, encoder, bridge = model.decoder, model.encoder, model.bridge
    attended = decoder.context == "attended"
    if bridge.kind == "copy":
        states = 2 if encoder.direction == "both" else 1
        if (encoder.cell, encoder.layers, encoder.size * states) != (decoder.cell, decoder.layers, decoder.size):
            raise ValueError(
                "model.bridge.kind: copy hands every layer's state over as it is, so encoder and decoder need the same "
                f"cell, layers and size (encoder: {encoder.cell}, {encoder.layers}, {encoder.size * states} over "
                f"{encoder.direction}; decoder: {decoder.cell}, {decoder.layers}, {decoder.size})"
            )
    if bridge.kind == "tanh-backward" and encoder.direction == "forward":
        raise ValueError(
            "model.bridge.kind: tanh-backward needs backward states, and model.encoder.direction: forward has "
            "none; use both or reversed, or bridge tanh-last"
        )
    if attended and model.attention.score == "dot":
        width = encoder.size * (2 if encoder.direction == "both" else 1)
        if width != decoder.size:
            raise ValueError(
                f"model.attention.score: dot multiplies states of {decoder.size} with annotations of {width}; make the "
                "sizes equal or use general"
            )
    if model.readout.kind == "attentional" and not attended:
        raise ValueError("model.readout.kind: attentional needs model.decoder.context: attended")
    if model.readout.kind == "linear" and attended and decoder.order == "update-then-look":
        raise ValueError(
            "model.readout.kind: linear would ignore what update-then-look attends to; use attentional or maxout"
        )
    width = decoder.size if model.readout.kind == "linear" else model.readout.size
    if model.embedding.tied != "none" and width != model.embedding.target:
        raise ValueError(
            f"model.embedding.tied: {model.embedding.tied} makes the target embedding the output matrix, so readout "
            f"({width}) must be as wide as model.embedding.target ({model.embedding.target})"
        )
    if model.embedding.tied == "all" and model.embedding.source != model.embedding.target:
        raise ValueError("model.embedding.tied: all needs model.embedding.source equal to model.embedding.target")


def preset_names() -> list[str]:
    """The names of the presets that come with the package, sorted."""
    folder = resources.files("dragoman") / "presets"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def preset_text(name: str) -> str:
    """The YAML of a preset with its comments.

    Raises:
        ConfigError: there is no preset of that name.
    """
    names = preset_names()
    if name not in names:
        raise ConfigError(f"no preset named {name!r}{_did_you_mean(name, names)}; presets: {', '.join(names)}")
    return (resources.files("dragoman") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")


def load_preset(name: str) -> Config:
    """A preset as a complete configuration.

    Raises:
        ConfigError: there is no preset of that name.
    """
    return _build({**_parse(preset_text(name), f"preset {name}"), "preset": name}, f"preset {name}")


def load_config(path: Path, base: Config | None = None) -> Config:
    """A configuration file, over the defaults or over `base`.

    Raises:
        ConfigError: unreadable, not YAML, an unknown key, a value of the wrong type or range, a newer format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{path}: cannot read the configuration: {reason}") from None
    values = _parse(text, str(path))
    version = values.get("format", FORMAT)
    if isinstance(version, int) and version > FORMAT:
        raise ConfigError(
            f"{path}: configuration format {version} is newer than this version of dragoman reads ({FORMAT}); "
            "upgrade dragoman"
        )
    preset = values.get("preset")
    if (
        base is None
        and isinstance(preset, str)
        and preset in preset_names()
        and set(values) != set(Config.model_fields)
    ):
        base = load_preset(preset)
    if base is not None:
        values = _merged(base.model_dump(), values, str(path), Config)
    return _build(values, str(path))


def override(config: Config, assignments: Sequence[str]) -> Config:
    """The configuration with `key=value` assignments applied; keys are dotted, values are YAML.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value of the wrong type or range.
    """
    values = config.model_dump()
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: write key=value, for example training.epochs=10")
        *path, last = key.strip().split(".")
        section, model = values, cast("type[BaseModel] | None", Config)
        for depth, name in enumerate([*path, last]):
            if model is None or name not in model.model_fields:
                known = _dotted_keys(Config)
                near = _did_you_mean(key.strip(), known) or _did_you_mean(name, [k.rpartition(".")[2] for k in known])
                raise ConfigError(f"--set {assignment}: unknown key {key.strip()!r}{near}")
            if depth < len(path):
                section = section[name]
            model = _section_of(model, name)
        if model is not None:
            raise ConfigError(
                f"--set {assignment}: {key.strip()} is a section; set one of its keys: {', '.join(model.model_fields)}"
            )
        try:
            section[last] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise ConfigError(f"--set {assignment}: {text!r} is not a YAML value") from None
    return _build(values, "--set")


def dump_config(config: Config) -> str:
    """The complete configuration as YAML, each value with the comment that explains it."""
    lines = ["# A dragoman configuration, complete: every default written out."]
    _dump_section(config, 0, lines)
    return "\n".join(lines) + "\n"


def _dump_section(section: BaseModel, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            lines.append(f"{indent}{name}:")
            _dump_section(value, depth + 1, lines)
            continue
        shown = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True, width=10**6)
        entry = f"{indent}{name}: {shown.removesuffix(chr(10)).removesuffix('...').strip()}"
        notes = [note for note in (_choices(field.annotation), field.description) if note]
        lines.append(f"{entry:<34}  # {'; '.join(notes)}" if notes else entry)


def _choices(annotation: Any) -> str:
    options = get_args(annotation)
    return " | ".join(options) if options and all(isinstance(option, str) for option in options) else ""


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{line}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: a configuration is a mapping of keys to values, not {type(values).__name__}")
    return values


def _merged(base: dict[str, Any], values: Mapping[str, Any], where: str, model: type[BaseModel]) -> dict[str, Any]:
    """`values` over `base`, section by section; keys are checked when the whole is built."""
    merged = dict(base)
    for name, value in values.items():
        section = _section_of(model, name) if name in model.model_fields else None
        merged[name] = _merged(base[name], value, where, section) if section and isinstance(value, dict) else value
    return merged


def _build(values: Mapping[str, Any], where: str) -> Config:
    try:
        return Config.model_validate(_relaxed(values, Config))
    except ValidationError as error:
        raise ConfigError(f"{where}: {_readable(error)}") from None


def _relaxed(values: Any, model: type[BaseModel]) -> Any:
    """Whole numbers where a fraction is meant, and lists where a tuple is: YAML has no other way to write them."""
    if not isinstance(values, Mapping):
        return values
    result = {}
    for name, value in values.items():
        field = model.model_fields.get(name) if isinstance(name, str) else None
        section = _section_of(model, name) if field else None
        if section:
            value = _relaxed(value, section)
        elif isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str) and field and field.annotation in (float, float | None):
            value = _number(value)
        result[name] = value
    return result


def _number(text: str) -> float | str:
    """YAML 1.1 reads 1e-3 as a string, people write it as a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _readable(error: ValidationError) -> str:
    """The first problem of a validation in one line: key, value, what is allowed."""
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _dotted_keys(Config)
        leaf = [name.rpartition(".")[2] for name in known]
        return f"unknown key {key!r}{_did_you_mean(key, known) or _did_you_mean(str(problem['loc'][-1]), leaf)}"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    message = problem["msg"][0].lower() + problem["msg"][1:]
    hint = _did_you_mean(str(problem["input"]), _allowed(problem["loc"])) if problem["type"] == "literal_error" else ""
    return f"{key}: {message}, not {problem['input']!r}{hint}"


def _allowed(location: Iterable[int | str]) -> list[str]:
    annotation: Any = Config
    for part in location:
        annotation = annotation.model_fields[part].annotation if hasattr(annotation, "model_fields") else annotation
    return [option for option in get_args(annotation) if isinstance(option, str)]


def _section_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    annotation = model.model_fields[name].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _dotted_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    keys = []
    for name in model.model_fields:
        section = _section_of(model, name)
        keys += _dotted_keys(section, f"{prefix}{name}.") if section else [f"{prefix}{name}"]
    return keys


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""
