"""The SMT experiments of two papers on Multi30k German-English: networks as features of a phrase-based system.

    python bench/smt_experiments.py train   --text TOK --system SYSTEM --work WORK [--minutes 7] [--networks rnn]
    python bench/smt_experiments.py lists   --text TOK --system SYSTEM --work WORK
    python bench/smt_experiments.py tables  --text TOK --system SYSTEM --work WORK
    python bench/smt_experiments.py search  --text TOK --system SYSTEM --work WORK [--rounds 4]
    python bench/smt_experiments.py phrases --text TOK --system SYSTEM --work WORK [--images FOLDER]
    python bench/smt_experiments.py maps    --text TOK --system SYSTEM --work WORK --images FOLDER

SYSTEM is a tuned system of `dragoman smt train` and `smt tune`, TOK the tokenised text of Multi30k, WORK a folder for
networks and lists. The steps:

    train    one forward and five reversed LSTMs (Sutskever et al. 2014), an RNN encoder-decoder on the distinct phrase
             pairs of the system's table, and a 7-gram network (Cho et al. 2014)
    lists    filter the phrase table for dev (val) and test (test_2016_flickr), add the RNN's scores with weights of 0,
             so that search is unchanged, write n-best lists, and add the scores of the other networks
    tables   tune weights on dev for each row, several times, and measure test: Cho et al. 2014, Table 1, and Sutskever
             et al. 2014, Table 2
    search   use the RNN's scores in the decoder, as in Cho et al.: the same rounds of decoding and MERT from the
             system's weights, with and without them
    phrases  compare table and network phrase by phrase: Cho et al. 2014, Tables 2 and 3, Figure 3
    maps     project the RNN's representations of words and phrases, Figures 4 and 5; needs only `train --networks rnn`
             and an untuned system

Results are kept in bench/results/smt-experiments.json; the tables for docs/smt-experiments.md go to stdout.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.sampling import Sampling
from dragoman.runs.opening import Run, open_run
from dragoman.scoring.nbest import by_sentence, read_nbest
from dragoman.scoring.phrases import Row, by_source, read_table
from dragoman.scoring.scorer import CandidateTranslations
from dragoman.scoring.token_scores import log_probability
from dragoman.text.lines import read_lines, replace_output
from dragoman.tuning.feature_weights import read_weights
from dragoman.tuning.mert import tune_mert
from dragoman.tuning.multi_run_tests import compare_statistics
from dragoman.tuning.pool import Pool, make_pool
from dragoman.tuning.tuning_metric import BLEU

RESULTS = Path(__file__).parent / "results" / "smt-experiments.json"
SETS = {"dev": "val", "test": "test_2016_flickr"}
TABLE = "phrase-table.gz"
TM = "TranslationModel0"
REVERSED = tuple(f"reversed{seed}" for seed in range(1, 6))
NETWORKS = ("forward", *REVERSED, "rnn", "cslm")
"""Folders of WORK; rnn is trained on phrase pairs."""
RESTARTS = 2
"""Random starting points of a MERT run, beside the tuned weights of the system."""

COMMON = (
    "text.source.segmentation=whitespace",
    "text.target.segmentation=whitespace",
    "text.source.language=de",
    "text.target.language=en",
    "model.initialisation=lecun",
    "model.init_scale=0.05",
    "training.precision=bf16",
    "training.optimiser.name=adam",
    "training.schedule.name=cosine",
    "training.validation.metric=perplexity",
)
LSTM = (
    *COMMON,
    "text.source.vocabulary=5000",
    "text.target.vocabulary=4500",
    "text.source.min_frequency=2",
    "text.target.min_frequency=2",
    "model.embedding.source=192",
    "model.embedding.target=192",
    "model.encoder.size=256",
    "model.decoder.size=256",
    "model.encoder.layers=1",
    "model.decoder.layers=1",
    "model.biases=true",
    "training.epochs=12",
    "training.loss_normalisation=tokens",
    "training.optimiser.learning_rate=0.003",
    "training.optimiser.max_gradient_norm=1.0",
    "training.schedule.warmup=50",
    "training.batch.size=32",
)
PHRASES = (
    *COMMON,
    "text.source.vocabulary=8000",
    "text.target.vocabulary=6000",
    "model.encoder.size=256",
    "model.decoder.size=256",
    "model.readout.size=128",
    "model.readout.rank=64",
    "training.epochs=3",
    "training.optimiser.learning_rate=0.002",
    "training.schedule.warmup=100",
    "training.batch.size=256",
    "training.batch.pool=50",
)
CSLM = (
    "text.segmentation=whitespace",
    "text.min_frequency=2",
    "model.network=feed-forward",
    "model.embedding=160",
    "model.feed_forward.layers=[480, 320]",
    "model.dropout.readout=0.2",
    "model.dropout.embedding=0.1",
    "model.init_scale=0.1",
    "training.precision=bf16",
    "training.schedule.name=cosine",
    "training.epochs=12",
    "training.optimiser.learning_rate=0.002",
    "training.batch.size=1024",
)
"""Small sizes, for some minutes of one processor core each; the sizes of the papers are in the presets."""


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("train", "lists", "tables", "search", "phrases", "maps"))
    parser.add_argument("--text", type=Path, required=True, help="folder of Multi30k's tokenised text")
    parser.add_argument("--system", type=Path, required=True, help="a tuned phrase-based system")
    parser.add_argument("--work", type=Path, required=True, help="folder for networks and lists")
    parser.add_argument(
        "--minutes", type=float, default=7.0, help="train: time of each network, doubled for rnn (default: %(default)s)"
    )
    parser.add_argument(
        "--networks", nargs="+", choices=NETWORKS, default=NETWORKS, metavar="NAME",
        help=f"train: only these of {', '.join(NETWORKS)}",
    )  # fmt: skip
    parser.add_argument("--size", type=int, default=100, help="lists: hypotheses per sentence")
    parser.add_argument("--lines", type=int, help="lists: only the first sentences of dev and test, for a trial run")
    parser.add_argument("--runs", type=int, default=3, help="tables: runs of MERT")
    parser.add_argument("--rounds", type=int, default=4, help="search: rounds of decoding and tuning")
    parser.add_argument("--images", type=Path, help="phrases, maps: folder for the figures")
    options = parser.parse_args()
    if options.step == "maps" and options.images is None:
        parser.error("maps: give --images, the folder for the figures")
    steps = {"train": train, "lists": make_lists, "tables": make_tables, "phrases": compare_phrases}
    steps |= {"search": search_with_network, "maps": draw_maps}
    steps[options.step](options)


def dragoman(*words: object) -> None:
    """Run a `dragoman` command."""
    subprocess.run([sys.executable, "-m", "dragoman", *map(str, words)], check=True)


def text(options: argparse.Namespace, name: str, language: str) -> Path:
    """A file of the corpus."""
    return Path(options.text / f"{name}.lc.norm.tok.{language}.xz")


def keep(found: Mapping[str, Any]) -> None:
    """Merge results into those of the other steps."""
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**before, **found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# Networks ------------------------------------------------------------------------------------------------------------


def train(options: argparse.Namespace) -> None:
    """Train the selected networks one after the other, except existing ones."""
    options.work.mkdir(parents=True, exist_ok=True)
    names = {
        name: [str(text(options, SETS.get(name, name), side)) for side in ("de", "en")] for name in ("train", "dev")
    }
    corpora = ["--train", *names["train"], "--dev", *names["dev"]]
    lines = ["--train", names["train"][1], "--dev", names["dev"][1]]
    words: list[object]
    settings: Sequence[str]
    for name in options.networks:
        if name == "rnn":
            words, settings = ["train", "--preset", "cho2014", *make_pairs(options)], PHRASES
        elif name == "cslm":
            words, settings = ["lm", "train", *lines], CSLM
        else:
            direction, seed = ("forward", 1) if name == "forward" else ("reversed", name[-1])
            more = f"model.encoder.direction={direction}", f"training.seed={seed}"
            words, settings = ["train", "--preset", "sutskever2014", *corpora], (*LSTM, *more)
        minutes = options.minutes * (2 if name == "rnn" else 1)
        train_one(options.work / name, minutes, *words, settings=settings)


def train_one(out: Path, minutes: float, *words: object, settings: Sequence[str]) -> None:
    """Train a network unless it exists."""
    if not (out / "model.safetensors").exists():
        dragoman(*words, "--out", out, "--overwrite", "--minutes", minutes, "--threads", 1, "--set", *settings)


def make_pairs(options: argparse.Namespace) -> list[object]:
    """Write the distinct phrase pairs of the table; every 500th is for validation."""
    everything = options.work / "pairs.tsv.gz"
    if not everything.exists():
        dragoman("phrase-table", options.system / TABLE, "--write-pairs", everything)
    parts = options.work / "pairs.train.tsv.gz", options.work / "pairs.dev.tsv.gz"
    with replace_output(parts[0]) as training, replace_output(parts[1]) as validation:
        for number, line in enumerate(read_lines(everything), 1):
            (training if number % 500 else validation).write(f"{line}\n")
    return ["--train", parts[0], "--dev", parts[1]]


# Lists ---------------------------------------------------------------------------------------------------------------


def make_lists(options: argparse.Namespace) -> None:
    """Write n-best lists of dev and test with the scores of all networks."""
    folder = options.work / "system"
    folder.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        lines = list(read_lines(text(options, SETS[name], "de")))[: options.lines]
        (options.work / f"{name}.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    met = [list(read_lines(options.work / f"{name}.de")) for name in SETS]
    filter_table(options.system / TABLE, {phrase for lines in met for phrase in phrases_of(lines)}, folder / "part.gz")
    network = options.work / "rnn"
    dragoman("phrase-table", folder / "part.gz", "--model", network, "--unknown", "--threads", 1, "-o", folder / TABLE)
    write_configuration(options.system, folder)
    for name in SETS:
        source, plain = options.work / f"{name}.de", options.work / f"{name}.nbest.gz"
        dragoman("smt", "nbest", folder / "moses.ini", "-i", source, "--nbest", options.size, "--distinct", "-o", plain)
        add_networks(options, name)


def phrases_of(lines: Iterable[str], longest: int = 7) -> Iterator[str]:
    """All source phrases that the decoder may look up."""
    for line in lines:
        words = line.split()
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                yield " ".join(words[start:end])


def filter_table(table: Path, wanted: set[str], out: Path) -> None:
    """Write the rows of a table whose source phrase is in `wanted`."""
    with replace_output(out) as file:
        file.writelines(f"{row.line}\n" for row in read_table(table) if row.source in wanted)


def write_configuration(system: Path, folder: Path) -> None:
    """Write the system's moses.ini for a table with two more scores of weight 0."""
    lines = []
    for line in read_lines(system / "moses.ini"):
        if line.startswith("PhraseDictionaryMemory"):
            line = line.replace("num-features=4", "num-features=6")
        elif line.startswith(f"{TM}="):
            line += " 0 0"
        elif " path=" in line:
            line = line.replace(" path=", f" path={system.resolve()}/")
        lines.append(line)
    (folder / "moses.ini").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def add_networks(options: argparse.Namespace, name: str) -> None:
    """Write WORK/NAME.scored.gz: the list with the features Forward, Reversed, Ensemble and NgramLM."""
    source, networks = options.work / f"{name}.de", {each: options.work / each for each in ("forward", *REVERSED)}
    part = options.work / f"{name}.part.gz"
    scored = options.work / f"{name}.scored.gz"
    general = "--threads", 1, "--source", source
    dragoman(
        "rescore", options.work / f"{name}.nbest.gz", *general, "--model", networks["forward"], "--feature", "Forward",
        "-o", part,
    )  # fmt: skip
    dragoman("rescore", part, *general, "--model", networks[REVERSED[0]], "--feature", "Reversed", "-o", scored)
    ensemble = [networks[each] for each in REVERSED]
    dragoman("rescore", scored, *general, "--model", *ensemble, "--ensemble", "--feature", "Ensemble", "-o", part)
    dragoman("rescore", part, "--threads", 1, "--lm", options.work / "cslm", "--feature", "Ngram", "-o", scored)
    part.unlink()


