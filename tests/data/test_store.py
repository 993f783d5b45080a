from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data import segmenting
from dragoman.data.preparation import PreparedCorpus, build_store, store_pairs
from dragoman.data.store import Store
from dragoman.data.store_writer import StoreWriter
from dragoman.errors import InputError, RunError
from dragoman.text.segmentation import Segmentation, train_segmentation
from dragoman.text.vocabulary import UNK, Vocabulary

NO_VOCABULARIES = (Vocabulary(()), Vocabulary(()))
CHARACTERS = SideConfig(segmentation="characters", vocabulary=300)
TEXT = TextConfig(source=CHARACTERS, target=CHARACTERS)
LINES = [("ab", "x"), ("", "x"), ("abc", "yz"), ("ab", "x"), ("b" * 11, "y"), ("ca", "zzz"), ("z", " ")]


def segmentations(config: TextConfig = TEXT) -> tuple[Segmentation, Segmentation]:
    return train_segmentation(config.source, []), train_segmentation(config.target, [])


def pairs(lines: list[tuple[str, str]] = LINES) -> Iterator[Pair]:
    return (Pair(source, target, f"test:{number}") for number, (source, target) in enumerate(lines, 1))


def many_lines(count: int) -> list[tuple[str, str]]:
    """Different lines of 0 to 9 characters; some too long, some empty, some the same."""
    random = np.random.default_rng(5)
    alphabet = np.array(list("abcdefghijklmnopqrstuvwxyzäöüß"))
    return [tuple("".join(random.choice(alphabet, random.integers(0, 10))) for _ in range(2)) for _ in range(count)]


def build(
    folder: Path, lines: list[tuple[str, str]] = LINES, text: TextConfig = TEXT, **options: object
) -> PreparedCorpus:
    cleaner = Cleaner(CleaningConfig(max_length=10))
    return build_store(folder, pairs(lines), segmentations(text), text, cleaner, **options)  # type: ignore[arg-type]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get everything but the first chunk."""
    monkeypatch.setattr(segmenting, "PATIENCE", 0.0)


def read_back(prepared: PreparedCorpus) -> list[tuple[str, str]]:
    store = prepared.store
    return [
        (prepared.source.decode(store.source.line(row)), prepared.target.decode(store.target.line(row)))
        for row in range(len(store))
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_what_is_kept_is_read_back_in_order(tmp_path: Path) -> None:
    prepared = build(tmp_path / "store")
    assert read_back(prepared) == [("ab", "x"), ("abc", "yz"), ("ca", "zzz")]
    assert len(prepared.store) == 3
    assert prepared.store.source.lengths.tolist() == [2, 3, 2]
    assert prepared.store.left_out == {"empty side": 2, "duplicate": 1, "too long": 1}


def test_opened_again_it_is_the_same(tmp_path: Path) -> None:
    prepared = build(tmp_path / "store")
    built = prepared.store
    opened = Store.open(tmp_path / "store", prepared.vocabularies)
    assert [opened.source.line(row) for row in range(3)] == [built.source.line(row) for row in range(3)]
    assert [opened.target.line(row) for row in range(3)] == [built.target.line(row) for row in range(3)]
    assert opened.left_out == built.left_out
    assert opened.vocabularies == built.vocabularies


def test_only_the_files_of_a_store_are_left(tmp_path: Path) -> None:
    build(tmp_path)
    names = ["meta.json", "source.ids", "source.offsets", "target.ids", "target.offsets"]
    assert list(contents(tmp_path)) == names


def test_vocabularies_count_kept_pairs_only(tmp_path: Path) -> None:
    prepared = build(tmp_path)
    kept = "ab" + "abc" + "ca"
    expected = Vocabulary.from_counts({c: kept.count(c) for c in "abc"}, 300)
    assert prepared.source.vocabulary.digest == expected.digest == prepared.store.vocabularies[0]
    assert "z" not in prepared.source.vocabulary


def test_rare_pieces_are_unknown(tmp_path: Path) -> None:
    side = CHARACTERS.replaced(min_frequency=2)
    prepared = build(tmp_path, [("aab", "x"), ("ac", "x")], TextConfig(source=side, target=side))
    a = prepared.source.vocabulary.ids("a")[0]
    assert prepared.store.source.line(0) == [a, a, UNK]


def test_joint_vocabulary_serves_both_sides(tmp_path: Path) -> None:
    prepared = build(tmp_path, [("ab", "bc"), ("b", "d")], TEXT.replaced(joint=True))
    assert prepared.source.vocabulary is prepared.target.vocabulary
    assert len(prepared.source.vocabulary) == 4 + len("abcd")
    assert read_back(prepared) == [("ab", "bc"), ("b", "d")]
    assert prepared.store.vocabularies[0] == prepared.store.vocabularies[1]


def test_dropped_pairs_are_listed(tmp_path: Path) -> None:
    dropped = io.StringIO()
    build_store(tmp_path, pairs(), segmentations(), TEXT, Cleaner(CleaningConfig(max_length=10), dropped))
    reasons = [line.split("\t")[:2] for line in dropped.getvalue().splitlines()]
    expected = [("test:2", "empty side"), ("test:4", "duplicate"), ("test:5", "too long"), ("test:7", "empty side")]
    assert [tuple(reason) for reason in reasons] == expected


def test_ids_are_small_where_the_vocabulary_is(tmp_path: Path) -> None:
    assert build(tmp_path / "small").store.source.ids.dtype == np.uint16
    side = CHARACTERS.replaced(vocabulary=100_000)
    lines = [("".join(map(chr, range(start, start + 10))), "a") for start in range(0x10000, 0x10000 + 70_000, 10)]
    prepared = build(tmp_path / "large", lines, TextConfig(source=side, target=side))
    assert len(prepared.source.vocabulary) == 70_004
    assert prepared.store.source.ids.dtype == np.uint32
    assert prepared.store.target.ids.dtype == np.uint16
    assert read_back(prepared) == lines


def test_progress_counts_every_pair_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenting, "CHUNK", 3)
    done: list[int] = []
    build(tmp_path, progress=done.append)
    assert done == [3, 6, 7]


