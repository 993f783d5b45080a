"""Shards: consecutive units of an input file that a worker computes together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dragoman.cluster.inputs import InputFile
from dragoman.cluster.units import Unit
from dragoman.cluster.verbs import ClusterVerb
from dragoman.translation.length_batching import read_windows


@dataclass(frozen=True)
class Inputs:
    """The input files of one output file; the first gives it its name."""

    files: Sequence[InputFile]

    @property
    def name(self) -> str:
        """The name of the output file: that of the first input."""
        return self.files[0].name

    @property
    def bytes(self) -> int:
        """Bytes of the first file, by which progress is measured."""
        return self.files[0].size


@dataclass(frozen=True)
class Shard:
    """Consecutive units of the input files `inputs`."""

    inputs: Inputs
    number: int
    """Within its file, from 0."""
    first_line: int
    """From 1."""
    units: Sequence[Unit]
    position: int
    """Bytes of the first file that had been read when the shard was complete."""

    @property
    def lines(self) -> int:
        """The number of lines of its units."""
        return sum(unit.lines for unit in self.units)

    @property
    def readable(self) -> list[int]:
        """The units that a worker can compute, by their place from 0."""
        return [place for place, unit in enumerate(self.units) if unit.value is not None]

    def values(self, places: Sequence[int]) -> list[Any]:
        """What a worker needs to compute these units."""
        return [self.units[place].value for place in places]

    @property
    def digest(self) -> str:
        """Changes with the text of the shard."""
        text = json.dumps([[unit.value, unit.lines] for unit in self.units], ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read_shards(inputs: Inputs, verb: ClusterVerb) -> Iterator[Shard]:
    """Read the files and cut them into shards.

    Raises:
        InputError: a file cannot be read, or has changed since the command began; what the verb's reader raises.
    """
    with ExitStack() as open_files:
        opened = [(file, open_files.enter_context(file.open())) for file in inputs.files]
        line = 1
        weight = verb.weight
        windows = read_windows(
            verb.read(opened), lambda unit: 0 if unit.value is None else weight(unit.value), max_weight=verb.max_weight
        )
        for number, units in enumerate(windows):
            stored = opened[0][1]
            shard = Shard(inputs, number, line, units, inputs.bytes if stored.closed else stored.tell())
            yield shard
            line += shard.lines
        for file in inputs.files:
            file.require_unchanged()
