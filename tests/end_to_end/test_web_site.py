"""An exported web site in a real browser: it translates as the exported model does in Python, also without a network.

Needs Chromium or Chrome, Playwright and the runtime for browsers; the tests are skipped without.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.errors import ConfigError
from dragoman.export.writing import ExportOptions
from dragoman.runs.opening import open_run
from dragoman.text.segmentation.characters import LetterSegmentation
from dragoman.text.segmentation.words import WordSegmentation
from dragoman.text.side import TextSide
from dragoman.translation.confidence import FEATURES, FORMAT, ConfidenceModel, Feature
from dragoman.website.site import export_site
from tests.web import HEADERS, Host, open_browser, require_runtime, serving

pytestmark = pytest.mark.browser

TEXT = "ab c?  de\nfab"
TRANSLATE = """
async (requests) => {
    const { createTranslator } = await import("./translator.js");
    const failure = ({ name, kind, message }) => ({ name, kind, message });
    const translator = await createTranslator().catch(failure);
    if (translator.kind) return [translator];
    const found = [];
    for (const [method, request] of requests) found.push(await translator[method](request).catch(failure));
    return found;
}
"""
"""A second translator beside that of the page."""
SEARCH = """
async (lines) => {
    const { Downloads } = await import("./translator/downloads.js");
    const { openModel } = await import("./translator/model_files.js");
    const site = await (await fetch("site.json")).json();
    const root = new URL("./", location.href).href;
    const translator = await openModel(root, site, new Downloads(root, site, () => {}));
    const found = [];
    for (const [line, search] of lines) found.push(await translator.translate(line, 3, { search }, async () => {}));
    return found;
}
"""
"""The translator without the worker."""
KEPT = """
async () => {
    await navigator.serviceWorker.ready;
    const [name] = await caches.keys();
    const kept = (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname);
    const needed = ["/index.html", "/model/step.onnx", "/runtime/ort-wasm-simd-threaded.wasm.gzipped"];
    return needed.every((one) => kept.includes(one));
}
"""
SHOWS = "([place, text]) => document.querySelector(place).textContent.includes(text)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(run_folder: Path, shared_folder: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The small model as a web site. Tests must not change it."""
    require_runtime()

    def fill(folder: Path) -> None:
        command = ["export", str(run_folder), "--web", "--out", str(folder), "--languages", "de", "en", "--quiet"]
        assert main(command) == 0

    return shared_folder("tiny-site", fill)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """`visit(host)`: the page in a browser of its own. In the end no policy must have been broken, and nothing
    been requested from elsewhere; no script must have failed, unless with `failing` a script is damaged."""
    contexts, wrong = [], []

    def opened(host: Host, *, failing: bool = False) -> Any:
        context = browser.new_context()
        context.set_default_timeout(120_000)  # a busy machine is no failure
        contexts.append(context)
        # Sites are requested by pages, workers and service workers.
        context.on(
            "request", lambda request: None if request.url.startswith(host.address) else wrong.append(request.url)
        )
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if "Policy" in message.text else None)
        page.on("pageerror", lambda error: None if failing else wrong.append(str(error)))
        page.goto(host.address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _requests(*requests: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("complete" if "count" in one else "translate", {"source": "de", "target": "en", **one}) for one in requests
    ]


def test_the_desk_works_without_a_server(site: Path, visit: Callable[..., Any], tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="de"><seg>fed</seg></tuv><tuv xml:lang="en"><seg>kept</seg></tuv></tu>'
    (tmp_path / "memory.tmx").write_text(f'<tmx version="1.4"><body>{unit}</body></tmx>', encoding="utf-8")
    with serving(site) as host:
        page = visit(host)
        page.goto(f"{host.address}desk.html")
        page.locator("body[data-ready]").wait_for()
        page.fill("#pasted", "ab c\n\nfed\nab c\n")
        page.click("#begin")
        page.wait_for_function(SHOWS, arg=[".row:nth-child(3) .row-target", "AB C"])
        page.set_input_files("#memory-file", tmp_path / "memory.tmx")
        page.wait_for_function(SHOWS, arg=[".row:nth-child(2) .row-target", "kept"])
        page.fill("#target-field", "one")
        page.keyboard.press("Control+Enter")
        page.wait_for_function(SHOWS, arg=[".row:nth-child(3) .row-target", "one"])
        page.locator("#target-field").press("Control+Enter")
        found = {}
        for form in ("document", "xliff", "tmx"):
            page.click("#finish")
            with page.expect_download() as download:
                page.click(f'[data-form="{form}"]')
            found[download.value.suggested_filename] = Path(download.value.path()).read_text(encoding="utf-8")
    assert found["text_en.txt"] == "one\n\nkept\none\n"
    assert found["text_en.tmx"].count("<tu>") == 2
    assert found["text_en.xlf"].count('state="final"') == 2
    assert found["text_en.xlf"].count('state="needs-review-translation"') == 1


def test_translations_are_those_of_python(site: Path, visit: Callable[..., Any]) -> None:
    requests = _requests(
        {"text": TEXT, "n_best": 3, "attention": True},
        {"text": "ab c", "prefix": "F", "constraints": ["DD"], "ban": ["C"]},
        {"text": "ab", "prefix": "x", "beam": 2, "normalisation": "gnmt", "alpha": 1.5, "no_repeat_ngram": 2},
        {"text": "", "n_best": 2},
        {"text": "ab c", "prefix": "A", "count": 3},
        {"text": "ab", "constraints": ["漢"]},
        {"text": "ab", "target": "fr"},
    )
    with serving(site) as host:
        running, constrained, gnmt, empty, completed, unknown, pair = visit(host).evaluate(TRANSLATE, requests)

    translator = dragoman.load(site / "model")
    [result] = running["results"]
    assert [sentence["source_span"] for sentence in result["sentences"]] == [[0, 5], [7, 9], [10, 13]]
    for sentence, line in zip(result["sentences"], ("ab c?", "de", "fab"), strict=True):
        n_best = translator.translate(line, n_best=3)
        assert [list(span) for span in n_best[0].source_spans] == sentence["segment_spans"]
        for found, expected in zip(sentence["translations"], n_best, strict=True):
            _assert_same(found, expected)
    best = [sentence["translations"][0]["text"] for sentence in result["sentences"]]
    assert result["text"] == f"{best[0]}  {best[1]}\n{best[2]}"
    expected = translator.translate("ab c", prefix="F", constraints=["DD"], ban=["C"])
    _assert_same(constrained["results"][0]["sentences"][0]["translations"][0], expected)
    expected = translator.translate("ab", prefix="x", beam=2, normalisation="gnmt", alpha=1.5, no_repeat_ngram=2)
    _assert_same(gnmt["results"][0]["sentences"][0]["translations"][0], expected)
    assert empty["results"] == [{"text": "", "source": "de", "target": "en", "sentences": []}]
    assert [one["text"] for one in completed["completions"]] == [
        one.text for one in translator.complete("ab c", "A", count=3)
    ]
    assert unknown == {
        "name": "TranslatorError",
        "kind": "refused",
        "message": "'漢' cannot appear in a translation: the model does not know '漢'; leave it out, or give a word "
        "of the target vocabulary",
    }
    assert (pair["kind"], "into fr" in pair["message"]) == ("refused", True)


def _assert_same(found: dict[str, Any], expected: dragoman.Translation) -> None:
    assert found["text"] == expected.text
    assert found["segments"] == expected.tokens
    assert found["score"] == pytest.approx(expected.score, abs=1e-4)
    assert found["log_probability"] == pytest.approx(expected.log_probability, abs=1e-4)
    assert sum(found["segment_log_probabilities"]) == pytest.approx(expected.log_probability, abs=1e-2)
    assert found["finished"] == expected.finished
    assert [tuple(link) for link in found["alignment"]] == expected.alignment
    links = expected.links_between(expected.source_spans, expected.target_spans)
    assert [tuple(link) for link in found["segment_alignment"]] == links
    assert [tuple(span) for span in found["segment_spans"]] == expected.target_spans
    if "attention" in found:
        assert found["attention"] == pytest.approx(expected.segment_attention, abs=1e-3)


def test_search_settings_mean_the_same_as_in_python(site: Path, visit: Callable[..., Any]) -> None:
    """Those of a configuration, which a request cannot change."""
    settings: list[dict[str, Any]] = [
        {"finish": "shrink", "diversity": 0.7, "beam": 4},
        {"coverage_penalty": 0.3, "word_penalty": -0.2, "normalisation": "power", "alpha": 0.5, "beam": 4},
        {"min_length_factor": 2.0, "no_repeat_ngram": 1, "block_unknown": True, "normalisation": "none", "beam": 4},
        {"max_length_factor": 0.1, "max_length_extra": 1, "normalisation": "mean", "beam": 3},
    ]
    with serving(site) as host:
        found = visit(host).evaluate(SEARCH, [["ab c", one] for one in settings])
    translator = dragoman.load(site / "model")
    for one, n_best in zip(settings, found, strict=True):
        expected = translator.translate("ab c", n_best=3, **one)
        assert [each["text"] for each in n_best] == [each.text for each in expected], one
        assert [each["finished"] for each in n_best] == [each.finished for each in expected], one
        assert [each["score"] for each in n_best] == pytest.approx([each.score for each in expected], abs=1e-4), one


def test_page_translates_what_is_typed_also_without_a_network(site: Path, visit: Callable[..., Any]) -> None:
    best = dragoman.load(site / "model").translate("ab c").text
    with serving(site) as host:
        page = visit(host)
        _type(page, "ab c")
        page.wait_for_function(SHOWS, arg=["#target", best])
        page.wait_for_function(KEPT)
        _assert_installable(page)
    page.goto(host.address)  # nobody answers any more
    _type(page, "ab c")
    page.wait_for_function(SHOWS, arg=["#target", best])


FOUR_CORES = 'Object.defineProperty(navigator, "hardwareConcurrency", { value: 4 });'


def test_threads_are_used_where_the_headers_of_the_host_allow_them(
    site: Path, visit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = dragoman.load(site / "model").translate("ab c").text
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    with (copy / "translator" / "worker.js").open("a") as worker:
        worker.write(FOUR_CORES)

    def threads() -> int:
        with serving(copy) as host:
            page = visit(host)
            _type(page, "ab c")
            page.wait_for_function(SHOWS, arg=["#target", best])
            found = sum("ort-wasm" in worker.url for worker in page.workers)
            page.evaluate(FOUR_CORES)  # here the page's own policy forbids the workers of the runtime
            [[first, *_]] = page.evaluate(SEARCH, [["ab c", {}]])
            assert first["text"] == best
        return found + 1

    assert threads() == 1
    monkeypatch.setitem(HEADERS, "Cross-Origin-Opener-Policy", "same-origin")
    monkeypatch.setitem(HEADERS, "Cross-Origin-Embedder-Policy", "require-corp")
    assert threads() == 3


def _type(page: Any, text: str) -> None:
    page.wait_for_selector("body[data-ready]")
    page.fill("#source", text)


def _assert_installable(page: Any) -> None:
    """Nothing but that the tests' browser keeps nothing is in the way of installing the site."""
    session = page.context.new_cdp_session(page)
    assert session.send("Page.getAppManifest")["errors"] == []
    found = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in found] in ([], ["in-incognito"])


def test_damaged_and_broken_off_files_are_told(site: Path, visit: Callable[..., Any], tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    step = copy / "model" / "step.onnx"
    content = step.read_bytes()
    step.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with serving(copy) as host:
        page = visit(host)
        [damaged] = page.evaluate(TRANSLATE, _requests({"text": "ab"}))
        assert (damaged["kind"], damaged["message"]) == (
            "failed",
            "model/step.onnx is damaged: it is not the file that was exported. "
            "The folder must be copied to its host again.",
        )
        page.wait_for_function(SHOWS, arg=["#problem", damaged["message"]])

        step.write_bytes(content)
        host.broken_off.add("/model/step.onnx")
        [broken_off] = page.evaluate(TRANSLATE, _requests({"text": "ab"}))
        assert broken_off["kind"] == "unreachable"
        assert broken_off["message"].startswith("The download of model/step.onnx broke off after 0.0 of ")

        host.broken_off.clear()
        (copy / "model" / "encoder.onnx").rename(copy / "encoder")
        [kept] = page.evaluate(TRANSLATE, _requests({"text": "ab"}))  # the encoder is in the browser's cache
        assert kept["results"][0]["text"]


def test_damaged_and_missing_scripts_of_the_page_are_told(
    site: Path, visit: Callable[..., Any], tmp_path: Path
) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    shown = "() => document.getAnimations().forEach((one) => one.finish())"  # at once, not after some seconds
    for name, missing in (("main.js", True), ("messages.js", False)):
        content = (copy / name).read_bytes()
        if missing:
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(content[: len(content) // 2])
        with serving(copy) as host:
            page = visit(host, failing=True)
            page.evaluate(shown)
            sentence = page.locator("#not-started")
            assert sentence.is_visible(), name
            assert "a file of the page is missing, damaged or not wholly downloaded" in sentence.text_content()
        (copy / name).write_bytes(content)
    with serving(copy) as host:
        page = visit(host)
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#not-started").count() == 0


def test_items_come_out_as_in_python(train: Callable[..., int], visit: Callable[..., Any], tmp_path: Path) -> None:
    require_runtime()
    run, out = tmp_path / "run", tmp_path / "site"
    settings = [f"text.{side}.{key}" for side in ("source", "target") for key in ("segmentation=bpe", "vocabulary=90")]
    settings += ["text.case_marks=true", "text.normal_form=true", "text.protected=[url,variable,number,name,list,tag]"]
    settings += ['text.patterns=["d e+ (?:f|g)"]', "training.epochs=1", "training.changes.placeholders=0.3"]
    assert train(run, "--quiet", settings=settings) == 0
    weights = dict(zip(FEATURES, (1.0, -0.5, -0.2, 0.3, -2.0, -1.5, -1.0), strict=True))
    features = {name: Feature(0.5, weight) for name, weight in weights.items()}
    ConfidenceModel(format=FORMAT, bias=3.0, features=features).write(run)
    assert main(["export", str(run), "--web", "--out", str(out), "--languages", "de", "en", "--quiet"]) == 0
    lines = [
        "see 3 a/b: 12.",
        "ab {x} c http://a.b 3.14",
        "AB {y} {y} Šťá",
        "1. ab",
        "d ⟦1⟧ e \ue002",
        "{a} " * 11 + "b",
        "a d ee g",
        " „ab {x}“ ",
        "<b>ab</b> c",
    ]
    requests = _requests(
        *({"text": line, "n_best": 3} for line in lines),
        {"text": "ab {x} c {y}", "prefix": "{y} C", "constraints": ["{x} A"]},
        {"text": "{y} ab {x}", "prefix": "{y} A", "count": 2},
        *({"text": text} for text in ("12.5 – 3", "{x}: {y}", '"{x}"')),
        *({"text": "“ab {x}”", "prefix": prefix} for prefix in ("“A", "A")),
    )
    with serving(out) as host:
        answers = visit(host).evaluate(TRANSLATE, requests)
    found, [constrained, completed, *alone, quoted, bare] = answers[: len(lines)], answers[len(lines) :]
    translator = dragoman.load(out / "model")
    for line, answer in zip(lines, found, strict=True):
        n_best = translator.translate(line, n_best=3)
        for ours, expected in zip(answer["results"][0]["sentences"][0]["translations"], n_best, strict=True):
            _assert_same(ours, expected)
            assert ours["confidence"] == pytest.approx(expected.confidence, abs=2e-4)
            assert ours["doubt"] == expected.doubt
            for item in ("{x}", "http://a.b", "3.14", "{y}", "Šťá", "1.", "⟦1⟧", "\ue002", "d ee g"):
                assert expected.text.count(item) == line.count(item)
    expected = translator.translate("ab {x} c {y}", prefix="{y} C", constraints=["{x} A"])
    assert constrained["results"][0]["text"] == expected.text
    assert (expected.text.count("{x}"), expected.text.count("{y}")) == (1, 1)
    assert [each["results"][0]["text"] for each in alone] == ["12.5 – 3", "{x}: {y}", '"{x}"']
    for answer, prefix in ((quoted, "“A"), (bare, "A")):
        assert answer["results"][0]["text"] == translator.translate("“ab {x}”", prefix=prefix).text
    assert [one["text"] for one in completed["completions"]] == [
        one.text for one in translator.complete("{y} ab {x}", "{y} A", count=2)
    ]


def test_attention_belongs_to_its_segments_also_when_it_is_computed_after_reading_them(
    train: Callable[..., int], visit: Callable[..., Any], tmp_path: Path
) -> None:
    require_runtime()
    run, out = tmp_path / "run", tmp_path / "site"
    # with large weights, so that each step attends to something else
    settings = ["training.epochs=1", "model.attention.aligned_word=read", "model.init_scale=1"]
    assert train(run, "--quiet", settings=settings) == 0
    assert main(["export", str(run), "--web", "--out", str(out), "--languages", "de", "en", "--quiet"]) == 0
    expected = dragoman.load(out / "model").translate("ab cab de")
    assert expected.attention is not None
    assert len(expected.attention) == len(expected.tokens) + 1
    weights = expected.attention[1:]  # the step that predicts EOS reads the last segment
    assert abs(weights - expected.attention[:-1]).max() > 0.01  # else a shift would not be noticed
    with serving(out) as host:
        page = visit(host)
        [found] = page.evaluate(TRANSLATE, _requests({"text": "ab cab de", "attention": True}))
        [translation] = found["results"][0]["sentences"][0]["translations"]
        assert translation["segments"] == expected.tokens
        assert translation["attention"] == pytest.approx(weights, abs=1e-3)
        _type(page, "ab cab de")
        page.wait_for_function(SHOWS, arg=["#target", expected.text])
        page.click("#show-map")
        page.wait_for_selector("#map tbody tr")
        rows = page.locator("#map tbody tr").all()
        shown = [[float(cell) for cell in row.locator("td").all_text_contents()] for row in rows]
        assert shown == pytest.approx(weights, abs=0.006)


def test_words_and_unknown_languages_are_refused(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(run_folder), "--web", "--out", str(tmp_path / "site")]
    assert main(command) == 2
    assert "does not name its languages; give them, such as --languages de en" in capsys.readouterr().err
    assert main([*command, "--shortlist", "5"]) == 2
    assert "--shortlist has no effect with --web" in capsys.readouterr().err
    assert main([*command[:2], "--languages", "de", "en", "--out", str(tmp_path / "site")]) == 2
    assert "--languages requires --web" in capsys.readouterr().err
    run = open_run(run_folder, device="cpu")
    for kind, segmentation in (("words", WordSegmentation("de")), ("letters", LetterSegmentation())):
        other = replace(run, source=TextSide(segmentation, run.source.vocabulary))
        with pytest.raises(
            ConfigError, match=f"its source is segmented into {kind}, by rules that a site does not have"
        ):
            export_site([other], tmp_path / "site", ExportOptions(int8=True), languages=("de", "en"))
    assert not (tmp_path / "site").exists()


def test_only_a_site_without_other_files_is_replaced(
    site: Path, run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    shutil.copytree(site, out)
    command = ["export", str(run_folder), "--web", "--out", str(out), "--languages", "de", "en", "--quiet"]
    assert main(command) == 2
    assert "an exported site is there already; --overwrite replaces it" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    assert (
        json.loads((out / "site.json").read_text())["version"]
        == json.loads((site / "site.json").read_text())["version"]
    )
    (out / "notes.txt").touch()
    assert main([*command, "--overwrite"]) == 2
    assert "notes.txt is no part of it" in capsys.readouterr().err
