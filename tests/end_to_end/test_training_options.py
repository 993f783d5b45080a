"""Guided attention, scheduled sampling and the mean of the best validations, through the command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.data.store import Store
from dragoman.runs.layout import RunFolder
from dragoman.text.lines import read_lines, write_lines

from .conftest import Corpus

Train = Callable[..., int]
GUIDED = ["training.guided_alignment=1", "training.validation.metric=perplexity"]


@pytest.fixture(scope="module")
def alignment(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every target word is linked with the first source word: what no model would find by itself."""
    path = tmp_path_factory.mktemp("alignment") / "train.links"
    lines = (line.split() for line in read_lines(corpus.train[1]))
    write_lines(path, (" ".join(f"0-{number}" for number in range(len(words))) for words in lines))
    return path


def _linked_with_the_first(run: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> float:
    """The share of target words of the test set that the model links with the first source word."""
    capsys.readouterr()
    assert main(["align", str(run), *map(str, corpus.test), "--threads", "1"]) == 0
    links = capsys.readouterr().out.split()
    assert len(links) > 30
    return sum(link.startswith("0-") for link in links) / len(links)


@pytest.mark.parametrize("aligned_word", ["predicted", "read"])
def test_a_guided_model_aligns_as_it_was_told(
    aligned_word: str, train: Train, corpus: Corpus, alignment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["training.epochs=4", f"model.attention.aligned_word={aligned_word}", *GUIDED]
    options = ["--quiet", "--alignments", str(alignment)]
    assert train(tmp_path / "guided", *options, settings=settings) == 0
    assert _linked_with_the_first(tmp_path / "guided", corpus, capsys) > 0.9


def test_a_model_that_is_not_guided_finds_its_own_links(
    run_folder: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _linked_with_the_first(run_folder, corpus, capsys) < 0.7


def test_the_word_that_weights_align_is_measured_when_training_ends(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, settings = tmp_path / "run", ["training.validation.metric=perplexity", "training.epochs=8"]
    assert train(out, settings=["model.attention.aligned_word=measured", *settings]) == 0
    [said] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("attention: ")]
    pattern = (
        r"attention: .* the word (\w+); of (\d+) links of the dev set (\d+) are right .* (\d+) for the word just read"
    )
    match = re.fullmatch(pattern, said)
    assert match
    chosen, links, predicted, read = match[1], *map(int, match.groups()[1:])
    assert links >= max(predicted, read) > min(predicted, read)
    assert chosen == ("read" if read > predicted else "predicted")
    assert RunFolder.open(out).load_config().model.attention.aligned_word == chosen
    more = ["training.epochs=9", "model.attention.aligned_word=measured"]
    assert main(["train", "--out", str(out), "--resume", "--quiet", "--threads", "1", "--set", *more]) == 0
    assert RunFolder.open(out).load_config().model.attention.aligned_word == chosen


def test_weights_that_are_guided_are_not_measured(
    train: Train, alignment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["training.epochs=0.2", "model.attention.aligned_word=measured", *GUIDED]
    assert train(tmp_path / "run", "--alignments", str(alignment), settings=settings) == 0
    assert "attention: " not in capsys.readouterr().err
    assert RunFolder.open(tmp_path / "run").load_config().model.attention.aligned_word == "predicted"


def test_the_links_are_in_the_run_so_that_it_goes_on_without_the_file(
    train: Train, corpus: Corpus, alignment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "links"
    copy.write_bytes(alignment.read_bytes())
    settings = [*GUIDED, "training.average_best=2", "training.validation.every=10", "training.log_every=5"]
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    assert train(straight, "--alignments", str(copy), settings=[*settings, "training.epochs=3"]) == 0
    said = capsys.readouterr().err
    assert "; links a line: " in said
    assert "  alignment " in said
    assert "mean of the weights after updates" in said
    assert train(resumed, "--quiet", "--alignments", str(copy), settings=[*settings, "training.epochs=2"]) == 0
    copy.unlink()
    assert main(["train", "--out", str(resumed), "--resume", "--threads", "1", "--set", "training.epochs=3"]) == 0
    assert (resumed / "model.safetensors").read_bytes() == (straight / "model.safetensors").read_bytes()
    kept = [sorted(path.name for path in (run / "checkpoints").glob("best-*")) for run in (straight, resumed)]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2
    folder = RunFolder.open(straight)
    sides = folder.source_side(), folder.target_side()
    store = Store.open(folder.train_data, (sides[0].vocabulary, sides[1].vocabulary))
    assert store.links is not None
    assert len(store.links.offsets) == len(store) + 1


def test_scheduled_sampling_trains(train: Train, tmp_path: Path) -> None:
    settings = ["training.epochs=2", "training.scheduled_sampling=0.5", "training.validation.metric=perplexity"]
    assert train(tmp_path / "run", "--quiet", settings=settings) == 0
    log = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record["perplexity"] for record in map(json.loads, log) if record["kind"] == "validation"]
    assert found[1] < found[0] < 20


@pytest.mark.parametrize(
    ("lines", "settings", "message"),
    [
        (
            None,
            GUIDED,
            "training.guided_alignment: 1.0 needs alignment links; give --alignments FILE for each corpus",
        ),
        (["0-0"] * 300, [], "--alignments: has no effect with training.guided_alignment: 0; set its weight"),
        (
            ["0-0"] * 300,
            [*GUIDED, "model.decoder.context=none", "model.readout.kind=linear"],
            "training.guided_alignment: there is no attention with model.decoder.context: none",
        ),
        (
            ["0-0"] * 299,
            GUIDED,
            "{file} has 299 lines but the corpus {source} {target} has 300 pairs; line k must hold",
        ),
        (["0-0"] * 9 + ["0-"] + [""] * 290, GUIDED, "{file}:10: '0-' is not an alignment link; Pharaoh lines hold"),
        (["0-0", "7-0"] + [""] * 298, GUIDED, "{file}:2: the link 7-0 names source word 7, but {source}:2 has "),
    ],
)
def test_what_cannot_be_guided_is_refused(
    lines: list[str] | None,
    settings: list[str],
    message: str,
    train: Train,
    corpus: Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "links"
    if lines is not None:
        write_lines(path, lines)
    options = [] if lines is None else ["--alignments", str(path)]
    assert train(tmp_path / "run", *options, settings=settings) == 2
    names = {"file": path, "source": corpus.train[0], "target": corpus.train[1]}
    assert message.format(**names) in capsys.readouterr().err


def test_each_corpus_needs_its_alignment(
    train: Train, corpus: Corpus, alignment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--train", *map(str, corpus.dev), "--alignments", str(alignment)]
    assert train(tmp_path / "run", *more, settings=GUIDED) == 2
    assert "--alignments: 1 given for 2 training corpora; give one for each, in their order" in capsys.readouterr().err
    assert train(tmp_path / "run", "--alignments", str(tmp_path / "none"), settings=GUIDED) == 2
    assert "none: does not exist" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_corpora_are_mixed_by_weight_and_resumed_exactly(
    train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--train", *map(str, corpus.dev), "--mix", "1", "3"]
    kept = "cleaning.duplicates=keep"
    assert train(tmp_path / "long", *more, settings=[kept, "training.epochs=0.6"]) == 0
    said = capsys.readouterr().err
    assert "mix: corpus 1: 300 pairs, 25.0% of an epoch, each 0.267 times; corpus 2: 20 pairs, 75.0%" in said
    assert train(tmp_path / "short", *more, settings=[kept, "training.epochs=0.3"]) == 0
    resumed = ["train", "--out", str(tmp_path / "short"), "--resume", "--threads", "1", "--set", "training.epochs=0.6"]
    assert main(resumed) == 0
    assert "mix: corpus 1: 300 pairs" in capsys.readouterr().err
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("long", "short")]
    assert weights[0] == weights[1]


def test_a_mix_needs_a_weight_for_each_corpus(train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", "--mix", "2", "1") == 2
    assert "training.mix.weights: 2 for 1 training corpora; give one for each" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_model_of_text_in_one_form_learns_changed_pairs_and_is_exported(
    train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [f"text.{side}.{key}" for side in ("source", "target") for key in ("segmentation=bpe", "vocabulary=90")]
    settings += [
        "text.case_marks=true",
        "text.normal_form=true",
        "training.changes.capitals=0.3",
        "training.changes.lower_case=0.1",
        "text.protected=[url,variable,number]",
        "training.changes.placeholders=0.2",
        "training.changes.names=0.1",
    ]
    settings += ["training.validation.metric=perplexity"]
    assert train(tmp_path / "long", settings=[*settings, "training.epochs=1.5"]) == 0
    assert "pairs drawn to be changed in the first epoch: " in capsys.readouterr().err
    assert train(tmp_path / "short", "--quiet", settings=[*settings, "training.epochs=0.7"]) == 0
    resumed = ["train", "--out", str(tmp_path / "short"), "--resume", "--threads", "1", "--set", "training.epochs=1.5"]
    assert main([*resumed, "--quiet"]) == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("long", "short")]
    assert weights[0] == weights[1]
    for name, options in (("light", []), ("short-lists", ["--shortlist", "5"])):
        assert main(["export", str(tmp_path / "long"), "--out", str(tmp_path / name), "--quiet", *options]) == 0
    lines = ["ab c", "AB C", "Ab cd E", "", "ABC DEF abc", "ab {x} c 3.14", "{y} {y}", "d http://a.b/c e"]
    run, light, short = (dragoman.load(tmp_path / name) for name in ("long", "light", "short-lists"))
    together = dragoman.load(tmp_path / "long", tmp_path / "short")
    for ours, exported, listed, of_both in zip(
        *(one.translate(lines) for one in (run, light, short, together)), strict=True
    ):
        assert (ours.text, ours.alignment, ours.source_spans) == (
            exported.text,
            exported.alignment,
            exported.source_spans,
        )
        assert all(start <= stop <= len(ours.source) for start, stop in ours.source_spans)
        for item in ("{x}", "{y}", "3.14", "http://a.b/c"):
            for one in (ours, listed, of_both):
                assert one.text.count(item) == one.source.count(item)
    assert run.score(["ab {x}"], ["{x} AB"]) == pytest.approx(light.score(["ab {x}"], ["{x} AB"]), abs=1e-3)
    variants = ["ab cd", "\ufeffａb\u3000c\u00add"]
    plain, other = run.translate(variants)
    assert (other.text, other.alignment) == (plain.text, [(0, target) for _, target in plain.alignment])
    assert other.source_tokens == plain.source_tokens
    assert main(["export", str(tmp_path / "long"), "--out", str(tmp_path / "int8"), "--quiet", "--int8"]) == 0
    assert len({one.text for one in dragoman.load(tmp_path / "int8").translate(variants)}) == 1
    # Words are what stands between plain spaces, so that links of another space would count other words.
    (tmp_path / "same.de").write_text("ab cd\n\ufeffａb c\u00add\n", encoding="utf-8")
    (tmp_path / "same.en").write_text("AB CD\nA\u200bB C\u00adD\n", encoding="utf-8")
    for verb in ("score", "align"):
        capsys.readouterr()
        assert main([verb, str(tmp_path / "long"), str(tmp_path / "same.de"), str(tmp_path / "same.en")]) == 0
        one, same = capsys.readouterr().out.splitlines()
        assert one == same, verb
    pytest.importorskip("sentencex")
    (tmp_path / "letter").write_text(f"Ab. Cd. Ef.\n\nAb. Cd {'{x} ' * 10}ab.\n", encoding="utf-8")
    assert main(["translate", str(tmp_path / "light"), "--paragraphs", "-i", str(tmp_path / "letter")]) == 0
    assert "line 3 has 10 items such as" in capsys.readouterr().err
