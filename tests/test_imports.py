"""The direction of imports: a file imports from its own room and from rooms before it only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lightfair

PACKAGE = Path(lightfair.__file__).parent
CORE = ("data", "model", "mcmc", "metrics", "comparison", "diagnostics")
PEERS = ("io", "thresholds", "planning", "audit", "model_comparison")  # none imports another
ROOMS = [*(f"core.{room}" for room in CORE), "core", *PEERS]
ROOMS += ["interop", "plot", "report", "api", "cli"]
OUTSIDE = {"numpy", "scipy", "numba"}  # what the core may import, besides the standard library


def room_of(module):
    parts = module.split(".")
    return next((name for k in (2, 1) if (name := ".".join(parts[:k])) in ROOMS), "")


def imports(path):
    """Every import of a file, in functions and under TYPE_CHECKING too: (relative?, module)."""
    package = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((False, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield False, node.module
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            modules = [node.module or alias.name for alias in node.names]
            tails = [[]] if node.module else [[name] for name in modules]
            yield from ((True, ".".join(filter(None, [*base, *tail]))) for tail in tails)


def breaches(path):
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    room = room_of(module)
    for relative, target in imports(path):
        head = target.partition(".")[0]
        if relative and room and target != "__init__":
            other = room_of(target)
            late = other == "" or ROOMS.index(other) > ROOMS.index(room)
            if other != room and (late or {room, other} <= {*PEERS}):
                yield f"{module} imports {target}"
        elif not relative and head == "lightfair":
            yield f"{module} imports {target} by its absolute name"
        elif not relative and room.startswith("core") and head in ("pandas", "polars", "pyarrow"):
            yield f"{module} imports {target}"
        elif target.startswith(("scipy.stats", "importlib.metadata")):
            yield f"{module} imports {target}, which is slow"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_imports_run_one_way(path):
    assert not list(breaches(path))


def test_an_import_inside_a_function_is_a_breach(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    file = tmp_path / "core" / "metrics" / "bad.py"
    file.parent.mkdir(parents=True)
    file.write_text("def f():\n    from ...report import text\n    return text\n")
    assert list(breaches(file)) == ["core.metrics.bad imports report"]


def test_core_imports_nothing_but_numpy_scipy_and_numba():
    import sys

    heads = {
        target.partition(".")[0]
        for path in (PACKAGE / "core").rglob("*.py")
        for relative, target in imports(path)
        if not relative
    }
    assert heads - {*sys.stdlib_module_names} <= OUTSIDE
