"""Runs the cells of a notebook, and stores what they show.

    python bench/notebook.py [bench/example.ipynb]

A cell shows what it prints, and the value of its last line: as text, as HTML where it has that
form, as a picture where it is matplotlib Axes. Nothing but Python and the packages that the cells
import is needed, and nothing of the machine is stored.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parent / "example.ipynb"


def outputs(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Run the code of cells in one namespace, and return the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[list[dict[str, Any]]] = []
    for cell in cells:
        found.append([])
        if cell["cell_type"] != "code":
            continue
        count = 1 + sum(cell["cell_type"] == "code" for cell in cells[: len(found) - 1])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _run("".join(cell["source"]), names)
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            found[-1].append({"output_type": "stream", "name": "stdout", "text": text})
        if value is not None:
            found[-1].append(
                {
                    "output_type": "execute_result",
                    "execution_count": count,
                    "metadata": {},
                    "data": _shown(value),
                }
            )
    return found


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run code; return the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _shown(value: Any) -> dict[str, Any]:
    """A value in the forms that it has, by their MIME types."""
    if hasattr(value, "get_figure"):
        file = io.BytesIO()
        value.get_figure().savefig(file, format="png", dpi=72, metadata={"Software": None})
        return {
            "image/png": base64.b64encode(file.getvalue()).decode(),
            "text/plain": [f"<{type(value).__name__}>"],
        }
    forms = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        forms["text/html"] = value._repr_html_().splitlines(keepends=True)
    return forms


def main(path: Path) -> None:
    """Run a notebook and write it with its outputs."""
    path = path.resolve()
    book = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:  # for files that cells write
        here = os.getcwd()
        os.chdir(folder)
        try:
            found = outputs(book["cells"])
        finally:
            os.chdir(here)
    count = 0
    for cell, shown in zip(book["cells"], found, strict=True):
        if cell["cell_type"] == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": shown}
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE)
