"""Shards: consecutive units of an input file that a worker computes together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from dragoman.cluster.inputs import Inputs
from dragoman.cluster.units import Unit, lines_of
from dragoman.cluster.verbs import ClusterVerb
from dragoman.translation.length_batching import read_windows


@dataclass(frozen=True)
class Shard:
    """Consecutive units of the input files `inputs`."""

    inputs: Inputs
    number: int
    """Within its file, from 0."""
    first_line: int
    """From 1."""
    units: Sequence[Unit]
    bytes: int
    """Bytes of the first file that were read for it."""

    @property
    def digest(self) -> str:
        """Changes with the text of the shard."""
        return _digest(json.dumps([unit.value for unit in self.units], ensure_ascii=False))


def text_digest(shards: Iterable[str]) -> str:
    """Compute a digest of the text of a file from the digests of its shards."""
    return _digest("".join(shards))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read_shards(inputs: Inputs, verb: ClusterVerb) -> Iterator[Shard]:
    """Read the files and cut them into shards.

    Raises:
        InputError: a file cannot be read, or has changed since the command began; what the verb's reader raises.
    """
    with ExitStack() as open_files:
        opened = [(file, open_files.enter_context(file.open())) for file in inputs.files]
        stored = opened[0][1]
        line, position = 1, 0
        windows = read_windows(
            verb.read(opened),
            lambda unit: 0 if unit.value is None else verb.weight(unit.value),
            max_weight=verb.max_weight,
        )
        for number, units in enumerate(windows):
            end = inputs.bytes if stored.closed else stored.tell()
            yield Shard(inputs, number, line, units, end - position)
            line += sum(lines_of(unit.value) for unit in units)
            position = end
        for file in inputs.files:
            file.require_unchanged()
