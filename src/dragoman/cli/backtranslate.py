"""`dragoman backtranslate`: training pairs from text of the target language alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.translation import BackTranslationRequest

SUMMARY = "make training pairs from text of the target language"
DESCRIPTION = (
    "Translates text of the target language with a model of the reverse direction, and writes pairs for\n"
    "training: the translation as the source, the text as the target (Sennrich et al. 2016). Train on\n"
    "them together with real pairs; --mix weighs the two. Lines without text are left out and counted."
)
EXAMPLES = (
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv",
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv --sample --seed 1 --tag '<BT>'",
    "dragoman train --train real.de real.en --train news.tsv --mix 1 1 --languages de en --out RUN",
)

REQUEST = "dragoman.requests.translation.BackTranslationRequest"


def run(request: BackTranslationRequest) -> None:
    """Translate the lines and write the pairs."""
    from dragoman.workflows.synthetic_pairs import back_translate_text

    back_translate_text(request)
