"""A run that learns from corrections; they and what was learnt are in a folder of their own.

    FOLDER/corrections.jsonl     the log
    FOLDER/learned.safetensors   the weights after the last whole block of `BLOCK` corrections
    FOLDER/learned.json          number of that block; digests of log, weights and base run

The weights are a function of the base run and of the log. Opening reads the weights of the last whole block and learns
the corrections after it again. If a file is missing or does not fit, it learns all corrections again, to the same bits.
From then on the words of corrections are known: they count neither as mistyped nor as new names.

After each block the guard measures the dev set. A block that lowers BLEU too much is not learnt: the weights from
before the block are restored, and its corrections stay in the log.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from torch import Tensor

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair
from dragoman.data.store import Store
from dragoman.errors import ConfigError, RunError
from dragoman.evaluation.tokenizers import Tokenizer
from dragoman.learning.checks import require_learnable
from dragoman.learning.guard import LOST, Guard
from dragoman.learning.log import Correction, CorrectionLog
from dragoman.learning.pool import IdPair, PairPool
from dragoman.learning.updates import learn_pair
from dragoman.model.weights import load_weights, restore_weights, save_weights, weights_of
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run, open_run, trained_folder
from dragoman.stored_files import JsonFile, NewerFormat, dump_json, model_digest, read_json, sha256_of
from dragoman.systems import DeviceName
from dragoman.text.lines import replace_file
from dragoman.text.locks import lock_for_writing
from dragoman.text.raw_lines import as_read
from dragoman.text.side import Encoded, encode_pair, source_words
from dragoman.text.temporary import make_folder, writing

BLOCK = 10
"""Corrections after which the guard measures, and the weights are saved."""
TEXT = 20_000
"""Pairs of the training text, evenly spread, that corrections are learnt together with."""
LIKE, EARLIER, UNLIKE = 4, 2, 4
"""Pairs beside a correction: pairs like it, how many of these may be earlier corrections, and pairs drawn at random."""
SHORTEST = 24
"""Most segments of a pair beside a correction, unless the correction itself has more."""

LOG, WEIGHTS, STATE = "corrections.jsonl", "learned.safetensors", "learned.json"


class _State(JsonFile, frozen=True, kw_only=True):
    blocks: int
    taken_back: list[int]
    """Blocks, from 0, that the guard refused."""
    base: str
    log: str
    weights: str


class Learnt(NamedTuple):
    """What became of a correction."""

    number: int
    """Its number in the log, from 1."""
    updates: int
    """Updates of the weights; 0 for what the model knows already."""
    taken_back: float | None = None
    """BLEU of the dev set that its block would have cost, if that was too much."""


class Learner:
    """Learns one correction after the other; a context manager that holds the folder for itself.

    >>> with dragoman.Learner("RUN", "learned") as learner:
    ...     learnt = learner.learn("ab c", "AB C!")
    ...     [one.target for one in learner.corrections]
    ['AB C!']
    """

    def __init__(
        self,
        run: str | Path,
        folder: str | Path,
        *,
        dev: Sequence[Pair] | None = None,
        tokenizer: Tokenizer = "13a",
        device: DeviceName = "auto",
        threads: int | None = None,
        later: bool = False,
    ) -> None:
        """Learn what the log in a folder has; a new folder is made.

        Args:
            run: the base run, which is not changed.
            folder: the folder of what is learnt.
            dev: the pairs that the guard measures; None for those that the run was validated on.
            tokenizer: that of the guard's BLEU.
            device, threads: as for `dragoman.load`. The same numbers of both give the same bits.
            later: leave what is to be learnt to calls of `learn_next`.

        Raises:
            RunError: the run cannot be opened or trained; the log is damaged or belongs to another run; another
                process learns in the folder.
            InputError: the folder cannot be made.
        """
        self.base = trained_folder(run)
        self._base_digest = model_digest(self.base.path)[:16]
        self._opened = open_run(run, device=device, threads=threads)
        self._source = self._opened.source
        """The source side that knows the words of the corrections that are learnt."""
        self.known: list[str] = []
        """The sources of the corrections that are learnt, without items that the targets contain unchanged."""
        self._model = self._opened.model()
        self._base_weights = _copied(weights_of(self._model))
        self.dev = list(_dev_pairs(self.base)) if dev is None else list(dev)
        self._tokenizer = tokenizer
        self._later = later
        self._guard: Guard | None = None
        self.folder = Path(folder)
        self._files, self._is_open = ExitStack(), True
        with writing(folder, "the folder cannot be made"):
            make_folder(self.folder)
        self._files.enter_context(lock_for_writing(self.folder))
        try:
            self._open()
        except BaseException:
            self._files.close()
            raise

    def _open(self) -> None:
        self._text = self._training_text()
        self._log = CorrectionLog(self.folder / LOG)
        for number, entry in enumerate(self._log.entries, 1):
            if entry.base != self._base_digest:
                raise RunError(f"{self.folder / LOG}:{number}: is a correction of another run than {self.base.path}")
            if entry.beside != len(self._text):
                raise RunError(
                    f"{self.folder / LOG}:{number}: was learnt beside {entry.beside:,} pairs of the training text, but "
                    f"{self.base.train_data} has {len(self._text):,} now; take it from a copy of the run"
                )
        self._restart()

    def _restart(self) -> None:
        """Learn the log from the last saved block on, or from its beginning."""
        self._back_to_saved()
        if not self._later:
            self._learn_waiting()

    def _back_to_saved(self) -> None:
        """Know what was learnt when the last block was saved; what follows it in the log waits."""
        saved = self._saved_state()
        blocks = 0 if saved is None else saved.blocks
        self.taken_back = [] if saved is None else list(saved.taken_back)
        self.learnt = blocks * BLOCK
        self._remember_all(blocks)
        self._block_weights = _copied(weights_of(self._model))

    def _learn_waiting(self) -> Learnt | None:
        last = None
        while (learnt := self.learn_next()) is not None:
            last = learnt
        return last

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()
        self._is_open = False

    @property
    def run(self) -> Run:
        """The base run with what is learnt so far."""
        return replace(self._opened, source=self._source)

    @property
    def corrections(self) -> Sequence[Correction]:
        """The corrections of the log, in their order."""
        return tuple(self._log.entries)

    def learn(self, source: str, target: str) -> Learnt:
        """Log a correction and learn it; what was the last correction of this source is not logged again.

        Args:
            source: the line that was translated.
            target: its right translation.

        Returns:
            its number in the log, the updates that it made, and what its block would have cost if it was taken back.

        Raises:
            RefusedCorrection: it breaks a rule of `learning.checks`; it is neither logged nor learnt.
            InputError: the log cannot be written.
            RunError: the `with` block of the learner has ended.

        >>> with dragoman.Learner("RUN", "new-learned") as learner:
        ...     learner.learn("ab c", "AB X").number, learner.learn("ab c", "AB X").updates
        (1, 0)
        """
        count = len(self._log.entries)
        number = self.log(source, target)
        return Learnt(number, 0) if number <= count else self._learn_waiting() or Learnt(number, 0)

    def log(self, source: str, target: str) -> int:
        """Log a correction, which `learn_next` learns. Another thread may learn meanwhile.

        Args:
            source: the line that was translated.
            target: its right translation.

        Returns:
            its number in the log.

        Raises:
            RefusedCorrection: it breaks a rule of `learning.checks`.
            InputError: the log cannot be written.

        >>> with dragoman.Learner("RUN", "later", later=True) as learner:
        ...     learner.log("ab c", "AB X"), learner.learnt, learner.learn_next().number, learner.learnt
        (1, 0, 1, 1)
        """
        source, target = as_read(source), as_read(target)
        require_learnable(source, target, self._encoded(source, target), self.run.config)
        entries = self._log.entries
        last = next((index for index in reversed(range(len(entries))) if entries[index].source == source), None)
        if last is not None and entries[last].target == target:
            return last + 1
        self._own_log().append(Correction(source, target, self._base_digest, len(self._text)))
        return len(entries)

    def learn_next(self) -> Learnt | None:
        """Learn the first correction of the log that is not learnt; None if all are.

        Raises:
            InputError: the log or the weights cannot be written.

        >>> with dragoman.Learner("RUN", "all-learnt") as learner:
        ...     learner.learn_next() is None
        True
        """
        if self.learnt == len(self._log.entries):
            return None
        try:
            learnt = self._learn(self.learnt)
        except BaseException:  # perhaps amid an update, or before its block was saved
            self._back_to_saved()
            raise
        self.learnt += 1
        return learnt

    def undo(self, number: int) -> None:
        """Take a correction out of the log, and learn the others anew.

        Args:
            number: that of the correction, from 1.

        Raises:
            ConfigError: there is no such correction.
            InputError: the log cannot be written.

        >>> with dragoman.Learner("RUN", "undone") as learner:
        ...     learnt = learner.learn("ab c", "AB X")
        ...     learner.undo(learnt.number)
        ...     len(learner.corrections)
        0
        """
        entries = self._log.entries
        if not 1 <= number <= len(entries):
            raise ConfigError(f"{self.folder / LOG}: has no correction {number}; it has {len(entries)}")
        self._log = self._own_log().replace([*entries[: number - 1], *entries[number:]])
        self._restart()

    def undo_all(self) -> None:
        """Take all corrections out of the log, so that the weights are those of the base run.

        Raises:
            InputError: the log cannot be written.

        >>> with dragoman.Learner("RUN", "undone") as learner:
        ...     learnt = learner.learn("ab c", "AB X")
        ...     learner.undo_all()
        ...     learner.learnt
        0
        """
        self._log = self._own_log().replace([])
        self._restart()

    def _own_log(self) -> CorrectionLog:
        """The log, to be written.

        Raises:
            RunError: the folder was left, so that another process may write there.
        """
        if not self._is_open:
            raise RunError(f"{self.folder}: this Learner has ended; open another one to go on")
        return self._log

    def finish_block(self) -> float | None:
        """Let the guard measure what was learnt since the last whole block, before the weights are used elsewhere.

        Returns:
            the BLEU of the dev set that it costs, if that is too much; then the weights are those before it, until a
            correction is learnt again.

        Raises:
            RunError: the model's log-probabilities are NaN.

        >>> with dragoman.Learner("RUN", "finished") as learner:
        ...     learner.finish_block() is None
        True
        """
        lost = self._lost() if self.learnt % BLOCK else 0.0
        if lost <= LOST:
            return None
        self._back_to_saved()  # the next correction follows these, as in the log
        return lost

    def _learn(self, number: int) -> Learnt:
        """Make the updates of a correction of the log, counted from 0."""
        entry = self._log.entries[number]
        self._know(entry)
        pair = self._pair(entry)
        beside = self._beside(entry.source, pair, random.Random(number))
        updates = learn_pair(self._model, pair, beside, self._base_weights, number)
        self._remember(entry)
        lost = self._end_block(number // BLOCK) if (number + 1) % BLOCK == 0 else None
        return Learnt(number + 1, updates, lost)

    def _beside(self, source: str, pair: IdPair, draw: random.Random) -> list[IdPair]:
        longest = max(SHORTEST, pair.longer)
        form = self.run.source.formed(source)
        like = self._earlier.like(form, EARLIER, longest)
        like += self._text.like(form, LIKE - len(like), longest)
        return [*like, *self._earlier.unlike(draw, EARLIER, longest), *self._text.unlike(draw, UNLIKE, longest)]

    def _lost(self) -> float:
        """The BLEU that was lost; the guard is made when it is first needed, with the weights of the base run."""
        if self._guard is None:
            now = _copied(weights_of(self._model))
            self._restore(self._base_weights)
            self._guard = Guard(self._opened, self.dev, self._tokenizer)
            self._restore(now)
        return self._guard.lost()

    def _end_block(self, block: int) -> float | None:
        """Take a block back if the guard refuses it, and save the weights."""
        lost = self._lost()
        if lost > LOST:
            self.taken_back.append(block)
            self._restore(self._block_weights)
            self._remember_all(block + 1)
        self._block_weights = _copied(weights_of(self._model))
        path = self.folder / WEIGHTS
        save_weights(path, self._block_weights)
        state = {
            "format": 1,
            "blocks": block + 1,
            "taken_back": self.taken_back,
            "base": self._base_digest,
            "log": self._log.digest((block + 1) * BLOCK),
            "weights": sha256_of(path),
        }
        with replace_file(self.folder / STATE, edits=True) as file:
            file.write(dump_json(state))
        return lost if lost > LOST else None

    def _saved_state(self) -> _State | None:
        """Restore the weights of the last saved block; if they do not fit the log, those of the base run, and return
        None.

        Raises:
            NewerFormat: a later version has written them.
        """
        path = self.folder / WEIGHTS
        try:
            state = read_json(self.folder / STATE, _State, newest=1, remedy="")
            count = state.blocks * BLOCK
            fits = count <= len(self._log.entries) and state.log == self._log.digest(count)
            if fits and state.base == self._base_digest and state.weights == sha256_of(path):
                self._restore(load_weights(path))
                return state
        except NewerFormat:
            raise
        except (OSError, RunError):  # missing or damaged: everything is in the log
            pass
        self._restore(self._base_weights)
        return None

    def _remember_all(self, blocks: int) -> None:
        """Let the corrections of the first blocks be learnt again beside others, except blocks that were taken back."""
        self._earlier = PairPool()
        self._source, self.known = self._opened.source, []
        for number, entry in enumerate(self._log.entries[: blocks * BLOCK]):
            self._know(entry)
            if number // BLOCK not in self.taken_back:
                self._remember(entry)

    def _know(self, entry: Correction) -> None:
        words = source_words((self._source, self.run.target), entry.source, entry.target)
        self._source = self._source.knowing(lambda: [words])
        self.known.append(words)

    def _remember(self, entry: Correction) -> None:
        self._earlier.add(self.run.source.formed(entry.source), self._pair(entry))

    def _pair(self, entry: Correction) -> IdPair:
        return IdPair(*(side.ids for side in self._encoded(entry.source, entry.target)))

    def _encoded(self, source: str, target: str) -> tuple[Encoded, Encoded]:
        return encode_pair((self.run.source, self.run.target), source, target)

    def _restore(self, weights: Mapping[str, Tensor]) -> None:
        restore_weights(self._model, weights, self.folder / WEIGHTS)

    def _training_text(self) -> PairPool:
        """Pairs of the training text that is stored in the run; none where it was deleted, as it may be."""
        pool, source = PairPool(), self.run.source
        if not self.base.train_data.is_dir():
            return pool
        store = Store.open(self.base.train_data, (source.vocabulary, self.run.target.vocabulary))
        for ids, target_ids in store.spread(TEXT):
            pool.add(source.decode(ids), IdPair(ids, target_ids))
        return pool


def _dev_pairs(run: RunFolder) -> Iterator[Pair]:
    """The dev set that is stored in a run; none where it was deleted, as it may be."""
    if run.dev_text.is_file():
        run.require_intact(run.dev_text)
        yield from read_pairs([[run.dev_text]])


def _copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in weights.items()}
