"""Which web pages may use the server: its own, and those of the origins that the operator names.

A page of any site can send requests to a server on its visitor's machine or network. Browsers say what page a request
comes from, in the headers `Sec-Fetch-Site` and `Origin`; the rules are those of `CrossOriginProtection` in Go's
`net/http`, applied to all methods. A site can also give its own name the address of the visitor's machine (DNS
rebinding), so that the browser takes the server for that site: then the name in `Host` is a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import Scope

from dragoman.errors import ConfigError

ANY = "*"
"""Stands for all origins."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")


def refused_sender(scope: Scope, origins: Collection[str], host_names: Collection[str]) -> str | None:
    """Why a request is refused for where it comes from; None if it may come from there.

    Clients that are no browsers send neither `Origin` nor `Sec-Fetch-Site`.
    """
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name = host_name(host)
    server = scope.get("server")
    if (host_names or (server and _is_loopback(server[0]))) and not (_is_local(name) or name in host_names):
        return f"The host name {name[:100]} is unknown to this server; its operator adds names with --host-name"
    origin = headers.get(b"origin", b"").decode("latin-1")
    if ANY in origins or origin in origins:
        return None
    site = headers.get(b"sec-fetch-site")
    if site is None:
        authority = origin.partition("://")[2].lower()  # behind a proxy the server does not know its own scheme
        own = not origin or _without_default_port(authority) == _without_default_port(host)
    else:
        followed = scope["method"] in ("GET", "HEAD") and headers.get(b"sec-fetch-mode") == b"navigate"  # a link
        own = site in (b"same-origin", b"none") or followed
    if own:
        return None
    page = f"of {origin[:100]}" if origin else "of another origin"
    return f"Web pages {page} may not use this server; its operator allows origins with --cors"


def web_origin(text: str) -> str:
    """An origin as browsers send it.

    Raises:
        ConfigError: it is none.
    """
    origin = text.lower().removesuffix("/")
    if origin not in (ANY, "null") and not _ORIGIN.fullmatch(origin):
        raise ConfigError(f"--cors {text}: is no origin; give one such as https://example.org, or * for all")
    return origin


def proxy_address(text: str) -> str:
    """The address of a proxy, a network of addresses, or * for all.

    Raises:
        ConfigError: it is none of them.
    """
    if text == ANY or is_address(text):
        return text
    if "/" in text:
        with suppress(ValueError):
            return str(ip_network(text, strict=False))
    raise ConfigError(
        f"--trusted-proxy {text}: is no IP address; give one such as 192.0.2.7, a network such as 192.0.2.0/24, or * "
        "for all"
    )


def host_name(host: str) -> str:
    """The name in a value of the header Host, which may have a port, as names are compared."""
    bracket = host.find("]")
    return (host[: bracket + 1] if bracket >= 0 else host.partition(":")[0]).lower().rstrip(".")


def is_address(name: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_local(name: str) -> bool:
    """Whether no other site can have a name: an address, or the visitor's own machine."""
    return not name or name == "localhost" or name.endswith(".localhost") or is_address(name)


@lru_cache(maxsize=64)
def _is_loopback(address: str) -> bool:
    if not is_address(address):
        return False
    parsed = ip_address(address)
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def _without_default_port(host: str) -> str:
    return host.removesuffix(":80").removesuffix(":443")
