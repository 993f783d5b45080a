"""`dragoman reproduce`: the papers' tables and figures on a corpus of one's own."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from dragoman.cli.shared.options import add_corpus_options
from dragoman.cli.shared.parsing import Parser, language, output_folder, positive_float, positive_int
from dragoman.errors import ConfigError, RunError

SUMMARY = "run an experiment of the papers and test its claims"
DESCRIPTION = (
    "Trains the models of a table or figure of the papers on your corpus, with several seeds, measures\n"
    "them, and writes a page with our table beside the paper's and a verdict on every claim. The same\n"
    "command again does only what is missing. `dragoman reproduce list` names the experiments. If a\n"
    "step fails, the others go on; the command then names the rows without values and ends with exit\n"
    "code 2."
)
EXAMPLES = (
    "dragoman reproduce list",
    "dragoman reproduce luong2015-table1 --train t.en t.de --dev d.en d.de --test e.en e.de --out DIR --jobs 2",
    "dragoman reproduce bahdanau2015-table1 --train t.tsv --dev d.tsv --test e.tsv --out DIR --join 5",
)
LIST = "list"


def add_options(parser: Parser) -> None:
    """Declare the options of `reproduce`."""
    from dragoman.requests.shared import COMPRESSION, PAIRS

    parser.add_argument("experiment", metavar="EXPERIMENT", help="name of an experiment, its YAML file, or `list`")
    corpora = parser.add_argument_group("corpora")
    for name, what in (("train", "training"), ("dev", "development"), ("test", "test")):
        corpora.add_argument(
            f"--{name}", nargs="+", type=Path, action="append", default=[], metavar="FILE",
            help=f"{what} set: {PAIRS}; {COMPRESSION}; may be repeated",
        )  # fmt: skip
    corpora.add_argument(
        "--join", type=positive_int, default=1, metavar="N",
        help="construct longer pairs by joining up to N pairs of the same set (default: %(default)s)",
    )  # fmt: skip
    corpora.add_argument(
        "--languages", nargs=2, type=language, metavar=("SRC", "TGT"),
        help="languages of the text (default: those of the file names, such as train.de train.en)",
    )  # fmt: skip
    add_corpus_options(parser)
    corpora.add_argument("--gold", type=Path, metavar="FILE", help="gold word links of the test set, for AER")
    run = parser.add_argument_group("run")
    run.add_argument("--out", type=output_folder, metavar="DIR", help="folder for runs, outputs and pages")
    run.add_argument("--scale", type=positive_float, metavar="F", help="scale of all models, as in `dragoman train`")
    budget = run.add_mutually_exclusive_group()
    budget.add_argument("--updates", type=positive_int, metavar="N", help="maximum number of updates of each training")
    budget.add_argument("--minutes", type=positive_float, metavar="M", help="minutes of each training")
    budget.add_argument(
        "--quick",
        action="store_true",
        help="a first look: 1,000 updates, small models, one seed, no verdicts",
    )
    run.add_argument("--seeds", type=positive_int, metavar="K", help="train every model with seeds 1 to K")
    run.add_argument(
        "--jobs",
        type=positive_int,
        default=1,
        metavar="N",
        help="steps at a time, a thread each (default: %(default)s)",
    )
    run.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto",
        help="where the models run; auto: the GPU if there is one; --jobs says how many share it",
    )  # fmt: skip
    run.add_argument("--pages-only", action="store_true", help="run nothing; write the pages of what is done so far")
    run.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of all translation models")
    parser.add_argument_group("general").add_argument("--quiet", action="store_true", help="print errors only")


def run(options: argparse.Namespace) -> None:
    """List the experiments, or run one."""
    from dragoman.progress import Console
    from dragoman.reproduction.experiment import experiment_names, load_experiment

    if options.experiment == LIST:
        names = experiment_names()
        width = max(map(len, names))
        for name in names:
            print(f"{name:<{width}}  {load_experiment(name).title}")
        return
    experiment = load_experiment(options.experiment)
    missing = [f"--{name}" for name in ("train", "dev", "test", "out") if not getattr(options, name)]
    if missing:
        raise ConfigError(f"reproduce {options.experiment}: give {', '.join(missing)}")

    from dragoman.reproduction.reproduce import ReproductionRequest, reproduce

    request = ReproductionRequest(
        corpora={name: getattr(options, name) for name in ("train", "dev", "test")},
        out=options.out,
        scale=options.scale,
        updates=options.updates,
        minutes=options.minutes,
        seeds=options.seeds,
        quick=options.quick,
        pages_only=options.pages_only,
        jobs=options.jobs,
        device=options.device,
        join=options.join,
        languages=options.languages,
        settings=options.set,
        gold=options.gold,
        command=shlex.join(["dragoman", *sys.argv[1:]]),
    )
    result = reproduce(experiment, request, Console(quiet=options.quiet))
    for claim in result["claims"].values():
        print(f"{claim['verdict']:<28}  {claim['claim']}")
    page = options.out / experiment.name / "index.html"
    print(page)
    if result["failed"]:
        rows = [
            system["label"]
            for system in result["systems"].values()
            if any(None in score["values"] for score in system["scores"].values())
        ]
        raise RunError(
            f"failed: {', '.join(result['failed'])}; rows without all of their values: {', '.join(rows) or 'none'}; "
            f"{page} says why, and the same command tries again"
        )
