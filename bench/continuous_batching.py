"""Would continuous batching answer sooner than the server's micro-batches? A prototype, on a real model.

    python bench/continuous_batching.py FOLDER SENTENCES [--rounds N] [--out FILE]

FOLDER is an exported model, SENTENCES a text, of which 64 clients send random lines: each sends the next one when the
last one is answered. Two workers translate them, each of which has a processor core. Every sentence is really
translated, by the exported graphs; what is compared is who shares a batch with whom:

    micro        the server's scheduler and translator as they are: sentences of similar length, batches of about 0.1 s,
                 all sentences of a batch are answered when it ends
    continuous   sentences join the running search of a worker between two steps, and are answered when their own search
                 ends: `ContinuousSearch`, at most so many at once, joining when so many places are free
    early        the same search, which nothing joins before it has ended: batches whose sentences are answered early

The clock is the processor's: a batch or a step moves the clock of its worker on by the processor time that it took.
What else the machine does changes nothing in the order of events, and little in the times. HTTP is left out, as is the
waiting of two threads for Python's lock. Every translation is compared with that of the sentence alone.
"""

from __future__ import annotations

import argparse
import bisect
import heapq
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.onnx_engine import Arrays, OnnxEngine, _OnnxState
from dragoman.engines.protocol import EngineStep
from dragoman.engines.rows import RowLayout, widened
from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.search.beam import Beam, _best_candidates, _first_of_each
from dragoman.search.constraints import BatchConstraints, StepConstraints
from dragoman.search.hypothesis import End, Hypothesis
from dragoman.search.normalisation import Normalisation
from dragoman.serving.scheduler import Lane, Scheduler, Task, _Job, _results
from dragoman.text.lines import read_lines
from dragoman.text.vocabulary import BOS, EOS
from dragoman.translation.line_constraints import TextConstraints
from dragoman.translation.prepared_lines import PreparedLine
from dragoman.translation.translator import Translator

CLIENTS, WORKERS = 64, 2


# The search -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Running:
    """A sentence that is searched for."""

    line: PreparedLine
    request: Request
    started: int
    """The step at which it joined."""
    longest: int
    """Segments that may stand before EOS."""
    columns: int
    """Source segments, EOS among them if the model reads it."""
    ends: list[End] = field(default_factory=list)
    """Its finished hypotheses, best first; `step` counts the steps of the search."""


@dataclass(eq=False)
class _Step:
    """The back-pointers of a step, as in `search.hypothesis.History`."""

    parents: NDArray[np.int64]
    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float64]
    attention: NDArray[np.float32] | None