# Tables --------------------------------------------------------------------------------------------------------------

SMT = ("LexicalReordering0", "Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0", TM, "UnknownWordPenalty0")
CHO = {
    "baseline": (),
    "+ RNN": ("RNN",),
    "+ CSLM + RNN": ("RNN", "NgramLM"),
    "+ CSLM + RNN + word penalty": ("RNN", "NgramLM", "Unknown"),
}
SUTSKEVER = {"one forward LSTM": "Forward", "one reversed LSTM": "Reversed", "5 reversed LSTMs": "Ensemble"}


class Lists(NamedTuple):
    """The hypotheses of one set, and the columns of each feature."""

    pool: Pool
    columns: dict[str, list[int]]
    oracle: float
    """Corpus BLEU of the hypotheses with the best sentence BLEU."""


def make_tables(options: argparse.Namespace) -> None:
    """Compute the tables of both papers."""
    lists = {name: read_lists(options, name) for name in SETS}
    weights = read_weights(options.system / "moses.ini")
    start = np.array([value for name in SMT for value in weights[name]])
    baseline = tuned_row(lists, columns_of(lists["dev"], ()), start, options.runs)
    cho = {}
    for name, added in CHO.items():
        columns = columns_of(lists["dev"], added)
        row = tuned_row(lists, columns, np.append(start, np.full(len(columns) - len(start), 0.1)), options.runs)
        cho[name] = measured(lists, row, baseline)
    sutskever = {"baseline": cho["baseline"]}
    for name, feature in SUTSKEVER.items():
        of_feature = lists["dev"].columns[feature]
        plain = [*lists["dev"].columns["Total"], *of_feature]
        even = Chosen(plain, [np.array([0.5, 0.5])])
        sutskever[f"{name}, plain average"] = measured(lists, even, baseline)
        two = tuned_row(lists, plain, np.array([0.5, 0.5]), options.runs)
        sutskever[f"{name}, two weights"] = measured(lists, two, baseline)
        columns = columns_of(lists["dev"], (feature,))
        everything = tuned_row(lists, columns, np.append(start, 0.1), options.runs)
        sutskever[f"{name}, all weights"] = measured(lists, everything, baseline)
    sutskever["oracle"] = {name: {"bleu": [one.oracle]} for name, one in lists.items()}
    facts = {name: [len(one.pool.starts), len(one.pool.features)] for name, one in lists.items()}
    keep({"lists": facts, "runs": options.runs, "cho2014 table 1": cho, "sutskever2014 table 2": sutskever})
    print(markdown(cho), markdown(sutskever), sep="\n\n")


