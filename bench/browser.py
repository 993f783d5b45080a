"""An exported web site in Chromium against the same exported model in Python: agreement, sizes and times.

    python bench/browser.py RUN SOURCE REFERENCE [--lines N] [--out FILE]

RUN is exported as a site twice, in float32 and in int8. Every line of SOURCE is translated alone by both, in the
browser on the page's own thread, without cutting it into sentences. Translations that differ are listed with their
scores: those of the browser, of Python, and of the second hypothesis of Python, which says how close the choice was.

Times are those of the int8 site: from opening the page in a new browser, which has nothing in its cache, until the
first translation stands on it; and of a sentence of 12 words, on one thread, and in turn on one and on two, which sites
take on three cores. Load averages say how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sacrebleu

import dragoman
from dragoman.export.writing import ExportOptions
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines
from dragoman.website.site import export_site

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.web import HEADERS, open_browser, serving

ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
"""Headers of a host without which no threads are used."""
CHUNK = 20
"""Lines of one call to the browser."""
OPEN = """
async () => {
    const { Downloads } = await import("./translator/downloads.js");
    const { openModel } = await import("./translator/model_files.js");
    const site = await (await fetch("site.json")).json();
    const root = new URL("./", location.href).href;
    window.translator = await openModel(root, site, new Downloads(root, site, () => {}));
}
"""
TRANSLATE = """
async (lines) => {
    const found = [];
    for (const line of lines) {
        const before = performance.now();
        const [best] = await window.translator.translate(line, 1, {}, async () => {});
        const { text, score, sourceSegments, alignment } = best;
        found.push({ text, score, sourceSegments, alignment, milliseconds: performance.now() - before });
    }
    return found;
}
"""


def main() -> None:
    """Export, compare, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source, reference = (list(read_lines(path))[: options.lines] for path in (options.source, options.reference))
    run = open_run(options.run, device="cpu")
    result: dict[str, Any] = {"parameters": run.parameters, "lines": len(source), "load_before": os.getloadavg()}
    with TemporaryDirectory() as folder, open_browser() as browser:
        for name, int8 in (("int8", True), ("float32", False)):
            out = Path(folder) / name
            site = export_site([run], out, ExportOptions(int8=int8), languages=("de", "en"))
            result[name] = {"bytes": site.bytes, "download": site.download}
            with serving(out) as host:
                if int8:
                    result["times"] = times(browser, host.address, source)
                if int8:
                    HEADERS.update(ISOLATED)
                    result["threads"] = threads(browser, host.address, source)
                    for header in ISOLATED:
                        del HEADERS[header]
                result[name] |= agreement(browser, host.address, out / "model", source, reference)
            print(
                name, json.dumps({key: value for key, value in result[name].items() if key != "different"}), flush=True
            )
    result["load_after"] = os.getloadavg()
    print(json.dumps(result["times"] | {"threads": result["threads"]}))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def agreement(browser: Any, address: str, model: Path, source: list[str], reference: list[str]) -> dict[str, Any]:
    """How many segmentations, translations and alignments are the same, and BLEU of both."""
    page = browser.new_page()
    page.set_default_timeout(0)
    page.goto(address)
    page.evaluate(OPEN)
    found: list[dict[str, Any]] = []
    for start in range(0, len(source), CHUNK):
        found += page.evaluate(TRANSLATE, source[start : start + CHUNK])
    page.close()
    expected = dragoman.load(model).translate(source, n_best=2)
    same = [one["text"] == best.text for one, (best, *_) in zip(found, expected, strict=True)]
    different = [
        {
            "line": place + 1,
            "browser": [one["text"], one["score"]],
            "python": [n_best[0].text, n_best[0].score],
            "second": [n_best[1].text, n_best[1].score] if len(n_best) > 1 else None,
        }
        for place, (one, n_best) in enumerate(zip(found, expected, strict=True))
        if not same[place]
    ]
    texts = {"browser": [one["text"] for one in found], "python": [n_best[0].text for n_best in expected]}
    return {
        "same_segments": sum(
            one["sourceSegments"] == best.source_tokens for one, (best, *_) in zip(found, expected, strict=True)
        ),
        "same_translations": sum(same),
        "same_alignments": sum(
            [tuple(link) for link in one["alignment"]] == best.alignment
            for one, (best, *_), equal in zip(found, expected, same, strict=True)
            if equal
        ),
        "bleu": {name: round(sacrebleu.corpus_bleu(lines, [reference]).score, 2) for name, lines in texts.items()},
        "median_milliseconds": round(statistics.median(one["milliseconds"] for one in found), 1),
        "different": different,
    }


def threads(browser: Any, address: str, source: list[str]) -> dict[str, dict[str, float]]:
    """Milliseconds of sentences of 12 words on one and on two threads, in turn."""
    lines = [line for line in source if len(line.split()) == 12][:CHUNK]
    pages, spent = {}, {}
    for count in (1, 2):
        # The page's own policy forbids the workers that the runtime starts; that of the site's worker does not.
        page = browser.new_context(bypass_csp=True).new_page()
        page.set_default_timeout(0)
        page.goto(address)
        page.evaluate(f'Object.defineProperty(navigator, "hardwareConcurrency", {{ value: {count + 1} }})')
        page.evaluate(OPEN)
        assert page.evaluate("() => crossOriginIsolated")
        pages[count], spent[count] = page, []
    for _ in range(5):
        for count, page in pages.items():
            spent[count] += [one["milliseconds"] for one in page.evaluate(TRANSLATE, lines)]
    for page in pages.values():
        page.context.close()
    return {
        str(count): {"fastest": round(min(all_of_it), 1), "median": round(statistics.median(all_of_it), 1)}
        for count, all_of_it in spent.items()
    }


def times(browser: Any, address: str, source: list[str]) -> dict[str, Any]:
    """Seconds from opening the page until its first translation, and milliseconds for sentences of 12 words."""
    line = next(line for line in source if len(line.split()) == 12)
    cold = []
    for _ in range(3):
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(120_000)
        before = time.perf_counter()
        page.goto(address)
        page.fill("#source", line)
        page.wait_for_function("() => /[A-Za-z]/.test(document.querySelector('#target').textContent)")
        cold.append(round(time.perf_counter() - before, 2))
        context.close()
    page = browser.new_page()
    page.goto(address)
    page.evaluate(OPEN)
    alone = [page.evaluate(TRANSLATE, [line])[0]["milliseconds"] for _ in range(20)]
    page.close()
    return {
        "first_translation_seconds": cold,
        "twelve_words_milliseconds": {"fastest": round(min(alone), 1), "median": round(statistics.median(alone), 1)},
    }


if __name__ == "__main__":
    main()
