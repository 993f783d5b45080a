"""Verification of the equations: imported models of two other toolkits give the same scores and translations as there.

    python bench/importers.py --joeynmt PYTHON --opennmt PYTHON --data ../shared/data/multi30k-en-de-cs --work FOLDER

PYTHON are the interpreters of two virtual environments, one with JoeyNMT 2.x and one with OpenNMT-py 3.x. Each variant
is trained there for some hundred updates, imported with `dragoman import`, and compared sentence by sentence: the
log-probabilities of given translations, and the translations found with beam 5. The toolkits' results are computed by
their own code (importers_peers.py). Results go to bench/results/importers.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import dragoman
from dragoman.config.schema import SearchConfig
from dragoman.runs.opening import open_run

RESULTS = Path(__file__).parent / "results" / "importers.json"
PEERS = Path(__file__).parent / "importers_peers.py"
TRAIN, DEV, TEST = 600, 20, 150
"""Sentence pairs. Models overfit on so few, and give improbable scores on the test set: a strict test of equality."""
UPDATES = 1500
WORDS = 600
"""Vocabulary size, small so that the test set has unknown words."""
BEAM, LONGEST = 5, 60


class Variant(NamedTuple):
    """A model of one toolkit, as the difference from the toolkit's template below."""

    toolkit: str
    settings: dict[str, Any]


JOEYNMT: dict[str, Any] = {
    "name": "importers",
    "use_cuda": False,
    "fp16": False,
    "random_seed": 1,
    "num_workers": 0,
    "data": {"dataset_type": "plain"},
    "testing": {"beam_size": 1, "batch_type": "sentence", "batch_size": 32, "eval_metrics": ["bleu"]},
    "training": {
        "optimizer": "adam",
        "learning_rate": 0.004,
        "scheduling": "exponential",
        "decrease_factor": 0.9999,
        "clip_grad_norm": 5.0,
        "batch_size": 20,
        "batch_type": "sentence",
        "epochs": 50,
        "validation_freq": UPDATES,
        "logging_freq": 100,
        "early_stopping_metric": "ppl",
        "overwrite": True,
        "keep_best_ckpts": 1,
        "print_valid_sents": [0],
    },
    "model": {
        "initializer": "xavier_uniform",
        "encoder": {
            "type": "recurrent",
            "rnn_type": "gru",
            "embeddings": {"embedding_dim": 24, "dropout": 0.1},
            "hidden_size": 16,
            "bidirectional": True,
            "num_layers": 1,
        },
        "decoder": {
            "type": "recurrent",
            "rnn_type": "gru",
            "embeddings": {"embedding_dim": 24, "dropout": 0.1},
            "hidden_size": 30,
            "num_layers": 1,
            "hidden_dropout": 0.1,
            "init_hidden": "bridge",
            "input_feeding": False,
            "attention": "bahdanau",
        },
    },
}
"""Template; paths are added, and nested keys of a variant's settings replace those of `model`."""

OPENNMT: dict[str, Any] = {
    "encoder_type": "brnn",
    "decoder_type": "rnn",
    "rnn_type": "LSTM",
    "enc_layers": 1,
    "dec_layers": 1,
    "word_vec_size": 24,
    "hidden_size": 32,
    "global_attention": "general",
    "input_feed": 1,
    "dropout": [0.1],
    "optim": "adam",
    "learning_rate": 0.004,
    "max_grad_norm": 5,
    "batch_size": 20,
    "batch_type": "sents",
    "normalization": "tokens",
    "valid_batch_size": 32,
    "train_steps": UPDATES,
    "valid_steps": 2 * UPDATES,
    "save_checkpoint_steps": UPDATES,
    "report_every": 100,
    "seed": 1,
    "world_size": 1,
    "gpu_ranks": [],
    "num_workers": 0,
    "bucket_size": 1000,
}

VARIANTS = {
    "joeynmt-gru-bahdanau": Variant("joeynmt", {}),
    "joeynmt-lstm-luong-feed-2-layers": Variant(
        "joeynmt",
        {
            "encoder": {"rnn_type": "lstm", "num_layers": 2},
            "decoder": {"rnn_type": "lstm", "num_layers": 2, "attention": "luong", "input_feeding": True},
        },
    ),
    "joeynmt-gru-zero-feed-tied-scaled": Variant(
        "joeynmt",
        {
            "tied_softmax": True,
            "encoder": {"embeddings": {"embedding_dim": 24, "scale": True}},
            "decoder": {
                "embeddings": {"embedding_dim": 24, "scale": True},
                "hidden_size": 24,
                "init_hidden": "zero",
                "input_feeding": True,
            },
        },
    ),
    "joeynmt-lstm-last-2-layers": Variant(
        "joeynmt",
        {
            "encoder": {"rnn_type": "lstm", "num_layers": 2},
            "decoder": {
                "rnn_type": "lstm",
                "num_layers": 2,
                "hidden_size": 32,
                "init_hidden": "last",
                "attention": "luong",
                "input_feeding": True,
            },
        },
    ),
    "opennmt-lstm-general-feed-2-layers": Variant("opennmt", {"enc_layers": 2, "dec_layers": 2}),
    "opennmt-gru-dot": Variant("opennmt", {"rnn_type": "GRU", "global_attention": "dot", "input_feed": 0}),
    "opennmt-gru-mlp-feed-2-layers": Variant(
        "opennmt", {"rnn_type": "GRU", "global_attention": "mlp", "enc_layers": 2, "dec_layers": 2}
    ),
    "opennmt-lstm-forward-shared": Variant(
        "opennmt",
        {
            "encoder_type": "rnn",
            "input_feed": 0,
            "word_vec_size": 32,
            "share_vocab": True,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
        },
    ),
}


