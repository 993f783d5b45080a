"""The demonstration corpus: a translation task generated from the Unicode CLDR data in Babel, without a download.

A *phrase* is a meaning (a day in a certain format, twelve kilometres, a list of three countries) that a locale can
express; a pair is one phrase in two locales. Word order, plurals, month names and separators are those of the CLDR, so
that between English and Korean the parts of dates and units are reordered.

The corpus is the same for the same locales, seed and release of Babel, on any machine. A source line has one
target only, and no line of dev or test has a part (a name, a unit, a month in a format, a number, a character) that
train lacks: the task is to combine known parts in new ways.
"""

from __future__ import annotations

import datetime
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.dates import (
    format_date,
    format_interval,
    format_skeleton,
    format_time,
    format_timedelta,
    get_datetime_format,
)
from babel.lists import format_list
from babel.localedata import locale_identifiers
from babel.numbers import format_currency, format_percent
from babel.units import format_unit

from dragoman.errors import ConfigError, did_you_mean, nearest

TRAIN, HELD_OUT = 8000, 500
"""Pairs in train, and in each of dev and test."""

FAMILIAR = 5
"""Minimum number of training lines with each part of a held-out line."""

_COUNTRIES = """
    AR AT AU BD BE BG BO BR CA CH CL CN CO CR CU CY CZ DE DK DZ EC EE EG ES ET FI FR GB GE GH GR GT HR HU ID IE IL IN
    IQ IR IS IT JM JO JP KE KH KR KW KZ LA LB LK LT LU LV MA MG MN MT MX MY NG NL NO NP NZ OM PA PE PH PK PL PT PY QA
    RO RS RU SA SE SG SI SK SN SO SY TH TN TZ UA UG US UY UZ VE VN YE ZA ZM ZW
"""
_LANGUAGES = """
    am ar az be bg bn ca cs da de el en es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka kk km ko lo lt lv mk mn
    ms mt ne nl pl ps pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh zu
"""
_CURRENCIES = "AUD BRL CAD CHF CNY CZK DKK EGP EUR GBP HUF ILS INR JPY KRW MXN NOK PLN RUB SEK THB TRY USD VND"
_UNITS = """
    length-millimeter length-centimeter length-meter length-kilometer length-inch length-foot length-yard length-mile
    mass-gram mass-kilogram mass-tonne mass-ounce mass-pound volume-milliliter volume-liter volume-cubic-meter
    volume-gallon area-square-meter area-square-kilometer area-hectare area-acre temperature-celsius power-watt
    power-kilowatt digital-megabyte digital-gigabyte speed-kilometer-per-hour speed-mile-per-hour speed-meter-per-second
"""
COUNTRIES, LANGUAGES, CURRENCIES, UNITS = (
    tuple(codes.split()) for codes in (_COUNTRIES, _LANGUAGES, _CURRENCIES, _UNITS)
)
"""The countries, languages, currencies and units that occur in the corpus, as CLDR codes."""

_Style = Literal["full", "long", "medium", "short"]
_TimeUnit = Literal["second", "minute", "hour", "day", "week", "month", "year"]
_ListStyle = Literal["standard", "or"]

DURATIONS: dict[_TimeUnit, int] = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "year": 31536000
}  # fmt: skip
"""Seconds of each unit, as in Babel."""

_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u2066-\u2069]")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """(source, target) lines; no source line is in two of the three parts."""

    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]


def make_corpus(source: str = "en", target: str = "ko", seed: int = 1) -> DemoCorpus:
    """Make the demonstration corpus for two of Babel's locales: 8000 pairs for training, 500 for dev, 500 for test.

    Locales that the CLDR covers thinly give fewer pairs, in the same proportions.

    Raises:
        ConfigError: a locale is unknown, both are the same, or the CLDR has too little about one of them.
    """
    locales = _parse_locale(source), _parse_locale(target)
    if locales[0] == locales[1]:
        raise ConfigError(f"source and target are both {source!r}; a translation task needs two different locales")
    rng = random.Random(seed)
    wanted = TRAIN + 2 * HELD_OUT
    sentences = _draw_sentences(rng, *locales, wanted)
    if len(sentences) < wanted // 4:
        raise ConfigError(
            f"the CLDR gives only {len(sentences)} different pairs from {source!r} to {target!r}, too few for a "
            "demonstration; take locales with fuller data, for example en, ko, de, fr, ja, ru, ar"
        )
    return _split(rng, sentences)


def choose_languages(source: str | None, target: str | None, reader: str | None) -> tuple[str, str]:
    """Choose the languages that are None, so that the reader can judge the translations.

    The target is the reader's language, the source English, or German for readers of English.

    Args:
        reader: the locale of the reader, such as de_AT; None, or one without names in the corpus, stands for English.
    """
    own = _language_of(reader or "")
    if target is None:
        readable = (own if own in LANGUAGES else "en", "en", "de")
        target = next(code for code in readable if source is None or code != _language_of(source))
    if source is None:
        source = "de" if _language_of(target) == "en" else "en"
    return source, target


def reader_locale() -> str | None:
    """Return the locale of messages in the environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG); None if it is C.

    LC_CTYPE does not count: Python itself sets it to C.UTF-8 where the locale of LANG is not installed (PEP 538).
    """
    given = (os.environ.get(name, "") for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    locale = re.split("[:.@]", next(filter(None, given), ""), maxsplit=1)[0]
    return None if locale in ("", "C", "POSIX") else locale


def _language_of(locale: str) -> str:
    return re.split("[-_]", locale)[0].lower()


# Drawing and splitting -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phrase:
    """A meaning that a locale can express.

    `render` gives an empty text, or raises LookupError or ValueError, where the locale lacks the data. `parts` are
    what a learner must have met to get the phrase right, besides its numbers and characters.
    """

    render: Callable[[Locale], str]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One pair with the parts that a translator must know."""

    source: str
    target: str
    parts: tuple[str, ...]


