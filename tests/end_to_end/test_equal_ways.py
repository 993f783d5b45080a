"""Every way to a translation or an alignment gives the same lines, or refuses with the same reason.

A row is a kind of model, a column a way: the verbs, `cluster`, Python, and the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import dragoman
from dragoman.cli.main import main
from dragoman.errors import DragomanError
from dragoman.requests.shared import Compute, EnsembleOptions
from dragoman.runs.opening import make_aligner, open_models
from dragoman.serving.application import create_app
from dragoman.serving.models import Models, ServedFolder
from dragoman.serving.settings import Settings
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import format_links

from .conftest import Corpus

Options = Mapping[str, Any]
"""By the names of Python."""
Answer = list[str] | str
"""Lines, or the message of a refusal."""

KINDS: dict[str, list[str]] = {
    "run": ["run"],
    "export": ["export"],
    "int8": ["int8"],
    "shortlist": ["shortlist"],
    "without attention": ["without attention"],
    "exported without attention": ["exported without attention"],
    "ensemble": ["run", "export"],
    "ensemble with shortlists": ["shortlist", "export", "other shortlist"],
    "ensemble, one without attention": ["without attention", "run"],
    "ensemble without attention": ["without attention", "exported without attention"],
}
"""The models of each row."""

NO_ATTENTION = {name for name in KINDS if name.endswith("without attention") and "one" not in name}


@pytest.fixture(scope="module")
def models(
    run_folder: Path, light: Path, train: Callable[..., int], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The folders that the kinds are made of."""
    folder = tmp_path_factory.mktemp("kinds")
    without = folder / "without"
    assert train(without, "--updates", "250", "--quiet", settings=["model.decoder.context=fixed"]) == 0
    found = {"run": str(run_folder), "export": str(light), "without attention": str(without)}
    # Of each source letter a shortlist has the letter after it: wrong words, so that a shortlist shows.
    wrong = folder / "wrong.tsv"
    wrong.write_text("".join(f"{letter}\t{after}\n" for letter, after in zip("abcdef", "BCDEFA", strict=True)))
    for name, run, more in (
        ("int8", run_folder, ["--int8"]),
        ("shortlist", run_folder, ["--shortlist", "1", "--shortlist-corpus", str(wrong)]),
        ("other shortlist", run_folder, ["--shortlist", "3"]),
        ("exported without attention", without, []),
    ):
        found[name] = str(folder / name.replace(" ", "-"))
        assert main(["export", str(run), "--out", found[name], "--quiet", *more]) == 0
    return found


