"""Sentences in JavaScript: what the browser cuts and the model must not."""

from __future__ import annotations

import pytest

from tests.website.conftest import RunScript

SPANS = """
async ([text, language]) => {
    const { sentenceSpans } = await import("./sentences.js");
    return sentenceSpans(text, language);
}
"""


@pytest.mark.parametrize(
    "sentences",
    [
        ["See https://example.org/a/b?id=3 first.", "Then go on!"],
        ["She is Dr. Kowalczyk.", "He is Prof. Ödögh."],
        ["I see OpenOffice.Org here.", "It is 3."],
        ["他来了。", "你好！"],
    ],
)
def test_links_and_titles_are_not_cut(run_script: RunScript, sentences: list[str]) -> None:
    between = "" if sentences[0].endswith("。") else " "
    text = between.join(sentences)

    spans = run_script(SPANS, [text, "en"])

    assert [text[start:end] for start, end in spans] == sentences


def test_a_variant_that_browsers_do_not_know_changes_nothing(run_script: RunScript) -> None:
    assert run_script(SPANS, ["Ja. Nein.", "de-x1"]) == [[0, 3], [4, 9]]
