"""What importing the package does."""

from __future__ import annotations

import configparser
import importlib
import re

import pytest
from results import PACKAGE

import lightfair as lf

ASSESS = """
rows = lf.simulate(300, 50, rng=0)
result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, draws=20, warmup=20,
                   rng=0)
"""


# import


def test_the_command_starts_without_anything_heavy(python):
    code = "import sys, lightfair.cli.main; print(*sys.modules)"
    heavy = {"numpy", "numba", "scipy", "pandas", "matplotlib"}
    assert not heavy & set(python(code).split())


def test_a_small_assessment_compiles_and_plots_nothing(python):
    code = f"import sys, lightfair as lf\n{ASSESS}\nprint(result, file=sys.stderr)"
    loaded = set(python(f"{code}\nprint(*sys.modules)").split())
    assert "scipy.special" in loaded
    assert not {"numba", "scipy.stats", "matplotlib", "pandas"} & loaded


# names


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