def main() -> None:
    """Train, import, compare, write the results."""
    options = parse()
    work = Path(options.work).resolve()
    text = prepare_text(Path(options.data), work / "text")
    rows = {}
    for name in options.only or VARIANTS:
        variant = VARIANTS[name]
        python = {"joeynmt": options.joeynmt, "opennmt": options.opennmt}[variant.toolkit]
        folder = work / name
        checkpoint = folder / "checkpoint"
        if not (options.reuse and checkpoint.exists()):
            train(variant, python, text, folder, checkpoint)
        rows[name] = compare(variant, python, text, folder, checkpoint)
        print(json.dumps({name: rows[name]}, indent=2), file=sys.stderr)
    if not options.only:
        RESULTS.write_text(json.dumps(result(rows, options), indent=2) + "\n", encoding="utf-8")
    show(rows)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joeynmt", required=True, metavar="PYTHON", help="interpreter with JoeyNMT 2.x")
    parser.add_argument("--opennmt", required=True, metavar="PYTHON", help="interpreter with OpenNMT-py 3.x")
    parser.add_argument("--data", required=True, metavar="FOLDER", help="Multi30k: train.en.gz, val.de.gz and so on")
    parser.add_argument("--work", required=True, metavar="FOLDER", help="folder for text, models and outputs")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, help="only these variants; writes no results")
    parser.add_argument("--reuse", action="store_true", help="keep existing checkpoints instead of training again")
    return parser.parse_args()


# Text ----------------------------------------------------------------------------------------------------------------


def prepare_text(data: Path, folder: Path) -> Path:
    """Write small files of space-separated words, English and German, and a vocabulary of each side and of both."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for language in ("en", "de"):
        training = read(data / f"train.{language}.gz", TRAIN)
        held_out = read(data / f"val.{language}.gz", DEV + TEST)
        for name, lines in (("train", training), ("dev", held_out[:DEV]), ("test", held_out[DEV:])):
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        counts[language] = Counter(word for line in training for word in line.split(" "))
    counts["both"] = counts["en"] + counts["de"]
    for name, count in counts.items():
        words = [word for word, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))[:WORDS]]
        (folder / f"vocabulary.{name}").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return folder


def read(path: Path, count: int) -> list[str]:
    """The first lines of a gzipped file, with spaces between words and punctuation marks."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [" ".join(re.findall(r"\w+|[^\w\s]", next(file))) for _ in range(count)]


def lines_of(path: Path) -> list[str]:
    """The lines of a text file."""
    return path.read_text(encoding="utf-8").splitlines()


# Their side ----------------------------------------------------------------------------------------------------------


