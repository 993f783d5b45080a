"""What the model of a disk says survives a power failure."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from campaign.interposer import Operation, Step
from campaign.power_loss import Disk

ROOT = "/folder"


def step(operation: Operation, path: str, *, to: str = "", data: bytes = b"", offset: int = 0, size: int = 0) -> Step:
    return Step(1, operation, f"{ROOT}{path}", f"{ROOT}{to}" if to else "", offset, size, data)


def states_after(start: Path, steps: Iterable[Step]) -> list[dict[str, bytes | None]]:
    """All states that many drawings find after the last step."""
    disk = Disk(start)
    for each in steps:
        disk.apply(each, ROOT)
    draw = random.Random(1)
    return [state for _ in range(40) for state in disk.states(draw)]


def values_of(states: list[dict[str, bytes | None]], name: str) -> set[bytes | str | None]:
    return {state.get(name, "missing") for state in states}


CREATED = (step(Operation.CREATE, "/a"), step(Operation.WRITE, "/a", data=b"12345678"))
SYNCED_FILE = step(Operation.FSYNC, "/a")
SYNCED_FOLDER = step(Operation.FSYNC, "")


def test_of_what_was_not_synchronised_anything_or_nothing_survives(tmp_path: Path) -> None:
    found = values_of(states_after(tmp_path, CREATED), "a")
    assert found == {"missing", b"", b"1234", b"12345678", bytes(8)}


def test_a_synchronised_file_whose_name_was_not_may_be_missing_but_is_never_partial(tmp_path: Path) -> None:
    assert values_of(states_after(tmp_path, (*CREATED, SYNCED_FILE)), "a") == {"missing", b"12345678"}


def test_a_synchronised_name_without_contents(tmp_path: Path) -> None:
    assert "missing" not in values_of(states_after(tmp_path, (*CREATED, SYNCED_FOLDER)), "a")


def test_what_was_synchronised_survives(tmp_path: Path) -> None:
    assert values_of(states_after(tmp_path, (*CREATED, SYNCED_FILE, SYNCED_FOLDER)), "a") == {b"12345678"}


def test_what_was_written_after_the_last_synchronisation_may_be_lost_but_no_more(tmp_path: Path) -> None:
    more = step(Operation.WRITE, "/a", data=b"ab", offset=8)
    found = values_of(states_after(tmp_path, (*CREATED, SYNCED_FILE, SYNCED_FOLDER, more)), "a")
    assert found == {b"12345678", b"12345678a", b"12345678ab", b"12345678\0\0"}


def test_a_rename_gives_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"old")
    renamed = step(Operation.RENAME, "/a", to="/b")
    for steps, expected in (
        ((*CREATED, SYNCED_FILE, renamed), {b"old", b"12345678"}),
        ((*CREATED, SYNCED_FILE, renamed, SYNCED_FOLDER), {b"12345678"}),
        ((*CREATED, renamed), {b"old", b"", b"1234", b"12345678", bytes(8)}),  # the usual mistake: no fsync before it
    ):
        states = states_after(tmp_path, steps)
        assert values_of(states, "b") == expected
        assert not any(state.get("a") == b"12345678" == state["b"] for state in states)  # it is in one place


def test_two_folders_exchange_their_names_at_once(tmp_path: Path) -> None:
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(name.encode())
    exchanged = step(Operation.RENAME, "/new", to="/old", offset=2)
    pairs = {(state["new/file"], state["old/file"]) for state in states_after(tmp_path, (exchanged,))}
    assert pairs == {(b"new", b"old"), (b"old", b"new")}
    after = states_after(tmp_path, (exchanged, SYNCED_FOLDER))
    assert {(state["new/file"], state["old/file"]) for state in after} == {(b"old", b"new")}


def test_a_truncation_may_be_lost(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345678")
    cut = step(Operation.TRUNCATE, "/a", size=2)
    assert b"12345678" in values_of(states_after(tmp_path, (cut,)), "a")
    assert values_of(states_after(tmp_path, (cut, SYNCED_FILE)), "a") == {b"12"}


def test_a_removed_file_may_be_there_until_its_folder_is_synchronised(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    removed = step(Operation.UNLINK, "/a")
    assert values_of(states_after(tmp_path, (removed,)), "a") == {b"old", "missing"}
    assert values_of(states_after(tmp_path, (removed, SYNCED_FOLDER)), "a") == {"missing"}


def test_what_is_in_a_folder_whose_name_was_lost_is_lost(tmp_path: Path) -> None:
    made = (
        step(Operation.MKDIR, "/d"),
        step(Operation.CREATE, "/d/a"),
        step(Operation.FSYNC, "/d/a"),
        step(Operation.FSYNC, "/d"),
    )
    states = states_after(tmp_path, made)
    assert {tuple(sorted(state)) for state in states} == {(), ("d", "d/a")}


def test_changes_survive_in_their_order_or_in_any(tmp_path: Path) -> None:
    made = [step(Operation.CREATE, f"/{name}") for name in "abc"]
    found = {"".join(sorted(state)) for state in states_after(tmp_path, made)}
    assert {"", "a", "ab", "abc"} <= found  # a file system with a journal
    assert "b" in found or "c" in found  # any other
