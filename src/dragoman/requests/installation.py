"""Requests about this installation: what it has, its presets, and the completion of its commands."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dragoman.config.section import doc
from dragoman.requests.shared import GENERAL, PRINTED, Compute, Quiet, Request


class DoctorRequest(Request):
    """What is installed, and how fast this machine is."""

    seconds: Annotated[
        float,
        Meta(ge=0, le=600),
        doc("time for training, and again for translation; 0: no speed is measured", metavar="N"),
    ] = 5.0
    json: Annotated[bool, doc("print one JSON object")] = False
    general: GENERAL = Compute()


class PresetsRequest(Request):
    """The list of presets."""

    general: PRINTED = Quiet()


class CompletionRequest(Request, kw_only=True):
    """A script for a shell."""

    shell: Annotated[Literal["bash", "zsh", "fish"], doc("the shell", positional=True)]
    general: PRINTED = Quiet()