def read_lists(options: argparse.Namespace, name: str) -> Lists:
    """Read the scored lists of a set with its references."""
    references = list(read_lines(text(options, SETS[name], "en")))
    columns: dict[str, list[int]] = {}
    sentences = []
    for entries in by_sentence(read_nbest(options.work / f"{name}.scored.gz")):
        rows = []
        for entry in entries:
            values = named_values(entry.features, entry.total)
            rows.append((entry.text, [value for group in values.values() for value in group]))
        if not columns:
            ends = np.cumsum([len(group) for group in values.values()]).tolist()
            columns = {
                key: list(range(end - len(group), end)) for (key, group), end in zip(values.items(), ends, strict=True)
            }
        sentences.append(((references[entries[0].sentence],), rows))
    pool = make_pool({"all": sum(map(len, columns.values()))}, sentences)
    single = pool.metric.oracle(pool.statistics)
    best = [start + int(single[start:end].argmax()) for start, end in zip(pool.starts, pool.ends, strict=True)]
    return Lists(pool, columns, float(pool.metric.score(pool.statistics[best].sum(axis=0))))


def named_values(features: Mapping[str, Sequence[float]], total: float) -> dict[str, Sequence[float]]:
    """The features of an entry with its total; the two added columns of the phrase table get names of their own."""
    scores = features[TM]
    others = {name: values for name, values in features.items() if name != TM}
    return {"Total": [total], **others, TM: scores[:4], "RNN": scores[4:5], "Unknown": scores[5:6]}


