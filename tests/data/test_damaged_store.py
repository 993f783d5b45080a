"""A stored corpus that is damaged or altered: found when it is opened or read, with one message."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data import block_digests
from dragoman.data.batches import BEGINNING, Batches, Budget, sorted_batches
from dragoman.data.block_digests import BlockVerifier
from dragoman.data.preparation import PreparedCorpus, build_store
from dragoman.data.store import Store
from dragoman.errors import RunError
from dragoman.stored_files import dump_json
from dragoman.text.segmentation import train_segmentation
from dragoman.text.vocabulary import Vocabulary

SIDE = SideConfig(segmentation="characters", vocabulary=300)
FILES = ("source.ids", "source.offsets", "target.ids", "target.offsets", "links.pairs", "links.offsets")
BUDGET = Budget("sentences", 4)


def build(folder: Path, count: int = 12) -> PreparedCorpus:
    """Pairs of 1 to 7 letters with a link each."""
    draw = np.random.default_rng(3)

    def pairs() -> Iterator[Pair]:
        for _ in range(count):
            source, target = ("".join(draw.choice(list("abcdefgh"), draw.integers(1, 8))) for _ in range(2))
            yield Pair(source, target, "test", [(0, 0)])

    segmentation = train_segmentation(SIDE, [])
    cleaner = Cleaner(CleaningConfig(duplicates="keep", max_ratio=10))
    return build_store(folder, pairs(), (segmentation, segmentation), TextConfig(source=SIDE, target=SIDE), cleaner)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PreparedCorpus]:
    folder = tmp_path_factory.mktemp("store") / "whole"
    return folder, build(folder)


@pytest.fixture
def copy(prepared: tuple[Path, PreparedCorpus], tmp_path: Path) -> Callable[[], Store]:
    """A copy of the store in tmp_path/store, and what opens it."""
    shutil.copytree(prepared[0], tmp_path / "store")
    return lambda: Store.open(tmp_path / "store", prepared[1].vocabularies)


def read_all(store: Store) -> list[Any]:
    """Everything in a store."""
    assert store.links is not None
    rows = [(store.source.line(row), store.target.line(row), store.links.of(row)) for row in range(len(store))]
    return [rows, store.left_out, store.vocabularies]


def refusal(open_store: Callable[[], Store]) -> str:
    """The message of the error when everything in a store is read; empty if there is none."""
    try:
        read_all(open_store())
    except RunError as error:
        return str(error)
    return ""


def read_batches(store: Store) -> None:
    """Read an epoch of batches."""
    for _, after in Batches(store, BUDGET, pool=2, seed=1, source_eos=True).from_position(BEGINNING):
        if after.epoch:
            return


def alter(path: Path, place: int, mask: int = 0xFF) -> None:
    """Change one byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= mask
    path.write_bytes(content)


def state(folder: Path, **changes: object) -> None:
    """Change entries of meta.json, dotted names for those of a section, with digests that fit all the files."""
    meta = json.loads((folder / "meta.json").read_text())
    del meta["digest"]
    for name, value in changes.items():
        *sections, last = name.split("__")
        section = meta
        for part in sections:
            section = section[part]
        section[last] = value
    for name in FILES:
        part, kind = name.split(".")
        with (folder / name).open("rb") as file:
            blocks = iter(lambda file=file: file.read(block_digests.BLOCK), b"")
            meta[part][kind] = [block_digests.hashlib.sha256(block).hexdigest() for block in blocks]
    (folder / "meta.json").write_text(dump_json(meta, indent=2))


def write(path: Path, numbers: list[int], dtype: type[np.generic]) -> None:
    path.write_bytes(np.array(numbers, dtype).tobytes())


@pytest.mark.slow
def test_every_altered_byte_is_found(tmp_path: Path) -> None:
    vocabularies = build(tmp_path / "store", 4).vocabularies
    draw = np.random.default_rng(1)

    def copy() -> Store:
        return Store.open(tmp_path / "store", vocabularies)

    for path in sorted((tmp_path / "store").iterdir()):
        whole = path.read_bytes()
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1 << int(draw.integers(8))
            path.write_bytes(changed)
            assert re.match(rf"{path}: (is damaged: |format \d+ is |source.vocabulary: )", refusal(copy)), place
        path.write_bytes(whole)
    assert refusal(copy) == ""


