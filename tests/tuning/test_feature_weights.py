from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.scoring.nbest import parse_entry
from dragoman.tuning.feature_weights import as_vector, as_weights, read_weights, shape_of, weights_file

SHAPE = {"LM0": 1, "TM0": 3}


def written(tmp_path, text):
    path = tmp_path / "weights"
    path.write_text(text)
    return path


def test_weights_are_read_as_they_were_written(tmp_path):
    weights = {"LM0": (0.5,), "TM0": (-1.25, 3e-9, 12345678.0)}
    path = tmp_path / "weights.gz"
    with weights_file(path) as write:
        write(weights)
    assert read_weights(path) == weights
    vector = as_vector(weights, SHAPE, "w")
    assert vector.tolist() == [0.5, -1.25, 3e-9, 12345678.0]
    assert as_weights(vector, SHAPE) == weights


def test_the_name_of_a_feature_may_contain_equals_signs(tmp_path):
    weights = {"wt_=~=": (0.5, -1.0), "F": (2.0,)}
    with weights_file(tmp_path / "w") as write:
        write(weights)
    assert read_weights(tmp_path / "w") == weights


def test_the_format_is_that_of_moses(tmp_path):
    with weights_file(tmp_path / "w") as write:
        write({"LM0": (0.5,), "TM0": np.array([0.2, 0.1])})
    assert (tmp_path / "w").read_text() == "LM0= 0.5\nTM0= 0.2 0.1\n"


def test_weights_are_read_from_the_section_of_a_moses_ini(tmp_path):
    ini = "[feature]\nKENLM name=LM0 order=3\n\n[weight] # old\n# tuned\nLM0= 0.5 # up\nTM0= 1 2 3\n\n[threads]\n4\n"
    assert read_weights(written(tmp_path, ini)) == {"LM0": (0.5,), "TM0": (1, 2, 3)}
    assert read_weights(written(tmp_path, "Net#2= 1 # mine\n")) == {"Net#2": (1,)}


def test_weights_follow_the_order_of_the_list_not_of_the_file():
    entry = parse_entry("0 ||| a ||| LM0= 7 TM0= 1 2 3 ||| 0", "list:1")
    assert as_vector({"TM0": (1, 2, 3), "LM0": (7,)}, shape_of(entry), "w").tolist() == [7, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LM0= 1\nLM0 2\n", ":2: 'LM0 2' is no weight; expected `Name= weight ...`"),
        ("LM0= one\n", ":1: a weight of LM0 is 'one', not a finite number"),
        ("LM0= 1\nLM0= 2\n", ":2: the weights of LM0 are given twice"),
        ("LM0=\n", ":1: 'LM0=' is no weight"),
        ("LM0= 1 TM0= 2\n", ":1: 'LM0= 1 TM0= 2' is no weight"),
        ("\n# nothing\n", ": no weights in it"),
    ],
)
def test_files_without_weights_are_refused(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_weights(path)
    assert str(caught.value).startswith(f"{path}{said}")


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"LM0": (1.0,)}, "w: no weight for the feature TM0"),
        ({"LM0": (1.0,), "TM0": (1.0,)}, "w: 1 weights for the 3 values of the feature TM0"),
        ({"LM0": (1.0,), "TM": (1.0,)}, "w: there is no feature TM here, but LM0, TM0"),
    ],
)
def test_weights_that_do_not_fit_the_features_are_refused(weights, said):
    with pytest.raises(InputError) as caught:
        as_vector(weights, SHAPE, "w")
    assert str(caught.value) == said