def columns_of(lists: Lists, added: Sequence[str]) -> list[int]:
    """The columns of the system's features and of the added ones."""
    return [column for name in (*SMT, *added) for column in lists.columns[name]]


class Chosen(NamedTuple):
    """Weights of some columns, from several tuning runs."""

    columns: list[int]
    weights: list[NDArray[np.float64]]


def tuned_row(lists: Mapping[str, Lists], columns: list[int], start: NDArray[np.float64], runs: int) -> Chosen:
    """Run MERT on dev several times."""
    pool = part_of(lists["dev"].pool, columns)
    found = [tune_mert(pool, start, np.random.default_rng(seed), restarts=RESTARTS) for seed in range(1, runs + 1)]
    return Chosen(columns, [tuned.weights for tuned in found])


def part_of(pool: Pool, columns: list[int]) -> Pool:
    """The pool with a subset of its features."""
    return replace(pool, features=pool.features[:, columns], shape={"all": len(columns)})


def measured(lists: Mapping[str, Lists], chosen: Chosen, baseline: Chosen) -> dict[str, Any]:
    """BLEU of each run on dev and test, and p-values of the difference from the baseline."""
    result = {}
    for name, one in lists.items():
        ours, theirs = (statistics_of(one.pool, each) for each in (chosen, baseline))
        difference = compare_statistics(ours, theirs, one.pool.metric)
        bleu = [float(one.pool.metric.score(run.sum(axis=0))) for run in ours]
        result[name] = {"bleu": bleu, "p bootstrap": difference.bootstrap_p, "p exchange": difference.randomisation_p}
    return result