def _draw_sentences(rng: random.Random, source: Locale, target: Locale, wanted: int) -> list[_Sentence]:
    """Draw until `wanted` different source lines with one target each are found, or new ones become rare."""
    names = _shared_names(source, target)
    weights, families = zip(*FAMILIES, strict=True)
    drawn: dict[str, _Sentence | None] = {}  # None: the line had two targets, so it is ambiguous
    usable = 0
    for _ in range(4 * wanted):
        (family,) = rng.choices(families, weights)
        sentence = _express(family(rng, names), source, target)
        if sentence is None:
            continue
        known = drawn.setdefault(sentence.source, sentence)
        if known is sentence:
            usable += 1
        elif known is not None and known.target != sentence.target:
            drawn[sentence.source] = None
            usable -= 1
        if usable == wanted:
            break
    return [sentence for sentence in drawn.values() if sentence is not None]


def _express(phrases: Sequence[Phrase], source: Locale, target: Locale) -> _Sentence | None:
    """Express the last phrase in both locales; None where one of them cannot, or there is no phrase.

    Some locales write two formats alike (French: medium and long dates). The line then gets the target of the
    first phrase that reads so.
    """
    line = _say(phrases[-1], source) if phrases else ""
    if not line:
        return None
    phrase = next(phrase for phrase in phrases if _say(phrase, source) == line)
    translation = _say(phrase, target)
    if not translation:
        return None
    pieces = dict.fromkeys((*phrase.parts, *_NUMBER.findall(line), *line, *("target " + c for c in translation)))
    return _Sentence(line, translation, tuple(pieces))


def _say(phrase: Phrase, locale: Locale) -> str:
    """The phrase with plain spaces and without direction marks, or "" where the locale lacks the data."""
    try:
        text = phrase.render(locale)
    except (LookupError, ValueError):
        return ""
    return " ".join(_DIRECTION_MARKS.sub("", text).split())  # split() includes no-break, narrow and thin spaces


def _split(rng: random.Random, sentences: list[_Sentence]) -> DemoCorpus:
    """Hold out sentences at random, as long as train keeps enough of all their parts."""
    held_out = HELD_OUT * len(sentences) // (TRAIN + 2 * HELD_OUT)
    left = Counter(part for sentence in sentences for part in sentence.parts)
    corpus = DemoCorpus([], [], [])
    rng.shuffle(sentences)
    for sentence in sentences:
        chosen = corpus.train
        if len(corpus.test) < held_out and all(left[part] > FAMILIAR for part in sentence.parts):
            left.subtract(sentence.parts)
            chosen = corpus.dev if len(corpus.dev) < held_out else corpus.test
        chosen.append((sentence.source, sentence.target))
    return corpus


# Phrases -------------------------------------------------------------------------------------------------------------


def _in_format(name: str, moment: datetime.date | datetime.time) -> Phrase:
    """A day or a time of day, in the format called short, medium, long or full, or by a CLDR skeleton (yMMMEd)."""

    def render(locale: Locale) -> str:
        if name not in ("short", "medium", "long", "full"):
            return format_skeleton(name, moment, fuzzy=False, locale=locale)
        if isinstance(moment, datetime.time):
            return format_time(moment, name, locale=locale)
        return format_date(moment, name, locale)

    if isinstance(moment, datetime.time):
        return Phrase(render, (f"time {name}", f"time {name} hour {moment.hour}"))
    return Phrase(render, (f"date {name} month {moment.month}", f"date {name} weekday {moment.weekday()}"))


