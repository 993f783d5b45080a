"""From runs to pages: which sentences are shown, under which numbers, and the windows of local attention."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.corpora.corpus import read_pairs
from dragoman.engines.torch_engine import TorchEngine
from dragoman.model.assembly import build
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run, open_run
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.workflows import reports
from dragoman.workflows.heatmaps import align_sentences
from dragoman.workflows.reports import given_samples, translated_samples, write_run_report

from .conftest import Corpus


def sentences(path: Path) -> list[dict]:
    found = re.search(r'id="texts">(.*?)</script>', path.read_text(encoding="utf-8"))
    assert found
    return json.loads(found[1])["sentences"]


def test_a_large_dev_set_is_sampled_with_its_line_numbers(
    run_folder: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "TRAINING_SENTENCES", 5)
    shutil.copytree(run_folder, tmp_path / "run")
    pairs = list(read_pairs([corpus.dev]))
    path = write_run_report(open_run(tmp_path / "run", device="cpu", threads=1), pairs)
    assert "5 sentences of the 20 of the dev set, evenly spread over it" in path.read_text(encoding="utf-8")
    shown = sentences(path)
    assert [sentence["n"] for sentence in shown] == [1, 5, 9, 13, 17]
    assert [sentence["s"] for sentence in shown] == [pairs[n].source for n in (0, 4, 8, 12, 16)]


def test_the_bleu_tokenizer_follows_the_language(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "run")
    run = open_run(tmp_path / "run", device="cpu", threads=1)
    run = replace(run, config=override(run.config, ["text.target.language=zh", "training.validation.tokenizer=auto"]))
    page = write_run_report(run, list(read_pairs([corpus.dev]))).read_text(encoding="utf-8")
    assert "|tok:zh|" in page
    assert "tokenised BLEU" not in page


def test_a_large_test_set_shows_the_worst_the_best_and_some_others(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "SENTENCES", 6)
    monkeypatch.setattr(reports, "EXTREMES", 1)
    lines = corpus.test[1].read_text(encoding="utf-8").splitlines()
    hypotheses = [f"{line[:-1]}x" for line in lines]
    hypotheses[7], hypotheses[11] = "zzzzzz", lines[11]
    given = tmp_path / "hyp"
    given.write_text("".join(f"{line}\n" for line in hypotheses), encoding="utf-8")
    files = map(str, corpus.test)
    assert main(["evaluate", *files, "--hyp", str(given), "--report", str(tmp_path / "page"), "--quiet"]) == 0
    path = tmp_path / "page" / "report.html"
    assert [sentence["n"] for sentence in sentences(path)] == [1, 6, 8, 11, 12, 16]
    assert "6 of the 20 sentences are shown: the 1 worst and the 1 best by chrF" in path.read_text(encoding="utf-8")


@pytest.fixture
def local(tmp_path: Path) -> Run:
    """A model of random weights whose attention is local, D = 1, on characters."""
    sizes = ["embedding.source=8", "embedding.target=8", "encoder.size=8", "decoder.size=8", "readout.size=8"]
    scope = ["attention.size=8", "attention.scope=local-p", "attention.window=1", "decoder.order=update-then-look"]
    settings = [f"model.{setting}" for setting in (*sizes, *scope, "initialisation=uniform", "init_scale=0.8")]
    config = override(Config(), [*settings, "search.beam=2", "search.block_unknown=true"])
    side = TextSide(
        CharacterSegmentation(),
        Vocabulary.from_counts(dict.fromkeys(CharacterSegmentation().segment("abcdef").pieces, 1), None),
    )
    torch.manual_seed(4)
    model = build(config.model, len(side.vocabulary), len(side.vocabulary)).eval()
    return Run(RunFolder(tmp_path), config, side, side, TorchEngine(model), 0)


def assert_inside(samples: list) -> None:
    """Every weight lies in the window of its row, and the centre in the middle of it."""
    for sample in samples:
        assert sample.windows.shape == (len(sample.target_words), 3)
        for weights, (centre, first, last) in zip(sample.weights, sample.windows, strict=True):
            reached = np.flatnonzero(weights)
            assert first <= reached.min() + 0.5
            assert reached.max() - 0.5 <= last
            assert first <= centre <= last


def test_windows_are_those_of_the_weights_for_given_and_for_own_translations(local: Run) -> None:
    sources = ["abc de fab", "f ed cb"]
    assert_inside(given_samples(local, [(source, "ab cd e") for source in sources]))
    translations = [n_best[0] for n_best in local.translator().translate_lines(sources)]
    own = translated_samples(local, translations)
    again = given_samples(local, [(translation.source, translation.text) for translation in translations])
    for ours, theirs in zip(own, again, strict=True):
        assert ours.windows is not None
        np.testing.assert_allclose(ours.windows, theirs.windows, atol=1e-5)
    assert_inside(own)


def test_tokens_have_the_window_of_their_own_step(local: Run) -> None:
    (scored,) = local.scorer().score([("abc", "de")])
    (drawn,) = align_sentences(local, [("abc", "de")], segments=True).heat_maps
    assert scored.centres is not None
    assert drawn.windows is not None
    shift = local.engine.attention_shift
    np.testing.assert_allclose(drawn.windows[:, 0], scored.centres[shift:])
    assert len(drawn.windows) == len(drawn.weights) == len(drawn.target_words)
