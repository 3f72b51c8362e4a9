"""The example notebook: its cells run, and give the outputs stored in it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "bench"


def words(output):
    """The words of an output by form, without numbers, whose last digits can differ."""
    texts = output.get("data") or {"text": output["text"]}
    return {
        form: re.findall(
            r"[A-Za-z_]{2,}", re.sub("<style>.*?</style>", "", "".join(lines), flags=re.S)
        )
        for form, lines in texts.items()
        if not form.startswith("image/")
    }


@pytest.mark.slow
@pytest.mark.usefixtures("unlimited")
def test_cells_run_and_give_their_stored_outputs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("notebook", FOLDER / "notebook.py")
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)
    cells = json.loads((FOLDER / "example.ipynb").read_text(encoding="utf-8"))["cells"]
    stored = [cell.get("outputs", []) for cell in cells]
    found = notebook.outputs(cells)
    assert sum(map(len, stored)) > 4
    assert [list(map(words, one)) for one in found] == [list(map(words, one)) for one in stored]
    assert [sorted(out.get("data", ())) for one in found for out in one] == [
        sorted(out.get("data", ())) for one in stored for out in one
    ]


def test_nothing_about_a_machine_is_stored():
    text = (FOLDER / "example.ipynb").read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert not re.search(r"0x[0-9a-f]{6}|/home/|/tmp/|/root/|C:\\\\|file:", text)
