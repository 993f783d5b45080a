"""Steps run once, in order, again after a failure, and only with the same command."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.errors import RunError
from dragoman.progress import Console
from dragoman.reproduction import steps as module
from dragoman.reproduction.steps import Step, run_steps, steps_done

QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def python_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the words of a step be a Python program and its arguments: starting `dragoman` takes seconds."""
    monkeypatch.setattr(module, "PROGRAM", (sys.executable, "-I", "-S", "-c"))


def _append(name: str, needs: tuple[str, ...] = (), text: str = "x") -> Step:
    return Step(name, (f"open('{name}', 'a').write('{text}')",), Path(name), needs)


def _fail(name: str) -> Step:
    return Step(name, ("import sys; sys.exit('dragoman: it cannot be')",), Path(name))


def test_steps_run_after_those_that_they_need_and_not_again(tmp_path: Path) -> None:
    order = ("import os; assert os.path.exists('a'); open('b', 'w').write('b')",)
    plan = [Step("b", order, Path("b"), ("a",)), _append("a")]
    for _ in range(2):
        outcomes = run_steps(plan, tmp_path, jobs=2, console=QUIET)
        assert {name: outcome.state for name, outcome in outcomes.items()} == {"a": "done", "b": "done"}
        assert (tmp_path / "a").read_text() == "x"


def test_an_output_that_was_deleted_is_made_again_only_if_a_step_still_reads_it(tmp_path: Path) -> None:
    plan = [_append("a"), _append("b", ("a",))]
    run_steps(plan, tmp_path, jobs=1, console=QUIET)
    (tmp_path / "a").unlink()
    run_steps(plan, tmp_path, jobs=1, console=QUIET)
    assert not (tmp_path / "a").exists()
    run_steps([*plan, _append("c", ("a",))], tmp_path, jobs=1, console=QUIET)
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").read_text() == "x"
    (tmp_path / "b").unlink()  # nothing reads it: it is a result
    run_steps(plan, tmp_path, jobs=1, console=QUIET)
    assert (tmp_path / "b").exists()


def test_a_failed_step_blocks_those_that_need_it_and_the_others_go_on(tmp_path: Path) -> None:
    plan = [_fail("a"), _append("b", ("a",)), _append("c")]
    outcomes = run_steps(plan, tmp_path, jobs=1, console=QUIET)
    assert {name: outcome.state for name, outcome in outcomes.items()} == {"a": "failed", "b": "blocked", "c": "done"}
    assert outcomes["a"].message == "it cannot be"
    # Repaired, it runs again, and so does what it blocked.
    plan[0] = Step("a", _fail("a").command, Path("a"))
    (tmp_path / "steps" / "a.json").unlink()
    outcomes = run_steps([_append("a"), *plan[1:]], tmp_path, jobs=1, console=QUIET)
    assert all(outcome.state == "done" for outcome in outcomes.values())
    assert (tmp_path / "c").read_text() == "x"


def test_an_output_of_another_command_or_of_nobody_is_refused(tmp_path: Path) -> None:
    run_steps([_append("a")], tmp_path, jobs=1, console=QUIET)
    with pytest.raises(RunError, match="was made with other settings"):
        run_steps([_append("a", text="y")], tmp_path, jobs=1, console=QUIET)
    (tmp_path / "b").write_text("mine")
    with pytest.raises(RunError, match="has not made it"):
        run_steps([_append("b")], tmp_path, jobs=1, console=QUIET)
    assert (tmp_path / "b").read_text() == "mine"
    (tmp_path / "steps" / "a.json").write_text("[]")
    with pytest.raises(RunError, match="is damaged"):
        run_steps([_append("a")], tmp_path, jobs=1, console=QUIET)


