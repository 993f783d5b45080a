"""What learning costs a server that translates meanwhile: `dragoman serve --learn`, with corrections and without.

    python bench/learning_server.py COPY-OF-RUN en-de.dev.en en-de.dev.de

One client translates sentences one after the other while corrections wait; in every second phase the process that
learns is stopped (SIGSTOP). Results go to bench/results/learning-server.json. What is learnt is in COPY-OF-RUN.learned.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "learning-server.json"
PAIR = {"source": "en", "target": "de"}
WAITING = 3
"""Corrections that are kept waiting."""


def main() -> None:
    """Start the server, measure, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--phases", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    pairs = [
        pair for pair in zip(read_lines(options.source), read_lines(options.target), strict=True) if len(pair[0]) < 120
    ]
    command = [sys.executable, "-m", "dragoman", "serve", f"en:de={options.run}", "--learn", "--preload", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = json.loads(server.stderr.readline())["url"]
        threading.Thread(target=server.stderr.read, daemon=True).start()
        try:
            [learner] = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text(encoding="ascii").split()
            found = _measured(url, pairs, options.phases, options.seconds, int(learner))
        finally:
            server.terminate()
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


def _measured(url: str, pairs: list[tuple[str, str]], phases: int, seconds: float, learner: int) -> dict[str, Any]:
    corrections, sentences = iter(pairs[: len(pairs) // 2]), itertools.cycle(pairs[len(pairs) // 2 :])
    times: dict[bool, list[float]] = {False: [], True: []}
    posting: list[float] = []
    failed = 0
    _post(url, "/translate", {"q": pairs[0][0], **PAIR})  # the model is loaded
    for phase in range(phases):
        learns = bool(phase % 2)
        if learns:
            _teach(url, corrections, posting)
        else:
            os.kill(learner, signal.SIGSTOP)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            try:
                _post(url, "/translate", {"q": next(sentences)[0], **PAIR})
            except OSError:
                failed += 1
            times[learns].append(1000 * (time.perf_counter() - began))
        os.kill(learner, signal.SIGCONT)
    state = _state(url)
    return {
        "translations": {"without": len(times[False]), "with": len(times[True])},
        "ms a sentence, mean": {"without": _round(times[False]), "with": _round(times[True])},
        "ms a sentence, median": {
            name: round(statistics.median(times[learns]), 1) for name, learns in (("without", False), ("with", True))
        },
        "slower, by the median": round(statistics.median(times[True]) / statistics.median(times[False]), 2),
        "slower, by the mean": round(statistics.mean(times[True]) / statistics.mean(times[False]), 2),
        "requests that failed": failed,
        "corrections": len(posting),
        "ms until a correction is answered, median": round(statistics.median(posting), 1),
        "changes of the weights": state["revision"],
    }


def _teach(url: str, corrections: Any, posting: list[float]) -> None:
    """Let a few corrections wait."""
    while _state(url)["waiting"] < WAITING:
        text, translation = next(corrections)
        began = time.perf_counter()
        _post(url, "/v1/corrections", {"text": text, "translation": translation, **PAIR})
        posting.append(1000 * (time.perf_counter() - began))


def _state(url: str) -> Any:
    with urlopen(f"{url}/v1/corrections?source=en&target=de&after=999999999") as answer:
        return json.load(answer)


def _post(url: str, path: str, body: Any) -> Any:
    with urlopen(Request(f"{url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def _round(times: list[float]) -> float:
    return round(statistics.mean(times), 1)


if __name__ == "__main__":
    main()
