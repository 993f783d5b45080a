"""Time to quality: BLEU on Multi30k English-German after fixed training times, compared with the fastest peer.

    python bench/quality.py ../shared/data/multi30k-en-de-cs --scratch DIR --opennmt PYTHON --minutes 5 10 20 40

Dragoman trains with a time limit (`dragoman train --preset standard --minutes M`, one run for each M, start-up and the
last validation included). OpenNMT-py 3.5.1 has no time limit: it trains model B of bench/training.py once for the
longest time with a checkpoint every 150 updates, and the last checkpoint within M minutes is measured. Both translate
test_2016_flickr with beam 5. Results, with the processor time used by other programs, go to bench/results/quality.json.

BLEU is given in two forms: cased, tokenised by sacreBLEU's 13a; and as in the literature on Multi30k, lower-cased and
tokenised, against the publishers' tokenised text (`tok/` in the data folder, 12,103 words). For the latter translations
are lower-cased and go through Moses' normalisation of punctuation and its tokeniser, as that text did.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import sacrebleu
import sentencepiece
from decoders import peer_decoder
from peers import PEERS, PYTHONPATH_OF_DRAGOMAN
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from training import prepare
from watching import Watched, watch

from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines, write_lines
from dragoman.training.log import read_log

RESULTS = Path(__file__).parent / "results" / "quality.json"
TEST = "test_2016_flickr"
BEAM = 5
PEER, MODEL = "opennmt", "B"
START_AND_END = 0.5
"""Minutes subtracted from Dragoman's limit, which excludes reading, segmentation and the report."""


def main() -> None:
    """Train and measure both toolkits; print and write the results."""
    options = parse()
    scratch = Path(options.scratch).resolve()
    prepare(Path(options.data), scratch / "text")
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python bench/quality.py DATA --scratch DIR --opennmt PYTHON --minutes "
        f"{' '.join(map(str, options.minutes))}",
        "machine": {"processor": machine_name(), "threads": options.threads},
        "minutes": {str(minutes): {} for minutes in options.minutes},
    }
    for minutes in options.minutes:
        result["minutes"][str(minutes)]["dragoman"] = own_row(options, minutes, scratch)
        write(result)
    for minutes, row in peer_rows(options, scratch).items():
        result["minutes"][str(minutes)][PEER] = row
    write(result)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", help="folder with Multi30k: train.en.gz, train.de.gz, val..., test_2016_flickr...")
    parser.add_argument("--scratch", required=True, help="folder for text and runs")
    parser.add_argument(f"--{PEER}", required=True, metavar="PYTHON", help=f"interpreter of {PEER}'s environment")
    parser.add_argument("--minutes", nargs="+", type=int, default=[5, 10, 20, 40])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def own_row(options: argparse.Namespace, minutes: int, scratch: Path) -> dict[str, float]:
    """Train the preset `standard` with a time limit and measure it."""
    data, out = Path(options.data), scratch / f"dragoman.{minutes}"
    train, dev = ([str(data / f"{part}.{language}.gz") for language in ("en", "de")] for part in ("train", "val"))
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--preset", "standard", "--overwrite"),
        *("--train", *train, "--dev", *dev, "--out", str(out), "--minutes", str(minutes - START_AND_END)),
        *("--threads", str(options.threads)),
        *("--set", "text.source.language=en", "text.target.language=de", "training.epochs=120"),
    ]
    watched = _watch(options, command, 60 * minutes + 300, scratch, {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN})
    run = open_run(out)
    search = run.config.search.replaced(beam=BEAM)
    lines = list(read_lines(data / f"{TEST}.en.gz"))
    found = [best.text for best, *_ in run.translator(search).translate_lines(lines)]
    return _row(watched, watched.seconds, found, data) | {"updates": read_log(run.folder.log)[-1]["update"]}