@pytest.mark.usefixtures("at_once")
def test_result_does_not_depend_on_workers_or_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = many_lines(700)
    build(tmp_path / "here", lines, workers=1)
    monkeypatch.setattr(segmenting, "CHUNK", 50)
    build(tmp_path / "workers", lines, workers=2)
    assert contents(tmp_path / "here") == contents(tmp_path / "workers")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_segmentations_reach_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    side = SideConfig(segmentation=kind, vocabulary=60)  # type: ignore[arg-type]
    lines = [f"{first} {second}" for first, second in many_lines(60) if first and second]
    segmentation = train_segmentation(side, lines)
    text = TextConfig(source=side, target=side)
    corpus = [(line, line) for line in lines]
    monkeypatch.setattr(segmenting, "CHUNK", 20)
    for name, workers in (("here", 1), ("there", 2)):
        cleaner = Cleaner(CleaningConfig(max_length=100))
        build_store(tmp_path / name, pairs(corpus), (segmentation, segmentation), text, cleaner, workers=workers)
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_small_corpus_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenting, "map_in_processes", None)
    assert len(build(tmp_path, workers=8).store) == 3


def test_very_long_lines_come_in_smaller_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenting, "CHUNK_CHARACTERS", 12)
    done: list[int] = []
    build(tmp_path, progress=done.append)
    assert done == [4, 5, 7]


def test_dev_pairs_are_kept_unless_a_side_is_empty(tmp_path: Path) -> None:
    prepared = build(tmp_path / "train")
    dev = store_pairs(tmp_path / "dev", pairs(), prepared.source, prepared.target)
    assert dev.source.lengths.tolist() == [2, 3, 2, 11, 2]
    assert dev.left_out == {"empty side": 2}
    assert dev.vocabularies == prepared.store.vocabularies


def test_unknown_pieces_of_the_dev_set_are_unk(tmp_path: Path) -> None:
    prepared = build(tmp_path / "train")
    dev = store_pairs(tmp_path / "dev", pairs([("aQ", "x")]), prepared.source, prepared.target)
    assert dev.source.line(0) == [*prepared.source.vocabulary.ids("a"), UNK]


