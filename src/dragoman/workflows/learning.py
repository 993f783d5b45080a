"""What `dragoman learn` does: corrections are learnt, taken out or listed, and a run is written."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair
from dragoman.corpora.reading import current_reading
from dragoman.errors import InputError, OptionError
from dragoman.learning.checks import RefusedCorrection
from dragoman.learning.guard import LOST
from dragoman.learning.learner import BLOCK, Learner
from dragoman.learning.log import Correction, folder_beside
from dragoman.model.weights import save_weights, weights_of
from dragoman.progress import Console
from dragoman.requests.learning import LearningRequest
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun, require_free
from dragoman.runs.opening import open_run, trained_folder
from dragoman.systems import DeviceName
from dragoman.workflows.calibration import calibrate
from dragoman.workflows.evaluation import tokenizer_of

log = logging.getLogger(__name__)


def learn_corrections(request: LearningRequest) -> Sequence[Correction]:
    """Do what a request asks for; return the corrections of the log.

    Raises:
        RunError, InputError, ConfigError: as for `Learner`, `read_pairs` and `NewRun`.
        OptionError: the folder of what is learnt is a run that is read or written.
        InputError: nothing is to be learnt, and the folder is not there.
    """
    base, wanted = trained_folder(request.run), request.corrections
    console = Console(quiet=request.general.quiet)
    if request.result.out is not None:
        read = [base.weights, base.config, *(Path(file) for files in wanted.pairs for file in files)]
        require_free(Path(request.result.out), overwrite=request.result.overwrite, inputs=read)
    current_reading().expect(base.load_config().text)
    pairs = list(read_pairs(wanted.pairs))  # before a log is opened, which may be one of the files
    folder = wanted.learned or folder_beside(Path(request.run))
    if os.path.realpath(folder) in (os.path.realpath(name) for name in (request.run, request.result.out) if name):
        raise OptionError(
            "{option}: {values[learned]} is a run; give a folder of its own", "learned", {"learned": folder}
        )
    if not pairs and not Path(folder).is_dir():
        raise InputError(f"{folder}: does not exist; learn with --pairs first, or name the folder with --learned")
    only_lists = not pairs and wanted.undo is None and request.result.out is None
    with Learner(
        base.path,
        folder,
        later=only_lists,
        tokenizer=tokenizer_of(base.load_config()),
        device=request.general.device,
        threads=request.general.threads,
    ) as learner:
        if not learner.dev:
            log.warning("%s: has no dev set (data/dev.jsonl), so nothing is taken back", base.path)
        if wanted.undo is not None:
            learner.undo(wanted.undo)
        if wanted.undo is not None or wanted.list:
            for block in learner.taken_back:
                _tell_taken_back(block * BLOCK + 1, (block + 1) * BLOCK, f"more than {LOST}")
        if pairs:
            _learn_pairs(learner, pairs, console)
        if request.result.out is not None:
            write_learnt_run(learner, request.result.out, request.general.device, overwrite=request.result.overwrite)
        return learner.corrections


def _learn_pairs(learner: Learner, pairs: Sequence[Pair], console: Console) -> None:
    learnt = known = refused = 0
    for pair in pairs:
        before = len(learner.corrections)
        try:
            outcome = learner.learn(pair.source, pair.target)
        except RefusedCorrection as error:
            refused += 1
            log.warning("%s: %s", pair.origin, error)
            continue
        learnt += len(learner.corrections) > before
        known += len(learner.corrections) == before
        if outcome.taken_back is not None:
            _tell_taken_back(outcome.number - BLOCK + 1, outcome.number, f"{outcome.taken_back:.1f}")
    console.info(f"corrections: {learnt:,} learnt, {known:,} known, {refused:,} refused; in {learner.folder}")


def write_learnt_run(
    learner: Learner, out: str | Path, device: DeviceName = "auto", *, overwrite: bool = False
) -> RunFolder:
    """Write a run of its own with what was learnt, and with the text of the base run, which knows the new words.

    Its confidence is fitted on `device`.

    Raises:
        RunError: as for `NewRun`.
        InputError: a file cannot be written.
    """
    lost = learner.finish_block()
    if lost is not None:
        count = len(learner.corrections)
        _tell_taken_back(count - count % BLOCK + 1, count, f"{lost:.1f}")
    run, base = learner.run, learner.base
    with NewRun(out, run.config, overwrite=overwrite, inputs=[base.weights, base.config]) as new:
        run.source.save(new.folder.text, "source")
        run.target.save(new.folder.text, "target")
        save_weights(new.folder.weights, weights_of(run.model()))
        data = base.train_data.parent
        if data.is_dir():
            try:
                shutil.copytree(data, new.folder.train_data.parent)
            except OSError as error:
                raise InputError(f"{data}: cannot be copied to {out}: {error}") from None
        folder = new.take_place()
    if learner.dev:
        calibrate(open_run(folder.path, device=device), learner.dev)
    return folder


def _tell_taken_back(first: int, last: int, lost: str) -> None:
    log.warning(
        "corrections %d to %d cost %s BLEU of the dev set, so they are not learnt; `dragoman learn RUN --undo N` "
        "takes one of them out",
        first,
        last,
        lost,
    )
