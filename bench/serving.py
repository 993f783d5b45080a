"""The server under load: latency, throughput, overload, a long run and a restart; and OpenNMT-py's REST server.

    python bench/serving.py prepare MULTI30K --scratch DIR --opennmt PYTHON
    python bench/serving.py load --scratch DIR --opennmt PYTHON
    python bench/serving.py overload --scratch DIR
    python bench/serving.py soak --scratch DIR
    python bench/serving.py restart --scratch DIR

PYTHON is the interpreter of a virtual environment with OpenNMT-py 3.5.1 (docs/lab-book/2026-11-speed.md), `wrk` the
load generator. `prepare` segments Multi30k English-German with a joint BPE of 3,000 pieces, trains model B of
bench/training.py with OpenNMT-py, imports its checkpoint and exports it in int8: both servers have the same weights.

    load       requests of one sentence each, of test_2016, 2017 and 2018 in a random order, from 1, 8, 64 and 256
               clients that send the next one when they have the answer; both servers, in turn; p50, p95, p99,
               sentences a second and processor seconds a sentence of server and clients. Beside it `dragoman
               translate` of the same text from file to file, and `Translator.translate` of one sentence at a time.
               Beam 5, log-probability divided by length.
    overload   for a minute, 4,000 visitors who together ask for five times what 64 clients got just before: statuses,
               memory, processor time, and how soon a lone request takes its usual time again
    soak       100,000 requests from 8 clients, sentences of at most 8 words: memory after each tenth
    restart    killed under load and started again: time until it is ready

Each stage adds its part to bench/results/serving.json. Clients and servers share the machine, which must otherwise be
idle for `load` and `restart`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
from decoders import LONGEST, checkpoint
from peers import PEERS, PYTHONPATH_OF_DRAGOMAN
from training import prepare
from watching import watch

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "serving.json"
SCRIPT = Path(__file__).with_name("serving.lua")
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2018_flickr")
BEAM = 5
PIECES = 3_000
CLIENTS = (1, 8, 64, 256)
EXCESS = 5
"""Offered load in `overload`, as a multiple of what the server carried from 64 clients."""
VISITORS = 4_000
"""Connections of `overload`: more than the server lets wait (`dragoman serve --max-waiting`)."""
LONG_RUN, LONG_RUN_CLIENTS, LONG_RUN_WORDS = 100_000, 8, 8
"""Requests of `soak`, clients, and words of a sentence at most."""
PATIENCE = 120.0
"""Seconds until a server must be ready."""


def main() -> None:
    """Run the chosen stage."""
    options = parse()
    if shutil.which("wrk") is None:
        sys.exit("bench/serving.py: wrk, the load generator, is not installed (apt install wrk)")
    options.stage(options)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    stages = parser.add_subparsers(required=True)
    preparing = stages.add_parser("prepare", help="train the peer's model, import and export it")
    preparing.add_argument("multi30k", type=Path, help="folder with train.en.gz, val.de.gz, test_2016_flickr.en.gz ...")
    preparing.add_argument("--seconds", type=float, default=900, help="training time (default: %(default)s)")
    preparing.set_defaults(stage=prepare_all)
    loading = stages.add_parser("load", help="both servers from 1 to 256 clients")
    loading.add_argument("--seconds", type=float, default=15, help="of each measurement (default: %(default)s)")
    loading.set_defaults(stage=load)
    for name, stage, what in (
        ("overload", overload, "five times the load that it carries, for a minute"),
        ("soak", soak, f"{LONG_RUN:,} requests"),
        ("restart", restart, "killed and started again"),
    ):
        stages.add_parser(name, help=what).set_defaults(stage=stage)
    for name, stage in stages.choices.items():
        stage.add_argument("--scratch", type=Path, required=True, help="folder for text and models")
        stage.add_argument("--threads", type=int, default=os.cpu_count(), help="of each server (default: one per core)")
        if name in ("prepare", "load"):
            stage.add_argument("--opennmt", metavar="PYTHON", required=True, help="interpreter of OpenNMT-py")
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    return options


# Preparing -----------------------------------------------------------------------------------------------------------


def prepare_all(options: argparse.Namespace) -> None:
    """Train, import, export; write sentences and requests."""
    scratch, text = options.scratch, options.scratch / "text"
    if not (text / "vocabulary.txt").exists():
        prepare(options.multi30k, text, PIECES)
    if checkpoint("opennmt", "B", scratch) is None:
        command = PEERS["opennmt"].command(options.opennmt, "B", scratch, options.threads)
        command += ["-save_checkpoint_steps", "100", "-keep_checkpoint", "1"]
        watch(command, options.seconds, folder=scratch, environment={"OMP_NUM_THREADS": str(options.threads)})
    saved = checkpoint("opennmt", "B", scratch)
    if saved is None:
        sys.exit(f"OpenNMT-py saved nothing in {options.seconds:.0f} seconds; give more --seconds")
    bpe = str(text / "bpe.model")
    run = str(scratch / "run")
    words = ("--source-model", bpe, "--target-model", bpe)
    dragoman("import", "--from", "opennmt", str(saved), "--overwrite", "--quiet", "--out", run, *words)
    dragoman("export", run, "--out", str(model_folder(scratch)), "--int8", "--overwrite", "--quiet")
    sentences = [line for name in TESTS for line in read_lines(options.multi30k / f"{name}.en.gz")]
    random.Random(1).shuffle(sentences)
    write_lines(scratch / "sentences.en", sentences)
    ours = ({"q": line, "source": "en", "target": "de"} for line in sentences)
    write_lines(scratch / "dragoman.requests", map(json.dumps, ours))
    write_lines(scratch / "opennmt.requests", (json.dumps([{"src": line, "id": 1}]) for line in sentences))


def model_folder(scratch: Path) -> Path:
    """The exported model."""
    return scratch / "en-de.int8"


def dragoman(*arguments: str) -> None:
    """Run a `dragoman` command."""
    subprocess.run([sys.executable, "-m", "dragoman", *arguments], check=True, env=our_environment())


def our_environment() -> dict[str, str]:
    """The environment of our commands."""
    return {**os.environ, "PYTHONPATH": PYTHONPATH_OF_DRAGOMAN}


# Servers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: psutil.Process
    port: int
    path: str
    """Of its requests."""
    bodies: Path
    """A request a line."""
    seconds_to_ready: float

    def processor_seconds(self) -> float:
        """Of all its processes so far."""
        times = [one.cpu_times() for one in (self.process, *self.process.children(recursive=True))]
        return sum(one.user + one.system for one in times)

    def megabytes(self) -> float:
        """Resident memory of all its processes."""
        return sum(one.memory_info().rss for one in (self.process, *self.process.children(recursive=True))) / 1e6

    def ask(self, body: str) -> float:
        """Milliseconds of one request."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.path}", body.encode(), {"Content-Type": "application/json"}
        )
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()
        return 1000 * (time.perf_counter() - began)


