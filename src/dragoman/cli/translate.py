"""`dragoman translate`: lines in, translations out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.translation import TranslationRequest

SUMMARY = "translate text"
DESCRIPTION = (
    "Translates raw text line by line. Each input line gives one output line; an empty line stays empty.\n"
    "Reads standard input and writes standard output by default; files may be compressed (.gz, .xz,\n"
    ".zst). At a terminal, or when a pipe pauses, it translates the lines so far at once.\n"
    "A document (.docx, .xlsx, .pptx, .html, .srt ...) is translated as a whole, into a document of the\n"
    "same kind.\n"
    "Search options default to the run's configuration. Several runs with the same target vocabulary\n"
    "form an ensemble; defaults then come from the first run."
)
EXAMPLES = (
    "dragoman translate RUN < new.de > new.en",
    "dragoman translate RUN",
    "dragoman translate RUN -i new.de -o new.en --beam 10 --alignments new.align",
    "dragoman translate RUN report.docx -o report.en.docx",
    "dragoman translate RUN --paragraphs < letter.de > letter.en",
    "dragoman translate RUN -i new.de --nbest 5 --beam 5 --format nbest > new.nbest",
    "dragoman translate RUN -i new.de --sample --temperature 0.8 --seed 7",
    "dragoman translate RUN1 RUN2 RUN3 -i new.de --combine log-probabilities",
    "dragoman translate RUN -i new.de --glossary terms.tsv",
    "dragoman translate RUN -i new.de --memory memory.tmx --format jsonl",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary --unk-log new.unk",
)

REQUEST = "dragoman.requests.translation.TranslationRequest"


def run(request: TranslationRequest) -> None:
    """Translate the input: a document as a whole, lines as a stream."""
    if request.is_document:
        from dragoman.workflows.documents import translate_document_file

        translate_document_file(request)
        return
    from dragoman.workflows.translation import translate_text

    translate_text(request)