def train(variant: Variant, python: str, text: Path, folder: Path, checkpoint: Path) -> None:
    """Train with the toolkit's own command, and link `checkpoint` to the saved file."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "training.yaml"
    if variant.toolkit == "joeynmt":
        config.write_text(yaml.safe_dump(joeynmt_config(variant, text, folder / "model")), encoding="utf-8")
        run([python, "-m", "joeynmt", "train", str(config), "--skip-test"], folder / "train.log")
        saved = folder / "model" / "latest.ckpt"
    else:
        config.write_text(yaml.safe_dump(opennmt_config(variant, text, folder / "model")), encoding="utf-8")
        run([python, "-m", "onmt.bin.train", "-config", str(config)], folder / "train.log")
        saved = folder / f"model_step_{OPENNMT['train_steps']}.pt"
    checkpoint.unlink(missing_ok=True)
    checkpoint.symlink_to(saved)


def joeynmt_config(variant: Variant, text: Path, model: Path) -> dict[str, Any]:
    """The template with the text's paths and the variant's settings."""
    config = merged(JOEYNMT, {"model": variant.settings, "model_dir": str(model)})
    sides = {
        side: {"lang": language, "level": "word", "voc_file": str(text / f"vocabulary.{language}")}
        for side, language in (("src", "en"), ("trg", "de"))
    }
    paths = {"train": str(text / "train"), "dev": str(text / "dev"), "test": str(text / "dev")}
    return merged(config, {"data": {**paths, **sides}})


def opennmt_config(variant: Variant, text: Path, model: Path) -> dict[str, Any]:
    """The template with the text's paths and the variant's settings."""
    shared = variant.settings.get("share_vocab", False)
    source, target = ("both", "both") if shared else ("en", "de")
    corpora = {
        name: {"path_src": str(text / f"{file}.en"), "path_tgt": str(text / f"{file}.de"), "transforms": []}
        for name, file in (("corpus", "train"), ("valid", "dev"))
    }
    return {
        **OPENNMT,
        **variant.settings,
        "data": corpora,
        "save_data": str(model),
        "save_model": str(model),
        "src_vocab": str(text / f"vocabulary.{source}"),
        "tgt_vocab": str(text / f"vocabulary.{target}"),
    }


def merged(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """`values` over `base`, section by section."""
    result = dict(base)
    for key, value in values.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = merged(base[key], value) if both else value
    return result


def run(command: list[str], log: Path) -> str:
    """Run a command of the toolkit and return its standard output; its messages go to a file."""
    # OpenNMT-py's checkpoints contain pickled options, which torch refuses to load by default.
    environment = {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, env=environment, check=False, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}; see {log}")
    return done.stdout


# Both sides ----------------------------------------------------------------------------------------------------------


def compare(variant: Variant, python: str, text: Path, folder: Path, checkpoint: Path) -> dict[str, Any]:
    """Import with the command, and measure the differences on the test set."""
    files = [text / "test.en", text / "test.de"]
    theirs_command = [
        *(python, str(PEERS), variant.toolkit, str(checkpoint), *map(str, files)),
        *("--beam", str(BEAM), "--longest", str(LONGEST)),
    ]
    theirs = json.loads(run(theirs_command, folder / "theirs.log").splitlines()[-1])
    out = folder / "run"
    importing = [*(sys.executable, "-m", "dragoman", "import", "--from", variant.toolkit, str(checkpoint.resolve()))]
    subprocess.run([*importing, "--out", str(out), "--overwrite", "--quiet"], check=True)
    imported = open_run(out, device="cpu")
    source, target = map(lines_of, files)
    scores = [scored.log_probability for scored in imported.scorer().score(zip(source, target, strict=True))]
    # The search of both toolkits: no length normalisation. JoeyNMT's shortest translation has one word.
    shortest = 0.001 if variant.toolkit == "joeynmt" else 0.0
    search = SearchConfig(
        beam=BEAM,
        normalisation="none",
        max_length_factor=1e-6,
        max_length_extra=LONGEST,
        min_length_factor=shortest,
        block_unknown=True,
    )
    ours = [n_best[0] for n_best in imported.translator(search).translate_lines(source)]
    pairs = list(zip(ours, theirs["translations"], strict=True))
    judged = [
        scored.log_probability for scored in imported.scorer().score((here.source, there) for here, there in pairs)
    ]
    # At the length limit, the toolkits rank a hypothesis without EOS, Dragoman with EOS.
    ended = [len(there.split(" ")) < LONGEST - 1 for _, there in pairs]
    same = [here.text == there for here, there in pairs]
    reported = zip(ended, judged, theirs["log_probabilities"], strict=True)
    gains = [here.log_probability - judge for here, judge, equal in zip(ours, judged, same, strict=True) if not equal]
    return {
        "toolkit": theirs["version"],
        "settings": variant.settings,
        "parameters": imported.parameters,
        "pairs": len(source),
        "mean_log_probability": sum(scores) / len(scores),
        "score_difference_max": max(abs(a - b) for a, b in zip(scores, theirs["scores"], strict=True)),
        "distinct_translations": len(set(theirs["translations"])),
        "translation_score_difference_max": max(abs(a - b) for whole, a, b in reported if whole),
        "translations_that_end": sum(ended),
        "identical_of_those_that_end": sum(whole and equal for whole, equal in zip(ended, same, strict=True)),
        "identical_of_all": sum(same),
        "gains_in_log_probability_where_different": [round(gain, 3) for gain in gains],
    }


def result(rows: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The results with their conditions."""
    return {
        "command": "python bench/importers.py --joeynmt PYTHON --opennmt PYTHON --data FOLDER --work FOLDER",
        "date": time.strftime("%Y-%m-%d"),
        "dragoman": dragoman.__version__,
        "python": platform.python_version(),
        "search": f"beam {BEAM}, no length normalisation, no unknown words, at most {LONGEST} words",
        "data": f"Multi30k English-German, words: {TRAIN} pairs of training, {TEST} of the dev set compared",
        "variants": rows,
    }


def show(rows: dict[str, Any]) -> None:
    """Print a table of the results."""
    print(
        "largest difference of log-probabilities: given translations, found ones; same translations: that end, of all"
    )
    for name, row in rows.items():
        print(
            f"{name:<36} {row['score_difference_max']:.1e} {row['translation_score_difference_max']:.1e} "
            f"{row['identical_of_those_that_end']:>4} / {row['translations_that_end']} "
            f"{row['identical_of_all']:>4} / {row['pairs']}"
        )


if __name__ == "__main__":
    main()
