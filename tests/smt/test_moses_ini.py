from __future__ import annotations

import logging

import pytest

from dragoman.errors import InputError
from dragoman.requests.smt import DISTORTION_LIMIT
from dragoman.smt.features import FeatureNames, Features
from dragoman.smt.moses_ini import extend_configuration, read_configuration, replaced_weights, write_configuration

from .conftest import CONFIGURATION


def test_what_is_written_is_read(tmp_path):
    write_configuration(tmp_path, order=4, distortion_limit=5)
    found = read_configuration(tmp_path)
    assert found == read_configuration(tmp_path / "moses.ini")
    assert found.phrase_table == tmp_path / "phrase-table.gz"
    assert found.reordering_table == tmp_path / "reordering-table.wbe-msd-bidirectional-fe.gz"
    assert found.language_model == tmp_path / "lm.arpa"
    assert (found.distortion_limit, found.table_limit) == (5, 20)
    assert found.features == Features(FeatureNames(), 4, reordering=True)
    assert found.weights == found.features.initial_weights()
    assert list(found.features.shape) == list(FeatureNames())


def test_names_and_numbers_of_scores_are_those_of_the_file(tmp_path):
    text = CONFIGURATION.replace("TranslationModel0", "Phrases").replace(
        "num-features=4", "num-features=5 table-limit=3"
    )
    text = text.replace("Phrases= 0.3 0.2 0.5 0.1", "Phrases= 0.3 0.2 0.5 0.1 0.9")
    text = "\n".join(line for line in text.splitlines() if "LexicalReordering" not in line)
    (tmp_path / "my.ini").write_text(text)
    found = read_configuration(tmp_path / "my.ini")
    assert found.features.shape == {
        "Distortion0": 1,
        "LM0": 1,
        "WordPenalty0": 1,
        "PhrasePenalty0": 1,
        "Phrases": 5,
        "UnknownWordPenalty0": 1,
    }
    assert (found.table_limit, found.distortion_limit, found.reordering_table) == (3, 3, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("KENLM name=LM0 factor=0 path=lm.arpa order=3\n", "", "moses.ini: its section [feature] lacks KENLM"),
        ("KENLM name", "SRILM name", "moses.ini:11: SRILM is no feature that is here; there are PhraseDictionaryMem"),
        ("Distortion\n", "Distortion\nDistortion\n", "moses.ini:9: a second feature Distortion"),
        ("wbe-msd", "hier-msd", "moses.ini:10: reordering of type hier-msd-bidirectional-fe-allff; here is wbe-msd-bi"),
        ("factor=0", "factor=1", "moses.ini:11: factor=1; here is factor 0 alone"),
        ("num-features=4", "num-features=4 output-factor=0,1", "moses.ini:9: output-factor=0,1; here is factor 0"),
        (" path=lm.arpa", "", "moses.ini:11: no path=FILE for LM0"),
        ("path=lm.arpa", "path=lm\0.arpa", "moses.ini:11: the path of LM0 has a NUL character"),
        ("num-features=4", "num-features=" + "9" * 5000, "moses.ini:9: num-features=99999"),
        ("num-features=4", "num-features=x", "moses.ini:9: num-features=x is not a whole number from 0 on"),
        ("limit]\n3", "limit]\nsix", "moses.ini:2: 'six' is not a whole number"),
        ("[distortion-limit]\n3", "3", "moses.ini:1: '3' stands in no section; a moses.ini begins with a [section]"),
        ("LM0= 0.8\n", "", "moses.ini: no weight for the feature LM0"),
        ("LM0= 0.8", "LM0= 0.8 0.9", "moses.ini: 2 weights for the 1 values of the feature LM0"),
        ("LM0= 0.8", "LM0= much", "moses.ini:20: a weight of LM0 is 'much', not a finite number"),
    ],
)
def test_an_unsupported_feature_is_named(old, new, said, tmp_path):
    assert CONFIGURATION.count(old) == 1
    (tmp_path / "moses.ini").write_text(CONFIGURATION.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_configuration(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/{said}")


def test_a_system_with_more_scores_has_its_own_table_and_the_other_files_of_the_old_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    text = CONFIGURATION.replace("path=phrase-table.gz", f"path={tmp_path}/table table-limit=7 # mine")
    (old / "moses.ini").write_text(text)
    before = read_configuration(old)
    extend_configuration(before, new, (0.2, 0.0))
    after = read_configuration(new)
    assert after.phrase_table == new / "phrase-table.gz"
    assert after.features.translation_scores == 6
    assert after.weights == before.weights | {"TranslationModel0": (0.3, 0.2, 0.5, 0.1, 0.2, 0.0)}
    assert (after.table_limit, after.distortion_limit) == (7, 3)
    for one, other in ((after.language_model, "lm.arpa"), (after.reordering_table, "reordering-table.gz")):
        assert one == new / ".." / "old" / other  # relative, so that both can be moved together
    assert (old / "moses.ini").read_text() == text


def test_the_paths_of_a_system_behind_a_symbolic_link_lead_to_the_files(tmp_path):
    for name in ("old", "disk/folder/new"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "folder")
    (tmp_path / "old" / "moses.ini").write_text(CONFIGURATION)
    (tmp_path / "old" / "lm.arpa").touch()
    extend_configuration(read_configuration(tmp_path / "old"), tmp_path / "link" / "new", (0.2,))
    assert read_configuration(tmp_path / "link" / "new").language_model.samefile(tmp_path / "old" / "lm.arpa")


def test_a_section_without_effect_gives_a_warning(tmp_path, caplog):
    (tmp_path / "moses.ini").write_text(f"[drop-unknown]\n1\n{CONFIGURATION}")
    with caplog.at_level(logging.WARNING):
        read_configuration(tmp_path)
    assert caplog.messages == [f"{tmp_path}/moses.ini:1: the section [drop-unknown] has no effect here"]


def test_weights_are_replaced_and_the_rest_stays(tmp_path):
    path = tmp_path / "moses.ini"
    text = CONFIGURATION.replace("[weight]", "[weight] # not tuned yet").replace("limit]\n3", "limit]\n")
    path.write_text(f"# mine\n{text}\n[threads]\n4\n")
    before = path.read_text().splitlines()
    weights = {name: tuple(2 * value for value in row) for name, row in read_configuration(path).weights.items()}
    with replaced_weights(path) as write:
        write(weights)
    assert (read_configuration(path).weights, read_configuration(path).distortion_limit) == (weights, DISTORTION_LIMIT)
    after = path.read_text().splitlines()
    assert [line for line in after if "0= " not in line] == [line for line in before if "0= " not in line]


def test_weights_in_two_sections_are_replaced_once(tmp_path):
    path = tmp_path / "moses.ini"
    text = CONFIGURATION.replace("LM0= 0.8\n", "[threads]\n4\n[weight]\nLM0= 0.8\n")
    path.write_text(text)
    weights = read_configuration(path).weights
    with replaced_weights(path) as write:
        write({**weights, "LM0": (0.5,)})
    assert read_configuration(path).weights == {**weights, "LM0": (0.5,)}
