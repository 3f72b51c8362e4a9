"""What importing, copying and renaming the package does."""

from __future__ import annotations

import ast
import configparser
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGE

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.mcmc.jit import available, compiles

MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))
COMPILED = {"_cache", "_gather", "_kernels", "compiled"}  # importing them imports numba
needs_numba = pytest.mark.skipif(not available(), reason="numba is absent")

ASSESS = """
rows = lf.simulate(300, 50, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, draws=20, warmup=20,
                   rng=0)
"""


def run(code, env, *flags, **options):
    done = subprocess.run(
        [sys.executable, *flags, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imports(module):
    """Every import of a module, as (its absolute name or None for a relative one, node)."""
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


# import


def test_importing_it_imports_nothing_heavy(child_env):
    code = "import sys, lightfair; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = set(run(code, child_env).split())
    assert not {"numpy", "numba", "scipy", "matplotlib", "pandas"} & loaded


def test_the_command_starts_without_anything_heavy(child_env):
    code = "import sys, lightfair.cli; print(*sys.modules)"
    assert not {"numpy", "numba", "scipy"} & set(run(code, child_env).split())


def test_a_small_assessment_compiles_and_plots_nothing(child_env):
    code = f"import sys, lightfair as lf\n{ASSESS}\nprint(result, file=sys.stderr)"
    loaded = set(run(f"{code}\nprint(*sys.modules)", child_env).split())
    assert "numpy" in loaded
    assert not {"numba", "scipy", "matplotlib", "pandas"} & loaded


def test_the_command_reports_without_scipy(child_env):
    """numba, which may bring it, is hidden; the options are the default ones."""
    code = """
import contextlib, sys
from lightfair.cli.main import main
with contextlib.redirect_stdout(sys.stderr):
    assert main(["demo", "--rows", "2000"]) == 0
print(*sys.modules)
"""
    loaded = set(run(code, {**child_env, "LIGHTFAIR_HIDE_NUMBA": "1"}).split())
    assert "lightfair.special" in loaded
    assert "scipy" not in loaded


@pytest.mark.parametrize("module", MODULES)
def test_imports_are_relative_and_light(module):
    found = set(imports(module))
    heads = {name.partition(".")[0] for name in found}
    assert PACKAGE.name not in heads
    assert not {"scipy", "pandas", "polars", "pyarrow", "sklearn"} & heads
    assert "importlib.metadata" not in found
    assert "numba" not in heads or module in ("_jit", "_cache")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_docstring(module):
    assert ast.get_docstring(ast.parse((PACKAGE / f"{module}.py").read_text()))


@pytest.mark.parametrize("module", MODULES)
def test_sections_of_docstrings_are_underlined(module):
    """numpydoc: a heading is a line of its own, above a line of as many hyphens."""
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            continue
        lines = (ast.get_docstring(node) or "").splitlines()
        for above, line in zip(["", *lines], lines, strict=False):
            if "----" in line:
                assert line == "-" * len(above), f"{module}: {line}"


# names


@pytest.mark.parametrize("name", lf.__all__)
def test_every_public_name_resolves(name):
    value = getattr(lf, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert value.__doc__ and value.__doc__.splitlines()[0].endswith(".")


def test_public_names_survive_the_import_of_every_module():
    """A module of the same name as a function would take its place in the package."""
    for module in set(MODULES) - {"__init__", "__main__", *COMPILED}:
        importlib.import_module(f"{lf.__name__}.{module}")
    for name in set(lf.__all__) - {"CRITERIA", "METRICS", "__version__"}:
        assert callable(getattr(lf, name)), name


def test_dir_and_unknown_names():
    assert dir(lf) == sorted(lf.__all__)
    with pytest.raises(AttributeError, match="module 'lightfair' has no attribute 'asses'"):
        lf.asses  # noqa: B018


def test_version_is_the_only_one():
    assert importlib.import_module("lightfair._version").__version__ == lf.__version__


# a copy


@pytest.fixture
def host(tmp_path):
    """A renamed copy in another package, in folders that nobody may write to."""
    target = tmp_path / "host" / "fairness_core"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "host" / "__init__.py").touch()
    folders = [target, target.parent]
    for folder in folders:
        folder.chmod(0o555)
    yield tmp_path
    for folder in reversed(folders):
        folder.chmod(0o755)


NO_CACHE = """
import numba.core.caching
numba.core.caching.CacheImpl._locator_classes.clear()  # as where no folder can be written
"""


@pytest.mark.parametrize("jit", ["0", pytest.param("1", marks=needs_numba)])
def test_a_renamed_copy_works_where_nothing_can_be_written(host, child_env, jit):
    env = {**child_env, "PYTHONPATH": str(host), "LIGHTFAIR_JIT": jit}
    env.pop("HOME", None)
    code = f"import sys\nimport host.fairness_core as lf\n{ASSESS}"
    code += "\nprint(result.posterior.phi.shape)\nassert 'lightfair' not in sys.modules"
    if jit == "1":
        code = f"{NO_CACHE}\n{code}\nfrom host.fairness_core import _kernels"
        code += "\nassert _kernels.sweeps.signatures, 'not compiled'"
        code += "\nassert not sum(_kernels.sweeps.stats.cache_hits.values())"
    assert run(code, env, "-B", cwd=host).startswith("(16, ")
    assert not list(host.rglob("__pycache__"))


def test_the_name_of_a_copy_is_in_its_errors(host, child_env):
    code = "import host.fairness_core as lf\ntry:\n    lf.nothing\n"
    code += "except AttributeError as e:\n    print(e)"
    out = run(code, {**child_env, "PYTHONPATH": str(host)}, "-B", cwd=host)
    assert out == "module 'host.fairness_core' has no attribute 'nothing'\n"


# versions


def test_the_lowest_versions_are_those_of_setup_cfg():
    root = PACKAGE.parent
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    extras = config["options.extras_require"]
    wanted = [config["options"]["install_requires"]]
    wanted += [extras[name] for name in ("test", "plot", "parquet", "completion")]
    least = dict(re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(wanted), re.M))
    pinned = (root / ".ci" / "lowest.txt").read_text()
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)", pinned, re.M))
    assert set(least) - set(tested) == {"ruff", "mypy"}
    assert set(tested) - set(least) == {"pyparsing"}  # of matplotlib
    for name in set(tested) & set(least):
        assert re.fullmatch(rf"{re.escape(least[name])}(\.0)*", tested[name]), name


# numba


def test_without_numba_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not available()
    assert not compiles(1e9)
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    with pytest.raises(ImportError, match="LIGHTFAIR_JIT is 1 but numba is not installed; install"):
        compiles(0.0)
    assert main(["demo", "--rows", "50", "--labeled", "9"]) == 2
    assert "numba is not installed" in capsys.readouterr().err


@needs_numba
def test_small_work_is_not_compiled(monkeypatch):
    monkeypatch.delenv("LIGHTFAIR_JIT", raising=False)
    assert not compiles(0.1) and compiles(100.0)
    monkeypatch.setenv("LIGHTFAIR_JIT", "0")
    assert not compiles(1e9)
    monkeypatch.setenv("LIGHTFAIR_JIT", "1")
    assert compiles(0.0)


def test_numba_hidden_here_stays_hidden():
    if os.environ.get("LIGHTFAIR_HIDE_NUMBA") == "1":
        assert not available()
