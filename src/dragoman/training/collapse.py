"""Does the model still translate, or does it say the same thing to everybody, or never stop talking?

A collapsed model can have a falling loss: it has learned which words are frequent and ignores the source. It shows
at once in what it writes. The dev references are the yardstick, so a corpus that repeats itself, or of one-word
lines, raises no alarm.
"""

from __future__ import annotations

from dragoman.training.validation import DevTranslations

ALIKE = 0.1
"""Alarm when there are fewer different hypotheses than this share of the different references."""
FEW = 10
"""... unless there are fewer different references than this: too few to tell."""
LONG, SHORT = 3.0, 0.2
"""Alarm when hypotheses are, all together, so many times as long as the references, in characters."""
UNFINISHED = 0.5
"""Alarm when more than this share of the hypotheses never came to their end."""

_ADVICE = (
    "usual in the first minutes of training; if it stays, lower training.optimiser.learning_rate or lengthen "
    "training.schedule.warmup, and check that source and target files belong together line by line"
)


def signs_of_collapse(translations: DevTranslations) -> list[str]:
    """What is suspicious about translations of the dev set, each as a sentence with the figures and advice."""
    signs = []
    different, expected = len(set(translations.hypotheses)), len(set(translations.references))
    if expected >= FEW and different < ALIKE * expected:
        signs.append(
            f"the model says nearly the same to every sentence: {different} different translations where the "
            f"references have {expected}"
        )
    written, wanted = (sum(map(len, texts)) for texts in (translations.hypotheses, translations.references))
    if wanted and written > LONG * wanted:
        signs.append(f"translations are {written / wanted:.1f} times as long as the references")
    elif written < SHORT * wanted:
        signs.append(f"translations have only {100 * written / wanted:.0f} % of the length of the references")
    if translations.unfinished > UNFINISHED * len(translations.hypotheses):
        signs.append(
            f"{translations.unfinished} of {len(translations.hypotheses)} translations ran into the length "
            "limit without an end of sentence"
        )
    return [f"{sign} ({_ADVICE})" for sign in signs]
