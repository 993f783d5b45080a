"""Segmentation in JavaScript: the pieces, ids, spans and joined texts of the Python classes."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
import sentencepiece

from dragoman.text.items import KINDS, PLACEHOLDERS, Items, restore
from dragoman.text.names import WordFilter
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.case_marks import MARKS
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, innermost
from dragoman.text.segmentation.subwords import SubwordSegmentation, train_case_marks, train_model
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from tests.website.conftest import RunScript

WORDS = "Ein Hund läuft über die grüne Wiese und springt in den See weil er dort 12 Enten sieht"
UNUSUAL = (
    "", " ", "\u00a0", "  a  b ", "Ein\tHund\u2028läuft\x85", "漢字 Hund 漢字漢 x", "</s> <unk> <s>", "▁Ein▁ ▁▁",
    "😀😀 Hund", "e\u0301 é ﬁ … ² Ａ ｶﾞ ㍿ \u1100\u1161", "\ufeffHund\u200b \u3000Hund", "\x1cHund\x1d", "12345 Hunde",
    "a" * 60, "DER HUND LÄUFT, der HUND", "iPhone McDonald H2O ⇧ ⇪x ⟪a⟫ ⤊⤋", "The Old Man And the Sea",
    "ein hund läuft", "„Ein\u00a0Hund“\u3000la\u0308uft \u00adH\u200bund ｈｕｎｄ １２ ٣٤ m³ \u1102\u1161",
    "می\u200cخ H\u200cu",
    "👩\u200d👧 \u0301a क\u093c \u09c7\u09be ６ ९ 𝟗 𝟘 𝟡 🇰🇷 \u200c“", "e\u00ad\u0301\u0327 a\u0315\u0300\u05ae\u0062",
    "İstanbul STRAẞE ΟΔΟΣ οδός ǅ Ⅷ ŉ ΐ ﬁ µM",
    "a\u0305b x\u0323\u0301", "ZA\u0301MOK Za\u0301mok (A B C) Anna-Lena's",
    "Hund\u00a0und\u00a0See", "<0x41> USR FOO USRFOO", "▁", "\u00ad",
)  # fmt: skip
OPTIONS = {
    "nmt_nfkc unigram": {"model_type": "unigram"},
    "nmt_nfkc_cf bpe, symbols": {
        "model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "user_defined_symbols": ["USR", "foo"],
    },
    "bytes bpe": {"model_type": "bpe", "byte_fallback": True},
    "bytes unigram, symbols": {"model_type": "unigram", "byte_fallback": True, "user_defined_symbols": ["USR"]},
    "suffixes": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
    "all spaces": {"model_type": "bpe", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
}  # fmt: skip
"""Models of other tools, which a user may give."""

COMPARE = """
async ({description, rows, scrambled}) => {
    const { TextSide } = await import("./text_side.js");
    const fetched = await Promise.all(["model", "vocabulary"].map((name) => fetch(`./files/${name}`)));
    const side = new TextSide(description, new Uint8Array(await fetched[0].arrayBuffer()), await fetched[1].text());
    return [
        rows.map(([line, given]) => {
            const { ids, pieces, offsets, items, quotation } = side.encode(line, given);
            const errors = side.typingErrors(line).map(({ start, end, read_as }) => [start, end, read_as]);
            return [ids, pieces, offsets, items, quotation, errors];
        }),
        scrambled.map((pieces) => side.join(pieces)),
    ];
}
"""


def _lines() -> list[str]:
    draw = random.Random(1)
    letters = WORDS + " .,▁\u00a0漢é0"
    sentences = [" ".join(draw.choices(WORDS.split(), k=draw.randint(1, 9))) + draw.choice(".?!") for _ in range(300)]
    items = [example for kind in KINDS.values() for example in kind.examples]
    sentences += [f"Ein {item} ({item}) und {other}." for item, other in zip(items, items[3:], strict=False)]
    sentences += [
        " ".join(items[:12]),
        "Ien Hunnd läfut üebr die Grune WISEE, springtt indie Wise un springgt in den Se, spirngt ind eg\u200brune",
        "⟦1⟧ \ue002 Hund ⟦12⟧",
        "Hund, שָׁלוֹם, 日本・한국 und می\u200cخ １９８５ ３．１４ ٣٤ ｈｔｔｐ：／／ａ．ｂ ＂𠀋＂",
        "Straße Šťávěk O’Ödögh ÉTÉ ŠŤÁVĚK DIE STRAßE IST WEIß",
        "1,234.5 3.14 1 000",
        *("„Der Hund läuft.“", ' "Hund" ', "«\u00a0Hund 12\u00a0»", '"{x}"', '"a" und "b"', '" "', "‘Der Hund’"),
        *("\u3000- Hund", "\ufeff\u200b - Hund", "-\u00a0Hund", "\ufeffZebra und Hund", "Hund mit Od\u0308 hier"),
        "Kowalczyk 도 TRUE 를 H\u00fcnd. Brankvold 와 LOVBR: Hund",
        *("Der Hund von Dr. Kowalczyk", "bei Mr.\u00a0Brankvold", "Hund und Ko\u0301walczyk und Kowal\u200bczyk"),
        *(
            "\u2060- Hund \u200bhttp://a.b/\u200bcd\u00ade {x\ufeff}\u200b{y}",
            "Hund bei Šťá\u200bvěk mit D\u2060r. Brank\u00advold",
        ),
    ]
    return [*sentences, *("".join(draw.choices(letters, k=draw.randint(1, 20))) for _ in range(100)), *UNUSUAL]


def _segmentation(name: str) -> tuple[str, Segmentation, bytes]:
    """The kind of a segmentation in its description, the segmentation, and its model file."""
    if name == "whitespace":
        return name, WhitespaceSegmentation(), b""
    if name == "characters":
        return name, CharacterSegmentation(), b""
    text = [line for line in _lines() if line.isprintable()][:300]
    if name == "case marks":
        segmentation = train_case_marks(
            [line.title() if place % 3 else line for place, line in enumerate(text)], "bpe", 150
        )
        return "sentencepiece", segmentation, segmentation.model
    if name in ("normal form", "target"):
        form = NormalForm.of_sources(text) if name == "normal form" else NormalForm()
        subwords = train_case_marks([form.text(line) for line in text], "bpe", 150)
        return "sentencepiece", NormalisedSegmentation(subwords, form), subwords.model
    if name.startswith("protected"):
        form = NormalForm.of_sources(text[:100])
        if "spelling" in name:
            form = form.with_spelling(text)
        subwords = train_case_marks(text, "bpe", 150).extended(PLACEHOLDERS)
        separators = ((".", False, ","), (",", True, "\u202f"))
        items = Items(
            [kind.pattern for kind in KINDS.values()],
            separators,
            WordFilter.of(WORDS.lower().split()),
            form.foreign_words,
        )
        protected = ProtectedSegmentation(NormalisedSegmentation(subwords, form), items, source="source" in name)
        return "sentencepiece", protected, subwords.model
    if name in ("bpe", "unigram"):
        model = train_model(text, name, 120)
    elif name == "more characters":  # as a fine-tuning adds them
        segmentation = SubwordSegmentation(train_model(text[:20], "bpe", 120)).extended(["字", "ß", "😀"])
        return "sentencepiece", segmentation, segmentation.model
    else:
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text), model_writer=written, vocab_size=400 if "bytes" in name else 120,
            hard_vocab_limit=False, minloglevel=4, **OPTIONS[name],
        )  # fmt: skip
        model = written.getvalue()
    return "sentencepiece", SubwordSegmentation(model), model


@pytest.mark.parametrize(
    "name",
    [
        "whitespace",
        "characters",
        "bpe",
        "unigram",
        "more characters",
        "case marks",
        "normal form",
        "target",
        "protected source",
        "protected target",
        "protected source, spelling",
        *OPTIONS,
    ],
)
def test_segments_are_those_of_python(name: str, run_script: RunScript, tmp_path: Path) -> None:
    kind, segmentation, model = _segmentation(name)
    lines, draw = _lines(), random.Random(2)
    pieces = sorted({piece for line in lines for piece in segmentation.segment(line).pieces} - {"<unk>", "<s>", "</s>"})
    side = TextSide(segmentation, Vocabulary(pieces[::2]))  # half of the pieces are unknown to the vocabulary
    (tmp_path / "model").write_bytes(model)
    side.vocabulary.save(tmp_path / "vocabulary")
    inner = innermost(segmentation)
    formed = segmentation.inner if isinstance(segmentation, ProtectedSegmentation) else segmentation
    case = inner.case if isinstance(inner, SubwordSegmentation) else None
    description = {"kind": kind} | ({} if case is None else {"case_marks": case.joined})
    if isinstance(formed, NormalisedSegmentation):
        description["normal_form"] = {"known": formed.form.known}
        if spelling := formed.form.spelling:
            description["normal_form"]["spelling"] = {
                "words": " ".join(spelling.words), "repeated": spelling.repeated, "frequent": spelling.frequent,
            }  # fmt: skip
    if isinstance(segmentation, ProtectedSegmentation):
        items = segmentation.items
        assert items.known is not None
        description["protected"] = {
            "patterns": items.patterns, "separators": items.separators, "known_words": items.known.text(),
            "foreign_words": True, "source": segmentation.source,
        }  # fmt: skip
    special = [*MARKS, "<unk>", "</s>", "▁", "▁▁x", "<0xE6>", "<0xBC>", "<0xA2>", "<0x41>"]
    scrambled = [draw.choices(pieces, k=4) + draw.choices(special, k=2) for _ in range(100)]
    scrambled += [segmentation.segment(line).pieces for line in lines] + [[piece] for piece in (*special, *pieces)]

    of_source = [draw.sample(line.split(), k=min(len(line.split()), 3)) for line in lines]
    rows = list(zip(lines, of_source, strict=True))

    found, joined = run_script(COMPARE, {"description": description, "rows": rows, "scrambled": scrambled})

    for (line, items), ours in zip(rows, found, strict=True):
        errors = side.typing_errors(line) if "target" not in name else []
        assert ours == json.loads(json.dumps([*side.encode(line, items), errors])), line
    for given, text in zip(scrambled, joined, strict=True):
        assert text == restore(segmentation.join(given), ()), given


def test_half_a_surrogate_pair_becomes_a_replacement_character(run_script: RunScript) -> None:
    """JavaScript strings hold such halves; Python's segmentation replaces them as well."""
    script = """async () => (await import("./code_points.js")).printable("a\\ud83d b\\udc00😀")"""
    assert run_script(script) == "a\ufffd b\ufffd😀"
