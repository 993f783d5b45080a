"""`dragoman serve`: models behind an HTTP server."""

from __future__ import annotations

import argparse
from typing import get_args

from dragoman.cli.shared.parsing import Parser, bounded, positive_float, positive_int, threads
from dragoman.systems import DeviceName, processors

SUMMARY = "serve translations over HTTP"
DESCRIPTION = (
    "Serves a page for browsers at / and three interfaces for programs: that of LibreTranslate (POST\n"
    "/translate, /detect, /translate_file, GET /languages), a part of DeepL's (POST /v2/translate) and\n"
    "its own (POST /v1/translate, /v1/complete). GET /spec describes all requests. A model is loaded at\n"
    "its first request, and again when its folder has changed. The log goes to standard error, one JSON\n"
    "object per line. On SIGTERM the server finishes its open requests and exits."
)
EXAMPLES = (
    "dragoman serve LIGHT",
    "dragoman serve DE-EN EN-DE --port 8000 --keep-loaded 500",
    "dragoman serve DE-EN --memory memory.tmx",
    "dragoman serve de:en=RUN --api-keys keys.txt --rate 60",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `serve`."""
    from dragoman.serving.settings import Settings

    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="exported folder (with --int8: fastest) or run folder; SOURCE:TARGET=FOLDER names its languages",
    )
    address = parser.add_argument_group("address")
    address.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0: all of this machine")
    address.add_argument(
        "--port",
        type=bounded(int, minimum=0, maximum=65535),
        default=5000,
        metavar="N",
        help="port to listen on; 0: any free port",
    )
    address.add_argument(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin use the server, such as https://example.org; * for all; may be repeated",
    )
    address.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME",
        help="answer requests to this host name, such as that of a proxy; may be repeated. localhost and IP addresses "
        "are always answered. Without this option other names are refused on a loopback address only",
    )
    address.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="take the client's address from the X-Forwarded-For of this proxy; may be repeated",
    )
    models = parser.add_argument_group("models")
    models.add_argument("--preload", action="store_true", help="load models at once; GET /ready is 503 until then")
    models.add_argument(
        "--keep-loaded",
        type=positive_int,
        metavar="MB",
        help="megabytes of models to keep loaded, by the size of their files; the least recently used are unloaded",
    )
    models.add_argument(
        "--memory",
        action="append",
        nargs="+",
        default=[],
        metavar="FILE",
        help="translation memory. A sentence that it has as a source gets the stored translation. /v1/translate also "
        "returns the pairs with similar sources. One file of pairs, two files (source and target), or a run, whose "
        "training text is used. With several models, SOURCE:TARGET=FILE names the one; may be repeated",
    )
    models.add_argument(
        "--learn",
        action="store_true",
        help="accept corrections from clients (POST /v1/corrections, /suggest), and learn from them as "
        "`dragoman learn` does. For run folders only; the folder RUN.learned keeps the new weights",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--api-keys",
        metavar="FILE",
        help="answer only requests with a key of this file. A line is a key, optionally followed by a space and its "
        "limit in texts per minute, and by the word learn if it may correct translations. The file is read again when "
        "it changes",
    )
    limits.add_argument(
        "--rate",
        type=positive_int,
        metavar="N",
        help="limit in texts per minute for each key, or for each client address if there are no keys",
    )
    defaults = Settings()
    for name, default, said in (
        ("--max-characters", defaults.max_characters, "longest text, in characters"),
        ("--max-texts", defaults.max_texts, "most texts in one request"),
        ("--max-body", defaults.max_body, "longest request, in bytes"),
        (
            "--max-waiting",
            defaults.max_waiting,
            "answer 503 while this many sentences wait; at most 100 are counted for each request",
        ),
    ):
        limits.add_argument(name, type=positive_int, default=default, metavar="N", help=said)
    limits.add_argument(
        "--body-timeout",
        type=positive_float,
        default=defaults.body_seconds,
        metavar="SECONDS",
        help="longest time that a request may take to arrive",
    )
    limits.add_argument(
        "--timeout",
        type=positive_float,
        default=defaults.request_seconds,
        metavar="SECONDS",
        help="longest time to answer a request",
    )
    general = parser.add_argument_group("general")
    general.add_argument(
        "--device", choices=get_args(DeviceName), default="auto", help="where run folders run; auto: the GPU, if any"
    )
    general.add_argument("--threads", type=threads, metavar="N", help="CPU threads (default: one per core)")
    general.add_argument("--quiet", action="store_true", help="log errors only")


def run(options: argparse.Namespace) -> None:
    """Serve until a signal."""
    from dragoman.serving.server import serve_folders
    from dragoman.serving.settings import Settings

    settings = Settings(
        threads=options.threads or processors(),
        budget=None if options.keep_loaded is None else options.keep_loaded * 10**6,
        max_waiting=options.max_waiting,
        max_characters=options.max_characters,
        max_texts=options.max_texts,
        max_body=options.max_body,
        body_seconds=options.body_timeout,
        request_seconds=options.timeout,
        requests_per_minute=options.rate,
        cors_origins=tuple(options.cors),
        host_names=tuple(options.host_name),
        trusted_proxies=tuple(options.trusted_proxy),
    )
    serve_folders(
        options.folders,
        settings,
        options.host,
        options.port,
        api_keys=options.api_keys,
        memories=options.memory,
        learn=options.learn,
        device=options.device,
        preload=options.preload,
        quiet=options.quiet,
    )