def test_every_truncation_is_found(copy: Callable[[], Store], tmp_path: Path) -> None:
    for path in sorted((tmp_path / "store").iterdir()):
        whole = path.read_bytes()
        for length in range(0, len(whole), 5):
            path.write_bytes(whole[:length])
            with pytest.raises(RunError, match=rf"^{path}: is damaged: .*; take the file from a copy"):
                copy()
        path.write_bytes(whole + whole[-8:])
        with pytest.raises(RunError, match="is damaged"):
            copy()
        path.write_bytes(whole)
    read_all(copy())


def test_the_message_names_file_and_bytes(copy: Callable[[], Store], tmp_path: Path) -> None:
    path = tmp_path / "store" / "target.ids"
    alter(path, 3)
    store = copy()  # opening reads no ids
    assert store.source.line(0)
    with pytest.raises(RunError) as caught:
        store.target.line(0)
    assert str(caught.value) == (
        f"{path}: is damaged: the SHA-256 of bytes 0 to {path.stat().st_size} differs from that in meta.json; "
        "take the file from a copy of the run folder, or train again with --overwrite"
    )


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_and_one_of_another_kind(copy: Callable[[], Store], tmp_path: Path, name: str) -> None:
    path = tmp_path / "store" / name
    path.unlink()
    with pytest.raises(RunError, match=rf"^{path}: missing; take the file from a copy"):
        copy()
    os.mkfifo(path)
    with pytest.raises(RunError, match=rf"^{path}: cannot be read: it is a FIFO, not a regular file"):
        copy()
    path.unlink()
    path.mkdir()
    with pytest.raises(RunError, match=rf"^{path}: cannot be read: Is a directory"):
        copy()


