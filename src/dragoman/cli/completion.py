"""`dragoman completion`: the script that lets a shell complete commands, options and file names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, output_file, output_folder

if TYPE_CHECKING:
    from dragoman.requests.installation import CompletionRequest

SUMMARY = "print a script that lets a shell complete commands, options and file names"
DESCRIPTION = (
    "Prints a script for a shell, made by shtab (extra `completion`) from the options of all commands. A\n"
    "new version of Dragoman may have other options; print the script again then. Where it goes:\n"
    "\n"
    "  bash: ~/.local/share/bash-completion/completions/dragoman\n"
    "  zsh:  a file _dragoman in a folder of $fpath\n"
    "  fish: ~/.config/fish/completions/dragoman.fish"
)
EXAMPLES = (
    "dragoman completion bash > ~/.local/share/bash-completion/completions/dragoman",
    "dragoman completion fish > ~/.config/fish/completions/dragoman.fish",
)

_FILES = (None, Path, output_file, output_folder)
"""Types of values that can be files: all that is checked as neither a number nor a name."""

REQUEST = "dragoman.requests.installation.CompletionRequest"


def run(request: CompletionRequest) -> None:
    """Print the script."""
    import shtab

    from dragoman.cli.main import VERBS
    from dragoman.config.presets import preset_names

    root = Parser(prog="dragoman", description="")
    root.add_argument("--version", action="store_true", help="print the versions and exit")
    families = {"": root.add_subparsers(parser_class=Parser)}
    for name, verb in VERBS.items():
        family, _, word = name.rpartition(" ")
        if family not in families:
            parent = families[""].add_parser(family, help=f"{family} ...", description=f"{family} ...")
            families[family] = parent.add_subparsers(parser_class=Parser)
        parser = families[family].add_parser(word, help=verb.SUMMARY, description=verb.SUMMARY)
        verb.add_options(parser)
        for action in parser._actions:
            if action.dest == "preset":
                action.choices = preset_names()
            elif action.nargs != 0 and action.choices is None and action.type in _FILES:
                vars(action)["complete"] = shtab.FILE
    print(shtab.complete(root, request.shell))