def statistics_of(pool: Pool, chosen: Chosen) -> NDArray[np.float64]:
    """[runs, S, size] the statistics of the one-best hypotheses."""
    part = part_of(pool, chosen.columns)
    return np.stack([part.statistics[part.choose(weights)] for weights in chosen.weights])


def markdown(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """A table for the documentation."""
    lines = [
        "| system | dev | test | difference on test | p (bootstrap, exchange) |",
        "| --- | --- | --- | --- | --- |",
    ]
    base = float(np.mean(rows["baseline"]["test"]["bleu"]))
    for name, row in rows.items():
        cells = [name, *(spread(row[which]["bleu"]) for which in SETS)]
        cells.append("" if name == "baseline" else f"{np.mean(row['test']['bleu']) - base:+.2f}")
        tested = name != "baseline" and "p bootstrap" in row["test"]
        cells.append(", ".join(shown(row["test"][f"p {kind}"]) for kind in ("bootstrap", "exchange")) if tested else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shown(p: float) -> str:
    """A p-value."""
    return f"{p:.3f}" if p >= 0.0015 else "0.001 or less"


def spread(scores: Sequence[float]) -> str:
    """Mean and standard deviation."""
    mean = f"{np.mean(scores):.2f}"
    return mean if len(scores) < 2 else f"{mean} ± {np.std(scores, ddof=1):.2f}"


# Search --------------------------------------------------------------------------------------------------------------


def search_with_network(options: argparse.Namespace) -> None:
    """Tune two systems in the same rounds: one with the RNN's columns, with initial weights 0.1 and 0, one without."""
    folder = options.work / "search"
    folder.mkdir(exist_ok=True)
    systems = {"baseline": (options.system / "moses.ini", ()), "+ RNN": (options.work / "system/moses.ini", (0.1, 0.0))}
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name, (configuration, added) in systems.items():
        weights = {feature: list(values) for feature, values in read_weights(options.system / "moses.ini").items()}
        weights[TM] += added
        start, tuned = folder / f"{name}.start", folder / f"{name}.weights"
        lines = (f"{feature}= {' '.join(map(str, values))}\n" for feature, values in weights.items())
        start.write_text("".join(lines), encoding="utf-8")
        dev = "--source", options.work / "dev.de", "--reference", text(options, SETS["dev"], "en")
        dragoman(
            "smt", "tune", configuration, *dev, "--initial-weights", start, "--iterations", options.rounds, "-o", tuned
        )
        found[name] = {which: decoded(options, configuration, tuned, which) for which in SETS}
    rows = {
        name: {which: compared(own[which], found["baseline"][which]) for which in SETS} for name, own in found.items()
    }
    keep({"search": rows})
    print(markdown(rows))


def decoded(options: argparse.Namespace, configuration: Path, weights: Path, which: str) -> NDArray[np.float64]:
    """BLEU statistics [S, size] of the translations of a set."""
    out = weights.with_suffix(f".{which}")
    dragoman(
        "smt", "translate", configuration, "--feature-weights", weights, "-i", options.work / f"{which}.de", "-o", out
    )
    references = read_lines(text(options, SETS[which], "en"))
    pairs = zip(read_lines(out), references, strict=True)
    return np.concatenate([BLEU.statistics([line], [reference]) for line, reference in pairs])


def compared(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> dict[str, Any]:
    """BLEU, and p-values of the difference."""
    difference = compare_statistics(ours[None], theirs[None], BLEU)
    bleu = [float(BLEU.score(ours.sum(axis=0)))]
    return {"bleu": bleu, "p bootstrap": difference.bootstrap_p, "p exchange": difference.randomisation_p}


# Phrases -------------------------------------------------------------------------------------------------------------

WORDS = 4
"""Minimum number of words of a long phrase."""
SHOWN, BEST, SAMPLES = 4, 3, 50
"""Source phrases per group, targets per source phrase, samples per source phrase (Cho et al. 2014: 50)."""
RARE = 3
"""Occurrences of a rare phrase: the minimum for `BEST` different translations."""
POINTS = 4000
"""Points of the scatter plot."""
OFTEN = 10
"""Minimum occurrences of a source phrase for reliable relative frequencies."""


def compare_phrases(options: argparse.Namespace) -> None:
    """Compute Tables 2 and 3 and Figure 3 of Cho et al. 2014."""
    run = open_run(options.work / "rnn", threads=1)
    draw = random.Random(1)
    long, points = [], []
    for source, rows in by_source(read_table(options.system / TABLE)):
        points += [row for row in rows if draw.random() < 0.02]
        if len(source.split()) >= WORDS and len({row.target for row in rows}) >= BEST:
            long.append((source, rows))
    frequent = sorted(long, key=lambda group: -occurrences(group[1][0]))[: max(1, len(long) // 100)]
    rare = [group for group in long if occurrences(group[1][0]) == RARE]
    groups = {"frequent": draw.sample(frequent, SHOWN), "rare": draw.sample(rare, min(SHOWN, len(rare)))}
    found = {name: [phrase_row(run, *group) for group in chosen] for name, chosen in groups.items()}
    lengths = preferred_lengths(run, draw.sample(long, min(500, len(long))))
    scatter = draw.sample(points, min(POINTS, len(points)))
    table = np.log([row.scores[2] for row in scatter])
    network = np.array([score for (score,) in scores_of(run, [(row.source, [row.target]) for row in scatter])])
    often = np.array([occurrences(row) >= OFTEN for row in scatter])
    agreement = {
        "pairs": len(scatter),
        "rank correlation": rank_correlation(table, network),
        f"pairs of a source that came {OFTEN} times or more": int(often.sum()),
        "their rank correlation": rank_correlation(table[often], network[often]),
    }
    keep(
        {
            "cho2014 tables 2 and 3": found,
            "cho2014 preferred length": lengths,
            "cho2014 figure 3": agreement,
        }
    )
    if options.images:
        draw_scatter(table, network, options.images / "cho2014-figure-3.png")
    print(phrase_tables(found), lengths, agreement, sep="\n\n")


def occurrences(row: Row) -> float:
    """Occurrences of the source phrase of a row: the second of Moses' counts (target, source, both)."""
    return float(row.fields[4].split()[1])


def phrase_row(run: Run, source: str, rows: Sequence[Row]) -> dict[str, Any]:
    """One source phrase with the best targets of table and network, and samples of the network."""
    targets = [row.target for row in rows]
    (network,) = scores_of(run, [(source, targets)])
    of_table = sorted(zip([row.scores[2] for row in rows], targets, strict=True), reverse=True)
    of_network = sorted(zip(network, targets, strict=True), reverse=True)
    (drawn,) = run.translator(sampling=Sampling()).translate_lines([source], n_best=SAMPLES)
    counts: dict[str, list[float]] = {}
    for sample in drawn:
        counts.setdefault(sample.text, [0, sample.log_probability])[0] += 1
    likely = sorted(counts.items(), key=lambda item: -item[1][1])[:5]
    return {
        "source": source,
        "occurrences": occurrences(rows[0]),
        "table": [target for _, target in of_table[:BEST]],
        "network": [target for _, target in of_network[:BEST]],
        "samples": [[target, int(count)] for target, (count, _) in likely],
    }


def scores_of(run: Run, groups: Sequence[tuple[str, Sequence[str]]]) -> Iterator[list[float]]:
    """log p(target | source) by the network."""
    requests = (CandidateTranslations(source, targets) for source, targets in groups)
    return ([log_probability(one) for one in scores] for scores in run.scorer().score_lists(requests))


def preferred_lengths(run: Run, groups: Sequence[tuple[str, Sequence[Row]]]) -> dict[str, float]:
    """Mean length of the best targets of table and network, over many long phrases."""
    targets = [[row.target for row in rows] for _, rows in groups]
    network = list(scores_of(run, [(source, each) for (source, _), each in zip(groups, targets, strict=True)]))
    by_table = [max(rows, key=lambda row: row.scores[2]).target for _, rows in groups]
    by_network = [each[int(np.argmax(scores))] for each, scores in zip(targets, network, strict=True)]
    words = {"table": by_table, "network": by_network}
    means = {name: float(np.mean([len(target.split()) for target in chosen])) for name, chosen in words.items()}
    return {"phrases": float(len(groups)), **means}


def rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's rank correlation; ties get their mean rank."""
    ranks = []
    for values in (one, other):
        _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[which])
    return float(np.corrcoef(*ranks)[0, 1])


def draw_scatter(table: NDArray[np.float64], network: NDArray[np.float64], path: Path) -> None:
    """Figure 3: the network's score of each pair against that of the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter(table, network, s=2, alpha=0.3, rasterized=True)
    axes.set_xlabel("log p(target | source), phrase table")
    axes.set_ylabel("log p(target | source), network")
    figure.savefig(path, dpi=100)


def phrase_tables(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """A Markdown table of both groups for the documentation."""
    lines = ["| group | source | table | network | samples (times of 50) |", "| --- | --- | --- | --- | --- |"]
    for name, rows in found.items():
        for row in rows:
            cells = ["<br>".join(row[column]) for column in ("table", "network")]
            samples = "<br>".join(f"{target} ({count})" for target, count in row["samples"])
            lines.append(f"| {name} | {row['source']} ({row['occurrences']:.0f}) | {' | '.join(cells)} | {samples} |")
    return "\n".join(lines)


# Maps ----------------------------------------------------------------------------------------------------------------

DRAWN_WORDS, DRAWN_PHRASES = 70, 60
"""Points of a map; `dragoman map` labels up to 80."""
FEWEST_WORDS, COMMONEST = 3, 500
"""The phrases of the map are sampled from the `COMMONEST` most frequent ones of at least `FEWEST_WORDS` words."""


def draw_maps(options: argparse.Namespace) -> None:
    """Figures 4 and 5: frequent target words by their embeddings, frequent source phrases by the context vector c."""
    phrases, words = options.work / "phrases.txt", ("--of", "words", "--side", "target", "--limit", DRAWN_WORDS)
    chosen = random.Random(1).sample(frequent_phrases(options.system / TABLE), DRAWN_PHRASES)
    phrases.write_text("".join(f"{phrase}\n" for phrase in chosen), encoding="utf-8")
    for number, what in ((4, words), (5, ("-i", phrases, "--of", "phrases"))):
        picture, table = options.images / f"cho2014-figure-{number}.png", options.work / f"figure-{number}.tsv"
        dragoman("map", options.work / "rnn", *what, "--threads", 1, "-o", picture, "-o", table)
        make_small(picture)


def frequent_phrases(table: Path) -> list[str]:
    """The most frequent source phrases without punctuation."""
    counts = {
        source: occurrences(rows[0])
        for source, rows in by_source(read_table(table))
        if len(source.split()) >= FEWEST_WORDS and all(word.isalpha() for word in source.split())
    }
    return sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:COMMONEST]


def make_small(picture: Path) -> None:
    """Reduce the colours of a picture, to a third of its bytes."""
    from PIL import Image

    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(16)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    main()
