"""The file of API keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.serving import key_file
from dragoman.serving.key_file import KeyFile, KeyRights, read_keys
from dragoman.serving.limits import Limits
from dragoman.serving.responses import Refusal


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# of the team\nsecret-1\n\nsecret-2 60\nsecret-3 60 learn\nsecret-4 learn\n")
    assert read_keys(path) == {
        "secret-1": KeyRights(None),
        "secret-2": KeyRights(60),
        "secret-3": KeyRights(60, learn=True),
        "secret-4": KeyRights(None, learn=True),
    }
    for text, expected in (
        ("one two three\n", f"{path}: line 1: is not a key, alone or with its texts a minute and learn: KEY 60 learn"),
        ("one learn 9\n", f"{path}: line 1: is not a key, alone or with its texts a minute and learn: KEY 60 learn"),
        ("one 0\n", f"{path}: line 1: is not a key, alone or with its texts a minute and learn: KEY 60 learn"),
        ("# nothing\n", f"{path}: has no API key; write one a line"),
    ):
        path.write_text(text)
        with pytest.raises(InputError) as error:
            read_keys(path)
        assert str(error.value) == expected


def test_a_changed_file_is_read_again_and_a_damaged_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys"
    path.write_text("one\n")
    keys = KeyFile(path)
    assert not keys.refresh()
    with caplog.at_level(logging.INFO, logger="dragoman.serving"):
        path.write_text("one\nanother 5\n")
        assert keys.refresh()
        path.write_text("a b c\n")
        assert not keys.refresh()
        path.unlink()
        assert not keys.refresh()
        assert not keys.refresh()
    assert keys.keys == {"one": KeyRights(None), "another": KeyRights(5)}
    assert [record.getMessage() for record in caplog.records] == [
        "API keys read again",
        *["API keys not read again"] * 2,
    ]
    assert not any(key in str(vars(record)) for record in caplog.records for key in ("another", "a b c"))


def test_the_server_takes_up_new_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_file, "REFRESH_SECONDS", 0.001)
    path = tmp_path / "keys"
    path.write_text("old\n")
    keys = KeyFile(path)
    limits = Limits(keys.keys, None)

    async def change() -> None:
        changed = asyncio.Event()

        def take(new: Mapping[str, int | None]) -> None:
            limits.set_keys(new)
            changed.set()

        looking = asyncio.create_task(keys.keep_fresh(take))
        path.write_text("newer\n")
        await asyncio.wait_for(changed.wait(), 30)
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking

    asyncio.run(change())
    limits.admit("newer", "a", 1)
    with pytest.raises(Refusal):
        limits.admit("old", "a", 1)