def test_blocks_are_verified_when_first_read_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_digests, "BLOCK", 64)
    prepared = build(tmp_path / "store", 400)
    verified: list[tuple[str, int]] = []
    verify = BlockVerifier._verify

    def counting(self: BlockVerifier, block: int) -> None:
        verified.append((self.path.name, block))
        verify(self, block)

    monkeypatch.setattr(BlockVerifier, "_verify", counting)
    store = Store.open(tmp_path / "store", prepared.vocabularies)
    assert verified == []
    store.source.line(399)
    assert [name for name, _ in verified] == ["source.offsets", "source.offsets", "source.ids"]
    for _ in range(2):
        for batch in sorted_batches(store, BUDGET, source_eos=False):
            assert len(batch) <= BUDGET.size
    sides = [name for name in FILES if not name.startswith("links")]
    expected = {
        (name, block) for name in sides for block in range(-(-(tmp_path / "store" / name).stat().st_size // 64))
    }
    assert len(verified) == len(set(verified))
    assert set(verified) == expected
    assert store.source.lengths.tolist() == [len(store.source.line(row)) for row in range(400)]


def test_lines_longer_than_several_blocks_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_digests, "BLOCK", 8)
    prepared = build(tmp_path / "store", 30)
    whole = [prepared.store.source.line(row) for row in range(30)]
    longest = max(range(30), key=lambda row: len(whole[row]))
    assert len(whole[longest]) > 6
    middle = int(prepared.store.source.offsets[longest]) + 4
    alter(tmp_path / "store" / "source.ids", 2 * middle)
    store = Store.open(tmp_path / "store", prepared.vocabularies)
    with pytest.raises(RunError, match=r"source\.ids: is damaged"):
        store.source.line(longest)


def test_batches_of_a_damaged_store_are_refused(copy: Callable[[], Store], tmp_path: Path) -> None:
    for name in FILES:
        path = tmp_path / "store" / name
        whole = path.read_bytes()
        alter(path, len(whole) // 2)
        with pytest.raises(RunError, match=f"{name}: is damaged"):
            read_batches(copy())
        path.write_bytes(whole)


def test_numbers_that_fit_their_digests_but_nothing_else(copy: Callable[[], Store], tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = copy()
    assert store.links is not None
    ids, offsets = store.source.ids.tolist(), store.source.offsets.tolist()
    links, link_offsets = store.links.links.ravel().tolist(), store.links.offsets.tolist()
    cases: list[tuple[str, list[int], type[np.generic], str]] = [
        ("source.ids", [*ids[:-1], 300], np.uint16, "source.ids: is damaged: id 300 of a vocabulary of 12"),
        ("source.offsets", [1, *offsets[1:]], np.int64, "source.offsets: is damaged: its numbers do not ascend from 0"),
        ("source.offsets", [*offsets[:-1], 10**9], np.int64, "do not ascend from 0 to"),
        ("source.offsets", [0, offsets[2], offsets[1], *offsets[3:]], np.int64, "do not ascend"),
        ("source.offsets", [0, -5, *offsets[2:]], np.int64, "do not ascend"),
        (
            "links.offsets",
            [0, 10**6, *link_offsets[2:]],
            np.int64,
            "links.offsets: is damaged: its numbers do not",
        ),
        ("links.pairs", [9, *links[1:]], np.uint32, "links.pairs: is damaged: it links segments beyond the end"),
        ("links.pairs", [*links[:-1], 2**32 - 1], np.uint32, "links.pairs: is damaged: it links segments beyond"),
    ]
    for name, numbers, dtype, message in cases:
        whole = (folder / name).read_bytes()
        write(folder / name, numbers, dtype)
        state(folder)
        with pytest.raises(RunError, match=message):
            read_batches(copy())
        (folder / name).write_bytes(whole)


def test_meta_that_fits_its_digest_but_nothing_else(copy: Callable[[], Store], tmp_path: Path) -> None:
    folder = tmp_path / "store"
    whole = (folder / "meta.json").read_text()
    meta = json.loads(whole)
    cases: list[tuple[str, object, str]] = [
        ("pairs", True, "pairs: Expected int, got bool"),
        ("pairs", 10**30, "pairs: Expected int <= "),
        ("pairs", 11, "source.offsets: is damaged: it has 104 bytes and 1 digests where meta.json counts 12 numbers"),
        ("format", 2, "format 2 is from an earlier version of dragoman"),
        ("format", 4, r"format 4 is newer than this version of dragoman reads \(3\); upgrade dragoman"),
        ("corpora", [3, 4], "corpora: their pairs are not 12 in sum"),
        ("format", "2", "format: Expected int, got str"),
        ("source__dtype", "eint16", "source.dtype: Invalid enum value 'eint16'"),
        ("source__dtype", "uint32", "source.ids: is damaged"),
        ("source__segments", -1, "source.segments: Expected int >= 0"),
        ("target__vocabulary", "0", "target.vocabulary: the stored corpus belongs to another target vocabulary"),
    ]
    for name, value, message in cases:
        state(folder, **{name: value})
        with pytest.raises(RunError, match=message):
            copy()
        (folder / "meta.json").write_text(whole)
    for text, message in (
        (dump_json({**meta, "left_out": {"a": "b"}}), r"left_out\[\.\.\.\]: Expected int, got str"),
        (dump_json({**meta, "more": 1}), "Object contains unknown field more"),
        (
            json.dumps({name: value for name, value in meta.items() if name != "digest"}),
            "missing required field digest",
        ),
        (json.dumps({name: value for name, value in meta.items() if name != "pairs"}), "missing required field pairs"),
        ("{", "not JSON that can be read"),
        ("[" * 100_000, "meta.json: is damaged"),
        ('{"format": 2, "left_out": ' + '{"a":' * 100_000, "meta.json: is damaged"),
        (whole.replace('"pairs": 12', '"pairs": 12 '), "its digest does not match its contents"),
    ):
        (folder / "meta.json").write_text(text)
        with pytest.raises(RunError, match=message):
            copy()


def test_a_store_of_other_vocabularies_is_refused(prepared: tuple[Path, PreparedCorpus]) -> None:
    folder, corpus = prepared
    with pytest.raises(RunError, match=r"source\.vocabulary: the stored corpus belongs to another source vocabulary"):
        Store.open(folder, (Vocabulary("xyz"), corpus.target.vocabulary))
