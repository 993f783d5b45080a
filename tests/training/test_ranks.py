"""Several ranks make the updates of one process; they resume exactly, and one that fails ends all with one message."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import TrainingConfig
from dragoman.errors import ConfigError
from dragoman.training.joining import joined_ranks
from tests.training import rank_process
from tests.training.rank_process import Answer, RankProcesses

pytestmark = pytest.mark.processes

Recipe = Callable[..., TrainingConfig]


def _recipes() -> dict[str, dict[str, Any]]:
    """For each way in which presets divide the loss, how the first of these presets trains."""
    recipes: dict[str, dict[str, Any]] = {}
    for training in (load_preset(name).training for name in preset_names()):
        recipe = {"loss_normalisation": training.loss_normalisation, "label_smoothing": training.label_smoothing}
        recipe |= {f"optimiser__{key}": value for key, value in training.optimiser.values().items()}
        recipes.setdefault(training.loss_normalisation, recipe)
    return recipes


RECIPES = _recipes()
SHORTER: dict[str, dict[str, Any]] = {
    "guided alignment, several batches an update, an average, a mean of the best, a plateau": {
        "guided_alignment": 0.5,
        "batch__accumulate": 2,
        "average_decay": 0.9,
        "average_best": 2,
        "schedule__name": "plateau",
        "schedule__patience": 1,
        "validation__every": 4,
    },
    "dropout that is yet to grow": {"dropout": 0.5, "dropout_warmup": 1e9},
    "a rank without a sentence in every update": {"sentences": 2, "label_smoothing": 0.1},
    "single precision": {"dtype": "float32", "label_smoothing": 0.1, "updates": 50, "sizes": (2, 3)},
}


def largest_difference(one: Answer, other: Answer) -> float:
    pairs = zip(one["value"]["weights"], other["value"]["weights"], strict=True)
    return max((torch.tensor(a).double() - torch.tensor(b).double()).abs().max().item() for a, b in pairs)


@pytest.fixture
def compare(ranks: RankProcesses, recipe: Recipe, tmp_path: Any) -> Callable[..., None]:
    """Train with one, two and three processes, and compare weights and losses."""

    def comparison(function: str = "training", *, sizes: Sequence[int] = (3,), **options: Any) -> None:
        names = ("dtype", "dropout", "sentences")
        arguments = {name: options.pop(name) for name in names if name in options}
        values = recipe(**{"updates": 16, "log_every": 1, "optimiser__learning_rate": 0.01, **options}).values()
        alone = Answer(value=getattr(rank_process, function)(folder=str(tmp_path / "1"), recipe=values, **arguments))
        assert len(alone["value"]["losses"]) == values["updates"]
        for size in sizes:
            answers = ranks(size, function, folder=str(tmp_path / str(size)), recipe=values, **arguments)
            assert all("value" in answer for answer in answers), answers
            for other in answers[1:]:
                assert largest_difference(answers[0], other) == 0
                assert other["value"]["update"] == values["updates"]
            losses = torch.tensor(alone["value"]["losses"]), torch.tensor(answers[0]["value"]["losses"])
            assert losses[0][:4].mean() > losses[0][-4:].mean() > 0
            torch.testing.assert_close(*losses, rtol=1e-5, atol=0.0)
            if arguments.get("dtype") != "float32":
                assert largest_difference(alone, answers[0]) < 1e-9

    return comparison


@pytest.mark.parametrize("unit", RECIPES)
def test_ranks_make_the_updates_of_one_process(compare: Callable[..., None], unit: str) -> None:
    compare(updates=50, sizes=(2, 3), **RECIPES[unit])


def test_presets_divide_the_loss_in_all_three_ways() -> None:
    assert RECIPES.keys() == {"tokens", "sentences", "none"}


@pytest.mark.parametrize("name", SHORTER)
def test_so_do_they_with(compare: Callable[..., None], name: str) -> None:
    compare(**SHORTER[name])


def test_so_do_they_with_scheduled_sampling(compare: Callable[..., None]) -> None:
    compare("greedy_training", scheduled_sampling=1.0, guided_alignment=0.5)


def test_ranks_that_another_library_has_connected_make_the_same_updates(
    ranks: RankProcesses, recipe: Recipe, tmp_path: Path
) -> None:
    values = recipe(updates=8, log_every=1).values()
    ours = ranks(2, "training", folder=str(tmp_path / "ours"), recipe=values)
    theirs = ranks(2, "training_in_a_group", folder=str(tmp_path / "theirs"), recipe=values)
    assert [answer["value"] for answer in theirs] == [answer["value"] for answer in ours]


# Resuming ------------------------------------------------------------------------------------------------------------


def test_a_signal_to_any_rank_saves_once_and_the_resumed_run_is_as_if_never_stopped(
    ranks: RankProcesses, recipe: Recipe, tmp_path: Path
) -> None:
    values = recipe(updates=12, log_every=1, label_smoothing=0.1, scheduled_sampling=0.5).values()
    settings = {"recipe": values, "dropout": 0.2, "dtype": "float32"}
    straight = ranks(2, "training", folder=str(tmp_path / "straight"), **settings)
    stopped = ranks(2, "training", folder=str(tmp_path / "run"), disturbance="stop", at=[1, 5], **settings)
    assert [answer["error"] for answer in stopped] == ["Interrupted", "OtherRankError"]
    assert [answer["code"] for answer in stopped] == [130, 130]
    assert stopped[0]["message"] == "SIGTERM: state saved after update 5; --resume continues from there"
    resumed = ranks(2, "training", folder=str(tmp_path / "run"), resume=True, **settings)
    assert [answer["value"] for answer in resumed] == [answer["value"] for answer in straight]


def test_another_number_of_ranks_goes_on_at_the_same_place(
    ranks: RankProcesses, recipe: Recipe, tmp_path: Path
) -> None:
    values = recipe(updates=12, log_every=1, average_decay=0.9).values()
    straight = rank_process.training(folder=str(tmp_path / "straight"), recipe=values)
    folder = str(tmp_path / "run")
    ranks(3, "training", folder=folder, recipe={**values, "updates": 4})
    ranks(2, "training", folder=folder, recipe={**values, "updates": 8}, resume=True)
    resumed = Answer(value=rank_process.training(folder=folder, recipe=values, resume=True))
    assert largest_difference(Answer(value=straight), resumed) < 1e-9
    assert resumed["value"]["losses"] == pytest.approx(straight["losses"], rel=1e-9)


@pytest.mark.parametrize(
    ("ending", "last"),
    [
        ({"minutes": 0.02}, None),
        # Steps too small to change a weight: the second validation is no better, nor is the third.
        ({"validation__every": 2, "validation__patience": 2, "optimiser__learning_rate": 1e-30}, 6),
    ],
    ids=["minutes", "patience"],
)
def test_rank_0_ends_the_training_for_all(
    ranks: RankProcesses, recipe: Recipe, tmp_path: Path, ending: dict[str, Any], last: int | None
) -> None:
    values = recipe(epochs=100_000.0, **ending).values()
    first, second = (answer["value"] for answer in ranks(2, "training", folder=str(tmp_path / "run"), recipe=values))
    assert first["update"] == second["update"] == (last or first["update"]) > 0
    assert first["weights"] == second["weights"]


# Failures ------------------------------------------------------------------------------------------------------------


def said_by(answers: Sequence[Answer]) -> list[str]:
    """The messages that ranks give; the others end without one."""
    return [answer["message"] for answer in answers if answer.get("error", "OtherRankError") != "OtherRankError"]


def test_a_rank_that_hangs_is_named_after_the_time_limit(ranks: RankProcesses, recipe: Recipe, tmp_path: Path) -> None:
    values = recipe(updates=12).values()
    folder = str(tmp_path / "run")
    answers = ranks(3, "training", folder=folder, recipe=values, disturbance="hang", at=[1, 3], minutes=0.25)
    # Rank 1 wakes when the others have ended, and without torchrun the store with rank 0.
    (message,) = said_by([answers[0], answers[2]])
    assert message.startswith("update 3: rank 1 (process ")
    assert "has not answered for 15 seconds; the training goes on from its last saved state with --resume" in message
    assert [answer["code"] for answer in answers] == [2, 2, 2]


@pytest.mark.parametrize(("rank", "busy"), [(0, 0.0), (2, 4.0)])
def test_a_rank_that_is_killed_is_named_and_none_that_still_computes(
    ranks: RankProcesses, recipe: Recipe, tmp_path: Path, rank: int, busy: float
) -> None:
    values = recipe(updates=12).values()
    folder = str(tmp_path / "run")
    answers = ranks(3, "training", folder=folder, recipe=values, disturbance="kill", at=[rank, 3], busy=busy)
    assert answers[rank]["ended"] == -9
    messages = said_by(answers)
    if rank == 0:  # without torchrun the store ends with rank 0, so that both say it
        assert len(messages) == 2
        assert all("rank 0 or the torchrun beside it has ended" in message for message in messages)
    else:
        (message,) = messages
        assert message.startswith(f"update 3: rank {rank} (process ")
        assert "has ended without a message" in message


def test_an_error_of_one_rank_is_told_once(ranks: RankProcesses, recipe: Recipe, tmp_path: Path) -> None:
    answers = ranks(2, "training", folder=str(tmp_path / "none"), recipe=recipe(updates=12).values(), resume=True)
    assert [answer["error"] for answer in answers] == ["RunError", "OtherRankError"]
    assert "there is no training state to resume from" in answers[0]["message"]
    assert answers[1]["code"] == 2


def test_a_port_in_use_is_told(ranks: RankProcesses) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        environment = [{"MASTER_PORT": port}] * 2
        answers = ranks(2, "join", environment=environment, minutes=0.02)
    assert [answer["code"] for answer in answers] == [2, 2]
    assert answers[0]["message"] == (
        f"MASTER_ADDR 127.0.0.1, MASTER_PORT {port}: rank 0 cannot listen there (address already in use); another "
        "program may use the port: give torchrun another --master-port"
    )


def test_another_version_of_the_program_is_refused_once(ranks: RankProcesses) -> None:
    answers = ranks(2, "join_with_another_version", minutes=1.0)
    assert [answer["code"] for answer in answers] == [2, 2]
    (message,) = said_by(answers)
    assert "dragoman (SHA-256 of its files) is 0123456789abcdef here and " in message
    assert "install the same versions on all machines" in message


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_do_not_come_are_named(ranks: RankProcesses, rank: int) -> None:
    (answer,) = ranks(1, "join", environment=[{"WORLD_SIZE": "2", "RANK": str(rank)}], minutes=0.02)
    assert answer["code"] == 2
    expected = "rank 1 does not answer", "no rank 0 answers there (Connection refused)"
    assert expected[rank] in answer["message"]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2 in the environment, but RANK is missing; start the ranks with torchrun"),
        ({"WORLD_SIZE": "two", "RANK": "0"}, "WORLD_SIZE: 'two' in the environment is not a number"),
        (
            {"WORLD_SIZE": "2", "RANK": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "here", "MASTER_PORT": "1"},
            "RANK: 2, but WORLD_SIZE is 2; ranks count from 0",
        ),
    ],
)
def test_an_incomplete_environment_is_told(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], message: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=re.escape(message)), joined_ranks():
        pass


@pytest.mark.parametrize("environment", [{}, {"WORLD_SIZE": "1", "RANK": "0"}])
def test_one_process_joins_nobody(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with joined_ranks() as ranks:
        assert (ranks.rank, ranks.size, ranks.leads) == (0, 1, True)
