"""Translation of raw lines: segmentation, search in batches of similar length, detokenisation, alignment.

There is one result for each line, in the order of the lines, and memory does not grow with their number. Of a line that
is too long for a model only the first `MAX_SEGMENTS` segments are translated, with one warning.
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat, zip_longest
from typing import NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, segment_weights, surface_spans, word_links
from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine, ShortlistEngine, refuse_nan
from dragoman.errors import ConfigError, InputError
from dragoman.search.beam import beam_search
from dragoman.search.constraints import BatchConstraints, IdConstraints, append_tokens
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import sample
from dragoman.search.stochastic import stochastic_beam_search
from dragoman.text.links import Link
from dragoman.text.side import Encoded, TextSide
from dragoman.text.vocabulary import BOS, EOS, UNK
from dragoman.text.words import is_blank
from dragoman.translation.ensemble import Ensemble
from dragoman.translation.glossary import Glossary, make_glossary
from dragoman.translation.length_batching import LengthBatches, WorkerThreads, read_windows
from dragoman.translation.line_constraints import TextConstraints, text_constraints
from dragoman.translation.options import (
    TranslationOptions,
    changed_sampling,
    changed_search,
    require_consistent,
    require_known,
    require_threads,
)
from dragoman.translation.result import Translation
from dragoman.translation.source_encoding import EncodedLine, ModelSourceEncoder, SourceEncoder
from dragoman.translation.unknown_words import Replacement, UnknownWordReplacer, changed_replacer

MAX_ROWS = 320
"""Rows of a batch in search: sentences times the beam, or times the samples of each."""
GRID = 8
"""With phrase constraints a sentence has a beam for each number of their segments; this many are allowed for."""
MAX_CONTINUATIONS = 200
"""The most probable next segments among which `complete` looks for words."""
log = logging.getLogger(__name__)


class _PreparedLine(NamedTuple):
    """A line and its constraints, segmented."""

    number: int
    """From 0."""
    text: str
    source: EncodedLine
    constraints: IdConstraints
    prefix: list[str]
    """The segments of the forced prefix, those unknown to the model included."""
    phrases: Sequence[str]
    """The phrases that must appear."""


class Translator:
    """A model and the text sides that belong to it; `dragoman.load` makes one.

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
    ) -> None:
        """With `sampling`, translations are drawn instead of searched, `n_best` of them for each line.

        `banned` words and phrases are never produced, as `target` segments them; `unknown` replaces unknown words.

        Raises:
            ConfigError: a banned word is unknown to the model.
        """
        assert engine.vocabulary_size == len(target.vocabulary)
        self._encoder: SourceEncoder = ModelSourceEncoder(engine, source)
        self._target = target
        self._search = search
        self._sampling = sampling
        self._banned = [self._banned_ids(word) for word in banned if not is_blank(word)]
        self._unknown = unknown
        self._source = source
        self._glossary: Glossary | None = None
        self._threads: int | None = None
        self._surfaces: dict[int, str] = {}
        self._warned_of_hidden = False

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
    ) -> Translator:
        """The translator of several models, which have one `target` side."""
        engine, source = ensemble.members[0].engine, ensemble.sources[0]
        translator = cls(engine, source, target, search, sampling, banned=banned, unknown=unknown)
        translator._encoder = ensemble
        return translator

    def with_options(self, **options: Unpack[TranslationOptions]) -> Translator:
        """The same model with other options, which have the names and meanings of those of `dragoman translate`.

        Args:
            options: search options (`dragoman.SearchConfig` says what each does): `beam`, `normalisation`, `alpha`,
                `word_penalty`, `coverage_penalty`, `finish`, `max_length_factor`, `max_length_extra`,
                `min_length_factor`, `block_unknown`, `no_repeat_ngram`, `diversity`. Sampling instead of search:
                `sample=True`, with `temperature`, `top_k`, `top_p`, `distinct`, `seed`. `ban`: words and phrases that
                are never produced. `glossary`: a file or a mapping of source terms to the translations that must appear
                where they occur (see `translation.glossary`). `replace_unk=True` replaces unknown words, by `unk_rule`
                ("copy", "dictionary" or "lowercase-dictionary") and `dictionary`, a file or a mapping of source words
                to target words. `threads`: CPU threads, in place of those of `load`.

        Returns:
            another translator; this one stays as it is, and the model is in memory once.

        Raises:
            TypeError: an option does not exist.
            ConfigError: a value of the wrong type or range, an option that has no effect under the others, a banned
                word that is unknown to the model, a glossary with samples.
            InputError: the dictionary or the glossary cannot be read, or a translation of the latter is unknown to the
                model or banned.

        >>> greedy = dragoman.load("RUN").with_options(beam=1, ban=["C"])
        >>> [best.text for [best] in greedy.translate_lines(["ab", "d"])]
        ['AB', 'D']
        """
        require_known(options, "with_options")
        require_threads(options.get("threads"))
        sampling = changed_sampling(self._sampling, options)
        replaces = options.get("replace_unk", self._unknown is not None)
        require_consistent(options, samples=sampling is not None, replaces=replaces)
        changed = copy.copy(self)
        changed._search, changed._sampling = changed_search(self._search, options), sampling
        changed._unknown = changed_replacer(self._unknown, options) if replaces else None
        changed._threads = options.get("threads", self._threads)
        if "ban" in options:
            if isinstance(options["ban"], str):
                raise TypeError(f"ban is one string, {options['ban']!r}; give a list of words or phrases")
            changed._banned = [self._banned_ids(word) for word in options["ban"] if word.strip()]
        if "glossary" in options:
            changed._glossary = make_glossary(options["glossary"], self._source)
        if changed._glossary is not None:
            if sampling is not None:
                raise ConfigError("glossary requires beam search; leave sample out")
            for term in changed._glossary.terms:
                changed._phrase_ids(term.translation, term.origin)
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

        Args:
            text: a string is one line, whatever it holds; an iterable of strings is several.
            n_best: how many translations of each line; None for the best alone.
            prefix: what the translation begins with; for several lines one for each, "" for none.
            constraints: words and phrases that the translation must contain; for several lines a list for each.
            options: see `with_options`.

        Returns:
            of a string a `Translation`, of several lines a list with one for each; with `n_best` a list of
            translations, best first, in the place of each.

        Raises:
            TypeError: an option does not exist, a line is not a string, or one string is given where several are
                expected.
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
        require_known(options, "translate")
        translator = self.with_options(**options) if options else self
        if constraints is not None and translator._sampling is not None:
            raise ConfigError("constraints requires beam search; leave sample out")
        one = isinstance(text, str)
        lines, demands = text_constraints(text, prefix, constraints)
        found = list(translator.translate_lines(lines, 1 if n_best is None else n_best, constraints=demands))
        if n_best is not None:
            return found[0] if one else found
        return found[0][0] if one else [translations[0] for translations in found]

    def translate_lines(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        *,
        constraints: Iterable[TextConstraints] | None = None,
        read_ahead: int | None = None,
        paused: Callable[[], bool] | None = None,
    ) -> Iterator[list[Translation]]:
        """A stream: for each line its translations, best first (samples: in the order drawn).

        There are `n_best` of them, fewer if fewer hypotheses finished, never none; a blank line has one, which is
        blank. `constraints`, if any, has one entry for each line. Lines are read ahead by a window of `read_ahead`
        lines (None: see length_batching.py), fewer where `paused` says that the next line would have to be waited for.

        Raises:
            TypeError: `lines` is one string, or a line is not a string.
            ConfigError: `n_best` is not from 1 to the beam; a coverage penalty for a model without attention.
            InputError: there are more or fewer constraints than lines, or one that the model cannot meet.
            RunError: the model's log-probabilities are NaN.

        >>> translator = dragoman.load("RUN")
        >>> with open("test.low") as lines:
        ...     sum(len(n_best) for n_best in translator.translate_lines(lines, n_best=2))
        40
        """
        if isinstance(lines, str):
            raise TypeError("translate_lines takes an iterable of lines, not one string; use translate(text)")
        if n_best < 1:
            raise ConfigError(f"n-best is {n_best}, but must be at least 1")
        if self._sampling is None and n_best > self._search.beam:
            raise ConfigError(
                f"n-best is {n_best}, but a beam of {self._search.beam} keeps no more than {self._search.beam} "
                f"translations; set the beam to {n_best} or more"
            )
        return self._translate_stream(lines, n_best, constraints, read_ahead, paused)

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
        line = self._prepare(0, text, TextConstraints(prefix))
        if not line.source.segments:
            return []
        by_word: dict[str, Translation] = {}
        for prefixes in _groups(self._continued_prefixes(line, prefix, count), count):
            lines = [line._replace(constraints=IdConstraints(ids)) for ids in prefixes]
            for own, [hypothesis] in zip(lines, self._search_batch(lines, 1, full_vocabulary=True), strict=True):
                translation = self._translation(own, hypothesis)
                word = next_word(translation.text, prefix)
                if word not in by_word or translation.score > by_word[word].score:
                    by_word[word] = translation
            if sum(one.text.startswith(prefix) for one in by_word.values()) >= count:
                break
        best = sorted(by_word.values(), key=lambda one: -one.score)
        # Detokenisation may have changed the prefix in all of them.
        return ([one for one in best if one.text.startswith(prefix)] or best)[:count]

    def _continued_prefixes(self, line: _PreparedLine, prefix: str, count: int) -> list[list[int]]:
        """Target ids that begin with the prefix of `line`: these alone, then with one segment more, the most probable
        first.
        """
        given = list(line.constraints.prefix)
        found = self._next_segments(line, given)
        if not prefix[-1:].isspace():
            done = self._target.encode(prefix.rpartition(" ")[0]).ids
            if len(done) < len(given):
                found += [one for one in self._next_segments(line, done) if self._extends(one[0], prefix)]
        found.sort(key=lambda one: -one[1])
        return [given, *(ids for ids, _ in found[: 3 * count])]

    def _extends(self, ids: Sequence[int], prefix: str) -> bool:
        text = self._target.decode(ids)
        return len(text) > len(prefix) and text.startswith(prefix)

    def _next_segments(self, line: _PreparedLine, ids: Sequence[int]) -> list[tuple[list[int], float]]:
        """`ids` with one of the most probable next segments, and the log-probability of all."""
        engine, source, lengths, segments = self._encoder.batch([line.source])
        if isinstance(engine, ShortlistEngine):
            engine = engine.full_vocabulary()
        constraints = BatchConstraints.from_config(self._search, engine.vocabulary_size, segments, [], self._banned)
        state, total, one = engine.start(source, lengths), 0.0, np.zeros(1, dtype=np.int64)
        for place, token in enumerate([BOS, *ids]):
            size = engine.vocabulary_size if place < len(ids) else min(MAX_CONTINUATIONS, engine.vocabulary_size)
            step = engine.step(state, one, np.array([token], dtype=np.int64), size)
            state = step.state
            if place < len(ids):
                total += float(step.log_probabilities[0, step.tokens[0] == ids[place]].max(initial=-np.inf))
        refuse_nan(step.log_probabilities)
        words = constraints.first_words(1)
        for token in ids:
            words = append_tokens(words, one, np.array([token]))
        permitted = constraints.at_step(one, len(ids), words).permitted(step, 1)
        return [
            ([*ids, token], total + weight)
            for token, weight in zip(permitted.tokens[0].tolist(), permitted.log_probabilities[0].tolist(), strict=True)
            if token not in (EOS, UNK) and weight > -np.inf
        ]

    def _translate_stream(
        self,
        lines: Iterable[str],
        n_best: int,
        constraints: Iterable[TextConstraints] | None,
        read_ahead: int | None,
        paused: Callable[[], bool] | None,
    ) -> Iterator[list[Translation]]:
        constrained = constraints is not None or self._glossary is not None
        rows = (self._search.beam if self._sampling is None else n_best) * (GRID if constrained else 1)
        # A shortlist may lack constrained words; and samples are drawn from the whole vocabulary.
        full_vocabulary = constrained or self._sampling is not None
        lines = _strings(lines)
        translate_batch = partial(self._translate_batch, n_best=n_best, full_vocabulary=full_vocabulary)
        pairs = zip(lines, repeat(TextConstraints())) if constraints is None else zip_longest(lines, constraints)
        with self._encoder.threads(self._threads) as workers, WorkerThreads(workers) as threads:
            windows = read_windows(
                enumerate(pairs), lambda item: len(item[1][0] or ""), max_items=read_ahead, paused=paused
            )
            for window in windows:
                prepared = [self._prepare(number, *pair) for number, pair in window]
                lengths = [line.source.segments for line in prepared]
                batches = LengthBatches(prepared, lengths, max(1, MAX_ROWS // rows), threads.workers)
                yield from batches.restore(list(threads.map_for(batches)(translate_batch, batches)))

    def _prepare(self, number: int, text: str | None, constraints: TextConstraints | None) -> _PreparedLine:
        """Segment and truncate line `number`, and segment its constraints."""
        if text is None or constraints is None:
            raise InputError(
                f"prefixes and constraints go on after the input has ended at line {number}"
                if text is None
                else f"prefixes or constraints end at line {number}, but the input goes on; give a line, blank or not, "
                "for each of the input"
            )
        prefix = self._target.encode(constraints.prefix) if constraints.prefix else Encoded([], [], [])
        terms = [] if self._glossary is None else [term.translation for term in self._glossary.find(text)]
        wanted = [*constraints.phrases, *terms]
        phrases = [self._phrase_ids(phrase, f"line {number + 1}") for phrase in wanted]
        source = self._encoder.encode(text, f"line {number + 1}")
        return _PreparedLine(number, text, source, IdConstraints(prefix.ids, phrases), prefix.pieces, wanted)

    def _translate_batch(
        self, batch: list[_PreparedLine], *, n_best: int, full_vocabulary: bool
    ) -> list[list[Translation]]:
        """Search for the lines that have segments; the others are blank."""
        lines = [line for line in batch if line.source.segments]
        found = iter(self._search_batch(lines, n_best, full_vocabulary=full_vocabulary) if lines else [])
        return [
            [self._translation(line, hypothesis) for hypothesis in next(found)]
            if line.source.segments
            else [_blank(line)]
            for line in batch
        ]

    def _search_batch(
        self, batch: Sequence[_PreparedLine], n_best: int, *, full_vocabulary: bool
    ) -> list[list[Hypothesis]]:
        engine, source, lengths, segments = self._encoder.batch([line.source for line in batch])
        if full_vocabulary and isinstance(engine, ShortlistEngine):
            engine = engine.full_vocabulary()
        constraints = [line.constraints for line in batch]
        batch_constraints = BatchConstraints.from_config(
            self._search, engine.vocabulary_size, segments, constraints, self._banned
        )
        if self._sampling is None:
            return beam_search(engine, source, lengths, self._search, n_best, batch_constraints)
        numbers = np.array([line.number for line in batch], dtype=np.int64)
        draw = stochastic_beam_search if self._sampling.distinct else sample
        return draw(engine, source, lengths, self._search, self._sampling, numbers, n_best, batch_constraints)

    def _translation(self, line: _PreparedLine, hypothesis: Hypothesis) -> Translation:
        segments = hypothesis.tokens[:-1]
        replacements = self._replacements(line, hypothesis)
        # Words that are <unk> to the model but have a known text: those of the forced prefix, and replaced ones.
        known = {place: piece for place, piece in enumerate(line.prefix[: len(segments)]) if segments[place] == UNK}
        known |= {replacement.segment: replacement.target for replacement in replacements}
        tokens = self._target.vocabulary.pieces(segments)
        pieces = [known.get(place, piece) for place, piece in enumerate(tokens)]
        text = " ".join(self._target.segmentation.join(pieces).splitlines())
        self._warn_of_hidden_phrases(line, text)
        return Translation(
            source=line.text,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=tokens,
            source_tokens=line.source.pieces,
            attention=hypothesis.attention,
            attention_shift=self._encoder.attention_shift,
            compute_alignment=partial(self._alignment, line, hypothesis, known, text),
            finished=hypothesis.finished,
            replacements=replacements,
            token_log_probabilities=hypothesis.token_log_probabilities,
            source_spans=line.source.offsets,
            compute_target_spans=partial(self._target_spans, hypothesis, known, text),
        )

    def _target_spans(self, hypothesis: Hypothesis, known: Mapping[int, str], text: str) -> list[Span]:
        segments = enumerate(hypothesis.tokens[:-1])
        return surface_spans([known.get(place) or self._surface(segment) for place, segment in segments], text)

    def _alignment(
        self,
        line: _PreparedLine,
        hypothesis: Hypothesis,
        known: Mapping[int, str],
        text: str,
        source_units: Sequence[Span],
        target_units: Sequence[Span],
    ) -> list[Link]:
        """Links between units of the line and units of `text`, which has the `known` segments as they are."""
        weights = self._weights(line, hypothesis)
        if weights is None:
            return []
        # A dictionary may give several words for one segment; each is linked as the segment is.
        surfaces = [
            known[place].split() if place in known else [self._surface(segment)]
            for place, segment in enumerate(hypothesis.tokens[:-1])
        ]
        spans = surface_spans([word for words in surfaces for word in words], text)
        rows = np.array([place for place, words in enumerate(surfaces) for _ in words], dtype=np.int64)
        return word_links(weights[rows], line.source.offsets, source_units, spans, target_units)

    def _weights(self, line: _PreparedLine, hypothesis: Hypothesis) -> NDArray[np.float32] | None:
        """[T, S] the alignment weights of each target segment; None for a model without attention."""
        if hypothesis.attention is None:
            return None
        return segment_weights(hypothesis.attention, self._encoder.attention_shift, len(line.source.pieces))

    def _replacements(self, line: _PreparedLine, hypothesis: Hypothesis) -> list[Replacement]:
        """The replacements of unknown words, those of the forced prefix left out."""
        if self._unknown is None:
            return []
        weights, segments = self._weights(line, hypothesis), hypothesis.tokens[:-1]
        unknown = [place for place, segment in enumerate(segments) if segment == UNK and place >= len(line.prefix)]
        if weights is None or not unknown:
            return []
        words = self._encoder.copied_words(line.text, line.source)
        return self._unknown.replace(unknown, weights, line.source.offsets, line.text, words)

    def _banned_ids(self, word: str) -> list[int]:
        """The segments of a word or phrase that is never produced."""
        ids, pieces, _ = self._target.encode(word)
        if UNK in ids:
            raise ConfigError(
                f"banned word {word!r}: the model does not know {pieces[ids.index(UNK)]!r}, so it never writes that; "
                "leave it out"
            )
        return ids

    def _phrase_ids(self, phrase: str, place: str) -> list[int]:
        """The segments of a phrase that must appear in a translation; `place` says in a message who wants it."""
        ids, pieces, _ = self._target.encode(phrase)
        if UNK in ids:
            raise InputError(
                f"{place}: {phrase!r} cannot appear in a translation: the model does not know "
                f"{pieces[ids.index(UNK)]!r}; leave it out, or give a word of the target vocabulary"
            )
        for banned in self._banned:
            if any(ids[at : at + len(banned)] == banned for at in range(len(ids))):
                raise InputError(f"{place}: {phrase!r} must appear in a translation, but is banned as well")
        return ids

    def _warn_of_hidden_phrases(self, line: _PreparedLine, text: str) -> None:
        """Warn once if a phrase was produced only as a part of longer words: its segments may go on."""
        for phrase in line.phrases:
            if not self._warned_of_hidden and not re.search(rf"(?<!\w){re.escape(phrase.strip())}(?!\w)", text):
                log.warning(
                    "line %d: %r appears only as a part of other words: %r (reported once)",
                    line.number + 1,
                    phrase,
                    text,
                )
                self._warned_of_hidden = True

    def _surface(self, segment: int) -> str:
        """A segment detokenised on its own; cached, because that takes longer than the rest of an alignment."""
        if segment not in self._surfaces:
            self._surfaces[segment] = self._target.decode([segment])
        return self._surfaces[segment]


def next_word(text: str, prefix: str) -> str:
    """The word of a translation that goes on from `prefix`; "" at its end.

    >>> next_word("the cat sat", "the"), next_word("the cat sat", "the c")
    ('cat', 'cat')
    """
    prefix = prefix.rstrip() if text.startswith(prefix.rstrip()) else ""
    place = len(prefix)
    if place == len(text):
        return ""
    place += text[place] == " "
    start = text.rfind(" ", 0, place) + 1
    return text[start:].partition(" ")[0]


def _groups(prefixes: list[list[int]], size: int) -> Iterator[list[list[int]]]:
    return (prefixes[start : start + size] for start in range(0, len(prefixes), size))


def _blank(line: _PreparedLine) -> Translation:
    """The translation of a line without segments."""
    return Translation(line.text, "", 0.0, 0.0, [], [], None, lambda source_spans, target_spans: [], True)


def _strings(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines.

    Raises:
        TypeError: one is not a string.
    """
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise TypeError(f"line {number} is of type {type(line).__name__}, not a string")
        yield line