def test_nothing_left_says_what_was_dropped(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        build(tmp_path, [("", "x"), ("a" * 20, "b"), ("", "")])
    assert str(caught.value) == (
        "no training pair is left after cleaning (2 empty side, 1 too long); "
        "look at the text, or relax cleaning.max_length and cleaning.max_ratio"
    )
    assert contents(tmp_path).keys() == {"source.offsets", "target.offsets"}


def test_dev_set_of_blanks_is_refused(tmp_path: Path) -> None:
    prepared = build(tmp_path / "train")
    with pytest.raises(InputError, match=r"the dev set has no pair with text on both sides \(2 empty side\)"):
        store_pairs(tmp_path / "dev", pairs([("", "a"), ("b", " ")]), prepared.source, prepared.target)


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/store: the corpus cannot be written: Not a directory"):
        build(tmp_path / "file" / "store")


def test_disk_that_is_full(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "target.provisional").symlink_to("/dev/full")
    with pytest.raises(InputError, match="the corpus cannot be written: No space left on device"):
        build(tmp_path, many_lines(20_000))
    with pytest.raises(RunError, match="no stored corpus, or an unfinished one"):
        Store.open(tmp_path, NO_VOCABULARIES)


def test_interrupted_building_leaves_no_store(tmp_path: Path) -> None:
    build(tmp_path)

    def interrupted() -> Iterator[Pair]:
        yield Pair("a", "b", "test:1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_store(tmp_path, interrupted(), segmentations(), TEXT, Cleaner(CleaningConfig()))
    with pytest.raises(RunError) as caught:
        Store.open(tmp_path, NO_VOCABULARIES)
    assert str(caught.value) == f"{tmp_path}: no stored corpus, or an unfinished one: it has no meta.json"


class TestLinks:
    LINES = (("ab", "x"), ("", "x"), ("a b", "y zz"), ("c d", "z"), ("ab", "x"), ("b" * 11, "y"), ("ca d", "zz y"))
    LINKS = ([(0, 0)], [], [(1, 1), (0, 0)], [], [(0, 0)], [(0, 0)], [(0, 1)])

    def build(self, folder: Path, repeat: int = 1, **options: object) -> PreparedCorpus:
        linked = [Pair(*lines, "test", links) for lines, links in zip(self.LINES, self.LINKS, strict=True)] * repeat
        cleaner = Cleaner(CleaningConfig(max_length=10, duplicates="keep" if repeat > 1 else "drop"))
        return build_store(folder, linked, segmentations(), TEXT, cleaner, **options)  # type: ignore[arg-type]

    def test_links_of_kept_pairs_are_read_back_as_links_of_segments(self, tmp_path: Path) -> None:
        store = Store.open(tmp_path, self.build(tmp_path).vocabularies)
        assert store.links is not None
        assert [store.links.of(row) for row in range(len(store))] == [
            [(0, 0), (1, 0)],  # ab - x
            [(0, 0), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)],  # a - y, " b" - " zz"
            [],
            [(0, 2), (0, 3), (1, 2), (1, 3)],  # ca - " y"
        ]

    def test_a_corpus_without_links_has_none(self, tmp_path: Path) -> None:
        self.build(tmp_path)
        assert build(tmp_path).store.links is None
        assert not {"links.pairs", "links.offsets"} & contents(tmp_path).keys()

    def test_an_alignment_without_a_single_link_is_one(self, tmp_path: Path) -> None:
        unlinked = [Pair("a", "b", "test", [])]
        links = build_store(tmp_path, unlinked, segmentations(), TEXT, Cleaner(CleaningConfig())).store.links
        assert links is not None
        assert links.of(0) == []

    @pytest.mark.usefixtures("at_once")
    def test_they_do_not_depend_on_workers_or_chunks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.build(tmp_path / "here", 40, workers=1)
        monkeypatch.setattr(segmenting, "CHUNK", 33)
        self.build(tmp_path / "workers", 40, workers=2)
        assert contents(tmp_path / "here") == contents(tmp_path / "workers")
        assert len(contents(tmp_path / "here")["links.pairs"]) > 1000


def test_an_error_is_not_hidden_by_one_while_the_writer_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def write() -> None:
        with StoreWriter(tmp_path / "data", joint=False):
            monkeypatch.setattr(os, "unlink", read_only)
            raise InputError("the reason")

    with pytest.raises(InputError, match="the reason"):
        write()
