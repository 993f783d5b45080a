"""What `docs/contributing/extending.md` explains, tried: a cell, a score, a metric, a verb and an importer."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor, nn

from dragoman.cli.main import VERBS, Verbs, main
from dragoman.config.schema import CellConfig, ModelConfig
from dragoman.evaluation import evaluate
from dragoman.evaluation.metrics import Metric, References, corpus_score, reference_list
from dragoman.export import cells as export_cells
from dragoman.export import scores as export_scores
from dragoman.export.graph import Graph, Value
from dragoman.export.linear import GroupRows, apply
from dragoman.importing.imported_model import ImportedModel, ImportedSide, SpecialSymbols, import_vocabulary, write_run
from dragoman.model import assembly
from dragoman.model.cells import CellState, CellStep
from dragoman.model.dropout import DropUnits
from dragoman.model.linear import Linear
from dragoman.model.scores import Energies
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import open_run
from dragoman.text.vocabulary import SPECIALS
from dragoman.workflows import test_sets  # noqa: F401 (first imported while a test replaces what it imports, it keeps that)

from .conftest import Corpus

Printed = pytest.CaptureFixture[str]
Train = Callable[..., int]


def translations(folder: Path, lines: list[str], tmp_path: Path) -> list[str]:
    source, output = tmp_path / "lines", tmp_path / "translated"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["translate", str(folder), "-i", str(source), "-o", str(output), "--quiet", "--threads", "1"]) == 0
    return output.read_text(encoding="utf-8").splitlines()


def works_everywhere(run: Path, corpus: Corpus, tmp_path: Path, *export: str) -> None:
    """A line has the same translation alone, in a batch, and from the exported folder."""
    lines = corpus.dev[0].read_text(encoding="utf-8").splitlines()[:8]
    together = translations(run, lines, tmp_path)
    assert any(together)
    assert [translations(run, [line], tmp_path)[0] for line in lines[:3]] == together[:3]
    assert main(["export", str(run), "--out", str(tmp_path / "light"), "--quiet", *export]) == 0
    exported = translations(tmp_path / "light", lines, tmp_path)
    assert sum(map(str.__eq__, exported, together)) >= (6 if "--int8" in export else 8)


# A cell --------------------------------------------------------------------------------------------------------------


class MinimalUnit(nn.Module):
    """A minimal gated unit (Zhou et al. 2016): f = sigmoid(a_f + U_f h), h' = (1 - f) h + f tanh(a + U (f h))."""

    kind, parts = "minimal", 1

    def __init__(self, size: int, directions: int) -> None:
        super().__init__()
        self.size, self.gates = size, 2 * size
        self.recurrent_gates = Linear(size, size, directions=directions)
        self.recurrent = Linear(size, size, directions=directions)

    def prepare(self, drop: DropUnits, below: Linear | None = None) -> CellStep:
        project = below.prepare() if below else None
        gate, candidate = self.recurrent_gates.prepare(), self.recurrent.prepare()

        def step(
            inputs: Tensor | None,
            state: CellState,
            *,
            below: Tensor | None = None,
            reset_gated_input: Tensor | None = None,
        ) -> CellState:
            (h,) = state
            if project is not None and below is not None:
                inputs = project(below, plus=inputs)
            assert inputs is not None
            to_gate, to_candidate = inputs.chunk(2, dim=-1)  # [B, 2H] -> [B, H] each
            f = torch.sigmoid(gate(drop(h), plus=to_gate).to(h.dtype))
            new = torch.tanh(candidate(f * drop(h), plus=to_candidate).to(h.dtype))
            return (torch.lerp(h, new, f),)

        return step

    def zero(self, like: Tensor) -> CellState:
        return (like.new_zeros(*like.shape[:-1], self.size, dtype=torch.promote_types(like.dtype, torch.float32)),)

    def state(self, hidden: Tensor) -> CellState:
        return (hidden,)


