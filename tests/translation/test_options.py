"""Options of a translator from Python: the same names, defaults and meanings as on the command line."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

from dragoman.cli.main import VERBS
from dragoman.cli.shared.parsing import Parser
from dragoman.config.sampling import Sampling
from dragoman.config.schema import SearchConfig
from dragoman.config.section import keys_of
from dragoman.errors import ConfigError, InputError
from dragoman.systems import MAX_THREADS
from dragoman.translation import translator as module
from dragoman.translation.length_batching import WorkerThreads
from dragoman.translation.options import ELSEWHERE, OPTIONS, TranslationOptions
from dragoman.translation.translator import Translator
from dragoman.translation_memory.memory import Memory

from .test_translator import SIDE, SIZE, copy


@pytest.fixture
def copier(toy_engine):
    return Translator(toy_engine(SIZE, answer=copy), SIDE, SIDE, SearchConfig(beam=3, normalisation="none"))


def texts(translations):
    return [translation.text for translation in translations]


def test_a_string_gives_one_translation_and_an_iterable_a_list(copier):
    assert copier.translate("ab").text == "ab"
    assert texts(copier.translate(["ab", "", "c"])) == ["ab", "", "c"]
    assert texts(copier.translate(line for line in ("ab", "c"))) == ["ab", "c"]
    assert copier.translate([]) == []
    assert texts(copier.translate("ab", n_best=2))[0] == "ab"
    assert len(copier.translate("ab", n_best=2)) == 2
    assert [len(found) for found in copier.translate(["ab", "c"], n_best=1)] == [1, 1]
    assert copier.translate("a\nb").source == "a\nb"


def test_a_translator_can_be_called_and_a_translation_prints_its_text(copier):
    assert str(copier("ab")) == "ab"
    assert f"{copier('ab')}" == "ab"
    assert [str(each) for each in copier(["ab", "c"], beam=2)] == ["ab", "c"]


@pytest.mark.parametrize("text", [None, 3, b"ab", Path("ab")])
def test_what_is_no_text_is_refused_by_its_type(copier, text):
    with pytest.raises(TypeError, match=f"^text is of type {type(text).__name__}; give a string, or several strings$"):
        copier.translate(text)


def test_a_stream_of_no_lines_is_refused(copier):
    with pytest.raises(TypeError, match="translate_lines takes an iterable of lines, not NoneType"):
        copier.translate_lines(None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nbest", " (did you mean n_best?)"),
        ("num_beams", " (did you mean beam?)"),
        ("length_penalty", " (did you mean alpha?)"),
        ("target_prefix", " (did you mean prefix?)"),
        ("prefixx", " (did you mean prefix?)"),
        ("batch_size", ": lines are sorted and batched by themselves; give all lines at once, or a stream to transl"),
        ("something", ""),
    ],
)
def test_names_of_other_toolkits_are_answered_with_ours(copier, name, said):
    with pytest.raises(TypeError) as caught:
        copier.translate("ab", **{name: 2})
    assert str(caught.value).startswith(f"translate() has no argument {name!r}{said}")
    assert said or str(caught.value).endswith(f"{name!r}")


def test_a_function_is_not_answered_with_an_argument_that_it_lacks(copier):
    with pytest.raises(TypeError, match=r"^with_options\(\) has no argument 'nbest'(?!.*n_best)"):
        copier.with_options(nbest=2)


def test_the_foreign_names_lead_to_options_that_exist():
    ours = {*OPTIONS, "n_best", "prefix", "constraints"}
    assert ELSEWHERE.keys() <= ours
    foreign = [name for names in ELSEWHERE.values() for name in names]
    assert len(set(foreign)) == len(foreign)
    assert not ours & set(foreign)


def test_prefix_and_constraints_are_for_the_line_or_for_each_line(copier):
    assert copier.translate("ab", prefix="cd").text.startswith("cd")
    assert "h" in copier.translate("ab", constraints=["h"]).text
    found = texts(copier.translate(["ab", "ab"], prefix=["", "g"], constraints=[["h"], []]))
    assert "h" in found[0]
    assert found[1].startswith("g")
    assert texts(copier.translate(["ab", "ab"], prefix=["g", ""]))[1] == "ab"
    assert "h" in texts(copier.translate(["ab", "ab"], constraints=[[], ["h"]]))[1]
    with pytest.raises(InputError, match="prefixes or constraints end at line 1, but the input goes on"):
        copier.translate(["ab", "ab"], prefix=["g"])


def test_options_change_a_call_and_not_the_translator(copier):
    assert "a" not in copier.translate("ab", ban=["a"]).text
    assert copier.translate("ab").text == "ab"
    greedy = copier.with_options(beam=1)
    with pytest.raises(ConfigError, match="n-best is 2, but a beam of 1 keeps no more"):
        greedy.translate("ab", n_best=2)
    assert len(greedy.translate("ab", n_best=2, beam=2)) == 2
    drawn = [copier.translate("ab", sample=True, temperature=50.0, seed=seed).text for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    sampling = copier.with_options(sample=True, temperature=50.0, seed=2)
    assert sampling.translate("ab").text == drawn[1]
    assert sampling.translate("ab", seed=1).text == drawn[0]
    assert sampling.translate("ab", sample=False).text == "ab"


def test_unknown_words_are_replaced_by_a_mapping_or_a_file(copier, tmp_path: Path):
    file = tmp_path / "dictionary"
    file.write_text("x\tfile\n", encoding="utf-8")
    assert copier.translate("x", replace_unk=True).text == "x"
    assert copier.translate("x", replace_unk=True, dictionary={"x": "word"}).text == "word"
    assert copier.translate("x", replace_unk=True, dictionary=file).text == "file"
    assert copier.translate("x", replace_unk=True, dictionary=str(file), unk_rule="copy").text == "x"
    with pytest.raises(InputError, match="missing"):
        copier.translate("x", replace_unk=True, dictionary="missing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "search: beam: expected a whole number >= 1, not 0"),
        ({"beam": 1001}, "search: beam: expected a whole number <= 1000, not 1001"),
        ({"beam": "5"}, "search: beam: expected a whole number, not '5'"),
        ({"finish": "refil"}, r"search: finish: expected refill \| shrink, not 'refil' \(did you mean refill\?\)"),
        ({"alpha": 0.5}, "alpha requires normalisation gnmt or power"),
        ({"sample": True, "temperature": 0.0}, "sampling: temperature: expected a number > 0"),
        ({"sample": True, "top_p": 2.0}, "sampling: top_p: expected a number <= 1"),
        ({"temperature": 0.5}, "temperature requires sample"),
        ({"sample": True, "beam": 5}, "beam has no effect with sample"),
        ({"sample": True, "finish": "shrink"}, "finish has no effect with sample"),
        ({"sample": True, "diversity": 0.5}, "diversity has no effect with sample"),
        ({"sample": True, "coverage_penalty": 0.2}, "coverage_penalty has no effect with sample"),
        ({"sample": True, "constraints": ["a"]}, "constraints requires beam search"),
        ({"dictionary": {}}, "dictionary requires replace_unk"),
        ({"replace_unk": True, "unk_rule": "dictionary"}, "unk_rule dictionary requires dictionary"),
        ({"replace_unk": True, "unk_rule": "copie", "dictionary": {}}, "unk_rule is 'copie', but must be one of copy"),
        ({"ban": ["x"]}, "banned word 'x': the model does not know"),
        ({"threads": 0}, "threads is 0, but must be a whole number from 1 to 1,024"),
        ({"threads": 1.5}, "threads is 1.5, but must be"),
        ({"n_best": 0}, "n-best is 0, but must be from 1 to 1,000"),
        ({"n_best": 1001, "sample": True}, "n-best is 1001, but must be from 1 to 1,000"),
    ],
)
def test_what_has_no_effect_or_is_out_of_range_is_refused(copier, options, message):
    with pytest.raises(ConfigError, match=message):
        copier.translate("ab", **options)


def test_one_string_in_the_place_of_several_is_an_error(copier):
    for call, message in (
        (lambda: copier.translate_lines("ab"), "takes an iterable of lines, not one string"),
        (lambda: copier.translate(["ab", 3]), "line 2 is of type int, not a string"),
        (lambda: copier.translate(b"ab"), "text is of type bytes; give a string"),
        (lambda: copier.translate("ab", ban="a"), "ban is one string"),
        (lambda: copier.translate("ab", constraints="a"), "constraints is one string, 'a'; give a list"),
        (lambda: copier.translate("ab", constraints=[["a"]]), "for one line give words and phrases"),
        (lambda: copier.translate("ab", prefix=["a"]), "for one line give one prefix"),
        (lambda: copier.translate(["ab"], prefix="a"), "prefix is one string, 'a'; for several lines"),
        (lambda: copier.translate(["ab"], constraints=["a"]), "constraints of a line are one string"),
        (lambda: copier.translate("ab", beem=3), r"translate\(\) has no argument 'beem' \(did you mean beam\?\)"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


class _Threaded:
    """A toy engine that notes its numbers of threads."""

    def __init__(self, engine, *, concurrent):
        self._engine, self.seen = engine, []
        if concurrent:
            self.workers = 3
        else:
            self.threads = self._with_threads

    def __getattr__(self, name):
        return getattr(self._engine, name)

    @contextmanager
    def _with_threads(self, count):
        self.seen.append(count)
        yield
        self.seen.append(0)


def test_threads_are_those_of_the_call(toy_engine, monkeypatch):
    workers = []
    monkeypatch.setattr(module, "WorkerThreads", lambda count: workers.append(count) or WorkerThreads(count))
    for concurrent, seen, expected in ((False, [2, 0], [1, 1, 1]), (True, [], [3, 2, 3])):
        engine = _Threaded(toy_engine(SIZE, answer=copy), concurrent=concurrent)
        translator = Translator(engine, SIDE, SIDE, SearchConfig(beam=3, normalisation="none"))
        workers.clear()
        assert translator.translate("ab").text == "ab"
        assert translator.translate("ab", threads=2).text == "ab"
        assert translator.translate("ab").text == "ab"
        assert (engine.seen, workers) == (seen, expected)


def test_a_number_of_threads_has_the_same_limit_on_the_command_line():
    parser = Parser(prog="dragoman translate", description="")
    VERBS["translate"].add_options(parser)
    assert parser.parse(["RUN", "--threads", str(MAX_THREADS)]).threads == MAX_THREADS
    with pytest.raises(ConfigError, match="at most 1,024"):
        parser.parse(["RUN", "--threads", str(MAX_THREADS + 1)])


def test_options_have_the_names_of_the_command_and_the_types_of_the_schema():
    parser = Parser(prog="dragoman translate", description="")
    VERBS["translate"].add_options(parser)
    declared = {action.dest: action for action in parser._actions}
    assert set(OPTIONS) <= set(declared)
    for schema in (SearchConfig, Sampling):
        hints = get_type_hints(schema)
        typed = get_type_hints(TranslationOptions, localns={"Memory": Memory})
        for name, key in keys_of(schema).items():
            expected = hints[name]
            assert typed[name] == (get_args(expected)[0] if get_origin(expected) is Annotated else expected), name
            assert declared[name].help.startswith(key.description), name
            assert declared[name].default is None, name
    assert isinstance(declared["sample"], argparse.Action)
