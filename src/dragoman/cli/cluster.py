"""`dragoman cluster VERB`: verbs that run over many files on many machines, with workers of Ray."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder, positive_int
from dragoman.errors import ConfigError, InputError

if TYPE_CHECKING:
    from dragoman.cluster.inputs import Inputs
    from dragoman.cluster.verbs import Models
    from dragoman.cluster.worker import WorkerPool

FILES_HELP = "plain or compressed (.gz, .xz, .zst), on this machine or a URI (s3://, gs://, hdfs://); with * and ?"
SOURCES_OR_PAIRS = "source sentences, or pairs (.tsv, .csv, .jsonl, .json)"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClusterCommand:
    """A verb of the family; it has what a module of another verb has."""

    verb: str
    SUMMARY: str
    DESCRIPTION: str
    EXAMPLES: Sequence[str]
    inputs: str
    """What the input files hold, for the help."""
    request: str
    """The dotted name of the request, below `dragoman.requests`: the models, and what the worker does with them."""
    second: tuple[str, str] | None = None
    """The option of the files that are read beside the inputs, and what they hold."""

    def add_options(self, parser: Parser) -> None:
        """Declare the options."""
        from dragoman.cli.shared.requests import add_request, named

        files = parser.add_argument_group("input and output")
        files.add_argument(
            "--input",
            nargs="+",
            required=True,
            metavar="PATTERN",
            help=f"{self.inputs}; {FILES_HELP}, in quotation marks",
        )
        if self.second is not None:
            option, content = self.second
            files.add_argument(
                f"--{option}",
                nargs="+",
                metavar="PATTERN",
                help=f"{content}: as many files as --input, in the same order",
            )
        files.add_argument(
            "--output",
            type=output_folder,
            required=True,
            metavar="DIR",
            help="folder with an output file for each input file, of its name",
        )
        workers = parser.add_argument_group("workers")
        workers.add_argument(
            "--address",
            metavar="ADDRESS",
            help="Ray cluster: HOST:PORT, or auto for the one that this machine belongs to (default: Ray is started "
            "on this machine, for this command)",
        )
        workers.add_argument(
            "--workers", type=positive_int, metavar="N", help="workers, one thread each (default: one for each CPU)"
        )
        add_request(parser, named(f"dragoman.requests.{self.request}"))
        add_general_options(parser, device=False)

    def run(self, options: argparse.Namespace) -> None:
        """Make the outputs of all inputs."""
        models, settings = self._plan(options)
        open_workers = workers_of_ray()

        from dragoman.cluster.coordinator import Coordinator
        from dragoman.cluster.outputs import FAILED, open_output_folder
        from dragoman.cluster.verbs import VERBS
        from dragoman.cluster.worker import WorkerPlan
        from dragoman.progress import Console

        console = Console(quiet=options.quiet)
        absolute = {use: [os.path.realpath(name) for name in names] for use, names in models.items()}
        plan = WorkerPlan(self.verb, absolute, settings)
        inputs = self._find_inputs(options)
        output = options.output
        for one in inputs:
            if os.path.dirname(os.path.realpath(one.files[0].path)) == os.path.realpath(output):
                raise ConfigError(f"--output {output}: holds the input {one.files[0].path}; give another folder")
        with open_output_folder(output, plan.identity(), [one.name for one in inputs]) as folder:
            missing = [one for one in inputs if not folder.is_complete(one, VERBS[self.verb])]
            if missing:
                with open_workers(plan.opener(), options.address, options.workers) as pool:
                    done = Coordinator(VERBS[self.verb], pool, folder, console).run(missing)
                console.info(str(done))
                if done.searched_again or done.unfinished:
                    from dragoman.workflows.translation import warn_of_searched_again, warn_of_truncated

                    warn_of_searched_again(done.searched_again, done.lines)
                    warn_of_truncated(done.unfinished, done.lines)
            console.info(f"{output}: {len(inputs)} files are complete")
            failed = sum(len(folder.finished[one.name].failed) for one in inputs)
            if failed:
                log.warning("%d lines have no output; %s lists them with the reasons", failed, output / FAILED)

    def _plan(self, options: argparse.Namespace) -> tuple[Models, dict[str, Any]]:
        """The models and the options of the verb's worker."""
        from dragoman.cli.shared.requests import named, parsed
        from dragoman.requests.alignment import ClusterAlignment
        from dragoman.requests.rescoring import FEATURE_RULES, ClusterRescoring
        from dragoman.requests.shared import refuse
        from dragoman.requests.translation import ClusterTranslation

        schema = named(f"dragoman.requests.{self.request}")
        if schema is ClusterRescoring:
            refuse(FEATURE_RULES, vars(options))  # with --source, which is no option of the worker
        request = parsed(schema, options)
        settings = request.options()
        models: Models = {use: settings.pop(use) for use in ("runs", "model", "reverse", "lm") if use in settings}
        for name in ("columns", "encoding"):  # of the files, which this process reads
            settings.pop(name, None)
        if isinstance(request, ClusterAlignment):
            settings = {name: settings[name] for name in ("combine", "weights", "threshold", "one_based", "symmetrize")}
            settings["unit"] = request.units.unit
        if isinstance(request, ClusterTranslation):
            searching = request.searching
            settings = {"search": dict(searching.search), "shortlist": not searching.no_shortlist}
            settings |= {"more": {"ban": searching.ban}}
            settings |= {"combine": request.ensemble.combine, "weights": request.ensemble.weights}
        return models, settings

    def _find_inputs(self, options: argparse.Namespace) -> list[Inputs]:
        from dragoman.cluster.inputs import Inputs, find_inputs
        from dragoman.corpora.pair_files import KINDS, holds_pairs

        firsts = find_inputs(options.input)
        option = "" if self.second is None else self.second[0]
        patterns = getattr(options, option, None)
        if patterns is None:
            for file in firsts:
                if option == "target" and not holds_pairs(Path(file.name)):
                    raise ConfigError(
                        f"{file.path}: a file of pairs is {', '.join(KINDS)} (also .gz, .xz, .zst); "
                        "give target sentences with --target"
                    )
            return [Inputs([file]) for file in firsts]
        seconds = find_inputs(patterns)
        if len(firsts) != len(seconds):
            raise InputError(
                f"--input matches {len(firsts)} files and --{option} {len(seconds)}; the k-th of one belongs to the "
                "k-th of the other, both sorted by name"
            )
        return [Inputs([first, second]) for first, second in zip(firsts, seconds, strict=True)]