def test_the_device_is_given_to_commands_that_run_a_model_and_is_no_setting_of_theirs(
    tmp_path: Path,
) -> None:
    writes = "import sys; open(sys.argv[1], 'w').write(' '.join(sys.argv[2:]))"
    step = Step("run", (writes, "run", "--threads", "1"), Path("run"))
    for device, words in (("cuda", "--threads 1 --device cuda"), ("auto", "--threads 1 --device cuda")):  # made once
        assert run_steps([step], tmp_path, jobs=1, console=QUIET, device=device)["run"].state == "done"
        assert (tmp_path / "run").read_text() == words
    record = json.loads((tmp_path / "steps" / "run.json").read_text())
    assert record["device"] == "cuda"
    assert record["machine"].endswith(", GPU")
    other = Step("other", (writes, "other", "x"), Path("other"))
    assert run_steps([other], tmp_path, jobs=1, console=QUIET, device="cuda")["other"].state == "done"
    assert (tmp_path / "other").read_text() == "x"


def test_what_is_done_is_told_without_running_anything(tmp_path: Path) -> None:
    plan = [_append("a"), _append("b", ("a",))]
    assert steps_done(plan, tmp_path) == {}
    assert not (tmp_path / "steps").exists()
    run_steps(plan[:1], tmp_path, jobs=1, console=QUIET)
    assert {name: outcome.state for name, outcome in steps_done(plan, tmp_path).items()} == {"a": "done"}
    assert not (tmp_path / "b").exists()


def test_a_training_without_its_weights_is_done_for_pages_only(tmp_path: Path) -> None:
    trains = "import sys; open(sys.argv[1], 'w').close()"
    plan = [Step("train", (trains, "model"), Path("model"), resumable=(trains, "model")), _append("b", ("train",))]
    run_steps(plan[:1], tmp_path, jobs=1, console=QUIET)
    (tmp_path / "model").unlink()
    assert steps_done(plan, tmp_path) == {}
    assert list(steps_done(plan, tmp_path, without_weights=True)) == ["train"]


def test_a_training_that_was_interrupted_is_resumed_from_its_states(tmp_path: Path) -> None:
    begins = "import os, sys; os.makedirs('run/checkpoints'); open('run/run.json', 'w'); sys.exit(1)"
    resumes = "open('run/weights', 'w').write('resumed')"
    step = Step("run", (begins,), Path("run", "weights"), resumable=(resumes,))
    for state in ("failed", "done", "done"):
        assert run_steps([step], tmp_path, jobs=1, console=QUIET)["run"].state == state
    assert (tmp_path / "run" / "weights").read_text() == "resumed"


def test_a_run_that_was_kept_without_its_states_is_trained_again(tmp_path: Path) -> None:
    writes = "import sys; open('run/weights', 'w').write(' '.join(sys.argv[1:]))"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    step = Step("run", (writes,), Path("run", "weights"), resumable=("raise SystemExit(1)",))
    assert run_steps([step], tmp_path, jobs=1, console=QUIET)["run"].state == "done"
    assert (tmp_path / "run" / "weights").read_text() == "--overwrite"


def test_a_run_of_which_only_configuration_and_log_were_kept_is_trained_again(tmp_path: Path) -> None:
    trains = "import os; assert not os.listdir('run'), os.listdir('run'); open('run/weights', 'w').close()"
    step = Step("run", (trains,), Path("run", "weights"), resumable=("raise SystemExit(1)",))
    plan = [step, _append("a", ("run",))]
    run_steps(plan, tmp_path, jobs=1, console=QUIET)
    (tmp_path / "run" / "weights").unlink()
    for name in ("config.yaml", "log.jsonl"):
        (tmp_path / "run" / name).touch()
    assert run_steps([*plan, _append("b", ("run",))], tmp_path, jobs=1, console=QUIET)["b"].state == "done"


def test_an_interruption_stops_the_running_steps_and_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = (
        "import os, signal, sys, time; signal.signal(15, lambda *_: (open('saved', 'w').close(), sys.exit(130)));"
        "os.close(os.open('started', os.O_CREAT)); time.sleep(60)"
    )
    plan = [Step("wait", (waits,), Path("never"))]

    def interrupt(seconds: float) -> None:
        if (tmp_path / "started").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic))
    with pytest.raises(KeyboardInterrupt):
        run_steps(plan, tmp_path, jobs=1, console=QUIET)
    assert (tmp_path / "saved").exists()
    assert json.loads((tmp_path / "steps" / "wait.json").read_text())["state"] == "begun"
