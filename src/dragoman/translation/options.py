"""The options of a translation, for the command line and for Python: what they are, and which exclude each other.

Their values, defaults and descriptions are those of `SearchConfig` and `Sampling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from dragoman.config.building import validated
from dragoman.config.sampling import Sampling
from dragoman.config.schema import BeamFinish, LengthNormalisation, SearchConfig
from dragoman.config.section import keys_of
from dragoman.corpora.pairs import GivenCorpora
from dragoman.errors import ConfigError, OptionError, did_you_mean
from dragoman.requests.shared import refuse
from dragoman.requests.translation import SAMPLING_RULES, UNKNOWN_RULES, UnknownRule
from dragoman.systems import MAX_THREADS

if TYPE_CHECKING:
    from dragoman.translation_memory.memory import Memory


class TranslationOptions(TypedDict, total=False):
    """Keyword arguments of `Translator.translate` and `Translator.with_options`.

    Each has the name of an option of `dragoman translate`; what is left out stays as it is.
    """

    beam: int
    normalisation: LengthNormalisation
    alpha: float
    word_penalty: float
    coverage_penalty: float
    finish: BeamFinish
    max_length_factor: float
    max_length_extra: int
    min_length_factor: float
    block_unknown: bool
    no_repeat_ngram: int
    search_again: bool
    diversity: float

    sample: bool
    """Sample translations instead of searching for the best."""
    temperature: float
    top_k: int | None
    top_p: float | None
    distinct: bool
    seed: int

    ban: Iterable[str]
    """Words and phrases that are never produced."""
    glossary: str | Path | Mapping[str, str]
    """A glossary file, or source terms with the translations that must appear where they occur."""
    memory: str | Path | GivenCorpora | Mapping[str, str] | Memory
    """A translation memory: a file of pairs, corpora, sources with their translations, or one that was made before."""
    replace_unk: bool
    """Replace unknown words by the dictionary translation or a copy of the aligned source word."""
    dictionary: str | Path | Mapping[str, str]
    """A dictionary file, or source words with their translations."""
    unk_rule: UnknownRule

    threads: int
    """CPU threads of a translation."""


OPTIONS = tuple(TranslationOptions.__annotations__)


ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "n_best": ("nbest", "num_hypotheses", "num_return_sequences", "num_outputs"),
    "beam": ("num_beams", "beam_size", "beam_width", "beams"),
    "alpha": ("length_penalty", "lenpen"),
    "max_length_factor": ("max_length", "max_len", "max_new_tokens", "max_decoding_length"),
    "min_length_factor": ("min_length", "min_len", "min_decoding_length"),
    "no_repeat_ngram": ("no_repeat_ngram_size", "block_ngram_repeat"),
    "sample": ("do_sample", "sampling"),
    "temperature": ("sampling_temperature",),
    "top_k": ("sampling_topk", "topk"),
    "top_p": ("sampling_topp", "topp"),
    "seed": ("random_seed",),
    "ban": ("bad_words", "bad_words_ids", "suppress_sequences"),
    "prefix": ("target_prefix", "forced_prefix"),
    "constraints": ("force_words", "force_words_ids"),
    "replace_unk": ("replace_unknowns", "replace_unknown"),
    "threads": ("num_threads", "intra_threads", "inter_threads", "num_workers"),
}
"""Our names, and the names of other toolkits for nearly the same; for error messages only."""

BATCHES = ("batch_size", "max_batch_size", "batch_type", "batch")
"""What other toolkits call the size of a batch, which is not an option here."""


def require_known(options: Iterable[str], function: str, more: Sequence[str] = ()) -> None:
    """Raise TypeError, as Python does, for an option that does not exist; with the one of ours that is meant.

    `more` are the arguments of the function that are not options.
    """
    known = (*OPTIONS, *more)
    for name in options:
        if name in OPTIONS:
            continue
        if name in BATCHES:
            raise TypeError(
                f"{function}() has no argument {name!r}: lines are sorted and batched by themselves; give all lines at "
                "once, or a stream to translate_lines"
            )
        meant = next((ours for ours, theirs in ELSEWHERE.items() if name in theirs and ours in known), None)
        hint = f" (did you mean {meant}?)" if meant else did_you_mean(name, known)
        raise TypeError(f"{function}() has no argument {name!r}{hint}")


def require_threads(threads: int | None) -> None:
    """Refuse a number of threads that is not from 1 to `MAX_THREADS`; None is one for each core.

    Raises:
        ConfigError: it is not.
    """
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= MAX_THREADS):
        raise ConfigError(f"threads is {threads!r}, but must be a whole number from 1 to {MAX_THREADS:,}")


def require_consistent(options: Mapping[str, Any], *, samples: bool, replaces: bool) -> None:
    """Refuse options that have no effect.

    Args:
        options: those that are given, by name.
        samples, replaces: whether translations are sampled, and unknown words replaced.

    Raises:
        OptionError: the message names the option.
    """
    refuse((*SAMPLING_RULES, *UNKNOWN_RULES), {**options, "sample": samples, "replace_unk": replaces})


def require_attention(options: Mapping[str, Any], model: str = "the model") -> None:
    """Refuse what a model without attention cannot do.

    Args:
        options: those that are given, by name.
        model: what the message calls the model.

    Raises:
        OptionError: the message names the option.
    """
    for name in ("alignments", "attention", "replace_unk", "coverage_penalty"):
        if options.get(name):
            raise OptionError("{option} requires attention, and {values[model]} has none", name, {"model": model})


def changed_search(search: SearchConfig, options: Mapping[str, Any]) -> SearchConfig:
    """The search settings, changed by the options.

    Raises:
        ConfigError: a value of the wrong type or range, or an option that has no effect under the others.
    """
    given = {name: options[name] for name in keys_of(SearchConfig) if name in options}
    if not given:
        return search
    changed = validated({**search.values(), **given}, "search", SearchConfig, lambda config: None)
    if "alpha" in given and changed.normalisation not in ("gnmt", "power"):
        raise OptionError("{option} requires {normalisation} gnmt or power", "alpha")
    return changed


def changed_sampling(sampling: Sampling | None, options: Mapping[str, Any]) -> Sampling | None:
    """The settings of sampling, changed by the options; None where translations are searched for.

    Raises:
        ConfigError: a value of the wrong type or range.
    """
    if not options.get("sample", sampling is not None):
        return None
    given = {name: options[name] for name in keys_of(Sampling) if name in options}
    before = {} if sampling is None else sampling.values()
    return validated({**before, **given}, "sampling", Sampling, lambda config: None)
