"""The files of the pages, in `static/`: HTML, style sheets, and JavaScript modules as browsers read them.

`index.html` translates text while one types, `desk.html` a document segment by segment. The files name each other
relatively, so that they work at any address. `translator.js` alone decides what translates for the pages;
`http_translator.js` begins with the interface of that.
"""

from __future__ import annotations

from importlib.resources import files

INDEX = "index.html"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The media types of the files by the ends of their names."""

CONTENT_SECURITY_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",  # no text becomes markup or a script, whatever a module does
    "trusted-types": "'none'",
}
"""The directives under which the page runs: nothing but its own files, and requests to its own origin."""


def page_files() -> dict[str, bytes]:
    """The content of each file by its name."""
    folder = files("dragoman.page").joinpath("static")
    return {entry.name: entry.read_bytes() for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)}


def media_type(name: str) -> str:
    """The media type of a file of the page."""
    return MEDIA_TYPES[name[name.rindex(".") :]]