def _words(options: Options) -> list[str]:
    """The options as the command line takes them."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, *map(str, value if isinstance(value, list) else [value])]
    return words


class Ways:
    """The ways to the answers of some models for the test set; a refusal is the message."""

    def __init__(self, runs: list[str], corpus: Corpus, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._runs, self._folder, self._capsys = runs, folder, capsys
        self._commands = 0
        # Each source once, so that pairs can be told apart by it.
        self.pairs = list(dict(zip(*map(read_lines, corpus.test), strict=True)).items())[:9]
        write_lines(folder / "pairs.tsv", (f"{source}\t{target}" for source, target in self.pairs))
        write_lines(folder / "text", (source for source, _ in self.pairs))

    @property
    def lines(self) -> list[str]:
        return [source for source, _ in self.pairs]

    def _command(self, verb: str, before: Sequence[str], options: Options, after: Sequence[str] = ()) -> Answer:
        """The lines that a command writes."""
        self._commands += 1
        out = self._folder / str(self._commands)
        threads = [] if verb.startswith("cluster") else ["--threads", "1"]
        words = [*verb.split(), *before, *_words(options), *after, *threads, "--quiet"]
        output = out / "output.tsv" if verb in ("distill", "backtranslate") else out
        out.mkdir() if output != out else None
        code = main([*words, "--output", str(output)])
        error = self._capsys.readouterr().err
        if code:
            assert code == 2, error
            return error
        return list(read_lines(next(out.glob("*[!.]")) if output == out and out.is_dir() else output))

    def translate(self, options: Options) -> Answer:
        return self._command("translate", [*self._runs, "-i", str(self._folder / "text")], options)

    def cluster_translate(self, options: Options) -> Answer:
        return self._command("cluster translate", self._runs, options, ["--input", str(self._folder / "text")])

    def distill(self, options: Options) -> Answer:
        found = self._command("distill", [*self._runs, str(self._folder / "pairs.tsv")], options)
        return found if isinstance(found, str) else self._in_order(row.split("\t") for row in found)

    def backtranslate(self, options: Options) -> Answer:
        found = self._command("backtranslate", [*self._runs, "-i", str(self._folder / "text")], options)
        return found if isinstance(found, str) else self._in_order(reversed(row.split("\t")) for row in found)

    def _in_order(self, pairs: Iterable[Iterable[str]]) -> list[str]:
        """The translations of all lines; pairs without one are left out of corpora."""
        found = dict(map(tuple, pairs))
        return [found.get(line, "") for line in self.lines]

    def python(self, options: Options, *, shortlist: bool = True) -> Answer:
        models = {name: value for name, value in options.items() if name in ("combine", "weights")}
        others = {name: value for name, value in options.items() if name not in models}
        try:
            translator = dragoman.load(*self._runs, device="cpu", threads=1, shortlist=shortlist, **models)
            return [best.text for best in translator.translate(self.lines, **others)]
        except DragomanError as error:
            return str(error)

    def python_full_vocabulary(self, options: Options) -> Answer:
        """What an ensemble does, whatever its members list."""
        return self.python(options, shortlist=False)

    def server(self, options: Options) -> Answer:
        [run] = self._runs
        models = Models([ServedFolder.named(f"de:en={run}")], device="cpu")
        with TestClient(create_app(models, Settings())) as client:
            wanted = {"text": self.lines, "source": "de", "target": "en", **options}
            answer = client.post("/v1/translate", json=wanted)
        if answer.status_code != 200:
            assert answer.status_code == 400
            return answer.text
        return [result["text"] for result in answer.json()["results"]]

    def align(self, options: Options) -> Answer:
        return self._command("align", [*self._runs, str(self._folder / "pairs.tsv")], options)

    def cluster_align(self, options: Options) -> Answer:
        return self._command("cluster align", self._runs, options, ["--input", str(self._folder / "pairs.tsv")])

    def python_align(self, options: Options) -> Answer:
        alone = Compute(device="cpu", threads=1)
        reverse = [open_models([run], compute=alone) for run in options.get("reverse", ())]
        try:
            models = open_models(self._runs, EnsembleOptions(combine=options.get("combine")), alone)
            aligner = make_aligner(models, *reverse, threshold=options.get("threshold"))
            return [format_links(aligned.links) for aligned in aligner.align(self.pairs)]
        except DragomanError as error:
            return str(error)


def _reason(answer: str) -> str:
    """What is wrong, without the names of options and models, which each way spells as its users do."""
    return "no attention" if re.search("requires attention|has no attention", answer) else answer


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_translates_alike(
    kind: str, models: dict[str, str], corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = Ways([models[name] for name in KINDS[kind]], corpus, tmp_path, capsys)
    attends, several = kind not in NO_ATTENTION, len(KINDS[kind]) > 1
    columns = [ways.translate, ways.cluster_translate, ways.distill, ways.backtranslate, ways.python]
    served = [] if several else [ways.server]
    columns += [ways.python_full_vocabulary] if several else []
    everywhere = [*columns, *served]
    rows: list[tuple[Options, list[Callable[[Options], Answer]]]] = [
        ({}, everywhere),
        ({"beam": 3}, everywhere),
        ({"coverage_penalty": 0.3}, columns),
        ({"replace_unk": True}, [ways.translate, ways.python, *served]),
        *([({"combine": "logits", "weights": [1, 2, 3][: len(KINDS[kind])]}, columns)] if several else []),
    ]
    for options, some in rows:
        answers = [way(options) for way in some]
        if not attends and ("coverage_penalty" in options or "replace_unk" in options):
            assert [_reason(answer) for answer in answers] == ["no attention"] * len(some), options
        else:
            assert len(set(answers[0])) > 1, "translations that tell lines apart"
            for way, answer in zip(some, answers, strict=True):
                assert answer == answers[0], (way.__name__, options)


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_aligns_alike(
    kind: str, models: dict[str, str], corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = Ways([models[name] for name in KINDS[kind]], corpus, tmp_path, capsys)
    rows: list[Options] = [{}, {"threshold": 0.2}, {"reverse": [models["run"]]}]
    if len(KINDS[kind]) > 1:
        rows.append({"combine": "logits"})
    for options in rows:
        answers = [way(options) for way in (ways.align, ways.cluster_align, ways.python_align)]
        if kind in NO_ATTENTION:
            assert [_reason(answer) for answer in answers] == ["no attention"] * 3, options
        else:
            assert len(set(answers[0])) > 1, "links that tell lines apart"
            assert answers[1:] == answers[:1] * 2, options
    for kind_of_reverse in sorted(NO_ATTENTION & models.keys()):
        answers = [
            way({"reverse": [models[kind_of_reverse]]}) for way in (ways.align, ways.cluster_align, ways.python_align)
        ]
        assert [_reason(answer) for answer in answers] == ["no attention"] * 3
