from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.errors import DragomanError
from dragoman.model.weights import save_weights
from dragoman.training.averaging import BestWeights, RunningAverage, SavedValidation, average_weights


def weights_after(update: int) -> torch.Tensor:
    return torch.tensor([1.0 / update, float(update)])


def test_the_average_is_the_decaying_sum_of_its_definition() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    average = RunningAverage({"w": weight}, decay=0.9)
    expected = torch.zeros(2, dtype=torch.float64)
    # between two looks at the weights they stand still, so that taking eight updates together changes nothing
    for update in range(80):
        with torch.no_grad():
            weight.copy_(weights_after(update // RunningAverage.STRIDE + 1))
        average.update()
        keep = min(0.9, (1 + update) / (10 + update))
        expected = keep * expected + (1 - keep) * weight.detach().double()
    torch.testing.assert_close(average.values["w"].double(), expected, rtol=1e-5, atol=0.0)


def test_the_first_weights_are_soon_forgotten() -> None:
    weight = torch.nn.Parameter(torch.full((1,), 100.0))
    average = RunningAverage({"w": weight}, decay=0.999)
    with torch.no_grad():
        weight.fill_(1.0)
    for _ in range(RunningAverage.STRIDE):
        average.update()
    assert average.values["w"].item() == pytest.approx(1.0, abs=0.01)


def test_in_place_the_model_holds_the_average_and_afterwards_its_own_weights() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    average = RunningAverage({"w": weight}, decay=0.5)
    average.values["w"].copy_(torch.tensor([7.0, 8.0]))
    version = weight._version
    with average.in_place():
        assert weight.tolist() == [7.0, 8.0]
        assert weight._version > version
    assert weight.tolist() == [1.0, 2.0]
    assert average.values["w"].tolist() == [7.0, 8.0]


def test_the_model_has_its_own_weights_again_after_an_error() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    average = RunningAverage({"w": weight}, decay=0.5)
    average.values["w"].fill_(7.0)
    with pytest.raises(ZeroDivisionError), average.in_place():
        raise ZeroDivisionError
    assert weight.item() == 1.0


def test_averaging_files_gives_the_mean(tmp_path: Path) -> None:
    paths = []
    for number in (1, 2, 6):
        paths.append(tmp_path / f"{number}.safetensors")
        save_weights(paths[-1], {"a": torch.full((2, 3), float(number)), "b": torch.tensor([number / 8])})
    mean = average_weights(paths)
    assert torch.equal(mean["a"], torch.full((2, 3), 3.0))
    assert torch.equal(mean["b"], torch.tensor([0.375]))
    assert mean["a"].dtype == torch.float32


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"a": torch.zeros(2), "b": torch.zeros(1)}, "only one of them has the tensor 'b'"),
        ({}, "only one of them has the tensor 'a'"),
        ({"a": torch.zeros(3)}, "the tensor 'a' is [2] in the first and [3] in the second"),
    ],
)
def test_files_of_two_models_are_refused(tmp_path: Path, other: dict[str, torch.Tensor], message: str) -> None:
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    save_weights(first, {"a": torch.zeros(2)})
    save_weights(second, other)
    with pytest.raises(DragomanError, match=re.escape(f"{first} and {second} are not of one model: {message}")):
        average_weights([first, second])


def test_no_file_is_refused() -> None:
    with pytest.raises(DragomanError, match="name at least one weights file"):
        average_weights([])


def test_a_mean_of_one_is_refused() -> None:
    with pytest.raises(
        DragomanError, match=r"training\.average_best: averaging requires 2 or more; use 0 to turn it off"
    ):
        override(Config(), ["training.average_best=1"])


class TestBestWeights:
    def offered(self, folder: Path, values: list[float], *, lowest: bool, count: int = 3) -> BestWeights:
        """Values of the validations after updates 10, 20 and so on."""
        best = BestWeights(folder, count, lowest=lowest)
        for number, value in enumerate(values, 1):
            best.offer(SavedValidation(10 * number, value, value), {"a": torch.tensor([value])})
        return best

    @pytest.mark.parametrize(
        ("lowest", "updates"),
        [(True, [30, 20, 50]), (False, [40, 10, 60])],
    )
    def test_the_best_validations_are_kept_the_best_first(
        self, tmp_path: Path, lowest: bool, updates: list[int]
    ) -> None:
        best = self.offered(tmp_path, [7.0, 4.0, 3.0, 9.0, 5.0, 6.0], lowest=lowest)
        assert [kept.update for kept in best.kept] == updates
        mean = sum(kept.value for kept in best.kept) / 3
        assert best.mean()["a"].item() == pytest.approx(mean)
        assert best.weights(updates[0])["a"].item() == best.kept[0].value

    def test_of_equals_the_earlier_one_is_kept(self, tmp_path: Path) -> None:
        assert [kept.update for kept in self.offered(tmp_path, [5.0] * 4, lowest=True).kept] == [10, 20, 30]

    def test_what_has_fallen_out_stays_until_it_is_tidied_away(self, tmp_path: Path) -> None:
        (tmp_path / "latest.safetensors").touch()
        best = self.offered(tmp_path, [7.0, 4.0, 3.0, 5.0, 8.0], lowest=True)
        names = {path.name for path in tmp_path.glob("best-*")}
        assert names == {f"best-{update}.safetensors" for update in (10, 20, 30, 40)}  # 50 was never among the best
        best.tidy()
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"latest.safetensors", *(f"best-{update}.safetensors" for update in (20, 30, 40))}

    def test_none_are_kept_if_none_are_asked_for(self, tmp_path: Path) -> None:
        best = self.offered(tmp_path, [7.0, 4.0], lowest=True, count=0)
        assert best.kept == list(tmp_path.iterdir()) == []
