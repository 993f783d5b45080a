from __future__ import annotations

import pytest

from dragoman.errors import InputError
from dragoman.smt.arpa import read_arpa
from dragoman.smt.kenlm_model import KenlmModel

GOOD = r"""
\data\
ngram 1=3
ngram 2=1

\1-grams:
-1.5	a	-0.3
-99	<s>	-0.2
-0.5	</s>

\2-grams:
-0.1	<s> a

\end\
""".splitlines()


def changed(number, line):
    lines = list(GOOD)
    lines[number - 1 : number] = line
    return lines


def test_ngrams_are_read_in_order(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text("\n".join(GOOD))
    assert [tuple(ngram) for ngram in read_arpa(path)] == [
        (("a",), -1.5, -0.3),
        (("<s>",), -99, -0.2),
        (("</s>",), -0.5, 0),
        (("<s>", "a"), -0.1, 0),
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["nothing"], ": no line \\data\\ in it; it is no ARPA language model"),
        (changed(3, []), ":3: `ngram 2=1` where the number of 1-grams was expected"),
        (changed(4, ["ngram 3=1"]), ":4: `ngram 3=1` where the number of 2-grams was expected"),
        (
            changed(7, ["-1.5 a b c"]),
            ":7: `-1.5 a b c` is not one of 3 1-grams (0 before it are); expected a logarithm",
        ),
        (changed(7, ["x\ta\t-0.3"]), ":7: a logarithm is 'x', not a finite number"),
        (changed(7, ["1.5\ta\t-0.3"]), ":7: the logarithm 1.5 of a probability is above 0"),
        (changed(7, ["-1.5\ta\tnan"]), ":7: a back-off weight is 'nan', not a finite number"),
        (changed(9, []), ":9: `` is not one of 3 1-grams (2 before it are)"),
        (changed(9, ["-0.5 </s>", "-1 b"]), ":10: `-1 b` where \\2-grams: was expected"),
        (changed(12, ["-0.1 <s> a -0.2"]), ":12: `-0.1 <s> a -0.2` is not one of 1 2-grams"),
        (GOOD[:-1], ": ends before \\end\\; it has been cut off"),
        (GOOD[:2], ": no line `ngram 1=NUMBER` after \\data\\"),
    ],
)
def test_a_malformed_file_is_reported_with_its_line(lines, said, tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        list(read_arpa(path))
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_file_that_kenlm_rejects_is_reported_with_its_line(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text("\n".join(changed(7, ["x\ta\t-0.3"])) + "\n")
    with pytest.raises(InputError, match=r"lm\.arpa:7: a logarithm is 'x'"):
        KenlmModel(path)
    path.write_text("\n".join(changed(12, ["-0.1 b a"])) + "\n")
    with pytest.raises(InputError, match=r"lm\.arpa: KenLM cannot read this language model: "):
        KenlmModel(path)
    with pytest.raises(InputError, match=r"lm\.arp: does not exist; did you mean"):
        KenlmModel(tmp_path / "lm.arp")


def test_a_real_file_is_read_whole(shared_data):
    path = shared_data / "moses-phrase-tables" / "fr-en.lexreo.en.lm.arpa.xz"
    counts = [0] * 5
    for ngram in read_arpa(path):
        counts[len(ngram.words) - 1] += 1
    assert counts == [3305, 14915, 2103, 980, 568]


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_bytes(b"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\xff b\n\n\\end\\\n")
    with pytest.raises(InputError, match=r"lm.arpa:5: byte 0xff at position 5 is not UTF-8"):
        KenlmModel(path)
