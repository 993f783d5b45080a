"""Which web pages may use the server."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigError
from dragoman.serving.origins import host_name, proxy_address, refused_sender, web_origin

LOOPBACK, LAN = "127.0.0.1", "192.168.1.5"


def _refused(
    address: str = LAN,
    *,
    method: str = "POST",
    origins: tuple[str, ...] = (),
    host_names: tuple[str, ...] = (),
    **headers: str,
) -> bool:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "server": (address, 5000), "headers": pairs}
    return refused_sender(scope, origins, host_names) is not None


def test_clients_that_are_no_browsers_are_served() -> None:
    assert not _refused(host="anything")
    assert not _refused(LOOPBACK, host="localhost:5000")
    assert not _refused(LOOPBACK)


def test_pages_of_other_origins_are_refused() -> None:
    evil = "https://evil.example"
    for method in ("GET", "POST", "OPTIONS"):
        assert _refused(method=method, host="own.example", origin=evil)
        assert _refused(method=method, host="own.example", sec_fetch_site="cross-site")
        assert _refused(method=method, host="own.example", sec_fetch_site="same-site")
        assert _refused(method=method, host="own.example", origin="null")
        assert not _refused(
            method=method, host="own.example", origin=evil, sec_fetch_site="cross-site", origins=(evil,)
        )
        assert not _refused(method=method, host="own.example", origin=evil, origins=("*",))
    assert _refused(host="own.example", origin=evil, origins=("https://other.example",))
    assert _refused(host="own.example", origin="https://own.example.evil.example")
    assert _refused(host="own.example:5000", origin="http://own.example:6000")


def test_origins_and_names_of_the_command_are_what_browsers_send() -> None:
    assert [web_origin(text) for text in ("https://A.example/", "http://[::1]:80", "*", "null")] == [
        "https://a.example",
        "http://[::1]:80",
        "*",
        "null",
    ]
    for text in ("a.example", "https://", "https://a.example/page", ""):
        with pytest.raises(ConfigError, match=r"is no origin; give one such as https://example\.org"):
            web_origin(text)
    assert [host_name(text) for text in ("A.example:5000", "a.example.", "[::1]:80")] == [
        "a.example",
        "a.example",
        "[::1]",
    ]


def test_trusted_proxies_are_addresses() -> None:
    assert [proxy_address(text) for text in ("192.0.2.7", "192.0.2.7/24", "::1", "*")] == [
        "192.0.2.7",
        "192.0.2.0/24",
        "::1",
        "*",
    ]
    for text in ("foo", "192.0.2", "192.0.2.7/x", ""):
        with pytest.raises(ConfigError, match=rf"--trusted-proxy {text}: is no IP address; give one such as"):
            proxy_address(text)


def test_the_own_page_is_served_also_behind_a_proxy() -> None:
    for host, origin in (
        ("localhost:5000", "http://localhost:5000"),
        ("own.example", "https://own.example"),
        ("Own.example:443", "https://own.example"),
        ("[::1]:5000", "http://[::1]:5000"),
    ):
        assert not _refused(host=host, origin=origin)
    # The proxy may have written its own name for the server: the browser knows better.
    assert not _refused(host="127.0.0.1:5000", origin="https://own.example", sec_fetch_site="same-origin")
    assert not _refused(host="own.example", sec_fetch_site="none")


def test_a_link_of_another_site_leads_to_the_page() -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert not _refused(method="GET", host="own.example", **link)
    assert _refused(method="POST", host="own.example", **link)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_names_that_lead_to_this_machine_are_unknown(address: str) -> None:
    for host in ("evil.example", "evil.example:5000", "localhost.evil.example", "evil.example."):
        assert _refused(address, host=host)
        assert _refused(address, host=host, sec_fetch_site="same-origin")
        assert not _refused(address, host=host, host_names=("evil.example", "localhost.evil.example"))
    for host in ("localhost", "LOCALHOST.:5000", "a.localhost", "127.0.0.1:5000", "[::1]:5000", "10.0.0.1"):
        assert not _refused(address, host=host), host


def test_other_addresses_take_all_names_unless_some_are_given() -> None:
    assert not _refused(LAN, host="box.lan")
    assert _refused(LAN, host="box.lan", host_names=("own.example",))
    assert not _refused(LAN, host="own.example:5000", host_names=("own.example",))
