"""The README: its examples run, and print the words that it shows.

Numbers are left out of the comparison: a last digit may differ from machine to machine.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parent.parent / "README.md"
INDENTED = r"((?:    .*\n|\n(?=    ))+)"


def unindented(block):
    return "".join(line[4:] or "\n" for line in block.splitlines(keepends=True))


def words(text):
    return re.findall(r"[A-Za-z_]{2,}", text)


@pytest.mark.usefixtures("unlimited")
def test_examples_run_and_print_what_is_shown():
    text = README.read_text()
    found = re.findall(rf"<!-- example -->\n{INDENTED}(?:\nprints\n\n{INDENTED})?", text)
    assert len(found) == 4
    assert len(text.splitlines()) <= 200
    names: dict[str, object] = {}
    for code, shown in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(unindented(code), str(README), "exec"), names)
        if shown:
            assert words(printed.getvalue()) == words(shown)
