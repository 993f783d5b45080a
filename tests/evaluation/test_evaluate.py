"""A whole evaluation: figures, slices, JSON, table."""

import json
import math

import pytest

from dragoman.errors import InputError
from dragoman.evaluation.evaluate import ReferencePerplexity, evaluate
from dragoman.evaluation.metrics import Preparation, bleu, chrf
from dragoman.evaluation.slices import by_length, by_length_window, partition

SOURCES = ["a b", "a b c d e f", "g h i j k l", "c"]
REFERENCES = ["ein Hund", "der Hund läuft über die Wiese", "die Katze schläft auf dem Sofa", "ja"]
HYPOTHESES = ["ein Hund", "der Hund läuft über eine Wiese", "die Katze schläft auf dem Bett", "nein"]


def test_scores_are_those_of_the_metrics_on_the_corpus():
    evaluation = evaluate(HYPOTHESES, REFERENCES)
    assert evaluation.score("BLEU") == bleu(HYPOTHESES, REFERENCES)
    assert evaluation.score("chrF") == chrf(HYPOTHESES, REFERENCES)
    assert evaluation.score("exact match") == 25
    assert evaluation.sentences == 4
    assert [score.name for score in evaluation.scores] == ["BLEU", "chrF", "TER", "exact match"]


def test_identical_text_has_the_best_scores():
    evaluation = evaluate(REFERENCES, REFERENCES)
    assert [round(score.value, 6) for score in evaluation.scores] == [100, 100, 0, 100]
    assert evaluation.length_ratio == 1


def test_a_slice_scores_as_a_corpus_of_its_sentences():
    evaluation = evaluate(HYPOTHESES, REFERENCES, slicings=[by_length(SOURCES, "source")])
    (table,) = evaluation.slicings
    assert [(part.label, part.sentences) for part in table.slices] == [("0-4", 2), ("5-9", 2)]
    assert table.slices[1].scores == evaluate(HYPOTHESES[1:3], REFERENCES[1:3]).scores
    # and that is not the mean of sentence scores
    mean = (bleu(HYPOTHESES[1:2], REFERENCES[1:2]) + bleu(HYPOTHESES[2:3], REFERENCES[2:3])) / 2
    assert table.slices[1].scores[0].value != pytest.approx(mean, abs=0.1)


def test_any_division_of_the_corpus_can_be_a_slicing():
    by_hand = partition("genre", ("news", "talk"), (1, 0, 1, 0))
    evaluation = evaluate(HYPOTHESES, REFERENCES, slicings=[by_hand, by_length(SOURCES, "source")])
    assert [table.name for table in evaluation.slicings] == ["genre", "source length in words"]
    assert [part.sentences for part in evaluation.slicings[0].slices] == [2, 2]


def test_slices_may_share_sentences():
    (table,) = evaluate(HYPOTHESES, REFERENCES, slicings=[by_length_window(SOURCES, "source")]).slicings
    assert [(part.label, part.sentences) for part in table.slices] == [
        ("1", 4), ("2", 3 + 1), ("3", 4), ("4", 4), ("5", 4), ("6", 3)
    ]  # fmt: skip
    assert table.slices[5].scores == evaluate(HYPOTHESES[:3], REFERENCES[:3]).scores


def test_tokenised_bleu_is_an_additional_score_with_the_tokeniser_in_its_signature():
    evaluation = evaluate(HYPOTHESES, REFERENCES, tokenised=Preparation("upper", str.upper))
    assert [score.name for score in evaluation.scores] == ["BLEU", "tokenised BLEU", "chrF", "TER", "exact match"]
    signature = evaluation.scores[1].signature
    assert "tok:none|smooth:none" in signature
    assert signature.endswith("|text:upper")


def test_length_ratio_counts_words_as_bleu_does():
    assert evaluate(["a b, c"], ["a b"]).length_ratio == 2  # the comma is a word
    assert evaluate([""], ["a b"]).length_ratio == 0
    assert evaluate(["a"], [""]).length_ratio == math.inf
    assert evaluate([""], [""]).length_ratio == 1


