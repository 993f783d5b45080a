"""The drawing of a search."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from dragoman.report.beam_tree import as_page, as_svg, as_text
from dragoman.search.trace import Node
from dragoman.text.vocabulary import BOS, EOS, Vocabulary

VOCABULARY = Vocabulary(["a<b", "verylongpieceindeedsolong", "ﷺ"])
SVG = "{http://www.w3.org/2000/svg}"


def small_tree():
    """Three steps: 4 and 5 kept, 6 dropped; then 5 finishes."""
    end = Node(EOS, -0.5, -1.5, "finished", best=True)
    first = Node(4, -0.7, -0.7, "kept", children=[Node(6, -2.0, -2.7, "open")])
    second = Node(5, -1.0, -1.0, "kept", best=True, children=[end])
    return Node(BOS, 0.0, 0.0, "kept", best=True, children=[first, second, Node(6, -3.0, -3.0, "dropped")])


def test_every_hypothesis_is_drawn_with_its_log_probabilities():
    drawing = ElementTree.fromstring(as_svg(small_tree(), VOCABULARY))
    texts = drawing.findall(f"{SVG}text")
    assert [text.text for text in texts] == [
        "\u2068<s>\u2069",
        "\u2068verylongpiece…\u2069",
        "\u2068</s> ■\u2069",
        "\u2068a<b\u2069",
        "\u2068ﷺ …\u2069",
        "\u2068ﷺ\u2069",
    ]
    titles = [text.find(f"{SVG}title").text for text in texts]
    assert titles[1] == "verylongpieceindeedsolong: -1.000, total -1.000; kept"
    assert titles[5] == "ﷺ: -3.000, total -3.000; dropped"
    assert len(drawing.findall(f"{SVG}path")) == 5


def test_the_translation_is_one_straight_line_and_no_two_hypotheses_share_a_place():
    drawing = ElementTree.fromstring(as_svg(small_tree(), VOCABULARY))
    texts = drawing.findall(f"{SVG}text")
    assert len({text.get("y") for text in texts if text.get("font-weight") == "bold"}) == 1
    places = [(text.get("x"), text.get("y")) for text in texts]
    assert len(set(places)) == len(places)
    height = float(drawing.get("height"))
    assert all(0 < float(y) < height for _, y in places)


def test_a_long_search_is_drawn_without_recursion():
    node = root = Node(BOS, 0.0, 0.0, "kept")
    for _ in range(3000):
        node.children = [Node(4, -0.1, node.total - 0.1, "kept")]
        node = node.children[0]
    assert as_svg(root, VOCABULARY).count("<text") == 3001


def test_text_lists_each_step_from_the_most_probable_on():
    assert as_text(small_tree(), VOCABULARY).split("\n") == [
        "step 1",
        "  kept        -0.700  a<b",
        "* kept        -1.000  verylongpieceindeedsolong",
        "  dropped     -3.000  ﷺ",
        "step 2",
        "* finished    -1.500  verylongpieceindeedsolong </s>",
        "  open        -2.700  a<b ﷺ",
    ]


def test_the_page_holds_the_line_and_cannot_be_broken_by_it():
    page = as_page(small_tree(), VOCABULARY, "</title><script>x\x07", "übersetzt")
    assert "<script>" not in page
    assert "&lt;/title&gt;&lt;script&gt;x␇" in page
    assert "übersetzt" in page