def workers_of_ray() -> Callable[[Any, str | None, int | None], AbstractContextManager[WorkerPool]]:
    """Import Ray, whose absence is noticed before a folder is made, and return the function that opens its workers."""
    from dragoman.cluster.ray_pool import open_workers

    return open_workers


TRANSLATE = ClusterCommand(
    "translate",
    "translate many files",
    "Translates files line by line with workers of Ray, on this machine or on a cluster. Every input file\n"
    "gives one output file of the same name and the same number of lines, in order, equal to what\n"
    "`dragoman translate --threads 1` writes. A line that fails is empty and listed in failed.jsonl. If\n"
    "interrupted, the same command does what is missing. Workers open RUN under the same path.",
    (
        "dragoman cluster translate LIGHT --input 'news/*.gz' --output news.en",
        "dragoman cluster translate LIGHT --input 's3://bucket/news/*.zst' --output news.en --address auto",
    ),
    "text to translate, one sentence a line",
    "translation.ClusterTranslation",
)
SCORE = ClusterCommand(
    "score",
    "score given translations in many files",
    "Writes the log-probability of each target sentence given its source, as `dragoman score` does, with\n"
    "workers of Ray. Inputs are files with pairs, or the source sides of corpora whose\n"
    "target sides are given with --target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster score LIGHT --input 'pairs/*.tsv.gz' --output scores",
        "dragoman cluster score LIGHT --input 'corpus/*.de' --target 'corpus/*.en' --output scores --workers 8",
    ),
    SOURCES_OR_PAIRS,
    "alignment.ClusterScoring",
    ("target", "target sentences"),
)
ALIGN = ClusterCommand(
    "align",
    "align the words of many files",
    "Writes the word alignment of each pair, as `dragoman align` does, with workers of Ray. Inputs are\n"
    "files with pairs, or the source sides of corpora whose target sides are given with\n"
    "--target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster align LIGHT --input 'pairs/*.tsv.gz' --output links",
        "dragoman cluster align DE-EN --input 'c/*.de' --target 'c/*.en' --reverse EN-DE --output links",
    ),
    SOURCES_OR_PAIRS,
    "alignment.ClusterAlignment",
    ("target", "target sentences"),
)
RESCORE = ClusterCommand(
    "rescore",
    "add neural scores to many n-best lists",
    "Writes n-best lists with additional features, as `dragoman rescore` does, with workers of Ray. A line\n"
    "that is no hypothesis is empty in the output and listed in failed.jsonl. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    (
        "dragoman cluster rescore --input 'lists/*.gz' --source 'text/*.fr' --model LIGHT --output rescored",
        "dragoman cluster rescore --input 'lists/*.gz' --lm LM --output rescored --workers 8",
    ),
    "Moses n-best list",
    "rescoring.ClusterRescoring",
    ("source", "source sentences; sentence ids count their lines from 0"),
)
PHRASE_TABLE = ClusterCommand(
    "phrase-table",
    "add neural scores to many phrase tables",
    "Writes Moses phrase tables, or the parts of one that is split between source phrases, with one more\n"
    "score per model, as `dragoman phrase-table` does, with workers of Ray. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    ("dragoman cluster phrase-table --input 'table/*.gz' --model LIGHT --reverse LIGHT2 --output table2",),
    "Moses phrase tables",
    "rescoring.ClusterColumns",
)
