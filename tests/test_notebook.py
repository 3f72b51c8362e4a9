"""The example notebook: its cells run, and show the words that are stored in it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "bench"


def words(output):
    """What an output says, without numbers: a last digit may differ from machine to machine."""
    said = output["data"] if "data" in output else {"text": output["text"]}
    assert all(said.values())
    texts = {form: "".join(lines) for form, lines in said.items() if not form.startswith("image/")}
    return {
        form: re.findall(r"[A-Za-z_]{2,}", re.sub("<style>.*?</style>", "", text, flags=re.DOTALL))
        for form, text in texts.items()
    }


def test_its_cells_run_and_show_what_is_stored(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("notebook", FOLDER / "notebook.py")
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)
    cells = json.loads((FOLDER / "example.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = notebook.outputs(cells)
    stored = [cell.get("outputs", []) for cell in cells]
    assert sum(map(len, stored)) > 4
    assert [[words(one) for one in mine] for mine in shown] == [
        [words(one) for one in mine] for mine in stored
    ]
    assert [sorted(one.get("data", ())) for mine in shown for one in mine] == [
        sorted(one.get("data", ())) for mine in stored for one in mine
    ]


def test_nothing_of_a_machine_is_stored():
    text = (FOLDER / "example.ipynb").read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert not re.search(r"0x[0-9a-f]{6}|/home/|/tmp/|/root/|C:\\\\|file:", text)