class ContinuousSearch:
    """Beam search for the best translation of sentences that join between steps; results are those of `beam_search`.

    For configurations without constraints, coverage penalty and shortlist, with `finish` refill, and for decoders to
    which the number of the step does not matter.
    """

    def __init__(self, translator: Translator, engine: OnnxEngine) -> None:
        self._lines, self._detokeniser, self._config = translator._lines, translator._detokeniser, translator._search
        assert not self._config.coverage_penalty
        assert not self._config.no_repeat_ngram
        assert not self._config.min_length_factor
        assert self._config.finish == "refill"
        self._engine = engine
        self._normalisation = Normalisation.from_config(self._config)
        self.running: list[_Running] = []
        self._beam: Beam | None = None
        self._now = 0
        self._steps: deque[_Step] = deque()
        """From that of the sentence that has run for longest."""

    def join(self, requests: Sequence[Request]) -> None:
        """Encode the sentences of requests and let them take part from the next step on."""
        lines = [self._lines.prepare(0, request.text, TextConstraints()) for request in requests]
        _, source, lengths, segments = self._lines.encoder.batch([line.source for line in lines])
        self._constraints = BatchConstraints.from_config(self._config, self._engine.vocabulary_size, segments)
        joined = _first_beam(self._engine.start(source, lengths), len(lines))
        for line, request, longest, columns in zip(lines, requests, self._constraints.longest, lengths, strict=True):
            self.running.append(_Running(line, request, self._now, int(longest), int(columns)))
        self._beam = joined if self._beam is None else _merged(self._beam, joined)

    def step(self) -> list[tuple[Request, str]]:
        """One step for all; returns the sentences whose search has ended, with their translations."""
        beam, running = self._beam, self.running
        assert beam is not None
        lengths = np.array([self._now - one.started for one in running])
        longest = np.array([one.longest for one in running])
        at_limit = longest == lengths
        blocked = StepConstraints(self._constraints, beam.row_sentences, 0, {}, [], {})
        step, end_totals = self._stepped(beam, blocked.request(self._config.beam))
        self._steps.append(_Step(beam.parents, beam.tokens, beam.log_probabilities, step.attention))
        candidates = _best_candidates(beam, blocked.permitted(step, self._config.beam + 1), self._config)
        possible, ending = candidates.log_probabilities > -np.inf, candidates.tokens == EOS
        ends = _first_of_each(possible, None, self._config.beam) & ending
        lives = _first_of_each(possible & ~ending, None, self._config.beam)
        for place, rank in zip(*(found.tolist() for found in np.nonzero(ends)), strict=True):
            row, total = int(candidates.rows[place, rank]), float(candidates.log_probabilities[place, rank])
            self._end(running[place], row, total, finished=True)
        ends_here = at_limit | ~lives.any(axis=1)
        for place in np.flatnonzero(ends_here).tolist():
            if not running[place].ends:
                for row in np.flatnonzero(beam.row_sentences == place).tolist():
                    self._end(running[place], row, float(end_totals[row]), finished=False)
        stops = ends_here | self._stops(np.where(lives, candidates.log_probabilities, -np.inf).max(axis=1), lengths)
        done = [(one.request, self._text(one)) for one, stop in zip(running, stops.tolist(), strict=True) if stop]
        self.running = [one for one, stop in zip(running, stops.tolist(), strict=True) if not stop]
        self._advance(beam, candidates, lives & ~stops[:, None], ~stops, step.state)
        return done

    def _stepped(self, beam: Beam, wanted: int) -> tuple[EngineStep, NDArray[np.float64]]:
        """`wanted` continuations of all rows, and the log-probability [R] of each row with EOS.

        As `OnnxEngine.step` with EOS as the target: when a sentence has to be closed, `beam_search` takes all words of
        the vocabulary from the engine, which here would delay all others.
        """
        state, tokens = beam.state, beam.tokens
        assert isinstance(state, _OnnxState)
        outputs, after = self._engine._advance(state, beam.parents, tokens, np.full_like(tokens, EOS), wanted)
        attention = widened(outputs["attention"], state.source.shape[1], 0) if "attention" in outputs else None
        step = EngineStep(outputs["log_probabilities"], outputs["words"], attention, after)
        return step, beam.log_probabilities + outputs["target_log_probabilities"]

    def _end(self, one: _Running, row: int, total: float, *, finished: bool) -> None:
        score = float(self._normalisation.score(total, self._now - one.started + 1))
        bisect.insort_right(one.ends, End(score, total, self._now, row, finished), key=lambda end: -end.score)

    def _stops(self, best: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """As `search.beam._stops`."""
        counts = np.array([len(one.ends) for one in self.running])
        bars = np.array([one.ends[0].score if one.ends else -np.inf for one in self.running])
        most = np.array([max((end.log_probability for end in one.ends), default=-np.inf) for one in self.running])
        longest = np.array([one.longest for one in self.running])
        hopeless = self._normalisation.bound(best, longest + 1, lengths + 2) <= bars
        return np.asarray((counts > 0) & (hopeless | ((counts >= self._config.beam) & (best <= most))))

    def _advance(
        self, beam: Beam, candidates: Any, lives: NDArray[np.bool_], stays: NDArray[np.bool_], state: object
    ) -> None:
        """As `search.beam._advance`; steps that no sentence needs any more are forgotten."""
        self._now += 1
        oldest = min((one.started for one in self.running), default=self._now)
        while len(self._steps) > self._now - oldest:
            self._steps.popleft()
        if not self.running:
            self._beam = None
            return
        flat = np.flatnonzero(lives)
        counts = np.count_nonzero(lives, axis=1)[stays]
        self._beam = Beam(
            length=0,
            sentences=np.arange(len(self.running)),
            counts=counts,
            slots=int(counts.max()),
            log_probabilities=candidates.log_probabilities.take(flat),
            parents=candidates.rows.take(flat),
            tokens=candidates.tokens.take(flat),
            words=None,
            state=state,
        )

    def _text(self, one: _Running) -> str:
        """The best translation, rebuilt from the back-pointers with its attention, as the server needs it."""
        end = one.ends[0]
        first = self._now - len(self._steps) + 1  # the step of self._steps[0]
        tokens, totals, weights, row = [EOS], [], [], end.row
        for number in range(end.step, one.started - 1, -1):
            step = self._steps[number - first]
            totals.append(step.log_probabilities[row])
            if step.attention is not None:
                weights.append(step.attention[row, : one.columns])
            if number > one.started:
                tokens.append(int(step.tokens[row]))
                row = int(step.parents[row])
        hypothesis = Hypothesis(
            tokens[::-1],
            end.log_probability,
            end.score,
            np.stack(weights[::-1]) if weights else None,
            np.diff(np.array(totals[::-1]), append=end.log_probability),
            end.finished,
        )
        return self._detokeniser.translation(one.line, hypothesis).text


def _first_beam(state: object, sentences: int) -> Beam:
    everyone = np.arange(sentences)
    return Beam(
        length=0,
        sentences=everyone,
        counts=np.ones_like(everyone),
        slots=1,
        log_probabilities=np.zeros(sentences),
        parents=everyone,
        tokens=np.full(sentences, BOS, dtype=np.int64),
        words=None,
        state=state,
    )


def _merged(running: Beam, joined: Beam) -> Beam:
    """The beam of both; rows and sentences of `joined` come last."""
    old, new = running.state, joined.state
    assert isinstance(old, _OnnxState)
    assert isinstance(new, _OnnxState)
    rows_before = len(old.rows.cells)
    counts = np.concatenate((running.counts, joined.counts))
    return Beam(
        length=0,
        sentences=np.arange(len(counts)),
        counts=counts,
        slots=int(counts.max()),
        log_probabilities=np.concatenate((running.log_probabilities, joined.log_probabilities)),
        parents=np.concatenate((running.parents, joined.parents + rows_before)),
        tokens=np.concatenate((running.tokens, joined.tokens)),
        words=None,
        state=_merged_state(old, new),
    )


def _merged_state(old: _OnnxState, new: _OnnxState) -> _OnnxState:
    """Encoded sources padded to one length, and the cells of both; a new sentence gets as many cells as an old one has,
    of which it uses the first."""
    width = old.rows.width
    columns = max(memory.shape[1] for state in (old, new) for memory in state.memory.values())
    everyone = np.arange(new.rows.sentences) * width + old.rows.sentences * width
    return replace(
        old,
        memory={
            name: np.concatenate((_padded(array, columns), _padded(new.memory[name], columns)))
            for name, array in old.memory.items()
        },
        state={
            name: np.concatenate((array, np.repeat(new.state[name], width, axis=0)))
            for name, array in old.state.items()
        },
        rows=RowLayout(old.rows.sentences + new.rows.sentences, width, np.concatenate((old.rows.cells, everyone))),
        source=np.zeros((0, columns), dtype=np.int64),  # its width alone is used
    )


def _padded(memory: NDArray[Any], columns: int) -> NDArray[Any]:
    """Encoded sources [B, S, ..] with `columns` columns."""
    if memory.shape[1] == columns:
        return memory
    wide = np.zeros((len(memory), columns, *memory.shape[2:]), dtype=memory.dtype)
    wide[:, : memory.shape[1]] = memory
    return wide


# Clients and workers --------------------------------------------------------------------------------------------------


@dataclass(eq=False, order=False)
class Request:
    """A sentence that a client has sent."""

    text: str
    sent: float
    """Seconds."""


class Crowd:
    """Clients, each of whom sends its next sentence when the last one is answered."""

    def __init__(self, sentences: Sequence[str], clients: int, seed: int) -> None:
        self._sentences, self._random = sentences, random.Random(seed)
        self._coming: list[tuple[float, int, Request]] = []
        self._count = 0
        self.waiting: deque[Request] = deque()
        """Those that have arrived and are in no batch."""
        self.delays: list[float] = []
        self.answers: list[tuple[str, str]] = []
        for _ in range(clients):
            self._send(0.0)

    def _send(self, now: float) -> None:
        self._count += 1
        request = Request(self._random.choice(self._sentences), now)
        heapq.heappush(self._coming, (now, self._count, request))

    def arrive(self, now: float) -> None:
        """What has been sent until now waits."""
        while self._coming and self._coming[0][0] <= now:
            self.waiting.append(heapq.heappop(self._coming)[2])

    def next_arrival(self) -> float:
        """When the next sentence arrives; infinite if none is under way."""
        return self._coming[0][0] if self._coming else float("inf")

    def answer(self, request: Request, text: str, now: float) -> None:
        """A client has its answer."""
        self.delays.append(now - request.sent)
        self.answers.append((request.text, text))
        self._send(now)


class Worker(Protocol):
    """Translates on one core."""

    def work(self, crowd: Crowd) -> tuple[int, list[tuple[Request, str]]]:
        """Take what waits, and compute a batch or a step: sentences in it, and those that are answered after it."""


class MicroBatches:
    """The server's scheduler and translator."""

    def __init__(self, translator: Translator, rows: int, workers: int) -> None:
        self.scheduler = Scheduler(workers, 10**6)
        self._task = Task(Lane(workers), "one", partial(_translations, translator), lambda found: found, rows)

    def work(self, crowd: Crowd) -> tuple[int, list[tuple[Request, str]]]:
        """A batch."""
        while crowd.waiting:
            request = crowd.waiting.popleft()
            job = _Job(self._task, [request.text], [None], [0], cast("Any", request))
            self.scheduler._jobs[job] = None
            self.scheduler.waiting += 1
        batch = self.scheduler._next_batch()
        if batch is None:
            return 0, []
        began = time.thread_time()
        answers = _results(batch.sentences)
        batch.lane.measured(batch.cost, time.thread_time() - began)
        found = [(cast("Request", one.job.done), text) for one, text in zip(batch.sentences, answers, strict=True)]
        return len(found), found


def _translations(translator: Translator, lines: list[str]) -> list[str]:
    return [best.text for [best] in translator.translate_lines(lines)]


class ContinuousWorker:
    """A running search that sentences join: at most `most` at once, when `group` of them can, or nothing runs."""

    def __init__(self, search: ContinuousSearch, most: int, group: int) -> None:
        self._search, self._most, self._group = search, most, group

    def work(self, crowd: Crowd) -> tuple[int, list[tuple[Request, str]]]:
        """A step."""
        running = len(self._search.running)
        count = min(self._most - running, len(crowd.waiting))
        if count and (count >= self._group or not running):
            self._search.join([crowd.waiting.popleft() for _ in range(count)])
        if not self._search.running:
            return 0, []
        return len(self._search.running), self._search.step()


class GraphClock:
    """Counts the processor seconds of an engine's graphs: what no way of batching could leave out."""

    def __init__(self, engine: OnnxEngine) -> None:
        self.seconds = 0.0
        for graph in (engine._encoder, engine._step):
            graph.run = self._counted(graph.run)  # type: ignore[assignment, method-assign]

    def _counted(self, run: Callable[[Arrays], Arrays]) -> Callable[[Arrays], Arrays]:
        def counted(feed: Arrays) -> Arrays:
            began = time.thread_time()
            found = run(feed)
            self.seconds += time.thread_time() - began
            return found

        return counted


def simulate(crowd: Crowd, workers: Sequence[Worker], answers: int, graphs: GraphClock) -> dict[str, Any]:
    """Let workers translate until so many answers have been given, the first tenth of which is not counted."""
    clocks = [0.0] * len(workers)
    spent, times, sizes, skipped, begun = 0.0, list[float](), Counter[int](), answers // 10, 0.0
    graphs.seconds = 0.0
    while len(crowd.delays) < answers:
        number = min(range(len(workers)), key=clocks.__getitem__)
        crowd.arrive(clocks[number])
        began = time.thread_time()
        size, done = workers[number].work(crowd)
        seconds = time.thread_time() - began
        if not size:  # nothing to do until something arrives, or until the other worker has gone on
            others = min(clocks[:number] + clocks[number + 1 :], default=float("inf"))
            clocks[number] = min(crowd.next_arrival(), max(others, clocks[number]) + 1e-4)
            continue
        clocks[number] += seconds
        spent += seconds
        times.append(seconds)
        sizes[size] += 1
        for request, text in done:
            crowd.answer(request, text, clocks[number])
            if len(crowd.delays) == skipped:
                begun, spent, times, sizes = clocks[number], 0.0, [], Counter()
                graphs.seconds = 0.0
    delays = crowd.delays[skipped:]
    cut = quantiles(delays, n=100)
    return {
        "sentences_per_second": round(len(delays) / (max(clocks) - begun), 1),
        "processor_ms_per_sentence": round(1000 * spent / len(delays), 2),
        "of_it_in_graphs_ms": round(1000 * graphs.seconds / len(delays), 2),
        "mean_ms": round(1000 * mean(delays), 1),
        "p50_ms": round(1000 * cut[49], 1),
        "p95_ms": round(1000 * cut[94], 1),
        "p99_ms": round(1000 * cut[98], 1),
        "batch_or_step_p99_ms": round(1000 * quantiles(times, n=100, method="inclusive")[98], 1),
        "batch_or_step_longest_ms": round(1000 * max(times), 1),
        "mean_sentences_at_once": round(sum(size * count for size, count in sizes.items()) / sizes.total(), 1),
    }


# Rounds ---------------------------------------------------------------------------------------------------------------


def main() -> None:
    """Compare all ways, in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--answers", type=int, default=2000, help="of each way and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, nargs="+", default=[8, 12, 16, 24, 32], help="sentences at once")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sentences = list(dict.fromkeys(line for line in read_lines(options.sentences) if line.strip()))
    run = open_run(options.folder, device="cpu", threads=1)
    assert isinstance(run.engine, OnnxEngine)
    translator = run.translator().with_options(beam=options.beam)
    graphs = GraphClock(run.engine)
    alone = {line: translator.translate(line).text for line in sentences}
    print(json.dumps({"distinct sentences": len(alone)}), flush=True)

    def micro() -> list[Worker]:
        one = MicroBatches(translator, options.beam, WORKERS)
        return [one] * WORKERS

    def continuous(most: int, group: int) -> list[Worker]:
        assert isinstance(run.engine, OnnxEngine)
        return [ContinuousWorker(ContinuousSearch(translator, run.engine), most, group) for _ in range(WORKERS)]

    ways: dict[str, Callable[[], list[Worker]]] = {"micro": micro}
    for most in options.most:
        ways[f"early, {most} at once"] = partial(continuous, most, most + 1)
        for group in options.groups:
            ways[f"continuous, {most} at once, joining by {group}"] = partial(continuous, most, group)
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for number in range(options.rounds):
        for name, workers in list(ways.items())[:: 1 if number % 2 == 0 else -1]:
            crowd = Crowd(sentences, options.clients, seed=number)
            row = simulate(crowd, workers(), options.answers, graphs)
            row["different from alone"] = sum(alone[text] != answer for text, answer in crowd.answers)
            rounds[name].append(row)
            print(name, json.dumps(row), flush=True)
    found = {name: dict(_medians(rows)) for name, rows in rounds.items()}
    for name, row in found.items():
        p95 = [base["p95_ms"] / own["p95_ms"] for base, own in zip(rounds["micro"], rounds[name], strict=True)]
        row["p95 of micro by this one's"] = round(median(p95), 2)
        print(name, json.dumps(row), flush=True)
    if options.out:
        facts: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "processor": machine_name()}
        facts |= {"clients": options.clients, "workers": WORKERS, "beam": options.beam, "parameters": run.parameters}
        facts |= {"answers": options.answers, "rounds": options.rounds}
        options.out.write_text(json.dumps({"facts": facts, "ways": found, "rounds": rounds}, indent=1) + "\n")


def _medians(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The median of each figure; of differing translations the sum."""
    for name in rows[0]:
        values = [row[name] for row in rows]
        yield name, sum(values) if name == "different from alone" else round(median(values), 2)


if __name__ == "__main__":
    main()
