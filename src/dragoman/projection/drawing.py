"""Writes a map of points as an interactive page, an image or a table.

The page is self-contained, including Vega's scripts; vl-convert renders it and the images without a browser.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from dragoman.errors import ConfigError
from dragoman.projection.reduction import Projection
from dragoman.projection.vectors import LabelledText
from dragoman.text.lines import replace_file, replace_output

MAX_LABELS = 80
"""Maximum number of points with labels; with more, labels appear as tooltips."""

FAR_RIGHT = 0.75
"""Share of the width beyond which a label is to the left of its point."""

SIZE = (900, 650)
"""Image size in pixels; doubled for PNG."""

_DATA = "the points of the map"
_LONGEST = 60


def require_format(path: str | Path) -> None:
    """Check that the file name ends in a supported format.

    Raises:
        ConfigError: it does not.
    """
    if _kind(path) not in _WRITERS:
        raise ConfigError(f"--output {path}: a map is written as {', '.join(_WRITERS)}; end the name in one of them")


def write_map(path: str | Path, title: str, lines: Sequence[LabelledText], projection: Projection) -> None:
    """Write the points in the format of the file name.

    Raises:
        InputError: the file cannot be written.
    """
    _WRITERS[_kind(path)](path, title, lines, projection)


def _kind(path: str | Path) -> str:
    return Path(path).suffix.lower()


def _chart(title: str, lines: Sequence[LabelledText], projection: Projection, values: Sequence[Any]) -> dict[str, Any]:
    """The Vega-Lite specification with the data `values`."""
    grouped = any(line.group for line in lines)
    quiet = alt.Axis(grid=False, tickCount=6)
    x = alt.X("x:Q", title=projection.axes[0], axis=quiet).scale(zero=False, padding=20)
    y = alt.Y("y:Q", title=projection.axes[1], axis=quiet).scale(zero=False, padding=20)
    wanted = alt.param("wanted", value="", bind=alt.binding(input="search", name="Find "))
    opacity = alt.condition("test(regexp(wanted, 'i'), datum.text)", alt.value(1.0), alt.value(0.08))
    colour = alt.Color("group:N", title=None) if grouped else alt.value("#1f5fa8")
    base = alt.Chart({"name": "points"}).encode(x=x, y=y, opacity=opacity, color=colour)
    about = [alt.Tooltip("text:N"), *([alt.Tooltip("group:N")] if grouped else [])]
    layers: list[alt.Chart] = [base.mark_circle(size=45).encode(tooltip=about).add_params(wanted).interactive()]
    if len(lines) <= MAX_LABELS:
        # Labels go to the side with room, because the image is clipped at its axes.
        beside = base.encode(text="text:N", tooltip=about)
        to_the_right = beside.mark_text(align="left", dx=6, fontSize=11, limit=260)
        to_the_left = beside.mark_text(align="right", dx=-6, fontSize=11, limit=260)
        layers.append(to_the_right.transform_filter("!datum.far_right"))
        layers.append(to_the_left.transform_filter("datum.far_right"))
    width, height = SIZE
    chart = alt.layer(*layers).properties(width=width, height=height, title=title)
    return {**chart.to_dict(), "datasets": {"points": list(values)}}


def _rows(lines: Sequence[LabelledText], projection: Projection) -> list[dict[str, Any]]:
    across = projection.coordinates[:, 0]
    edge = across.min() + FAR_RIGHT * (across.max() - across.min())
    return [
        {
            "x": round(float(x), 4),
            "y": round(float(y), 4),
            "text": line.text,
            "group": line.group,
            "far_right": bool(x > edge),
        }
        for line, (x, y) in zip(lines, projection.coordinates, strict=True)
    ]


def _write_page(path: str | Path, title: str, lines: Sequence[LabelledText], projection: Projection) -> None:
    # Texts are inserted last and escaped: "</script>" in a text would end the script.
    described = _chart("", lines, projection, [_DATA])
    described["width"] = "container"
    described["usermeta"] = {"embedOptions": {"actions": {"source": False, "editor": False, "compiled": False}}}
    page = vl_convert.vegalite_to_html(json.dumps(described), bundle=True)
    values = json.dumps(_rows(lines, projection), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        values = values.replace(character, f"\\u{ord(character):04x}")
    shown = html.escape(title)
    for marker, content in (
        ("<title>Chart</title>", f'<title>{shown}</title>\n<meta name="viewport" content="width=device-width">'),
        ("    <style>\n", f"    <style>\n{_STYLE}\n"),
        ('<div id="vega-chart"></div>', f'<h1>{shown}</h1>\n<div id="vega-chart"></div>'),
        (f'["{_DATA}"]', values),
    ):
        assert page.count(marker) == 1, f"vl-convert writes another page than before: {marker}"
        page = page.replace(marker, content)
    with replace_file(path) as file:
        file.write(page)


_STYLE = """\
        body { font-family: system-ui, sans-serif; margin: 1rem }
        h1 { font-size: 1.2rem }
        #vega-chart { display: block; width: 100% }"""


def _write_picture(path: str | Path, title: str, lines: Sequence[LabelledText], projection: Projection) -> None:
    chart = json.dumps(_chart(title, lines, projection, _rows(lines, projection)))
    with replace_file(path, binary=True) as file:
        if _kind(path) == ".png":
            file.write(vl_convert.vegalite_to_png(chart, scale=2))
        else:
            file.write(vl_convert.vegalite_to_svg(chart).encode("utf-8"))


def _write_table(path: str | Path, title: str, lines: Sequence[LabelledText], projection: Projection) -> None:
    """Write a TSV file with a header: both coordinates, group and text of each point."""
    with replace_output(path) as file:
        file.write("x\ty\tgroup\ttext\n")
        for line, (x, y) in zip(lines, projection.coordinates, strict=True):
            file.write(f"{x:.6g}\t{y:.6g}\t{line.group}\t{line.text.replace(chr(13), ' ')}\n")


_WRITERS = {".html": _write_page, ".svg": _write_picture, ".png": _write_picture, ".tsv": _write_table}
