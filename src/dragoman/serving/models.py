"""The served models: each is loaded when it is first asked for, and again when its folder has changed.

A request keeps the model that it began with. New weights are loaded beside the old ones and then take their place; if
they cannot be loaded, the old ones stay. With a memory budget, the models that have not been used for longest are
dropped before another is loaded.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from dragoman.config.schema import Config
from dragoman.engines.protocol import ConcurrentEngine
from dragoman.errors import ConfigError, DragomanError
from dragoman.runs.exported import CONFIG, ENCODER, MANIFEST, SHORTLIST, STEP, ExportFolder, is_export
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run, open_run
from dragoman.scoring.scorer import Scorer
from dragoman.serving.logs import event
from dragoman.serving.responses import Refusal
from dragoman.serving.scheduler import Lane
from dragoman.stored_files import stamp_of
from dragoman.systems import DeviceName
from dragoman.text.languages import base_language, language_code
from dragoman.translation.options import TranslationOptions
from dragoman.translation.translator import Translator
from dragoman.translation_memory.memory import Memory

Value = TypeVar("Value")

RETRY_SECONDS = 5.0
"""How long the failure of loading a model answers requests for it."""
REFRESH_SECONDS = 2.0
"""How often folders are looked at."""
MAX_VARIANTS = 32
"""Sets of search options that are kept for each model, so that requests with equal options share batches."""


class LanguagePair(NamedTuple):
    """The languages of a model."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True)
class ServedFolder:
    """A run folder or an exported folder, and the languages that it is served for."""

    path: Path
    pair: LanguagePair

    @classmethod
    def named(cls, text: str) -> ServedFolder:
        """The folder that a command line names: FOLDER, or SOURCE:TARGET=FOLDER where it does not know its languages.

        Raises:
            RunError: the folder does not exist, lacks a part, or is damaged.
            ConfigError: its languages are unknown, or are not codes.
        """
        match = NAMED.fullmatch(text)
        path = Path(match["path"] if match else text)
        config = _read_config(path)
        if match:
            return cls(path, LanguagePair(language_code(match["source"]), language_code(match["target"])))
        source, target = config.text.languages
        if source is None or target is None:
            raise ConfigError(
                f"{path}: does not name its languages; give them as SOURCE:TARGET={path}, such as de:en={path}"
            )
        return cls(path, LanguagePair(source, target))

    def fingerprint(self) -> object:
        """A value that changes when the model is replaced."""
        return tuple(map(stamp_of, (self.path / MANIFEST, self.path / CONFIG, RunFolder(self.path).weights)))

    def bytes(self) -> int:
        """The size of the files of the model."""
        names = (ENCODER, STEP, SHORTLIST) if is_export(self.path) else (RunFolder(self.path).weights.name,)
        return sum(stamp.size for stamp in map(stamp_of, (self.path / name for name in names)) if stamp)


NAMED = re.compile(r"(?P<source>[A-Za-z][A-Za-z0-9_-]*):(?P<target>[A-Za-z][A-Za-z0-9_-]*)=(?P<path>.+)")
"""What is named for a pair of languages."""


def _read_config(path: Path) -> Config:
    """The configuration of a folder; a folder without a model is refused."""
    if is_export(path):
        return ExportFolder.open(path).load_config()
    if importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError("a run folder needs torch", name="torch")
    return RunFolder.open(path).load_config()


@dataclass(eq=False)
class LoadedModel:
    """A model in memory."""

    pair: LanguagePair
    translator: Translator
    scorer: Scorer
    lane: Lane
    beam: int
    bytes: int
    fingerprint: object
    memory: Memory | None = None
    run: Run | None = None
    """That it was opened as, perhaps with other weights."""
    _variants: OrderedDict[object, Translator] = field(default_factory=OrderedDict)

    def variant(self, options: Mapping[str, object]) -> Translator:
        """The translator with other options; the same one for the same options.

        Raises:
            ConfigError: an option has a wrong value, or no effect.
        """
        if not options:
            return self.translator
        key = tuple(sorted((name, _hashable(value)) for name, value in options.items()))
        if key not in self._variants:
            self._variants[key] = self.translator.with_options(**cast("TranslationOptions", options))
            if len(self._variants) > MAX_VARIANTS:
                self._variants.popitem(last=False)
        self._variants.move_to_end(key)
        return self._variants[key]


