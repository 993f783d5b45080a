"""Altered files: what dragoman says when a file that it reads is damaged, cut off, or was changed by someone.

A trial alters one file of a small, whole set and runs a command on it. Files of dragoman's own have digests, so the
command must either refuse the file or give the same output as before. Files of other formats, and files of ours whose
digests were computed again after the change, may give other output. Nothing else may happen: no traceback, no signal,
no more than `SECONDS` seconds, no more than `MEMORY` bytes of address space.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from campaign.children import Ended, run_command, run_function
from campaign.materials import QUIET, small_export, small_language_model, small_run, small_system, small_text
from campaign.result import Result, Settings

SECONDS = 60
MEMORY = 16 << 30
"""Of address space, most of which libraries reserve and never use."""
TRIALS = 400
"""Altered files of a kind in a run of full size."""


@dataclass(frozen=True)
class Kind:
    """A set of files, those among them that are altered, and the command that reads them."""

    name: str
    whole: Path
    """A folder, which is copied for every trial."""
    files: Sequence[str]
    """Names in the folder; a trial alters one of them."""
    read: Callable[[Path], Ended]
    """Runs the command on a copy of the folder."""
    has_digests: bool = False
    sign: Callable[[Path, str], None] | None = None
    """Computes the digests of a copy of the folder again after a file was altered."""


def run(settings: Settings) -> list[Result]:
    """Alter files of every kind."""
    refused = Result("files", "An altered file with a digest is refused, or gives the same output.", "altered files")
    promise = "An altered file without a digest, or signed again, is refused or read: no traceback."
    sane = Result("files", promise, "altered files")
    makers, whole = list(KINDS), dict[str, bytes]()
    if settings.seconds is not None:
        random.Random(settings.seed).shuffle(makers)
    kinds_of = cache(lambda make: make(settings))  # made when their turn comes, as the time may be over by then
    for trial in range(settings.trials or TRIALS):
        for kind in (kind for make in makers for kind in kinds_of(make)):
            if settings.is_over():
                return [refused, sane]
            folder = _copy(kind, settings.scratch)
            if kind.name not in whole:
                ended = kind.read(folder)
                ended.require(f"reading whole files, {kind.name}")
                whole[kind.name] = ended.out
                folder = _copy(kind, settings.scratch)
            draw = random.Random(f"{settings.seed} {kind.name} {trial}")  # so that a trial can be repeated alone
            name = draw.choice(kind.files)
            content = (folder / name).read_bytes()
            how, altered = alter(draw, content, name)
            if altered == content:
                continue  # zeros over zeros, for example
            result = refused if kind.has_digests else sane
            result.count(kind.name)
            (folder / name).write_bytes(altered)
            if kind.sign is not None:
                kind.sign(folder, name)
            found = broken(kind.read(folder), whole[kind.name] if kind.has_digests else None)
            if found:
                result.fail(found, kind=kind.name, file=name, change=how, trial=trial, seed=settings.seed)
    return [refused, sane]


def _copy(kind: Kind, scratch: Path) -> Path:
    folder = scratch / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kind.whole, folder)
    return folder


def broken(ended: Ended, output: bytes | None) -> str:
    """How a promise was broken; empty if it was kept. `output` None allows any output."""
    if ended.code == -9:
        return f"no end after {SECONDS} s"
    if "Traceback" in ended.message:
        return f"traceback: {ended.message[-300:]}"
    if ended.code == 2:
        lines = [line for line in ended.message.splitlines() if line.startswith("dragoman: error: ")]
        return "" if len(lines) == 1 and len(lines[0]) > 30 else f"no single message: {ended.message[-300:]}"
    if ended.code:
        return f"exit code {ended.code}: {ended.message[-300:]}"
    return "" if output is None or ended.out == output else "other output, and no message"


# Changes -------------------------------------------------------------------------------------------------------------

INSERTED = (b"\0", b"\xff" * 20, b"\n", b"[" * 5000, b"9" * 5000, b" " * 3, b"\xe2\x80\xa8")
NUMBERS = (b"-1", b"0", b"99999999999999999999", b"1e999", b"nan", b"9" * 5000, b"0x10", b"1.5", "٣".encode(), b"true")


def alter(draw: random.Random, content: bytes, name: str) -> tuple[str, bytes]:
    """A changed copy of the contents of a file, and what was done."""
    changes = [_flip, _cut, _insert, _delete, _repeat, _zero, _replace_number]
    if name.endswith((".json", ".yaml")) or content[:1] == b"{":
        changes += [_substitute] * 6
    change = draw.choice(changes)
    place = draw.randrange(len(content) + 1)
    return f"{change.__name__.strip('_')} at {place}", change(draw, content, place)


def _flip(draw: random.Random, content: bytes, place: int) -> bytes:
    """Flip a bit, or change some bytes anywhere."""
    altered = bytearray(content)
    if altered and draw.random() < 0.5:
        altered[place % len(altered)] ^= 1 << draw.randrange(8)
    for _ in range(draw.randint(2, 30) if altered == content and altered else 0):
        altered[draw.randrange(len(altered))] = draw.randrange(256)
    return bytes(altered)


def _cut(draw: random.Random, content: bytes, place: int) -> bytes:
    return content[:place]


def _insert(draw: random.Random, content: bytes, place: int) -> bytes:
    return content[:place] + draw.choice([*INSERTED, draw.randbytes(40)]) + content[place:]


def _delete(draw: random.Random, content: bytes, place: int) -> bytes:
    return content[:place] + content[place + draw.randint(1, 64) :]


def _repeat(draw: random.Random, content: bytes, place: int) -> bytes:
    return content[: place + draw.randint(1, 500)] + content[place:]


def _zero(draw: random.Random, content: bytes, place: int) -> bytes:
    size = min(draw.randint(1, 200), len(content) - place)
    return content[:place] + bytes(size) + content[place + size :]


def _replace_number(draw: random.Random, content: bytes, place: int) -> bytes:
    """Replace a number in text, the next one from the place on."""
    found = re.compile(rb"\d+").search(content, place)
    if found is None:
        return _flip(draw, content, place)
    return content[: found.start()] + draw.choice(NUMBERS) + content[found.end() :]


VALUES: tuple[Any, ...] = (
    True, None, -1, 0, 2**63, 10**40, 1.5, "", "x\0y", "../../x", "/etc/passwd", "x" * 100_000, [], {}, [[[[]]]],
    {"format": 2}, "\u2028\x1b[31m",
)  # fmt: skip


def _substitute(draw: random.Random, content: bytes, place: int) -> bytes:
    """Replace a value somewhere in JSON by one of another kind; the digest is computed again if there was one."""
    from dragoman.stored_files import dump_json

    try:
        values = json.loads(content)
    except ValueError:
        return _replace_number(draw, content, place)
    if not isinstance(values, dict) or not values:
        return _flip(draw, content, place)
    inside: Any = values
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = draw.choice(keys)
        if isinstance(inside[key], dict | list) and inside[key] and draw.random() < 0.7:
            inside = inside[key]
            continue
        change = draw.choice(("replace", "remove", "rename", "nest"))
        if change == "remove":
            del inside[key]
        elif change == "rename" and isinstance(inside, dict):
            inside[draw.choice(("x", "", "a\0b", "../x"))] = inside.pop(key)
        elif change == "nest":
            text = json.dumps(values).replace(json.dumps(inside[key]), "[" * 100_000, 1)
            return text.encode()
        else:
            inside[key] = draw.choice(VALUES)
        return (dump_json(values) if "digest" in values else json.dumps(values)).encode()


# Kinds of files ------------------------------------------------------------------------------------------------------


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _command(*words: str, stdin: bytes = b"ab c\nde f\n\nfa\n") -> Callable[[Path], Ended]:
    """Runs a command in the folder."""
    return lambda folder: run_command(words, stdin=stdin, folder=folder, before=_limited, seconds=SECONDS)


def _put(settings: Settings, name: str, **folders: Path) -> Path:
    """A folder with copies of other folders, under the names of the arguments."""
    whole = settings.scratch / name
    for inside, folder in folders.items():
        shutil.copytree(folder, whole / inside)
    return whole


def _names(whole: Path, *patterns: str) -> list[str]:
    return [str(path.relative_to(whole)) for pattern in patterns for path in sorted(whole.glob(pattern))]


def _runs(settings: Settings) -> list[Kind]:
    whole = _put(settings, "runs", run=small_run(settings))
    translate = _command("translate", "run", *QUIET)
    resume = _command("train", "--out", "run", "--resume", *QUIET, "--set", "training.epochs=3")
    return [
        Kind("weights", whole, ["run/model.safetensors"], translate, has_digests=True),
        Kind("text of a run", whole, _names(whole, "run/text/*"), translate, has_digests=True),
        Kind("run.json", whole, ["run/run.json"], translate, has_digests=True),
        Kind("configuration", whole, ["run/config.yaml"], translate),
        Kind("training states", whole, ["run/checkpoints/latest.safetensors"], resume, has_digests=True),
        Kind("stored corpora", whole, _names(whole, "run/data/*/*", "run/data/dev.jsonl"), resume, has_digests=True),
        Kind("logs", whole, ["run/log.jsonl"], resume),
        Kind("learning curves", whole, ["run/log.jsonl"], _command("curves", "run", "-o", "curves.svg")),
    ]


def _language_models(settings: Settings) -> list[Kind]:
    whole = _put(settings, "language-models", lm=small_language_model(settings))
    score = _command("lm", "score", "lm", *QUIET)
    files = ["lm/model.safetensors", "lm/run.json", *_names(whole, "lm/text/*")]
    return [Kind("language models", whole, files, score, has_digests=True)]


def _exports(settings: Settings) -> list[Kind]:
    whole = _put(settings, "exports", light=small_export(settings, "export-shortlist", ["--shortlist", "6"]))
    translate = _command("translate", "light", *QUIET)
    files = [name for name in _names(whole, "light/*", "light/text/*") if (whole / name).is_file()]
    signed = ["light/encoder.onnx", "light/step.onnx", "light/shortlist.npz"]
    return [
        Kind("exported folders", whole, files, translate, has_digests=True),
        Kind("graphs and shortlists signed again", whole, signed, translate, sign=_sign_export),
    ]


def _sign_export(folder: Path, name: str) -> None:
    from dragoman.runs.exported import write_manifest

    (folder / "light" / "manifest.json").unlink()
    write_manifest(folder / "light", int8=False, parameters=1)


def _lists(settings: Settings) -> list[Kind]:
    whole = settings.scratch / "lists"
    whole.mkdir()
    lines = [f"{n} ||| a b c{k} ||| lm: -1.5 tm: -2.{k} -0.1 ||| -3.{k}\n" for n in range(4) for k in range(3)]
    (whole / "nbest").write_text("".join(lines))
    (whole / "links").write_text("0-0 1-1\n\n0-1 1-0 2-2\n0-0\n")
    (whole / "source").write_text("a b\nc\na b c\nd\n")
    (whole / "target").write_text("A B\nC\nB A C\nD\n")
    (whole / "weights").write_text("lm= 0.5\ntm= 0.2 0.3\n")
    (whole / "gold").write_text("0-0 1p1\n\n0-1 1-0\n0?0\n")
    (whole / "table").write_text("".join(f"{s} ||| {s.upper()} ||| 0.5 0.4 ||| 0-0 ||| 1 1 1\n" for s in "abcdef"))
    (whole / "pairs.jsonl").write_text('{"source": "a b", "target": "A B"}\n' * 3)
    return [
        Kind("n-best lists", whole, ["nbest"], _command("rerank", "nbest")),
        Kind("Pharaoh files", whole, ["links"], _command("dictionary", "source", "target", "links")),
        Kind("Pharaoh files, two", whole, ["links"], _command("symmetrize", "links", "links")),
        Kind("JSON lines", whole, ["pairs.jsonl"], _command("inspect", "pairs.jsonl")),
        Kind("feature weights", whole, ["weights"], _command("rerank", "nbest", "--feature-weights", "weights")),
        Kind("gold alignments", whole, ["gold"], _command("aer", "gold", "links")),
        Kind("phrase tables", whole, ["table"], _command("phrase-table", "table", "--write-pairs", "pairs.tsv")),
    ]


def _inputs(settings: Settings) -> list[Kind]:
    """What `translate` reads besides a model."""
    from dragoman.text.lines import write_lines

    whole = _put(settings, "inputs", light=small_export(settings))
    for suffix in (".gz", ".xz", ".zst"):
        write_lines(whole / f"lines{suffix}", ["ab c", "de f"] * 20)
    (whole / "dictionary").write_text("ab\tAB\t12\nde\tDE\nf\tF\t3\n")
    (whole / "constraints.jsonl").write_text('["AB"]\n[]\n\n["F", "A"]\n')
    (whole / "prefixes").write_text("A\n\nB C\nD\n")
    translate = ("translate", "light", "--threads", "1", "--beam", "2")
    replace = ("--replace-unk", "--dictionary", "dictionary")
    return [
        *(
            Kind(f"text in {suffix}", whole, [f"lines{suffix}"], _command(*translate, "-i", f"lines{suffix}"))
            for suffix in (".gz", ".xz", ".zst")
        ),
        Kind("dictionaries", whole, ["dictionary"], _command(*translate, *replace)),
        Kind("constraints", whole, ["constraints.jsonl"], _command(*translate, "--constraints", "constraints.jsonl")),
        Kind("prefixes", whole, ["prefixes"], _command(*translate, "--prefix", "prefixes")),
    ]


def _systems(settings: Settings) -> list[Kind]:
    """A phrase-based system."""
    whole = _put(settings, "systems", system=small_system(settings))
    translate = _command("smt", "translate", "system", "--quiet")
    return [
        Kind("moses.ini", whole, ["system/moses.ini"], translate),
        Kind("ARPA", whole, ["system/lm.arpa"], translate),
        Kind("phrase and reordering tables", whole, _names(whole, "system/*.gz"), translate),
    ]


def _models(settings: Settings) -> list[Kind]:
    """SentencePiece models, and checkpoints of other toolkits."""
    from dragoman.text.segmentation.subwords import train_model

    whole = settings.scratch / "models"
    whole.mkdir()
    lines = small_text(settings).train[0].read_text().splitlines()
    (whole / "bpe.model").write_bytes(train_model(lines, "bpe", 40))

    def segment(folder: Path) -> Ended:
        return run_function(lambda: _segment(folder / "bpe.model"), seconds=SECONDS)

    return [Kind("SentencePiece models", whole, ["bpe.model"], segment), *_checkpoints(settings)]


def _segment(path: Path) -> int:
    from dragoman.errors import DragomanError
    from dragoman.text.segmentation.subwords import SubwordSegmentation, read_model

    _limited()
    try:
        segmentation = SubwordSegmentation(read_model(path))
        segmentation.join(segmentation.segment("ab c 12 x").pieces)
    except DragomanError as error:
        print(f"dragoman: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _checkpoints(settings: Settings) -> list[Kind]:
    """Checkpoints as the tests of the importers make them."""
    from tests.importing.toolkits import JoeyNMT, OpenNMT

    whole = settings.scratch / "checkpoints"
    kinds = []
    for name, toolkit in (("joeynmt", JoeyNMT), ("opennmt", OpenNMT)):
        (whole / name).mkdir(parents=True)
        checkpoint = toolkit().save(whole / name)
        words = ("import", "--from", name, str(checkpoint.relative_to(whole)), "--out", "run", "--quiet")
        kinds.append(Kind(f"{toolkit.__name__} checkpoints", whole, _names(whole, f"{name}/*"), _command(*words)))
    return kinds


KINDS = (_runs, _language_models, _exports, _lists, _inputs, _systems, _models)
