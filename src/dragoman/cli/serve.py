"""`dragoman serve`: models behind an HTTP server."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.parsing import Parser, bounded, positive_float, positive_int, threads
from dragoman.systems import processors

SUMMARY = "serve translations over HTTP"
DESCRIPTION = (
    "Serves models by the API of LibreTranslate (POST /translate, /detect, /translate_file, GET /languages),\n"
    "a part of DeepL's (POST /v2/translate), and its own (POST /v1/translate, /v1/complete), and at / a page\n"
    "for browsers. GET /spec describes the API. Each model is loaded when it is first asked for, and again\n"
    "when its folder has changed. The log is lines of JSON on standard error. SIGTERM finishes what has\n"
    "begun, and ends."
)
EXAMPLES = (
    "dragoman serve LIGHT",
    "dragoman serve DE-EN EN-DE --port 8000 --memory 500",
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
        "--port", type=bounded(int, minimum=0, maximum=65535), default=5000, metavar="N", help="0: any that is free"
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
        help="take this host name for the server's own, such as that of a proxy before it; may be repeated. localhost "
        "and IP addresses are always taken; other names are too, without this option, except on a loopback address",
    )
    address.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="believe X-Forwarded-For of this proxy; may be repeated",
    )
    models = parser.add_argument_group("models")
    models.add_argument("--preload", action="store_true", help="load models at once; GET /ready is 503 until then")
    models.add_argument(
        "--memory",
        type=positive_int,
        metavar="MB",
        help="keep models of this many megabytes loaded, those used last; counted are the sizes of their files",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--api-keys",
        metavar="FILE",
        help="answer only requests with one of these keys; one a line, and after a space its texts a minute; read "
        "again when the file has changed",
    )
    limits.add_argument(
        "--rate", type=positive_int, metavar="N", help="texts a minute for each key, or without keys each address"
    )
    defaults = Settings()
    for name, default, said in (
        ("--max-characters", defaults.max_characters, "longest text, in characters"),
        ("--max-texts", defaults.max_texts, "texts of a request"),
        ("--max-body", defaults.max_body, "longest request, in bytes"),
        (
            "--max-waiting",
            defaults.max_waiting,
            "sentences that wait, of each request at most 100 counted, from which on requests are answered 503",
        ),
    ):
        limits.add_argument(name, type=positive_int, default=default, metavar="N", help=said)
    limits.add_argument(
        "--body-timeout",
        type=positive_float,
        default=defaults.body_seconds,
        metavar="SECONDS",
        help="longest time in which a request arrives",
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
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where run folders run; auto: the GPU, if any"
    )
    general.add_argument("--threads", type=threads, metavar="N", help="CPU threads (default: one per core)")
    general.add_argument("--quiet", action="store_true", help="log errors only")


def run(options: argparse.Namespace) -> None:
    """Serve until a signal."""
    from dragoman.serving.key_file import KeyFile
    from dragoman.serving.logs import configure
    from dragoman.serving.models import Models, ServedFolder
    from dragoman.serving.origins import host_name
    from dragoman.serving.server import serve
    from dragoman.serving.settings import Settings

    folders = [ServedFolder.named(name) for name in options.folders]
    key_file = None if options.api_keys is None else KeyFile(options.api_keys)
    settings = Settings(
        threads=options.threads or processors(),
        memory=None if options.memory is None else options.memory * 10**6,
        max_waiting=options.max_waiting,
        max_characters=options.max_characters,
        max_texts=options.max_texts,
        max_body=options.max_body,
        body_seconds=options.body_timeout,
        request_seconds=options.timeout,
        requests_per_minute=options.rate,
        keys=None if key_file is None else key_file.keys,
        key_file=key_file,
        cors_origins=tuple(options.cors),
        host_names=tuple(map(host_name, options.host_name)),
        trusted_proxies=tuple(options.trusted_proxy),
    )
    models = Models(folders, threads=settings.threads, memory=settings.memory, device=options.device)
    configure(quiet=options.quiet)
    serve(models, settings, options.host, options.port, preload=options.preload)
