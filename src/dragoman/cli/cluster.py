"""`dragoman cluster VERB`: verbs that run over many files on many machines, with workers of Ray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RUN = "dragoman.cluster.command.run_over_files"


class ClusterCommand(NamedTuple):
    """A verb of the family; it has what a module of another verb has."""

    SUMMARY: str
    DESCRIPTION: str
    EXAMPLES: Sequence[str]
    REQUEST: str
    RUN: str = RUN


TRANSLATE = ClusterCommand(
    "translate many files",
    "Translates files line by line with workers of Ray, on this machine or on a cluster. Every input file\n"
    "gives one output file of the same name and the same number of lines, in order, equal to what\n"
    "`dragoman translate --threads 1` writes. A line that fails is empty and listed in failed.jsonl. If\n"
    "interrupted, the same command does what is missing. Workers open RUN under the same path.",
    (
        "dragoman cluster translate LIGHT --input 'news/*.gz' --output news.en",
        "dragoman cluster translate LIGHT --input 's3://bucket/news/*.zst' --output news.en --address auto",
    ),
    "dragoman.requests.cluster.ClusterTranslation",
)
SCORE = ClusterCommand(
    "score given translations in many files",
    "Writes the log-probability of each target sentence given its source, as `dragoman score` does, with\n"
    "workers of Ray. Inputs are files with pairs, or the source sides of corpora whose\n"
    "target sides are given with --target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster score LIGHT --input 'pairs/*.tsv.gz' --output scores",
        "dragoman cluster score LIGHT --input 'corpus/*.de' --target 'corpus/*.en' --output scores --workers 8",
    ),
    "dragoman.requests.cluster.ClusterScoring",
)
ALIGN = ClusterCommand(
    "align the words of many files",
    "Writes the word alignment of each pair, as `dragoman align` does, with workers of Ray. Inputs are\n"
    "files with pairs, or the source sides of corpora whose target sides are given with\n"
    "--target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster align LIGHT --input 'pairs/*.tsv.gz' --output links",
        "dragoman cluster align DE-EN --input 'c/*.de' --target 'c/*.en' --reverse EN-DE --output links",
    ),
    "dragoman.requests.cluster.ClusterAlignment",
)
RESCORE = ClusterCommand(
    "add neural scores to many n-best lists",
    "Writes n-best lists with additional features, as `dragoman rescore` does, with workers of Ray. A line\n"
    "that is no hypothesis is empty in the output and listed in failed.jsonl. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    (
        "dragoman cluster rescore --input 'lists/*.gz' --source 'text/*.fr' --model LIGHT --output rescored",
        "dragoman cluster rescore --input 'lists/*.gz' --lm LM --output rescored --workers 8",
    ),
    "dragoman.requests.cluster.ClusterRescoring",
)
PHRASE_TABLE = ClusterCommand(
    "add neural scores to many phrase tables",
    "Writes Moses phrase tables, or the parts of one that is split between source phrases, with one more\n"
    "score per model, as `dragoman phrase-table` does, with workers of Ray. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    ("dragoman cluster phrase-table --input 'table/*.gz' --model LIGHT --reverse LIGHT2 --output table2",),
    "dragoman.requests.cluster.ClusterColumns",
)