def minimal_step(
    g: Graph, cell: MinimalUnit, inputs: Value, state: tuple[Value, ...], _: Value | None, direction: int | None
) -> tuple[Value, ...]:
    (h,) = state
    to_gate, to_candidate = g.split(inputs, cell.size, cell.size)  # [N, 2H] -> [N, H] each
    f = g.sigmoid(apply(g, cell.recurrent_gates, h, to_gate, direction=direction))
    new = g.tanh(apply(g, cell.recurrent, f * h, to_candidate, direction=direction))
    return (g.bound(h + f * (new - h)),)


def test_a_cell(train: Train, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(settings: CellConfig, biases: bool, directions: int = 1) -> MinimalUnit:
        return MinimalUnit(settings.size, directions)

    monkeypatch.setattr(assembly, "_cell", made)
    monkeypatch.setitem(export_cells._STEPS, "minimal", minimal_step)
    settings = ["training.updates=80", "training.optimiser.learning_rate=0.01", "training.validation.metric=chrf"]
    assert train(tmp_path / "run", "--quiet", settings=settings) == 0
    works_everywhere(tmp_path / "run", corpus, tmp_path, "--int8")


# A score -------------------------------------------------------------------------------------------------------------


class Distance(nn.Module):
    """The score e = -|h_t - W_a h_s|^2 / 2 = h_t^T k - |k|^2 / 2 - |h_t|^2 / 2, of which softmax ignores the last."""

    kind, keys_are_annotations = "distance", False

    def __init__(self, query: int, annotation: int) -> None:
        super().__init__()
        self.annotation = Linear(annotation, query)

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        keys: Tensor = self.annotation(annotations)  # [B, S, W] -> [B, S, H]
        return keys.to(annotations.dtype)

    def prepare(self, keys: Tensor) -> Energies:
        lengths = keys.square().sum(-1)[:, None] / 2  # [B, S, H] -> [B, 1, S]

        def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
            return torch.bmm(queries, keys.mT) - lengths  # [B, Q, H], [B, H, S] -> [B, Q, S]

        return energies


def distance_energies(
    g: Graph, score: Distance, keys: Value, queries: Value, group: GroupRows, coverage: Value | None
) -> Value:
    products = g.matmul(group(queries), g.transpose(keys, 0, 2, 1))  # [B, Q, H], [B, H, S] -> [B, Q, S]
    lengths = g.transpose(g.total(keys * keys, 2), 0, 2, 1)  # [B, S, 1] -> [B, 1, S]
    return products - lengths * g.number(0.5)


def test_a_score(train: Train, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(config: ModelConfig, annotation: int) -> Distance:
        return Distance(config.decoder.size, annotation)

    monkeypatch.setattr(assembly, "_score", made)
    monkeypatch.setitem(export_scores._KEYS, "distance", export_scores._KEYS["general"])
    monkeypatch.setitem(export_scores._ENERGIES, "distance", distance_energies)
    settings = ["training.updates=60", "training.optimiser.learning_rate=0.01", "training.validation.metric=chrf"]
    assert train(tmp_path / "run", "--quiet", settings=settings) == 0
    works_everywhere(tmp_path / "run", corpus, tmp_path)


# A metric ------------------------------------------------------------------------------------------------------------


class FirstWords:
    """Percentage of translations that begin with the first word of a reference."""

    name, higher_is_better = "first word", True

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        """1 or 0, and 1, for each sentence: [N, 2]."""
        right = [
            line.split()[:1] in [one.split()[:1] for one in reference_list(several)]
            for line, several in zip(hypotheses, references, strict=True)
        ]
        return np.column_stack((right, np.ones(len(right)))).astype(np.float64)

    def score(self, statistics: NDArray[np.float64]) -> float:
        right, sentences = statistics
        return float(100 * right / sentences)

    def signature(self) -> str:
        return "first word"


def test_a_metric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Printed) -> None:
    hypotheses, references = ["a cat", "the dog", "a bird"], ["a dog", "a dog", ["the bird", "a fowl"]]
    assert corpus_score(FirstWords(), hypotheses, references) == pytest.approx(200 / 3)
    known = evaluate.corpus_metrics

    def with_ours(*arguments: Any) -> list[Metric]:
        return [*known(*arguments), FirstWords()]

    monkeypatch.setattr(evaluate, "corpus_metrics", with_ours)
    for name, lines in (("src", hypotheses), ("hyp", hypotheses), ("ref", ["a dog", "a dog", "a fowl"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["evaluate", "--hyp", *(str(tmp_path / name) for name in ("hyp", "src", "ref"))]) == 0
    score, _ = (line for line in capsys.readouterr().out.splitlines() if line.startswith("first word"))
    assert score.split()[2] == "66.67"


# A verb --------------------------------------------------------------------------------------------------------------

SHOUT = """
from typing import Annotated

from dragoman.config.section import doc
from dragoman.requests.shared import PRINTED, Quiet, Request
from dragoman.text.lines import read_lines

SUMMARY = "write lines in capitals"
DESCRIPTION = "Writes each line of a file in capitals."
EXAMPLES = ("dragoman shout lines.txt",)
REQUEST = "dragoman.cli.shout.ShoutRequest"  # in one module here: the request, the verb and what it does

class ShoutRequest(Request, kw_only=True):
    file: Annotated[str, doc("text", positional=True)]
    general: PRINTED = Quiet()

def run(request):
    for line in read_lines(request.file):
        print(line.upper())
"""


def test_a_verb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Printed) -> None:
    module = types.ModuleType("dragoman.cli.shout")
    exec(SHOUT, module.__dict__)
    monkeypatch.setitem(sys.modules, "dragoman.cli.shout", module)
    monkeypatch.setattr("dragoman.cli.main.VERBS", Verbs({**VERBS.groups, "ours": {"shout": "shout"}}))
    (tmp_path / "lines").write_text("so quiet\n", encoding="utf-8")
    assert main(["shout", str(tmp_path / "lines")]) == 0
    assert capsys.readouterr().out == "SO QUIET\n"
    assert main(["shout", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err == f"dragoman: error: {tmp_path / 'missing'}: does not exist\n"
    assert main(["shoot"]) == 2
    assert "did you mean shout?" in capsys.readouterr().err


# An importer ---------------------------------------------------------------------------------------------------------


def read_other_toolkit(checkpoint: Path) -> ImportedModel:
    """A model of a toolkit that stores arrays under other names, and the special symbols last in its vocabularies."""
    stored = np.load(checkpoint)
    symbols = SpecialSymbols(pad="[pad]", unknown="[unk]", begin="[bos]", end="[eos]")
    vocabularies = {
        side: import_vocabulary(stored[f"words.{side}"].tolist(), symbols, f"{checkpoint}: words.{side}")
        for side in ("source", "target")
    }
    weights = {
        name.removeprefix("net."): torch.from_numpy(stored[name]) for name in stored.files if name.startswith("net.")
    }
    for name, side in (
        *(("source.weight", "source"), ("target.weight", "target")),
        *(("output.weight", "target"), ("output.bias", "target")),
    ):
        weights[name] = vocabularies[side].arrange(weights[name])
    sides = (ImportedSide(vocabularies[side], {"segmentation": "characters"}) for side in ("source", "target"))
    return ImportedModel(*sides, json.loads(str(stored["architecture"])), {}, weights, [])


def test_an_importer(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    stored = load_file(RunFolder(run_folder).weights)
    arrays = {f"net.{name}": array for name, array in stored.items()}
    for side, text in (
        ("source", RunFolder(run_folder).source_side()),
        ("target", RunFolder(run_folder).target_side()),
    ):
        words = text.vocabulary.pieces(range(len(SPECIALS), len(text.vocabulary)))
        arrays[f"words.{side}"] = np.array([*words, "[pad]", "[unk]", "[bos]", "[eos]"])
    for name in ("source.weight", "target.weight", "output.weight", "output.bias"):
        arrays[f"net.{name}"] = np.roll(arrays[f"net.{name}"], -len(SPECIALS), axis=0)
    arrays["architecture"] = np.array(json.dumps(open_run(run_folder).config.model.values()))
    np.savez(tmp_path / "other.npz", **arrays)
    imported = write_run(read_other_toolkit(tmp_path / "other.npz"), tmp_path / "other.npz", tmp_path / "imported")
    lines = corpus.dev[0].read_text(encoding="utf-8").splitlines()[:8]
    assert translations(imported.path, lines, tmp_path) == translations(run_folder, lines, tmp_path)