@contextmanager
def our_server(options: argparse.Namespace) -> Iterator[Served]:
    """`dragoman serve` with the exported model, loaded."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "dragoman",
        "serve",
        f"en:de={model_folder(options.scratch)}",
        "--preload",
        "--quiet",
    ]
    command += ["--port", str(port), "--threads", str(options.threads)]
    bodies = options.scratch / "dragoman.requests"
    with started(command, our_environment(), options.scratch / "dragoman.server.log") as process:
        ready = wait_until(lambda: status(port, "/ready") == 200, process)
        yield Served(psutil.Process(process.pid), port, "/translate", bodies, ready)


@contextmanager
def their_server(options: argparse.Namespace) -> Iterator[Served]:
    """OpenNMT-py's REST server with the checkpoint that was imported; it segments by the same model as ours."""
    saved = checkpoint("opennmt", "B", options.scratch)
    if saved is None:
        sys.exit(f"no checkpoint of OpenNMT-py in {options.scratch}; run the stage prepare")
    segments = {"type": "sentencepiece", "model": str(options.scratch / "text" / "bpe.model")}
    search = {"gpu": -1, "beam_size": BEAM, "max_length": LONGEST, "length_penalty": "avg", "batch_size": 64}
    search["batch_type"] = "sents"
    model = {"id": 1, "model": saved.name, "load": True, "timeout": -1, "opt": search, "tokenizer": segments}
    config = options.scratch / "opennmt.server.json"
    config.write_text(json.dumps({"models_root": str(saved.parent), "models": [model]}), encoding="utf-8")
    port = free_port()
    command = [str(Path(options.opennmt).parent / "onmt_server"), "--ip", "127.0.0.1", "--port", str(port)]
    command += ["--model_config", str(config)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    with started(command, environment, options.scratch / "opennmt.server.log") as process:
        ready = wait_until(lambda: status(port, "/translator/health") == 200, process)
        bodies = options.scratch / "opennmt.requests"
        yield Served(psutil.Process(process.pid), port, "/translator/translate", bodies, ready)


SERVERS: dict[str, Callable[[argparse.Namespace], Any]] = {"dragoman": our_server, "opennmt": their_server}


@contextmanager
def started(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and end it."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> float:
    """Seconds until `ready`."""
    began = time.perf_counter()
    while not ready():
        if process.poll() is not None:
            sys.exit(f"the server ended with {process.returncode}; see its log in the scratch folder")
        if time.perf_counter() - began > PATIENCE:
            sys.exit(f"the server was not ready within {PATIENCE:.0f} seconds")
        time.sleep(0.01)
    return time.perf_counter() - began


def status(port: int, path: str) -> int:
    """The status of a GET request; 0 without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# The load generator --------------------------------------------------------------------------------------------------


def wrk(served: Served, *, clients: int, seconds: float, pause_ms: float = 0) -> dict[str, Any]:
    """Requests for some seconds: what wrk counted, and processor seconds of both sides.

    Args:
        pause_ms: mean time between an answer and the next request of the same client.
    """
    with generator(served, clients=clients, seconds=seconds, pause_ms=pause_ms) as process:
        before, own = served.processor_seconds(), resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = process.communicate()[0]
    result = counted(printed)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sentences = result["statuses"].get("200", 0)
    clients_seconds = used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime
    return result | {
        "clients": clients,
        "sentences_per_second": round(sentences / result["seconds"], 2),
        "server_ms_per_sentence": round(1000 * (served.processor_seconds() - before) / max(1, sentences), 3),
        "clients_ms_per_sentence": round(1000 * clients_seconds / max(1, sentences), 3),
    }


@contextmanager
def generator(served: Served, *, clients: int, seconds: float, pause_ms: float = 0) -> Iterator[subprocess.Popen[str]]:
    """wrk, running."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--timeout", f"{PATIENCE:.0f}s", "-s", str(SCRIPT)]
    command.append(f"http://127.0.0.1:{served.port}")
    ours = {"BODIES": str(served.bodies), "URL_PATH": served.path, "PAUSE": str(pause_ms)}
    process = subprocess.Popen(command, env={**os.environ, **ours}, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def counted(printed: str) -> dict[str, Any]:
    """The numbers that the script of wrk prints."""
    found = re.search(r"^RESULT (.*)$", printed, re.MULTILINE)
    if found is None:
        sys.exit(f"wrk printed no result:\n{printed}")
    result: dict[str, Any] = json.loads(found[1])
    return result


# Stages --------------------------------------------------------------------------------------------------------------


def load(options: argparse.Namespace) -> None:
    """Both servers from all numbers of clients, and what the same sentences cost without a server."""
    rows: dict[str, Any] = {}
    for name, server in SERVERS.items():
        with server(options) as served:
            for body in first_requests(served):
                served.ask(body)
            measured = [wrk(served, clients=clients, seconds=options.seconds) for clients in CLIENTS]
            rows[name] = {"seconds_to_ready": round(served.seconds_to_ready, 2), "clients": measured}
            rows[name]["megabytes"] = round(served.megabytes())
        for row in measured:
            print(name, json.dumps(row), flush=True)
    rows["file"] = from_file(options)
    rows["one at a time"] = one_at_a_time(options)
    ours, theirs = ({row["clients"]: row for row in rows[name]["clients"]} for name in SERVERS)
    rows["ratios"] = {
        "throughput, 64 clients, to the peer": round(
            ours[64]["sentences_per_second"] / theirs[64]["sentences_per_second"], 2
        ),
        "server seconds a sentence, file to 64 clients": round(
            rows["file"]["ms_per_sentence"] / ours[64]["server_ms_per_sentence"], 3
        ),
        "p50 of one client less that of Translator.translate, ms": round(
            ours[1]["p50_ms"] - rows["one at a time"]["p50_ms"], 2
        ),
    }
    print(json.dumps(rows["ratios"], indent=1))
    write("load", rows, options)


def first_requests(served: Served) -> list[str]:
    """Some requests, which are not measured."""
    return served.bodies.read_text(encoding="utf-8").splitlines()[:20]


def from_file(options: argparse.Namespace) -> dict[str, float]:
    """Processor milliseconds a sentence of `dragoman translate`, without start-up: a long file less a short one."""
    sentences = list(read_lines(options.scratch / "sentences.en"))
    spent = {}
    for count in (200, len(sentences)):
        source = options.scratch / f"first-{count}.en"
        write_lines(source, sentences[:count])
        command = [sys.executable, "-m", "dragoman", "translate", str(model_folder(options.scratch))]
        command += ["-i", str(source), "-o", str(options.scratch / "output.de"), "--quiet"]
        command += ["--beam", str(BEAM), "--threads", str(options.threads)]
        environment = {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN}
        watched = watch(command, 600, folder=options.scratch, environment=environment)
        if watched.exit_code:
            sys.exit("dragoman translate failed:\n" + "\n".join(line for _, line in watched.lines[-20:]))
        spent[count] = (watched.processor_seconds, watched.seconds)
    (few, short), (many, long) = sorted(spent.items())
    return {
        "ms_per_sentence": round(1000 * (long[0] - short[0]) / (many - few), 3),
        "sentences_per_second": round((many - few) / (long[1] - short[1]), 1),
    }


def one_at_a_time(options: argparse.Namespace) -> dict[str, float]:
    """Percentiles of `Translator.translate` in this process."""
    import dragoman

    translator = dragoman.load(model_folder(options.scratch), threads=options.threads)
    sentences = list(read_lines(options.scratch / "sentences.en"))[:420]
    times = []
    for sentence in sentences:
        began = time.perf_counter()
        translator.translate([sentence], beam=BEAM)
        times.append(1000 * (time.perf_counter() - began))
    parts = quantiles(times[20:], n=100)
    return {"p50_ms": round(median(times[20:]), 3), "p95_ms": round(parts[94], 3), "p99_ms": round(parts[98], 3)}


def overload(options: argparse.Namespace) -> None:
    """More visitors than the server can answer."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # each connection is an open file, on either side
    with our_server(options) as served:
        carried = wrk(served, clients=64, seconds=15)["sentences_per_second"]
        bodies = first_requests(served)
        usual = median([served.ask(body) for body in bodies * 3][20:])
        before, began = served.megabytes(), served.processor_seconds()
        pause = 1000 * VISITORS / (EXCESS * carried)  # were every answer immediate, they would offer EXCESS x carried
        memory = []
        with generator(served, clients=VISITORS, seconds=60, pause_ms=pause) as process:
            while process.poll() is None:
                memory.append(served.megabytes())
                time.sleep(0.5)
            result = counted(process.stdout.read() if process.stdout else "")
            spent = served.processor_seconds() - began
        ended, normal = time.perf_counter(), 0.0
        while normal == 0 and time.perf_counter() - ended < PATIENCE:
            if median([served.ask(body) for body in bodies[:5]]) < 2 * usual:
                normal = time.perf_counter() - ended
        result |= {
            "visitors": VISITORS,
            "carried_per_second": round(carried, 1),
            "offered_per_second": round(EXCESS * carried, 1),
            "answered_per_second": round(result["statuses"].get("200", 0) / result["seconds"], 1),
            "server_processor_seconds": round(spent, 1),
            "usual_ms": round(usual, 2),
            "seconds_until_usual": round(normal, 2),
            "load_average": round(os.getloadavg()[0], 1),
            "megabytes": {
                "before": round(before),
                "after each tenth": [round(memory[len(memory) * tenth // 10 - 1]) for tenth in range(1, 11)],
                "most": round(max(memory)),
                "after": round(served.megabytes()),
            },
        }
    print(json.dumps(result, indent=1))
    write("overload", result, options)


def soak(options: argparse.Namespace) -> None:
    """Many requests in a row."""
    with our_server(options) as server:
        short = options.scratch / "short.requests"
        requests = server.bodies.read_text(encoding="utf-8").splitlines()
        write_lines(short, (one for one in requests if len(json.loads(one)["q"].split()) <= LONG_RUN_WORDS))
        served = replace(server, bodies=short)
        for body in first_requests(served):
            served.ask(body)
        tenths, statuses = [round(served.megabytes(), 1)], {}
        done = 0
        while done < LONG_RUN:
            result = wrk(served, clients=LONG_RUN_CLIENTS, seconds=10)
            done += result["requests"]
            for code, count in result["statuses"].items():
                statuses[code] = statuses.get(code, 0) + count
            if 10 * done // LONG_RUN >= len(tenths):
                tenths.append(round(served.megabytes(), 1))
    found = {"requests": done, "statuses": statuses, "megabytes_after_each_tenth": tenths}
    print(json.dumps(found, indent=1))
    write("soak", found, options)


def restart(options: argparse.Namespace) -> None:
    """Killed while it serves, and started again, five times."""
    seconds = []
    for _ in range(5):
        with our_server(options) as served, generator(served, clients=8, seconds=60):
            time.sleep(1)
            served.process.kill()
        with our_server(options) as served:
            seconds.append(round(served.seconds_to_ready, 3))
            served.ask(first_requests(served)[0])
    found = {"seconds_to_ready": seconds}
    print(json.dumps(found))
    write("restart", found, options)


# Results -------------------------------------------------------------------------------------------------------------


def write(part: str, found: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Add a part to the results."""
    parts = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    facts = {"date": time.strftime("%Y-%m-%d"), "processor": machine_name(), "threads": options.threads}
    parts[part] = {"machine": facts} | dict(found)
    RESULTS.write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
