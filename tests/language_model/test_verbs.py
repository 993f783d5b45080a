"""`dragoman lm train`, `lm score`, `lm perplexity`, and language models in `dragoman rescore`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dragoman.cli.main import main
from dragoman.runs.language_model import open_language_run
from dragoman.scoring.nbest import read_nbest
from dragoman.text.lines import read_lines, write_lines
from tests.schemas import require_fits

SMALL = (
    "text.segmentation=whitespace",
    "model.embedding=8",
    "model.recurrent.size=16",
    "model.feed_forward.layers=[16]",
    "model.feed_forward.order=3",
    "training.optimiser.learning_rate=0.02",
    "training.batch.size=64",
    "training.precision=fp32",
)


def sentences(count, seed):
    random = np.random.default_rng(seed)
    nouns, verbs = ["dog", "cat", "man"], ["runs", "sleeps"]
    return [f"the {random.choice(nouns)} {random.choice(verbs)} ." for _ in range(count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("language")
    write_lines(path / "train", [*sentences(200, 1), "", "x " * 200])
    write_lines(path / "dev", sentences(20, 2))
    for name, network in (("rnn", "recurrent"), ("cslm", "feed-forward")):
        assert train(path, name, f"model.network={network}", "training.epochs=6") == 0
    return path


def train(path, name, *settings, more=()):
    files = ["--train", str(path / "train"), "--dev", str(path / "dev"), "--out", str(path / name)]
    return main(["lm", "train", *files, "--quiet", *more, "--set", *SMALL, *settings])


@pytest.mark.parametrize("name", ["rnn", "cslm"])
def test_a_trained_model_knows_what_can_be_known(folder, capsys, name):
    assert main(["lm", "perplexity", str(folder / name), "-i", str(folder / "dev"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    require_fits("perplexity", figures)
    # Three nouns and two verbs are chance, the rest is not: exp((log 3 + log 2) / 5) = 1.43 at best.
    assert 1.42 < figures["perplexity"] < 1.6
    assert (figures["lines"], figures["tokens"], figures["unknown"]) == (20, 100, 0)
    log = [json.loads(line) for line in read_lines(folder / name / "log.jsonl")]
    best = min(line["perplexity"] for line in log if line["kind"] == "validation")
    assert best == pytest.approx(figures["perplexity"], rel=1e-4)


@pytest.mark.parametrize("name", ["rnn", "cslm"])
def test_a_line_scores_the_same_alone_and_among_others(folder, tmp_path, name):
    lines = ["the dog runs .", "", "the", "unheard of", "the dog sleeps .", "the dog runs ."]
    write_lines(tmp_path / "lines", lines)
    for more in ((), ("--tokens",)):
        assert (
            main(["lm", "score", str(folder / name), "-i", str(tmp_path / "lines"), "-o", str(tmp_path / "out"), *more])
            == 0
        )
        found = [[float(term) for term in line.split()] for line in read_lines(tmp_path / "out")]
        scorer = open_language_run(folder / name).scorer()
        for line, terms in zip(lines, found, strict=True):
            (alone,) = scorer.score_lines([line])
            assert terms == pytest.approx(alone.tolist() if more else [alone.sum()], abs=1e-5)
    assert len(found[1]) == 1


def test_resuming_gives_the_weights_of_never_having_stopped(folder):
    assert train(folder, "stopped", "training.epochs=3") == 0
    (finished,) = [line for line in read_lines(folder / "rnn" / "log.jsonl") if '"finished"' in line]
    updates = str(json.loads(finished)["update"])
    assert main(["lm", "train", "--out", str(folder / "stopped"), "--resume", "--quiet", "--updates", updates]) == 0
    one, other = (open_language_run(folder / name).model.state_dict() for name in ("rnn", "stopped"))
    assert all((one[key] == other[key]).all() for key in one)


def test_training_stops_when_dev_does_not_get_better(folder):
    patience = "training.validation.patience=2", "training.epochs=50", "training.optimiser.learning_rate=5"
    assert train(folder, "impatient", *patience) == 0
    log = [json.loads(line) for line in read_lines(folder / "impatient" / "log.jsonl")]
    results = [line["perplexity"] for line in log if line["kind"] == "validation"]
    assert len(results) < 50
    assert min(results) == results[-3]


def test_lists_get_the_language_models_as_features(folder, tmp_path):
    texts = ["the dog runs .", "dog the runs .", "the dog runs .", "a cat"]
    ids = [0, 0, 2, 2]
    write_lines(tmp_path / "list", [f"{n} ||| {text} ||| LM= -1 ||| -1" for n, text in zip(ids, texts, strict=True)])
    models = [str(folder / "rnn"), str(folder / "cslm")]
    assert main(["rescore", str(tmp_path / "list"), "--lm", *models, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    expected = [[float(one.sum()) for one in open_language_run(model).scorer().score_lines(texts)] for model in models]
    found = [entry.features["NeuralLM"] for entry in read_nbest(tmp_path / "out")]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-6)
    assert found[0][0] > found[1][0]


NEW = ("lm", "train", "--out", "RUN", "--train", "TEXT", "--dev", "TEXT")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lm", "train", "--out", "RUN"], "--train is required: give a text file"),
        (["lm", "train", "--out", "RUN", "--train", "NO", "--dev", "TEXT"], "NO: does not exist"),
        (["lm", "train", "--out", "RNN", "--train", "TEXT", "--dev", "TEXT"], "a run is there already"),
        (
            [*NEW, "--set", "training.validation.metric=bleu"],
            "a language model supports perplexity only",
        ),
        (
            [*NEW, "--set", "training.validation.sentences=5"],
            "training.validation.sentences: has no effect on a language model",
        ),
        (
            [*NEW, "--set", "training.changes.capitals=0.1"],
            "training.changes: has no effect on a language model",
        ),
        (
            [*NEW, "--set", "model.order=3"],
            "unknown key 'model.order'",
        ),
        (
            ["lm", "train", "--out", "RUN", "--train", "TEXT", "--dev", "BLANK"],
            "BLANK: no line with words in it",
        ),
        (
            ["lm", "train", "--out", "RUN", "--train", "EMPTY", "--dev", "TEXT"],
            "EMPTY: no line with words in it",
        ),
        (
            ["lm", "train", "--out", "RNN", "--resume", "--set", "model.embedding=9"],
            "--resume: model.embedding is 9 here but 8 in the run; a resumed training may change only",
        ),
        (["lm", "perplexity", "RNN", "-i", "EMPTY"], "EMPTY: empty file"),
        (["lm", "perplexity", "NO", "-i", "TEXT"], "NO: does not exist"),
        (["lm", "scores", "RNN"], "lm needs a second word: lm train, lm score, lm perplexity"),
        (["translate", "RNN", "-i", "TEXT"], "this is the configuration of a language model, which cannot translate"),
        (["rescore", "LIST"], "--model, --reverse, --lm or --length is required"),
        (["rescore", "LIST", "--model", "RNN"], "--model and --reverse require --source"),
        (["rescore", "LIST", "--lm", "RNN", "--source", "TEXT"], "--source requires --model or --reverse"),
        (["rescore", "LIST", "--lm", "RNN", "--tokenised", "en"], "--tokenised requires --model or --reverse"),
    ],
)
def test_what_cannot_work_is_said(folder, tmp_path, capsys, monkeypatch, words, said):
    write_lines(tmp_path / "TEXT", ["a b"])
    write_lines(tmp_path / "BLANK", ["", " "])
    write_lines(tmp_path / "EMPTY", [])
    write_lines(tmp_path / "LIST", ["0 ||| a ||| LM= 1 ||| 1"])
    (tmp_path / "RNN").symlink_to(folder / "rnn")
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "RUN").exists()