def _hashable(value: object) -> object:
    """The value of an option, for the key of a mapping."""
    if isinstance(value, Mapping):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


@dataclass(eq=False)
class _ModelSlot:
    """A folder and its model, if it is loaded."""

    folder: ServedFolder
    model: LoadedModel | None = None
    loading: asyncio.Task[LoadedModel] | None = None
    last_used: float = 0.0
    failed_at: float = -RETRY_SECONDS
    refused: object = None
    """The fingerprint of new weights that could not be loaded."""


class Models:
    """The served models by their languages; used from one event loop."""

    def __init__(
        self,
        folders: Sequence[ServedFolder],
        *,
        threads: int = 1,
        budget: int | None = None,
        device: DeviceName = "auto",
        memories: Mapping[LanguagePair, Memory] | None = None,
        learning: Collection[LanguagePair] = (),
    ) -> None:
        """`budget` limits the bytes of the files of loaded models; `memories` are translation memories. The models of
        the pairs in `learning` learn: once they are loaded, their folders are not read again.

        Raises:
            ConfigError: two folders have the same languages.
        """
        self._slots: dict[LanguagePair, _ModelSlot] = {}
        for folder in folders:
            if folder.pair in self._slots:
                first = self._slots[folder.pair].folder.path
                raise ConfigError(
                    f"{first} and {folder.path}: both translate {folder.pair.source} into {folder.pair.target}; "
                    "serve one of them, or export an ensemble of both"
                )
            self._slots[folder.pair] = _ModelSlot(folder)
        self._threads, self._budget, self._device = threads, budget, device
        self._memories = dict(memories or {})
        self._learning = frozenset(learning)
        self._learnt: dict[LanguagePair, tuple[bytes, Sequence[str]]] = {}
        """Weights that were learnt since the server started; they replace the weights of the folder."""
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="load")
        self._one_at_a_time = asyncio.Lock()

    @property
    def pairs(self) -> list[LanguagePair]:
        """The languages of all models, loaded or not."""
        return list(self._slots)

    @property
    def languages(self) -> list[str]:
        """The codes of all languages, sorted."""
        return sorted({code for pair in self._slots for code in pair})

    @property
    def loading(self) -> bool:
        """Whether a model is being loaded that requests wait for."""
        return any(slot.loading is not None for slot in self._slots.values())

    @property
    def loaded(self) -> list[LoadedModel]:
        """The models in memory."""
        return [slot.model for slot in self._slots.values() if slot.model is not None]

    def find(self, code: str) -> str | None:
        """The served language that a client means by a code, in any case, with or without a region; None if none is."""
        by_case = {known.lower(): known for known in self.languages}
        wanted = code.lower().replace("_", "-")
        if wanted in by_case:
            return by_case[wanted]
        same = [known for known in self.languages if base_language(known) == base_language(wanted)]
        return same[0] if len(same) == 1 else None

    async def get(self, pair: LanguagePair) -> LoadedModel:
        """The model of a pair of languages, which must be served.

        Raises:
            Refusal: it cannot be loaded.
        """
        slot = self._slots[pair]
        slot.last_used = time.monotonic()
        if slot.model is not None:
            return slot.model
        if slot.loading is None:
            if time.monotonic() - slot.failed_at < RETRY_SECONDS:
                raise _cannot_load(pair)
            slot.loading = asyncio.create_task(self._load(slot))
        return await asyncio.shield(slot.loading)  # loading goes on for others if this client leaves

    async def load_all(self) -> None:
        """Load all models that the budget has room for."""
        room = float("inf") if self._budget is None else self._budget
        for pair, slot in self._slots.items():
            room -= slot.folder.bytes()
            if room < 0:
                break
            try:
                await self.get(pair)
            except Refusal:
                continue  # logged; requests for it are refused with the reason

    async def refresh(self) -> None:
        """Take up the new weights of folders that have changed."""
        for slot in self._slots.values():
            if slot.model is None or slot.loading is not None or slot.folder.pair in self._learning:
                continue
            now = await self._in_thread(slot.folder.fingerprint)
            if now in (slot.model.fingerprint, slot.refused):
                continue
            try:
                slot.model = await self._in_thread(partial(self._open, slot.folder))
                event("model reloaded", model=str(slot.folder.pair))
            except (DragomanError, OSError) as error:
                slot.refused = now
                event("model not reloaded", level=logging.ERROR, model=str(slot.folder.pair), reason=str(error))

    async def take_up(self, pair: LanguagePair, weights: bytes, known: Sequence[str]) -> None:
        """Translate with other weights of a run from the next batch on, whatever becomes of its folder.

        Args:
            weights: packed.
            known: texts whose words are neither mistyped nor new names.

        Raises:
            DragomanError: they do not fit.
        """
        self._learnt[pair] = weights, known
        slot = self._slots[pair]
        if slot.loading is not None:  # perhaps with the weights before these
            await asyncio.wait([slot.loading])
        if slot.model is not None:
            slot.model = await self._in_thread(partial(_with_weights, slot.model, weights, known))

    async def keep_fresh(self) -> None:
        """Look for changed folders until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self.refresh()
            except Exception as error:  # a fault of ours; folders are looked at again
                event("models not refreshed", level=logging.ERROR, exc_info=error)

    def close(self) -> None:
        """Let the loading thread end."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _load(self, slot: _ModelSlot) -> LoadedModel:
        began = time.monotonic()
        try:
            async with self._one_at_a_time:
                self._make_room(slot)
                slot.model = await self._in_thread(partial(self._open, slot.folder))
        except (DragomanError, OSError) as error:
            slot.failed_at = time.monotonic()
            event("model not loaded", level=logging.ERROR, model=str(slot.folder.pair), reason=str(error))
            raise _cannot_load(slot.folder.pair) from None
        finally:
            slot.loading = None
        seconds = round(time.monotonic() - began, 3)
        event("model loaded", model=str(slot.folder.pair), bytes=slot.model.bytes, seconds=seconds)
        return slot.model

    def _make_room(self, wanted: _ModelSlot) -> None:
        """Drop the models that have not been used for longest until there is room for another."""
        if self._budget is None:
            return
        loaded = [slot for slot in self._slots.values() if slot.model is not None]
        for slot in sorted(loaded, key=lambda slot: slot.last_used):
            if sum(model.bytes for model in self.loaded) + wanted.folder.bytes() <= self._budget:
                return
            slot.model = None
            event("model unloaded", model=str(slot.folder.pair))

    def _open(self, folder: ServedFolder) -> LoadedModel:
        fingerprint, size = folder.fingerprint(), folder.bytes()  # before opening: a change meanwhile is seen later
        exported = is_export(folder.path)  # it runs on the CPU, and each thread of the server uses it by itself
        run = open_run(
            folder.path, device="cpu" if exported else self._device, threads=1 if exported else self._threads
        )
        lane = Lane(self._threads if isinstance(run.engine, ConcurrentEngine) else 1)
        memory = self._memories.get(folder.pair)
        translator = _remembering(run, memory)
        model = LoadedModel(
            folder.pair, translator, run.scorer(), lane, run.config.search.beam, size, fingerprint, memory, run
        )
        learnt = self._learnt.get(folder.pair)
        return model if learnt is None else _with_weights(model, *learnt)

    async def _in_thread(self, function: Callable[[], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)


def _with_weights(model: LoadedModel, weights: bytes, known: Sequence[str]) -> LoadedModel:
    assert model.run is not None
    run = model.run.with_weights(weights)
    knowing = replace(run, source=run.source.knowing(lambda: known))
    translator = _remembering(knowing, model.memory)
    return replace(model, translator=translator, scorer=knowing.scorer(), run=run, _variants=OrderedDict())


def _remembering(run: Run, memory: Memory | None) -> Translator:
    translator = run.translator()
    return translator if memory is None else translator.with_options(memory=memory)


def _cannot_load(pair: LanguagePair) -> Refusal:
    return Refusal(500, f"The model for {pair} cannot be loaded; the log of the server has the reason")
