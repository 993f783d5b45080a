"""API keys and rates."""

from __future__ import annotations

import pytest

from dragoman.serving.key_file import KeyRights
from dragoman.serving.limits import Limits
from dragoman.serving.responses import Refusal


def _refusal(limits: Limits, key: str | None, address: str = "a", texts: int = 1) -> tuple[int, str, int | None]:
    with pytest.raises(Refusal) as refused:
        limits.admit(key, address, texts)
    return refused.value.status, refused.value.message, refused.value.retry_after


def test_a_key_is_needed_where_there_are_keys() -> None:
    limits = Limits({"secret": KeyRights()}, None)
    limits.admit("secret", "a", 1000)
    assert _refusal(limits, None)[:2] == (400, "Please contact the server operator to get an API key")
    assert _refusal(limits, "other")[:2] == (403, "Invalid API key")
    assert _refusal(limits, "\ud800")[:2] == (403, "Invalid API key")


def test_each_client_has_its_rate() -> None:
    now = [0.0]
    limits = Limits(None, 6, clock=lambda: now[0])
    limits.admit(None, "a", 6)
    assert _refusal(limits, None) == (429, "Slowdown: 6 per 1 minute", 10)
    limits.admit("unused key", "b", 1)
    now[0] = 10.0
    limits.admit(None, "a", 1)
    assert _refusal(limits, None)[0] == 429
    now[0] = 200.0
    limits.admit(None, "a", 60)  # more than a minute's at once: then it takes longer
    now[0] = 260.0
    assert _refusal(limits, None)[0] == 429


def test_what_was_not_used_is_not_saved() -> None:
    now = [0.0]
    limits = Limits(None, 6, clock=lambda: now[0])
    limits.admit(None, "a", 1)
    now[0] = 3600.0  # 360 texts later
    limits.admit(None, "a", 6)
    assert _refusal(limits, None) == (429, "Slowdown: 6 per 1 minute", 10)


def test_texts_that_are_counted_later_are_waited_for() -> None:
    now = [0.0]
    limits = Limits(None, 6, clock=lambda: now[0])
    limits.admit(None, "a", 1)
    limits.charge(None, "a", 10)
    assert _refusal(limits, None) == (429, "Slowdown: 6 per 1 minute", 60)
    now[0] = 60.0
    limits.admit(None, "a", 1)
    Limits(None, None).charge(None, "a", 10)


def test_the_clients_that_have_sent_least_recently_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.limits.MAX_CLIENTS", 2)
    limits = Limits(None, 1, clock=lambda: 0.0)
    for address in ("a", "b", "c"):
        limits.admit(None, address, 1)
    assert _refusal(limits, None, "b") == _refusal(limits, None, "c") == (429, "Slowdown: 1 per 1 minute", 60)
    limits.admit(None, "a", 1)


def test_a_key_may_have_a_rate_of_its_own() -> None:
    limits = Limits({"slow": KeyRights(1), "usual": KeyRights()}, 2, clock=lambda: 0.0)
    limits.admit("slow", "a", 1)
    assert _refusal(limits, "slow")[1] == "Slowdown: 1 per 1 minute"
    limits.admit("usual", "a", 2)
    assert _refusal(limits, "usual", "other")[1] == "Slowdown: 2 per 1 minute"


def test_correcting_is_a_right_of_its_own() -> None:
    limits = Limits({"reader": KeyRights(), "corrector": KeyRights(learn=True)}, None)
    limits.require_learning("corrector")
    for key in ("reader", "unknown", None):
        with pytest.raises(Refusal, match="may not correct translations"):
            limits.require_learning(key)
    Limits(None, None).require_learning(None)
