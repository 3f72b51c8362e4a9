"""Run the cells of a notebook and store their outputs.

    python bench/notebook.py [bench/example.ipynb]

The output of a cell is what it prints, and the value of its last line: as text, as HTML if the
value has such a form, as an image if it is matplotlib Axes. This needs only Python and the packages
that the cells import, and stores nothing about the machine.
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

Output = dict[str, Any]


def outputs(cells: list[dict[str, Any]]) -> list[list[Output]]:
    """Run the code of cells in one namespace, and return the outputs of each cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count, results = 0, []
    for cell in cells:
        printed_outputs: list[Output] = []
        if cell["cell_type"] == "code":
            count += 1
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                value = _run("".join(cell["source"]), names)
            if text := printed.getvalue().splitlines(keepends=True):
                printed_outputs.append({"output_type": "stream", "name": "stdout", "text": text})
            if value is not None:
                result = {"output_type": "execute_result", "execution_count": count}
                printed_outputs.append(result | {"metadata": {}, "data": _forms(value)})
        results.append(printed_outputs)
    return results


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run code; return the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _forms(value: Any) -> dict[str, Any]:
    """The representations of a value by MIME type."""
    if hasattr(value, "get_figure"):
        file = io.BytesIO()
        value.get_figure().savefig(file, format="png", dpi=72, metadata={"Software": None})
        image = base64.b64encode(file.getvalue()).decode()
        return {"image/png": image, "text/plain": [f"<{type(value).__name__}>"]}
    forms = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        forms["text/html"] = value._repr_html_().splitlines(keepends=True)
    return forms


def main(path: Path) -> None:
    """Run a notebook, and write it with its outputs."""
    path = path.resolve()
    book = json.loads(path.read_text(encoding="utf-8"))
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:  # for files that cells write
        os.chdir(folder)
        try:
            results = outputs(book["cells"])
        finally:
            os.chdir(here)
    count = 0
    for cell, printed_outputs in zip(book["cells"], results, strict=True):
        if cell["cell_type"] == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": printed_outputs}
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE)
