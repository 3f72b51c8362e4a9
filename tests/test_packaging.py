"""What importing, copying and renaming the package does."""

from __future__ import annotations

import configparser
import importlib
import inspect
import re
import shutil
import subprocess
import sys

import pytest
from results import PACKAGE

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.mcmc.jit import available, compiles

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


# import


def test_the_command_starts_without_anything_heavy(child_env):
    code = "import sys, lightfair.cli.main; print(*sys.modules)"
    heavy = {"numpy", "numba", "scipy", "pandas", "matplotlib"}
    assert not heavy & set(run(code, child_env).split())


def test_a_small_assessment_compiles_and_plots_nothing(child_env):
    code = f"import sys, lightfair as lf\n{ASSESS}\nprint(result, file=sys.stderr)"
    loaded = set(run(f"{code}\nprint(*sys.modules)", child_env).split())
    assert "scipy.special" in loaded
    assert not {"numba", "scipy.stats", "matplotlib", "pandas"} & loaded


# names


@pytest.mark.parametrize("name", lf.__all__)
def test_every_public_name_resolves(name):
    value = getattr(lf, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert inspect.getdoc(value).splitlines()[0].endswith(".")


def test_public_names_survive_the_import_of_every_module():
    """A module of the same name as a function would take its place in the package."""
    for package in ("", "core", "plot"):
        for path in (PACKAGE / package).glob("*.py"):
            if path.stem not in ("__init__", "__main__"):
                importlib.import_module(".".join(filter(None, [lf.__name__, package, path.stem])))
        home = importlib.import_module(f"{lf.__name__}.{package}" if package else lf.__name__)
        for name in set(home.__all__) - {"CRITERIA", "METRICS", "__version__"}:
            assert callable(getattr(home, name)), name


def test_dir_and_unknown_names():
    assert dir(lf) == sorted(lf.__all__)
    with pytest.raises(AttributeError, match="module 'lightfair' has no attribute 'asses'"):
        lf.asses  # noqa: B018


# a copy of the core

COPY = """
import sys
import host.fairness as core

rows = core.simulate(300, 50, rng=0)
result = core.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, draws=20, warmup=20,
                     rng=0)
assert result.to_dict()["version"] == core.__version__
assert not {"lightfair", "pandas", "matplotlib"} & {*sys.modules}
print(result.posterior.phi.shape)
"""

NO_CACHE = """
import numba.core.caching
numba.core.caching.CacheImpl._locator_classes.clear()  # as where no folder can be written
"""


@pytest.mark.parametrize("jit", ["0", pytest.param("1", marks=[needs_numba, pytest.mark.slow])])
def test_a_copy_of_the_core_works_where_nothing_can_be_written(tmp_path, child_env, jit):
    target = tmp_path / "host" / "fairness"
    shutil.copytree(PACKAGE / "core", target, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [target, target.parent]
    for folder in folders:
        folder.chmod(0o555)
    env = {**child_env, "PYTHONPATH": str(tmp_path), "LIGHTFAIR_JIT": jit}
    env.pop("HOME", None)
    code = COPY
    if jit == "1":
        code = f"{NO_CACHE}\n{code}\nfrom host.fairness.mcmc import kernels"
        code += "\nassert kernels.weigh.signatures, 'not compiled'"
        code += "\nassert not sum(kernels.weigh.stats.cache_hits.values())"
    try:
        assert run(code, env, "-B", cwd=tmp_path).startswith("(4, ")
    finally:
        for folder in reversed(folders):
            folder.chmod(0o755)


# versions


def test_the_lowest_versions_are_those_of_setup_cfg():
    root = PACKAGE.parent
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    extras = config["options.extras_require"]
    wanted = [config["options"]["install_requires"]]
    wanted += [extras[name] for name in ("test", "plot", "parquet")]
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
