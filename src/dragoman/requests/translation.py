"""Requests for translations: of a text, of many files, of training pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import field

from dragoman.config.sampling import Sampling
from dragoman.config.section import Beam, Count, Section, doc, keys_of
from dragoman.errors import ConfigError
from dragoman.requests.shared import (
    CORPORA,
    ENSEMBLE,
    ENSEMBLE_RULES,
    GENERAL,
    INPUT,
    PAIRS,
    SEARCH_HEADING,
    Compute,
    Corpora,
    CorpusOptions,
    EnsembleOptions,
    Input,
    PairsRequest,
    Request,
    Rule,
    Runs,
    SamplingOptions,
    SearchChanges,
    SearchOptions,
    Values,
    given,
    is_given,
    lacking,
    literal,
    too_many_files,
)
from dragoman.text.document_names import DOCUMENTS, document_kind, is_document

UnknownRule = Literal["copy", "dictionary", "lowercase-dictionary"]

Words = Annotated[
    tuple[str, ...], doc("never produce this word or phrase; may be repeated", metavar="WORDS", repeat=True)
]
NoShortlist = Annotated[bool, doc("ignore the shortlist of an exported folder: full vocabulary")]
PairsOutput = Annotated[
    str, doc("write the pairs to this .tsv or .jsonl file", metavar="PAIRS", short="-o", kind="output")
]

_DRAWN = tuple(keys_of(Sampling))

SAMPLING_RULES = (
    Rule(tuple(name for name in _DRAWN if name != "seed"), lacking("sample"), "{option} requires {sample}"),
    Rule(
        ("seed",),
        lacking("sample", "noise"),
        lambda values: "{option} requires {sample}" + (" or {noise}" if "noise" in values else ""),
    ),
    Rule(
        ("beam", "finish", "diversity", "coverage_penalty", "search_again"),
        given("sample"),
        "{option} has no effect with {sample}; leave one of them out",
    ),
)

UNKNOWN_RULES = (
    Rule(("dictionary", "unk_rule", "unk_log"), lacking("replace_unk"), "{option} requires {replace_unk}"),
    Rule(
        ("unk_rule",),
        lambda values: values["unk_rule"] != "copy" and not is_given(values.get("dictionary")),
        "{option} {values[unk_rule]} requires {dictionary}",
    ),
)


class Output(Section):
    """What is read and written."""

    input: Input = "-"
    output: Annotated[str, doc("write the translations to this file", short="-o", kind="output")] = "-"
    format: Annotated[
        Literal["text", "jsonl", "nbest"],
        doc(
            "text: translations only; jsonl: one JSON object per line with scores, tokens, alignment and attention; "
            "nbest: Moses n-best list"
        ),
    ] = "text"
    nbest: Annotated[Beam, doc("translations per sentence")] = 1
    paragraphs: Annotated[
        bool,
        doc(
            "lines hold several sentences: translate each alone and join them again; spaces and lines without words "
            "stay as they are"
        ),
    ] = False
    chunk_size: Annotated[
        Count | None,
        doc(
            "number of lines that are read, sorted by length and batched together; fewer if the input pauses "
            "(default: 2000)"
        ),
    ] = None
    alignments: Annotated[
        str | None, doc("write the word alignments of the raw lines to this file, Pharaoh format", kind="output")
    ] = None
    attention: Annotated[
        str | None,
        doc(
            "write the alignment weights to this file: one array per line, named by the line number from 0",
            metavar="FILE.npz",
            kind="output",
        ),
    ] = None


class Search(Section):
    """How translations are searched for and chosen."""

    search: SearchChanges = field(default_factory=dict)
    no_shortlist: NoShortlist = False
    mbr: Annotated[
        Literal["chrf", "bleu"] | None,
        doc("minimum Bayes risk: rank the --nbest translations by expected score under this metric"),
    ] = None


class Constraints(Section):
    """What translations must hold and must not."""

    ban: Words = ()
    ban_file: Annotated[str | None, doc("never produce these words or phrases, one per line")] = None
    prefix: Annotated[str | None, doc("target prefixes that translations start with, one line per input line")] = None
    constraints: Annotated[
        str | None,
        doc(
            "words or phrases that the translation must contain, one line per input line: separated by tabs, or a JSON "
            "list in FILE.jsonl"
        ),
    ] = None
    glossary: Annotated[
        str | None,
        doc(
            "terms and their translations, separated by tabs. If a line contains a term, also an inflected form of it, "
            "its translation contains the term's translation",
            metavar="FILE.tsv",
        ),
    ] = None


class Memory(Section):
    """Pairs that are kept."""

    memory: Annotated[
        Corpora,
        doc(
            "translation memory. A line that it has as a source gets the stored translation. With --format jsonl, the "
            f"output also has the pairs with similar sources. {PAIRS}, or a run, whose training text is used; may be "
            "repeated"
        ),
    ] = ()


class UnknownWords(Section):
    """What becomes of unknown words."""

    replace_unk: Annotated[
        bool, doc("replace unknown words by the dictionary translation or a copy of the aligned source word")
    ] = False
    dictionary: Annotated[
        str | None, doc("bilingual dictionary: source word, target word, optional count, by tabs")
    ] = None
    unk_rule: Annotated[
        UnknownRule | None,
        doc(
            "copy: copy the source word; dictionary: look it up, else copy; lowercase-dictionary: the same, but copy "
            "capitalised words (default: dictionary)"
        ),
    ] = None
    unk_log: Annotated[
        str | None,
        doc(
            "list the replacements: line, segment, source word, replacement and method, separated by tabs",
            kind="output",
        ),
    ] = None


LINES_ONLY = ("alignments", "attention", "unk_log", "prefix", "constraints", "mbr", "paragraphs", "chunk_size")
"""Options about single lines."""


def _is_document(values: Values) -> bool:
    return is_document(values["input"])


def _is_read_twice(values: Values) -> bool:
    names = ("input", "prefix", "constraints", "glossary", "dictionary", "ban_file")
    return [values.get(name) for name in names].count("-") > 1


class TranslationRequest(Request, kw_only=True):
    """Translations of a text."""

    runs: Runs
    files: Annotated[Output, doc("input and output")] = Output()
    searching: Annotated[Search, doc(SEARCH_HEADING)] = Search()
    constraints: Annotated[Constraints, doc("lexical constraints")] = Constraints()
    drawing: Annotated[SamplingOptions, doc("sampling")] = SamplingOptions()
    kept: Annotated[Memory, doc("translation memory")] = Memory()
    unknown: Annotated[UnknownWords, doc("unknown word replacement")] = UnknownWords()
    corpora: CORPORA = CorpusOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(LINES_ONLY, _is_document, "{option} is about lines; {values[input]} is a document"),
        Rule(
            ("format",),
            lambda values: _is_document(values) and (values["format"] != "text" or values["nbest"] > 1),
            "{values[input]} is a document, which has one translation; leave {format} and {nbest} out",
        ),
        Rule(
            (),
            lambda values: _is_document(values) and document_kind(values["output"]) != document_kind(values["input"]),
            lambda values: (
                f"{literal(values['input'])} is written as a document of the same kind; name it with "
                f"{{output}} NAME{literal(Path(values['input']).suffix)}"
            ),
        ),
        *SAMPLING_RULES,
        *UNKNOWN_RULES,
        Rule(("constraints", "glossary"), given("sample"), "{option} requires beam search; leave {sample} out"),
        too_many_files("memory"),
        Rule(("columns",), lacking("memory"), "{option} requires {memory}: it is about its files"),
        Rule(
            ("encoding",),
            lambda values: not values["memory"] and not _is_document(values),
            "{option} requires {memory} or a document: it is about these files",
        ),
        *ENSEMBLE_RULES,
        Rule(
            ("paragraphs",),
            lambda values: values["format"] != "text" or values["nbest"] > 1,
            "{option} writes one translation per line; leave {format} and {nbest} out",
        ),
        Rule(
            ("alignments", "attention", "unk_log", "prefix", "constraints"),
            given("paragraphs"),
            "{option} is about single sentences; leave it or {paragraphs} out",
        ),
        Rule(
            ("mbr",),
            lambda values: values["nbest"] == 1,
            "{option} requires several translations per sentence; add {nbest} N",
        ),
        Rule(
            ("nbest",),
            lambda values: values["nbest"] > 1 and values["format"] == "text" and values["mbr"] is None,
            "{option} {values[nbest]}: {format} text has one translation per line; use {format} nbest or jsonl",
        ),
        Rule((), _is_read_twice, "standard input is read twice; give a file for all but one of the inputs"),
    )

    @classmethod
    def arranged(cls, values: Values) -> Values:
        """The last of several names is the input if it is that of a document."""
        *runs, last = values["runs"]
        if not runs or Path(last).is_dir():
            return values
        if not is_document(last):
            if Path(last).is_file():
                raise ConfigError(
                    f"{last}: is neither a run nor a document by its name; documents are {' '.join(DOCUMENTS)}, and "
                    "lines are read with --input"
                )
            return values
        if values["input"] != "-":
            raise ConfigError(f"{values['input']}: is a second input besides {last}; translate each alone")
        return {**values, "runs": runs, "input": last}

    @property
    def is_document(self) -> bool:
        """Whether the input is translated as a whole."""
        return is_document(self.files.input)

    def translator_options(self) -> dict[str, Any]:
        """The options besides those of search, as `Translator.with_options` takes them."""
        options = {**self.drawing.sampling, "sample": self.drawing.sample, "replace_unk": self.unknown.replace_unk}
        others = {
            "glossary": self.constraints.glossary,
            "dictionary": self.unknown.dictionary,
            "unk_rule": self.unknown.unk_rule,
        }
        return {**options, **{name: value for name, value in others.items() if value is not None}}


class Distilled(Section, kw_only=True):
    """The pairs that are written."""

    output: PairsOutput
    candidates: Annotated[
        Count,
        doc(
            "choose among the K best translations the one with the highest sentence BLEU against the target of the "
            "pair (Kim and Rush, section 3.3); 1: the best",
            metavar="K",
        ),
    ] = 1


class DistillationRequest(PairsRequest, kw_only=True):
    """Training pairs with the translations of a teacher."""

    files: Annotated[Distilled, doc("output")]
    searching: Annotated[SearchOptions, doc(SEARCH_HEADING)] = SearchOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: GENERAL = Compute()

    rules: ClassVar = ENSEMBLE_RULES


class BackTranslated(Section, kw_only=True):
    """The text, and the pairs that are written."""

    input: Annotated[str, doc("text of the target language, one sentence a line", **INPUT)] = "-"
    output: PairsOutput
    tag: Annotated[
        str,
        doc(
            "put this word in front of each source: the model learns to tell such pairs from real ones (Caswell et "
            "al. 2019)",
            metavar="WORD",
        ),
    ] = ""
    noise: Annotated[
        bool,
        doc(
            "leave out a tenth of the words of each translation and move words by up to 3 places, drawn by --seed "
            "(Lample et al. 2018)"
        ),
    ] = False


class BackTranslationRequest(Request, kw_only=True):
    """Training pairs whose sources are translations of text of the target language."""

    runs: Runs
    files: Annotated[BackTranslated, doc("input and output")]
    searching: Annotated[SearchOptions, doc(SEARCH_HEADING)] = SearchOptions()
    drawing: Annotated[SamplingOptions, doc("sampling")] = SamplingOptions()
    ensemble: ENSEMBLE = EnsembleOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        *SAMPLING_RULES,
        *ENSEMBLE_RULES,
        Rule(
            ("tag",),
            lambda values: len(values["tag"].split()) > 1,
            "{option}: {values[tag]!r} is several words; give one, such as <BT>",
        ),
    )