def test_perplexity_is_per_token_and_nll_per_sentence():
    perplexity = ReferencePerplexity(nll=12 * math.log(5), tokens=12, sentences=4)
    assert perplexity.per_token == pytest.approx(5)
    assert perplexity.nll_per_sentence == pytest.approx(3 * math.log(5))


def test_perplexity_beyond_a_float_is_infinite_and_null_in_json():
    perplexity = ReferencePerplexity(nll=1e6, tokens=1, sentences=1)
    assert perplexity.per_token == math.inf
    assert evaluate(["a"], ["a"], perplexity=perplexity).to_json()["perplexity"]["per_token"] is None


def test_json_holds_every_figure_and_signature():
    evaluation = evaluate(
        HYPOTHESES, REFERENCES, slicings=[by_length(SOURCES, "source")], perplexity=ReferencePerplexity(10.0, 5, 4)
    )
    values = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert values["sentences"] == 4
    assert values["scores"]["BLEU"]["score"] == evaluation.score("BLEU")
    assert "case:mixed" in values["scores"]["BLEU"]["signature"]
    assert set(values["scores"]) == {"BLEU", "chrF", "TER", "exact match"}
    assert values["length_ratio"] == evaluation.length_ratio
    assert values["perplexity"] == {
        "per_token": math.exp(2),
        "nll_per_sentence": 2.5,
        "nll": 10.0,
        "tokens": 5,
        "sentences": 4,
    }
    first = values["slices"]["source length in words"][0]
    assert (first["label"], first["sentences"], set(first["scores"])) == ("0-4", 2, set(values["scores"]))


def test_json_without_perplexity_has_no_such_key():
    assert "perplexity" not in evaluate(["a"], ["a"]).to_json()


def test_infinite_length_ratio_is_null_in_json():
    assert evaluate(["a"], [""]).to_json()["length_ratio"] is None


def test_table_shows_figures_slices_and_signatures_in_aligned_columns():
    table = evaluate(
        HYPOTHESES, REFERENCES, slicings=[by_length(SOURCES, "source")], perplexity=ReferencePerplexity(10.0, 5, 4)
    ).table()
    figures, slices, signatures = table.split("\n\n")
    assert "exact match           25.00" in figures.splitlines()
    assert "perplexity per token  7.389" in figures.splitlines()
    assert len({len(line) for line in figures.splitlines()}) == 1
    head, *rows = slices.splitlines()
    assert head.split() == ["source", "length", "in", "words", "sentences", "BLEU", "chrF", "TER", "exact", "match"]
    assert [row.split()[:2] for row in rows] == [["0-4", "2"], ["5-9", "2"]]
    assert len({len(line) for line in slices.splitlines()}) == 1
    assert [line.split("  ")[0] for line in signatures.splitlines()] == ["BLEU", "chrF", "TER", "exact match"]


def test_tokenizer_reaches_bleu():
    evaluation = evaluate(["Yes ."], ["Yes."], tokenizer="none")
    assert "tok:none" in evaluation.scores[0].signature


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "nothing to evaluate: 0 translations and 0 references"),
        (["a"], [], "1 translations cannot be compared with 0 references"),
        (["a"], ["a", "b"], "1 translations cannot be compared with 2 references; line n of one must belong to line n"),
    ],
)
def test_unequal_numbers_of_lines_are_an_error_with_counts(hypotheses, references, message):
    with pytest.raises(InputError, match=message):
        evaluate(hypotheses, references)


def test_slicing_of_another_corpus_is_an_error_with_counts():
    with pytest.raises(InputError, match="2 translations cannot be sliced by the source length in words of 1 sent"):
        evaluate(["a", "b"], ["a", "b"], slicings=[by_length(["x"], "source")])
