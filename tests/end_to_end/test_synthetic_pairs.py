"""`backtranslate` and `distill`: pairs of which a model wrote one side."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.corpora.corpus import read_pairs
from dragoman.evaluation.bleu import ReferenceNgrams, sentence_bleu
from dragoman.runs.opening import open_run

from .conftest import Corpus


def pairs_in(path: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs([[path]])]


def test_back_translations_are_sources(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "pairs.tsv"
    lines = [*corpus.test[0].read_text().splitlines()[:5], " \u3000", "ab c"]
    text.write_text("".join(f"{line}\n" for line in lines))
    command = ["backtranslate", str(run_folder), "-i", str(text), "-o", str(out), "--threads", "1"]
    assert main([*command, "--tag", "<BT>"]) == 0
    translator = open_run(run_folder, threads=1).translator()
    kept = [line for line in lines if line.strip()]
    assert pairs_in(out) == [
        (f"<BT> {best.text}", line) for line, [best] in zip(kept, translator.translate_lines(kept), strict=True)
    ]


def test_what_is_left_out_is_counted(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out = tmp_path / "text", tmp_path / "pairs.jsonl"
    text.write_text("ab\n\n \nc\n")
    command = ["backtranslate", str(run_folder), "-i", str(text), "-o", str(out), "--threads", "1"]
    assert main(command) == 0
    assert "pairs.jsonl: 2 pairs; left out 2 with an empty side" in capsys.readouterr().err
    text.write_text("\n")
    assert main([*command, "--noise"]) == 2
    assert "there is no pair to write" in capsys.readouterr().err
    assert len(pairs_in(out)) == 2  # the old file stays


def test_samples_and_noise_depend_on_the_seed(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    found = []
    for seed in ("1", "1", "2"):
        out = tmp_path / "pairs.tsv"
        command = ["backtranslate", str(run_folder), "-i", str(corpus.test[0]), "-o", str(out), "--threads", "1"]
        assert main([*command, "--sample", "--noise", "--seed", seed]) == 0
        found.append(pairs_in(out))
    assert found[0] == found[1] != found[2]


def test_noise_without_samples_takes_any_seed(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    found = []
    for seed in ("0", "1"):
        out = tmp_path / "pairs.tsv"
        command = ["backtranslate", str(run_folder), "-i", str(corpus.test[0]), "-o", str(out), "--threads", "1"]
        assert main([*command, "--noise", "--seed", seed]) == 0
        found.append(pairs_in(out))
    assert found[0] != found[1]


def test_a_student_gets_what_the_teacher_says(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "pairs.tsv"
    source, target = corpus.test
    command = ["distill", str(run_folder), str(source), str(target), "-o", str(out), "--threads", "1"]
    assert main(command) == 0
    translator = open_run(run_folder, threads=1).translator()
    lines = source.read_text().splitlines()
    assert pairs_in(out) == [
        (line, best.text) for line, [best] in zip(lines, translator.translate_lines(lines), strict=True)
    ]


def test_the_candidate_nearest_to_the_reference_is_taken(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    out, swapped = tmp_path / "pairs.tsv", tmp_path / "references"
    lines = corpus.test[0].read_text().splitlines()
    translator = open_run(run_folder, threads=1).translator().with_options(beam=4)
    lists = list(translator.translate_lines(lines, 4))
    swapped.write_text("".join(f"{n_best[-1].text}\n" for n_best in lists))  # the last one is asked for
    command = ["distill", str(run_folder), str(corpus.test[0]), str(swapped), "-o", str(out), "--threads", "1"]
    assert main([*command, "--candidates", "4", "--beam", "4"]) == 0
    for (_, chosen), n_best in zip(pairs_in(out), lists, strict=True):
        reference = ReferenceNgrams([n_best[-1].text])
        scores = [float(sentence_bleu(reference.statistics(each.text))) for each in n_best]
        assert float(sentence_bleu(reference.statistics(chosen))) == max(scores)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "pairs.txt"], "pairs are written to one .tsv or .jsonl file"),
        (["-o", "pairs.tsv", "--tag", "a b"], "is several words; give one"),
        (["-o", "pairs.tsv", "--temperature", "2"], "--temperature"),
        (["-o", "pairs.tsv", "--seed", "2"], "--seed"),
        (["-o", "pairs.tsv", "--combine", "logits"], "--combine requires several runs"),
    ],
)
def test_what_has_no_effect_is_refused(
    run_folder: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["backtranslate", str(run_folder), "-i", str(corpus.test[0]), *more]) == 2
    assert message in capsys.readouterr().err


def test_candidates_need_a_beam(run_folder: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["distill", str(run_folder), *map(str, corpus.test), "-o", "pairs.tsv", "--candidates", "9"]
    assert main(command) == 2
    assert "--candidates 9 requires a beam of at least that size" in capsys.readouterr().err
