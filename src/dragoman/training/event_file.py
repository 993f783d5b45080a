"""A file of measurements for TensorBoard.

TensorBoard's own writer hands records to a thread, which on a full disk prints a traceback and may leave the program
waiting for it for ever. Here a record is written before the call returns.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any


class EventFile:
    """Writes scalars to a new file events.out.tfevents.* in a folder.

    Raises:
        ImportError: TensorBoard is not installed.
        OSError (also in the methods): the file cannot be written.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        """`first_step`: TensorBoard forgets what earlier files of the folder have for this step and later ones."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(folder / name, "ab")  # noqa: SIM115
        self._records: Any = RecordWriter(self._file)
        self._write(file_version="brain.Event:2")
        self._write(step=first_step, session_log=SessionLog(status=SessionLog.START))

    def scalar(self, tag: str, value: float, step: int) -> None:
        """Write a value of a curve."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._records.write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._file.flush()
