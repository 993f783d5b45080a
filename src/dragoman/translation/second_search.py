"""A second search for translations that loop or run to the maximum length (`search.search_again`).

The best translation of a line decides. If it loops (text/loops.py) or was truncated, the line is searched again with no
n-gram twice, a coverage penalty where the model attends, and else the same options; if that is no better, once more
with a smaller n. A repetition of a span that has as many segments as n, or more, then stops before it is complete; a
shorter span can still stand three times with the larger n, but not with the smaller. A vocabulary of characters has
larger n, because letters of good text repeat. Of all searches the first translations are kept that do not loop and are
complete; if there are none, the first that do not loop; else the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.schema import SearchConfig
from dragoman.text.loops import has_loop
from dragoman.text.vocabulary import SPECIALS, Vocabulary
from dragoman.translation.result import Translation

ORDERS, ORDERS_OF_CHARACTERS = (3, 2), (6, 4)
"""n of the n-grams that no translation has twice, of the second search and the third."""
COVERAGE = 0.2
"""Weight of the coverage penalty, that of Wu et al. 2016, section 7, where the search has none."""
LONGER = 0.1
"""Share of the pieces of a vocabulary of characters that may have more than one, such as tags."""


def repetition_orders(vocabulary: Vocabulary) -> Sequence[int]:
    """Return n of the n-grams that further searches never write twice, search by search."""
    pieces = vocabulary.pieces(range(len(SPECIALS), len(vocabulary)))
    longer = sum(len(piece) > 1 for piece in pieces)
    return ORDERS_OF_CHARACTERS if longer <= LONGER * len(pieces) else ORDERS


def search_without_repetition(search: SearchConfig, order: int, *, attends: bool) -> SearchConfig:
    """Return the options of a further search."""
    coverage = search.coverage_penalty or (COVERAGE if attends else 0.0)
    blocked = min(order, search.no_repeat_ngram) if search.no_repeat_ngram else order
    return search.replaced(no_repeat_ngram=blocked, coverage_penalty=coverage)


def faults(n_best: Sequence[Translation]) -> tuple[bool, bool]:
    """Return whether the best of some translations loops, and whether it was truncated."""
    return has_loop(n_best[0].source, n_best[0].text), not n_best[0].finished
