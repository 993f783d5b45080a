"""HTML is read into texts with marks and written again without losing a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.html_text import MAX_ELEMENTS, Markup
from dragoman.documents.rendering import AlignedTranslation, original, render
from dragoman.text.sentences import sentence_spans
from tests.documents.translators import same, translated_html

FRAGMENTS = [
    *("<p>", "</p>", "<b>", "</b>", '<a href="x>y&amp;z">', "</a>", "<i>", "</i>", "<br>", "<br/>", "<img src=a.png>"),
    *("Hello", " world", ".", "\n  ", "&lt;", "&copy;", "&nbsp;", "&", "<", ">", "&unknown;", "&#x41;", "é", "木"),
    *("<!-- note -->", "<script>if (a < b) {}</script>", "<style>p > a {}</style>", "<pre>", "</pre>", "<?x y?>"),
    *("<?php echo $a->b ?>", "<%= a > b %>", "<?php", "<%", "%>", "?>"),
    *("<a ", '<b x="', "</", "<!--", "<!", "&#", "<script>"),
    *('<span translate="no">', "</span>", '<em class="notranslate">', "</em>", "<svg>", "</svg>", "<!DOCTYPE html>"),
]


def _written(document: Markup) -> str:
    return "".join(part if isinstance(part, str) else original(part) for part in document.parts)


@given(st.lists(st.sampled_from(FRAGMENTS)).map("".join))
def test_what_is_not_translated_is_written_as_it_was_read(source: str) -> None:
    document = Markup(source)
    assert _written(document) == source
    document.separate()
    assert _written(document) == source


def test_only_text_is_translated() -> None:
    source = '<p class="a">One &amp;\n  two</p><script>x</script><p translate="no">no</p><td>three<br>four</td><b>!</b>'
    assert [text.text for text in Markup(source).texts] == ["One & two", "three", "four"]


def test_code_of_templates_is_not_translated() -> None:
    source = "<% if a > b %><p>One <?php echo $a->b; ?> two <%= name %>.</p><?= $x->y ?><p>a <% b > c</p>"
    assert [text.text for text in Markup(source).texts] == ["One  two .", "a <% b > c"]
    assert _rendered("<p>One <%= a->b %> two</p>", "eins zwei", [0, 1]) == "<p>eins <%= a->b %> zwei</p>"


def test_a_text_of_very_many_tags_is_divided_by_them() -> None:
    source = "<b>a</b> " * (MAX_ELEMENTS + 1)
    document = Markup(source)
    assert len(document.texts) == MAX_ELEMENTS + 1
    assert _written(document) == source


def test_tags_that_never_end_are_read_in_linear_time() -> None:
    source = "<p>a</p>" + "<a " * 100_000 + "&amp; b"  # in quadratic time: minutes
    document = Markup(source)
    assert document.texts[-1].text.endswith("<a & b")
    assert _written(document) == source
    assert _written(Markup("<p>a</p>" + "<% " * 300_000 + "<b>")).endswith("<% <b>")


def _rendered(source: str, target: str, links: list[int | None]) -> str:
    """A document of one sentence with `target` as its translation; `links` has a source word for each of its words."""
    document = Markup(source)
    [text] = document.texts
    spans = sentence_spans(text.text, "en")
    starts = [start for start, _ in spans]
    sentences = []
    for start, end in spans:
        from dragoman.documents.html_text import spans_of_words

        aligned = AlignedTranslation(
            target, list(spans_of_words(text.text[start:end])), list(spans_of_words(target)), list(links)
        )
        sentences.append(aligned)
    assert len(starts) == 1
    parts = [part if isinstance(part, str) else render(document, part, spans, sentences) for part in document.parts]
    return "".join(parts)


def test_an_element_is_put_around_the_words_that_translate_its_own() -> None:
    cases = [
        ("<p>the <b>red</b> house</p>", "la casa roja", [0, 2, 1], "<p>la casa <b>roja</b></p>"),
        # around the whole sentence
        ("<b>the red house</b>", "la casa roja", [0, 2, 1], "<b>la casa roja</b>"),
        # nested
        ("a <a href=x>b <i>c</i></a> d", "A D B C", [0, 3, 1, 2], "A D <a href=x>B <i>C</i></a>"),
        # words that no longer stand together, with and without a short gap
        ("<b>look up</b> the word now", "schlage das nach jetzt", [0, 2, 1, 4], "<b>schlage das nach</b> jetzt"),
        ("<b>a b</b> c d e", "A C D E B", [0, 2, 3, 4, 1], "<b>A</b> C D E <b>B</b>"),
        # another element in between
        ("<b>a b</b> <i>c</i>", "A C B", [0, 2, 1], "<b>A</b> <i>C</i> <b>B</b>"),
        # elements without words stand before the word that followed them
        ("one <img src=i> two", "zwei eins", [1, 0], "<img src=i> zwei eins"),
        ("one <b>lost</b> two", "eins zwei", [0, 2], "eins <b></b>zwei"),
        # punctuation stays outside, words without a link belong to what is around them
        ("a <b>dog runs</b>.", "ein Hund der rennt.", [0, 1, None, 2], "ein <b>Hund der rennt</b>."),
        # an element that is not translated is written once, in its place
        ("a <q translate=no>b <i>c</i></q> d", "D B C A", [3, 1, 2, 0], "D <q translate=no>b <i>c</i></q> A"),
        # text never becomes markup
        ("x &lt;b&gt; y", "X <b> Y & Z", [0, 1, 2, None], "X &lt;b&gt; Y &amp; Z"),
        ("&copy; me", "© ich", [0], "&copy; ich"),
        # tags without a partner
        ("one</b> two", "eins zwei", [0, 1], "eins</b> zwei"),
    ]
    for source, target, links, expected in cases:
        assert _rendered(source, target, links) == expected, source


def test_an_element_that_ends_inside_of_a_sentence_is_divided() -> None:
    document = Markup("<b>One two. Three</b> four.")
    [text] = document.texts
    spans = sentence_spans(text.text, "en")
    sentences = [
        AlignedTranslation("Eins zwei.", [(0, 3), (4, 7)], [(0, 4), (5, 9)], [0, 1]),
        AlignedTranslation("Vier drei.", [(0, 5), (6, 10)], [(0, 4), (5, 9)], [1, 0]),
    ]
    assert render(document, text, spans, sentences) == "<b>Eins zwei.</b> Vier <b>drei</b>."


def test_pages_keep_their_elements() -> None:
    """Each sentence is its own translation in upper case."""
    for source, expected in (
        # elements without words stay whole, with the spaces around them
        ('Ein <a href="x"><img src="y"></a> Hund', 'EIN <a href="x"><img src="y"></a> HUND'),
        ('<p><a href="x"> <img src="y"></a> Ein Hund', '<p><a href="x"> <img src="y"></a> EIN HUND'),
        ("Ein <b class=a><i class=b></i></b> Hund.", "EIN <b class=a><i class=b></i></b> HUND."),
        ('auf <a href="x"><img src="y">der Bank</a>.', 'AUF <a href="x"><img src="y">DER BANK</a>.'),
        ("auf <a href=x><svg><path/></svg></a> Eis", "AUF <a href=x><svg><path/></svg></a> EIS"),
        ("<b>Ein <img></b> Hund", "<b>EIN <img></b> HUND"),
        # what belongs to the word before it
        ("Der Hund<sup><a href=n>1</a></sup> hier.", "DER HUND<sup><a href=n>1</a></sup> HIER."),
        ("Zwei Hunde<sup>[1]</sup>, drei m<sup>2</sup>.", "ZWEI HUNDE<sup>[1]</sup>, DREI M<sup>2</sup>."),
        ("<ruby>Hund<rt>hunt</rt></ruby> hier", "<ruby>HUND<rt>hunt</rt></ruby> HIER"),
        ("mit h<sub>2</sub>o und c<sub>6</sub>h<sub>6</sub>.", "MIT h<sub>2</sub>o UND c<sub>6</sub>h<sub>6</sub>."),
        ("a <sup>das ist ein Satz</sup> b", "A <sup>DAS IST EIN SATZ</sup> B"),
        # elements without end tags
        ("<ul><li class=notranslate>a<li>b<li>c</ul><p>d", "<ul><li class=notranslate>a<li>B<li>C</ul><p>D"),
        ("<div><p translate=no>a</div><p>b", "<div><p translate=no>a</div><p>B"),
        ("<tr translate=no><td>a<td>b<tr><td>c", "<tr translate=no><td>a<td>b<tr><td>C"),
        ("<li translate=no>a<ul><li>b</ul>c<li>d", "<li translate=no>a<ul><li>b</ul>c<li>D"),
        ("<select><option translate=no>a<option>b</select>c", "<select><option translate=no>a<option>B</select>C"),
        # code and numbers
        ("nimm <code>a(x)</code>, dann <kbd>b</kbd>", "NIMM <code>a(x)</code>, DANN <kbd>b</kbd>"),
        ("nimm <kbd>Strg</kbd>+<kbd>C</kbd> da", "NIMM <kbd>Strg</kbd>+<kbd>C</kbd> DA"),
        ('die Note<a href="#1">1</a>.', 'DIE NOTE<a href="#1">1</a>.'),
        ("<pre>a <b>b</b></pre>c<textarea>d</textarea>", "<pre>a <b>b</b></pre>C<textarea>d</textarea>"),
        ("<td>2018<td>1.234,50<td>15 %<td>03.05.2020<td>a", "<td>2018<td>1.234,50<td>15 %<td>03.05.2020<td>A"),
        ("mit <code>&lt;</code>, <code>&gt;</code> und", "MIT <code>&lt;</code>, <code>&gt;</code> UND"),
        # punctuation stays inside of elements and beside them
        ("<b>Achtung:</b> hier", "<b>ACHTUNG:</b> HIER"),
        ("siehe <a href=x>„Haus“</a><!-- a --> (<i>neu</i>)", "SIEHE <a href=x>„HAUS“</a><!-- a --> (<i>NEU</i>)"),
        ("{0} [an] <x> [<y>]", "{0} [AN] <x> [<y>]"),
        ("die Datei '<x>' fehlt (<y> oder <z>)", "DIE DATEI '<x>' FEHLT (<y> ODER <z>)"),
        (
            "ein <code>.</code> (am <a href=x><code>=</code> Ende</a>)",
            "EIN <code>.</code> (AM <a href=x><code>=</code> ENDE</a>)",
        ),
        ("これは<b>文です。</b><i>次</i>の文。",) * 2,
        (
            "ein <a>Hund</a><b>.</b> Zwei<i>, </i>drei <u>(</u>vier)",
            "EIN <a>HUND</a><b>.</b> ZWEI<i>, </i>DREI <u>(</u>VIER)",
        ),
        # symbols are no words, links of a menu are not one
        ("<h2>Hund<a href=x>§</a></h2><i>★</i> neu", "<h2>HUND<a href=x>§</a></h2><i>★</i> NEU"),
        ("<a href=x>Start</a><a href=y>Hilfe</a>", "<a href=x>START</a><a href=y>HILFE</a>"),
        # elements that overlap
        ("<b>ein <i>Hund</b> hier</i> weg", "<b>EIN <i>HUND</b> HIER</i> WEG"),
    ):
        assert translated_html(source) == expected, source
        assert translated_html(source, same) == source, source
    # words that stay as they are, such as names, keep the elements within them
    for source in (
        "die <a href=x>core</a>::<wbr><a href=y>fmt</a>",
        "ein <b>D</b>ragoman",
        "die Donau<wbr>dampfer",
        "drei <code>x</code>s, der<code>y z</code>-<code>z</code>를 da",
    ):
        assert translated_html(source, same) == source
    assert translated_html("<b>d</b>ragoman <b>gu</b>t") == "<b>DRAGOMAN</b> <b>GUT</b>"


def test_spaces_between_elements_without_words_stay() -> None:
    for text in (
        "Die Regel '<img id=a> <img id=b> <img id=c>' gilt",
        "ab <i></i> <img> cd",
        "ab (<img>  <!-- x --> <wbr>) cd",
        "<img> <img> ab",
        "ab<sup>1</sup> <img>cd",
        "ab (<img> cd)",
    ):
        assert translated_html(text, same) == text


def test_elements_within_each_other_and_around_sentences_stay_so() -> None:
    for text in (
        "X<span><em>?</em></span> ab",
        '<p><b><i><a name="x"></a>Ab: </i></b>cd ef</p>',
        '1. <b><a name="x"></a>Ab</b> cd',
        "<b>Ab cd.<img></b> Ef gh",
        "<a href=x>Ab cd. Ef <i>gh.</i></a> <u>Ij kl.</u>",
        "<a><b>Ab.</b> <img> <b>Cd</b></a> ef",
    ):
        assert translated_html(text, same, "en") == text
    japanese = "文です。<span><a name=x></a>［名前］</span>→次。<b>［除外...］</b>を"
    assert translated_html(japanese, same, "ja") == japanese


def test_elements_of_nothing_but_spaces_beside_a_sentence_stay() -> None:
    assert translated_html("ab <a>cd<i class=x> </i></a>") == "AB <a>CD</a><i class=x> </i>"
    assert translated_html("ab <a>cd <q>&nbsp;</q></a>") == "AB <a>CD</a> <q>&nbsp;</q>"


def test_a_text_of_nothing_but_code_is_none() -> None:
    for text in ("<p><code>ab cd</code></p>", "<td><b><kbd>Ctrl</kbd></b> + <kbd>C</kbd></td>"):
        assert not Markup(text).texts
        assert translated_html(text) == text
    text = "<p>用<code>文一。文二。</code></p>"
    assert len(sentence_spans(Markup(text).texts[0].text, "zh")) == 1
    assert translated_html(text, same, "zh") == text
