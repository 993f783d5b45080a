"""`dragoman reproduce`: the papers' tables and figures on a corpus of one's own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import RunError

if TYPE_CHECKING:
    from dragoman.requests.reproduction import ReproductionRequest

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

REQUEST = "dragoman.requests.reproduction.ReproductionRequest"


def run(request: ReproductionRequest) -> None:
    """List the experiments, or run one."""
    from dragoman.progress import Console
    from dragoman.reproduction.experiment import experiment_names, load_experiment
    from dragoman.requests.reproduction import LIST

    if request.experiment == LIST:
        names = experiment_names()
        width = max(map(len, names))
        for name in names:
            print(f"{name:<{width}}  {load_experiment(name).title}")
        return

    from dragoman.reproduction.reproduce import reproduce

    command = shlex.join(["dragoman", *sys.argv[1:]])
    result = reproduce(request, command, Console(quiet=request.general.quiet))
    for claim in result["claims"].values():
        print(f"{claim['verdict']:<28}  {claim['claim']}")
    page = Path(request.run.out or "") / result["experiment"] / "index.html"
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
