"""Vendoring: what may be stripped, what is refused, what a copy is, how its tests are renamed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PACKAGE

SCRIPT = Path(__file__).parents[1] / "bench" / "vendor_check.py"


@pytest.fixture(scope="module")
def vendor():
    spec = importlib.util.spec_from_file_location("vendor_check", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries(vendor, parts):
    return [entry for part in parts for entry in vendor.PARTS[part][1]]


def test_every_set_and_every_part_can_be_stripped(vendor):
    known = vendor.modules(PACKAGE)
    alone = [[part] for part in vendor.PARTS if part != "arviz"]  # plots of chains use that
    for strip in [*vendor.SETS.values(), *alone]:
        choice = vendor.choose(PACKAGE, entries(vendor, strip))
        assert set(choice.kept) | set(choice.gone) == set(known)
        assert not set(choice.kept) & set(choice.gone)
        assert {*entries(vendor, strip)} <= {*choice.gone}
        assert "" in choice.kept and "assessing" in choice.kept
        assert all(link.function for link in choice.later)


def test_what_only_stripped_modules_use_goes_with_them(vendor):
    choice = vendor.choose(PACKAGE, entries(vendor, ["cli"]))
    assert {"options", "arguments", "assess_command", "progress"} <= {*choice.gone}
    assert "reading" in choice.kept
    assert vendor.choose(PACKAGE, []).gone == ()


@pytest.mark.parametrize(
    "name, rule",
    [
        *((name, "identifiers joined by dots") for name in
          ("../evil", "", "class", "a-b", "a..b", ".a", "x/y", "a b", "3x", "host.import")),
        *((name, "is taken") for name in ("lightfair", "tests.copy", "numpy", "json")),
    ],
)  # fmt: skip
def test_names_that_a_copy_cannot_have(name, rule, vendor, capsys):
    with pytest.raises(SystemExit) as stopped:
        vendor.parser().parse_args(["--name", name])
    assert stopped.value.code == 2 and rule in capsys.readouterr().err


def test_a_folder_that_is_there_is_not_written_to(vendor, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    options = ["", "--no-tests", "--name", "mine", "--target", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", options)
    with pytest.raises(SystemExit, match="is there already"):
        vendor.main()


@pytest.mark.parametrize(
    "strip, message",
    [
        (
            ["table"],
            "this set would not import: table is imported by .*evidence.*; strip those, too",
        ),
        (["arviz_data"], "arviz_data is imported by plot.parameters; strip those, too, or keep"),
        ([""], "there is no module ''; see --list"),
        (["wording"], "wording is imported by "),
        (["paired_report", "nothing"], "there is no module 'nothing'; see --list"),
    ],
)
def test_what_would_break_is_refused(strip, message, vendor):
    with pytest.raises(SystemExit, match=message):
        vendor.choose(PACKAGE, strip)


def test_imports_for_type_checkers_are_none(vendor, tmp_path):
    path = tmp_path / "one.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nfrom . import a\nfrom .b import c, d\n"
        "if TYPE_CHECKING:\n    from .e import f\nelse:\n    from .g import h\n"
        "class K:\n    from .i import j\n    def m(self):\n        from .n import o\n"
        "def p():\n    def q():\n        from ..r import s\n"
    )
    found = {(link.target, link.function) for link in vendor.links("x.one", path, {"x.a", "x.b.c"})}
    top = {("x.a", ""), ("x.b.c", ""), ("x.b", ""), ("x.g", ""), ("x.i", "")}
    assert found == {*top, ("x.n", "K.m"), ("r", "p.q")}


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("import lightfair as lf", "import a.b as lf"),
        ("import lightfair", "import a.b as lightfair"),
        ("import sys, lightfair as lf; x", "import sys, a.b as lf; x"),
        ("import sys, lightfair.cli; x", "import sys, a.b.cli; x"),
        ("import sys, polars as pl, lightfair as lf", "import sys, polars as pl, a.b as lf"),
        ("from lightfair.core.mcmc import compiled", "from a.b import compiled"),
        ("from lightfair.x import y", "from a.b.x import y"),
        ('["-m", "lightfair", "demo"]', '["-m", "a.b", "demo"]'),
        ("python -m lightfair demo", "python -m a.b demo"),
        ('"format": "lightfair.table"', '"format": "lightfair.table"'),
        ('"lightfair: error: "', '"lightfair: error: "'),
    ],
)
def test_tests_are_renamed(text, wanted, vendor):
    assert vendor.renamed(text, "a.b") == wanted


def test_a_copy_has_the_public_names_that_are_left(vendor, tmp_path, child_env):
    choice = vendor.choose(PACKAGE, entries(vendor, vendor.SETS["numbers"]))
    vendor.copy(PACKAGE, tmp_path / "host" / "core", choice)
    code = """
import host.core as lf, sys
assert {"assess", "plan_labels"} <= set(dir(lf)) and "compare_models" not in dir(lf)
for name in lf.__all__:
    getattr(lf, name)
result = lf.assess([1, 0, None], [0.9, 0.2, 0.4], sensitive_features=["a", "b", "b"], draws=4,
                   warmup=4, chains=2, rng=0)
assert result.to_dict()["data"]["rows"] == 3
try:
    str(result)
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**child_env, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "No module named 'host.core." in done.stdout
