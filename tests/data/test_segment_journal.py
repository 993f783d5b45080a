"""A preparation that is killed goes on, and the stored corpus is that of one that was not."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.config.schema import CleaningConfig, SideConfig, TextConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.pairs import Pair
from dragoman.data import segment_journal, segmenting
from dragoman.data.preparation import build_store
from dragoman.data.segment_journal import SegmentJournal
from dragoman.text.segmentation import train_segmentation
from tests.data.test_store import contents

CHUNKS = 12
KINDS = ("characters", "words", "bpe")


def lines(seed: int = 0) -> Iterator[tuple[str, str]]:
    words = ["ein", "Haus", "zwei", "Bäume", "drei", "»Katzen«", "vier", "am", "See", str(seed)]
    for first, second, third in itertools.islice(itertools.product(words, words, words), 5 * CHUNKS):
        yield f"{first} {second} {third}.", f"{third}, {first}" if first != second else ""


def prepare(folder: Path, kind: str = "characters", *, seed: int = 0, kill: int | None = None) -> int:
    """Prepare `CHUNKS` chunks with a journal, in chunks of 5 pairs; gives the number of pairs taken from it.

    Args:
        kill: kill this process after so many chunks.
    """
    segment_journal.PATIENCE = segmenting.PATIENCE = 0.0
    segmenting.CHUNK = 5
    side = SideConfig(segmentation=kind, vocabulary=100)  # type: ignore[arg-type]
    segmentation = train_segmentation(side, (line for pair in lines() for line in pair))
    journal = SegmentJournal(folder / "journal")

    def progress(done: int) -> None:
        if done == (kill or CHUNKS + 1) * segmenting.CHUNK:
            signal.raise_signal(signal.SIGKILL)

    pairs = (Pair(*pair, f"test:{number}") for number, pair in enumerate(lines(seed), 1))
    text = TextConfig(source=side, target=side)
    cleaner = Cleaner(CleaningConfig())
    both = (segmentation, segmentation)
    build_store(folder / "store", pairs, both, text, cleaner, workers=2, journal=journal, progress=progress)
    return journal.taken


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits; undone after each test, as is what `prepare` sets."""
    monkeypatch.setattr(segment_journal, "PATIENCE", 0.0)
    monkeypatch.setattr(segmenting, "PATIENCE", 0.0)
    monkeypatch.setattr(segmenting, "CHUNK", 5)


def prepare_killed(folder: Path, kind: str, kill: int) -> None:
    root = Path(__file__).parents[2]
    program = (
        "import sys\nfrom pathlib import Path\nfrom tests.data.test_segment_journal import prepare\n"
        f"prepare(Path(sys.argv[1]), {kind!r}, kill={kill})"
    )
    path = [str(root / "src"), str(root)]
    killed = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:0] = {path}\n{program}", str(folder)],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr


@pytest.mark.processes
@pytest.mark.parametrize("kind", KINDS)
def test_a_preparation_killed_twice_stores_what_one_process_stores(tmp_path: Path, kind: str) -> None:
    straight, folder = tmp_path / "straight", tmp_path / "killed"
    for new in (straight, folder):
        new.mkdir()
    prepare(straight, kind)
    for kill in (4, 9):
        prepare_killed(folder, kind, kill)
    assert not (folder / "store" / "meta.json").exists()
    assert prepare(folder, kind) == 9 * 5
    assert contents(folder / "store") == contents(straight / "store")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with a whole journal, and a store to compare with."""
    assert prepare(tmp_path) == 0
    return tmp_path


def test_a_journal_that_is_cut_off_anywhere_is_gone_on_with(made: Path) -> None:
    journal = made / "journal"
    whole, stored = journal.read_bytes(), contents(made / "store")
    for length in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        journal.write_bytes(whole[:length])
        assert prepare(made) % 5 == 0
        assert journal.read_bytes() == whole
        assert contents(made / "store") == stored


def test_a_damaged_entry_and_all_later_ones_are_made_anew(made: Path) -> None:
    journal = made / "journal"
    whole, stored = journal.read_bytes(), contents(made / "store")
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    journal.write_bytes(damaged)
    assert 0 < prepare(made) < CHUNKS * 5
    assert (journal.read_bytes(), contents(made / "store")) == (whole, stored)


def test_other_text_or_another_segmentation_takes_nothing(made: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    fresh = tmp_path_factory.mktemp("fresh")
    for options in ({"seed": 1}, {"kind": "words"}):
        changed = prepare(made, **options)  # type: ignore[arg-type]
        assert changed < CHUNKS * 5
        prepare(fresh, **options)  # type: ignore[arg-type]
        assert contents(made / "store") == contents(fresh / "store")
    assert changed == 0


def test_a_small_corpus_has_no_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = SegmentJournal(tmp_path / "journal")
    monkeypatch.setattr(segment_journal, "PATIENCE", 60.0)
    segmentation = train_segmentation(SideConfig(segmentation="characters"), [])
    pairs = [Pair("a b", "b", "test:1")] * 20
    for _ in segmenting.segment_pairs(pairs, (segmentation, segmentation), 1, journal):
        pass
    assert not (tmp_path / "journal").exists()


def test_a_journal_that_cannot_be_written_is_told_and_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "journal").mkdir()
    assert prepare(tmp_path) == 0
    assert "segmented text cannot be kept for a later start" in caplog.text
    assert caplog.text.count("cannot be kept") == 1
