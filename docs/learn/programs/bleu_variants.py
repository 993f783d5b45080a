"""What is "BLEU"? One output, one reference, and what its variants say; then the arguments in the wrong order."""

from __future__ import annotations

import statistics

import sacrebleu
from small import SMALL, phrases, table, train

import dragoman


def main(updates: int = 900) -> None:
    """Translate the test set once and print what each variant says of it."""
    files = phrases()
    run = dragoman.open_run(train("beam", files, updates, SMALL), threads=1)
    pairs = list(dragoman.read_test_set(files["test"]))
    output = [best.text for [best] in run.translator().translate_lines(pair.source for pair in pairs)]
    reference = [pair.target for pair in pairs]
    variants = {
        "the standard (13a, cased, exponential smoothing)": {},
        "lower case": {"lowercase": True},
        "tokenizer intl": {"tokenize": "intl"},
        "words between spaces (tokenizer none)": {"tokenize": "none"},
        "characters (tokenizer char)": {"tokenize": "char"},
        "without smoothing": {"smooth_method": "none"},
    }
    rows = [[name, *figures(sacrebleu.corpus_bleu(output, [reference], **given))] for name, given in variants.items()]
    sentences = [sacrebleu.sentence_bleu(one, [other]).score for one, other in zip(output, reference, strict=True)]
    rows.append(["mean of the sentences' BLEU", f"{statistics.mean(sentences):.2f}", "", ""])
    short = [line.rsplit(" ", 1)[0] for line in output]
    swapped = {
        "the standard, arguments swapped": (reference, output),
        "without the last word of each line": (short, reference),
        "the same, arguments swapped": (reference, short),
    }
    rows += [[name, *figures(sacrebleu.corpus_bleu(one, [other]))] for name, (one, other) in swapped.items()]
    table(("variant", "BLEU", "brevity penalty", "length ratio"), rows)


def figures(score: sacrebleu.BLEUScore) -> list[str]:
    """BLEU, brevity penalty, and length of the output by that of the reference."""
    return [f"{score.score:.2f}", f"{score.bp:.3f}", f"{score.sys_len / score.ref_len:.3f}"]


if __name__ == "__main__":
    main()
