"""Detection of collapsed models, whose translations hardly depend on the source or do not end.

A collapsed model can have a falling loss: it has learned which words are frequent and ignores the source. Its
translations show that at once. They are compared with the references, so that a repetitive corpus, or one of one-word
lines, gives no warning.
"""

from __future__ import annotations

from dragoman.training.validation import DevTranslations

ALIKE = 0.1
"""Warn if the number of different hypotheses is below this share of the number of different references."""
FEW = 10
"""Minimum number of different references for that warning."""
LONG, SHORT = 3.0, 0.2
"""Warn if the ratio of hypothesis to reference characters is above `LONG` or below `SHORT`."""
UNFINISHED = 0.5
"""Warn if more than this share of the hypotheses reached the length limit without EOS."""

ADVICE = (
    "usual in the first minutes of training; if it stays, lower training.optimiser.learning_rate or lengthen "
    "training.schedule.warmup, and check that source and target files belong together line by line"
)


def signs_of_collapse(translations: DevTranslations) -> list[str]:
    """What is wrong with translations of the dev set: for each sign the cause, a colon and figures."""
    signs = []
    different, expected = len(set(translations.hypotheses)), len(set(translations.references))
    if expected >= FEW and different < ALIKE * expected:
        signs.append(
            f"the model gives nearly the same translation for every sentence: {different} different translations, but "
            f"{expected} different references"
        )
    written, wanted = (sum(map(len, texts)) for texts in (translations.hypotheses, translations.references))
    if wanted and written > LONG * wanted:
        signs.append(f"translations are too long: {written / wanted:.1f} times as long as the references")
    elif written < SHORT * wanted:
        signs.append(f"translations are too short: only {100 * written / wanted:.0f} % of the length of the references")
    if translations.unfinished > UNFINISHED * len(translations.hypotheses):
        signs.append(
            f"translations do not end: {translations.unfinished} of {len(translations.hypotheses)} translations ran "
            "into the length limit without EOS"
        )
    return signs
