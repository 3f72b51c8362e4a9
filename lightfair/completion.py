"""Completion: names on the command line completed by the shell, where argcomplete is installed.

    pip install argcomplete
    eval "$(register-python-argcomplete lightfair)"        # in ~/.bashrc or ~/.zshrc

Commands, options and their choices are completed, names of metrics, and the columns of the FILEs
that stand before them.
"""

from __future__ import annotations

import os
from typing import Any

from .options import Parser

OF_COLUMNS = ("label", "score", "group", "pred", "weight", "label_prob")


def complete(parser: Parser) -> None:
    """Answer the shell and exit, where it is the shell that asks; else do nothing."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    for command in parser.commands.values():
        for action in command._actions:
            if action.dest in OF_COLUMNS:
                action.completer = _columns  # type: ignore[attr-defined]
            elif action.dest == "metric":
                action.completer = _metrics  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _columns(parsed_args: Any, **_: Any) -> list[str]:
    """Names of columns of the files so far."""
    from .reading import header

    found: dict[str, None] = {}
    for path in parsed_args.file or ():
        try:
            found |= dict.fromkeys(header(path))
        except (OSError, ValueError, ImportError):  # it holds no rows
            continue
    return list(found)


def _metrics(**_: Any) -> list[str]:
    from .metrics import METRICS

    return list(METRICS)
