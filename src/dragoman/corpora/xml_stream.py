"""XML files that come from anywhere, read as streams with lxml.

A file may name a document type, but not declare entities; nothing else is opened for it, and libxml2's limits hold: 256
levels of elements, 10 million characters in a text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


def local_name(element: Element) -> str:
    """The name of an element without its namespace; "" for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def read_elements(
    path: Path,
    file: IO[bytes],
    root: str,
    names: Collection[str],
    *,
    starts: Mapping[str, Callable[[Element], None]],
    forgotten: Collection[str] = (),
) -> Iterator[Element]:
    """Yield the elements of some names as they end; an element is cleared when the next one is requested.

    Args:
        root: the name of the element of the whole file.
        starts: element names -> functions that look at the attributes of such an element when it begins.
        forgotten: the names of other elements that are cleared when they end.

    Raises:
        InputError: it is not XML, has another root, declares entities, or is nested too deeply.
    """
    from lxml import etree

    parser = etree.iterparse(
        file, events=("start", "end"), tag=[f"{{*}}{name}" for name in {root, *names, *starts, *forgotten}],
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
        remove_pis=True,
    )  # fmt: skip
    checked = False
    try:
        for event, element in parser:
            if not checked:
                _require_root(path, element, root)
                checked = True
            name = local_name(element)
            if event == "start":
                if name in starts:
                    starts[name](element)
                continue
            if name in names:
                yield element
            if name in names or name in forgotten:
                element.clear(keep_tail=False)
                parent = element.getparent()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
        if not checked:
            _require_root(path, parser.root, root)
    except etree.XMLSyntaxError as error:
        first = next(iter(parser.error_log), None)
        line, reason = (error.lineno or 1, error.msg) if first is None else (first.line, first.message)
        raise InputError(f"{path}:{line}: not XML, or damaged: {reason}") from None


def _require_root(path: Path, element: Element, root: str) -> None:
    """Refuse a file of another kind, and one that declares entities."""
    tree = element.getroottree()
    name = local_name(tree.getroot())
    if name != root:
        raise InputError(f"{path}: its outermost element is {name}, not {root}; name the file by its kind")
    declared = tree.docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise InputError(f"{path}: declares entities, which is not allowed in a corpus; replace them by their text")
