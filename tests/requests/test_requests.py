"""Requests: what their options exclude and require, as each interface spells it, and the command line as a view."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest

from dragoman.cli.main import VERBS, main
from dragoman.cli.shared.parsing import Parser, spelt
from dragoman.cli.shared.requests import named
from dragoman.config.section import Section, keys_of
from dragoman.errors import OptionError
from dragoman.requests.alignment import AlignmentRequest
from dragoman.requests.shared import EnsembleOptions, Request
from dragoman.requests.training import TrainingCorpora, TrainingRequest, TrainingRun
from dragoman.requests.translation import Output, SamplingOptions, Search, TranslationRequest


def _requests() -> list[type[Request]]:
    return [verb.schema for verb in VERBS.values()]


def _names(schema: type[Section]) -> Iterator[str]:
    for name, key in keys_of(schema).items():
        if key.section:
            yield from _names(key.section)
        elif "keys" in key.spelling:
            yield from keys_of(key.spelling["keys"])
        else:
            yield name


def test_an_option_has_one_name_and_rules_name_options_that_exist() -> None:
    assert len(_requests()) >= 40
    for schema in _requests():
        names = list(_names(schema))
        assert len(set(names)) == len(names), schema.__name__
        for rule in schema.rules:
            assert set(rule.options) <= {*names, "unk_log"}, (schema.__name__, rule.options)
            if isinstance(rule.message, str):
                placeholders = {field for _, field, *_ in string.Formatter().parse(rule.message) if field}
                own = {field for field in placeholders if field != "option" and not field.startswith("values[")}
                assert own <= set(names), (schema.__name__, rule.message)


def test_a_verb_names_a_function_that_takes_its_request() -> None:
    verbs = [verb for verb in VERBS.values() if not hasattr(verb._module, "run")]
    assert len(verbs) >= 25
    for verb in verbs:
        request, _ = get_type_hints(named(verb._module.RUN)).values()
        assert verb.schema in (get_args(request) or (request,)), verb._module


def test_a_value_is_parsed_as_a_name_to_write_or_by_a_function() -> None:
    def kinds(schema: type[Section]) -> Iterator[object]:
        for key in keys_of(schema).values():
            yield from kinds(key.section) if key.section else [key.spelling.get("kind", "output")]

    found = [kind for schema in _requests() for kind in kinds(schema)]
    assert all(kind in ("output", "folder") or callable(kind) for kind in found), found


def test_a_rule_is_told_with_the_names_of_the_interface() -> None:
    for request, python, command in (
        (
            TranslationRequest(
                runs=("RUN",), searching=Search(search={"beam": 3}), drawing=SamplingOptions(sample=True)
            ),
            "beam has no effect with sample; leave one of them out",
            "--beam has no effect with --sample; leave one of them out",
        ),
        (
            TranslationRequest(runs=("RUN",), drawing=SamplingOptions(sampling={"top_k": 3})),
            "top_k requires sample",
            "--top-k requires --sample",
        ),
        (
            TranslationRequest(runs=("RUN",), files=Output(nbest=3)),
            "nbest 3: format text has one translation per line; use format nbest or jsonl",
            "--nbest 3: --format text has one translation per line; use --format nbest or jsonl",
        ),
        (
            TranslationRequest(runs=("A", "B"), ensemble=EnsembleOptions(weights=(1.0, 2.0, 3.0))),
            "weights: 3 weights for 2 runs; give one per run",
            "--weights: 3 weights for 2 runs; give one per run",
        ),
        (
            AlignmentRequest(runs=("RUN",), pairs=("{a}.tsv",), symmetrize="union"),
            "symmetrize requires a run of the opposite direction; give it with reverse RUN2",
            "--symmetrize requires a run of the opposite direction; give it with --reverse RUN2",
        ),
        (
            TrainingRequest(text=TrainingCorpora(train=(("a{0}", "b", "c"),)), run=TrainingRun(out="RUN")),
            "train: expected one or two files (source and target), not 3: a{0} b c; repeat train for each further "
            "corpus",
            "--train: expected one or two files (source and target), not 3: a{0} b c; repeat --train for each further "
            "corpus",
        ),
    ):
        with pytest.raises(OptionError) as refused:
            request.check()
        assert str(refused.value) == python
        assert refused.value.spelled(spelt) == command


def test_an_option_of_several_values_that_is_given_twice_has_them_all() -> None:
    verb = VERBS["lm train"]
    parser = Parser(prog="dragoman lm train", description="")
    verb.add_options(parser)
    request = verb.request(parser.parse(["--out", "LM", "--train", "a", "--set", "b=1", "--train", "c", "d"]))
    assert request.text.train == ("a", "c", "d")  # type: ignore[attr-defined]


def test_the_command_line_gives_the_request_that_python_writes() -> None:
    verb = VERBS["align"]
    parser = Parser(prog="dragoman align", description="")
    verb.add_options(parser)
    words = ["A", "B", "s.de", "s.en", "--weights", "2", "1", "--reverse", "C", "--reverse", "D", "-o", "links"]
    assert verb.request(parser.parse(words)) == AlignmentRequest(
        runs=("A", "B"),
        pairs=("s.de", "s.en"),
        output="links",
        reverse=("C", "D"),
        ensemble=EnsembleOptions(weights=(2.0, 1.0)),
    )
    assert verb.request(parser.parse(["A", "pairs.tsv.gz"])).pairs == ("pairs.tsv.gz",)  # type: ignore[attr-defined]
    statistical = verb.request(
        parser.parse(["s.de", "s.en", "--aligner", "ibm1", "--train", "t.tsv", "--train", "a", "b"])
    )
    assert isinstance(statistical, AlignmentRequest)
    assert (statistical.runs, statistical.pairs) == ((), ("s.de", "s.en"))
    assert statistical.baseline.train == (("t.tsv",), ("a", "b"))
    for files in (["s.de", "s.en"], ["A", "fast_align.txt"]):
        with pytest.raises(OptionError, match=r"give a run and two files .* whose name says so: \.tsv \(source, tab"):
            verb.request(parser.parse(files))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("rescore list --length --normalised", "--normalised requires --model, --reverse or --lm, not --length"),
        ("rerank list --mbr-size 5", "--mbr-size requires --mbr"),
        ("rerank list --mbr-scale 2", "--mbr-scale requires --mbr"),
        (
            "phrase-table table --write-pairs p.tsv --name T",
            "--write-pairs computes no scores; leave the other options",
        ),
        ("smt train --train a b --alignments c --aligner hmm --out S", "--aligner has no effect with --alignments"),
        ("smt train --train a b --alignments c --symmetrize union --out S", "--symmetrize has no effect with"),
        ("backtranslate RUN -o p.tsv --seed 5", "--seed requires --sample or --noise"),
        ("evaluate RUN a b --group 5", "--group requires --by source-groups, reference-groups or rarity"),
        ("tree RUN --text a --search-again", "--search-again has no effect: the tree is that of the first search"),
        ("export RUN --out S --web --languages x1 de", "argument --languages: 'x1' is not a language code"),
    ],
)
def test_an_option_without_effect_is_refused(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    assert message in capsys.readouterr().err
