"""Translation of raw lines: they are prepared, searched for in batches of similar length, and detokenised.

There is one result for each line, in the order of the lines, and memory does not grow with their number. Of a line that
is too long for a model only the first `MAX_SEGMENTS` segments are translated, with one warning.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count, repeat, zip_longest
from typing import Self, Unpack, overload

import numpy as np

from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.config.section import LARGEST_BEAM
from dragoman.engines.protocol import Engine, ShortlistEngine
from dragoman.errors import ConfigError
from dragoman.search.beam import beam_search
from dragoman.search.constraints import BatchConstraints, IdConstraints
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import ROUNDS, draw_until_different, sample
from dragoman.text.items import MOST
from dragoman.text.raw_lines import is_blank
from dragoman.text.side import TextSide
from dragoman.translation.completion import CompletionPrefixes, next_word
from dragoman.translation.confidence import ConfidenceModel
from dragoman.translation.detokenisation import Detokeniser, unchanged_translation, unsearched_translation
from dragoman.translation.ensemble import Ensemble
from dragoman.translation.glossary import make_glossary
from dragoman.translation.length_batching import LengthBatches, WorkerThreads, read_windows
from dragoman.translation.options import (
    TranslationOptions,
    changed_sampling,
    changed_search,
    require_attention,
    require_consistent,
    require_known,
    require_threads,
)
from dragoman.translation.prepared_lines import (
    LinePreparation,
    PreparedLine,
    TextConstraints,
    banned_ids,
    checked_strings,
    text_constraints,
)
from dragoman.translation.result import Translation
from dragoman.translation.second_search import faults, repetition_orders, search_without_repetition
from dragoman.translation.source_encoding import ModelSourceEncoder
from dragoman.translation.unknown_words import UnknownWordReplacer, changed_replacer

log = logging.getLogger(__name__)

_Search = Callable[[Sequence[PreparedLine], SearchConfig], list[list[Translation]]]

MAX_ROWS = 320
"""Rows of a batch in search: sentences times the beam, or times the samples of each."""
GRID = 8
"""With phrase constraints a sentence has a beam for each number of their segments; this many are allowed for."""


class Translator:
    """A model and the text sides that belong to it; `dragoman.load` makes one.

    It searches with a beam (Sutskever et al. 2014, section 3.2) as its `SearchConfig` says, or samples. Raw lines go
    in, raw lines come out: it segments, truncates lines of more than 1,000 segments, and joins words again.

    >>> translator = dragoman.load("RUN")
    >>> translator.translate("ab c").text
    'AB C'
    """

    def __init__(
        self,
        engine: Engine,
        source: TextSide,
        target: TextSide,
        search: SearchConfig,
        sampling: Sampling | None = None,
        *,
        banned: Iterable[str] = (),
        unknown: UnknownWordReplacer | None = None,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        """With `sampling`, translations are drawn instead of searched, `n_best` of them for each line.

        `banned` words and phrases are never produced, as `target` segments them; `unknown` replaces unknown words;
        `confidence` says how far translations can be trusted.

        Raises:
            ConfigError: a banned word is unknown to the model.
        """
        assert engine.vocabulary_size == len(target.vocabulary)
        encoder = ModelSourceEncoder(engine, source)
        self._source = source
        self._search = search
        self._sampling = sampling
        self._lines = LinePreparation(encoder, target, _all_banned(target, banned))
        self._detokeniser = Detokeniser(encoder, target, unknown, confidence)
        self._threads: int | None = None
        self._warned_of_few_samples = self._warned_of_many_items = False

    @classmethod
    def of_ensemble(
        cls,
        ensemble: Ensemble,
        target: TextSide,
        search: SearchConfig,
        sampling: Sampling | None = None,
        *,
        banned: Iterable[str] = (),
        unknown: UnknownWordReplacer | None = None,
    ) -> Self:
        """The translator of several models, which have one `target` side; `dragoman.load` of several runs makes one.

        Args:
            ensemble: the models with their source sides, and how their answers are combined.
            target: the target side of all of them.
            search, sampling, banned, unknown: as for `Translator`.

        Raises:
            ConfigError: a banned word is unknown to the models.

        >>> dragoman.load("RUN", "RUN", combine="logits").translate("ab c").text
        'AB C'
        """
        engine, source = ensemble.members[0].engine, ensemble.sources[0]
        translator = cls(engine, source, target, search, sampling, banned=banned, unknown=unknown)
        translator._lines = replace(translator._lines, encoder=ensemble)
        translator._detokeniser = replace(translator._detokeniser, encoder=ensemble)
        return translator

    @property
    def search(self) -> SearchConfig:
        """How it searches."""
        return self._search

    @property
    def attends(self) -> bool:
        """Whether the model has attention; of an ensemble, whether one of them has."""
        return self._lines.encoder.attends

    def with_options(self, **options: Unpack[TranslationOptions]) -> Self:
        """The same model with other options, named as those of `dragoman translate`.

        Args:
            options: search options (`dragoman.SearchConfig` says what each does): `beam`, `normalisation`, `alpha`,
                `word_penalty`, `coverage_penalty`, `finish`, `max_length_factor`, `max_length_extra`,
                `min_length_factor`, `block_unknown`, `no_repeat_ngram`, `search_again`, `diversity`. Sampling instead
                of search: `sample=True`, with `temperature`, `top_k`, `top_p`, `distinct`, `seed`. `ban`: words and
                phrases that are never produced. `glossary`: a file or a mapping of source terms to the translations
                that must appear where they occur (see `translation.glossary`). `memory`: a translation memory, as a
                file of pairs, as corpora as `read_pairs` takes them, or as a mapping of sources to translations; a
                line that is one of the sources gets its translation, unless it has a prefix or constraints. What is
                like other lines is in `Translation.memory_matches`. `replace_unk=True` replaces unknown
                words, by `unk_rule` ("copy", "dictionary" or "lowercase-dictionary") and `dictionary`, a file or a
                mapping of source words to target words. `threads`: CPU threads, in place of those of `load`.

        Returns:
            another translator; this one stays as it is, and the model is in memory once.

        Raises:
            TypeError: an option does not exist.
            ConfigError: a value of the wrong type or range, an option that has no effect under the others or requires
                attention that the model lacks, a banned word that is unknown to the model, a glossary with samples.
            InputError: the dictionary, the glossary or the memory cannot be read, or a translation of the glossary is
                unknown to the model or banned.

        >>> greedy = dragoman.load("RUN").with_options(beam=1, ban=["C"])
        >>> [best.text for [best] in greedy.translate_lines(["ab", "d"])]
        ['AB', 'D']
        """
        require_known(options, "with_options")
        require_threads(options.get("threads"))
        sampling = changed_sampling(self._sampling, options)
        replaces = options.get("replace_unk", self._detokeniser.unknown is not None)
        require_consistent(options, samples=sampling is not None, replaces=replaces)
        if not self.attends:
            require_attention(options)
        changed = copy.copy(self)
        changed._search, changed._sampling = changed_search(self._search, options), sampling
        changed._threads = options.get("threads", self._threads)
        unknown = changed_replacer(self._detokeniser.unknown, options) if replaces else None
        changed._detokeniser = replace(self._detokeniser, unknown=unknown)
        banned, glossary = self._lines.banned, self._lines.glossary
        if "ban" in options:
            if isinstance(options["ban"], str):
                raise TypeError(f"ban is one string, {options['ban']!r}; give a list of words or phrases")
            banned = _all_banned(self._lines.target, options["ban"])
        if "glossary" in options:
            glossary = make_glossary(options["glossary"], self._source)
        if glossary is not None and sampling is not None:
            raise ConfigError("glossary requires beam search; leave sample out")
        memory = self._lines.memory
        if "memory" in options:
            from dragoman.translation_memory.memory import make_memory

            memory = make_memory(options["memory"], self._source.formed)
        changed._lines = replace(self._lines, banned=banned, glossary=glossary, memory=memory)
        return changed

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is an iterable of strings; the first match counts
        self,
        text: str,
        *,
        n_best: None = None,
        prefix: str | None = None,
        constraints: Iterable[str] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> Translation: ...
    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        text: str,
        *,
        n_best: int,
        prefix: str | None = None,
        constraints: Iterable[str] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> list[Translation]: ...
    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        n_best: None = None,
        prefix: Iterable[str] | None = None,
        constraints: Iterable[Iterable[str]] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> list[Translation]: ...
    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        n_best: int,
        prefix: Iterable[str] | None = None,
        constraints: Iterable[Iterable[str]] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> list[list[Translation]]: ...
    def translate(
        self,
        text: str | Iterable[str],
        *,
        n_best: int | None = None,
        prefix: str | Iterable[str] | None = None,
        constraints: Iterable[str] | Iterable[Iterable[str]] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> Translation | list[Translation] | list[list[Translation]]:
        """Translate a line, or several lines; `translate_lines` does the same for a stream of any length.

        A translator can also be called: `translator(text)` is `translator.translate(text)`.

        Args:
            text: a string is one line, whatever it holds; an iterable of strings is several.
            n_best: how many translations of each line, at most; None for the best alone. No text comes twice.
            prefix: what the translation begins with; for several lines one for each, "" for none.
            constraints: words and phrases that the translation must contain; for several lines a list for each.
            options: see `with_options`.

        Returns:
            of a string a `Translation`, of several lines a list with one for each; with `n_best` a list of
            translations, best first, in the place of each.

        Raises:
            TypeError: an option does not exist, `text` or a line is not a string, or one string is given where several
                are expected.
            ConfigError, InputError: as for `with_options` and `translate_lines`.
            RunError: the model's log-probabilities are NaN.

        >>> translator = dragoman.load("RUN")
        >>> best = translator.translate("ab c")
        >>> best.text, best.alignment
        ('AB C', [(0, 0), (1, 1)])
        >>> [each.text for each in translator.translate(["ab c", "de"])]
        ['AB C', 'DE']
        >>> len(translator.translate("ab c", n_best=3, beam=5))
        3
        >>> translator.translate("ab c", prefix="D", constraints=["F"]).text.startswith("D")
        True
        """
        require_known(options, "translate", ("n_best", "prefix", "constraints"))
        translator = self.with_options(**options) if options else self
        if constraints is not None and translator._sampling is not None:
            raise ConfigError("constraints requires beam search; leave sample out")
        one = isinstance(text, str)
        lines, required = text_constraints(text, prefix, constraints)
        n_best_lists = list(translator.translate_lines(lines, 1 if n_best is None else n_best, constraints=required))
        if n_best is not None:
            return n_best_lists[0] if one else n_best_lists
        return n_best_lists[0][0] if one else [translations[0] for translations in n_best_lists]

    __call__ = translate

    def translate_lines(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        *,
        constraints: Iterable[TextConstraints] | None = None,
        origins: Iterable[str] | None = None,
        read_ahead: int | None = None,
        paused: Callable[[], bool] | None = None,
    ) -> Iterator[list[Translation]]:
        """A stream: for each line its translations, best first (samples: in the order drawn).

        There are `n_best` of them, fewer if fewer hypotheses finished or some have the same text, of which the best is
        kept (samples may repeat), never none; a blank line has one, which is blank, and a line that is in the memory
        one, which is the translation there. `constraints`, if any, has one entry for each line. `origins` has what
        messages call each line, and is read after the line (None: "line 1" and so on). Lines are read ahead by a window
        of `read_ahead` lines (None: see length_batching.py), fewer where `paused` says that the next line would have to
        be waited for.

        Raises:
            TypeError: `lines` is one string, or a line is not a string.
            ConfigError: `n_best` is not from 1 to the beam (samples: to 1,000); a coverage penalty for a model without
                attention.
            InputError: there are more or fewer constraints than lines, or one that the model cannot meet.
            RunError: the model's log-probabilities are NaN.

        >>> translator = dragoman.load("RUN")
        >>> with open("test.low") as lines:
        ...     len([n_best[0].text for n_best in translator.translate_lines(lines, n_best=2)])
        20
        """
        if isinstance(lines, str):
            raise TypeError("translate_lines takes an iterable of lines, not one string; use translate(text)")
        if not isinstance(lines, Iterable):
            raise TypeError(f"translate_lines takes an iterable of lines, not {type(lines).__name__}")
        if not 1 <= n_best <= LARGEST_BEAM:
            raise ConfigError(f"n-best is {n_best}, but must be from 1 to {LARGEST_BEAM:,}")
        if self._sampling is None and n_best > self._search.beam:
            raise ConfigError(
                f"n-best is {n_best}, but a beam of {self._search.beam} keeps no more than {self._search.beam} "
                f"translations; set the beam to {n_best} or more"
            )
        return self._translate_stream(lines, n_best, constraints, origins, read_ahead, paused)

    def complete(self, text: str, prefix: str, count: int = 5) -> list[Translation]:
        """Up to `count` translations that begin with `prefix` and go on with different words.

        They are the best for each of the most probable next segments, sorted by score. A word at the end of the prefix
        may be unfinished: "the ca" goes on as "the cat" and "the camera". A translation may also end with the prefix.

        Args:
            text: the source; one line.
            prefix: the beginning of the translation.
            count: how many translations.

        Returns:
            translations with different words after the prefix; none for a blank line.

        Raises:
            ConfigError: `count` is not positive.
            RunError: the model's log-probabilities are NaN.

        >>> [each.text for each in dragoman.load("RUN").complete("ab c", "A", count=1)]
        ['AB C']
        """
        if count < 1:
            raise ConfigError(f"count is {count}, but must be at least 1")
        line = self._lines.prepare(0, text, TextConstraints(prefix), "line 1")
        if not line.source.segments:
            return []
        translate = partial(self._translations, n_best=1, full_vocabulary=True)
        by_word: dict[str, Translation] = {}
        beginnings = CompletionPrefixes(self._lines.encoder, self._lines.target, self._search, self._lines.banned)
        tried = beginnings.prefixes(line, line.begun, count)
        for start in range(0, len(tried), count):
            prefixes = tried[start : start + count]
            wanted = line.constraints.placeholders
            lines = [line._replace(constraints=IdConstraints(ids, (), wanted)) for ids in prefixes]
            translations = translate(lines, self._search)
            self._search_with_all_items(lines, translations, translate)
            for [translation] in translations:
                word = next_word(translation.text, prefix)
                if word not in by_word or translation.score > by_word[word].score:
                    by_word[word] = translation
            if sum(one.text.startswith(prefix) for one in by_word.values()) >= count:
                break
        best = sorted(by_word.values(), key=lambda one: -one.score)
        # Detokenisation may have changed the prefix in all of them.
        return ([one for one in best if one.text.startswith(prefix)] or best)[:count]

    def _translate_stream(
        self,
        lines: Iterable[str],
        n_best: int,
        constraints: Iterable[TextConstraints] | None,
        origins: Iterable[str] | None,
        read_ahead: int | None,
        paused: Callable[[], bool] | None,
    ) -> Iterator[list[Translation]]:
        constrained = constraints is not None or self._lines.glossary is not None
        rows = (self._search.beam if self._sampling is None else n_best) * (GRID if constrained else 1)
        # A shortlist may lack constrained words; and samples are drawn from the whole vocabulary.
        full_vocabulary = constrained or self._sampling is not None
        lines = checked_strings(lines)
        search_batch = partial(self._translations, n_best=n_best, full_vocabulary=full_vocabulary)
        pairs = zip(lines, repeat(TextConstraints())) if constraints is None else zip_longest(lines, constraints)
        if origins is None:
            origins = (f"line {number}" for number in count(1))

        def translate(lines: Sequence[PreparedLine], search: SearchConfig) -> list[list[Translation]]:
            lengths = [line.source.segments for line in lines]
            batches = LengthBatches(lines, lengths, max(1, MAX_ROWS // rows), threads.workers)
            results = threads.map_for(batches)(partial(search_batch, search=search), batches)
            return batches.restore(list(results))

        windows = read_windows(
            zip(count(), pairs, origins), lambda item: len(item[1][0] or ""), max_items=read_ahead, paused=paused
        )
        for window in windows:
            prepared = [self._lines.prepare(number, *pair, origin) for number, pair, origin in window]
            self._warn_of_many_items(prepared)
            # torch has no threads but those of the process, which others use while the results are taken.
            with self._lines.encoder.threads(self._threads) as workers, WorkerThreads(workers) as threads:
                translations = self._translate_window(prepared, translate)
            yield from translations

    def _translate_window(self, window: Sequence[PreparedLine], translate: _Search) -> list[list[Translation]]:
        """Search for the lines whose translation is not given without a search.

        Second searches are for the lines of the whole window that want one, as few of each batch do.
        """
        given = [self._given(line) for line in window]
        lines = [line for line, translation in zip(window, given, strict=True) if translation is None]
        translations = translate(lines, self._search)
        if self._sampling is None:
            lines = self._search_with_all_items(lines, translations, translate)
            if self._search.search_again:
                self._search_again(lines, translations, translate)
        rest = iter(translations)
        return [next(rest) if translation is None else [translation] for translation in given]

    def _given(self, line: PreparedLine) -> Translation | None:
        """The translation of a line that is in the memory, is blank, or has no letters outside its items.

        Models that have learnt words find none in the last; it stays unless a prefix or phrases are wanted, or the
        training text shows that such lines change.
        """
        if not line.is_searched:
            return unsearched_translation(line)
        wanted = line.constraints.prefix or line.constraints.phrases
        if wanted or not self._source.letterless_stay or line.has_letter:
            return None
        return unchanged_translation(line, self._source)

    def _translations(
        self, lines: Sequence[PreparedLine], search: SearchConfig, *, n_best: int, full_vocabulary: bool
    ) -> list[list[Translation]]:
        """The translations of lines, with different texts unless they are samples that may repeat."""

        def once(lines: Sequence[PreparedLine], first: int = 0) -> list[list[Translation]]:
            n_best_lists = self._search_once(lines, n_best, first, config=search, full_vocabulary=full_vocabulary)
            return [
                [self._detokeniser.translation(line, hypothesis) for hypothesis in hypotheses]
                for line, hypotheses in zip(lines, n_best_lists, strict=True)
            ]

        if self._sampling is None:
            return [_different(translations) for translations in once(lines)]
        if not self._sampling.distinct:
            return once(lines)
        drawn = draw_until_different(
            lambda indices, first: once([lines[index] for index in indices], first),
            lambda translation: translation.text,
            len(lines),
            n_best,
        )
        self._warn_of_few_samples(lines, drawn, n_best)
        return drawn

    def _search_with_all_items(
        self, lines: Sequence[PreparedLine], translations: list[list[Translation]], translate: _Search
    ) -> list[PreparedLine]:
        """Search again for translations that lack items of their lines; the second search requires all items.

        The first search only permits placeholders: most models write them by themselves, and to require them takes
        several times as long. Returns the lines, among which those that were searched again require their items.
        """
        wanted = [index for index, n_best in enumerate(translations) if any(map(lines[index].lacks_items, n_best))]
        lines = [line.with_all_items() if index in wanted else line for index, line in enumerate(lines)]
        wanted.sort(key=lambda index: lines[index].constraints.placeholders)
        while wanted:
            # The beam is kept for each number of items.
            beams = 1 + lines[wanted[-1]].constraints.placeholders
            size = max(1, MAX_ROWS // (beams * self._search.beam))
            part = wanted[-size:]
            del wanted[-size:]
            for index, n_best in zip(part, translate([lines[index] for index in part], self._search), strict=True):
                translations[index] = n_best
        return lines

    def _search_again(
        self, lines: Sequence[PreparedLine], translations: list[list[Translation]], translate: _Search
    ) -> None:
        """Search again for translations that loop or were truncated, and keep the better ones."""
        indices = [index for index, n_best in enumerate(translations) if any(faults(n_best))]
        for order in self._repetition_orders if indices else ():
            search = search_without_repetition(self._search, order, attends=self.attends)
            wanted = [index for index in indices if any(faults(translations[index]))]
            again = translate([lines[index] for index in wanted], search) if wanted else []
            for index, n_best in zip(wanted, again, strict=True):
                translations[index] = min(translations[index], n_best, key=faults)  # the first of equals
        for index in indices:
            translations[index] = [replace(translation, searched_again=True) for translation in translations[index]]

    @cached_property
    def _repetition_orders(self) -> Sequence[int]:
        return repetition_orders(self._lines.target.vocabulary)

    def _search_once(
        self,
        batch: Sequence[PreparedLine],
        n_best: int,
        first: int = 0,
        *,
        config: SearchConfig,
        full_vocabulary: bool,
    ) -> list[list[Hypothesis]]:
        """Search, or draw samples that are numbered from `first`."""
        engine, source, lengths, segments = self._lines.encoder.batch([line.source for line in batch])
        if full_vocabulary and isinstance(engine, ShortlistEngine):
            engine = engine.full_vocabulary()
        if self._sampling is not None:
            batch = [line.with_all_items() for line in batch]
        constraints = [line.constraints for line in batch]
        batch_constraints = BatchConstraints.from_config(
            config,
            engine.vocabulary_size,
            segments,
            constraints,
            self._lines.banned,
            self._lines.target.word_boundaries if any(one.phrases for one in constraints) else None,
            self._lines.target.placeholders,
        )
        if self._sampling is None:
            return beam_search(engine, source, lengths, config, n_best, batch_constraints)
        numbers = np.array([line.number for line in batch], dtype=np.int64)
        return sample(engine, source, lengths, config, self._sampling, numbers, n_best, batch_constraints, first)

    def _warn_of_many_items(self, lines: Sequence[PreparedLine]) -> None:
        for line in lines:
            if len(line.source.items) < MOST or self._warned_of_many_items:
                continue
            if (items := self._source.count_items(line.text)) > MOST:
                log.warning(
                    "%s has %d items such as links or numbers; those after number %d are translated as text "
                    "(reported once)",
                    line.origin,
                    items,
                    MOST,
                )
                self._warned_of_many_items = True

    def _warn_of_few_samples(
        self, batch: Sequence[PreparedLine], drawn: Sequence[Sequence[Translation]], n_best: int
    ) -> None:
        for line, translations in zip(batch, drawn, strict=True):
            if len(translations) < n_best and not self._warned_of_few_samples:
                log.warning(
                    "%s has %d of %d different translations after %d draws (reported once)",
                    line.origin,
                    len(translations),
                    n_best,
                    ROUNDS * n_best,
                )
                self._warned_of_few_samples = True


def _different(translations: Iterable[Translation]) -> list[Translation]:
    """The translations without those whose text an earlier one has: other segments may make the same text."""
    by_text: dict[str, Translation] = {}
    for translation in translations:
        by_text.setdefault(translation.text, translation)
    return list(by_text.values())


def _all_banned(target: TextSide, words: Iterable[str]) -> list[list[int]]:
    return [banned_ids(target, word) for word in words if not is_blank(word)]