def _date_time(style: _Style, day: datetime.date, time: datetime.time) -> Phrase:
    date, short_time = _in_format(style, day), _in_format("short", time)

    def render(locale: Locale) -> str:
        pattern = str(get_datetime_format(style, locale=locale)).replace("'", "")
        return pattern.replace("{0}", short_time.render(locale)).replace("{1}", date.render(locale))

    return Phrase(render, (f"date-time {style}", *date.parts, *short_time.parts))


def _interval(
    skeleton: str, first: datetime.date | datetime.time, last: datetime.date | datetime.time, parts: tuple[str, ...]
) -> Phrase:
    return Phrase(
        lambda locale: format_interval(first, last, skeleton, locale=locale),
        tuple(f"interval {skeleton} {part}" for part in parts),
    )


def _quantity(amount: Decimal | int, unit: str) -> Phrase:
    """An amount of a CLDR unit ("length-kilometer") in its long form, or the short one where there is no other."""

    def render(locale: Locale) -> str:
        for length in ("long", "short"):
            text = format_unit(amount, unit, length, locale=locale)
            if unit not in text:  # Babel falls back on the bare identifier
                return text
        return ""

    return Phrase(render, (unit, f"{unit} alone" if amount == 1 else f"{unit} many"))


def _relative(count: int, unit: _TimeUnit) -> Phrase:
    """`count` days from now, or ago where it is negative."""
    seconds = count * DURATIONS[unit]

    def render(locale: Locale) -> str:
        return format_timedelta(seconds, unit, threshold=1e9, add_direction=True, locale=locale)

    return Phrase(render, (f"{'in' if count > 0 else 'ago'} {unit}",))


def _named_money(amount: Decimal | int, currency: str) -> Phrase:
    return Phrase(
        lambda locale: format_currency(amount, currency, locale=locale, currency_digits=False, format_type="name"),
        (f"money {currency}",),
    )


def _written_money(amount: Decimal | int, currency: str) -> Phrase:
    return Phrase(lambda locale: format_currency(amount, currency, locale=locale), (f"symbol {currency}",))


def _country(code: str) -> Phrase:
    return Phrase(lambda locale: locale.territories[code], (f"country {code}",))


def _language(code: str) -> Phrase:
    return Phrase(lambda locale: locale.languages[code], (f"language {code}",))


def _list(items: Sequence[Phrase], style: _ListStyle) -> Phrase:
    """Items joined by "and" (style standard) or by "or"."""
    return Phrase(
        lambda locale: format_list([item.render(locale) for item in items], style, locale),
        (f"list {style} {len(items)}", *(part for item in items for part in item.parts)),
    )


# Families: a draw gives phrases of one meaning in the order of precedence, the one that was drawn last ----------------


@dataclass(frozen=True, slots=True)
class _Names:
    """Codes that both locales have a name for."""

    countries: list[str]
    languages: list[str]


_Family = Callable[[random.Random, _Names], Sequence[Phrase]]

_LIST_STYLES: tuple[_ListStyle, ...] = ("standard", "or")
_DATE_FORMATS = ("full", "long", "medium", "short", "yMMMEd", "yMMMM", "MMMMd", "MMMEd", "MMMd")
_TIME_FORMATS = ("Bhm", "short", "Hm", "hm")
_DATE_TIME_FORMATS: tuple[_Style, ...] = ("long", "medium", "short")


