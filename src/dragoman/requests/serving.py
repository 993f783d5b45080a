"""The request for a server."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dragoman.config.section import Count, Positive, Section, doc
from dragoman.requests.shared import Corpora, Request, Threads
from dragoman.systems import DeviceName


class ServerAddress(Section):
    """Where the server listens, and to whom it answers."""

    host: Annotated[str, doc("address to listen on; 0.0.0.0: all of this machine", metavar="HOST")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535), doc("port to listen on; 0: any free port")] = 5000
    cors: Annotated[
        tuple[str, ...],
        doc(
            "let web pages of this origin use the server, such as https://example.org; * for all; may be repeated",
            metavar="ORIGIN",
            repeat=True,
        ),
    ] = ()
    host_name: Annotated[
        tuple[str, ...],
        doc(
            "answer requests to this host name, such as that of a proxy; may be repeated. localhost and IP addresses "
            "are always answered. Without this option other names are refused on a loopback address only",
            metavar="NAME",
            repeat=True,
        ),
    ] = ()
    trusted_proxy: Annotated[
        tuple[str, ...],
        doc(
            "take the client's address from the X-Forwarded-For of this proxy, an IP address or a network of them; "
            "may be repeated",
            metavar="ADDRESS",
            repeat=True,
        ),
    ] = ()


class ServedModels(Section):
    """What becomes of models."""

    preload: Annotated[bool, doc("load models at once; GET /ready is 503 until then")] = False
    keep_loaded: Annotated[
        Count | None,
        doc(
            "megabytes of models to keep loaded, by the size of their files; the least recently used are unloaded",
            metavar="MB",
        ),
    ] = None
    memory: Annotated[
        Corpora,
        doc(
            "translation memory. A sentence that it has as a source gets the stored translation. /v1/translate also "
            "returns the pairs with similar sources. One file of pairs, two files (source and target), or a run, whose "
            "training text is used. With several models, SOURCE:TARGET=FILE names the one; may be repeated"
        ),
    ] = ()
    learn: Annotated[
        bool,
        doc(
            "accept corrections from clients (POST /v1/corrections, /suggest), and learn from them as `dragoman learn` "
            "does. For run folders only; the folder RUN.learned keeps the new weights"
        ),
    ] = False


class ServerLimits(Section):
    """What clients may ask for; the fields are those of `serving.settings.Settings`."""

    requests_per_minute: Annotated[
        Count | None,
        doc(
            "limit in texts per minute for each key, or for each client address if there are no keys",
            metavar="N",
            flag="--rate",
        ),
    ] = None
    max_characters: Annotated[Count, doc("longest text, in characters")] = 20_000
    max_texts: Annotated[Count, doc("most texts in one request")] = 1000
    max_body: Annotated[Count, doc("longest request, in bytes")] = 4 << 20
    max_waiting: Annotated[
        Count, doc("answer 503 while this many sentences wait; at most 100 are counted for each request")
    ] = 2000
    body_seconds: Annotated[
        Positive,
        doc("longest time that a request may take to arrive", metavar="SECONDS", flag="--body-timeout"),
    ] = 30.0
    request_seconds: Annotated[
        Positive, doc("longest time to answer a request", metavar="SECONDS", flag="--timeout")
    ] = 120.0


class KeysAndLimits(Section):
    """Who may ask for how much."""

    api_keys: Annotated[
        str | None,
        doc(
            "translate only for requests with a key of this file; what the server is and can do is told to all. A line "
            "is a key, optionally followed by a space and its limit in texts per minute, and by the word learn if it "
            "may correct translations. The file is read again when it changes"
        ),
    ] = None
    limits: ServerLimits = ServerLimits()


class ServerProcess(Section):
    """Where models run, and what is logged."""

    device: Annotated[DeviceName, doc("where run folders run; auto: the GPU, if any")] = "auto"
    threads: Annotated[Threads | None, doc("CPU threads (default: one per core)")] = None
    quiet: Annotated[bool, doc("log errors only")] = False


class ServingRequest(Request, kw_only=True):
    """Models behind an HTTP server."""

    folders: Annotated[
        tuple[str, ...],
        doc(
            "exported folder (with --int8: fastest) or run folder; SOURCE:TARGET=FOLDER names its languages",
            metavar="FOLDER",
            positional=True,
        ),
    ]
    address: Annotated[ServerAddress, doc("address")] = ServerAddress()
    models: Annotated[ServedModels, doc("models")] = ServedModels()
    access: Annotated[KeysAndLimits, doc("limits")] = KeysAndLimits()
    general: Annotated[ServerProcess, doc("general")] = ServerProcess()