def peer_rows(options: argparse.Namespace, scratch: Path) -> dict[int, dict[str, float]]:
    """One training; each row is the last checkpoint that was there in time."""
    folder = scratch / f"{PEER}.{MODEL}"
    command = PEERS[PEER].command(getattr(options, PEER), MODEL, scratch, options.threads)
    command += ["-save_checkpoint_steps", "150"]
    began = time.time()
    watched = _watch(options, command, 60 * max(options.minutes) + 5, scratch, {})
    rows = {}
    for minutes in options.minutes:
        saved = [path for path in folder.glob("m_step_*.pt") if began < path.stat().st_mtime <= began + 60 * minutes]
        if not saved:
            sys.exit(f"{PEER} had saved nothing after {minutes} minutes")
        last = max(saved, key=lambda path: path.stat().st_mtime)
        then = scratch / f"{minutes} minutes"
        (then / folder.name).mkdir(parents=True, exist_ok=True)
        (then / folder.name / last.name).hardlink_to(last)
        found = _translated_by_peer(options, then, scratch)
        row = _row(watched, last.stat().st_mtime - began, found, Path(options.data))
        rows[minutes] = row | {"updates": int(last.stem.rpartition("_")[2])}
    return rows


def _translated_by_peer(options: argparse.Namespace, then: Path, scratch: Path) -> list[str]:
    """Translate the test set with the only checkpoint in `then`."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(scratch / "text" / "bpe.model"))
    source, output = then / "test.en", then / "test.de"
    lines = read_lines(Path(options.data) / f"{TEST}.en.gz")
    write_lines(source, (" ".join(pieces.encode(line, out_type=str)) for line in lines))
    decoder = peer_decoder(PEER, getattr(options, PEER), MODEL, then)
    watched = watch(
        decoder.command(source, output, BEAM, False), 1200, folder=then, environment=dict(decoder.environment)
    )
    if watched.exit_code:
        sys.exit("the peer did not translate:\n" + "\n".join(line for _, line in watched.lines[-20:]))
    return [pieces.decode(line.split()) for line in read_lines(output)]


def _watch(
    options: argparse.Namespace, command: list[str], seconds: float, scratch: Path, environment: dict[str, str]
) -> Watched:
    print(" ".join(command[:6]), "...", file=sys.stderr, flush=True)
    threads = {"OMP_NUM_THREADS": str(options.threads)}
    return watch(command, seconds, folder=scratch, environment=environment | threads)


def _row(watched: Watched, seconds: float, found: list[str], data: Path) -> dict[str, float]:
    references = list(read_lines(data / f"{TEST}.de.gz"))
    return {
        "bleu": sacrebleu.corpus_bleu(found, [references]).score,
        "bleu_lowercased_tokenised": lowercased_tokenised_bleu(found, data / "tok" / f"{TEST}.lc.norm.tok.de.xz"),
        "seconds": seconds,
        "peak_memory_mb": watched.peak_mb,
        "cores_used_by_others": watched.others,
    }


def lowercased_tokenised_bleu(found: list[str], references: Path) -> float:
    """BLEU of raw German translations against a file of lower-cased, normalised and tokenised references."""
    normalizer, tokenizer = MosesPunctNormalizer("de"), MosesTokenizer("de")
    tokenised = [tokenizer.tokenize(normalizer.normalize(line.lower()), return_str=True) for line in found]
    return sacrebleu.corpus_bleu(tokenised, [list(read_lines(references))], tokenize="none", force=True).score


def write(result: dict[str, Any]) -> None:
    """Write the results so far to the file, and print them as a table."""
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for minutes, rows in result["minutes"].items():
        scores = "  ".join(
            f"{name} {row['bleu']:.2f}, lc tok {row['bleu_lowercased_tokenised']:.2f} ({row['seconds']:.0f} s)"
            for name, row in rows.items()
        )
        print(f"{minutes:>3} minutes: {scores}", flush=True)


if __name__ == "__main__":
    main()
