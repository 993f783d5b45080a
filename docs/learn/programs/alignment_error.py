"""Does attention equal alignment? Translation quality and alignment error rate on a language with known links."""

from __future__ import annotations

from small import SMALL, made_language, table, train

import dragoman
from dragoman.alignment.aer import agreement
from dragoman.alignment.formats import read_alignments

WORDS = (
    *SMALL,
    "text.source.segmentation=whitespace",
    "text.target.segmentation=whitespace",
    "text.source.vocabulary=1000",
    "text.target.vocabulary=1000",
)
MODELS: dict[str, tuple[str, ...]] = {
    "as in Bahdanau et al.": (),
    "update, then attend": ("model.decoder.order=update-then-look",),
    "encoder of one direction": ("model.encoder.direction=forward", "model.bridge.kind=tanh-last"),
}


def main(updates: int = 1000, models: tuple[str, ...] = tuple(MODELS)) -> None:
    """Train the models and print the table."""
    files, gold_file = made_language()
    gold = read_alignments(gold_file).sentences
    rows = []
    pairs = list(dragoman.read_test_set(files["test"]))
    for name in models:
        folder = train(f"alignment/{name.replace(' ', '-')}", files, updates, (*WORDS, *MODELS[name]))
        run = dragoman.open_run(folder, threads=1)
        scored = list(run.scorer().score((pair.source, pair.target) for pair in pairs))
        measured = dragoman.measure(run, pairs)
        links = [pair.alignment for pair in scored]
        found = agreement(gold, links)
        shifted = agreement(gold, [[(i, j - 1) for i, j in sentence if j] for sentence in links])
        wrong = {True: 0, False: 0}  # second words of a pair such as "t5 t5x", and all others
        words = dict(wrong)
        for pair, sentence, truth in zip(pairs, links, gold, strict=True):
            for j, word in enumerate(pair.target.split()):
                words[word.endswith("x")] += 1
                wrong[word.endswith("x")] += not truth.sure.issuperset(link for link in sentence if link[1] == j)
        rows.append(
            [
                name,
                f"{measured.evaluation.score('BLEU'):.1f}",
                f"{100 * found.aer:.1f}",
                *(f"{100 * wrong[second] / words[second]:.1f} %" for second in (False, True)),
                f"{100 * shifted.aer:.1f}",
            ]
        )
    table(("model", "BLEU", "AER", "wrong: first words", "second words", "AER, a word later"), rows)


if __name__ == "__main__":
    main()
