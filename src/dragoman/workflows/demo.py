"""The demonstration: train on the generated corpus, evaluate on held-out lines, and write the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.corpora.corpus import read_pairs
from dragoman.errors import InputError
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.overlap import NEAR
from dragoman.model.devices import set_threads
from dragoman.progress import Console
from dragoman.report.facts import language_name
from dragoman.requests.training import DemoRequest
from dragoman.runs.new_run import require_free
from dragoman.runs.opening import Run, open_run
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.temporary import make_folder, writing
from dragoman.text.words import words_in
from dragoman.translation.result import Translation
from dragoman.workflows.demo_corpus import choose_languages, make_corpus, reader_locale
from dragoman.workflows.evaluation import RunEvaluation, measure
from dragoman.workflows.reports import evaluated_run, write_run_report
from dragoman.workflows.training import train

SHOWN = 6
"""Translations that are shown."""


@dataclass(frozen=True)
class Demonstration:
    """The result of `dragoman demo`."""

    run: Run
    quality: RunEvaluation
    """Evaluation on the test lines."""
    overlap: str
    """How much of the test lines is in the training text; the report also says so."""
    report: Path

    def examples(self) -> list[str]:
        """The longest line of each of `SHOWN` equal parts with its translation: short ones, such as "12 feet", show
        little. Below, each word with the source word aligned to it."""
        translations = self.quality.translations
        size = max(1, -(-len(translations) // SHOWN))
        parts = (translations[start : start + size] for start in range(0, len(translations), size))
        return [_shown(max(part, key=lambda translation: len(translation.source))) for part in parts]


def demonstrate(request: DemoRequest) -> Demonstration:
    """Write the corpus to OUT/corpus, train the preset `demo` in OUT, evaluate on the test lines, write the report.

    Raises:
        ConfigError: a locale is unknown, or has too little data.
        RunError: as for `runs.new_run.require_free`.
        InputError: the corpus cannot be written, or other text has one of its names.
        Interrupted: a signal came; the state is saved.
    """
    out, overwrite, minutes, device = Path(request.out), request.overwrite, request.minutes, request.general.device
    set_threads(request.general.threads)
    console = Console(quiet=request.general.quiet)
    source, target = choose_languages(request.source, request.target, reader_locale())
    names = f"{language_name(source)} to {language_name(target)} ({source} to {target})"
    console.info(f"demo: {names}; --from and --to choose others")
    config = override(
        load_preset("demo"),
        [
            f"text.source.language={source}",
            f"text.target.language={target}",
            *([] if minutes is None else [f"training.minutes={minutes}"]),
        ],
    )
    require_free(out, overwrite=overwrite)
    files = write_demo_corpus(out / "corpus", source, target)
    trained = train(config, [files["train"]], [files["dev"]], out, overwrite=overwrite, device=device, console=console)
    run = open_run(trained.folder.path, device=device)
    test = list(read_pairs([files["test"]]))
    quality = measure(run, test, console=console)
    overlap = _overlap(files)
    report = write_run_report(run, test, evaluated_run(run, quality), f"the test set; {overlap}")
    return Demonstration(run, quality, overlap, report)


def _shown(translation: Translation) -> str:
    source, target = words_in(translation.source), words_in(translation.text)
    links = "   ".join(f"{target[j]} < {source[i]}" for i, j in sorted(translation.alignment, key=lambda link: link[1]))
    return f"\n{translation.source}\n{translation.text}\n    {links}"


def _overlap(files: Mapping[str, tuple[Path, Path]]) -> str:
    """Say how many test lines are in the training text, as `dragoman inspect` counts them."""
    (test,) = inspect_corpus([files["train"]], {"test": files["test"]}).held_out
    same, near = (test.sides["source"].count(exact=exact) for exact in (True, False))
    return (
        f"{same or 'none'} of its source lines {'is' if same < 2 else 'are'} in the training text; {near} nearly are "
        f"({round(100 * NEAR)} % of the words in common)"
    )


def write_demo_corpus(folder: str | Path, source: str = "de", target: str = "en") -> dict[str, tuple[Path, Path]]:
    """Write the demonstration corpus as plain text files; nothing is downloaded.

    A file that is there already and holds other text is not touched.

    Args:
        folder: made where it does not exist.
        source, target: any two locales of the CLDR.

    Returns:
        for "train", "dev" and "test" the two files FOLDER/PART.SOURCE and FOLDER/PART.TARGET.

    Raises:
        ConfigError: a locale is unknown, or has too little data.
        InputError: the files cannot be written, or one is there with other text.

    >>> files = dragoman.write_demo_corpus("demo-text", "en", "de")
    >>> [path.name for path in files["dev"]]
    ['dev.en', 'dev.de']
    """
    corpus, folder = make_corpus(source, target), Path(folder)
    with writing(folder, "the folder for the corpus cannot be made"):
        make_folder(folder)
    parts: dict[str, list[tuple[str, str]]] = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    files = {name: (folder / f"{name}.{source}", folder / f"{name}.{target}") for name in parts}
    texts = {path: [pair[side] for pair in parts[name]] for name in parts for side, path in enumerate(files[name])}
    for path, lines in texts.items():
        if path.exists() and list(read_lines(path)) != lines:
            raise InputError(f"{path}: is there already with other text; move it, or give another folder")
    for path, lines in texts.items():
        if not path.exists():
            write_lines(path, lines)
    return files