def _dates(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    day, count = _draw_day(rng), rng.randint(1, len(_DATE_FORMATS))
    return [_in_format(name, day) for name in _DATE_FORMATS[:count]]


def _times(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    time, count = _draw_time(rng), rng.randint(1, len(_TIME_FORMATS))
    return [_in_format(name, time) for name in _TIME_FORMATS[:count]]


def _date_times(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    day, time, count = _draw_day(rng), _draw_time(rng), rng.randint(1, len(_DATE_TIME_FORMATS))
    return [_date_time(style, day, time) for style in _DATE_TIME_FORMATS[:count]]


def _date_intervals(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    first = _draw_day(rng)
    last = first + datetime.timedelta(days=rng.randint(1, 12) if rng.random() < 0.5 else rng.randint(13, 300))
    skeleton = rng.choice(("yMMMd", "MMMd", "yMMM"))
    within = "year" if first.year != last.year else "month" if first.month != last.month else "day"
    return [_interval(skeleton, first, last, (within, f"month {first.month}", f"month {last.month}"))]


def _time_intervals(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    first, last = sorted((_draw_time(rng), _draw_time(rng)))
    return [_interval(rng.choice(("hm", "Hm")), first, last, (f"hour {first.hour}", f"hour {last.hour}"))]


def _durations(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return [_quantity(rng.randint(1, 60), f"duration-{rng.choice(list(DURATIONS))}")]


def _compound_durations(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    neighbours = (("second", "minute"), ("minute", "hour"), ("hour", "day"), ("day", "month"), ("month", "year"))
    smaller, larger = rng.choice(neighbours)
    pieces = [_quantity(rng.randint(1, 24), f"duration-{larger}"), _quantity(rng.randint(1, 60), f"duration-{smaller}")]
    return [_list(pieces, "standard")]


def _relative_times(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return [_relative(rng.choice((-1, 1)) * rng.randint(1, 60), rng.choice(list(DURATIONS)))]


def _quantities(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return [_quantity(_draw_amount(rng), rng.choice(UNITS))]


def _quantity_lists(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    units = rng.sample(UNITS, rng.choice((2, 2, 3)))
    return [_list([_quantity(_draw_amount(rng), unit) for unit in units], rng.choice(_LIST_STYLES))]


def _named_sums(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return [_named_money(_draw_amount(rng), rng.choice(CURRENCIES))]


def _written_sums(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return [_written_money(_draw_amount(rng), rng.choice(CURRENCIES))]


def _percentages(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    share = Decimal(rng.randint(1, 100)) / 100
    return [Phrase(lambda locale: format_percent(share, locale=locale), ("percent",))]


def _country_names(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return _draw_list(rng, [_country(code) for code in names.countries])


def _language_names(rng: random.Random, names: _Names) -> Sequence[Phrase]:
    return _draw_list(rng, [_language(code) for code in names.languages])


FAMILIES: tuple[tuple[int, _Family], ...] = (
    (24, _dates),
    (5, _times),
    (9, _date_times),
    (12, _date_intervals),
    (4, _time_intervals),
    (3, _durations),
    (6, _compound_durations),
    (7, _relative_times),
    (11, _quantities),
    (6, _quantity_lists),
    (8, _named_sums),
    (3, _written_sums),
    (1, _percentages),
    (14, _country_names),
    (9, _language_names),
)
"""The families of phrases, each with its weight in the draw."""


def _draw_day(rng: random.Random) -> datetime.date:
    return datetime.date(1950, 1, 1) + datetime.timedelta(days=rng.randrange(36_525))  # 1950 to 2049


def _draw_time(rng: random.Random) -> datetime.time:
    return datetime.time(rng.randrange(24), 5 * rng.randrange(12))


def _draw_amount(rng: random.Random) -> Decimal:
    """1 to 99, one in four with a decimal; one in five in thousands, such as 12,350."""
    kind = rng.random()
    if kind < 0.2:
        return Decimal(1000 * rng.randint(1, 60) + 50 * rng.randrange(20))
    if kind < 0.4:
        return Decimal(rng.randint(11, 999)) / 10
    return Decimal(rng.randint(1, 99))


def _draw_list(rng: random.Random, items: list[Phrase]) -> Sequence[Phrase]:
    """One to four of the items; none where no item has a name in both locales."""
    chosen = rng.sample(items, min(len(items), rng.choice((1, 2, 2, 3, 3, 4))))
    return chosen if len(chosen) < 2 else [_list(chosen, rng.choice(_LIST_STYLES))]


# Locales -------------------------------------------------------------------------------------------------------------


def _shared_names(source: Locale, target: Locale) -> _Names:
    """Countries and languages named in both locales, without those whose source name has two translations."""
    kinds = ((_country, COUNTRIES), (_language, LANGUAGES))
    translations: dict[str, set[str]] = {}
    named: list[dict[str, str]] = []
    for make, codes in kinds:
        texts = {code: (_say(make(code), source), _say(make(code), target)) for code in codes}
        named.append({code: name for code, (name, translation) in texts.items() if name and translation})
        for name, translation in texts.values():
            translations.setdefault(name, set()).add(translation)
    clear = [[code for code, name in names.items() if len(translations[name]) == 1] for names in named]
    return _Names(*clear)


def _parse_locale(name: str) -> Locale:
    """Babel's locale of an identifier such as ko, pt_BR or zh-Hant.

    Raises:
        ConfigError: Babel has no such locale.
    """
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError):
        raise ConfigError(
            f"no locale {name!r} in the CLDR data{_suggestion(name)}; give a code such as en, ko, pt_BR"
        ) from None


def _suggestion(name: str) -> str:
    """The most similar locale: by the language's English name, by the country's code, or by its letters."""
    english = {str(text).lower(): code for code, text in Locale("en").languages.items() if code in LANGUAGES}
    by_country = get_global("likely_subtags").get(f"und_{name.upper()}", "").split("_")[0]
    by_name = nearest(name.lower(), english)
    if by_name:
        return f" (did you mean {english[by_name[0]]}?)"
    if by_country:
        return f" (did you mean {by_country}?)"
    return did_you_mean(name.replace("-", "_"), sorted(locale_identifiers()))
